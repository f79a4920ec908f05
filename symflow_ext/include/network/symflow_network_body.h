/* Weights and field of a layer for one instruction set; included by symflow_network.h only. */
#include "paths/symflow_philox.h"
#include "paths/symflow_activate.h"

#define OWN(name) SYMFLOW_OWN(symflow_network_##name)

/* The normal numbers of a stream in their order: blocks of four, as many side by side as there are lanes. */
SYMFLOW_TARGET static void OWN(draw)(const symflow_network *s, unsigned long long path, ptrdiff_t layer, double *drawn)
{
    const ptrdiff_t count = symflow_network_weights(s);
    enum { BLOCKS = SYMFLOW_ISA == 512 ? 4 : 2, EACH = 4 * SYMFLOW_LANES };
    const symflow_word none = {0};
    for (ptrdiff_t at = 0; at < count; at += BLOCKS * EACH) {
        symflow_word c[BLOCKS][4];
        _Pragma("GCC unroll 4") for (int b = 0; b < BLOCKS; ++b)
        {
            const ptrdiff_t first = at / 4 + b * SYMFLOW_LANES + 1;
            c[b][0] = (symflow_word)SYMFLOW_OWN(symflow_counting) + (unsigned long long)first;
            c[b][1] = none + (unsigned long long)layer;
            c[b][2] = none + path;
            c[b][3] = none + (unsigned long long)SYMFLOW_NETWORK_STREAM;
        }
        SYMFLOW_OWN(symflow_philox)(BLOCKS, c, s->key);
        _Pragma("GCC unroll 4") for (int b = 0; b < BLOCKS; ++b)
        {
            symflow_real four[4];
            SYMFLOW_OWN(symflow_normal_pair)(c[b][0], c[b][1], four);
            SYMFLOW_OWN(symflow_normal_pair)(c[b][2], c[b][3], four + 2);
            for (int lane = 0; lane < SYMFLOW_LANES; ++lane)
                for (int k = 0; k < 4; ++k) drawn[at + b * EACH + 4 * lane + k] = four[k][lane];
        }
    }
}

/* values[k] = sum over c of u[k, c] y[c] + sigma b[k] of `units` hidden units (a constant), at one register of tokens. */
SYMFLOW_INLINE void OWN(project)(int units, ptrdiff_t d, const double *u, const double *b, double sigma,
                                 const double *y, ptrdiff_t padded, symflow_real *values)
{
    symflow_real z[SYMFLOW_NETWORK_UNITS];
    for (int k = 0; k < units; ++k) z[k] = symflow_splat(sigma * b[k]);
    for (ptrdiff_t c = 0; c < d; ++c) {
        const symflow_real at = symflow_load(y + c * padded);
        for (int k = 0; k < units; ++k) z[k] = symflow_fma(symflow_splat(u[k * d + c]), at, z[k]);
    }
    for (int k = 0; k < units; ++k) values[k] = z[k];
}

/* out[c] += sum over k of w[k, c] values[k]: two sums for the even and the odd units, which do not wait for each other. */
SYMFLOW_INLINE void OWN(gather)(int units, ptrdiff_t d, const double *w, const symflow_real *values, ptrdiff_t padded,
                                double *out)
{
    symflow_real f[SYMFLOW_NETWORK_UNITS];
    for (int k = 0; k < units; ++k) f[k] = values[k];
    for (ptrdiff_t c = 0; c < d; ++c) {
        symflow_real even = symflow_load(out + c * padded), odd = symflow_splat(0.0);
        for (int k = 0; k + 1 < units; k += 2) {
            even = symflow_fma(symflow_splat(w[k * d + c]), f[k], even);
            odd = symflow_fma(symflow_splat(w[(k + 1) * d + c]), f[k + 1], odd);
        }
        if (units % 2) even = symflow_fma(symflow_splat(w[(units - 1) * d + c]), f[units - 1], even);
        symflow_store(out + c * padded, even + odd);
    }
}

/* Units that fit into the second cache stay there while all tokens pass by. */
SYMFLOW_TARGET static void OWN(field)(const symflow_network *s, const double *drawn, const double *columns,
                                      double *field, symflow_real *values)
{
    const ptrdiff_t m = s->width, d = s->d, padded = symflow_network_padded(s->n);
    const double *w = drawn + m * d, *inner = w + m * d, *outer = inner + m, share = 1.0 / sqrt((double)m);
    memset(field, 0, (size_t)(d * padded) * sizeof(double));
    for (ptrdiff_t first = 0; first < m; first += SYMFLOW_ACTIVATION_BLOCK) {
        const ptrdiff_t count = m - first < SYMFLOW_ACTIVATION_BLOCK ? m - first : SYMFLOW_ACTIVATION_BLOCK;
        const double *u = drawn + first * d, *b = inner + first, *v = w + first * d;
        for (ptrdiff_t i = 0; i < padded; i += SYMFLOW_LANES) {
            ptrdiff_t k = 0;
            for (; k + SYMFLOW_NETWORK_UNITS <= count; k += SYMFLOW_NETWORK_UNITS)
                OWN(project)(SYMFLOW_NETWORK_UNITS, d, u + k * d, b + k, s->inner_bias, columns + i, padded, values + k);
            for (; k < count; ++k)
                OWN(project)(1, d, u + k * d, b + k, s->inner_bias, columns + i, padded, values + k);
            SYMFLOW_OWN(symflow_activate)(s->program, s->codes, s->numbers, count, values,
                                          values + SYMFLOW_ACTIVATION_BLOCK);
            for (k = 0; k + SYMFLOW_NETWORK_UNITS <= count; k += SYMFLOW_NETWORK_UNITS)
                OWN(gather)(SYMFLOW_NETWORK_UNITS, d, v + k * d, values + k, padded, field + i);
            for (; k < count; ++k) OWN(gather)(1, d, v + k * d, values + k, padded, field + i);
        }
    }
    for (ptrdiff_t c = 0; c < d; ++c) {
        const double bias = s->outer_bias * outer[c];
        for (ptrdiff_t i = 0; i < padded; ++i) field[c * padded + i] = share * field[c * padded + i] + bias;
    }
}
#undef OWN
