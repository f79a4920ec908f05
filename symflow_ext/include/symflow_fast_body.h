/* The passes of symflow_fast.h for the instruction set that symflow_isa.h has opened.
 * Some registers are worked on side by side, so that the latency of one does not matter. */

#define NAME(name) SYMFLOW_OWN(symflow_fast_##name)
#if SYMFLOW_ISA == 512
#define GROUPS 4
#else
#define GROUPS 2
#endif
#define STRIDE (SYMFLOW_LANES * GROUPS)

SYMFLOW_INLINE symflow_real NAME(cosine)(const ptrdiff_t d, const double *x, const double *query)
{
    symflow_real dot = symflow_splat(query[0]) * symflow_load(x);
    for (ptrdiff_t a = 1; a < d; ++a)
        dot = symflow_fma(symflow_splat(query[a * SYMFLOW_FAST_TILE]), symflow_load(x + a * SYMFLOW_FAST_TILE),
                          dot);
    return dot;
}

/* The largest cosine of a query with the keys of a tile, or `top`. */
SYMFLOW_INLINE double NAME(largest)(const ptrdiff_t d, ptrdiff_t count, const double *x, const double *query,
                                    double top)
{
    symflow_real most = symflow_splat(top);
    ptrdiff_t i = 0;
    for (; i + SYMFLOW_LANES <= count; i += SYMFLOW_LANES)
        most = symflow_max(NAME(cosine)(d, x + i, query), most);
    if (i < count) {
        symflow_real rest = NAME(cosine)(d, x + i, query);
        for (ptrdiff_t lane = 0; lane < count - i; ++lane)
            top = rest[lane] > top ? rest[lane] : top;
    }
    double found = symflow_largest(most);
    return found > top ? found : top;
}

/* Add exp(kappa (c - top)) / n, alone and times the keys of a tile. */
SYMFLOW_INLINE void NAME(sum_keys)(const ptrdiff_t d, ptrdiff_t count, const double *x, const double *query,
                                   double kappa, double top, double n, double *z, double *sums)
{
    symflow_real total[SYMFLOW_FAST_MOST + 1];
    memset(total, 0, sizeof total);
    for (ptrdiff_t i = 0; i < count; i += SYMFLOW_LANES) {
        symflow_real k = symflow_exp(kappa * (NAME(cosine)(d, x + i, query) - top));
        for (ptrdiff_t lane = count - i; lane < SYMFLOW_LANES; ++lane)
            k[lane] = 0.0;
        total[0] += k;
        for (ptrdiff_t a = 0; a < d; ++a)
            total[a + 1] += k * symflow_load(x + a * SYMFLOW_FAST_TILE + i);
    }
    *z += symflow_total(total[0]) / n;
    for (ptrdiff_t a = 0; a < d; ++a)
        sums[a * SYMFLOW_FAST_TILE] += symflow_total(total[a + 1]) / n;
}

/* Replace Z and (1/n) sum_j k x_j of lonely queries by the sums themselves, divided by the largest k where only
 * their ratio is wanted: all keys may be far away. */
SYMFLOW_INLINE void NAME(direct)(const symflow_fast *job, const symflow_fast_term *term, const ptrdiff_t d,
                                 ptrdiff_t lonely, const ptrdiff_t *index, const double *u, double *z,
                                 double *sums)
{
    double x[SYMFLOW_FAST_MOST * SYMFLOW_FAST_TILE], top[SYMFLOW_FAST_TILE];
    for (ptrdiff_t k = 0; k < lonely; ++k) {
        top[k] = term->normalised ? -2.0 : 1.0;
        z[index[k]] = 0.0;
        for (ptrdiff_t a = 0; a < d; ++a)
            sums[a * SYMFLOW_FAST_TILE + index[k]] = 0.0;
    }
    for (int pass = !term->normalised; pass < 2; ++pass)
        for (ptrdiff_t from = 0; from < job->n; from += SYMFLOW_FAST_TILE) {
            ptrdiff_t count = job->n - from < SYMFLOW_FAST_TILE ? job->n - from : SYMFLOW_FAST_TILE;
            symflow_fast_gather(d, count, job->y + from * d, x);
            for (ptrdiff_t k = 0; k < lonely; ++k) {
                const double *query = u + index[k];
                if (pass)
                    NAME(sum_keys)(d, count, x, query, term->kappa, top[k], (double)job->n, z + index[k],
                                   sums + index[k]);
                else
                    top[k] = NAME(largest)(d, count, x, query, top[k]);
            }
        }
}

