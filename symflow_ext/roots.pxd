from symflow_ext.abi cimport symflow_linalg

# Matrices of scratch that a root needs, beside one vector.
cdef enum:
    ROOT_WORK = 6

cdef int square_root(const symflow_linalg *la, ptrdiff_t n, double *a, double *work) noexcept nogil
cdef int sylvester_root(const symflow_linalg *la, ptrdiff_t n, const double *r, double *e,
                        double *work) noexcept nogil
