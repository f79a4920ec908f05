/* The exponential function of vectors; included by symflow_isa.h once per instruction set. */
SYMFLOW_INLINE symflow_real symflow_exp(symflow_real x)
{
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) x[lane] = exp(x[lane]);
    return x;
}
