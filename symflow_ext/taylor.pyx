"""Taylor coefficients of a flow at any size: a list of matrix instructions, executed order by order.

``Series`` is a ``Bound`` whose function writes coefficients instead of slopes: row k of the output is the
k-th coefficient of the state.  The last of its sizes is the order, like that of a kernel printed for fixed
sizes, and so the stepper does not tell them apart.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset
from symflow_ext.abi cimport SYMFLOW_OK, symflow_call, symflow_linalg, symflow_rhs
from symflow_ext.buffers cimport Reader
from symflow_ext.call cimport Bound
from symflow_ext.linalg cimport linalg_table, require_blas

cdef enum code:
    PRODUCT = 0
    CAUCHY = 1
    COPY = 2
    ADD = 3
    ZERO = 4
    DIAGONAL = 5
    LU = 6
    LU_SOLVE = 7
    CHOLESKY = 8
    NEXT = 9
    TRACE = 10
    ROOT = 11

#: Names of the instructions, by number.
CODES = ("product", "cauchy", "copy", "add", "zero", "diagonal", "lu", "lu-solve", "cholesky", "next",
         "trace", "root")

# Addresses are offsets into one block; at order k each moves by k times its stride.
cdef struct instruction:
    int code
    int once       # at order zero only
    int trans_a
    int trans_b
    ptrdiff_t m
    ptrdiff_t n
    ptrdiff_t inner
    ptrdiff_t first
    ptrdiff_t last
    ptrdiff_t a
    ptrdiff_t a_step
    ptrdiff_t b
    ptrdiff_t b_step
    ptrdiff_t out
    ptrdiff_t out_step
    double alpha
    double beta

#: The fields of an instruction, in order: whole numbers, then the others.
INTEGERS = ("code", "once", "trans_a", "trans_b", "m", "n", "inner", "first", "last", "a", "a_step", "b",
            "b_step", "out", "out_step")
REALS = ("alpha", "beta")


cdef class Series(Bound):
    """The instructions of one recursion at given sizes.

    Parameters
    ----------
    integers, reals : contiguous int64 and float64 arrays, (m, 15) and (m, 2)
        The instructions, in the order of ``INTEGERS`` and ``REALS``.
    length : int
        Of the block of numbers that they work on.
    constants : sequence of (int, contiguous float64 array)
        What stands in it, each with its offset.
    states : sequence of (int, int)
        Offset and length of the coefficient of order zero of each state.
    size : int
        Length of the flattened state.
    pivots : int
        How many pivots the factorisations need together.
    order : int
        The largest order; the block has room for no more.
    """

    cdef instruction *_steps
    cdef ptrdiff_t _count, _states
    cdef ptrdiff_t *_places
    cdef ptrdiff_t *_pivots
    cdef ptrdiff_t[1] _order
    cdef double *_memory
    cdef tuple _recipe
    cdef readonly tuple dims

    def __init__(self, integers, reals, ptrdiff_t length, constants, states, ptrdiff_t size, ptrdiff_t pivots,
                 ptrdiff_t order):
        self._recipe = (integers, reals, length, constants, states, size, pivots, order)
        self.size, self.dims = size, (order,)
        self._order[0] = order
        self._count, self._states = len(reals), len(states)
        cdef Reader whole = Reader(integers, self._count * len(INTEGERS), "integers", "integer")
        cdef Reader others = Reader(reals, self._count * len(REALS), "reals")
        cdef ptrdiff_t i
        self._free()
        self._steps = <instruction *>calloc(self._count + 1, sizeof(instruction))
        self._places = <ptrdiff_t *>calloc(2 * self._states + 1, sizeof(ptrdiff_t))
        self._pivots = <ptrdiff_t *>calloc(pivots + 1, sizeof(ptrdiff_t))
        self._memory = <double *>calloc(length + 1, 8)
        if self._steps == NULL or self._places == NULL or self._pivots == NULL or self._memory == NULL:
            raise MemoryError(f"the coefficients of order {order} need {length} numbers")
        for i in range(self._count):
            _fill(&self._steps[i], <const ptrdiff_t *>whole.data + i * len(INTEGERS), others.data + 2 * i)
        for start, value in constants:
            self._put(start, value, length)
        for i, (place, extent) in enumerate(states):
            self._places[2 * i], self._places[2 * i + 1] = place, extent
        require_blas()
        self.rhs = <symflow_rhs>_recur
        self.call.linalg = linalg_table()
        self.call.dims = self._order
        self.call.user = <void *>self

    cdef int _put(self, ptrdiff_t start, value, ptrdiff_t length) except -1:
        cdef ptrdiff_t extent = len(value)
        cdef Reader source = Reader(value, extent, "a constant")
        if start < 0 or start + extent > length:
            raise ValueError(f"a constant at {start} of {extent} numbers does not fit into {length}")
        memcpy(self._memory + start, source.data, extent * 8)
        return 0

    cdef _free(self):
        free(self._steps)
        free(self._places)
        free(self._pivots)
        free(self._memory)

    def __dealloc__(self):
        self._free()

    def copy(self):
        """Return a second series with memory of its own, for a second thread."""
        return Series(*self._recipe)

    cdef int recur(self, ptrdiff_t order, const double *y, double *out) noexcept nogil:
        cdef ptrdiff_t i, k, place
        cdef int code
        place = 0
        for i in range(self._states):
            memcpy(self._memory + self._places[2 * i], y + place, self._places[2 * i + 1] * 8)
            place += self._places[2 * i + 1]
        memcpy(out, y, self.size * 8)
        for k in range(order):
            for i in range(self._count):
                if k == 0 or not self._steps[i].once:
                    code = self._execute(&self._steps[i], k, out)
                    if code != SYMFLOW_OK:
                        return code
        return SYMFLOW_OK

    cdef int _execute(self, const instruction *s, ptrdiff_t k, double *out) noexcept nogil:
        cdef const symflow_linalg *la = self.call.linalg
        cdef double *a = self._memory + s.a + k * s.a_step
        cdef double *b = self._memory + s.b + k * s.b_step
        cdef double *c = self._memory + s.out + k * s.out_step
        cdef ptrdiff_t i
        if s.code == PRODUCT:
            la.gemm(s.trans_a, s.trans_b, s.m, s.n, s.inner, s.alpha, a, b, s.beta, c)
        elif s.code == CAUCHY:  # stacked factors: the whole sum is one product
            if k >= s.first + s.last:
                la.gemm(1, 0, s.m, s.n, (k + 1 - s.first - s.last) * s.inner, s.alpha, a, b, s.beta, c)
        elif s.code == COPY or s.code == ADD:
            _copy(s, a, c)
        elif s.code == ZERO:
            memset(c, 0, s.m * 8)
        elif s.code == DIAGONAL:
            for i in range(s.m):
                c[i * (s.m + 1)] += s.alpha
        elif s.code == LU:
            return la.lu(s.m, c, self._pivots + s.first)
        elif s.code == LU_SOLVE:
            la.lu_solve(s.trans_a, s.m, s.n, a, self._pivots + s.first, c)
        elif s.code == CHOLESKY:
            return la.cholesky(s.m, c)
        elif s.code == TRACE:
            c[0] = 0.0
            for i in range(s.m):
                c[0] += a[i * (s.m + 1)]
        elif s.code == ROOT:  # the root itself, then how it moves
            if k == 0:
                return la.sqrtm(la, s.m, c, self._memory + s.b)
            return la.sylvester(la, s.m, self._memory + s.a, c, self._memory + s.b)
        else:
            for i in range(s.m):
                c[i] = a[i] / <double>(k + 1)
            memcpy(out + (k + 1) * self.size + s.first, c, s.m * 8)
        return SYMFLOW_OK


cdef void _fill(instruction *s, const ptrdiff_t *x, const double *y) noexcept nogil:
    s.code, s.once, s.trans_a, s.trans_b = <int>x[0], <int>x[1], <int>x[2], <int>x[3]
    s.m, s.n, s.inner, s.first, s.last = x[4], x[5], x[6], x[7], x[8]
    s.a, s.a_step, s.b, s.b_step, s.out, s.out_step = x[9], x[10], x[11], x[12], x[13], x[14]
    s.alpha, s.beta = y[0], y[1]


cdef void _copy(const instruction *s, const double *a, double *c) noexcept nogil:
    """Form c = alpha op(a), or add it; a is m x n as stored."""
    cdef ptrdiff_t i, j
    cdef double beta = 1.0 if s.code == ADD else 0.0
    if s.trans_a:
        for i in range(s.m):
            for j in range(s.n):
                c[j * s.m + i] = (beta * c[j * s.m + i] if beta != 0.0 else 0.0) + s.alpha * a[i * s.n + j]
    elif beta != 0.0:
        for i in range(s.m * s.n):
            c[i] += s.alpha * a[i]
    elif s.alpha == 1.0:
        memcpy(c, a, s.m * s.n * 8)
    else:
        for i in range(s.m * s.n):
            c[i] = s.alpha * a[i]


cdef int _recur(double t, const double *y, double *out, const symflow_call *call) noexcept nogil:
    return (<Series>call.user).recur(call.dims[0], y, out)
