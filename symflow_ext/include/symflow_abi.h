/* The contract between the hand-written runtime and the generated kernels.
 *
 * Every matrix is contiguous, row-major, float64.  Dimensions travel beside the pointers.
 * A change of this file changes its hash, hence the name of the capsule, hence every cache key.
 */
#ifndef SYMFLOW_ABI_H
#define SYMFLOW_ABI_H

#include <stddef.h>

/* What a right-hand side returns. */
enum {
    SYMFLOW_OK = 0,
    SYMFLOW_SINGULAR = 1,       /* a solve met an exactly singular matrix */
    SYMFLOW_OUTSIDE_DOMAIN = 2, /* I - S'CS is not positive definite: the normaliser diverges */
    SYMFLOW_RAISED = 3,         /* a Python callback raised; the exception is set */
    SYMFLOW_NOT_CONVERGED = 4   /* an iteration did not reach its stopping rule */
};

/* The table of linear algebra that a kernel may call: equal bits for any number of threads. */
typedef struct symflow_linalg {
    /* C (m x n) = alpha op(A) op(B) + beta C, op(A) m x k, op(B) k x n. */
    void (*gemm)(int trans_a, int trans_b, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha,
                 const double *a, const double *b, double beta, double *c);
    /* The same of triangles: shape has the bits of symflow_products.h, and C is not to overlap A or B. */
    void (*shaped)(int trans_a, int trans_b, int shape, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha,
                   const double *a, const double *b, double beta, double *c);
    /* out (n x n) = the lower triangle of a + a', but the diagonal of a; zeros above. */
    void (*triangle)(ptrdiff_t n, const double *a, double *out);
    /* In-place LU with partial pivoting of the n x n matrix a; SYMFLOW_OK or SYMFLOW_SINGULAR. */
    int (*lu)(ptrdiff_t n, double *a, ptrdiff_t *pivots);
    /* b (n x m) <- op(A)^{-1} b from the factors that lu left. */
    void (*lu_solve)(int trans, ptrdiff_t n, ptrdiff_t m, const double *lu,
                     const ptrdiff_t *pivots, double *b);
    /* In-place Cholesky of the lower triangle; SYMFLOW_OK or SYMFLOW_OUTSIDE_DOMAIN. */
    int (*cholesky)(ptrdiff_t n, double *a);
    /* In place: the principal square root of a; scratch of 6n^2 + n; SYMFLOW_OK or SYMFLOW_SINGULAR. */
    int (*sqrtm)(const struct symflow_linalg *la, ptrdiff_t n, double *a, double *work);
    /* e <- the X with rX + Xr = e, the eigenvalues of r right of 0; scratch and status as for sqrtm. */
    int (*sylvester)(const struct symflow_linalg *la, ptrdiff_t n, const double *r, double *e, double *work);
    /* Run part(0 .. parts - 1, job), begun in this order, on several threads where some are free. */
    void (*parallel)(ptrdiff_t parts, void (*part)(ptrdiff_t part, void *job), void *job);
    const struct symflow_tile_products *tiles; /* products of pairs of tokens: symflow_tiles.h */
    /* For what may take long: SYMFLOW_OK, or SYMFLOW_RAISED where a signal has raised an exception. */
    int (*interrupted)(void);
} symflow_linalg;

/* One bound call: sizes, parameters (scalars as arrays of one), scratch. */
typedef struct symflow_call {
    const symflow_linalg *linalg;
    const ptrdiff_t *dims;
    const double *const *params;
    double *work;
    void *user; /* the Python callable of a trampoline, else NULL */
} symflow_call;

typedef int (*symflow_rhs)(double t, const double *y, double *dy, const symflow_call *call);
typedef ptrdiff_t (*symflow_size)(const ptrdiff_t *dims);

/* One generated function: "moments", "factor", "tangent", ... */
typedef struct symflow_entry {
    const char *name;
    symflow_rhs rhs;
    symflow_size work; /* doubles of scratch */
} symflow_entry;

/* What the capsule of a kernel module holds. */
typedef struct symflow_kernel {
    const char *key; /* content hash of the generated source */
    ptrdiff_t n_entries;
    const symflow_entry *entries;
} symflow_kernel;

#endif
