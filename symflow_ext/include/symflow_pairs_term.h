/* The sums over pairs of one term of a velocity, for every instruction set; the machine picks one at run time.
 *
 * Included once per term, which is described by macros:
 *   SYMFLOW_TERM                      prefix of the function `<prefix>_pairs` that is defined here
 *   SYMFLOW_TERM_PAIRINGS             how many pairings (at least one)
 *   SYMFLOW_TERM_DIFFERENCE(m)        1 where pairing m is |left - right|^2, 0 where it is left . right
 *   SYMFLOW_TERM_ROWS, _COLUMNS       how many numbers of tokens i and of tokens j
 *   SYMFLOW_TERM_SCORE(u, a, b, p)    the score, of vectors: u[m] pairings, a[l], b[l] numbers, p[k] scalars
 *   SYMFLOW_TERM_SCALARS              how many scalars p
 *   SYMFLOW_TERM_PLAIN                1: the score is u[0], a product, and the weight is its exponential (may be left
 *                                     out: 0); such scores are bounded from the data
 *   SYMFLOW_TERM_EXPONENTIAL          1: the weight is exp(score); 0: it is
 *   SYMFLOW_TERM_WEIGHT(s)            an expression in the vector s
 * With SYMFLOW_HOST = 512 or 256 there are copies for that instruction set and for the least one only.
 * Expressions are made of + - * / and the functions of symflow_isa.h. `<prefix>_pairs(job)` returns a status of
 * symflow_abi.h. All macros are undefined afterwards.
 */
#include "symflow_pairs.h"

#ifndef SYMFLOW_TERM_PLAIN
#define SYMFLOW_TERM_PLAIN 0
#endif
#define SYMFLOW_TERM_NAME(name) SYMFLOW_OWN(SYMFLOW_JOIN(SYMFLOW_TERM, name))

#if defined(__x86_64__) && defined(__GNUC__)
#if !defined(SYMFLOW_HOST) || SYMFLOW_HOST == 512
#define SYMFLOW_ISA 512
#include "symflow_isa.h"
#include "symflow_pairs_body.h"
#include "symflow_isa_end.h"
#endif
#if !defined(SYMFLOW_HOST) || SYMFLOW_HOST == 256
#define SYMFLOW_ISA 256
#include "symflow_isa.h"
#include "symflow_pairs_body.h"
#include "symflow_isa_end.h"
#endif
#endif
#define SYMFLOW_ISA 128
#include "symflow_isa.h"
#include "symflow_pairs_body.h"
#include "symflow_isa_end.h"

/* Fill average and mass of the job, on the widest registers of the machine. */
static int SYMFLOW_JOIN(SYMFLOW_TERM, pairs)(symflow_pairs *job)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
#if !defined(SYMFLOW_HOST) || SYMFLOW_HOST == 512
    if (__builtin_cpu_supports("avx512f")) return SYMFLOW_JOIN(SYMFLOW_JOIN(SYMFLOW_TERM, run), 512)(job);
#endif
#if !defined(SYMFLOW_HOST) || SYMFLOW_HOST == 256
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return SYMFLOW_JOIN(SYMFLOW_JOIN(SYMFLOW_TERM, run), 256)(job);
#endif
#endif
    return SYMFLOW_JOIN(SYMFLOW_JOIN(SYMFLOW_TERM, run), 128)(job);
}

#undef SYMFLOW_TERM
#undef SYMFLOW_TERM_PAIRINGS
#undef SYMFLOW_TERM_DIFFERENCE
#undef SYMFLOW_TERM_ROWS
#undef SYMFLOW_TERM_COLUMNS
#undef SYMFLOW_TERM_SCALARS
#undef SYMFLOW_TERM_SCORE
#undef SYMFLOW_TERM_PLAIN
#undef SYMFLOW_TERM_EXPONENTIAL
#undef SYMFLOW_TERM_WEIGHT
#undef SYMFLOW_TERM_NAME
