"""Dense linear algebra for kernels: row-major, equal bits whatever the thread settings.

Products up to ``SMALL``, and those of triangles, are loops of our own on vector registers.  Larger ones go to
BLAS in tiles of 64 x 64 x 64: OpenBLAS takes a product of that size with one thread whatever its thread count
is, so the order of every sum is fixed here and not by the machine.
The threads of large products are our own: each forms some rows, and no sum is split.
The factorisations are our own for the same reason: they are blocked, so that almost all of their work is in
tiles.
"""

import os

from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.math cimport fabs, sqrt
from libc.stdlib cimport free, malloc
from symflow_ext.abi cimport (
    SYMFLOW_OK,
    SYMFLOW_OUTSIDE_DOMAIN,
    SYMFLOW_SINGULAR,
    symflow_linalg,
    symflow_tile_products,
)
from symflow_ext.buffers cimport Reader, Writer
from symflow_ext.roots cimport ROOT_WORK, square_root, sylvester_root
from symflow_ext.vectors cimport SYMFLOW_C_LOWER, symflow_factors, symflow_vectors, symflow_vectors_of

cdef enum:
    TILE = 64   # 64^3 is the largest product that OpenBLAS never splits over threads
    PANEL = 32  # columns of an LU panel; beyond it the trailing update is a product
    STRIP = 64  # rows that a thread forms at a time, outside of BLAS
    FEW = 4     # columns that are not worth filling up to a vector
    LONG = 16   # numbers from which on a vector operation is worth its call

ctypedef void (*dgemm_t)(char *, char *, int *, int *, int *, double *, double *, int *,
                         double *, int *, double *, double *, int *) noexcept nogil

cdef extern from "symflow_pool.h" nogil:
    ctypedef void (*symflow_part)(ptrdiff_t part, void *job) noexcept nogil
    int symflow_pool_run(ptrdiff_t parts, symflow_part part, void *job, int threads)

cdef extern from "symflow_tile_products.h" nogil:
    symflow_tile_products symflow_tile_products_of(int lanes)

cdef dgemm_t _dgemm = NULL
cdef symflow_vectors _vectors = symflow_vectors_of(8)
cdef symflow_tile_products _tiles = symflow_tile_products_of(8)
cdef int _threads = 1
cdef double THREADED = 4.0e6  # multiplications below which waking another thread costs more than it saves


cdef int require_blas() except -1:
    """Look BLAS up, once: importing ``scipy.linalg`` takes longer than a whole small run."""
    global _dgemm
    if _dgemm != NULL:
        return 0
    import scipy.linalg.cython_blas as blas
    capsule = blas.__pyx_capi__["dgemm"]
    cdef const char *name = PyCapsule_GetName(capsule)
    if name.decode().count("int *") != 6:
        raise ImportError(f"scipy.linalg.cython_blas.dgemm has an unexpected signature: {name.decode()}")
    _dgemm = <dgemm_t>PyCapsule_GetPointer(capsule, name)
    return 0


cdef inline ptrdiff_t _blocks(ptrdiff_t n) noexcept nogil:
    return (n + TILE - 1) // TILE


# ---------------------------------------------------------------------------------------------- products

cdef inline double _dot(ptrdiff_t n, const double *x, const double *y) noexcept nogil:
    cdef double sum = 0.0
    cdef ptrdiff_t i
    if n >= LONG:
        return _vectors.dot(n, x, y)
    for i in range(n):
        sum += x[i] * y[i]
    return sum


cdef inline void _axpy(ptrdiff_t n, double s, const double *x, double *y) noexcept nogil:
    cdef ptrdiff_t i
    if n >= LONG:
        _vectors.axpy(n, s, x, y)
        return
    for i in range(n):
        y[i] += s * x[i]


cdef inline void _scale(ptrdiff_t n, double beta, double *y) noexcept nogil:
    """Multiply by beta; zero overwrites, so that an uninitialised result never leaks a NaN."""
    cdef ptrdiff_t i
    if beta == 0.0:
        for i in range(n):
            y[i] = 0.0
    elif beta != 1.0:
        for i in range(n):
            y[i] *= beta


