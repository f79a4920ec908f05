"""Principal square roots: where they exist, and what they inherit."""

from __future__ import annotations

from sympy import Identity, MatPow, Rational

from symflow.certify.rules.rule import Inference, Rule
from symflow.certify.terms import shape_of, total

_HALF = Rational(1, 2)


def _definite_has_root(line: Inference) -> None:
    line.require("principal-root")
    line.count(1)
    line.same(line.conclusion["matrix"], line.premise(0, "definite")["matrix"], "another matrix")


def _root_is_definite(line: Inference) -> None:
    line.require("definite")
    line.count(1)
    root = MatPow(line.premise(0, "definite")["matrix"], _HALF)
    line.same(line.conclusion["matrix"], root, "not the root of the matrix of the premise")


def _shifted_root(line: Inference) -> None:
    """The eigenvalues of a principal root have positive real parts, so that −1 is none."""
    line.require("invertible")
    line.count(1)
    base = line.premise(0, "principal-root")["matrix"]
    shifted = total([Identity(shape_of(base)[0]), MatPow(base, _HALF)])
    line.same(line.conclusion["matrix"], shifted, "not I plus the root of the matrix of the premise")


RULES = (
    Rule("definite-root", "X ≻ 0 has a principal square root.", _definite_has_root),
    Rule("root-definite", "The principal square root of X ≻ 0 is definite.", _root_is_definite),
    Rule("shifted-root", "I + X^(1/2) is invertible for a principal square root.", _shifted_root),
)
