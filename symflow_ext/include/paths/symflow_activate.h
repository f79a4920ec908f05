/* An activation of registers, by the instructions of symflow_activation.h; included once per instruction set,
 * between symflow_isa.h and symflow_isa_end.h.
 */

/* tanh: its odd series up to |x| = 1/4, where what is left is below 2^-60 of it; beyond, by exponentials. */
SYMFLOW_INLINE symflow_real SYMFLOW_OWN(symflow_activate_tanh)(symflow_real x)
{
    static const double series[11] = {/* of x^3, x^5, ... */
        -0x1.5555555555555p-2, 0x1.1111111111111p-3, -0x1.ba1ba1ba1ba1cp-5, 0x1.664f4882c10fap-6,
        -0x1.226e355e6c23dp-7, 0x1.d6d3d0e157de0p-9, -0x1.7da36452b75e3p-10, 0x1.3558248036744p-11,
        -0x1.f57d7734d1664p-13, 0x1.967e18afcafadp-14, -0x1.497d8eea25259p-15};
    const symflow_real size = symflow_abs(x), s = x * x, e = symflow_exp(-2.0 * size), far = (1.0 - e) / (1.0 + e);
    symflow_real near = symflow_splat(series[10]);
    _Pragma("GCC unroll 16") for (int k = 9; k >= 0; --k) near = symflow_fma(near, s, symflow_splat(series[k]));
    near = symflow_fma(near * s, x, x);
    const symflow_mask sign = (symflow_mask)x & (symflow_mask)symflow_splat(-0.0);
    return symflow_select(symflow_less(size, symflow_splat(0.25)), near, (symflow_real)(sign | (symflow_mask)far));
}

/* x[0 .. count - 1] = the activation of the numbers there; `stack` has a block per instruction. */
SYMFLOW_TARGET static void SYMFLOW_OWN(symflow_activate)(ptrdiff_t length, const double *codes, const double *numbers,
                                                         ptrdiff_t count, symflow_real *x, symflow_real *stack)
{
    symflow_real *top = stack - SYMFLOW_ACTIVATION_BLOCK; /* the block that was written last */
#define ALL for (ptrdiff_t i = 0; i < count; ++i)
#define PUSH(value) top += SYMFLOW_ACTIVATION_BLOCK; ALL top[i] = (value)
#define FOLD(value)                                                                                                    \
    {                                                                                                                  \
        symflow_real *a = top - SYMFLOW_ACTIVATION_BLOCK, *b = top;                                                    \
        ALL a[i] = (value);                                                                                            \
        top = a;                                                                                                       \
    }
    for (ptrdiff_t k = 0; k < length; ++k) {
        const symflow_real number = symflow_splat(numbers[k]), none = symflow_splat(0.0);
        switch ((int)codes[k]) {
            case SYMFLOW_ACTIVATION_CONST: PUSH(number); break;
            case SYMFLOW_ACTIVATION_INPUT: PUSH(x[i]); break;
            case SYMFLOW_ACTIVATION_ADD: FOLD(a[i] + b[i]) break;
            case SYMFLOW_ACTIVATION_MULTIPLY: FOLD(a[i] * b[i]) break;
            case SYMFLOW_ACTIVATION_POW: FOLD(symflow_pow(a[i], b[i])) break;
            case SYMFLOW_ACTIVATION_MAX: FOLD(symflow_max(a[i], b[i])) break;
            case SYMFLOW_ACTIVATION_MIN: FOLD(symflow_min(a[i], b[i])) break;
            case SYMFLOW_ACTIVATION_POWER:
                if (numbers[k] == 2.0) ALL top[i] *= top[i];
                else if (numbers[k] == -1.0) ALL top[i] = 1.0 / top[i];
                else ALL top[i] = symflow_pow(top[i], number);
                break;
            case SYMFLOW_ACTIVATION_EXP: ALL top[i] = symflow_exp(top[i]); break;
            case SYMFLOW_ACTIVATION_LOG: ALL top[i] = symflow_log(top[i]); break;
            case SYMFLOW_ACTIVATION_SQRT: ALL top[i] = symflow_sqrt(top[i]); break;
            case SYMFLOW_ACTIVATION_SIN: ALL top[i] = symflow_sin(top[i]); break;
            case SYMFLOW_ACTIVATION_COS: ALL top[i] = symflow_cos(top[i]); break;
            case SYMFLOW_ACTIVATION_TAN: ALL top[i] = symflow_sin(top[i]) / symflow_cos(top[i]); break;
            case SYMFLOW_ACTIVATION_SINH: ALL top[i] = 0.5 * (symflow_exp(top[i]) - symflow_exp(-top[i])); break;
            case SYMFLOW_ACTIVATION_COSH: ALL top[i] = 0.5 * (symflow_exp(top[i]) + symflow_exp(-top[i])); break;
            case SYMFLOW_ACTIVATION_TANH: ALL top[i] = SYMFLOW_OWN(symflow_activate_tanh)(top[i]); break;
            case SYMFLOW_ACTIVATION_ERF: ALL top[i] = symflow_erf(top[i]); break;
            case SYMFLOW_ACTIVATION_ABS: ALL top[i] = symflow_abs(top[i]); break;
            case SYMFLOW_ACTIVATION_STEP:
                ALL top[i] = symflow_select(symflow_less(none, top[i]), symflow_splat(1.0),
                                            symflow_keep(~symflow_less(top[i], none), symflow_splat(0.5)));
                break;
        }
    }
    ALL x[i] = top[i];
#undef ALL
#undef PUSH
#undef FOLD
}
