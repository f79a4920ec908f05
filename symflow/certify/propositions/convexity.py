r"""Convexity of an energy along the geodesics of a metric on laws.

The statement of a certificate is a record with the keys of :data:`_KEYS`: the energy

.. math:: F(\mu) = \tfrac12\iint W(x, y)\,d\mu(x)\,d\mu(y) + \int U(x)\,d\mu(x)

by the texts ``pair`` (W) and ``potential`` (U) and rational values of their parameters, the space of the
tokens, its dimension (``"d"`` stands for every d ≥ 1), the metric, a convex set that holds the support of the
laws, and the modulus λ: the claim is that :math:`\frac{d^2}{dt^2}F(\mu_t) \ge \lambda\,|\dot\mu_t|^2` along
geodesics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symflow.algebra.text.shapes import infer_shapes
from symflow.algebra.text.signature import TOKENS, signature
from symflow.algebra.text.syntax import Call, Node, names_in, read, subtrees
from symflow.certify.names import check_names
from symflow.certify.propositions.proposition import Proposition, require_keys
from symflow.certify.rational import rational
from symflow.certify.terms import Rejected
from symflow.errors import CertificateError, GrammarError, InputError

_KEYS = frozenset(("pair", "potential", "parameters", "space", "dimension", "metric", "domain", "modulus"))
METRICS = {
    "wasserstein": "the Wasserstein metric",
    "bures": "the Bures–Wasserstein metric on Gaussian laws",
    "twisted": "the twisted metric ∫⟨v, |M|v⟩ G dμ, M = A V⁻¹, G(x) = ∫exp(⟨x, Ay⟩)dμ(y)",
}
SPACES = ("euclidean", "sphere")
MAX_DIMENSION = 8
MAX_PARAMETERS = 12
MAX_TEXT = 2000  #: characters of one expression


@dataclass(frozen=True)
class Multiple:
    """A multiple of the identity matrix, of whatever size."""

    factor: Fraction


Rows = tuple[tuple[Fraction, ...], ...]
Value = Fraction | Multiple | Rows


@dataclass(frozen=True)
class Metric:
    """A metric on laws; ``value`` and ``score`` are V and A of the twisted one."""

    name: str
    value: Value | None = None
    score: Value | None = None


@dataclass(frozen=True)
class Domain:
    """A convex set: a box, a ball around the origin, or everything."""

    box: Rows | None = None
    radius: Fraction | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is excluded."""
        return self.box is None and self.radius is None

    def has_inside(self, point: Sequence[Fraction]) -> bool:
        """Whether a point lies in the interior."""
        if self.radius is not None:
            return sum(c * c for c in point) < self.radius**2
        return self.box is None or all(low < c < high for c, (low, high) in zip(point, self.box, strict=True))

    def __str__(self) -> str:
        if self.radius is not None:
            return f"the ball |x| ≤ {self.radius}"
        if self.box is None:
            return "the whole space"
        return "the box " + " × ".join(f"[{low}, {high}]" for low, high in self.box)


@dataclass(frozen=True)
class StatedEnergy:
    """The statement of a certificate, read and checked.

    Attributes
    ----------
    pair, potential : Node or None
        Syntax trees of W and U.
    parameters : Mapping of str to value
    space : str
    dimension : int or None
        None stands for every d ≥ 1; then every matrix is a multiple of the identity.
    metric : Metric
    domain : Domain
    modulus : Fraction
    texts : tuple of str
        W and U as written.
    """

    pair: Node | None
    potential: Node | None
    parameters: Mapping[str, Value]
    space: str
    dimension: int | None
    metric: Metric
    domain: Domain
    modulus: Fraction
    texts: tuple[str, str]


def read_energy(statement: Any) -> StatedEnergy:
    """Return the energy of a stored statement after checking keys, types, names and shapes.

    Raises
    ------
    CertificateError
        Naming the key and what it must be.
    """
    require_keys(statement, _KEYS)
    try:
        return _read(statement)
    except (InputError, Rejected) as error:
        raise CertificateError(f"statement: {error}") from error


def _read(statement: Mapping[str, Any]) -> StatedEnergy:
    if statement["space"] not in SPACES:
        raise CertificateError(f"'space' must be {' or '.join(SPACES)}")
    dimension = _dimension(statement["dimension"])
    parameters = _parameters(statement["parameters"], dimension)
    pair, potential = (_tree(statement[key], key, parameters, dimension) for key in ("pair", "potential"))
    metric = _metric(statement["metric"], dimension)
    domain = _domain(statement["domain"], dimension)
    number = rational(statement["modulus"])
    stated = StatedEnergy(
        pair=pair,
        potential=potential,
        parameters=parameters,
        space=statement["space"],
        dimension=dimension,
        metric=metric,
        domain=domain,
        modulus=Fraction(int(number.numerator), int(number.denominator)),
        texts=(statement["pair"], statement["potential"]),
    )
    if stated.space == "sphere" and (metric.name != "wasserstein" or not domain.is_everything):
        raise CertificateError("on the sphere the metric is 'wasserstein' and there is no 'domain'")
    if stated.space == "sphere" and dimension == 1:
        raise CertificateError("the unit sphere of ℝ has no geodesics; give a 'dimension' from 2")
    if metric.name == "bures" and not domain.is_everything:
        raise CertificateError("Gaussian laws have no bounded support; leave 'domain' empty")
    return stated


