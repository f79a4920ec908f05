"""Program → readable NumPy source: the fallback without a compiler, a witness for compiled kernels."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from symflow.codegen.names import identifiers
from symflow.codegen.program import (
    ONE,
    ZERO,
    Array,
    Combine,
    Factorise,
    Gemm,
    Loop,
    Op,
    Operand,
    Program,
    RequirePositive,
    Root,
    Scaled,
    Simple,
    Size,
    Solve,
    Sylvester,
    SymmetrisedSum,
    TraceOf,
    Turned,
    flattened,
)
from symflow.codegen.scalars import scalar_text

_RESERVED = ("np", "print", "super", "self")

_HEADER = '''"""{title}"""

import numpy as np
{imports}

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


_ROOTS = '''

def _root(a):
    """Return the principal square root."""
    if not np.isfinite(a).all():
        return np.full_like(a, np.nan)
    root = scipy.linalg.sqrtm(a)
    if np.iscomplexobj(root) and abs(root.imag).max() > 1e-8 * abs(root).max():
        raise np.linalg.LinAlgError("no real square root")
    return root.real


def _moved_root(root, e):
    """Return the X with root X + X root = e."""
    if not (np.isfinite(root).all() and np.isfinite(e).all()):
        return np.full_like(e, np.nan)
    return scipy.linalg.solve_sylvester(root, root, e)
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
    listed = list(programs)
    used = (op for program in listed for op in flattened(program.ops))
    rooted = any(isinstance(op, (Root, Sylvester)) for op in used)
    header = _HEADER.format(title=title, imports="import scipy.linalg\n" if rooted else "")
    return "\n\n".join([header + _ROOTS * rooted, *(_function(program) for program in listed)])


def _function(program: Program) -> str:
    names = identifiers([*(a.name for a in program.arrays), *program.dimensions], reserved=_RESERVED)
    arguments = ", ".join(names[a.name] for a in (*program.inputs, *program.parameters))
    scalars = {name: names[name] for name in (*program.scalars, *program.dimensions)}
    statements = "\n".join(
        [*_sizes(program, names), *_stores(program, names), *_body(program, names, scalars)]
    )
    body = statements.splitlines()
    results = "".join(f"{names[out.name]}, " for out in program.outputs).rstrip()
    lines = [f"def {program.name}({arguments}):", *_docstring(program, names)]
    return "\n".join([*lines, *(f"    {line}" for line in body), f"    return ({results})", ""])


def _stores(program: Program, names: Mapping[str, str]) -> list[str]:
    """Return the statements that make room for outputs which a loop fills slice by slice."""
    return [
        f"{names[out.name]} = np.empty(({', '.join(_name(n, names) for n in _axes(out))}))"
        for out in program.outputs
        if out.lead is not None
    ]


def _body(program: Program, names: Mapping[str, str], scalars: Mapping[str, str]) -> list[str]:
    return [_text(op, program, names, scalars) for op in program.ops]


def _text(op: Op, program: Program, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    return _loop(op, program, names, scalars) if isinstance(op, Loop) else statement(op, names, scalars)


def _loop(op: Loop, program: Program, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    """Return a loop: slices are read, the body runs, slices of outputs are stored."""
    index = f"h_{names[op.slices[0].part.name]}"
    inner = {**scalars, **{name: f"{names[array.name]}[{index}, 0]" for name, array in op.scalars}}
    stored = [item for item in op.slices if item.whole in program.outputs]
    pairs = [(names[item.part.name], f"{names[item.whole.name]}[{index}]") for item in op.slices]
    read = [
        f"{part} = {whole}"
        for item, (part, whole) in zip(op.slices, pairs, strict=True)
        if item not in stored
    ]
    write = [
        f"{whole} = {part}" for item, (part, whole) in zip(op.slices, pairs, strict=True) if item in stored
    ]
    body = [line for each in op.body for line in _text(each, program, names, inner).splitlines()]
    head = f"for {index} in range({names[op.slices[0].whole.name]}.shape[0]):"
    return "\n".join([head, *(f"    {line}" for line in [*read, *body, *write])])


def _axes(array: Array) -> tuple[Size, ...]:
    lead = () if array.lead is None else (array.lead,)
    return (*lead, array.rows, array.cols)


def _shape(array: Array) -> str:
    return "(" + ", ".join(map(str, _axes(array))) + ")"


def _docstring(program: Program, names: Mapping[str, str]) -> list[str]:
    """Return the docstring: model, arguments with shapes, results."""
    described = [f"{names[a.name]} : {_shape(a)} array" for a in (*program.inputs, *program.matrices)]
    described += [f"{names[name]} : float" for name in program.scalars]
    results = [f"{names[a.name]} : {_shape(a)} array" for a in program.outputs]
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
    ops = list(flattened(program.ops))
    needed = {size for op in ops if isinstance(op, Combine) for size in _shape_needed(op)}
    needed |= {symbol.name for op in ops for c in _coefficients(op) for symbol in c.free_symbols}
    needed |= {size for out in program.outputs if out.lead is not None for size in _axes(out)}
    lines = []
    for size in program.dimensions:
        if size in needed:
            array = next(a for a in (*program.inputs, *program.matrices) if size in _axes(a))
            lines.append(f"{names[size]} = {names[array.name]}.shape[{_axes(array).index(size)}]")
    return lines


def _coefficients(op: Simple) -> tuple[Any, ...]:
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
def statement(op: Any, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    raise TypeError(f"no NumPy text for {type(op).__name__}")


@statement.register
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


@statement.register
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


@statement.register
def _(op: SymmetrisedSum, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    return f"{names[op.out.name]} = {names[op.a.name]} + {names[op.a.name]}.T"


@statement.register
def _(op: Turned, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    a = names[op.a.array.name]
    return f"{names[op.out.name]} = np.tril({a}) + np.triu({a}, 1).T"


@statement.register
def _(op: Factorise, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    return f"{names[op.out.name]} = {names[op.a.name]}  # factorised at each solve"


@statement.register
def _(op: Solve, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    factors = Operand(op.factors, op.transposed)
    return f"{names[op.out.name]} = np.linalg.solve({_read(factors, names)}, {_read(op.b, names)})"


@statement.register
def _(op: RequirePositive, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    return f"_require_positive({names[op.a.name]})"


@statement.register
def _(op: Root, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    return f"{names[op.out.name]} = _root({names[op.a.name]})"


@statement.register
def _(op: Sylvester, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    return f"{names[op.out.name]} = _moved_root({names[op.root.name]}, {names[op.e.name]})"


@statement.register
def _(op: Scaled, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    return f"{names[op.out.name]} = {names[op.factor.name]} * {_read(op.a, names)}"


@statement.register
def _(op: TraceOf, names: Mapping[str, str], scalars: Mapping[str, str]) -> str:
    out, a = names[op.out.name], _read(op.a, names)
    value = f"np.trace({a})" if op.b is None else f"({a} * {_read(op.b.T, names)}).sum()"
    return f"{out} = np.reshape({value}, (1, 1))"
