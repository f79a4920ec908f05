/* Value, gradient and second derivative of an energy of n tokens, on spheres and in space.
 *
 *     F = 1/(2n^2) (sum over i != j of W(x_i, x_j) + sum over i of W(x_i, x_i)) + 1/n sum over i of U(x_i)
 *
 * The generated source that includes this file defines
 *
 *     PRODUCTS, DISTANCES, ATOMS, ROWS, COLUMNS   how many numbers of each kind there are
 *     SYMMETRIC                                   whether W(x, y) = W(y, x)
 *     pair_jet(p, f, value, first, second)        W with its derivatives by the features f of a pair
 *     token_jet(p, s, value, first, second)       the numbers of a token by its atoms s: rows, columns,
 *                                                 W(x, x), U(x), one after the other
 *
 * Features of a pair are its products u = x'By + p'x + q'y + c, its distances |Lx + l - Ry - r|^2, the rows
 * (numbers of x) and the columns (numbers of y); atoms are s = x'Sx/2 + c'x + k.  second is packed by rows
 * of the lower triangle.  A cloud is computed by itself and its sums have a fixed order, so that its bits
 * depend on nothing else of a batch.
 */
#ifndef SYMFLOW_HESSIAN_H
#define SYMFLOW_HESSIAN_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { HESSIAN_OK = 0, HESSIAN_NOT_FINITE = 1, HESSIAN_NO_MEMORY = 2 };

#define FEATURES (PRODUCTS + DISTANCES + ROWS + COLUMNS)
#define NUMBERS (ROWS + COLUMNS + 2)
#define DIAGONAL (ROWS + COLUMNS)
#define POTENTIAL (ROWS + COLUMNS + 1)
#define PACKED(count) ((count) * ((count) + 1) / 2)
/* An array of C has at least one element. */
#define ROOM(count) ((count) > 0 ? (count) : 1)

/* What is asked for: a pointer that is NULL is not. Sizes are per cloud. */
typedef struct symflow_hessian_job {
    ptrdiff_t n, d;
    int sphere;
    const double *scalars;      /* scalar parameters */
    const double *products;     /* per product B (d x d), p (d), q (d), c */
    const double *distances;    /* per distance L, l, R, r, L'L, L'R, R'R; L is width x d */
    const ptrdiff_t *widths;    /* per distance */
    const double *atoms;        /* per atom S (d x d), c (d), k */
    const double *x;            /* n x d */
    const double *v;            /* n x d, for product */
    double *value;              /* 1 */
    double *gradient;           /* n x d, tangent on the sphere */
    double *product;            /* n x d */
    double *matrix;             /* nd x nd */
    double *frames;             /* n x d x (d - 1), orthonormal bases of the tangent spaces */
    double *slopes;             /* n x (d - 1), the gradient in the frames */
    double *reduced;            /* n(d - 1) square, the matrix in the frames */
} symflow_hessian_job;

/* Scratch of one cloud. */
typedef struct symflow_hessian_work {
    double *euclidean;  /* n x d, gradient of F in space */
    double *blocks;     /* n x n x d x d, second derivative of F in space by upper blocks, or NULL */
    double *image;      /* n x d, its product with v, or NULL */
    double *direction;  /* n x d, v projected */
    double *by_x;       /* n x PRODUCTS x d, gradients of products by their x, as functions of y */
    double *by_y;       /* n x PRODUCTS x d, and the other way round */
    double *alone;      /* n x PRODUCTS, q'y + c */
    double *left;       /* per distance n x width, Lx + l */
    double *right;
    double *numbers;    /* n x NUMBERS */
    double *slope;      /* n x NUMBERS x d */
    double *bend;       /* n x NUMBERS x d x d */
    double *feature_x;  /* FEATURES x d, of the pair at hand */
    double *feature_y;
    double *mixed;      /* 3 x d */
} symflow_hessian_work;

static inline double hessian_dot(const double *a, const double *b, ptrdiff_t d) {
    double sum = 0.0;
    for (ptrdiff_t k = 0; k < d; k++) sum += a[k] * b[k];
    return sum;
}

