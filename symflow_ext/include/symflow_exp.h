/* The exponential function of vectors; included by symflow_isa.h once per instruction set.
 *
 * Relative errors of normal results are stated, and proved, in symflow_exp_constants.h: "table" where registers
 * can be permuted by a register (AVX-512), else "plain", "unfused" without a fused multiply-add. Results below
 * 2^-1022 lose bits gradually, down to zero; large ones are inf; NaN stays NaN.
 */
#include "symflow_exp_constants.h"

#define SYMFLOW_PER_LN2 0x1.71547652b82fep0

#if SYMFLOW_ISA == 512
#define SYMFLOW_EXP(kind) symflow_exp_table_##kind
#define SYMFLOW_EXP_DEGREE 5
#define SYMFLOW_EXP_ROUNDER 0x1.8p48 /* adding it rounds to multiples of 1/16 */
#define SYMFLOW_EXP_LEAST -1077.0
#else
#define SYMFLOW_EXP(kind) symflow_exp_plain_##kind
#define SYMFLOW_EXP_DEGREE 10
#define SYMFLOW_EXP_ROUNDER 0x1.8p52
#define SYMFLOW_EXP_LEAST -1020.0
#endif

#if SYMFLOW_ISA == 512
/* powers[k mod 16], by the last four bits of k. */
SYMFLOW_INLINE symflow_real SYMFLOW_OWN(symflow_entry_of)(const double *powers, symflow_real k)
{
    symflow_real low = symflow_load(powers), high = symflow_load(powers + 8);
#if defined(__clang__)
    return __builtin_ia32_vpermi2varpd512(low, (symflow_mask)k, high);
#else
    return __builtin_shuffle(low, high, (symflow_mask)k);
#endif
}
#endif

/* x 2^whole, where the result may not be a normal number. */
SYMFLOW_INLINE symflow_real SYMFLOW_OWN(symflow_scale)(symflow_real x, symflow_real whole)
{
#if SYMFLOW_ISA == 512
    return __builtin_ia32_scalefpd512_mask(x, whole, (symflow_real){0}, (unsigned char)-1, 4);
#else
    symflow_real half = 0.5 * whole + SYMFLOW_EXP_ROUNDER;
    symflow_real rest = whole - (half - SYMFLOW_EXP_ROUNDER) + SYMFLOW_EXP_ROUNDER;
    symflow_mask one = (symflow_mask)symflow_splat(1.0);
    return x * (symflow_real)(((symflow_mask)half << 52) + one) * (symflow_real)(((symflow_mask)rest << 52) + one);
#endif
}

/* Replace t[0 .. count - 1] by e^t (natural) or 2^t. Not wide: the results are known to be normal numbers. Wide
 * powers of two may be zero from 2^-1020 on, since denormal numbers are slow. All arguments but t are constants;
 * several vectors at once keep the pipelines busy. */
SYMFLOW_INLINE void SYMFLOW_OWN(symflow_powers)(int count, symflow_real *t, int natural, int wide)
{
    symflow_real k[8], r[8], q[8];
    const double *c = natural ? SYMFLOW_EXP(e) : SYMFLOW_EXP(2);
#define EACH _Pragma("GCC unroll 8") for (int v = 0; v < count; ++v)
#if SYMFLOW_ISA != 512
    symflow_mask none[8];
    if (wide && !natural) EACH none[v] = (symflow_mask)(t[v] <= SYMFLOW_EXP_LEAST);
#endif
    if (wide)
        EACH t[v] = symflow_min(symflow_splat(natural ? 710.0 : 1024.25),
                                symflow_max(symflow_splat(natural ? -746.0 : SYMFLOW_EXP_LEAST), t[v]));
    if (natural)
        EACH k[v] = symflow_fma(t[v], symflow_splat(SYMFLOW_PER_LN2), symflow_splat(SYMFLOW_EXP_ROUNDER));
    else
        EACH k[v] = t[v] + SYMFLOW_EXP_ROUNDER;
    EACH r[v] = k[v] - SYMFLOW_EXP_ROUNDER;
    if (natural) {
        EACH t[v] = symflow_fma(r[v], symflow_splat(-SYMFLOW_EXP_HIGH), t[v]);
        EACH r[v] = symflow_fma(r[v], symflow_splat(-SYMFLOW_EXP_LOW), t[v]);
    } else {
        EACH r[v] = t[v] - r[v];
    }
    EACH q[v] = symflow_fma(symflow_splat(c[SYMFLOW_EXP_DEGREE]), r[v], symflow_splat(c[SYMFLOW_EXP_DEGREE - 1]));
    _Pragma("GCC unroll 16") for (int j = SYMFLOW_EXP_DEGREE - 2; j >= 0; --j)
        EACH q[v] = symflow_fma(q[v], r[v], symflow_splat(c[j]));
#if SYMFLOW_ISA == 512
    if (wide) {
        EACH t[v] = SYMFLOW_OWN(symflow_entry_of)(symflow_exp_powers, k[v]);
    } else {
        EACH t[v] = SYMFLOW_OWN(symflow_entry_of)((const double *)symflow_exp_moved, k[v]);
        EACH t[v] = (symflow_real)((symflow_mask)t[v] + ((symflow_mask)k[v] << 48));
    }
    EACH r[v] = t[v] * r[v];
    EACH t[v] = symflow_fma(r[v], q[v], t[v]);
    if (wide) EACH t[v] = SYMFLOW_OWN(symflow_scale)(t[v], k[v] - SYMFLOW_EXP_ROUNDER);
#else
    EACH t[v] = symflow_fma(r[v], q[v], symflow_splat(1.0));
    if (wide && natural) {
        EACH t[v] = SYMFLOW_OWN(symflow_scale)(t[v], k[v] - SYMFLOW_EXP_ROUNDER);
    } else if (wide) { /* half of it, doubled: so that what is too large becomes inf */
        EACH t[v] = (symflow_real)((symflow_mask)t[v] + ((symflow_mask)(k[v] - 1.0) << 52));
        EACH t[v] = symflow_fma(t[v], symflow_splat(2.0), 0.0 * r[v]); /* NaN, whatever its bits have become */
        EACH t[v] = symflow_keep(~none[v], t[v]);
    } else
        EACH t[v] = (symflow_real)((symflow_mask)t[v] + ((symflow_mask)k[v] << 52));
#endif
#undef EACH
}

SYMFLOW_INLINE symflow_real symflow_exp(symflow_real x)
{
    SYMFLOW_OWN(symflow_powers)(1, &x, 1, 1);
    return x;
}

#undef SYMFLOW_EXP
#undef SYMFLOW_EXP_DEGREE
#undef SYMFLOW_EXP_ROUNDER
#undef SYMFLOW_EXP_LEAST
