/* The covariance kappa(u) of the field from its table; included by symflow_paths_body.h.
 *
 * A polynomial per piece in s = sqrt(1 - |u|): there square roots of 1 - u at 1, and of 1 + u at -1, are resolved. */
SYMFLOW_INLINE symflow_real SYMFLOW_OWN(symflow_piece)(const double *row, symflow_mask index)
{
#if SYMFLOW_ISA == 512
    return SYMFLOW_OWN(symflow_entry_of)(row, (symflow_real)index);
#else
    symflow_real found;
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) found[lane] = row[index[lane] & (SYMFLOW_PATHS_PIECES - 1)];
    return found;
#endif
}

/* Replace cosines u[0 .. count - 1] by covariances. */
SYMFLOW_INLINE void SYMFLOW_OWN(symflow_paths_kappa)(int count, symflow_real *u, const double *table)
{
    symflow_real r[8];
    symflow_mask piece[8];
#define EACH_OF _Pragma("GCC unroll 8") for (int v = 0; v < count; ++v)
    EACH_OF r[v] = symflow_sqrt(symflow_max(1.0 - symflow_abs(u[v]), symflow_splat(0.0)));
    EACH_OF r[v] = symflow_fma(r[v], symflow_splat(SYMFLOW_PATHS_PER_WIDTH), symflow_splat(-0.5));
    EACH_OF piece[v] = (symflow_mask)(r[v] + 0x1.8p52);
    EACH_OF r[v] -= (symflow_real)piece[v] - 0x1.8p52;
    EACH_OF piece[v] |= symflow_less(u[v], symflow_splat(0.0)) & (SYMFLOW_PATHS_PIECES / 2);
    table += (SYMFLOW_PATHS_TERMS - 1) * SYMFLOW_PATHS_PIECES;
    EACH_OF u[v] = SYMFLOW_OWN(symflow_piece)(table, piece[v]);
    _Pragma("GCC unroll 16") for (int k = SYMFLOW_PATHS_TERMS - 2; k >= 0; --k)
    {
        table -= SYMFLOW_PATHS_PIECES;
        EACH_OF u[v] = symflow_fma(u[v], r[v], SYMFLOW_OWN(symflow_piece)(table, piece[v]));
    }
#undef EACH_OF
}
