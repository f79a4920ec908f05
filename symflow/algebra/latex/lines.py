"""Width of a formula and where to break it; works on text, so that ready LaTeX breaks like printed sums."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

DEFAULT_WIDTH = 48  #: of a line of an article at 10 pt, both sides and the equality sign included

#: Widths in units of 7 pt at 10 pt, measured on Computer Modern, spaces around operators included.
_WIDE = dict.fromkeys("+-=<>", 1.75) | dict.fromkeys("(),", 0.58) | dict.fromkeys("[]|.~", 0.4)
_WIDE |= dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ", 1.1) | {"W": 1.5, "M": 1.5, "m": 1.2, "w": 1.05}
_WIDE |= {"'": 0.3, " ": 0.0, "&": 0.0}
_COMMANDS = {r"\,": 0.25, r"\;": 0.4, r"\:": 0.3, r"\!": -0.2, r"\ ": 0.5, r"\quad": 1.45, r"\qquad": 2.9}
_COMMANDS |= dict.fromkeys((r"\log", r"\det", r"\cos", r"\sum", r"\exp", r"\sin"), 2.2)
_COMMANDS |= dict.fromkeys((r"\tanh", r"\max", r"\min"), 2.7)
_COMMANDS |= dict.fromkeys((r"\langle", r"\rangle", r"\{", r"\}", r"\cdot"), 0.6) | {r"\sqrt": 1.2}
_NO_WIDTH = "left right bigl bigr mathrm mathbf boldsymbol mathcal mathbb operatorname dot text begin end"
_COMMANDS |= {rf"\{name}": 0.0 for name in _NO_WIDTH.split()}
_RELATION_NAMES = "le ge succeq preceq succ prec in to propto mapsto"
_RELATIONS = frozenset(rf"\{name}" for name in _RELATION_NAMES.split())
_FRACTIONS = (r"\frac", r"\tfrac", r"\dfrac")
_PIECE = re.compile(r"\\(?:[A-Za-z]+|.)|[_^]|[{}]|.", re.DOTALL)
_OPENING = ("(", "[", r"\langle", r"\bigl(")
_CLOSING = (")", "]", r"\rangle", r"\bigr)")


@dataclass(frozen=True)
class _Atom:
    """A piece that is never broken: a letter with its scripts, a fraction, or ``\\left … \\right``."""

    text: str
    width: float


def width(text: str) -> float:
    r"""Return the approximate width of a formula in units of 7 pt at 10 pt.

    Examples
    --------
    >>> width("AB") < width("A+B") < width("A+B+C")
    True
    >>> width(r"\frac{A}{B}") < width("AB")
    True
    """
    return sum(atom.width for atom in _atoms(text))


def break_lines(text: str, room: float | None, terms_per_line: int | None = None) -> list[str]:
    """Return the lines of a formula: broken before signs, outside brackets where possible.

    Parameters
    ----------
    text : str
        A formula without alignment marks.
    room : float or None
        Widest line; None never breaks for width.
    terms_per_line : int, optional
        Break after so many terms of the outer sum.
    """
    atoms = list(_atoms(text, room))
    lines: list[str] = []
    for group in _groups(atoms, terms_per_line):
        lines += _fill(group, room)
    return lines


def _groups(atoms: list[_Atom], count: int | None) -> Iterator[list[_Atom]]:
    if count is None:
        yield atoms
        return
    start, seen = 0, 0
    for index, depth in enumerate(_depths(atoms)):
        if depth == 0 and _is_binary(atoms, index):
            seen += 1
            if seen == count:
                yield atoms[start:index]
                start, seen = index, 0
    yield atoms[start:]


def _fill(atoms: list[_Atom], room: float | None) -> list[str]:
    lines = []
    while room is not None and sum(a.width for a in atoms) > room:
        place = _best_break(atoms, room)
        if place is None:
            break
        lines.append(_join(atoms[:place]))
        rest = atoms[place:]
        atoms = rest if _is_sign(rest[0]) else [_Atom(r"\cdot ", 1.4), *rest]
        room = room if len(lines) > 1 else room - 2  # continued lines are indented
    return [*lines, _join(atoms)]


def _best_break(atoms: list[_Atom], room: float) -> int | None:
    """Return the cheapest place: few open brackets, a sign rather than a product, a line not too short."""
    best, cheapest, used = None, float("inf"), 0.0
    depths = _depths(atoms)
    for index, atom in enumerate(atoms):
        is_sign = _is_binary(atoms, index)
        if index > 0 and (is_sign or _is_product(atoms, index)):
            overflow = max(0.0, used - room)
            penalty = depths[index] + (0 if is_sign else 2)
            cost = 20 * penalty + 0.5 * max(0.0, room - used) + 1000 * overflow
            if cost < cheapest and used > 0.2 * room:
                best, cheapest = index, cost
        used += atom.width
    return best


def _join(atoms: list[_Atom]) -> str:
    return "".join(atom.text for atom in atoms).strip()


def _is_sign(atom: _Atom) -> bool:
    return atom.text.strip() in ("+", "-")


def _is_binary(atoms: list[_Atom], index: int) -> bool:
    if index == 0 or not _is_sign(atoms[index]):
        return False
    before = atoms[index - 1].text.strip()
    return before not in (*_OPENING, "+", "-", "=", ",", "<", ">", r"\cdot") and before not in _RELATIONS


def _is_product(atoms: list[_Atom], index: int) -> bool:
    """Whether a bracket has just been closed and another factor follows."""
    before, after = atoms[index - 1].text, atoms[index].text.strip()
    closed = before.startswith(_CLOSING) or before.startswith(r"\left")
    return closed and (
        after[:1].isalnum() or after[:1] == "(" or (after[:1] == "\\" and after not in _CLOSING)
    )


def _depths(atoms: list[_Atom]) -> list[int]:
    depths, depth, in_norm = [], 0, False
    for atom in atoms:
        text = atom.text.strip()
        if text.startswith("|"):
            depth += -1 if in_norm else 1
            in_norm = not in_norm
        depth -= text.startswith(_CLOSING)
        depths.append(depth)
        depth += text.startswith(_OPENING)
    return depths


# ---- atoms -----------------------------------------------------------------------------------------


def _atoms(text: str, room: float | None = None) -> Iterator[_Atom]:
    """Split into atoms; a fraction or stretched bracket that cannot fit is opened up."""
    position = 0
    while position < len(text):
        end, size = _atom_at(text, position)
        piece = text[position:end]
        opened = _opened(piece) if room is not None and size > room else None
        if opened is None:
            yield _Atom(piece, size)
        else:
            yield from _atoms(opened, room)
        position = end


def _atom_at(text: str, start: int) -> tuple[int, float]:
    """Return the end and width of the atom at ``start``, with following spaces and scripts."""
    piece = _piece(text, start)
    end = start + len(piece)
    if piece in (r"\left", r"\begin"):
        end = _matching(text, start, piece, {r"\left": r"\right", r"\begin": r"\end"}[piece])
        size = width(re.sub(r"\\left|\\right|\\(?:begin|end)\{\w+\}|\\\\", "", text[start:end]))
    elif piece == "{":
        end = _group_end(text, start)
        size = width(text[start + 1 : end - 1])
    elif piece in (r"\bigl", r"\bigr"):
        end += len(_piece(text, end))
        size = 0.7
    else:
        end, size = _with_arguments(text, piece, end)
    return _scripts(text, end, size)


def _scripts(text: str, end: int, size: float) -> tuple[int, float]:
    """Take the scripts that follow; a subscript and a superscript share their width."""
    widths = [0.0]
    while (tail := _piece(text, end)) in ("_", "^", "'", " "):
        after = end + 1
        if tail in "_^":
            is_group = text[after : after + 1] == "{"
            after = _group_end(text, after) if is_group else after + len(_piece(text, after))
            widths.append(0.1 + 0.72 * width(text[end + 1 : after].strip("{}")))
        end = after
    return end, size + max(widths)


def _with_arguments(text: str, piece: str, end: int) -> tuple[int, float]:
    sizes = []
    is_command = piece[:1] == "\\"
    while is_command and piece[1:2].isalpha() and text[end : end + 1] == "{":
        after = _group_end(text, end)
        sizes.append(width(text[end + 1 : after - 1]))
        end = after
    if piece in _FRACTIONS:
        return end, (0.75 if piece == r"\tfrac" else 1.0) * max(sizes, default=1.0) + 0.35
    unknown = 2.1 if piece in _RELATIONS else 0.95 if is_command else 0.75
    return end, (_COMMANDS if is_command else _WIDE).get(piece, unknown) + sum(sizes)


def _opened(piece: str) -> str | None:
    fraction = re.match(r"\\[td]?frac\{", piece)
    if fraction:
        middle = _group_end(piece, fraction.end() - 1)
        end = _group_end(piece, middle)
        if width(piece[middle:end]) > width(piece[fraction.end() : middle - 1]):
            return None
        above = piece[fraction.end() : middle - 1]
        return rf"\frac{{1}}{piece[middle:end]}\bigl({above}\bigr){piece[end:]}"
    stretched = re.match(r"\\left\((.*)\\right\)(.*)$", piece, re.DOTALL)
    if stretched is None or r"\begin" in piece:
        return None
    return rf"\bigl({stretched[1]}\bigr){stretched[2]}"


def _piece(text: str, position: int) -> str:
    found = _PIECE.match(text, position)
    return found.group() if found else ""


def _group_end(text: str, start: int) -> int:
    depth, position = 0, start
    while position < len(text):
        piece = _piece(text, position)
        depth += (piece == "{") - (piece == "}")
        position += len(piece)
        if depth == 0:
            return position
    return position


def _matching(text: str, start: int, opening: str, closing: str) -> int:
    depth, position = 0, start
    while position < len(text):
        piece = _piece(text, position)
        depth += (piece == opening) - (piece == closing)
        position += len(piece)
        if depth == 0:
            bracket = _piece(text, position)
            return _group_end(text, position) if bracket == "{" else position + len(bracket)
    return position
