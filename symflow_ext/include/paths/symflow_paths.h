/* Paths of stochastic differential equations of tokens: one path per lane of a vector register.
 *
 *     dx_i = b_i(x) dt + dW(x_i) + B dB_i,        Cov(W_a(x), W_b(y)) = kappa(<x, y>) delta_ab,
 *
 * with the common noise W and idiosyncratic noises B_i, on R^d, or projected onto the tangent space of the unit sphere
 * and retracted onto it after every step. No operation mixes lanes, and what is drawn depends on seed, path and
 * step alone, so that a path has the same bits in any company.
 */
#ifndef SYMFLOW_PATHS_H
#define SYMFLOW_PATHS_H

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "symflow_abi.h"

enum {
    SYMFLOW_PATHS_LANES = 8,   /* of the widest register */
    SYMFLOW_PATHS_PIECES = 16, /* of a table: eight for u >= 0, then eight for u < 0 */
    SYMFLOW_PATHS_TERMS = 12   /* coefficients of a piece */
};
/* A piece of a table has this width in s = sqrt(1 - |u|), its reciprocal; 8 would count s = 1 to a ninth. */
#define SYMFLOW_PATHS_PER_WIDTH 7.999

enum { SYMFLOW_PATHS_EULER = 0, SYMFLOW_PATHS_HEUN = 1 };
enum { SYMFLOW_DRAW_NONE = 0, SYMFLOW_DRAW_COVARIANCE = 1, SYMFLOW_DRAW_FEATURES = 2, SYMFLOW_DRAW_HARMONICS = 3 };
/* The third word of a counter is the path, the fourth says what is drawn. */
enum { SYMFLOW_STREAM_FIELD = 0, SYMFLOW_STREAM_OWN = 1, SYMFLOW_STREAM_REALISATION = 2 };

/* What all paths share. */
typedef struct symflow_paths {
    ptrdiff_t n, d, steps, substeps;
    int sphere, scheme, draw, fused;
    double t0, t1, dt;
    unsigned long long key[2];
    const double *kappa; /* SYMFLOW_PATHS_TERMS x SYMFLOW_PATHS_PIECES */
    double tiny;         /* pivots up to this one are zero: tokens that have merged */
    ptrdiff_t sources;
    const double *factor; /* B, d x sources */
    double scale, sign;   /* of fused attention: sign * softmax(scale <x, y>) */
    ptrdiff_t features, program;
    const double *codes, *numbers; /* of the activation: SYMFLOW_ACTIVATION_* and the numbers they read */
    double inner, inner_bias, outer_bias;
    const double *amplitudes; /* of harmonics, by degree */
    ptrdiff_t count, times;
    const ptrdiff_t *rows;  /* the step during which each time to record lies; 0 is the start */
    const double *shares;   /* how far into that step, 1 at its end */
    double *out;            /* count x times x n x d */
    ptrdiff_t *reached;     /* count: rows that were written */
} symflow_paths;

/* Paths that run together, and the thread's own right-hand side. */
typedef struct symflow_paths_group {
    ptrdiff_t step, first, row; /* first: which path is in lane 0; row: the next time to record */
    unsigned long long path[SYMFLOW_PATHS_LANES];
    long long alive[SYMFLOW_PATHS_LANES]; /* -1 or 0 */
    int reason[SYMFLOW_PATHS_LANES];      /* what the right-hand side returned where a path has ended, 0: overflow */
    ptrdiff_t ended[SYMFLOW_PATHS_LANES]; /* its last step */
    double *now, *before;                 /* n x d registers each */
    double *memory;
    symflow_rhs rhs;
    const symflow_call *call;
    double *y, *dy; /* tokens of one path, and their velocities */
} symflow_paths_group;

