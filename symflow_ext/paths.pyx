"""Paths of stochastic differential equations of tokens: whole paths in C, one per lane of a register.

What a path draws depends on the seed, its number and the step alone (Philox4x64-10), so that it has the
same bits whatever runs beside it; the loops are in include/paths/symflow_paths.h.
"""

from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free
from symflow_ext.abi cimport SYMFLOW_RAISED, symflow_call, symflow_rhs
from symflow_ext.buffers cimport Reader, Writer
from symflow_ext.call cimport Bound

cdef extern from "paths/symflow_paths.h" nogil:
    enum:
        SYMFLOW_PATHS_LANES
        SYMFLOW_PATHS_PIECES
        SYMFLOW_PATHS_TERMS
    double SYMFLOW_PATHS_PER_WIDTH

    ctypedef struct symflow_paths:
        ptrdiff_t n, d, steps, substeps
        int sphere, scheme, draw, fused
        double t0, t1, dt
        unsigned long long[2] key
        const double *kappa
        double tiny
        ptrdiff_t sources
        const double *factor
        double scale, sign
        ptrdiff_t features, program
        const double *codes
        const double *numbers
        double inner, inner_bias, outer_bias
        const double *amplitudes
        ptrdiff_t count, times
        const ptrdiff_t *rows
        const double *shares
        double *out
        ptrdiff_t *reached

    ctypedef struct symflow_paths_group:
        ptrdiff_t step, first, row
        unsigned long long[8] path
        long long[8] alive
        int[8] reason
        ptrdiff_t[8] ended
        double *now
        double *before
        double *memory
        symflow_rhs rhs
        const symflow_call *call
        double *y
        double *dy

    double symflow_paths_clock()
    int symflow_paths_width()
    ptrdiff_t symflow_paths_memory(const symflow_paths *, int)
    int symflow_paths_place(const symflow_paths *, symflow_paths_group *, int)
    void symflow_paths_start(const symflow_paths *, symflow_paths_group *, int, int, const double *)
    int symflow_paths_run(const symflow_paths *, symflow_paths_group *, int, ptrdiff_t, double)
    int symflow_paths_normals(int, ptrdiff_t, const unsigned long long *, unsigned long long,
                              unsigned long long, const unsigned long long *, double *, int)

#: Paths that share a register; pieces of a table, coefficients of a piece, pieces per unit of sqrt(1 - |u|).
LANES = symflow_paths_width()
PIECES = SYMFLOW_PATHS_PIECES
TERMS = SYMFLOW_PATHS_TERMS
PER_WIDTH = SYMFLOW_PATHS_PER_WIDTH
#: What can be asked for, by number.
SCHEMES = ("euler-maruyama", "heun")
DRAWS = ("none", "covariance", "features", "harmonics")
#: How a path ended, by number; 0 means that it has not.
STATUSES = ("stopped", "finished", "step-too-small", "non-finite")


def draw_numbers(key, ptrdiff_t count, paths, unsigned long long step, unsigned long long tag,
                 bint raw=False):
    """Return normal numbers of some streams, (paths, count), or the words that they are made of."""
    from numpy import array, empty, uint64

    cdef unsigned long long[2] words
    cdef unsigned long long[8] lanes
    cdef ptrdiff_t padded = (count + 3) // 4 * 4, first, lane
    words[0], words[1] = key
    numbers = empty((padded, LANES))
    cdef Writer out = Writer(numbers, padded * LANES, "numbers")
    rows = []
    for first in range(0, len(paths), LANES):
        chosen = [int(path) for path in paths[first : first + LANES]]
        for lane in range(LANES):
            lanes[lane] = chosen[min(lane, len(chosen) - 1)]
        symflow_paths_normals(LANES, padded, lanes, step, tag, words, out.data, raw)
        rows.extend(numbers[:count, lane].copy() for lane in range(len(chosen)))
    found = array(rows).reshape(len(paths), count)
    return found.view(uint64) if raw else found


