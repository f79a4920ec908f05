"""First variations of energies, and which attention is their gradient flow for which metric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from symflow.algebra.latex import aligned, latex
from symflow.derive.energies import EnergyDerivation, first_variation
from symflow.derive.gradient_flow import GradientFlow, gradient_flow
from symflow.energies.rates import dissipation_along
from symflow.integrate.solve import solve
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.energies.registry import energy_model
from symflow.report.blocks import Display, Grid, Paragraph, Section
from symflow.report.comparison import Comparison, comparison, comparison_grid
from symflow.report.part import Part, decided, derived
from symflow.report.tokens.clustering import uniform_tokens

_SEED = 1
_COUNT, _DIM = 16, 3
#: Nodes of Gauss's rule for the integral of dF/dt: the error is far below that of the run.
_NODES = 12


def variations_part(out: Path) -> Part:
    """Return F, δF/δμ and its gradient for the energies that attention follows."""
    found = [first_variation(energy_model(n)) for n in ("interaction", "exponential", "self-transport")]
    said = (
        r"The first variation is defined by $\frac{d}{dh}F((1-h)\mu + h\nu)|_{h=0} = "
        r"\int\frac{\delta F}{\delta\mu}\,d(\nu-\mu)$, up to a constant, and follows by the rules of "
        r"Gateaux. $n$ times the gradient of $F$ in a token $x_i$ is $\nabla\frac{\delta F}{\delta\mu}(x_i)$."
    )
    blocks: list[Any] = [Paragraph(said)]
    for one in found:
        blocks += [Paragraph(rf"\textbf{{{one.model.title}}}"), Display(_formulas(one))]
    listed = derived((f"{one.model.title}, step by step", one) for one in found)
    section = Section("First variations", "energies-variations", (*blocks, *listed.blocks))
    return Part(section, steps=listed.steps, citations=listed.citations)


def _formulas(found: EnergyDerivation) -> str:
    pairs = [("F(\\mu)", found.functional), (r"\frac{\delta F}{\delta\mu}(x)", found.variation)]
    if found.gradient is not None:
        pairs.append((r"\nabla\frac{\delta F}{\delta\mu}(x)", found.gradient))
    return aligned(pairs)


def flows_part(out: Path) -> Part:
    """Return the structures that are found, with their metrics, beside compiled runs."""
    sphere: dict[str, Any] = {"space": "sphere"}
    interaction = energy_model("interaction")
    candidates = {
        "USA": gradient_flow(Unnormalised(**sphere), interaction, ()),
        "SA": gradient_flow(Softmax(**sphere), interaction, ()),
        "softmax": gradient_flow(Softmax(), energy_model("exponential")),
        "Sinkhorn": gradient_flow(Sinkhorn(), energy_model("self-transport")),
    }
    structures = {name: one for name, one in candidates.items() if isinstance(one, GradientFlow)}
    said = (
        r"A velocity $\Gamma_\mu$ is the gradient of $F$ for the metric $\langle v, w\rangle_\mu = "
        r"\int\langle v, |M|w\rangle\,g_\mu\,d\mu$ if $\Gamma_\mu = M^{-1}g_\mu^{-1}\nabla"
        r"\frac{\delta F}{\delta\mu}$, projected on the sphere where tokens live there: ascent for $M \succ "
        r"0$, descent for $M \prec 0$. Matrices $M$, weights $g$ and the equations between parameters that "
        r"this needs are found by matching both sides. Along a solution $\frac{dF}{dt} = "
        r"\int\langle\Gamma_\mu, M\Gamma_\mu\rangle\,g_\mu\,d\mu$."
    )
    rows = [_growth(name, structures[name]) for name in ("USA", "SA", "softmax")]
    how = (
        rf"{_COUNT} tokens, random starts: the integral of the right-hand side along the compiled run, by "
        rf"Gauss's "
        r"rule, beside the growth of the energy between its ends."
    )
    listed = derived((f"{name}: the structure, step by step", found) for name, found in structures.items())
    verdicts, records = decided(
        [
            "GLPR23/usa-gradient-flow",
            "GLPR23/sa-gradient-flow",
            "CACP25/twisted-gradient-flow",
            "CACP25/sinkhorn-bures-flow",
            "GLPR23/energy-dissipation",
        ],
        out,
    )
    blocks = (
        Paragraph(said),
        _table(structures),
        Paragraph(how),
        comparison_grid(rows),
        *verdicts,
        *listed.blocks,
    )
    section = Section("Gradient flows", "energies-flows", blocks)
    return Part(section, rows, listed.steps, records, listed.citations)


def _table(structures: dict[str, GradientFlow]) -> Grid:
    rows = tuple(
        (
            name,
            str(found.energy.name),
            f"${latex(found.metric)}$",
            "1" if found.weight is None else rf"$\int {latex(found.weight)}\,d\mu(y)$",
            ", ".join(f"${latex(a)} = {latex(b)}$" for a, b in found.equations) or "–",
        )
        for name, found in structures.items()
    )
    note = r"On the sphere $Q = K = V = I$. $M$ has to be symmetric and definite."
    return Grid(("attention", "energy", "$M$", "$g_\\mu(x)$", "needs"), rows, note)


def _growth(name: str, structure: GradientFlow) -> Comparison:
    """Compare the integral of dF/dt along a run with the growth of F."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    times = np.concatenate([[0.0], (nodes + 1) / 2, [1.0]])
    start, params = uniform_tokens(_COUNT, _DIM, _SEED), {}
    if name == "softmax":
        params = {"A": -np.diag([1.0, 0.5, 0.25]), "V": np.eye(_DIM)}
    run = solve(structure.model, start, params, (0.0, 1.0), t_eval=times, rtol=1e-12, atol=1e-14)
    values = {"beta": 1.0} | params if name != "softmax" else params
    found = dissipation_along(structure, run.x, values)
    change = float(found.energy[-1] - found.energy[0])
    integral = float(weights @ found.rate[1:-1]) / 2
    quantity = rf"{name}: growth of $F$ on $[0, 1]$"
    return comparison(
        quantity, f"{integral:.12g}", f"{change:.12g}", abs(integral / change - 1), 1e-9, "relative"
    )
