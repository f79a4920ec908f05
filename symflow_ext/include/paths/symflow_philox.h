/* Philox4x64-10 and standard normal numbers, one stream per lane; included by symflow_paths.h once per
 * instruction set, between symflow_isa.h and symflow_isa_end.h.
 *
 * A block of four words depends on a counter and a key alone, so that a number is found by its place and not by
 * what was drawn before it. With the counter (1 + b, c1, c2, c3) it is what numpy.random.Philox returns as its b-th
 * four raw words when it is made with counter = (0, c1, c2, c3) and the same key.
 *
 * Reference: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011).
 */
#define symflow_word SYMFLOW_OWN(symflow_word)
#define EACH(v, count) _Pragma("GCC unroll 16") for (int v = 0; v < (count); ++v)

typedef unsigned long long symflow_word __attribute__((vector_size(8 * SYMFLOW_LANES)));

/* The product of the lower halves of a and b, lane by lane. */
SYMFLOW_INLINE symflow_word SYMFLOW_OWN(symflow_halves)(symflow_word a, symflow_word b)
{
#if SYMFLOW_ISA == 512 && !defined(__clang__)
    typedef int ints __attribute__((vector_size(64)));
    return (symflow_word)__builtin_ia32_pmuludq512_mask((ints)a, (ints)b, (symflow_mask){0}, (unsigned char)-1);
#elif SYMFLOW_ISA == 256 && !defined(__clang__)
    typedef int ints __attribute__((vector_size(32)));
    return (symflow_word)__builtin_ia32_pmuludq256((ints)a, (ints)b);
#else
    return (a & 0xffffffffULL) * (b & 0xffffffffULL);
#endif
}

/* b becomes the upper word of the product of b and the constant m; the lower word is returned. */
SYMFLOW_INLINE symflow_word SYMFLOW_OWN(symflow_product)(unsigned long long m, symflow_word *b)
{
    const symflow_word low = (symflow_word){0} + (m & 0xffffffffULL), high = (symflow_word){0} + (m >> 32);
    const symflow_word upper = *b >> 32;
    const symflow_word ll = SYMFLOW_OWN(symflow_halves)(*b, low), lh = SYMFLOW_OWN(symflow_halves)(*b, high);
    const symflow_word hl = SYMFLOW_OWN(symflow_halves)(upper, low), hh = SYMFLOW_OWN(symflow_halves)(upper, high);
    const symflow_word middle = (ll >> 32) + (lh & 0xffffffffULL) + hl;
    *b = hh + (lh >> 32) + (middle >> 32);
    return (middle << 32) | (ll & 0xffffffffULL);
}

/* Replace counters by the words of their blocks; several blocks at once keep the pipelines busy. */
SYMFLOW_INLINE void SYMFLOW_OWN(symflow_philox)(int blocks, symflow_word (*c)[4], const unsigned long long *key)
{
    unsigned long long k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; ++round) {
        EACH(b, blocks)
        {
            const symflow_word low0 = SYMFLOW_OWN(symflow_product)(0xD2E7470EE14C6C93ULL, &c[b][0]);
            const symflow_word low1 = SYMFLOW_OWN(symflow_product)(0xCA5A826395121157ULL, &c[b][2]);
            const symflow_word high0 = c[b][0];
            c[b][0] = c[b][2] ^ c[b][1] ^ k0;
            c[b][2] = high0 ^ c[b][3] ^ k1;
            c[b][1] = low1;
            c[b][3] = low0;
        }
        k0 += 0x9E3779B97F4A7C15ULL;
        k1 += 0xBB67AE8584CAA73BULL;
    }
}

/* -2 log u for 2^-52 <= u <= 1, with a relative error below 4 units of 2^-53: u = 2^e m, log m = 2 artanh. */
SYMFLOW_INLINE symflow_real SYMFLOW_OWN(symflow_twice_log)(symflow_real u)
{
    const symflow_mask half = (symflow_mask){0} + 0x3fe6a09e667f3bcdLL; /* the root of 1/2 */
    const symflow_mask e = ((symflow_mask)u - half) >> 52;
    const symflow_real m = (symflow_real)((symflow_mask)u - (e << 52));
    const symflow_real whole = (symflow_real)(e + 0x4338000000000000LL) - 0x1.8p52;
    const symflow_real z = (m - 1.0) / (m + 1.0), s = z * z;
    symflow_real p = symflow_splat(1.0 / 19.0);
    EACH(k, 8) p = symflow_fma(p, s, symflow_splat(1.0 / (17 - 2 * k)));
    p = symflow_fma(p * s, z, z);
    return symflow_fma(whole, symflow_splat(-2.0 * 0x1.62e42fefa39efp-1), -4.0 * p);
}

