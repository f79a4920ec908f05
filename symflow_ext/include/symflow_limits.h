/* What a core can do at most, for benchmarks: multiplications and additions, and powers of two, of registers. */
#ifndef SYMFLOW_LIMITS_H
#define SYMFLOW_LIMITS_H

enum { SYMFLOW_LIMITS_NUMBERS = 512 /* exponents that are read again and again, from the first cache */ };

#if defined(__x86_64__) && defined(__GNUC__)
#define SYMFLOW_ISA 512
#include "symflow_isa.h"
#include "symflow_limits_body.h"
#include "symflow_isa_end.h"
#define SYMFLOW_ISA 256
#include "symflow_isa.h"
#include "symflow_limits_body.h"
#include "symflow_isa_end.h"
#endif
#define SYMFLOW_ISA 128
#include "symflow_isa.h"
#include "symflow_limits_body.h"
#include "symflow_isa_end.h"

/* Doubles in the widest register that the machine has and the loops use. */
static int symflow_limits_width(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return 8;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 4;
#endif
    return 2;
}

#if defined(__x86_64__) && defined(__GNUC__)
#define SYMFLOW_WIDEST(name, ...)                                                                                      \
    switch (symflow_limits_width()) {                                                                                  \
        case 8: return name##_512(__VA_ARGS__);                                                                        \
        case 4: return name##_256(__VA_ARGS__);                                                                        \
    }                                                                                                                  \
    return name##_128(__VA_ARGS__)
#else
#define SYMFLOW_WIDEST(name, ...) return name##_128(__VA_ARGS__)
#endif

/* Multiply and add `rounds` times SYMFLOW_LIMITS_CHAINS registers by `factor`; the sum of all lanes. */
static double symflow_limits_multiply_add(long long rounds, double factor)
{
    SYMFLOW_WIDEST(symflow_limits_multiply_add, rounds, factor);
}

/* The sum of 2^x of SYMFLOW_LIMITS_NUMBERS numbers, `rounds` times; the results have to be normal numbers. */
static double symflow_limits_powers(long long rounds, const double *x)
{
    SYMFLOW_WIDEST(symflow_limits_powers, rounds, x);
}

#undef SYMFLOW_WIDEST
#endif