cdef class Paths:
    """Paths of one equation: what goes in, and the arrays that the threads fill.

    Parameters
    ----------
    x0 : contiguous float64 array, (n, d) or (paths, n, d)
    path : contiguous array of unsigned integers, (paths,)
        The number of each path, which selects its streams.
    key : (int, int)
    t0, t1, dt : float
    steps : int
        Of size ``dt``; the last one ends at ``t1``.
    scheme, draw : str
        One of ``SCHEMES`` and of ``DRAWS``.
    sphere : bool
    rows : contiguous integer array, (times,)
        The step during which each time to record lies, increasing; 0 is the start.
    shares : contiguous float64 array, (times,)
        How far into the step, 1 at its end.
    out : contiguous float64 array, (paths, times, n, d)
    last : contiguous float64 array, (paths, n, d)
        The last tokens of each path.
    status, reason, ended, reached : contiguous integer arrays, (paths,)
        ``status`` is an index into ``STATUSES``, ``reason`` what the right-hand side returned, ``ended`` the
        last step, ``reached`` how many rows of ``out`` were written.
    attention : (float, float) or None
        Scale and sign of attention by exponentials of inner products, which needs no right-hand side.
    substeps : int
        A step draws the sum of so many finer ones.
    kappa : contiguous float64 array, (TERMS, PIECES), and ``tiny``, for covariance draws
    factor : contiguous float64 array, (d, sources), or None
    features : int
        Hidden units, or the largest degree of harmonics.
    program : (codes, numbers) or None
        The activation; ``layer`` has the factors of inner products, of inner and of outer biases.
    amplitudes : contiguous float64 array, (features + 1,)
    """

    cdef symflow_paths _paths
    cdef dict _keep
    cdef ptrdiff_t _next
    cdef bint _shared
    cdef const double *_x0
    cdef double *_last
    cdef unsigned long long *_path
    cdef ptrdiff_t *_status
    cdef ptrdiff_t *_reason
    cdef ptrdiff_t *_ended

    def __init__(self, x0, path, key, double t0, double t1, double dt, ptrdiff_t steps, *, str scheme,
                 str draw, bint sphere, rows, shares, out, last, status, reason, ended, reached,
                 attention=None, ptrdiff_t substeps=1, kappa=None, double tiny=0.0, factor=None,
                 ptrdiff_t features=0, program=None, layer=(0.0, 0.0, 0.0), amplitudes=None):
        p = &self._paths
        self._keep = {}
        p.n, p.d = x0.shape[x0.ndim - 2], x0.shape[x0.ndim - 1]
        p.t0, p.t1, p.dt, p.steps, p.substeps = t0, t1, dt, steps, substeps
        p.key[0], p.key[1] = key
        p.scheme, p.draw, p.sphere = SCHEMES.index(scheme), DRAWS.index(draw), sphere
        p.fused = attention is not None
        p.scale, p.sign = (0.0, 0.0) if attention is None else attention
        p.count, self._next = len(path), 0
        self._shared = x0.ndim == 2
        cdef ptrdiff_t size = p.n * p.d
        self._x0 = self._read(x0, size if self._shared else p.count * size, "x0")
        self._record(rows, shares, out)
        self._last = self._write(last, p.count * size, "last")
        self._path = <unsigned long long *>self._whole(path, p.count, "path")
        self._status = self._whole(status, p.count, "status")
        self._reason = self._whole(reason, p.count, "reason")
        self._ended = self._whole(ended, p.count, "ended")
        p.reached = self._whole(reached, p.count, "reached")
        self._field(kappa, tiny, features, program, layer, amplitudes)
        p.sources, p.factor = 0, NULL
        if factor is not None:
            p.sources = factor.shape[1]
            p.factor = self._read(factor, p.d * p.sources, "factor")

    cdef int _field(self, kappa, double tiny, ptrdiff_t features, program, layer, amplitudes) except -1:
        """Take in what the draws of the common field need."""
        p = &self._paths
        p.kappa, p.codes, p.numbers, p.amplitudes = NULL, NULL, NULL, NULL
        p.features, p.program, p.tiny = features, 0, tiny
        p.inner, p.inner_bias, p.outer_bias = layer
        cdef str draw = DRAWS[p.draw]
        if draw == "covariance":
            p.kappa = self._read(kappa, TERMS * PIECES, "kappa")
        if draw == "features":
            p.program = len(program[0])
            p.codes = self._read(program[0], p.program, "codes")
            p.numbers = self._read(program[1], p.program, "numbers")
        if draw == "harmonics":
            p.amplitudes = self._read(amplitudes, features + 1, "amplitudes")
        return 0

    cdef const double *_read(self, array, ptrdiff_t size, str name) except? NULL:
        cdef Reader view = Reader(array, size, name)
        self._keep[name] = view
        return view.data

    cdef double *_write(self, array, ptrdiff_t size, str name) except? NULL:
        cdef Writer view = Writer(array, size, name)
        self._keep[name] = view
        return view.data

    cdef ptrdiff_t *_whole(self, array, ptrdiff_t size, str name) except? NULL:
        cdef Writer view = Writer(array, size, name, "integer")
        self._keep[name] = view
        return <ptrdiff_t *>view.data

    cdef ptrdiff_t _take(self) noexcept:
        """Return the first path of a group that no thread has taken; the interpreter's lock is held."""
        cdef ptrdiff_t first = self._next
        self._next = first + LANES
        return first

    cdef int _record(self, rows, shares, out) except -1:
        """Point at other times to record, and other rows for them."""
        p = &self._paths
        p.times = len(rows)
        p.rows = self._whole(rows, p.times, "rows")
        p.shares = self._read(shares, p.times, "shares")
        p.out = self._write(out, p.count * p.times * p.n * p.d, "out")
        return 0