/* out = Ma + b, M rows x cols; b may be NULL. */
static inline void hessian_affine(const double *m, const double *a, const double *b, ptrdiff_t rows,
                                  ptrdiff_t cols, double *out) {
    for (ptrdiff_t i = 0; i < rows; i++) out[i] = hessian_dot(m + i * cols, a, cols) + (b ? b[i] : 0.0);
}

/* out += factor M'a, M rows x cols. */
static inline void hessian_add_transposed(double factor, const double *m, const double *a, ptrdiff_t rows,
                                          ptrdiff_t cols, double *out) {
    for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t k = 0; k < cols; k++) out[k] += factor * m[i * cols + k] * a[i];
}

/* out += factor Ma. */
static inline void hessian_add_image(double factor, const double *m, const double *a, ptrdiff_t rows,
                                     ptrdiff_t cols, double *out) {
    for (ptrdiff_t i = 0; i < rows; i++) out[i] += factor * hessian_dot(m + i * cols, a, cols);
}

static inline void hessian_axpy(double factor, const double *a, ptrdiff_t size, double *out) {
    for (ptrdiff_t k = 0; k < size; k++) out[k] += factor * a[k];
}

static inline ptrdiff_t hessian_width(const symflow_hessian_job *job, ptrdiff_t m, ptrdiff_t *offset) {
    ptrdiff_t d = job->d, at = 0;
    for (ptrdiff_t k = 0; k < m; k++) at += 2 * job->widths[k] * (d + 1) + 3 * d * d;
    *offset = at;
    return job->widths[m];
}

/* ---- per token ---------------------------------------------------------------------------------- */

static void hessian_numbers(const symflow_hessian_job *job, symflow_hessian_work *w) {
    const ptrdiff_t n = job->n, d = job->d, each = d * d + d + 1;
    double s[ROOM(ATOMS)], first[NUMBERS * ROOM(ATOMS)], second[NUMBERS * ROOM(PACKED(ATOMS))];
    double *tangent = w->feature_x; /* free at this time: ATOMS x d fits, see hessian_allocate */
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *x = job->x + i * d;
        for (ptrdiff_t a = 0; a < ATOMS; a++) {
            const double *S = job->atoms + a * each, *c = S + d * d;
            double *t = tangent + a * d;
            hessian_affine(S, x, NULL, d, d, t);
            s[a] = 0.5 * hessian_dot(x, t, d) + hessian_dot(c, x, d) + c[d];
            hessian_axpy(1.0, c, d, t);
        }
        token_jet(job->scalars, s, w->numbers + i * NUMBERS, first, second);
        for (ptrdiff_t m = 0; m < NUMBERS; m++) {
            double *slope = w->slope + (i * NUMBERS + m) * d, *bend = w->bend + (i * NUMBERS + m) * d * d;
            memset(slope, 0, sizeof(double) * (size_t)d);
            memset(bend, 0, sizeof(double) * (size_t)(d * d));
            for (ptrdiff_t a = 0; a < ATOMS; a++) {
                const double *ta = tangent + a * d;
                const double g = first[m * ATOMS + a];
                hessian_axpy(g, ta, d, slope);
                hessian_axpy(g, job->atoms + a * each, d * d, bend);
                for (ptrdiff_t b = 0; b <= a; b++) {
                    const double h = second[m * PACKED(ATOMS) + PACKED(a) + b];
                    const double *tb = tangent + b * d;
                    for (ptrdiff_t k = 0; k < d; k++)
                        for (ptrdiff_t l = 0; l < d; l++)
                            bend[k * d + l] += a == b ? h * ta[k] * ta[l] : h * (ta[k] * tb[l] + tb[k] * ta[l]);
                }
            }
        }
    }
}