static double symflow_paths_clock(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The time after k steps; the last one ends at t1. */
static double symflow_paths_time(const symflow_paths *p, ptrdiff_t k)
{
    return k >= p->steps ? p->t1 : p->t0 + (double)k * p->dt;
}

#include "paths/symflow_activation.h"

/* Normal numbers that one realisation of the field needs: U, W, b_U, b_W of a layer, or coefficients by degree. */
static ptrdiff_t symflow_realisation_size(const symflow_paths *p)
{
    if (p->draw == SYMFLOW_DRAW_FEATURES) return p->features * (2 * p->d + 1) + p->d;
    if (p->draw != SYMFLOW_DRAW_HARMONICS) return 0;
    return p->d * (p->d == 2 ? 2 * p->features + 1 : (p->features + 1) * (p->features + 1));
}

#if defined(__x86_64__) && defined(__GNUC__)
#define SYMFLOW_ISA 512
#include "symflow_isa.h"
#include "paths/symflow_paths_body.h"
#include "symflow_isa_end.h"
#define SYMFLOW_ISA 256
#include "symflow_isa.h"
#include "paths/symflow_paths_body.h"
#include "symflow_isa_end.h"
#endif
#define SYMFLOW_ISA 128
#include "symflow_isa.h"
#include "paths/symflow_paths_body.h"
#include "symflow_isa_end.h"

/* Paths in the widest register that the machine has. */
static int symflow_paths_width(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return 8;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 4;
#endif
    return 2;
}

#if defined(__x86_64__) && defined(__GNUC__)
#define SYMFLOW_BY_WIDTH(width, call)                                                                                  \
    switch (width) {                                                                                                   \
        case 8: return call(512);                                                                                      \
        case 4: return call(256);                                                                                      \
    }                                                                                                                  \
    return call(128)
#else
#define SYMFLOW_BY_WIDTH(width, call) return call(128)
#endif

/* Doubles of scratch and state that a group needs, aligned to 64 bytes. */
static ptrdiff_t symflow_paths_memory(const symflow_paths *p, int width)
{
#define CALL(isa) symflow_paths_memory_##isa(p)
    SYMFLOW_BY_WIDTH(width, CALL);
#undef CALL
}

/* Make a group ready for tokens: registers beyond them, which only pad tiles, are zero from the start. */
static int symflow_paths_place(const symflow_paths *p, symflow_paths_group *g, int width)
{
#define CALL(isa) symflow_paths_place_##isa(p, g)
    SYMFLOW_BY_WIDTH(width, CALL);
#undef CALL
}

/* Put the path of a lane at its start x0 (n x d). */
static void symflow_paths_start(const symflow_paths *p, symflow_paths_group *g, int width, int lane, const double *x0)
{
    for (ptrdiff_t i = 0; i < p->n * p->d; ++i) g->now[i * width + lane] = g->before[i * width + lane] = x0[i];
    g->alive[lane] = -1;
    g->reason[lane] = 0;
    g->ended[lane] = 0;
}

/* Take steps up to step `until`, or until the clock shows `deadline`; SYMFLOW_RAISED where a callback has. */
static int symflow_paths_advance(const symflow_paths *p, symflow_paths_group *g, int width, ptrdiff_t until,
                                 double deadline)
{
#define CALL(isa) symflow_paths_advance_##isa(p, g, until, deadline)
    SYMFLOW_BY_WIDTH(width, CALL);
#undef CALL
}

/* Write the times that lie in the last step, joined linearly to the step before. */
static void symflow_paths_write(const symflow_paths *p, symflow_paths_group *g, int width)
{
    const ptrdiff_t size = p->n * p->d;
    for (; g->row < p->times && p->rows[g->row] <= g->step; ++g->row) {
        const double share = p->shares[g->row];
        for (int lane = 0; lane < width && g->first + lane < p->count; ++lane) {
            double *to = p->out + ((g->first + lane) * p->times + g->row) * size;
            if (!g->alive[lane]) continue;
            for (ptrdiff_t i = 0; i < size; ++i) {
                const double old = g->before[i * width + lane], now = g->now[i * width + lane];
                to[i] = share == 1.0 ? now : old + (now - old) * share;
            }
            p->reached[g->first + lane] = g->row + 1;
        }
    }
}

/* Go from one time to record to the next, up to step `until`. */
static int symflow_paths_run(const symflow_paths *p, symflow_paths_group *g, int width, ptrdiff_t until,
                             double deadline)
{
    for (;;) {
        symflow_paths_write(p, g, width);
        if (g->step >= until) return SYMFLOW_OK;
        const ptrdiff_t target = g->row < p->times && p->rows[g->row] < until ? p->rows[g->row] : until;
        const int code = symflow_paths_advance(p, g, width, target, deadline);
        if (code != SYMFLOW_OK || g->step < target) {
            symflow_paths_write(p, g, width);
            return code;
        }
    }
}

/* count normal numbers of one path, step and stream, for tests: out is count x width, lane after lane. */
static int symflow_paths_normals(int width, ptrdiff_t count, const unsigned long long *path, unsigned long long step,
                                 unsigned long long tag, const unsigned long long *key, double *out, int raw)
{
#define CALL(isa) symflow_paths_normals_##isa(count, path, step, tag, key, out, raw)
    SYMFLOW_BY_WIDTH(width, CALL);
#undef CALL
}

#endif
