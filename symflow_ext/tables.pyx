"""Tableaux in C, and the dense output that their coefficients describe."""

from libc.string cimport memcpy
from symflow_ext.buffers cimport Reader, Writer
from symflow_ext.linalg cimport vectors

from symflow_ext.tableau import TABLEAUX


cdef int _fill(sparse_row *row, dict terms) except -1:
    row.count = 0
    for index, weight in terms.items():
        row.index[row.count] = index
        row.weight[row.count] = weight
        row.count += 1
    return 0


cdef class Table:
    """A tableau as the loop reads it."""

    def __init__(self, source):
        self.data.stages, self.data.extra = len(source.c), len(source.dense_c)
        self.data.dense = len(source.dense)
        if self.data.stages + 1 + self.data.extra > MAX_STAGES or self.data.dense > MAX_DENSE:
            raise ValueError(f"the tableau {source.name!r} has more stages than this runtime holds")
        cdef int i
        for i, (node, row) in enumerate(zip(source.c, source.a)):
            self.data.c[i] = node
            _fill(&self.data.a[i], row)
        for i, (node, row) in enumerate(zip(source.dense_c, source.dense_a), start=self.data.stages + 1):
            self.data.c[i] = node
            _fill(&self.data.a[i], row)
        for i, row in enumerate(source.dense):
            _fill(&self.data.weights[i], row)
        _fill(&self.data.b, source.b)
        _fill(&self.data.error, source.error)
        _fill(&self.data.error_low, source.error_low)
        self.data.has_error, self.data.has_low = bool(source.error), bool(source.error_low)
        self.data.last_first = self.data.stages in source.error
        self.data.exponent = 1.0 / (source.error_order + 1)


_TABLES = {name: Table(source) for name, source in TABLEAUX.items()}


cdef Table table_of(method):
    """Return the table of a method by name, or of a tableau that is not among the known ones."""
    return _TABLES[method] if isinstance(method, str) else Table(method)


cdef void combine(ptrdiff_t padded, const sparse_row *row, double h, const double *k, const double *y,
                  double *out) noexcept nogil:
    """Form out = y + h sum_j w_j k_j."""
    vectors().combine(padded, row.count, row.index, row.weight, h, k, y, out)


cdef void _evaluate_dense(ptrdiff_t n, ptrdiff_t rows, double x, bint powers, const double *y,
                          const double *c, double *out) noexcept nogil:
    """Form y + x (c0 + (1-x) (c1 + x (c2 + (1-x) (c3 + ...)))); in powers of x alone where asked."""
    cdef ptrdiff_t i, row
    cdef double factor
    for i in range(n):
        out[i] = 0.0
    for row in range(rows - 1, -1, -1):
        factor = x if powers or row % 2 == 0 else 1.0 - x
        for i in range(n):
            out[i] = factor * (out[i] + c[row * n + i])
    for i in range(n):
        out[i] += y[i]


def interpolate(nodes, states, coefficients, times, out, *, bint powers=False):
    """Fill row j of ``out`` with the solution at ``times[j]``.

    ``nodes`` (m + 1) is monotone, ``states`` is (m + 1, n), ``coefficients`` is (m, rows, n); times outside
    of the nodes are extrapolated from the nearest step. ``powers``: coefficients of a power series.
    """
    cdef ptrdiff_t steps = len(nodes) - 1, count = len(times), j, lo, hi, mid
    cdef ptrdiff_t rows = coefficients.shape[1], n = coefficients.shape[2]
    cdef Reader r_nodes = Reader(nodes, steps + 1, "nodes")
    cdef Reader r_states = Reader(states, (steps + 1) * n, "states")
    cdef Reader r_c = Reader(coefficients, steps * rows * n, "coefficients")
    cdef Reader r_t = Reader(times, count, "times")
    cdef Writer r_out = Writer(out, count * n, "out")
    cdef const double *t = r_nodes.data
    if steps < 1:
        raise ValueError("nodes must hold at least one step")
    cdef double sign = 1.0 if t[steps] >= t[0] else -1.0
    with nogil:
        for j in range(count):
            lo, hi = 0, steps
            while hi - lo > 1:
                mid = (lo + hi) // 2
                if sign * (r_t.data[j] - t[mid]) >= 0.0:
                    lo = mid
                else:
                    hi = mid
            if r_t.data[j] == t[lo + 1]:
                memcpy(r_out.data + j * n, r_states.data + (lo + 1) * n, n * 8)
            else:
                _evaluate_dense(n, rows, (r_t.data[j] - t[lo]) / (t[lo + 1] - t[lo]), powers,
                                r_states.data + lo * n, r_c.data + lo * rows * n, r_out.data + j * n)
