"""Instance: a theorem about the long time, applied to one law.

The proof object is

    {"closure": identity chain, "theorem": id, "chain": identity chain,
     "symbols": {"V": "V", "A": "beta*K.T*Q", "a": "1/2"}}

with the closed system of the model, a theorem at symbolic size with its own proof, and for every symbol of
the theorem a text in the parameters of the model, or a value: a number p/q, or rows of them, for what the
theorem says exists. The replay proves the theorem, compares the two systems by their normal forms, and
decides every hypothesis in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from symflow.certify.certificate import Certificate
from symflow.certify.fate import BLOW_UP, GLOBAL, ClosedLaw, closed_law, mean_at_rest
from symflow.certify.kinds.identity_chain import run_chain
from symflow.certify.propositions import propositions
from symflow.certify.propositions.equations import same_system
from symflow.certify.propositions.law import Law
from symflow.certify.propositions.long_time import LongTime
from symflow.certify.rational import (
    FIELD,
    Evaluator,
    is_matrix,
    is_semidefinite,
    is_symmetric,
    matrix_of,
    rational,
)
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.terms import Rejected
from symflow.errors import InputError

_KEYS = frozenset(("closure", "theorem", "chain", "symbols"))
#: what conclusions of theorems say about every law that satisfies the hypotheses
_FATES = {"bounded-flow": GLOBAL, "decay": GLOBAL, "exponential-bound": GLOBAL, "escape": BLOW_UP}
_WORDS = {GLOBAL: "the covariance exists for all t ≥ 0", BLOW_UP: "the covariance blows up in finite time"}


class Instance(ProofKind):
    """Blow-up, existence and limit of a covariance to which a theorem applies."""

    name = "instance"

    def replay(self, certificate: Certificate) -> Replay:
        """Check closure and theorem, that the systems agree, and the hypotheses at the stated numbers."""
        lines: list[ReplayedLine] = []
        try:
            proof = certificate.proof
            if set(proof) != _KEYS:
                raise Rejected(f"an instance has the keys {', '.join(sorted(_KEYS))}")
            closed = closed_law(certificate, proof["closure"])
            mean_at_rest(closed.law)
            lines += closed.lines
            theorem, assumes = _theorem(proof, lines)
            used = _Used(theorem, closed, proof["symbols"])
            lines.append(ReplayedLine("system", used.agree(), "normal forms", True))
            lines += [
                ReplayedLine(f"H{k}", text, "exact", True) for k, text in enumerate(used.hypotheses(), 1)
            ]
            said, status = _conclusion(theorem, closed.law)
            lines.append(ReplayedLine("end", said, f"by {theorem.claim}", True))
            if certificate.status != status:
                raise Rejected(f"{said}: the claim is {status}")
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        witness = {"theorem": theorem.claim, **used.witness, "end": said}
        return Replay(True, tuple(lines), assumes=tuple(sorted(closed.assumes | assumes)), witness=witness)


def _theorem(proof: Mapping[str, Any], lines: list[ReplayedLine]) -> tuple[LongTime, set[str]]:
    theorem = propositions().get(proof["theorem"]) if isinstance(proof["theorem"], str) else None
    if not isinstance(theorem, LongTime) or theorem.conclusion["relation"] not in _FATES:
        raise Rejected(f"{proof['theorem']!r} is not a theorem that decides how a law ends")
    shown = run_chain(theorem, theorem.record(), proof["chain"])
    if not shown.accepted:
        raise Rejected(f"{theorem.claim} is not shown: {shown.reason}")
    lines += [ReplayedLine(f"theorem.{line.id}", line.statement, line.reason, True) for line in shown.lines]
    return theorem, set(shown.assumes)


class _Used:
    """A theorem with values for its symbols."""

    def __init__(self, theorem: LongTime, closed: ClosedLaw, symbols: Any) -> None:
        if not isinstance(symbols, Mapping) or set(symbols) != set(theorem.symbols):
            raise Rejected(f"'symbols' must give {', '.join(theorem.symbols)}")
        self._theorem, self._law, self._symbols = theorem, closed.law, symbols
        self._sizes = dict(closed.law.sizes)
        self._value = Evaluator(closed.law.values, closed.law.sizes)
        self._values = {name: self._read(name, shape) for name, shape in theorem.symbols.items()}

    @property
    def witness(self) -> dict[str, str]:
        """What the symbols of the theorem stand for."""
        return {name: str(given) for name, given in self._symbols.items()}

    def _read(self, name: str, shape: tuple[str, ...]) -> Any:
        given = self._symbols[name]
        if isinstance(given, (list, tuple)):
            wanted = tuple(self._sizes[size] for size in shape)
            if len(wanted) != 2:
                raise Rejected(f"{name} is not a matrix")
            return matrix_of(given, (wanted[0], wanted[1]), rational, name)
        if not isinstance(given, str):
            raise Rejected(f"{name} must be a text or rows of numbers")
        value = self._value(given)
        if is_matrix(value) != bool(shape):
            raise Rejected(f"{name} must be a {'matrix' if shape else 'number'}")
        return value

    def agree(self) -> str:
        """Compare the system of the theorem with that of the model."""
        conclusion = self._theorem.conclusion
        texts = {field: conclusion[field] for field in ("mean_rhs", "cov_rhs") if field in conclusion}
        given = {name: text for name, text in self._symbols.items() if isinstance(text, str)}
        if not same_system(self._law.record, self._theorem, given, texts):
            raise Rejected(f"the system of {self._theorem.claim} is not that of the model")
        return f"the system is that of {self._theorem.claim}"

    def hypotheses(self) -> list[str]:
        """Decide every hypothesis; return them in words."""
        theorem, shown = self._theorem, []
        evaluate = Evaluator(self._values, self._sizes)
        for name in theorem.symmetric:
            if not is_symmetric(self._values[name]):
                raise Rejected(f"{name} is not symmetric")
        for name, sign in theorem.signs.items():
            _require_sign(name, self._values[name], sign)
            shown.append(f"{name} {'>' if sign == 'positive' else '≥'} 0")
        for what, record in theorem.hypotheses.items():
            relation = record["relation"]
            if relation not in _DECIDED:
                raise Rejected(f"the hypothesis {what} is not decided at numbers")
            terms = {field: evaluate(text) for field, text in record.items() if field != "relation"}
            if not _DECIDED[relation](**terms):
                raise Rejected(f"the hypothesis {what} does not hold")
            shown.append(f"{what}: {relation} {', '.join(v for f, v in record.items() if f != 'relation')}")
        return shown


def _require_sign(name: str, value: Any, sign: str) -> None:
    number = value.numer.LC if value else 0
    if number < 0 or (sign == "positive" and number == 0):
        raise Rejected(f"{name} is not {sign}")


def _bounded(matrix: Any, bound: Any) -> bool:
    """Whether |M| ≤ b, from b² I − MᵀM ⪰ 0 and b ≥ 0."""
    if bound and bound.numer.LC < 0:
        return False
    gram = matrix.transpose() * matrix
    return is_semidefinite(gram.eye(gram.shape, FIELD) * bound**2 - gram)


_DECIDED: dict[str, Callable[..., bool]] = {
    "definite": lambda matrix: is_semidefinite(matrix, strictly=True),
    "semidefinite": is_semidefinite,
    "negative-semidefinite": lambda matrix: is_semidefinite(-matrix),
    "equal": lambda left, right: bool((left - right).is_zero_matrix),
    "norm": _bounded,
}


def _conclusion(theorem: LongTime, law: Law) -> tuple[str, str]:
    relation = theorem.conclusion["relation"]
    fate = _FATES[relation]
    if fate == BLOW_UP and law.covariance.is_zero_matrix:
        raise Rejected("the covariance is zero, and stays zero")
    if law.rank is None:
        return _WORDS[fate], "proved" if fate == BLOW_UP else "refuted"
    if fate == BLOW_UP:
        return "the covariance has no limit for t → ∞: it blows up", "refuted"
    if relation != "decay":
        raise Rejected(f"{theorem.claim} says nothing about a limit")
    return "the covariance tends to 0", "proved" if law.rank == 0 else "refuted"
