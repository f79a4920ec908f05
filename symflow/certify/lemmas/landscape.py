"""Facts about energies of tokens on the sphere: rotations of blocks, saddles, and the laws that maximise."""

from __future__ import annotations

from typing import Any

from sympy import Integer, Trace, ZeroMatrix

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected, is_symbol, multiply, shape_of, total, transposed


def _dot(left: Any, right: Any) -> Any:
    return Trace(multiply(transposed(left), right))


def _turned(first: Any, second: Any, token: Any) -> Any:
    """(p qᵀ − q pᵀ) x."""
    return total([multiply(_dot(second, token), first), multiply(-_dot(first, token), second)])


def _projected(token: Any, vector: Any) -> Any:
    """P_x v."""
    return total([vector, multiply(-_dot(token, vector), token)])


def _tokens(line: Inference) -> tuple[Any, Any]:
    return line.symbol(line.variables.query), line.symbol(line.variables.key)


def _require_vectors(line: Inference, *vectors: Any) -> None:
    """Refuse what are not different vectors of their own, and a pair that depends on one of them."""
    x, y = _tokens(line)
    if not all(is_symbol(vector) and shape_of(vector) == shape_of(x) for vector in vectors):
        raise Rejected("the generators and directions must be vectors that are symbols")
    if len({x, y, *vectors}) < 2 + len(vectors):
        raise Rejected("the generators and directions must differ from each other and from the tokens")
    names = [vector.name for vector in vectors]
    line.terms.require_free(line.conclusion["pair"], names, "the summand of the energy")


def _require_symmetric(line: Inference, pair: Any) -> None:
    x, y = _tokens(line)
    line.same(pair, pair.xreplace({x: y, y: x}), "the summand is not symmetric in the tokens")


def _require_constant(line: Inference, *terms: Any) -> None:
    tokens = [token.name for token in _tokens(line)]
    for term in terms:
        line.terms.require_free(term, tokens, "a constant")


def _moved(line: Inference, index: int, functional: Any, motion: Any, partner: Any) -> Any:
    """Return the derivative that the premise at ``index`` states of ``functional`` along the motion."""
    found = line.premise(index, "pair-derivative")
    line.same(found["functional"], functional, f"premise {index + 1} is about another function")
    line.same(found["motion"], motion, f"premise {index + 1} moves x otherwise")
    line.same(found["partner_motion"], partner, f"premise {index + 1} moves y otherwise")
    return found["derivative"]


def _summed(line: Inference, index: int, summand: Any, vector: Any) -> Any:
    """Return the sum of ``summand`` over a basis that the premise at ``index`` states."""
    found = line.premise(index, "basis-sum")
    line.same(found["summand"], summand, f"premise {index + 1} sums something else")
    if found["over"] != vector:
        raise Rejected(f"premise {index + 1} does not sum over {vector}")
    return found["total"]


def _same_pair(line: Inference, index: int, relation: str) -> Any:
    found = line.premise(index, relation)
    line.same(found["pair"], line.conclusion["pair"], f"premise {index + 1} is about another energy")
    return found


def _rotation(line: Inference) -> None:
    line.require("block-variation")
    line.count(6)
    pair, (x, y) = line.conclusion["pair"], _tokens(line)
    p, q = line.arguments["first"], line.arguments["second"]
    _require_vectors(line, p, q)
    _require_symmetric(line, pair)
    turn, still = _turned(p, q, x), ZeroMatrix(*shape_of(y))
    line.same(_moved(line, 0, pair, turn, _turned(p, q, y)), Integer(0), "the summand is not invariant")
    second = _moved(line, 2, _moved(line, 1, pair, turn, still), turn, still)
    summed = _summed(line, 4, _summed(line, 3, second, p), q)
    line.same(line.premise(5, "equal")["left"], summed, "premise 6 is not about the sum")
    line.same(line.premise(5, "equal")["right"], 2 * line.conclusion["total"], "premise 6 is not twice it")


