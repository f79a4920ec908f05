r"""Propositions about attention that keeps Gaussians Gaussian.

The statement of a certificate is a record with the keys of :data:`_KEYS`: the model (heads, what is added to
them, diffusion, positions of a causal mask, all text of the small grammar), the shapes of its symbols, the
signs that scalars are assumed to have, the claimed system

.. math:: \alpha' = b(\alpha, \Sigma), \qquad \Sigma' = R(\alpha, \Sigma),

and the domain: every covariance, or those with :math:`\lambda_{\max}(\Sigma^{1/2} C \Sigma^{1/2}) < 1`,
where C is the second derivative of the score of a head in the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import (
    Identity,
    Integer,
)

from symflow.algebra.grammar import to_text
from symflow.certify.judgement import Judgement
from symflow.certify.names import is_fixed_size
from symflow.certify.propositions.heads import AveragedHead, read_heads, velocity
from symflow.certify.propositions.proposition import Conjunction, Goal, Proposition, Theorem, require_keys
from symflow.certify.rules.rule import Variables
from symflow.certify.terms import (
    Terms,
    as_scalar,
    is_matrix,
    loose_names,
    multiply,
    quadratic,
    shape_of,
    total,
)
from symflow.errors import CertificateError

_ROLES = ("query", "key", "mean", "covariance")
_TEXTS = (*_ROLES, "output", "diffusion", "mean_rhs", "cov_rhs")
_KEYS = frozenset((*_TEXTS, "heads", "positions", "symbols", "signs", "domain"))
MAX_SYMBOLS = 100
_SIGNS = {"nonnegative": "≥ 0", "positive": "> 0"}
_MOMENTS = {"second": ("d", "d"), "first": ("d",), "mass": ("1", "1")}


def read_statement(statement: Any) -> dict[str, Any]:
    """Return the stored statement, its heads read, after checking keys and types.

    Raises
    ------
    CertificateError
        Naming the key and what it must be.
    """
    require_keys(statement, _KEYS)
    for key in _TEXTS:
        if not isinstance(statement[key], str):
            raise CertificateError(f"statement: {key!r} must be text")
    domain = statement["domain"]
    if domain is not None and not isinstance(domain, str):
        raise CertificateError("statement: 'domain' must be null or the text of the matrix C")
    _check_symbols(statement["symbols"], statement["signs"])
    heads = read_heads(statement["heads"], statement["symbols"])
    _check_positions(statement["positions"], heads)
    return {**statement, "heads": heads}


def _check_positions(positions: Any, heads: tuple[AveragedHead, ...]) -> None:
    """Positions are null, or the names of the moments of all positions up to the own one."""
    if positions is None:
        return
    known = isinstance(positions, Mapping) and set(positions) == set(_MOMENTS)
    if not known or not all(isinstance(name, str) for name in positions.values()):
        raise CertificateError(f"statement: 'positions' is null, or has names for {', '.join(_MOMENTS)}")
    if any(head.normalise != "none" for head in heads):
        raise CertificateError("statement: under a mask normalised weights average over several Gaussians")


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


def terms_of(record: Mapping[str, Any], extra: Mapping[str, tuple[str, ...]]) -> Terms:
    """Return the symbol table of a statement, with the symbols ``extra`` of the proof."""
    shapes: dict[str, tuple[str, ...]] = {name: tuple(shape) for name, shape in record["symbols"].items()}
    heads: tuple[AveragedHead, ...] = record["heads"]
    own: list[tuple[str, tuple[str, ...]]] = [(record[role], ("d",)) for role in ("query", "key", "mean")]
    own += [(record["covariance"], ("d", "d")), *((head.average, ("d",)) for head in heads), *extra.items()]
    own += [(name, _MOMENTS[role]) for role, name in (record["positions"] or {}).items()]
    names = [name for name, _ in own]
    if len(set(names)) < len(names) or set(names) & set(shapes):
        raise CertificateError(
            "statement: query, key, mean, covariance, averages, moments, factor and parameters need distinct "
            "names"
        )
    behind = frozenset(names) - {record["key"], *(head.average for head in heads), *extra} | frozenset(shapes)
    return Terms(
        {**shapes, **dict(own)},
        record["signs"],
        symmetric=(record["covariance"], *([record["positions"]["second"]] if record["positions"] else [])),
        families=tuple(head.family for head in heads if head.family is not None),
        depending={head.average: behind for head in heads},
    )


def parameters_of(record: Mapping[str, Any]) -> set[str]:
    """Return the names of parameters and sizes."""
    counts = {head.count for head in record["heads"] if head.count is not None}
    return {
        *record["symbols"],
        *(size for shape in record["symbols"].values() for size in shape),
        "d",
        *counts,
    }


def members_of(record: Mapping[str, Any]) -> set[str]:
    """Return the names that stand for matrices of one of several heads."""
    return {name for head in record["heads"] if head.family is not None for name in head.family.members}


def require_names(terms: Terms, expr: Any, allowed: Iterable[str], what: str) -> None:
    """Refuse other names, and averages even under a sum: what they are follows from the statement."""
    hidden = {symbol.name for symbol in expr.free_symbols} & terms.abbreviations
    found = sorted(loose_names(expr) - set(allowed) | hidden)
    if found:
        raise CertificateError(f"statement: {what} must not contain {', '.join(found)}")


def unused_name(name: str, record: Mapping[str, Any]) -> str:
    """Return ``name``, lengthened until the statement does not use it."""
    taken = parameters_of(record) | {record[role] for role in _ROLES}
    taken |= {head.average for head in record["heads"]} | set((record["positions"] or {}).values())
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
    _conclusion: tuple[str, ...] = ("gaussian-solution", "diffusion", "mean_rhs", "cov_rhs")

    def goal(self, statement: Any, names: Mapping[str, str]) -> Goal:
        """Return averages, covariance, signs, domain as hypotheses, the Gaussian solution as conclusion."""
        record = read_statement(statement)
        if set(names) != {"factor", "noise"}:
            raise CertificateError("the proof must name its 'factor' and its 'noise'")
        factor, noise = names["factor"], names["noise"]
        shapes = {factor: ("d", "d"), noise: ("d",)}
        if len(shapes) < 2:
            raise CertificateError("factor and noise need distinct names")
        terms = terms_of(record, shapes)
        variables = Variables(
            **{role: record[role] for role in _ROLES},
            noise=noise,
            factor=factor,
            moments=tuple(record["positions"][role] for role in _MOMENTS) if record["positions"] else (),
        )
        self._check_model(terms, record)
        hypotheses = self._hypotheses(terms, record, variables)
        relation, *fields = self._conclusion
        own = {field: record[field] for field in fields}
        text = to_text(velocity(terms, record["heads"], record["output"]))
        return Goal(terms, variables, hypotheses, _judgement(terms, relation, velocity=text, **own))

    def _check_model(self, terms: Terms, record: Mapping[str, Any]) -> None:
        shared = parameters_of(record) - members_of(record)
        state = {record["mean"], record["covariance"], *(record["positions"] or {}).values()}
        allowed = {"output": {record["query"]}, "diffusion": set(), "mean_rhs": state, "cov_rhs": state}
        for field, names in allowed.items():
            require_names(terms, terms.read(record[field]), shared | names, field)
        if is_matrix(terms.read(record["diffusion"])):
            raise CertificateError("statement: the diffusion must be a scalar")
        for head in record["heads"]:
            own = shared | set(head.members)
            require_names(
                terms, terms.read(head.kernel), own | {record["query"], record["key"]}, "the kernel"
            )
            require_names(terms, terms.read(head.value), own | {record["key"]}, "the value")
            require_names(terms, terms.read(head.prefactor), shared, "the prefactor")
            for text in (head.kernel, head.value, head.prefactor):
                terms.require_defined(text)
            if is_matrix(terms.read(head.kernel)) or is_matrix(terms.read(head.prefactor)):
                raise CertificateError("statement: kernel and prefactor must be scalars")
            if shape_of(terms.read(head.value)) != shape_of(terms.symbols[head.average]):
                raise CertificateError("statement: the value must be a vector of size d")

    def _hypotheses(self, terms: Terms, record: Mapping[str, Any], names: Variables) -> dict[str, Judgement]:
        covariance, factor = to_text(terms.symbols[names.covariance]), to_text(terms.symbols[names.factor])
        found = {"covariance": _judgement(terms, "equal", left=covariance, right=f"{factor}*{factor}.T")}
        for name, sign in record["signs"].items():
            found[f"sign of {name}"] = _judgement(terms, sign, scalar=to_text(terms.symbols[name]))
        for head in record["heads"]:
            relation, fields = head.hypothesis(terms)
            found[f"average {head.average}"] = _judgement(terms, relation, **fields)
        if record["domain"] is not None:
            self._check_domain(record)
            matrix = f"eye(d) - {factor}.T*({record['domain']})*{factor}"
            found["domain"] = _judgement(terms, "definite", matrix=matrix)
        return found

    def _check_domain(self, record: Mapping[str, Any]) -> None:
        step = unused_name("h", record)
        terms = terms_of(record, {step: ("d",)})
        tilt = terms.read(record["domain"])
        require_names(terms, tilt, parameters_of(record) - members_of(record), "the domain")
        terms.require_defined(record["domain"])
        if not is_matrix(tilt) or tilt.shape != Identity(terms.symbols["d"]).shape:
            raise CertificateError("statement: the domain must be a d × d matrix")
        key, move = terms.symbols[record["key"]], terms.symbols[step]
        stated = [head.hypothesis(terms)[1] for head in record["heads"] if head.normalise == "softmax"]
        scores = [terms.read(fields["score"]) for fields in stated]
        if not any(_is_second_derivative(terms, score, key, move, tilt) for score in scores):
            raise CertificateError("statement: the domain is not the second derivative of a score in the key")

    def scope(self, statement: Any) -> str:
        """Return sizes, states, parameters and time interval in words."""
        record = read_statement(statement)
        counts = {head.count for head in record["heads"] if head.count is not None}
        sizes = sorted({"d", *(size for shape in record["symbols"].values() for size in shape)} - counts)
        free = [size for size in sizes if not is_fixed_size(size)]
        fixed = [size for size in sizes if is_fixed_size(size)]
        signs = [f"{name} {_SIGNS[sign]}" for name, sign in sorted(record["signs"].items())]
        where, until = _where(record)
        parts = [
            f"every size {', '.join(free)}" + (f", others fixed to {', '.join(fixed)}" if fixed else ""),
            *(f"every number {count} of heads" for count in sorted(counts)),
            *_position_words(record),
            f"every mean {record['mean']}",
            where,
            until,
            "real parameters, constant or continuous in time" + (f", {', '.join(signs)}" if signs else ""),
            "uniqueness among solutions that are not Gaussian is not claimed",
        ]
        return "; ".join(parts)


def _where(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return covariances and times of the claim in words."""
    covariance = record["covariance"]
    if record["domain"] is None:
        return (
            f"every covariance {covariance} ⪰ 0, singular or not",
            "the maximal interval of existence of the system",
        )
    root = f"{covariance}^(1/2)"
    return (
        f"every {covariance} ⪰ 0 with λ_max({root} ({record['domain']}) {root}) < 1",
        "times up to the first exit from that domain or the end of existence",
    )


