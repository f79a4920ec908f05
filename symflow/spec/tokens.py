"""Tokens in ``[initial]``: drawn from a law by a seed, or read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.checking import entry, real_array
from symflow.errors import InputError
from symflow.integrate.gaussian import Gaussian
from symflow.spec.values import at, read_array, read_index, read_number

Array = NDArray[np.float64]

TOKEN_KEYS = ("tokens", "n", "d", "seed", "tokens_file")
_KINDS = ("uniform", "gaussian")
_MOST_NUMBERS = 1_000_000_000
_SEEDS = 2**128  # as many as a Philox generator has keys


@dataclass(frozen=True)
class TokenLaw:
    r"""Independent tokens of one law; a seed alone decides what is drawn.

    Attributes
    ----------
    kind : str
        ``"uniform"`` on the unit sphere :math:`S^{d-1}`, or ``"gaussian"``.
    count, dim : int
        Number of tokens n and dimension d.
    seed : int
        Key of the Philox generator, below 2¹²⁸.
    gaussian : Gaussian or None
        Law of ``"gaussian"`` tokens; None stands for :math:`\mathcal N(0, I)`.
    on_sphere : bool
        Whether tokens are divided by their lengths.

    Examples
    --------
    >>> tokens = TokenLaw("uniform", 3, 2, seed=7).draw()
    >>> tokens.shape, bool(abs((tokens**2).sum(axis=1) - 1).max() < 1e-15)
    ((3, 2), True)
    """

    kind: str
    count: int
    dim: int
    seed: int = 0
    gaussian: Gaussian | None = None
    on_sphere: bool = False

    def draw(self, seed: int | None = None) -> Array:
        """Return tokens (n, d) for this law's seed, or for another one."""
        key = np.random.Philox(key=self.seed if seed is None else seed)
        normal = np.random.Generator(key)
        if self.gaussian is None:
            tokens = normal.standard_normal((self.count, self.dim))
        else:
            factor = self.gaussian.factor()
            tokens = self.gaussian.mean + normal.standard_normal((self.count, factor.shape[1])) @ factor.T
        if self.kind == "uniform" or self.on_sphere:
            tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
        return tokens


def read_tokens(table: Mapping[str, Any], folder: Path, on_sphere: bool) -> tuple[Array, TokenLaw | None]:
    """Return the tokens that ``[initial]`` states, and their law where they are drawn.

    Parameters
    ----------
    table : dict
        The section, with ``tokens`` or ``tokens_file`` or what belongs to them.
    folder : Path
        Where a relative path starts.
    on_sphere : bool
        Whether tokens live on the unit sphere.

    Raises
    ------
    InputError
        If a key is missing or does not fit; the message names it.
    """
    if "tokens_file" in table:
        for key in table:
            if key != "tokens_file":
                raise InputError(f"[initial] gives both tokens_file and {key}; keep one of them")
        return _read_file(table["tokens_file"], folder, on_sphere), None
    if isinstance(table.get("tokens"), list):
        return _read_rows(table, on_sphere), None
    if "tokens" not in table:
        key = next(key for key in table if key in TOKEN_KEYS)
        raise InputError(f'[initial] {key} belongs to tokens = "uniform" or "gaussian"; give tokens as well')
    law = _law(table, on_sphere)
    return law.draw(), law


def exact_tokens(table: Mapping[str, Any]) -> list[list[Any]] | None:
    """Return tokens that are written out as SymPy numbers; None where one of them is a float, or none is.

    Examples
    --------
    >>> exact_tokens({"tokens": [[1, 0], ["-1/2", "sqrt(3)/2"]]})
    [[1, 0], [-1/2, sqrt(3)/2]]
    """
    rows = table.get("tokens")
    if not isinstance(rows, list) or any(isinstance(c, float) for row in rows for c in row):
        return None
    return [[_number(c, (i, k)) for k, c in enumerate(row)] for i, row in enumerate(rows)]


def _read_rows(table: Mapping[str, Any], on_sphere: bool) -> Array:
    """Return tokens that are written out, numbers or text such as ``"sqrt(3)/2"``."""
    for key in table:
        if key != "tokens":
            raise InputError(f"[initial] gives both a list of tokens and {key}; keep one of them")
    rows = table["tokens"]
    if not rows or not all(isinstance(row, list) and len(row) == len(rows[0]) > 0 for row in rows):
        raise InputError("[initial] tokens must be rows of one length, one row for every token")
    tokens = np.array([[float(_number(c, (i, k))) for k, c in enumerate(row)] for i, row in enumerate(rows)])
    zero = np.flatnonzero(~tokens.any(axis=1))
    if on_sphere and zero.size:
        raise InputError(f"[initial] tokens[{zero[0]}] is zero, which has no direction on the sphere")
    return tokens


