"""Judgements: what a line of a certificate can say, as text and as SymPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symflow.errors import CertificateError

#: relation -> (fields in order, how a reader writes it). The fields hold text of the small grammar.
RELATIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "equal": (("left", "right"), "{left} = {right}"),
    "nonnegative": (("scalar",), "{scalar} ≥ 0"),
    "positive": (("scalar",), "{scalar} > 0"),
    "semidefinite": (("matrix",), "{matrix} ⪰ 0"),
    "negative-semidefinite": (("matrix",), "{matrix} ⪯ 0"),
    "definite": (("matrix",), "{matrix} ≻ 0"),
    "invertible": (("matrix",), "{matrix} is invertible"),
    "norm": (("matrix", "bound"), "|{matrix}| ≤ {bound} (spectral norm)"),
    "tilted-mean": (
        ("value", "score", "mean"),
        "∫ ({value}) e^s dμ / ∫ e^s dμ = {mean} for every x, with s = {score}, both integrals finite",
    ),
    "local-flow": (
        ("mean_rhs", "cov_rhs"),
        "the system mean' = {mean_rhs}, covariance' = {cov_rhs} has one maximal solution from every start",
    ),
    "congruence": (
        ("cov_rhs", "gradient"),
        (
            "covariance' = {cov_rhs} gives covariance(t) = Φ covariance(0) Φᵀ, Φ' = ({gradient}) Φ, Φ(t) "
            "invertible"
        ),
    ),
    "gaussian-solution": (
        ("score", "value", "output", "mean_rhs", "cov_rhs"),
        (
            "N(mean(t), covariance(t)) with mean' = {mean_rhs}, covariance' = {cov_rhs} solves the transport "
            "equation of the velocity ({output}) + average of ({value}) with weight e^s, s = {score}"
        ),
    ),
    "constant-rank": (
        ("score", "value", "output", "mean_rhs", "cov_rhs"),
        (
            "the rank of covariance(t), covariance' = {cov_rhs}, is constant along the Gaussian solution "
            "with mean' = {mean_rhs}, velocity ({output}) + average of ({value}) with weight e^s, s = {score}"
        ),
    ),
}

#: fields that hold scalars; every other field except the two sides of an equality holds a matrix
SCALAR_FIELDS = frozenset(("scalar", "bound", "score"))


@dataclass(frozen=True)
class Judgement:
    """One statement: a relation between expressions that were read from text.

    Attributes
    ----------
    relation : str
        A key of :data:`RELATIONS`.
    texts : Mapping of str to str
        The expressions as written in the certificate.
    terms : Mapping of str to SymPy expression
        The same expressions, read.
    """

    relation: str
    texts: Mapping[str, str]
    terms: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.terms[name]

    def __str__(self) -> str:
        return RELATIONS[self.relation][1].format(**self.texts)


def check_shape(record: Any, where: str) -> None:
    """Refuse a stored judgement whose relation or fields are not those of the schema.

    Raises
    ------
    CertificateError
        Naming the place, the relation and the fields.
    """
    if not isinstance(record, Mapping):
        raise CertificateError(f"{where}: the conclusion must be an object with a 'relation'")
    relation = record.get("relation")
    if not isinstance(relation, str) or relation not in RELATIONS:
        raise CertificateError(f"{where}: relation {relation!r} is unknown; known are {', '.join(RELATIONS)}")
    wanted = {"relation", *RELATIONS[relation][0]}
    if set(record) != wanted:
        raise CertificateError(
            f"{where}: a {relation!r} conclusion has the fields {', '.join(sorted(wanted))}"
        )
    for name, text in record.items():
        if not isinstance(text, str):
            raise CertificateError(f"{where}: field {name!r} of the conclusion must be text")
