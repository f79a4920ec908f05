"""Decrease: the derivative of a linear functional along the flow, as a quadratic form on covariances.

The proof object is ``{"closure": identity chain}``, and for a refutation also ``"covariance"``, rational rows
of a Σ ⪰ 0 at which the functional increases. The replay computes the form from the equation of the model by
polarisation and decides its sign on all symmetric matrices.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement
from typing import Any

from sympy.polys.matrices import DomainMatrix

from symflow.certify.certificate import Certificate
from symflow.certify.curves import rows_text
from symflow.certify.fate import replay_closure, require_unrestricted
from symflow.certify.propositions import propositions, require_scope
from symflow.certify.propositions.monotone import Decrease, Monotone
from symflow.certify.rational import FIELD, Evaluator, is_semidefinite, matrix_of, rational
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.terms import Rejected
from symflow.errors import InputError


class FunctionalDecrease(ProofKind):
    """Monotonicity of a functional, or a covariance at which it grows."""

    name = "decrease"

    def replay(self, certificate: Certificate) -> Replay:
        """Check the closure, then the form or the counterexample."""
        lines: list[ReplayedLine] = []
        try:
            claim = propositions().get(certificate.claim)
            if not isinstance(claim, Monotone):
                raise Rejected(f"{certificate.claim} is not about a functional")
            stated = claim.read(certificate.statement)
            require_scope(certificate, claim.scope(certificate.statement))
            shown, assumes = replay_closure(certificate.statement["model"], certificate.proof.get("closure"))
            lines += shown
            require_unrestricted(stated.record, stated.values)
            said, witness = _decided(stated, certificate)
            lines.append(ReplayedLine("form", said, "rational arithmetic", True))
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        return Replay(True, tuple(lines), assumes=tuple(sorted(assumes)), witness=witness)


def _decided(stated: Decrease, certificate: Certificate) -> tuple[str, Any]:
    keys = {"closure"} if certificate.status == "proved" else {"closure", "covariance"}
    if set(certificate.proof) != keys:
        raise Rejected(f"the proof must have exactly the keys {', '.join(sorted(keys))}")
    if certificate.status == "proved":
        form = form_of(stated)
        if not is_semidefinite(-form):
            raise Rejected("the derivative is not a negative semidefinite form on symmetric matrices")
        return f"the derivative of {stated.functional} is a quadratic form ⪯ 0 on symmetric matrices", None
    d = stated.sizes["d"]
    start = matrix_of(certificate.proof["covariance"], (d, d), rational, "the covariance")
    if not is_semidefinite(start):
        raise Rejected("the counterexample is not a covariance")
    growth = derivative_at(stated, start)
    if not growth > 0:
        raise Rejected("the functional does not increase at the counterexample")
    rows = rows_text(certificate.proof["covariance"])
    witness: Mapping[str, str] = {stated.state: rows, "derivative": str(growth)}
    return f"the derivative of {stated.functional} is {growth} > 0 at the counterexample", witness


def derivative_at(stated: Decrease, covariance: DomainMatrix) -> Any:
    """Return the derivative of the functional along the flow, a rational number."""
    moved = Evaluator({**stated.values, stated.state: covariance}, stated.sizes)(stated.cov_rhs)
    value = Evaluator({**stated.values, stated.state: moved}, stated.sizes)(stated.functional)
    return value.numer.LC / value.denom.LC if value else FIELD.domain.zero


def form_of(stated: Decrease) -> DomainMatrix:
    """Return the quadratic form of the derivative on a basis of the symmetric matrices."""
    d = stated.sizes["d"]
    basis = [_unit(d, i, j) for i, j in combinations_with_replacement(range(d), 2)]
    single = [derivative_at(stated, unit) for unit in basis]
    rows = [
        [FIELD.convert((derivative_at(stated, one + other) - a - b) / 2)
         for other, b in zip(basis, single, strict=True)]
        for one, a in zip(basis, single, strict=True)
    ]  # fmt: skip
    return DomainMatrix(rows, (len(basis), len(basis)), FIELD)


def _unit(d: int, i: int, j: int) -> DomainMatrix:
    rows = [[FIELD.convert(int((a, b) in ((i, j), (j, i)))) for b in range(d)] for a in range(d)]
    return DomainMatrix(rows, (d, d), FIELD)
