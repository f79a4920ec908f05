"""Program → Cython source: pointers only, no GIL, no Python object inside a function.

The template holds the structure of a module, this printer the statements.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sympy import Expr

from symflow.codegen.layout import Layout, layout, written_outputs
from symflow.codegen.names import identifiers
from symflow.codegen.program import (
    ONE,
    ZERO,
    Array,
    Combine,
    Factorise,
    Gemm,
    Loop,
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
    Term,
    TraceOf,
    Turned,
    flattened,
    loops,
)
from symflow.codegen.scalars import scalar_text

if TYPE_CHECKING:
    from symflow.codegen.fixed.single import Single

#: Names that the template and the statements use themselves.
RESERVED = (
    *("t", "y", "dy", "call", "la", "dims", "i", "j", "status", "work", "print", "sqrt", "capsules", "total"),
    *("symflow_call", "symflow_linalg", "symflow_entry", "symflow_kernel", "symflow_rhs", "symflow_size"),
    "PyCapsule_New",
)


#: Matrices of scratch that a principal root needs, and one vector.
ROOT_WORK = 6


@dataclass(frozen=True)
class Kernelset:
    """The programs of one parametrisation of one model, and those of fixed size."""

    name: str
    programs: tuple[Program, ...]
    singles: tuple[Single, ...] = ()


@dataclass(frozen=True)
class Printed:
    """Generated source and the key of its content."""

    text: str
    key: str


def cython_source(sets: Sequence[Kernelset], title: str, abi: str, versions: str) -> Printed:
    """Return a Cython module that exports one capsule per kernel set.

    Parameters
    ----------
    sets : sequence of Kernelset
        One per parametrisation.
    title : str
        First line of the module's docstring.
    abi : str
        Hash of the ABI header; part of the capsule's name.
    versions : str
        Printed in the docstring.
    """
    values: dict[str, Any] = {
        "title": title,
        "versions": versions,
        "abi": abi,
        "sets": [_set(kernel, number) for number, kernel in enumerate(sets)],
    }
    return render("kernel.pyx.jinja", values)


def render(name: str, values: dict[str, Any]) -> Printed:
    """Return a filled template with the key of its content."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("symflow.codegen", "templates")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.get_template(name)
    values = {**values, "title": plain(values["title"])}
    key = hashlib.sha256(template.render(**values, key="").encode()).hexdigest()[:32]
    return Printed(template.render(**values, key=key), key)


def plain(text: str) -> str:
    """Return text that cannot end a docstring or continue a line."""
    return text.replace("\\", "/").replace('"', "'").replace("\n", " ")


def _set(kernel: Kernelset, number: int) -> dict[str, Any]:
    functions = [FunctionText(program, f"k{number}_{program.name}").values() for program in kernel.programs]
    return {
        "name": kernel.name,
        "literal": literal(kernel.name),
        "number": number,
        "functions": functions,
        "singles": kernel.singles,
    }