/* Add the powers z, z^2, ... of a tile to sums[2 k], sums[2 k + 1]. */
SYMFLOW_TARGET static void NAME(circle_moments)(ptrdiff_t count, const double *x, ptrdiff_t modes, double *sums)
{
    const double *y = x + SYMFLOW_FAST_TILE;
    double re[SYMFLOW_FAST_TILE], im[SYMFLOW_FAST_TILE];
    for (ptrdiff_t i = 0; i < SYMFLOW_FAST_TILE; ++i) {
        re[i] = i < count ? 1.0 : 0.0;
        im[i] = 0.0;
    }
    for (ptrdiff_t from = 1; from <= modes; from += SYMFLOW_FAST_CHUNK) {
        ptrdiff_t some = modes + 1 - from < SYMFLOW_FAST_CHUNK ? modes + 1 - from : SYMFLOW_FAST_CHUNK;
        symflow_real total[2 * SYMFLOW_FAST_CHUNK];
        memset(total, 0, sizeof total);
        for (ptrdiff_t i = 0; i < count; i += STRIDE) {
            symflow_real c[GROUPS], s[GROUPS], a[GROUPS], b[GROUPS];
            for (int g = 0; g < GROUPS; ++g) {
                c[g] = symflow_load(x + i + g * SYMFLOW_LANES);
                s[g] = symflow_load(y + i + g * SYMFLOW_LANES);
                a[g] = symflow_load(re + i + g * SYMFLOW_LANES);
                b[g] = symflow_load(im + i + g * SYMFLOW_LANES);
            }
            for (ptrdiff_t k = 0; k < some; ++k) {
                symflow_real sum_a = total[2 * k], sum_b = total[2 * k + 1];
                for (int g = 0; g < GROUPS; ++g) {
                    symflow_real next = symflow_fma(a[g], c[g], -(b[g] * s[g]));
                    b[g] = symflow_fma(a[g], s[g], b[g] * c[g]);
                    a[g] = next;
                }
                for (int g = 0; g < GROUPS; ++g) {
                    sum_a += a[g];
                    sum_b += b[g];
                }
                total[2 * k] = sum_a;
                total[2 * k + 1] = sum_b;
            }
            for (int g = 0; g < GROUPS; ++g) {
                symflow_store(re + i + g * SYMFLOW_LANES, a[g]);
                symflow_store(im + i + g * SYMFLOW_LANES, b[g]);
            }
        }
        for (ptrdiff_t k = 0; k < some; ++k) {
            sums[2 * (from + k)] += symflow_total(total[2 * k]);
            sums[2 * (from + k) + 1] += symflow_total(total[2 * k + 1]);
        }
    }
}

/* Sums over the modes at the queries of a tile: Z without a_0 and kappa, T along (-u_2, u_1), R without r_0. */
SYMFLOW_TARGET static inline void NAME(circle_values)(ptrdiff_t count, const double *u,
                                                      const symflow_fast_term *term, const int radial,
                                                      double *out)
{
    for (ptrdiff_t i = 0; i < count; i += STRIDE) {
        symflow_real c[GROUPS], s[GROUPS], a[GROUPS], b[GROUPS];
        symflow_real z[GROUPS], t[GROUPS], r[GROUPS];
        for (int g = 0; g < GROUPS; ++g) {
            c[g] = symflow_load(u + i + g * SYMFLOW_LANES);
            s[g] = symflow_load(u + SYMFLOW_FAST_TILE + i + g * SYMFLOW_LANES);
            a[g] = symflow_splat(1.0);
            b[g] = z[g] = t[g] = r[g] = symflow_splat(0.0);
        }
        const double *row = term->table + 6;
        for (ptrdiff_t k = 1; k <= term->modes; ++k, row += 6)
            for (int g = 0; g < GROUPS; ++g) {
                symflow_real next = symflow_fma(a[g], c[g], -(b[g] * s[g]));
                b[g] = symflow_fma(a[g], s[g], b[g] * c[g]);
                a[g] = next;
                z[g] = symflow_fma(symflow_splat(row[0]), a[g], z[g]);
                z[g] = symflow_fma(symflow_splat(row[1]), b[g], z[g]);
                t[g] = symflow_fma(symflow_splat(row[3]), a[g], t[g]);
                t[g] = symflow_fma(-symflow_splat(row[2]), b[g], t[g]);
                if (radial) {
                    r[g] = symflow_fma(symflow_splat(row[4]), a[g], r[g]);
                    r[g] = symflow_fma(symflow_splat(row[5]), b[g], r[g]);
                }
            }
        for (int g = 0; g < GROUPS; ++g) {
            symflow_store(out + i + g * SYMFLOW_LANES, z[g]);
            symflow_store(out + SYMFLOW_FAST_TILE + i + g * SYMFLOW_LANES, t[g]);
            symflow_store(out + 2 * SYMFLOW_FAST_TILE + i + g * SYMFLOW_LANES, r[g]);
        }
    }
}

