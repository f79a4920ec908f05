/* Velocities of n tokens on the circle or on S^2 without a sum over pairs.
 *
 * With u_i the unit query, x_j the unit keys and k(c) = exp(kappa (c - 1)), a term needs
 *     Z_i = (1/n) sum_j k(<u_i, x_j>)   and   (1/n) sum_j k(<u_i, x_j>) x_j = R_i u_i + T_i,  T_i orthogonal to u_i.
 * In harmonics Z = a_0 + kappa sum_k t_k Y_k(u), R = sum_k r_k Y_k(u), T = sum_k t_k grad Y_k(u), where Y_k is the
 * part of degree k of the empirical law: circle  Y_k = Re conj(m_k) u^k  with  m_k = (1/n) sum_j x_j^k;
 * S^2  Y_l = sum_m s_lm^2 Re conj(m_lm) q_lm(z) (x + iy)^m  with  m_lm = (1/n) sum_j q_lm(z_j) (x_j + i y_j)^m.
 * All terms share the moments, since the keys are the tokens. Where Z_i is below `floor`, truncation and rounding
 * are no longer small beside it, and token i is summed directly.
 *
 * Tokens are taken in tiles; a part is some tiles. How many there are depends on n alone, and moments of parts are
 * added in order, so that the bits do not depend on the number of threads.
 */
#ifndef SYMFLOW_FAST_H
#define SYMFLOW_FAST_H

#include <math.h>
#include <stddef.h>
#include <string.h>
#include "symflow_abi.h"

enum {
    SYMFLOW_FAST_TILE = 512,  /* tokens whose coordinates lie in the first cache */
    SYMFLOW_FAST_CHUNK = 64,  /* modes that are summed before a tile is read again */
    SYMFLOW_FAST_PARTS = 64,  /* the most parts */
    SYMFLOW_FAST_DEGREE = 128, /* the most modes on S^2 */
    SYMFLOW_FAST_SHARED = 200000, /* tokens times moments from which on threads are worth waking */
    SYMFLOW_FAST_MOST = 3     /* coordinates */
};

/* Powers of x + iy near a pole are zero below this: they would be denormal, which is slow. */
#define SYMFLOW_FAST_TINY 1e-150

/* One term of the velocity: what multiplies R u + T and Z. */
typedef struct symflow_fast_term {
    ptrdiff_t modes; /* the last mode, M */
    int turned;      /* u = turn x; otherwise u = x */
    int radial;      /* whether R is wanted: where everything but T is projected away it is not */
    int normalised;  /* divide by Z */
    double kappa, first, floor;
    double scale; /* not normalised: what k was divided by, exp(kappa + ...) */
    double turn[9], matrix[9], offset[3];
    const double *slope; /* t_k, M + 1 numbers, the first is not read */
    const double *along; /* r_k, M + 1 numbers */
    double *table;       /* scratch: 6 numbers per mode */
} symflow_fast_term;

typedef struct symflow_fast {
    ptrdiff_t n, d, modes, count; /* modes: the most of any term */
    ptrdiff_t parts, part;        /* part: tokens of one, whole tiles */
    const double *steps;          /* S^2: alpha_lm, see symflow_fast_sphere */
    const double *weights;        /* S^2: s_lm^2 */
    const double *slants;         /* S^2: of d/dz, gamma_lm s_l,m+1 / s_lm */
    double background[9], shift[3];
    symflow_fast_term *terms;
    double *moments; /* parts + 1 times the complex moments */
    const double *y;
    double *dy;
} symflow_fast;

/* Complex moments: of modes 0 .. M, or of all 0 <= m <= l <= M, where those of one m follow each other. */
static inline ptrdiff_t symflow_fast_moments(ptrdiff_t d, ptrdiff_t modes)
{
    return d == 2 ? modes + 1 : (modes + 1) * (modes + 2) / 2;
}

/* Where those of m start: row m has modes + 1 - m entries. */
static inline ptrdiff_t symflow_fast_row(ptrdiff_t modes, ptrdiff_t m) { return m * (2 * modes + 3 - m) / 2; }

/* Inlined into the copy for each instruction set, with d known, so that its loops become vector loops. */
#define SYMFLOW_FAST_INLINE static inline __attribute__((always_inline))

