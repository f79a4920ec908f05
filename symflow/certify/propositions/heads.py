"""The heads of a statement about a closed system: what is averaged, how, and over which family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import exp

from symflow.algebra.families import FamilySum
from symflow.algebra.grammar import to_text
from symflow.certify.names import is_fixed_size
from symflow.certify.terms import FamilyOfHeads, Terms, is_matrix, multiply, total
from symflow.errors import CertificateError

_TEXTS = ("average", "kernel", "value", "normalise", "prefactor")
_KEYS = frozenset((*_TEXTS, "members", "count"))
#: how weights are normalised -> the judgement that says what the average of a head is
AVERAGES = {"softmax": "softmax-average", "sinkhorn": "sinkhorn-average", "none": "kernel-average"}
MAX_HEADS = 8


@dataclass(frozen=True)
class AveragedHead:
    """One head as text; ``average`` is the name of its average of the value, a vector that depends on x."""

    average: str
    kernel: str
    value: str
    normalise: str
    prefactor: str
    members: tuple[str, ...]
    count: str | None

    @property
    def family(self) -> FamilyOfHeads | None:
        """The names that every head of the family has of its own, the average among them."""
        if self.count is None:
            return None
        return FamilyOfHeads(frozenset((*self.members, self.average)), self.count)

    def hypothesis(self, terms: Terms) -> tuple[str, dict[str, str]]:
        """Return the relation that says what the average is, and its fields.

        Raises
        ------
        CertificateError
            If the weights are normalised and the kernel is not written as an exponential.
        """
        relation = AVERAGES[self.normalise]
        fields = {"average": self.average, "value": self.value}
        if self.normalise == "none":
            return relation, {**fields, "weight": self.kernel}
        kernel = terms.read(self.kernel)
        if not isinstance(kernel, exp):
            raise CertificateError(f"statement: the kernel {self.kernel} must be exp(score)")
        return relation, {**fields, "score": to_text(kernel.args[0])}


def read_heads(records: Any, symbols: Mapping[str, Any]) -> tuple[AveragedHead, ...]:
    """Return the stored heads after checking keys, types and families.

    Raises
    ------
    CertificateError
        Naming the key and what it must be.
    """
    if not isinstance(records, (list, tuple)) or len(records) > MAX_HEADS:
        raise CertificateError(f"statement: 'heads' must be a list of at most {MAX_HEADS} heads")
    heads = tuple(_read_head(record, symbols) for record in records)
    own = [name for head in heads for name in (head.average, *head.members)]
    if len(set(own)) < len(own):
        raise CertificateError("statement: an average or a member belongs to one head only")
    return heads


def _read_head(record: Any, symbols: Mapping[str, Any]) -> AveragedHead:
    if not isinstance(record, Mapping) or set(record) != _KEYS:
        raise CertificateError(f"statement: a head has exactly the keys {', '.join(sorted(_KEYS))}")
    for key in _TEXTS:
        if not isinstance(record[key], str):
            raise CertificateError(f"statement: {key!r} of a head must be text")
    if record["normalise"] not in AVERAGES:
        raise CertificateError(
            f"statement: normalise = {record['normalise']!r}; known are {', '.join(AVERAGES)}"
        )
    members, count = record["members"], record["count"]
    if not isinstance(members, (list, tuple)) or not all(isinstance(m, str) for m in members):
        raise CertificateError("statement: 'members' of a head must be a list of names")
    if not all(symbols.get(member) for member in members):
        raise CertificateError("statement: 'members' of a head must be names of matrices")
    if (count is None) != (not members):
        raise CertificateError("statement: 'count' is null for one head, and a size where there are members")
    sizes = {"d", *(size for shape in symbols.values() for size in shape)}
    if count is not None and (not isinstance(count, str) or is_fixed_size(count) or count in sizes):
        raise CertificateError("statement: 'count' of a head must be the name of a size of its own")
    return AveragedHead(**{key: record[key] for key in _TEXTS}, members=tuple(members), count=count)


def velocity(terms: Terms, heads: tuple[AveragedHead, ...], output: str) -> Any:
    """Return ``output + Σ prefactor·average``, with families summed over their heads."""
    parts = [terms.read(output)]
    for head in heads:
        part = multiply(terms.read(head.prefactor), terms.symbols[head.average])
        if head.family is not None:
            members = [terms.symbols[name] for name in head.family.members]
            part = FamilySum(part, members, terms.symbols[head.family.count])
        parts.append(part)
    present = [part for part in parts if not (is_matrix(part) and part.is_ZeroMatrix)]
    return total(present or parts)
