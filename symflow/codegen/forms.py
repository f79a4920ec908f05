"""From a model and the names of its parameters to something callable: shipped, cached, or built now.

The names select the parametrisation. Which of the three it is, is decided by the model's own text, so that
neither derivation nor lowering runs where a kernel exists. What is generated is decided by a :class:`Kind`.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from typing import Any

from symflow.codegen import cache, interface, shipped
from symflow.codegen.keys import SCALE, arguments, model_key
from symflow.codegen.kinds import GAUSSIAN, Kind
from symflow.codegen.load import Form, Missing, load_capsules, log, module_name
from symflow.codegen.versions import digest
from symflow.errors import BackendWarning, BuildError


def default_names(model: Any) -> frozenset[str]:
    """Return the parameters of the parametrisation that is loaded first.

    As written where the user wrote the score; for a class that declares a variant, the smallest set, like
    :func:`symflow.gaussian_closure`; on the sphere the smallest set, with identities for what is left out.
    """
    sphere = model.space == "sphere"
    if "parameters" in vars(model) and not sphere:
        from symflow.models.attention.model import FEED_FORWARD

        return frozenset((*model.parameters, *(FEED_FORWARD if model.feed_forward else ())))
    known = shipped.index()["defaults"].get(model_key(model))
    if known is not None:
        return frozenset(known)
    found: frozenset[str] = min(model.parametrisations(), key=len) if sphere else model.parametrisations()[0]
    return found


def names_of(statement: Any) -> frozenset[str]:
    """Return the parameter names of a statement, without what every kernel has as an argument."""
    weights = () if statement.positions is None else (statement.positions.weights.name,)
    return frozenset(p.name for p in statement.parameters) - frozenset((*SCALE, *weights))


def select(
    model: Any, passed: frozenset[str], default: frozenset[str], given: frozenset[str] | None
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the parametrisation for the names that were passed, and the biases that are to be zero."""
    names = passed - arguments(model)
    biases = frozenset(getattr(model, "biases", ()))
    if given is not None:
        return given, (given & biases) - names
    if names == default or not names & biases:
        return names, frozenset()
    return names | biases, biases - names


def obtain(model: Any, names: frozenset[str], backend: str, kind: Kind = GAUSSIAN) -> Form:
    """Return the form of ``model`` for the parameter ``names``.

    Raises
    ------
    BuildError
        If ``backend`` is ``"compiled"`` and nothing can be compiled.
    InputError
        If the names do not fit the model or the model is refused.
    """
    if backend == "numpy":
        return _printed(model, names, kind)
    lacking: object = _runtime_missing()
    if lacking is None:
        found = shipped.find(model, names, kind) or _from_cache(model, names, kind)
        if found is not None:
            return found
        try:
            return _built(model, names, kind)
        except BuildError as error:
            if backend == "compiled":
                raise
            lacking = str(error).splitlines()[0]
    elif backend == "compiled":
        raise BuildError(f"no compiled kernel of {model.name}: {lacking}")
    form = _printed(model, names, kind)
    message = (
        f"{model.name} runs on the slower NumPy backend: {lacking}. backend='numpy' silences this warning"
    )
    warnings.warn(message, BackendWarning, stacklevel=_outside_symflow())
    return form


def text(model: Any, names: frozenset[str], target: str, kind: Kind = GAUSSIAN) -> str:
    """Return the generated source."""
    lowered = kind.lower(model, names)
    return (kind.cython if target == "cython" else kind.numpy)(model, lowered)


def _runtime_missing() -> Missing | None:
    try:
        importlib.import_module("symflow_ext.call")
    except ImportError as error:
        return Missing(
            f"the compiled runtime is not installed ({error})",
            "reinstall symflow where a C compiler is on PATH",
        )
    return None


def _outside_symflow() -> int:
    """Return the stack level of the first caller outside the package: a warning names the user's line."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("symflow."):
        frame, level = frame.f_back, level + 1
    return level


# --- built on first use ----------------------------------------------------------------------------


def _index_key(model: Any, names: frozenset[str], kind: Kind) -> str:
    return digest(kind.name, model_key(model, names), json.dumps(kind.stamp(), sort_keys=True))


def _from_cache(model: Any, names: frozenset[str], kind: Kind) -> Form | None:
    found = cache.lookup(_index_key(model, names, kind), kind.stamp(), cache.readable_dirs())
    if found is None:
        return None
    try:
        form = _loaded(found, model, names, kind)
    except ImportError:  # another process has cleared or replaced it since it was found
        return None
    log("cache hit %s: %s", form.interface.name, found.library)
    return form


def _loaded(entry: cache.Entry, model: Any, names: frozenset[str], kind: Kind) -> Form:
    described = interface.from_json(entry.data["interface"])
    capsules = load_capsules(entry.library, module_name(entry.data["key"]))

    def generated() -> str:
        try:
            return entry.text.read_text(encoding="utf-8")
        except OSError:  # the cache was cleared meanwhile; the library stays mapped
            return text(model, names, "cython", kind)

    return Form(described, "compiled", generated, capsules[described.name])


def _built(model: Any, names: frozenset[str], kind: Kind) -> Form:
    """Derive, generate, build, load; the child process warms up meanwhile."""
    from symflow.codegen.build import Builder  # imports what only a build needs

    index_key, now = _index_key(model, names, kind), kind.stamp()
    with Builder(index_key) as builder:
        found = _from_cache(model, names, kind) if builder.waited else None
        if found is not None:
            return found
        lowered = kind.lower(model, names)
        printed = kind.cython(model, lowered)
        key = digest(printed, json.dumps(now, sort_keys=True))
        log("cache miss %s: building %s", model.name, key)
        data = {"key": key, "interface": kind.interface(lowered).to_json()}
        entry = builder.build(printed, key, data, now, pointed_by=index_key, flags=kind.flags)
        return _loaded(entry, model, names, kind)


# --- NumPy -----------------------------------------------------------------------------------------


def _printed(model: Any, names: frozenset[str], kind: Kind) -> Form:
    """Execute the NumPy text, which is our own, in a namespace of its own."""
    lowered = kind.lower(model, names)
    generated = kind.numpy(model, lowered)
    namespace: dict[str, Any] = {"__name__": f"symflow.generated.{model.name}"}
    exec(compile(generated, f"<symflow {model.name}>", "exec"), namespace)
    return Form(kind.interface(lowered), "numpy", lambda: generated, None, namespace)
