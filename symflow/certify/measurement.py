"""Measurements: the evidence of a claim that only an experiment with random numbers can reach.

A measurement stores the seed and the sizes of its experiment, what was estimated with standard errors, and
what each estimate has to satisfy. Replaying it means to repeat the experiment from its seed; how that is done
is known to the claim, which hands it in.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from symflow.certify.certificate import load_json, software, version_of
from symflow.certify.recheck import Replay, ReplayedLine
from symflow.errors import CertificateError

FORMAT = "symflow-measurement"
VERSION = 1
RELATIONS = {"at most": "≤", "at least": "≥", "near": "="}  #: how a criterion compares, and how it is written
MAX_ESTIMATES = 200
_KEYS = ("format", "version", "claim", "scope", "seed", "sizes", "estimates", "versions")
_ESTIMATE_KEYS = frozenset(("quantity", "value", "error", "replicates", "criterion"))
_CRITERION_KEYS = frozenset(("relation", "target", "errors", "bias"))
_LIBRARIES = ("numpy", "scipy")
_ROUNDING = 1e-6  # by which the standard errors of equal estimates may differ: other samples are rounded


@dataclass(frozen=True)
class Criterion:
    r"""What an estimate v with the standard error e has to satisfy.

    .. math:: v + ke \le t + b \quad\text{(at most)}, \qquad v - ke \ge t - b \quad\text{(at least)}, \qquad
              |v - t| \le ke + b \quad\text{(near)}

    Attributes
    ----------
    relation : str
        ``"at most"``, ``"at least"`` or ``"near"``.
    target : float
        t.
    errors : float
        k ≥ 0, in standard errors. For the first two it makes the criterion harder to meet, for ``"near"``
        easier.
    bias : float
        b ≥ 0: what the estimate may be off by beside noise, such as the error of a method.

    Examples
    --------
    >>> Criterion("at most", 1.0, errors=3.0).met(0.8, 0.05)
    True
    >>> Criterion("at most", 1.0, errors=3.0).met(0.9, 0.05)
    False
    """

    relation: str
    target: float
    errors: float = 3.0
    bias: float = 0.0

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise CertificateError(f"relation {self.relation!r} is unknown; use {', '.join(RELATIONS)}")
        for name in ("target", "errors", "bias"):
            _require_finite(getattr(self, name), f"criterion: {name}")
        if self.errors < 0 or self.bias < 0:
            raise CertificateError("criterion: errors and bias must not be negative")

    def met(self, value: float, error: float) -> bool:
        """Whether an estimate with this standard error satisfies the criterion."""
        margin = self.errors * error
        if self.relation == "near":
            return abs(value - self.target) <= margin + self.bias
        if self.relation == "at most":
            return value + margin <= self.target + self.bias
        return value - margin >= self.target - self.bias

    def __str__(self) -> str:
        how = "within" if self.relation == "near" else "by"
        margin = f" {how} {self.errors:g} standard errors" if self.errors else ""
        bias = f", give or take {self.bias:g}" if self.bias else ""
        return f"{RELATIONS[self.relation]} {self.target:g}{margin}{bias}"


@dataclass(frozen=True)
class Estimate:
    """One number that was measured.

    Attributes
    ----------
    quantity : str
        What is estimated, in words.
    value, error : float
        The estimate and its standard error (≥ 0).
    criterion : Criterion
        What it has to satisfy.
    replicates : int
        How many independent repetitions the error comes from; 1 where it is a bound of another kind.

    Examples
    --------
    >>> print(Estimate.of_samples("mean cosine", [0.1, 0.2, 0.3], Criterion("at least", 0.0)))
    mean cosine = 0.200 ± 0.058 (3 replicates), required ≥ 0 by 3 standard errors
    """

    quantity: str
    value: float
    error: float
    criterion: Criterion
    replicates: int

    def __post_init__(self) -> None:
        if not isinstance(self.quantity, str) or not self.quantity.isprintable() or not self.quantity:
            raise CertificateError("estimate: 'quantity' must be printable text")
        for name in ("value", "error"):
            _require_finite(getattr(self, name), f"{self.quantity}: {name}")
        if self.error < 0:
            raise CertificateError(f"{self.quantity}: a standard error is not negative")
        if type(self.replicates) is not int or self.replicates < 1:
            raise CertificateError(f"{self.quantity}: 'replicates' must be a positive integer")
        if not isinstance(self.criterion, Criterion):
            raise CertificateError(f"{self.quantity}: 'criterion' must be a Criterion")

    @classmethod
    def of_samples(cls, quantity: str, samples: Iterable[float], criterion: Criterion) -> Estimate:
        """Return the mean of independent samples and its standard error.

        Raises
        ------
        CertificateError
            If there are fewer than two samples, or one is not finite.
        """
        numbers = [float(sample) for sample in samples]
        if len(numbers) < 2:
            raise CertificateError(f"{quantity}: a standard error needs at least two replicates")
        for number in numbers:
            _require_finite(number, f"{quantity}: sample")
        error = statistics.stdev(numbers) / math.sqrt(len(numbers))
        return cls(quantity, statistics.fmean(numbers), error, criterion, len(numbers))

    @property
    def met(self) -> bool:
        """Whether the criterion is satisfied."""
        return self.criterion.met(self.value, self.error)

    @property
    def digits(self) -> tuple[str, str]:
        """Value and error as text, rounded to two digits of the error."""
        if self.error == 0.0:
            return f"{self.value:.6g}", "0"
        exponent = math.floor(math.log10(self.error))
        if not -5 < exponent < 6:
            return f"{self.value:.6g}", f"{self.error:.1e}"
        places = max(0, 1 - exponent)
        return f"{self.value:.{places}f}", f"{self.error:.{places}f}"

    def __str__(self) -> str:
        value, error = self.digits
        count = f"{self.replicates} replicate{'s' if self.replicates > 1 else ''}"
        return f"{self.quantity} = {value} ± {error} ({count}), required {self.criterion}"

    def to_record(self) -> dict[str, Any]:
        """Return the estimate as plain data."""
        own = {key: getattr(self, key) for key in ("quantity", "value", "error", "replicates")}
        return own | {"criterion": vars(self.criterion) | {}}

    @classmethod
    def from_record(cls, record: Any) -> Estimate:
        """Read an estimate from plain data; raises `CertificateError`."""
        if not isinstance(record, Mapping) or set(record) != _ESTIMATE_KEYS:
            raise CertificateError(f"an estimate has the keys {', '.join(sorted(_ESTIMATE_KEYS))}")
        stored = record["criterion"]
        if not isinstance(stored, Mapping) or set(stored) != _CRITERION_KEYS:
            raise CertificateError(f"a criterion has the keys {', '.join(sorted(_CRITERION_KEYS))}")
        return cls(**{**record, "criterion": Criterion(**stored)})


@dataclass(frozen=True)
class Measurement:
    """An experiment with its seed, and what it estimated.

    Attributes
    ----------
    claim : str
        Id of the claim.
    scope : str
        For which parameters and sizes it was made, in words.
    seed : int
        Of the random numbers, ≥ 0.
    sizes : Mapping of str to int or float
        Numbers of tokens, replicates, times, …; together with the seed they fix the experiment.
    estimates : tuple of Estimate
        What was measured.
    versions : Mapping of str to str
        Of the software; by default of what runs now.
    """

    claim: str
    scope: str
    seed: int
    sizes: Mapping[str, float]
    estimates: tuple[Estimate, ...]
    versions: Mapping[str, str] = field(default_factory=lambda: _versions(), compare=False)

    def __post_init__(self) -> None:
        for key in ("claim", "scope"):
            text = getattr(self, key)
            if not isinstance(text, str) or not text.isprintable():
                raise CertificateError(f"measurement: {key!r} must be printable text")
        if type(self.seed) is not int or self.seed < 0:
            raise CertificateError(f"measurement: seed = {self.seed!r} must be an integer ≥ 0")
        for key in ("sizes", "versions"):
            if not isinstance(getattr(self, key), Mapping):
                raise CertificateError(f"measurement: {key!r} must be an object")
        for name, size in self.sizes.items():
            _require_finite(size, f"measurement: size {name!r}")
        if not all(isinstance(text, str) for text in (*self.versions, *self.versions.values(), *self.sizes)):
            raise CertificateError("measurement: 'versions' and the names of sizes must be texts")
        if not 0 < len(self.estimates) <= MAX_ESTIMATES:
            raise CertificateError(f"a measurement has between 1 and {MAX_ESTIMATES} estimates")

    @property
    def met(self) -> bool:
        """Whether every estimate satisfies its criterion."""
        return all(estimate.met for estimate in self.estimates)

    def compare(self, repeated: Measurement) -> Replay:
        """Compare with a repetition from the same seed.

        Every estimate must be the same number with the same standard error, or differ by no more than the
        smaller standard error, with errors of one size (another machine rounds differently), and must
        satisfy its criterion in both.
        """
        if (self.claim, self.seed, dict(self.sizes)) != (
            repeated.claim,
            repeated.seed,
            dict(repeated.sizes),
        ):
            return Replay(False, reason="the repetition has another claim, seed or sizes")
        if len(self.estimates) != len(repeated.estimates) or self.scope != repeated.scope:
            return Replay(False, reason="the repetition measured something else")
        lines = tuple(
            _compared(f"E{index}", one, other)
            for index, (one, other) in enumerate(zip(self.estimates, repeated.estimates, strict=True), 1)
        )
        failed = [line for line in lines if not line.accepted]
        return Replay(not failed, lines, f"{failed[0].id}: {failed[0].reason}" if failed else "")

    def replay(self, rerun: Callable[[Measurement], Measurement]) -> Replay:
        """Repeat the experiment with ``rerun`` and compare."""
        return self.compare(rerun(self))

    def to_record(self) -> dict[str, Any]:
        """Return the measurement as plain data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "claim": self.claim,
            "scope": self.scope,
            "seed": self.seed,
            "sizes": dict(self.sizes),
            "estimates": [estimate.to_record() for estimate in self.estimates],
            "versions": dict(self.versions),
        }

    def to_json(self, indent: int | None = 1) -> str:
        """Return the measurement as JSON text."""
        return json.dumps(self.to_record(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Measurement:
        """Read a measurement from JSON text.

        Raises
        ------
        CertificateError
            If the text is not JSON or does not follow the schema; the message names the fault.
        """
        return cls.from_record(load_json(text))

    @classmethod
    def from_record(cls, record: Any) -> Measurement:
        """Read a measurement from plain data; raises `CertificateError` as :meth:`from_json`."""
        if not isinstance(record, Mapping) or set(record) != set(_KEYS):
            raise CertificateError(f"a measurement is an object with the keys {', '.join(_KEYS)}")
        if record["format"] != FORMAT or type(record["version"]) is not int or record["version"] != VERSION:
            raise CertificateError(f"a measurement has format {FORMAT!r} and version {VERSION}")
        stored = record["estimates"]
        if not isinstance(stored, (list, tuple)):
            raise CertificateError("measurement: 'estimates' must be a list")
        fields = {key: record[key] for key in _KEYS[2:]}
        return cls(**fields | {"estimates": tuple(Estimate.from_record(one) for one in stored)})


def _compared(name: str, stored: Estimate, repeated: Estimate) -> ReplayedLine:
    gap = abs(stored.value - repeated.value)
    if (stored.quantity, stored.criterion, stored.replicates) != (
        repeated.quantity,
        repeated.criterion,
        repeated.replicates,
    ):
        return ReplayedLine(name, str(stored), f"the repetition measured: {repeated}", False)
    if gap > min(stored.error, repeated.error):
        why = f"the repetition found {repeated.value!r}, which is {gap:.3g} away"
        return ReplayedLine(name, str(stored), why, False)
    if not math.isclose(stored.error, repeated.error, rel_tol=_ROUNDING if gap == 0.0 else 0.5):
        why = f"the repetition found the standard error {repeated.error!r}"
        return ReplayedLine(name, str(stored), why, False)
    if not (stored.met and repeated.met):
        return ReplayedLine(name, str(stored), "the criterion is not met", False)
    how = "the same number" if (gap, stored.error) == (0.0, repeated.error) else "within its standard error"
    return ReplayedLine(name, str(stored), f"repeated from its seed: {how}", True)


def _versions() -> dict[str, str]:
    return software() | {name: version_of(name) for name in _LIBRARIES}


def _require_finite(value: Any, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise CertificateError(f"{what} = {value!r} must be a finite number")
