"""The kernel of a model at a fixed small size: found in the cache, or derived, printed and built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symflow.codegen import cache
from symflow.codegen.keys import model_key
from symflow.codegen.load import load_capsules, log, module_name
from symflow.codegen.versions import digest, package_version, stamp

#: Largest dimension for which a register holds members side by side.
LARGEST = 8

#: Members per register: eight doubles fill a register of 512 bits, and two or four smaller ones.
LANES = 8

#: Contraction to fused products is the same in every lane. Never -ffast-math.
FLAGS = ("-O3", "-fPIC", "-DNDEBUG", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-w")
OPTIONAL_FLAGS = ("-march=native", "-mprefer-vector-width=512")

#: Numbers of a parameter that are part of the code, by row and column.
Known = Mapping[str, Mapping[tuple[int, int], float]]


@dataclass(frozen=True, eq=False)
class FixedKernel:
    """A built kernel of fixed size.

    Attributes
    ----------
    capsule : object
        For ``symflow_ext.lanes``.
    entry : str
        ``"factor"`` or ``"moments"``.
    lanes : int
    slots : list of (state, row, column)
        What each number of the flat state is.
    parameters : list of (name, row, column)
        What each number of the parameters is.
    """

    capsule: Any
    entry: str
    lanes: int
    slots: tuple[tuple[int, int, int], ...]
    parameters: tuple[tuple[str, int, int], ...]


def fixed_kernel(
    model: Any, names: frozenset[str], entries: tuple[str, ...], sizes: Mapping[str, int], known: Known,
    lanes: int = LANES,
) -> FixedKernel:
    """Return the kernel of ``model`` at ``sizes``.

    Parameters
    ----------
    model : AttentionModel
    names : frozenset of str
        Parameters that select the parametrisation.
    entries : tuple of str
        Programs in order of preference, ``"factor"`` or ``"moments"``.
    sizes : mapping
        A number for every dimension of the program.
    known : mapping
        Numbers of parameters that become part of the code: zeros and ones, so that few kernels are built.
    lanes : int, default 8
        Members per register; 1 for a single run.

    Raises
    ------
    Unsupported
        If the program has no straight-line form.
    BuildError
        If it cannot be compiled.
    """
    now = _stamp()
    index_key = digest(
        model_key(model, names),
        json.dumps([entries, sorted(sizes.items()), lanes, _listed(known)]),
        json.dumps(now, sort_keys=True),
    )
    return _from_cache(index_key, now) or _built(index_key, now, model, names, entries, sizes, known, lanes)


def _listed(known: Known) -> list[Any]:
    return sorted([name, i, j, value] for name, found in known.items() for (i, j), value in found.items())


def _stamp() -> dict[str, str]:
    from symflow.codegen.fixed.printer import tableau_macros
    from symflow_ext.lanes_contract import lanes_hash

    return {
        **stamp(),
        "flags": " ".join((*FLAGS, *OPTIONAL_FLAGS)),
        "lanes": lanes_hash(),
        "tableau": digest(str(tableau_macros())),
    }


def _from_cache(index_key: str, now: dict[str, str]) -> FixedKernel | None:
    found = cache.lookup(index_key, now, cache.readable_dirs())
    if found is None:
        return None
    try:
        return _loaded(found)
    except ImportError:  # another process has cleared or replaced it since it was found
        return None


def _loaded(entry: cache.Entry) -> FixedKernel:
    data = entry.data["lanes"]
    capsules = load_capsules(entry.library, module_name(entry.data["key"]))
    return FixedKernel(
        capsules["lanes"],
        data["entry"],
        data["lanes"],
        tuple((n, i, j) for n, i, j in data["slots"]),
        tuple((name, i, j) for name, i, j in data["parameters"]),
    )


def _built(
    index_key: str, now: dict[str, str], model: Any, names: frozenset[str], entries: tuple[str, ...],
    sizes: Mapping[str, int], known: Known, lanes: int,
) -> FixedKernel:
    from symflow.codegen.build import Builder
    from symflow.codegen.fixed.printer import lanes_source
    from symflow.codegen.fixed.unroll import Unsupported, unroll
    from symflow.codegen.lower import programs_of
    from symflow_ext.lanes_contract import lanes_hash

    with Builder(index_key) as builder:
        found = _from_cache(index_key, now) if builder.waited else None
        if found is not None:
            return found
        programs = programs_of(model, names)
        entry = next((name for name in entries if name in programs), None)
        if entry is None:
            raise Unsupported(f"none of the programs {', '.join(entries)}")
        program = programs[entry]
        straight = unroll(program, sizes, known)
        title = f"{program.model}, {entry}"
        printed = lanes_source(program, straight, lanes, title, lanes_hash(), f"symflow {package_version()}")
        key = digest(printed.text, json.dumps(now, sort_keys=True))
        log("building %s at fixed size: %s", title, key)
        data = {
            "key": key,
            "interface": {"name": f"{program.model} ({entry}, {lanes} lanes)"},
            "lanes": {
                "entry": entry, "lanes": lanes, "slots": straight.slots, "parameters": straight.parameters,
            },
        }
        flags = (FLAGS, OPTIONAL_FLAGS)
        return _loaded(builder.build(printed.text, key, data, now, pointed_by=index_key, flags=flags))