SYMFLOW_TARGET static void NAME(circle_term)(const symflow_fast *job, const symflow_fast_term *term,
                                             ptrdiff_t count, const double *x, double *v)
{
    double turned[2 * SYMFLOW_FAST_TILE], out[3 * SYMFLOW_FAST_TILE];
    const double *u = x;
    if (term->turned) {
        symflow_fast_turn(2, term->turn, x, turned);
        u = turned;
    }
    if (term->radial)
        NAME(circle_values)(count, u, term, 1, out);
    else
        NAME(circle_values)(count, u, term, 0, out);
    double *z = out, *across = out + SYMFLOW_FAST_TILE, *along = out + 2 * SYMFLOW_FAST_TILE;
    for (ptrdiff_t i = 0; i < count; ++i) {
        double c = u[i], s = u[SYMFLOW_FAST_TILE + i], t = across[i], r = term->along[0] + along[i];
        z[i] = term->first + term->kappa * z[i];
        across[i] = r * c - t * s;
        along[i] = r * s + t * c;
    }
    ptrdiff_t index[SYMFLOW_FAST_TILE], lonely = symflow_fast_lonely(term->floor, count, z, index);
    if (lonely)
        NAME(direct)(job, term, 2, lonely, index, u, z, across);
    symflow_fast_contribute(term, 2, count, z, across, v);
}

/* Add q_lm(z) (x + iy)^m of a tile to sums. The q_lm satisfy q_l+1 = alpha_l z q_l - q_l-1, q_mm = 1. */
SYMFLOW_TARGET static void NAME(sphere_moments)(const symflow_fast *job, ptrdiff_t count, const double *x,
                                                double *sums)
{
    const double *y = x + SYMFLOW_FAST_TILE, *z = y + SYMFLOW_FAST_TILE, *alpha = job->steps;
    const ptrdiff_t modes = job->modes;
    double re[SYMFLOW_FAST_TILE], im[SYMFLOW_FAST_TILE];
    for (ptrdiff_t i = 0; i < SYMFLOW_FAST_TILE; ++i) {
        re[i] = i < count ? 1.0 : 0.0;
        im[i] = 0.0;
    }
    for (ptrdiff_t m = 0; m <= modes; ++m) {
        symflow_real total[2 * (SYMFLOW_FAST_DEGREE + 1)];
        memset(total, 0, (size_t)(modes + 1 - m) * 2 * sizeof(symflow_real));
        for (ptrdiff_t i = 0; i < count; i += STRIDE) {
            symflow_real h[GROUPS], a[GROUPS], b[GROUPS], c[GROUPS], d[GROUPS];
            for (int g = 0; g < GROUPS; ++g) {
                h[g] = symflow_load(z + i + g * SYMFLOW_LANES);
                a[g] = symflow_load(re + i + g * SYMFLOW_LANES);
                b[g] = symflow_load(im + i + g * SYMFLOW_LANES);
                c[g] = d[g] = symflow_splat(0.0);
            }
            for (ptrdiff_t l = 0; l <= modes - m; ++l) {
                symflow_real sum_a = total[2 * l], sum_b = total[2 * l + 1];
                for (int g = 0; g < GROUPS; ++g) {
                    sum_a += a[g];
                    sum_b += b[g];
                    symflow_real step = symflow_splat(alpha[l]) * h[g];
                    symflow_real next_a = symflow_fma(step, a[g], -c[g]);
                    symflow_real next_b = symflow_fma(step, b[g], -d[g]);
                    c[g] = a[g];
                    d[g] = b[g];
                    a[g] = next_a;
                    b[g] = next_b;
                }
                total[2 * l] = sum_a;
                total[2 * l + 1] = sum_b;
            }
        }
        for (ptrdiff_t l = 0; l <= modes - m; ++l, sums += 2) {
            sums[0] += symflow_total(total[2 * l]);
            sums[1] += symflow_total(total[2 * l + 1]);
        }
        alpha += modes + 1 - m;
        for (ptrdiff_t i = 0; i < SYMFLOW_FAST_TILE; ++i) {
            double next = re[i] * x[i] - im[i] * y[i], other = re[i] * y[i] + im[i] * x[i];
            int keep = fabs(next) + fabs(other) > SYMFLOW_FAST_TINY;
            re[i] = keep ? next : 0.0;
            im[i] = keep ? other : 0.0;
        }
    }
}