cdef void _gemv(int trans, ptrdiff_t m, ptrdiff_t k, double alpha, const double *a, ptrdiff_t lda,
                const double *x, double beta, double *y) noexcept nogil:
    """Form y (m) = alpha op(A) x + beta y."""
    cdef ptrdiff_t i, p
    if trans:
        _scale(m, beta, y)
        for p in range(k):
            _axpy(m, alpha * x[p], a + p * lda, y)
    elif beta == 0.0:
        for i in range(m):
            y[i] = alpha * _dot(k, a + i * lda, x)
    else:
        for i in range(m):
            y[i] = alpha * _dot(k, a + i * lda, x) + beta * y[i]


cdef void _transpose(ptrdiff_t rows, ptrdiff_t cols, const double *x, ptrdiff_t ldx,
                     double *out) noexcept nogil:
    cdef ptrdiff_t i, j
    for i in range(rows):
        for j in range(cols):
            out[j * rows + i] = x[i * ldx + j]


cdef inline void _store(double alpha, double s, double beta, double *c) noexcept nogil:
    """Write alpha s + beta c; beta = 0 never reads, so that an uninitialised result leaks no NaN."""
    c[0] = alpha * s if beta == 0.0 else alpha * s + beta * c[0]


cdef void _row_of_few(ptrdiff_t n, ptrdiff_t k, double alpha, const double *a, ptrdiff_t step,
                      const double *b, ptrdiff_t row, ptrdiff_t col, double beta, double *c) noexcept nogil:
    """Columns of one row two by two."""
    cdef double s0, s1, x
    cdef ptrdiff_t p, j = 0
    cdef const double *y
    while j + 2 <= n:
        s0 = s1 = 0.0
        y = b + j * col
        for p in range(k):
            x = a[p * step]
            s0 += x * y[0]
            s1 += x * y[col]
            y += row
        _store(alpha, s0, beta, c + j)
        _store(alpha, s1, beta, c + j + 1)
        j += 2
    if j < n:
        s0 = 0.0
        for p in range(k):
            s0 += a[p * step] * b[j * col + p * row]
        _store(alpha, s0, beta, c + j)


cdef void _few_columns(int ta, int tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha,
                       const double *a, ptrdiff_t lda, const double *b, ptrdiff_t ldb,
                       double beta, double *c, ptrdiff_t ldc) noexcept nogil:
    cdef ptrdiff_t i, row = 1 if ta else lda, step = lda if ta else 1
    for i in range(m):
        _row_of_few(n, k, alpha, a + i * row, step, b, 1 if tb else ldb, ldb if tb else 1, beta, c + i * ldc)


cdef inline symflow_factors _product(int ta, int tb, int shape, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,
                                     double alpha, const double *a, ptrdiff_t lda, const double *b,
                                     ptrdiff_t ldb, double beta, double *c, ptrdiff_t ldc) noexcept nogil:
    return symflow_factors(ta, tb, shape, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)


cdef void _some_rows(ptrdiff_t block, void *job) noexcept nogil:
    """Form the rows of one block of C in vectors."""
    cdef const symflow_factors *w = <const symflow_factors *>job
    _vectors.product(w, block * STRIP, min((block + 1) * STRIP, w.m))


cdef void _row_of_tiles(ptrdiff_t block, void *job) noexcept nogil:
    """Form the rows of one block of C through BLAS."""
    cdef const symflow_factors *w = <const symflow_factors *>job
    cdef ptrdiff_t i = block * TILE
    _gemm_tiles(w.ta, w.tb, min(TILE, w.m - i), w.n, w.k, w.alpha, w.a + (i if w.ta else i * w.lda), w.lda,
                w.b, w.ldb, w.beta, w.c + i * w.ldc, w.ldc)


