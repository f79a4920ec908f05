r"""Theorems about the long time of the moment equations, at every size.

A statement is the record of :class:`LongTime` and nothing else: the shapes of the symbols, which matrices are
symmetric, what is assumed, and what is claimed of the system ``mean' = mean_rhs, covariance' = cov_rhs``. The
system is that of the closure theorem of the model with :math:`A := (\beta/\tau)K^\top Q` (softmax) or with
the scale absorbed in Q and K (ℓ2), for parameters that are constant in time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from symflow.certify.judgement import Judgement
from symflow.certify.propositions.proposition import Conjunction, Goal, Proposition, Theorem
from symflow.certify.rules.rule import Variables
from symflow.certify.terms import Terms
from symflow.errors import CertificateError

Record = Mapping[str, str]


@dataclass(frozen=True)
class LongTime(Theorem):
    """A theorem about one fixed system.

    Attributes
    ----------
    claim : str
        ``KEY/name``.
    words : str
        What is assumed, for readers; part of the scope.
    symbols : Mapping of str to tuple of str
        Shapes.
    conclusion : Mapping of str to str
        The judgement that a proof ends in.
    hypotheses : Mapping of str to Mapping
        Judgements by id, beside the signs of scalars.
    signs : Mapping of str to str
        Of scalars.
    symmetric : tuple of str
        Matrices that are symmetric, beside the covariance.
    time : str
        Name of the time variable where the proof needs one.
    """

    claim: str
    words: str
    symbols: Mapping[str, tuple[str, ...]]
    conclusion: Record
    hypotheses: Mapping[str, Record] = field(default_factory=dict)
    signs: Mapping[str, str] = field(default_factory=dict)
    symmetric: tuple[str, ...] = ()
    time: str = ""

    def __post_init__(self) -> None:
        if "kernel" in self.conclusion:  # the lemma on resolvents speaks of exactly these times
            gap = f"eye(r) - {self.time}*({self.conclusion['kernel']})"
            if self.hypotheses["domain"] != {"relation": "definite", "matrix": gap}:
                raise CertificateError(f"{self.claim}: the domain is not that of its resolvent")

    def record(self) -> dict[str, Any]:
        """Return the statement as stored in a certificate."""
        return {
            "symbols": {name: list(shape) for name, shape in self.symbols.items()},
            "symmetric": list(self.symmetric),
            "signs": dict(self.signs),
            "hypotheses": {name: dict(hypothesis) for name, hypothesis in self.hypotheses.items()},
            "conclusion": dict(self.conclusion),
            "time": self.time,
        }

    def scope(self, statement: Any) -> str:
        """Return what is assumed, in words.

        Raises
        ------
        CertificateError
            If the statement is not the one of the claim.
        """
        self.require_statement(statement, self.record())
        sizes = sorted({"d", *(size for shape in self.symbols.values() for size in shape)})
        return f"every size {', '.join(sizes)}; {self.words}; real parameters, constant in time"

    def goal(self, statement: Any, names: Mapping[str, str]) -> Goal:
        """Return the hypotheses and the conclusion of the claim."""
        self.scope(statement)
        variables = Variables(
            query="x",
            key="y",
            noise=names["noise"],
            mean="alpha",
            covariance="Sigma",
            factor=names["factor"],
            time=self.time,
        )
        vectors = dict.fromkeys(("x", "y", "alpha", variables.noise), ("d",))
        square = {"Sigma": ("d", "d"), variables.factor: ("d", "d")}
        own = {**vectors, **square, **({self.time: ()} if self.time else {})}
        if len(own) != 6 + bool(self.time) or set(own) & set(self.symbols):
            raise CertificateError("factor and noise need names of their own")
        signs = {**self.signs, **({self.time: "nonnegative"} if self.time else {})}
        terms = Terms({**self.symbols, **own}, signs, symmetric=("Sigma", *self.symmetric))
        factor = variables.factor
        known = {"covariance": {"relation": "equal", "left": "Sigma", "right": f"{factor}*{factor}.T"}}
        known |= {f"sign of {name}": {"relation": sign, "scalar": name} for name, sign in signs.items()}
        known |= {name: dict(hypothesis) for name, hypothesis in self.hypotheses.items()}
        hypotheses = {name: _judgement(terms, record) for name, record in known.items()}
        return Goal(terms, variables, hypotheses, _judgement(terms, self.conclusion))


def _judgement(terms: Terms, record: Record) -> Judgement:
    texts = {name: text for name, text in record.items() if name != "relation"}
    return Judgement(record["relation"], texts, {name: terms.read(text) for name, text in texts.items()})


_STRENGTH = "V*A + A.T*V.T"
_VALUE_AND_A = {"V": ("d", "d"), "A": ("d", "d")}


def _softmax(scores: str, value: str = "V") -> dict[str, str]:
    cov_rhs = f"{value}*Sigma*{scores}*Sigma + Sigma*{scores}.T*Sigma*{value}.T"
    return {"mean_rhs": f"{value}*(eye(d) + Sigma*{scores})*alpha", "cov_rhs": cov_rhs}


_SOFTMAX = _softmax("A")
_TILT = "inv(eye(d) + 2*Sigma*K.T*K)"


def _l2(queries: str, value: str) -> dict[str, str]:
    gradient = f"{value}*{_TILT}*Sigma*K.T*{queries}"
    mean_rhs = f"{value}*{_TILT}*(eye(d) + 2*Sigma*K.T*{queries})*alpha"
    return {"mean_rhs": mean_rhs, "cov_rhs": f"2*({gradient}*Sigma + ({gradient}*Sigma).T)"}


_FUNCTIONAL = {"functional": "tr(inv(V)*Sigma)"}
_RATE = {"strength": "a", "scale": "tr(inv(V)*inv(V))"}
_POSITIVE_VALUE = {"relation": "definite", "matrix": "V"}


def _scores(sign: str, matrix: str) -> dict[str, Record]:
    return {"value": _POSITIVE_VALUE, "scores": {"relation": sign, "matrix": matrix}}


_KERNEL = f"R.T*({_STRENGTH})*R"
_RESOLVENT: dict[str, Record] = {
    "domain": {"relation": "definite", "matrix": f"eye(r) - t*({_KERNEL})"},
    "commutes with the start": {"relation": "equal", "left": "V*R*R.T", "right": "R*R.T*V"},
    "commutes with the strength": {
        "relation": "equal",
        "left": f"V*({_STRENGTH})",
        "right": f"({_STRENGTH})*V",
    },
}
_COMMUTING = (
    "softmax attention; every start R Rᵀ ⪰ 0, singular or not; V commutes with R Rᵀ and with "
    f"S = {_STRENGTH}, which V = eye(d) does"
)


_MASSES = ("Z1", "Z2", "Z0", "R", "m", "c", "n", "e", "g")


def _same_limit(model: str, system: dict[str, str]) -> LongTime:
    return LongTime(
        "CACP25/l2-same-limit",
        f"{model} attention with V = eye(d), Q = -K; every mean, every covariance ⪰ 0; all t ≥ 0",
        {"K": ("k", "d"), "T": ("k", "k")},
        {"relation": "shorted-limit", "directions": "K", **system},
        {"section": {"relation": "semidefinite", "matrix": "T"}},
        symmetric=("T",),
    )


PROPOSITIONS: tuple[Proposition, ...] = (
    LongTime(
        "CACP25/bounded-positive",
        "softmax attention, V ≻ 0 symmetric, A + A.T ⪯ 0; every mean, every covariance ⪰ 0; all t ≥ 0",
        _VALUE_AND_A,
        {"relation": "bounded-flow", **_FUNCTIONAL, **_SOFTMAX},
        _scores("negative-semidefinite", "A + A.T"),
        symmetric=("V",),
    ),
    LongTime(
        "CACP25/limit-zero-positive",
        "softmax attention, V ≻ 0 symmetric, A + A.T ⪯ -a*eye(d) with a > 0, which some a satisfies if "
        "A + A.T ≺ 0; every mean, every covariance ⪰ 0; all t ≥ 0",
        {**_VALUE_AND_A, "a": ()},
        {"relation": "decay", **_FUNCTIONAL, **_RATE, **_SOFTMAX},
        _scores("negative-semidefinite", "A + A.T + a*eye(d)"),
        {"a": "positive"},
        ("V",),
    ),
    LongTime(
        "CACP25/blow-up-positive",
        "softmax attention, V ≻ 0 symmetric, A + A.T ⪰ a*eye(d) with a > 0; every covariance ⪰ 0 but 0",
        {**_VALUE_AND_A, "a": ()},
        {
            "relation": "escape",
            **_FUNCTIONAL,
            **_RATE,
            "cov_rhs": _SOFTMAX["cov_rhs"],
        },
        _scores("semidefinite", "A + A.T - a*eye(d)"),
        {"a": "positive"},
        ("V",),
    ),
    LongTime(
        "CACP25/bounded-adjoint",
        "softmax attention, any V, A = -V.T*P with P ≻ 0; every mean, every covariance ⪰ 0; all t ≥ 0",
        {"V": ("d", "d"), "P": ("d", "d")},
        {
            "relation": "bounded-flow",
            "functional": "tr(P*Sigma)",
            **{
                name: text.replace("A.T", "(-P*V)").replace("A", "(-V.T*P)")
                for name, text in _SOFTMAX.items()
            },
        },
        {"weight": {"relation": "definite", "matrix": "P"}},
        symmetric=("P",),
    ),
    LongTime(
        "CACP25/blow-up-time",
        f"{_COMMUTING}; t from 0 to the end of existence",
        {**_VALUE_AND_A, "R": ("d", "r")},
        {"relation": "resolvent-flow", "root": "R", "kernel": _KERNEL, **_SOFTMAX},
        _RESOLVENT,
        time="t",
    ),
    LongTime(
        "CACP25/low-rank-limit-commuting",
        f"{_COMMUTING}; S ⪯ 0; all t ≥ 0",
        {**_VALUE_AND_A, "R": ("d", "r")},
        {"relation": "projected-limit", "root": "R", "kernel": _KERNEL, **_SOFTMAX},
        {**_RESOLVENT, "strength": {"relation": "negative-semidefinite", "matrix": _STRENGTH}},
        time="t",
    ),
    LongTime(
        "CACP25/l2-no-blow-up",
        "l2 attention, P*K = eye(d), which some P satisfies if K is injective, |V| ≤ v, |Q| ≤ q, |P| ≤ p (p "
        "is least for P = K⁺); every mean, every covariance ⪰ 0; all times",
        {"V": ("d", "d"), "Q": ("k", "d"), "K": ("k", "d"), "P": ("d", "k"), "v": (), "q": (), "p": ()},
        {"relation": "exponential-bound", "rate": "p*q*v", **_l2("Q", "V")},
        {
            "left inverse": {"relation": "equal", "left": "P*K", "right": "eye(d)"},
            "value": {"relation": "norm", "matrix": "V", "bound": "v"},
            "query": {"relation": "norm", "matrix": "Q", "bound": "q"},
            "inverse": {"relation": "norm", "matrix": "P", "bound": "p"},
        },
        {"v": "nonnegative", "q": "nonnegative", "p": "nonnegative"},
    ),
    Conjunction(
        "CACP25/l2-same-limit",
        {
            "softmax": _same_limit("softmax", _softmax("(-K.T*K)", "eye(d)")),
            "l2": _same_limit("l2", _l2("(-K)", "eye(d)")),
        },
    ),
    LongTime(
        "CACP25/sinkhorn-decoupling",
        "Sinkhorn attention with epsilon > 0; every law with finite second moments, Gaussian or not",
        {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d"), "epsilon": (), "h": ("d",)},
        {
            "relation": "decoupled",
            "score": "dot(Q*x, K*y)/epsilon",
            "value": "V*y/epsilon",
            "mean_rhs": "V*alpha/epsilon",
            "slope": "V/epsilon",
        },
        signs={"epsilon": "positive"},
    ),
    LongTime(
        "CACP25/sinkhorn-bures-flow",
        "Sinkhorn attention with V = A symmetric, M = A/epsilon; every covariance ≻ 0; C the optimal "
        "cross-covariance, C = Sigma*M*S with S = Sigma - C*inv(Sigma)*C ≻ 0",
        dict.fromkeys(("M", "C", "S", "H"), ("d", "d")),
        {
            "relation": "bures-flow",
            "coupling": "C",
            "scores": "M",
            "gradient": "-(inv(S) - inv(Sigma) + inv(Sigma)*C*inv(S)*C*inv(Sigma))/4",
            "cov_rhs": "M*C + C*M",
        },
        {
            "covariance sign": {"relation": "definite", "matrix": "Sigma"},
            "residual sign": {"relation": "definite", "matrix": "S"},
            "residual": {"relation": "equal", "left": "S", "right": "Sigma - C*inv(Sigma)*C"},
            "optimality": {"relation": "equal", "left": "C", "right": "Sigma*M*S"},
        },
        symmetric=("M", "C", "S", "H"),
    ),
    LongTime(
        "CACP25/masked-sink",
        "masked softmax attention at any position and query, for two laws (1, 2) with one law of positions: "
        "N the integral of the value and Z that of the kernel over earlier positions; the first position "
        "has mass m > 0, its part of Z1 is m*Z0 with Z0 ≥ c > 0, the rest is R ≥ 0; |N1 - N2| ≤ n, |Z1 - "
        "Z2| ≤ e, the second velocity N2/Z2 is at most g",
        {**dict.fromkeys(("N1", "N2"), ("d",)), **dict.fromkeys(_MASSES, ())},
        {"relation": "norm", "matrix": "N1/Z1 - N2/Z2", "bound": "(n + e*g)/(m*c)"},
        {
            "split": {"relation": "equal", "left": "Z1", "right": "m*Z0 + R"},
            "kernel": {"relation": "nonnegative", "scalar": "Z0 - c"},
            "values": {"relation": "norm", "matrix": "N1 - N2", "bound": "n"},
            "masses": {"relation": "norm", "matrix": "(Z2 - Z1)*eye(d)", "bound": "e"},
            "velocity": {"relation": "norm", "matrix": "N2/Z2", "bound": "g"},
        },
        {name: "nonnegative" if name in "Rneg" else "positive" for name in _MASSES},
    ),
)
