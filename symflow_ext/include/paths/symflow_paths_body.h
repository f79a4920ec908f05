/* The steps of symflow_paths.h for one instruction set; included there only. */
#include "paths/symflow_philox.h"
#include "paths/symflow_kappa.h"

#define EACH(v, count) _Pragma("GCC unroll 16") for (int v = 0; v < (count); ++v)
#if SYMFLOW_ISA == 512
#define TILE 4 /* TILE x TILE sums stay in registers */
#else
#define TILE 2
#endif
#define OWN(name) SYMFLOW_OWN(symflow_paths_##name)
typedef symflow_real OWN(real);
#define real OWN(real)

/* Where the arrays of a group lie, in registers. Tokens are padded to whole tiles. */
typedef struct {
    real *now, *before, *middle, *drift, *field, *sums, *normals, *panels, *realisation, *values;
    ptrdiff_t size;
} OWN(layout);

SYMFLOW_TARGET static ptrdiff_t OWN(padded)(ptrdiff_t n) { return (n + TILE - 1) / TILE * TILE; }

/* Registers of the lower triangle in panels, the padding included. */
SYMFLOW_TARGET static ptrdiff_t OWN(panel_size)(ptrdiff_t n)
{
    const ptrdiff_t blocks = (n + TILE - 1) / TILE;
    return TILE * TILE * (blocks * (blocks + 1) / 2);
}

SYMFLOW_TARGET static OWN(layout) OWN(arrays)(const symflow_paths *p, double *memory)
{
    const ptrdiff_t n = OWN(padded)(p->n), tokens = n * p->d;
    const ptrdiff_t panels = p->draw == SYMFLOW_DRAW_COVARIANCE ? OWN(panel_size)(n) : 0;
    const ptrdiff_t drawn = p->sources > p->d ? n * p->sources : tokens;
    real *at = (real *)memory;
    OWN(layout) a;
#define TAKE(name, count) a.name = at, at += (count)
    TAKE(now, tokens);
    TAKE(before, tokens);
    TAKE(middle, tokens);
    TAKE(drift, tokens);
    TAKE(field, tokens);
    TAKE(sums, n + tokens);
    TAKE(normals, drawn);
    TAKE(panels, panels + n);
    TAKE(realisation, symflow_realisation_size(p));
    TAKE(values, SYMFLOW_ACTIVATION_BLOCK * (1 + p->program));
#undef TAKE
    a.size = at - (real *)memory;
    return a;
}

SYMFLOW_TARGET static ptrdiff_t OWN(memory)(const symflow_paths *p)
{
    return OWN(arrays)(p, NULL).size * SYMFLOW_LANES;
}

/* Where the tokens of a group lie, now and a step before. */
SYMFLOW_TARGET static int OWN(place)(const symflow_paths *p, symflow_paths_group *g)
{
    const OWN(layout) a = OWN(arrays)(p, g->memory);
    g->now = (double *)a.now;
    g->before = (double *)a.before;
    return SYMFLOW_OK;
}

/* ------------------------------------------------------------------------------------------- pairs of tokens */

/* The cosines of a tile: u[r][c] = <x_(i + r), x_(j + c)>. */
SYMFLOW_INLINE void OWN(cosines)(const ptrdiff_t d, const real *x, ptrdiff_t i, ptrdiff_t j, real u[TILE * TILE])
{
    EACH(k, TILE * TILE) u[k] = symflow_splat(0.0);
    for (ptrdiff_t a = 0; a < d; ++a) {
        real left[TILE], right[TILE];
        EACH(r, TILE) left[r] = x[(i + r) * d + a];
        EACH(c, TILE) right[c] = x[(j + c) * d + a];
        EACH(r, TILE) EACH(c, TILE) u[r * TILE + c] = symflow_fma(left[r], right[c], u[r * TILE + c]);
    }
}

