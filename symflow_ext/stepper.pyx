"""Explicit Runge-Kutta steps without Python: adaptive or fixed, dense output, finite-time blow-up.

``Stepper.advance`` takes steps until the end, a full buffer, a failure or a deadline, and never enters the
interpreter in between; the caller looks after signals, events and callbacks between two such chunks.

References
----------
Hairer, Norsett, Wanner, *Solving Ordinary Differential Equations I* (1993), II.4 (step size, first step),
II.5 (the error estimate of DOP853), II.6 (dense output).
"""

from libc.math cimport HUGE_VAL, fabs, fmax, fmin, isfinite, nextafter, pow, sqrt
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from symflow_ext.abi cimport SYMFLOW_OK, SYMFLOW_RAISED
from symflow_ext.buffers cimport Reader, Writer
from symflow_ext.call cimport Bound
from symflow_ext.linalg cimport linalg_table, vectors
from symflow_ext.tables cimport LANES, combine, table_of

cdef extern from "<time.h>" nogil:
    cdef struct timespec:
        long tv_sec
        long tv_nsec
    enum:
        TIME_UTC
    int timespec_get(timespec *, int)

#: Why the last step was refused, by number.
REASONS = ("accuracy", "singular", "outside-domain", "raised", "not-converged", "non-finite")
_STATUSES = ("running", "finished", "blow-up", "step-too-small", "non-finite", "raised")

# A step grows at most sixfold and shrinks at most fivefold, and aims at 90 % of what the estimate allows.
cdef double SAFETY = 0.9, SHRINK = 0.2, GROW = 6.0
# Blow-up: what is left until the extrapolated singularity, relative to the time gone by; how well two
# successive extrapolations must agree, relative to what is left; the laws (t* - t)^(-1/slope) that are
# believed: a slope without bound belongs to a drift that becomes infinite at a finite state.
cdef double BLOW_UP_LEFT = 1e-9, BLOW_UP_AGREEMENT = 0.05, BLOW_UP_SLOPE = 1e-3, BLOW_UP_STEEPEST = 20.0
cdef int BLOW_UP_STREAK = 2
# Steps of fixed size cannot approach a singularity; this many before they would jump over it they stop.
cdef double BLOW_UP_STEPS = 4.0
# Looking at the clock takes as long as a tenth of a small step.
cdef ptrdiff_t CLOCK_SIZE = 256, CLOCK_STEPS = 8


# One evaluation of so many numbers may take seconds: Ctrl-C does not wait for the end of a step.
cdef ptrdiff_t SIGNAL_SIZE = 4096


cdef double _now() noexcept nogil:
    cdef timespec clock
    timespec_get(&clock, TIME_UTC)
    return clock.tv_sec + 1e-9 * clock.tv_nsec


# ------------------------------------------------------------------------------------------------ stepper

