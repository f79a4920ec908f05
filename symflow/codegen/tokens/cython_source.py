"""Tokens → Cython source: per token as generated programs, per pair as macros of ``symflow_pairs_term.h``.

What is equal in several programs of one module is there once: the loops over pairs depend on the score alone,
and most parametrisations of a model, and most models, share theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sympy import Symbol

from symflow.codegen.cython_printer import RESERVED, FunctionText, Printed, checked, literal, plain, render
from symflow.codegen.names import identifiers
from symflow.codegen.program import Array, Program, Size
from symflow.codegen.tokens.program import Inner, Number, TermProgram, TokenProgram
from symflow.codegen.tokens.scalars import PLAIN, VECTOR, text_of
from symflow.errors import InputError
from symflow.flow import SCORE

#: Of ``symflow_pairs.h``.
_NORMALISE = {"none": 0, "softmax": 1, "sinkhorn": 2}
_MOST_PAIRINGS, _MOST_NUMBERS = 4, 8

_RESERVED = (
    *RESERVED,
    *("x", "theta", "velocity", "job", "widths", "part", "params", "area", "scalars", "constants", "scratch"),
)


def cython_source(programs: Sequence[TokenProgram], title: str, abi: str, versions: str) -> Printed:
    """Return a Cython module that exports one capsule per program.

    Parameters
    ----------
    programs : sequence of TokenProgram
        One per parametrisation.
    title : str
        First line of the module's docstring.
    abi : str
        Hash of the ABI header; part of the capsule's name.
    versions : str
        Printed in the docstring.
    """
    module = _Module()
    sets = [_Set(program, number, module).values() for number, program in enumerate(programs)]
    values: dict[str, Any] = {
        "title": title,
        "versions": versions,
        "abi": abi,
        "sets": sets,
        "scores": [{"name": name, **dict(scores)} for scores, name in module.scores.items()],
        "numbers": list(module.numbers.values()),
        "functions": list(module.functions.values()),
    }
    return render("tokens.pyx.jinja", values)


def scores_of(program: TokenProgram) -> tuple[Any, ...]:
    """Return what tells the scores of a program from others: programs with the same ones share loops."""
    module = _Module()
    _Set(program, 0, module).values()
    return tuple(module.scores)


@dataclass
class _Module:
    """What the programs of one module share, by what it says."""

    scores: dict[tuple[tuple[str, Any], ...], str] = field(default_factory=dict)
    numbers: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    functions: dict[str, dict[str, Any]] = field(default_factory=dict)

    def score(self, values: Mapping[str, Any]) -> str:
        """Return the name of the loops over pairs of a score."""
        return self.scores.setdefault(tuple(values.items()), f"scores_{len(self.scores)}")

    def number(self, arguments: str, text: str) -> str:
        """Return the name of the function of a number."""
        name = f"number_{len(self.numbers)}"
        return self.numbers.setdefault(
            (arguments, text), {"name": name, "arguments": arguments, "text": text}
        )["name"]

    def function(self, program: Program) -> str:
        """Return the name of the function of a program."""
        values = FunctionText(program, "").values()
        said = repr([values[key] for key in ("locals", "body", "sizes", "work", "solves")])
        name = f"part_{len(self.functions)}"
        shown = f"{plain(program.model)}: {program.name}"
        return str(self.functions.setdefault(said, {**values, "name": name, "shown": shown})["name"])


class _Set:
    """The text of one program."""

    def __init__(self, program: TokenProgram, number: int, module: _Module) -> None:
        self.program, self.number, self.module = program, number, module
        names = [*program.dimensions, program.pitch]
        self.names = identifiers([*names, *(p.name for p in program.parameters)], reserved=_RESERVED)
        self.pitch, self.count = self.names[program.pitch], self.names[program.dimensions[-1]]
        self.index = {p.name: i for i, p in enumerate(program.parameters)}

    def values(self) -> dict[str, Any]:
        """Return what the template needs."""
        p = self.program
        terms = [_TermText(self, term, k).values() for k, term in enumerate(p.terms)]
        background = [] if p.background is None else [self.module.function(p.background)]
        size = self.extent(p.x.rows, p.pitch)
        return {
            "name": f"tokens_{self.number}",
            "number": self.number,
            "shown": plain(p.model),
            "literal": literal(p.model),
            "doc": self._doc(),
            "count": self.count,
            "pitch": self.pitch,
            "dims": len(p.dimensions),
            "params": len(p.parameters),
            "sizes": self.sizes(),
            "terms": terms,
            "locals": [*(line.replace("call.dims", "dims") for line in self.sizes()), *self._memory(size)],
            "body": self._body(terms, background),
            "parts": [*background, *(term["name"] for term in terms)],
            "work": self._in_dims(f"2*{size} + 2*{self.pitch}"),
        }

    def _doc(self) -> list[str]:
        p = self.program
        d, n = self.names[p.dimensions[0]], self.count
        shapes = (self.names[a.name] + ("" if a.name in p.scalars else f" {_shape(a)}") for a in p.parameters)
        return [
            f"y = X ({n}, {d})",
            f"dy = velocity ({n}, {d})",
            "params = " + ", ".join(shapes),
            "dims = " + ", ".join(self.names[size] for size in p.dimensions),
        ]

    def sizes(self) -> list[str]:
        """Return the declarations of all sizes."""
        order = (*self.program.dimensions, self.program.pitch)
        return [f"ptrdiff_t {self.names[size]} = call.dims[{i}]" for i, size in enumerate(order)]

    def extent(self, *sizes: Size | None) -> str:
        """Return the number of entries as text."""
        factors = [str(n) if isinstance(n, int) else self.names[n] for n in sizes if n not in (1, None)]
        return "*".join(factors) or "1"

    def _in_dims(self, text: str) -> str:
        """Return a number of entries in terms of ``dims``, for a function that names no size."""
        order = (*self.program.dimensions, self.program.pitch)
        table = {self.names[size]: f"dims[{i}]" for i, size in enumerate(order)}
        return " + ".join(
            "*".join(table.get(factor, factor) for factor in term.split("*")) for term in text.split(" + ")
        )

    def _memory(self, size: str) -> list[str]:
        """Return the pointers: tokens, ones, weights, the sum of what is found, and the rest."""
        return [
            "double *x = call.work",
            f"double *ones = x + {size}",
            f"double *weights = ones + {self.pitch}",
            f"double *total = weights + {self.pitch}",
            f"double *area = total + {size}",
            "const double *theta = NULL",
            "const double *velocity = total",
        ]

    def _body(self, terms: list[dict[str, Any]], background: list[str]) -> list[str]:
        p = self.program
        d, n, pitch = self.names[p.dimensions[0]], self.count, self.pitch
        size = self.extent(p.x.rows, p.pitch)
        lines = [
            f"symflow_tokens_turn({n}, {d}, {pitch}, y, x)",
            f"symflow_tokens_fill({n}, {pitch}, 1.0, ones)",
        ]
        if p.weights is not None:
            lines += [
                f"symflow_tokens_turn({n}, 1, {pitch}, call.params[{self.index[p.weights]}], weights)",
                "theta = weights",
            ]
        alone = not background and len(terms) == 1 and not p.terms[0].members
        for name in background:
            lines += ["part.work = area", *checked(f"{name}(0.0, x, total, &part)")]
        if not background and not alone:
            lines.append(f"symflow_tokens_fill(0, {size}, 0.0, total)")
        for term, values in zip(p.terms, terms, strict=True):
            lines += self._term(term, values["name"], "" if alone else size)
        if not alone:
            lines.append("velocity = total")
        return [
            *lines,
            f"symflow_tokens_write({n}, {d}, {pitch}, velocity, {'x' if p.sphere else 'NULL'}, dy)",
        ]

    def _term(self, term: TermProgram, name: str, size: str) -> list[str]:
        """Return the call of a term, for every head of a family; what it finds is added to the rest."""
        lines = ["part.work = area", *checked(f"{name}(x, theta, &part, &velocity)")]
        if size:
            lines.append(f"symflow_tokens_add({size}, velocity, total)")
        if term.count is None:
            return lines
        arrays = {a.name: a for a in self.program.parameters}
        moved = [
            f"params[{self.index[m]}] = call.params[{self.index[m]}] "
            f"+ i*({self.extent(arrays[m].rows, arrays[m].cols)})"
            for m in term.members
        ]
        head = f"for i in range({self.names[term.count]}):"
        return [head, *(f"    {line}" for line in (*moved, *lines))]


class _TermText:
    """The text of one sum over pairs."""

    def __init__(self, owner: _Set, term: TermProgram, k: int) -> None:
        self.owner, self.term, self.module = owner, term, owner.module
        self.name = f"tokens_{owner.number}_term_{k}"
        self.parts: list[str] = []
        self.areas: list[tuple[str, str]] = []  # names and extents, in order
        arrays = [*term.prepare.outputs, *term.finish.inputs, *term.finish.outputs]
        if term.symmetry is not None:
            arrays += term.symmetry.outputs
        numbers = [number.symbol.name for number in (*term.rows, *term.columns)]
        inner = [i.symbol.name for number in (*term.rows, *term.columns) for i in number.inner]
        taken = (*_RESERVED, *owner.names.values())
        self.names = identifiers([*(a.name for a in arrays), *numbers, *inner], reserved=taken)
        self._refuse_many()

    def _refuse_many(self) -> None:
        term, model = self.term, self.owner.program.model
        if len(term.couplings) > _MOST_PAIRINGS:
            raise InputError(
                f"the score of {model} has {len(term.couplings)} scalar products and distances of x and y; "
                f"a kernel takes {_MOST_PAIRINGS}, so join some, or use backend='numpy'"
            )
        if max(len(term.rows), len(term.columns)) > _MOST_NUMBERS:
            raise InputError(
                f"the score of {model} has more than {_MOST_NUMBERS} numbers of one token; write fewer, or "
                "use backend='numpy'"
            )

    def values(self) -> dict[str, Any]:
        """Return what the template needs."""
        body = [*self._prepare(), *self._numbers(), *self._constants(), *self._job(), *self._finish()]
        widths = [self._size(c.left.rows) for c in self.term.couplings] or ["0"]
        return {
            "name": self.name,
            "locals": self._locals(),
            "body": body,
            "parts": self.parts,
            "widths": widths,
            "normalise": _NORMALISE[self.term.normalise],
            "width": self._size(self.term.feature.rows),
            "work": " + ".join(extent for _, extent in self.areas),
        }

    def _size(self, size: Size) -> str:
        return self.owner.extent(size)

    def _locals(self) -> list[str]:
        """Return the pointers into scratch memory; what is behind them is for the parts."""
        lines, offset = [], "call.work"
        for name, extent in self.areas:
            lines.append(f"double *{name} = {offset}")
            offset = f"{name} + {extent}"
        lines.append(f"double *scratch = {offset}")
        arrays = {"constants": len(self.term.constants), "scalars": len(self._scalars())}
        return [*lines, *(f"double[{count}] {name}" for name, count in arrays.items() if count)]

    def _room(self, arrays: Iterable[Array]) -> None:
        for array in arrays:
            self.areas.append((self.names[array.name], self.owner.extent(array.rows, array.cols)))

    def _part(self, program: Program, source: str) -> list[str]:
        """Return the call of a program on tokens; nothing where it computes nothing."""
        self._room(program.outputs)
        if not program.outputs:
            return []
        name = self.module.function(program)
        self.parts.append(name)
        return checked(f"{name}(0.0, {source}, {self.names[program.outputs[0].name]}, call)")

    def _prepare(self) -> list[str]:
        return ["call.work = scratch", *self._part(self.term.prepare, "x")]

    def _of(self, array: Array) -> str:
        """Return the text of a pointer."""
        program = self.owner.program
        if array == program.x:
            return "x"
        if array == program.ones:
            return f"(x + {self.owner.extent(program.x.rows, program.pitch)})"
        if array.name in self.owner.index:
            return f"call.params[{self.owner.index[array.name]}]"
        return self.names[array.name]

    # --- numbers --------------------------------------------------------------------------------------

    def _scalars(self) -> list[Symbol]:
        """Return the scalar parameters and sizes in expressions."""
        numbers = [number.value for number in (*self.term.rows, *self.term.columns)]
        own = {i.symbol for number in (*self.term.rows, *self.term.columns) for i in number.inner}
        values = [*(value for _, value in self.term.constants), *numbers]
        return sorted({s for value in values for s in value.free_symbols} - own, key=lambda s: str(s.name))

    def _scalar_table(self) -> dict[Symbol, str]:
        return {symbol: f"s[{i}]" for i, symbol in enumerate(self._scalars())}

    def _constants(self) -> list[str]:
        lines = []
        for k, (_, value) in enumerate(self.term.constants):
            function = self.module.number("const double *s", text_of(value, self._scalar_table(), PLAIN))
            lines.append(f"constants[{k}] = {function}(scalars)")
        return lines

    def _numbers(self) -> list[str]:
        owner, lines = self.owner, []
        for k, symbol in enumerate(self._scalars()):
            known = owner.index.get(symbol.name)
            value = f"call.params[{known}][0]" if known is not None else f"<double>{owner.names[symbol.name]}"
            lines.append(f"scalars[{k}] = {value}")
        numbers = (*self.term.rows, *self.term.columns)
        for inner in dict.fromkeys(i for number in numbers for i in number.inner if i.b is not None):
            name = self.names[inner.symbol.name]
            self.areas.append((name, owner.pitch))
            assert inner.b is not None
            sides = f"{self._of(inner.a)}, {self._of(inner.b)}"
            lines.append(f"symflow_tokens_inner({self._size(inner.a.rows)}, {owner.pitch}, {sides}, {name})")
        for number in numbers:
            lines += self._number(number)
        return lines

    def _number(self, number: Number) -> list[str]:
        name = self.names[number.symbol.name]
        self.areas.append((name, self.owner.pitch))
        table = {**self._scalar_table(), **{inner.symbol: f"z{k}" for k, inner in enumerate(number.inner)}}
        scalars = ["const double *s"] if self._scalars() else []
        arguments = ", ".join([*scalars, *(f"double z{k}" for k in range(len(number.inner)))])
        function = self.module.number(arguments or "void", text_of(number.value, table, PLAIN))
        values = ", ".join(["scalars"] * bool(scalars) + [self._entry(inner) for inner in number.inner])
        return [
            f"symflow_tokens_fill(0, {self.owner.pitch}, 0.0, {name})",
            f"for i in range({self.owner.count}):",
            f"    {name}[i] = {function}({values})",
        ]

    def _entry(self, inner: Inner) -> str:
        if inner.b is not None:
            return f"{self.names[inner.symbol.name]}[i]"
        return f"{self._of(inner.a)}[{'0' if inner.a.cols == 1 else 'i'}]"

    # --- pairs ----------------------------------------------------------------------------------------

    def _job(self) -> list[str]:
        term, owner = self.term, self.owner
        symmetric, causal = self._symmetric(), owner.program.weights is not None
        self._room(term.finish.inputs)
        average, mass = (self.names[a.name] for a in term.finish.inputs)
        lines = [
            f"job.n, job.pitch = {owner.count}, {owner.pitch}",
            f"job.normalise, job.causal = {_NORMALISE[term.normalise]}, {int(causal)}",
            *symmetric,
            "job.theta = theta",
        ]
        for k, c in enumerate(term.couplings):
            lines.append(f"job.widths[{k}] = {self._size(c.left.rows)}")
            lines.append(f"job.left[{k}], job.right[{k}] = {self._of(c.left)}, {self._of(c.right)}")
        if not term.couplings:
            lines += ["job.widths[0] = 0", "job.left[0], job.right[0] = x, x"]
        for kind, numbers in (("rows", term.rows), ("columns", term.columns)):
            lines += [f"job.{kind}[{k}] = {self.names[n.symbol.name]}" for k, n in enumerate(numbers)]
        return [
            *lines,
            f"job.scalars = {'constants' if term.constants else 'NULL'}",
            f"job.width, job.feature = {self._size(term.feature.rows)}, {self._of(term.feature)}",
            f"job.average, job.mass = {average}, {mass}",
            "job.work, job.linalg = scratch, call.linalg",
            *checked(f"{self.module.score(self._score())}_pairs(&job)"),
        ]

    def _symmetric(self) -> list[str]:
        """Return the statements that find out whether the score is symmetric for these parameters."""
        term = self.term
        if term.symmetry is None or self.owner.program.weights is not None:
            return ["job.symmetric = 0"]
        tests = [
            f"symflow_tokens_equal({self.owner.extent(a.rows, a.cols)}, {self._of(a)}, {self._of(b)})"
            for a, b in term.symmetric_if
        ]
        return [*self._part(term.symmetry, "x"), f"job.symmetric = {' and '.join(tests) or '1'}"]

    def _score(self) -> dict[str, Any]:
        """Return the macros of the score."""
        term = self.term
        table: dict[Symbol, str] = {c.symbol: f"(u)[{k}]" for k, c in enumerate(term.couplings)}
        table |= {number.symbol: f"(a)[{k}]" for k, number in enumerate(term.rows)}
        table |= {number.symbol: f"(b)[{k}]" for k, number in enumerate(term.columns)}
        table |= {symbol: f"(p)[{k}]" for k, (symbol, _) in enumerate(term.constants)}
        score = text_of(term.score, table, VECTOR)
        differences = [f"(m) == {k}" for k, c in enumerate(term.couplings) if c.difference]
        product = [c.symbol for c in term.couplings] == [term.score] and not differences
        return {
            "pairings": max(len(term.couplings), 1),
            "difference": " || ".join(differences) or "0",
            "rows": len(term.rows),
            "columns": len(term.columns),
            "scalars": len(term.constants),
            "score": score if score.startswith(("(", "symflow")) else f"({score})",
            "plain": int(term.exponential and product),
            "exponential": int(term.exponential),
            "weight": text_of(term.weight, {SCORE: "(s)"}, VECTOR),
        }

    def _finish(self) -> list[str]:
        (average, _), term = self.term.finish.inputs, self.term
        lines = self._part(term.finish, self.names[average.name])
        return [*lines, f"velocity[0] = {self._of(term.velocity)}"]


def _shape(array: Array) -> str:
    lead = "" if array.lead is None else f"{array.lead}, "
    return f"({lead}{array.rows}, {array.cols})"
