r"""Propositions about velocities on balls: how large they are, and how they change with token and law.

The statement of a part holds the head (``kernel``, ``value``, ``normalise``, ``prefactor``), whether a causal
mask is there, the shapes of the parameters, ``norms``, which maps a name to the matrix whose spectral norm it
bounds, and the claimed bounds ``speed``, ``query`` and ``law`` in these names and in the radius R:

.. math:: |\Gamma_\mu(x)| \le B, \qquad |\Gamma_\mu(x) - \Gamma_\mu(z)| \le \Lambda_x|x - z|, \qquad
          |\Gamma_\mu(x) - \Gamma_\nu(x)| \le \Lambda_\mu W_1(\mu, \nu)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symflow.certify.propositions.proposition import Proposition
from symflow.certify.terms import Terms

#: Names that every statement has: the tokens, the radius, and the mass of the first position of a mask.
TOKENS, RADIUS, SINK = ("x", "y"), "R", "m"


@dataclass(frozen=True)
class StatedBounds:
    """One velocity and the bounds claimed of it, as text."""

    kernel: str
    value: str
    normalise: str
    prefactor: str
    masked: bool
    symbols: Mapping[str, tuple[str, ...]]
    norms: Mapping[str, str]
    speed: str
    query: str
    law: str

    def record(self) -> dict[str, Any]:
        """Return the statement as stored in a certificate."""
        shapes = {name: list(shape) for name, shape in self.symbols.items()}
        return {**vars(self), "symbols": shapes, "norms": dict(self.norms)}

    def terms(self) -> Terms:
        """Return the symbols of the statement; norms and radius are not negative, the sink is positive."""
        tokens = dict.fromkeys(TOKENS, ("d",))
        scalars: dict[str, tuple[str, ...]] = dict.fromkeys((*self.norms, RADIUS, SINK), ())
        signs = dict.fromkeys((*self.norms, RADIUS), "nonnegative")
        signs |= {"beta": "nonnegative", "temperature": "positive", SINK: "positive"}
        return Terms({**self.symbols, **tokens, **scalars}, signs)


@dataclass(frozen=True)
class BallBounds(Proposition):
    """Bounds of several velocities on balls of any radius.

    Attributes
    ----------
    claim : str
        Id.
    parts : Mapping of str to StatedBounds
        By the name that statement and proof use for each.
    """

    claim: str
    parts: Mapping[str, StatedBounds]

    def record(self) -> dict[str, Any]:
        """Return the statement as stored in a certificate."""
        return {name: part.record() for name, part in self.parts.items()}

    def scope(self, statement: Any) -> str:
        """Return for what the bounds hold, in words.

        Raises
        ------
        CertificateError
            If the statement is not the one of the claim.
        """
        self.require_statement(statement, self.record())
        return (
            f"{', '.join(self.parts)}: every size, all real parameters with the stated bounds of norms, "
            "every R ≥ 0, all tokens and laws on the ball of radius R; the law of positions is the same for "
            "both laws of a mask, with mass m > 0 at the first one; heads and layers add up"
        )


_QK = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d"), "beta": (), "temperature": ()}
_NORMS = {"a": "K.T*Q", "v": "V"}
_SCALE = "beta/temperature"
_SCORE = f"{_SCALE}*dot(Q*x, K*y)"
_S = f"{_SCALE}*a*R**2"  # the size of the score


def _part(kernel: str, normalise: str, speed: str, query: str, law: str, **rest: Any) -> StatedBounds:
    options: dict[str, Any] = {"prefactor": "1", "masked": False, "norms": _NORMS} | rest
    return StatedBounds(kernel, "V*y", normalise, symbols=_QK, speed=speed, query=query, law=law, **options)


_EXP = f"exp({_SCORE})"
_SOFTMAX = ("v*R", f"v*{_S}", f"v*(1 + 2*{_S})*exp(2*{_S})")
_L2_NORMS = {"a": "K.T*Q", "q": "Q.T*Q", "k2": "K.T*K", "v": "V"}

PROPOSITIONS = (
    BallBounds(
        "CACP25/stability-constants",
        {
            "softmax": _part(_EXP, "softmax", *_SOFTMAX),
            "masked softmax": _part(_EXP, "softmax", *_SOFTMAX[:2], f"{_SOFTMAX[2]}/m", masked=True),
            "l2": _part(
                f"exp(-{_SCALE}*norm2(Q*x - K*y))",
                "softmax",
                "v*R",
                f"2*v*{_S}",
                f"v*(1 + 4*{_SCALE}*(a + k2)*R**2)*exp({_SCALE}*(q + 2*a + k2)*R**2)",
                norms=_L2_NORMS,
            ),
            "sinkhorn": _part(
                _EXP,
                "sinkhorn",
                "v*R/temperature",
                f"v*{_S}/temperature",
                f"v*exp(4*{_S})*(1 + 4*{_S} + {_S}*(1 + exp(2*{_S})))/temperature",
                prefactor="1/temperature",
            ),
            "sigmoid": _part(f"sigmoid({_SCORE})", "none", "v*R", f"v*{_S}/4", f"v*(1 + {_S}/4)"),
            "linear": _part(_SCORE, "none", f"v*R*{_S}", f"v*{_S}", f"2*v*{_S}"),
            "unnormalised": _part(
                _EXP, "none", f"v*R*exp({_S})", f"v*{_S}*exp({_S})", f"v*(1 + {_S})*exp({_S})"
            ),
        },
    ),
)