def _dimension(text: Any) -> int | None:
    if text == "d":
        return None
    if not isinstance(text, str) or not text.isascii() or not text.isdigit() or len(text) > 2:
        raise CertificateError("'dimension' must be 'd' or a whole number as text")
    if not 1 <= int(text) <= MAX_DIMENSION:
        raise CertificateError(f"'dimension' must be from 1 to {MAX_DIMENSION}")
    return int(text)


def number(text: Any) -> Fraction:
    """Return the fraction that a text p or p/q writes."""
    found = rational(text)
    return Fraction(int(found.numerator), int(found.denominator))


def rows(value: Any, what: str) -> Rows:
    """Return a matrix from nested lists of texts p or p/q."""
    if (
        not isinstance(value, (list, tuple))
        or not 0 < len(value) <= MAX_DIMENSION
        or not all(isinstance(row, (list, tuple)) and 0 < len(row) <= MAX_DIMENSION for row in value)
        or len({len(row) for row in value}) > 1
    ):
        raise Rejected(f"{what} must be rows of one length, at most {MAX_DIMENSION} × {MAX_DIMENSION}")
    return tuple(tuple(number(text) for text in row) for row in value)


def _value(value: Any, name: str, dimension: int | None) -> Value:
    """Return a scalar, a matrix, or a multiple of the identity."""
    if isinstance(value, str):
        return number(value)
    if isinstance(value, Mapping):
        if set(value) != {"identity"}:
            raise Rejected(f"{name}: a multiple of the identity has the key identity")
        return Multiple(number(value["identity"]))
    if dimension is None:
        raise Rejected(f"{name} has a size; a matrix that is there in every dimension is a multiple of I")
    return rows(value, name)


def _parameters(given: Any, dimension: int | None) -> dict[str, Value]:
    if not isinstance(given, Mapping) or len(given) > MAX_PARAMETERS:
        raise Rejected(f"'parameters' must be an object of at most {MAX_PARAMETERS} names")
    check_names([*given, "x", "y", "d"])
    return {name: _value(value, name, dimension) for name, value in given.items()}


def _tree(text: Any, key: str, parameters: Mapping[str, Value], dimension: int | None) -> Node | None:
    """Return the syntax tree of an expression whose names are known and, at symbolic d, whose shapes fit."""
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise Rejected(f"{key!r} must be text of at most {MAX_TEXT} characters")
    if not text:
        return None
    node = read(text)
    used = names_in(node)
    unknown = sorted(used - {"x", "d", *parameters} - ({"y"} if key == "pair" else set()))
    if unknown:
        raise Rejected(f"{key} = {text}: {unknown[0]} has no value here")
    if dimension is None:
        if "d" in used:
            raise Rejected(f"{key} = {text}: what depends on d is no energy in every dimension at once")
        shapes = {name: _shape(value) for name, value in parameters.items() if name in used}
        signature(text, shapes)
        _refuse_sizes(node, {**TOKENS, **{name: shape or (1, 1) for name, shape in shapes.items()}}, text)
    return node


def _refuse_sizes(tree: Node, shapes: Mapping[str, Any], text: str) -> None:
    """Refuse traces, and inner products of what is no vector: that of I with itself is d."""
    for part in subtrees(tree):
        if not isinstance(part, Call) or part.function not in ("tr", "dot", "norm2"):
            continue
        if part.function == "tr":
            raise Rejected(f"{text}: a trace may depend on d; write dot(u, v), or give 'dimension'")
        for argument in part.arguments:
            try:
                infer_shapes(argument, shapes, TOKENS["x"], text)
            except GrammarError as error:
                raise Rejected(
                    f"{text}: an inner product of matrices may depend on d; give 'dimension'"
                ) from error


def _shape(value: Value) -> tuple[str, ...]:
    """Return the shape of what is there in every dimension: a number, or a multiple of the identity."""
    return ("d", "d") if isinstance(value, Multiple) else ()


def _metric(given: Any, dimension: int | None) -> Metric:
    name = given.get("name") if isinstance(given, Mapping) else None
    if not isinstance(name, str) or name not in METRICS:
        raise Rejected(f"'metric' is an object with a name, one of {', '.join(METRICS)}")
    keys = {"name", "V", "A"} if name == "twisted" else {"name"}
    if set(given) != keys:
        raise Rejected(f"the metric {name} has the keys {', '.join(sorted(keys))}")
    if name != "twisted":
        return Metric(name)
    value, score = (_value(given[key], key, dimension) for key in ("V", "A"))
    if isinstance(value, Fraction) or isinstance(score, Fraction):
        raise Rejected("V and A of the twisted metric are matrices")
    return Metric(name, value, score)


