"""Facts about tokens on the sphere: consensus inside a cone, and tokens with one common cosine."""

from __future__ import annotations

from typing import Any

from sympy import Integer, Trace

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected, is_symbol, multiply, total, transposed


def _dot(left: Any, right: Any) -> Any:
    return Trace(multiply(transposed(left), right))


def _tokens(line: Inference) -> tuple[Any, Any]:
    """Return x and y after checking that ``change`` is P_x y."""
    x, y = line.symbol(line.variables.query), line.symbol(line.variables.key)
    projected = total([y, multiply(-_dot(x, y), x)])
    line.same(line.conclusion["change"], projected, "the change is not y − ⟨x, y⟩x")
    return x, y


def _stands_for(line: Inference, index: int, symbol: Any, value: Any) -> None:
    """The premise at ``index`` must say what a bare symbol is."""
    premise = line.premise(index, "equal")
    if not is_symbol(symbol) or premise["left"] != symbol:
        raise Rejected(f"premise {index + 1} does not say what {symbol} is")
    line.same(premise["right"], value, f"{symbol} is something else")


def _require_constant(line: Inference, names: tuple[Any, ...], *terms: Any) -> None:
    """Refuse terms that differ from pair to pair."""
    pairwise = [line.variables.query, line.variables.key, *(name.name for name in names)]
    for term in terms:
        line.terms.require_free(term, pairwise, "a constant")


def is_normalised(line: Inference, index: int) -> bool:
    """Whether the conclusion divides by the mean of the kernel, which premise ``index`` then says."""
    normaliser = line.conclusion["normaliser"]
    if normaliser == 1:
        return False
    mean = line.premise(index, "token-mean")
    line.same(mean["normaliser"], normaliser, "another normaliser")
    line.same(mean["weight"], line.conclusion["weight"], "the normaliser is that of another kernel")
    if not is_symbol(normaliser):
        raise Rejected("the normaliser must be one or a symbol")
    return True


def _cone(line: Inference) -> None:
    line.require("cone-collapse")
    done, (x, y) = line.conclusion, _tokens(line)
    axis, height, other, margin = (line.arguments[name] for name in ("axis", "height", "other", "margin"))
    _stands_for(line, 0, height, _dot(axis, x))
    _stands_for(line, 1, other, _dot(axis, y))
    for index, (vector, name) in enumerate(((axis, "axis"), (x, "token")), 2):
        line.same(
            line.premise(index, "norm")["matrix"], vector, f"premise {index + 1} is not about the {name}"
        )
        line.same(line.premise(index, "norm")["bound"], Integer(1), "the length is not bounded by one")
    line.same(line.premise(4, "positive")["scalar"], margin, "premise 5 is not m > 0")
    climb, rest = line.premise(5, "equal"), line.premise(6, "nonnegative")["scalar"]
    line.same(climb["left"], _dot(axis, done["change"]), "premise 6 is not about the height")
    line.same(climb["right"], total([other, -height, rest]), "premise 6 is not s − r + e")
    moved = line.premise(7, "equal")
    quotient = [multiply(1 / height, done["change"]), multiply(-_dot(axis, done["change"]) / height**2, x)]
    line.same(moved["left"], total(quotient), "premise 8 is not about x/r")
    towards = [multiply(1 / height, y), multiply(-other / height**2, x)]
    line.same(moved["right"], total(towards), "premise 8 is not (s/r)(y/s − x/r)")
    low = line.premise(8, "positive")["scalar"]
    line.same(line.premise(9, "nonnegative")["scalar"], total([done["weight"], -low]), "not k − l ≥ 0")
    rate, count = margin * low, 10
    if is_normalised(line, 10):
        high, count = line.premise(11, "positive")["scalar"], 13
        line.same(line.premise(12, "nonnegative")["scalar"], total([high, -done["weight"]]), "not u − k ≥ 0")
        _require_constant(line, (height, other), high)
        rate = rate / high
    line.count(count)
    _require_constant(line, (height, other), axis, margin, low, done["rate"])
    line.same(done["rate"], rate, "another rate")


