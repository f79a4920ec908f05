/* Scores and weights of one term in a tile, for one instruction set; included by symflow_pairs_body.h only.
 *
 * Lanes are queries. Everything that is no function of the score is in symflow_tiling.h.
 */
#include "symflow_tiling.h"

enum { NAME(vectors) = SYMFLOW_TILE / SYMFLOW_LANES };

/* Queries of vector v that count for a key. */
SYMFLOW_INLINE symflow_mask NAME(counted)(const symflow_tile *tile, int v, ptrdiff_t key)
{
    symflow_mask lanes;
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) lanes[lane] = lane + v * SYMFLOW_LANES;
    symflow_mask counted = (symflow_mask)(lanes < (long long)tile->queries);
    if (tile->triangle) counted &= (symflow_mask)(lanes >= (long long)key);
    return counted;
}

/* The pairings of a strip of keys with all queries. */
SYMFLOW_INLINE void NAME(tile_pairings)(symflow_tile *tile, ptrdiff_t first)
{
    for (int m = 0; m < SYMFLOW_TERM_PAIRINGS; ++m)
        tile->products->pairings(SYMFLOW_TERM_DIFFERENCE(m), tile->job->widths[m], tile->right[m] + first,
                                 tile->left[m], tile->pairings[m]);
}

SYMFLOW_INLINE void NAME(tile_scalars)(const symflow_pairs *job, symflow_real *p)
{
    p[0] = (symflow_real){0};
    for (int k = 0; k < SYMFLOW_TERM_SCALARS; ++k) p[k] = symflow_splat(job->scalars[k]);
}

/* Scores of key j, of the strip that starts at `first`, with one vector of queries. */
SYMFLOW_INLINE symflow_real NAME(tile_score)(const symflow_tile *tile, int careful, ptrdiff_t first, ptrdiff_t j, int v,
                                             const symflow_real *p)
{
    symflow_real u[SYMFLOW_TERM_PAIRINGS], a[SYMFLOW_TERM_ROWS + 1], b[SYMFLOW_TERM_COLUMNS + 1];
    const ptrdiff_t at = v * SYMFLOW_LANES;
    (void)p, (void)a, (void)b;
    for (int m = 0; m < SYMFLOW_TERM_PAIRINGS; ++m)
        u[m] = symflow_load(tile->pairings[m] + (j - first) * SYMFLOW_TILE + at);
    for (int l = 0; l < SYMFLOW_TERM_ROWS; ++l) a[l] = symflow_load(tile->rows[l] + at);
    for (int l = 0; l < SYMFLOW_TERM_COLUMNS; ++l) b[l] = symflow_splat(tile->columns[l][j]);
    symflow_real s = SYMFLOW_TERM_SCORE(u, a, b, p);
    if (SYMFLOW_TERM_EXPONENTIAL && careful)
        s = s + (symflow_load(tile->query_potential + at) + symflow_splat(tile->key_potential[j]));
    return s;
}

/* Sum over queries of theta w, lane by lane. */
SYMFLOW_INLINE symflow_real NAME(tile_lanes)(const symflow_tile *tile, const symflow_real *w)
{
    symflow_real sum = {0};
#pragma GCC unroll 6
    for (int v = 0; v < NAME(vectors); ++v)
        sum = symflow_fma(w[v], symflow_load(tile->query_theta + v * SYMFLOW_LANES), sum);
    return sum;
}

