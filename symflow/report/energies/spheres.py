"""Hessians of the interaction energy on spheres: the form, spectra over β, critical points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Symbol, lambdify

from symflow.critical import Atlas, critical_points
from symflow.curvature import configurations
from symflow.curvature.hessian import hessian
from symflow.derive.critical import hessian_form
from symflow.derive.critical.spectra import (
    Eigenvalue,
    cluster_spectrum,
    consensus_spectrum,
    polygon_spectrum,
    simplex_spectrum,
)
from symflow.derive.landscape import landscape
from symflow.energies import Interaction
from symflow.models.energies.registry import energy_model
from symflow.plot import Branch, atlas, hessian_spectra, save
from symflow.report.blocks import Display, Grid, Paragraph, Picture, Section
from symflow.report.comparison import Comparison, comparison, comparison_grid
from symflow.report.formulas import displayed
from symflow.report.part import Part, decided, derived

Array = NDArray[np.float64]

_BETA = np.linspace(0.05, 6.0, 400)
#: Where closed forms are compared with matrices.
_AT = 1.5
_STARTS = 120


def hessian_part(out: Path) -> Part:
    """Return the Hessian as a form, and its spectra at symmetric configurations."""
    form = hessian_form(energy_model("interaction"))
    cases = _cases()
    panels = {name: [_branch(one) for one in spectrum] for name, (spectrum, _) in cases.items()}
    figure = hessian_spectra(panels, _BETA, r"$e^{-\beta}\lambda$", threshold=1e-3)
    save(figure, out / "figures" / "hessians")
    rows = [_compared(name, spectrum, tokens) for name, (spectrum, tokens) in cases.items()]
    listed = derived([("The Hessian, step by step", form)])
    verdicts, records = decided(["GLPR23/hessian-metric-independence"], out)
    result = next(step for step in form.steps if step.kind == "result")
    said = (
        r"The second derivative of $E_\beta = \frac{1}{2\beta n^2}\sum_{i,j}e^{\beta\langle x_i, "
        r"x_j\rangle}$ along great circles with velocities $\xi_i \perp x_i$. At a critical point it is the "
        r"Hessian for every Riemannian metric, for that of softmax attention as well as for that without "
        r"normaliser."
    )
    caption = (
        r"Eigenvalues with respect to $\sum_i|\xi_i|^2$ in dimension 3, in units of $e^\beta$, with their "
        r"multiplicities: a positive one is a direction in which attention leaves the configuration. "
        r"Clusters leave each other at rates that are exponentially small in $\beta$."
    )
    blocks = (
        Paragraph(said),
        Display(displayed(result.formulas)),
        Picture("hessians", caption),
        Paragraph(
            rf"The closed forms, beside the eigenvalues of the matrix of all tokens at $\beta = {_AT:g}$:"
        ),
        comparison_grid(rows),
        *verdicts,
        *listed.blocks,
    )
    section = Section("Hessians on spheres", "energies-hessians", blocks)
    return Part(section, rows, listed.steps, records, listed.citations)


def _cases() -> dict[str, tuple[list[Eigenvalue], Any]]:
    """Return spectra for symbolic β and tokens of symmetric configurations in dimension 3."""
    model, n, d = energy_model("interaction"), 5, 3
    return {
        rf"consensus, $n = {n}$": (consensus_spectrum(model, n, d), configurations.consensus(n, d)),
        "3 + 2 antipodal": (cluster_spectrum(model, 3, 2, d), configurations.antipodal(3, 2, d)),
        "antipodal pair": (cluster_spectrum(model, 1, 1, d), configurations.antipodal(1, 1, d)),
        rf"regular {n}-gon": (polygon_spectrum(model, n, d), configurations.ngon(n, d)),
        r"simplex, $n = 4$": (simplex_spectrum(model, 4, d), configurations.simplex(4, d)),
        r"simplex, $n = 3$": (simplex_spectrum(model, 3, d), configurations.simplex(3, d)),
    }


def _numbers(one: Eigenvalue, beta: Array) -> Array:
    """Return an eigenvalue in units of e^β."""
    (symbol,) = one.value.free_symbols or {Symbol("beta")}
    values = np.broadcast_to(lambdify(symbol, one.value, "numpy")(beta), beta.shape)
    return np.asarray(np.exp(-beta) * values)


def _branch(one: Eigenvalue) -> Branch:
    return Branch(_numbers(one, _BETA), int(one.multiplicity))


def _compared(name: str, spectrum: Sequence[Eigenvalue], tokens: Any) -> Comparison:
    at = np.array([_AT])
    exact = np.sort([_numbers(one, at)[0] for one in spectrum for _ in range(int(one.multiplicity))])
    found = hessian(Interaction(_AT), np.array(tokens, dtype=float)).eigenvalues()
    measured = np.exp(-_AT) * np.array(found)
    return comparison(
        rf"{name}: largest $e^{{-\beta}}\lambda$ of {len(exact)}",
        f"{exact[-1]:.9g}",
        f"{max(measured[-1], 0.0) if abs(measured[-1]) < 1e-12 else measured[-1]:.9g}",
        float(np.abs(measured - exact).max()),
        1e-13,
        "the largest of all eigenvalues, absolute",
    )


def critical_part(out: Path) -> Part:
    """Return what is proved about critical points, and all of them for few tokens on the circle."""
    found = [critical_points(Interaction(1), n, 2, starts=_STARTS, backend="numpy") for n in (3, 4, 5)]
    save(atlas(found), out / "figures" / "atlas")
    rows = [_only_consensus(one) for one in found]
    names = ["block-rotation", "small-beta-saddles", "consensus-maximum", "uniform-minimiser"]
    verdicts, records = decided([f"GLPR23/{name}" for name in names], out)
    listed = derived([("The landscape, step by step", landscape())], in_article=True)
    said = (
        r"Attention without repulsion ascends $E_\beta$, and almost every start leaves every strict saddle. "
        r"What is proved at every size:"
    )
    how = (
        r"For $\beta = 1$ and few tokens on the circle all critical points are listed, up to rotations, "
        r"reflections and permutations: Newton's method finds them from many starts, Krawczyk's operator "
        r"proves each in ball arithmetic with its numbers of directions, and the replay covers the rest of "
        r"the torus."
    )
    caption = (
        r"All critical points of $E_1$ for 3, 4 and 5 tokens on the circle: the energy and the numbers of "
        r"directions in which it increases and decreases at second order, modulo rotations."
    )
    blocks = (
        Paragraph(said),
        *verdicts,
        Paragraph(how),
        Picture("atlas", caption, "medium"),
        _listing(found),
        *listed.blocks,
    )
    section = Section("Critical points", "energies-critical", blocks)
    return Part(section, rows, listed.steps, records, listed.citations)


def _only_consensus(found: Atlas) -> Comparison:
    """Whether consensus is the only maximum, all points are certified, and there are no others."""
    stable = sum(point.kind == "maximum" for point in found)
    holds = found.complete is True and all(point.certified for point in found)
    quantity = rf"stable critical points, $n = {found.n}$"
    return comparison(quantity, "1", f"{stable}", abs(stable - 1) + (not holds), 0.0)


def _listing(found: Sequence[Atlas]) -> Grid:
    rows = tuple(
        (
            str(one.n),
            point.name,
            f"{point.energy:.9f}",
            point.kind,
            str(point.increasing),
            str(point.decreasing),
        )
        for one in found
        for point in one
    )
    head = ("$n$", "tokens", r"$E_1$", "kind", "up", "down")
    return Grid(head, rows, align="rlrlrr", folded="The same as a table", in_article=False)