/* Unit vectors of `count` tokens, coordinate after coordinate, a tile apart; what follows is zero. */
SYMFLOW_FAST_INLINE void symflow_fast_gather(const ptrdiff_t d, ptrdiff_t count, const double *restrict y,
                                             double *restrict x)
{
    for (ptrdiff_t i = 0; i < count; ++i) {
        double square = 0.0;
        for (ptrdiff_t a = 0; a < d; ++a)
            square += y[i * d + a] * y[i * d + a];
        double inverse = 1.0 / sqrt(square);
        for (ptrdiff_t a = 0; a < d; ++a)
            x[a * SYMFLOW_FAST_TILE + i] = y[i * d + a] * inverse;
    }
    for (ptrdiff_t a = 0; a < d; ++a)
        for (ptrdiff_t i = count; i < SYMFLOW_FAST_TILE; ++i)
            x[a * SYMFLOW_FAST_TILE + i] = 0.0;
}

/* The queries u = U x / |U x|. */
SYMFLOW_FAST_INLINE void symflow_fast_turn(const ptrdiff_t d, const double *turn, const double *restrict x,
                                           double *restrict u)
{
    for (ptrdiff_t i = 0; i < SYMFLOW_FAST_TILE; ++i) {
        double out[SYMFLOW_FAST_MOST], square = 0.0;
        for (ptrdiff_t a = 0; a < d; ++a) {
            out[a] = 0.0;
            for (ptrdiff_t b = 0; b < d; ++b)
                out[a] += turn[a * d + b] * x[b * SYMFLOW_FAST_TILE + i];
            square += out[a] * out[a];
        }
        double inverse = square > 0.0 ? 1.0 / sqrt(square) : 0.0; /* beyond the tokens there are zeros */
        for (ptrdiff_t a = 0; a < d; ++a)
            u[a * SYMFLOW_FAST_TILE + i] = out[a] * inverse;
    }
}

/* Add to v what a term contributes, given Z and (1/n) sum_j k x_j of a tile. */
SYMFLOW_FAST_INLINE void symflow_fast_contribute(const symflow_fast_term *term, const ptrdiff_t d, ptrdiff_t count,
                                                 const double *restrict z, const double *restrict sums,
                                                 double *restrict v)
{
    for (ptrdiff_t i = 0; i < count; ++i) {
        double factor = term->normalised ? 1.0 / z[i] : term->scale, mass = factor * z[i];
        for (ptrdiff_t a = 0; a < d; ++a) {
            double sum = 0.0;
            for (ptrdiff_t b = 0; b < d; ++b)
                sum += term->matrix[a * d + b] * sums[b * SYMFLOW_FAST_TILE + i];
            v[a * SYMFLOW_FAST_TILE + i] += factor * sum + mass * term->offset[a];
        }
    }
}

/* Which tokens of a tile have a mass below the floor; return how many. */
SYMFLOW_FAST_INLINE ptrdiff_t symflow_fast_lonely(double floor, ptrdiff_t count, const double *z, ptrdiff_t *index)
{
    double least = HUGE_VAL;
    ptrdiff_t found = 0;
    for (ptrdiff_t i = 0; i < count; ++i)
        least = z[i] < least ? z[i] : least;
    for (ptrdiff_t i = 0; least < floor && i < count; ++i)
        if (z[i] < floor)
            index[found++] = i;
    return found;
}

/* dy = (I - x x') (W x + c + v), x as it is and not of length one. */
SYMFLOW_FAST_INLINE void symflow_fast_finish(const symflow_fast *job, const ptrdiff_t d, ptrdiff_t from,
                                             ptrdiff_t count, const double *restrict v)
{
    const double *restrict y = job->y + from * d;
    double *restrict dy = job->dy + from * d;
    for (ptrdiff_t i = 0; i < count; ++i) {
        double out[SYMFLOW_FAST_MOST], along = 0.0;
        for (ptrdiff_t a = 0; a < d; ++a) {
            out[a] = v[a * SYMFLOW_FAST_TILE + i] + job->shift[a];
            for (ptrdiff_t b = 0; b < d; ++b)
                out[a] += job->background[a * d + b] * y[i * d + b];
            along += out[a] * y[i * d + a];
        }
        for (ptrdiff_t a = 0; a < d; ++a)
            dy[i * d + a] = out[a] - along * y[i * d + a];
    }
}

/* What multiplies the moments of modes 1 .. M: t m, k t m, r m. */
static void symflow_fast_circle_table(const symflow_fast_term *term, const double *moments)
{
    for (ptrdiff_t k = 1; k <= term->modes; ++k) {
        double re = moments[2 * k], im = moments[2 * k + 1], t = term->slope[k], r = term->along[k];
        double *row = term->table + 6 * k;
        row[0] = t * re;
        row[1] = t * im;
        row[2] = (double)k * row[0];
        row[3] = (double)k * row[1];
        row[4] = r * re;
        row[5] = r * im;
    }
}

