/* One copy of what symflow_products.h offers, for registers of WIDTH doubles; NAME names it, ROWS rows of a
 * product are formed together. No guard: it is included once per instruction set.
 */

typedef double NAME(pack) __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));

typedef long long NAME(bits) __attribute__((vector_size(8 * WIDTH)));

enum { NAME(parts) = 8 / WIDTH };

#define INLINE static inline __attribute__((always_inline)) TARGET
#define AT(x) (*(const NAME(pack) *)(x))
#define PUT(x) (*(NAME(pack) *)(x))

/* C = alpha s + beta C of up to eight columns of a row. */
INLINE void NAME(put)(double alpha, const NAME(pack) *s, double beta, double *c, ptrdiff_t width)
{
    if (width >= 8) {
        for (int v = 0; v < NAME(parts); ++v)
            PUT(c + v * WIDTH) = beta == 0.0 ? alpha * s[v] : alpha * s[v] + beta * AT(c + v * WIDTH);
        return;
    }
    double sums[8];
    for (int v = 0; v < NAME(parts); ++v) PUT(sums + v * WIDTH) = s[v];
    for (ptrdiff_t j = 0; j < width; ++j) c[j] = beta == 0.0 ? alpha * sums[j] : alpha * sums[j] + beta * c[j];
}

/* `rows` rows of C (a constant) from one panel of eight columns. */
INLINE void NAME(rows)(int rows, const symflow_span *w, double *c, ptrdiff_t ldc)
{
    NAME(pack) s[ROWS][8 / WIDTH];
    const double *a = w->a, *panel = w->panel;
    const ptrdiff_t row = w->row, step = w->step, pitch = w->pitch;
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < NAME(parts); ++v) s[r][v] = (NAME(pack)){0};
    for (ptrdiff_t p = w->from; p < w->to; ++p)
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < NAME(parts); ++v)
                s[r][v] += a[r * row + p * step] * AT(panel + p * pitch + v * WIDTH);
    for (int r = 0; r < rows; ++r) NAME(put)(w->alpha, s[r], w->beta, c + r * ldc, w->width);
}

/* Eight columns of op(B) side by side, filled up with zeros. */
INLINE void NAME(panel)(int tb, ptrdiff_t depth, ptrdiff_t width, const double *b, ptrdiff_t ldb, double *panel)
{
    ptrdiff_t row = tb ? 1 : ldb, col = tb ? ldb : 1;
    for (ptrdiff_t p = 0; p < depth; ++p, panel += 8) {
        if (!tb && width == 8) {
            for (int v = 0; v < NAME(parts); ++v) PUT(panel + v * WIDTH) = AT(b + p * ldb + v * WIDTH);
            continue;
        }
        for (ptrdiff_t j = 0; j < 8; ++j) panel[j] = j < width ? b[p * row + j * col] : 0.0;
    }
}

TARGET static void NAME(product)(const symflow_factors *f, ptrdiff_t begin, ptrdiff_t end)
{
    double panel[8 * SYMFLOW_DEPTH];
    symflow_span w = {.row = f->ta ? 1 : f->lda, .step = f->ta ? f->lda : 1, .alpha = f->alpha};
    for (ptrdiff_t j = 0; j < f->n; j += 8) {
        ptrdiff_t p = f->shape & SYMFLOW_B_LOWER && j < f->k ? j : 0;
        ptrdiff_t first = f->shape & SYMFLOW_C_LOWER && j > begin ? j : begin;
        w.width = f->n - j < 8 ? f->n - j : 8;
        w.beta = f->beta;
        do {
            ptrdiff_t depth = f->k - p < SYMFLOW_DEPTH ? f->k - p : SYMFLOW_DEPTH;
            w.panel = f->b + (f->tb ? j * f->ldb + p : p * f->ldb + j);
            w.pitch = f->ldb;
            if (f->tb || w.width < 8 || end - first > SYMFLOW_FEW_ROWS) {
                NAME(panel)(f->tb, depth, w.width, w.panel, f->ldb, panel);
                w.panel = panel;
                w.pitch = 8;
            }
            for (ptrdiff_t i = first, rows; i < end; i += rows) {
                rows = end - i >= ROWS ? ROWS : end - i >= 2 ? 2 : 1;
                w.from = f->shape & SYMFLOW_A_UPPER && i > p ? (i - p < depth ? i - p : depth) : 0;
                w.to = depth;
                if (f->shape & SYMFLOW_A_LOWER && i + rows < p + depth) w.to = i + rows > p ? i + rows - p : 0;
                w.a = f->a + i * w.row + p * w.step;
                double *c = f->c + i * f->ldc + j;
                if (rows == ROWS)
                    NAME(rows)(ROWS, &w, c, f->ldc);
                else if (rows == 2)
                    NAME(rows)(2, &w, c, f->ldc);
                else
                    NAME(rows)(1, &w, c, f->ldc);
            }
            w.beta = 1.0;
            p += SYMFLOW_DEPTH;
        } while (p < f->k);
    }
}