def _second_order(line: Inference) -> None:
    line.require("block-rotation")
    line.count(1)
    found = _same_pair(line, 0, "block-variation")
    line.same(line.conclusion["excess"], -found["total"], "not the negative of the variation")


def _hemisphere(line: Inference) -> None:
    line.require("opposed-token")
    line.count(4)
    done, (x, y) = line.conclusion, _tokens(line)
    axis, p, q = line.arguments["axis"], line.arguments["first"], line.arguments["second"]
    _require_vectors(line, axis, p, q)
    _require_symmetric(line, done["pair"])
    line.same(done["change"], _projected(x, y), "the change is not y − ⟨x, y⟩x")
    turn = _turned(p, q, x)
    slope = _moved(line, 0, done["pair"], turn, ZeroMatrix(*shape_of(y)))
    line.same(slope, done["weight"] * _dot(turn, y), "the gradient is not the weight times the change")
    line.same(line.premise(1, "positive")["scalar"], done["weight"], "premise 2 is not about the weight")
    rest = 1 - _dot(x, y)
    line.same(line.premise(2, "nonnegative")["scalar"], rest, "premise 3 is not 1 − ⟨x, y⟩ ≥ 0")
    climb = line.premise(3, "equal")
    line.same(climb["left"], _dot(axis, done["change"]), "premise 4 is not about the height")
    right = total([_dot(axis, y), -_dot(axis, x), rest * _dot(axis, x)])
    line.same(climb["right"], right, "premise 4 is not s − r + (1 − ⟨x, y⟩) r")
    line.same(climb["left"], climb["right"], "premise 4 has to hold for every axis, whatever is assumed")


def _linear_bound(line: Inference, index: int, value: Any) -> tuple[Any, Any, Any]:
    """Return a ≥ 0, b and q > 0 after checking value ≥ −(a⟨x, y⟩ + b) and that the bound is positive."""
    x, y = _tokens(line)
    slope, offset = (line.arguments[name] for name in ("slope", "offset"))
    others = line.conclusion["others"]
    _require_constant(line, slope, offset, others, line.conclusion["bound"])
    low = total([value, slope * _dot(x, y), offset])
    line.same(line.premise(index, "nonnegative")["scalar"], low, f"premise {index + 1} is not the line below")
    line.same(line.premise(index + 1, "nonnegative")["scalar"], slope, f"premise {index + 2} is not a ≥ 0")
    bound = line.premise(index + 2, "positive")["scalar"]
    line.same(bound, line.conclusion["bound"], f"premise {index + 3} is not about the bound")
    if not is_symbol(others):
        raise Rejected("the number of other tokens must be a symbol")
    line.same(line.premise(index + 3, "positive")["scalar"], others, f"premise {index + 4} is not q > 0")
    return slope, offset, others


def _turning_saddle(line: Inference) -> None:
    line.require("saddle-bound")
    line.count(6)
    _same_pair(line, 0, "opposed-token")
    variation = _same_pair(line, 1, "block-variation")["total"]
    size = shape_of(_tokens(line)[0])[0] - 1
    slope, offset, others = _linear_bound(line, 2, variation)
    # what is summed over the generators is divided by the sum of the squares |Bx|², which is d − 1
    value = (slope - others * offset) / (others + 1) ** 2
    line.same(line.conclusion["bound"] * size, value, "another bound")


def _field_saddle(line: Inference) -> None:
    line.require("saddle-bound")
    line.count(11)
    _same_pair(line, 0, "opposed-token")
    pair, (x, y) = line.conclusion["pair"], _tokens(line)
    direction, value = line.arguments["direction"], line.arguments["total"]
    _require_vectors(line, direction)
    _require_symmetric(line, pair)
    motions = _projected(x, direction), _projected(y, direction)
    second = _moved(line, 2, _moved(line, 1, pair, *motions), *motions)
    summed = line.premise(4, "equal")
    line.same(summed["left"], _summed(line, 3, second, direction), "premise 5 is not about the sum")
    line.same(summed["right"], value, "premise 5 does not say what the sum is")
    line.same(line.premise(5, "nonnegative")["scalar"], value, "premise 6 is not about the sum")
    slope, offset, others = _linear_bound(line, 6, value)
    size = line.premise(10, "equal")
    line.same(size["left"], shape_of(x)[0], "premise 11 does not say what d is")
    bound = (slope - others * offset) / ((size["right"] - 1) * (others + 1) ** 3)
    line.same(line.conclusion["bound"], bound, "another bound")


