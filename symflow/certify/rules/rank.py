"""Rank along a linear flow of congruences."""

from __future__ import annotations

from sympy import Integer

from symflow.certify.rules.rule import Inference, Rule


def _constant_rank(line: Inference) -> None:
    line.require("constant-rank")
    line.count(2)
    solution = line.premise(0, "gaussian-solution")
    line.same(solution["diffusion"], Integer(0), "with noise the rank is not constant")
    for field in line.conclusion.terms:
        line.same(line.conclusion[field], solution[field], f"another {field}")
    line.same(line.conclusion["cov_rhs"], line.premise(1, "congruence")["cov_rhs"], "another equation")


RULES = (Rule("rank-of-congruence", "ΦXΦᵀ with Φ invertible has the rank of X.", _constant_rank),)
