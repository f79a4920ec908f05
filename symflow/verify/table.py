"""What a verification returns: one frozen row per witness, and the table of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

#: The columns in the order in which they are shown.
COLUMNS = ("model", "parametrisation", "quantity", "witness", "points", "error", "tolerance", "passed")


@dataclass(frozen=True)
class Row:
    """One comparison of the compiled kernel with an independent witness.

    Attributes
    ----------
    model, parametrisation : str
        The model's name and the parameters that were given, e.g. ``"Q, K, V"``.
    quantity : str
        What was compared.
    witness : str
        What it was compared with.
    points : int
        At how many points.
    error : float
        The largest error, in the unit that ``note`` states.
    tolerance : float
        What the error must not exceed; justified in ``note``.
    passed : bool
        ``error <= tolerance``; false for an error that is not a number.
    worst : str
        The point of the largest error, or empty.
    note : str
        Unit of the error and reason of the tolerance.
    on_tokens : bool
        Whether it is about a system of n tokens; else about Gaussian laws.
    """

    model: str
    parametrisation: str
    quantity: str
    witness: str
    points: int
    error: float
    tolerance: float
    passed: bool
    worst: str = ""
    note: str = ""
    on_tokens: bool = False

    @classmethod
    def of_errors(
        cls,
        model: str,
        parametrisation: str,
        quantity: str,
        witness: str,
        errors: list[tuple[float, str]],
        tolerance: float,
        note: str,
        on_tokens: bool = False,
    ) -> Row:
        """Return the row of a comparison from the error at every point and the point's name."""
        error, worst = max(errors, key=lambda pair: (not math.isfinite(pair[0]), pair[0]))
        return cls(
            model=model,
            parametrisation=parametrisation,
            quantity=quantity,
            witness=witness,
            points=len(errors),
            error=float(error),
            tolerance=tolerance,
            passed=bool(error <= tolerance),
            worst=worst,
            on_tokens=on_tokens,
            note=note,
        )


@dataclass(frozen=True)
class Table:
    """The rows of a verification; ``passed`` says whether every one of them holds."""

    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether there is at least one row and none failed."""
        return bool(self.rows) and all(row.passed for row in self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_rows(self) -> list[tuple[Any, ...]]:
        """Return the cells, one tuple per row in the order of :data:`COLUMNS`."""
        return [tuple(getattr(row, name) for name in COLUMNS) for row in self.rows]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary with the keys ``passed`` and ``rows``."""
        return {"passed": self.passed, "rows": [asdict(row) for row in self.rows]}
