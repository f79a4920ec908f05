"""Parameters that depend on time: a right-hand side whose parameters are refreshed before every evaluation.

A source writes the entries of one parameter at time t. Splines and tapes do so without Python; a function of
the caller is entered with the interpreter's lock.
"""

from libc.math cimport cos, cosh, erf, exp, fabs, fmax, fmin, log, pow, sin, sinh, sqrt, tan, tanh
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from symflow_ext.abi cimport SYMFLOW_OK, SYMFLOW_RAISED, symflow_call, symflow_linalg, symflow_rhs
from symflow_ext.buffers cimport Reader
from symflow_ext.call cimport Bound, Call
from symflow_ext.linalg cimport linalg_table

#: Instructions of a tape by name; ``const``, ``power`` read a number, the others do not.
OPCODES = {
    "const": 0, "time": 1, "add": 2, "multiply": 3, "power": 4, "pow": 5, "max": 6, "min": 7,
    "exp": 8, "log": 9, "sqrt": 10, "sin": 11, "cos": 12, "tan": 13, "sinh": 14, "cosh": 15, "tanh": 16,
    "erf": 17, "abs": 18, "step": 19, "store": 20,
}  # fmt: skip

cdef enum opcode:
    CONST = 0
    TIME = 1
    ADD = 2
    MULTIPLY = 3
    POWER = 4
    POW = 5
    MAX = 6
    MIN = 7
    EXP = 8
    LOG = 9
    SQRT = 10
    SIN = 11
    COS = 12
    TAN = 13
    SINH = 14
    COSH = 15
    TANH = 16
    ERF = 17
    ABS = 18
    STEP = 19
    STORE = 20


# What writes the entries of a parameter at a time: 0, or SYMFLOW_RAISED with the exception set.
ctypedef int (*writer)(const void *data, double t, double *out) noexcept nogil

cdef struct spline:
    ptrdiff_t pieces, order, size
    double *knots
    double *coefficients

cdef struct tape:
    ptrdiff_t length
    double *codes
    double *numbers
    double *stack


cdef class Source:
    """What writes ``size`` numbers at a time; subclasses say how."""

    cdef readonly ptrdiff_t size
    cdef writer write
    cdef const void *data


cdef class Spline(Source):
    """A piecewise polynomial: ``coefficients[k, i, j]`` times ``(t - knots[i])**(order - 1 - k)``.

    Parameters
    ----------
    knots : contiguous float64 array, (m + 1,)
        Increasing.
    coefficients : contiguous float64 array, (order, m, size)
    """

    cdef spline _spline

    def __init__(self, knots, coefficients):
        order, pieces, size = coefficients.shape
        if len(knots) != pieces + 1 or pieces < 1:
            raise ValueError(f"{pieces} pieces need {pieces + 1} knots, got {len(knots)}")
        self._spline.order, self._spline.pieces, self._spline.size = order, pieces, size
        self._spline.knots = _copied(knots, pieces + 1, "knots")
        self._spline.coefficients = _copied(coefficients, order * pieces * size, "coefficients")
        self.size, self.write, self.data = size, _write_spline, &self._spline

    def __dealloc__(self):
        free(self._spline.knots)
        free(self._spline.coefficients)


cdef int _write_spline(const void *data, double t, double *out) noexcept nogil:
    cdef const spline *s = <const spline *>data
    cdef ptrdiff_t low = 0, high = s.pieces, middle, i, _k
    while high - low > 1:
        middle = (low + high) // 2
        if t >= s.knots[middle]:
            low = middle
        else:
            high = middle
    cdef double step = t - s.knots[low]
    cdef const double *c = s.coefficients + low * s.size
    for i in range(s.size):
        out[i] = c[i]
    for _k in range(1, s.order):
        c += s.pieces * s.size
        for i in range(s.size):
            out[i] = out[i] * step + c[i]
    return SYMFLOW_OK


cdef class Tape(Source):
    """Expressions in t as instructions of a stack machine; ``store`` ends one entry.

    Parameters
    ----------
    codes : contiguous float64 array, (m,)
        Numbers of :data:`OPCODES`.
    numbers : contiguous float64 array, (m,)
        The number that an instruction reads.
    size, depth : int
        Entries, and how many values the stack may hold.
    """

    cdef tape _tape

    def __init__(self, codes, numbers, ptrdiff_t size, ptrdiff_t depth):
        self._tape.length = len(codes)
        self._tape.codes = _copied(codes, self._tape.length, "codes")
        self._tape.numbers = _copied(numbers, self._tape.length, "numbers")
        self._tape.stack = <double *>malloc(max(depth, 1) * sizeof(double))
        if self._tape.stack == NULL:
            raise MemoryError()
        self.size, self.write, self.data = size, _write_tape, &self._tape

    def __dealloc__(self):
        free(self._tape.codes)
        free(self._tape.numbers)
        free(self._tape.stack)


