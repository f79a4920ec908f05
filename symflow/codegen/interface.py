"""What a kernel takes and returns: names and symbolic shapes, kept as JSON beside the compiled code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symflow.errors import InputError

if TYPE_CHECKING:
    from symflow.codegen.program import Program
    from symflow.codegen.tokens.program import TokenProgram

Size = str | int


@dataclass(frozen=True)
class Slot:
    """A named matrix of symbolic shape, or as many as ``lead`` says."""

    name: str
    rows: Size
    cols: Size
    lead: Size | None = None

    @property
    def axes(self) -> tuple[Size, ...]:
        """The axes of the array that a caller gives: a vector has one, a scalar none."""
        matrix = () if (self.rows, self.cols) == (1, 1) else (self.rows, self.cols)
        lead = () if self.lead is None else (self.lead,)
        return (*lead, *(matrix[:1] if self.cols == 1 else matrix))

    @property
    def extents(self) -> tuple[Size, ...]:
        """The factors of the number of its entries."""
        return (self.rows, self.cols) if self.lead is None else (self.lead, self.rows, self.cols)

    @property
    def shown(self) -> str:
        """The shape as messages write it: ``()``, ``(d,)`` or ``(k, d)``."""
        return f"({self.axes[0]},)" if len(self.axes) == 1 else "(" + ", ".join(map(str, self.axes)) + ")"


@dataclass(frozen=True)
class Entry:
    """One generated function.

    Attributes
    ----------
    name : str
        ``"moments"``, ``"factor"``, ``"turned"``, ``"tangent"`` or ``"domain"``; or ``"tokens"``.
    inputs, outputs : tuple of Slot
        Pieces of the flattened state and of its derivative.
    dimensions : tuple of str
        Sizes in call order.
    identity : str or None
        The parameter that has to be the identity for the function to hold.
    """

    name: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    dimensions: tuple[str, ...]
    identity: str | None = None


@dataclass(frozen=True)
class Interface:
    """The functions of one parametrisation of a model, and the parameters they share.

    Attributes
    ----------
    name : str
        E.g. ``"softmax-A"``.
    parameters : tuple of Slot
        In call order; scalars are 1 × 1.
    scalars : tuple of str
        Names of the scalar ones.
    entries : tuple of Entry
        The generated functions.
    guarded : bool
        Whether the factor form, or ``"domain"`` where there is none, refuses states where the normaliser
        diverges; the moments form, which has no square root of Σ at hand, relies on it.
    """

    name: str
    parameters: tuple[Slot, ...]
    scalars: tuple[str, ...]
    entries: tuple[Entry, ...]
    guarded: bool = False

    def entry(self, name: str) -> Entry:
        """Return the function called ``name``.

        Raises
        ------
        InputError
            If there is none.
        """
        for entry in self.entries:
            if entry.name == name:
                return entry
        known = ", ".join(entry.name for entry in self.entries)
        raise InputError(f"entry {name!r} is unknown; {self.name} has {known}")

    def to_json(self) -> dict[str, Any]:
        """Return plain lists and texts."""
        return {
            "name": self.name,
            "parameters": [_row(p) for p in self.parameters],
            "scalars": list(self.scalars),
            "guarded": self.guarded,
            "entries": [
                {
                    "name": e.name,
                    "inputs": [_row(s) for s in e.inputs],
                    "outputs": [_row(s) for s in e.outputs],
                    "dimensions": list(e.dimensions),
                    "identity": e.identity,
                }
                for e in self.entries
            ],
        }

    def has(self, name: str) -> bool:
        """Whether there is a function called ``name``: with noise no factor flows by itself."""
        return any(entry.name == name for entry in self.entries)


def _row(slot: Slot) -> list[Size | None]:
    return [slot.name, slot.rows, slot.cols, *([] if slot.lead is None else [slot.lead])]


def _slots(rows: Iterable[Any]) -> tuple[Slot, ...]:
    return tuple(Slot(*row) for row in rows)


def from_json(data: Mapping[str, Any]) -> Interface:
    """Return the interface that :meth:`Interface.to_json` wrote."""
    entries = tuple(
        Entry(e["name"], _slots(e["inputs"]), _slots(e["outputs"]), tuple(e["dimensions"]), e["identity"])
        for e in data["entries"]
    )
    parameters = _slots(data["parameters"])
    return Interface(data["name"], parameters, tuple(data["scalars"]), entries, bool(data["guarded"]))


def of_programs(programs: Mapping[str, Program]) -> Interface:
    """Return the interface of the programs of one flow."""
    first = next(iter(programs.values()))
    entries = tuple(
        Entry(p.name, _of_arrays(p.inputs), _of_arrays(p.outputs), p.dimensions, p.identity)
        for p in programs.values()
    )
    guarded = any(p.is_guarded for p in programs.values())
    return Interface(first.model, _of_arrays(first.parameters), first.scalars, entries, guarded)


#: The state of n tokens, whatever the model.
TOKENS = Slot("X", "n", "d")


def of_tokens(program: TokenProgram) -> Interface:
    """Return the interface of the velocities of tokens, whose state has a token per row."""
    d, n = program.dimensions[0], program.dimensions[-1]
    state, velocity = Slot(TOKENS.name, n, d), Slot("velocity", n, d)
    entry = Entry(program.name, (state,), (velocity,), program.dimensions)
    return Interface(program.model, _of_arrays(program.parameters), program.scalars, (entry,))


def _of_arrays(arrays: Iterable[Any]) -> tuple[Slot, ...]:
    return tuple(Slot(a.name, a.rows, a.cols, a.lead) for a in arrays)
