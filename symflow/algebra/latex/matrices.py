"""Explicit matrices that are wider than a line: named blocks of columns, or entry by entry."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from symflow.algebra.latex.lines import width

_COLUMN_GAP = 1.5


def matrix_rows(name: str, matrix: Any, write: Callable[[Any], str], max_width: int) -> list[tuple[str, str]]:
    """Return the equations (left, right) that define an explicit matrix within ``max_width``.

    Parameters
    ----------
    name : str
        LaTeX of the left side.
    matrix : MatrixBase
        The matrix.
    write : callable
        Printer of one entry.
    max_width : int
        Widest line.
    """
    entries = [[write(matrix[i, j]) for j in range(matrix.cols)] for i in range(matrix.rows)]
    columns = [max((width(row[j]) for row in entries), default=0) + _COLUMN_GAP for j in range(matrix.cols)]
    room = max_width - width(name) - 4
    if sum(columns) <= room:
        return [(name, _display(entries))]
    if max(columns) > room:
        return _entry_by_entry(name, entries)
    blocks = _blocks(columns, room)
    names = [_raised(name, index) for index in range(1, len(blocks) + 1)]
    whole = (name, _display([names]))
    return [
        whole,
        *(
            (label, _display([row[a:b] for row in entries]))
            for label, (a, b) in zip(names, blocks, strict=True)
        ),
    ]


def _display(entries: list[list[str]]) -> str:
    # "array" rather than "pmatrix": the latter stops at ten columns.
    body = r" \\ ".join(" & ".join(row) for row in entries)
    return rf"\left(\begin{{array}}{{{'c' * len(entries[0])}}}{body}\end{{array}}\right)"


def _blocks(columns: list[float], room: float) -> list[tuple[int, int]]:
    blocks, start, used = [], 0, 0.0
    for index, size in enumerate(columns):
        if used + size > room:
            blocks.append((start, index))
            start, used = index, 0.0
        used += size
    return [*blocks, (start, len(columns))]


def _raised(name: str, index: int) -> str:
    base = name if re.fullmatch(r"\\?[A-Za-z]+(?:_\{[^{}]*\})?", name) else f"({name})"
    return f"{base}^{{({index})}}"


def _entry_by_entry(name: str, entries: list[list[str]]) -> list[tuple[str, str]]:
    base = name if re.fullmatch(r"\\?[A-Za-z]+", name) else f"({name})"
    rows = [
        (f"{base}_{{{i},{j}}}", text)
        for i, row in enumerate(entries, start=1)
        for j, text in enumerate(row, start=1)
        if text != "0"
    ]
    return (
        [*rows, (rf"\text{{all other entries of }}{name}\text{{ are }}0", "")] if _has_zero(entries) else rows
    )


def _has_zero(entries: list[list[str]]) -> bool:
    return any(text == "0" for row in entries for text in row)
