/* The loops of symflow_limits.h for one instruction set; included there only. */
#ifndef SYMFLOW_LIMITS_CHAINS
#define SYMFLOW_LIMITS_CHAINS 12 /* more than latency times units of any machine, fewer than it has registers */
#endif
#define EACH(v, count) _Pragma("GCC unroll 16") for (int v = 0; v < (count); ++v)

SYMFLOW_TARGET static double SYMFLOW_OWN(symflow_limits_multiply_add)(long long rounds, double factor)
{
    symflow_real sum[SYMFLOW_LIMITS_CHAINS], a = symflow_splat(factor), b = symflow_splat(1.0 - factor), all = {0};
    EACH(v, SYMFLOW_LIMITS_CHAINS) sum[v] = symflow_splat(1.0 + v);
    for (long long round = 0; round < rounds; ++round)
        EACH(v, SYMFLOW_LIMITS_CHAINS) sum[v] = symflow_fma(sum[v], a, b);
    EACH(v, SYMFLOW_LIMITS_CHAINS) all += sum[v];
    return symflow_total(all);
}

SYMFLOW_TARGET static double SYMFLOW_OWN(symflow_limits_powers)(long long rounds, const double *x)
{
    symflow_real sum[4] = {{0}, {0}, {0}, {0}};
    for (long long round = 0; round < rounds; ++round)
        for (int i = 0; i < SYMFLOW_LIMITS_NUMBERS; i += 4 * SYMFLOW_LANES) {
            symflow_real t[4];
            EACH(v, 4) t[v] = symflow_load(x + i + v * SYMFLOW_LANES);
            SYMFLOW_OWN(symflow_powers)(4, t, 0, 0);
            EACH(v, 4) sum[v] += t[v];
        }
    return symflow_total((sum[0] + sum[1]) + (sum[2] + sum[3]));
}
#undef EACH
