/* Sums of slopes and products of matrices in vector registers.
 *
 * Every entry is a sum in a fixed order, multiplied and added separately, so that the bits are the same for
 * any width of the registers. On x86-64 there is a copy per instruction set; the machine picks one at run time.
 */
#ifndef SYMFLOW_PRODUCTS_H
#define SYMFLOW_PRODUCTS_H

#include <stddef.h>

enum {
    SYMFLOW_DEPTH = 256,   /* rows of a panel of B: 16 KiB, which stay in the first cache */
    SYMFLOW_FEW_ROWS = 16, /* for so few rows of C a panel is read where it is */
};

/* What is known of a product: op(A) is zero above, or below, its diagonal; op(B) is zero above its own; of C
 * only what is on and below the diagonal is wanted, and some of what is above is left as it was. */
enum { SYMFLOW_A_LOWER = 1, SYMFLOW_A_UPPER = 2, SYMFLOW_B_LOWER = 4, SYMFLOW_C_LOWER = 8 };

/* C (m x n) = alpha op(A) op(B) + beta C with row lengths ld*. */
typedef struct symflow_factors {
    int ta, tb, shape;
    ptrdiff_t m, n, k;
    double alpha;
    const double *a;
    ptrdiff_t lda;
    const double *b;
    ptrdiff_t ldb;
    double beta;
    double *c;
    ptrdiff_t ldc;
} symflow_factors;

/* Some rows of A, and the entries from .. to of each that meet a panel. */
typedef struct symflow_span {
    ptrdiff_t from, to, row, step, pitch, width;
    double alpha, beta;
    const double *a, *panel;
} symflow_span;

#if defined(__x86_64__) && defined(__GNUC__)
#define SYMFLOW_DISPATCH 1
#define NAME(x) symflow_512_##x
#define TARGET __attribute__((target("avx512f")))
#define WIDTH 8
#define ROWS 8
#include "symflow_products_body.h"
#define NAME(x) symflow_256_##x
#define TARGET __attribute__((target("avx2")))
#define WIDTH 4
#define ROWS 4
#include "symflow_products_body.h"
#endif
#define NAME(x) symflow_128_##x
#define TARGET
#define WIDTH 2
#define ROWS 4
#include "symflow_products_body.h"

/* Of one instruction set. */
typedef struct symflow_vectors {
    void (*product)(const symflow_factors *, ptrdiff_t begin, ptrdiff_t end); /* rows begin .. end - 1 of C */
    double (*dot)(ptrdiff_t n, const double *x, const double *y);
    void (*axpy)(ptrdiff_t n, double s, const double *x, double *y); /* y += s x */
    /* out = y + h sum_j weight_j k_j; rows are padded to whole blocks of eight. */
    void (*combine)(ptrdiff_t padded, int count, const int *index, const double *weight, double h,
                    const double *k, const double *y, double *out);
    /* The sums of (x_i / (atol_i + rtol max(|y_i|, |z_i|)))^2 for x = e and x = f; padded with zeros. */
    void (*norms)(ptrdiff_t padded, const double *atol, double rtol, const double *y, const double *z,
                  const double *e, const double *f, double *out);
    double (*flaws)(ptrdiff_t n, const double *x); /* NaN where a number is not finite, else zero */
} symflow_vectors;

#define SYMFLOW_VECTORS(w)                                                                                     \
    ((symflow_vectors){symflow_##w##_product, symflow_##w##_dot, symflow_##w##_axpy, symflow_##w##_combine,    \
                       symflow_##w##_norms, symflow_##w##_flaws})

/* Return the copy for registers of at most `width` doubles, and no wider than the machine's. */
static symflow_vectors symflow_vectors_of(int width)
{
#ifdef SYMFLOW_DISPATCH
    __builtin_cpu_init();
    if (width >= 8 && __builtin_cpu_supports("avx512f"))
        return SYMFLOW_VECTORS(512);
    if (width >= 4 && __builtin_cpu_supports("avx2"))
        return SYMFLOW_VECTORS(256);
#endif
    return SYMFLOW_VECTORS(128);
}

#endif
