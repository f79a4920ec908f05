/* Deep transformers with random layers: one path of a network, its tokens in the lanes of vector registers.
 *
 *     Y = LN(X + (T/L) Attn(X)),   X <- LN(Y + (T/L)^(1/2) G(Y)),   LN(v) = v / |v|,
 *     G(y) = m^(-1/2) W phi(d^(-1/2) U y + b_U) + b_W,
 *
 * with fresh weights in every layer. What layer l of a path draws is the realisation of the field in step l of the
 * path in symflow_paths.h: U, W (a unit after the other), b_U, b_W. It depends on seed, path and layer alone.
 */
#ifndef SYMFLOW_NETWORK_H
#define SYMFLOW_NETWORK_H

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "symflow_abi.h"
#include "paths/symflow_activation.h"

enum {
    SYMFLOW_NETWORK_PAD = 8,    /* tokens are padded to whole registers of any width */
    SYMFLOW_NETWORK_STREAM = 2, /* the fourth word of a counter: SYMFLOW_STREAM_REALISATION */
    SYMFLOW_NETWORK_UNITS = 8,  /* hidden units whose sums are formed together */
    SYMFLOW_NETWORK_DRAWS = 128 /* numbers that are drawn together, at most */
};
/* Tokens that are no finite numbers; what a right-hand side returns is below. */
enum { SYMFLOW_NETWORK_NON_FINITE = 16 };

typedef struct symflow_network {
    ptrdiff_t n, d, width, layers, program;
    double horizon;
    unsigned long long key[2];
    const double *codes, *numbers;           /* of the activation */
    double inner, inner_bias, outer_bias;    /* d^(-1/2), sigma_U, sigma_W */
} symflow_network;

typedef struct symflow_network_path {
    ptrdiff_t layer;
    unsigned long long path;
    double *x, *y;           /* n x d: tokens, and the velocity or the tokens between the halves of a layer */
    double *columns, *field; /* d x padded n: a coordinate after the other */
    double *drawn;           /* the weights of a layer */
    double *values;          /* blocks of the activation */
    symflow_rhs rhs;         /* attention, or NULL */
    const symflow_call *call;
} symflow_network_path;

static ptrdiff_t symflow_network_padded(ptrdiff_t n)
{
    return (n + SYMFLOW_NETWORK_PAD - 1) / SYMFLOW_NETWORK_PAD * SYMFLOW_NETWORK_PAD;
}

/* Normal numbers that a layer draws. */
static ptrdiff_t symflow_network_weights(const symflow_network *s) { return s->width * (2 * s->d + 1) + s->d; }

/* Room for them. */
static ptrdiff_t symflow_network_room(const symflow_network *s)
{
    return (symflow_network_weights(s) / SYMFLOW_NETWORK_DRAWS + 1) * SYMFLOW_NETWORK_DRAWS;
}

/* Doubles of scratch for the activation, for any width of registers: a block per instruction and one of arguments. */
static ptrdiff_t symflow_network_values(const symflow_network *s)
{
    return (s->program + 1) * SYMFLOW_ACTIVATION_BLOCK * SYMFLOW_NETWORK_PAD;
}

static double symflow_network_clock(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#if defined(__x86_64__) && defined(__GNUC__)
#define SYMFLOW_ISA 512
#include "symflow_isa.h"
#include "network/symflow_network_body.h"
#include "symflow_isa_end.h"
#define SYMFLOW_ISA 256
#include "symflow_isa.h"
#include "network/symflow_network_body.h"
#include "symflow_isa_end.h"
#endif
#define SYMFLOW_ISA 128
#include "symflow_isa.h"
#include "network/symflow_network_body.h"
#include "symflow_isa_end.h"

/* Registers of at most `width` doubles, and no wider than the machine's. */
static int symflow_network_width(int width)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (width >= 8 && __builtin_cpu_supports("avx512f")) return 8;
    if (width >= 4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 4;
#endif
    return 2;
}

/* Draw the weights of a layer of a path into symflow_network_room() doubles. */
static void symflow_network_draw(const symflow_network *s, int width, unsigned long long path, ptrdiff_t layer,
                                 double *drawn)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (width == 8) return symflow_network_draw_512(s, path, layer, drawn);
    if (width == 4) return symflow_network_draw_256(s, path, layer, drawn);
#endif
    symflow_network_draw_128(s, path, layer, drawn);
}

