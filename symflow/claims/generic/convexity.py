"""Convexity of an energy along the geodesics of a metric on laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.convexity import METHOD, decide_convexity
from symflow.claims.energies import OPTIONS, energy_statement
from symflow.models.registry import model_named
from symflow.spec import load_spec


def _convexity(energy: Any, metric: str | None = None, *, deadline: Deadline, **options: Any) -> Verdict:
    if metric is not None:
        options["metric"] = metric
    return decide_convexity(energy_statement(energy, options), deadline)


def _from_text(text: str) -> tuple[Any, ...]:
    """Return the spec of a file, or a shipped model."""
    path = Path(text)
    if path.suffix == ".toml" or len(path.parts) > 1 or path.is_file():
        return (load_spec(path),)
    return (model_named(text),)


CLAIMS = (
    Claim(
        id="convexity",
        title="Geodesic convexity",
        quoted=r"The energy is convex along geodesics.",
        holds=r"Decided for $F(\mu) = \tfrac12\iint W\,d\mu\,d\mu + \int U\,d\mu$: proved where "
        r"$\frac{d^2}{dt^2}F \ge \lambda\,|\dot\mu|^2$ along every geodesic, refuted with atoms and "
        r"velocities for which it is not. A model stands for the energy of softmax attention with the "
        r"twisted metric, $V = I$ and $A = -I$ where no parameters are given; that one is not convex.",
        hypotheses=r"Rational parameters; the Wasserstein metric on $\mathbb{R}^d$ or on the sphere, its "
        r"restriction to Gaussian laws, or the twisted metric with $A$ symmetric and $AV^{-1}$ symmetric and "
        r"definite. A convex domain for the supports may be given, and a modulus $\lambda$, by default 0.",
        method=METHOD,
        documented="refuted",
        reference="",
        decide=_convexity,
        arguments=("energy", "metric?"),
        options=OPTIONS,
        from_text=_from_text,
    ),
)
