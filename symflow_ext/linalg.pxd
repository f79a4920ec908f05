from symflow_ext.abi cimport symflow_linalg
from symflow_ext.vectors cimport symflow_vectors

# The largest size that never needs BLAS.
cdef enum:
    SMALL = 64

cdef const symflow_linalg *linalg_table() noexcept nogil
cdef const symflow_vectors *vectors() noexcept nogil
cdef int require_blas() except -1
cdef void gram(ptrdiff_t rows, ptrdiff_t cols, const double *factor, double *out) noexcept nogil