def literal(name: str) -> str:
    """Return a name as text between quotation marks."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


class FunctionText:
    """The text of one program as a ``nogil`` function."""

    def __init__(self, program: Program, name: str) -> None:
        self.program = program
        self.name = name
        self.layout: Layout = layout(program)
        self.ops: list[Simple] = list(flattened(program.ops))
        self.loops: list[Loop] = list(loops(program.ops))
        self.written = written_outputs(program)
        names = [*(a.name for a in program.arrays), *program.dimensions]
        blocks = (f"b{i}" for i in range(len(self.layout.blocks)))
        indices = [f"h{i}" for i in range(len(self.loops))]
        self.names = identifiers(names, reserved=(*RESERVED, *blocks, *indices))
        self.index = dict(zip(map(id, self.loops), indices, strict=True))
        self.running: dict[str, str] = {}  # scalars that change inside a loop
        self.coefficients: dict[Expr, str] = {}

    def values(self) -> dict[str, Any]:
        """Return what the template needs."""
        body = [line for op in self.program.ops for line in _lines(op, self)]
        return {
            "name": self.name,
            "entry": self.program.name,
            "doc": self._doc(),
            "locals": [
                *(f"ptrdiff_t {index}" for index in self.index.values()),
                *(["double total"] if any(isinstance(op, TraceOf) for op in self.ops) else []),
                *self._sizes(),
                *self._states(),
                *self._parameters(),
                *self._constants(),
                *self._results(),
            ],
            "body": body,
            "work": " + ".join([*(self.extent(*block) for block in self.layout.blocks), *self._more_work()])
            or "0",
            "sizes": [size.replace("call.dims", "dims") for size in self._sizes()],
            "solves": any(isinstance(op, (Factorise, RequirePositive, Root, Sylvester)) for op in self.ops),
        }

    def _more_work(self) -> list[str]:
        """Return the sizes of pivots, and of what roots need."""
        return [size for op in self.ops if (size := self._own_work(op))]

    def _own_work(self, op: Simple) -> str:
        n = self.size(op.out.rows)
        if isinstance(op, (Root, Sylvester)):
            return f"{ROOT_WORK}*{n}*{n} + {n}"
        return n if isinstance(op, Factorise) else ""

    def _doc(self) -> list[str]:
        p, names = self.program, self.names
        shape = {
            a: "(" + ("" if a.lead is None else f"{a.lead}, ") + f"{a.rows}, {a.cols})" for a in p.arrays
        }
        return [
            "y = " + ", ".join(f"{names[a.name]} {shape[a]}" for a in p.inputs),
            "dy = " + ", ".join(f"{names[a.name]} {shape[a]}" for a in p.outputs),
            "params = "
            + ", ".join(
                names[a.name] + ("" if a.name in p.scalars else f" {shape[a]}") for a in p.parameters
            ),
            "dims = " + ", ".join(names[d] for d in p.dimensions),
        ]

    def _sizes(self) -> list[str]:
        return [f"ptrdiff_t {self.names[d]} = call.dims[{i}]" for i, d in enumerate(self.program.dimensions)]

    def _states(self) -> list[str]:
        lines = []
        for arrays, base, kind in (
            (self.program.inputs, "y", "const double"),
            (self.program.outputs, "dy", "double"),
        ):
            offset = base
            for array in arrays:
                lines.append(f"{kind} *{self.names[array.name]} = {offset}")
                offset = f"{self.names[array.name]} + {self.extent(array.rows, array.cols, array.lead)}"
        return lines

    def _parameters(self) -> list[str]:
        lines = []
        for i, array in enumerate(self.program.parameters):
            scalar = array.name in self.program.scalars
            kind, read = ("double ", "[0]") if scalar else ("const double *", "")
            lines.append(f"{kind}{self.names[array.name]} = call.params[{i}]{read}")
        return lines

    def _constants(self) -> list[str]:
        """Return the coefficients that depend on a scalar parameter, each computed once."""
        scalars = self._scalars()
        return [f"double {name} = {scalar_text(value, scalars)}" for value, name in self.coefficients.items()]

    def _scalars(self) -> dict[str, str]:
        scalars = {name: self.names[name] for name in self.program.scalars}
        return scalars | {size: f"(<double>{self.names[size]})" for size in self.program.dimensions}

    def _results(self) -> list[str]:
        """Return pointers to the blocks of scratch, and one name per result."""
        lines, offset = [], "call.work"
        for number, block in enumerate(self.layout.blocks):
            lines.append(f"double *b{number} = {offset}")
            offset = f"b{number} + {self.extent(*block)}"
        for part in self._parts():
            kind = "double" if part in self.written else "const double"
            lines.append(f"{kind} *{self.names[part.name]}")
        for out in dict.fromkeys(op.out for op in self.ops):
            if out not in self.written:
                late = self.layout.output.get(out) in self._parts()
                lines.append(f"double *{self.names[out.name]}" + ("" if late else f" = {self._home(out)}"))
        for op in self.ops:
            if isinstance(op, Factorise):
                lines.append(f"ptrdiff_t *{self.pivots(op.out)} = <ptrdiff_t *>({offset})")
                offset = f"{self.pivots(op.out)} + {self.size(op.out.rows)}"
            elif isinstance(op, (Root, Sylvester)):
                lines.append(f"double *{self.root_work(op.out)} = <double *>({offset})")
                offset = f"{self.root_work(op.out)} + ({self._own_work(op)})"
        return lines

    def _parts(self) -> dict[Array, None]:
        return {item.part: None for loop in self.loops for item in loop.slices}

    def loop(self, op: Loop) -> list[str]:
        """Return the text of a loop: slices first, then what lives in them, then the body."""
        index = self.index[id(op)]
        parts = {item.part for item in op.slices}
        head = [
            f"{self.names[item.part.name]} = {self.names[item.whole.name]} "
            f"+ {index}*({self.extent(item.part.rows, item.part.cols)})"
            for item in op.slices
        ]
        for out in dict.fromkeys(inner.out for inner in flattened(op.body)):
            if out not in self.written and self.layout.output.get(out) in parts:
                head.append(f"{self.names[out.name]} = {self._home(out)}")
        before = dict(self.running)
        self.running |= {name: f"{self.names[array.name]}[{index}]" for name, array in op.scalars}
        body = [line for inner in op.body for line in _lines(inner, self)]
        self.running = before
        return [f"for {index} in range({self.size(op.count)}):", *(f"    {line}" for line in [*head, *body])]

    def _home(self, array: Array) -> str:
        if array in self.layout.output:
            return self.names[self.layout.output[array].name]
        return f"b{self.layout.place[array]}"

    def pivots(self, factors: Array) -> str:
        """Return the name of the pivots that belong to ``factors``."""
        return f"pivots_{self.names[factors.name]}"

    def root_work(self, out: Array) -> str:
        """Return the name of the scratch memory that a root needs."""
        return f"scratch_{self.names[out.name]}"

    def size(self, size: Size) -> str:
        """Return a size as text."""
        return str(size) if isinstance(size, int) else self.names[size]

    def extent(self, rows: Size, cols: Size, lead: Size | None = None) -> str:
        """Return the number of entries as text."""
        factors = [self.size(n) for n in (rows, cols) if n != 1]
        factors += [] if lead is None else [self.size(lead)]
        return "*".join(factors) or "1"

    def coefficient(self, value: Expr) -> str:
        """Return the text of a coefficient; one that depends on parameters gets a name."""
        if value.is_number:
            return scalar_text(value, {})
        if self.running and any(symbol.name in self.running for symbol in value.free_symbols):
            return f"({scalar_text(value, self._scalars() | self.running)})"
        return self.coefficients.setdefault(value, self._fresh())

    def _fresh(self) -> str:
        taken = {*self.names.values(), *self.coefficients.values()}
        return next(name for name in (f"c{i}" for i in range(len(taken) + 1)) if name not in taken)

    def copy(self, source: Array, target: Array) -> list[str]:
        """Return the statements that copy ``source`` to ``target``, none where they share a place."""
        if source in self.layout.place or source in self.layout.output:
            if target not in self.written and self._home(source) == self._home(target):
                return []
            if self.layout.output.get(source) == target:
                return []
        extent = self.extent(target.rows, target.cols)
        a, b = self.names[target.name], self.names[source.name]
        return [f"for i in range({extent}):", f"    {a}[i] = {b}[i]"]


@functools.singledispatch
def _lines(op: Any, f: FunctionText) -> list[str]:
    raise TypeError(f"no Cython text for {type(op).__name__}")


@_lines.register
def _(op: Gemm, f: FunctionText) -> list[str]:
    head = [] if op.c is None else f.copy(op.c, op.out)
    flags = f"{int(op.a.transposed)}, {int(op.b.transposed)}"
    sizes = ", ".join(f.size(n) for n in (op.a.rows, op.b.cols, op.a.cols))
    a, b, out = (f.names[x.name] for x in (op.a.array, op.b.array, op.out))
    beta = "0.0" if op.c is None else "1.0"
    function = f"gemm({flags}" if op.shape == 0 else f"shaped({flags}, {op.shape}"
    return [*head, f"la.{function}, {sizes}, {f.coefficient(op.alpha)}, {a}, {b}, {beta}, {out})"]


@_lines.register
def _(op: Loop, f: FunctionText) -> list[str]:
    return f.loop(op)


@_lines.register
def _(op: Combine, f: FunctionText) -> list[str]:
    if (
        len(op.terms) == 1
        and op.diagonal == ZERO
        and op.terms[0] == Term(ONE, Operand(op.terms[0].operand.array))
    ):
        return f.copy(op.terms[0].operand.array, op.out)
    out, rows, cols = f.names[op.out.name], f.size(op.out.rows), f.size(op.out.cols)
    if any(t.operand.transposed and 1 not in (t.operand.rows, t.operand.cols) for t in op.terms):
        terms = [_entry(f, t.coefficient, t.operand) for t in op.terms]
        lines = [
            f"for i in range({rows}):",
            f"    for j in range({cols}):",
            f"        {out}[i*{cols} + j] = {_sum(terms)}",
        ]
    else:
        terms = [_scaled(f, t.coefficient, f"{f.names[t.operand.array.name]}[i]") for t in op.terms]
        lines = [f"for i in range({f.extent(op.out.rows, op.out.cols)}):", f"    {out}[i] = {_sum(terms)}"]
    if op.diagonal != ZERO:
        step = "1" if op.out.cols == 1 else f"({cols} + 1)"
        lines += [f"for i in range({rows}):", f"    {out}[i*{step}] += {f.coefficient(op.diagonal)}"]
    return lines


def _sum(terms: list[str]) -> str:
    return " + ".join(terms) or "0.0"


def _entry(f: FunctionText, coefficient: Expr, operand: Operand) -> str:
    name, cols = f.names[operand.array.name], f.size(operand.array.cols)
    index = f"j*{cols} + i" if operand.transposed else f"i*{cols} + j"
    return _scaled(f, coefficient, f"{name}[{index}]")


def _scaled(f: FunctionText, coefficient: Expr, text: str) -> str:
    return text if coefficient == ONE else f"{f.coefficient(coefficient)}*{text}"


@_lines.register
def _(op: SymmetrisedSum, f: FunctionText) -> list[str]:
    out, a, n = f.names[op.out.name], f.names[op.a.name], f.size(op.out.rows)
    return [
        f"for i in range({n}):",
        "    for j in range(i + 1):",
        f"        {out}[i*{n} + j] = {a}[i*{n} + j] + {a}[j*{n} + i]",
        f"        {out}[j*{n} + i] = {out}[i*{n} + j]",
    ]


@_lines.register
def _(op: Turned, f: FunctionText) -> list[str]:
    out, a, n = f.names[op.out.name], f.names[op.a.array.name], f.size(op.out.rows)
    return [f"la.triangle({n}, {a}, {out})"]  # the same whether a is read transposed or not


@_lines.register
def _(op: Factorise, f: FunctionText) -> list[str]:
    out, n = f.names[op.out.name], f.size(op.out.rows)
    return [
        *f.copy(op.a, op.out),
        *checked(f"la.lu({n}, {out}, {f.pivots(op.out)})"),
    ]


@_lines.register
def _(op: Solve, f: FunctionText) -> list[str]:
    out, n, m = f.names[op.out.name], f.size(op.out.rows), f.size(op.out.cols)
    copy = _lines(Combine(op.out, (Term(ONE, op.b),)), f) if op.b.transposed else f.copy(op.b.array, op.out)
    factors = f"{f.names[op.factors.name]}, {f.pivots(op.factors)}"
    return [*copy, f"la.lu_solve({int(op.transposed)}, {n}, {m}, {factors}, {out})"]


@_lines.register
def _(op: RequirePositive, f: FunctionText) -> list[str]:
    out, n = f.names[op.out.name], f.size(op.out.rows)
    return [
        *f.copy(op.a, op.out),
        *checked(f"la.cholesky({n}, {out})"),
    ]


@_lines.register
def _(op: Root, f: FunctionText) -> list[str]:
    out, n = f.names[op.out.name], f.size(op.out.rows)
    return [*f.copy(op.a, op.out), *checked(f"la.sqrtm(la, {n}, {out}, {f.root_work(op.out)})")]


@_lines.register
def _(op: Sylvester, f: FunctionText) -> list[str]:
    out, root, n = f.names[op.out.name], f.names[op.root.name], f.size(op.out.rows)
    call = f"la.sylvester(la, {n}, {root}, {out}, {f.root_work(op.out)})"
    return [*f.copy(op.e, op.out), *checked(call)]


def checked(call: str) -> list[str]:
    """Return the statements that end a function where a call fails."""
    return [f"status = {call}", "if status != 0:", "    return status"]


@_lines.register
def _(op: Scaled, f: FunctionText) -> list[str]:
    out, factor = f.names[op.out.name], f.names[op.factor.name]
    if op.a.transposed:
        turned = _lines(Combine(op.out, (Term(ONE, op.a),)), f)
        a = out
    else:
        turned, a = [], f.names[op.a.array.name]
    return [
        *turned,
        f"for i in range({f.extent(op.out.rows, op.out.cols)}):",
        f"    {out}[i] = {factor}[0]*{a}[i]",
    ]


@_lines.register
def _(op: TraceOf, f: FunctionText) -> list[str]:
    out, rows = f.names[op.out.name], f.size(op.a.rows)
    if op.b is None:
        return [
            "total = 0.0",
            f"for i in range({rows}):",
            f"    total += {f.names[op.a.array.name]}[i*{rows} + i]",
            f"{out}[0] = total",
        ]
    turned = _entry(f, ONE, op.b.T)
    return [
        "total = 0.0",
        f"for i in range({rows}):",
        f"    for j in range({f.size(op.a.cols)}):",
        f"        total += {_entry(f, ONE, op.a)}*{turned}",
        f"{out}[0] = total",
    ]