def _domain(given: Any, dimension: int | None) -> Domain:
    if not isinstance(given, Mapping) or set(given) not in (set(), {"box"}, {"ball"}):
        raise Rejected("'domain' is empty, or an object with the key box or ball")
    if "ball" in given:
        radius = number(given["ball"])
        if radius <= 0:
            raise Rejected("the radius of a ball must be positive")
        return Domain(radius=radius)
    if not given:
        return Domain()
    box = rows(given["box"], "box")
    if len(box) != dimension or any(len(side) != 2 or side[0] >= side[1] for side in box):
        raise Rejected("a box has one pair of low < high for each coordinate")
    return Domain(box=box)


@dataclass(frozen=True)
class Convexity(Proposition):
    """λ-convexity of an energy; a certificate proves it or refutes it.

    Attributes
    ----------
    claim : str
    text : Mapping or None
        The statement of the literature, to which a certificate must be equal; None for any energy.
    says : str
        What is shown of the energy, for the scope; ``{d}`` stands for the dimension.
    """

    claim: str
    text: Mapping[str, Any] | None = None
    says: str = ""

    def read(self, statement: Any) -> StatedEnergy:
        """Return the energy after comparing the statement with the one of the claim.

        Raises
        ------
        CertificateError
            If the statement is malformed or another one.
        """
        stated = read_energy(statement)
        if self.text is not None and statement != self.text:
            raise CertificateError(f"the statement is not that of {self.claim}")
        return stated

    def denial(self, statement: Any) -> str:
        """Return what a refutation denies, in words."""
        return f"denied: {self.scope(statement)}; a counterexample says nothing about other laws"

    def scope(self, statement: Any) -> str:
        """Return what is said of which energy, in words."""
        stated = self.read(statement)
        if self.says:
            return f"{_energy_in_words(stated)}: {self.says}"
        where = "on the unit sphere of ℝᵈ" if stated.space == "sphere" else "on ℝᵈ"
        least = 2 if stated.space == "sphere" else 1
        size = f"for every d ≥ {least}" if stated.dimension is None else f"d = {stated.dimension}"
        inside = "" if stated.domain.is_everything else f", laws with support in {stated.domain}"
        bound = "is convex" if not stated.modulus else f"has second derivative ≥ {stated.modulus}·|velocity|²"
        return (
            f"{_energy_in_words(stated)} {bound} along the geodesics of {METRICS[stated.metric.name]}, "
            f"{where}, {size}{inside}, for all laws of finite energy"
        )


def _energy_in_words(stated: StatedEnergy) -> str:
    pair, potential = stated.texts
    parts = [f"½∬({pair})dμdμ"] if pair else []
    parts += [f"∫({potential})dμ"] if potential else []
    values = [f"{name} = {shown(value)}" for name, value in stated.parameters.items()]
    if stated.metric.name == "twisted":
        for name, value in (("V", stated.metric.value), ("A", stated.metric.score)):
            text = f"{name} = {shown(value)}"
            values += [text] if text not in values else []
    return f"F = {' + '.join(parts) or '0'}{', ' if values else ''}{', '.join(values)}"


def shown(value: Any) -> str:
    """Return a value for readers."""
    if isinstance(value, Multiple):
        return (
            {1: "I", -1: "−I"}.get(int(value.factor), "") if abs(value.factor) == 1 else f"{value.factor}·I"
        )
    if isinstance(value, tuple):
        return "[" + "; ".join(" ".join(str(entry) for entry in row) for row in value) + "]"
    return str(value)


#: F = ½∬exp(⟨x, Ay⟩) and the twisted metric at V = I, A = −I
_TWISTED = {
    "pair": "exp(dot(x, A*y))",
    "potential": "",
    "parameters": {"A": {"identity": "-1"}},
    "space": "euclidean",
    "dimension": "d",
    "metric": {"name": "twisted", "V": {"identity": "1"}, "A": {"identity": "-1"}},
    "domain": {},
    "modulus": "0",
}

CONVEXITY = Convexity("convexity")
NON_CONVEXITY = Convexity(
    "CACP25/non-convexity",
    _TWISTED,
    "F is not convex along the geodesics of the twisted metric (formal second derivatives): on Diracs in "
    "every dimension d ≥ 1, and on n ≥ 2 atoms of equal weights, at the two atoms stated for d = 1, 2, 3 and "
    "for every n and d near a Dirac",
)
NO_UPPER_BOUND = Convexity(
    "CACP25/no-upper-bound",
    _TWISTED,
    "for every L the second derivative of F along a geodesic of the twisted metric (formal) exceeds L times "
    "the squared speed somewhere, already on Diracs, in every dimension d ≥ 1",
)

PROPOSITIONS = (CONVEXITY, NON_CONVEXITY, NO_UPPER_BOUND)
