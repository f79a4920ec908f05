"""Ensembles of one fixed size: members in the lanes of vector registers, threads that share one queue.

A kernel from :mod:`symflow.codegen.fixed` brings the steps; here are the arrays that it reads and writes.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.math cimport HUGE_VAL
from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free
from symflow_ext.buffers cimport Reader, Writer

from symflow_ext.lanes_contract import lanes_capsule_name

cdef extern from "symflow_lanes.h" nogil:
    ctypedef struct symflow_batch:
        ptrdiff_t members, times, claim
        ptrdiff_t *next
        const double *y0
        const double *const *sources
        const ptrdiff_t *strides
        double t0, t1, rtol, max_step, first_step
        const double *atol
        const double *t_eval
        double *out
        double *last_t
        double *last_y
        double *t_star
        ptrdiff_t *status
        ptrdiff_t *reason
        ptrdiff_t *nfev
        ptrdiff_t *reached

    ctypedef struct symflow_lanes_kernel:
        const char *key
        ptrdiff_t lanes, states, parameters
        size_t worker
        int (*advance)(symflow_batch *, void *, double) noexcept nogil

#: How a member ended, by number; 0 means that it has not.
STATUSES = ("stopped", "finished", "blow-up", "step-too-small", "non-finite")


cdef const symflow_lanes_kernel *_kernel(capsule) except NULL:
    cdef bytes name = lanes_capsule_name()
    if not PyCapsule_IsValid(capsule, name):
        raise ValueError("this kernel was built for another version of the runtime; build it again")
    return <const symflow_lanes_kernel *>PyCapsule_GetPointer(capsule, name)


def shape_of(capsule):
    """Return how many lanes, states and parameters a kernel has."""
    cdef const symflow_lanes_kernel *kernel = _kernel(capsule)
    return kernel.lanes, kernel.states, kernel.parameters


cdef class Batch:
    """The members of an ensemble: what goes in, and the arrays that the threads fill.

    Parameters
    ----------
    capsule : capsule
        Holds a ``symflow_lanes_kernel``.
    y0 : contiguous float64 array, (members, states)
    parameters : sequence of (array, offset, stride)
        One for each number of the parameters: member m reads ``array.flat[offset + m * stride]``.
    t0, t1 : float
    t_eval : contiguous float64 array, (times,)
        Strictly monotone from t0 to t1.
    rtol : float
    atol : contiguous float64 array, (states,)
    out : contiguous float64 array, (members, times, states)
        Receives the states at ``t_eval``.
    last_t, last_y, t_star : contiguous float64 arrays, (members,), (members, states), (members,)
        Where each member ended, with what, and the time of its singularity.
    status, reason, nfev, reached : contiguous integer arrays, (members,)
        ``status`` is an index into ``STATUSES``; ``reached`` counts the rows of ``out`` that were written.
    claim : int
        How many members a thread takes at a time.
    """

    cdef object _capsule
    cdef const symflow_lanes_kernel *_kernel
    cdef symflow_batch _batch
    cdef ptrdiff_t *_next  # in a cache line of its own: every thread writes it, and reads what else is here
    cdef void *_memory
    cdef void *_line
    cdef list _keep

    def __cinit__(self):
        self._line = calloc(192, 1)
        if self._line == NULL:
            raise MemoryError()
        self._next = <ptrdiff_t *>((<uintptr_t>self._line + 127) & ~<uintptr_t>63)

    def __init__(self, capsule, y0, parameters, double t0, double t1, t_eval, *, double rtol, atol, out,
                 last_t, last_y, t_star, status, reason, nfev, reached, max_step=None, first_step=None,
                 ptrdiff_t claim=1):
        self._capsule, self._kernel, self._keep = capsule, _kernel(capsule), []
        cdef ptrdiff_t members = len(y0), times = len(t_eval), n = self._kernel.states
        if claim < 1:
            raise ValueError(f"claim = {claim} must be at least 1")
        b = &self._batch
        b.members, b.times, b.claim, b.next = members, times, claim, self._next
        b.t0, b.t1, b.rtol = t0, t1, rtol
        b.max_step = HUGE_VAL if max_step is None else max_step
        b.first_step = 0.0 if first_step is None else first_step
        b.y0, b.atol, b.t_eval = self._read(y0, members * n, "y0"), self._read(atol, n, "atol"), NULL
        b.t_eval = self._read(t_eval, times, "t_eval")
        b.out = self._write(out, members * times * n, "out")
        b.last_t, b.t_star = self._write(last_t, members, "last_t"), self._write(t_star, members, "t_star")
        b.last_y = self._write(last_y, members * n, "last_y")
        b.status, b.reason = self._count(status, members, "status"), self._count(reason, members, "reason")
        b.nfev, b.reached = self._count(nfev, members, "nfev"), self._count(reached, members, "reached")
        self._bind(parameters, members)

    cdef const double *_read(self, array, ptrdiff_t size, str name) except? NULL:
        cdef Reader view = Reader(array, size, name)
        self._keep.append(view)
        return view.data

    cdef double *_write(self, array, ptrdiff_t size, str name) except? NULL:
        cdef Writer view = Writer(array, size, name)
        self._keep.append(view)
        return view.data

    cdef ptrdiff_t *_count(self, array, ptrdiff_t size, str name) except? NULL:
        cdef Writer view = Writer(array, size, name, "integer")
        self._keep.append(view)
        return <ptrdiff_t *>view.data

    cdef int _bind(self, parameters, ptrdiff_t members) except -1:
        """Point every number of the parameters at its array, after checking that it stays inside."""
        cdef ptrdiff_t count = self._kernel.parameters, i, offset, stride, size
        if len(parameters) != count:
            raise ValueError(f"{len(parameters)} numbers are bound; this kernel has {count} parameters")
        free(self._memory)
        self._memory = calloc(2 * count + 1, 8)
        if self._memory == NULL:
            raise MemoryError()
        cdef const double **sources = <const double **>self._memory
        cdef ptrdiff_t *strides = <ptrdiff_t *>self._memory + count
        for i in range(count):
            array, offset, stride = parameters[i]
            size = memoryview(array).nbytes // 8
            if offset < 0 or stride < 0 or offset + max(members - 1, 0) * stride >= size:
                raise ValueError(f"parameter {i} does not hold a number for each of {members} members")
            sources[i] = self._read(array, size, f"parameters[{i}]") + offset
            strides[i] = stride
        self._batch.sources, self._batch.strides = <const double *const *>sources, strides
        return 0

    def rewind(self):
        """Offer every member again; no worker may be at work."""
        self._next[0] = 0

    def __dealloc__(self):
        free(self._memory)
        free(self._line)


cdef class Worker:
    """What one thread holds: the registers of its lanes. Several workers share one :class:`Batch`."""

    cdef Batch _batch
    cdef void *_memory
    cdef void *_registers
    cdef bint _busy

    def __init__(self, Batch batch):
        cdef size_t size = batch._kernel.worker + 64
        self._batch = batch
        free(self._memory)
        self._memory = calloc(size, 1)
        if self._memory == NULL:
            raise MemoryError(f"{size} bytes for the lanes of one thread")
        self._registers = <void *>((<uintptr_t>self._memory + 63) & ~<uintptr_t>63)

    def advance(self, double seconds):
        """Take steps for about ``seconds``; True when no member is left."""
        cdef int done
        if self._busy:
            raise RuntimeError("this worker is in use by another thread; give each thread its own")
        self._busy = True
        try:
            with nogil:
                done = self._batch._kernel.advance(&self._batch._batch, self._registers, seconds)
        finally:
            self._busy = False
        return bool(done)

    def __dealloc__(self):
        free(self._memory)
