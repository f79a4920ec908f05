"""Principal square roots and how they move, from the products and solves of the table: equal bits everywhere.

Symmetric matrices of small size are diagonalised by Jacobi rotations, which keeps what is small in them.
Others are iterated: with A = M_0 = X_0 and a scale m that brings the determinant of M to 1,

    X <- (m/2) X (I + M^-1/m^2),    M <- (I + (m^2 M + M^-1/m^2)/2)/2

is Newton's iteration for the root in a form that is stable: M tends to I and X to the root of A, as near
as the condition of the root lets it; what is then left of A - X^2 is removed by XD + DX = A - X^2.
The equation RX + XR = E is solved by Newton's iteration for the sign of the matrix [[R, E], [0, -R]], all
blocks of which follow from R alone.
"""

from libc.math cimport HUGE_VAL, NAN, exp, fabs, frexp, ldexp, log, sqrt
from libc.string cimport memcpy
from symflow_ext.abi cimport SYMFLOW_OK, SYMFLOW_SINGULAR, symflow_linalg

cdef enum:
    JACOBI = 12     # up to this size rotations are used; beyond, products are faster
    SWEEPS = 30
    ITERATIONS = 60
    CORRECTIONS = 3

cdef double EPS = 2.220446049250313e-16
cdef double NEAR = 1e-2  # within this distance Newton's iteration needs no scaling any more


cdef double _norm(ptrdiff_t n, const double *a) noexcept nogil:
    """Return the Frobenius norm."""
    cdef double total = 0.0
    cdef ptrdiff_t i
    for i in range(n * n):
        total += a[i] * a[i]
    return sqrt(total)


cdef double _distance_from_identity(ptrdiff_t n, const double *a) noexcept nogil:
    cdef double total = 0.0, x
    cdef ptrdiff_t i, j
    for i in range(n):
        for j in range(n):
            x = a[i * n + j] - (1.0 if i == j else 0.0)
            total += x * x
    return sqrt(total)


cdef bint _is_symmetric(ptrdiff_t n, const double *a) noexcept nogil:
    """Whether a is symmetric up to rounding of a product."""
    cdef double bound = 4.0 * n * EPS * _norm(n, a)
    cdef ptrdiff_t i, j
    for i in range(n):
        for j in range(i):
            if not fabs(a[i * n + j] - a[j * n + i]) <= bound:
                return False
    return True


# ------------------------------------------------------------------------------------- symmetric matrices

cdef void _rotate(ptrdiff_t n, double *a, double *v, ptrdiff_t p, ptrdiff_t q) noexcept nogil:
    """Annihilate a[p, q] by a rotation of rows and columns p, q; v collects the rotations, by rows."""
    cdef double theta = 0.5 * (a[q * n + q] - a[p * n + p]) / a[p * n + q]
    cdef double t = 1.0 / (fabs(theta) + sqrt(1.0 + theta * theta))
    cdef double c, s, x, y
    cdef ptrdiff_t i
    if theta < 0.0:
        t = -t
    c = 1.0 / sqrt(1.0 + t * t)
    s = c * t
    for i in range(n):
        x, y = a[p * n + i], a[q * n + i]
        a[p * n + i] = c * x - s * y
        a[q * n + i] = s * x + c * y
        x, y = v[p * n + i], v[q * n + i]
        v[p * n + i] = c * x - s * y
        v[q * n + i] = s * x + c * y
    for i in range(n):
        x, y = a[i * n + p], a[i * n + q]
        a[i * n + p] = c * x - s * y
        a[i * n + q] = s * x + c * y
    a[p * n + q] = 0.0
    a[q * n + p] = 0.0


