"""Certificates about common noise, from its derivation."""

from __future__ import annotations

from typing import Any

from sympy import Expr, Symbol, Trace, cancel, diff, expand, log

from symflow.algebra.grammar import parse, to_text
from symflow.algebra.symbols import dimension, vector
from symflow.certify.certificate import Certificate, software
from symflow.certify.lemmas.noise_field import ITO, PRICE, RAIMOND
from symflow.certify.propositions import proposition
from symflow.derive.noise import PairGenerator, pair_generator
from symflow.derive.noise.ito import in_covariances, second_average
from symflow.derive.noise.symbols import COSINE, ORDER, X, Y, kappa, kappa_slope

_GAP, _REST = Symbol("e", real=True), Symbol("s", real=True)
_NAMES = {kappa(COSINE): Symbol("k"), kappa(1): Symbol("k1"), kappa_slope(1): Symbol("s1")}


def prove_field_covariance(claim: str) -> Certificate:
    """Write the averages over one column of W and one row of U."""
    return _certificate(claim, (PRICE,), _layer())


def prove_pair_generator(claim: str) -> Certificate:
    """Write the averages of differentials along the noise."""
    return _certificate(claim, (ITO,), _pair(pair_generator()))


def prove_lyapunov_formula(claim: str) -> Certificate:
    """Write these, and the polynomials by which rates differ from their limits."""
    found = pair_generator()
    return _certificate(claim, (ITO, RAIMOND), {**_pair(found), "limits": _limits(found)})


def prove_layer_exponents(claim: str) -> Certificate:
    """Write all of these, and what the squares of the activation and its derivative average to over ±z."""
    found = pair_generator()
    z = Symbol("z", real=True)
    phi = parse(proposition(claim).texts["activation"], {"z": z})  # type: ignore[attr-defined]
    right, left = (
        phi.subs(z, side).subs(side, z) for side in (Symbol("_z", positive=True), Symbol("_z", negative=True))
    )
    means = {
        "square_mean": expand((right**2 + left.subs(z, -z) ** 2) / 2),
        "slope_mean": expand((diff(right, z) ** 2 + diff(left, z).subs(z, -z) ** 2) / 2),
    }
    texts = {name: to_text(mean) for name, mean in means.items()}
    proof = {**_layer(), **_pair(found), "limits": _limits(found), **texts}
    return _certificate(claim, (ITO, PRICE, RAIMOND), proof)


def _certificate(claim: str, assumes: tuple[str, ...], proof: dict[str, Any]) -> Certificate:
    stated: Any = proposition(claim)
    return Certificate(
        claim=claim,
        status="proved",
        kind="common-noise",
        statement=stated.record(),
        scope=stated.scope(stated.record()),
        assumes=tuple(sorted(assumes)),
        proof=proof,
        versions=software(),
    )


def _layer() -> dict[str, str]:
    d: Any = dimension("d")
    a, b, bias = vector("a", d), vector("b", d), Symbol("sigma_U")
    return {"unit": to_text(Trace(a.T * b)), "argument": to_text(Trace(X.T * Y) / d + bias**2)}


def _pair(found: PairGenerator) -> dict[str, str]:
    parts = {
        "radius": in_covariances(second_average(Trace(X.T * X)) / 2),
        "step": in_covariances(second_average(Trace(X.T * Y)) / 2),
        "square": 2 * found.diffusion,
    }
    return {name: _text(part) for name, part in parts.items()}


def _text(expr: Expr) -> str:
    return to_text(expand(expr.subs(_NAMES)))


def _limits(found: PairGenerator) -> dict[str, dict[str, str]]:
    """Return λ₁ and Λ(p), each with the polynomials A and B of Lf/f − λ = eA + sB."""
    distance = log(1 - COSINE) / 2
    first = diff(distance, COSINE)
    second = diff(first, COSINE)
    rates = {
        "lyapunov": (found.lyapunov, found.drift * first + found.diffusion * second),
        "moments": (
            found.moments,
            ORDER * (found.drift * first + found.diffusion * (second + ORDER * first**2)),
        ),
    }
    near = kappa(1) - _GAP * (kappa_slope(1) - _REST)
    texts = {}
    for name, (limit, rate) in rates.items():
        gap = expand(cancel(rate.subs(kappa(COSINE), near).subs(COSINE, 1 - _GAP) - limit))
        with_gap = expand(gap.subs(_REST, 0) / _GAP)
        with_rest = expand((gap - gap.subs(_REST, 0)) / _REST)
        texts[name] = {"value": _text(limit), "in_e": _text(with_gap), "in_s": _text(with_rest)}
    return texts
