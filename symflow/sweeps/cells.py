"""The cells of a sweep: the spec of every one, checked before any work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from symflow.errors import InputError
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.options import Options, read_options
from symflow.integrate.problem import read_problem
from symflow.integrate.tokens.run import refuse_unavailable
from symflow.integrate.tokens.state import Tokens, read_tokens
from symflow.spec import Spec, parse_spec
from symflow.spec.axes import Axis, Sweep, placed
from symflow.spec.parameters import weights_path
from symflow.spec.tokens import read_seed, tokens_path

SEED = ("initial", "seed")
_SHOWN = 40  # characters of a value in a message


@dataclass(frozen=True)
class Cells:
    """Every combination of the axes' values, the last axis fastest.

    Attributes
    ----------
    name : str
        Name of the spec.
    data : dict
        Its content as TOML.
    folder : Path
        Where its relative paths start.
    sweep : Sweep
    """

    name: str
    data: Mapping[str, Any]
    folder: Path
    sweep: Sweep

    def index(self, cell: int) -> tuple[int, ...]:
        """Return the index of a cell along every axis."""
        return tuple(int(i) for i in np.unravel_index(cell, self.sweep.shape))

    def values(self, cell: int) -> dict[tuple[str, ...], Any]:
        """Return the value of every axis in a cell."""
        return {axis.path: axis.values[i] for axis, i in zip(self.sweep.axes, self.index(cell), strict=True)}

    def specs(self, cells: range) -> Iterator[tuple[int, Spec | InputError]]:
        """Return the spec of each cell, or why there is none; cells that differ by the seed share one."""
        last: tuple[Any, Spec | InputError] | None = None
        for cell in cells:
            values = self.values(cell)
            seed = values.pop(SEED, None)
            if last is None or last[0] != values:
                last = values, self._read(values)
            yield cell, _seeded(last[1], seed)

    def read(self, values: Mapping[tuple[str, ...], Any]) -> Spec:
        """Return the spec with other values at some paths.

        Raises
        ------
        InputError
            If there is none.
        """
        return parse_spec(placed(self.data, values), name=self.name, folder=self.folder, where=self.name)

    def files(self) -> dict[str, Path]:
        """Return the files whose content is part of the spec, by what the spec calls them."""
        ways = {("parameters", "file"): weights_path, ("initial", "tokens_file"): tokens_path}
        found: dict[str, Path] = {}
        for way, locate in ways.items():
            names = [self.data.get(way[0], {}).get(way[1])]
            names += [value for axis in self.sweep.axes if axis.path == way for value in axis.values]
            found |= {name: locate(name, self.folder) for name in names if name is not None}
        return found

    def _read(self, values: Mapping[tuple[str, ...], Any]) -> Spec | InputError:
        try:
            return self.read(values)
        except InputError as error:
            return error


def _seeded(spec: Spec | InputError, seed: Any) -> Spec | InputError:
    if seed is None or isinstance(spec, InputError) or spec.tokens is None:
        return spec
    law = replace(spec.tokens, seed=seed)
    return replace(spec, tokens=law, initial=law.draw())


def checked_cells(spec: Spec) -> tuple[Cells, list[Spec]]:
    """Return the cells of a spec, having read it with every value of every axis.

    The other axes are at their first value meanwhile; what only a combination of values makes unusable is
    recorded in its cell.

    Returns
    -------
    Cells
    list of Spec
        The specs that were read; the first one is that of the first cell.

    Raises
    ------
    InputError
        If a value cannot be used; named by path and index.
    """
    spec.require("sweep")
    assert spec.sweep is not None
    cells = Cells(spec.name, spec.data, spec.folder, spec.sweep)
    first = {axis.path: axis.values[0] for axis in spec.sweep.axes}
    found: list[Spec] = []
    for axis in spec.sweep.axes:
        for i, value in enumerate(axis.values):
            if axis.path == SEED and i > 0:  # nothing else depends on it
                read_seed(_where(spec, axis, i), value)
            elif i > 0 or not found:
                found.append(_checked(cells, axis, i, first))
    if spec.sweep.axes[0].path != SEED and SEED in first and found[0].tokens is None:
        raise InputError(f'{spec.name}: [sweep] "initial.seed" needs tokens = "uniform" or "gaussian"')
    return cells, found


def _checked(cells: Cells, axis: Axis, i: int, first: Mapping[tuple[str, ...], Any]) -> Spec:
    try:
        spec = cells.read({**first, axis.path: axis.values[i]})
        spec.require("parameters", "initial", "time")
        check_run(spec)
    except InputError as error:
        prefix = f"{cells.name}: "
        why = str(error).removeprefix(prefix)
        raise InputError(f"{prefix}{_place(axis, i)}: {why}") from None
    return spec


def run_options(spec: Spec, t_eval: Any) -> Options:
    """Return what a spec asks of a run that is recorded at some times.

    Raises
    ------
    InputError
        As :func:`symflow.solve` does.
    """
    solver: dict[str, Any] = {"method": "dop853", "rtol": 1e-9, "atol": 1e-12, "dt": None}
    return read_options(
        dimension(spec), spec.t_span, t_eval=t_eval, max_step=None, first_step=None, events=None,
        dense_output=False, callback=None, max_wall_time=None, **solver | dict(spec.solver),
    )  # fmt: skip


def check_run(spec: Spec) -> None:
    """Refuse what :func:`symflow.solve` would refuse of times, solver and parameters.

    Raises
    ------
    InputError
        As it does.
    """
    options = run_options(spec, spec.t_eval)
    law: Gaussian | Tokens
    if isinstance(spec.initial, Gaussian):
        law = spec.initial
    else:
        law = read_tokens(spec.model, spec.initial, "[initial]")
    problem = read_problem(spec.model, law, spec.parameters, (options.t0, options.t1))
    if isinstance(law, Tokens):
        refuse_unavailable(problem, options)


def dimension(spec: Spec) -> int:
    """Return the dimension d of a spec with an initial law."""
    assert spec.initial is not None
    return spec.initial.dim if isinstance(spec.initial, Gaussian) else int(spec.initial.shape[1])


def _where(spec: Spec, axis: Axis, i: int) -> str:
    return f'{spec.name}: [sweep] "{axis.text}"[{i}]'


def _place(axis: Axis, i: int) -> str:
    shown = repr(axis.values[i])
    return f'[sweep] "{axis.text}"[{i}] = {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"}'
