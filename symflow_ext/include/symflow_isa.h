/* One instruction set: vectors of its width, and functions of them under names of their own.
 *
 * Include with SYMFLOW_ISA = 512 (AVX-512), 256 (AVX2 with FMA) or 128 (what the compiler assumes anyway; NEON on
 * AArch64), and symflow_isa_end.h afterwards. In between `symflow_real` is a vector of SYMFLOW_LANES doubles,
 * `symflow_exp(x)` and the like work on it, and functions that use them are marked SYMFLOW_TARGET. No function
 * mixes lanes.
 */
#include <math.h>
#include <stddef.h>

#define SYMFLOW_JOIN_(a, b) a##_##b
#define SYMFLOW_JOIN(a, b) SYMFLOW_JOIN_(a, b)
#define SYMFLOW_OWN(name) SYMFLOW_JOIN(name, SYMFLOW_ISA)

#if SYMFLOW_ISA == 512
#define SYMFLOW_TARGET __attribute__((target("avx512f,fma")))
#define SYMFLOW_LANES 8
#define SYMFLOW_ROWS 2 /* queries whose sums fit into the registers beside the rest */
#define SYMFLOW_HAS_FMA 1
#elif SYMFLOW_ISA == 256
#define SYMFLOW_TARGET __attribute__((target("avx2,fma")))
#define SYMFLOW_LANES 4
#define SYMFLOW_ROWS 2
#define SYMFLOW_HAS_FMA 1
#else
#define SYMFLOW_TARGET
#define SYMFLOW_LANES 2
#define SYMFLOW_ROWS 2
#if defined(__aarch64__)
#define SYMFLOW_HAS_FMA 1
#else
#define SYMFLOW_HAS_FMA 0
#endif
#endif
#if defined(__clang__) && defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_fma)
#define SYMFLOW_ELEMENTWISE_FMA
#endif
#endif
#define SYMFLOW_INLINE static inline __attribute__((always_inline)) SYMFLOW_TARGET

#define symflow_real SYMFLOW_OWN(symflow_real)
#define symflow_mask SYMFLOW_OWN(symflow_mask)
#define symflow_splat SYMFLOW_OWN(symflow_splat)
#define symflow_load SYMFLOW_OWN(symflow_load)
#define symflow_store SYMFLOW_OWN(symflow_store)
#define symflow_fma SYMFLOW_OWN(symflow_fma)
#define symflow_less SYMFLOW_OWN(symflow_less)
#define symflow_keep SYMFLOW_OWN(symflow_keep)
#define symflow_select SYMFLOW_OWN(symflow_select)
#define symflow_abs SYMFLOW_OWN(symflow_abs)
#define symflow_max SYMFLOW_OWN(symflow_max)
#define symflow_min SYMFLOW_OWN(symflow_min)
#define symflow_sqrt SYMFLOW_OWN(symflow_sqrt)
#define symflow_total SYMFLOW_OWN(symflow_total)
#define symflow_largest SYMFLOW_OWN(symflow_largest)
#define symflow_exp SYMFLOW_OWN(symflow_exp)
#define symflow_sigmoid SYMFLOW_OWN(symflow_sigmoid)
#define symflow_log SYMFLOW_OWN(symflow_log)
#define symflow_tanh SYMFLOW_OWN(symflow_tanh)
#define symflow_erf SYMFLOW_OWN(symflow_erf)
#define symflow_sin SYMFLOW_OWN(symflow_sin)
#define symflow_cos SYMFLOW_OWN(symflow_cos)
#define symflow_pow SYMFLOW_OWN(symflow_pow)

#if (SYMFLOW_ISA == 512 && !defined(SYMFLOW_ISA_512)) || (SYMFLOW_ISA == 256 && !defined(SYMFLOW_ISA_256)) ||           \
    (SYMFLOW_ISA == 128 && !defined(SYMFLOW_ISA_128))