INLINE double NAME(total)(const NAME(pack) *s)
{
    double sums[8];
    for (int v = 0; v < NAME(parts); ++v) PUT(sums + v * WIDTH) = s[v];
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

TARGET static double NAME(dot)(ptrdiff_t n, const double *x, const double *y)
{
    NAME(pack) s[8 / WIDTH];
    double rest = 0.0;
    ptrdiff_t i = 0;
    for (int v = 0; v < NAME(parts); ++v) s[v] = (NAME(pack)){0};
    for (; i + 8 <= n; i += 8)
        for (int v = 0; v < NAME(parts); ++v) s[v] += AT(x + i + v * WIDTH) * AT(y + i + v * WIDTH);
    for (; i < n; ++i) rest += x[i] * y[i];
    return NAME(total)(s) + rest;
}

TARGET static void NAME(axpy)(ptrdiff_t n, double s, const double *x, double *y)
{
    ptrdiff_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) PUT(y + i) = AT(y + i) + s * AT(x + i);
    for (; i < n; ++i) y[i] += s * x[i];
}

INLINE NAME(pack) NAME(size)(NAME(pack) x) { return (NAME(pack))((NAME(bits))x & 0x7fffffffffffffffLL); }

TARGET static void NAME(norms)(ptrdiff_t padded, const double *atol, double rtol, const double *y, const double *z,
                               const double *e, const double *f, double *out)
{
    NAME(pack) high[8 / WIDTH], low[8 / WIDTH];
    for (int v = 0; v < NAME(parts); ++v) high[v] = low[v] = (NAME(pack)){0};
    for (ptrdiff_t i = 0; i < padded; i += 8)
        for (int v = 0; v < NAME(parts); ++v) {
            ptrdiff_t at = i + v * WIDTH;
            NAME(pack) a = NAME(size)(AT(y + at)), b = NAME(size)(AT(z + at));
            NAME(bits) m = (NAME(bits))(a > b);
            NAME(pack) larger = (NAME(pack))((m & (NAME(bits))a) | (~m & (NAME(bits))b));
            NAME(pack) scale = 1.0 / (AT(atol + at) + rtol * larger + 1e-300);
            high[v] += (AT(e + at) * scale) * (AT(e + at) * scale);
            low[v] += (AT(f + at) * scale) * (AT(f + at) * scale);
        }
    out[0] = NAME(total)(high);
    out[1] = NAME(total)(low);
}

TARGET static double NAME(flaws)(ptrdiff_t n, const double *x)
{
    NAME(pack) s[8 / WIDTH];
    double rest = 0.0;
    ptrdiff_t i = 0;
    for (int v = 0; v < NAME(parts); ++v) s[v] = (NAME(pack)){0};
    for (; i + 8 <= n; i += 8)
        for (int v = 0; v < NAME(parts); ++v) s[v] += 0.0 * AT(x + i + v * WIDTH);
    for (; i < n; ++i) rest += 0.0 * x[i];
    return NAME(total)(s) + rest;
}

/* `blocks` blocks of eight sums, side by side in registers. */
INLINE void NAME(sums)(int blocks, ptrdiff_t padded, int count, const int *index, const double *weight, double h,
                       const double *k, const double *y, double *out)
{
    NAME(pack) s[4 * 8 / WIDTH];
    for (int v = 0; v < blocks * NAME(parts); ++v) s[v] = (NAME(pack)){0};
    for (int j = 0; j < count; ++j)
        for (int v = 0; v < blocks * NAME(parts); ++v)
            s[v] += weight[j] * AT(k + index[j] * padded + v * WIDTH);
    for (int v = 0; v < blocks * NAME(parts); ++v) PUT(out + v * WIDTH) = AT(y + v * WIDTH) + h * s[v];
}

TARGET static void NAME(combine)(ptrdiff_t padded, int count, const int *index, const double *weight, double h,
                                 const double *k, const double *y, double *out)
{
    enum { TOGETHER = WIDTH >= 4 ? WIDTH / 2 : 1 };
    ptrdiff_t i = 0;
    for (; i + TOGETHER * 8 <= padded; i += TOGETHER * 8)
        NAME(sums)(TOGETHER, padded, count, index, weight, h, k + i, y + i, out + i);
    for (; i < padded; i += 8) NAME(sums)(1, padded, count, index, weight, h, k + i, y + i, out + i);
}

#undef INLINE
#undef AT
#undef PUT
#undef NAME
#undef TARGET
#undef WIDTH
#undef ROWS
