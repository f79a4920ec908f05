"""The base class of energies as numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from symflow.checking import Array
from symflow.energies.exact import Exact, exact_value
from symflow.energies.sums import LOG_LARGEST, as_clouds, shaped
from symflow.errors import InputError

if TYPE_CHECKING:
    from symflow.energies.gaussian import GaussianValue
    from symflow.models.energies.model import EnergyModel
    from symflow.models.energies.statement import EnergyStatement

_SPACES = ("sphere", "euclidean")


class Energy(ABC):
    """An energy of tokens: a number for each cloud, its logarithm, and its gradient."""

    name = ""  #: of the definition, where it is shipped
    describe: str  #: one sentence, for readers
    _given: Mapping[str, Any]  #: parameters as they were given, by the names of the definition

    @property
    @abstractmethod
    def model(self) -> EnergyModel:
        """The definition as the paper states it, of :mod:`symflow.models.energies`."""

    def statement(self) -> EnergyStatement:
        """Return the definition at symbolic size, with symbols for the parameters."""
        return self.model.statement()

    def exact(self) -> dict[str, Exact]:
        """Return the parameters as exact numbers: floats are read as the binary fractions they are.

        Returns
        -------
        dict of str to Fraction or nested lists of Fraction
            In the shapes of :meth:`statement`: a matrix is a list of rows, a vector a column of such.

        Raises
        ------
        InputError
            If a parameter is exact and irrational.

        Examples
        --------
        >>> from symflow.energies import Interaction
        >>> Interaction(0.5).exact()
        {'beta': Fraction(1, 2)}
        """
        columns = {s.name for s in self.statement().parameters if getattr(s, "shape", (1, 0))[1] == 1}
        read = {name: exact_value(value, name) for name, value in self._given.items()}
        return {name: _column(value) if name in columns else value for name, value in read.items()}

    def values_by_name(self) -> dict[str, Any]:
        """Return the parameters as arrays with two axes, or floats."""
        from symflow.energies.symbolic import parameter_values

        return parameter_values(self.statement(), self._given)

    def first_variation(self, x: Any, at: Any, weights: Any = None) -> tuple[Array, Array]:
        r"""Return :math:`\delta F/\delta\mu` and :math:`\nabla\delta F/\delta\mu` at points.

        They are made from the definition. The derivative of the energy of weighted tokens by the token
        :math:`x_i` is its weight times the gradient there.

        Parameters
        ----------
        x : array_like, (n, d)
            Tokens.
        at : array_like, (m, d)
            Where the variation is taken.
        weights : array_like, (n,), optional
            Positive, of sum 1; equal where they are left out.

        Returns
        -------
        values : ndarray, (m,)
            Up to a constant.
        gradient : ndarray, (m, d)
            Euclidean, also for an energy of the sphere.

        Raises
        ------
        InputError
            If shapes do not fit, the variation is not defined for tokens, or exceeds the range of doubles.

        Examples
        --------
        >>> from symflow.energies import Interaction
        >>> values, gradient = Interaction(1.0).first_variation([[1.0, 0.0]], [[0.0, 1.0]])
        >>> values.tolist(), gradient.tolist()
        ([1.0], [[1.0, 0.0]])
        """
        from symflow.energies.symbolic import variation_at

        return variation_at(self, x, at, weights)

    @abstractmethod
    def to_latex(self) -> str:
        """Return the definition in LaTeX."""

    @abstractmethod
    def _log_magnitude(self, x: Array) -> tuple[Array, Array]:
        """Return the sign of the energy of each cloud of (B, n, d), and the logarithm of its modulus."""

    @abstractmethod
    def _scaled_gradient(self, x: Array) -> tuple[Array, Array]:
        """Return s (B,) and G (B, n, d) with the Euclidean gradient ``exp(s) G``, and G of moderate size."""

    @abstractmethod
    def score_bound(self, x: Array) -> float:
        """Return a bound on the modulus of every exponent, from the lengths of the tokens."""

    def on_gaussian(self, mean: Any, cov: Any) -> GaussianValue:
        r"""Return the energy of :math:`\mathcal N(\alpha, \Sigma)` and its gradients, in closed form.

        Parameters
        ----------
        mean : array_like, (d,)
        cov : array_like, (d, d)
            Symmetric positive semidefinite, within the domain where the energy is finite.

        Returns
        -------
        GaussianValue
            ``.value``, ``.mean_gradient`` (d,), ``.cov_gradient`` (d, d).

        Raises
        ------
        NotQuadratic, NotPolynomial
            If there is no closed form.
        InputError
            If the moments are none, or the energy is infinite at this law.

        Examples
        --------
        >>> from symflow.energies import Exponential
        >>> round(Exponential([[1.0]], [[1.0]]).on_gaussian([0.0], [[0.6]]).value, 12)
        0.625
        """
        from symflow.energies.gaussian import gaussian_value

        return gaussian_value(self, mean, cov)

    def value(self, x: Any) -> Any:
        """Return the energy.

        Parameters
        ----------
        x : array_like, (..., n, d), or Gaussian
            Tokens, or a law with ``mean`` and ``cov``.

        Returns
        -------
        float, or ndarray of the leading axes

        Raises
        ------
        InputError
            If ``x`` is no cloud of tokens, or if the energy exceeds the range of doubles.
        """
        if hasattr(x, "mean") and hasattr(x, "cov"):
            return self.on_gaussian(x.mean, x.cov).value
        flat, lead = as_clouds(x)
        sign, log = self._log_magnitude(flat)
        if (log > LOG_LARGEST).any():
            k = int(np.argmax(log))
            raise InputError(
                f"the energy is {'' if sign[k] > 0 else 'minus '}exp({log[k]:.6g}), "
                "beyond the range of doubles; use log_value"
            )
        return shaped(sign * np.exp(log), lead)

    def log_value(self, x: Any) -> Any:
        """Return the logarithm of the energy, for every size of it; −∞ where the energy is zero.

        Parameters
        ----------
        x : array_like, (..., n, d)
            Tokens.

        Raises
        ------
        InputError
            If ``x`` is no cloud of tokens, or if the energy is negative.
        """
        flat, lead = as_clouds(x)
        sign, log = self._log_magnitude(flat)
        if (sign < 0).any():
            raise InputError("the energy is negative and has no logarithm; use value")
        return shaped(log, lead)

    def log_gradient(self, x: Any, space: str = "sphere") -> tuple[Any, Array]:
        r"""Return s and G with the gradient :math:`e^sG`, where G does not overflow.

        Parameters
        ----------
        x : array_like, (..., n, d)
            Tokens.
        space : {"sphere", "euclidean"}
            On the sphere the gradient of each token is projected by :math:`I - x_ix_i^\top`.

        Returns
        -------
        s : float, or ndarray of the leading axes
        G : ndarray, (..., n, d)

        Raises
        ------
        InputError
            If ``x`` is no cloud of tokens or ``space`` is unknown.
        """
        if space not in _SPACES:
            raise InputError(f"space = {space!r} is unknown; use {' or '.join(map(repr, _SPACES))}")
        flat, lead = as_clouds(x)
        log, gradient = self._scaled_gradient(flat)
        if space == "sphere":
            gradient = gradient - np.einsum("bid,bid->bi", gradient, flat)[..., None] * flat
        return shaped(log, lead), gradient.reshape((*lead, *flat.shape[1:]))

    def gradient(self, x: Any, space: str = "sphere") -> Array:
        """Return the gradient with respect to the sum of the squared lengths of the tokens' velocities.

        Parameters and errors are those of :meth:`log_gradient`.

        Raises
        ------
        InputError
            Also if the gradient exceeds the range of doubles.
        """
        log, gradient = self.log_gradient(x, space)
        size = np.abs(gradient).max(axis=(-2, -1))
        with np.errstate(divide="ignore"):
            total = np.asarray(log) + np.log(size)
        if (total > LOG_LARGEST).any():
            raise InputError(
                f"the gradient has size exp({float(total.max()):.6g}), beyond doubles; use log_gradient"
            )
        # exp(s) alone may overflow where the product does not
        half = np.exp(0.5 * np.asarray(log))[..., None, None]
        return np.asarray(gradient * half * half)

    def _repr_latex_(self) -> str:
        return f"${self.to_latex()}$"

    def __call__(self, x: Any) -> Any:
        """Return :meth:`value`."""
        return self.value(x)


def _column(entries: list[Any]) -> list[Any]:
    """Return a vector as a column, also where it is one already."""
    return [entry if isinstance(entry, list) else [entry] for entry in entries]
