/* Sinkhorn's scaling: potentials f and g for which exp(f_i + s_ij + g_j) has both marginals one, by passes over tiles.
 *
 * Nothing is remembered between calls, so that the result is a function of the tokens.  Where s_ij = s_ji there is one
 * potential, and a pass over unordered pairs gives its marginal m:
 *
 *   far from the solution   f <- f - log(m) / 2, the mean of f and of Sinkhorn's update (Knight, Ruiz, Ucar 2014);
 *   near, |log m| <= 1      Newton's step f <- f + t v with (diag(m) + W) v = 1 - m, v from conjugate gradients.
 *
 * Else f = -log(sum_j theta_j exp(s_ij + g_j)) is eliminated, m is the marginal of the columns, and the two steps are
 * g <- g - log(m), which is Sinkhorn's, and (diag(m) - W'W) v = 1 - m.
 *
 * Both are minimisers of convex functions: sums of exponentials less a linear function, and a sum of logarithms of
 * such sums. Along v their third derivative is at most M times the second, M the spread of exponents that v makes, and
 * every iterate of conjugate gradients from zero has <gradient, v> = -<v, H v>. So a step t changes the function by at
 * most <v, H v> (-t + (exp(tM) - tM - 1) / M^2), which is negative for t = log(1 + M) / M, and for t = 1 if M <= 1: no
 * step of this method goes up, whatever the scores.
 *
 * It stops when no marginal is further from one than TOLERANCE and the rounding of exponents, 4 epsilon (max|f| +
 * max|g|); after PASSES passes the status is SYMFLOW_NOT_CONVERGED. The rows are divided by their sums at the end.
 */
#ifndef SYMFLOW_SCALING_H
#define SYMFLOW_SCALING_H

#include "symflow_tiling.h"

enum { SYMFLOW_SCALING_PASSES = 10000, SYMFLOW_SCALING_INNER = 200, SYMFLOW_SCALING_MANY = 512 };

#define SYMFLOW_SCALING_TOLERANCE 1e-13
#define SYMFLOW_SCALING_TINY 1e-200 /* a mass that is less has lost digits */

/* What the iteration works on: vectors of tokens, in the panels of features that it does not use yet. */
typedef struct symflow_scaling {
    symflow_tiling *tiling;
    int symmetric, raised;
    ptrdiff_t tokens, passes;
    double *marginal, *logarithm, *residual, *direction, *product, *step, *measure;
} symflow_scaling;

/* out = sums over the partners of `side` of measure times the weight; logarithms of them where these are asked for. */
static int symflow_scaling_pass(symflow_scaling *s, int side, double *out, double *logarithm)
{
    symflow_tiling *tiling = s->tiling;
    int tiny = 0;
    tiling->sides = s->symmetric ? SYMFLOW_QUERIES | SYMFLOW_KEYS : side;
    symflow_tiling_run(tiling);
    ++s->passes;
    for (ptrdiff_t i = 0; i < tiling->job->n; ++i) {
        const double mass = symflow_tiling_mass(tiling, i);
        tiny |= mass < SYMFLOW_SCALING_TINY;
        out[i] = mass * exp(tiling->shift[i]);
        if (logarithm) logarithm[i] = tiling->shift[i] + log(mass);
    }
    return tiny;
}

/* Whether a signal ends the iteration: with so many tokens it may take a minute. */
static int symflow_scaling_stopped(symflow_scaling *s)
{
    const symflow_pairs *job = s->tiling->job;
    if (!s->raised && job->n >= SYMFLOW_SCALING_MANY && job->linalg && job->linalg->interrupted)
        s->raised = job->linalg->interrupted();
    return s->raised;
}

/* Marginals of the weights and their logarithms: most often no token needs a shift. */
static void symflow_scaling_marginals(symflow_scaling *s, int side)
{
    s->tiling->measure = s->tiling->theta;
    s->tiling->trusting = 1;
    if (!symflow_scaling_pass(s, side, s->marginal, s->logarithm)) return;
    s->tiling->trusting = 0;
    symflow_scaling_pass(s, side, s->marginal, s->logarithm);
}

/* out_i = sum_j theta_j w_ij v_j, or the same over the columns. */
static void symflow_scaling_apply(symflow_scaling *s, int side, const double *v, double *out)
{
    for (ptrdiff_t i = 0; i < s->tiling->job->n; ++i) s->measure[i] = s->tiling->theta[i] * v[i];
    s->tiling->measure = s->measure;
    symflow_scaling_pass(s, side, out, NULL);
    s->tiling->measure = s->tiling->theta;
}

/* product = H direction, H the Hessian. */
static void symflow_scaling_curvature(symflow_scaling *s)
{
    const ptrdiff_t n = s->tiling->job->n;
    symflow_scaling_apply(s, SYMFLOW_QUERIES, s->direction, s->product);
    if (!s->symmetric) {
        symflow_scaling_apply(s, SYMFLOW_KEYS, s->product, s->product);
        for (ptrdiff_t i = 0; i < n; ++i) s->product[i] = -s->product[i];
    }
    for (ptrdiff_t i = 0; i < n; ++i) s->product[i] += s->marginal[i] * s->direction[i];
}

static double symflow_scaling_inner(const symflow_scaling *s, const double *x, const double *y)
{
    double sum = 0.0;
    for (ptrdiff_t i = 0; i < s->tiling->job->n; ++i) sum += s->tiling->theta[i] * x[i] * y[i];
    return sum;
}

