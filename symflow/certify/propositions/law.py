r"""What becomes of one Gaussian law: statements about given numbers.

The statement of a certificate is a record with the keys of :data:`_KEYS`: the model and its closed system, as
for ``gaussian-preservation``, the values of its parameters, the sizes, mean and covariance of the law at time
zero, all rational, and for a claim about a limit its rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy.polys.matrices import DomainMatrix

from symflow.certify.names import is_fixed_size
from symflow.certify.propositions.gaussian import GaussianPreservation, read_statement
from symflow.certify.propositions.proposition import Proposition, require_keys
from symflow.certify.rational import FIELD, is_semidefinite, matrix_of, rational
from symflow.certify.terms import Rejected
from symflow.errors import CertificateError

_KEYS = frozenset(("model", "parameters", "sizes", "mean", "covariance"))
MAX_SIZE = 8

#: what the model of a law must satisfy, by its own certificate
CLOSURE = GaussianPreservation()


@dataclass(frozen=True)
class AtNumbers:
    """A model in a statement, read: the closed system as text, and parameters and sizes as exact values."""

    record: Mapping[str, Any]
    values: Mapping[str, Any]
    sizes: Mapping[str, int]

    @property
    def cov_rhs(self) -> str:
        """Right-hand side of the covariance equation."""
        return str(self.record["cov_rhs"])

    @property
    def state(self) -> str:
        """Name of the covariance."""
        return str(self.record["covariance"])


@dataclass(frozen=True)
class Law(AtNumbers):
    """The statement, read: a model at numbers, and where its law starts."""

    mean: DomainMatrix
    covariance: DomainMatrix
    rank: int | None = None


@dataclass(frozen=True)
class LawClaim(Proposition):
    """A statement about the law that starts from given numbers.

    Attributes
    ----------
    claim : str
        Id.
    words : str
        What is said, for readers; part of the scope.
    with_rank : bool
        Whether the statement has the rank of a limit.
    """

    claim: str
    words: str
    with_rank: bool = False

    def read(self, statement: Any) -> Law:
        """Return the statement with its numbers.

        Raises
        ------
        CertificateError
            Naming the key and what it must be.
        """
        keys = _KEYS | ({"rank"} if self.with_rank else set())
        require_keys(statement, keys)
        record = read_statement(statement["model"])
        rank = statement.get("rank")
        if self.with_rank and (type(rank) is not int or rank < 0):
            raise CertificateError("statement: 'rank' must be a whole number")
        sizes, values = read_numbers(statement, record)
        d = sizes["d"]
        try:
            mean = matrix_of(statement["mean"], (d, 1), rational, "the mean")
            covariance = matrix_of(statement["covariance"], (d, d), rational, "the covariance")
            if not is_semidefinite(covariance):
                raise CertificateError("statement: the covariance is not positive semidefinite")
        except Rejected as error:
            raise CertificateError(f"statement: {error}") from error
        return Law(record, values, sizes, mean, covariance, rank)

    def scope(self, statement: Any) -> str:
        """Return which law the claim is about."""
        law = self.read(statement)
        sizes = ", ".join(f"{name} = {size}" for name, size in sorted(law.sizes.items()))
        rank = f" {law.rank}" if self.with_rank else ""
        return (
            f"the Gaussian law of the statement, {sizes}, constant parameters, t ≥ 0: {self.words}{rank}; "
            "other laws and parameters are not spoken of"
        )


def read_numbers(
    statement: Mapping[str, Any], record: Mapping[str, Any]
) -> tuple[dict[str, int], dict[str, Any]]:
    """Return the sizes and the values of the parameters that a statement gives.

    Raises
    ------
    CertificateError
        If one is missing, or does not fit.
    """
    try:
        sizes = _sizes(statement["sizes"], record)
        return sizes, _values(statement["parameters"], record, sizes)
    except Rejected as error:
        raise CertificateError(f"statement: {error}") from error


def _sizes(sizes: Any, record: Mapping[str, Any]) -> dict[str, int]:
    counts = {head.count for head in record["heads"] if head.count is not None}
    named = {"d", *(size for shape in record["symbols"].values() for size in shape), *counts}
    wanted = {name for name in named if not is_fixed_size(name)}
    if not isinstance(sizes, Mapping) or set(sizes) != wanted:
        raise Rejected(f"'sizes' must give {', '.join(sorted(wanted))}")
    for name, size in sizes.items():
        if type(size) is not int or not 1 <= size <= MAX_SIZE:
            raise Rejected(f"the size {name} must be a whole number from 1 to {MAX_SIZE}")
    return dict(sizes)


def _values(parameters: Any, record: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    symbols = record["symbols"]
    if not isinstance(parameters, Mapping) or set(parameters) != set(symbols):
        raise Rejected(f"'parameters' must give {', '.join(symbols) or 'nothing'}")
    counts = {name: head.count for head in record["heads"] for name in head.members}
    return {
        name: _family(name, parameters[name], shape, sizes, counts[name])
        if name in counts
        else _value(name, parameters[name], shape, sizes)
        for name, shape in symbols.items()
    }


def _family(name: str, rows: Any, shape: Any, sizes: Mapping[str, int], count: str) -> list[Any]:
    if not isinstance(rows, (list, tuple)) or len(rows) != sizes[count]:
        raise Rejected(f"{name} must be a list of {sizes[count]} matrices")
    return [_value(f"{name}[{h}]", one, shape, sizes) for h, one in enumerate(rows)]


def _value(name: str, rows: Any, shape: Any, sizes: Mapping[str, int]) -> Any:
    if not shape:
        return FIELD.convert(rational(rows))
    extent = [int(size) if is_fixed_size(size) else sizes[size] for size in (*shape, "1")[:2]]
    return matrix_of(rows, (extent[0], extent[1]), rational, name)


PROPOSITIONS = (
    LawClaim("blow-up", "its covariance becomes unbounded at a finite time"),
    LawClaim("limit-rank", "its covariance has a limit for t → ∞, of rank", with_rank=True),
)
