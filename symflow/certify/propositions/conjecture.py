r"""Statements in circulation about the covariance equation, of the form "for all … with …, …".

The statement of a certificate is the record of :class:`Conjecture` and nothing else: the covariance equation,
the shapes of its symbols, what is assumed of parameters and start, and what is said to follow for the maximal
solution. Scores are taken with β = τ = 1, which loses nothing because the scale can be absorbed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symflow.certify.propositions.proposition import Proposition

#: what can be said to follow, and how a reader writes it
CONCLUSIONS = {
    "global": "the maximal solution exists for all times t ≥ 0",
    "blow-up": "the maximal solution becomes unbounded at a finite time",
}
#: what can be assumed of a matrix of numbers
ASSUMPTIONS = {
    "negative-semidefinite": "{} ⪯ 0",
    "not negative-semidefinite": "λ_max({}) > 0",
    "definite": "{} ≻ 0",
}


@dataclass(frozen=True)
class Conjecture(Proposition):
    """A universal statement, as usually quoted; a certificate can only refute it.

    Attributes
    ----------
    claim : str
        ``KEY/name``.
    covariance : str
        Name of the state.
    cov_rhs : str
        Text of its right-hand side.
    symbols : Mapping of str to tuple of str
        Shapes of the parameters.
    assumptions : tuple of (str, str)
        Pairs of a key of :data:`ASSUMPTIONS` and the text of a matrix in parameters and start.
    conclusion : str
        A key of :data:`CONCLUSIONS`.
    """

    claim: str
    cov_rhs: str
    symbols: Mapping[str, tuple[str, ...]]
    assumptions: tuple[tuple[str, str], ...]
    conclusion: str
    covariance: str = "Sigma"

    def record(self) -> dict[str, Any]:
        """Return the statement as stored in a certificate."""
        return {
            "covariance": self.covariance,
            "cov_rhs": self.cov_rhs,
            "symbols": {name: list(shape) for name, shape in self.symbols.items()},
            "assumptions": [list(pair) for pair in self.assumptions],
            "conclusion": self.conclusion,
        }

    @property
    def sizes(self) -> tuple[str, ...]:
        """Names of the sizes; the covariance is d × d."""
        return tuple(sorted({"d", *(size for shape in self.symbols.values() for size in shape)}))

    def scope(self, statement: Any) -> str:
        """Return what exactly is denied.

        Raises
        ------
        CertificateError
            If the statement is not the one of the claim.
        """
        self.require_statement(statement, self.record())
        assumed = " and ".join(ASSUMPTIONS[kind].format(text) for kind, text in self.assumptions)
        return (
            f"denied: for every size {', '.join(self.sizes)}, all real {', '.join(self.symbols)} and every "
            f"start {self.covariance} with {assumed}, {CONCLUSIONS[self.conclusion]}; a counterexample says "
            "nothing about other parameters or starts"
        )


_STRENGTH = "V*A + A.T*V.T"
_SOFTMAX = "V*Sigma*A*Sigma + Sigma*A.T*Sigma*V.T"
_VALUE_AND_A = {"V": ("d", "d"), "A": ("d", "d")}

PROPOSITIONS = (
    Conjecture(
        "CACP25/low-rank-limit",
        _SOFTMAX,
        _VALUE_AND_A,
        assumptions=(("definite", "Sigma"), ("negative-semidefinite", _STRENGTH)),
        conclusion="global",
    ),
    Conjecture(
        "CACP25/blow-up-criterion",
        _SOFTMAX,
        _VALUE_AND_A,
        assumptions=(("definite", "Sigma"), ("not negative-semidefinite", _STRENGTH)),
        conclusion="blow-up",
    ),
    Conjecture(
        "CACP25/l2-no-blow-up-any-k",
        (
            "2*(V*inv(eye(d) + 2*Sigma*K.T*K)*Sigma*K.T*Q*Sigma"
            " + (V*inv(eye(d) + 2*Sigma*K.T*K)*Sigma*K.T*Q*Sigma).T)"
        ),
        {"V": ("d", "d"), "Q": ("k", "d"), "K": ("k", "d")},
        assumptions=(("definite", "Sigma"),),
        conclusion="global",
    ),
)
