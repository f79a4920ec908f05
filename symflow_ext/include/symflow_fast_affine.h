/* Velocities of n tokens whose weights are affine in both tokens, from two moments of their law.
 *
 * A term is  M sum_j theta_j w_ij x_j + c sum_j theta_j w_ij  with  w_ij = x_j'B x_i + x_j'b + a'x_i + s.  With
 * S = sum_j theta_j x_j x_j', m = sum_j theta_j x_j and total weight h it is
 *     M (S (B x_i + b) + m (a'x_i + s)) + c (m'(B x_i + b) + h (a'x_i + s)),
 * affine in x_i: without a mask all terms and the background are one matrix and one vector, formed once. Under a
 * causal mask S, m and h run with i.
 */
#ifndef SYMFLOW_FAST_AFFINE_H
#define SYMFLOW_FAST_AFFINE_H

#include <stddef.h>
#include <string.h>
#include "symflow_abi.h"

typedef struct symflow_fast_affine {
    ptrdiff_t n, d, count;
    int sphere;
    const double *theta;      /* n weights under a causal mask; NULL: 1/n each, and no mask */
    const double *background; /* W (d x d), then the shift (d) */
    const double *terms;      /* per term: B (d x d), b (d), a (d), s, M (d x d), c (d) */
    double *work;             /* S (d x d), m (d), P (d x d), q (d), and 2 d x d */
} symflow_fast_affine;

static inline ptrdiff_t symflow_fast_affine_term(ptrdiff_t d) { return 2 * d * d + 3 * d + 1; }
static inline ptrdiff_t symflow_fast_affine_work(ptrdiff_t d) { return 4 * d * d + 3 * d; }

static double symflow_fast_dot(ptrdiff_t d, const double *a, const double *b)
{
    double sum = 0.0;
    for (ptrdiff_t i = 0; i < d; ++i)
        sum += a[i] * b[i];
    return sum;
}

/* out += scale * A x, A d x d. */
static void symflow_fast_apply(ptrdiff_t d, const double *a, const double *x, double scale, double *out)
{
    for (ptrdiff_t i = 0; i < d; ++i)
        out[i] += scale * symflow_fast_dot(d, a + i * d, x);
}

/* P += M (S B + m a') + c (m'B + h a'),  q += M (S b + m s) + c (m'b + h s),  h = 1. */
static void symflow_fast_affine_add(const symflow_linalg *la, ptrdiff_t d, const double *term, const double *s,
                                    const double *m, double *p, double *q, double *work)
{
    const double *b = term, *key = b + d * d, *query = key + d, *constant = query + d, *matrix = constant + 1;
    const double *offset = matrix + d * d;
    double *inner = work, *row = work + d * d, mass = *constant + symflow_fast_dot(d, m, key);
    la->gemm(0, 0, d, d, d, 1.0, s, b, 0.0, inner);
    memcpy(row, query, (size_t)d * sizeof(double));
    for (ptrdiff_t i = 0; i < d; ++i)
        for (ptrdiff_t j = 0; j < d; ++j) {
            inner[i * d + j] += m[i] * query[j];
            row[j] += m[i] * b[i * d + j];
        }
    la->gemm(0, 0, d, d, d, 1.0, matrix, inner, 1.0, p);
    for (ptrdiff_t i = 0; i < d; ++i)
        for (ptrdiff_t j = 0; j < d; ++j)
            p[i * d + j] += offset[i] * row[j];
    memset(row, 0, (size_t)d * sizeof(double));
    symflow_fast_apply(d, s, key, 1.0, row);
    for (ptrdiff_t i = 0; i < d; ++i)
        row[i] += *constant * m[i];
    symflow_fast_apply(d, matrix, row, 1.0, q);
    for (ptrdiff_t i = 0; i < d; ++i)
        q[i] += mass * offset[i];
}