/* Two independent standard normal numbers of two words, by Box and Muller: the radius of 52 bits of the first
 * word, the angle of 54 bits of the second: 2 pi r with |r| <= 1/8, then a quarter. Beyond 8.4903 there are none
 * (a probability of 2e-16). Radius and direction have relative errors below 1e-15. */
SYMFLOW_INLINE void SYMFLOW_OWN(symflow_normal_pair)(symflow_word first, symflow_word second, symflow_real *out)
{
    const symflow_mask one = (symflow_mask){0} + 0x3ff0000000000000LL;
    const symflow_real u = 2.0 - (symflow_real)((symflow_mask)(first >> 12) | one);
    const symflow_real r = 0.25 * ((symflow_real)((symflow_mask)(second >> 12) | one) - 1.5), s = r * r;
    const symflow_real radius = symflow_sqrt(SYMFLOW_OWN(symflow_twice_log)(u));
    const symflow_mask swap = -(symflow_mask)(second & 1), turn = (symflow_mask)((second & 2) << 62);
    static const double odd[8] = {/* (-1)^k (2 pi)^(2k+1) / (2k+1)! */
        0x1.921fb54442d18p+2, -0x1.4abbce625be53p+5, 0x1.466bc6775aae2p+6, -0x1.32d2cce62bd86p+6,
        0x1.50783487ee782p+5, -0x1.e3074fde8871fp+3, 0x1.e8f434d018d63p+1, -0x1.6fadb9f155744p-1};
    static const double even[9] = {/* (-1)^k (2 pi)^(2k) / (2k)! */
        0x1.0000000000000p+0, -0x1.3bd3cc9be45dep+4, 0x1.03c1f081b5ac4p+6, -0x1.55d3c7e3cbffap+6,
        0x1.e1f506891babbp+5, -0x1.a6d1f2a204a8cp+4, 0x1.f9d38a3763cc3p+2, -0x1.b6e24f44b128fp+0,
        0x1.20c62c2f2d7f5p-2};
    symflow_real a = symflow_splat(odd[7]), b = symflow_splat(even[8]);
    for (int k = 6; k >= 0; --k) a = symflow_fma(a, s, symflow_splat(odd[k]));
    for (int k = 7; k >= 0; --k) b = symflow_fma(b, s, symflow_splat(even[k]));
    a *= r;
    const symflow_real x = (symflow_real)((symflow_mask)symflow_select(swap, a, b) ^ turn);
    const symflow_real y = (symflow_real)((symflow_mask)symflow_select(swap, b, a) ^ turn);
    out[0] = radius * x;
    out[1] = radius * y;
}

/* The words of blocks first, first + 1, ... of the stream (step, path of the lane, tag). */
SYMFLOW_INLINE void SYMFLOW_OWN(symflow_blocks)(int blocks, ptrdiff_t first, symflow_word path, unsigned long long step,
                                                unsigned long long tag, const unsigned long long *key,
                                                symflow_word (*c)[4])
{
    EACH(b, blocks)
    {
        c[b][0] = (symflow_word){0} + (unsigned long long)(first + b + 1);
        c[b][1] = (symflow_word){0} + step;
        c[b][2] = path;
        c[b][3] = (symflow_word){0} + tag;
    }
    SYMFLOW_OWN(symflow_philox)(blocks, c, key);
}

/* out[0 .. count - 1] = standard normal numbers of a stream; of `substeps` > 1 streams, one after the other in time,
 * their sum over its root: the increment of the same Brownian motion over a step that is longer. */
SYMFLOW_TARGET static void SYMFLOW_OWN(symflow_normals)(ptrdiff_t count, symflow_word path, unsigned long long step,
                                                        ptrdiff_t substeps, unsigned long long tag,
                                                        const unsigned long long *key, symflow_real *out)
{
    enum { BLOCKS = SYMFLOW_ISA == 512 ? 4 : 2 };
    const double share = 1.0 / sqrt((double)substeps);
    for (ptrdiff_t at = 0; at < count; at += 4 * BLOCKS) {
        symflow_word c[BLOCKS][4];
        symflow_real drawn[4 * BLOCKS], sum[4 * BLOCKS];
        EACH(k, 4 * BLOCKS) sum[k] = symflow_splat(0.0);
        for (ptrdiff_t s = 0; s < substeps; ++s) {
            const unsigned long long fine = step * (unsigned long long)substeps + (unsigned long long)s;
            SYMFLOW_OWN(symflow_blocks)(BLOCKS, at / 4, path, fine, tag, key, c);
            EACH(k, 2 * BLOCKS)
            SYMFLOW_OWN(symflow_normal_pair)(c[k / 2][k % 2 * 2], c[k / 2][k % 2 * 2 + 1], drawn + 2 * k);
            EACH(k, 4 * BLOCKS) sum[k] += drawn[k];
        }
        for (ptrdiff_t k = 0; k < 4 * BLOCKS && at + k < count; ++k) out[at + k] = share * sum[k];
    }
}
#undef EACH