/* The weights without any shift, and their masses; 0, and masses as they were, where a score forbids that. */
SYMFLOW_INLINE int NAME(tile_unshifted)(symflow_tile *tile, int careful, int sides)
{
    symflow_real p[SYMFLOW_TERM_SCALARS + 1], mass[NAME(vectors)], low = {0}, high = {0};
    double lanes[SYMFLOW_TILE * SYMFLOW_LANES];
    NAME(tile_scalars)(tile->job, p);
#pragma GCC unroll 6
    for (int v = 0; v < NAME(vectors); ++v) mass[v] = (symflow_real){0};
    for (ptrdiff_t j = 0, first = 0; j < tile->keys; ++j) {
        if (j % SYMFLOW_STRIP == 0) NAME(tile_pairings)(tile, first = j);
        symflow_real w[NAME(vectors)];
        const symflow_real theta = symflow_splat(tile->key_theta[j]);
#pragma GCC unroll 6
        for (int v = 0; v < NAME(vectors); ++v) {
            w[v] = NAME(tile_score)(tile, careful, first, j, v, p);
            if (careful) w[v] = symflow_keep(NAME(counted)(tile, v, j), w[v]);
            low = symflow_min(w[v], low);
            high = symflow_max(w[v], high);
#if !SYMFLOW_TERM_EXPONENTIAL
            w[v] = SYMFLOW_TERM_WEIGHT(w[v]);
#endif
        }
#if SYMFLOW_TERM_EXPONENTIAL
#pragma GCC unroll 1
        for (int v = 0; v < NAME(vectors); v += 6) SYMFLOW_OWN(symflow_powers)(6, w + v, 1, careful);
#endif
#pragma GCC unroll 6
        for (int v = 0; v < NAME(vectors); ++v) {
            if (careful) w[v] = symflow_keep(NAME(counted)(tile, v, j), w[v]);
            symflow_store(tile->weight + j * SYMFLOW_TILE + v * SYMFLOW_LANES, w[v]);
            mass[v] = symflow_fma(theta, w[v], mass[v]);
        }
        if (sides & SYMFLOW_KEYS) symflow_store(lanes + j * SYMFLOW_LANES, NAME(tile_lanes)(tile, w));
    }
    if (SYMFLOW_TERM_EXPONENTIAL &&
        (symflow_largest(high) > SYMFLOW_TILES_FREE ||
         (!tile->trusting && symflow_largest(-low) > SYMFLOW_TILES_FREE)))
        return 0;
    for (int v = 0; sides & SYMFLOW_QUERIES && v < NAME(vectors); ++v) {
        double *at = tile->query_mass + v * SYMFLOW_LANES;
        symflow_store(at, symflow_load(at) + mass[v]);
    }
    for (ptrdiff_t j = 0; sides & SYMFLOW_KEYS && j < tile->keys; ++j) {
        double *at = tile->key_mass + j * SYMFLOW_STRIP;
        symflow_store(at, symflow_load(at) + symflow_load(lanes + j * SYMFLOW_LANES));
    }
    return 1;
}

/* Two copies where they pay: compilers are slow. */
SYMFLOW_TARGET static int NAME(tile_direct)(symflow_tile *tile, int sides)
{
    if (SYMFLOW_ISA == 128 || tile->careful) return NAME(tile_unshifted)(tile, 1, sides);
    return NAME(tile_unshifted)(tile, 0, sides);
}

#if SYMFLOW_TERM_EXPONENTIAL
/* All scores and their extremes; -infinity where there is no pair. */
SYMFLOW_TARGET static void NAME(tile_scores)(symflow_tile *tile)
{
    symflow_real p[SYMFLOW_TERM_SCALARS + 1], low = symflow_splat(HUGE_VAL), high = symflow_splat(-HUGE_VAL);
    NAME(tile_scalars)(tile->job, p);
    for (ptrdiff_t j = 0, first = 0; j < tile->keys; ++j) {
        if (j % SYMFLOW_STRIP == 0) NAME(tile_pairings)(tile, first = j);
#pragma GCC unroll 1
        for (int v = 0; v < NAME(vectors); ++v) {
            const symflow_real s = NAME(tile_score)(tile, 1, first, j, v, p);
            const symflow_mask counted = NAME(counted)(tile, v, j);
            low = symflow_min(symflow_select(counted, s, low), low);
            high = symflow_max(symflow_select(counted, s, high), high);
            symflow_store(tile->score + j * SYMFLOW_TILE + v * SYMFLOW_LANES,
                          symflow_select(counted, s, symflow_splat(-HUGE_VAL)));
        }
    }
    tile->low = -symflow_largest(-low);
    tile->high = symflow_largest(high);
}

