"""GLPR23: the landscape of the interaction energy on the sphere."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from symflow.algebra.grammar import parse
from symflow.algebra.words import identical
from symflow.certify.certificate import Certificate
from symflow.certify.propositions.landscape import PAIR
from symflow.certify.search.closure import join_parts
from symflow.certify.search.landscape import (
    prove_above_zero,
    prove_below_one,
    prove_block_inequality,
    prove_consensus_maximum,
    prove_other_factor,
    prove_radius,
    prove_share_factors,
    prove_small_beta,
    prove_space,
)
from symflow.certify.search.zonal import prove_uniform_minimum
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed
from symflow.errors import Undecided
from symflow.models.energies.interaction import Interaction

_ROTATION, _SADDLES = "GLPR23/block-rotation", "GLPR23/small-beta-saddles"
_MAXIMUM, _MINIMUM = "GLPR23/consensus-maximum", "GLPR23/uniform-minimiser"
_BLOCKS: Mapping[str, Callable[[str, str], Certificate]] = {
    "inequality": prove_block_inequality,
    "sign change": prove_share_factors,
    "other factor": prove_other_factor,
    "above zero": prove_above_zero,
    "below one": prove_below_one,
}
_STRICT: Mapping[str, Callable[[str, str], Certificate]] = {
    "small beta": prove_small_beta,
    "radius": prove_radius,
    "space": prove_space,
}


def require_stated() -> None:
    """Compare the pair energy of the theorems with that of the model.

    Raises
    ------
    Undecided
        If the model says something else.
    """
    energy = Interaction().statement()
    (beta,) = energy.parameters
    stated = parse(PAIR, {"x": energy.x, "y": energy.y, "beta": beta})
    if energy.space != "sphere" or energy.potential != 0 or not identical(energy.pair, stated):
        raise Undecided(f"the energy {energy.name} is not that of the theorem")


def _in_parts(
    claim: str, proofs: Mapping[str, Callable[[str, str], Certificate]], deadline: Deadline
) -> Verdict:
    require_stated()
    parts: dict[str, Certificate] = {}
    for part, prove in proofs.items():
        parts[part] = prove(claim, part)
        deadline.check()
    return replayed(join_parts(claim, parts), deadline)


def _block_rotation(*, deadline: Deadline) -> Verdict:
    return _in_parts(_ROTATION, _BLOCKS, deadline)


def _saddles(*, deadline: Deadline) -> Verdict:
    return _in_parts(_SADDLES, _STRICT, deadline)


def _maximum(*, deadline: Deadline) -> Verdict:
    require_stated()
    return replayed(prove_consensus_maximum(_MAXIMUM), deadline)


def _minimum(*, deadline: Deadline) -> Verdict:
    require_stated()
    return replayed(prove_uniform_minimum(_MINIMUM), deadline)


CLAIMS = (
    Claim(
        id=_ROTATION,
        title="Rotating a block of tokens",
        quoted=r"At a local maximum of $E_\beta$, $\sum_{i\in S, j\notin S} g_\beta(\theta_{ij}) \ge 0$ for "
        r"every set $S$ of tokens, $g_\beta(\theta) = e^{\beta\cos\theta}((d-1)\cos\theta - "
        r"\beta\sin^2\theta)$.",
        holds=r"Where $e^{tB}$ rotates the tokens of $S$, the second derivatives of $E_\beta$ at $t = 0$, "
        r"summed over an orthonormal basis of skew $B$ (for $\frac12\operatorname{tr}B^\top B$), are "
        r"$-n^{-2}\sum_{i\in S, j\notin S}g_\beta(\theta_{ij})$; so the inequality holds at every critical "
        r"point with a Hessian $\preceq 0$. $(d-1)c - \beta(1-c^2) = \beta(c - c^*)(c + 1/c^*)$ changes "
        r"sign on $[-1, 1]$ at $c^* = (\sqrt{(d-1)^2 + 4\beta^2} - (d-1))/(2\beta)$ alone.",
        hypotheses=r"$\beta > 0$, every $n$, $d$ and $S$; for $c^*$, $d \ge 2$.",
        method="cases",
        documented="proved",
        reference="GLPR23",
        decide=_block_rotation,
    ),
    Claim(
        id=_SADDLES,
        title="Critical points that are not synchronised are strict saddles",
        quoted=r"For $\beta \le c/n$ every critical point of $E_\beta$ other than consensus is a strict "
        r"saddle.",
        holds=r"If the tokens of a critical point of $E_\beta$ are not all equal, the Hessian has an "
        r"eigenvalue of at least $(\cosh\beta - (n-1)\sinh\beta)/n^2$, which is positive for "
        r"$(n-1)\tanh\beta < 1$, so for $\beta < \frac1n$, and for two tokens at every $\beta$. For $d \ge "
        r"3$ it has one of at least $2e^{-\beta}((d-2)n + 1)/((d-1)n^3) > 0$ at every $\beta$. Eigenvalues "
        r"are with respect to $\sum_i|\xi_i|^2$.",
        hypotheses=r"$\beta > 0$, every $n \ge 2$, $d \ge 2$.",
        method="cases",
        documented="proved",
        reference="GLPR23",
        decide=_saddles,
    ),
    Claim(
        id=_MAXIMUM,
        title="Diracs are exactly the global maximisers",
        quoted=r"$E_\beta$ is largest at the Dirac masses.",
        holds=r"$\frac{e^\beta}{2\beta} - E_\beta(\mu) \ge \frac14e^{-\beta}\iint|x - y|^2\,d\mu\,d\mu$ for "
        r"every probability law on the sphere; so the Dirac masses are the global maximisers, and there are "
        r"no others.",
        hypotheses=r"$\beta > 0$, every $d$.",
        method="identity-chain",
        documented="proved",
        reference="GLPR23",
        decide=_maximum,
    ),
    Claim(
        id=_MINIMUM,
        title="The uniform law is the only minimiser",
        quoted=r"The uniform law minimises $E_\beta$.",
        holds=r"Every coefficient of $e^{\beta t}$ in the zonal polynomials $P_k$ of every dimension is a "
        r"sum of positive terms, $\sum_i\frac{\beta^{k+2i}}{(k+2i)!}\int t^{k+2i}P_k\,d\nu$. So "
        r"$E_\beta(\mu)$ is that of the uniform law and a sum of squares of moments of $\mu$ with positive "
        r"weights, one for each harmonic; the uniform law is the only one without such moments.",
        hypotheses=r"$\beta > 0$, every $d \ge 2$.",
        method="zonal-expansion",
        documented="proved",
        reference="GLPR23",
        decide=_minimum,
    ),
)
