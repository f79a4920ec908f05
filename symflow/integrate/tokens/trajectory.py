"""What a run of tokens leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from symflow.checking import Array
from symflow.integrate.dense import Dense
from symflow.integrate.layout import Layout
from symflow.integrate.trajectory import Trajectory

if TYPE_CHECKING:
    from symflow.clustering import Clusters


@dataclass(frozen=True, eq=False, repr=False)
class TokenTrajectory(Trajectory):
    """Tokens along a run; time is the first axis.

    Attributes
    ----------
    x : ndarray, (T, n, d)
        Tokens; in the frame z = e^{−tV}x where ``frame`` is ``"rescaled"``.
    x_events : tuple of ndarray
        The tokens at the zeros of each event.
    space, frame : str
        ``"euclidean"`` or ``"sphere"``; ``"fixed"`` or ``"rescaled"``.
    summation : str
        How pairs were summed: ``"direct"``, or the name of the expansion.
    t, status, message, t_star, nfev, t_events, model, method
        As for every :class:`~symflow.Trajectory`.
    """

    t: Array
    x: Array
    status: str
    message: str
    t_star: float | None = None
    nfev: int = 0
    t_events: tuple[Array, ...] = ()
    x_events: tuple[Array, ...] = ()
    model: str = ""
    method: str = ""
    space: str = "euclidean"
    frame: str = "fixed"
    summation: str = "direct"
    _dense: Dense | None = field(default=None)
    _layout: Layout | None = field(default=None)

    _arrays: ClassVar[tuple[str, ...]] = ("x",)
    _shown: ClassVar[tuple[str, ...]] = ("x",)
    _at_events: ClassVar[tuple[str, ...]] = ("x_events",)
    _named: ClassVar[tuple[str, ...]] = ("space", "frame", "summation")
    _required: ClassVar[str] = "x"

    @property
    def count(self) -> int:
        """Number n of tokens."""
        return int(self.x.shape[1])

    @property
    def dim(self) -> int:
        """Dimension d."""
        return int(self.x.shape[-1])

    def energy(self, which: Any) -> Array:
        """Return an energy at every time, (T,).

        Parameters
        ----------
        which : energy of :mod:`symflow.energies`, or number
            E.g. ``energies.Interaction(beta)``; a number stands for the interaction energy with that beta.
        """
        from symflow.energies import energy_along

        return energy_along(which, self.x)

    def cosines(self) -> Array:
        """Return the cosine of every pair of tokens at every time, (T, n, n)."""
        from symflow.clustering import cosines

        return cosines(self.x)

    def clusters(self, threshold: float | None = None) -> Clusters:
        """Return how many clusters there are at every time, who belongs to which, and when they merge.

        Parameters
        ----------
        threshold : float, optional
            Tokens on the sphere are linked where their cosine exceeds it, on ℝᵈ where their distance is
            below it.
        """
        from symflow.clustering import clusters

        return clusters(self.t, self.x, threshold, on_sphere=self.space == "sphere")

    def _variables(self) -> dict[str, tuple[tuple[str, ...], Array]]:
        return {"x": (("time", "token", "coordinate"), self.x)}

    def _sizes(self) -> str:
        return f"n={self.count}, d={self.dim}"
