/* Products inside a tile for one instruction set; included by symflow_tile_products.h only.
 *
 * 48 is a multiple of every number of rows and of columns that are held. There are 24 sums where there are 32
 * registers of 8 numbers and 12 otherwise: enough to hide the latency of multiplying and adding. Loops over registers
 * have constant ends and are unrolled, so that no sum is in memory.
 */
#define NAME(name) SYMFLOW_OWN(symflow_tile_##name)

enum { NAME(held) = SYMFLOW_ISA == 512 ? 24 : 12, NAME(deep) = NAME(held) / 3 };

/* Pairings of some keys with the queries of three vectors. */
SYMFLOW_INLINE void NAME(three)(int difference, ptrdiff_t width, const double *keys, const double *queries, double *out)
{
    symflow_real s[NAME(deep)][3], x[3];
#pragma GCC unroll 8
    for (int q = 0; q < NAME(deep); ++q)
#pragma GCC unroll 3
        for (int v = 0; v < 3; ++v) s[q][v] = (symflow_real){0};
    for (ptrdiff_t c = 0; c < width; ++c, keys += SYMFLOW_TILE, queries += SYMFLOW_TILE) {
#pragma GCC unroll 3
        for (int v = 0; v < 3; ++v) x[v] = symflow_load(queries + v * SYMFLOW_LANES);
#pragma GCC unroll 8
        for (int q = 0; q < NAME(deep); ++q)
#pragma GCC unroll 3
            for (int v = 0; v < 3; ++v) {
                symflow_real y = symflow_splat(keys[q]), e = x[v] - y;
                s[q][v] = difference ? symflow_fma(e, e, s[q][v]) : symflow_fma(x[v], y, s[q][v]);
            }
    }
#pragma GCC unroll 8
    for (int q = 0; q < NAME(deep); ++q)
#pragma GCC unroll 3
        for (int v = 0; v < 3; ++v) symflow_store(out + q * SYMFLOW_TILE + v * SYMFLOW_LANES, s[q][v]);
}

SYMFLOW_TARGET static void NAME(pairings)(int difference, ptrdiff_t width, const double *keys, const double *queries,
                                          double *out)
{
    for (int i = 0; i < SYMFLOW_TILE; i += 3 * SYMFLOW_LANES)
        for (int q = 0; q < SYMFLOW_STRIP; q += NAME(deep)) {
            double *to = out + q * SYMFLOW_TILE + i;
            if (difference)
                NAME(three)(1, width, keys + q, queries + i, to);
            else
                NAME(three)(0, width, keys + q, queries + i, to);
        }
}

/* Some rows, and `vectors` vectors of columns of a panel; `along` is from row to row in w. */
SYMFLOW_INLINE void NAME(block)(int vectors, int along, ptrdiff_t panel, ptrdiff_t depth, const double *w,
                                const double *f, double *sums, const double *keep, const double *add)
{
    symflow_real s[24][4], x[4];
    const int rows = NAME(held) / vectors, across = along == 1 ? SYMFLOW_TILE : 1;
#pragma GCC unroll 24
    for (int q = 0; q < rows; ++q)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) s[q][v] = (symflow_real){0};
    for (ptrdiff_t e = 0; e < depth; ++e, w += across, f += panel) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) x[v] = symflow_load(f + v * SYMFLOW_LANES);
#pragma GCC unroll 24
        for (int q = 0; q < rows; ++q)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) s[q][v] = symflow_fma(x[v], symflow_splat(w[q * along]), s[q][v]);
    }
#pragma GCC unroll 24
    for (int q = 0; q < rows; ++q)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
            double *to = sums + q * panel + v * SYMFLOW_LANES;
            symflow_real old = symflow_load(to);
            symflow_store(to, keep ? keep[q] * old + add[q] * s[q][v] : old + s[q][v]);
        }
}

SYMFLOW_INLINE void NAME(columns)(int vectors, int along, ptrdiff_t panel, ptrdiff_t rows, ptrdiff_t depth,
                                  const double *w, const double *f, double *sums, const double *keep, const double *add)
{
    for (ptrdiff_t q = 0; q < rows; q += NAME(held) / vectors)
        NAME(block)(vectors, along, panel, depth, w + q * along, f, sums + q * panel, keep ? keep + q : NULL, add + q);
}

SYMFLOW_INLINE void NAME(split)(int along, ptrdiff_t panel, ptrdiff_t rows, ptrdiff_t depth, const double *w,
                                const double *f, double *sums, const double *keep, const double *add)
{
    const ptrdiff_t vectors = panel / SYMFLOW_LANES;
    const int step = vectors % 4 == 0 ? 4 : vectors % 3 == 0 ? 3 : (int)vectors;
    for (ptrdiff_t v = 0; v < vectors; v += step, f += step * SYMFLOW_LANES, sums += step * SYMFLOW_LANES)
        if (step == 4)
            NAME(columns)(4, along, panel, rows, depth, w, f, sums, keep, add);
        else if (step == 3)
            NAME(columns)(3, along, panel, rows, depth, w, f, sums, keep, add);
        else if (step == 2)
            NAME(columns)(2, along, panel, rows, depth, w, f, sums, keep, add);
        else
            NAME(columns)(1, along, panel, rows, depth, w, f, sums, keep, add);
}

SYMFLOW_TARGET static void NAME(sums)(int transposed, ptrdiff_t panel, ptrdiff_t rows, ptrdiff_t depth, const double *w,
                                      const double *f, double *sums, const double *keep, const double *add)
{
    if (transposed)
        NAME(split)(1, panel, rows, depth, w, f, sums, keep, add);
    else
        NAME(split)(SYMFLOW_TILE, panel, rows, depth, w, f, sums, keep, add);
}

#undef NAME
