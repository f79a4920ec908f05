"""The sections on one spec file: its matrices, the theorems about them, and the integration."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.algebra.latex import latex, latex_name
from symflow.derive.closure import gaussian_closure
from symflow.derive.derivation import Derivation
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.solve import solve
from symflow.integrate.trajectory import Trajectory
from symflow.longtime.entry import long_time
from symflow.longtime.result import LongTime
from symflow.models.registry import attention_models
from symflow.plot import CovariancePath, cone, eigenvalues, ellipses, matrix_spectra, save, spectrum_over_time
from symflow.report.blocks import (
    BAD,
    GOOD,
    PLAIN,
    Badge,
    Callout,
    Display,
    Grid,
    Outcome,
    Paragraph,
    Picture,
    Section,
    mark,
)
from symflow.report.decided_section import decided_outcome
from symflow.report.formulas import closed_equations
from symflow.report.model_section import Progress, derivation_section, verdict_section
from symflow.report.positions_section import position_pictures, positions_table
from symflow.report.regimes import remark
from symflow.report.theorems import MARGIN, Theorem, theorems
from symflow.report.tokens.spec import token_spec_sections
from symflow.spec import Spec

Array = NDArray[np.float64]

#: Up to this dimension the long time is decided in exact arithmetic.
_EXACT = 16
#: Matrices of so many heads are listed one by one.
_FEW_HEADS = 3
#: Figures of small systems show every eigenvalue, those of large ones the spectrum at some times.
_SMALL = 8


def spec_sections(spec: Spec, out: Path, progress: Progress) -> list[Outcome]:
    """Return the sections on a spec's model, matrices, theorems and run; figures are written below ``out``.

    Parameters
    ----------
    spec : Spec
        With parameters, initial law or tokens, and time.
    out : Path
        Holds the folders ``figures`` and ``certificates``.
    progress : callable
        Called with one line of text before each part.

    Raises
    ------
    InputError
        If the spec lacks a section, or its model has no equations for what is initial.
    """
    spec.require("parameters", "initial", "time")
    if not isinstance(spec.initial, Gaussian):
        progress(f"{spec.name}: tokens")
        return token_spec_sections(spec, out)
    progress(f"{spec.name}: derivation and verdict")
    model = _model_outcome(spec, out)
    progress(f"{spec.name}: spectra and theorems")
    matrices = _matrices(spec, out)
    decided = _decided(spec)
    known: tuple[Theorem, ...] = ()
    if decided is None and _is_plain(spec):
        known = theorems(spec.model.name, spec.parameters, _scale(spec), spec.gaussian().cov)
    caution = remark(spec.model.name) if _is_plain(spec) else ""
    speaking = _theorem_outcome(known, caution) if decided is None else decided_outcome(decided, caution)
    progress(f"{spec.name}: integration")
    run = _integrate(spec)
    after = _after(known) if decided is None else decided.blow_up_time
    return [model, matrices, speaking, _run_outcome(spec, run, None if after is None else float(after), out)]


def _decided(spec: Spec) -> LongTime | None:
    """Return what exact arithmetic decides; None for large sizes, laws per position and change in time."""
    if spec.gaussian().mean.ndim != 1 or len(spec.gaussian().mean) > _EXACT or not _is_constant(spec):
        return None
    return long_time(spec.model, spec.gaussian(), spec.parameters)


def _is_constant(spec: Spec) -> bool:
    return all(isinstance(value, np.ndarray) for value in spec.parameters.values())


def _is_plain(spec: Spec) -> bool:
    """Whether the model is a shipped one without layer and noise, with constant matrices."""
    model = spec.model
    shipped = attention_models().get(model.name) is type(model)
    bare = not model.feed_forward and bool(model.noise.is_zero) and model.sign == 1
    return shipped and bare and _is_constant(spec)


def _after(known: tuple[Theorem, ...]) -> float | None:
    return next((t.t_star for t in known if t.applies and t.t_star is not None), None)


def _scale(spec: Spec) -> float:
    return float(spec.model.scale)


def _model_outcome(spec: Spec, out: Path) -> Outcome:
    given = frozenset(spec.parameters)
    derivation = gaussian_closure(spec.model, given)
    anchor = re.sub(r"[^A-Za-z0-9]+", "-", spec.name).strip("-") or "model"
    derived = derivation_section(derivation, anchor)
    judged = verdict_section(spec.model, given, anchor, out)
    section = Section(
        "Model",
        anchor,
        (Display(closed_equations(derivation)), *_absent(spec, derivation)),
        derived.section.badges + judged.section.badges,
        (derived.section, judged.section),
    )
    return Outcome(
        section, derived.summary | judged.summary, derived.passed and judged.passed, derived.citations
    )


def _absent(spec: Spec, derivation: Derivation) -> list[Paragraph]:
    """Say which biases occur in the equations but not in the spec file: they are zero."""
    absent = [p for p in derivation.statement.parameters if p.name not in spec.parameters]
    if not absent:
        return []
    names = ", ".join(f"${latex(symbol)}$" for symbol in absent)
    return [Paragraph(f"Not given, and therefore zero: {names}.")]


# ------------------------------------------------------------------------------------------------- matrices


def effective_matrices(spec: Spec) -> tuple[dict[str, Array], str]:
    """Return the matrices that decide the long time by their LaTeX names, and how the scale is in them."""
    if not _is_plain(spec):
        return dict(_plain_matrices(spec)), ""
    params, scale = spec.parameters, _scale(spec)
    if spec.model.name == "softmax":
        A = scale * (params["A"] if "A" in params else params["K"].T @ params["Q"])
        product = params["V"] @ A
        said = (
            rf"The matrices are the effective ones: $A = \tfrac{{\beta}}{{\tau}}K^{{\top}}Q$ with "
            rf"$\beta/\tau = {scale:.6g}$, and $S = VA + A^{{\top}}V^{{\top}}$."
        )
        return {"A": A, "V": params["V"], "S": product + product.T}, said
    found = {name: value for name, value in params.items() if value.ndim == 2}
    if spec.model.name == "l2":
        root = math.sqrt(scale)
        said = (
            r"The matrices are the effective ones: $Q$ and $K$ are multiplied by "
            rf"$\sqrt{{\beta/\tau}} = {root:.6g}$."
        )
        return found | {name: root * found[name] for name in ("Q", "K")}, said
    return found, ""


def _plain_matrices(spec: Spec) -> Iterator[tuple[str, Array]]:
    """Yield constant matrices as given; those of a few heads one by one."""
    for name, value in spec.parameters.items():
        if not isinstance(value, np.ndarray) or value.ndim not in (2, 3):
            continue
        if value.ndim == 2:
            yield latex_name(name), value
        elif len(value) <= _FEW_HEADS:
            yield from ((rf"{latex_name(name)}^{{({h})}}", matrix) for h, matrix in enumerate(value, start=1))


def _matrices(spec: Spec, out: Path) -> Outcome:
    cov = spec.gaussian().cov
    if cov.ndim == 3:  # the law of the last position, which is driven by all others
        cov = cov[-1]
    found, scaling = effective_matrices(spec)
    rows, spectra = [], {}
    for name, matrix in found.items():
        values, kind = _spectrum(matrix)
        spectra[f"${name}$"] = (
            values,
            rf"$\{kind}_i({name})$" if kind == "lambda" else rf"$\sigma_i({name})$",
        )
        rows.append(_matrix_row(name, matrix))
    initial = np.asarray(np.linalg.eigvalsh(cov)[::-1], dtype=np.float64)
    spectra[r"$\Sigma_0$"] = (np.where(initial > _noise(initial), initial, 0.0), r"$\lambda_i(\Sigma_0)$")
    rows.append(_matrix_row(r"\Sigma_0", cov))
    save(matrix_spectra(spectra), out / "figures" / "spectra")
    rank = int((initial > _noise(initial)).sum())
    blocks: list[Any] = [Paragraph(text) for text in (_origin(spec), scaling) if text]
    head = ("matrix", "shape", "rank", "largest", "smallest", "spectral norm")
    caption = "Largest and smallest non-zero eigenvalue of symmetric matrices, singular value of others."
    blocks.append(Grid(tuple(head), tuple(rows), caption, align="llrrrr"))
    blocks.append(Paragraph(_rank_sentence(initial, rank)))
    blocks.append(
        Picture("spectra", r"Spectra, sorted: singular values, and eigenvalues of symmetric matrices.")
    )
    badge = Badge("rank of the initial covariance", f"{rank} of {len(cov)}")
    summary = {"d": len(cov), "rank": rank, "spectra": {row[0].strip("$"): row[1:] for row in rows}}
    return Outcome(
        Section("Matrices and initial law", "matrices", tuple(blocks), (badge,)), {"matrices": summary}, True
    )


def _origin(spec: Spec) -> str:
    cov = spec.gaussian().cov
    if cov.ndim == 3:
        return f"There are {len(cov)} positions with a Gaussian law each; below, that of the last one."
    source = f"The parameters are those of {spec.origin}. " if spec.origin else ""
    return (
        source
        + rf"The initial law is Gaussian in dimension $d = {len(cov)}$, "
        + rf"with $\operatorname{{tr}}\Sigma_0 = {np.trace(cov):.6g}$."
    )


def _rank_sentence(values: Array, rank: int) -> str:
    if rank == len(values):
        share = f"{values[-1] / values[0]:.1e}" if values[0] > 0 else "0"
        return rf"$\Sigma_0$ has full rank; its smallest eigenvalue is {share} of the largest."
    rest = float(np.abs(values[rank:]).max())
    said = (
        rf"$\Sigma_0$ has rank {rank} in dimension {len(values)}; the flow keeps it as long as the solution "
        "exists."
    )
    if rank == 0:
        return said
    return f"{said} The smallest eigenvalue that counts is {values[rank - 1]:.3g}, the next is {rest:.1e}."


def _spectrum(matrix: Array) -> tuple[Array, str]:
    """Return eigenvalues of a symmetric matrix, singular values of another one, in decreasing order."""
    if matrix.shape[0] == matrix.shape[1] and np.array_equal(matrix, matrix.T):
        return np.asarray(np.linalg.eigvalsh(matrix)[::-1], dtype=np.float64), "lambda"
    values = np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=np.float64)
    return values[values > _noise(values)], "sigma"


def _matrix_row(name: str, matrix: Array) -> tuple[str, ...]:
    values, _ = _spectrum(matrix)
    rank = int((np.abs(values) > _noise(values)).sum())
    if not rank:
        return (f"${name}$", f"{matrix.shape[0]} × {matrix.shape[1]}", "0", "0", "0", "0")
    kept = values[np.abs(values) > _noise(values)]
    shape = f"{matrix.shape[0]} × {matrix.shape[1]}"
    return (
        f"${name}$",
        shape,
        str(rank),
        f"{kept[0]:.4g}",
        f"{kept[-1]:.4g}",
        f"{np.linalg.norm(matrix, 2):.4g}",
    )


def _noise(values: Array) -> float:
    return float(len(values) * np.finfo(float).eps * np.abs(values).max(initial=0.0))


# ------------------------------------------------------------------------------------------------- theorems


def _theorem_outcome(known: tuple[Theorem, ...], caution: str) -> Outcome:
    applying = [theorem for theorem in known if theorem.applies]
    blocks: list[Any] = [_answer(known, applying)]
    for theorem in known:
        title = _sentence(theorem.title)
        blocks.append(Paragraph(rf"\textbf{{{title}.}} {theorem.statement} Source: {theorem.reference}."))
        blocks.append(_hypotheses(theorem))
    digits = int(np.log10(MARGIN))
    blocks.append(
        Paragraph(
            rf"The hypotheses are decided numerically: an equation, a sign or a rank counts as true up to "
            rf"$10^{{{digits}}}$, relative as stated, in Frobenius norms."
        )
    )
    if caution and not any(theorem.t_star is not None for theorem in applying):
        blocks.append(Paragraph(caution))
    verdict = ", ".join(theorem.title for theorem in applying) or "none applies"
    section = Section("Which theorem applies", "theorems", tuple(blocks), (Badge("theorem", verdict),))
    summary = {"theorems": [_record(theorem) for theorem in known], "theorem_applies": bool(applying)}
    return Outcome(section, summary, True)


def _answer(known: tuple[Theorem, ...], applying: list[Theorem]) -> Callout:
    if applying:
        said = " ".join(f"{_sentence(theorem.title)}: {theorem.conclusion}" for theorem in applying)
        return Callout(said, GOOD)
    if known:
        return Callout(
            "No theorem applies: for each of those below a hypothesis fails for these matrices. In "
            "particular no closed form gives the limit or a blow-up time here."
        )
    return Callout("No theorem applies: none of those that the package knows speaks about this mechanism.")


def _record(theorem: Theorem) -> dict[str, Any]:
    return {
        "theorem": theorem.title,
        "applies": theorem.applies,
        "conclusion": theorem.conclusion,
        "hypotheses": [[asdict(hypothesis) for hypothesis in group] for group in theorem.hypotheses],
    }


def _sentence(title: str) -> str:
    return title[:1].upper() + title[1:]


def _hypotheses(theorem: Theorem) -> Grid:
    rows = [
        (f"{'or ' if place and not order else ''}{h.statement}", h.quantity, f"{h.value:.3g}", mark(h.holds))
        for place, group in enumerate(theorem.hypotheses)
        for order, h in enumerate(group)
    ]
    return Grid(("hypothesis", "measured", "value", "holds"), tuple(rows), judged=True, align="llrl")


# -------------------------------------------------------------------------------------------------- the run


def _integrate(spec: Spec) -> Trajectory:
    return solve(spec.model, spec.initial, spec.parameters, spec.t_span, t_eval=spec.t_eval, **spec.solver)


def _run_outcome(spec: Spec, run: Trajectory, after: float | None, out: Path) -> Outcome:
    start, end = spec.t_span or (0.0, 0.0)
    predicted = None if after is None or end < start else start + after
    agrees = _agreement(run, predicted, start, end)
    blocks: list[Any] = [Paragraph(_ending(run)), *_clock(start, end), *agrees[1]]
    if run.mean.ndim == 3:
        blocks += [positions_table(run), *position_pictures("positions", run, out)]
    else:
        blocks += [_table_of_ends(run), *_run_pictures(spec, run, predicted, out)]
    state = BAD if run.status in ("step-too-small", "non-finite") else GOOD if run.success else PLAIN
    section = Section("Integration", "integration", tuple(blocks), (Badge("run", run.status, state),))
    summary = {
        "status": run.status,
        "message": run.message,
        "t_star": run.t_star,
        "t_star_by_theorem": predicted,
        "t_end": float(run.t[-1]),
        "nfev": run.nfev,
        "trace": [np.trace(run.cov[i], axis1=-2, axis2=-1).tolist() for i in (0, -1)],
    }
    return Outcome(section, {"run": summary}, state != BAD and agrees[0])


def _clock(start: float, end: float) -> list[Paragraph]:
    """Say how the time of the theorems and that of the run differ."""
    if start == 0.0 and end >= start:
        return []
    said = f"The theorems count time from the initial law, which this run has at t = {start:g}"
    backward = "; it goes backward in time, about which they say nothing" if end < start else ""
    return [Paragraph(said + backward + ".")]


def _agreement(run: Trajectory, predicted: float | None, start: float, end: float) -> tuple[bool, list[Any]]:
    """Return whether run and theorem agree on a blow-up, and the paragraph that says so."""
    if predicted is None:
        if run.t_star is None:
            return True, []
        measured = rf"Measured: the covariance blows up at $t_\star = {run.t_star:.9g}$. "
        return True, [
            Callout(measured + "This is what the integrator finds, not the consequence of a theorem.")
        ]
    if run.t_star is None:
        holds = predicted > end
        return holds, [
            Paragraph(rf"The theorem puts the blow-up at $t^* = {predicted:.9g}$; the run ends at {end:g}.")
        ]
    error = abs(run.t_star - predicted) / (predicted - start)
    text = rf"Theorem: $t^* = {predicted:.9g}$; measured: {run.t_star:.9g}; relative difference {error:.1e}."
    return error <= 1e-6, [Callout(text, GOOD if error <= 1e-6 else BAD)]


def _ending(run: Trajectory) -> str:
    return (
        f"Method {run.method}; the run ends with the status “{run.status}” at t = {run.t[-1]:.6g} after "
        f"{run.nfev} "
        f"evaluations: {run.message.rstrip('.')}."
    )


def _table_of_ends(run: Trajectory) -> Grid:
    rows = []
    for name, index in (("start", 0), ("end", -1)):
        values = np.linalg.eigvalsh(run.cov[index])[::-1]
        participation = values.sum() ** 2 / (values @ values) if values.any() else 0.0
        mean = np.linalg.norm(run.mean[index])
        cells = (
            f"{run.t[index]:.6g}",
            f"{mean:.6g}",
            f"{values.sum():.6g}",
            f"{values[0]:.6g}",
            f"{participation:.4g}",
        )
        rows.append((name, *cells))
    head = ("", "$t$", r"$|\alpha|$", r"$\operatorname{tr}\Sigma$", r"$\lambda_1(\Sigma)$", "participation")
    caption = (
        r"Participation: $(\operatorname{tr}\Sigma)^2/\operatorname{tr}\Sigma^2$, "
        "an effective number of directions."
    )
    return Grid(head, tuple(rows), caption, align="lrrrrr")


def _run_pictures(spec: Spec, run: Trajectory, predicted: float | None, out: Path) -> list[Picture]:
    if not spec.gaussian().rank:
        return []  # a Dirac stays one: no ellipse, no eigenvalue
    path = CovariancePath("", run.t, run.cov, run.mean, t_star=predicted)
    folder = out / "figures"
    if spec.gaussian().dim > _SMALL:
        save(spectrum_over_time(path, rank=spec.gaussian().rank), folder / "spectrum")
        return [
            Picture(
                "spectrum",
                r"Left: the spectrum of $\Sigma(t)$ at six times. Right: some eigenvalues over time.",
            )
        ]
    pictures = []
    if spec.gaussian().dim == 2:
        save(cone({spec.name: [path]}), folder / "cone")
        save(ellipses([path]), folder / "ellipses")
        pictures = [
            Picture("cone", r"$\Sigma(t)$ in the cone of positive semidefinite matrices.", "narrow"),
            Picture("ellipses", "The law as an ellipse at one standard deviation, over time.", "narrow"),
        ]
    save(eigenvalues([path]), folder / "eigenvalues")
    return [*pictures, Picture("eigenvalues", r"Eigenvalues of $\Sigma(t)$.", "narrow")]
