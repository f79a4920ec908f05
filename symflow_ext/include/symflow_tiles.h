/* Products inside a tile of 48 x 48 pairs of tokens: what kernels find in the table of linear algebra.
 *
 * Tokens lie in panels: coordinate after coordinate of 48 tokens, or token after token of up to 32 coordinates.
 */
#ifndef SYMFLOW_TILES_H
#define SYMFLOW_TILES_H

#include <stddef.h>
#include "symflow_abi.h"
#include "symflow_tournament.h"

enum {
    SYMFLOW_TILE = 48,  /* tokens */
    SYMFLOW_STRIP = 8,  /* keys whose pairings are formed together */
    SYMFLOW_PANEL = 32, /* most coordinates of a panel of features */
};

typedef struct symflow_tile_products {
    /* out (8 keys x 48 queries) = left . right, or |left - right|^2; the keys are 8 columns of 48. */
    void (*pairings)(int difference, ptrdiff_t width, const double *keys, const double *queries, double *out);
    /* sums <- keep sums + add (w f), row by row (NULL: ones), w the tile (keys x queries) or its transpose. */
    void (*sums)(int transposed, ptrdiff_t panel, ptrdiff_t rows, ptrdiff_t depth, const double *w, const double *f,
                 double *sums, const double *keep, const double *add);
} symflow_tile_products;

/* Coordinates of the next panel, where `rest` (a multiple of 8) are left: none is much narrower than others. */
static inline ptrdiff_t symflow_tile_panel(ptrdiff_t rest)
{
    return rest == 40 || rest == 48 ? 24 : rest > SYMFLOW_PANEL ? SYMFLOW_PANEL : rest;
}

static inline ptrdiff_t symflow_tiles_of(ptrdiff_t n) { return (n + SYMFLOW_TILE - 1) / SYMFLOW_TILE; }

/* Doubles of scratch for sums by tiles, over so many pairings of these widths and a feature of this width. */
static inline ptrdiff_t symflow_tiles_work(ptrdiff_t n, int pairings, const ptrdiff_t *widths, ptrdiff_t width)
{
    ptrdiff_t each = 6 + SYMFLOW_STRIP + 2 * ((width + 7) / 8 * 8);
    for (int m = 0; m < pairings; ++m) each += 2 * widths[m];
    return symflow_tiles_of(n) * SYMFLOW_TILE * each + symflow_tournament_work(symflow_tiles_of(n)) + 8;
}

#endif
