cdef class Reader:
    cdef Py_buffer view
    cdef const double *data


cdef class Writer:
    cdef Py_buffer view
    cdef double *data
