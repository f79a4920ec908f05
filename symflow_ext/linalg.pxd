from symflow_ext.abi cimport symflow_linalg

# The largest size that never needs BLAS.
cdef enum:
    SMALL = 8

cdef const symflow_linalg *linalg_table() noexcept nogil
cdef int require_blas() except -1
cdef void gram(ptrdiff_t rows, ptrdiff_t cols, const double *factor, double *out) noexcept nogil