#if SYMFLOW_ISA == 512
#define SYMFLOW_ISA_512
#elif SYMFLOW_ISA == 256
#define SYMFLOW_ISA_256
#else
#define SYMFLOW_ISA_128
#endif

typedef double symflow_real __attribute__((vector_size(8 * SYMFLOW_LANES)));
typedef double SYMFLOW_OWN(symflow_loose) __attribute__((vector_size(8 * SYMFLOW_LANES), aligned(8), may_alias));
typedef long long symflow_mask __attribute__((vector_size(8 * SYMFLOW_LANES)));

static const symflow_mask SYMFLOW_OWN(symflow_counting) =
#if SYMFLOW_LANES == 8
    {0, 1, 2, 3, 4, 5, 6, 7};
#elif SYMFLOW_LANES == 4
    {0, 1, 2, 3};
#else
    {0, 1};
#endif
SYMFLOW_INLINE symflow_real symflow_splat(double x) { return x - (symflow_real){0}; }
SYMFLOW_INLINE symflow_real symflow_load(const double *x) { return *(const SYMFLOW_OWN(symflow_loose) *)x; }
SYMFLOW_INLINE void symflow_store(double *x, symflow_real v) { *(SYMFLOW_OWN(symflow_loose) *)x = v; }

/* ab + c, rounded once where SYMFLOW_HAS_FMA, else twice. */
SYMFLOW_INLINE symflow_real symflow_fma(symflow_real a, symflow_real b, symflow_real c)
{
#if !SYMFLOW_HAS_FMA
    return a * b + c;
#elif defined(SYMFLOW_ELEMENTWISE_FMA)
    return __builtin_elementwise_fma(a, b, c);
#elif SYMFLOW_ISA == 512
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4);
#elif SYMFLOW_ISA == 256
    return __builtin_ia32_vfmaddpd256(a, b, c);
#else
    symflow_real r;
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) r[lane] = __builtin_fma(a[lane], b[lane], c[lane]);
    return r;
#endif
}

