"""The kernel of a model at a fixed small size: found in the cache, or derived, printed and built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symflow.codegen import cache
from symflow.codegen.keys import model_key
from symflow.codegen.load import load_capsules, log, module_name
from symflow.codegen.versions import digest, package_version, stamp

if TYPE_CHECKING:
    from symflow.codegen.fixed.unroll import Straight
    from symflow.codegen.program import Program

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
    kinds : tuple of str
        How each state is kept: ``"full"``, ``"symmetric"`` or ``"lower"``.
    """

    capsule: Any
    entry: str
    lanes: int
    slots: tuple[tuple[int, int, int], ...]
    parameters: tuple[tuple[str, int, int], ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Wish:
    """What a kernel is asked for."""

    model: Any
    names: frozenset[str]
    entry: str
    dims: tuple[int, ...]
    known: Known
    lanes: int


def fixed_kernel(
    model: Any, names: frozenset[str], entry: str, dims: tuple[int, ...], known: Known, lanes: int = LANES
) -> FixedKernel:
    """Return the kernel of ``model`` at fixed sizes.

    Parameters
    ----------
    model : AttentionModel
    names : frozenset of str
        Parameters that select the parametrisation.
    entry : str
        The program, ``"factor"`` or ``"moments"``.
    dims : tuple of int
        Sizes in the order of the program, the rank of the factor last.
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
        json.dumps([entry, dims, lanes, _listed(known)]),
        json.dumps(now, sort_keys=True),
    )
    wish = _Wish(model, names, entry, dims, known, lanes)
    return _from_cache(index_key, now) or _built(index_key, now, wish)


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
        tuple(data["kinds"]),
    )


def _built(index_key: str, now: dict[str, str], wish: _Wish) -> FixedKernel:
    from symflow.codegen.build import Builder
    from symflow.codegen.fixed.printer import lanes_source
    from symflow_ext.lanes_contract import lanes_hash

    with Builder(index_key) as builder:
        found = _from_cache(index_key, now) if builder.waited else None
        if found is not None:
            return found
        program, straight = _straight(wish)
        title = f"{program.model}, {wish.entry}"
        printed = lanes_source(
            program, straight, wish.lanes, title, lanes_hash(), f"symflow {package_version()}"
        )
        key = digest(printed.text, json.dumps(now, sort_keys=True))
        log("cache miss %s at %s: building %s", title, wish.dims, key)
        data = {
            "key": key,
            "interface": {"name": f"{program.model} ({wish.entry}, {wish.lanes} lanes)"},
            "lanes": {
                "entry": wish.entry,
                "lanes": wish.lanes,
                "slots": straight.slots,
                "parameters": straight.parameters,
                "kinds": straight.kinds,
            },
        }
        flags = (FLAGS, OPTIONAL_FLAGS)
        return _loaded(builder.build(printed.text, key, data, now, pointed_by=index_key, flags=flags))


def _straight(wish: _Wish) -> tuple[Program, Straight]:
    """Return the program and its straight-line code."""
    from symflow.codegen.fixed.unroll import Unsupported, unroll
    from symflow.codegen.lower import programs_of

    programs = programs_of(wish.model, wish.names)
    if wish.entry not in programs:
        raise Unsupported(f"a flow without the program {wish.entry!r}")
    if wish.entry == "moments" and "domain" in programs:
        raise Unsupported("moments whose normaliser may diverge")
    program = programs[wish.entry]
    sizes = dict(zip(program.dimensions, wish.dims, strict=False))
    return program, unroll(program, sizes, wish.known)
