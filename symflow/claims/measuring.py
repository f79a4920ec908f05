"""From an experiment to a verdict: supported where every estimate meets its criterion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from symflow.certify.certificate import Certificate
from symflow.certify.measurement import Estimate, Measurement
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed
from symflow.errors import CertificateError, InputError

METHOD = "measurement"


@dataclass(frozen=True)
class Experiment:
    """What is measured for a claim, and with which seed and sizes.

    Attributes
    ----------
    claim : str
        Id.
    scope : str
        For which models, parameters and laws it is measured, in words.
    run : callable
        ``run(seed, sizes, deadline)`` returns the estimates; nothing else may decide what it does. It
        consults the deadline between replicates.
    sizes : Mapping of str to int or float
        Numbers of tokens and replicates, times, …
    seed : int
    prove : callable or None
        Returns the certificate, under an id of its own, of what the measurement compares with.
    """

    claim: str
    scope: str
    run: Callable[[int, Mapping[str, float], Deadline], Sequence[Estimate]]
    sizes: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    prove: Callable[[], Certificate] | None = None

    def measure(
        self,
        *,
        seed: int | None = None,
        sizes: Mapping[str, float] | None = None,
        deadline: Deadline | None = None,
    ) -> Measurement:
        """Run the experiment, with another seed or other sizes where they are given."""
        chosen = {**self.sizes, **(sizes or {})}
        start = self.seed if seed is None else seed
        found = tuple(self.run(start, chosen, deadline or Deadline()))
        return Measurement(self.claim, self.scope, start, chosen, found)

    def repeat(self, measurement: Measurement) -> Measurement:
        """Run it again from the seed and the sizes of ``measurement``.

        Raises
        ------
        InputError
            If the measurement has other sizes than this experiment.
        """
        if set(measurement.sizes) != set(self.sizes):
            raise InputError(
                f"a measurement for {self.claim} has the sizes {', '.join(self.sizes) or 'none'}, "
                f"not {', '.join(measurement.sizes) or 'none'}"
            )
        return self.measure(seed=measurement.seed, sizes=measurement.sizes)

    def require_proof(self, verdict: Verdict) -> None:
        """Refuse a stored verdict that is supported, but not by the method and the proof of this experiment.

        Raises
        ------
        CertificateError
            If its certificate is missing, or is for something else.
        """
        if verdict.status != "supported":
            return
        if verdict.method != METHOD:
            raise CertificateError(f"{self.claim}: the method is {METHOD!r}, not {verdict.method!r}")
        wanted, found = self.prove and self.prove(), verdict.certificate
        if (found and (found.claim, found.statement)) != (wanted and (wanted.claim, wanted.statement)):
            raise CertificateError(
                f"{self.claim}: the certificate is not that of {wanted.claim}"
                if wanted
                else f"{self.claim}: nothing is proved for this claim, but there is a certificate"
            )

    def decide(self, *, deadline: Deadline) -> Verdict:
        """Return the verdict; a proof of what is compared with counts once it replays."""
        certificate = None
        if self.prove is not None:
            proof = replayed(self.prove(), deadline)
            if proof.certificate is None:
                return Verdict(self.claim, "undecided", method=METHOD, reason=proof.reason)
            certificate = proof.certificate
        deadline.check()
        measurement = self.measure(deadline=deadline)
        return Verdict.from_measurement(measurement, self.repeat, method=METHOD, certificate=certificate)


def measured(experiment: Experiment, **texts: Any) -> Claim:
    """Return the claim that an experiment supports; ``texts`` are the rest of its fields."""
    return Claim(
        id=experiment.claim,
        method=METHOD,
        documented="supported",
        decide=experiment.decide,
        experiment=experiment,
        **texts,
    )