def _position_words(record: Mapping[str, Any]) -> list[str]:
    """Return what the moments of positions mean, where there is a mask."""
    if record["positions"] is None:
        return []
    second, first, mass = (record["positions"][role] for role in _MOMENTS)
    mean, covariance = record["mean"], record["covariance"]
    moments = (
        f"at position s {second}, {first}, {mass} are the sums over τ ≤ s of θ_τ times "
        f"{covariance} + {mean} {mean}ᵀ, {mean}, 1 at τ"
    )
    return ["every number of positions with fixed weights θ ≥ 0, one Gaussian law at each", moments]


def _judgement(terms: Terms, relation: str, **texts: str) -> Judgement:
    return Judgement(relation, texts, {field: terms.read(text) for field, text in texts.items()})


class RankInvariance(GaussianPreservation):
    """``rank-invariance``: the Gaussian solution keeps the rank of its covariance in finite time."""

    claim = "rank-invariance"
    _conclusion = ("constant-rank", "mean_rhs", "cov_rhs")

    def goal(self, statement: Any, names: Mapping[str, str]) -> Goal:
        """Return the goal; noise fills every direction, so that the claim is about models without."""
        goal = super().goal(statement, names)
        if not goal.terms.same(goal.terms.read(statement["diffusion"]), Integer(0)):
            raise CertificateError("statement: with noise the rank is not constant")
        return goal


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
        record, quoted = read_statement(statement), read_statement(self.text)
        for key in (*_ROLES, "domain", "signs", "positions"):
            if record[key] != quoted[key]:
                raise CertificateError(
                    f"statement: {key} = {record[key]!r}, but {self.claim} has {quoted[key]!r}"
                )
        shapes = [{name: tuple(shape) for name, shape in r["symbols"].items()} for r in (record, quoted)]
        if shapes[0] != shapes[1]:
            raise CertificateError(f"statement: the symbols and shapes are not those of {self.claim}")
        self._compare_heads(record["heads"], quoted["heads"])
        terms = terms_of(record, {})
        pairs = [(key, record[key], quoted[key]) for key in ("output", "diffusion", "mean_rhs", "cov_rhs")]
        for one, other in zip(record["heads"], quoted["heads"], strict=True):
            pairs += [
                (key, getattr(one, key), getattr(other, key)) for key in ("kernel", "value", "prefactor")
            ]
        for key, stated, known in pairs:
            if not terms.same(terms.read(stated), terms.read(known)):
                raise CertificateError(f"statement: {key} = {stated}, but {self.claim} has {known}")
        return self.general.goal(statement, names)

    def _compare_heads(self, stated: tuple[AveragedHead, ...], known: tuple[AveragedHead, ...]) -> None:
        fixed = [
            [(head.average, head.normalise, sorted(head.members), head.count) for head in heads]
            for heads in (stated, known)
        ]
        if fixed[0] != fixed[1]:
            raise CertificateError(
                "statement: averages, normalise, members and count of the heads are not those of "
                f"{self.claim}"
            )

    def scope(self, statement: Any) -> str:
        """Return the scope of the general proposition."""
        return self.general.scope(statement)


