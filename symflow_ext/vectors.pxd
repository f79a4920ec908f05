# What include/symflow_products.h offers.

cdef extern from "symflow_products.h" nogil:
    enum:
        SYMFLOW_C_LOWER

    ctypedef struct symflow_factors:
        int ta
        int tb
        int shape
        ptrdiff_t m
        ptrdiff_t n
        ptrdiff_t k
        double alpha
        const double *a
        ptrdiff_t lda
        const double *b
        ptrdiff_t ldb
        double beta
        double *c
        ptrdiff_t ldc

    ctypedef struct symflow_vectors:
        void (*product)(const symflow_factors *, ptrdiff_t, ptrdiff_t) noexcept nogil
        double (*dot)(ptrdiff_t, const double *, const double *) noexcept nogil
        void (*axpy)(ptrdiff_t, double, const double *, double *) noexcept nogil
        void (*combine)(ptrdiff_t, int, const int *, const double *, double, const double *, const double *,
                        double *) noexcept nogil
        void (*norms)(ptrdiff_t, const double *, double, const double *, const double *, const double *,
                      const double *, double *) noexcept nogil
        double (*flaws)(ptrdiff_t, const double *) noexcept nogil

    symflow_vectors symflow_vectors_of(int)
