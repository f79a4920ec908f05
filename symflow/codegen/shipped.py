"""Kernels of the shipped models: ``setup.py`` writes and compiles them, a wheel carries them.

A module holds many parametrisations; ``index.json`` says which one serves which model.
"""

from __future__ import annotations

import functools
import importlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from symflow.codegen.interface import Interface, from_json, of_programs
from symflow.codegen.keys import model_key
from symflow.codegen.kinds import GAUSSIAN, TOKENS, Kind
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
    """Derive every shipped model in every parametrisation and write the Cython modules, and the index.

    Gaussian laws have one module per variant, where they stay Gaussian; tokens have one per score, energies
    one each, for the space that they state.

    Parameters
    ----------
    folder : Path
        Where ``NAME.pyx`` and ``index.json`` go.

    Returns
    -------
    list of str
        Names of the modules.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = _Written()
    _write_gaussian(written)
    _write_tokens(written)
    _write_hessians(written)
    for name, text in written.modules.items():
        (folder / f"{name}.pyx").write_text(text, encoding="utf-8")
    data = {
        "defaults": written.defaults,
        "forms": written.forms,
        "open": written.open,
        "hessians": written.hessians,
    }
    (folder / INDEX).write_text(json.dumps(data, indent=1), encoding="utf-8")
    return list(written.modules)


@dataclass
class _Written:
    """Text of the modules by name, and what the index says of them."""

    modules: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, list[str]] = field(default_factory=dict)
    forms: dict[str, dict[str, Any]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    hessians: dict[str, str] = field(default_factory=dict)

    def enter(self, kind: Kind, model: Any, names: frozenset[str], module: str, described: Interface) -> None:
        """Say where a parametrisation of a model is."""
        entry = {"module": module, "interface": described.to_json()}
        self.forms.setdefault(kind.name, {})[model_key(model, names)] = entry


def _write_gaussian(written: _Written) -> None:
    from symflow.models.registry import attention_models

    for name, variant in attention_models().items():
        model = variant()
        parametrisations = model.parametrisations()
        text = _module(name, model, parametrisations, written)
        if text is None:
            written.open += [model_key(model, names) for names in parametrisations]
        else:
            written.modules[name] = text
        written.defaults[model_key(model)] = sorted(parametrisations[0])


def _module(name: str, model: Any, parametrisations: Any, written: _Written) -> str | None:
    """Return the Cython text of one variant, and enter its parametrisations.

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
        written.enter(GAUSSIAN, model, names, name, described)
    return cython_source(sets, model.title, abi_hash(), f"symflow {package_version()}").text


def _write_tokens(written: _Written) -> None:
    """Write a module for each set of scores: their loops over pairs are most of what is to be compiled."""
    from symflow.codegen.tokens.cython_source import cython_source, scores_of
    from symflow.models.attention.model import SPACES
    from symflow.models.registry import attention_models
    from symflow_ext.contract import abi_hash

    groups: dict[Any, list[tuple[Any, frozenset[str], Any]]] = {}
    for variant in attention_models().values():
        for model in (variant(space=space) for space in SPACES):
            smallest = min(model.parametrisations(), key=len)
            written.defaults.setdefault(model_key(model), sorted(smallest))
            for names in model.parametrisations():
                program = TOKENS.lower(model, names)
                groups.setdefault(scores_of(program), []).append((model, names, program))
    for members in groups.values():
        variants = list(dict.fromkeys(model.name for model, _, _ in members))
        module = "_".join(["tokens", *variants])
        title = f"Tokens of {', '.join(variants)} attention"
        programs = [program for _, _, program in members]
        written.modules[module] = cython_source(
            programs, title, abi_hash(), f"symflow {package_version()}"
        ).text
        for model, names, program in members:
            written.enter(TOKENS, model, names, module, TOKENS.interface(program))


def _write_hessians(written: _Written) -> None:
    """Write value, gradient and Hessian of every energy that is a sum over pairs."""
    from symflow.codegen.hessians.forms import shipped_key, source_of
    from symflow.models.energies.registry import energy_models

    for name, energy in energy_models().items():
        statement = energy().statement()
        if statement.rest != 0:
            continue  # more than pairs
        module = f"hessian_{name}"
        written.modules[module] = source_of(statement, statement.space)
        written.hessians[shipped_key(statement, statement.space)] = module