/* What one m adds: q_lm against the six columns of the table. */
#define SYMFLOW_FAST_COLUMNS(radial)                                                                           \
    for (ptrdiff_t l = 0; l <= term->modes - m; ++l, row += 6)                                                 \
        for (int g = 0; g < 2; ++g) {                                                                          \
            p[0][g] = symflow_fma(symflow_splat(row[0]), q[g], p[0][g]);                                       \
            p[1][g] = symflow_fma(symflow_splat(row[1]), q[g], p[1][g]);                                       \
            p[2][g] = symflow_fma(symflow_splat(row[2]), q[g], p[2][g]);                                       \
            p[3][g] = symflow_fma(symflow_splat(row[3]), q[g], p[3][g]);                                       \
            if (radial) {                                                                                      \
                p[4][g] = symflow_fma(symflow_splat(row[4]), q[g], p[4][g]);                                   \
                p[5][g] = symflow_fma(symflow_splat(row[5]), q[g], p[5][g]);                                   \
            }                                                                                                  \
            symflow_real next = symflow_fma(symflow_splat(alpha[l]) * h[g], q[g], -last[g]);                   \
            last[g] = q[g];                                                                                    \
            q[g] = next;                                                                                       \
        }

/* Z without a_0 and kappa, the gradient of Y in three coordinates, R, at the queries of a tile. */
SYMFLOW_TARGET static inline void NAME(sphere_values)(const symflow_fast *job, ptrdiff_t count, const double *u,
                                                      const symflow_fast_term *term, const int radial,
                                                      double *out)
{
    for (ptrdiff_t i = 0; i < count; i += 2 * SYMFLOW_LANES) {
        symflow_real h[2], re[2], im[2], re_last[2], im_last[2], sum[5][2];
        const double *row = term->table, *alpha = job->steps;
        memset(sum, 0, sizeof sum);
        for (int g = 0; g < 2; ++g) {
            h[g] = symflow_load(u + 2 * SYMFLOW_FAST_TILE + i + g * SYMFLOW_LANES);
            re[g] = symflow_splat(1.0);
            im[g] = re_last[g] = im_last[g] = symflow_splat(0.0);
        }
        for (ptrdiff_t m = 0; m <= term->modes; ++m) {
            symflow_real p[6][2], q[2], last[2];
            memset(p, 0, sizeof p);
            for (int g = 0; g < 2; ++g) {
                q[g] = symflow_splat(1.0);
                last[g] = symflow_splat(0.0);
            }
            SYMFLOW_FAST_COLUMNS(radial)
            alpha += job->modes + 1 - m;
            for (int g = 0; g < 2; ++g) {
                symflow_real a = re_last[g] * (double)m, b = im_last[g] * (double)m;
                sum[0][g] += p[0][g] * re[g] + p[1][g] * im[g];
                sum[1][g] += p[0][g] * a + p[1][g] * b;
                sum[2][g] += p[1][g] * a - p[0][g] * b;
                sum[3][g] += p[2][g] * re_last[g] + p[3][g] * im_last[g];
                if (radial)
                    sum[4][g] += p[4][g] * re[g] + p[5][g] * im[g];
                re_last[g] = re[g];
                im_last[g] = im[g];
                const double *at = u + i + g * SYMFLOW_LANES;
                symflow_real x = symflow_load(at), y = symflow_load(at + SYMFLOW_FAST_TILE);
                symflow_real next = re[g] * x - im[g] * y, other = re[g] * y + im[g] * x;
                symflow_real size = next * next + other * other;
                symflow_mask keep = (symflow_mask)(size > symflow_splat(SYMFLOW_FAST_TINY * SYMFLOW_FAST_TINY));
                re[g] = (symflow_real)((symflow_mask)next & keep);
                im[g] = (symflow_real)((symflow_mask)other & keep);
            }
        }
        for (int g = 0; g < 2; ++g)
            for (int a = 0; a < 5; ++a)
                symflow_store(out + a * SYMFLOW_FAST_TILE + i + g * SYMFLOW_LANES, sum[a][g]);
    }
}

