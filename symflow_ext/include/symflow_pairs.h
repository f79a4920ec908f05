/* Sums over pairs of tokens: what the generated kernels hand over and what they get back.
 *
 * A term of the velocity is  average_i = sum_j theta_j w(s_ij) f_j / N_i,  with the score s_ij a function of
 * pairings (left_i . right_j, or |left_i - right_j|^2), of numbers of token i and of numbers of token j.
 * Arrays of tokens lie coordinate after coordinate, `pitch` doubles apart; pitch is a multiple of 8, at least n,
 * and what is beyond n is zero. The loops themselves are made per term: symflow_pairs_term.h.
 */
#ifndef SYMFLOW_PAIRS_H
#define SYMFLOW_PAIRS_H

#include <stddef.h>
#include "symflow_abi.h"
#include "symflow_tiles.h"
#include "symflow_tournament.h"

enum {
    SYMFLOW_MOST_PAIRINGS = 4,
    SYMFLOW_MOST_NUMBERS = 8,
    SYMFLOW_PAIRS_NARROW = 8,  /* the largest widths that are kept in registers; wider ones go through tiles */
    SYMFLOW_PAIRS_MANY = 128,  /* tokens from which on tiles are faster for widths beyond four, too */
    SYMFLOW_PAIRS_SHARED = 256,    /* tokens from which on threads share the work: what they hand to each other */
    SYMFLOW_TILES_SHARED = 384,    /* grows with n, what they do with n^2, and both with the widths; so in tiles */
    SYMFLOW_PAIRS_KEYS = 256,      /* keys that it sweeps over at a time: they stay in the first cache */
    SYMFLOW_PAIRS_RANGE = 600  /* the exponentials of scores so far apart can be added up as they are */
};

/* N_i: one; the sum of theta_j w_ij; or both marginals of exp(f_i + s_ij + g_j) are one. */
enum { SYMFLOW_SUM = 0, SYMFLOW_SOFTMAX = 1, SYMFLOW_SINKHORN = 2 };

typedef struct symflow_pairs {
    ptrdiff_t n, pitch;
    int normalise, causal, symmetric; /* causal: j <= i only; symmetric: s_ij = s_ji */
    const double *theta;              /* pitch numbers; NULL: 1/n each */
    ptrdiff_t widths[SYMFLOW_MOST_PAIRINGS];
    const double *left[SYMFLOW_MOST_PAIRINGS], *right[SYMFLOW_MOST_PAIRINGS]; /* width x pitch */
    const double *rows[SYMFLOW_MOST_NUMBERS], *columns[SYMFLOW_MOST_NUMBERS]; /* pitch */
    const double *scalars; /* parameters in the score */
    ptrdiff_t width;       /* of the feature f */
    const double *feature; /* width x pitch */
    double *average;       /* out: width x pitch */
    double *mass;          /* out: sum_j theta_j w_ij / N_i, pitch */
    double *work;
    const symflow_linalg *linalg;
} symflow_pairs;

/* Blocks of the symmetric template: a function of n alone, and few, since threads hand the sums of blocks around. */
static inline ptrdiff_t symflow_pairs_blocks(ptrdiff_t n)
{
    return n < SYMFLOW_PAIRS_SHARED ? 1 : n < 2048 ? 4 : n < 16384 ? 8 : 16;
}

/* Whether tiles are faster than rows kept in registers, for widths of which this is the largest. */
static inline int symflow_pairs_tiled(ptrdiff_t n, ptrdiff_t widest)
{
    return widest > SYMFLOW_PAIRS_NARROW || (widest > 4 && n >= SYMFLOW_PAIRS_MANY);
}

/* Doubles of scratch for a term of so many pairings, of these widths, and of a feature of this width. */
static inline ptrdiff_t symflow_pairs_work(ptrdiff_t n, ptrdiff_t pitch, int normalise, int pairings,
                                           const ptrdiff_t *widths, ptrdiff_t width)
{
    ptrdiff_t widest = width;
    for (int m = 0; m < pairings; ++m) widest = widths[m] > widest ? widths[m] : widest;
    if (normalise == SYMFLOW_SINKHORN || symflow_pairs_tiled(n, widest))
        return symflow_tiles_work(n, pairings, widths, width);
    return pitch + symflow_tournament_work(symflow_pairs_blocks(n));
}

#endif
