# The loop over steps as its methods share it: a stepper says how it starts and takes one step.

from symflow_ext.abi cimport symflow_call, symflow_rhs
from symflow_ext.call cimport Bound
from symflow_ext.tables cimport Table, tableau

cdef enum status:
    RUNNING = 0
    FINISHED = 1
    BLOW_UP = 2
    STEP_TOO_SMALL = 3
    NON_FINITE = 4
    RAISED = 5

cdef enum reason:    # continues the numbers that a right-hand side returns
    REASON_ACCURACY = 0
    REASON_SINGULAR = 1
    REASON_OUTSIDE_DOMAIN = 2
    REASON_NOT_CONVERGED = 4
    REASON_NON_FINITE = 5


cdef class Stepper:
    cdef Bound _bound
    cdef Table _table
    cdef const tableau *_tab
    cdef symflow_rhs _rhs
    cdef const symflow_call *_call
    cdef readonly double t, t0, t1, h, singularity
    cdef readonly ptrdiff_t dense_rows
    cdef double _direction, _rtol, _max_step, _dt, _first
    cdef ptrdiff_t _n, _padded, _watched, _sphere
    cdef double *_memory
    cdef double *_y
    cdef double *_y_new
    cdef double *_stage
    cdef double *_atol
    cdef double *_spare
    cdef double *_zero
    cdef double *_k
    cdef readonly long nfev, accepted, rejected
    cdef int _reason, _status, _streak
    cdef bint _started
    cdef double _q, _q_time

    cdef int _prepare(self, Bound call, double t0, double t1, double rtol, max_step, first_step,
                      watch) except -1
    cdef int _reserve(self, ptrdiff_t numbers) except -1
    cdef int _allocate(self, ptrdiff_t n) except -1
    cdef int _run(self, double *times, double *states, double *dense, ptrdiff_t capacity, double seconds,
                  ptrdiff_t *taken) noexcept nogil
    cdef int _evaluate(self, double t, const double *y, double *dy) noexcept nogil
    cdef int _start(self) noexcept nogil
    cdef int _guess(self) noexcept nogil
    cdef int _step(self, double *dense) noexcept nogil
    cdef double _target(self, double least) noexcept nogil
    cdef int _attempt(self, double t_new, double h) noexcept nogil
    cdef void _retract(self, double *y) noexcept nogil
    cdef int _last_slope(self, double t_new) noexcept nogil
    cdef double _error(self, double h) noexcept nogil
    cdef int _dense(self, double h, double *out) noexcept nogil
    cdef void _hermite(self, double h, double *out) noexcept nogil
    cdef int _accept(self, double t_new, double h, double error, bint refused) noexcept nogil
    cdef int _conclude(self) noexcept nogil
    cdef bint _watch_growth(self) noexcept nogil
    cdef bint _is_finite(self, const double *y, const double *slope) noexcept nogil
    cdef double _norm(self, const double *x) noexcept nogil