static void hessian_couplings(const symflow_hessian_job *job, symflow_hessian_work *w) {
    const ptrdiff_t n = job->n, d = job->d, each = d * d + 2 * d + 1;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *x = job->x + i * d;
        for (ptrdiff_t m = 0; m < PRODUCTS; m++) {
            const double *B = job->products + m * each, *p = B + d * d, *q = p + d;
            double *to_x = w->by_x + (i * PRODUCTS + m) * d, *to_y = w->by_y + (i * PRODUCTS + m) * d;
            hessian_affine(B, x, p, d, d, to_x);
            memcpy(to_y, q, sizeof(double) * (size_t)d);
            hessian_add_transposed(1.0, B, x, d, d, to_y);
            w->alone[i * PRODUCTS + m] = hessian_dot(q, x, d) + q[d];
        }
    }
    ptrdiff_t at = 0;
    for (ptrdiff_t m = 0; m < DISTANCES; m++) {
        ptrdiff_t offset, width = hessian_width(job, m, &offset);
        const double *L = job->distances + offset, *l = L + width * d, *R = l + width, *r = R + width * d;
        for (ptrdiff_t i = 0; i < n; i++) {
            hessian_affine(L, job->x + i * d, l, width, d, w->left + at + i * width);
            hessian_affine(R, job->x + i * d, r, width, d, w->right + at + i * width);
        }
        at += n * width;
    }
}

/* ---- per pair ----------------------------------------------------------------------------------- */

/* The features of the pair (i, j), and their gradients by both tokens; NULL stands for zero. */
static void hessian_features(const symflow_hessian_job *job, symflow_hessian_work *w, ptrdiff_t i,
                             ptrdiff_t j, double *f, const double **fx, const double **fy) {
    const ptrdiff_t n = job->n, d = job->d;
    ptrdiff_t m = 0, at = 0;
    for (ptrdiff_t k = 0; k < PRODUCTS; k++, m++) {
        fx[m] = w->by_x + (j * PRODUCTS + k) * d;
        fy[m] = w->by_y + (i * PRODUCTS + k) * d;
        f[m] = hessian_dot(job->x + i * d, fx[m], d) + w->alone[j * PRODUCTS + k];
    }
    for (ptrdiff_t k = 0; k < DISTANCES; k++, m++) {
        ptrdiff_t offset, width = hessian_width(job, k, &offset);
        const double *L = job->distances + offset, *R = L + width * (d + 1);
        const double *left = w->left + at + i * width, *right = w->right + at + j * width;
        double *to_x = w->feature_x + m * d, *to_y = w->feature_y + m * d;
        memset(to_x, 0, sizeof(double) * (size_t)d);
        memset(to_y, 0, sizeof(double) * (size_t)d);
        f[m] = 0.0;
        for (ptrdiff_t row = 0; row < width; row++) {
            const double gap = left[row] - right[row];
            f[m] += gap * gap;
            hessian_axpy(2.0 * gap, L + row * d, d, to_x);
            hessian_axpy(-2.0 * gap, R + row * d, d, to_y);
        }
        fx[m] = to_x;
        fy[m] = to_y;
        at += n * width;
    }
    for (ptrdiff_t k = 0; k < ROWS; k++, m++) {
        f[m] = w->numbers[i * NUMBERS + k];
        fx[m] = w->slope + (i * NUMBERS + k) * d;
        fy[m] = NULL;
    }
    for (ptrdiff_t k = ROWS; k < ROWS + COLUMNS; k++, m++) {
        f[m] = w->numbers[j * NUMBERS + k];
        fx[m] = NULL;
        fy[m] = w->slope + (j * NUMBERS + k) * d;
    }
}

static inline double hessian_second(const double *second, ptrdiff_t a, ptrdiff_t b) {
    return a >= b ? second[PACKED(a) + b] : second[PACKED(b) + a];
}

static inline void hessian_outer(double factor, const double *a, const double *b, ptrdiff_t d, double *out) {
    for (ptrdiff_t k = 0; k < d; k++) {
        const double scaled = factor * a[k];
        for (ptrdiff_t l = 0; l < d; l++) out[k * d + l] += scaled * b[l];
    }
}

