"""From a model and the names of its parameters to something that can be called: shipped, cached, or built now.

The names select the parametrisation. Which of the three it is, is decided by the model's own text, so that neither
derivation nor lowering runs where a kernel exists.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import symflow
from symflow.codegen import cache, interface
from symflow.codegen.load import Missing, load_capsules, log, module_name
from symflow.codegen.versions import digest, generator_hash, stamp
from symflow.errors import BackendWarning, BuildError

if TYPE_CHECKING:
    from symflow.codegen.program import Program

#: Factor of the score: kernels keep both as arguments, whatever numbers the model has.
SCALE = ("beta", "temperature")

#: Written by ``setup.py`` beside the compiled kernels of the shipped models.
SHIPPED_INDEX = "index.json"


@dataclass(frozen=True)
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

    interface: interface.Interface
    backend: str
    text: Callable[[], str]
    capsule: Any = None
    functions: dict[str, Any] = field(default_factory=dict)


def default_names(model: Any) -> frozenset[str]:
    """Return the parameters of the parametrisation that is loaded first: A for shipped models, else as declared."""
    default = _shipped()["defaults"].get(model_key(model))
    return frozenset(model.parameters if default is None else default)


def names_of(statement: Any) -> frozenset[str]:
    """Return the parameter names of a statement, without the scale."""
    return frozenset(p.name for p in statement.parameters) - frozenset(SCALE)


def select(
    model: Any, passed: frozenset[str], default: frozenset[str], given: frozenset[str] | None
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the parametrisation for the names that were passed, and the biases that are to be zero."""
    names = passed - (frozenset(SCALE) - frozenset(model.parameters))
    biases = frozenset(getattr(model, "biases", ()))
    if given is not None:
        return given, (given & biases) - names
    if names == default or not names & biases:
        return names, frozenset()
    return names | biases, biases - names


def obtain(model: Any, names: frozenset[str], backend: str) -> Form:
    """Return the form of ``model`` for the parameter ``names``.

    Raises
    ------
    BuildError
        If ``backend`` is ``"compiled"`` and nothing can be compiled.
    InputError
        If the names do not fit the model or the model is refused.
    """
    if backend == "numpy":
        return _printed(model, names)
    lacking = _runtime_missing()
    if lacking is None:
        found = _from_wheel(model, names) or _from_cache(model, names)
        if found is not None:
            return found
        from symflow.codegen import build  # imports what only a build needs

        lacking = build.missing()
    if lacking is None:
        return _built(model, names)
    if backend == "compiled":
        raise BuildError(f"no compiled kernel of {model.name}: {lacking}")
    form = _printed(model, names)
    message = f"{model.name} runs on the slower NumPy backend: {lacking}. backend='numpy' silences this warning"
    warnings.warn(message, BackendWarning, stacklevel=_outside_symflow())
    return form


def text(model: Any, names: frozenset[str], target: str) -> str:
    """Return the generated source."""
    programs = _programs(model, names)
    return _cython(model, programs).text if target == "cython" else _numpy(model, programs)


def model_key(model: Any, names: frozenset[str] | None = None) -> str:
    """Return a key of everything in the model that its kernel depends on, without deriving anything."""
    described = _described(model)
    return digest(described, generator_hash(), *(() if names is None else sorted(names)))


