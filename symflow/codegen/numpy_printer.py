"""Program → readable NumPy source: the fallback without a compiler, a witness for compiled kernels."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from symflow.codegen.names import identifiers
from symflow.codegen.program import (
    ONE,
    ZERO,
    Combine,
    Factorise,
    Gemm,
    Op,
    Operand,
    Program,
    RequirePositive,
    Size,
    Solve,
    SymmetrisedSum,
)
from symflow.codegen.scalars import scalar_text

_RESERVED = ("np", "print", "super", "self")

_HEADER = '''"""{title}"""

import numpy as np


class OutsideDomain(ArithmeticError):
    """The normaliser diverges."""


def _require_positive(a):
    """Refuse a matrix that is not positive definite; what has overflowed says nothing about that."""
    if not np.isfinite(a).all():
        return
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        raise OutsideDomain from None
'''


def numpy_source(programs: Iterable[Program], title: str) -> str:
    """Return a Python module with one function per program.

    Each takes the states and the parameters as two-dimensional arrays (scalars as floats) and returns the
    derivatives as a tuple.

    Parameters
    ----------
    programs : iterable of Program
        As :func:`symflow.codegen.lower.lower` returns them.
    title : str
        First line of the docstring.
    """
    return "\n\n".join([_HEADER.format(title=title), *(_function(program) for program in programs)])


def _function(program: Program) -> str:
    names = identifiers([*(a.name for a in program.arrays), *program.dimensions], reserved=_RESERVED)
    arguments = ", ".join(names[a.name] for a in (*program.inputs, *program.parameters))
    scalars = {name: names[name] for name in (*program.scalars, *program.dimensions)}
    body = [*_sizes(program, names), *(_statement(op, names, scalars) for op in program.ops)]
    results = ", ".join(names[out.name] for out in program.outputs)
    lines = [f"def {program.name}({arguments}):", *_docstring(program, names)]
    return "\n".join([*lines, *(f"    {line}" for line in body), f"    return ({results},)", ""])


def _docstring(program: Program, names: Mapping[str, str]) -> list[str]:
    """Return the docstring: model, arguments with shapes, results."""
    described = [
        f"{names[a.name]} : ({a.rows}, {a.cols}) array" for a in (*program.inputs, *program.matrices)
    ]
    described += [f"{names[name]} : float" for name in program.scalars]
    results = [f"{names[a.name]} : ({a.rows}, {a.cols}) array" for a in program.outputs]
    text = [
        f'"""Right-hand side {program.name!r} of {program.model}.',
        "",
        "Parameters",
        "----------",
        *described,
    ]
    return [f"    {line}".rstrip() for line in [*text, "", "Returns", "-------", *results, '"""']]


def _sizes(program: Program, names: Mapping[str, str]) -> list[str]:
    """Return the statements that read the sizes which a shape in the body needs."""
    needed = {size for op in program.ops if isinstance(op, Combine) for size in _shape_needed(op)}
    needed |= {symbol.name for op in program.ops for c in _coefficients(op) for symbol in c.free_symbols}
    lines = []
    for size in program.dimensions:
        if size in needed:
            array = next(a for a in (*program.inputs, *program.matrices) if size in (a.rows, a.cols))
            lines.append(f"{names[size]} = {names[array.name]}.shape[{0 if array.rows == size else 1}]")
    return lines


def _coefficients(op: Op) -> tuple[Any, ...]:
    if isinstance(op, Combine):
        return (op.diagonal, *(term.coefficient for term in op.terms))
    return (op.alpha,) if isinstance(op, Gemm) else ()


def _shape_needed(op: Combine) -> tuple[Size, ...]:
    if not op.terms and op.diagonal == ZERO:
        return (op.out.rows, op.out.cols)
    return (op.out.rows,) if op.diagonal != ZERO else ()


def _read(operand: Operand, names: Mapping[str, str]) -> str:
    return names[operand.array.name] + (".T" if operand.transposed else "")


@functools.singledispatch
def _statement(op: Any, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    raise TypeError(f"no NumPy text for {type(op).__name__}")


@_statement.register
def _(op: Gemm, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    product = f"{_read(op.a, names)} @ {_read(op.b, names)}"
    product = _scaled(op.alpha, product if op.alpha == ONE else f"({product})", scalars)
    return f"{names[op.out.name]} = {_added([product] if op.c is None else [names[op.c.name], product])}"


def _scaled(coefficient: Any, text: str, scalars: Mapping[str, str]) -> str:
    if coefficient in (ONE, -ONE):
        return text if coefficient == ONE else f"-{text}"
    return f"{scalar_text(coefficient, scalars, 'np.sqrt')} * {text}"


def _added(parts: list[str]) -> str:
    return " + ".join(parts).replace(" + -", " - ")


@_statement.register
def _(op: Combine, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    out = names[op.out.name]
    shape = f"({_name(op.out.rows, names)}, {_name(op.out.cols, names)})"
    parts = [_scaled(term.coefficient, _read(term.operand, names), scalars) for term in op.terms]
    if op.diagonal != ZERO:
        parts.append(_scaled(op.diagonal, f"np.eye({_name(op.out.rows, names)})", scalars))
    if not parts:
        return f"{out} = np.zeros({shape})"
    if len(op.terms) == 1 and len(parts) == 1 and op.terms[0].coefficient == ONE:
        return f"{out} = {parts[0]}.copy()"
    return f"{out} = {_added(parts)}"


def _name(size: Size, names: Mapping[str, str]) -> str:
    return str(size) if isinstance(size, int) else names[size]


@_statement.register
def _(op: SymmetrisedSum, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    return f"{names[op.out.name]} = {names[op.a.name]} + {names[op.a.name]}.T"


@_statement.register
def _(op: Factorise, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    return f"{names[op.out.name]} = {names[op.a.name]}  # factorised at each solve"


@_statement.register
def _(op: Solve, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    factors = Operand(op.factors, op.transposed)
    return f"{names[op.out.name]} = np.linalg.solve({_read(factors, names)}, {_read(op.b, names)})"


@_statement.register
def _(op: RequirePositive, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    return f"_require_positive({names[op.a.name]})"
