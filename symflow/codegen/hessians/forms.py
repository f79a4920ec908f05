"""From the statement of an energy to the functions of it: cached, built now, or printed for NumPy."""

from __future__ import annotations

import functools
import importlib
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from symflow.codegen import cache
from symflow.codegen.hessians.source import hessian_source, numpy_source
from symflow.codegen.load import load_capsules, log, module_name
from symflow.codegen.versions import digest, generator_hash, package_version, stamp
from symflow.derive.critical.structure import EnergyStructure, structure
from symflow.errors import BackendWarning, BuildError
from symflow.models.energies.statement import EnergyStatement

#: As for tokens: never -ffast-math, and no contraction, so that registers of any width give equal bits.
FLAGS = ("-O2", "-fPIC", "-DNDEBUG", "-fno-math-errno", "-ffp-contract=off", "-w")
OPTIONAL_FLAGS = ("-march=native",)

BACKENDS = ("auto", "compiled", "numpy")


@dataclass(frozen=True, eq=False)
class HessianForm:
    """The functions of one energy, for all its parameters and sizes.

    Attributes
    ----------
    energy : EnergyStructure
    backend : str
        ``"compiled"`` or ``"numpy"``.
    evaluate : callable or None
        Of the compiled module.
    pair_jet, token_jet : callable or None
        Of the NumPy text.
    text : callable
        Returns the generated source.
    """

    energy: EnergyStructure
    backend: str
    text: Callable[[], str]
    evaluate: Any = None
    pair_jet: Any = None
    token_jet: Any = None


def obtain(statement: EnergyStatement, space: str, backend: str) -> HessianForm:
    """Return the functions of an energy.

    Parameters
    ----------
    statement : EnergyStatement
    space : {"sphere", "euclidean"}
    backend : {"auto", "compiled", "numpy"}
        ``"auto"`` takes NumPy, with a warning, where nothing can be compiled.

    Raises
    ------
    BuildError
        If ``backend`` is ``"compiled"`` and nothing can be compiled.
    InputError
        As :func:`~symflow.derive.critical.structure.structure`.
    """
    if backend == "numpy":
        return printed(statement, space)
    try:
        return _compiled(statement, space)
    except BuildError as error:
        if backend == "compiled":
            raise
        lacking = str(error).splitlines()[0]
    warnings.warn(
        f"the Hessian of {statement.name} runs on the slower NumPy backend: {lacking}. "
        "backend='numpy' silences this warning",
        BackendWarning,
        stacklevel=3,
    )
    return printed(statement, space)


@functools.lru_cache(maxsize=64)
def energy_structure(statement: EnergyStatement, space: str) -> EnergyStructure:
    """Return the structure of an energy, derived once."""
    return structure(statement, space)


@functools.lru_cache(maxsize=64)
def printed(statement: EnergyStatement, space: str) -> HessianForm:
    """Execute the NumPy text, which is our own, in a namespace of its own."""
    energy = energy_structure(statement, space)
    generated = numpy_source(energy, _title(statement, space))
    namespace: dict[str, Any] = {"__name__": f"symflow.generated.hessian_{statement.name}"}
    exec(compile(generated, f"<symflow Hessian of {statement.name}>", "exec"), namespace)
    return HessianForm(
        energy,
        "numpy",
        lambda: generated,
        pair_jet=namespace["pair_jet"],
        token_jet=namespace["token_jet"],
    )


@functools.lru_cache(maxsize=64)
def _compiled(statement: EnergyStatement, space: str) -> HessianForm:
    shipped = _shipped(statement, space)
    if shipped is not None:
        return shipped
    now = _stamp()
    index_key = digest("hessian", _declared(statement, space), json.dumps(now, sort_keys=True))
    return _from_cache(index_key, now, statement, space) or _built(index_key, now, statement, space)


def _declared(statement: EnergyStatement, space: str) -> str:
    """Return a text that determines the functions of an energy."""
    shapes = [(p.name, tuple(map(str, getattr(p, "shape", ())))) for p in statement.parameters]
    said = (statement.name, statement.pair, statement.potential, shapes, statement.dimensions, space)
    return json.dumps([str(part) for part in said])


def shipped_key(statement: EnergyStatement, space: str) -> str:
    """Return the key under which the index of shipped kernels has the functions of an energy."""
    return digest("hessian", _declared(statement, space), generator_hash())


def _shipped(statement: EnergyStatement, space: str) -> HessianForm | None:
    """Return what was compiled when symflow was; None for other energies and after a change."""
    from symflow.codegen import shipped

    name = shipped.index().get("hessians", {}).get(shipped_key(statement, space))
    if name is None:
        return None
    try:
        module = importlib.import_module(f"symflow_ext.kernels.{name}")
    except ImportError:
        return None  # optional at build time: it may not have been compiled
    energy = energy_structure(statement, space)
    return HessianForm(energy, "compiled", lambda: _source(energy), evaluate=module.capsules["hessian"])


def _stamp() -> dict[str, str]:
    from symflow_ext.contract import pairs_hash

    return {**stamp(), "flags": " ".join((*FLAGS, *OPTIONAL_FLAGS)), "headers": pairs_hash()}


def _from_cache(
    index_key: str, now: dict[str, str], statement: EnergyStatement, space: str
) -> HessianForm | None:
    found = cache.lookup(index_key, now, cache.readable_dirs())
    if found is None:
        return None
    try:
        return _loaded(found, statement, space)
    except ImportError:  # another process has cleared or replaced it since it was found
        return None


def _loaded(entry: cache.Entry, statement: EnergyStatement, space: str) -> HessianForm:
    evaluate = load_capsules(entry.library, module_name(entry.data["key"]))["hessian"]
    energy = energy_structure(statement, space)

    def generated() -> str:
        try:
            return entry.text.read_text(encoding="utf-8")
        except OSError:  # the cache was cleared meanwhile; the library stays mapped
            return _source(energy)

    return HessianForm(energy, "compiled", generated, evaluate=evaluate)


def _built(index_key: str, now: dict[str, str], statement: EnergyStatement, space: str) -> HessianForm:
    from symflow.codegen.build import Builder  # imports what only a build needs

    with Builder(index_key) as builder:
        found = _from_cache(index_key, now, statement, space) if builder.waited else None
        if found is not None:
            return found
        text = source_of(statement, space)
        key = digest(text, json.dumps(now, sort_keys=True))
        log("cache miss: building the Hessian of %s, %s", statement.name, key)
        data = {"key": key, "interface": {"name": f"{statement.name} (Hessian, {space})"}}
        flags = (FLAGS, OPTIONAL_FLAGS)
        entry = builder.build(text, key, data, now, pointed_by=index_key, flags=flags)
        return _loaded(entry, statement, space)


def source_of(statement: EnergyStatement, space: str) -> str:
    """Return the Cython text of the functions of an energy."""
    return _source(energy_structure(statement, space))


def _source(energy: EnergyStructure) -> str:
    title = _title(energy.statement, energy.space)
    return hessian_source(energy, title, f"symflow {package_version()}").text


def _title(statement: EnergyStatement, space: str) -> str:
    where = "on the sphere" if space == "sphere" else "in space"
    return f"Value, gradient and second derivative of the energy {statement.name} of n tokens {where}"