cdef int _diagonalise(ptrdiff_t n, double *a, double *v) noexcept nogil:
    """Rotate the symmetric a to a diagonal matrix; the rows of v are its eigenvectors."""
    cdef ptrdiff_t _sweep, p, q
    cdef bint rotated
    for p in range(n):
        for q in range(n):
            v[p * n + q] = 1.0 if p == q else 0.0
    for _sweep in range(SWEEPS):
        rotated = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                if fabs(a[p * n + q]) > EPS * sqrt(fabs(a[p * n + p])) * sqrt(fabs(a[q * n + q])):
                    _rotate(n, a, v, p, q)
                    rotated = True
        if not rotated:
            return SYMFLOW_OK
    return SYMFLOW_SINGULAR


cdef int _symmetric_root(const symflow_linalg *la, ptrdiff_t n, double *a, double *work) noexcept nogil:
    """Overwrite a by V' sqrt(D) V; a negative eigenvalue that is not rounding has no root."""
    cdef double *v = work
    cdef double *scaled = work + n * n
    cdef double root, floor = 4.0 * n * EPS * _norm(n, a)
    cdef ptrdiff_t i, j
    for i in range(n):
        for j in range(i):
            a[i * n + j] = 0.5 * (a[i * n + j] + a[j * n + i])
            a[j * n + i] = a[i * n + j]
    if _diagonalise(n, a, v) != SYMFLOW_OK:
        return SYMFLOW_SINGULAR
    for i in range(n):
        root = a[i * n + i]
        if root < -floor:
            return SYMFLOW_SINGULAR
        root = sqrt(root) if root > 0.0 else 0.0
        for j in range(n):
            scaled[i * n + j] = root * v[i * n + j]
    la.gemm(1, 0, n, n, n, 1.0, v, scaled, 0.0, a)
    return SYMFLOW_OK


# ---------------------------------------------------------------------------------------- general matrices

cdef int _invert(const symflow_linalg *la, ptrdiff_t n, const double *a, double *lu, double *inverse,
                 ptrdiff_t *pivots, double *log_det) noexcept nogil:
    """Write the inverse of a, and log |det a|."""
    cdef ptrdiff_t i, j
    memcpy(lu, a, n * n * sizeof(double))
    if la.lu(n, lu, pivots) != SYMFLOW_OK:
        return SYMFLOW_SINGULAR
    log_det[0] = 0.0
    for i in range(n):
        log_det[0] += log(fabs(lu[i * n + i]))
        for j in range(n):
            inverse[i * n + j] = 1.0 if i == j else 0.0
    la.lu_solve(0, n, n, lu, pivots, inverse)
    return SYMFLOW_OK


cdef bint _settled(double distance, double before, ptrdiff_t n) noexcept nogil:
    """Whether an iteration is at its limit: as near as rounding allows, or near and no nearer than before."""
    return distance <= n * EPS or (distance <= 1e-6 and distance >= 0.5 * before)


cdef int _iterate(const symflow_linalg *la, ptrdiff_t n, double *a, double *work) noexcept nogil:
    """Overwrite a by its root, as far as Newton's iteration reaches."""
    cdef double *m = work
    cdef double *lu = work + n * n
    cdef double *inverse = work + 2 * n * n
    cdef double *product = work + 3 * n * n
    cdef ptrdiff_t *pivots = <ptrdiff_t *>(work + 4 * n * n)
    cdef double log_det = 0.0, scale = 1.0, distance = 2.0 * NEAR, before
    cdef ptrdiff_t _step, i, j
    memcpy(m, a, n * n * sizeof(double))
    for _step in range(ITERATIONS):
        if _invert(la, n, m, lu, inverse, pivots, &log_det) != SYMFLOW_OK:
            return SYMFLOW_SINGULAR
        scale = exp(-0.5 * log_det / n) if distance > NEAR else 1.0
        memcpy(product, a, n * n * sizeof(double))
        la.gemm(0, 0, n, n, n, 0.5 / scale, product, inverse, 0.5 * scale, a)
        for i in range(n):
            for j in range(n):
                m[i * n + j] = 0.25 * (scale * scale * m[i * n + j] + inverse[i * n + j] / (scale * scale))
            m[i * n + i] += 0.5
        before, distance = distance, _distance_from_identity(n, m)
        if _settled(distance, before, n):
            return SYMFLOW_OK
        if distance != distance:
            return SYMFLOW_SINGULAR
    return SYMFLOW_SINGULAR