/* Add the second derivative of weight W at the pair (i, j) to the blocks (i, i), (i, j) and (j, j). */
static void hessian_add_blocks(const symflow_hessian_job *job, symflow_hessian_work *w, ptrdiff_t i,
                               ptrdiff_t j, double weight, const double *first, const double *second,
                               const double *const *fx, const double *const *fy) {
    const ptrdiff_t n = job->n, d = job->d, dd = d * d;
    double *ii = w->blocks + (i * n + i) * dd, *ij = w->blocks + (i * n + j) * dd;
    double *jj = w->blocks + (j * n + j) * dd, *along_x = w->mixed, *along_y = w->mixed + d;
    for (ptrdiff_t a = 0; a < FEATURES; a++) {
        memset(along_x, 0, sizeof(double) * (size_t)(2 * d));
        for (ptrdiff_t b = 0; b < FEATURES; b++) {
            const double h = weight * hessian_second(second, a, b);
            if (fx[b]) hessian_axpy(h, fx[b], d, along_x);
            if (fy[b]) hessian_axpy(h, fy[b], d, along_y);
        }
        if (fx[a]) hessian_outer(1.0, fx[a], along_x, d, ii);
        if (fx[a]) hessian_outer(1.0, fx[a], along_y, d, ij);
        if (fy[a]) hessian_outer(1.0, fy[a], along_y, d, jj);
    }
    ptrdiff_t m = 0;
    for (ptrdiff_t k = 0; k < PRODUCTS; k++, m++)
        hessian_axpy(weight * first[m], job->products + k * (dd + 2 * d + 1), dd, ij);
    for (ptrdiff_t k = 0; k < DISTANCES; k++, m++) {
        ptrdiff_t offset, width = hessian_width(job, k, &offset);
        const double *LL = job->distances + offset + 2 * width * (d + 1), g = 2.0 * weight * first[m];
        hessian_axpy(g, LL, dd, ii);
        hessian_axpy(-g, LL + dd, dd, ij);
        hessian_axpy(g, LL + 2 * dd, dd, jj);
    }
    for (ptrdiff_t k = 0; k < ROWS; k++, m++)
        hessian_axpy(weight * first[m], w->bend + (i * NUMBERS + k) * dd, dd, ii);
    for (ptrdiff_t k = ROWS; k < ROWS + COLUMNS; k++, m++)
        hessian_axpy(weight * first[m], w->bend + (j * NUMBERS + k) * dd, dd, jj);
}

/* Add the product of the same with the direction to the image. */
static void hessian_add_product(const symflow_hessian_job *job, symflow_hessian_work *w, ptrdiff_t i,
                                ptrdiff_t j, double weight, const double *first, const double *second,
                                const double *const *fx, const double *const *fy) {
    const ptrdiff_t d = job->d, dd = d * d;
    const double *vi = w->direction + i * d, *vj = w->direction + j * d;
    double *oi = w->image + i * d, *oj = w->image + j * d, along[ROOM(FEATURES)];
    for (ptrdiff_t a = 0; a < FEATURES; a++)
        along[a] = (fx[a] ? hessian_dot(fx[a], vi, d) : 0.0) + (fy[a] ? hessian_dot(fy[a], vj, d) : 0.0);
    for (ptrdiff_t a = 0; a < FEATURES; a++) {
        double h = 0.0;
        for (ptrdiff_t b = 0; b < FEATURES; b++) h += hessian_second(second, a, b) * along[b];
        if (fx[a]) hessian_axpy(weight * h, fx[a], d, oi);
        if (fy[a]) hessian_axpy(weight * h, fy[a], d, oj);
    }
    ptrdiff_t m = 0;
    for (ptrdiff_t k = 0; k < PRODUCTS; k++, m++) {
        const double *B = job->products + k * (dd + 2 * d + 1);
        hessian_add_image(weight * first[m], B, vj, d, d, oi);
        hessian_add_transposed(weight * first[m], B, vi, d, d, oj);
    }
    for (ptrdiff_t k = 0; k < DISTANCES; k++, m++) {
        ptrdiff_t offset, width = hessian_width(job, k, &offset);
        const double *LL = job->distances + offset + 2 * width * (d + 1), g = 2.0 * weight * first[m];
        hessian_add_image(g, LL, vi, d, d, oi);
        hessian_add_image(-g, LL + dd, vj, d, d, oi);
        hessian_add_transposed(-g, LL + dd, vi, d, d, oj);
        hessian_add_image(g, LL + 2 * dd, vj, d, d, oj);
    }
    for (ptrdiff_t k = 0; k < ROWS; k++, m++)
        hessian_add_image(weight * first[m], w->bend + (i * NUMBERS + k) * dd, vi, d, d, oi);
    for (ptrdiff_t k = ROWS; k < ROWS + COLUMNS; k++, m++)
        hessian_add_image(weight * first[m], w->bend + (j * NUMBERS + k) * dd, vj, d, d, oj);
}

