/* Adaptive steps of DOP853 on every lane at once, each lane with a time, a step and an end of its own.
 *
 * The module that includes this defines, before it: SYMFLOW_LANES; STATES, PARAMETERS, COEFFICIENTS (numbers
 * computed from the parameters once per member); INLINED (whether the right-hand side is short); and the tableau as rows of X(stage, weight): STAGES,
 * DENSE_STAGES, DENSE_TERMS, ROW(n, X) by number, ROW_B, ROW_ERROR, ROW_LOW, and DENSE_ROW_n.
 * It calls RUN with its right-hand side, so that the compiler can fuse the two.
 *
 * A lane whose member has ended takes the next one that no thread has claimed.  The rules are those of
 * symflow_ext/stepper.pyx, lane by lane.
 *
 * References: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I (1993), II.4 to II.6.
 */
#ifndef SYMFLOW_LANES_DOP853_H
#define SYMFLOW_LANES_DOP853_H

#include <string.h>
#include <time.h>

#include "symflow_lanes.h"

#define SLOPES (STAGES + 1 + DENSE_STAGES)
#define ALWAYS static inline __attribute__((always_inline))

typedef symflow_real real;
typedef symflow_mask mask;

/* refused[0]: a solve met a singular matrix; refused[1]: the normaliser diverges. */
typedef void (*symflow_lanes_rhs)(const real *y, real *dy, const real *p, mask *refused);
/* Declares the right-hand side: a short one is fused with every stage, a long one would take minutes to compile. */
#if INLINED
#define RIGHT_HAND_SIDE(name) ALWAYS void name(const real *y, real *dy, const real *p, mask *refused)
#else
#define RIGHT_HAND_SIDE(name)                                                                                 \
    static __attribute__((noinline)) void name(const real *y, real *dy, const real *p, mask *refused)
#endif
typedef void (*symflow_lanes_prepare)(real *p);
/* out[0] = rho, what becomes infinite at a singularity; out[1] = its derivative. */
typedef void (*symflow_lanes_growth)(const real *y, const real *dy, real *out);

enum { WHY_ACCURACY = 0, WHY_SINGULAR = 1, WHY_OUTSIDE = 2, WHY_NON_FINITE = 4 };

#define SAFETY 0.9
#define SHRINK 0.2
#define GROW 6.0
#define BLOW_UP_LEFT 1e-9
#define BLOW_UP_AGREEMENT 0.05
#define BLOW_UP_SLOPE 1e-3
#define BLOW_UP_STEEPEST 20.0
#define BLOW_UP_STREAK 2.0
#define EPSILON 2.220446049250313e-16

/* Sums over stages run through blocks of states whose sums stay in registers: one load per product. */
#define BLOCKS ((STATES + 15) / 16)
#define BLOCK ((STATES + BLOCKS - 1) / BLOCKS)
#define PADDED (BLOCKS * BLOCK)
#define TERM(j, weight)                                                                                       \
    {                                                                                                         \
        const real factor = symflow_splat(weight);                                                            \
        for (int i = 0; i < BLOCK; ++i) sum[i] += factor * w->k[j][first + i];                                \
    }
#define SUM(row)                                                                                              \
    real sum[BLOCK];                                                                                          \
    for (int i = 0; i < BLOCK; ++i) sum[i] = symflow_splat(0.0);                                              \
    row(TERM)
#define COMBINE(out, h, row)                                                                                  \
    for (int first = 0; first < PADDED; first += BLOCK) {                                                     \
        SUM(row)                                                                                              \
        for (int i = 0; i < BLOCK; ++i) out[first + i] = w->y[first + i] + (h) * sum[i];                      \
    }

typedef struct {
    real y[PADDED], y_new[PADDED], stage[PADDED], k[SLOPES][PADDED], p[PARAMETERS + COEFFICIENTS];
    real c[3 + DENSE_TERMS][PADDED], first[PADDED], second[PADDED];
    real t, h, wanted, q, q_time, streak, singularity;
    mask active, retried;
    ptrdiff_t member[SYMFLOW_LANES], due[SYMFLOW_LANES];
    ptrdiff_t begin, end;
    ptrdiff_t nfev[SYMFLOW_LANES], why[SYMFLOW_LANES];
    int started;
} lanes_worker;

