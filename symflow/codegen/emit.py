"""Turns plans into operations in single-assignment form, never computing the same value twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from sympy import Expr

from symflow.codegen.program import (
    ONE,
    ZERO,
    Array,
    Combine,
    Factorise,
    Gemm,
    Op,
    Operand,
    RequirePositive,
    Size,
    Solve,
    SymmetrisedSum,
    Term,
)
from symflow.codegen.rewrite import (
    Leaf,
    Plan,
    Planner,
    Product,
    Total,
    Weights,
    canonical_word,
    inverse_letter,
)
from symflow.codegen.words import Letter, Sum, Word


class Emitter:
    """Collects the operations of one program.

    Parameters
    ----------
    arrays : iterable of Array
        Inputs and matrix parameters.
    weights : Weights
        Typical sizes, by which products are ordered.
    reserved : iterable of str
        Names that temporaries must not take.
    """

    def __init__(self, arrays: tuple[Array, ...], weights: Weights, reserved: Iterable[str] = ()) -> None:
        self.ops: list[Op] = []
        self._weights = weights
        self._inputs = {array.name: array for array in arrays}
        self._names = _fresh_names({*self._inputs, *reserved})
        self._words: dict[Word, Operand] = {}
        self._sums: dict[Sum, Operand] = {}
        self._products: dict[tuple[Operand, Operand], Operand] = {}
        self._factors: dict[Sum, Array] = {}
        self._solved: dict[tuple[Sum, bool, Operand], Operand] = {}
        self._combined_already: dict[tuple[tuple[Term, ...], Expr, Size, Size], Operand] = {}
        self._outputs: set[Array] = set()

    def value(self, s: Sum) -> Operand:
        """Emit what evaluates ``s`` and return where it is."""
        plan = Planner(self._weights, self._is_known).plan(s)
        return self._emit(plan)

    def output(self, s: Sum, name: str) -> Array:
        """Emit ``s`` into an array of its own called ``name``."""
        return self._own(self.value(s), name)

    def symmetrised(self, s: Sum, name: str) -> Array:
        """Emit ``s + sᵀ`` into an array called ``name``."""
        half = self.value(s)
        out = Array(name, s.rows, s.cols)
        self.ops.append(SymmetrisedSum(out, half.array))
        self._outputs.add(out)
        return out

    def require_positive(self, s: Sum) -> None:
        """Emit the check that ``s`` is positive definite."""
        matrix = self._as_stored(self.value(s))
        self.ops.append(RequirePositive(self._fresh(matrix.rows, matrix.cols), matrix))

    def _is_known(self, word: Word) -> bool:
        return canonical_word(word)[0] in self._words

    def _fresh(self, rows: Size, cols: Size) -> Array:
        return Array(next(self._names), rows, cols)

    def _own(self, operand: Operand, name: str) -> Array:
        """Rename the array that the last operation wrote; copy anything else."""
        out = Array(name, operand.rows, operand.cols)
        last = self.ops[-1] if self.ops else None
        renamable = isinstance(last, (Gemm, Combine, Solve)) and last.out not in self._outputs
        if last is not None and renamable and last.out == operand.array and not operand.transposed:
            self.ops[-1] = replace(last, out=out)
            for table in (self._words, self._sums, self._products, self._solved, self._combined_already):
                _rename(table, last.out, out)
        else:
            self.ops.append(Combine(out, (Term(ONE, operand),)))
        self._outputs.add(out)
        return out

    def _emit(self, plan: Plan) -> Operand:
        if isinstance(plan, Leaf):
            return self._leaf(plan)
        if isinstance(plan, Product):
            return self._product(plan)
        return self._total(plan)

    def _leaf(self, plan: Leaf) -> Operand:
        word, flipped = canonical_word(plan.word)
        if word in self._words:
            found = self._words[word]
            return found.T if flipped else found
        letter = plan.word[0]
        if letter.inverse is None:
            return Operand(self._inputs[letter.name], letter.transposed)
        unit = self._fresh(letter.rows, letter.cols)
        self.ops.append(Combine(unit, (), ONE))
        return self._remember(plan.word, self._solve(letter, Operand(unit)))

    def _remember(self, word: Word | None, operand: Operand) -> Operand:
        if word is not None:
            canonical, flipped = canonical_word(word)
            self._words[canonical] = operand.T if flipped else operand
        return operand

    def _product(self, plan: Product) -> Operand:
        left, right = inverse_letter(plan.left), inverse_letter(plan.right)
        if left is not None:
            return self._remember(plan.word, self._solve(left, self._emit(plan.right)))
        if right is not None:
            return self._remember(plan.word, self._solve(right.T, self._emit(plan.left).T).T)
        a, b = self._emit(plan.left), self._emit(plan.right)
        return self._remember(plan.word, self._multiply(a, b))

    def _multiply(self, a: Operand, b: Operand) -> Operand:
        if (a, b) in self._products:
            return self._products[a, b]
        if (b.T, a.T) in self._products:
            return self._products[b.T, a.T].T
        out = Operand(self._fresh(a.rows, b.cols))
        self.ops.append(Gemm(out.array, a, b))
        self._products[a, b] = out
        return out

    def _solve(self, letter: Letter, b: Operand) -> Operand:
        assert letter.inverse is not None
        if letter.inverse not in self._factors:
            matrix = self._as_stored(self.value(letter.inverse))
            factors = self._fresh(matrix.rows, matrix.cols)
            self.ops.append(Factorise(factors, matrix))
            self._factors[letter.inverse] = factors
        key = (letter.inverse, letter.transposed, b)
        if key not in self._solved:
            out = Operand(self._fresh(b.rows, b.cols))
            self.ops.append(Solve(out.array, self._factors[letter.inverse], letter.transposed, b))
            self._solved[key] = out
        return self._solved[key]

    def _as_stored(self, operand: Operand) -> Array:
        if not operand.transposed:
            return operand.array
        copy = self._fresh(operand.rows, operand.cols)
        self.ops.append(Combine(copy, (Term(ONE, operand),)))
        return copy

    def _total(self, plan: Total) -> Operand:
        if plan.source in self._sums:
            return self._sums[plan.source]
        if plan.source.T in self._sums:
            return self._sums[plan.source.T].T
        if len(plan.terms) == 1 and plan.terms[0][0] == ONE and plan.diagonal == ZERO:
            return self._emit(plan.terms[0][1])
        self._sums[plan.source] = self._accumulate(plan)
        return self._sums[plan.source]

    def _accumulate(self, plan: Total) -> Operand:
        """Emit Σ terms: what exists is combined first, products are then added in place."""
        plain: list[Term] = []
        products: list[tuple[Expr, Operand, Operand]] = []
        for coefficient, part in plan.terms:
            if isinstance(part, Product) and not (inverse_letter(part.left) or inverse_letter(part.right)):
                a, b = self._emit(part.left), self._emit(part.right)
                if (a, b) not in self._products and (b.T, a.T) not in self._products:
                    products.append((coefficient, a, b))
                    continue
                plain.append(Term(coefficient, self._multiply(a, b)))
            else:
                plain.append(Term(coefficient, self._emit(part)))
        total: Array | None = None
        if plain or plan.diagonal != ZERO or not products:
            total = self._combined(plan, tuple(plain))
        for coefficient, a, b in products:
            out = self._fresh(plan.rows, plan.cols)
            self.ops.append(Gemm(out, a, b, coefficient, total))
            total = out
        assert total is not None
        return Operand(total)

    def _combined(self, plan: Total, terms: tuple[Term, ...]) -> Array:
        alone = len(terms) == 1 and terms[0].coefficient == ONE and plan.diagonal == ZERO
        if alone and not terms[0].operand.transposed:
            return terms[0].operand.array
        key = (terms, plan.diagonal, plan.rows, plan.cols)
        if key not in self._combined_already:
            out = self._fresh(plan.rows, plan.cols)
            self.ops.append(Combine(out, terms, plan.diagonal))
            self._combined_already[key] = Operand(out)
        return self._combined_already[key].array


def _rename(table: dict[Any, Operand], old: Array, new: Array) -> None:
    for key, operand in table.items():
        if operand.array == old:
            table[key] = Operand(new, operand.transposed)


def _fresh_names(taken: Iterable[str]) -> Iterator[str]:
    return (name for name in (f"w{i}" for i in count()) if name not in taken)
