r"""Propositions about softmax-normalised attention on Gaussians.

The statement of a certificate is a record with the keys of :data:`_KEYS`: the model (score, value, output,
normalisation, all text of the small grammar), the shapes of its symbols, the signs that scalars are assumed
to have, the claimed system

.. math:: \alpha' = b(\alpha, \Sigma), \qquad \Sigma' = R(\alpha, \Sigma),

and the domain: every covariance, or those with :math:`\lambda_{\max}(\Sigma^{1/2} C \Sigma^{1/2}) < 1`,
where C is the second derivative of the score in the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Identity

from symflow.algebra.grammar import to_text
from symflow.certify.judgement import Judgement
from symflow.certify.names import is_fixed_size
from symflow.certify.propositions.proposition import Conjunction, Goal, Proposition, Theorem
from symflow.certify.rules.rule import Variables
from symflow.certify.terms import Terms, as_scalar, is_matrix, multiply, quadratic, total
from symflow.errors import CertificateError

_TEXTS = (
    "query",
    "key",
    "mean",
    "covariance",
    "score",
    "value",
    "output",
    "normalise",
    "mean_rhs",
    "cov_rhs",
)
_KEYS = frozenset((*_TEXTS, "symbols", "signs", "domain"))
MAX_SYMBOLS = 100
_SIGNS = {"nonnegative": "≥ 0", "positive": "> 0"}


def read_statement(statement: Any) -> dict[str, Any]:
    """Return the stored statement after checking keys and types.

    Raises
    ------
    CertificateError
        Naming the key and what it must be.
    """
    if not isinstance(statement, Mapping) or set(statement) != _KEYS:
        raise CertificateError(f"the statement must have exactly the keys {', '.join(sorted(_KEYS))}")
    for key in _TEXTS:
        if not isinstance(statement[key], str):
            raise CertificateError(f"statement: {key!r} must be text")
    if statement["normalise"] != "softmax":
        raise CertificateError(
            f"statement: normalise = {statement['normalise']!r}; only 'softmax' has a rule"
        )
    domain = statement["domain"]
    if domain is not None and not isinstance(domain, str):
        raise CertificateError("statement: 'domain' must be null or the text of the matrix C")
    _check_symbols(statement["symbols"], statement["signs"])
    return dict(statement)


def _check_symbols(symbols: Any, signs: Any) -> None:
    if not isinstance(symbols, Mapping) or not isinstance(signs, Mapping):
        raise CertificateError("statement: 'symbols' and 'signs' must be objects")
    for name, shape in symbols.items():
        if (
            not isinstance(shape, (list, tuple))
            or len(shape) > 2
            or not all(isinstance(s, str) for s in shape)
        ):
            raise CertificateError(
                f"statement: the shape of {name!r} must be a list of at most two size names"
            )
    if len(symbols) > MAX_SYMBOLS:
        raise CertificateError(f"statement: more than {MAX_SYMBOLS} symbols")
    for name, sign in signs.items():
        if sign not in tuple(_SIGNS) or symbols.get(name) is None or len(symbols[name]) > 0:
            raise CertificateError(
                f"statement: sign {sign!r} of {name!r}: give nonnegative or positive, for a scalar"
            )


def _terms(statement: Mapping[str, Any], extra: Mapping[str, tuple[str, ...]]) -> Terms:
    shapes: dict[str, tuple[str, ...]] = {name: tuple(shape) for name, shape in statement["symbols"].items()}
    tokens = {statement[role]: ("d",) for role in ("query", "key", "mean")}
    own = {**tokens, statement["covariance"]: ("d", "d"), **extra}
    if len(own) != 4 + len(extra) or set(own) & set(shapes):
        raise CertificateError(
            "statement: query, key, mean, covariance, factor and parameters need distinct names"
        )
    return Terms({**shapes, **own}, statement["signs"], symmetric=(statement["covariance"],))


def _parameters(record: Mapping[str, Any]) -> set[str]:
    """Return the names of parameters and sizes."""
    return {*record["symbols"], *(size for shape in record["symbols"].values() for size in shape), "d"}


def _require_names(terms: Terms, expr: Any, allowed: set[str], what: str) -> None:
    found = sorted(terms.depends_on(expr) - allowed)
    if found:
        raise CertificateError(f"statement: {what} must not contain {', '.join(found)}")


def _unused(name: str, record: Mapping[str, Any]) -> str:
    """Return ``name``, lengthened until the statement does not use it."""
    taken = _parameters(record) | {record[role] for role in ("query", "key", "mean", "covariance")}
    while name in taken:
        name += "_"
    return name


def _is_second_derivative(terms: Terms, score: Any, key: Any, step: Any, tilt: Any) -> bool:
    """``s(x, y + h) + s(x, y − h) − 2s(x, y) = hᵀCh`` with C symmetric, h = ``step``."""
    moved = [score.xreplace({key: total([key, multiply(sign, step)])}) for sign in (1, -1)]
    difference = total([*(as_scalar(s) for s in moved), -2 * as_scalar(score)])
    return terms.same(difference, quadratic(step, tilt)) and terms.same(tilt, tilt.T)


class GaussianPreservation(Theorem):
    """``gaussian-preservation``: the Gaussian with the claimed moments solves the transport equation."""

    claim = "gaussian-preservation"
    _relation = "gaussian-solution"

    def goal(self, statement: Any, names: Mapping[str, str]) -> Goal:
        """Return the covariance, signs and domain as hypotheses, the Gaussian solution as conclusion."""
        record = read_statement(statement)
        if set(names) != {"factor", "noise"}:
            raise CertificateError("the proof must name its 'factor' and its 'noise'")
        factor, noise = names["factor"], names["noise"]
        shapes = {factor: ("d", "d"), noise: ("d",)}
        if len(shapes) < 2:
            raise CertificateError("factor and noise need distinct names")
        terms = _terms(record, shapes)
        variables = Variables(
            query=record["query"],
            key=record["key"],
            noise=noise,
            mean=record["mean"],
            covariance=record["covariance"],
            factor=factor,
        )
        self._check_model(terms, record)
        hypotheses = self._hypotheses(terms, record, variables)
        return Goal(terms, variables, hypotheses, self._conclusion(terms, record))

    def _conclusion(self, terms: Terms, record: Mapping[str, Any]) -> Judgement:
        fields = ("score", "value", "output", "mean_rhs", "cov_rhs")
        return _judgement(terms, self._relation, **{field: record[field] for field in fields})

    def _check_model(self, terms: Terms, record: Mapping[str, Any]) -> None:
        parameters = _parameters(record)
        query, key = record["query"], record["key"]
        for field, allowed in (
            ("score", {query, key}),
            ("value", {key}),
            ("output", set()),
            ("mean_rhs", {record["mean"], record["covariance"]}),
            ("cov_rhs", {record["mean"], record["covariance"]}),
        ):
            expr = terms.read(record[field])
            _require_names(terms, expr, parameters | allowed, field)
        if is_matrix(terms.read(record["score"])):
            raise CertificateError("statement: the score must be a scalar")

    def _hypotheses(self, terms: Terms, record: Mapping[str, Any], names: Variables) -> dict[str, Judgement]:
        covariance, factor = to_text(terms.symbols[names.covariance]), to_text(terms.symbols[names.factor])
        found = {"covariance": _judgement(terms, "equal", left=covariance, right=f"{factor}*{factor}.T")}
        for name, sign in record["signs"].items():
            found[f"sign of {name}"] = _judgement(terms, sign, scalar=to_text(terms.symbols[name]))
        if record["domain"] is not None:
            self._check_domain(record)
            matrix = f"eye(d) - {factor}.T*({record['domain']})*{factor}"
            found["domain"] = _judgement(terms, "definite", matrix=matrix)
        return found

    def _check_domain(self, record: Mapping[str, Any]) -> None:
        step = _unused("h", record)
        terms = _terms(record, {step: ("d",)})
        tilt, score = terms.read(record["domain"]), terms.read(record["score"])
        _require_names(terms, tilt, _parameters(record), "the domain")
        terms.require_defined(record["domain"])
        if not is_matrix(tilt) or tilt.shape != Identity(terms.symbols["d"]).shape:
            raise CertificateError("statement: the domain must be a d × d matrix")
        symbols = terms.symbols
        if not _is_second_derivative(terms, score, symbols[record["key"]], symbols[step], tilt):
            raise CertificateError(
                "statement: the domain is not the second derivative of the score in the key"
            )

    def scope(self, statement: Any) -> str:
        """Return sizes, states, parameters and time interval in words."""
        record = read_statement(statement)
        sizes = sorted({"d", *(size for shape in record["symbols"].values() for size in shape)})
        free = [size for size in sizes if not is_fixed_size(size)]
        fixed = [size for size in sizes if is_fixed_size(size)]
        mean, covariance = record["mean"], record["covariance"]
        where = f"every covariance {covariance} ⪰ 0, singular or not"
        until = "the maximal interval of existence of the system"
        if record["domain"] is not None:
            root = f"{covariance}^(1/2)"
            where = f"every {covariance} ⪰ 0 with λ_max({root} ({record['domain']}) {root}) < 1"
            until = "times up to the first exit from that domain or the end of existence"
        signs = [f"{name} {_SIGNS[sign]}" for name, sign in sorted(record["signs"].items())]
        parts = [
            f"every size {', '.join(free)}" + (f", others fixed to {', '.join(fixed)}" if fixed else ""),
            f"every mean {mean}",
            where,
            until,
            "real parameters, constant or continuous in time" + (f", {', '.join(signs)}" if signs else ""),
            "uniqueness among solutions that are not Gaussian is not claimed",
        ]
        return "; ".join(parts)


def _judgement(terms: Terms, relation: str, **texts: str) -> Judgement:
    return Judgement(relation, texts, {field: terms.read(text) for field, text in texts.items()})


class RankInvariance(GaussianPreservation):
    """``rank-invariance``: the Gaussian solution keeps the rank of its covariance in finite time."""

    claim = "rank-invariance"
    _relation = "constant-rank"


@dataclass(frozen=True)
class Quoted(Theorem):
    """A theorem of the literature: a general proposition at one fixed model and one fixed system.

    Attributes
    ----------
    claim : str
        ``KEY/name``.
    general : Theorem
        What is proved.
    text : Mapping
        The statement as in the paper; a certificate must state the same up to normal form.
    """

    claim: str
    general: Theorem
    text: Mapping[str, Any]

    def goal(self, statement: Any, names: Mapping[str, str]) -> Goal:
        """Return the goal of the general proposition after comparing the statement with the quoted one."""
        record = read_statement(statement)
        for key in ("query", "key", "mean", "covariance", "normalise", "domain", "signs"):
            if record[key] != self.text[key]:
                raise CertificateError(
                    f"statement: {key} = {record[key]!r}, but {self.claim} has {self.text[key]!r}"
                )
        if {name: tuple(shape) for name, shape in record["symbols"].items()} != dict(self.text["symbols"]):
            raise CertificateError(f"statement: the symbols and shapes are not those of {self.claim}")
        terms = _terms(record, {})
        for key in ("score", "value", "output", "mean_rhs", "cov_rhs"):
            if not terms.same(terms.read(record[key]), terms.read(self.text[key])):
                raise CertificateError(
                    f"statement: {key} = {record[key]}, but {self.claim} has {self.text[key]}"
                )
        return self.general.goal(statement, names)

    def scope(self, statement: Any) -> str:
        """Return the scope of the general proposition."""
        return self.general.scope(statement)


_QK = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d"), "beta": (), "temperature": ()}
_COMMON = {
    "query": "x",
    "key": "y",
    "mean": "alpha",
    "covariance": "Sigma",
    "value": "V*y",
    "output": "zeros(d, 1)",
    "normalise": "softmax",
    "symbols": _QK,
    "signs": {"beta": "nonnegative", "temperature": "positive"},
    "domain": None,
}
_TILT = "inv(eye(d) + 2*(beta/temperature)*Sigma*K.T*K)"

SOFTMAX = {
    **_COMMON,
    "score": "beta/temperature*dot(Q*x, K*y)",
    "mean_rhs": "V*(eye(d) + (beta/temperature)*Sigma*K.T*Q)*alpha",
    "cov_rhs": "(beta/temperature)*(V*Sigma*K.T*Q*Sigma + Sigma*Q.T*K*Sigma*V.T)",
}
L2 = {
    **_COMMON,
    "score": "-beta/temperature*norm2(Q*x - K*y)",
    "mean_rhs": f"V*{_TILT}*(eye(d) + 2*(beta/temperature)*Sigma*K.T*Q)*alpha",
    "cov_rhs": (f"2*(beta/temperature)*(V*{_TILT}*Sigma*K.T*Q*Sigma + (V*{_TILT}*Sigma*K.T*Q*Sigma).T)"),
}

PROPOSITIONS: tuple[Proposition, ...] = (
    GaussianPreservation(),
    RankInvariance(),
    Quoted("CACP25/gaussian-softmax", GaussianPreservation(), SOFTMAX),
    Quoted("CACP25/gaussian-l2", GaussianPreservation(), L2),
    Conjunction(
        "CACP25/rank-invariance",
        {
            "softmax": Quoted("CACP25/rank-invariance", RankInvariance(), SOFTMAX),
            "l2": Quoted("CACP25/rank-invariance", RankInvariance(), L2),
        },
    ),
)