def _equiangular(line: Inference) -> None:
    line.require("common-cosine")
    done, (x, y) = line.conclusion, _tokens(line)
    partner, seen, there, common, others = (
        line.arguments[name] for name in ("partner", "seen", "there", "common", "others")
    )
    if not is_symbol(partner) or partner in (x, y) or not is_symbol(others):
        raise Rejected("the partner must be a token of its own, and the number of others a symbol")
    _stands_for(line, 0, seen, _dot(x, y))
    _stands_for(line, 1, there, _dot(y, partner))
    _stands_for(line, 2, common, _dot(x, partner))
    step = line.premise(3, "equal")
    line.same(step["left"], _dot(done["change"], partner), "premise 4 is not about the cosine")
    line.same(step["right"], total([there, -seen * common]), "premise 4 is not e − cg")
    line.same(
        line.premise(4, "positive")["scalar"], done["rate"], "premise 5 is not that the rate is positive"
    )
    line.same(line.premise(5, "positive")["scalar"], others, "premise 6 is not that there are other tokens")
    line.terms.require_free(done["weight"], [x.name, y.name, partner.name, there.name, common.name], "k")
    line.terms.require_free(done["rate"], [x.name, y.name, partner.name, seen.name, there.name], "the rate")
    own, other = (done["weight"].xreplace({seen: cosine}) for cosine in (Integer(1), common))
    normalised = is_normalised(line, 6)
    line.count(6 + normalised)
    # the token itself, its partner, and the others, each with c and e
    classes = ((1, own, 1, common), (1, other, common, 1), (others - 1, other, common, common))
    change = total(count * kernel * (e - c * common) for count, kernel, c, e in classes)
    mass = own + others * other if normalised else others + 1
    line.same(done["rate"], 2 * change / mass, "another rate")
    line.same(done["rate"].xreplace({common: Integer(1)}), Integer(0), "the rate does not vanish at one")


FACTS = (
    lemma(
        "cone-consensus",
        "Consensus inside a cone",
        r"Let unit tokens solve $x_i' = \frac1n\sum_j a_{ij}P_{x_i}x_j$ with $a_{ij} = k(x_i, x_j)/Z_i > 0$ "
        r"smooth, $|w| \le 1$ and $r_i = \langle w, x_i\rangle \ge m > 0$ at $t = 0$. Where each $j$ adds "
        r"$a_{ij}(r_j - r_i + e_{ij})/n$, $e_{ij} \ge 0$, to $r_i'$, the lower right derivative of "
        r"$\min_i r_i$ is not negative, so that $r_i \ge m$ for all times. Where each $j$ adds "
        r"$a_{ij}\frac{r_j}{r_i}(z_j - z_i)/n$ to the derivative of $z_i = x_i/r_i$, and $a_{ij}r_j/r_i \ge "
        r"\lambda$, the hull of the $z_i$ never grows, and for every unit $u$ the width $\max_i\langle u, "
        r"z_i\rangle - \min_i\langle u, z_i\rangle$ has an upper right derivative of at most $-\lambda$ "
        r"times itself; by Grönwall's inequality $\operatorname{diam}\{z_i(t)\} \le e^{-\lambda t}"
        r"\operatorname{diam}\{z_i(0)\} \le e^{-\lambda t}\,2/m$. The hulls meet in one point $z^*$, and "
        r"$|z| \ge 1$, where $z \mapsto z/|z|$ is 1-Lipschitz, so that $|x_i(t) - z^*/|z^*|| \le "
        r"\operatorname{diam}\{z_i(t)\}$.",
        (
            "r is ⟨w, x⟩",
            "s is ⟨w, y⟩",
            "|w| ≤ 1",
            "|x| ≤ 1",
            "m > 0",
            "⟨w, P_x y⟩ = s − r + e",
            "e ≥ 0",
            "the quotient rule for x/r gives (s/r)(y/s − x/r)",
            "l > 0",
            "k ≥ l",
            "where the weights are normalised: Z is the mean of k, u > 0, and k ≤ u",
        ),
        "Hartman, Ordinary Differential Equations (1964), Theorems III.4.1 and III.1.1; "
        "Moreau, IEEE Trans. Automat. Control 50 (2005), 169–182",
        _cone,
        ("axis", "height", "other", "margin"),
    ),
    lemma(
        "equiangular-tokens",
        "Tokens with one common cosine",
        r"Let unit tokens solve $x_i' = \frac1n\sum_j a_{ij}P_{x_i}x_j$ with $a_{ij}$ a smooth function of "
        r"the cosines. Then the Gram matrix solves an equation of its own with a smooth right-hand side. "
        r"Where all cosines of different tokens are $g$, every one of them has the same derivative $f(g)$, "
        r"the sum over the token itself, its partner and the others. So the matrix with the one cosine "
        r"$g(t)$, $g' = f(g)$, is the solution. If $f > 0$ on $[0, 1)$ and $f(1) = 0$, then $g$ increases, "
        r"never reaches 1, and tends to it.",
        (
            "c is ⟨x, y⟩",
            "e is ⟨y, p⟩",
            "g is ⟨x, p⟩",
            "⟨P_x y, p⟩ = e − cg",
            "f > 0 for 0 ≤ g < 1",
            "there are other tokens",
            "where the weights are normalised: Z is the mean of k",
        ),
        "Teschl, Ordinary Differential Equations and Dynamical Systems (2012), Theorem 2.2 and Section 1.3",
        _equiangular,
        ("partner", "seen", "there", "common", "others"),
    ),
)
