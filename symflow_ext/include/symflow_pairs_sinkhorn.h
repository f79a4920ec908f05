/* Sinkhorn's scaling of the scores of one term, for one instruction set; included by symflow_pairs_body.h only. */
#include "symflow_scaling.h"

SYMFLOW_TARGET static int NAME(sinkhorn)(symflow_pairs *job)
{
    symflow_tiling tiling;
    NAME(tiling)(&tiling, job);
    return symflow_scaling_run(&tiling);
}
