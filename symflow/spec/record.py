"""What a spec file says, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symflow.errors import InputError
from symflow.integrate.gaussian import Gaussian
from symflow.models.attention.model import AttentionModel
from symflow.spec.axes import Sweep
from symflow.spec.energy import EnergyTask
from symflow.spec.noise import NetworkTask, NoiseTask
from symflow.spec.tokens import TokenLaw

if TYPE_CHECKING:
    from symflow.integrate.deep.network import DeepTransformer
    from symflow.noise.common import CommonNoise

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spec:
    """One run as a spec file states it.

    Attributes
    ----------
    name : str
        The file name without its suffix.
    mechanism : AttentionModel or None
        The attention mechanism, None where the file has no ``[model]``; :attr:`model` refuses that.
    parameters : dict of str to ndarray
        Values of the model's parameters, float64, in their declared shapes; what depends on time is a nested
        list of expressions in t, or (times, samples).
    initial : Gaussian, ndarray (n, d) or None
        The initial law, or tokens; None where the file has no ``[initial]``.
    t_span : tuple of float or None
        Start and end of the run, None where the file has no ``[time]``.
    t_eval : ndarray or None
        Output times, shape (T,).
    solver : dict
        Keyword arguments for :func:`symflow.solve`: ``method``, ``rtol``, ``atol``, ``dt``, as far as given.
    origin : str
        Where parameters from a file come from, in words; empty for inline arrays.
    tokens : TokenLaw or None
        What the tokens are drawn from.
    sweep : Sweep or None
        The section ``[sweep]``.
    energy : EnergyTask or None
        The section ``[energy]``.
    network : NetworkTask or None
        The section ``[network]``.
    noise : NoiseTask or None
        The section ``[noise]``.
    data : dict
        The file's content as TOML.
    folder : Path
        Where relative paths in it start.
    """

    name: str
    mechanism: AttentionModel | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    initial: Gaussian | Array | None = None
    t_span: tuple[float, float] | None = None
    t_eval: Array | None = None
    solver: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""
    tokens: TokenLaw | None = None
    sweep: Sweep | None = None
    energy: EnergyTask | None = None
    network: NetworkTask | None = None
    noise: NoiseTask | None = None
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    folder: Path = Path()

    @property
    def model(self) -> AttentionModel:
        """The attention mechanism.

        Raises
        ------
        InputError
            If the file states an energy alone.
        """
        if self.mechanism is None:
            raise InputError(
                f'{self.name}: section [model] is missing; it needs at least attention = "softmax"'
            )
        return self.mechanism

    def deep_transformer(self) -> DeepTransformer:
        """Return the network that the file states.

        Raises
        ------
        InputError
            If ``[network]`` is missing, or ``[initial]`` holds no tokens.
        """
        from symflow.integrate.deep.network import DeepTransformer

        task = self.network
        if task is None:
            raise InputError(f"{self.name}: section [network] is missing; add layers, width and horizon")
        noise = self.common_noise()
        return DeepTransformer(
            self.model, noise, task.layers, task.width, task.horizon, params=self.parameters
        )

    def common_noise(self) -> CommonNoise | None:
        """Return the noise that the tokens of the file share, None where they share none.

        Raises
        ------
        InputError
            If ``[initial]`` holds no tokens.
        """
        self.require("initial")
        if isinstance(self.initial, Gaussian) or self.initial is None:
            raise InputError(f"{self.name}: [noise] moves tokens; give [initial] tokens, n and d")
        return None if self.noise is None else self.noise.common(int(self.initial.shape[1]))

    def gaussian(self) -> Gaussian:
        """Return the initial law, refusing tokens.

        Raises
        ------
        InputError
            If ``[initial]`` is missing or holds tokens.
        """
        self.require("initial")
        if not isinstance(self.initial, Gaussian):
            raise InputError(
                f"{self.name}: [initial] holds tokens; a Gaussian law is needed, give mean and cov"
            )
        return self.initial

    def require(self, *sections: str) -> None:
        """Refuse a spec that lacks ``"parameters"``, ``"initial"``, ``"time"`` or ``"sweep"``.

        Raises
        ------
        InputError
            Naming the section that is missing.
        """
        on_sphere = self.mechanism is not None and self.mechanism.space == "sphere"
        present = {
            "parameters": bool(self.parameters) or on_sphere,  # there, absent ones are I
            "initial": self.initial is not None,
            "time": self.t_span is not None,
            "sweep": self.sweep is not None,
        }
        for section in sections:
            if not present[section]:
                raise InputError(f"{self.name}: section [{section}] is missing; add it to the spec file")
