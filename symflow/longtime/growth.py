r"""Exponential bounds: models whose velocity gradient is bounded whatever the covariance.

.. math:: |L(\Sigma)| \le \ell \;\Rightarrow\; |\Sigma(t)| \le (|\Sigma_0| + 2\varepsilon t)\,e^{2\ell t}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symflow.algebra.exact.balls import upper
from symflow.algebra.exact.numbers import Ball, largest_root
from symflow.algebra.exact.rational import RationalMatrix, fmpq, fractions, inertia, is_zero, number_of
from symflow.derive.steps import Checked, Formula
from symflow.integrate.solve import solve
from symflow.longtime.assemble import steps_of
from symflow.longtime.reading import ExactHead, ExactProblem
from symflow.longtime.result import Bound, Criterion, Hypothesis, LongTime

_BITS = 256
_COMMON = (
    r"Let $|\cdot|$ be the spectral norm. If $|L(\Sigma)| \le \ell$ for every $\Sigma \succeq 0$, the "
    r"flow map "
    r"$\dot\Phi = L\Phi$ has $|\Phi(t)| \le e^{\ell t}$, so "
    r"$|\Sigma(t)| \le (|\Sigma_0|+2\varepsilon t)e^{2\ell t}$: no blow-up. "
)
_DISTANCE = (
    r"For $L = V(I-\Sigma C)^{-1}\Sigma B$ with $P = -C \succ 0$ (for distance attention: $K$ injective), "
    r"$P^{1/2}(I+\Sigma P)^{-1}\Sigma B = (I+T)^{-1}T\,P^{-1/2}B$ with $T = P^{1/2}\Sigma P^{1/2} \succeq "
    r"0$, hence "
    r"$|L| \le |V|\,|P^{-1}|^{1/2}\,|B^{\top}P^{-1}B|^{1/2}$, which is at most $|V|\,|K^+|\,|Q|$. "
)
_TRANSPORT = (
    r"The optimal self-coupling has the cross-covariance $C = \Sigma^{1/2}D\Sigma^{1/2}$ with $|D| \le "
    r"1$, so "
    r"$\dot\Sigma = pVC^{\top}+pCV^{\top}$ has the factor form $L = pV\Sigma^{1/2}D^{\top}\Sigma^{-1/2}$ "
    r"on range "
    r"$\Sigma$, and $|\dot\Sigma| \le 2p|V|\,|\Sigma|$. "
)


def bounded_gradient(exact: ExactProblem) -> LongTime | None:
    """Return global existence with an exponential bound; None where no head-wise bound is known."""
    from flint import ctx

    with ctx.workprec(_BITS):
        rates = [_head_rate(head) for head in exact.heads]
        if not rates or any(rate is None for rate in rates):
            return None
        layer = _spectral(exact.W) if not is_zero(exact.W) else 0
        rate = upper(sum(rates) + layer)
        size = upper(_root(exact.sigma))
    return _told(exact, Ball.of(rate), Ball.of(size))


def _told(exact: ExactProblem, rate: Ball, size: Ball) -> LongTime:
    kinds = {head.normalise for head in exact.heads}
    statement = (
        _COMMON + (_DISTANCE if "softmax" in kinds else "") + (_TRANSPORT if "sinkhorn" in kinds else "")
    )
    tilted = r"$C_h \prec 0$ for every head" if "softmax" in kinds else "the weights are doubly stochastic"
    how = "Descartes' rule" if "softmax" in kinds else "the model"
    criterion = Criterion("bounded-gradient", statement, "CACP25", (Hypothesis(tilted, how),))
    noise = number_of(exact.diffusion)
    bound = Bound(
        r"|\Sigma(t)| \le (|\Sigma_0|+2\varepsilon t)e^{2\ell t}",
        {"rate": rate, "start": size, "diffusion": noise},
    )
    check = _Observed(exact, rate, size)
    formulas = [Formula(r"\ell", rate.to_latex()), Formula(r"|\Sigma_0|", size.to_latex())]
    return LongTime(
        derivation=steps_of(exact, criterion, check, formulas, check),
        criterion=criterion,
        global_in_time=True,
        bounds=(bound,),
        witnesses={"rate": rate, "start": size, "Sigma0": fractions(exact.sigma)},
        reason="no blow-up: growth is at most exponential; whether there is a limit is not decided",
    )


def _head_rate(head: ExactHead) -> Any:
    """Return a bound of the contribution of a head to |L|, None where none is known."""
    if head.kernel != "exp" or head.normalise == "none":
        return None
    value = _spectral(head.M)
    if head.normalise == "sinkhorn":
        return value
    P = head.C * fmpq(-1)
    if inertia(P).positive != P.nrows():
        return None
    inverse = P.inv()
    return value * (_root(inverse) * _root(head.B.transpose() * inverse * head.B)).sqrt()


def _root(symmetric: RationalMatrix) -> Any:
    """Return λ_max ≥ 0 of a positive semidefinite matrix as a ball."""
    from flint import arb

    if is_zero(symmetric):
        return arb(0)
    return largest_root(symmetric.charpoly())[0].arb(_BITS)


def _spectral(matrix: RationalMatrix) -> Any:
    return _root(matrix.transpose() * matrix).sqrt()


class _Observed:
    """The compiled flow stays below the bound."""

    def __init__(self, exact: ExactProblem, rate: Ball, size: Ball) -> None:
        self._exact, self._rate, self._size = exact, rate, size

    def run(self) -> Checked:
        """Integrate over a few units of the rate and compare norms."""
        problem = self._exact.problem
        params = {name: problem.values[name] for name in problem.given}
        rate = float(self._rate.upper)
        end = 2.0 / (1.0 + rate)
        run = solve(problem.model, problem.initial, params, (0.0, end), t_eval=np.linspace(0.0, end, 5))
        noise = float(number_of(self._exact.diffusion))
        bound = (float(self._size.upper) + 2 * noise * run.t) * np.exp(2 * rate * run.t)
        ratio = float(np.max(np.linalg.norm(run.cov, 2, axis=(1, 2)) / np.maximum(bound, 1e-300)))
        passed = run.status == "finished" and ratio <= 1 + 1e-9
        return Checked(passed, "the compiled flow", f"largest ratio to the bound {ratio:.3g}")
