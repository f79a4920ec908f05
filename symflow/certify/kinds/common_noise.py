r"""Common noise: the field of a random layer and the cosine of two tokens, re-derived from definitions.

The proof object names intermediate values, all texts; the replay computes each of them itself.

``unit``, ``argument``
    of a layer: the average of ⟨a, w⟩⟨b, w⟩ over a standard normal column w, and that of the product of the
    arguments of φ at x and y.
``radius``, ``step``, ``square``
    of two tokens: half the average second differentials of |x|² and of u = ⟨x, y⟩ along the noise, and the
    average of the squared first differential of u.
``limits``
    for every exponent λ two polynomials A and B with Lf/f − λ = eA + sB, where e = 1 − u, κ(u) = κ(1) −
    e(κ'(1) − s), so that e → 0 and s → 0 for u → 1 where κ is differentiable.
``square_mean``, ``slope_mean``
    of an activation: polynomials in z that φ² and φ'² average to over z and −z.

Differentials are second-order jets: x + tp and y + tq are multiplied out by the normal form, and the
coefficients of t and t² read off. Averages over both vectors of noise need their covariance alone, no square
root of it: Q(g, h) averages to κ(1)(tr Q(g, 0) + tr Q(0, g)) + κ(u) tr(Q(g, g) − Q(g, 0) − Q(0, g)).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import (
    Expr,
    Identity,
    Poly,
    PolynomialError,
    S,
    Symbol,
    Trace,
    ZeroMatrix,
    cancel,
    diff,
    expand,
    log,
)

from symflow.algebra.grammar import parse
from symflow.algebra.moments import expectation
from symflow.algebra.words import normal_form
from symflow.certify.certificate import Certificate
from symflow.certify.lemmas.noise_field import ITO, PRICE, RAIMOND
from symflow.certify.propositions import stated_proposition
from symflow.certify.propositions.noise_field import (
    CosineGenerator,
    LayerCovariance,
    LayerExponents,
    MeetingExponents,
    NoiseStatement,
)
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.terms import Rejected
from symflow.errors import InputError

_LAYER, _PAIR, _LIMITS = ("unit", "argument"), ("radius", "step", "square"), ("limits",)
_ACTIVATION = ("square_mean", "slope_mean")
_MAX_TEXT, _MAX_DEGREE = 5_000, 12


class CommonNoise(ProofKind):
    """Gaussian averages, second-order jets and limits of rational functions at symbolic size."""

    name = "common-noise"

    def replay(self, certificate: Certificate) -> Replay:
        """Re-derive what the claim says, part by part."""
        try:
            claim = stated_proposition(certificate)
        except InputError as error:
            return Replay(False, reason=str(error))
        if not isinstance(claim, NoiseStatement):
            return Replay(False, reason=f"common noise says nothing about {certificate.claim}")
        return derive_again(claim, certificate.proof)


def derive_again(claim: NoiseStatement, proof: Any) -> Replay:
    """Check that ``proof`` shows what ``claim`` states."""
    lines: list[ReplayedLine] = []
    try:
        assumes = _Replay(claim, proof, lines).run()
    except (InputError, Rejected) as error:
        return Replay(False, tuple(lines), str(error))
    return Replay(True, tuple(lines), assumes=tuple(sorted(assumes)))


class _Replay:
    """The state of a replay: symbols, the proof object, and what was seen."""

    def __init__(self, claim: NoiseStatement, proof: Mapping[str, Any], lines: list[ReplayedLine]) -> None:
        self._claim, self._proof, self._lines = claim, proof, lines
        self._terms = claim.terms()
        self._s = self._terms.symbols

    def run(self) -> set[str]:
        """Check every part that the claim needs; return the lemmas."""
        parts: dict[type[NoiseStatement], tuple[tuple[str, ...], set[str]]] = {
            LayerCovariance: (_LAYER, {PRICE}),
            CosineGenerator: (_PAIR, {ITO}),
            MeetingExponents: ((*_PAIR, *_LIMITS), {ITO, RAIMOND}),
            LayerExponents: ((*_LAYER, *_PAIR, *_LIMITS, *_ACTIVATION), {ITO, PRICE, RAIMOND}),
        }
        keys, assumes = parts[type(self._claim)]
        if not isinstance(self._proof, Mapping) or set(self._proof) != set(keys):
            raise Rejected(f"the proof has the keys {', '.join(keys)}")
        if "unit" in keys:
            covariance = self._layer()
        if "step" in keys:
            drift, diffusion = self._generator()
        if "limits" in keys:
            exponents = self._exponents(drift, diffusion)
        if "square_mean" in keys:
            self._activation(exponents, covariance.subs(self._s["u"], 1))
        return assumes

    # --- a random layer ---

    def _layer(self) -> Expr:
        """Average over one column of W, and over one row of U with its bias; return c as a function of u."""
        s, d = self._s, self._s["d"]
        unit = self._over(_dot(s["a"], s["g"]) * _dot(s["b"], s["g"]), "g")
        apart = self._over(self._over(_dot(s["a"], s["g"]) * _dot(s["b"], s["h"]), "g"), "h")
        if apart != 0 or self._over(_dot(s["a"], s["g"]), "g") != 0:
            raise Rejected("the field is not centred, or different units are not independent")
        self._agrees("unit", unit, "different units average to 0, equal ones to this; m shares of 1/m each")
        if not self._terms.same(unit, _dot(s["a"], s["b"])):
            raise Rejected("the field is not isotropic")
        row = self._over(_dot(s["x"], s["g"]) * _dot(s["y"], s["g"]), "g") / d
        if self._over(_dot(s["x"], s["g"]), "g") != 0:
            raise Rejected("the arguments are not centred")
        argument = row + s["sigma_U"] ** 2
        self._agrees("argument", argument, "covariance of the arguments of φ, bias included")
        covariance: Expr = self._on_the_sphere(argument)
        if isinstance(self._claim, LayerCovariance):
            self._states_covariance(covariance, unit)
        return covariance

    def _states_covariance(self, covariance: Expr, unit: Expr) -> None:
        """Compare what is claimed of the arguments of φ, of κ and of its derivative (Price's theorem)."""
        s = self._s
        self._stated("covariance", covariance)
        self._stated("variance", covariance.subs(s["u"], 1))
        bias = self._over(_dot(s["a"], s["g"]) * _dot(s["b"], s["g"]), "g") * s["sigma_W"] ** 2
        self._stated("kappa", cancel((unit * s["E"] + bias) / _dot(s["a"], s["b"])))
        self._stated("slope", s["D"] * diff(covariance, s["u"]))

    # --- two tokens ---

    def _generator(self) -> tuple[Expr, Expr]:
        """Return drift and half the squared noise of u; check the radius."""
        s = self._s
        own, pair = s["x"], _dot(s["x"], s["y"])
        u, one, here = s["u"], s["k1"], s["k"]
        radius = self._average(self._jet(_dot(own, own))[1], one, here)
        self._agrees("radius", radius, "half the average second differential of |x|²")
        # |x|² has the drift −2c + this, u the drift −2cu + that of its second differential
        correction = radius / 2
        first, second = self._jet(pair)
        step = self._average(second, one, here)
        self._agrees("step", step, "half the average second differential of u")
        square = self._average(expand(first**2), one, here)
        self._agrees("square", square, "average square of the first differential of u")
        noise = self._on_the_sphere(normal_form(self._jet(_dot(own, own))[0]).to_sympy())
        if noise != 0:
            raise Rejected("the noise moves tokens off the sphere")
        drift, diffusion = expand(-2 * correction * u + step), expand(square / 2)
        if not isinstance(self._claim, LayerExponents):
            self._stated("correction", correction)
            self._stated("drift", drift)
            self._stated("diffusion", diffusion)
        return drift, diffusion

    def _jet(self, function: Expr) -> tuple[Any, Any]:
        """Return the first differential along P_x g and P_y h, and half of the second."""
        s, t = self._s, Symbol("_t", real=True)
        moves = {s[x]: s[x] + t * (s[g] - _dot(s[x], s[g]) * s[x]) for x, g in (("x", "g"), ("y", "h"))}
        moved = normal_form(function.xreplace(moves)).to_sympy().expand()
        return moved.coeff(t, 1), moved.coeff(t, 2)

    def _average(self, form: Any, one: Any, here: Any) -> Expr:
        """Average a quadratic form in g and h of the covariances κ(1), κ(u)."""
        s, still = self._s, ZeroMatrix(self._s["d"], 1)
        alone = self._over(form.subs(s["h"], still).doit(), "g")
        partner = self._over(form.subs(s["g"], still).doit().subs(s["h"], s["g"]), "g")
        both = self._over(form.subs(s["h"], s["g"]), "g")
        return expand(self._on_the_sphere(one * (alone + partner) + here * (both - alone - partner)))

    # --- limits ---

    def _exponents(self, drift: Expr, diffusion: Expr) -> dict[str, Expr]:
        """Return λ₁ and Λ(p) after checking the identities of which they are limits."""
        s = self._s
        u, p, e, rest = s["u"], s["p"], s["e"], s["s"]
        near = {s["k"]: s["k1"] - e * (s["s1"] - rest), u: 1 - e}
        distance = log(1 - u) / 2
        rates = {
            "lyapunov": drift * diff(distance, u) + diffusion * diff(distance, u, 2),
            "moments": self._log_rate(p * distance, drift, diffusion),
        }
        proof = self._proof["limits"]
        if not isinstance(proof, Mapping) or set(proof) != set(rates):
            raise Rejected(f"'limits' has the keys {', '.join(rates)}")
        found = {name: self._limit(name, rate.subs(near), proof[name]) for name, rate in rates.items()}
        found["dissipation"] = expand(found["moments"].subs(p, 2))
        if isinstance(self._claim, MeetingExponents):
            for name, value in found.items():
                self._stated(name, value)
        return found

    def _log_rate(self, logarithm: Expr, drift: Expr, diffusion: Expr) -> Expr:
        """Lf/f from log f."""
        first = diff(logarithm, self._s["u"])
        return drift * first + diffusion * (diff(first, self._s["u"]) + first**2)

    def _limit(self, name: str, rate: Expr, record: Any) -> Expr:
        if not isinstance(record, Mapping) or set(record) != {"value", "in_e", "in_s"}:
            raise Rejected(f"the limit {name} has the keys value, in_e, in_s")
        value, in_e, in_s = (self._read(record[key]) for key in ("value", "in_e", "in_s"))
        e, rest = self._s["e"], self._s["s"]
        if value.has(e, rest, self._s["k"], self._s["u"]):
            raise Rejected(f"the limit {name} depends on where the tokens are")
        for part in (in_e, in_s):
            self._polynomial(part, (e, rest))
        if cancel(rate - value - e * in_e - rest * in_s) != 0:
            raise Rejected(f"the limit {name} is not {record['value']}")
        self._say(name, f"{record['value']} + e({record['in_e']}) + s({record['in_s']})", "rational identity")
        return expand(value)

    # --- an activation ---

    def _activation(self, exponents: Mapping[str, Expr], variance: Expr) -> None:
        """Compute κ(1) and κ'(1) of the activation, and put them into the exponents."""
        s = self._s
        z = s["z"]
        above, below = self._sides(self._read_activation())
        if (above - below).subs(z, 0) != 0:
            raise Rejected("the activation jumps at 0")
        means = {}
        for name, pair in (
            ("square_mean", (above**2, below**2)),
            ("slope_mean", (diff(above, z) ** 2, diff(below, z) ** 2)),
        ):
            mirrored = expand((pair[0] + pair[1].subs(z, -z)) / 2)
            self._agrees(name, mirrored, "average over z and −z, on z > 0")
            means[name] = self._moment(mirrored)
        one = means["square_mean"].subs(s["q"], variance) + s["sigma_W"] ** 2
        slope = means["slope_mean"].subs(s["q"], variance) / s["d"]
        self._stated("kappa_one", one)
        self._stated("slope_one", slope)
        for name in ("lyapunov", "dissipation"):
            self._stated(name, exponents[name].subs({s["k1"]: one, s["s1"]: slope}))

    def _read_activation(self) -> Any:
        return parse(self._claim.texts["activation"], {"z": self._s["z"]})

    def _sides(self, phi: Any) -> tuple[Any, Any]:
        """Return φ for z > 0 and for z < 0, both polynomials."""
        z = self._s["z"]
        found = []
        for sign in ("positive", "negative"):
            side = Symbol("_z", **{sign: True})
            value = phi.subs(z, side).subs(side, z)
            self._polynomial(value, (z,))
            found.append(value)
        return found[0], found[1]

    def _moment(self, even: Expr) -> Expr:
        """Average an even polynomial in z by (n − 1)!! q^{n/2}."""
        total = S.Zero
        for (n,), coefficient in self._polynomial(even, (self._s["z"],)).terms():
            if n % 2:
                raise Rejected(f"{even} is not even")
            odd = S.One
            for k in range(1, n, 2):
                odd *= k
            total += coefficient * odd * self._s["q"] ** (n // 2)
        return total

    # --- tools ---

    def _over(self, expr: Any, name: str) -> Any:
        """Average over a standard normal vector, by Isserlis' theorem."""
        d = self._s["d"]
        return expectation(expr, self._s[name], ZeroMatrix(d, 1), Identity(d))

    def _on_the_sphere(self, expr: Any) -> Any:
        x, y, u = self._s["x"], self._s["y"], self._s["u"]
        form = normal_form(expr).to_sympy()
        return expand(form.xreplace({_dot(x, x): S.One, _dot(y, y): S.One, _dot(x, y): u, _dot(y, x): u}))

    def _polynomial(self, value: Any, variables: tuple[Any, ...]) -> Poly:
        try:
            found = Poly(value, *variables)
        except PolynomialError as error:
            raise Rejected(f"{value} is no polynomial in {', '.join(map(str, variables))}") from error
        if found.total_degree() > _MAX_DEGREE:
            raise Rejected(f"{value} has a degree beyond {_MAX_DEGREE}")
        return found

    def _read(self, text: Any) -> Any:
        if not isinstance(text, str) or len(text) > _MAX_TEXT:
            raise Rejected(f"a part of the proof must be a text of at most {_MAX_TEXT} characters")
        self._terms.require_defined(text)
        return self._terms.read(text)

    def _agrees(self, name: str, value: Any, how: str) -> None:
        """Compare a text of the proof with what was computed."""
        if not self._terms.same(self._read(self._proof[name]), value):
            raise Rejected(f"the {name} is {value}, not {self._proof[name]}")
        self._say(name, str(self._proof[name]), how)

    def _stated(self, name: str, value: Any) -> None:
        """Compare a text of the claim with what was computed."""
        text = self._claim.texts[name]
        if cancel(self._terms.read(text) - value) != 0:
            raise Rejected(f"the {name} is {value}, not {text}")
        self._say(f"claim: {name}", text, "equal to what was computed")

    def _say(self, name: str, words: str, how: str) -> None:
        self._lines.append(ReplayedLine(name, words, how, True))


def _dot(left: Any, right: Any) -> Any:
    return Trace(left.T * right)
