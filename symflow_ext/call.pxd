from symflow_ext.abi cimport symflow_call, symflow_entry, symflow_rhs


cdef class Bound:
    cdef symflow_call call
    cdef symflow_rhs rhs
    cdef readonly ptrdiff_t size
    cdef bint busy
    cdef int acquire(self) except -1
    cdef void release(self) noexcept


cdef class Call(Bound):
    cdef object _capsule
    cdef readonly str entry
    cdef readonly tuple dims
    cdef readonly tuple params
    cdef ptrdiff_t *_sizes
    cdef void *_memory
    cdef _layout(self, const symflow_entry *found)


cdef class PyCall(Bound):
    cdef object _function
    cdef object _y
    cdef object _dy
    cdef int evaluate(self, double t, const double *y, double *dy) except 3
