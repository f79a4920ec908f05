"""Taylor steps without Python: the order is fixed, the step follows from the last two coefficients.

References
----------
Jorba, Zou, *A software package for the numerical integration of ODEs by means of high-order Taylor methods*
(2005), section 3.
"""

from libc.math cimport HUGE_VAL, exp, fabs, fmax, fmin, log, nextafter
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from symflow_ext.abi cimport SYMFLOW_OK, SYMFLOW_RAISED, symflow_call
from symflow_ext.buffers cimport Reader
from symflow_ext.call cimport Bound
from symflow_ext.stepper cimport (
    NON_FINITE, RAISED, REASON_ACCURACY, REASON_NON_FINITE, RUNNING, STEP_TOO_SMALL, Stepper,
)
from symflow_ext.tables cimport LANES


cdef class TaylorStepper(Stepper):
    """One run of an autonomous ``y' = f(y)`` by its Taylor series.

    The step h is the largest for which neither of the last two terms exceeds the tolerance,

        h = min over k in (p - 1, p) of (1 / |y_[k]|)^(1/k),

    with the largest entry of the coefficient in units of ``atol + rtol |y|``: near a singularity the square
    of an entry would overflow.  Where the last two terms are small by chance this says nothing (two of three
    coefficients of x' = 1 - x^3, x(0) = 0, are zero), and so a step is accepted by the defect P' - f(P) of
    the polynomial P at its end: there the first term that is left out has the size

        h |P'(h) - f(P(h))| / (p + 1),

    and f(P(h)) is the slope with which the next step begins.  The dense output is the Taylor polynomial:
    its coefficients are h^k y_[k], k = 1, ..., p.

    Parameters
    ----------
    call : Bound
        Writes coefficients; the last of its ``dims`` is the order.
    t0, y0, t1, rtol, atol, max_step, first_step, watch
        As for ``Stepper``.
    row : int
        From ``watch`` on the components come in rows of this length, and a row has one tolerance: ``atol`` of
        its first component, |y| its largest one.
    """

    cdef symflow_call _slope_call   # the same function at order one
    cdef ptrdiff_t *_slope_dims
    cdef ptrdiff_t _order, _row
    cdef double *_next
    cdef double *_end

    def __init__(self, Bound call, double t0, y0, double t1, *, double rtol, atol, max_step=None,
                 first_step=None, watch=0, ptrdiff_t row=1):
        self._prepare(call, t0, t1, rtol, max_step, first_step, watch)
        self._order, self._row = call.dims[len(call.dims) - 1], row
        if self._order < 2:
            raise ValueError(f"the order is {self._order}; steps need at least two coefficients")
        if row < 1 or (self._n - self._watched) % row:
            raise ValueError(f"row = {row} does not divide {self._n - self._watched} components")
        self.dense_rows = self._order
        self._slope(call)
        cdef ptrdiff_t block = (self._order + 1) * self._n + LANES
        self._reserve(2 * block + 2 * (self._n + LANES))
        self._y, self._next = self._memory, self._memory + block
        self._atol = self._next + block
        self._end = self._atol + self._n + LANES
        self._k = self._y + self._n
        cdef Reader start = Reader(y0, self._n, "y0"), floor = Reader(atol, self._n, "atol")
        memcpy(self._y, start.data, self._n * 8)
        memcpy(self._atol, floor.data, self._n * 8)

    cdef int _slope(self, Bound call) except -1:
        """Bind the function at order one, too: at the last time nothing else is needed."""
        cdef ptrdiff_t i, count = len(call.dims)
        free(self._slope_dims)
        self._slope_dims = <ptrdiff_t *>calloc(count, sizeof(ptrdiff_t))
        if self._slope_dims == NULL:
            raise MemoryError()
        for i in range(count - 1):
            self._slope_dims[i] = self._call.dims[i]
        self._slope_dims[count - 1] = 1
        self._slope_call = self._call[0]
        self._slope_call.dims = self._slope_dims
        return 0

    def __dealloc__(self):
        free(self._slope_dims)

    cdef int _expand(self, double t, double *rows, bint slope_only) noexcept nogil:
        """Write the coefficients behind the state in row 0."""
        cdef int code
        self.nfev += 1
        code = self._rhs(t, rows, rows, &self._slope_call if slope_only else self._call)
        if code == SYMFLOW_OK and not self._is_finite(rows, rows + self._n):
            return REASON_NON_FINITE
        return code

    cdef int _start(self) noexcept nogil:
        cdef int code = self._expand(self.t, self._y, self.t == self.t1)
        if code == SYMFLOW_RAISED:
            return RAISED
        self._reason = code
        if code != SYMFLOW_OK:
            return NON_FINITE if code == REASON_NON_FINITE else STEP_TOO_SMALL
        self._started = True
        self._reason = REASON_ACCURACY
        self.h = self._horizon()
        if self._first > 0.0:
            self.h = fmin(self.h, self._first)
        self._watch_growth()
        return RUNNING

    cdef int _step(self, double *dense) noexcept nogil:
        """Take one step, halved until the series at its end exists and the defect is within the tolerance."""
        cdef double least, t_new, h, defect, before = HUGE_VAL
        cdef double *swap
        cdef int code
        while True:
            least = 10.0 * fabs(nextafter(self.t, self._direction * HUGE_VAL) - self.t)
            if self.h < least and fabs(self.t1 - self.t) > least:  # beyond its radius a series says nothing
                return STEP_TOO_SMALL
            t_new = self._target(least)
            h = t_new - self.t
            self._sum(h, self._next, self._end)
            code = self._expand(t_new, self._next, t_new == self.t1)
            if code == SYMFLOW_RAISED:
                return RAISED
            if code == SYMFLOW_OK:
                defect = self._defect(h)
                if defect <= 1.0 or defect > 0.5 * before:  # what halving leaves as it was is rounding
                    break
                before, code = defect, REASON_ACCURACY
            self.rejected += 1
            self._reason = code
            if fabs(h) <= least:
                return NON_FINITE if code == REASON_NON_FINITE else STEP_TOO_SMALL
            self.h = fmax(least, 0.5 * fabs(h))
        if dense != NULL:
            self._dense(h, dense)
        swap = self._y
        self._y, self._next = self._next, swap
        self._k = self._y + self._n
        self.t = t_new
        self.accepted += 1
        self._reason = REASON_ACCURACY
        if self.t != self.t1:
            self.h = self._horizon()
        return self._conclude()

    cdef void _sum(self, double h, double *out, double *slope) noexcept nogil:
        """Evaluate the polynomial and its derivative by Horner's rule, one block of lanes at a time.

        The last block of a row reaches into the next one, where nothing is lost: it is not yet written.
        """
        cdef ptrdiff_t i = 0
        while i < self._n:
            _horner(self._order, self._n, h, self._y + i, out + i, slope + i)
            i += LANES

    cdef double _defect(self, double h) noexcept nogil:
        """Return the first term that a step leaves out, in units of the tolerance; see ``_sum``."""
        cdef ptrdiff_t n = self._n, i, row, start = 0
        cdef double size, high, worst = 0.0
        while start < n:
            row = self._row if start >= self._watched else 1
            size = high = 0.0
            for i in range(start, start + row):
                size = fmax(size, fmax(fabs(self._y[i]), fabs(self._next[i])))
                high = fmax(high, fabs(self._end[i] - self._next[n + i]))
            worst = fmax(worst, high / (self._atol[start] + self._rtol * size + 1e-300))
            start += row
        return worst * fabs(h) / (self._order + 1)

    cdef int _dense(self, double h, double *out) noexcept nogil:
        """Write the coefficients in powers of the fraction of the step."""
        cdef ptrdiff_t i, k, n = self._n
        cdef double power = 1.0
        for k in range(1, self._order + 1):
            power *= h
            for i in range(n):
                out[(k - 1) * n + i] = power * self._y[k * n + i]
        return SYMFLOW_OK

    cdef double _horizon(self) noexcept nogil:
        """Return the step for which the last two terms are within the tolerance."""
        cdef ptrdiff_t p = self._order, n = self._n, i, row, start = 0
        cdef double last = 0.0, before = 0.0, size, high, low
        cdef const double *end = self._y + p * n
        while start < n:
            row = self._row if start >= self._watched else 1
            size = high = low = 0.0
            for i in range(start, start + row):
                size = fmax(size, fabs(self._y[i]))
                high = fmax(high, fabs(end[i]))
                low = fmax(low, fabs(end[i - n]))
            size = self._atol[start] + self._rtol * size + 1e-300
            last = fmax(last, high / size)
            before = fmax(before, low / size)
            start += row
        return exp(fmin(_log_radius(last, p), _log_radius(before, p - 1)))


