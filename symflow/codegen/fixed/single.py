"""Right-hand sides of fixed small size for a single run: straight-line code behind the general interface."""

from __future__ import annotations

import re
from dataclasses import dataclass

from symflow.codegen.fixed.unroll import Straight, Unsupported, unroll
from symflow.codegen.program import Program

#: Sizes up to this one are printed: beyond, loops on registers are as fast.
LARGEST = 4

#: Programs that a stepper calls.
ENTRIES = ("factor", "turned")

_NUMBERED = re.compile(r"\b([ypc])\[(\d+)\]")


@dataclass(frozen=True)
class Single:
    """One function as text.

    Attributes
    ----------
    entry : str
        The name of the general function and the sizes, ``"factor@2,2"``: the runtime looks for it first.
    reads : tuple of str
        Assignments of the parameters.
    body : tuple of (str, str)
        Kind, ``"real"`` or ``"mask"``, and text of each assignment.
    slopes : tuple of str
        Every number of the derivative.
    singular, outside : tuple of str
        Masks of what is refused.
    """

    entry: str
    reads: tuple[str, ...]
    body: tuple[tuple[str, str], ...]
    slopes: tuple[str, ...]
    singular: tuple[str, ...]
    outside: tuple[str, ...]


def singles(program: Program) -> list[Single]:
    """Return the functions of a program, every size the same number; none where it has no such form."""
    if program.name not in ENTRIES:
        return []
    try:
        return [_single(program, n) for n in range(1, LARGEST + 1)]
    except Unsupported:
        return []


def _single(program: Program, n: int) -> Single:
    sizes = dict.fromkeys(program.dimensions, n)
    straight = unroll(program, sizes, {}, triangles=program.name == "turned")
    places = _places(straight)
    texts = {("y", str(number)): f"y[{place}]" for number, place in enumerate(places)}
    order = [a.name for a in program.parameters]
    cols = {a.name: a.cols if isinstance(a.cols, int) else sizes[a.cols] for a in program.parameters}
    reads = []
    for number, (name, i, j) in enumerate(straight.parameters):
        reads.append(f"p{number} = call.params[{order.index(name)}][{i * cols[name] + j}]")
        texts["p", str(number)] = f"p{number}"

    def shown(text: str) -> str:
        return _NUMBERED.sub(lambda found: texts[found[1], found[2]], text)

    for number, text in enumerate(straight.coefficients):
        reads.append(f"c{number} = {shown(text)}")
        texts["c", str(number)] = f"c{number}"
    slopes = ["0.0"] * sum(rows * columns for rows, columns in straight.shapes)
    for place, slope in zip(places, straight.slopes, strict=True):
        slopes[place] = shown(slope)
    return Single(
        entry=f"{program.name}@{','.join(str(n) for _ in program.dimensions)}",
        reads=tuple(reads),
        body=tuple(("mask" if a.is_mask else "real", f"{a.target} = {shown(a.text)}") for a in straight.body),
        slopes=tuple(slopes),
        singular=straight.singular,
        outside=straight.outside,
    )


def _places(straight: Straight) -> list[int]:
    """Return where each number of the state stands in the flat state, row by row."""
    starts, total = [], 0
    for rows, cols in straight.shapes:
        starts.append(total)
        total += rows * cols
    return [starts[state] + i * straight.shapes[state][1] + j for state, i, j in straight.slots]
