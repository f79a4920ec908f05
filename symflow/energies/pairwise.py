"""A user's own energy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from symflow.algebra.latex import latex
from symflow.checking import Array
from symflow.codegen.arrays import listed
from symflow.derive.particles.pairings import paired_score
from symflow.energies.atoms import scalar_function, vector_function
from symflow.energies.symbolic import SymbolicEnergy, law, parameter_values
from symflow.errors import NoTokenFlow
from symflow.models.energies.user import Pairwise as PairwiseModel

if TYPE_CHECKING:
    from symflow.models.energies.model import EnergyModel


class Pairwise(SymbolicEnergy):
    r"""A user's own energy of pairs of tokens, and of single ones.

    .. math:: F(\mu) = \tfrac12\iint W(x, y)\,d\mu(x)\,d\mu(y) + \int U(x)\,d\mu(x)

    Parameters
    ----------
    density : str or SymPy expression
        W(x, y): text of the small grammar in the tokens x and y and named parameters, or a SymPy scalar;
        empty for no interaction. It need not be symmetric.
    potential : str or SymPy expression, default ""
        U(x).
    space : {"euclidean", "sphere"}
        Where tokens live.
    name : str, default "pairwise"
        For headings and file names.
    **parameters : array_like
        Value of every parameter, by name.

    Raises
    ------
    GrammarError
        If a text cannot be read.
    InputError
        If a parameter is missing, unknown or of another shape.

    Examples
    --------
    >>> energy = Pairwise("dot(x, A*y)", "norm2(x)/2", A=[[2.0, 0.0], [0.0, 0.0]])
    >>> energy.value([[1.0, 0.0], [0.0, 1.0]])
    0.75
    >>> energy.first_variation([[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]])[1]
    array([[2., 1.]])
    """

    def __init__(
        self,
        density: Any,
        potential: Any = "",
        *,
        space: str = "euclidean",
        name: str = "pairwise",
        **parameters: Any,
    ) -> None:
        self._model = PairwiseModel(density, potential, space=space, name=name)
        self._given = {key: listed(value, key) for key, value in parameters.items()}
        self._values = parameter_values(self.statement(), self._given)
        texts = [f"half the mean of {self._model.pair} over ordered pairs"] * bool(self._model.pair)
        texts += [f"the mean of {self._model.potential}"] * bool(self._model.potential)
        self.describe = " and ".join(texts)

    @property
    def model(self) -> EnergyModel:
        """The definition, of :mod:`symflow.models.energies`."""
        return self._model

    def values_by_name(self) -> dict[str, Any]:
        """Return the parameters as arrays with two axes, or floats."""
        return self._values

    def to_latex(self) -> str:
        """Return the definition in LaTeX."""
        return rf"F(\mu) = {latex(self.statement().functional)}"

    def score_bound(self, x: Array) -> float:
        """Return a bound on what couples two tokens, and on what is computed of one."""
        at = law(self.statement(), self._values, x.reshape(-1, x.shape[-1]))
        return float(sum(bound(at) for bound in self._bounds))

    @functools.cached_property
    def _bounds(self) -> list[Any]:
        """Functions of a law whose sum bounds the arguments of W and U."""
        statement = self.statement()
        x, y = statement.x, statement.y
        numbers = [(statement.potential, x)] if statement.potential != 0 else []
        try:
            split = paired_score(statement.pair, x, y, {str(p.name) for p in statement.parameters})
        except NoTokenFlow:  # nothing better is known than the size of W itself
            dense = scalar_function(statement.pair, (x, y))
            return [lambda at: np.abs(dense(at, {x: at.atoms[:, None], y: at.atoms[None]})).max()]
        numbers += [(value, x) for _, value in split.rows] + [(value, y) for _, value in split.columns]
        bounds = [_largest(scalar_function(value, (token,)), token) for value, token in numbers]
        for pairing in split.pairings:
            left, right = vector_function(pairing.left, (x,)), vector_function(pairing.right, (y,))
            bounds.append(_coupling(left, right, x, y, pairing.difference))
        return bounds

    def __repr__(self) -> str:
        given = "".join(f", {name}={np.asarray(v).tolist()}" for name, v in self._values.items())
        return f"Pairwise({self._model.pair!r}, {self._model.potential!r}{given})"


def _largest(function: Any, token: Any) -> Any:
    return lambda at: np.abs(function(at, {token: at.atoms})).max()


def _coupling(left: Any, right: Any, x: Any, y: Any, difference: bool) -> Any:
    """Return the bound |l||r| on ⟨l, r⟩, or (|l| + |r|)² on |l − r|²."""

    def bound(at: Any) -> Any:
        sizes = [np.linalg.norm(f(at, {t: at.atoms}), axis=-2).max() for f, t in ((left, x), (right, y))]
        return (sizes[0] + sizes[1]) ** 2 if difference else sizes[0] * sizes[1]

    return bound