def _number(value: Any, index: tuple[int, int]) -> Any:
    """Return a number of TOML, or the real SymPy number that a text writes."""
    from sympy import Integer, pi

    from symflow.algebra.grammar import parse

    where = entry("[initial] tokens", index)
    if not isinstance(value, str):
        read_number(where, value)
        return Integer(value) if isinstance(value, int) else value
    with at(where):
        found = parse(value, {"pi": pi})
    if not getattr(found, "is_real", False) or getattr(found, "shape", None):
        raise InputError(f"{where} = {value!r} is not a real number")
    return found


def read_seed(where: str, value: Any) -> int:
    """Return a seed."""
    seed = read_index(where, value)
    if seed >= _SEEDS:
        raise InputError(f"{where} = {seed} is too large; give a seed below 2^128")
    return seed


def _law(table: Mapping[str, Any], on_sphere: bool) -> TokenLaw:
    kind = table["tokens"]
    if kind not in _KINDS:
        raise InputError(f"[initial] tokens = {kind!r} is unknown; use {' or '.join(map(repr, _KINDS))}")
    seed = read_seed("[initial] seed", table.get("seed", 0))
    count = _size(table, "n")
    given = [key for key in ("mean", "cov") if key in table]
    if "from" in table:
        raise InputError("[initial] gives both tokens and from; keep one of them")
    if given and kind == "uniform":
        raise InputError(f'[initial] {given[0]} belongs to tokens = "gaussian"; uniform tokens have none')
    if not given:
        _refuse_too_many(count, dim := _size(table, "d"))
        return TokenLaw(kind, count, dim, seed, None, on_sphere)
    gaussian = _gaussian(table)
    if "d" in table and _size(table, "d") != gaussian.dim:
        raise InputError(f"[initial] d = {table['d']} but mean has length {gaussian.dim}; remove d")
    _refuse_too_many(count, gaussian.dim)
    return TokenLaw(kind, count, gaussian.dim, seed, gaussian, on_sphere)


def _gaussian(table: Mapping[str, Any]) -> Gaussian:
    for key in ("mean", "cov"):
        if key not in table:
            raise InputError(f"[initial] {key} is missing; Gaussian tokens have both mean and cov, or none")
    mean, cov = (read_array(f"[initial] {key}", table[key]) for key in ("mean", "cov"))
    with at("[initial]"):
        law = Gaussian(mean, cov)
    if law.positions is not None:
        raise InputError("[initial] cov has one matrix per position; tokens have one law, give (d, d)")
    return law


def _size(table: Mapping[str, Any], key: str) -> int:
    what = {"n": "how many tokens", "d": "their dimension"}[key]
    if key not in table:
        raise InputError(f"[initial] {key} is missing: {what}")
    size = read_index(f"[initial] {key}", table[key])
    if size < 1:
        raise InputError(f"[initial] {key} = {size} must be at least 1")
    return size


def _refuse_too_many(count: int, dim: int) -> None:
    if count * dim > _MOST_NUMBERS:
        raise InputError(
            f"[initial] n = {count} tokens of d = {dim} numbers are too many; "
            f"n·d may be at most {_MOST_NUMBERS}"
        )


def _read_file(name: Any, folder: Path, on_sphere: bool) -> Array:
    if not isinstance(name, str):
        raise InputError(f"[initial] tokens_file = {name!r} must be text in quotation marks")
    path = tokens_path(name, folder)
    try:
        raw = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise InputError(f"[initial] tokens_file: {path}: no such file; give a .npy file") from None
    except OSError as error:
        raise InputError(
            f"[initial] tokens_file: {path} cannot be read ({error}); give a .npy file"
        ) from None
    except (ValueError, EOFError):  # NumPy's advice here is to load what may run code
        raise InputError(
            f"[initial] tokens_file: {path} cannot be read as an array of numbers; write it with numpy.save"
        ) from None
    if not isinstance(raw, np.ndarray):
        raise InputError(f"[initial] tokens_file: {path} is an archive; give a .npy file of one array")
    tokens = real_array(raw, f"[initial] {path.name}")
    if tokens.ndim != 2 or tokens.size == 0:
        raise InputError(f"[initial] {path.name} has shape {tokens.shape}; tokens are an array (n, d)")
    zero = np.flatnonzero(~tokens.any(axis=1))
    if on_sphere and zero.size:
        raise InputError(f"[initial] {path.name}[{zero[0]}] is zero, which has no direction on the sphere")
    return tokens


def tokens_path(name: str, folder: Path) -> Path:
    """Return the path that ``tokens_file`` means."""
    return folder / Path(name).expanduser()
