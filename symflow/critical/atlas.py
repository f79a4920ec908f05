"""Critical points of an energy on spheres, as they are handed out: an atlas of configurations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from symflow.checking import Array

#: What is known of a point beyond floats.
CERTIFIED = "certified"
DEGENERATE = "not isolated modulo rotations, or degenerate"
OPEN = "not certified"


@dataclass(frozen=True)
class CriticalPoint:
    r"""One critical point, up to rotations (where these are symmetries) and permutations of the tokens.

    Attributes
    ----------
    x : ndarray, (n, d)
        A representative.
    name : str
        ``"consensus"``, ``"3 + 1 antipodal"``, ``"regular 5-gon"``, ``"2 + 1 + 1 in rank 2"``, …
    clusters : tuple of int
        How many tokens share each position, the largest number first.
    rank : int
        Dimension of the span of the tokens.
    energy : float
    eigenvalues : tuple of float
        Of the Hessian with respect to Σ|ξ_i|², ascending, n(d − 1) of them.
    increasing, decreasing : int
        Directions in which the energy increases and decreases at second order.
    flat : int
        Zero eigenvalues that are not those of rotations: a degenerate point, or one of a family.
    rotations : int
        Dimension of the orbit under rotations; zero where the energy is not invariant.
    hits : int
        How many starts led here.
    certificate : str
        ``"certified"``: within ``radius`` of x, ball arithmetic proves that there is a critical point,
        isolated modulo rotations, with these numbers of directions.
    radius : float or None
    exact : tuple of tuple of Expr or None
        Exact tokens of this configuration up to a rotation, where it is a known figure: what
        :func:`symflow.check` of ``"saddle"`` decides without rounding.
    """

    x: Array
    name: str
    clusters: tuple[int, ...]
    rank: int
    energy: float
    eigenvalues: tuple[float, ...]
    increasing: int
    decreasing: int
    flat: int
    rotations: int
    hits: int
    certificate: str = OPEN
    radius: float | None = None
    exact: tuple[tuple[Any, ...], ...] | None = None

    @property
    def certified(self) -> bool:
        """Whether existence and kind are proved in ball arithmetic."""
        return self.certificate == CERTIFIED

    @property
    def is_maximum(self) -> bool:
        """Whether no direction but rotations leads up, or leaves the energy as it is, at second order."""
        return self.increasing == self.flat == 0

    @property
    def is_minimum(self) -> bool:
        """Whether no direction but rotations leads down, or leaves the energy as it is, at second order."""
        return self.decreasing == self.flat == 0

    @property
    def kind(self) -> str:
        """``"maximum"``, ``"minimum"``, ``"saddle"`` or ``"degenerate"``, modulo rotations."""
        if self.increasing and self.decreasing:
            return "saddle"
        if self.flat:
            return "degenerate"
        return "maximum" if self.is_maximum else "minimum"

    def to_record(self) -> dict[str, Any]:
        """Return the point as plain data."""
        found = {name: getattr(self, name) for name in _COLUMNS}
        return found | {
            "kind": self.kind,
            "clusters": list(self.clusters),
            "eigenvalues": list(self.eigenvalues),
            "x": self.x.tolist(),
            "exact": self.exact and [[str(entry) for entry in row] for row in self.exact],
        }


_COLUMNS = (
    "name", "rank", "energy", "increasing", "decreasing", "flat", "rotations", "hits", "certificate",
    "radius",
)  # fmt: skip


@dataclass(frozen=True)
class Atlas:
    """Critical points of one energy for n tokens in ℝᵈ, the highest energy first.

    Attributes
    ----------
    energy : str
        What it is, for readers.
    n, d : int
    points : tuple of CriticalPoint
    starts : int
        How many starts there were.
    converged : int
        How many of them led to a critical point.
    complete : bool or None
        Whether there are no others; None where that is not known. It is proved for few tokens on the circle;
        :func:`symflow.check` of ``"critical-points"`` gives the certificate.
    """

    energy: str
    n: int
    d: int
    points: tuple[CriticalPoint, ...]
    starts: int
    converged: int
    complete: bool | None = None

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[CriticalPoint]:
        return iter(self.points)

    def __getitem__(self, index: int) -> CriticalPoint:
        return self.points[index]

    def to_record(self) -> dict[str, Any]:
        """Return the atlas as plain data."""
        head = {name: getattr(self, name) for name in ("energy", "n", "d", "starts", "converged", "complete")}
        return head | {"points": [point.to_record() for point in self.points]}

    def to_json(self, indent: int | None = 1) -> str:
        """Return the atlas as JSON text."""
        return json.dumps(self.to_record(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        head = f"{len(self)} critical points of {self.n} tokens in dimension {self.d}: {self.energy}"
        texts = [["", "energy", "kind", "up", "down", "flat", "hits", ""]]
        for p in self.points:
            counts = map(str, (p.increasing, p.decreasing, p.flat, p.hits))
            texts.append([p.name, f"{p.energy:.6f}", p.kind, *counts, p.certificate])
        widths = [max(len(row[k]) for row in texts) for k in range(len(texts[0]))]
        lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in texts)
        said = {True: "these are all", False: "there are others", None: "others are not excluded"}
        return "\n".join([head, *lines, said[self.complete]])
