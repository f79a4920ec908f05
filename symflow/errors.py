"""The error tree: every error carries its evidence and says what to do.

Every input error is a :class:`ValueError`; nothing is computed before the input has been checked.
"""

from __future__ import annotations

from typing import Any


class SymflowError(Exception):
    """Base of every error that symflow raises on purpose."""


class InputError(SymflowError, ValueError):
    """A value that cannot be used: the message names argument, index and remedy."""


class GrammarError(InputError):
    """A score, expression or certificate text that the small grammar does not accept.

    Attributes
    ----------
    text : str
        The text that was read.
    position : int
        Offset of the first character that could not be read.
    """

    def __init__(self, message: str, text: str = "", position: int = 0) -> None:
        super().__init__(message)
        self.text = text
        self.position = position


class NotQuadratic(InputError):
    """A score that is not ``yᵀBx + ½yᵀCy + cᵀy + r(x)``; ``term`` is the part that is left over."""

    def __init__(self, message: str, term: Any = None) -> None:
        super().__init__(message)
        self.term = term


class NotAffine(InputError):
    """A vector expression that is not ``My + m``; ``term`` is the part that is left over."""

    def __init__(self, message: str, term: Any = None) -> None:
        super().__init__(message)
        self.term = term


class NotPolynomial(InputError):
    """An expression that is not a polynomial in a vector; ``term`` is the part that is left over."""

    def __init__(self, message: str, term: Any = None) -> None:
        super().__init__(message)
        self.term = term


class NotGaussianPreserving(InputError):
    """The dynamics provably does not keep Gaussians Gaussian; ``witness`` is the exact evidence."""

    def __init__(self, message: str, witness: Any) -> None:
        super().__init__(message)
        self.witness = witness

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.witness)


class ClosureUndecided(InputError):
    """Neither a closure nor a proof that there is none was found."""


class NoGaussianLaws(ClosureUndecided):
    """Tokens live where no Gaussian law does, on the sphere; ask for the system of tokens instead."""


class NoTokenFlow(InputError):
    """A model without a deterministic system of n tokens; the message says why and what there is instead."""


class NoExpansion(InputError):
    """A velocity of tokens that cannot be summed without its pairs; the message says why."""


class NormaliserDiverges(InputError):
    """``∫exp(s(x,y))dμ(y) = ∞``: λ_max(Σ^{1/2}CΣ^{1/2}) ≥ 1; ``value`` is that eigenvalue."""

    def __init__(self, message: str, value: float | None = None) -> None:
        super().__init__(message)
        self.value = value


class NotConverged(SymflowError, ArithmeticError):
    """An iteration has not met its stopping rule; the message says which and what helps."""


class CheckFailed(SymflowError):
    """A derivation step contradicted its independent check; ``step`` and ``evidence`` say where."""

    def __init__(self, message: str, step: Any = None, evidence: Any = None) -> None:
        super().__init__(message)
        self.step = step
        self.evidence = evidence


class CertificateError(InputError):
    """A certificate that is malformed or does not prove the claim it states."""


class Undecided(SymflowError):
    """Raised by ``bool(verdict)`` when the verdict is neither proved nor refuted."""


class BuildError(SymflowError, RuntimeError):
    """A kernel could not be compiled; ``log`` is the compiler's output."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class IntegrationError(SymflowError, RuntimeError):
    """A run that did not finish, raised only with ``raise_on_failure=True``; carries ``trajectory``."""

    def __init__(self, message: str, trajectory: Any = None) -> None:
        super().__init__(message)
        self.trajectory = trajectory


class BackendWarning(UserWarning):
    """A slower backend was used; the message names what is missing and the remedy."""


class SweepInterrupted(KeyboardInterrupt):
    """A sweep that the user interrupted; the message says what is kept and how to go on."""
