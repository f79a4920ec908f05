"""The functions of an energy as text: derivatives with common parts computed once, in C and in NumPy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from sympy import MatrixSymbol, Symbol, cse, numbered_symbols

from symflow.codegen.cython_printer import Printed
from symflow.codegen.tokens.scalars import NUMPY, PLAIN, Dialect, text_of
from symflow.derive.critical.structure import EnergyStructure, Jet

_NUMPY_HEADER = '''"""{title}"""

import numpy as np
import scipy.special

'''


def scalars_of(energy: EnergyStructure) -> tuple[Symbol, ...]:
    """Return the parameters that are numbers, in call order."""
    return tuple(p for p in energy.statement.parameters if not isinstance(p, MatrixSymbol))


def token_jets(energy: EnergyStructure) -> tuple[Jet, ...]:
    """Return the numbers of a token as functions of every atom: rows, columns, W(x, x), U(x)."""
    return (*energy.rows, *energy.columns, energy.diagonal, energy.potential)


def hessian_source(energy: EnergyStructure, title: str, versions: str) -> Printed:
    """Return the Cython text of an energy with its derivatives.

    Raises
    ------
    InputError
        If a function has no text in C.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("symflow.codegen", "templates")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.get_template("hessian.pyx.jinja")
    values: dict[str, Any] = {
        "title": title.replace("\\", "/").replace('"', "'").replace("\n", " "),
        "versions": versions,
        "scalars": ", ".join(str(s) for s in scalars_of(energy)) or "none",
        "features": ", ".join(str(v) for v in energy.pair.variables) or "none",
        "atoms": ", ".join(str(atom.symbol) for atom in energy.atoms) or "none",
        "products": len(energy.products),
        "distances": len(energy.distances),
        "atom_count": len(energy.atoms),
        "rows": len(energy.rows),
        "columns": len(energy.columns),
        "symmetric": int(energy.symmetric),
        "pair": _c_lines(energy, (energy.pair,), energy.pair.variables, "f"),
        "token": _c_lines(energy, token_jets(energy), tuple(atom.symbol for atom in energy.atoms), "s"),
    }
    key = hashlib.sha256(template.render(**values, key="").encode()).hexdigest()[:32]
    return Printed(template.render(**values, key=key), key)


def numpy_source(energy: EnergyStructure, title: str) -> str:
    """Return the NumPy text: ``pair_jet(p, f)`` and ``token_jet(p, s)``, lists of value, first, second."""
    atoms = tuple(atom.symbol for atom in energy.atoms)
    functions = (
        ("pair_jet", "f", (energy.pair,), energy.pair.variables),
        ("token_jet", "s", token_jets(energy), atoms),
    )
    text = _NUMPY_HEADER.format(title=title.replace("\\", "/").replace('"', "'"))
    for name, letter, jets, variables in functions:
        lines = [*_numpy_lines(energy, jets, variables, letter)]
        text += "\n".join((f"\ndef {name}(p, {letter}):", *(f"    {line}" for line in lines), ""))
    return text


def _c_lines(
    energy: EnergyStructure, jets: Sequence[Jet], variables: Sequence[Symbol], letter: str
) -> list[str]:
    lines, (values, firsts, seconds) = _computed(energy, jets, variables, letter, PLAIN)
    found = [f"const double {target} = {text};" for target, text in lines]
    found += [f"value[{k}] = {text};" for k, text in enumerate(values)]
    found += [f"first[{k}] = {text};" for k, text in enumerate(firsts)]
    found += [f"second[{k}] = {text};" for k, text in enumerate(seconds)]
    unused = [word for word in ("p", letter, "first", "second") if not _mentioned(word, found)]
    return [*(f"(void){word};" for word in unused), *found]


def _mentioned(word: str, lines: Sequence[str]) -> bool:
    return any(f"{word}[" in line for line in lines)


def _numpy_lines(
    energy: EnergyStructure, jets: Sequence[Jet], variables: Sequence[Symbol], letter: str
) -> Iterator[str]:
    lines, results = _computed(energy, jets, variables, letter, NUMPY)
    yield from (f"{target} = {text}" for target, text in lines)
    yield "return (" + ", ".join(f"[{', '.join(texts)}]" for texts in results) + ")"


def _computed(
    energy: EnergyStructure, jets: Sequence[Jet], variables: Sequence[Symbol], letter: str, dialect: Dialect
) -> tuple[list[tuple[str, str]], tuple[list[str], list[str], list[str]]]:
    """Return temporaries and results (values, first, packed second) of functions side by side."""
    names = {symbol: f"p[{k}]" for k, symbol in enumerate(scalars_of(energy))}
    names |= {symbol: f"{letter}[{k}]" for k, symbol in enumerate(variables)}
    values = [jet.value for jet in jets]
    firsts = [slope for jet in jets for slope in jet.first]
    seconds = [entry for jet in jets for row in jet.second for entry in row]
    shared, results = cse([*values, *firsts, *seconds], numbered_symbols("t", real=True))
    lines = []
    for symbol, expression in shared:
        lines.append((str(symbol), text_of(expression, names, dialect)))
        names[symbol] = str(symbol)
    texts = [text_of(result, names, dialect) for result in results]
    a, b = len(values), len(values) + len(firsts)
    return lines, (texts[:a], texts[a:b], texts[b:])