/* Add the tile's weights times tokens to the sums of its rows, and of its columns where they are other tokens. */
SYMFLOW_INLINE void OWN(attend)(const ptrdiff_t d, const real *x, ptrdiff_t i, ptrdiff_t j, const real *w, real *mass,
                                real *sums)
{
    real row[TILE], column[TILE];
    EACH(r, TILE) row[r] = mass[i + r];
    EACH(r, TILE) EACH(c, TILE) row[r] += w[r * TILE + c];
    EACH(r, TILE) mass[i + r] = row[r];
    if (i != j) {
        EACH(c, TILE) column[c] = mass[j + c];
        EACH(r, TILE) EACH(c, TILE) column[c] += w[r * TILE + c];
        EACH(c, TILE) mass[j + c] = column[c];
    }
    for (ptrdiff_t a = 0; a < d; ++a) {
        EACH(r, TILE) row[r] = sums[(i + r) * d + a];
        EACH(r, TILE) EACH(c, TILE) row[r] = symflow_fma(w[r * TILE + c], x[(j + c) * d + a], row[r]);
        EACH(r, TILE) sums[(i + r) * d + a] = row[r];
        if (i == j) continue;
        EACH(c, TILE) column[c] = sums[(j + c) * d + a];
        EACH(r, TILE) EACH(c, TILE) column[c] = symflow_fma(w[r * TILE + c], x[(i + r) * d + a], column[c]);
        EACH(c, TILE) sums[(j + c) * d + a] = column[c];
    }
}

/* Zeros where a tile reaches beyond the last token. */
SYMFLOW_INLINE void OWN(cut)(ptrdiff_t n, ptrdiff_t i, ptrdiff_t j, real *tile)
{
    EACH(r, TILE) EACH(c, TILE) if (i + r >= n || j + c >= n) tile[r * TILE + c] = symflow_splat(0.0);
}

/* Cosines, and what is made of them: weights summed at once, covariances kept in panels. A panel holds TILE rows of the
 * lower triangle, column after column. */
SYMFLOW_INLINE void OWN(pairs_of)(const ptrdiff_t d, const symflow_paths *p, const real *x, real *mass, real *sums,
                                  real *panels)
{
    const real scale = symflow_splat(p->scale);
    for (ptrdiff_t i = 0; i < p->n; i += TILE)
        for (ptrdiff_t j = 0; j <= i; j += TILE) {
            const int ragged = i + TILE > p->n;
            real u[TILE * TILE], w[TILE * TILE];
            OWN(cosines)(d, x, i, j, u);
            if (mass != NULL) {
                EACH(k, TILE * TILE) w[k] = symflow_fma(scale, u[k], -scale);
                for (int k = 0; k < TILE * TILE; k += TILE) SYMFLOW_OWN(symflow_powers)(TILE, w + k, 1, 1);
                if (ragged) OWN(cut)(p->n, i, j, w);
                OWN(attend)(d, x, i, j, w, mass, sums);
            }
            if (panels != NULL) {
                for (int k = 0; k < TILE * TILE; k += TILE) OWN(kappa)(TILE, u + k, p->kappa);
                if (ragged) OWN(cut)(p->n, i, j, u);
                EACH(c, TILE) EACH(r, TILE) panels[(j + c) * TILE + r] = u[r * TILE + c];
            }
            if (panels != NULL && i == j) panels += (i + TILE) * TILE;
        }
}

SYMFLOW_TARGET static void OWN(pairs)(const symflow_paths *p, const real *x, real *mass, real *sums, real *panels)
{
    if (mass != NULL) {
        memset(mass, 0, (size_t)OWN(padded)(p->n) * sizeof(real));
        memset(sums, 0, (size_t)(OWN(padded)(p->n) * p->d) * sizeof(real));
    }
    switch (p->d) { /* loops over coordinates of a known number are written out */
        case 2: OWN(pairs_of)(2, p, x, mass, sums, panels); return;
        case 3: OWN(pairs_of)(3, p, x, mass, sums, panels); return;
        case 4: OWN(pairs_of)(4, p, x, mass, sums, panels); return;
        case 8: OWN(pairs_of)(8, p, x, mass, sums, panels); return;
    }
    OWN(pairs_of)(p->d, p, x, mass, sums, panels);
}

