"""Common noise on the command line: ``noise`` for two tokens, ``noise:relu`` for one random layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_PREFIX = "noise"


@dataclass(frozen=True)
class NoiseTarget:
    """What MODEL stands for, where it is common noise.

    Attributes
    ----------
    name : str
        For headings and file names.
    activation : str
        Name or expression in z; empty for any field.
    """

    name: str
    activation: str

    def derive(self) -> Any:
        """Return the derivation.

        Raises
        ------
        InputError
            If there is no such activation.
        """
        from symflow.derive.noise import noise_derivation, pair_generator

        return noise_derivation(self.activation) if self.activation else pair_generator()


def noise_target(text: str) -> NoiseTarget | None:
    """Return the noise that MODEL means, None where it means something else.

    Raises
    ------
    InputError
        If there is no such activation.
    """
    head, colon, activation = text.partition(":")
    if head != _PREFIX or (colon and not activation):
        return None
    if not activation:
        return NoiseTarget(_PREFIX, "")
    from symflow.models.noise.registry import activation as read

    return NoiseTarget(f"{_PREFIX}-{read(activation).name}", activation)


def noise_finding(found: Any) -> dict[str, Any]:
    """Return what was derived, JSON-ready."""
    names = ("lyapunov", "dissipation")
    pair = getattr(found, "pair", found)
    shown: dict[str, Any] = {name: getattr(found, name) for name in names}
    shown |= {"G0": pair.drift, "G1": pair.diffusion, "moments": pair.moments}
    field = getattr(found, "field", None)
    if field is not None:
        shown |= {"kappa": field.kappa, "kappa_one": field.at_one, "kappa_slope_one": field.slope_at_one}
    finding: dict[str, Any] = {name: None if part is None else str(part) for name, part in shown.items()}
    return finding | {"no_closed_form": (field.no_closed_form or None) if field is not None else None}


def print_noise(out: Console, found: Any) -> None:
    """Print what was derived."""
    from rich.markup import escape

    source = f"  ({found.statement.reference})" if found.statement.reference else ""
    out.print(f"[bold]{escape(found.model.title)}[/]{source}")
    for name, value in noise_finding(found).items():
        if value is not None:
            out.print(escape(f"  {name} = {value}"))
    out.print()
