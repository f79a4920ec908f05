"""Energies on the command line: a shipped one by name, or a spec file that states an energy and no model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from symflow.derive.energies import EnergyDerivation
    from symflow.models.energies.model import EnergyModel


@dataclass(frozen=True)
class EnergyTarget:
    """What MODEL stands for, where it is an energy.

    Attributes
    ----------
    name : str
        For headings and file names.
    model : EnergyModel
        The definition.
    """

    name: str
    model: EnergyModel


def energy_target(text: str) -> EnergyTarget | None:
    """Return the energy that MODEL means, None where it means a model.

    Raises
    ------
    InputError
        If it is a spec file that cannot be read.
    """
    from symflow.cli._target import looks_like_a_path

    if looks_like_a_path(text):
        from symflow.spec import load_spec

        spec = load_spec(text)
        if spec.energy is None or spec.mechanism is not None:
            return None
        return EnergyTarget(spec.name, spec.energy.energy.model)
    from symflow.models.energies.registry import energy_model, energy_models

    return EnergyTarget(text, energy_model(text)) if text in energy_models() else None


def energy_finding(found: EnergyDerivation) -> dict[str, Any]:
    """Return what was derived, JSON-ready."""
    from symflow.algebra.latex import latex

    shown = {"functional": found.functional, "variation": found.variation, "gradient": found.gradient}
    if found.gaussian is not None:
        gaussian = found.gaussian
        shown |= {
            "gaussian": gaussian.value,
            "gaussian_mean_gradient": gaussian.mean_gradient,
            "gaussian_cov_gradient": gaussian.cov_gradient,
        }
    finding: dict[str, Any] = {name: None if part is None else str(part) for name, part in shown.items()}
    finding |= {f"{name}_latex": latex(part) for name, part in shown.items() if part is not None}
    return finding | {"no_closed_form": found.no_closed_form or None}


def print_energy(out: Console, found: EnergyDerivation) -> None:
    """Print what was derived."""
    from rich.markup import escape

    statement = found.statement
    source = f"  ({statement.reference})" if statement.reference else ""
    out.print(f"[bold]{escape(found.model.title)}[/]{source}")
    out.print(escape(f"  F(mu)       = {found.functional}"))
    out.print(escape(f"  dF/dmu(x)   = {found.variation}"))
    if found.gradient is not None:
        out.print(escape(f"  its gradient  {found.gradient}"))
    if found.gaussian is not None:
        out.print(escape(f"  F(N(alpha, Sigma)) = {found.gaussian.value}"))
    else:
        out.print(escape(f"  no closed form at Gaussian laws: {found.no_closed_form}"))
    out.print()