cdef int _write_tape(const void *data, double t, double *out) noexcept nogil:
    cdef const tape *program = <const tape *>data
    cdef ptrdiff_t i, top = 0, entry = 0
    cdef int code
    cdef double *s = program.stack
    for i in range(program.length):
        code = <int>program.codes[i]
        if code == CONST or code == TIME:
            s[top] = t if code == TIME else program.numbers[i]
            top += 1
        elif code == STORE:
            top -= 1
            out[entry] = s[top]
            entry += 1
        elif code in (ADD, MULTIPLY, POW, MAX, MIN):
            top -= 1
            s[top - 1] = _binary(code, s[top - 1], s[top])
        else:
            s[top - 1] = _unary(code, s[top - 1], program.numbers[i])
    return SYMFLOW_OK


cdef double _binary(int code, double a, double b) noexcept nogil:
    if code == ADD:
        return a + b
    if code == MULTIPLY:
        return a * b
    if code == POW:
        return pow(a, b)
    return fmax(a, b) if code == MAX else fmin(a, b)


cdef double _unary(int code, double a, double number) noexcept nogil:
    if code == POWER:
        return pow(a, number)
    if code == EXP:
        return exp(a)
    if code == LOG:
        return log(a)
    if code == SQRT:
        return sqrt(a)
    if code == SIN:
        return sin(a)
    if code == COS:
        return cos(a)
    if code == TAN:
        return tan(a)
    if code == SINH:
        return sinh(a)
    if code == COSH:
        return cosh(a)
    if code == TANH:
        return tanh(a)
    if code == ERF:
        return erf(a)
    if code == ABS:
        return fabs(a)
    return 0.5 if a == 0.0 else (1.0 if a > 0.0 else 0.0)


cdef class Function(Source):
    """A Python function of t that returns a contiguous float64 array of ``size`` numbers."""

    cdef object _function

    def __init__(self, function, ptrdiff_t size):
        self._function, self.size = function, size
        self.write, self.data = <writer>_write_function, <void *>self

    cdef int evaluate(self, double t, double *out) except 3:
        memcpy(out, Reader(self._function(t), self.size, "parameter").data, self.size * sizeof(double))
        return SYMFLOW_OK


cdef int _write_function(const void *data, double t, double *out) except 3 with gil:
    """Enter Python; an exception stays pending and travels up as the status SYMFLOW_RAISED."""
    return (<Function>data).evaluate(t, out)


cdef struct exponential:
    ptrdiff_t rows, d
    bint both
    double *matrix
    double *generator
    double *scratch
    const symflow_linalg *linalg


cdef class Exponential(Source):
    """``M e^{tV}``, or ``e^{tV'} M e^{tV}`` with the transpose V'.

    Parameters
    ----------
    matrix : contiguous float64 array, (rows, d)
        M; several stacked matrices are one with more rows unless both sides turn.
    generator : contiguous float64 array, (d, d)
        V.
    both : bool
        Whether M, then d x d, turns from both sides.
    """

    cdef exponential _turn

    def __init__(self, matrix, generator, bint both):
        cdef ptrdiff_t d = len(generator)
        self.size = memoryview(matrix).nbytes // 8
        if self.size % d or (both and self.size != d * d):
            raise ValueError(f"a matrix of {self.size} numbers does not turn with a generator of size {d}")
        self._turn.rows, self._turn.d, self._turn.both = self.size // d, d, both
        self._turn.matrix = _copied(matrix, self.size, "matrix")
        self._turn.generator = _copied(generator, d * d, "generator")
        self._turn.scratch = <double *>malloc((3 * d * d + self.size) * sizeof(double))
        if self._turn.scratch == NULL:
            raise MemoryError()
        self._turn.linalg = linalg_table()
        self.write, self.data = _write_exponential, &self._turn

    def __dealloc__(self):
        free(self._turn.matrix)
        free(self._turn.generator)
        free(self._turn.scratch)


