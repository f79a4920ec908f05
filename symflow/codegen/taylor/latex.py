r"""The recurrences of Taylor coefficients as displayed equations, one per operation."""

from __future__ import annotations

import functools
from typing import Any

from symflow.algebra.latex import latex
from symflow.codegen.lower import lower
from symflow.codegen.program import (
    ONE,
    ZERO,
    Array,
    Combine,
    Factorise,
    Gemm,
    Operand,
    Program,
    RequirePositive,
    Root,
    Scaled,
    Solve,
    SymmetrisedSum,
    TraceOf,
    flattened,
    loops,
)
from symflow.codegen.taylor.recursion import recursion
from symflow.errors import InputError
from symflow.flow import Flow


def taylor_recurrences(flow: Flow, form: str = "moments") -> tuple[str, ...]:
    r"""Return the recurrences by which the Taylor coefficients of a flow's solution are computed, in LaTeX.

    With :math:`X_{[k]} = X^{(k)}(t)/k!`, in order of execution: one equation per intermediate matrix
    :math:`W_i`, then one per state. They hold for every :math:`k \ge 0`; a sum from 1 to 0 is empty, and
    a constant counts at :math:`k = 0` only, :math:`\delta_{k0}`. What differs from head to head has an
    index h.

    Parameters
    ----------
    flow : Flow
        An autonomous matrix ODE.
    form : str, default "moments"
        Or ``"factor"``, for the flow of F with Σ = FFᵀ.

    Returns
    -------
    tuple of str

    Raises
    ------
    InputError
        If there is no such form, or an operation has no recurrence, or the states have positions.

    References
    ----------
    Jorba, Zou (2005), Prop. 2.1.

    Examples
    --------
    >>> from symflow import Softmax, gaussian_closure
    >>> flow = gaussian_closure(Softmax(), {"A", "V"}).flow
    >>> print(taylor_recurrences(flow)[2])
    \left(W_{2}\right)_{[k]} = \sum_{j=0}^{k} \left(W_{1}\right)_{[j]} \Sigma_{[k-j]}
    """
    programs = lower(flow)
    if form not in ("moments", "factor") or form not in programs:
        known = ", ".join(name for name in ("moments", "factor") if name in programs)
        raise InputError(f"form = {form!r} is unknown; {flow.name} has {known}")
    if flow.chain is not None:
        raise InputError(f"the recurrences of {flow.name} differ from position to position; none are written")
    writer = _Writer(programs[form])
    return (*(_equation(op, writer) for op in writer.source.ops), *writer.states())


class _Writer:
    """Names of the arrays of a recursion, and their coefficients."""

    def __init__(self, program: Program) -> None:
        counted = {str(loop.count) for loop in loops(program.ops)}
        self.source = recursion(program, dict.fromkeys(counted, 1))  # one pass stands for all
        self._outputs = dict(zip(self.source.program.outputs, self.source.program.inputs, strict=True))
        results = [op.out for op in self.source.ops if op.out not in self._outputs]
        self._number = {array: i for i, array in enumerate(results)}
        self._index: dict[str, str] = {}
        self._summed: dict[str, str] = {}
        for loop in loops(program.ops):
            letter = loop.slices[0].part.name.removeprefix(f"{loop.slices[0].whole.name}_")
            self._index |= {item.whole.name: letter for item in loop.slices}
            for op in flattened(loop.body):
                if op.out in op.reads():
                    self._summed[op.out.name] = rf"\sum_{{{letter}=1}}^{{{loop.count}}} "
                else:
                    self._index[op.out.name] = letter

    def name(self, array: Array) -> str:
        """Return the name of an array."""
        if array in self._outputs:
            return rf"\dot{{{self.name(self._outputs[array])}}}"
        whole = array.name.partition("[")[0]
        letter = f"W_{{{self._number[array]}}}" if array in self._number else _letter(whole)
        return letter if whole not in self._index else _with_index(letter, self._index[whole])

    def over_heads(self, out: Array) -> str:
        """Return the sum in front of what each head adds."""
        return self._summed.get(out.name.partition("(")[0], "")

    def at(self, x: Operand, index: str) -> str:
        """Return a coefficient as read; a constant has none."""
        name, mark = self.name(x.array), r"^{\top}" if x.transposed else ""
        if self.source.is_constant(x.array):
            return name + mark
        base = name if "_" not in name and "\\dot" not in name else rf"\left({name}\right)"
        return f"{base}_{{[{index}]}}{mark}"

    def product(self, a: Operand, b: Operand, first: int = 0, last: str = "k") -> str:
        """Return the k-th coefficient of a product, from its term ``first`` on to the term ``last``."""
        if self.source.is_constant(a.array) or self.source.is_constant(b.array):
            return f"{self.at(a, 'k')} {self.at(b, 'k')}"
        return rf"\sum_{{j={first}}}^{{{last}}} {self.at(a, 'j')} {self.at(b, 'k-j')}"

    def counted(self, x: Operand) -> str:
        """Return a summand: a constant counts at order zero only."""
        delta = r"\delta_{k0} " if self.source.is_constant(x.array) else ""
        return delta + self.at(x, "k")

    def states(self) -> list[str]:
        """Return the equations that close the recursion."""
        pairs = zip(self.source.program.inputs, self.source.program.outputs, strict=True)
        return [
            rf"(k+1) {self.at(Operand(state), 'k+1')} = {self.at(Operand(slope), 'k')}"
            for state, slope in pairs
        ]


