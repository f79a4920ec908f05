/* One realisation of the common field, evaluated at every token; included by symflow_paths_body.h. */
#include "paths/symflow_activate.h"

/* field += root * G(x), G(y) = m^(-1/2) W phi(d^(-1/2) U y + b_U) + b_W: a layer with m hidden units. */
SYMFLOW_TARGET static void OWN(features)(const symflow_paths *p, double root, const real *x, const real *drawn,
                                         real *values, real *field)
{
    const ptrdiff_t m = p->features, d = p->d;
    const real *weights = drawn + m * d, *inner = weights + m * d, *outer = inner + m;
    const real share = symflow_splat(root / sqrt((double)m)), bias = symflow_splat(root * p->outer_bias);
    real *stack = values + SYMFLOW_ACTIVATION_BLOCK;
    for (ptrdiff_t first = 0; first < p->n; first += SYMFLOW_ACTIVATION_BLOCK) {
        const ptrdiff_t left = p->n - first, count = left < SYMFLOW_ACTIVATION_BLOCK ? left : SYMFLOW_ACTIVATION_BLOCK;
        const real *token = x + first * d;
        real *to = field + first * d;
        for (ptrdiff_t q = 0; q < m; ++q) {
            for (ptrdiff_t i = 0; i < count; ++i) {
                real sum = symflow_splat(0.0);
                for (ptrdiff_t c = 0; c < d; ++c) sum = symflow_fma(drawn[q * d + c], token[i * d + c], sum);
                values[i] = symflow_fma(symflow_splat(p->inner), sum, symflow_splat(p->inner_bias) * inner[q]);
            }
            SYMFLOW_OWN(symflow_activate)(p->program, p->codes, p->numbers, count, values, stack);
            for (ptrdiff_t i = 0; i < count; ++i)
                for (ptrdiff_t c = 0; c < d; ++c)
                    to[i * d + c] = symflow_fma(share * values[i], weights[q * d + c], to[i * d + c]);
        }
        for (ptrdiff_t i = 0; i < count; ++i)
            for (ptrdiff_t c = 0; c < d; ++c) to[i * d + c] = symflow_fma(bias, outer[c], to[i * d + c]);
    }
}

/* field += root * sum over k of a_k times the harmonics of degree k of the circle with normal coefficients. */
SYMFLOW_TARGET static void OWN(circular)(const symflow_paths *p, double root, const real *x, const real *drawn,
                                         real *field)
{
    for (ptrdiff_t i = 0; i < p->n; ++i) {
        real cosine = symflow_splat(1.0), sine = symflow_splat(0.0), sum[2] = {sine, sine};
        const real *token = x + 2 * i, *at = drawn;
        for (ptrdiff_t k = 0; k <= p->features; ++k) {
            const real a = symflow_splat(root * p->amplitudes[k]);
            for (int c = 0; c < 2; ++c) {
                sum[c] = symflow_fma(a * cosine, *at++, sum[c]);
                if (k > 0) sum[c] = symflow_fma(a * sine, *at++, sum[c]);
            }
            const real next = cosine * token[0] - sine * token[1];
            sine = cosine * token[1] + sine * token[0];
            cosine = next;
        }
        for (int c = 0; c < 2; ++c) field[2 * i + c] += sum[c];
    }
}

/* The same on S2: with z = x_3 and (x_1 + i x_2)^m, the harmonics are polynomials Q_lm(z) times its parts, with
 * sum over m of Y_lm(x) Y_lm(y) = P_l(<x, y>). Q satisfies the recurrence of normalised Legendre functions. */
SYMFLOW_TARGET static void OWN(spherical)(const symflow_paths *p, double root, const real *x, const real *drawn,
                                          real *field)
{
    const ptrdiff_t most = p->features, each = (most + 1) * (most + 1);
    for (ptrdiff_t i = 0; i < p->n; ++i) {
        const real *token = x + 3 * i, z = token[2];
        real cosine = symflow_splat(1.0), sine = symflow_splat(0.0), sum[3] = {sine, sine, sine};
        double start = 1.0; /* of Q_mm, times the root of 2 for m > 0, by P_l(1) = 1 */
        for (ptrdiff_t m = 0; m <= most; ++m) {
            real before = symflow_splat(0.0), q = symflow_splat(start * (m > 0 ? sqrt(2.0) : 1.0));
            for (ptrdiff_t l = m; l <= most; ++l) {
                const real a = q * (root * p->amplitudes[l]);
                for (int c = 0; c < 3; ++c) {
                    const real *at = drawn + c * each + l * l + 2 * m;
                    sum[c] = symflow_fma(a * cosine, at[0], sum[c]);
                    if (m > 0) sum[c] = symflow_fma(a * sine, at[-1], sum[c]);
                }
                const double next = sqrt((double)((l + 1 - m) * (l + 1 + m)));
                const double last = sqrt((double)((l - m) * (l + m)));
                const real up = ((double)(2 * l + 1) / next) * z * q - (last / next) * before;
                before = q;
                q = up;
            }
            start *= sqrt((2.0 * m + 1.0) / (2.0 * m + 2.0));
            const real turned = cosine * token[0] - sine * token[1];
            sine = cosine * token[1] + sine * token[0];
            cosine = turned;
        }
        for (int c = 0; c < 3; ++c) field[3 * i + c] += sum[c];
    }
}

SYMFLOW_TARGET static void OWN(realise)(const symflow_paths *p, double root, const real *x, const real *drawn,
                                        real *values, real *field)
{
    if (p->draw == SYMFLOW_DRAW_FEATURES) OWN(features)(p, root, x, drawn, values, field);
    else if (p->d == 2) OWN(circular)(p, root, x, drawn, field);
    else OWN(spherical)(p, root, x, drawn, field);
}
