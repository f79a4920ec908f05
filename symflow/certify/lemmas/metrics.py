"""Facts about Hessians for different Riemannian metrics."""

from __future__ import annotations

from typing import Any

from sympy import Rational, Trace, ZeroMatrix

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected, is_symbol, multiply, shape_of, total, transposed


def _dot(left: Any, right: Any) -> Any:
    return Trace(multiply(transposed(left), right))


def _tokens(line: Inference) -> tuple[Any, Any]:
    return line.symbol(line.variables.query), line.symbol(line.variables.key)


def _require_vectors(line: Inference, free: Any, *vectors: Any) -> None:
    """Refuse what are not different vectors of their own, and functions that depend on one of them."""
    x, y = _tokens(line)
    if not all(is_symbol(vector) and shape_of(vector) == shape_of(x) for vector in vectors):
        raise Rejected("velocities, accelerations and test vectors must be vectors that are symbols")
    if len({x, y, *vectors}) < 2 + len(vectors):
        raise Rejected(
            "velocities, accelerations and test vectors must differ from each other and the tokens"
        )
    line.terms.require_free(free, [vector.name for vector in vectors], "the function of two tokens")


def _require_symmetric(line: Inference, function: Any) -> None:
    x, y = _tokens(line)
    line.same(function, function.xreplace({x: y, y: x}), "the function is not symmetric in the tokens")


def _moved(line: Inference, index: int, functional: Any, motion: Any, partner: Any) -> Any:
    """Return the derivative that the premise at ``index`` states of ``functional`` along the motion."""
    found = line.premise(index, "pair-derivative")
    line.same(found["functional"], functional, f"premise {index + 1} is about another function")
    line.same(found["motion"], motion, f"premise {index + 1} moves x otherwise")
    line.same(found["partner_motion"], partner, f"premise {index + 1} moves y otherwise")
    return found["derivative"]


def _two_metrics(line: Inference) -> None:
    line.require("hessian-difference")
    line.count(6)
    pair = line.conclusion["pair"]
    names = ("velocity", "partner", "bend", "partner_bend", "other_bend", "other_partner_bend")
    p, q, a, b, u, w = (line.arguments[name] for name in names)
    _require_vectors(line, pair, p, q, a, b, u, w)
    straight = _moved(line, 1, _moved(line, 0, pair, p, q), p, q)
    one, other = _moved(line, 2, pair, a, b), _moved(line, 3, pair, u, w)
    apart = _moved(line, 4, pair, total([a, -u]), total([b, -w]))
    balance = line.premise(5, "equal")
    left = total([straight, one, -total([straight, other])])
    line.same(balance["left"], left, "premise 6 is not the difference of the second derivatives")
    line.same(balance["right"], apart, "premise 6 is not the derivative along the difference")
    line.same(line.conclusion["difference"], apart, "another difference")


def _weighted(line: Inference) -> None:
    line.require("weighted-geodesics")
    line.count(3)
    weight = line.conclusion["weight"]
    p, q, z = (line.arguments[name] for name in ("velocity", "partner", "test"))
    _require_vectors(line, weight, p, q, z)
    _require_symmetric(line, weight)
    line.same(line.premise(0, "positive")["scalar"], weight, "premise 1 is not about the weight")
    rate = _moved(line, 1, weight, p, q)
    slope = _moved(line, 2, weight, z, ZeroMatrix(*shape_of(z)))
    squares = total([_dot(p, p), _dot(q, q)])
    force = total([Rational(1, 2) * slope * squares, -rate * _dot(z, p)])
    line.same(line.conclusion["force"], force, "not the force of the Euler-Lagrange equations")


def _critical(line: Inference) -> None:
    line.require("metric-independence")
    line.count(3)
    done, z = line.conclusion, line.arguments["test"]
    _require_vectors(line, done["pair"], z)
    _require_symmetric(line, done["pair"])
    found = line.premise(0, "hessian-difference")
    line.same(found["pair"], done["pair"], "premise 1 is about another energy")
    weighted = line.premise(1, "weighted-geodesics")
    line.same(weighted["weight"], done["weight"], "premise 2 is about another metric")
    line.same(weighted["force"], done["force"], "premise 2 has another force")
    slope = _moved(line, 2, done["pair"], z, ZeroMatrix(*shape_of(z)))
    line.same(done["derivative"], slope, "not the derivative of the energy")


FACTS = (
    lemma(
        "hessian-of-two-metrics",
        "Hessians for two metrics",
        r"Let $g$, $\tilde g$ be Riemannian metrics on a submanifold of $(\mathbb{R}^d)^n$ and $\gamma$, "
        r"$\tilde\gamma$ their geodesics from one point with one velocity $v$. In a chart $\gamma'' - "
        r"\tilde\gamma'' = -(\Gamma - \tilde\Gamma)(v,v)$, and as $\gamma$, $\tilde\gamma$ agree to first "
        r"order, $w = \gamma'' - \tilde\gamma''$ is a tangent vector in the ambient space, too. For smooth "
        r"$F$, $(F\circ\gamma)'' = D^2F[v,v] + DF[\gamma'']$; so the second derivatives differ by $dF(w)$.",
        (
            "the derivative of W along velocities",
            "its derivative along them again",
            "the derivatives of W along both accelerations",
            "the derivative of W along their difference",
            "the second derivatives differ by it",
        ),
        "do Carmo, Riemannian Geometry (1992), ch. 3, sec. 2; O'Neill, Semi-Riemannian Geometry (1983), "
        "ch. 3, Lemma 49",
        _two_metrics,
        ("velocity", "partner", "bend", "partner_bend", "other_bend", "other_partner_bend"),
    ),
    lemma(
        "weighted-geodesics",
        "Geodesics of a weighted metric",
        r"Let $k > 0$ be smooth and symmetric and $G_i = \frac1n\sum_jk(x_i,x_j)$. Geodesics of "
        r"$\frac1n\sum_iG_i|v_i|^2$ on a product of submanifolds are the critical curves of $\frac1{2n}\int"
        r"\sum_iG_i|\dot x_i|^2\,dt$; the Euler--Lagrange equations, tested with a tangent vector $z$ at "
        r"$x_i$, are $G_i\langle z, \ddot x_i\rangle = \frac1n\sum_j\bigl(\frac12D_1k(x_i,x_j)[z](|\dot "
        r"x_i|^2 + |\dot x_j|^2) - Dk(x_i,x_j)[\dot x_i,\dot x_j]\langle z, \dot x_i\rangle\bigr)$.",
        ("the weight is positive", "its derivative along velocities", "its derivative along the test vector"),
        "do Carmo, Riemannian Geometry (1992), ch. 9, Prop. 2.5",
        _weighted,
        ("velocity", "partner", "test"),
    ),
    lemma(
        "critical-metrics",
        "Hessians at critical points",
        r"At a critical point of $E$ on the product of spheres its derivative along every tangent vector is "
        r"zero, so that second derivatives along geodesics of two metrics that differ by such a derivative "
        r"are equal. Geodesics of $\sum_i|v_i|^2$ are great circles, whose accelerations are normal; so what "
        r"the accelerations of another metric have beyond them is their tangent part $c$, and for symmetric "
        r"$W$ the derivative of $E$ along it is $\frac1{n^2}\sum_{i,j}D_1W(x_i,x_j)[c_i]$.",
        (
            "the difference for two metrics",
            "the geodesics of the weighted metric",
            "the derivative of W along the test vector",
        ),
        "do Carmo, Riemannian Geometry (1992), ch. 3, sec. 2",
        _critical,
        ("test",),
    ),
)