def _maximum(line: Inference) -> None:
    line.require("dirac-maximum")
    line.count(2)
    done, (x, y) = line.conclusion, _tokens(line)
    cosine, profile = line.arguments["cosine"], line.arguments["profile"]
    if not is_symbol(cosine) or shape_of(cosine) != (1, 1):
        raise Rejected("the cosine must be a scalar symbol")
    line.terms.require_free(done["pair"], [cosine.name], "the summand of the energy")
    line.same(done["pair"], profile.xreplace({cosine: _dot(x, y)}), "the profile is not that of the summand")
    top = profile.xreplace({cosine: Integer(1)})
    _require_constant(line, top, done["gap"])
    line.same(line.premise(0, "positive")["scalar"], done["gap"], "premise 1 is not about the gap")
    below = total([top, -done["pair"], -done["gap"] * (2 - 2 * _dot(x, y))])
    line.same(
        line.premise(1, "nonnegative")["scalar"], below, "premise 2 is not the gap to W at equal tokens"
    )


_MANIFOLDS = "Absil, Mahony, Sepulchre, Optimization Algorithms on Matrix Manifolds (2008), Section 5.5"

FACTS = (
    lemma(
        "rotation-variation",
        "Rotating a block of tokens",
        r"Let $W$ be symmetric, smooth, and unchanged when both arguments rotate, and $E = "
        r"\frac1{2n^2}\sum_{i,j}W(x_i, x_j)$. The matrices $B_{ab} = e_ae_b^\top - e_be_a^\top$, $a < b$, "
        r"of an orthonormal basis of $\mathbb R^d$ are a basis of the skew matrices, orthonormal for "
        r"$\frac12\operatorname{tr} B^\top B$. Where $e^{tB}$ turns the tokens of $S$, pairs inside $S$ and "
        r"pairs outside keep their value, and every other pair occurs twice. So the second derivatives at "
        r"$t = 0$, summed over $a < b$, are $\frac1{2n^2}\sum_{i\in S, j\notin S}\sum_{a,b}\partial_t^2 "
        r"W(e^{tB_{ab}}x_i, x_j)$.",
        (
            "W does not change along x' = Bx, y' = By",
            "the derivative of W along x' = Bx",
            "the derivative of that along x' = Bx",
            "its sum over the first vector of B",
            "the sum of that over the second vector of B",
            "which is twice the variation",
        ),
        "as stated; Hall, Lie Groups, Lie Algebras, and Representations (2015), Section 10.2 (Casimir)",
        _rotation,
        ("first", "second"),
    ),
    lemma(
        "second-order-condition",
        "The second-order condition along rotations",
        r"At a critical point of a smooth function on a manifold the second derivative along a smooth curve "
        r"is the value of the Hessian at its velocity. Where the Hessian is not positive in any direction, "
        r"no sum of such second derivatives is positive.",
        ("the variation under rotations of a block",),
        _MANIFOLDS,
        _second_order,
    ),
    lemma(
        "hemisphere-equilibrium",
        "Critical points inside an open hemisphere",
        r"Let $\sum_jk_{ij}P_{x_i}x_j = 0$ for unit tokens and $k_{ij} > 0$, which is criticality where "
        r"$\partial_xW(x, y)\cdot Bx = k\langle Bx, y\rangle$ for every skew $B$, because the $Bx$ span the "
        r"tangent space at $x$. Let $r_i = \langle w, x_i\rangle > 0$ for all $i$. For $i$ with the least "
        r"$r_i$, $0 = \sum_jk_{ij}(r_j - r_i + (1 - \langle x_i, x_j\rangle)r_i)$ has no negative summand, "
        r"so that $\langle x_i, x_j\rangle = 1$ for all $j$. Hence tokens that are not all equal have, for "
        r"$w = \sum_jx_j$, an $i$ with $\langle x_i, w\rangle \le 0$.",
        (
            "the derivative of W along x' = Bx is k⟨Bx, y⟩",
            "k > 0",
            "1 − ⟨x, y⟩ ≥ 0",
            "⟨w, P_x y⟩ = ⟨w, y⟩ − ⟨w, x⟩ + (1 − ⟨x, y⟩)⟨w, x⟩",
        ),
        "as stated; Markdahl, Thunberg, Gonçalves, IEEE Trans. Automat. Control 63 (2018), 1664–1675",
        _hemisphere,
        ("axis", "first", "second"),
    ),
    lemma(
        "turning-saddle",
        "A token that turns away from the others",
        r"At a critical point of $E$ the second derivatives along curves are values of the Hessian. Let "
        r"$\sum_j\langle x_i, x_j\rangle \le 0$, so that $\sum_{j\ne i}\langle x_i, x_j\rangle \le -1$, and "
        r"let $x_i$ alone be rotated: with a variation of at least $-a\langle x, y\rangle - b$, $a \ge 0$, "
        r"the sum over an orthonormal basis of skew $B$ is at least $n^{-2}(a - (n-1)b)$, and "
        r"$\sum_B|Bx_i|^2 = d - 1$. So the largest eigenvalue is at least the quotient.",
        (
            "unless all tokens are equal, one is opposed to their sum",
            "the variation under rotations of a block",
            "the variation is at least −a⟨x, y⟩ − b",
            "a ≥ 0",
            "the bound is positive",
            "there are other tokens: n = q + 1, q > 0",
        ),
        f"as stated; {_MANIFOLDS}",
        _turning_saddle,
        ("slope", "offset"),
    ),
    lemma(
        "field-saddle",
        "All tokens move along one field",
        r"Let all tokens follow $x' = P_xu$, which keeps them on the sphere. At a critical point of $E$ the "
        r"second derivative of $E$ is the Hessian at the velocities $P_{x_i}u$; summed over an orthonormal "
        r"basis of vectors $u$ it is $\frac1{2n^2}\sum_{i,j}T_{ij}$, while $\sum_u\sum_i|P_{x_i}u|^2 = "
        r"n(d-1)$. Let $T \ge 0$, $T \ge -a\langle x, y\rangle - b$ with $a \ge 0$, and $\sum_j\langle x_i, "
        r"x_j\rangle \le 0$. The pairs with $i$ alone, each of which occurs twice, give $n^{-2}(a - "
        r"(n-1)b)$, and the largest eigenvalue is at least the quotient.",
        (
            "unless all tokens are equal, one is opposed to their sum",
            "the derivative of W along x' = P_x u, y' = P_y u",
            "the derivative of that along the same field",
            "its sum over u",
            "which is T",
            "T ≥ 0",
            "T ≥ −a⟨x, y⟩ − b",
            "a ≥ 0",
            "the bound is positive",
            "there are other tokens: n = q + 1, q > 0",
            "d = …",
        ),
        f"as stated; {_MANIFOLDS}",
        _field_saddle,
        ("direction", "total", "slope", "offset"),
    ),
    lemma(
        "pairwise-maximum",
        "Kernels that are largest at equal arguments",
        r"Let $W(x, x) - W(x, y) \ge k|x - y|^2$ on the unit sphere, $k > 0$, with one value $W(x, x)$ for "
        r"all $x$. Integrated over $\mu\otimes\mu$: $\frac12\iint W\,d\mu\,d\mu$ is at most its value at a "
        r"Dirac mass, with equality only if $x = y$ for $\mu\otimes\mu$-almost all pairs: for Dirac masses.",
        ("k > 0", "W(x, x) − W(x, y) − k(2 − 2⟨x, y⟩) ≥ 0"),
        "as stated; Billingsley, Probability and Measure (1995), Theorem 18.3 (Fubini)",
        _maximum,
        ("cosine", "profile"),
    ),
)
