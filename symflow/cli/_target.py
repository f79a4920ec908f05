"""MODEL on the command line: a shipped model by name, or a spec file by path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symflow.models.attention.model import AttentionModel
    from symflow.spec import Spec


@dataclass(frozen=True)
class Target:
    """What MODEL stands for.

    Attributes
    ----------
    name : str
        For headings and file names.
    model : AttentionModel
        The attention mechanism.
    given : frozenset of str or None
        Names of the parameters that the spec file gives; None stands for the model's own default.
    spec : Spec or None
        The spec, where MODEL is a file.
    """

    name: str
    model: AttentionModel
    given: frozenset[str] | None = None
    spec: Spec | None = None


def resolve(text: str) -> Target:
    """Return what MODEL means.

    Raises
    ------
    InputError
        If it is neither a shipped model nor a readable spec file.
    """
    if looks_like_a_path(text):
        from symflow.spec import load_spec

        spec = load_spec(text)
        known = bool(spec.parameters) or spec.model.space == "sphere"  # there, absent ones are I
        return Target(spec.name, spec.model, frozenset(spec.parameters) if known else None, spec)
    from symflow.models.registry import model_named

    return Target(text, model_named(text))


def looks_like_a_path(text: str) -> bool:
    """Whether a text means a file."""
    path = Path(text)
    return path.suffix == ".toml" or len(path.parts) > 1 or path.is_file()
