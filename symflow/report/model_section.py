"""The section on one shipped model: derivation, verdict and long-time regimes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from symflow.certify import LEMMAS
from symflow.claims import check
from symflow.derive.derivation import Derivation
from symflow.derive.nonclosure import Refutation
from symflow.derive.outcome import derive_or_refute
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.solve import solve
from symflow.longtime.entry import long_time
from symflow.models.attention.model import AttentionModel
from symflow.plot import CovariancePath, cone, eigenvalues, ellipses, save
from symflow.references import keys_in
from symflow.report.blocks import (
    Badge,
    Code,
    Display,
    Grid,
    Outcome,
    Paragraph,
    Picture,
    Section,
    Steps,
    mark,
    state,
)
from symflow.report.formulas import closed_equations
from symflow.report.positions_section import positions_section
from symflow.report.regimes import Regime, compare, regimes, remark
from symflow.report.subjects import Subject
from symflow.report.tokens.derived import tokens_outcome

Progress = Callable[[str], None]
CLAIM = "gaussian-preservation"
_WORDS = "Gaussian preservation"


def model_section(subject: Subject, out: Path, progress: Progress) -> Outcome:
    """Return the section on one subject; figures and certificate are written below ``out``.

    Parameters
    ----------
    subject : Subject
    out : Path
        Holds the folders ``figures`` and ``certificates``.
    progress : callable
        Called with one line of text before each part.
    """
    name, model = subject.anchor, subject.model
    progress(f"{name}: derivation")
    found = derive_or_refute(model)
    derived = derivation_section(found, name)
    progress(f"{name}: verdict")
    judged = verdict_section(model, None, name, out, "proved" if isinstance(found, Derivation) else "refuted")
    progress(f"{name}: long time")
    ran = _long_time(subject, out)
    progress(f"{name}: tokens")
    tokens = tokens_outcome(subject)
    parts = [part for part in (derived, judged, ran, tokens) if part is not None]
    section = Section(
        title=subject.title,
        anchor=name,
        blocks=result_blocks(found),
        badges=tuple(badge for part in parts for badge in part.section.badges),
        sections=tuple(part.section for part in parts),
    )
    summary = {key: value for part in parts for key, value in part.summary.items()}
    cited = dict.fromkeys(key for part in parts for key in part.citations)
    return Outcome(section, summary, all(part.passed for part in parts), tuple(cited))


def result_blocks(found: Derivation | Refutation) -> tuple[Any, ...]:
    """Return what a section opens with: the closed equations, or the witness that there are none."""
    if isinstance(found, Derivation):
        return (Display(closed_equations(found)),)
    left, value = found.witness.inequality()
    said = (
        "Gaussian laws are not preserved: in dimension one the velocity of a Gaussian solution is affine, "
        f"but for {found.witness.setting()}"
    )
    return (Paragraph(said), Display(f"{left} = {value}."))


def derivation_section(found: Derivation | Refutation, anchor: str) -> Outcome:
    """Return the derivation, or refutation, with the result of every independent check."""
    checked = tuple(found.checked())
    good = sum(seen.passed for _, seen in checked)
    is_closed = isinstance(found, Derivation)
    passed = good == len(checked)
    what = "derivation" if is_closed else "proof"
    badge = Badge(what, f"{good} of {len(checked)} steps checked", state(passed))
    title = "Derivation" if is_closed else "Why there are no closed equations"
    section = Section(title, f"{anchor}-derivation", (Steps(found, checked),), (badge,))
    steps = [
        {"title": step.title, "rule": step.rule, "check": seen.method, "passed": seen.passed}
        for step, seen in checked
    ]
    summary: dict[str, Any] = {"closed": is_closed, "derivation": steps}
    if isinstance(found, Refutation):
        summary["witness"] = found.witness.to_record()
    cited = dict.fromkeys(key for step, _ in checked for key in keys_in(step.reference))
    return Outcome(section, summary, passed, tuple(cited))


def verdict_section(
    model: AttentionModel, given: frozenset[str] | None, anchor: str, out: Path, expected: str = "proved"
) -> Outcome:
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
    blocks: list[Any] = [Grid(("", ""), tuple(rows))]
    if decided:
        said = "accepts it" if replayed else "rejects it"
        blocks.append(
            Paragraph(f"The certificate re-derives the claim from its own text; the replay {said}:")
        )
        blocks.append(Code(f"symflow replay {file}"))
    passed = verdict.status == expected and replayed
    section = Section(
        f"Verdict: {_WORDS}",
        f"{anchor}-verdict",
        tuple(blocks),
        (Badge(_WORDS, verdict.status, state(passed)),),
    )
    summary: dict[str, Any] = {"claim": CLAIM, "status": verdict.status, "scope": verdict.scope}
    summary |= {
        "assumes": list(verdict.assumes),
        "certificate": file if decided else None,
        "replayed": replayed,
    }
    return Outcome(section, {"verdict": summary}, passed)


def _long_time(subject: Subject, out: Path) -> Outcome | None:
    """Return the long time of a subject; None where there is nothing to integrate."""
    if subject.model.statement().positions is not None:
        return positions_section(subject, out) if regimes(subject.anchor) else None
    return _regimes_section(subject, out)


def _regimes_section(subject: Subject, out: Path) -> Outcome | None:
    """Run the regimes of a subject; None for one that has none."""
    chosen = regimes(subject.anchor)
    if not chosen:
        return None
    groups: dict[str, list[CovariancePath]] = {}
    blocks: list[Any] = []
    results: list[dict[str, Any]] = []
    told: set[str] = set()
    for regime in chosen:
        paths, rows = _run(subject.model, regime)
        groups[regime.title] = paths
        results += [{"regime": regime.key} | row for row in rows]
        blocks += [*_statement(subject.model, regime, told), _comparison(rows)]
    good = sum(row["agrees"] for row in results)
    pictures = _pictures(subject.anchor, groups, out)
    badge = Badge("long time", f"{good} of {len(results)} runs agree", state(good == len(results)))
    opening = Paragraph(
        r"Runs of the compiled equations beside theorems, for $\beta = \tau = 1$. The column “theorem” is "
        r"computed from the statement and the start, the column “measured” is what the integrator finds."
    )
    blocks = [opening, pictures[0], *blocks, *pictures[1:]]
    if caution := remark(subject.anchor):
        blocks.append(Paragraph(caution))
    section = Section("Long time", f"{subject.anchor}-regimes", tuple(blocks), (badge,))
    return Outcome(section, {"regimes": results}, good == len(results))


def _statement(model: AttentionModel, regime: Regime, told: set[str]) -> list[Paragraph]:
    """Return the theorem of a regime; one that the section has told already is named only."""
    title = rf"\textbf{{{regime.title.capitalize()}.}}"
    if regime.theorem:
        return [Paragraph(rf"{title} {regime.theorem} Source: {regime.reference}.")]
    found = long_time(model, Gaussian(np.zeros(len(regime.starts[0])), regime.starts[0]), regime.params)
    if found.criterion is None:
        return [Paragraph(f"{title} No theorem that the package knows speaks about this.")]
    said = found.criterion.statement if found.criterion.name not in told else ""
    told.add(found.criterion.name)
    here = "; ".join(f"{h.statement} ({h.decided})" for h in found.criterion.hypotheses)
    source = found.criterion.reference or "the closed equation"
    name = f"Criterion “{found.criterion.name}”"
    first = [Paragraph(rf"\textbf{{{name}.}} {said} Source: {source}.")] if said else []
    return [
        *first,
        Paragraph(rf"{title} By the criterion “{found.criterion.name}”, here for the first start: {here}."),
    ]


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
    folder, width = out / "figures", "narrow" if len(first) == 1 else "wide"
    save(cone(groups, columns=3 if len(groups) == 3 else 2), folder / f"{name}-cone")
    save(ellipses(first), folder / f"{name}-ellipses")
    save(eigenvalues(first), folder / f"{name}-eigenvalues")
    return (
        Picture(
            f"{name}-cone",
            r"Covariances $\Sigma(t)$ in the cone of positive semidefinite matrices, coordinates "
            r"$(\Sigma_{11}-\Sigma_{22},\, 2\Sigma_{12},\, \Sigma_{11}+\Sigma_{22})$: rank one is the "
            r"boundary, "
            r"multiples of $I$ are the axis.",
            "narrow" if len(first) == 1 else "medium",
        ),
        Picture(
            f"{name}-ellipses",
            "The first run of every regime as ellipses at one standard deviation, over time.",
            width,
        ),
        Picture(
            f"{name}-eigenvalues",
            r"Eigenvalues of $\Sigma(t)$ in the same runs; $t^*$ as the theorem predicts it.",
            width,
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