/* ------------------------------------------------------------------------------------- covariance and its factor */

/* Subtract the products of the columns before j of two panels from the tile of panel a at column j. */
SYMFLOW_INLINE void OWN(reduce)(ptrdiff_t j, const real *a, const real *b, real tile[TILE * TILE])
{
    for (ptrdiff_t k = 0; k < j; ++k) {
        real left[TILE], right[TILE];
        EACH(r, TILE) left[r] = -a[k * TILE + r];
        EACH(c, TILE) right[c] = b[k * TILE + c];
        EACH(r, TILE) EACH(c, TILE) tile[c * TILE + r] = symflow_fma(left[r], right[c], tile[c * TILE + r]);
    }
}

/* Factor the tile on the diagonal, or solve with the factor of it; `inverse` has the reciprocals of its pivots,
 * zero for a token that has merged with earlier ones: its column is zero, and it moves as they do. */
SYMFLOW_INLINE void OWN(finish)(int diagonal, const real *b, real tile[TILE * TILE], real tiny, real *inverse)
{
    EACH(c, TILE)
    {
        if (diagonal) {
            const real pivot = tile[c * TILE + c], root = symflow_sqrt(symflow_max(pivot, tiny));
            const symflow_mask regular = symflow_less(tiny, pivot);
            inverse[c] = symflow_keep(regular, 1.0 / root);
        }
        EACH(r, TILE) if (!diagonal || r >= c) tile[c * TILE + r] *= inverse[c];
        EACH(e, TILE)
        if (e > c)
            EACH(r, TILE)
            if (!diagonal || r >= e)
                tile[e * TILE + r] = symflow_fma(-tile[c * TILE + r], (diagonal ? tile : b)[c * TILE + e],
                                                 tile[e * TILE + r]);
        if (diagonal) EACH(r, TILE) if (r < c) tile[c * TILE + r] = symflow_splat(0.0);
    }
}

/* The lower triangular factor of the covariances in the panels, in place. */
SYMFLOW_TARGET static void OWN(factorise)(ptrdiff_t n, double tiny, real *panels, real *inverse)
{
    const real floor = symflow_splat(tiny);
    real *a = panels;
    for (ptrdiff_t i = 0; i < n; a += (i + TILE) * TILE, i += TILE) {
        const real *b = panels;
        for (ptrdiff_t j = 0; j <= i; b += (j + TILE) * TILE, j += TILE) {
            real tile[TILE * TILE];
            EACH(k, TILE * TILE) tile[k] = a[j * TILE + k];
            OWN(reduce)(j, a, b, tile);
            OWN(finish)(i == j, b + j * TILE, tile, floor, inverse + j);
            EACH(k, TILE * TILE) a[j * TILE + k] = tile[k];
        }
    }
}

/* field += root * L z. */
SYMFLOW_TARGET static void OWN(spread)(ptrdiff_t n, ptrdiff_t d, double root, const real *panels, const real *z,
                                       real *field)
{
    const real *a = panels;
    for (ptrdiff_t i = 0; i < n; a += (i + TILE) * TILE, i += TILE)
        for (ptrdiff_t first = 0; first < d; first += TILE) {
            const ptrdiff_t wide = first + TILE <= d ? TILE : d - first;
            real sum[TILE * TILE];
            EACH(k, TILE * TILE) sum[k] = symflow_splat(0.0);
            if (wide == TILE) {
                for (ptrdiff_t j = 0; j < i + TILE; ++j) {
                    real left[TILE], right[TILE];
                    EACH(r, TILE) left[r] = a[j * TILE + r];
                    EACH(c, TILE) right[c] = z[j * d + first + c];
                    EACH(r, TILE) EACH(c, TILE) sum[r * TILE + c] = symflow_fma(left[r], right[c], sum[r * TILE + c]);
                }
            } else {
                for (ptrdiff_t j = 0; j < i + TILE; ++j)
                    for (ptrdiff_t c = 0; c < wide; ++c)
                        EACH(r, TILE)
                        sum[r * TILE + c] = symflow_fma(a[j * TILE + r], z[j * d + first + c], sum[r * TILE + c]);
            }
            for (ptrdiff_t r = 0; r < TILE && i + r < n; ++r)
                for (ptrdiff_t c = 0; c < wide; ++c) {
                    real *at = field + (i + r) * d + first + c;
                    *at = symflow_fma(symflow_splat(root), sum[r * TILE + c], *at);
                }
        }
}