_SCORE = "beta/temperature*dot(Q*x, K*y)"
_A = "(beta/temperature)*K.T*Q"
_TILT = "inv(eye(d) + 2*(beta/temperature)*Sigma*K.T*K)"
_GAIN = f"2*Sigma*({_A})*inv(eye(d) + sqrtm(eye(d) + 4*Sigma*({_A}).T*Sigma*({_A})))"


def _lyapunov(gradient: str) -> str:
    return f"{gradient}*Sigma + Sigma*({gradient}).T"


def _quoted(kernel: str, normalise: str, mean_rhs: str, cov_rhs: str, **changes: Any) -> dict[str, Any]:
    """Return the statement of a model with one head of value Vy and the parameters Q, K, V."""
    own = {"average": "m", "kernel": kernel, "value": "V*y", "normalise": normalise, "prefactor": "1"}
    head = {**own, "members": [], "count": None, **changes.pop("head", {})}
    return {
        "query": "x",
        "key": "y",
        "mean": "alpha",
        "covariance": "Sigma",
        "heads": [head],
        "output": "zeros(d, 1)",
        "diffusion": "0",
        "positions": None,
        "symbols": {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d"), "beta": (), "temperature": ()},
        "signs": {"beta": "nonnegative", "temperature": "positive"},
        "domain": None,
        "mean_rhs": mean_rhs,
        "cov_rhs": cov_rhs,
        **changes,
    }


SOFTMAX = _quoted(
    f"exp({_SCORE})",
    "softmax",
    f"V*(eye(d) + Sigma*{_A})*alpha",
    "(beta/temperature)*(V*Sigma*K.T*Q*Sigma + Sigma*Q.T*K*Sigma*V.T)",
)
L2 = _quoted(
    "exp(-beta/temperature*norm2(Q*x - K*y))",
    "softmax",
    f"V*{_TILT}*(eye(d) + 2*Sigma*{_A})*alpha",
    _lyapunov(f"2*V*{_TILT}*Sigma*{_A}"),
)
LINEAR = _quoted(
    _SCORE,
    "none",
    f"V*(Sigma + alpha*alpha.T)*{_A}*alpha",
    _lyapunov(f"V*(Sigma + alpha*alpha.T)*{_A}"),
)
SINKHORN = _quoted(
    f"exp({_SCORE})",
    "sinkhorn",
    "V*alpha/temperature",
    _lyapunov(f"1/temperature*V*{_GAIN}"),
    head={"prefactor": "1/temperature"},
)
MULTIHEAD = _quoted(
    f"exp({_SCORE})",
    "softmax",
    f"sum(V*(eye(d) + Sigma*{_A})*alpha, H, Q, K, V)",
    _lyapunov(f"sum(V*Sigma*{_A}, H, Q, K, V)"),
    head={"members": ["Q", "K", "V"], "count": "H"},
)
MASKED_LINEAR = _quoted(
    _SCORE,
    "none",
    f"V*M2*{_A}*alpha",
    _lyapunov(f"V*M2*{_A}"),
    positions={"second": "M2", "first": "M1", "mass": "M0"},
)
_CLOSED = {
    "softmax": SOFTMAX,
    "l2": L2,
    "linear": LINEAR,
    "sinkhorn": SINKHORN,
    "multihead": MULTIHEAD,
    "masked-linear": MASKED_LINEAR,
}

PROPOSITIONS: tuple[Proposition, ...] = (
    GaussianPreservation(),
    RankInvariance(),
    *(
        Quoted(f"CACP25/{'' if name == 'masked-linear' else 'gaussian-'}{name}", GaussianPreservation(), text)
        for name, text in _CLOSED.items()
    ),
    Conjunction(
        "CACP25/rank-invariance",
        {name: Quoted("CACP25/rank-invariance", RankInvariance(), text) for name, text in _CLOSED.items()},
    ),
)
