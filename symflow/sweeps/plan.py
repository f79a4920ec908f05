"""What a sweep is going to do, decided and checked before any work."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symflow.errors import InputError
from symflow.integrate.gaussian import Gaussian
from symflow.spec import Spec
from symflow.spec.axes import Axis, Sweep
from symflow.sweeps.cells import Cells, checked_cells, dimension
from symflow.sweeps.statistics import ALWAYS, GAUSSIAN, TIME, TOKENS, Statistic, read_statistics

Array = NDArray[np.float64]

_FEW_BLOCKS, _MOST_BLOCKS = 64, 256  # progress is smooth from the one on, files are many from the other on
_SMALL_BLOCK, _LARGEST_BLOCK = 8, 1024  # cells
_LARGEST_CHUNK = 1 << 22  # numbers
_RESERVED = ("time", "row", "column", "token", "coordinate", "position")


@dataclass(frozen=True)
class Plan:
    """Cells, what is kept of each, and how they lie in blocks.

    Attributes
    ----------
    cells : Cells
    model : str
        Name of the first cell's model.
    kind : str
        ``"Gaussian"`` or ``"tokens"``.
    positions : bool
        Whether Gaussian laws have positions.
    names : tuple of str
        Names of the axes in the store.
    statistics : tuple of Statistic
    sizes : dict
        Length of every axis that a statistic has.
    times : ndarray, (T,), or None
        Output times, where something is computed along runs.
    """

    cells: Cells
    model: str
    kind: str
    positions: bool
    names: tuple[str, ...]
    statistics: tuple[Statistic, ...]
    sizes: Mapping[str, int]
    times: Array | None

    @property
    def sweep(self) -> Sweep:
        """The axes."""
        return self.cells.sweep

    def variables(self) -> dict[str, tuple[str, ...]]:
        """Return the axes that every array of statistics has behind those of the sweep."""
        return {name: axes for statistic in self.statistics for name, axes in statistic.variables().items()}

    def shape(self, axes: Sequence[str]) -> tuple[int, ...]:
        """Return the shape of an array with axes of statistics."""
        return tuple(self.sizes[axis] for axis in axes)

    def block_shape(self) -> tuple[int, ...]:
        """Return the shape of a block: cells that follow each other, run together and stored in one chunk."""
        largest = max([1, *(math.prod(self.shape(axes)) for axes in self.variables().values())])
        count = self.sweep.count
        wanted = max(count // _MOST_BLOCKS, min(_SMALL_BLOCK, count // _FEW_BLOCKS), 1)
        wanted = min(wanted, _LARGEST_BLOCK, max(1, _LARGEST_CHUNK // largest))
        block = [1] * len(self.sweep.shape)
        for axis in reversed(range(len(block))):
            block[axis] = min(self.sweep.shape[axis], wanted)
            if block[axis] < self.sweep.shape[axis]:
                break
            wanted //= block[axis]
        return tuple(block)

    def blocks(self) -> Iterator[tuple[tuple[slice, ...], range]]:
        """Return every block: where it lies, and its cells."""
        shape, block = self.sweep.shape, self.block_shape()
        counts = [math.ceil(size / step) for size, step in zip(shape, block, strict=True)]
        for index in np.ndindex(*counts):
            place = tuple(
                slice(i * step, min((i + 1) * step, size))
                for i, step, size in zip(index, block, shape, strict=True)
            )
            first = int(np.ravel_multi_index([part.start for part in place], shape))
            yield place, range(first, first + math.prod(part.stop - part.start for part in place))


def make_plan(spec: Spec) -> Plan:
    """Check a spec with a sweep.

    Raises
    ------
    InputError
        If the spec, a value of an axis or a statistic cannot be used; named by key and index.
    """
    if spec.noise is not None or spec.network is not None:
        raise InputError(
            f"{spec.name}: [sweep] follows runs without noise; remove [noise] and [network], or simulate "
            "one spec for each value"
        )
    cells, found = checked_cells(spec)
    kinds = {GAUSSIAN if isinstance(each.initial, Gaussian) else TOKENS for each in found}
    if len(kinds) > 1:
        raise InputError(f"{spec.name}: [sweep] mixes Gaussian laws and tokens; make two sweeps")
    kind = kinds.pop()
    sizes = [_sizes(each) for each in found]
    positions = "position" in sizes[0]
    try:
        statistics = read_statistics(cells.sweep.statistics, kind, positions=positions)
        _refuse_varied(statistics, sizes, found)
    except InputError as error:
        raise InputError(f"{spec.name}: {error}") from None
    along = any(statistic.along for statistic in statistics)
    return Plan(
        cells=cells,
        model=found[0].model.name,
        kind=kind,
        positions=positions,
        names=_names(cells.sweep.axes, {name for s in statistics for name in s.variables()}),
        statistics=statistics,
        sizes=sizes[0],
        times=output_times(found[0]) if along else None,
    )


def output_times(spec: Spec) -> Array:
    """Return the times at which statistics are computed: ``t_eval``, else both ends."""
    assert spec.t_span is not None
    if spec.t_eval is None:
        return np.array(spec.t_span)
    return np.clip(spec.t_eval, min(spec.t_span), max(spec.t_span))


def _sizes(spec: Spec) -> dict[str, int]:
    d = dimension(spec)
    sizes = {"row": d, "column": d, "coordinate": d, TIME: output_times(spec).size}
    if not isinstance(spec.initial, Gaussian):
        assert spec.initial is not None
        return sizes | {"token": len(spec.initial)}
    return sizes if spec.initial.positions is None else sizes | {"position": spec.initial.positions}


def _refuse_varied(statistics: tuple[Statistic, ...], sizes: list[dict[str, int]], found: list[Spec]) -> None:
    """Refuse a statistic whose shape, or whose times, would change from cell to cell."""
    varied = {name for name in sizes[0] if any(each.get(name) != sizes[0][name] for each in sizes)}
    times = [output_times(spec) for spec in found]
    if any(not np.array_equal(each, times[0]) for each in times):
        varied.add(TIME)
    for statistic in statistics:
        for axes in statistic.variables().values():
            for axis in axes:
                if axis in varied:
                    what = "the output times" if axis == TIME else f"the number of entries along {axis!r}"
                    raise InputError(
                        f"[sweep] changes {what} of statistic {statistic.name!r} from cell to cell; choose "
                        'statistics that have one shape, such as statistics = ["status", "t_star"]'
                    )


def _names(axes: tuple[Axis, ...], variables: set[str]) -> tuple[str, ...]:
    """Return the name of each axis: its key where that is free, else the whole path."""
    short = ["_".join(axis.path[1:]) for axis in axes]
    taken = {*_RESERVED, *ALWAYS, *variables}
    return tuple(
        axis.text if name in taken or short.count(name) > 1 else name
        for axis, name in zip(axes, short, strict=True)
    )
