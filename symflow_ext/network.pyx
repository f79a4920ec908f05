"""Deep transformers with random layers: all layers of a path in C, tokens in the lanes of vector registers.

What a layer draws depends on the seed, the number of the path and the layer alone (Philox4x64-10); the loops
are in include/network/symflow_network.h.
"""

from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from symflow_ext.abi cimport SYMFLOW_OK, SYMFLOW_RAISED, symflow_call, symflow_rhs
from symflow_ext.buffers cimport Reader, Writer
from symflow_ext.call cimport Bound

cdef extern from "network/symflow_network.h" nogil:
    enum:
        SYMFLOW_NETWORK_NON_FINITE

    ctypedef struct symflow_network:
        ptrdiff_t n, d, width, layers, program
        double horizon
        unsigned long long[2] key
        const double *codes
        const double *numbers
        double inner, inner_bias, outer_bias

    ctypedef struct symflow_network_path:
        ptrdiff_t layer
        unsigned long long path
        double *x
        double *y
        double *columns
        double *field
        double *drawn
        double *values
        symflow_rhs rhs
        const symflow_call *call

    ptrdiff_t symflow_network_padded(ptrdiff_t)
    ptrdiff_t symflow_network_weights(const symflow_network *)
    ptrdiff_t symflow_network_room(const symflow_network *)
    ptrdiff_t symflow_network_values(const symflow_network *)
    double symflow_network_clock()
    int symflow_network_width(int)
    void symflow_network_draw(const symflow_network *, int, unsigned long long, ptrdiff_t, double *)
    void symflow_network_turn(const symflow_network *, const double *, double *)
    void symflow_network_field(const symflow_network *, int, const double *, const double *, double *,
                               double *)
    int symflow_network_run(const symflow_network *, symflow_network_path *, int, ptrdiff_t, double)

#: What a layer returns where tokens are no finite numbers; smaller numbers are those of ``call.STATUS``.
NON_FINITE = SYMFLOW_NETWORK_NON_FINITE


cdef class Network:
    """A network: sizes, activation and seed. It does not change; threads share it.

    Parameters
    ----------
    n, d, width, layers : int
        Tokens, coordinates, hidden units, layers; all positive.
    horizon : float
    key : (int, int)
        Of the streams.
    program : (codes, numbers)
        The activation: contiguous float64 arrays, as in :class:`symflow_ext.schedule.Tape`.
    sigma_w, sigma_u : float
        Standard deviations of the biases.
    lanes : int
        The widest register to use.
    """

    cdef symflow_network _network
    cdef Reader _codes
    cdef Reader _numbers
    cdef int _lanes

    def __init__(self, ptrdiff_t n, ptrdiff_t d, ptrdiff_t width, ptrdiff_t layers, double horizon, key,
                 program, double sigma_w, double sigma_u, int lanes=8):
        if min(n, d, width, layers) < 1:
            raise ValueError(f"n, d, width, layers = {n}, {d}, {width}, {layers} must be positive")
        s = &self._network
        s.n, s.d, s.width, s.layers, s.horizon = n, d, width, layers, horizon
        s.key[0], s.key[1] = key
        s.program = len(program[0])
        self._codes = Reader(program[0], s.program, "codes")
        self._numbers = Reader(program[1], s.program, "numbers")
        s.codes, s.numbers = self._codes.data, self._numbers.data
        s.inner, s.inner_bias, s.outer_bias = 1.0 / d**0.5, sigma_u, sigma_w
        self._lanes = symflow_network_width(lanes)

    @property
    def weights(self):
        """How many numbers a layer draws."""
        return symflow_network_weights(&self._network)