cdef inline void _horner(ptrdiff_t order, ptrdiff_t stride, double h, const double *c, double *out,
                         double *slope) noexcept nogil:
    """Evaluate a polynomial and its derivative side by side: neither waits for the other."""
    cdef ptrdiff_t _term
    cdef double s0, s1, s2, s3, s4, s5, s6, s7
    cdef double p0 = 0.0, p1 = 0.0, p2 = 0.0, p3 = 0.0, p4 = 0.0, p5 = 0.0, p6 = 0.0, p7 = 0.0
    c += order * stride
    s0, s1, s2, s3, s4, s5, s6, s7 = c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
    for _term in range(order):
        c -= stride
        p0 = p0 * h + s0
        p1 = p1 * h + s1
        p2 = p2 * h + s2
        p3 = p3 * h + s3
        p4 = p4 * h + s4
        p5 = p5 * h + s5
        p6 = p6 * h + s6
        p7 = p7 * h + s7
        s0 = s0 * h + c[0]
        s1 = s1 * h + c[1]
        s2 = s2 * h + c[2]
        s3 = s3 * h + c[3]
        s4 = s4 * h + c[4]
        s5 = s5 * h + c[5]
        s6 = s6 * h + c[6]
        s7 = s7 * h + c[7]
    out[0], out[1], out[2], out[3] = s0, s1, s2, s3
    out[4], out[5], out[6], out[7] = s4, s5, s6, s7
    slope[0], slope[1], slope[2], slope[3] = p0, p1, p2, p3
    slope[4], slope[5], slope[6], slope[7] = p4, p5, p6, p7


cdef double _log_radius(double size, ptrdiff_t k) noexcept nogil:
    """Return log h for the h with ``h^k size = 1``: a term that has overflowed allows no step."""
    if size == 0.0:
        return HUGE_VAL
    return -log(size) / k if size < HUGE_VAL else -HUGE_VAL