#include "paths/symflow_fields.h"

/* ------------------------------------------------------------------------------------------------------- a step */

/* Velocities by the right-hand side of the model, path by path; a path for which it fails ends here. */
SYMFLOW_TARGET static int OWN(call)(const symflow_paths *p, symflow_paths_group *g, double t, const real *x,
                                    real *drift)
{
    const ptrdiff_t size = p->n * p->d;
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) {
        if (!g->alive[lane]) continue;
        for (ptrdiff_t i = 0; i < size; ++i) g->y[i] = x[i][lane];
        const int code = g->rhs(t, g->y, g->dy, g->call);
        if (code == SYMFLOW_RAISED) return SYMFLOW_RAISED;
        if (code != SYMFLOW_OK) {
            g->alive[lane] = 0;
            g->reason[lane] = code;
        }
        for (ptrdiff_t i = 0; i < size; ++i) drift[i][lane] = g->dy[i];
    }
    return SYMFLOW_OK;
}

/* drift = velocities at x times h. */
SYMFLOW_TARGET static int OWN(velocity)(const symflow_paths *p, symflow_paths_group *g, const OWN(layout) * a, double t,
                                        double h, const real *x)
{
    const ptrdiff_t d = p->d;
    if (!p->fused) {
        if (OWN(call)(p, g, t, x, a->drift) == SYMFLOW_RAISED) return SYMFLOW_RAISED;
        for (ptrdiff_t i = 0; i < p->n * d; ++i) a->drift[i] *= h;
        return SYMFLOW_OK;
    }
    const real *mass = a->sums, *sums = a->sums + OWN(padded)(p->n);
    for (ptrdiff_t i = 0; i < p->n; ++i) {
        const real factor = p->sign * h / mass[i];
        for (ptrdiff_t c = 0; c < d; ++c) a->drift[i * d + c] = factor * sums[i * d + c];
    }
    return SYMFLOW_OK;
}

/* field += B z times the root of h. */
SYMFLOW_TARGET static void OWN(scatter)(const symflow_paths *p, double root, const real *z, real *field)
{
    for (ptrdiff_t i = 0; i < p->n; ++i)
        for (ptrdiff_t c = 0; c < p->d; ++c) {
            real sum = symflow_splat(0.0);
            for (ptrdiff_t k = 0; k < p->sources; ++k)
                sum = symflow_fma(symflow_splat(p->factor[c * p->sources + k]), z[i * p->sources + k], sum);
            field[i * p->d + c] = symflow_fma(symflow_splat(root), sum, field[i * p->d + c]);
        }
}