/* The same on S^2; an entry also holds what q_lm is multiplied by in the derivative of q_l,m-1. */
static void symflow_fast_sphere_table(const symflow_fast *job, const symflow_fast_term *term, const double *moments)
{
    double *row = term->table;
    for (ptrdiff_t m = 0; m <= term->modes; ++m) {
        ptrdiff_t here = symflow_fast_row(job->modes, m), before = symflow_fast_row(job->modes, m - 1) + 1;
        for (ptrdiff_t l = m; l <= term->modes; ++l, row += 6) {
            ptrdiff_t at = here + l - m, left = before + l - m;
            double s = job->weights[at], t = l ? term->slope[l] : 0.0, r = term->along[l];
            row[0] = t * s * moments[2 * at];
            row[1] = t * s * moments[2 * at + 1];
            row[2] = row[3] = 0.0;
            if (m) {
                double slant = t * job->weights[left] * job->slants[left];
                row[2] = slant * moments[2 * left];
                row[3] = slant * moments[2 * left + 1];
            }
            row[4] = r * s * moments[2 * at];
            row[5] = r * s * moments[2 * at + 1];
        }
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
#define SYMFLOW_FAST_DISPATCH 1
#define SYMFLOW_ISA 512
#include "symflow_isa.h"
#include "symflow_fast_body.h"
#include "symflow_isa_end.h"
#define SYMFLOW_ISA 256
#include "symflow_isa.h"
#include "symflow_fast_body.h"
#include "symflow_isa_end.h"
#endif
#define SYMFLOW_ISA 128
#include "symflow_isa.h"
#include "symflow_fast_body.h"
#include "symflow_isa_end.h"

/* The parts of one instruction set. */
typedef struct symflow_fast_passes {
    void (*moments)(ptrdiff_t part, void *job);
    void (*velocity)(ptrdiff_t part, void *job);
} symflow_fast_passes;

static symflow_fast_passes symflow_fast_circle_passes, symflow_fast_sphere_passes;

#define SYMFLOW_FAST_PASSES(w, space)                                                                          \
    ((symflow_fast_passes){symflow_fast_##space##_moments_part_##w, symflow_fast_##space##_velocity_part_##w})

/* Choose the copies for registers of at most `width` doubles, and no wider than the machine's. */
static void symflow_fast_choose(int width)
{
    symflow_fast_circle_passes = SYMFLOW_FAST_PASSES(128, circle);
    symflow_fast_sphere_passes = SYMFLOW_FAST_PASSES(128, sphere);
#ifdef SYMFLOW_FAST_DISPATCH
    __builtin_cpu_init();
    if (width >= 4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        symflow_fast_circle_passes = SYMFLOW_FAST_PASSES(256, circle);
        symflow_fast_sphere_passes = SYMFLOW_FAST_PASSES(256, sphere);
    }
    if (width >= 8 && __builtin_cpu_supports("avx512f")) {
        symflow_fast_circle_passes = SYMFLOW_FAST_PASSES(512, circle);
        symflow_fast_sphere_passes = SYMFLOW_FAST_PASSES(512, sphere);
    }
#endif
}

/* Do all parts, on several threads where that is worth waking them. */
static void symflow_fast_share(const symflow_linalg *linalg, symflow_fast *job, void (*part)(ptrdiff_t, void *))
{
    if (job->n * symflow_fast_moments(job->d, job->modes) >= SYMFLOW_FAST_SHARED) {
        linalg->parallel(job->parts, part, job);
        return;
    }
    for (ptrdiff_t i = 0; i < job->parts; ++i)
        part(i, job);
}

/* A right-hand side of symflow_abi.h; call->user is the symflow_fast. */
static int symflow_fast_velocity(double t, const double *y, double *dy, const symflow_call *call)
{
    symflow_fast *job = (symflow_fast *)call->user;
    const symflow_fast_passes *passes = job->d == 2 ? &symflow_fast_circle_passes : &symflow_fast_sphere_passes;
    ptrdiff_t size = 2 * symflow_fast_moments(job->d, job->modes);
    double *total = job->moments + job->parts * size;
    (void)t;
    job->y = y;
    job->dy = dy;
    symflow_fast_share(call->linalg, job, passes->moments);
    memset(total, 0, (size_t)size * sizeof(double));
    for (ptrdiff_t p = 0; p < job->parts; ++p)
        for (ptrdiff_t i = 0; i < size; ++i)
            total[i] += job->moments[p * size + i];
    for (ptrdiff_t i = 0; i < size; ++i)
        total[i] /= (double)job->n;
    for (ptrdiff_t i = 0; i < job->count; ++i) {
        if (job->d == 2)
            symflow_fast_circle_table(job->terms + i, total);
        else
            symflow_fast_sphere_table(job, job->terms + i, total);
    }
    symflow_fast_share(call->linalg, job, passes->velocity);
    return SYMFLOW_OK;
}

#endif