/* field = G at the tokens in the columns, both d x padded n; the columns are scaled by d^(-1/2). */
static void symflow_network_field(const symflow_network *s, int width, const double *drawn, const double *columns,
                                  double *field, double *values)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (width == 8) return symflow_network_field_512(s, drawn, columns, field, (symflow_real_512 *)values);
    if (width == 4) return symflow_network_field_256(s, drawn, columns, field, (symflow_real_256 *)values);
#endif
    symflow_network_field_128(s, drawn, columns, field, (symflow_real_128 *)values);
}

/* Columns of tokens, scaled. */
static void symflow_network_turn(const symflow_network *s, const double *x, double *columns)
{
    const ptrdiff_t padded = symflow_network_padded(s->n);
    for (ptrdiff_t c = 0; c < s->d; ++c)
        for (ptrdiff_t i = 0; i < padded; ++i) columns[c * padded + i] = i < s->n ? s->inner * x[i * s->d + c] : 0.0;
}

/* Rows x / |x|; the sum of 0 x, which is NaN where a number is not finite, else zero. */
static double symflow_network_normalise(ptrdiff_t n, ptrdiff_t d, double *x)
{
    double flaws = 0.0;
    for (ptrdiff_t i = 0; i < n; ++i, x += d) {
        double square = 0.0;
        for (ptrdiff_t c = 0; c < d; ++c) square += x[c] * x[c];
        const double size = sqrt(square);
        for (ptrdiff_t c = 0; c < d; ++c) {
            x[c] /= size;
            flaws += 0.0 * x[c];
        }
    }
    return flaws;
}

/* One layer; 0, or why there is none. Tokens stay as they were where it fails. */
static int symflow_network_layer(const symflow_network *s, symflow_network_path *p, int width)
{
    const double h = s->horizon / (double)s->layers, root = sqrt(h);
    const ptrdiff_t size = s->n * s->d, padded = symflow_network_padded(s->n);
    if (p->rhs) {
        const int code = p->rhs((double)p->layer * h, p->x, p->y, p->call);
        if (code != SYMFLOW_OK) return code;
        for (ptrdiff_t i = 0; i < size; ++i) p->y[i] = p->x[i] + h * p->y[i];
        symflow_network_normalise(s->n, s->d, p->y);
    } else {
        memcpy(p->y, p->x, (size_t)size * sizeof(double));
    }
    symflow_network_turn(s, p->y, p->columns);
    symflow_network_draw(s, width, p->path, p->layer, p->drawn);
    symflow_network_field(s, width, p->drawn, p->columns, p->field, p->values);
    for (ptrdiff_t i = 0; i < s->n; ++i)
        for (ptrdiff_t c = 0; c < s->d; ++c) p->y[i * s->d + c] += root * p->field[c * padded + i];
    if (symflow_network_normalise(s->n, s->d, p->y) != 0.0) return SYMFLOW_NETWORK_NON_FINITE;
    double *now = p->y;
    p->y = p->x;
    p->x = now;
    ++p->layer;
    return SYMFLOW_OK;
}

/* Layers up to `until`, or until the clock shows `deadline`. */
static int symflow_network_run(const symflow_network *s, symflow_network_path *p, int width, ptrdiff_t until,
                               double deadline)
{
    while (p->layer < until) {
        const int code = symflow_network_layer(s, p, width);
        if (code != SYMFLOW_OK) return code;
        if (symflow_network_clock() > deadline) break;
    }
    return SYMFLOW_OK;
}

#endif
