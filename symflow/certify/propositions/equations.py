"""What the equations of a closed system are like, by normal forms: affine, quadratic, those of a theorem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import (
    Add,
    MatAdd,
    MatMul,
    MatrixSymbol,
    Mul,
    Trace,
    Transpose,
    Tuple,
    ZeroMatrix,
    preorder_traversal,
)

from symflow.algebra.families import FamilySum
from symflow.certify.propositions.gaussian import (
    members_of,
    parameters_of,
    require_names,
    terms_of,
    unused_name,
)
from symflow.certify.terms import Terms, is_matrix, multiply, shape_of, total

#: what a polynomial in a matrix is made of
_POLYNOMIAL = (Add, Mul, MatAdd, MatMul, Trace, Transpose, MatrixSymbol, FamilySum, Tuple)


def affine_in_mean(record: Mapping[str, Any]) -> bool:
    """Whether the covariance equation is free of the mean, and the mean equation is affine in it."""
    step = unused_name("h", record)
    terms = terms_of(record, {step: ("d",)})
    mean, move = terms.symbols[record["mean"]], terms.symbols[step]
    cov_rhs, mean_rhs = (terms.read(record[field]) for field in ("cov_rhs", "mean_rhs"))
    if mean in cov_rhs.free_symbols:
        return False
    at = [mean_rhs.xreplace({mean: point}) for point in (total([mean, move]), ZeroMatrix(*mean.shape), move)]
    both = total([mean_rhs, at[2]])
    return terms.same(total([at[0], at[1]]), both)


def is_linear_in_covariance(record: Mapping[str, Any], functional: str) -> bool:
    """Whether a text is a number, linear in the covariance, in it and parameters alone.

    Where its inverses exist is left to the values of the parameters.
    """
    step = unused_name("H", record)
    terms = terms_of(record, {step: ("d", "d")})
    value = terms.read(functional)
    require_names(
        terms, value, parameters_of(record) - members_of(record) | {record["covariance"]}, "the functional"
    )
    state, move = terms.symbols[record["covariance"]], terms.symbols[step]
    parts = [value, value.xreplace({state: move})]
    return not is_matrix(value) and terms.same(value.xreplace({state: total([state, move])}), total(parts))


def is_quadratic_in_covariance(record: Mapping[str, Any]) -> bool:
    """Whether the covariance equation is a homogeneous polynomial of degree two in the covariance alone."""
    terms = terms_of(record, {})
    state, mean = terms.symbols[record["covariance"]], terms.symbols[record["mean"]]
    rhs = terms.read(record["cov_rhs"])
    around = [node for node in preorder_traversal(rhs) if state in getattr(node, "free_symbols", ())]
    if mean in rhs.free_symbols or not all(isinstance(node, _POLYNOMIAL) for node in around):
        return False
    return terms.same(rhs.xreplace({state: multiply(2, state)}), multiply(4, rhs))


def same_system(
    record: Mapping[str, Any], theorem: Any, symbols: Mapping[str, str], texts: Mapping[str, str]
) -> bool:
    """Whether equations of a theorem are those of the closed system ``record``.

    Parameters
    ----------
    record : Mapping
        From :func:`read_statement`.
    theorem : LongTime
        Its state is called ``alpha`` and ``Sigma``.
    symbols : Mapping of str to str
        Texts in the parameters of ``record`` by the symbol of the theorem they stand for.
    texts : Mapping of str to str
        Right-hand sides of the theorem by their key in ``record``.
    """
    terms = terms_of(record, {})
    own = Terms({**theorem.symbols, "alpha": ("d",), "Sigma": ("d", "d")}, {}, symmetric=("Sigma",))
    values = {own.symbols[name]: terms.read(text) for name, text in symbols.items()}
    for name, text in symbols.items():
        require_names(terms, terms.read(text), parameters_of(record) - members_of(record), name)
        if shape_of(terms.read(text)) != shape_of(own.symbols[name]):
            return False
    values |= {own.symbols["alpha"]: terms.symbols[record["mean"]]}
    values |= {own.symbols["Sigma"]: terms.symbols[record["covariance"]]}
    return all(
        terms.same(own.read(text).xreplace(values), terms.read(record[field]))
        for field, text in texts.items()
    )