cdef class Pass:
    """One path through the layers at a time; one user at a time.

    Parameters
    ----------
    network : Network
    attention : Bound or None
        The attention of this pass alone; None for none.
    """

    cdef Network _shared
    cdef Bound _attention
    cdef symflow_network_path _path
    cdef void *_memory
    cdef Writer _out
    cdef Reader _rows
    cdef ptrdiff_t _times
    cdef bint _busy
    cdef readonly ptrdiff_t reached
    cdef readonly int reason

    def __init__(self, Network network, Bound attention=None):
        s = &network._network
        cdef ptrdiff_t size = s.n * s.d, padded = symflow_network_padded(s.n) * s.d
        cdef ptrdiff_t room = symflow_network_room(s), total
        if attention is not None and attention.size != size:
            raise ValueError(f"attention of {attention.size} numbers does not fit {size}")
        total = symflow_network_values(s) + 2 * (size + padded) + room + 8
        self._shared, self._attention = network, attention
        free(self._memory)
        self._memory = calloc(total, 8)
        if self._memory == NULL:
            raise MemoryError(f"a layer needs {total} numbers")
        p = &self._path
        p.values = <double *>((<uintptr_t>self._memory + 63) & ~<uintptr_t>63)
        p.columns = p.values + symflow_network_values(s)
        p.field = p.columns + padded
        p.x = p.field + padded
        p.y = p.x + size
        p.drawn = p.y + size
        if attention is not None:
            p.rhs, p.call = attention.rhs, &attention.call

    def __dealloc__(self):
        free(self._memory)

    def start(self, path, x0, rows, out):
        """Put tokens at the first layer of a path; ``out`` gets them after as many layers as ``rows``.

        Parameters
        ----------
        path : int
        x0 : contiguous float64 array, (n, d)
            On the sphere.
        rows : contiguous integer array, (times,)
            Increasing numbers of layers.
        out : contiguous float64 array, (times, n, d)
        """
        s = &self._shared._network
        cdef ptrdiff_t size = s.n * s.d
        cdef Reader source = Reader(x0, size, "x0")
        self._times = len(rows)
        self._rows = Reader(rows, self._times, "rows", "integer")
        self._out = Writer(out, self._times * size, "out")
        self._path.path, self._path.layer = path, 0
        self.reached, self.reason = 0, 0
        memcpy(self._path.x, source.data, size * 8)
        self._record()

    cdef void _record(self) noexcept:
        cdef const ptrdiff_t *rows = <const ptrdiff_t *>self._rows.data
        cdef ptrdiff_t size = self._shared._network.n * self._shared._network.d
        while self.reached < self._times and rows[self.reached] <= self._path.layer:
            memcpy(self._out.data + self.reached * size, self._path.x, size * 8)
            self.reached += 1

    @property
    def layer(self):
        """How many layers lie behind."""
        return self._path.layer

    def tokens(self, out):
        """Write the present tokens (n, d)."""
        cdef ptrdiff_t size = self._shared._network.n * self._shared._network.d
        cdef Writer target = Writer(out, size, "out")
        memcpy(target.data, self._path.x, size * 8)

    def draw(self, path, ptrdiff_t layer, out):
        """Write the normal numbers of a layer of a path: U, W (both unit by unit), b_U, b_W."""
        s = &self._shared._network
        cdef ptrdiff_t count = symflow_network_weights(s)
        cdef Writer target = Writer(out, count, "out")
        symflow_network_draw(s, self._shared._lanes, path, layer, self._path.drawn)
        memcpy(target.data, self._path.drawn, count * 8)

    def field(self, ptrdiff_t layer, x, out):
        """Write G(x) (n, d) of a layer of the path, by the loops of a run."""
        s = &self._shared._network
        cdef ptrdiff_t padded = symflow_network_padded(s.n), i, c
        cdef Reader source = Reader(x, s.n * s.d, "x")
        cdef Writer target = Writer(out, s.n * s.d, "out")
        p = &self._path
        symflow_network_turn(s, source.data, p.columns)
        symflow_network_draw(s, self._shared._lanes, p.path, layer, p.drawn)
        symflow_network_field(s, self._shared._lanes, p.drawn, p.columns, p.field, p.values)
        for i in range(s.n):
            for c in range(s.d):
                target.data[i * s.d + c] = p.field[c * padded + i]

    def advance(self, double seconds, ptrdiff_t until=-1):
        """Pass layers for about ``seconds``, at most up to layer ``until``; True when the path has ended."""
        if self._busy:
            raise RuntimeError("this pass is in use by another thread; give each thread its own")
        self._busy = True
        if self._attention is not None:
            self._attention.acquire()
        try:
            return self._advance(seconds, self._shared._network.layers if until < 0 else until)
        finally:
            self._busy = False
            if self._attention is not None:
                self._attention.release()

    cdef bint _advance(self, double seconds, ptrdiff_t until) except -1:
        cdef double deadline = symflow_network_clock() + seconds
        cdef const symflow_network *s = &self._shared._network
        cdef const ptrdiff_t *rows = <const ptrdiff_t *>self._rows.data
        cdef int width = self._shared._lanes
        cdef ptrdiff_t target
        while self._path.layer < until and self.reason == SYMFLOW_OK:
            target = until
            if self.reached < self._times and rows[self.reached] < until:
                target = rows[self.reached]
            with nogil:
                self.reason = symflow_network_run(s, &self._path, width, target, deadline)
            if self.reason == SYMFLOW_RAISED:
                self.reason = SYMFLOW_OK
                _propagate()
            self._record()
            if symflow_network_clock() > deadline:
                break
        return self.reason != SYMFLOW_OK or self._path.layer >= s.layers


cdef int _propagate() except 3:
    """Return as a function that raised returns: the exception has been pending since the callback."""
    return SYMFLOW_RAISED
