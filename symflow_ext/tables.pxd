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


cdef inline void combine(ptrdiff_t padded, const sparse_row *row, double h, const double *k,
                         const double *y, double *out) noexcept nogil:
    """Form out = y + h sum_j w_j k_j, one block of lanes at a time so that the sums stay in registers."""
    cdef ptrdiff_t i
    cdef int term
    cdef double w, s0, s1, s2, s3, s4, s5, s6, s7
    cdef const double *x
    for i in range(0, padded, 8):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        for term in range(row.count):
            w = row.weight[term]
            x = k + row.index[term] * padded + i
            s0 += w * x[0]
            s1 += w * x[1]
            s2 += w * x[2]
            s3 += w * x[3]
            s4 += w * x[4]
            s5 += w * x[5]
            s6 += w * x[6]
            s7 += w * x[7]
        out[i] = y[i] + h * s0
        out[i + 1] = y[i + 1] + h * s1
        out[i + 2] = y[i + 2] + h * s2
        out[i + 3] = y[i + 3] + h * s3
        out[i + 4] = y[i + 4] + h * s4
        out[i + 5] = y[i + 5] + h * s5
        out[i + 6] = y[i + 6] + h * s6
        out[i + 7] = y[i + 7] + h * s7
