r"""Zonal expansion: an energy of laws on the sphere as a positive combination of squares of their moments.

The proof object is ``{"terms": [{"weight": a, "rate": b}, ...], "power": P, "degree": D}``. It says that the
energy's profile is :math:`W(c) = \sum a\,e^{bc}` with a, b > 0, and that the moments
:math:`M(k, i) = \int t^{k+2i}P_k\,d\nu` of the law ν of a coordinate, in dimension d, have the ratios

.. math:: M(k, i + 1) = P(k, i, d)\,M(k, i), \qquad M(k + 1, i) = D(k, i, d)\,M(k, i), \qquad M(0, 0) = 1,

two rational functions that are positive for all k, i ≥ 0 and d ≥ 2. The replay shows by recurrence that these
are the moments, for every k, i and d at once: from integration by parts for k = 0, and from the three-term
recurrence of :math:`P_k` beyond. The other moments of powers vanish: of degrees below k, by the same
recurrence, and of the other parity. So all coefficients of W are sums of positive terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import Add, Poly, PolynomialError, Rational, S, Symbol, Trace, cancel, exp, fraction, together

from symflow.algebra.grammar import parse
from symflow.certify.certificate import Certificate
from symflow.certify.lemmas.zonal import ADDITION
from symflow.certify.propositions import stated_proposition
from symflow.certify.propositions.zonal import COSINE, UniformMinimum
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.size import Budget
from symflow.certify.terms import Rejected
from symflow.errors import InputError

MAX_TERMS = 20
_KEYS = frozenset(("terms", "power", "degree"))
_DEGREE, _STEP, _SIZE = (Symbol(name, real=True) for name in "kid")


class ZonalExpansion(ProofKind):
    """Positive coefficients of every degree in every dimension, by recurrence."""

    name = "zonal-expansion"

    def replay(self, certificate: Certificate) -> Replay:
        """Show that the profile is a sum of exponentials, then that all moments of powers are positive."""
        lines: list[ReplayedLine] = []
        try:
            claim = stated_proposition(certificate)
            if not isinstance(claim, UniformMinimum):
                return Replay(False, reason=f"a zonal expansion says nothing about {certificate.claim}")
            if set(certificate.proof) != _KEYS:
                raise Rejected(f"a zonal expansion has the keys {', '.join(sorted(_KEYS))}")
            _profile(claim, certificate.proof["terms"], lines)
            moments = _Moments(certificate.proof, lines)
            moments.recur()
            moments.require_positive()
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        said = "every coefficient of W is a sum of positive terms; the uniform law is the only minimiser"
        lines.append(ReplayedLine("claim", said, ADDITION, True))
        return Replay(True, tuple(lines), assumes=(ADDITION,))


def _profile(claim: UniformMinimum, records: Any, lines: list[ReplayedLine]) -> None:
    """Check that W depends on the cosine alone and is a sum of exponentials with a, b > 0."""
    terms = claim.terms()
    x, y, cosine = (terms.symbols[name] for name in ("x", "y", COSINE))
    pair, profile = terms.read(claim.pair), terms.read(claim.profile)
    if not terms.same(pair, profile.xreplace({cosine: Trace(x.T * y)})):
        raise Rejected("the profile is not W as a function of the cosine")
    if not isinstance(records, (list, tuple)) or not 0 < len(records) <= MAX_TERMS:
        raise Rejected(f"'terms' must be a list of at most {MAX_TERMS} exponentials")
    parts = []
    for record in records:
        if not isinstance(record, Mapping) or set(record) != {"weight", "rate"}:
            raise Rejected("an exponential has the keys weight and rate")
        weight, rate = (_positive(terms, record[name], name) for name in ("weight", "rate"))
        parts.append(weight * exp(rate * cosine))
    if not terms.same(profile, Add(*parts)):
        raise Rejected(f"{profile} is not {Add(*parts)}")
    lines.append(
        ReplayedLine("profile", f"W = {claim.profile}, powers with positive weights", "series", True)
    )


def _positive(terms: Any, text: Any, name: str) -> Any:
    """Read a constant that the signs of the parameters make positive."""
    if not isinstance(text, str):
        raise Rejected(f"the {name} must be text")
    terms.require_defined(text)
    value = terms.read(text)
    terms.require_free(value, ["x", "y", COSINE], f"the {name}")
    if not value.is_positive:
        raise Rejected(f"the {name} {text} is not known to be positive")
    return value


class _Moments:
    """The two ratios of the moments while they are checked."""

    def __init__(self, proof: Mapping[str, Any], lines: list[ReplayedLine]) -> None:
        self._lines, self._budget = lines, Budget()
        self._power, self._degree = (self._read(proof[name], name) for name in ("power", "degree"))

    def _read(self, text: Any, name: str) -> Any:
        """Read a rational function of k, i and d."""
        if not isinstance(text, str):
            raise Rejected(f"the ratio in {name} must be text")
        self._budget.spend_text(text)
        value = parse(text, {symbol.name: symbol for symbol in (_DEGREE, _STEP, _SIZE)})
        self._budget.spend_expression(value)
        if not value.is_rational_function(_DEGREE, _STEP, _SIZE):
            raise Rejected(f"the ratio in {name} is no rational function of k, i and d")
        return cancel(together(value))

    def recur(self) -> None:
        """Check that M with these ratios satisfies every equation that determines the moments."""
        k, i, d, power, degree = _DEGREE, _STEP, _SIZE, self._power, self._degree
        ahead = degree.subs(i, i + 1)
        before = degree.subs({k: k - 1, i: i + 1}, simultaneous=True)
        self._vanishes(
            "start",
            (2 * i + 1) * (1 - power.subs(k, 0)) - (d - 1) * power.subs(k, 0),
            "M(0, i + 1) = (2i + 1)/(2i + d) M(0, i), from ∫ (t^(2i+1) (1 − t²)^((d−1)/2))' dt = 0",
        )
        self._vanishes("first", degree.subs(k, 0) - power.subs(k, 0), "M(1, i) = M(0, i + 1), as P₁ = t")
        self._vanishes("paths", ahead * power - power.subs(k, k + 1) * degree, "both ratios fit together")
        self._vanishes(
            "orthogonal",
            (2 * k + d) * degree.subs(i, 0) - (k + 1),
            "∫ t^j P_k dν = 0 for j < k, from the recurrence at j = k − 1",
        )
        self._vanishes(
            "recurrence",
            (k + d - 2) * degree - power * (2 * k + d - 2 - k / before),
            "(k + d − 2) M(k + 1, i) = (2k + d − 2) M(k, i + 1) − k M(k − 1, i + 1)",
        )

    def _vanishes(self, name: str, expr: Any, words: str) -> None:
        if cancel(together(expr)) != 0:
            raise Rejected(f"{name}: the ratios do not satisfy {words}")
        self._lines.append(ReplayedLine(name, words, "an identity of rational functions of k, i, d", True))

    def require_positive(self) -> None:
        """Check that both ratios are quotients of polynomials in k, i, d − 2 with positive coefficients."""
        for name, ratio in (("power", self._power), ("degree", self._degree)):
            for polynomial in fraction(ratio.subs(_SIZE, _SIZE + 2)):
                try:
                    found = Poly(polynomial.expand(), _DEGREE, _STEP, _SIZE)
                except PolynomialError as error:
                    raise Rejected(f"the ratio in {name} is no quotient of polynomials") from error
                constant = found.coeff_monomial(S.One)
                if not all(isinstance(c, Rational) and c >= 0 for c in found.coeffs()) or constant <= 0:
                    raise Rejected(f"the ratio in {name} is not seen to be positive for k, i ≥ 0, d ≥ 2")
            words = f"the ratio {ratio} is positive for k, i ≥ 0, d ≥ 2"
            self._lines.append(
                ReplayedLine(f"{name} sign", words, "positive coefficients in k, i, d − 2", True)
            )