/* Drift times h, and noise times its root, at x; `first` draws what the later stages of a step use again. */
SYMFLOW_TARGET static int OWN(increments)(const symflow_paths *p, symflow_paths_group *g, const OWN(layout) * a,
                                          double t, double h, const real *x, int first)
{
    const int covariance = p->draw == SYMFLOW_DRAW_COVARIANCE;
    const double root = sqrt(h);
    symflow_word path;
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) path[lane] = g->path[lane];
    const unsigned long long step = (unsigned long long)g->step;
    real *mass = p->fused ? a->sums : NULL;
    if (p->fused || covariance)
        OWN(pairs)(p, x, mass, a->sums + OWN(padded)(p->n), covariance ? a->panels : NULL);
    if (OWN(velocity)(p, g, a, t, h, x) == SYMFLOW_RAISED) return SYMFLOW_RAISED;
    memset(a->field, 0, (size_t)(p->n * p->d) * sizeof(real));
    if (covariance) {
        OWN(factorise)(p->n, p->tiny, a->panels, a->panels + OWN(panel_size)(p->n));
        SYMFLOW_OWN(symflow_normals)(p->n * p->d, path, step, p->substeps, SYMFLOW_STREAM_FIELD, p->key, a->normals);
        OWN(spread)(p->n, p->d, root, a->panels, a->normals, a->field);
    } else if (p->draw != SYMFLOW_DRAW_NONE) {
        if (first)
            SYMFLOW_OWN(symflow_normals)(symflow_realisation_size(p), path, step, p->substeps,
                                         SYMFLOW_STREAM_REALISATION, p->key, a->realisation);
        OWN(realise)(p, root, x, a->realisation, a->values, a->field);
    }
    if (p->sources > 0) {
        SYMFLOW_OWN(symflow_normals)(p->n * p->sources, path, step, p->substeps, SYMFLOW_STREAM_OWN, p->key,
                                     a->normals);
        OWN(scatter)(p, root, a->normals, a->field);
    }
    return SYMFLOW_OK;
}

/* out = (x + q move) / |x + q move|; q = 1 + share |move|^2. A tangent vector v with the share 1/3, whose length grows
 * by the tangent's series, arrives where the great circle is after the length |v|, up to |v|^5. */
SYMFLOW_TARGET static void OWN(retract)(ptrdiff_t d, double share, const real *x, const real *move, real *out)
{
    real square = symflow_splat(0.0), q = symflow_splat(0.0);
    for (ptrdiff_t c = 0; c < d; ++c) q = symflow_fma(move[c], move[c], q);
    q = symflow_fma(symflow_splat(share), q, symflow_splat(1.0));
    for (ptrdiff_t c = 0; c < d; ++c) {
        out[c] = symflow_fma(q, move[c], x[c]);
        square = symflow_fma(out[c], out[c], square);
    }
    const real shrink = 1.0 / symflow_sqrt(square);
    for (ptrdiff_t c = 0; c < d; ++c) out[c] *= shrink;
}

/* move = drift + field, on the sphere without their component along x. */
SYMFLOW_TARGET static void OWN(project)(const symflow_paths *p, const OWN(layout) * a, const real *x, real *move)
{
    for (ptrdiff_t i = 0; i < p->n; ++i) {
        const real *at = x + i * p->d;
        real *to = move + i * p->d, along = symflow_splat(0.0);
        for (ptrdiff_t c = 0; c < p->d; ++c) {
            to[c] = a->drift[i * p->d + c] + a->field[i * p->d + c];
            along = symflow_fma(to[c], at[c], along);
        }
        if (p->sphere)
            for (ptrdiff_t c = 0; c < p->d; ++c) to[c] = symflow_fma(-along, at[c], to[c]);
    }
}

SYMFLOW_TARGET static void OWN(move)(const symflow_paths *p, const real *x, const real *move, real *out)
{
    const double share = p->scheme == SYMFLOW_PATHS_EULER ? 1.0 / 3.0 : 0.0;
    for (ptrdiff_t i = 0; i < p->n * p->d; i += p->d) {
        if (p->sphere)
            OWN(retract)(p->d, share, x + i, move + i, out + i);
        else
            for (ptrdiff_t c = 0; c < p->d; ++c) out[i + c] = x[i + c] + move[i + c];
    }
}