def _described(model: Any) -> str:
    """Return a text that determines the equations: the declared lines, not their SymPy trees."""
    from symflow.models.attention.model import AttentionModel

    kind = type(model)
    if kind.statement is not AttentionModel.statement or kind._symbols is not AttentionModel._symbols:
        raise TypeError(f"{kind.__name__} redefines how a statement is made; derive from AttentionModel instead")
    fields = {f.name: getattr(model, f.name) for f in dataclasses.fields(model) if f.name not in (*SCALE, "title")}
    declared = ("name", "score", "value", "output", "normalise", "parameters", "biases", "space")
    fields |= {name: getattr(model, name) for name in declared}
    return json.dumps({name: _plain(value) for name, value in fields.items()}, sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if hasattr(value, "items"):
        return [[name, _plain(item)] for name, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)


def _runtime_missing() -> Missing | None:
    try:
        importlib.import_module("symflow_ext.call")
    except ImportError as error:
        return Missing(
            f"the compiled runtime is not installed ({error})", "reinstall symflow where a C compiler is on PATH"
        )
    return None


def _outside_symflow() -> int:
    """Return the stack level of the first caller outside the package, so that a warning names the user's line."""
    import sys

    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("symflow."):
        frame, level = frame.f_back, level + 1
    return level


# --- shipped ---------------------------------------------------------------------------------------


def _shipped() -> dict[str, Any]:
    """Return what ``setup.py`` wrote; empty where nothing was built, or by another generator."""
    import symflow_ext

    path = Path(symflow_ext.__path__[0], "kernels", SHIPPED_INDEX)
    try:
        data: dict[str, Any] = json.loads(path.read_bytes())
    except OSError:
        return {"defaults": {}, "forms": {}}
    return data


def _from_wheel(model: Any, names: frozenset[str]) -> Form | None:
    found = _shipped()["forms"].get(model_key(model, names))
    if found is None:
        return None
    try:
        module = importlib.import_module(f"symflow_ext.kernels.{found['module']}")
    except ImportError:
        return None  # optional at build time: it may not have been compiled
    described = interface.from_json(found["interface"])
    path = Path(str(module.__file__)).with_name(f"{found['module']}.pyx")
    return Form(described, "compiled", lambda: path.read_text(encoding="utf-8"), module.capsules[described.name])


# --- built on first use ----------------------------------------------------------------------------


def _index_key(model: Any, names: frozenset[str]) -> str:
    return digest(model_key(model, names), json.dumps(stamp(), sort_keys=True))


def _from_cache(model: Any, names: frozenset[str]) -> Form | None:
    key = _index_key(model, names)
    found = cache.lookup(key, stamp(), cache.readable_dirs())
    if found is None:
        return None
    form = _loaded(found)
    log("cache hit %s: %s", form.interface.name, found.library)
    return form


def _loaded(entry: cache.Entry) -> Form:
    described = interface.from_json(entry.data["interface"])
    capsules = load_capsules(entry.library, module_name(entry.data["key"]))
    return Form(described, "compiled", lambda: entry.text.read_text(encoding="utf-8"), capsules[described.name])


def _built(model: Any, names: frozenset[str]) -> Form:
    """Derive, generate, build, load; the child process warms up meanwhile."""
    from symflow.codegen import build

    now = stamp()
    with build.Builder() as builder:
        programs = _programs(model, names)
        printed = _cython(model, programs)
        key = digest(printed.text, json.dumps(now, sort_keys=True))
        log("cache miss %s: building %s", model.name, key)
        data = {"key": key, "interface": interface.of_programs(programs).to_json()}
        entry = builder.build(printed.text, key, data, now)
    cache.point(_index_key(model, names), key, entry.library.parents[2])
    return _loaded(entry)


def _programs(model: Any, names: frozenset[str]) -> dict[str, Program]:
    from symflow.codegen.lower import lower
    from symflow.derive.closure import gaussian_closure

    return lower(gaussian_closure(model.with_symbolic_scale(), names).flow)


def _title(model: Any) -> str:
    return f"{model.name}: s(x, y) = beta/temperature * ({model.score}), v(y) = {model.value}"


def _cython(model: Any, programs: dict[str, Program]) -> Any:
    from symflow.codegen.cython_printer import Kernelset, cython_source
    from symflow_ext.contract import abi_hash

    kernel = Kernelset(next(iter(programs.values())).model, tuple(programs.values()))
    return cython_source([kernel], _title(model), abi_hash(), f"symflow {symflow.__version__}")


# --- NumPy -----------------------------------------------------------------------------------------


def _numpy(model: Any, programs: dict[str, Program]) -> str:
    from symflow.codegen.numpy_printer import numpy_source

    return numpy_source(programs.values(), _title(model).replace("\\", "/").replace('"', "'"))


def _printed(model: Any, names: frozenset[str]) -> Form:
    """Execute the NumPy text, which is our own, in a namespace of its own."""
    programs = _programs(model, names)
    generated = _numpy(model, programs)
    namespace: dict[str, Any] = {"__name__": f"symflow.generated.{model.name}"}
    exec(compile(generated, f"<symflow {model.name}>", "exec"), namespace)
    return Form(interface.of_programs(programs), "numpy", lambda: generated, None, namespace)
