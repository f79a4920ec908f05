# Runge-Kutta tableaux as the steppers read them.

cdef enum:
    LANES = 8        # states are padded to whole blocks of this size
    MAX_STAGES = 20
    MAX_TERMS = 16
    MAX_DENSE = 4

cdef struct sparse_row:
    int count
    int[MAX_TERMS] index
    double[MAX_TERMS] weight

cdef struct tableau:
    int stages
    int extra
    int dense
    int has_error
    int has_low
    int last_first  # the error estimate uses the slope at the new point
    double exponent
    double[MAX_STAGES] c
    sparse_row[MAX_STAGES] a
    sparse_row b
    sparse_row error
    sparse_row error_low
    sparse_row[MAX_DENSE] weights


cdef class Table:
    cdef tableau data


cdef Table table_of(method)


cdef void combine(ptrdiff_t padded, const sparse_row *row, double h, const double *k, const double *y,
                  double *out) noexcept nogil