typedef struct {
    symflow_lanes_rhs rhs;
    symflow_lanes_prepare prepare;
    symflow_lanes_growth growth;
} lanes_model;

ALWAYS double now_in_seconds(void) {
    struct timespec clock;
    timespec_get(&clock, TIME_UTC);
    return (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec;
}

/* Sums over stages run through blocks of states whose sums stay in registers: one load per product. */
#define BLOCKS ((STATES + 15) / 16)
#define BLOCK ((STATES + BLOCKS - 1) / BLOCKS)
#define PADDED (BLOCKS * BLOCK)
ALWAYS real spacing(real t) { return symflow_max(10.0 * EPSILON * symflow_abs(t), symflow_splat(1e-322)); }

/* x^(1/8) by roots, which are correctly rounded on every machine. */
ALWAYS real eighth_root(real x) { return symflow_sqrt(symflow_sqrt(symflow_sqrt(x))); }

/* x^(-1/16) within 1 % for 1e-30 <= x <= 1e30, all that a step size needs: the exponent divided in integers, then
 * Newton steps of y -> y (17 - x y^16) / 16. */
ALWAYS real sixteenth_root_of_inverse(real x) {
    union {
        real number;
        mask bits;
    } y;
    y.number = x;
    y.bits = 0x43eeb00000000000LL - (y.bits >> 4);
    for (int i = 0; i < 2; ++i) {
        real y2 = y.number * y.number, y4 = y2 * y2, y8 = y4 * y4;
        y.number = y.number * (1.0625 - 0.0625 * x * (y8 * y8));
    }
    return y.number;
}

/* ------------------------------------------------------------------------------------- one member's rows */

/* Write the present point of a lane as the next requested one. */
static void put(symflow_batch *b, lanes_worker *w, int lane, const real *y) {
    double *row = b->out + (w->member[lane] * b->times + w->due[lane]) * STATES;
    for (int i = 0; i < STATES; ++i) row[i] = SYMFLOW_AT(y[i], lane);
    ++w->due[lane];
    SYMFLOW_AT(w->wanted, lane) =
        w->due[lane] < b->times ? b->t_eval[w->due[lane]] : (b->t1 >= b->t0 ? HUGE_VAL : -HUGE_VAL);
}

static void end_lane(symflow_batch *b, lanes_worker *w, int lane, int status) {
    ptrdiff_t m = w->member[lane];
    b->last_t[m] = SYMFLOW_AT(w->t, lane);
    for (int i = 0; i < STATES; ++i) b->last_y[m * STATES + i] = SYMFLOW_AT(w->y[i], lane);
    b->t_star[m] = SYMFLOW_AT(w->singularity, lane);
    b->reason[m] = w->why[lane];
    b->nfev[m] = w->nfev[lane];
    b->reached[m] = w->due[lane];
    b->status[m] = status;
    SYMFLOW_AT(w->active, lane) = 0;
    SYMFLOW_AT(w->t, lane) = b->t1; /* an idle lane takes steps of length zero */
}

static ptrdiff_t claim_member(symflow_batch *b, lanes_worker *w) {
    if (w->begin == w->end) {
        w->begin = __atomic_fetch_add(b->next, b->claim, __ATOMIC_RELAXED);
        w->end = w->begin + b->claim < b->members ? w->begin + b->claim : b->members;
        if (w->begin >= b->members) {
            w->begin = w->end = 0;
            return -1;
        }
    }
    return w->begin++;
}

/* Put the next member into an idle lane; 0 when there is none. */
static int load(symflow_batch *b, lanes_worker *w, int lane) {
    ptrdiff_t m = claim_member(b, w);
    if (m < 0) return 0;
    w->member[lane] = m;
    for (int i = 0; i < STATES; ++i) SYMFLOW_AT(w->y[i], lane) = b->y0[m * STATES + i];
    for (int i = 0; i < PARAMETERS; ++i) SYMFLOW_AT(w->p[i], lane) = b->sources[i][m * b->strides[i]];
    SYMFLOW_AT(w->t, lane) = b->t0;
    SYMFLOW_AT(w->q, lane) = SYMFLOW_AT(w->q_time, lane) = SYMFLOW_AT(w->streak, lane) = 0.0;
    SYMFLOW_AT(w->singularity, lane) = HUGE_VAL;
    SYMFLOW_AT(w->retried, lane) = 0;
    SYMFLOW_AT(w->active, lane) = -1;
    w->nfev[lane] = w->why[lane] = 0;
    w->due[lane] = 0;
    SYMFLOW_AT(w->wanted, lane) = b->times ? b->t_eval[0] : (b->t1 >= b->t0 ? HUGE_VAL : -HUGE_VAL);
    if (b->times && b->t_eval[0] == b->t0) put(b, w, lane, w->y);
    return 1;
}

/* --------------------------------------------------------------------------------------------- the start */

/* Root mean square of x in units of the tolerance at the present state. */
ALWAYS real scaled_norm(const symflow_batch *b, const real *y, const real *x) {
    real sum = symflow_splat(0.0);
    for (int i = 0; i < STATES; ++i) {
        real scaled = x[i] / (b->atol[i] + b->rtol * symflow_abs(y[i]) + 1e-300);
        sum += scaled * scaled;
    }
    return symflow_sqrt(sum / (double)STATES);
}

ALWAYS mask all_finite(const real *y, const real *slope) {
    real size = symflow_splat(0.0), bad = symflow_splat(0.0);
    for (int i = 0; i < STATES; ++i) {
        size += y[i] * y[i];
        bad += slope[i] * 0.0;
    }
    return symflow_is_finite(size + bad);
}

/* Return whether the extrapolated zero of q = rho / rho' has converged onto the present, where `on`. */
ALWAYS mask watch_growth(const symflow_batch *b, lanes_worker *w, lanes_model f, mask on) {
    double direction = b->t1 >= b->t0 ? 1.0 : -1.0;
    real rho[2];
    f.growth(w->y, w->k[0], rho);
    real rate = direction * rho[1];
    mask growing = on & symflow_less(symflow_splat(0.0), rho[0]) & symflow_less(symflow_splat(0.0), rate) &
                   symflow_is_finite(rate);
    w->streak = symflow_select(on & ~growing, symflow_splat(0.0), w->streak);
    w->q = symflow_select(on & ~growing, symflow_splat(0.0), w->q);
    if (!symflow_any(growing)) return growing;
    real q = rho[0] / rate, before = w->q, elapsed = symflow_abs(w->t - w->q_time);
    mask known = symflow_less(symflow_splat(0.0), elapsed) & symflow_less(symflow_splat(0.0), before);
    real slope = symflow_select(known, (q - before) / elapsed, symflow_splat(0.0));
    w->q = symflow_select(growing, q, w->q);
    w->q_time = symflow_select(growing, w->t, w->q_time);
    mask closing = growing & symflow_less(symflow_splat(-BLOW_UP_STEEPEST), slope) &
                   symflow_less(slope, symflow_splat(-BLOW_UP_SLOPE));
    real left = q / -slope, guess = w->t + direction * left;
    mask agrees = ~symflow_less(BLOW_UP_AGREEMENT * left, symflow_abs(guess - w->singularity));
    real streak = symflow_select(agrees, w->streak + 1.0, symflow_splat(0.0));
    w->streak = symflow_select(growing, symflow_select(closing, streak, symflow_splat(0.0)), w->streak);
    w->singularity =
        symflow_select(growing, symflow_select(closing, guess, symflow_splat(HUGE_VAL)), w->singularity);
    real tolerance = symflow_max(100.0 * EPSILON * symflow_abs(guess), BLOW_UP_LEFT * symflow_abs(guess - b->t0));
    return closing & ~symflow_less(w->streak, symflow_splat(BLOW_UP_STREAK)) & ~symflow_less(tolerance, left);
}

/* First step size of the lanes in `fresh`; the probe stays within the interval. */
ALWAYS void guess_step(const symflow_batch *b, lanes_worker *w, lanes_model f, mask fresh) {
    double direction = b->t1 >= b->t0 ? 1.0 : -1.0;
    real d0 = scaled_norm(b, w->y, w->y), d1 = scaled_norm(b, w->y, w->k[0]), tiny = symflow_splat(1e-6);
    mask refused[2] = {fresh ^ fresh, fresh ^ fresh};
    real probe = symflow_select(symflow_less(d0, symflow_splat(1e-5)) | symflow_less(d1, symflow_splat(1e-5)),
                                tiny, 0.01 * d0 / d1);
    probe = symflow_min(probe, symflow_splat(fmin(0.5 * fabs(b->t1 - b->t0), b->max_step)));
    for (int i = 0; i < STATES; ++i) w->stage[i] = w->y[i] + direction * probe * w->k[0][i];
    f.rhs(w->stage, w->k[1], w->p, refused);
    mask fine = all_finite(w->stage, w->k[1]) & ~refused[0] & ~refused[1];
    for (int i = 0; i < STATES; ++i) w->k[1][i] -= w->k[0][i];
    real steepest = symflow_max(d1, scaled_norm(b, w->y, w->k[1]) / probe);
    real h = symflow_select(~symflow_less(symflow_splat(1e-15), steepest),
                            symflow_max(tiny, 1e-3 * probe), eighth_root(0.01 / steepest));
    h = symflow_min(symflow_min(h, 100.0 * probe), symflow_splat(b->max_step));
    h = symflow_select(fine, h, probe);
    w->h = symflow_select(fresh, h, w->h);
}

/* First slope and first step of the lanes in `fresh`; return those that cannot start. */
ALWAYS mask start(symflow_batch *b, lanes_worker *w, lanes_model f, mask fresh) {
    mask refused[2] = {fresh ^ fresh, fresh ^ fresh}, failed;
    f.prepare(w->p);
    f.rhs(w->y, w->stage, w->p, refused);
    for (int i = 0; i < STATES; ++i) w->k[0][i] = symflow_select(fresh, w->stage[i], w->k[0][i]);
    failed = fresh & (refused[0] | refused[1] | ~all_finite(w->y, w->k[0]));
    if (b->first_step > 0.0)
        w->h = symflow_select(fresh, symflow_splat(fmin(b->first_step, b->max_step)), w->h);
    else
        guess_step(b, w, f, fresh);
    watch_growth(b, w, f, fresh & ~failed);
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) {
        if (!SYMFLOW_AT(fresh, lane)) continue;
        w->nfev[lane] = b->first_step > 0.0 ? 1 : 2;
        if (!SYMFLOW_AT(failed, lane)) continue;
        int outside = SYMFLOW_AT(refused[1], lane) != 0, singular = SYMFLOW_AT(refused[0], lane) != 0;
        w->why[lane] = outside ? WHY_OUTSIDE : singular ? WHY_SINGULAR : WHY_NON_FINITE;
        end_lane(b, w, lane, outside || singular ? SYMFLOW_LANE_STEP_TOO_SMALL : SYMFLOW_LANE_NON_FINITE);
    }
    return failed;
}