/* Lanes whose tokens are no finite numbers end; so do those that a right-hand side has refused. */
SYMFLOW_TARGET static void OWN(judge)(const symflow_paths *p, symflow_paths_group *g, const OWN(layout) * a)
{
    real total = symflow_splat(0.0);
    for (ptrdiff_t i = 0; i < p->n * p->d; ++i) total = symflow_fma(a->now[i], symflow_splat(0.0), total);
    symflow_mask kept;
    int all = 1;
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) {
        if (g->alive[lane] && total[lane] == 0.0) g->ended[lane] = g->step + 1;
        else g->alive[lane] = 0;
        kept[lane] = g->alive[lane];
        all &= g->alive[lane] != 0;
    }
    if (!all)
        for (ptrdiff_t i = 0; i < p->n * p->d; ++i) a->now[i] = symflow_select(kept, a->now[i], a->before[i]);
}

SYMFLOW_TARGET static int OWN(step)(const symflow_paths *p, symflow_paths_group *g, OWN(layout) * a)
{
    const double t = symflow_paths_time(p, g->step), h = symflow_paths_time(p, g->step + 1) - t;
    real *x = a->now, *next = a->before, *second = a->middle;
    if (OWN(increments)(p, g, a, t, h, x, 1) == SYMFLOW_RAISED) return SYMFLOW_RAISED;
    OWN(project)(p, a, x, a->drift);
    if (p->scheme == SYMFLOW_PATHS_EULER) {
        OWN(move)(p, x, a->drift, next);
    } else { /* half the increments at x, half those at where they lead */
        OWN(move)(p, x, a->drift, second);
        for (ptrdiff_t i = 0; i < p->n * p->d; ++i) next[i] = a->drift[i];
        if (OWN(increments)(p, g, a, t + h, h, second, 0) == SYMFLOW_RAISED) return SYMFLOW_RAISED;
        OWN(project)(p, a, second, a->drift);
        for (ptrdiff_t i = 0; i < p->n * p->d; ++i) next[i] = 0.5 * (next[i] + a->drift[i]);
        OWN(move)(p, x, next, next);
    }
    a->now = next;
    a->before = x;
    OWN(judge)(p, g, a);
    ++g->step;
    return SYMFLOW_OK;
}

SYMFLOW_TARGET static int OWN(advance)(const symflow_paths *p, symflow_paths_group *g, ptrdiff_t until, double deadline)
{
    OWN(layout) a = OWN(arrays)(p, g->memory);
    int code = SYMFLOW_OK;
    a.now = (real *)g->now;
    a.before = (real *)g->before;
    while (g->step < until && code == SYMFLOW_OK) {
        int alive = 0;
        for (int lane = 0; lane < SYMFLOW_LANES; ++lane) alive |= g->alive[lane] != 0;
        if (!alive) {
            g->step = p->steps;
            break;
        }
        code = OWN(step)(p, g, &a);
        if (g->step % 8 == 0 || p->n * p->d >= 256)
            if (symflow_paths_clock() > deadline) break;
    }
    g->now = (double *)a.now;
    g->before = (double *)a.before;
    return code;
}

/* Normal numbers of the streams of some paths, or the words that they are made of; for tests. */
SYMFLOW_TARGET static int OWN(normals)(ptrdiff_t count, const unsigned long long *path, unsigned long long step,
                                       unsigned long long tag, const unsigned long long *key, double *out, int raw)
{
    symflow_word lanes;
    for (int lane = 0; lane < SYMFLOW_LANES; ++lane) lanes[lane] = path[lane];
    for (ptrdiff_t at = 0; at < count; at += 4) {
        symflow_word c[1][4];
        real four[4];
        SYMFLOW_OWN(symflow_blocks)(1, at / 4, lanes, step, tag, key, c);
        SYMFLOW_OWN(symflow_normal_pair)(c[0][0], c[0][1], four);
        SYMFLOW_OWN(symflow_normal_pair)(c[0][2], c[0][3], four + 2);
        for (ptrdiff_t k = 0; k < 4; ++k)
            memcpy(out + (at + k) * SYMFLOW_LANES, raw ? (const void *)&c[0][k] : (const void *)&four[k], sizeof(real));
    }
    return SYMFLOW_OK;
}
#undef EACH
#undef TILE
#undef OWN
#undef real
