/* What token kernels do before and after the sums over pairs: tokens in rows become coordinates in rows and back.
 *
 * Eight tokens at a time fill a line of the cache on either side.
 */
#ifndef SYMFLOW_TOKENS_H
#define SYMFLOW_TOKENS_H

#include <string.h>
#include "symflow_pairs.h"

/* Doubles between two coordinates: an odd number of lines of the cache, so that no two drive each other out, and once,
 * twice, three times as many are at least FAR lines from a multiple of 4096 bytes. Processors tell loads from stores by
 * the last twelve bits of an address at first: sums of one coordinate would wait for those of another. */
static inline ptrdiff_t symflow_tokens_pitch(ptrdiff_t n)
{
    enum { FAR = 5, PAGE = 64 };
    ptrdiff_t lines = (n + 7) / 8 | 1;
    for (ptrdiff_t times = 1; times <= 3; ++times) {
        const ptrdiff_t beyond = times * lines % PAGE;
        if (times * lines > PAGE - FAR && (beyond < FAR || beyond > PAGE - FAR)) {
            lines += 2;
            times = 0;
        }
    }
    return lines * 8;
}

static inline ptrdiff_t symflow_tokens_larger(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/* x (d x pitch) = the transpose of rows (n x d), zeros beyond n. */
static inline void symflow_tokens_turn(ptrdiff_t n, ptrdiff_t d, ptrdiff_t pitch, const double *rows, double *x)
{
    for (ptrdiff_t first = 0; first < pitch; first += 8) {
        ptrdiff_t count = n - first < 8 ? n - first : 8;
        for (ptrdiff_t c = 0; c < d; ++c) {
            double *to = x + c * pitch + first;
            for (ptrdiff_t k = 0; k < count; ++k) to[k] = rows[(first + k) * d + c];
            for (ptrdiff_t k = count; k < 8; ++k) to[k] = 0.0;
        }
    }
}

/* rows (n x d) = the transpose of v (d x pitch), less its part along each token of x where that is given. */
static inline void symflow_tokens_write(ptrdiff_t n, ptrdiff_t d, ptrdiff_t pitch, const double *v, const double *x,
                                        double *rows)
{
    for (ptrdiff_t first = 0; first < n; first += 8) {
        ptrdiff_t count = n - first < 8 ? n - first : 8;
        double along[8] = {0};
        if (x)
            for (ptrdiff_t c = 0; c < d; ++c)
                for (ptrdiff_t k = 0; k < 8; ++k) along[k] += x[c * pitch + first + k] * v[c * pitch + first + k];
        for (ptrdiff_t c = 0; c < d; ++c) {
            double part[8];
            for (ptrdiff_t k = 0; k < 8; ++k)
                part[k] = v[c * pitch + first + k] - (x ? along[k] * x[c * pitch + first + k] : 0.0);
            for (ptrdiff_t k = 0; k < count; ++k) rows[(first + k) * d + c] = part[k];
        }
    }
}

/* out (pitch) = value for each of n tokens, zeros beyond. */
static inline void symflow_tokens_fill(ptrdiff_t n, ptrdiff_t pitch, double value, double *out)
{
    for (ptrdiff_t i = 0; i < pitch; ++i) out[i] = i < n ? value : 0.0;
}

/* out (pitch) = the inner products of the columns of a and b (width x pitch). */
static inline void symflow_tokens_inner(ptrdiff_t width, ptrdiff_t pitch, const double *a, const double *b, double *out)
{
    for (ptrdiff_t i = 0; i < pitch; ++i) out[i] = 0.0;
    for (ptrdiff_t c = 0; c < width; ++c)
        for (ptrdiff_t i = 0; i < pitch; ++i) out[i] += a[c * pitch + i] * b[c * pitch + i];
}

/* total += v. */
static inline void symflow_tokens_add(ptrdiff_t count, const double *v, double *total)
{
    for (ptrdiff_t i = 0; i < count; ++i) total[i] += v[i];
}

/* Whether two matrices are equal in every entry. */
static inline int symflow_tokens_equal(ptrdiff_t count, const double *a, const double *b)
{
    for (ptrdiff_t i = 0; i < count; ++i)
        if (!(a[i] == b[i])) return 0;
    return 1;
}

#endif