/* Sum over pairs of different tokens, each unordered pair once where W is symmetric. */
static double hessian_pairs(const symflow_hessian_job *job, symflow_hessian_work *w) {
    const ptrdiff_t n = job->n, d = job->d;
    const double weight = (SYMMETRIC ? 1.0 : 0.5) / ((double)n * (double)n);
    double total = 0.0, value, f[ROOM(FEATURES)], first[ROOM(FEATURES)], second[ROOM(PACKED(FEATURES))];
    const double *fx[ROOM(FEATURES)], *fy[ROOM(FEATURES)];
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t j = SYMMETRIC ? i + 1 : 0; j < n; j++) {
            if (i == j) continue;
            hessian_features(job, w, i, j, f, fx, fy);
            pair_jet(job->scalars, f, &value, first, second);
            total += weight * value;
            for (ptrdiff_t m = 0; m < FEATURES; m++) {
                if (fx[m]) hessian_axpy(weight * first[m], fx[m], d, w->euclidean + i * d);
                if (fy[m]) hessian_axpy(weight * first[m], fy[m], d, w->euclidean + j * d);
            }
            if (w->blocks) hessian_add_blocks(job, w, i, j, weight, first, second, fx, fy);
            if (w->image) hessian_add_product(job, w, i, j, weight, first, second, fx, fy);
        }
    }
    return total;
}

/* Sum over single tokens: W(x, x) and U(x). */
static double hessian_singles(const symflow_hessian_job *job, symflow_hessian_work *w) {
    const ptrdiff_t n = job->n, d = job->d, dd = d * d;
    const double weights[2] = {0.5 / ((double)n * (double)n), 1.0 / (double)n};
    double total = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t k = 0; k < 2; k++) {
            const ptrdiff_t at = i * NUMBERS + DIAGONAL + k;
            total += weights[k] * w->numbers[at];
            hessian_axpy(weights[k], w->slope + at * d, d, w->euclidean + i * d);
            if (w->blocks) hessian_axpy(weights[k], w->bend + at * dd, dd, w->blocks + (i * n + i) * dd);
            if (w->image)
                hessian_add_image(weights[k], w->bend + at * dd, w->direction + i * d, d, d, w->image + i * d);
        }
    }
    return total;
}

/* Where ordered pairs were summed, add the blocks (j, i) of the lower triangle to those above it. */
static void hessian_fold(ptrdiff_t n, ptrdiff_t d, double *blocks) {
    const ptrdiff_t dd = d * d;
    for (ptrdiff_t i = 0; !SYMMETRIC && i < n; i++)
        for (ptrdiff_t j = i + 1; j < n; j++) {
            double *upper = blocks + (i * n + j) * dd, *lower = blocks + (j * n + i) * dd;
            for (ptrdiff_t k = 0; k < d; k++)
                for (ptrdiff_t l = 0; l < d; l++) upper[k * d + l] += lower[l * d + k];
        }
}

/* ---- tangent spaces ----------------------------------------------------------------------------- */

/* out = v - <v, x> x */
static inline void hessian_project(const double *x, const double *v, ptrdiff_t d, double *out) {
    const double lean = hessian_dot(x, v, d);
    for (ptrdiff_t k = 0; k < d; k++) out[k] = v[k] - lean * x[k];
}

/* The columns 2 to d of the reflection that takes x to a multiple of the first basis vector. */
static void hessian_frame(const double *x, ptrdiff_t d, double *frame) {
    const double sign = x[0] >= 0.0 ? 1.0 : -1.0, scale = 1.0 / (1.0 + sign * x[0]);
    for (ptrdiff_t k = 0; k < d; k++) {
        const double u = k == 0 ? x[0] + sign : x[k];
        for (ptrdiff_t l = 1; l < d; l++) frame[k * (d - 1) + l - 1] = (k == l ? 1.0 : 0.0) - scale * u * x[l];
    }
}

