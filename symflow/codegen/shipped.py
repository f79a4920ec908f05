"""Kernels of the shipped models: ``setup.py`` writes and compiles them, a wheel carries them.

One module per variant holds every parametrisation; ``index.json`` says which module serves which model.
"""

from __future__ import annotations

import functools
import importlib
import json
from pathlib import Path
from typing import Any

from symflow.codegen.interface import from_json, of_programs
from symflow.codegen.keys import model_key
from symflow.codegen.kinds import GAUSSIAN, Kind
from symflow.codegen.load import Form
from symflow.codegen.versions import package_version
from symflow.errors import ClosureUndecided, NotGaussianPreserving

INDEX = "index.json"


@functools.lru_cache(maxsize=1)
def index() -> dict[str, Any]:
    """Return what :func:`generate` wrote at build time; empty where nothing was built."""
    import symflow_ext

    path = Path(symflow_ext.__path__[0], "kernels", INDEX)
    try:
        data: dict[str, Any] = json.loads(path.read_bytes())
    except OSError:
        return {"defaults": {}, "forms": {}, "open": []}
    return data


def lacks_closure(model: Any, names: frozenset[str]) -> bool:
    """Whether this is a shipped model of which no system of Gaussian laws was found when it was built."""
    return model_key(model, names) in index().get("open", ())


def find(model: Any, names: frozenset[str], kind: Kind = GAUSSIAN) -> Form | None:
    """Return the compiled form of a shipped model, or None: not shipped, or changed since the build."""
    found = index()["forms"].get(kind.name, {}).get(model_key(model, names))
    if found is None:
        return None
    try:
        module = importlib.import_module(f"symflow_ext.kernels.{found['module']}")
    except ImportError:
        return None  # optional at build time: it may not have been compiled
    described = from_json(found["interface"])
    path = Path(str(module.__file__)).with_name(f"{found['module']}.pyx")
    return Form(
        described, "compiled", lambda: path.read_text(encoding="utf-8"), module.capsules[described.name]
    )


def generate(folder: Path) -> list[str]:
    """Derive every shipped model in every parametrisation and write one Cython module each, and the index.

    A model that does not keep Gaussians Gaussian has none.

    Parameters
    ----------
    folder : Path
        Where ``NAME.pyx`` and ``index.json`` go.

    Returns
    -------
    list of str
        Names of the modules.
    """
    from symflow.models.registry import attention_models

    folder.mkdir(parents=True, exist_ok=True)
    defaults: dict[str, list[str]] = {}
    forms: dict[str, Any] = {}
    written = []
    for name, kind in attention_models().items():
        model = kind()
        parametrisations = model.parametrisations()
        text = _module(name, model, parametrisations, forms)
        if text is not None:
            defaults[model_key(model)] = sorted(parametrisations[0])
            (folder / f"{name}.pyx").write_text(text, encoding="utf-8")
            written.append(name)
    (folder / INDEX).write_text(
        json.dumps({"defaults": defaults, "forms": forms}, indent=1), encoding="utf-8"
    )
    return written


def _module(name: str, model: Any, parametrisations: Any, forms: dict[str, Any]) -> str | None:
    """Return the Cython text of one variant, and enter its parametrisations into ``forms``.

    None where Gaussians are not known to stay Gaussian: there is nothing to compile.
    """
    from symflow.codegen.cython_printer import Kernelset, cython_source
    from symflow.codegen.fixed.single import singles
    from symflow.codegen.lower import programs_of
    from symflow_ext.contract import abi_hash

    sets = []
    for names in parametrisations:
        try:
            programs = programs_of(model, names)
        except (NotGaussianPreserving, ClosureUndecided):
            return None
        described = of_programs(programs)
        fixed = tuple(single for program in programs.values() for single in singles(program))
        sets.append(Kernelset(described.name, tuple(programs.values()), fixed))
        forms[model_key(model, names)] = {"module": name, "interface": described.to_json()}
    return cython_source(sets, model.title, abi_hash(), f"symflow {package_version()}").text
