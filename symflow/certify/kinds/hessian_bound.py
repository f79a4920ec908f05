r"""Hessian bound: semi-convexity on a bounded domain, by a subdivision into boxes of tokens.

The proof object is ``{"partition": [...]}``: a binary tree in preorder, a number k ≥ 0 for a box that is
halved in coordinate k (those of x before those of y) and −1 for a box that is not. On each of these the
matrix of :mod:`symflow.certify.taylor.boxes` is positive definite, or the box lies outside the domain.
"""

from __future__ import annotations

from typing import Any

from symflow.certify.certificate import Certificate
from symflow.certify.convexity_latex import statement_latex
from symflow.certify.lemmas.curvature import DISPLACEMENT
from symflow.certify.propositions import stated_proposition
from symflow.certify.propositions.convexity import CONVEXITY, read_energy
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.taylor.boxes import Box, HessianOnBoxes, halves
from symflow.certify.terms import Rejected
from symflow.derive.tex import tex_escape
from symflow.errors import InputError

PRECISION = 64  #: bits
MAX_NODES = 20_000
LEAF = -1


class HessianBound(ProofKind):
    """Branch and bound in balls."""

    name = "hessian-bound"

    def replay(self, certificate: Certificate) -> Replay:
        """Follow the subdivision and bound the second derivative on every box."""
        import flint

        try:
            claim = stated_proposition(certificate)
            if claim is not CONVEXITY:
                raise Rejected(f"a bound on boxes says nothing about {certificate.claim}")
            matrix = HessianOnBoxes(CONVEXITY.read(certificate.statement))
            if set(certificate.proof) != {"partition"}:
                raise Rejected("a bound on boxes has the key partition")
            with flint.ctx.workprec(PRECISION):
                bounded, outside = _follow(matrix, certificate.proof["partition"])
        except (InputError, Rejected) as error:
            return Replay(False, reason=str(error))
        said = (
            f"{bounded} boxes of tokens cover the domain and the matrix of the second derivative minus the "
            f"modulus is positive definite on each"
        )
        if outside:
            said += f"; {outside} further boxes lie outside"
        line = ReplayedLine("boxes", said, f"series in balls of {PRECISION} bits, elimination", True)
        return Replay(True, (line,), assumes=(DISPLACEMENT,))

    def to_latex(self, certificate: Certificate, outcome: Replay) -> list[str]:
        """Return the energy and the numbers of boxes."""
        stated = read_energy(certificate.statement)
        return [*statement_latex(stated), *(f"{tex_escape(line.statement)}." for line in outcome.lines)]


def _follow(matrix: HessianOnBoxes, partition: Any) -> tuple[int, int]:
    """Return how many boxes were bounded and how many lie outside."""
    if not isinstance(partition, (list, tuple)) or not 0 < len(partition) <= MAX_NODES:
        raise Rejected(f"'partition' must be a list of at most {MAX_NODES} whole numbers")
    pending: list[Box] = [matrix.start]
    bounded = outside = 0
    for node in partition:
        if not pending:
            raise Rejected("the partition goes on after its last box")
        box = pending.pop()
        if type(node) is not int or not LEAF <= node < len(box):
            raise Rejected(f"{node!r} is no coordinate of a box")
        if node != LEAF:
            pending += reversed(halves(box, node))
        elif matrix.is_outside(box):
            outside += 1
        elif matrix.is_definite(box):
            bounded += 1
        else:
            shown = " × ".join(f"[{low}, {high}]" for low, high in box)
            raise Rejected(f"the second derivative is not bounded below on the box {shown}")
    if pending:
        raise Rejected(f"the partition ends with {len(pending)} boxes left")
    return bounded, outside
