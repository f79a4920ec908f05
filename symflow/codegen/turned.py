r"""The factor that is turned while it flows, where a parameter is the identity.

With V the identity many velocity gradients are :math:`L = FN` in terms of a factor of the covariance, so that
:math:`F' = LF = FS`, and for every skew W

.. math:: F' = F(S + W) \implies (FF^\top)' = F(S + S^\top)F^\top.

For :math:`W_{ij} = S_{ji}` below the diagonal :math:`S + W` is lower triangular, and with it F stays so: one
product of matrices is gone, and the others are of triangles.
"""

from __future__ import annotations

from sympy import MatrixSymbol

from symflow.codegen.emit import Emitter
from symflow.codegen.frame import expanded_factor
from symflow.codegen.program import Program
from symflow.codegen.rewrite import push_through
from symflow.codegen.words import Sum, collect, expand, identity, multiply, size_of
from symflow.flow import Flow


def turned(flow: Flow) -> Program | None:
    """Return the program that takes (α, F), F lower triangular, to (α', F(S + W)).

    It holds where the parameter called its ``identity`` is one; None where no parameter has this effect.
    """
    cov = flow.covariance
    if cov is None or flow.chain is not None or flow.stacked or cov.diffusion != 0:
        return None
    for parameter in flow.parameters:
        if isinstance(parameter, MatrixSymbol) and parameter.shape == cov.state.shape:
            program = _with_identity(flow, parameter)
            if program is not None:
                return program
    return None


def _with_identity(flow: Flow, parameter: MatrixSymbol) -> Program | None:
    frame, (inputs, factor, bindings), outputs = expanded_factor(flow)
    cov = flow.covariance
    assert cov is not None
    bindings = {**bindings, parameter.name: identity(size_of(cov.state.rows))}
    rest = _without_first(multiply(expand(cov.velocity_gradient, bindings), factor), factor)
    if rest is None:
        return None
    jobs = zip(flow.states, flow.drift, outputs, strict=True)
    drifts = [(s, expand(drift, bindings), out) for s, drift, out in jobs]

    def emit(emitter: Emitter) -> None:
        frame.require_domain(emitter, factor, bindings)
        state = next(a for s, a in zip(flow.states, inputs, strict=True) if s == cov.state)
        out = next(out for s, _, out in drifts if s == cov.state)
        emitter.turned(push_through(rest, frame.weights), state, out.name)
        for s, drift, out in drifts:
            if s != cov.state:
                emitter.output(push_through(drift, frame.weights), out.name)
        emitter.mark_lower(state)

    return frame.finished("turned", inputs, outputs, emit, identity=parameter.name)


def _without_first(velocity: Sum, factor: Sum) -> Sum | None:
    """Return S with ``velocity = factor · S``, or None where a word begins otherwise."""
    ((_, (letter,)),) = factor.terms
    if not all(word and word[0] == letter for _, word in velocity.terms):
        return None
    return collect(factor.cols, velocity.cols, [(c, word[1:]) for c, word in velocity.terms])
