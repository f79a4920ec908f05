"""What a claim is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symflow.certify.verdict import Verdict
from symflow.errors import InputError, Undecided

if TYPE_CHECKING:
    from symflow.claims.measuring import Experiment


class Deadline:
    """A limit on wall time that a search consults between its stages.

    Parameters
    ----------
    seconds : float or None
        The limit, positive; None for no limit.

    Raises
    ------
    InputError
        If the limit is not a positive number.
    """

    def __init__(self, seconds: float | None = None) -> None:
        if seconds is not None and (not _is_number(seconds) or not seconds > 0):
            raise InputError(f"max_wall_time = {seconds!r}: give a positive number of seconds, or None")
        self._limit = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def check(self) -> None:
        """Raise :class:`Undecided` once the limit has passed."""
        if self._end is not None and time.monotonic() > self._end:
            raise Undecided(f"not decided within max_wall_time = {self._limit} s")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True)
class Claim:
    r"""One checkable statement.

    Attributes
    ----------
    id : str
        ``KEY/name``, or a bare name for a generic claim that takes a model.
    title : str
        A short heading.
    quoted : str
        The statement as usually quoted, LaTeX text with mathematics between ``$``.
    holds : str
        What holds, LaTeX text.
    hypotheses : str
        Under which hypotheses, LaTeX text.
    method : str
        Kind of proof object, or of measurement.
    documented : str
        The status that :func:`symflow.check` reaches.
    reference : str
        Citation key and place; empty for a generic claim.
    decide : callable
        ``decide(*args, deadline=Deadline)`` returns the verdict.
    arguments : tuple of str
        Names of the positional arguments, for messages; a trailing ``?`` marks an optional one.
    experiment : Experiment or None
        What is measured, for a claim that only a measurement can support.
    options : tuple of str
        Names of the keyword arguments.
    from_text : callable or None
        Turns MODEL on the command line into positional arguments, for a claim that is not about a model.
    """

    id: str
    title: str
    quoted: str
    holds: str
    hypotheses: str
    method: str
    documented: str
    reference: str
    decide: Callable[..., Verdict]
    arguments: tuple[str, ...] = ()
    experiment: Experiment | None = None
    options: tuple[str, ...] = ()
    from_text: Callable[[str], tuple[Any, ...]] | None = None

    @property
    def replay_command(self) -> str:
        """The shell commands that decide the claim and re-check its certificate or measurement."""
        model = f" {self.arguments[0].upper()}" if self.arguments else ""
        name = self.id.replace("/", "-")
        return f"symflow check {self.id}{model} --certificate {name}.json && symflow replay {name}.json"

    @property
    def witness_note(self) -> str:
        """What kind of evidence stands behind the documented status."""
        if self.documented == "proved":
            return f"certificate ({self.method})"
        if self.documented == "refuted":
            return "counterexample in the certificate"
        proof = self.experiment is not None and self.experiment.prove is not None
        return "measurement with standard errors" + (", against proved constants" if proof else "")


def wrong_arguments(claim: Claim, given: tuple[Any, ...]) -> InputError:
    """Return the error for a wrong number of positional arguments."""
    wanted = ", ".join(claim.arguments) or "none"
    return InputError(f"claim {claim.id!r} takes the arguments: {wanted}; {len(given)} were given")
