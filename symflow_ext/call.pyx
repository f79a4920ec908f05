"""Right-hand sides ready to be called: a compiled entry with its sizes and parameters, or a Python function.

Both are a ``Bound``: a C function pointer and the ``symflow_call`` that it is handed.  The stepper needs no
more.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from symflow_ext.abi cimport SYMFLOW_RAISED, symflow_call, symflow_entry, symflow_kernel
from symflow_ext.buffers cimport Reader, Writer
from symflow_ext.linalg cimport SMALL, linalg_table, require_blas

from symflow_ext.contract import capsule_name

#: Status words by the number that a right-hand side returns.
STATUS = ("ok", "singular", "outside-domain", "raised", "not-converged")


cdef class Bound:
    """A right-hand side of ``size`` equations, ``call(t, y, dy) -> status``; one user at a time."""

    cdef int acquire(self) except -1:
        """Claim the scratch memory; two threads would overwrite each other's."""
        if self.busy:
            raise RuntimeError("this call is in use by another run; bind a second one for a second thread")
        self.busy = True
        return 0

    cdef void release(self) noexcept:
        self.busy = False

    def __call__(self, double t, y, dy):
        """Write the right-hand side at (t, y) into dy and return the status (0 = fine)."""
        cdef Reader source = Reader(y, self.size, "y")
        cdef Writer target = Writer(dy, self.size, "dy")
        cdef int status
        self.acquire()
        try:
            status = self.rhs(t, source.data, target.data, &self.call)
        finally:
            self.release()
        if status == SYMFLOW_RAISED:
            _propagate()
        return status


cdef int _propagate() except 3:
    """Return as a function that raised returns: the exception has been pending since the callback."""
    return SYMFLOW_RAISED


cdef class Call(Bound):
    """A compiled entry bound to sizes and parameters.

    Parameters
    ----------
    capsule : capsule
        Holds a ``symflow_kernel``; its name carries the hash of the ABI.
    entry : str
        ``"moments"``, ``"factor"``, ``"tangent"``, ...
    dims : sequence of int
        Sizes in the order of the flow, then the rank where the entry has one.
    params : sequence of contiguous float64 arrays
        Copied; a scalar is an array of one.
    size : int
        Length of the flattened state.
    """

    def __init__(self, capsule, str entry, dims, params, ptrdiff_t size):
        cdef bytes name = capsule_name()
        if not PyCapsule_IsValid(capsule, name):
            raise ValueError("this kernel was built for another version of the runtime; build it again")
        self._capsule = capsule
        self.entry, self.size = entry, size
        self.dims = tuple(int(value) for value in dims)
        self.params = tuple(params)
        if any(value < 0 for value in self.dims) or size < 0:
            raise ValueError(f"sizes must not be negative: dims {self.dims}, size {size}")
        if max(self.dims, default=0) > SMALL:
            require_blas()
        kernel = <const symflow_kernel *>PyCapsule_GetPointer(capsule, name)
        cdef const symflow_entry *found = _find(kernel, f"{entry}@{','.join(map(str, self.dims))}", entry)
        self.rhs = found.rhs
        self._layout(found)

    cdef _layout(self, const symflow_entry *found):
        """Sizes, and one block: pointers to the parameters, the parameters, scratch."""
        cdef ptrdiff_t n_dims = len(self.dims), n_params = len(self.params), i
        cdef list counts = [memoryview(value).nbytes // 8 for value in self.params]
        free(self._sizes)
        self._sizes = <ptrdiff_t *>calloc(n_dims + 1, sizeof(ptrdiff_t))
        if self._sizes == NULL:
            raise MemoryError()
        for i in range(n_dims):
            self._sizes[i] = self.dims[i]
        cdef ptrdiff_t work = found.work(self._sizes)
        if work < 0:
            raise MemoryError(f"sizes {self.dims} of {self.entry!r} need more memory than can be addressed")
        cdef ptrdiff_t total = n_params + <ptrdiff_t>sum(counts) + work + 8
        free(self._memory)
        self._memory = calloc(total, 8)
        if self._memory == NULL:
            raise MemoryError(f"the workspace of {self.entry!r} needs {total} numbers")
        cdef double **pointers = <double **>self._memory
        cdef double *values = <double *>(pointers + n_params)
        cdef Reader source
        for i in range(n_params):
            source = Reader(self.params[i], counts[i], f"params[{i}]")
            memcpy(values, source.data, <ptrdiff_t>counts[i] * 8)
            pointers[i] = values
            values += <ptrdiff_t>counts[i]
        self.call.linalg = linalg_table()
        self.call.dims = self._sizes
        self.call.params = <const double *const *>pointers
        self.call.work = values + (64 - <size_t>values % 64) % 64 // 8  # a cache line: there are 8 to spare
        self.call.user = NULL

    def __dealloc__(self):
        free(self._sizes)
        free(self._memory)

    def copy(self):
        """Return a second call with scratch of its own, for a second thread."""
        return Call(self._capsule, self.entry, self.dims, self.params, self.size)


cdef const symflow_entry *_find(const symflow_kernel *kernel, str fixed, str entry) except NULL:
    """Return the function that is made for these sizes, or else the general one."""
    cdef ptrdiff_t i
    known = [kernel.entries[i].name.decode() for i in range(kernel.n_entries)]
    for name in (fixed, entry):
        if name in known:
            return &kernel.entries[known.index(name)]
    general = ", ".join(name for name in known if "@" not in name)
    raise ValueError(f"this kernel has no entry {entry!r}; it has {general}")


cdef int _trampoline(double t, const double *y, double *dy, const symflow_call *call) except 3 with gil:
    """Enter Python; an exception stays pending and travels up as the status SYMFLOW_RAISED."""
    return (<PyCall>call.user).evaluate(t, y, dy)


cdef class PyCall(Bound):
    """A Python function ``f(t, y, dy) -> status or None`` behind the interface of a compiled one.

    Parameters
    ----------
    function : callable
        Gets arrays that are valid during the call only; returns None or one of the numbers of ``STATUS``.
    size : int
        Length of the state.
    """

    def __init__(self, function, ptrdiff_t size):
        from numpy import zeros

        self._function, self.size = function, size
        self._y, self._dy = zeros(size), zeros(size)
        self.rhs = <symflow_rhs>_trampoline
        self.call.linalg = linalg_table()
        self.call.user = <void *>self

    cdef int evaluate(self, double t, const double *y, double *dy) except 3:
        cdef Writer source = Writer(self._y, self.size, "y")
        cdef Reader target = Reader(self._dy, self.size, "dy")
        memcpy(source.data, y, self.size * 8)
        status = self._function(t, self._y, self._dy)
        memcpy(dy, target.data, self.size * 8)
        if status is None:
            return 0
        if status not in (0, 1, 2, 4):
            raise ValueError(f"a right-hand side returns None, 0, 1, 2 or 4, got {status!r}")
        return status

    def copy(self):
        """Return a second call of the same function with arrays of its own."""
        return PyCall(self._function, self.size)
