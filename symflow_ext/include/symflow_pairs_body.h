/* The sums over pairs of one term for one instruction set; included by symflow_pairs_term.h only.
 *
 * What is here for all templates: scores of one query against a vector of keys. Then the templates: rows and
 * symmetric (small widths), tiles (symflow_pairs_tiles.h), Sinkhorn (symflow_pairs_sinkhorn.h).
 */
#define NAME(name) SYMFLOW_TERM_NAME(name)

/* Score of token i with tokens j .. j + SYMFLOW_LANES - 1. */
SYMFLOW_INLINE symflow_real NAME(score)(const symflow_pairs *job, const symflow_real *p, ptrdiff_t i, ptrdiff_t j)
{
    symflow_real u[SYMFLOW_TERM_PAIRINGS], a[SYMFLOW_TERM_ROWS + 1], b[SYMFLOW_TERM_COLUMNS + 1];
    for (int m = 0; m < SYMFLOW_TERM_PAIRINGS; ++m) {
        u[m] = (symflow_real){0};
        for (ptrdiff_t c = 0; c < job->widths[m]; ++c) {
            symflow_real x = symflow_splat(job->left[m][c * job->pitch + i]);
            symflow_real y = symflow_load(job->right[m] + c * job->pitch + j);
            if (SYMFLOW_TERM_DIFFERENCE(m)) {
                x = y = x - y;
            }
            u[m] = symflow_fma(x, y, u[m]);
        }
    }
    for (int l = 0; l < SYMFLOW_TERM_ROWS; ++l) a[l] = symflow_splat(job->rows[l][i]);
    for (int l = 0; l < SYMFLOW_TERM_COLUMNS; ++l) b[l] = symflow_load(job->columns[l] + j);
    (void)a, (void)b, (void)p;
    return SYMFLOW_TERM_SCORE(u, a, b, p);
}

SYMFLOW_INLINE void NAME(scalars)(const symflow_pairs *job, symflow_real *p)
{
    p[0] = (symflow_real){0};
    for (int k = 0; k < SYMFLOW_TERM_SCALARS; ++k) p[k] = symflow_splat(job->scalars[k]);
}

/* Lanes of tokens j .. that are before `end`. */
SYMFLOW_INLINE symflow_mask NAME(before)(ptrdiff_t j, ptrdiff_t end)
{
    symflow_mask lanes;
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) lanes[lane] = lane;
    return (symflow_mask)(lanes < (long long)(end - j));
}

/* One query after the other, its largest score first. */
SYMFLOW_TARGET static int NAME(rows)(symflow_pairs *job)
{
    symflow_real p[SYMFLOW_TERM_SCALARS + 1];
    NAME(scalars)(job, p);
    for (ptrdiff_t i = 0; i < job->n; ++i) {
        ptrdiff_t end = job->causal ? i + 1 : job->n;
        symflow_real most = symflow_splat(-HUGE_VAL), mass = {0};
        if (SYMFLOW_TERM_EXPONENTIAL && job->normalise != SYMFLOW_SUM) {
            for (ptrdiff_t j = 0; j < end; j += SYMFLOW_LANES) {
                symflow_real s = NAME(score)(job, p, i, j);
                most = symflow_max(most, symflow_select(NAME(before)(j, end), s, symflow_splat(-HUGE_VAL)));
            }
            most = symflow_splat(symflow_largest(most));
        } else {
            most = (symflow_real){0};
        }
        for (ptrdiff_t c = 0; c < job->width; ++c) job->average[c * job->pitch + i] = 0.0;
        for (ptrdiff_t j = 0; j < end; j += SYMFLOW_LANES) {
            symflow_real s = NAME(score)(job, p, i, j);
#if SYMFLOW_TERM_EXPONENTIAL
            s = symflow_exp(s - most);
#else
            s = SYMFLOW_TERM_WEIGHT(s);
#endif
            s = symflow_keep(NAME(before)(j, end), s);
            s = job->theta ? s * symflow_load(job->theta + j) : s / (double)job->n;
            mass += s;
            for (ptrdiff_t c = 0; c < job->width; ++c)
                job->average[c * job->pitch + i] += symflow_total(s * symflow_load(job->feature + c * job->pitch + j));
        }
        double total = symflow_total(mass), scale = job->normalise == SYMFLOW_SOFTMAX ? 1.0 / total : 1.0;
        for (ptrdiff_t c = 0; c < job->width; ++c) job->average[c * job->pitch + i] *= scale;
        job->mass[i] = total * scale;
    }
    return SYMFLOW_OK;
}

#if __has_include("symflow_pairs_tiles.h")
#include "symflow_pairs_tiles.h" /* int NAME(tiles)(symflow_pairs *): widths beyond SYMFLOW_PAIRS_NARROW */
#endif
#if SYMFLOW_TERM_EXPONENTIAL && __has_include("symflow_pairs_sinkhorn.h")
#include "symflow_pairs_sinkhorn.h" /* int NAME(sinkhorn)(symflow_pairs *) */
#endif

SYMFLOW_TARGET static int NAME(run)(symflow_pairs *job)
{
    return NAME(rows)(job);
}

#undef NAME
