"""Contiguous arrays through the buffer protocol: checked once, then plain pointers, no NumPy headers."""

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer,
)

_FORMATS = {"float64": (b"d",), "integer": (b"l", b"q", b"n")}


cdef int _check(Py_buffer *view, ptrdiff_t size, str name, str kind) except -1:
    """Refuse another item type or another number of items; both would read or write the wrong memory."""
    text = bytes(view.format) if view.format != NULL else b"B"
    if text not in _FORMATS[kind] or view.itemsize != 8:
        raise ValueError(f"{name} must be an array of {kind} items, got format {text.decode()!r}")
    if view.len != size * 8:
        raise ValueError(f"{name} must hold {size} numbers, got {view.len // 8}")
    return 0


cdef class Reader:
    """A read-only view of ``size`` numbers."""

    def __cinit__(self, array, ptrdiff_t size, str name, str kind="float64"):
        PyObject_GetBuffer(array, &self.view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
        _check(&self.view, size, name, kind)
        self.data = <const double *>self.view.buf

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


cdef class Writer:
    """A writable view of ``size`` numbers."""

    def __cinit__(self, array, ptrdiff_t size, str name, str kind="float64"):
        PyObject_GetBuffer(array, &self.view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE)
        _check(&self.view, size, name, kind)
        self.data = <double *>self.view.buf

    def __dealloc__(self):
        PyBuffer_Release(&self.view)