/* Fill every idle lane while there are members. */
ALWAYS void refill(symflow_batch *b, lanes_worker *w, lanes_model f) {
    for (;;) {
        mask fresh = w->active ^ w->active;
        int loaded = 0;
        for (int lane = 0; lane < SYMFLOW_LANES; ++lane)
            if (!SYMFLOW_AT(w->active, lane) && load(b, w, lane)) {
                SYMFLOW_AT(fresh, lane) = -1;
                loaded = 1;
            }
        if (!loaded) return;
        mask failed = start(b, w, f, fresh);
        if (b->t0 == b->t1)
            for (int lane = 0; lane < SYMFLOW_LANES; ++lane)
                if (SYMFLOW_AT(w->active, lane)) end_lane(b, w, lane, SYMFLOW_LANE_FINISHED);
        if (!symflow_any(failed) && b->t0 != b->t1) return;
    }
}

/* ------------------------------------------------------------------------------------------- dense output */

#define DENSE_STAGE(n)                                                                                        \
    COMBINE(w->stage, h, DENSE_ROW_##n)                                                             \
    f.rhs(w->stage, w->k[STAGES + 1 + n], w->p, refused);                                                     \
    whole &= all_finite(w->stage, w->k[STAGES + 1 + n])
#define DENSE_TERM(n)                                                                                         \
    for (int first = 0; first < PADDED; first += BLOCK) {                                                     \
        SUM(DENSE_WEIGHTS_##n)                                                                                \
        for (int i = 0; i < BLOCK; ++i)                                                                       \
            w->c[3 + n][first + i] = symflow_select(whole, h * sum[i], symflow_splat(0.0));                   \
    }

/* Coefficients of the dense output of the present step; the cubic part alone where a stage is refused. */
static __attribute__((noinline)) void dense_step(lanes_worker *w, lanes_model f, real h) {
    mask refused[2] = {w->active ^ w->active, w->active ^ w->active}, whole = ~refused[0];
    for (int i = 0; i < STATES; ++i) {
        real rise = w->y_new[i] - w->y[i], bend = h * w->k[0][i] - rise;
        w->c[0][i] = rise;
        w->c[1][i] = bend;
        w->c[2][i] = rise - h * w->k[STAGES][i] - bend;
    }
    DENSE_ALL_STAGES
    whole &= ~refused[0] & ~refused[1];
    DENSE_ALL_TERMS
}

/* Write what is wanted in the present step of the lanes in `on`. */
static __attribute__((noinline)) void output(symflow_batch *b, lanes_worker *w, lanes_model f, mask on, real t_new,
                                             real h) {
    real direction = symflow_splat(b->t1 >= b->t0 ? 1.0 : -1.0);
    mask inside = on & symflow_less(direction * (w->wanted - t_new), symflow_splat(0.0));
    if (symflow_any(inside)) {
        dense_step(w, f, h);
        for (int lane = 0; lane < SYMFLOW_LANES; ++lane)
            if (SYMFLOW_AT(inside, lane)) w->nfev[lane] += DENSE_STAGES;
    }
    while (symflow_any(inside)) {
        real x = (w->wanted - w->t) / h;
        for (int i = 0; i < STATES; ++i) {
            real value = symflow_splat(0.0);
            for (int row = 2 + DENSE_TERMS; row >= 0; --row)
                value = (row % 2 ? 1.0 - x : x) * (value + w->c[row][i]);
            w->stage[i] = w->y[i] + value;
        }
        for (int lane = 0; lane < SYMFLOW_LANES; ++lane)
            if (SYMFLOW_AT(inside, lane)) put(b, w, lane, w->stage);
        inside = on & symflow_less(direction * (w->wanted - t_new), symflow_splat(0.0));
    }
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane)
        if (SYMFLOW_AT(on, lane) && SYMFLOW_AT(w->wanted, lane) == SYMFLOW_AT(t_new, lane))
            put(b, w, lane, w->y_new);
}

/* ---------------------------------------------------------------------------------------------- one step */

#define STAGE(n)                                                                                              \
    COMBINE(stage, h, ROW_##n)                                                                                \
    f.rhs(stage, w->k[n], w->p, refused)

/* The square of the weighted estimate of the error; a step with more than 1 is refused. */
ALWAYS real error_of(const symflow_batch *b, lanes_worker *w, real h) {
    real high = symflow_splat(0.0), low = symflow_splat(0.0);
    for (int first = 0; first < PADDED; first += BLOCK) {
        SUM(ROW_ERROR)
        for (int i = 0; i < BLOCK; ++i) w->first[first + i] = sum[i];
    }
    for (int first = 0; first < PADDED; first += BLOCK) {
        SUM(ROW_LOW)
        for (int i = 0; i < BLOCK; ++i) w->second[first + i] = sum[i];
    }
    for (int i = 0; i < STATES; ++i) {
        real size = symflow_max(symflow_abs(w->y[i]), symflow_abs(w->y_new[i]));
        real scale = 1.0 / (b->atol[i] + b->rtol * size + 1e-300);
        high += (w->first[i] * scale) * (w->first[i] * scale);
        low += (w->second[i] * scale) * (w->second[i] * scale);
    }
    real square = h * h * (high * high) / ((high + 0.01 * low) * (double)STATES);
    return symflow_select(symflow_less(symflow_splat(0.0), high) | ~symflow_is_finite(high), square,
                          symflow_splat(0.0));
}

/* The end of the next step of each lane; the last two share what is left so that none is tiny. */
ALWAYS real target(const symflow_batch *b, lanes_worker *w, real least) {
    double direction = b->t1 >= b->t0 ? 1.0 : -1.0;
    real left = symflow_abs(b->t1 - w->t), last = symflow_splat(b->t1);
    w->h = symflow_max(symflow_min(w->h, symflow_splat(b->max_step)), least);
    real t_new = w->t + direction * symflow_select(symflow_less(left, 2.0 * w->h), 0.5 * left, w->h);
    return symflow_select(symflow_less(w->h * 1.0000001, left), t_new, last);
}

ALWAYS void end_lanes(symflow_batch *b, lanes_worker *w, mask ended, mask blown, mask failed, mask overflow) {
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) {
        if (!SYMFLOW_AT(ended, lane)) continue;
        int status = SYMFLOW_AT(failed, lane) ? (SYMFLOW_AT(overflow, lane) ? SYMFLOW_LANE_NON_FINITE
                                                                            : SYMFLOW_LANE_STEP_TOO_SMALL)
                     : SYMFLOW_AT(blown, lane) ? SYMFLOW_LANE_BLOW_UP
                                               : SYMFLOW_LANE_FINISHED;
        end_lane(b, w, lane, status);
    }
}

/* Note why lanes were refused, and return where the step overflowed. */
ALWAYS mask refuse(lanes_worker *w, mask on, mask accepted, const mask *refused, mask finite) {
    mask overflow = on & ~accepted & ~finite & ~refused[0] & ~refused[1];
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane)
        if (SYMFLOW_AT(on, lane))
            w->why[lane] = SYMFLOW_AT(accepted, lane)     ? WHY_ACCURACY
                           : SYMFLOW_AT(refused[1], lane) ? WHY_OUTSIDE
                           : SYMFLOW_AT(refused[0], lane) ? WHY_SINGULAR
                           : SYMFLOW_AT(overflow, lane)   ? WHY_NON_FINITE
                                                          : WHY_ACCURACY;
    return overflow;
}

