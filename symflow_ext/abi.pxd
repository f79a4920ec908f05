# The C contract of include/symflow_abi.h, word for word.

cdef extern from "symflow_abi.h" nogil:
    enum:
        SYMFLOW_OK
        SYMFLOW_SINGULAR
        SYMFLOW_OUTSIDE_DOMAIN
        SYMFLOW_RAISED

    struct symflow_tile_products:
        pass

    ctypedef struct symflow_linalg:
        void (*gemm)(int, int, ptrdiff_t, ptrdiff_t, ptrdiff_t, double,
                     const double *, const double *, double, double *) noexcept nogil
        void (*shaped)(int, int, int, ptrdiff_t, ptrdiff_t, ptrdiff_t, double,
                       const double *, const double *, double, double *) noexcept nogil
        void (*triangle)(ptrdiff_t, const double *, double *) noexcept nogil
        int (*lu)(ptrdiff_t, double *, ptrdiff_t *) noexcept nogil
        void (*lu_solve)(int, ptrdiff_t, ptrdiff_t, const double *,
                         const ptrdiff_t *, double *) noexcept nogil
        int (*cholesky)(ptrdiff_t, double *) noexcept nogil
        int (*sqrtm)(const symflow_linalg *, ptrdiff_t, double *, double *) noexcept nogil
        int (*sylvester)(const symflow_linalg *, ptrdiff_t, const double *, double *, double *) noexcept nogil
        void (*parallel)(ptrdiff_t, void (*)(ptrdiff_t, void *) noexcept nogil, void *) noexcept nogil
        const symflow_tile_products *tiles
        int (*interrupted)() noexcept nogil

    ctypedef struct symflow_call:
        const symflow_linalg *linalg
        const ptrdiff_t *dims
        const double *const *params
        double *work
        void *user

    ctypedef int (*symflow_rhs)(double, const double *, double *, const symflow_call *) noexcept nogil
    ctypedef ptrdiff_t (*symflow_size)(const ptrdiff_t *) noexcept nogil

    ctypedef struct symflow_entry:
        const char *name
        symflow_rhs rhs
        symflow_size work

    ctypedef struct symflow_kernel:
        const char *key
        ptrdiff_t n_entries
        const symflow_entry *entries
