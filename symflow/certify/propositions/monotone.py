"""A functional of the covariance that never grows: statements about a model at given numbers.

The statement of a certificate has the model and its closed system, as for ``gaussian-preservation``, the
values of its parameters, the sizes, and the text of a functional that is linear in the covariance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symflow.certify.propositions.equations import is_linear_in_covariance, is_quadratic_in_covariance
from symflow.certify.propositions.gaussian import read_statement
from symflow.certify.propositions.law import AtNumbers, read_numbers
from symflow.certify.propositions.proposition import Proposition, require_keys
from symflow.errors import CertificateError

_KEYS = frozenset(("model", "parameters", "sizes", "functional"))


@dataclass(frozen=True)
class Decrease(AtNumbers):
    """The statement, read: a model at numbers, and the functional."""

    functional: str


@dataclass(frozen=True)
class Monotone(Proposition):
    """A linear functional does not increase along any Gaussian solution."""

    claim: str

    def read(self, statement: Any) -> Decrease:
        """Return the statement with its numbers.

        Raises
        ------
        CertificateError
            If it is malformed, the functional is not linear in the covariance, or the equation is not a
            homogeneous polynomial of degree two in it, free of the mean.
        """
        require_keys(statement, _KEYS)
        record, functional = read_statement(statement["model"]), statement["functional"]
        sizes, values = read_numbers(statement, record)
        if not isinstance(functional, str) or not is_linear_in_covariance(record, functional):
            raise CertificateError(
                "statement: 'functional' must be the text of a number, linear in the covariance"
            )
        if not is_quadratic_in_covariance(record):
            raise CertificateError(
                "statement: the covariance equation is not homogeneous of degree two in the covariance alone"
            )
        return Decrease(record, values, sizes, functional)

    def scope(self, statement: Any) -> str:
        """Return for which laws."""
        found = self.read(statement)
        sizes = ", ".join(f"{name} = {size}" for name, size in sorted(found.sizes.items()))
        return (
            f"the parameters of the statement, {sizes}; every Gaussian law, while its solution exists: "
            f"{found.functional} does not increase"
        )


PROPOSITIONS = (Monotone("lyapunov"),)