def _letter(name: str) -> str:
    """Return the LaTeX of a symbol by its name."""
    from sympy import MatrixSymbol

    return latex(MatrixSymbol(name, 2, 2))


def _with_index(letter: str, index: str) -> str:
    """Return a letter with one more subscript."""
    return f"{letter[:-1]},{index}}}" if letter.endswith("}") and "_{" in letter else f"{letter}_{{{index}}}"


def _scaled(coefficient: Any, text: str) -> str:
    """Return a multiple of a term."""
    if coefficient in (ONE, -ONE):
        return text if coefficient == ONE else f"-{text}"
    return f"{latex(coefficient)} {text}"


def _sum(parts: list[str]) -> str:
    return " + ".join(parts).replace("+ -", "- ") or "0"


@functools.singledispatch
def _equation(op: Any, w: _Writer) -> str:
    raise TypeError(f"no equation for {type(op).__name__}")


@_equation.register
def _(op: Gemm, w: _Writer) -> str:
    added = [] if op.c is None else [w.counted(Operand(op.c))]
    product = w.over_heads(op.out) + _scaled(op.alpha, w.product(op.a, op.b))
    return f"{w.at(Operand(op.out), 'k')} = {_sum([product, *added])}"


@_equation.register
def _(op: Combine, w: _Writer) -> str:
    parts = [_scaled(term.coefficient, w.counted(term.operand)) for term in op.terms]
    if op.diagonal != ZERO:
        once = "" if w.source.is_constant(op.out) else r"\delta_{k0} "
        parts.append(_scaled(op.diagonal, f"{once}I"))
    return f"{w.at(Operand(op.out), 'k')} = {_sum(parts)}"


@_equation.register
def _(op: SymmetrisedSum, w: _Writer) -> str:
    half = Operand(op.a)
    return f"{w.at(Operand(op.out), 'k')} = {w.at(half, 'k')} + {w.at(half.T, 'k')}"


@_equation.register
def _(op: Factorise, w: _Writer) -> str:
    return f"{w.name(op.out)} = {w.at(Operand(op.a), '0')}"


@_equation.register
def _(op: Solve, w: _Writer) -> str:
    matrix, out = Operand(w.source.matrix_of[op.factors], op.transposed), Operand(op.out)
    known = "" if w.source.is_constant(matrix.array) else f" - {w.product(matrix, out, first=1)}"
    inverse = r"^{-\top}" if op.transposed else "^{-1}"
    return rf"{w.at(out, 'k')} = {w.name(op.factors)}{inverse} \left({w.counted(op.b)}{known}\right)"


@_equation.register
def _(op: RequirePositive, w: _Writer) -> str:
    return rf"{w.at(Operand(op.a), '0')} \succ 0"


@_equation.register
def _(op: Root, w: _Writer) -> str:
    out, square = Operand(op.out), Operand(op.a)
    if w.source.is_constant(op.out):
        return f"{w.name(op.out)} = {w.name(op.a)}^{{1/2}}"
    known = w.product(out, out, first=1, last="k-1")
    moved = f"{w.at(out, '0')} {w.at(out, 'k')} + {w.at(out, 'k')} {w.at(out, '0')}"
    first = rf"{w.at(out, '0')} = {w.at(square, '0')}^{{1/2}}"
    return rf"{first}, \quad {moved} = {w.at(square, 'k')} - {known} \quad (k \ge 1)"


@_equation.register
def _(op: TraceOf, w: _Writer) -> str:
    inside = w.at(op.a, "k") if op.b is None else w.product(op.a, op.b)
    return rf"{w.at(Operand(op.out), 'k')} = \operatorname{{tr}} \left({inside}\right)"


@_equation.register
def _(op: Scaled, w: _Writer) -> str:
    return f"{w.at(Operand(op.out), 'k')} = {w.product(Operand(op.factor), op.a)}"