static void symflow_fast_affine_project(ptrdiff_t n, ptrdiff_t d, const double *y, double *dy)
{
    for (ptrdiff_t i = 0; i < n; ++i, y += d, dy += d) {
        double along = symflow_fast_dot(d, y, dy);
        for (ptrdiff_t a = 0; a < d; ++a)
            dy[a] -= along * y[a];
    }
}

static void symflow_fast_affine_all(const symflow_fast_affine *job, const symflow_linalg *la, const double *y,
                                    double *dy)
{
    const ptrdiff_t n = job->n, d = job->d;
    double *s = job->work, *m = s + d * d, *p = m + d, *q = p + d * d, *work = q + d;
    memset(m, 0, (size_t)d * sizeof(double));
    for (ptrdiff_t i = 0; i < n; ++i)
        for (ptrdiff_t a = 0; a < d; ++a)
            m[a] += y[i * d + a];
    for (ptrdiff_t a = 0; a < d; ++a)
        m[a] /= (double)n;
    la->gemm(1, 0, d, d, n, 1.0 / (double)n, y, y, 0.0, s);
    memcpy(p, job->background, (size_t)(d * d + d) * sizeof(double));
    for (ptrdiff_t i = 0; i < job->count; ++i)
        symflow_fast_affine_add(la, d, job->terms + i * symflow_fast_affine_term(d), s, m, p, q, work);
    la->gemm(0, 1, n, d, d, 1.0, y, p, 0.0, dy);
    for (ptrdiff_t i = 0; i < n; ++i)
        for (ptrdiff_t a = 0; a < d; ++a)
            dy[i * d + a] += q[a];
}

static void symflow_fast_affine_causal(const symflow_fast_affine *job, const double *y, double *dy)
{
    const ptrdiff_t n = job->n, d = job->d;
    double *s = job->work, *m = s + d * d, *w = m + d, *sum = w + d, h = 0.0;
    memset(s, 0, (size_t)(d * d + d) * sizeof(double));
    for (ptrdiff_t i = 0; i < n; ++i, y += d, dy += d) {
        const double *term = job->terms;
        const double theta = job->theta[i];
        h += theta;
        for (ptrdiff_t a = 0; a < d; ++a) {
            m[a] += theta * y[a];
            for (ptrdiff_t b = 0; b < d; ++b)
                s[a * d + b] += theta * y[a] * y[b];
        }
        memcpy(dy, job->background + d * d, (size_t)d * sizeof(double));
        symflow_fast_apply(d, job->background, y, 1.0, dy);
        for (ptrdiff_t k = 0; k < job->count; ++k, term += symflow_fast_affine_term(d)) {
            const double *key = term + d * d, *query = key + d, *matrix = query + d + 1, *offset = matrix + d * d;
            double scale = symflow_fast_dot(d, query, y) + query[d];
            memcpy(w, key, (size_t)d * sizeof(double));
            symflow_fast_apply(d, term, y, 1.0, w);
            memset(sum, 0, (size_t)d * sizeof(double));
            symflow_fast_apply(d, s, w, 1.0, sum);
            for (ptrdiff_t a = 0; a < d; ++a)
                sum[a] += scale * m[a];
            symflow_fast_apply(d, matrix, sum, 1.0, dy);
            double mass = symflow_fast_dot(d, m, w) + h * scale;
            for (ptrdiff_t a = 0; a < d; ++a)
                dy[a] += mass * offset[a];
        }
    }
}

/* A right-hand side of symflow_abi.h; call->user is the symflow_fast_affine. */
static int symflow_fast_affine_velocity(double t, const double *y, double *dy, const symflow_call *call)
{
    const symflow_fast_affine *job = (const symflow_fast_affine *)call->user;
    (void)t;
    if (job->theta)
        symflow_fast_affine_causal(job, y, dy);
    else
        symflow_fast_affine_all(job, call->linalg, y, dy);
    if (job->sphere)
        symflow_fast_affine_project(job->n, job->d, y, dy);
    return SYMFLOW_OK;
}

#endif
