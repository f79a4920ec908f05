"""Loading a built kernel: what runs where the kernel exists already, hence light to import."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symflow.codegen.interface import Interface


@dataclass(frozen=True)
class Missing:
    """Why nothing can be compiled: what is missing, and the remedy."""

    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}"


@dataclass(frozen=True, eq=False)
class Form:
    """One parametrisation, ready to be bound.

    Attributes
    ----------
    interface : Interface
        Functions, shapes, parameters.
    backend : str
        ``"compiled"`` or ``"numpy"``.
    capsule : object
        Of the compiled module; None for NumPy.
    functions : dict
        Of the executed NumPy text; empty for compiled.
    text : callable
        Returns the generated source.
    """

    interface: Interface
    backend: str
    text: Callable[[], str]
    capsule: Any = None
    functions: dict[str, Any] = field(default_factory=dict)


def module_name(key: str) -> str:
    """Return the name of the extension module of a kernel."""
    return f"symflow_kernel_{key}"


def load_capsules(library: Path, module: str) -> dict[str, Any]:
    """Load an extension module from a file and return its capsules by name."""
    spec = importlib.util.spec_from_file_location(
        module, library, loader=ExtensionFileLoader(module, str(library))
    )
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    capsules: dict[str, Any] = loaded.capsules
    return capsules


def log(message: str, *values: object) -> None:
    """Write to the logger ``symflow.build``; where nobody has imported logging, nobody listens."""
    if "logging" in sys.modules:
        sys.modules["logging"].getLogger("symflow.build").info(message, *values)
