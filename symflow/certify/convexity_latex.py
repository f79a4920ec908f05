"""Statements and proof objects about convexity as LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symflow.algebra.grammar import parse_score
from symflow.algebra.latex import latex
from symflow.certify.propositions.convexity import Multiple, StatedEnergy, Value
from symflow.certify.readable import matrix_latex, number_latex, value_latex, vector_latex

_METRICS = {
    "wasserstein": r"the Wasserstein metric",
    "bures": r"the Bures--Wasserstein metric on Gaussian laws",
    "twisted": r"the twisted metric $\int\langle v, |AV^{-1}|v\rangle\,G_\mu\,d\mu$, "
    r"$G_\mu(x) = \int e^{\langle x, Ay\rangle}\,d\mu(y)$",
}


def statement_latex(stated: StatedEnergy) -> list[str]:
    """Return the energy, its parameters, the metric and the domain."""
    pair, potential = stated.texts
    parts = [rf"\tfrac12\iint {_density(pair, stated)}\,d\mu(x)\,d\mu(y)"] if pair else []
    parts += [rf"\int {_density(potential, stated)}\,d\mu(x)"] if potential else []
    lines = [r"\[", rf"F(\mu) = {' + '.join(parts) or '0'}", r"\]"]
    values: dict[str, Value | None] = {**stated.parameters}
    if stated.metric.name == "twisted":
        values |= {"V": stated.metric.value, "A": stated.metric.score}
    if values:
        named = (f"${latex_name(name)} = {_value(value)}$" for name, value in values.items())
        lines.append(f"with {', '.join(named)},")
    lines.append(f"along geodesics of {_METRICS[stated.metric.name]},")
    lines.append(_where(stated))
    return lines


def latex_name(name: str) -> str:
    """Return the name of a symbol as mathematics."""
    from sympy import Symbol

    return latex(Symbol(name))


def _density(text: str, stated: StatedEnergy) -> str:
    shapes = {name: ("d", "d") for name, value in stated.parameters.items() if isinstance(value, Multiple)}
    return rf"\Bigl({latex(parse_score(text, shapes).expression)}\Bigr)"


def _value(value: Value | None) -> str:
    if isinstance(value, Multiple):
        factor = number_latex(value.factor)
        return {"1": "I", "-1": "-I"}.get(factor, rf"{factor}\,I")
    return matrix_latex(value) if isinstance(value, tuple) else number_latex(value)


def _where(stated: StatedEnergy) -> str:
    space = r"the unit sphere of $\mathbb{R}^d$" if stated.space == "sphere" else r"$\mathbb{R}^d$"
    size = "for every $d$" if stated.dimension is None else f"$d = {stated.dimension}$"
    text = f"on {space}, {size}"
    if stated.domain.radius is not None:
        text += rf", laws with support in $|x| \le {number_latex(stated.domain.radius)}$"
    if stated.domain.box is not None:
        sides = r" \times ".join(
            f"[{number_latex(low)}, {number_latex(high)}]" for low, high in stated.domain.box
        )
        text += f", laws with support in ${sides}$"
    return text + "."


def atoms_latex(witness: Mapping[str, Any], stated: StatedEnergy) -> list[str]:
    """Return atoms, velocities and the exact second derivative."""
    listed = zip(witness["weights"], witness["points"], witness["velocities"], strict=True)
    atoms = [
        rf"$x_{{{k}}} = {vector_latex(x)}$, $v_{{{k}}} = {vector_latex(v)}$, weight ${number_latex(w)}$"
        for k, (w, x, v) in enumerate(listed, start=1)
    ]
    return [r"\item " + "; ".join(atoms) + ":", _values(witness, stated)]


def gaussian_latex(witness: Mapping[str, Any], stated: StatedEnergy) -> list[str]:
    """Return a Gaussian law, its velocity and the second derivative."""
    mean, shift = (vector_latex(witness[key]) for key in ("mean", "shift"))
    covariance, slope = (matrix_latex(witness[key]) for key in ("covariance", "slope"))
    return [
        rf"\item $\mathcal{{N}}(m, \Sigma)$, $m = {mean}$, $\Sigma = {covariance}$, with the velocity",
        rf"$v(x) = b + S(x - m)$, $b = {shift}$, $S = {slope}$:",
        _values(witness, stated),
    ]


def _values(witness: Mapping[str, Any], stated: StatedEnergy) -> str:
    bound = rf"{number_latex(stated.modulus)}\,|v|^2" if stated.modulus else "0"
    shown = rf"\frac{{d^2}}{{dt^2}}F = {value_latex(witness['value'])} < {bound}"
    return rf"\[ {shown}, \qquad |v|^2 = {value_latex(witness['length'])}. \]"


def dirac_latex(acceleration: Any, ratio: Any, radius: str, below: Any) -> list[str]:
    """Return the equation of geodesics of Diracs and the second derivative along them."""
    found = rf"\frac{{d^2}}{{dt^2}}F = \Bigl({latex(ratio)}\Bigr)\,|\dot\mu|^2"
    there = rf"{number_latex(below)}\,|\dot\mu|^2 \text{{ at }} |x| = {number_latex(radius)}"
    return [
        r"\item Diracs $\delta_x$ in every dimension, velocity $v$: geodesics solve",
        rf"$\ddot x = {latex(acceleration)}$, and along them",
        rf"\[ {found}, \qquad {there}. \]",
    ]


def factor_latex(title: str, given: Mapping[str, Any], everywhere: bool) -> list[str]:
    """Return a semidefinite matrix with its factorisation."""
    times = r" \otimes I_d" if everywhere else ""
    shown = f"{title} = {matrix_latex(given['matrix'])}{times}"
    if not given["D"]:
        return [rf"\[ {shown} = 0 \]"]
    D: Sequence[Any] = given["D"]
    diagonal = rf"\operatorname{{diag}}({', '.join(number_latex(entry) for entry in D)})"
    return [rf"\[ {shown} = L\,{diagonal}\,L^\top \succeq 0, \qquad L = {matrix_latex(given['L'])} \]"]
