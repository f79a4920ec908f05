"""Velocities of tokens on the circle, on S² and of linear attention in a time that grows like their number.

The loops are in include/symflow_fast.h and include/symflow_fast_affine.h; here are the bound calls that hold
their sizes, coefficients and scratch memory.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from symflow_ext.abi cimport symflow_call, symflow_rhs
from symflow_ext.buffers cimport Reader
from symflow_ext.call cimport Bound
from symflow_ext.linalg cimport SMALL, linalg_table, require_blas

cdef extern from "symflow_fast.h" nogil:
    enum:
        SYMFLOW_FAST_TILE
        SYMFLOW_FAST_PARTS
        SYMFLOW_FAST_DEGREE

    ctypedef struct symflow_fast_term:
        ptrdiff_t modes
        int turned
        int radial
        int normalised
        double kappa
        double first
        double floor
        double scale
        double turn[9]
        double matrix[9]
        double offset[3]
        const double *slope
        const double *along
        double *table

    ctypedef struct symflow_fast:
        ptrdiff_t n
        ptrdiff_t d
        ptrdiff_t modes
        ptrdiff_t count
        ptrdiff_t parts
        ptrdiff_t part
        const double *steps
        const double *weights
        const double *slants
        double background[9]
        double shift[3]
        symflow_fast_term *terms
        double *moments

    ptrdiff_t symflow_fast_moments(ptrdiff_t d, ptrdiff_t modes)
    void symflow_fast_choose(int width)
    int symflow_fast_velocity(double, const double *, double *, const symflow_call *)

cdef extern from "symflow_fast_affine.h" nogil:
    ctypedef struct symflow_fast_affine:
        ptrdiff_t n
        ptrdiff_t d
        ptrdiff_t count
        int sphere
        const double *theta
        const double *background
        const double *terms
        double *work

    ptrdiff_t symflow_fast_affine_term(ptrdiff_t d)
    ptrdiff_t symflow_fast_affine_work(ptrdiff_t d)
    int symflow_fast_affine_velocity(double, const double *, double *, const symflow_call *)

symflow_fast_choose(8)

#: The most modes on S².
MOST_DEGREES = SYMFLOW_FAST_DEGREE


def use_registers(int width):
    """Use registers of at most ``width`` doubles, so that every copy of the loops can be tested."""
    symflow_fast_choose(width)


cdef int _fill(double *target, values, ptrdiff_t count, str name) except -1:
    cdef Reader source = Reader(values, count, name)
    memcpy(target, source.data, count * sizeof(double))
    return 0


cdef class Harmonics(Bound):
    """The velocity of n tokens on the circle or on S² from the harmonics of their law.

    Parameters
    ----------
    n, d : int
        Tokens and coordinates, d = 2 or 3; the state is (n, d), row after row.
    background : contiguous float64 array, (d, d), and shift : (d,)
        What is added to the average.
    terms : sequence of dict
        ``kappa``, ``first`` (a_0), ``slope`` (t_k), ``along`` (r_k) as in symflow_fast.h, both (M + 1,);
        ``turn`` (d, d) or None; ``matrix`` (d, d), ``offset`` (d,); ``radial``, ``normalised``: flags;
        ``scale`` of sums that are not normalised; ``floor``, the mass below which a token is summed directly.
    recurrence : tuple of three contiguous float64 arrays, optional
        On S²: step, weight and slant of every 0 ≤ m ≤ l ≤ M.
    """

    cdef symflow_fast _job
    cdef void *_memory
    cdef symflow_fast_term *_terms
    cdef tuple _arguments
    cdef list _keep

    def __init__(self, ptrdiff_t n, ptrdiff_t d, background, shift, terms, recurrence=None):
        if n < 1 or d not in (2, 3) or len(terms) < 1:
            raise ValueError(f"n = {n}, d = {d}, {len(terms)} terms; give n ≥ 1 tokens, d = 2 or 3, a term")
        self._arguments = (n, d, background, shift, tuple(terms), recurrence)
        self._keep = []
        self.size = n * d
        self._job.n, self._job.d, self._job.count = n, d, len(terms)
        self._job.modes = max(len(term["slope"]) for term in terms) - 1
        if d == 3 and self._job.modes > MOST_DEGREES:
            raise ValueError(f"{self._job.modes} degrees exceed {MOST_DEGREES}; sum directly")
        cdef ptrdiff_t tiles = (n + SYMFLOW_FAST_TILE - 1) // SYMFLOW_FAST_TILE
        cdef ptrdiff_t each = (tiles + SYMFLOW_FAST_PARTS - 1) // SYMFLOW_FAST_PARTS
        self._job.part, self._job.parts = each * SYMFLOW_FAST_TILE, (tiles + each - 1) // each
        _fill(self._job.background, background, d * d, "background")
        _fill(self._job.shift, shift, d, "shift")
        if d == 3:
            self._job.steps = self._read(recurrence[0], "steps")
            self._job.weights = self._read(recurrence[1], "weights")
            self._job.slants = self._read(recurrence[2], "slants")
        self._reserve(terms)
        self.rhs = <symflow_rhs>symflow_fast_velocity
        self.call.linalg = linalg_table()
        self.call.user = &self._job

    cdef const double *_read(self, values, str name) except NULL:
        """Keep an array with one number per moment alive, and return where it lies."""
        cdef Reader source = Reader(values, symflow_fast_moments(3, self._job.modes), name)
        self._keep.append(source)
        return source.data

    cdef int _reserve(self, terms) except -1:
        """Allocate moments, and the coefficients and the table of every term."""
        cdef ptrdiff_t moments = symflow_fast_moments(self._job.d, self._job.modes), i
        cdef ptrdiff_t total = 2 * moments * (self._job.parts + 1)
        total += sum(6 * symflow_fast_moments(self._job.d, len(term["slope"]) - 1) for term in terms)
        free(self._memory)
        free(self._terms)
        self._memory = calloc(total, sizeof(double))
        self._terms = <symflow_fast_term *>calloc(len(terms), sizeof(symflow_fast_term))
        if self._memory == NULL or self._terms == NULL:
            raise MemoryError(f"the moments need {total} numbers")
        self._job.moments, self._job.terms = <double *>self._memory, self._terms
        cdef double *table = self._job.moments + 2 * moments * (self._job.parts + 1)
        for i in range(self._job.count):
            self._job.terms[i].table = table
            self._describe(&self._job.terms[i], terms[i])
            table += 6 * symflow_fast_moments(self._job.d, self._job.terms[i].modes)
        return 0

    cdef int _describe(self, symflow_fast_term *term, given) except -1:
        cdef ptrdiff_t d = self._job.d
        term.modes = len(given["slope"]) - 1
        slope = Reader(given["slope"], term.modes + 1, "slope")
        along = Reader(given["along"], term.modes + 1, "along")
        self._keep += [slope, along]
        term.slope, term.along = (<Reader>slope).data, (<Reader>along).data
        term.kappa, term.first, term.floor = given["kappa"], given["first"], given["floor"]
        term.scale = given["scale"]
        term.turned, term.radial = given["turn"] is not None, given["radial"]
        term.normalised = given["normalised"]
        if term.turned:
            _fill(term.turn, given["turn"], d * d, "turn")
        _fill(term.matrix, given["matrix"], d * d, "matrix")
        _fill(term.offset, given["offset"], d, "offset")
        return 0

    def __dealloc__(self):
        free(self._memory)
        free(self._terms)

    @property
    def modes(self):
        """How many modes are kept, M."""
        return self._job.modes

    def copy(self):
        """Return a second call with scratch of its own, for a second thread."""
        return Harmonics(*self._arguments)


cdef class Moments(Bound):
    """The velocity of n tokens whose weights are affine in both tokens, from two moments of their law.

    Parameters
    ----------
    n, d : int
        Tokens and coordinates; the state is (n, d), row after row.
    background : contiguous float64 array, (d + 1, d)
        W and, last, the shift of what is added to the average.
    terms : contiguous float64 array, (count, 2 d² + 3 d + 1)
        B, b, a, s, M and c of each term, as in symflow_fast_affine.h.
    theta : contiguous float64 array, (n,), optional
        Weights of the tokens under a causal mask; without it the weights are 1/n and there is no mask.
    sphere : bool, default False
        Project on the tangent spaces.
    """

    cdef symflow_fast_affine _job
    cdef void *_memory
    cdef tuple _arguments
    cdef list _keep

    def __init__(self, ptrdiff_t n, ptrdiff_t d, background, terms, theta=None, bint sphere=False):
        if n < 1 or d < 1:
            raise ValueError(f"n = {n} tokens and d = {d} coordinates must be positive")
        if d > SMALL:
            require_blas()
        self._arguments = (n, d, background, terms, theta, sphere)
        self._keep = []
        self.size = n * d
        self._job.n, self._job.d, self._job.count, self._job.sphere = n, d, len(terms), sphere
        self._job.background = self._read(background, d * d + d, "background")
        self._job.terms = self._read(terms, len(terms) * symflow_fast_affine_term(d), "terms")
        if theta is not None:
            self._job.theta = self._read(theta, n, "theta")
        free(self._memory)
        self._memory = calloc(symflow_fast_affine_work(d), sizeof(double))
        if self._memory == NULL:
            raise MemoryError(f"moments of d = {d} coordinates")
        self._job.work = <double *>self._memory
        self.rhs = <symflow_rhs>symflow_fast_affine_velocity
        self.call.linalg = linalg_table()
        self.call.user = &self._job

    cdef const double *_read(self, values, ptrdiff_t count, str name) except? NULL:
        """Keep an array alive and return where it lies."""
        cdef Reader source = Reader(values, count, name)
        self._keep.append(source)
        return source.data

    def __dealloc__(self):
        free(self._memory)

    def copy(self):
        """Return a second call with scratch of its own, for a second thread."""
        return Moments(*self._arguments)
