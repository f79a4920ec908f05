"""Writing a report: everything is built in a temporary folder and moved into place at the end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import symflow
from symflow.errors import InputError
from symflow.integrate.gaussian import Gaussian
from symflow.report.background import beside, verifying
from symflow.report.blocks import Outcome, Report
from symflow.report.claims_section import claims_section
from symflow.report.energies.outcome import energies_outcome
from symflow.report.model_section import model_section
from symflow.report.noise.outcome import noise_outcome
from symflow.report.render import render_html, render_latex
from symflow.report.spec_section import spec_sections
from symflow.report.subjects import subjects
from symflow.report.tokens.clustering import clustering_outcome
from symflow.report.tokens.expansions import expansions_outcome
from symflow.report.tokens.mean_field import mean_field_outcome
from symflow.report.tokens.separation import separation_outcome
from symflow.report.verification_section import verification_section
from symflow.spec import Spec, load_spec
from symflow.verify import Table

Progress = Callable[[str], None]

_PDFLATEX_SECONDS = 60
_MARKER = "report.json"  # what makes a folder a report


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes
    ----------
    out : Path
        The folder of the report.
    passed : bool
        Whether every check, comparison and verification in it holds.
    summary : dict
        The content of ``report.json``.
    """

    out: Path
    passed: bool
    summary: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``report.json`` and the folder."""
        return {"out": str(self.out)} | self.summary


def write_report(
    out: str | Path, spec: Spec | str | Path | None = None, progress: Progress | None = None
) -> Written:
    """Write a report: derivations, verdicts, simulations, figures, verification.

    Parameters
    ----------
    out : str or Path
        Folder for ``index.html`` (opens offline), ``report.tex``, ``report.pdf`` where pdflatex is installed,
        ``report.json``, ``figures`` and ``certificates``.  An earlier report there is replaced, any other
        folder must be empty.
    spec : Spec or path, optional
        Report on this run; by default on every shipped model and its long-time regimes.
    progress : callable, optional
        Called with one line of text before each part.

    Returns
    -------
    Written

    Raises
    ------
    InputError
        If the folder holds something else, or the spec cannot be used; nothing is left behind.
    """
    target = Path(os.path.abspath(out))  # pdflatex runs in another folder
    say = progress or _silent
    chosen = load_spec(spec) if isinstance(spec, str | Path) else spec
    _require_replaceable(target)
    if chosen is not None:
        _refuse_noise(chosen)
        chosen.require("parameters", "initial", "time")
    with _in_place(target) as folder:
        report = _gather(folder, chosen, say)
        (folder / "report.tex").write_text(render_latex(report), encoding="utf-8")
        say("typesetting")
        pdf = _typeset(folder)
        (folder / "index.html").write_text(render_html(report, pdf == "written"), encoding="utf-8")
        summary = report.summary | {"passed": report.passed, "pdf": pdf, "symflow": symflow.__version__}
        text = json.dumps(_finite(summary), indent=1, ensure_ascii=False, allow_nan=False)
        (folder / _MARKER).write_text(text + "\n", encoding="utf-8")
    return Written(target, report.passed, _finite(summary))


def _refuse_noise(spec: Spec) -> None:
    """Refuse a spec whose run the report would show without its noise."""
    for section in ("network", "noise"):
        if getattr(spec, section) is not None:
            raise InputError(
                f"{spec.name}: a report on a spec shows runs without common noise, this one has [{section}]; "
                "use symflow simulate SPEC --out FILE.npz, or drop the section"
            )


def _gather(folder: Path, spec: Spec | None, say: Progress) -> Report:
    """Compute everything and write figures and certificates; the verification runs beside it."""
    for name in ("figures", "certificates"):
        (folder / name).mkdir()
    asked = (None, None) if spec is None else (spec.model, frozenset(spec.parameters))
    with verifying(*asked) as table:
        if spec is None:
            outcomes = _of_models(folder, say)
        else:
            outcomes = {part.section.anchor: part for part in spec_sections(spec, folder, say)}
        say("verification")
        return _assemble(spec, outcomes, table())


def _of_models(folder: Path, say: Progress) -> dict[str, Outcome]:
    """Return every section; those on energies and on noise have processes of their own."""
    with (
        beside("the section on energies", energies_outcome, folder) as energies,
        beside("the section on noise", noise_outcome, folder) as noise,
    ):
        outcomes = {subject.anchor: model_section(subject, folder, say) for subject in subjects()}
        outcomes |= _on_tokens(folder, say)
        say("energies")
        outcomes |= {"energies": energies()}
        say("noise")
        return outcomes | {"noise": noise()}


def _on_tokens(folder: Path, say: Progress) -> dict[str, Outcome]:
    """Return the sections on tokens that compare variants, beyond that of each one."""
    say("tokens: clustering")
    found = [clustering_outcome(folder, say)]
    for name, make in (("mean field", mean_field_outcome), ("sums without pairs", expansions_outcome)):
        say(f"tokens: {name}")
        found.append(make(folder))
    say("tokens: stability")
    found.append(separation_outcome())
    return {outcome.section.anchor: outcome for outcome in found}


#: What the report on all models begins with.
_LEAD = (
    "For each attention mechanism: the equations of mean and covariance derived from its definition, or the "
    "proof that there are none; a certified verdict; runs beside the theorems that predict their long time; "
    "the system of n tokens on Euclidean space and on the sphere, and how far two solutions can separate. "
    "Then tokens that cluster, their mean field, sums without pairs, the energies that attention follows "
    "with their landscapes, random layers with the noise that all tokens share, every claim, and the "
    "verification of the compiled simulators against independent witnesses."
)


def _spec_lead(spec: Spec) -> str:
    source = f" with the weights of {spec.origin}" if spec.origin else ""
    if not isinstance(spec.initial, Gaussian):
        return (
            f"{spec.model.title}{source} on tokens: their system, derived step by step, how far two "
            f"solutions can "
            "separate, the run, and the verification of the compiled simulator."
        )
    return (
        f"{spec.model.title}{source}: the equations of mean and covariance, the matrices and which "
        "theorem speaks about them, the integration, and the verification of the compiled simulator."
    )


def _assemble(spec: Spec | None, outcomes: dict[str, Outcome], table: Table) -> Report:
    summaries = {name: outcome.summary for name, outcome in outcomes.items()}
    flat = {key: value for part in summaries.values() for key, value in part.items()}
    citations = dict.fromkeys(key for outcome in outcomes.values() for key in outcome.citations)
    return Report(
        title=_title(spec),
        lead=_LEAD if spec is None else _spec_lead(spec),
        sections=(
            *(outcome.section for outcome in outcomes.values()),
            *((claims_section(),) if spec is None else ()),
            verification_section(table),
        ),
        summary=(_of_all(summaries) if spec is None else flat) | {"verification": table.to_json()},
        passed=table.passed and all(outcome.passed for outcome in outcomes.values()),
        citations=tuple(citations),
    )


def _title(spec: Spec | None) -> str:
    if spec is None:
        return "Gaussian laws and tokens under attention"
    return (
        f"Gaussian dynamics of {spec.name}" if isinstance(spec.initial, Gaussian) else f"Tokens: {spec.name}"
    )


def _of_all(summaries: dict[str, Any]) -> dict[str, Any]:
    """Tell models from what compares them: only the former say whether they are closed."""
    models = {name: part for name, part in summaries.items() if "closed" in part}
    others = {name: part for name, part in summaries.items() if name not in models}
    apart = {name: others.pop(name) for name in ("energies", "noise")}
    return {"models": models, **apart, "tokens": others}


def _require_replaceable(target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise InputError(f"out = {str(target)!r} is a file; give a folder")
    if target.is_dir() and any(target.iterdir()) and not (target / _MARKER).is_file():
        raise InputError(
            f"out = {str(target)!r} holds something that is no report; give a new or empty folder"
        )


@contextmanager
def _in_place(target: Path) -> Iterator[Path]:
    """Yield a folder beside ``target`` that takes its place when all went well, and is removed otherwise."""
    target.parent.mkdir(parents=True, exist_ok=True)
    workshop = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        built = workshop / "new"
        built.mkdir()
        yield built
        if target.exists():
            target.rename(workshop / "old")
        os.replace(built, target)
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def _typeset(folder: Path) -> str:
    """Make report.pdf where pdflatex is installed; return "written", "no pdflatex", or why it failed."""
    program = shutil.which("pdflatex")
    if program is None:
        return "no pdflatex"
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        command = [
            program,
            "-interaction=nonstopmode",
            "-halt-on-error",
            f"-output-directory={scratch}",
            "report.tex",
        ]
        for _ in range(3):  # contents, then the widths of long tables, then the numbers of their pages
            try:
                run = subprocess.run(
                    command, cwd=folder, capture_output=True, timeout=_PDFLATEX_SECONDS, check=False
                )
            except subprocess.TimeoutExpired:
                return f"pdflatex took more than {_PDFLATEX_SECONDS} s"
            if run.returncode:
                return "pdflatex failed: " + _first_error(run.stdout.decode("utf-8", "replace"))
        os.replace(Path(scratch) / "report.pdf", folder / "report.pdf")
    return "written"


def _first_error(log: str) -> str:
    lines = [line for line in log.splitlines() if line.startswith("!")]
    return lines[0] if lines else "no error line in its log"


def _finite(value: Any) -> Any:
    """Return ``value`` with NaN and infinities, for which JSON has no word, as None."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


def _silent(_text: str) -> None:
    pass