cdef int _overflown(ptrdiff_t n, double *a) noexcept nogil:
    """Leave no number: an infinite root is not singular, but its inverse would pass for zero."""
    cdef ptrdiff_t i
    for i in range(n * n):
        a[i] = NAN
    return SYMFLOW_OK


cdef int square_root(const symflow_linalg *la, ptrdiff_t n, double *a, double *work) noexcept nogil:
    """Overwrite a by its root; the largest entry is first brought near 1 by a power of four."""
    cdef double largest = 0.0
    cdef ptrdiff_t i
    cdef int exponent = 0, status
    for i in range(n * n):
        if not fabs(a[i]) < HUGE_VAL:
            return _overflown(n, a)
        largest = max(largest, fabs(a[i]))
    if largest == 0.0:
        return SYMFLOW_OK
    frexp(largest, &exponent)
    exponent -= exponent % 2
    for i in range(n * n):
        a[i] = ldexp(a[i], -exponent)
    if n <= JACOBI and _is_symmetric(n, a):
        status = _symmetric_root(la, n, a, work)
    else:
        status = _general_root(la, n, a, work)
    for i in range(n * n):
        a[i] = ldexp(a[i], exponent // 2)
    return status


cdef int _general_root(const symflow_linalg *la, ptrdiff_t n, double *a, double *work) noexcept nogil:
    cdef double *given = work + 4 * n * n + n
    cdef double *left = given + n * n
    cdef double size, before = HUGE_VAL, error
    cdef ptrdiff_t _step, i
    cdef int status
    memcpy(given, a, n * n * sizeof(double))
    status = _iterate(la, n, a, work)
    for _step in range(CORRECTIONS):
        if status != SYMFLOW_OK:
            return status
        memcpy(left, given, n * n * sizeof(double))
        la.gemm(0, 0, n, n, n, -1.0, a, a, 1.0, left)
        size, error = _norm(n, a), _norm(n, left)
        if not n * EPS * size * size < error < 0.5 * before:
            return SYMFLOW_OK
        before = error
        status = sylvester_root(la, n, a, left, work)
        for i in range(n * n):
            a[i] += left[i]
    return status


cdef int sylvester_root(const symflow_linalg *la, ptrdiff_t n, const double *r, double *e,
                        double *work) noexcept nogil:
    cdef double *a = work
    cdef double *lu = work + n * n
    cdef double *inverse = work + 2 * n * n
    cdef double *product = work + 3 * n * n
    cdef ptrdiff_t *pivots = <ptrdiff_t *>(work + 4 * n * n)
    cdef double log_det = 0.0, scale = 1.0, distance = 2.0 * NEAR, before
    cdef ptrdiff_t _step, i
    memcpy(a, r, n * n * sizeof(double))
    for _step in range(ITERATIONS):
        if not _norm(n, a) < HUGE_VAL:
            for i in range(n * n):
                e[i] = NAN  # R has overflowed, and so has X
            return SYMFLOW_OK
        if _invert(la, n, a, lu, inverse, pivots, &log_det) != SYMFLOW_OK:
            return SYMFLOW_SINGULAR
        scale = exp(-log_det / n) if distance > NEAR else 1.0
        la.gemm(0, 0, n, n, n, 1.0, e, inverse, 0.0, product)
        la.gemm(0, 0, n, n, n, 0.5 / scale, inverse, product, 0.5 * scale, e)
        for i in range(n * n):
            a[i] = 0.5 * (scale * a[i] + inverse[i] / scale)
        before, distance = distance, _distance_from_identity(n, a)
        if _settled(distance, before, n):
            break
    else:
        return SYMFLOW_SINGULAR
    for i in range(n * n):
        e[i] *= 0.5
    return SYMFLOW_OK