cdef int _write_exponential(const void *data, double t, double *out) noexcept nogil:
    cdef const exponential *turn = <const exponential *>data
    cdef const symflow_linalg *la = turn.linalg
    cdef ptrdiff_t d = turn.d
    cdef double *flow = turn.scratch
    cdef double *half = flow + 3 * d * d
    _exponential(turn, t, flow)
    if not turn.both:
        la.gemm(0, 0, turn.rows, d, d, 1.0, turn.matrix, flow, 0.0, out)
        return SYMFLOW_OK
    la.gemm(0, 0, d, d, d, 1.0, turn.matrix, flow, 0.0, half)
    la.gemm(1, 0, d, d, d, 1.0, flow, half, 0.0, out)
    return SYMFLOW_OK


cdef void _exponential(const exponential *turn, double t, double *flow) noexcept nogil:
    """Write e^{tV}: the series of degree 16 at tV / 2^k of norm at most 1/2 errs by less than 1e-19."""
    cdef ptrdiff_t i, j, d = turn.d, size = turn.d * turn.d
    cdef double *step = flow + size
    cdef double *product = step + size
    cdef double largest = 0.0, row, scale = t
    cdef int squarings = 0, k, _k
    for i in range(d):
        row = 0.0
        for j in range(d):
            row += fabs(t * turn.generator[i * d + j])
        largest = fmax(largest, row)
    while largest > 0.5 and squarings < 1100:
        largest *= 0.5
        scale *= 0.5
        squarings += 1
    for i in range(size):
        step[i] = scale * turn.generator[i]
        flow[i] = 0.0
    for i in range(d):
        flow[i * d + i] = 1.0
    for k in range(16, 0, -1):
        turn.linalg.gemm(0, 0, d, d, d, 1.0 / k, step, flow, 0.0, product)
        for i in range(size):
            flow[i] = product[i]
        for i in range(d):
            flow[i * d + i] += 1.0
    for _k in range(squarings):
        turn.linalg.gemm(0, 0, d, d, d, 1.0, flow, flow, 0.0, product)
        memcpy(flow, product, size * sizeof(double))


cdef double *_copied(values, ptrdiff_t count, str name) except NULL:
    cdef Reader source = Reader(values, count, name)
    cdef double *kept = <double *>malloc(max(count, 1) * sizeof(double))
    if kept == NULL:
        raise MemoryError()
    memcpy(kept, source.data, count * sizeof(double))
    return kept


cdef struct schedule:
    ptrdiff_t count
    writer *writers
    const void **data
    double **targets
    symflow_rhs rhs
    const symflow_call *call


cdef int _refreshed(double t, const double *y, double *dy, const symflow_call *call) noexcept nogil:
    cdef const schedule *plan = <const schedule *>call.user
    cdef ptrdiff_t i
    for i in range(plan.count):
        if plan.writers[i](plan.data[i], t, plan.targets[i]) != SYMFLOW_OK:
            return SYMFLOW_RAISED
    return plan.rhs(t, y, dy, plan.call)


cdef class Scheduled(Bound):
    """A compiled call whose parameters follow their sources.

    Parameters
    ----------
    call : Call
        Used by this object alone from now on.
    sources : sequence of (int, Source)
        The index of a parameter in call order, and what writes it.
    """

    cdef Call _inner
    cdef tuple _sources
    cdef schedule _plan

    def __init__(self, Call call, sources):
        cdef ptrdiff_t i
        cdef Source source
        self._inner, self._sources = call, tuple(sources)
        self._plan.count = len(self._sources)
        self._plan.rhs, self._plan.call = call.rhs, &call.call
        self._plan.writers = <writer *>malloc((self._plan.count + 1) * sizeof(writer))
        self._plan.data = <const void **>malloc((self._plan.count + 1) * sizeof(void *))
        self._plan.targets = <double **>malloc((self._plan.count + 1) * sizeof(double *))
        if self._plan.writers == NULL or self._plan.data == NULL or self._plan.targets == NULL:
            raise MemoryError()
        for i in range(self._plan.count):
            index, source = self._sources[i]
            if memoryview(call.params[index]).nbytes != 8 * source.size:
                raise ValueError(f"params[{index}] does not hold {source.size} numbers")
            self._plan.writers[i], self._plan.data[i] = source.write, source.data
            self._plan.targets[i] = <double *>call.call.params[<ptrdiff_t>index]
        self.size, self.rhs, self.call = call.size, _refreshed, call.call
        self.call.user = &self._plan

    def __dealloc__(self):
        free(self._plan.writers)
        free(self._plan.data)
        free(self._plan.targets)
