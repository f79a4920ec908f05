"""Proofs of gradient-flow structures: a pointwise identity, averaged over the tokens that are seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sympy import Identity, Integer, Inverse, MatMul, Rational, Symbol, Trace, ZeroMatrix

from symflow.algebra.symbols import vector
from symflow.certify.certificate import Certificate
from symflow.certify.search.chain import ChainWriter
from symflow.certify.search.long_time import stated_certificate


@dataclass(frozen=True)
class PairFlow:
    """What was derived of a velocity and an energy of pairs.

    Attributes
    ----------
    pair, slope : Expr, MatrixExpr
        W(x, y), and the gradient in x of its symmetric part.
    weight, value : Expr, MatrixExpr
        What a token y adds to the velocity is their product over the normaliser.
    normaliser : str
        Name of the mean of the weight; empty where there is none.
    metric : MatrixExpr
        M ≻ 0.
    direction : int
        1 or −1.
    x, y : MatrixSymbol
        The tokens.
    sphere : bool
        Whether both sides are projected.
    """

    pair: Any
    slope: Any
    weight: Any
    value: Any
    normaliser: str
    metric: Any
    direction: int
    x: Any
    y: Any
    sphere: bool

    def replaced(self, values: Mapping[Any, Any]) -> PairFlow:
        """Return the same with expressions for parameters."""
        parts = ("pair", "slope", "weight", "value", "metric")
        return replace(self, **{part: getattr(self, part).xreplace(values) for part in parts})

    @property
    def projection(self) -> Any:
        """P_x, or I."""
        one = Identity(self.x.shape[0])
        return one - self.x * self.x.T if self.sphere else one

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the judgements."""
        return {
            "pair": self.pair,
            "weight": self.weight,
            "normaliser": Symbol(self.normaliser) if self.normaliser else Integer(1),
            "value": self.value,
            "projection": self.projection,
            "metric": self.metric,
            "direction": Integer(self.direction),
        }


def prove_gradient_flow(claim: str, flow: PairFlow, part: str = "") -> Certificate:
    """Return the certificate that the velocity is the ascent or descent of the energy."""
    chain = ChainWriter()
    _write_structure(chain, flow)
    return stated_certificate(claim, chain, part)


def prove_energy_growth(claim: str, flow: PairFlow, part: str = "") -> Certificate:
    """Return the certificate of the sign of the derivative of the energy along the flow."""
    chain = ChainWriter()
    premises = [_write_structure(chain, flow)]
    premises += [f"sign of {flow.normaliser}"] * bool(flow.normaliser)
    chain.lemma("energy-dissipation", "energy-growth", flow.fields, tuple(premises))
    return stated_certificate(claim, chain, part)


def _write_structure(chain: ChainWriter, flow: PairFlow) -> str:
    x, y, d = flow.x, flow.y, flow.x.shape[0]
    z, one = vector("z", d), Identity(d)
    plain = not flow.metric.free_symbols - d.free_symbols
    for inverse in sorted(flow.metric.atoms(Inverse), key=str):  # V = I − (I − V)
        V = inverse.arg
        chain.add("exchange", "invertible", {"matrix": V}, ("value",), first=one - V, second=one)
    exchanged = flow.pair.xreplace({x: y, y: x})
    derivative = {
        "functional": Rational(1, 2) * (flow.pair + exchanged),
        "motion": z,
        "partner_motion": ZeroMatrix(d, 1),
        "derivative": Trace(flow.slope.T * z),
    }
    varied = chain.add("along-motion", "pair-derivative", derivative)
    velocity = MatMul(flow.direction * flow.weight, flow.metric, flow.projection, flow.value)
    pointwise = chain.equal("normal-form", flow.projection * flow.slope, velocity)
    if plain:
        definite = chain.add("identity", "definite", {"matrix": flow.metric})
        symmetric = chain.equal("normal-form", flow.metric, flow.metric.T)
    else:
        definite, symmetric = "definite", "symmetric"
    premises = [varied, pointwise, definite, symmetric, *["normaliser"] * bool(flow.normaliser)]
    return chain.lemma("pair-energy", "gradient-flow", flow.fields, tuple(premises), slope=flow.slope)
