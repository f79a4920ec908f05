"""The section on one shipped model: derivation, verdict and long-time regimes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from symflow.certify import LEMMAS
from symflow.claims import check, claim
from symflow.derive.closure import gaussian_closure
from symflow.derive.derivation import Derivation
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.solve import solve
from symflow.models.attention.model import AttentionModel
from symflow.plot import CovariancePath, cone, eigenvalues, ellipses, save
from symflow.references import keys_in
from symflow.report.blocks import (
    BAD,
    GOOD,
    Badge,
    Code,
    Display,
    Grid,
    Paragraph,
    Picture,
    Section,
    Steps,
    mark,
)
from symflow.report.formulas import closed_equations
from symflow.report.regimes import Regime, compare, regimes, remark

Progress = Callable[[str], None]
CLAIM = "gaussian-preservation"


@dataclass(frozen=True)
class Outcome:
    """A section together with what it adds to ``report.json`` and whether all of it holds."""

    section: Section
    summary: dict[str, Any]
    passed: bool
    citations: tuple[str, ...] = ()


def model_section(model: AttentionModel, out: Path, progress: Progress) -> Outcome:
    """Return the section on a shipped model; figures and certificate are written below ``out``.

    Parameters
    ----------
    model : AttentionModel
    out : Path
        Holds the folders ``figures`` and ``certificates``.
    progress : callable
        Called with one line of text before each part.
    """
    name = model.name
    progress(f"{name}: derivation")
    derivation = gaussian_closure(model)
    derived = derivation_section(derivation, name)
    progress(f"{name}: verdict")
    judged = verdict_section(model, None, name, out)
    progress(f"{name}: long-time regimes")
    ran = _regimes_section(model, out)
    parts = [part for part in (derived, judged, ran) if part is not None]
    section = Section(
        title=model.title,
        anchor=name,
        blocks=(Display(closed_equations(derivation)),),
        badges=tuple(badge for part in parts for badge in part.section.badges),
        sections=tuple(part.section for part in parts),
    )
    summary = {key: value for part in parts for key, value in part.summary.items()}
    return Outcome(section, summary, all(part.passed for part in parts), derived.citations)


def derivation_section(derivation: Derivation, anchor: str) -> Outcome:
    """Return the derivation with the result of every independent check."""
    checked = tuple(derivation.checked())
    good = sum(seen.passed for _, seen in checked)
    badge = Badge("derivation", f"{good} of {len(checked)} steps checked", _state(good == len(checked)))
    section = Section("Derivation", f"{anchor}-derivation", (Steps(derivation, checked),), (badge,))
    steps = [
        {"title": step.title, "rule": step.rule, "check": seen.method, "passed": seen.passed}
        for step, seen in checked
    ]
    cited = dict.fromkeys(key for step, _ in checked for key in keys_in(step.reference))
    return Outcome(section, {"derivation": steps}, good == len(checked), tuple(cited))


def verdict_section(model: AttentionModel, given: frozenset[str] | None, anchor: str, out: Path) -> Outcome:
    """Return the verdict on Gaussian preservation; its certificate is saved and replayed."""
    verdict = check(CLAIM, model) if given is None else check(CLAIM, model, given)
    file = f"certificates/{anchor}-{CLAIM}.json"
    decided = verdict.certificate is not None
    replayed = False
    if verdict.certificate is not None:
        verdict.certificate.save(out / file)
        replayed = verdict.replay()
    rows = [("status", verdict.status), ("scope", verdict.scope or "–"), ("method", verdict.method or "–")]
    lemmas = [f"{LEMMAS[name].title} ({LEMMAS[name].citation})" for name in verdict.assumes]
    rows.append(("assumes", "; ".join(lemmas) or "nothing"))
    rows += [("reason", verdict.reason)] if verdict.reason else []
    blocks: list[Any] = [Paragraph(claim(CLAIM).holds), Grid(("", ""), tuple(rows))]
    if decided:
        said = "accepts it" if replayed else "rejects it"
        blocks.append(
            Paragraph(f"The certificate re-derives the claim from its own text; the replay {said}:")
        )
        blocks.append(Code(f"symflow replay {file}"))
    passed = verdict.status == "proved" and replayed
    section = Section(
        "Verdict",
        f"{anchor}-verdict",
        tuple(blocks),
        (Badge(CLAIM.replace("-", " "), verdict.status, _state(passed)),),
    )
    summary: dict[str, Any] = {"claim": CLAIM, "status": verdict.status, "scope": verdict.scope}
    summary |= {
        "assumes": list(verdict.assumes),
        "certificate": file if decided else None,
        "replayed": replayed,
    }
    return Outcome(section, {"verdict": summary}, passed)


def _regimes_section(model: AttentionModel, out: Path) -> Outcome | None:
    """Run the regimes of a model; None for a model that has none."""
    chosen = regimes(model.name)
    if not chosen:
        return None
    groups: dict[str, list[CovariancePath]] = {}
    blocks: list[Any] = []
    results: list[dict[str, Any]] = []
    for regime in chosen:
        paths, rows = _run(model, regime)
        groups[regime.title] = paths
        results += [{"regime": regime.key} | row for row in rows]
        title = regime.title.capitalize()
        blocks += [
            Paragraph(rf"\textbf{{{title}.}} {regime.theorem} Source: {regime.reference}."),
            _comparison(rows),
        ]
    good = sum(row["agrees"] for row in results)
    pictures = _pictures(model.name, groups, out)
    badge = Badge("regimes", f"{good} of {len(results)} runs agree", _state(good == len(results)))
    opening = Paragraph(
        r"Runs of the compiled equations beside theorems, for $\beta = \tau = 1$. The column “theorem” is "
        r"computed from the statement and the start, the column “measured” is what the integrator finds."
    )
    blocks = [opening, pictures[0], *blocks, *pictures[1:]]
    if caution := remark(model.name):
        blocks.append(Paragraph(caution))
    section = Section("Long time", f"{model.name}-regimes", tuple(blocks), (badge,))
    return Outcome(section, {"regimes": results}, good == len(results))


def _run(model: AttentionModel, regime: Regime) -> tuple[list[CovariancePath], list[dict[str, Any]]]:
    """Integrate from every start and compare each run with the theorem."""
    paths, rows = [], []
    for number, start in enumerate(regime.starts, start=1):
        run = solve(
            model,
            Gaussian(np.zeros(len(start)), start),
            dict(regime.params),
            (0.0, regime.horizon),
            rtol=1e-11,
            atol=1e-14,
        )
        prediction = regime.predict(regime.params, start, float(run.t[-1]))
        found = compare(prediction, run.t, run.cov, run.status, run.t_star)
        rows.append({"start": number, "cov": start.tolist(), "status": run.status} | found)
        paths.append(
            CovariancePath("", run.t, run.cov, run.mean, limit=prediction.limit, t_star=prediction.t_star)
        )
    return paths, rows


def _comparison(rows: list[dict[str, Any]]) -> Grid:
    start = r"start $(\Sigma_{11}, \Sigma_{22}, \Sigma_{12})$"
    head = (start, "quantity", "theorem", "measured", "difference", "agrees")
    body = []
    for row in rows:
        (a, c), (_, b) = row["cov"]
        cells = (f"$({a:g}, {b:g}, {c:g})$", row["quantity"], row["theorem"], row["measured"])
        body.append((*cells, f"{row['difference']:.1e}", mark(row["agrees"])))
    units = dict.fromkeys(row["unit"] for row in rows if row["unit"])
    return Grid(head, tuple(body), f"Difference: {'; '.join(units)}.", judged=True, align="llrrrl")


def _pictures(name: str, groups: dict[str, list[CovariancePath]], out: Path) -> tuple[Picture, ...]:
    first = [
        _short(CovariancePath(title, p.t, p.cov, p.mean, t_star=p.t_star))
        for title, (p, *_) in groups.items()
    ]
    folder = out / "figures"
    save(cone(groups, columns=2), folder / f"{name}-cone")
    save(ellipses(first), folder / f"{name}-ellipses")
    save(eigenvalues(first), folder / f"{name}-eigenvalues")
    return (
        Picture(
            f"{name}-cone",
            r"Covariances $\Sigma(t)$ in the cone of positive semidefinite matrices, coordinates "
            r"$(\Sigma_{11}-\Sigma_{22},\, 2\Sigma_{12},\, \Sigma_{11}+\Sigma_{22})$: rank one is the "
            r"boundary, "
            r"multiples of $I$ are the axis.",
            "medium",
        ),
        Picture(
            f"{name}-ellipses",
            "The first run of every regime as ellipses at one standard deviation, over time.",
        ),
        Picture(
            f"{name}-eigenvalues",
            r"Eigenvalues of $\Sigma(t)$ in the same runs; $t^*$ as the theorem predicts it.",
        ),
    )


def _short(path: CovariancePath) -> CovariancePath:
    """Keep the part of a run in which the ellipse moves: until the covariance has covered 99 % of its way."""
    if path.t_star is not None:
        return path
    way = np.linalg.norm(path.cov - path.cov[-1], axis=(1, 2))
    moving = np.flatnonzero(way > 0.01 * way[0])
    end = min(int(moving[-1]) + 2, len(path.t)) if moving.size else len(path.t)
    return CovariancePath(
        path.label, path.t[:end], path.cov[:end], None if path.mean is None else path.mean[:end]
    )


def _state(holds: bool) -> str:
    return GOOD if holds else BAD
