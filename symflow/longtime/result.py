"""What is known about a law at long times, and from which true statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from symflow.algebra.exact.numbers import AlgebraicNumber, Ball
from symflow.derive.derivation import Derivation


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis in LaTeX text, and what decided it."""

    statement: str
    decided: str


@dataclass(frozen=True)
class Criterion:
    """A true statement that applies.

    Attributes
    ----------
    name : str
        Identifier, e.g. ``"commuting"``.
    statement : str
        LaTeX text.
    reference : str
        Citation key and place, or empty where it is derived here.
    hypotheses : tuple of Hypothesis
        Each decided in exact or ball arithmetic.
    """

    name: str
    statement: str
    reference: str
    hypotheses: tuple[Hypothesis, ...]

    def to_latex(self) -> str:
        """Return the statement and its hypotheses in LaTeX."""
        checked = " ".join(f"{h.statement} ({h.decided})." for h in self.hypotheses)
        return f"{self.statement} {checked}".strip()


@dataclass(frozen=True)
class Bound:
    r"""An inequality for all times: ``formula`` in LaTeX, ``constants`` exact or balls, by name."""

    formula: str
    constants: dict[str, Any] = field(default_factory=dict)


class Form(Protocol):
    """A closed form: callable at a time, and printable."""

    def __call__(self, t: float) -> tuple[Any, Any]:
        """Return (mean or None, covariance) at a time."""
        ...

    def to_latex(self) -> str:
        """Return the formulas in LaTeX."""
        ...


@dataclass(frozen=True, eq=False)
class LongTime:
    r"""The fate of a Gaussian law.

    Attributes
    ----------
    closed_form : Form or None
        ``closed_form(t)`` → (mean, cov); a :class:`~symflow.longtime.curve.ClosedForm` has ``Sigma(t)`` and
        ``alpha(t)`` in SymPy too.
    limit : SymPy matrix, BallMatrix or None
        :math:`\lim_{t\to\infty}\Sigma(t)`; ``np.array(limit, float)`` works.
    limit_rank : int or None
        Exact rank of the limit; at a blow-up, of the limit of Σ/tr Σ.
    direction : SymPy matrix, BallMatrix or None
        Limit of Σ/tr Σ where Σ itself has none.
    blow_up_time : AlgebraicNumber, Ball or None
        Never a plain float; ``float()`` works.
    steady_state : SymPy matrix, BallMatrix or None
        With noise: the covariance that does not move; ``reason`` says where none exists.
    global_in_time : bool or None
        Whether the covariance exists for all times; None where that is open.
    criterion : Criterion or None
        The statement that applied.
    bounds : tuple of Bound
    witnesses : dict
        Exact data that a certificate can cite: matrices as nested fractions, numbers.
    reason : str
        Why something is None.
    derivation : Derivation
        Definition, closed equations, criterion and result as steps, each with an independent check.
    """

    derivation: Derivation
    criterion: Criterion | None = None
    closed_form: Form | None = None
    limit: Any = None
    limit_rank: int | None = None
    direction: Any = None
    blow_up_time: AlgebraicNumber | Ball | None = None
    steady_state: Any = None
    global_in_time: bool | None = None
    bounds: tuple[Bound, ...] = ()
    witnesses: dict[str, Any] = field(default_factory=dict)
    reason: str = ""

    def check(self) -> bool:
        """Execute the independent check of every step; True, or raises ``CheckFailed``."""
        return self.derivation.check()

    def to_latex(self, fragment: bool = False) -> str:
        """Return the derivation of the result as a LaTeX document, or as a fragment."""
        return self.derivation.to_latex(fragment=fragment)

    def to_html(self) -> str:
        """Return the derivation of the result as one HTML page with MathML."""
        return self.derivation.to_html()

    def _repr_latex_(self) -> str:
        return self.to_latex(fragment=True)

    def __repr__(self) -> str:
        name = "none applies" if self.criterion is None else self.criterion.name
        parts = [f"criterion: {name}"]
        if self.blow_up_time is not None:
            parts.append(f"blow-up at {self.blow_up_time}")
        if self.limit is not None:
            parts.append(f"limit of rank {self.limit_rank}")
        if self.reason:
            parts.append(self.reason)
        return f"LongTime({'; '.join(parts)})"