/* One attempt on every lane. */
ALWAYS void step(symflow_batch *b, lanes_worker *w, lanes_model f) {
    mask on = w->active, none = on ^ on, refused[2] = {none, none};
    real least = spacing(w->t), t_new = target(b, w, least), h = t_new - w->t, stage[PADDED];
    ALL_STAGES
    COMBINE(w->y_new, h, ROW_B)
    f.rhs(w->y_new, w->k[STAGES], w->p, refused);
    real error = error_of(b, w, h);
    mask finite = all_finite(w->y_new, w->k[STAGES]), sound = finite & ~refused[0] & ~refused[1];
    mask accepted = on & sound & ~symflow_less(symflow_splat(1.0), error) & symflow_is_finite(error);
    mask overflow = none, failed = none;
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) w->nfev[lane] += STAGES;

    double direction = b->t1 >= b->t0 ? 1.0 : -1.0;
    mask due = accepted & ~symflow_less(symflow_splat(0.0), direction * (w->wanted - t_new));
    if (symflow_any(due)) output(b, w, f, due, t_new, h);

    real size = symflow_abs(h);
    real bounded = symflow_max(symflow_min(error, symflow_splat(1e30)), symflow_splat(1e-30));
    real change = symflow_max(SAFETY * sixteenth_root_of_inverse(bounded), symflow_splat(SHRINK));
    real growth = symflow_min(symflow_select(w->retried, symflow_splat(1.0), symflow_splat(GROW)), change);
    growth = symflow_select(accepted, growth, symflow_select(sound, change, symflow_splat(0.5)));
    w->h = symflow_select(on, size * growth, w->h);
    if (symflow_any(on & ~accepted)) {
        overflow = refuse(w, on, accepted, refused, finite);
        failed = on & ~accepted & ~symflow_less(least, size);
    }
    w->retried = on & ~accepted;
    w->t = symflow_select(accepted, t_new, w->t);
    for (int i = 0; i < STATES; ++i) {
        w->y[i] = symflow_select(accepted, w->y_new[i], w->y[i]);
        w->k[0][i] = symflow_select(accepted, w->k[STAGES][i], w->k[0][i]);
    }
    mask blown = watch_growth(b, w, f, accepted);
    mask there = accepted & ~symflow_less(symflow_splat(0.0), symflow_abs(b->t1 - w->t));
    mask ended = failed | blown | there;
    if (symflow_any(ended)) {
        end_lanes(b, w, ended, blown, failed, overflow);
        refill(b, w, f);
    }
}

/* Take steps until no member is left (1) or the time is over (0). */
ALWAYS int run(symflow_batch *b, lanes_worker *w, lanes_model f, double seconds) {
    double deadline = now_in_seconds() + seconds;
    if (!w->started) {
        w->t = symflow_splat(b->t1);
        w->started = 1;
    }
    refill(b, w, f);
    for (long count = 1; symflow_any(w->active); ++count) {
        step(b, w, f);
        if (count % 16 == 0 && now_in_seconds() > deadline) return !symflow_any(w->active);
    }
    return 1;
}

#endif