cdef class Stepper:
    """One run of ``y' = f(t, y)``.

    Parameters
    ----------
    call : Bound
        The right-hand side.
    method : str or Tableau
        ``"dop853"``, ``"dp5"``, ``"rk4"`` or a table.
    t0, y0, t1
        Initial time, contiguous float64 state, final time (earlier than t0 runs backwards).
    rtol : float
        Relative tolerance.
    atol : contiguous float64 array
        Absolute tolerance of each component.
    max_step, first_step : float or None
        Bounds of the step size, positive.
    dt : float or None
        Take steps of exactly this size instead of adapting it.
    watch : int or None
        Look for finite-time blow-up of ``|z|^2``, z the components of y from this one on; None does not look.
    sphere : int
        Length of the rows of y that are retracted onto the unit sphere, x / |x|, after every step; 0: none.
    """

    def __init__(self, Bound call, method, double t0, y0, double t1, *, double rtol, atol, max_step=None,
                 first_step=None, dt=None, watch=0, ptrdiff_t sphere=0):
        self._table = table_of(method)
        self._tab = &self._table.data
        if dt is None and not self._tab.has_error:
            raise ValueError("this method has no error estimate; give dt")
        self._prepare(call, t0, t1, rtol, max_step, first_step, watch)
        if sphere < 0 or (sphere > 0 and call.size % sphere):
            raise ValueError(f"a state of {call.size} numbers has no rows of {sphere}")
        self._dt = 0.0 if dt is None else dt
        self._sphere = sphere
        self.dense_rows = 3 + self._tab.dense
        self._allocate(call.size)
        cdef Reader start = Reader(y0, self._n, "y0"), floor = Reader(atol, self._n, "atol")
        memcpy(self._y, start.data, self._n * 8)
        memcpy(self._atol, floor.data, self._n * 8)

    cdef int _prepare(self, Bound call, double t0, double t1, double rtol, max_step, first_step,
                      watch) except -1:
        """Take in what does not depend on how steps are taken."""
        self._bound = call
        self._rhs, self._call = call.rhs, &call.call
        self.t, self.t0, self.t1 = t0, t0, t1
        self._direction = 1.0 if t1 >= t0 else -1.0
        self._rtol = rtol
        self._watched = call.size if watch is None else watch
        if not 0 <= self._watched <= call.size:
            raise ValueError(f"watch = {watch} is not a component of a state of {call.size} numbers")
        self._max_step = HUGE_VAL if max_step is None else max_step
        self._first = 0.0 if first_step is None else first_step
        self.singularity = HUGE_VAL
        self._n = call.size
        return 0

    cdef int _reserve(self, ptrdiff_t numbers) except -1:
        free(self._memory)
        self._memory = <double *>calloc(numbers, 8)
        if self._memory == NULL:
            raise MemoryError(f"the workspace of a run needs {numbers} numbers")
        return 0

    cdef int _allocate(self, ptrdiff_t n) except -1:
        self._padded = (n + LANES - 1) // LANES * LANES
        self._reserve((6 + self._tab.stages + 1 + self._tab.extra) * self._padded + LANES)
        self._y = self._memory
        self._y_new = self._y + self._padded
        self._stage = self._y_new + self._padded
        self._spare = self._stage + self._padded
        self._atol = self._spare + self._padded
        self._zero = self._atol + self._padded
        self._k = self._zero + self._padded
        return 0

    def __dealloc__(self):
        free(self._memory)

    @property
    def reason(self):
        """Why the last refused step was refused, one of ``REASONS``."""
        return REASONS[self._reason]

    def advance(self, times, states, coefficients, ptrdiff_t capacity, double seconds):
        """Take up to ``capacity`` steps in about ``seconds``; return ``(status, steps taken)``.

        Row 0 of ``times`` and ``states`` (each with ``capacity + 1`` rows) receives the current point, the
        following rows the accepted ones; row i of ``coefficients`` (or None) the dense output from row i to
        row i + 1.
        """
        if capacity < 0:
            raise ValueError(f"capacity = {capacity} must not be negative")
        cdef Writer out_t = Writer(times, capacity + 1, "times")
        cdef Writer out_y = Writer(states, (capacity + 1) * self._n, "states")
        cdef Writer out_c = None
        cdef double *dense = NULL
        if coefficients is not None:
            out_c = Writer(coefficients, capacity * self.dense_rows * self._n, "coefficients")
            dense = out_c.data
        cdef ptrdiff_t taken = 0
        self._bound.acquire()
        try:
            with nogil:
                self._status = self._run(out_t.data, out_y.data, dense, capacity, seconds, &taken)
        finally:
            self._bound.release()
        if self._status == RAISED:
            _propagate()
        return _STATUSES[self._status], taken

    cdef int _run(self, double *times, double *states, double *dense, ptrdiff_t capacity, double seconds,
                  ptrdiff_t *taken) noexcept nogil:
        cdef double deadline = _now() + seconds
        cdef ptrdiff_t stride = self.dense_rows * self._n
        cdef int outcome = RUNNING if self._started else self._start()
        times[0] = self.t
        memcpy(states, self._y, self._n * 8)
        while outcome == RUNNING and taken[0] < capacity:
            if self.t == self.t1:
                return FINISHED
            outcome = self._step(NULL if dense == NULL else dense + taken[0] * stride)
            if outcome == RUNNING or outcome == BLOW_UP or outcome == FINISHED:
                taken[0] += 1
                times[taken[0]] = self.t
                memcpy(states + taken[0] * self._n, self._y, self._n * 8)
            if (self._n >= CLOCK_SIZE or taken[0] % CLOCK_STEPS == 0) and _now() > deadline:
                break
        return outcome

    # ------------------------------------------------------------------------------------------- one step

    cdef int _evaluate(self, double t, const double *y, double *dy) noexcept nogil:
        cdef int code
        self.nfev += 1
        code = self._rhs(t, y, dy, self._call)
        if code == SYMFLOW_OK and self._n >= SIGNAL_SIZE:
            code = linalg_table().interrupted()
        return code

    cdef int _start(self) noexcept nogil:
        """First slope and first step size."""
        cdef int code = self._evaluate(self.t, self._y, self._k)
        if code == SYMFLOW_RAISED:
            return RAISED
        self._reason = code if code != SYMFLOW_OK else REASON_NON_FINITE
        if code != SYMFLOW_OK:
            return STEP_TOO_SMALL
        if not self._is_finite(self._y, self._k):
            return NON_FINITE
        self._started = True
        self._reason = REASON_ACCURACY
        if self._dt > 0.0:
            self.h = self._dt
        elif self._first > 0.0:
            self.h = fmin(self._first, self._max_step)
        elif self._guess() == SYMFLOW_RAISED:
            return RAISED
        self._watch_growth()
        return RUNNING

    cdef int _guess(self) noexcept nogil:
        """Set the first step size; the probe stays within the interval."""
        cdef double span = fabs(self.t1 - self.t)
        cdef double d0 = self._norm(self._y), d1 = self._norm(self._k), d2
        cdef double probe = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        cdef double *slope = self._k + self._padded
        cdef ptrdiff_t i
        cdef int code
        probe = fmin(fmin(probe, 0.5 * span), self._max_step)
        self.h = probe
        if not probe > 0.0:
            return SYMFLOW_OK
        for i in range(self._n):
            self._stage[i] = self._y[i] + self._direction * probe * self._k[i]
        code = self._evaluate(self.t + self._direction * probe, self._stage, slope)
        if code != SYMFLOW_OK or not self._is_finite(self._stage, slope):
            return code
        for i in range(self._n):
            slope[i] -= self._k[i]
        d2 = self._norm(slope) / probe
        if fmax(d1, d2) <= 1e-15:
            self.h = fmax(1e-6, 1e-3 * probe)
        else:
            self.h = pow(0.01 / fmax(d1, d2), self._tab.exponent)
        self.h = fmin(fmin(self.h, 100.0 * probe), self._max_step)
        return SYMFLOW_OK

    cdef int _step(self, double *dense) noexcept nogil:
        """Take one step, however often it has to be halved."""
        cdef double least, h, t_new, error = 0.0
        cdef bint refused = False
        cdef int code
        while True:
            least = 10.0 * fabs(nextafter(self.t, self._direction * HUGE_VAL) - self.t)
            t_new = self._target(least)
            h = t_new - self.t
            code = self._attempt(t_new, h)
            if code == SYMFLOW_OK and self._tab.last_first:
                code = self._last_slope(t_new)
            if code == SYMFLOW_OK:
                error = self._error(h) if self._dt == 0.0 else 0.0
                if error <= 1.0:
                    code = SYMFLOW_OK if self._tab.last_first else self._last_slope(t_new)
                    if code == SYMFLOW_OK:
                        break
            if code == SYMFLOW_RAISED:
                return RAISED
            self.rejected += 1
            self._reason = code
            if self._dt > 0.0 or fabs(h) <= least:
                return NON_FINITE if code == REASON_NON_FINITE else STEP_TOO_SMALL
            self.h = fmax(least, fabs(h) * (
                fmax(SHRINK, SAFETY * pow(error, -self._tab.exponent)) if code == SYMFLOW_OK else 0.5))
            refused = True
        if dense != NULL and self._dense(h, dense) != SYMFLOW_OK:
            return RAISED
        return self._accept(t_new, h, error, refused)

    cdef double _target(self, double least) noexcept nogil:
        """Return the end of the next step; the last two steps share what is left so that none is tiny."""
        cdef double left = fabs(self.t1 - self.t)
        if self._dt > 0.0:
            if left <= self._dt * (1.0 + 1e-9):
                return self.t1
            return self.t0 + self._direction * (self.accepted + 1) * self._dt
        self.h = fmax(fmin(self.h, self._max_step), least)
        if left <= self.h * 1.0000001:
            return self.t1
        if left < 2.0 * self.h:
            return self.t + self._direction * 0.5 * left
        return self.t + self._direction * self.h

    cdef int _attempt(self, double t_new, double h) noexcept nogil:
        """Form the stages and the new state from the slope at hand."""
        cdef int i, code
        for i in range(1, self._tab.stages):
            combine(self._padded, &self._tab.a[i], h, self._k, self._y, self._stage)
            code = self._evaluate(t_new if self._tab.c[i] == 1.0 else self.t + self._tab.c[i] * h,
                                  self._stage, self._k + i * self._padded)
            if code != SYMFLOW_OK:
                return code
        combine(self._padded, &self._tab.b, h, self._k, self._y, self._y_new)
        self._retract(self._y_new)
        return SYMFLOW_OK if self._is_finite(self._y_new, NULL) else REASON_NON_FINITE

    cdef void _retract(self, double *y) noexcept nogil:
        """Move the rows of y onto the sphere; the order of a step stays what it is."""
        cdef ptrdiff_t j, width = self._sphere
        cdef const double *end = y + self._n
        cdef double norm
        while width > 0 and y < end:
            norm = 0.0
            for j in range(width):
                norm += y[j] * y[j]
            norm = sqrt(norm)
            for j in range(width):
                y[j] /= norm
            y += width

    cdef int _last_slope(self, double t_new) noexcept nogil:
        """Evaluate the slope at the new point, which also opens the next step."""
        cdef double *slope = self._k + self._tab.stages * self._padded
        cdef int code = self._evaluate(t_new, self._y_new, slope)
        if code == SYMFLOW_OK and not self._is_finite(self._y_new, slope):
            return REASON_NON_FINITE
        return code

    cdef double _error(self, double h) noexcept nogil:
        """Return the weighted error estimate; a step with more than 1 is refused."""
        cdef double high, low
        cdef double[2] sums
        cdef double *second = self._zero
        combine(self._padded, &self._tab.error, 1.0, self._k, self._zero, self._stage)
        if self._tab.has_low:
            second = self._spare
            combine(self._padded, &self._tab.error_low, 1.0, self._k, self._zero, second)
        vectors().norms(self._padded, self._atol, self._rtol, self._y, self._y_new, self._stage, second, sums)
        high, low = sums[0], sums[1]
        if high == 0.0:
            return 0.0
        if not self._tab.has_low:
            return fabs(h) * sqrt(high / self._n)
        return fabs(h) * high / sqrt((high + 0.01 * low) * self._n)

    cdef int _dense(self, double h, double *out) noexcept nogil:
        """Write the coefficients of the dense output from ``t`` to ``t + h``."""
        cdef int i, first = self._tab.stages + 1, code
        cdef ptrdiff_t n = self._n
        self._hermite(h, out)
        for i in range(first, first + self._tab.extra):
            combine(self._padded, &self._tab.a[i], h, self._k, self._y, self._stage)
            code = self._evaluate(self.t + self._tab.c[i] * h, self._stage, self._k + i * self._padded)
            if code == SYMFLOW_RAISED:
                return code
            if code != SYMFLOW_OK or not self._is_finite(self._stage, self._k + i * self._padded):
                return SYMFLOW_OK  # the cubic part alone: the step itself did not leave the domain
        for i in range(self._tab.dense):
            combine(self._padded, &self._tab.weights[i], h, self._k, self._zero, self._stage)
            memcpy(out + (3 + i) * n, self._stage, n * 8)
        return SYMFLOW_OK

    cdef void _hermite(self, double h, double *out) noexcept nogil:
        """Write the cubic part and clear the rest."""
        cdef ptrdiff_t j, n = self._n
        cdef double *slope = self._k + self._tab.stages * self._padded
        for j in range(n):
            out[j] = self._y_new[j] - self._y[j]
            out[n + j] = h * self._k[j] - out[j]
            out[2 * n + j] = out[j] - h * slope[j] - out[n + j]
        for j in range(3 * n, (3 + self._tab.dense) * n):
            out[j] = 0.0

    cdef int _accept(self, double t_new, double h, double error, bint refused) noexcept nogil:
        cdef double *swap = self._y
        cdef double growth = GROW
        self._y, self._y_new = self._y_new, swap
        memcpy(self._k, self._k + self._tab.stages * self._padded, self._padded * 8)
        self.t = t_new
        self.accepted += 1
        self._reason = REASON_ACCURACY
        if self._dt == 0.0:
            if error > 0.0:
                growth = fmin(GROW, fmax(SHRINK, SAFETY * pow(error, -self._tab.exponent)))
            self.h = fabs(h) * (fmin(1.0, growth) if refused else growth)
        return self._conclude()

    cdef int _conclude(self) noexcept nogil:
        """Return the status at an accepted point."""
        if self._watch_growth():
            return BLOW_UP
        return FINISHED if self.t == self.t1 else RUNNING

    # -------------------------------------------------------------------------------------------- monitor

    cdef bint _watch_growth(self) noexcept nogil:
        """Extrapolate the zero of q = rho / rho' (rho = |z|^2); True when it has converged onto the present.

        For rho ~ C (t* - t)^(-p) q is linear, so two values give t* whatever p is; for exponential growth q
        is constant and for double exponential growth its zero keeps its distance.
        """
        cdef double rho, rate, q, slope, left, guess, before, elapsed, tolerance
        cdef ptrdiff_t first = self._watched, count = self._n - self._watched
        rho = vectors().dot(count, self._y + first, self._y + first)
        rate = 2.0 * self._direction * vectors().dot(count, self._y + first, self._k + first)
        if not (rho > 0.0 and rate > 0.0 and isfinite(rate)):
            self._q = 0.0
            self._streak = 0
            return False
        q = rho / rate
        before = self._q
        elapsed = fabs(self.t - self._q_time)
        self._q = q
        self._q_time = self.t
        slope = (q - before) / elapsed if elapsed > 0.0 and before > 0.0 else 0.0
        if not -BLOW_UP_STEEPEST < slope < -BLOW_UP_SLOPE:
            self._streak = 0
            self.singularity = HUGE_VAL
            return False
        left = q / -slope
        guess = self.t + self._direction * left
        self._streak = self._streak + 1 if fabs(guess - self.singularity) <= BLOW_UP_AGREEMENT * left else 0
        self.singularity = guess
        tolerance = 100.0 * fabs(nextafter(guess, HUGE_VAL) - guess)
        tolerance = fmax(tolerance, BLOW_UP_LEFT * fabs(guess - self.t0))
        if self._direction * (self.t1 - guess) > 0.0:
            tolerance = fmax(tolerance, BLOW_UP_STEPS * self._dt)
        return self._streak >= BLOW_UP_STREAK and left <= tolerance

    # ---------------------------------------------------------------------------------------------- sizes

    cdef bint _is_finite(self, const double *y, const double *slope) noexcept nogil:
        """Tell whether y, |y|^2 and the slope are finite: the covariance of a factor is its square."""
        if not isfinite(vectors().dot(self._n, y, y)):
            return False
        return slope == NULL or vectors().flaws(self._n, slope) == 0.0

    cdef double _norm(self, const double *x) noexcept nogil:
        """Root mean square of x in units of the tolerance at the present state."""
        cdef double sum = 0.0, scaled
        cdef ptrdiff_t i
        for i in range(self._n):
            scaled = x[i] / (self._atol[i] + self._rtol * fabs(self._y[i]) + 1e-300)
            sum += scaled * scaled
        return sqrt(sum / self._n) if self._n > 0 else 0.0


cdef int _propagate() except 3:
    """Return as a function that raised returns: the exception has been pending since the callback."""
    return SYMFLOW_RAISED