/* step = an iterate of conjugate gradients for H step = 1 - marginal. */
static void symflow_scaling_newton(symflow_scaling *s, double accuracy)
{
    const ptrdiff_t n = s->tiling->job->n;
    for (ptrdiff_t i = 0; i < n; ++i) {
        s->step[i] = 0.0;
        s->direction[i] = s->residual[i] = 1.0 - s->marginal[i];
    }
    double size = symflow_scaling_inner(s, s->residual, s->residual);
    const double enough = accuracy * accuracy * size;
    for (int k = 0; k < SYMFLOW_SCALING_INNER && size > enough && s->passes < SYMFLOW_SCALING_PASSES; ++k) {
        if (symflow_scaling_stopped(s)) return;
        symflow_scaling_curvature(s);
        const double curvature = symflow_scaling_inner(s, s->direction, s->product);
        if (!(curvature > 0.0)) return; /* nothing but rounding is left */
        const double length = size / curvature, last = size;
        for (ptrdiff_t i = 0; i < n; ++i) {
            s->step[i] += length * s->direction[i];
            s->residual[i] -= length * s->product[i];
        }
        size = symflow_scaling_inner(s, s->residual, s->residual);
        for (ptrdiff_t i = 0; i < n; ++i) s->direction[i] = s->residual[i] + size / last * s->direction[i];
    }
}

/* How far along the step the function is sure to decrease. */
static double symflow_scaling_length(const symflow_scaling *s)
{
    double low = 0.0, high = 0.0;
    for (ptrdiff_t i = 0; i < s->tiling->job->n; ++i) {
        if (s->step[i] < low) low = s->step[i];
        if (s->step[i] > high) high = s->step[i];
    }
    const double spread = s->symmetric ? 2.0 * fmax(high, -low) : high - low;
    return spread <= 1.0 ? 1.0 : log1p(spread) / spread;
}

static double symflow_scaling_largest(ptrdiff_t n, const double *x)
{
    double most = 0.0;
    for (ptrdiff_t i = 0; i < n; ++i)
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]);
    return most;
}

/* The potential of the rows that makes their marginals one. */
static void symflow_scaling_rows(symflow_scaling *s)
{
    double *f = s->tiling->query_potential;
    symflow_scaling_marginals(s, SYMFLOW_QUERIES);
    for (ptrdiff_t i = 0; i < s->tiling->job->n; ++i) f[i] -= s->logarithm[i];
}

/* Where the iteration starts: exact for one token, or for tokens that do not see each other. */
static void symflow_scaling_start(symflow_scaling *s)
{
    symflow_tiling *tiling = s->tiling;
    symflow_tile tile;
    tiling->potentials = 1;
    tiling->features = 0;
    if (!s->symmetric) return;
    tiling->key_potential = tiling->query_potential;
    for (ptrdiff_t t = 0; t < tiling->tiles; ++t) {
        symflow_tiling_aim(tiling, &tile, t, t);
        tiling->code.scores(&tile);
        for (ptrdiff_t q = 0; q < tile.queries; ++q) {
            const double self = tile.score[q * SYMFLOW_TILE + q];
            tiling->query_potential[t * SYMFLOW_TILE + q] = isfinite(self) ? -0.5 * self : 0.0;
        }
    }
}

/* One step of the potential whose marginal is known. */
static void symflow_scaling_improve(symflow_scaling *s, double defect)
{
    const ptrdiff_t n = s->tiling->job->n;
    double *potential = s->symmetric ? s->tiling->query_potential : s->tiling->key_potential;
    double length = s->symmetric ? -0.5 : -1.0;
    const double *step = s->logarithm;
    if (symflow_scaling_largest(n, s->logarithm) <= 1.0) {
        symflow_scaling_newton(s, fmin(0.1, defect));
        step = s->step;
        length = symflow_scaling_length(s);
    }
    for (ptrdiff_t i = 0; i < n; ++i) potential[i] += length * step[i];
}

static int symflow_scaling_iterate(symflow_scaling *s)
{
    const ptrdiff_t n = s->tiling->job->n;
    symflow_scaling_start(s);
    while (s->passes < SYMFLOW_SCALING_PASSES) {
        if (symflow_scaling_stopped(s)) return s->raised;
        if (!s->symmetric) symflow_scaling_rows(s);
        symflow_scaling_marginals(s, SYMFLOW_KEYS);
        double defect = 0.0, size = symflow_scaling_largest(n, s->tiling->query_potential) +
                                    symflow_scaling_largest(n, s->tiling->key_potential);
        for (ptrdiff_t i = 0; i < n; ++i)
            if (!(fabs(expm1(s->logarithm[i])) <= defect)) defect = fabs(expm1(s->logarithm[i]));
        if (defect <= SYMFLOW_SCALING_TOLERANCE + 4.0 * 0x1p-52 * size) return SYMFLOW_OK;
        if (isnan(defect)) return SYMFLOW_NOT_CONVERGED;
        symflow_scaling_improve(s, defect);
    }
    return SYMFLOW_NOT_CONVERGED;
}

/* Scale, then average; the panels are open. */
static int symflow_scaling_run(symflow_tiling *tiling)
{
    symflow_scaling s = {.tiling = tiling, .symmetric = tiling->job->symmetric};
    s.tokens = tiling->tiles * SYMFLOW_TILE;
    double **vectors[] = {&s.marginal, &s.logarithm, &s.residual, &s.direction, &s.product, &s.step, &s.measure};
    memset(tiling->sums, 0, (size_t)(s.tokens * tiling->padded) * sizeof(double));
    for (int k = 0; k < 7; ++k) *vectors[k] = tiling->sums + k * s.tokens; /* a panel has at least eight */
    const int status = symflow_scaling_iterate(&s);
    if (status != SYMFLOW_OK) return status;
    tiling->sides = s.symmetric ? SYMFLOW_QUERIES | SYMFLOW_KEYS : SYMFLOW_QUERIES;
    tiling->features = 1;
    symflow_tiling_run(tiling);
    symflow_tiling_close(tiling);
    return SYMFLOW_OK;
}

#endif