/* exp(score - shift) with the shifts of queries and of keys, one of which is zero, and the masses of `sides`. */
SYMFLOW_TARGET static void NAME(tile_shifted)(symflow_tile *tile, const double *queries, const double *keys, int sides)
{
    symflow_real mass[NAME(vectors)], w[NAME(vectors)];
    for (int v = 0; v < NAME(vectors); ++v) mass[v] = (symflow_real){0};
    for (ptrdiff_t j = 0; j < tile->keys; ++j) {
#pragma GCC unroll 1
        for (int v = 0; v < NAME(vectors); ++v) {
            const ptrdiff_t at = j * SYMFLOW_TILE + v * SYMFLOW_LANES;
            const symflow_real shift = symflow_load(queries + v * SYMFLOW_LANES) + symflow_splat(keys[j]);
            w[v] = symflow_exp(symflow_load(tile->score + at) - shift);
            symflow_store(tile->weight + at, w[v]);
            mass[v] = symflow_fma(symflow_splat(tile->key_theta[j]), w[v], mass[v]);
        }
        if (!(sides & SYMFLOW_KEYS)) continue;
        double *at = tile->key_mass + j * SYMFLOW_STRIP;
        symflow_store(at, symflow_fma(symflow_splat(tile->key_add[j]), NAME(tile_lanes)(tile, w), symflow_load(at)));
    }
    for (int v = 0; sides & SYMFLOW_QUERIES && v < NAME(vectors); ++v) {
        double *at = tile->query_mass + v * SYMFLOW_LANES;
        symflow_store(at, symflow_fma(symflow_load(tile->query_add + v * SYMFLOW_LANES), mass[v], symflow_load(at)));
    }
}

/* The largest score of each query and of each key, and no less than a number: a token may have no score. */
SYMFLOW_TARGET static void NAME(tile_highest)(symflow_tile *tile)
{
    symflow_real most[NAME(vectors)];
    for (int v = 0; v < NAME(vectors); ++v) most[v] = symflow_splat(SYMFLOW_TILES_LOWEST);
    for (ptrdiff_t j = 0; j < SYMFLOW_TILE; ++j) {
        symflow_real key = symflow_splat(SYMFLOW_TILES_LOWEST);
        for (int v = 0; j < tile->keys && v < NAME(vectors); ++v) {
            const symflow_real s = symflow_load(tile->score + j * SYMFLOW_TILE + v * SYMFLOW_LANES);
            most[v] = symflow_max(s, most[v]);
            key = symflow_max(s, key);
        }
        tile->key_shift[j] = symflow_largest(key);
    }
    for (int v = 0; v < NAME(vectors); ++v) symflow_store(tile->query_shift + v * SYMFLOW_LANES, most[v]);
}

/* See symflow_tiling.h. */
SYMFLOW_TARGET static void NAME(tile_move)(double *shift, const double *to, double *query_mass, double *key_mass,
                                           double *keep, double *add)
{
#pragma GCC unroll 1
    for (int q = 0; q < SYMFLOW_TILE; q += SYMFLOW_LANES) {
        const symflow_real old = symflow_load(shift + q), new = symflow_load(to + q), most = symflow_max(old, new);
        const symflow_real kept = symflow_exp(old - most);
        symflow_store(keep + q, kept);
        symflow_store(add + q, symflow_exp(new - most));
        symflow_store(shift + q, most);
        symflow_store(query_mass + q, symflow_load(query_mass + q) * kept);
    }
    for (int q = 0; q < SYMFLOW_TILE; ++q)
        for (int lane = 0; lane < SYMFLOW_STRIP; ++lane) key_mass[q * SYMFLOW_STRIP + lane] *= keep[q];
}
#endif

/* The panels of a job, ready for passes over all pairs. */
SYMFLOW_TARGET static void NAME(tiling)(symflow_tiling *tiling, symflow_pairs *job)
{
    *tiling = (symflow_tiling){.job = job, .pairings = SYMFLOW_TERM_PAIRINGS,
                               .rows = SYMFLOW_TERM_ROWS, .columns = SYMFLOW_TERM_COLUMNS};
#if SYMFLOW_TERM_EXPONENTIAL
    tiling->code = (symflow_tile_code){NAME(tile_direct), NAME(tile_scores), NAME(tile_shifted), NAME(tile_highest),
                                       NAME(tile_move)};
#else
    tiling->code = (symflow_tile_code){.direct = NAME(tile_direct)};
#endif
    symflow_tiling_open(tiling);
}

SYMFLOW_TARGET static int NAME(tiles)(symflow_pairs *job)
{
    symflow_tiling tiling;
    NAME(tiling)(&tiling, job);
    tiling.sides = job->symmetric && !job->causal ? SYMFLOW_QUERIES | SYMFLOW_KEYS : SYMFLOW_QUERIES;
    tiling.features = 1;
    symflow_tiling_run(&tiling);
    symflow_tiling_close(&tiling);
    return SYMFLOW_OK;
}
