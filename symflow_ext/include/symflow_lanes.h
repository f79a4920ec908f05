/* Many members of an ensemble at once: one per lane of a vector register.
 *
 * A kernel of fixed size is written in terms of `symflow_real` (SYMFLOW_LANES doubles, or one) and of masks
 * that are all ones or all zeros in a lane.  No operation mixes lanes, so that what a member computes does
 * not depend on its lane or on its neighbours.
 */
#ifndef SYMFLOW_LANES_H
#define SYMFLOW_LANES_H

#include <math.h>
#include <stddef.h>

/* How a member ended; zero means that it has not. */
enum {
    SYMFLOW_LANE_RUNNING = 0,
    SYMFLOW_LANE_FINISHED = 1,
    SYMFLOW_LANE_BLOW_UP = 2,
    SYMFLOW_LANE_STEP_TOO_SMALL = 3,
    SYMFLOW_LANE_NON_FINITE = 4
};

/* Members, options and results, shared by all threads; a thread writes the rows of its own members only. */
typedef struct symflow_batch {
    ptrdiff_t members, times, claim; /* claim: how many members a thread takes at a time */
    ptrdiff_t *next;                 /* the first member that no thread has taken */
    const double *y0;                /* members x states */
    const double *const *sources;    /* one pointer per number of the parameters, */
    const ptrdiff_t *strides;        /* and how far it moves from member to member; 0 where they share it */
    double t0, t1, rtol, max_step, first_step;
    const double *atol;   /* states */
    const double *t_eval; /* times, strictly monotone from t0 to t1 */
    double *out;          /* members x times x states */
    double *last_t;       /* members: where each ended, */
    double *last_y;       /* members x states: and with what */
    double *t_star;
    ptrdiff_t *status, *reason, *nfev, *reached;
} symflow_batch;

/* What the capsule of a kernel of fixed size holds. */
typedef struct symflow_lanes_kernel {
    const char *key;
    ptrdiff_t lanes, states, parameters;
    size_t worker; /* bytes of one thread's registers, zeros at first, aligned to 64 */
    int (*advance)(symflow_batch *, void *worker, double seconds); /* 1 when no member is left */
} symflow_lanes_kernel;

#ifdef SYMFLOW_LANES

#if SYMFLOW_LANES > 1
typedef double symflow_real __attribute__((vector_size(SYMFLOW_LANES * 8)));
typedef long long symflow_mask __attribute__((vector_size(SYMFLOW_LANES * 8)));
#define SYMFLOW_LESS(a, b) ((symflow_mask)((a) < (b)))
#define SYMFLOW_AT(x, lane) ((x)[lane])
static inline symflow_real symflow_select(symflow_mask m, symflow_real a, symflow_real b) {
    return (symflow_real)((m & (symflow_mask)a) | (~m & (symflow_mask)b));
}
static inline symflow_real symflow_splat(double x) { return x - (symflow_real){0}; }
static inline symflow_real symflow_abs(symflow_real x) {
    return (symflow_real)((symflow_mask)x & 0x7fffffffffffffffLL);
}
static inline symflow_real symflow_sqrt(symflow_real x) {
    symflow_real root;
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) root[lane] = __builtin_sqrt(x[lane]);
    return root;
}
static inline int symflow_any(symflow_mask m) {
    long long any = 0;
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) any |= m[lane];
    return any != 0;
}
#else
typedef double symflow_real;
typedef long long symflow_mask;
#define SYMFLOW_LESS(a, b) (-(symflow_mask)((a) < (b)))
#define SYMFLOW_AT(x, lane) (x)
static inline symflow_real symflow_select(symflow_mask m, symflow_real a, symflow_real b) { return m ? a : b; }
static inline symflow_real symflow_splat(double x) { return x; }
static inline symflow_real symflow_abs(symflow_real x) { return __builtin_fabs(x); }
static inline symflow_real symflow_sqrt(symflow_real x) { return __builtin_sqrt(x); }
static inline int symflow_any(symflow_mask m) { return m != 0; }
#endif

static inline symflow_mask symflow_less(symflow_real a, symflow_real b) { return SYMFLOW_LESS(a, b); }
static inline symflow_mask symflow_or(symflow_mask a, symflow_mask b) { return a | b; }
static inline symflow_mask symflow_not(symflow_mask a) { return ~a; }
/* The larger and the smaller of two numbers; the second one where one of them is NaN. */
static inline symflow_real symflow_max(symflow_real a, symflow_real b) {
    return symflow_select(SYMFLOW_LESS(b, a), a, b);
}
static inline symflow_real symflow_min(symflow_real a, symflow_real b) {
    return symflow_select(SYMFLOW_LESS(a, b), a, b);
}
static inline symflow_mask symflow_is_finite(symflow_real x) { return symflow_less(symflow_abs(x), symflow_splat(HUGE_VAL)); }

#endif
#endif