/* Masks are all ones or all zeros in a lane. */
SYMFLOW_INLINE symflow_mask symflow_less(symflow_real a, symflow_real b) { return (symflow_mask)(a < b); }
SYMFLOW_INLINE symflow_real symflow_keep(symflow_mask m, symflow_real a) { return (symflow_real)(m & (symflow_mask)a); }
SYMFLOW_INLINE symflow_real symflow_select(symflow_mask m, symflow_real a, symflow_real b)
{
    return (symflow_real)((m & (symflow_mask)a) | (~m & (symflow_mask)b));
}
SYMFLOW_INLINE symflow_real symflow_abs(symflow_real x)
{
    return (symflow_real)((symflow_mask)x & 0x7fffffffffffffffLL);
}
/* The larger and the smaller of two numbers; the second one where one of them is NaN. */
SYMFLOW_INLINE symflow_real symflow_max(symflow_real a, symflow_real b)
{
#if SYMFLOW_ISA == 512 && !defined(__clang__)
    return __builtin_ia32_maxpd512_mask(a, b, (symflow_real){0}, (unsigned char)-1, 4);
#elif SYMFLOW_ISA == 256
    return __builtin_ia32_maxpd256(a, b);
#else
    return symflow_select(symflow_less(b, a), a, b);
#endif
}
SYMFLOW_INLINE symflow_real symflow_min(symflow_real a, symflow_real b)
{
#if SYMFLOW_ISA == 512 && !defined(__clang__)
    return __builtin_ia32_minpd512_mask(a, b, (symflow_real){0}, (unsigned char)-1, 4);
#elif SYMFLOW_ISA == 256
    return __builtin_ia32_minpd256(a, b);
#else
    return symflow_select(symflow_less(a, b), a, b);
#endif
}
SYMFLOW_INLINE symflow_real symflow_sqrt(symflow_real x)
{
    symflow_real root;
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) root[lane] = __builtin_sqrt(x[lane]);
    return root;
}
/* Sum and maximum over the lanes, in a fixed order. */
SYMFLOW_INLINE double symflow_total(symflow_real x)
{
#if SYMFLOW_LANES == 8
    typedef double four __attribute__((vector_size(32)));
    typedef double two __attribute__((vector_size(16)));
    union { symflow_real all; four half[2]; } eight = {x};
    union { four all; two half[2]; } quarter = {eight.half[0] + eight.half[1]};
    two pair = quarter.half[0] + quarter.half[1];
    return pair[0] + pair[1];
#elif SYMFLOW_LANES == 4
    return (x[0] + x[2]) + (x[1] + x[3]);
#else
    return x[0] + x[1];
#endif
}
/* Of the groups of 2h lanes of a, then of b, the first half plus the second. */
SYMFLOW_INLINE symflow_real SYMFLOW_OWN(symflow_fold)(int h, symflow_real a, symflow_real b)
{
#if defined(__clang__)
    symflow_real low, high;
#define SYMFLOW_OF(k) ((k) < SYMFLOW_LANES ? a[(k)] : b[(k) - SYMFLOW_LANES])
    _Pragma("GCC unroll 8") for (int lane = 0; lane < SYMFLOW_LANES; ++lane)
    {
        const int first = lane / h * 2 * h + lane % h;
        low[lane] = SYMFLOW_OF(first);
        high[lane] = SYMFLOW_OF(first + h);
    }
#undef SYMFLOW_OF
    return low + high;
#else
    symflow_mask first;
    _Pragma("GCC unroll 8") for (int lane = 0; lane < SYMFLOW_LANES; ++lane)
        first[lane] = lane / h * 2 * h + lane % h;
    return __builtin_shuffle(a, b, first) + __builtin_shuffle(a, b, first + h);
#endif
}
/* The sums over the lanes of as many vectors as there are lanes, in the order of symflow_total; x is overwritten. */
SYMFLOW_INLINE symflow_real SYMFLOW_OWN(symflow_totals)(symflow_real *x)
{
    _Pragma("GCC unroll 3") for (int h = SYMFLOW_LANES / 2; h > 0; h /= 2)
        _Pragma("GCC unroll 4") for (int k = 0; k < h; ++k) x[k] = SYMFLOW_OWN(symflow_fold)(h, x[2 * k], x[2 * k + 1]);
    return x[0];
}
SYMFLOW_INLINE double symflow_largest(symflow_real x)
{
    double most = x[0];
    for (int lane = 1; lane < SYMFLOW_LANES; ++lane) most = x[lane] > most || x[lane] != x[lane] ? x[lane] : most;
    return most;
}

#include "symflow_exp.h"

/* 1/(1 + exp(-x)) without overflow: exp of what is negative only. */
SYMFLOW_INLINE symflow_real symflow_sigmoid(symflow_real x)
{
    symflow_real e = symflow_exp(-symflow_abs(x)), less = 1.0 / (1.0 + e);
    return symflow_select(symflow_less(x, (symflow_real){0}), e * less, less);
}

/* By the mathematical library, lane by lane. */
#define SYMFLOW_BY_LANE(name, function)                                                                                \
    SYMFLOW_TARGET static symflow_real name(symflow_real x)                                                            \
    {                                                                                                                  \
        for (int lane = 0; lane < SYMFLOW_LANES; ++lane) x[lane] = function(x[lane]);                                  \
        return x;                                                                                                      \
    }
SYMFLOW_BY_LANE(symflow_log, log)
SYMFLOW_BY_LANE(symflow_tanh, tanh)
SYMFLOW_BY_LANE(symflow_erf, erf)
SYMFLOW_BY_LANE(symflow_sin, sin)
SYMFLOW_BY_LANE(symflow_cos, cos)
#undef SYMFLOW_BY_LANE
SYMFLOW_TARGET static symflow_real symflow_pow(symflow_real x, symflow_real y)
{
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) x[lane] = pow(x[lane], y[lane]);
    return x;
}
#endif
