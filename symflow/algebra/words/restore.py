"""From normal forms back to SymPy, and the zero test for fractions of scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import (
    Add,
    Dummy,
    Identity,
    Inverse,
    MatAdd,
    MatMul,
    MatPow,
    Mul,
    Pow,
    S,
    Trace,
    Transpose,
    ZeroMatrix,
    cancel,
)

from symflow.algebra.determinant import LogDet
from symflow.algebra.families import FamilySum
from symflow.algebra.words.atoms import (
    BASE,
    BILINEAR,
    FAMILY,
    INVERSE,
    LOGDET,
    SUM,
    TRACE,
    Atom,
    Factor,
    Scalars,
    Word,
)
from symflow.algebra.words.coefficients import exact_number

if TYPE_CHECKING:
    from symflow.algebra.words.normal import NormalForm


def to_sympy(form: NormalForm) -> Any:
    """Return the SymPy expression of a normal form, terms in canonical order."""
    rows, cols = form.shape
    if form.is_scalar:
        return Add(*[Mul(c, _scalars(s)) for (s, _), c in form.terms.items()])
    if not form.terms:
        return ZeroMatrix(rows, cols)
    terms = [_matrix_term(Mul(c, _scalars(s)), w, rows) for (s, w), c in form.terms.items()]
    return terms[0] if len(terms) == 1 else MatAdd(*terms)


def to_matrix(form: NormalForm) -> Any:
    """Return the SymPy expression as a matrix, also where the shape is 1×1."""
    if not form.is_scalar:
        return to_sympy(form)
    return to_sympy(form) * Identity(1) if form.terms else ZeroMatrix(1, 1)


def _matrix_term(scalar: Any, word: Word, size: Any) -> Any:
    letters = [atom_to_sympy(a) for a in word] or [Identity(size)]
    if scalar == 1 and len(letters) == 1:
        return letters[0]
    return MatMul(*letters) if scalar == 1 else MatMul(scalar, *letters)


def atom_to_sympy(atom: Atom) -> Any:
    """Return one letter as SymPy."""
    if atom.inner is not None and atom.kind == FAMILY:
        summed = FamilySum(to_sympy(atom.inner), atom.members, atom.count)
        return Inverse(summed) if atom.inverted else summed
    if atom.inner is not None:
        base = to_sympy(atom.inner)
        return Inverse(base) if atom.kind == INVERSE else MatPow(base, S.Half)
    letter = Transpose(atom.symbol) if atom.transposed else atom.symbol
    return Inverse(letter) if atom.inverted else letter


def _scalars(scalars: Scalars) -> Any:
    return Mul(*[Pow(factor_to_sympy(f), exact_number(e)) for f, e in scalars])


def factor_to_sympy(factor: Factor) -> Any:
    """Return one scalar factor as SymPy."""
    if factor.kind in (BILINEAR, TRACE):
        letters = [atom_to_sympy(a) for a in factor.word]
        return Trace(letters[0] if len(letters) == 1 else MatMul(*letters))
    if factor.kind == SUM:
        return Trace(FamilySum(_as_matrix(factor.args[0]), factor.members, factor.count))
    if factor.kind == LOGDET:
        return LogDet(to_matrix(factor.args[0]))
    args = [to_sympy(a) for a in factor.args]
    return args[0] if factor.kind == BASE else factor.function(*args)


def _as_matrix(summand: NormalForm) -> Any:
    """Return a scalar as a 1×1 matrix, a lone ``uᵀ…v`` as that product."""
    (((scalars, _), _),) = summand.terms.items()
    factor, exponent = scalars[0]
    if len(scalars) == 1 and exponent == 1 and factor.kind == BILINEAR:
        return MatMul(*[atom_to_sympy(a) for a in factor.word])
    return to_matrix(summand)


def vanishes_over_common_denominator(form: NormalForm) -> bool:
    """Whether every word's scalar coefficient is zero as a rational function of the scalar factors."""
    if not any(f.kind == BASE for s, _ in form.terms for f, _ in s):
        return False
    dummies: dict[Factor, Any] = {}
    sums: dict[Word, list[Any]] = {}
    for (scalars, word), c in form.terms.items():
        sums.setdefault(word, []).append(c * _with_dummies(scalars, dummies))
    return all(cancel(Add(*terms)) == 0 for terms in sums.values())


def _with_dummies(scalars: Scalars, dummies: dict[Factor, Any]) -> Any:
    result = S.One
    for factor, exponent in scalars:
        if factor.kind == BASE:
            terms = factor.args[0].terms.items()
            base = Add(*[c * _with_dummies(s, dummies) for (s, _), c in terms])
        else:
            base = dummies.setdefault(factor, Dummy(f"s{len(dummies)}"))
        result = result * Pow(base, exact_number(exponent))
    return result