/* P_i B P_j - curvature P_i, the last on the diagonal only; B is d x d, out has rows of n d numbers. */
static void hessian_projected(const double *xi, const double *xj, const double *B, double curvature,
                              ptrdiff_t d, ptrdiff_t stride, double *scratch, double *out) {
    double *left = scratch, *right = scratch + d; /* x_i'B and Bx_j */
    memset(left, 0, sizeof(double) * (size_t)d);
    hessian_add_transposed(1.0, B, xi, d, d, left);
    hessian_affine(B, xj, NULL, d, d, right);
    const double both = hessian_dot(left, xj, d);
    for (ptrdiff_t k = 0; k < d; k++)
        for (ptrdiff_t l = 0; l < d; l++)
            out[k * stride + l] = B[k * d + l] - xi[k] * left[l] - right[k] * xj[l] + both * xi[k] * xj[l]
                                  - curvature * ((k == l ? 1.0 : 0.0) - xi[k] * xj[l]);
}

/* T_i'BT_j - curvature I. */
static void hessian_reduced(const double *ti, const double *tj, const double *B, double curvature,
                            ptrdiff_t d, ptrdiff_t stride, double *row, double *out) {
    const ptrdiff_t e = d - 1;
    for (ptrdiff_t a = 0; a < e; a++) {
        for (ptrdiff_t l = 0; l < d; l++) row[l] = 0.0;
        for (ptrdiff_t k = 0; k < d; k++) hessian_axpy(ti[k * e + a], B + k * d, d, row);
        for (ptrdiff_t b = 0; b < e; b++) {
            double sum = 0.0;
            for (ptrdiff_t l = 0; l < d; l++) sum += row[l] * tj[l * e + b];
            out[a * stride + b] = sum - (a == b ? curvature : 0.0);
        }
    }
}

static inline int hessian_is_finite(const double *a, ptrdiff_t size) {
    int fine = 1;
    for (ptrdiff_t k = 0; k < size; k++) fine &= fabs(a[k]) <= DBL_MAX;
    return fine;
}

/* Copy the upper triangle of a matrix to the lower one. */
static void hessian_reflect(ptrdiff_t size, double *a) {
    for (ptrdiff_t k = 0; k < size; k++)
        for (ptrdiff_t l = k + 1; l < size; l++) a[l * size + k] = a[k * size + l];
}

/* Turn what was summed in space into what was asked for. */
static int hessian_finish(const symflow_hessian_job *job, symflow_hessian_work *w) {
    const ptrdiff_t n = job->n, d = job->d, e = d - 1, dd = d * d;
    int fine = hessian_is_finite(w->euclidean, n * d);
    if (w->blocks) fine &= hessian_is_finite(w->blocks, n * n * dd);
    if (w->image) fine &= hessian_is_finite(w->image, n * d);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *x = job->x + i * d, *g = w->euclidean + i * d;
        const double curvature = job->sphere ? hessian_dot(g, x, d) : 0.0;
        if (job->gradient && job->sphere) hessian_project(x, g, d, job->gradient + i * d);
        if (job->gradient && !job->sphere) memcpy(job->gradient + i * d, g, sizeof(double) * (size_t)d);
        if (job->product) {
            double *out = job->product + i * d, *image = w->image + i * d;
            hessian_axpy(-curvature, w->direction + i * d, d, image);
            if (job->sphere) hessian_project(x, image, d, out);
            else memcpy(out, image, sizeof(double) * (size_t)d);
        }
        if (job->slopes) {
            const double *frame = job->frames + i * d * e;
            memset(job->slopes + i * e, 0, sizeof(double) * (size_t)e);
            hessian_add_transposed(1.0, frame, g, d, e, job->slopes + i * e);
        }
        for (ptrdiff_t j = i; j < n; j++) {
            const double *B = w->blocks ? w->blocks + (i * n + j) * dd : NULL;
            const double bent = i == j ? curvature : 0.0;
            if (job->matrix && job->sphere)
                hessian_projected(x, job->x + j * d, B, bent, d, n * d, w->mixed,
                                  job->matrix + i * d * n * d + j * d);
            if (job->matrix && !job->sphere)
                for (ptrdiff_t k = 0; k < d; k++)
                    memcpy(job->matrix + (i * d + k) * n * d + j * d, B + k * d, sizeof(double) * (size_t)d);
            if (job->reduced)
                hessian_reduced(job->frames + i * d * e, job->frames + j * d * e, B, bent, d, n * e, w->mixed,
                                job->reduced + i * e * n * e + j * e);
        }
    }
    if (job->matrix) hessian_reflect(n * d, job->matrix);
    if (job->reduced) hessian_reflect(n * e, job->reduced);
    return fine ? HESSIAN_OK : HESSIAN_NOT_FINITE;
}