cdef class Worker:
    """What one thread holds: the registers of a group of paths. Several workers share one :class:`Paths`.

    Parameters
    ----------
    paths : Paths
    call : Bound or None
        The right-hand side, of this thread alone; None where attention needs none.
    """

    cdef Paths _paths
    cdef Bound _bound
    cdef symflow_paths_group _group
    cdef void *_memory
    cdef bint _busy, _started

    def __init__(self, Paths paths, Bound call=None):
        cdef int width = LANES
        cdef ptrdiff_t size = paths._paths.n * paths._paths.d
        cdef ptrdiff_t numbers = symflow_paths_memory(&paths._paths, width)
        if call is None and not paths._paths.fused:
            raise ValueError("paths without attention of their own need a right-hand side")
        if call is not None and call.size != size:
            raise ValueError(f"a right-hand side of {call.size} numbers does not fit {size}")
        self._paths, self._bound = paths, call
        free(self._memory)
        self._memory = calloc(numbers + 2 * size + 8, 8)
        if self._memory == NULL:
            raise MemoryError(f"{8 * numbers} bytes for the paths of one thread")
        self._group.memory = <double *>((<uintptr_t>self._memory + 63) & ~<uintptr_t>63)
        self._group.y = self._group.memory + numbers
        self._group.dy = self._group.y + size
        if call is not None:
            self._group.rhs, self._group.call = call.rhs, &call.call
        self._started = False

    def __dealloc__(self):
        free(self._memory)

    @property
    def step(self):
        """How many steps the paths at hand have taken."""
        return self._group.step

    def advance(self, double seconds, ptrdiff_t until=-1):
        """Take steps for about ``seconds``, at most up to step ``until``; True when no path is left."""
        if self._busy:
            raise RuntimeError("this worker is in use by another thread; give each thread its own")
        self._busy = True
        if self._bound is not None:
            self._bound.acquire()
        try:
            return self._advance(seconds, self._paths._paths.steps if until < 0 else until)
        finally:
            self._busy = False
            if self._bound is not None:
                self._bound.release()

    cdef bint _advance(self, double seconds, ptrdiff_t until) except -1:
        cdef double deadline = symflow_paths_clock() + seconds
        cdef const symflow_paths *p = &self._paths._paths
        cdef int code, width = LANES
        while True:
            if not self._started:
                self._group.first = self._paths._take()
                if self._group.first >= p.count:
                    return True
                self._begin()
            with nogil:
                code = symflow_paths_run(p, &self._group, width, until, deadline)
            if code == SYMFLOW_RAISED:
                _propagate()
            if self._group.step < p.steps:
                return False
            self._finish()
            if symflow_paths_clock() > deadline:
                return False

    cdef int _begin(self) except -1:
        """Put every lane at its start; a lane without a path repeats the last one, and rests."""
        cdef Paths paths = self._paths
        cdef ptrdiff_t size = paths._paths.n * paths._paths.d, m
        cdef int lane, width = LANES
        symflow_paths_place(&paths._paths, &self._group, width)
        self._group.step, self._group.row, self._started = 0, 0, True
        for lane in range(width):
            m = min(self._group.first + lane, paths._paths.count - 1)
            self._group.path[lane] = paths._path[m]
            symflow_paths_start(&paths._paths, &self._group, width, lane,
                                paths._x0 + (0 if paths._shared else m * size))
            if self._group.first + lane >= paths._paths.count:
                self._group.alive[lane] = 0
        return 0

    cdef int _finish(self) except -1:
        """Enter how the paths of the group ended; the status last, because another thread may be counting."""
        cdef Paths paths = self._paths
        cdef ptrdiff_t lane, m
        self._started = False
        self.keep()
        for lane in range(LANES):
            m = self._group.first + lane
            if m < paths._paths.count:
                paths._ended[m] = self._group.ended[lane]
                paths._reason[m] = self._group.reason[lane]
                paths._status[m] = 1 if self._group.alive[lane] else (2 if self._group.reason[lane] else 3)
        return 0

    def keep(self):
        """Enter the present tokens of the paths at hand as their last ones."""
        cdef Paths paths = self._paths
        cdef ptrdiff_t size = paths._paths.n * paths._paths.d, i, lane, width = LANES
        for lane in range(width):
            if self._group.first + lane < paths._paths.count:
                for i in range(size):
                    paths._last[(self._group.first + lane) * size + i] = self._group.now[i * width + lane]

    def record(self, rows, shares, out):
        """Go on with other times to record, and other rows for them."""
        self._paths._record(rows, shares, out)
        self._group.row = 0


cdef int _propagate() except 3:
    """Return as a function that raised returns: the exception has been pending since the callback."""
    return SYMFLOW_RAISED
