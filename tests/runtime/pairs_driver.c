/* Two terms written by hand: sums over pairs without the code generator. */
#include <math.h>
#include "symflow_pool.h"
#include "symflow_tile_products.h"

#define SYMFLOW_TERM mixed
#define SYMFLOW_TERM_PAIRINGS 2
#define SYMFLOW_TERM_DIFFERENCE(m) (m == 1)
#define SYMFLOW_TERM_ROWS 1
#define SYMFLOW_TERM_COLUMNS 2
#define SYMFLOW_TERM_SCALARS 1
#define SYMFLOW_TERM_SCORE(u, a, b, p) (p[0] * u[0] - u[1] + a[0] * b[1] + b[0])
#define SYMFLOW_TERM_EXPONENTIAL 1
#include "symflow_pairs_term.h"

#define SYMFLOW_TERM cubic
#define SYMFLOW_TERM_PAIRINGS 1
#define SYMFLOW_TERM_DIFFERENCE(m) 0
#define SYMFLOW_TERM_ROWS 0
#define SYMFLOW_TERM_COLUMNS 0
#define SYMFLOW_TERM_SCALARS 0
#define SYMFLOW_TERM_SCORE(u, a, b, p) (u[0])
#define SYMFLOW_TERM_EXPONENTIAL 0
#define SYMFLOW_TERM_WEIGHT(s) ((s) * (s) * (s))
#include "symflow_pairs_term.h"

static int threads;
static symflow_tile_products products;
static symflow_linalg table;

static void parallel(ptrdiff_t parts, void (*part)(ptrdiff_t, void *), void *job)
{
    if (threads > 1 && symflow_pool_run(parts, part, job, threads)) return;
    for (ptrdiff_t p = 0; p < parts; ++p) part(p, job);
}

/* The widest registers that the machine has, of at most `lanes` numbers. */
int widest(int lanes)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (lanes >= 8 && __builtin_cpu_supports("avx512f")) return 8;
    if (lanes >= 4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 4;
#endif
    return 2;
}

ptrdiff_t work(const symflow_pairs *job, int pairings)
{
    return symflow_tiles_work(job->n, pairings, job->widths, job->width);
}

#ifdef __x86_64__
#define ANY(function) (lanes >= 8 ? function##_512(job) : lanes >= 4 ? function##_256(job) : function##_128(job))
#else
#define ANY(function) function##_128(job)
#endif

/* Terms: 0, 1. Through tiles whatever the width, unless the weights are to be scaled. */
int run(symflow_pairs *job, int term, int lanes, int on_threads)
{
    threads = on_threads;
    lanes = widest(lanes);
    products = symflow_tile_products_of(lanes);
    table.parallel = parallel;
    table.tiles = &products;
    job->linalg = &table;
    if (term) return ANY(cubic_tiles);
    return job->normalise == SYMFLOW_SINKHORN ? ANY(mixed_sinkhorn) : ANY(mixed_tiles);
}