SYMFLOW_TARGET static void NAME(sphere_term)(const symflow_fast *job, const symflow_fast_term *term,
                                             ptrdiff_t count, const double *x, double *v)
{
    double turned[3 * SYMFLOW_FAST_TILE], out[5 * SYMFLOW_FAST_TILE];
    const double *u = x;
    if (term->turned) {
        symflow_fast_turn(3, term->turn, x, turned);
        u = turned;
    }
    if (term->radial)
        NAME(sphere_values)(job, count, u, term, 1, out);
    else
        NAME(sphere_values)(job, count, u, term, 0, out);
    double *z = out, *slope = out + SYMFLOW_FAST_TILE, *radial = out + 4 * SYMFLOW_FAST_TILE;
    for (ptrdiff_t i = 0; i < count; ++i) {
        double along = term->radial ? radial[i] : 0.0;
        z[i] = term->first + term->kappa * z[i];
        for (int a = 0; a < 3; ++a)
            along -= slope[a * SYMFLOW_FAST_TILE + i] * u[a * SYMFLOW_FAST_TILE + i];
        for (int a = 0; a < 3; ++a)
            slope[a * SYMFLOW_FAST_TILE + i] += along * u[a * SYMFLOW_FAST_TILE + i];
    }
    ptrdiff_t index[SYMFLOW_FAST_TILE], lonely = symflow_fast_lonely(term->floor, count, z, index);
    if (lonely)
        NAME(direct)(job, term, 3, lonely, index, u, z, slope);
    symflow_fast_contribute(term, 3, count, z, slope, v);
}

#define SYMFLOW_FAST_PART(space, dim, add, term_values)                                                        \
    SYMFLOW_TARGET static void NAME(space##_moments_part)(ptrdiff_t part, void *data)                          \
    {                                                                                                          \
        const symflow_fast *job = (const symflow_fast *)data;                                                  \
        ptrdiff_t size = 2 * symflow_fast_moments(dim, job->modes), from = part * job->part;                   \
        ptrdiff_t to = from + job->part < job->n ? from + job->part : job->n;                                  \
        double x[dim * SYMFLOW_FAST_TILE], *sums = job->moments + part * size;                                 \
        memset(sums, 0, (size_t)size * sizeof(double));                                                        \
        for (; from < to; from += SYMFLOW_FAST_TILE) {                                                         \
            ptrdiff_t count = to - from < SYMFLOW_FAST_TILE ? to - from : SYMFLOW_FAST_TILE;                   \
            symflow_fast_gather(dim, count, job->y + from * dim, x);                                           \
            add;                                                                                               \
        }                                                                                                      \
    }                                                                                                          \
    SYMFLOW_TARGET static void NAME(space##_velocity_part)(ptrdiff_t part, void *data)                         \
    {                                                                                                          \
        const symflow_fast *job = (const symflow_fast *)data;                                                  \
        ptrdiff_t from = part * job->part, to = from + job->part < job->n ? from + job->part : job->n;         \
        double x[dim * SYMFLOW_FAST_TILE], v[dim * SYMFLOW_FAST_TILE];                                         \
        for (; from < to; from += SYMFLOW_FAST_TILE) {                                                         \
            ptrdiff_t count = to - from < SYMFLOW_FAST_TILE ? to - from : SYMFLOW_FAST_TILE;                   \
            symflow_fast_gather(dim, count, job->y + from * dim, x);                                           \
            memset(v, 0, sizeof v);                                                                            \
            for (ptrdiff_t i = 0; i < job->count; ++i)                                                         \
                term_values(job, job->terms + i, count, x, v);                                                 \
            symflow_fast_finish(job, dim, from, count, v);                                                     \
        }                                                                                                      \
    }

SYMFLOW_FAST_PART(circle, 2, NAME(circle_moments)(count, x, job->modes, sums), NAME(circle_term))
SYMFLOW_FAST_PART(sphere, 3, NAME(sphere_moments)(job, count, x, sums), NAME(sphere_term))

#undef SYMFLOW_FAST_PART
#undef SYMFLOW_FAST_COLUMNS
#undef STRIDE
#undef GROUPS
#undef NAME
