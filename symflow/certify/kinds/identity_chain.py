"""Identity chain: lines of exact algebra and cited lemmas that end in the claim.

The proof object is ``{"factor": F, "noise": z, "lines": [...]}``. F and z are the names of a factor Σ = FFᵀ
of the covariance and of a standard Gaussian vector. A line is

    {"id": ..., "conclusion": {"relation": ..., ...}, "rule": ..., "premises": [ids], "with": {...}}

and says that its conclusion holds for all values of the symbols that satisfy the hypotheses of the claim.
Lines are checked in order; a premise is the id of an earlier line or of a hypothesis. Every inverse must have
been shown to exist before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symflow.certify.certificate import Certificate
from symflow.certify.judgement import RELATIONS, SCALAR_FIELDS, Judgement, check_shape
from symflow.certify.lemmas import LEMMAS
from symflow.certify.propositions import Goal, Theorem, stated_proposition
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.rules import Rule, rules
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected, is_matrix
from symflow.errors import InputError

MAX_LINES = 300
_LINE_KEYS = frozenset(("id", "conclusion", "rule", "premises", "with"))


class IdentityChain(ProofKind):
    """Normal forms, sign, norm and rank rules, and named lemmas at symbolic size."""

    name = "identity-chain"

    def replay(self, certificate: Certificate) -> Replay:
        """Check every line, then that the last one is the claim and that status and scope agree."""
        try:
            claim = stated_proposition(certificate)
        except InputError as error:
            return Replay(False, reason=str(error))
        if not isinstance(claim, Theorem):
            return Replay(False, reason=f"{certificate.claim} does not consist of one part")
        return run_chain(claim, certificate.statement, certificate.proof)


def run_chain(theorem: Theorem, statement: Any, proof: Any) -> Replay:
    """Check the lines of ``proof`` and that the last one is what ``theorem`` says of ``statement``."""
    try:
        lines = _read_lines(proof)
        names = {key: value for key, value in proof.items() if key != "lines"}
        goal = theorem.goal(statement, names)
    except (InputError, Rejected) as error:
        return Replay(False, reason=str(error))
    return _Chain(goal).run(lines)


@dataclass(frozen=True)
class _Line:
    id: str
    conclusion: Mapping[str, str]
    rule: str
    premises: tuple[str, ...]
    arguments: Mapping[str, Any]


def _read_lines(proof: Any) -> list[_Line]:
    if not isinstance(proof, Mapping) or set(proof) != {"factor", "noise", "lines"}:
        raise Rejected("an identity chain has the keys factor, noise, lines")
    records = proof["lines"]
    if not isinstance(records, (list, tuple)) or not 0 < len(records) <= MAX_LINES:
        raise Rejected(f"'lines' must be a list of at most {MAX_LINES} lines")
    if not isinstance(proof["factor"], str) or not isinstance(proof["noise"], str):
        raise Rejected("'factor' and 'noise' must be names")
    return [_read_line(index, record) for index, record in enumerate(records)]


def _read_line(index: int, record: Any) -> _Line:
    where = f"line {index + 1}"
    if not isinstance(record, Mapping) or set(record) != _LINE_KEYS:
        raise Rejected(f"{where} must have exactly the keys {', '.join(sorted(_LINE_KEYS))}")
    if not isinstance(record["id"], str) or not isinstance(record["rule"], str):
        raise Rejected(f"{where}: 'id' and 'rule' must be text")
    premises = record["premises"]
    if not isinstance(premises, (list, tuple)) or not all(isinstance(premise, str) for premise in premises):
        raise Rejected(f"{where}: 'premises' must be a list of ids")
    if not isinstance(record["with"], Mapping):
        raise Rejected(f"{where}: 'with' must be an object")
    check_shape(record["conclusion"], where)
    return _Line(record["id"], record["conclusion"], record["rule"], tuple(premises), record["with"])


class _Chain:
    """The state of a replay: what has been established so far."""

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self._terms = goal.terms
        self._known: dict[str, Judgement] = dict(goal.hypotheses)
        self._assumes: list[str] = []
        self._seen: list[ReplayedLine] = []

    def run(self, lines: list[_Line]) -> Replay:
        """Check every line and stop at the first that does not follow."""
        for line in lines:
            try:
                judgement = self._check(line)
            except (InputError, Rejected) as error:
                return self._reject(line, str(error))
            self._known[line.id] = judgement
            self._seen.append(ReplayedLine(line.id, str(judgement), _how(line), True))
        return self._conclude(judgement)

    def _reject(self, line: _Line, why: str) -> Replay:
        relation = RELATIONS[line.conclusion["relation"]][1]
        self._seen.append(ReplayedLine(line.id, relation.format(**line.conclusion), why, False))
        return Replay(False, tuple(self._seen), f"line {line.id!r}: {why}")

    def _conclude(self, last: Judgement) -> Replay:
        goal = self._goal.conclusion
        reached = last.relation == goal.relation and all(
            self._terms.same(last[name], goal[name]) for name in goal.terms
        )
        if not reached:
            return Replay(False, tuple(self._seen), f"the last line does not say what is claimed: {goal}")
        try:
            for text in goal.texts.values():  # equal normal forms do not show that the claim is defined
                self._terms.require_defined(text)
        except Rejected as error:
            return Replay(False, tuple(self._seen), f"the claim: {error}")
        return Replay(True, tuple(self._seen), assumes=tuple(sorted(self._assumes)))

    def _check(self, line: _Line) -> Judgement:
        if line.id in self._known:
            raise Rejected("the id is already taken")
        missing = [premise for premise in line.premises if premise not in self._known]
        if missing:
            raise Rejected(f"premise {missing[0]!r} is no hypothesis and no earlier line")
        rule = self._rule(line.rule)
        if line.rule == "definition":
            self._define(line)
        conclusion = self._judgement(line.conclusion)
        arguments = self._arguments(rule, line.arguments)
        premises = tuple(self._known[premise] for premise in line.premises)
        rule.check(Inference(self._terms, self._goal.variables, conclusion, premises, arguments))
        if conclusion.relation == "invertible":
            self._terms.grant_inverse(conclusion["matrix"])
        if conclusion.relation == "principal-root":
            self._terms.grant_root(conclusion["matrix"])
        if line.rule in LEMMAS and line.rule not in self._assumes:
            self._assumes.append(line.rule)
        return conclusion

    def _rule(self, name: str) -> Rule:
        if name in LEMMAS:
            return LEMMAS[name].rule
        if name not in rules():
            raise Rejected(f"rule {name!r} is unknown")
        return rules()[name]

    def _define(self, line: _Line) -> None:
        if line.conclusion["relation"] != "equal":
            raise Rejected("a definition is an equality")
        value = self._read(line.conclusion["right"])
        self._terms.define(line.conclusion["left"], value)

    def _judgement(self, record: Mapping[str, str]) -> Judgement:
        texts = {name: record[name] for name in RELATIONS[record["relation"]][0]}
        terms = {name: self._read(text) for name, text in texts.items()}
        for name, term in terms.items():
            if name not in ("left", "right") and is_matrix(term) == (name in SCALAR_FIELDS):
                raise Rejected(f"{name} = {term} must be a {'scalar' if name in SCALAR_FIELDS else 'matrix'}")
        return Judgement(record["relation"], texts, terms)

    def _arguments(self, rule: Rule, given: Mapping[str, Any]) -> dict[str, Any]:
        wanted = {*rule.arguments, *rule.lists}
        if set(given) != wanted:
            raise Rejected(f"the rule takes {', '.join(sorted(wanted)) or 'nothing'} in 'with'")
        read: dict[str, Any] = {}
        for name, text in given.items():
            if name in rule.lists:
                if not isinstance(text, (list, tuple)):
                    raise Rejected(f"{name!r} must be a list")
                read[name] = [self._read(part) for part in text]
            else:
                read[name] = self._read(text)
        return read

    def _read(self, text: Any) -> Any:
        if not isinstance(text, str):
            raise Rejected(f"{text!r} must be text")
        self._terms.require_defined(text)
        return self._terms.read(text)


def _how(line: _Line) -> str:
    premises = f" from {', '.join(line.premises)}" if line.premises else ""
    return f"{line.rule}{premises}"
