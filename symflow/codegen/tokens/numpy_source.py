"""Tokens → readable NumPy source: rows of scores in blocks, never all pairs at once.

The fallback without a compiler, and a witness for compiled kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sympy import Symbol

from symflow.codegen.names import identifiers
from symflow.codegen.numpy_printer import statement
from symflow.codegen.program import ONE, ZERO, Array, Combine, Program, Size, flattened
from symflow.codegen.tokens.program import Inner, Number, TermProgram, TokenProgram
from symflow.codegen.tokens.scalars import NUMPY, text_of
from symflow.flow import SCORE

_RESERVED = (
    *("np", "scipy", "print", "super", "self", "tokens", "scores", "weight", "theta", "velocity", "i", "s"),
    *("averaged", "softmax", "sinkhorn", "blocks", "squared_distances", "NotConverged", "OutsideDomain"),
)

_HEADER = '''"""{title}"""

import numpy as np
{imports}

class OutsideDomain(ArithmeticError):
    """The normaliser diverges."""


class NotConverged(ArithmeticError):
    """An iteration has not met its stopping rule."""


def blocks(n):
    """Yield slices of n rows, so short that a block of n columns stays in the cache."""
    step = max(1, 2**17 // n)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
'''

_DISTANCES = '''

def squared_distances(left, right):
    """Return |left_i - right_j|^2 for all columns; expanding the square would cancel."""
    found = np.zeros((left.shape[1], right.shape[1]))
    for a, b in zip(left, right):
        found += (a[:, None] - b) ** 2
    return found
'''

_HIDE = '''

def hide(s, i, value):
    """Return s with ``value`` where the second token comes after the first; the rows are the tokens i."""
    later = np.arange(s.shape[1]) > np.arange(i.start, i.stop)[:, None]
    return np.where(later, value, s)
'''

_SOFTMAX = '''

def softmax(scores, feature, theta):
    """Return the average of the feature with weights theta_j exp(s_ij), normalised for each i, and their sum.

    The largest score of a row is subtracted first: no exponential overflows, and one of them is 1.
    """
    average = np.empty_like(feature)
    for i in blocks(theta.size):
        s = {s}
        largest = s.max(axis=1, keepdims=True)
        w = theta * np.exp(s - np.where(np.isfinite(largest), largest, 0.0))
        average[:, i] = feature @ w.T / w.sum(axis=1)
    return average, np.ones((1, theta.size))
'''

_AVERAGED = '''

def averaged(scores, weight, feature, theta, normalised):
    """Return the sums of theta_j w(s_ij) f_j and of theta_j w(s_ij) over j, over the latter if normalised."""
    average, mass = np.empty_like(feature), np.empty((1, theta.size))
    for i in blocks(theta.size):
        w = {w}
        average[:, i], mass[:, i] = feature @ w.T, w.sum(axis=1)
    return (average / mass, np.ones_like(mass)) if normalised else (average, mass)
'''

_SINKHORN = '''

def log_sum_exp(s, axis):
    """Return log(sum(exp(s))) without overflow."""
    largest = s.max(axis=axis)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    return shift + np.log(np.exp(s - np.expand_dims(shift, axis)).sum(axis=axis))


def sinkhorn(scores, feature, theta):
    """Return the average of the feature with the weights theta_j exp(f_i + s_ij + g_j), whose rows sum to 1,
    as do the columns with the weights theta_i.

    The rows and the columns are scaled in turn, in logarithms, until no column sum is further from 1 than
    {tolerance} and the rounding of exponents (or {limit} times: then NotConverged is raised).
    """
    log_theta = np.log(theta)
    g = np.zeros_like(theta)
    for _ in range({limit}):
        f, total = np.empty_like(g), np.full_like(g, -np.inf)
        for i in blocks(theta.size):
            s = scores(i)
            f[i] = -log_sum_exp(s + g + log_theta, axis=1)
            total = np.logaddexp(total, log_sum_exp((s.T + f[i] + log_theta[i]).T, axis=0))
        error = np.abs(np.expm1(g + total)).max()
        rounding = 4 * np.finfo(float).eps * (np.abs(f).max() + np.abs(g).max())
        if error <= {tolerance} + rounding or np.isnan(error):
            break
        g = -total
    else:
        raise NotConverged
    average = np.empty_like(feature)
    for i in blocks(theta.size):
        average[:, i] = feature @ np.exp(f[i, None] + scores(i) + g + log_theta).T
    return average, np.ones((1, theta.size))
'''

#: When the scaling of rows and columns stops: the tolerance of ``symflow_scaling.h``, and more passes, for
#: scaling in turn is slow where scores are large.
TOLERANCE, LIMIT = "1e-13", "100000"


def numpy_source(program: TokenProgram, title: str) -> str:
    """Return a Python module with the function ``tokens``.

    It takes the tokens as the rows of an array and the parameters as two-dimensional arrays (scalars as
    floats) and returns the velocities as a tuple of one array.

    Parameters
    ----------
    program : TokenProgram
        As :func:`symflow.codegen.tokens.lower.lower_tokens` returns it.
    title : str
        First line of the docstring.
    """
    body = _Function(program).text()
    imports = "import scipy.special\n" if "scipy.special" in body else ""
    return "".join((_HEADER.format(title=title, imports=imports), *_helpers(program, body), "\n\n", body))


def _helpers(program: TokenProgram, body: str) -> Iterable[str]:
    """Yield the functions that the body calls."""
    causal = program.weights is not None
    if "squared_distances(" in body:
        yield _DISTANCES
    if causal:
        yield _HIDE
    if "softmax(" in body:
        yield _SOFTMAX.format(s="hide(scores(i), i, -np.inf)" if causal else "scores(i)")
    if "averaged(" in body:
        w = "hide(weight(scores(i)), i, 0.0)" if causal else "weight(scores(i))"
        yield _AVERAGED.format(w=f"theta * {w}")
    if "sinkhorn(" in body:
        yield _SINKHORN.format(tolerance=TOLERANCE, limit=LIMIT)


class _Function:
    """The text of the function of one program."""

    def __init__(self, program: TokenProgram) -> None:
        self.program = program
        parts = [part for term in program.terms for part in (term.prepare, term.finish)]
        self.parts: list[Program] = [*parts, *([program.background] if program.background else [])]
        arrays = [a.name for part in self.parts for a in part.arrays]
        listed = [program.x.name, program.ones.name, *(p.name for p in program.parameters)]
        symbols = [s.name for term in program.terms for s in _symbols(term)]
        names = [*listed, *arrays, *symbols, *program.dimensions]
        self.names = identifiers(["X", *names], reserved=_RESERVED)
        self.names[program.pitch] = self.names[program.dimensions[-1]]

    def text(self) -> str:
        """Return the whole function."""
        p, names = self.program, self.names
        arguments = ", ".join(["X", *(names[a.name] for a in p.parameters)])
        lines = [f"{names[p.x.name]} = X.T", *self._sizes(), *self._ones(), self._theta()]
        lines += self._start()
        for term in p.terms:
            lines += self._term(term)
        if p.sphere:
            x = names[p.x.name]
            lines.append(f"velocity = velocity - ({x} * velocity).sum(axis=0) * {x}")
        head = [f"def tokens({arguments}):", *self._docstring()]
        return "\n".join([*head, *(f"    {line}".rstrip() for line in lines), "    return (velocity.T,)", ""])

    def _docstring(self) -> list[str]:
        p, names = self.program, self.names
        shape = {a.name: _shape(a) for a in p.parameters}
        n, d = p.dimensions[-1], p.dimensions[0]
        text = [
            f'"""Velocity of the tokens of {p.model}{", tangent to the sphere" * p.sphere}.',
            "",
            "Parameters",
            "----------",
            f"X : ({n}, {d}) array",
            *(
                f"{names[a.name]} : " + ("float" if a.name in p.scalars else f"{shape[a.name]} array")
                for a in p.parameters
            ),
            "",
            "Returns",
            "-------",
            f"velocity : ({n}, {d}) array",
            '"""',
        ]
        return [f"    {line}".rstrip() for line in text]

    def _sizes(self) -> list[str]:
        """Return the statements that read the sizes which the body needs."""
        p, names = self.program, self.names
        lines = [f"{names[p.dimensions[0]]}, {names[p.dimensions[-1]]} = {names[p.x.name]}.shape"]
        needed = {size for part in self.parts for size in _sizes_in(part)}
        needed |= {s.name for term in p.terms for _, value in term.constants for s in value.free_symbols}
        for size in p.dimensions[1:-1]:
            if size in needed:
                array = next(a for a in p.parameters if size in _axes(a))
                lines.append(f"{names[size]} = {names[array.name]}.shape[{_axes(array).index(size)}]")
        return lines

    def _ones(self) -> list[str]:
        """Return the row of ones, where constant columns need it."""
        p = self.program
        used = any(p.ones in op.reads() for part in self.parts for op in flattened(part.ops))
        if not used:
            return []
        return [f"{self.names[p.ones.name]} = np.ones((1, {self.names[p.dimensions[-1]]}))"]

    def _theta(self) -> str:
        n = self.names[self.program.dimensions[-1]]
        if self.program.weights is None:
            return f"theta = np.full({n}, 1 / {n})"
        return f"theta = {self.names[self.program.weights]}[:, 0]"

    def _start(self) -> list[str]:
        if self.program.background is None:
            return [] if self._alone() else [f"velocity = np.zeros_like({self.names[self.program.x.name]})"]
        (layer,) = self.program.background.outputs
        return [*self._operations(self.program.background, {}), f"velocity = {self.names[layer.name]}"]

    def _alone(self) -> bool:
        """Whether the velocity is that of one term."""
        terms = self.program.terms
        return self.program.background is None and len(terms) == 1 and not terms[0].members

    def _operations(self, part: Program, own: Mapping[str, str]) -> list[str]:
        names = {**self.names, **own}
        scalars = {name: self.names[name] for name in (*self.program.scalars, *self.program.dimensions)}
        return [statement(op, names, scalars) for op in part.ops]

    def _term(self, term: TermProgram) -> list[str]:
        own = {name: f"{self.names[name]}_h" for name in term.members}
        lines = [
            *self._operations(term.prepare, own),
            *(line for number in (*term.rows, *term.columns) for line in self._number(number, own)),
            *self._scores(term),
            *self._average(term, own),
            *self._operations(term.finish, own),
            "velocity = " + "velocity + " * (not self._alone()) + self._of(term.velocity, own),
        ]
        if not term.members:
            return lines
        stacks = ", ".join(self.names[name] for name in term.members)
        slices = ", ".join(own.values())
        loop = f"for {slices} in zip({stacks}):" if len(own) > 1 else f"for {slices} in {stacks}:"
        return [loop, *(f"    {line}".rstrip() for line in lines)]

    def _of(self, array: Array, own: Mapping[str, str]) -> str:
        return own.get(array.name) or self.names[array.name]

    def _number(self, number: Number, own: Mapping[str, str]) -> list[str]:
        table = {**self._scalars(), **{inner.symbol: self._inner(inner, own) for inner in number.inner}}
        text = text_of(number.value, table, NUMPY)
        return [f"{self.names[number.symbol.name]} = {text}"]

    def _inner(self, inner: Inner, own: Mapping[str, str]) -> str:
        a = self._of(inner.a, own)
        if inner.b is not None:
            return f"({a} * {self._of(inner.b, own)}).sum(axis=0)"
        return f"{a}[0]" if inner.a.cols != 1 else f"{a}[0, 0]"

    def _scalars(self) -> dict[Symbol, str]:
        """Return the text of everything in an expression that is no number of a token."""
        p = self.program
        known = (*p.scalars, *p.dimensions)
        symbols = {s for term in p.terms for _, value in term.constants for s in value.free_symbols}
        numbers = (n for term in p.terms for n in (*term.rows, *term.columns))
        symbols |= {s for number in numbers for s in number.value.free_symbols}
        return {s: self.names[s.name] for s in symbols if s.name in known}

    def _scores(self, term: TermProgram) -> list[str]:
        """Return the function of a block of rows, and the weight of a score where it is not exponential."""
        table = self._scalars()
        lines = [
            f"{self.names[name.name]} = {text_of(value, table, NUMPY)}" for name, value in term.constants
        ]
        lines += ["", "def scores(i):"]
        for coupling in term.couplings:
            u, a, b = (self.names[n] for n in (coupling.symbol.name, coupling.left.name, coupling.right.name))
            value = f"squared_distances({a}[:, i], {b})" if coupling.difference else f"{a}[:, i].T @ {b}"
            lines.append(f"    {u} = {value}")
            table[coupling.symbol] = u
        rows = ((number.symbol, number.is_constant) for number in term.rows)
        table |= {name: self.names[name.name] + "[i, None]" * (not fixed) for name, fixed in rows}
        table |= {number.symbol: self.names[number.symbol.name] for number in term.columns}
        table |= {symbol: self.names[symbol.name] for symbol, _ in term.constants}
        score = text_of(term.score, table, NUMPY)
        if not term.couplings:  # it is the same for every i, or for every j
            score = f"np.broadcast_to({score}, (i.stop - i.start, {self.names[self.program.dimensions[-1]]}))"
        lines += [f"    return {score}", ""]
        if not term.exponential:
            lines += ["def weight(s):", f"    return {text_of(term.weight, {SCORE: 's'}, NUMPY)}", ""]
        return lines

    def _average(self, term: TermProgram, own: Mapping[str, str]) -> list[str]:
        average, mass = (self.names[a.name] for a in term.finish.inputs)
        feature = self._of(term.feature, own)
        if term.normalise == "sinkhorn":
            call = f"sinkhorn(scores, {feature}, theta)"
        elif term.normalise == "softmax" and term.exponential:
            call = f"softmax(scores, {feature}, theta)"
        else:
            weight = "np.exp" if term.exponential else "weight"
            call = f"averaged(scores, {weight}, {feature}, theta, {term.normalise == 'softmax'})"
        return [f"{average}, {mass} = {call}"]


def _symbols(term: TermProgram) -> Iterable[Symbol]:
    yield from (coupling.symbol for coupling in term.couplings)
    yield from (number.symbol for number in (*term.rows, *term.columns))
    yield from (name for name, _ in term.constants)


def _axes(array: Array) -> tuple[Size, ...]:
    lead = () if array.lead is None else (array.lead,)
    return (*lead, array.rows, array.cols)


def _shape(array: Array) -> str:
    return "(" + ", ".join(map(str, _axes(array))) + ")"


def _sizes_in(part: Program) -> Iterable[Size]:
    """Yield the sizes that the text of a program mentions: of zeros and identities, and in coefficients."""
    for op in flattened(part.ops):
        if isinstance(op, Combine):
            yield from (op.out.rows, op.out.cols) if not op.terms else ()
            yield from (op.out.rows,) if op.diagonal != ZERO else ()
            yield from (s.name for term in op.terms for s in term.coefficient.free_symbols)
            yield from (s.name for s in op.diagonal.free_symbols)
        else:
            yield from (s.name for s in getattr(op, "alpha", ONE).free_symbols)