/* ---- one cloud ---------------------------------------------------------------------------------- */

/* Lay out the scratch, or count it where memory is NULL. */
static size_t hessian_allocate(const symflow_hessian_job *job, symflow_hessian_work *w, double *memory) {
    const ptrdiff_t n = job->n, d = job->d, most = FEATURES > ATOMS ? FEATURES : ATOMS;
    const int dense = job->matrix || job->reduced;
    ptrdiff_t widths = 0;
    for (ptrdiff_t m = 0; m < DISTANCES; m++) widths += job->widths[m];
    size_t at = 0;
#define TAKE(field, size) (w->field = memory ? memory + at : NULL, at += (size_t)(size))
    TAKE(euclidean, n * d);
    TAKE(by_x, n * PRODUCTS * d);
    TAKE(by_y, n * PRODUCTS * d);
    TAKE(alone, n * PRODUCTS);
    TAKE(left, n * widths);
    TAKE(right, n * widths);
    TAKE(numbers, n * NUMBERS);
    TAKE(slope, n * NUMBERS * d);
    TAKE(bend, n * NUMBERS * d * d);
    TAKE(feature_x, most * d);
    TAKE(feature_y, most * d);
    TAKE(mixed, 3 * d);
    w->blocks = w->image = w->direction = NULL;
    if (dense) TAKE(blocks, n * n * d * d);
    if (job->product) {
        TAKE(image, n * d);
        TAKE(direction, n * d);
    }
#undef TAKE
    return at;
}

static int hessian_cloud(const symflow_hessian_job *job, symflow_hessian_work *w) {
    const ptrdiff_t n = job->n, d = job->d;
    memset(w->euclidean, 0, sizeof(double) * (size_t)(n * d));
    if (w->blocks) memset(w->blocks, 0, sizeof(double) * (size_t)(n * n * d * d));
    if (w->image) {
        memset(w->image, 0, sizeof(double) * (size_t)(n * d));
        memcpy(w->direction, job->v, sizeof(double) * (size_t)(n * d));
        for (ptrdiff_t i = 0; job->sphere && i < n; i++)
            hessian_project(job->x + i * d, job->v + i * d, d, w->direction + i * d);
    }
    hessian_numbers(job, w);
    hessian_couplings(job, w);
    for (ptrdiff_t i = 0; job->frames && i < n; i++)
        hessian_frame(job->x + i * d, d, job->frames + i * d * (d - 1));
    double total = hessian_pairs(job, w);
    total += hessian_singles(job, w);
    if (job->value) *job->value = total;
    if (w->blocks) hessian_fold(n, d, w->blocks);
    const int status = hessian_finish(job, w);
    return job->value && !hessian_is_finite(&total, 1) ? HESSIAN_NOT_FINITE : status;
}

#define HESSIAN_STEP(field, size) if (job.field) job.field += (size)

/* A batch of clouds; the first status that is not fine, and at which cloud. */
static int hessian_batch(symflow_hessian_job job, ptrdiff_t batch, ptrdiff_t *where) {
    const ptrdiff_t n = job.n, d = job.d, e = d - 1;
    symflow_hessian_work work;
    double *memory = malloc(sizeof(double) * (hessian_allocate(&job, &work, NULL) + 1));
    int status = memory ? HESSIAN_OK : HESSIAN_NO_MEMORY;
    if (memory) hessian_allocate(&job, &work, memory);
    for (ptrdiff_t b = 0; memory && b < batch; b++) {
        const int found = hessian_cloud(&job, &work);
        if (found != HESSIAN_OK && status == HESSIAN_OK) {
            status = found;
            *where = b;
        }
        HESSIAN_STEP(x, n * d);
        HESSIAN_STEP(v, n * d);
        HESSIAN_STEP(value, 1);
        HESSIAN_STEP(gradient, n * d);
        HESSIAN_STEP(product, n * d);
        HESSIAN_STEP(matrix, n * d * n * d);
        HESSIAN_STEP(frames, n * d * e);
        HESSIAN_STEP(slopes, n * e);
        HESSIAN_STEP(reduced, n * e * n * e);
    }
    free(memory);
    return status;
}

#endif