cdef void _in_vectors(symflow_factors *w) noexcept nogil:
    """Form the product in our own loops, on several threads where that pays and they are free."""
    if _threads > 1 and w.m > STRIP and _work(w) >= THREADED:
        if symflow_pool_run((w.m + STRIP - 1) // STRIP, <symflow_part>_some_rows, w, _threads):
            return
    _vectors.product(w, 0, w.m)


cdef void _in_tiles(symflow_factors *w) noexcept nogil:
    """The same through BLAS."""
    if _threads > 1 and w.m > TILE and _work(w) >= THREADED:
        if symflow_pool_run(_blocks(w.m), <symflow_part>_row_of_tiles, w, _threads):
            return
    _gemm_tiles(w.ta, w.tb, w.m, w.n, w.k, w.alpha, w.a, w.lda, w.b, w.ldb, w.beta, w.c, w.ldc)


cdef inline double _work(const symflow_factors *w) noexcept nogil:
    """Return how many multiplications a product takes; a triangle halves them."""
    cdef double count = <double>w.m * <double>w.n * <double>w.k
    return 0.5 * count if w.shape else count


cdef void _gemm_tiles(int ta, int tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha,
                      const double *a, ptrdiff_t lda, const double *b, ptrdiff_t ldb,
                      double beta, double *c, ptrdiff_t ldc) noexcept nogil:
    """The same through BLAS: a row-major C is the column-major transpose, so the factors change places."""
    cdef ptrdiff_t i, j, p, block_i, block_j, block_p
    cdef int mm, nn, kk, lb, la = <int>lda, lc = <int>ldc
    cdef char *op_a = "T" if ta else "N"
    cdef double[TILE * TILE] turned
    cdef const double *tile
    cdef double scale
    for block_j in range(_blocks(n)):
        j = block_j * TILE
        nn = <int>min(TILE, n - j)
        for block_p in range(_blocks(k)):
            p = block_p * TILE
            kk = <int>min(TILE, k - p)
            tile, lb = b + p * ldb + j, <int>ldb
            if tb:  # turning the tile costs less than what BLAS loses on a transposed one
                _transpose(nn, kk, b + j * ldb + p, ldb, turned)
                tile, lb = turned, nn
            scale = beta if p == 0 else 1.0
            for block_i in range(_blocks(m)):
                i = block_i * TILE
                mm = <int>min(TILE, m - i)
                _dgemm("N", op_a, &nn, &mm, &kk, &alpha, <double *>tile, &lb,
                       <double *>a + (p * lda + i if ta else i * lda + p), &la, &scale, c + i * ldc + j, &lc)


cdef void _gemm(int ta, int tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha,
                const double *a, ptrdiff_t lda, const double *b, ptrdiff_t ldb,
                double beta, double *c, ptrdiff_t ldc) noexcept nogil:
    """Form C = alpha op(A) op(B) + beta C with row lengths ``ld*``."""
    cdef symflow_factors w
    if n == 1 and ldb == 1 and ldc == 1 and k > 1:
        _gemv(ta, m, k, alpha, a, lda, b, beta, c)
    elif n <= FEW or k <= 1:
        _few_columns(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
    else:
        w = _product(ta, tb, 0, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
        if _dgemm == NULL or (m <= SMALL and n <= SMALL and k <= SMALL):
            _in_vectors(&w)
        else:
            _in_tiles(&w)


cdef void _table_gemm(int ta, int tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha,
                      const double *a, const double *b, double beta, double *c) noexcept nogil:
    cdef ptrdiff_t lda = m if ta else k
    cdef ptrdiff_t ldb = k if tb else n
    if m == 1 and k > 1:
        _gemv(1 - tb, n, k, alpha, b, ldb, a, beta, c)
    elif n == 1:
        _gemm(ta, 0, m, 1, k, alpha, a, lda, b, 1, beta, c, 1)
    else:
        _gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, n)


cdef void _table_shaped(int ta, int tb, int shape, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha,
                        const double *a, const double *b, double beta, double *c) noexcept nogil:
    cdef symflow_factors w
    if n <= FEW or k <= 1:
        _table_gemm(ta, tb, m, n, k, alpha, a, b, beta, c)
        return
    w = _product(ta, tb, shape, m, n, k, alpha, a, m if ta else k, b, k if tb else n, beta, c, n)
    _in_vectors(&w)


cdef void gram(ptrdiff_t rows, ptrdiff_t cols, const double *factor, double *out) noexcept nogil:
    """Form F F' (rows x rows), bitwise symmetric."""
    cdef ptrdiff_t i, j
    _table_shaped(0, 1, SYMFLOW_C_LOWER, rows, rows, cols, 1.0, factor, factor, 0.0, out)
    for i in range(rows):
        for j in range(i):
            out[j * rows + i] = out[i * rows + j]


# ---------------------------------------------------------------------------------------- factorisations

cdef inline void _swap_rows(ptrdiff_t n, double *x, double *y) noexcept nogil:
    cdef ptrdiff_t i
    cdef double s
    for i in range(n):
        s = x[i]
        x[i] = y[i]
        y[i] = s


cdef int _lu_panel(ptrdiff_t n, double *a, ptrdiff_t *pivots, ptrdiff_t start, ptrdiff_t stop) noexcept nogil:
    """Eliminate columns start..stop in all rows below; rows are swapped over their whole length."""
    cdef ptrdiff_t i, j, best
    cdef double size, factor, entry
    for j in range(start, stop):
        best = j
        size = 0.0
        for i in range(j, n):
            entry = fabs(a[i * n + j])
            if entry > size or entry != entry:  # NaN stays: what has overflowed is not singular
                size = entry
                best = i
        pivots[j] = best
        if size == 0.0:
            return SYMFLOW_SINGULAR
        if best != j:
            _swap_rows(n, a + j * n, a + best * n)
        for i in range(j + 1, n):
            factor = a[i * n + j] / a[j * n + j]
            a[i * n + j] = factor
            _axpy(stop - j - 1, -factor, a + j * n + j + 1, a + i * n + j + 1)
    return SYMFLOW_OK


cdef int _table_lu(ptrdiff_t n, double *a, ptrdiff_t *pivots) noexcept nogil:
    cdef ptrdiff_t width = n if n <= TILE else PANEL
    cdef ptrdiff_t start = 0, stop, i, j
    while start < n:
        stop = min(start + width, n)
        if _lu_panel(n, a, pivots, start, stop) != SYMFLOW_OK:
            return SYMFLOW_SINGULAR
        for i in range(start + 1, stop):
            for j in range(start, i):
                _axpy(n - stop, -a[i * n + j], a + j * n + stop, a + i * n + stop)
        if stop < n:
            _gemm(0, 0, n - stop, n - stop, stop - start, -1.0, a + stop * n + start, n,
                  a + start * n + stop, n, 1.0, a + stop * n + stop, n)
        start = stop
    return SYMFLOW_OK


cdef void _solve_triangle(int upper, int trans, int unit, ptrdiff_t n, ptrdiff_t m,
                          const double *a, double *b) noexcept nogil:
    """Overwrite b (n x m) by op(T)^{-1} b, T a triangle of a; blocks of TILE rows, the rest by products."""
    cdef bint forward = upper == trans
    cdef ptrdiff_t blocks = _blocks(n)
    cdef ptrdiff_t block, lo, hi, rest, count
    cdef const double *panel
    for block in range(blocks):
        lo = (block if forward else blocks - 1 - block) * TILE
        hi = min(lo + TILE, n)
        _solve_block(forward, trans, unit, n, m, lo, hi, a, b)
        rest = hi if forward else 0
        count = n - hi if forward else lo
        if count > 0:
            panel = a + lo * n + rest if trans else a + rest * n + lo
            _gemm(trans, 0, count, m, hi - lo, -1.0, panel, n, b + lo * m, m, 1.0, b + rest * m, m)


cdef void _solve_block(bint forward, int trans, int unit, ptrdiff_t n, ptrdiff_t m, ptrdiff_t lo,
                       ptrdiff_t hi, const double *a, double *b) noexcept nogil:
    cdef ptrdiff_t i, j, step
    for step in range(hi - lo):
        i = lo + step if forward else hi - 1 - step
        for j in range(lo if forward else i + 1, i if forward else hi):
            _axpy(m, -(a[j * n + i] if trans else a[i * n + j]), b + j * m, b + i * m)
        if not unit:
            for j in range(m):
                b[i * m + j] /= a[i * n + i]


cdef void _table_lu_solve(int trans, ptrdiff_t n, ptrdiff_t m, const double *lu,
                          const ptrdiff_t *pivots, double *b) noexcept nogil:
    cdef ptrdiff_t i
    if trans:
        _solve_triangle(1, 1, 0, n, m, lu, b)
        _solve_triangle(0, 1, 1, n, m, lu, b)
        for i in range(n - 1, -1, -1):
            if pivots[i] != i:
                _swap_rows(m, b + i * m, b + pivots[i] * m)
    else:
        for i in range(n):
            if pivots[i] != i:
                _swap_rows(m, b + i * m, b + pivots[i] * m)
        _solve_triangle(0, 0, 1, n, m, lu, b)
        _solve_triangle(1, 0, 0, n, m, lu, b)


cdef int _cholesky_panel(ptrdiff_t n, double *a, ptrdiff_t start, ptrdiff_t stop) noexcept nogil:
    """Columns start..stop of the factor, in all rows below, from what earlier columns have left."""
    cdef ptrdiff_t i, j
    cdef double pivot
    for j in range(start, stop):
        pivot = a[j * n + j] - _dot(j - start, a + j * n + start, a + j * n + start)
        if pivot <= 0.0:  # NaN goes on: what has overflowed says nothing about the domain
            return SYMFLOW_OUTSIDE_DOMAIN
        pivot = sqrt(pivot)
        a[j * n + j] = pivot
        for i in range(j + 1, n):
            a[i * n + j] = (a[i * n + j] - _dot(j - start, a + i * n + start, a + j * n + start)) / pivot
    return SYMFLOW_OK


cdef int _table_cholesky(ptrdiff_t n, double *a) noexcept nogil:
    """Lower factor in place; the strict upper triangle is set to zero."""
    cdef ptrdiff_t start, stop, row, height, block
    for block in range(_blocks(n)):
        start = block * TILE
        stop = min(start + TILE, n)
        if _cholesky_panel(n, a, start, stop) != SYMFLOW_OK:
            return SYMFLOW_OUTSIDE_DOMAIN
        row = stop
        while row < n:
            height = min(TILE, n - row)
            _gemm(0, 1, height, row + height - stop, stop - start, -1.0, a + row * n + start, n,
                  a + stop * n + start, n, 1.0, a + row * n + stop, n)
            row += TILE
    for row in range(n - 1):
        _scale(n - row - 1, 0.0, a + row * n + row + 1)
    return SYMFLOW_OK


cdef void _table_triangle(ptrdiff_t n, const double *a, double *out) noexcept nogil:
    """Form the lower triangle of a + a' with the diagonal of a, in blocks that the first cache holds."""
    cdef ptrdiff_t i, j, top, left
    for top in range(0, n, 8):
        for left in range(0, top + 1, 8):
            for i in range(top, min(top + 8, n)):
                for j in range(left, min(left + 8, i)):
                    out[i * n + j] = a[i * n + j] + a[j * n + i]
        for i in range(top, min(top + 8, n)):
            out[i * n + i] = a[i * n + i]
            _scale(n - i - 1, 0.0, out + i * n + i + 1)


cdef void _turn(ptrdiff_t rows, ptrdiff_t cols, double *f, double *mirror) noexcept nogil:
    """Multiply F (rows x cols) by reflections from the right until it is lower triangular."""
    cdef ptrdiff_t i, j, k, width
    cdef double size, scale
    cdef double *row
    for i in range(min(rows, cols)):
        row, width = f + i * cols + i, cols - i
        size = sqrt(_dot(width, row, row))
        if size == 0.0 or _dot(width - 1, row + 1, row + 1) == 0.0:
            continue
        for j in range(width):
            mirror[j] = row[j]
        mirror[0] += size if row[0] >= 0.0 else -size
        scale = 2.0 / _dot(width, mirror, mirror)
        for k in range(i, rows):
            _axpy(width, -scale * _dot(width, f + k * cols + i, mirror), mirror, f + k * cols + i)
        for j in range(1, width):
            row[j] = 0.0


cdef void _table_parallel(ptrdiff_t parts, symflow_part part, void *job) noexcept nogil:
    cdef ptrdiff_t k
    if _threads > 1 and parts > 1 and symflow_pool_run(parts, part, job, _threads):
        return
    for k in range(parts):
        part(k, job)


cdef int _look() except 3 with gil:
    """Handle signals; the exception of one stays pending and travels up as the status SYMFLOW_RAISED."""
    PyErr_CheckSignals()
    return SYMFLOW_OK


ctypedef int (*looker)() noexcept nogil

cdef symflow_linalg _TABLE
_TABLE.gemm = _table_gemm
_TABLE.shaped = _table_shaped
_TABLE.triangle = _table_triangle
_TABLE.lu = _table_lu
_TABLE.lu_solve = _table_lu_solve
_TABLE.cholesky = _table_cholesky
_TABLE.sqrtm = square_root
_TABLE.sylvester = sylvester_root
_TABLE.parallel = _table_parallel
_TABLE.tiles = &_tiles
_TABLE.interrupted = <looker>_look


cdef const symflow_linalg *linalg_table() noexcept nogil:
    return &_TABLE


cdef const symflow_vectors *vectors() noexcept nogil:
    return &_vectors


# ------------------------------------------------------------------------------- the same, from Python

def threads():
    """Return how many threads a large product may use."""
    return _threads


def set_threads(int count):
    """Let large products use ``count`` threads; the results have the same bits for any number.

    Raises
    ------
    ValueError
        If the number is not positive.
    """
    global _threads
    if count < 1:
        raise ValueError(f"threads = {count} must be at least 1")
    _threads = count


def _from_environment():
    """Return ``SYMFLOW_NUM_THREADS``, by default the number of processors that this process may use."""
    text = os.environ.get("SYMFLOW_NUM_THREADS", "")
    if text and not (text.isdecimal() and int(text) > 0):
        raise ValueError(f"SYMFLOW_NUM_THREADS = {text!r} must be a whole number >= 1")
    if text:
        return int(text)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


set_threads(_from_environment())


def _shape(array, name):
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got {array.ndim} axes")
    return array.shape


def gemm(a, b, c, *, double alpha=1.0, double beta=0.0, bint trans_a=False, bint trans_b=False, int shape=0,
         int width=0):
    """Overwrite c by ``alpha op(a) op(b) + beta c``; contiguous float64 arrays.

    ``shape`` has the bits of ``symflow_products.h``; ``width`` asks for registers of at most 2, 4
    or 8 numbers, which gives the same bits.
    """
    m, k = _shape(a, "a")[::-1] if trans_a else _shape(a, "a")
    inner, n = _shape(b, "b")[::-1] if trans_b else _shape(b, "b")
    if inner != k or tuple(_shape(c, "c")) != (m, n):
        raise ValueError(f"shapes do not match: op(a) {(m, k)}, op(b) {(inner, n)}, c {tuple(c.shape)}")
    require_blas()
    cdef Reader ra = Reader(a, m * k, "a"), rb = Reader(b, k * n, "b")
    cdef Writer rc = Writer(c, m * n, "c")
    cdef symflow_factors w
    if width > 0:
        w = _product(trans_a, trans_b, shape, m, n, k, alpha, ra.data, m if trans_a else k, rb.data,
                     k if trans_b else n, beta, rc.data, n)
        symflow_vectors_of(width).product(&w, 0, m)
    elif shape:
        _table_shaped(trans_a, trans_b, shape, m, n, k, alpha, ra.data, rb.data, beta, rc.data)
    else:
        _table_gemm(trans_a, trans_b, m, n, k, alpha, ra.data, rb.data, beta, rc.data)


def lu(a, pivots):
    """Factor the square array a in place with partial pivoting; return the status.

    ``pivots`` is an array of intp, one per row.
    """
    n, cols = _shape(a, "a")
    if n != cols:
        raise ValueError(f"a must be square, got {(n, cols)}")
    require_blas()
    cdef Writer ra = Writer(a, n * n, "a"), rp = Writer(pivots, n, "pivots", "integer")
    return _table_lu(n, ra.data, <ptrdiff_t *>rp.data)


def lu_solve(lu, pivots, b, *, bint trans=False):
    """Overwrite b by ``op(a)^{-1} b`` from what :func:`lu` left."""
    n, m = _shape(b, "b")
    if tuple(_shape(lu, "lu")) != (n, n):
        raise ValueError(f"shapes do not match: lu {tuple(lu.shape)}, b {(n, m)}")
    require_blas()
    cdef Reader ra = Reader(lu, n * n, "lu"), rp = Reader(pivots, n, "pivots", "integer")
    cdef Writer rb = Writer(b, n * m, "b")
    _table_lu_solve(trans, n, m, ra.data, <const ptrdiff_t *>rp.data, rb.data)


def cholesky(a):
    """Factor the square array a in place, lower triangle; return the status."""
    n, cols = _shape(a, "a")
    if n != cols:
        raise ValueError(f"a must be square, got {(n, cols)}")
    require_blas()
    cdef Writer ra = Writer(a, n * n, "a")
    return _table_cholesky(n, ra.data)


def turn(factor):
    """Overwrite a factor F (d, r) by FQ, Q orthogonal, which has zeros above the diagonal."""
    rows, cols = _shape(factor, "factor")
    cdef Writer target = Writer(factor, rows * cols, "factor")
    cdef double *mirror = <double *>malloc((cols + 1) * sizeof(double))
    if mirror == NULL:
        raise MemoryError(f"a reflection of {cols} columns needs more memory than there is")
    _turn(rows, cols, target.data, mirror)
    free(mirror)


def sqrtm(a):
    """Overwrite the square array a by its principal square root; return the status."""
    n, cols = _shape(a, "a")
    if n != cols:
        raise ValueError(f"a must be square, got {(n, cols)}")
    require_blas()
    cdef Writer ra = Writer(a, n * n, "a")
    return _with_scratch(n, ra.data, NULL)


def sylvester(r, e):
    """Overwrite e by the X with ``rX + Xr = e``, the eigenvalues of r right of 0; return the status."""
    n, cols = _shape(r, "r")
    if n != cols or tuple(_shape(e, "e")) != (n, n):
        raise ValueError(f"shapes do not match: r {(n, cols)}, e {tuple(e.shape)}")
    require_blas()
    cdef Reader rr = Reader(r, n * n, "r")
    cdef Writer re = Writer(e, n * n, "e")
    return _with_scratch(n, re.data, rr.data)


cdef int _with_scratch(ptrdiff_t n, double *a, const double *r) except -1:
    """Run a root, or with ``r`` the equation for its derivative, with scratch memory of its own."""
    cdef double *work = <double *>malloc((ROOT_WORK * n * n + n + 1) * sizeof(double))
    if work == NULL:
        raise MemoryError(f"the square root of a {n} x {n} matrix needs more memory than there is")
    cdef int status
    with nogil:
        status = square_root(&_TABLE, n, a, work) if r == NULL else sylvester_root(&_TABLE, n, r, a, work)
    free(work)
    return status


def covariances(factors, out):
    """Fill out (T, d, d) with F F' for each F of factors (T, d, r), bitwise symmetric."""
    times, d, r = factors.shape
    if tuple(out.shape) != (times, d, d):
        raise ValueError(f"out must have shape {(times, d, d)}, got {tuple(out.shape)}")
    if max(d, r) > SMALL:
        require_blas()
    cdef Reader source = Reader(factors, times * d * r, "factors")
    cdef Writer target = Writer(out, times * d * d, "out")
    cdef ptrdiff_t t, count = times, rows = d, cols = r
    with nogil:
        for t in range(count):
            gram(rows, cols, source.data + t * rows * cols, target.data + t * rows * rows)
