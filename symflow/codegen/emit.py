"""Turns plans into operations in single-assignment form, never computing the same value twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from sympy import Expr, Integer, Symbol

from symflow.codegen.program import (
    A_LOWER,
    A_UPPER,
    B_LOWER,
    ONE,
    ZERO,
    Array,
    Combine,
    Factorise,
    Gemm,
    Loop,
    Op,
    Operand,
    RequirePositive,
    Root,
    Scaled,
    Size,
    Slice,
    Solve,
    Sylvester,
    SymmetrisedSum,
    Term,
    TraceOf,
    Turned,
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
    only_letter,
)
from symflow.codegen.words import Family, Letter, Sum, Word
from symflow.errors import InputError


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
    stacked : iterable of Array
        Parameters with a leading axis: read inside loops only.
    """

    def __init__(
        self,
        arrays: tuple[Array, ...],
        weights: Weights,
        reserved: Iterable[str] = (),
        stacked: tuple[Array, ...] = (),
    ) -> None:
        self.ops: list[Op] = []
        self._weights = weights
        self._inputs = {array.name: array for array in arrays}
        self._stacked = {array.name: array for array in stacked}
        self._slices: dict[str, Array] = {}
        self._taken = {*self._inputs, *self._stacked, *reserved}
        self._names = _fresh_names(self._taken)
        self._outer: Emitter | None = None
        self._own_names: frozenset[str] = frozenset()
        self._words: dict[Word, Operand] = {}
        self._sums: dict[Sum, Operand] = {}
        self._products: dict[tuple[Operand, Operand], Operand] = {}
        self._factors: dict[Sum, Array] = {}
        self._roots: dict[Sum, Array] = {}
        self._traces: dict[Sum, Array] = {}
        self._solved: dict[tuple[Sum, bool, Operand], Operand] = {}
        self._combined_already: dict[tuple[tuple[Term, ...], Expr, Size, Size], Operand] = {}
        self._outputs: dict[Array, None] = {}  # in order

    def inside(self, arrays: Iterable[Array], scalars: Iterable[str] = ()) -> Emitter:
        """Return an emitter for the body of a loop, in which ``arrays`` have another value each time.

        What does not depend on them is emitted here, before the loop.
        """
        inner = Emitter((), self._weights)
        inner._inputs = self._inputs | {array.name: array for array in arrays}
        inner._stacked, inner._slices = self._stacked, self._slices
        inner._taken, inner._names = self._taken, self._names
        inner._outer = self
        inner._own_names = self._own_names | {array.name for array in arrays} | frozenset(scalars)
        for table in ("_words", "_sums", "_products", "_factors", "_roots", "_traces", "_solved"):
            setattr(inner, table, dict(getattr(self, table)))
        return inner

    def value(self, s: Sum) -> Operand:
        """Emit what evaluates ``s`` and return where it is."""
        plan = self._planner().plan(s)
        return self._emit(plan)

    def output(self, s: Sum, name: str) -> Array:
        """Emit ``s`` into an array of its own called ``name``."""
        return self._own(self.value(s), name)

    def kept(self, s: Sum, name: str) -> Array:
        """Emit ``s`` and return where it is: an array that is there already, or else one called ``name``."""
        operand = self.value(s)
        there = operand.array in self._outputs or operand.array in self._inputs.values()
        return operand.array if there and not operand.transposed else self._own(operand, name)

    def made(self) -> tuple[Array, ...]:
        """Return the arrays that were given a name, in the order in which they were."""
        return tuple(self._outputs)

    def symmetrised(self, s: Sum, name: str) -> Array:
        """Emit ``s + sᵀ`` into an array called ``name``."""
        half = self.value(s)
        out = Array(name, s.rows, s.cols)
        self.ops.append(SymmetrisedSum(out, half.array))
        self._outputs[out] = None
        return out

    def turned(self, s: Sum, factor: Array, name: str) -> Array:
        """Emit ``factor · (s + w)``, w skew and s + w lower triangular, into an array called ``name``."""
        triangle = self._fresh(s.rows, s.cols)
        self.ops.append(Turned(triangle, self.value(s)))
        out = Array(name, factor.rows, s.cols)
        product = Gemm(out, Operand(factor), Operand(triangle), shape=A_LOWER + B_LOWER)
        self.ops.append(product)
        self._outputs[out] = None
        return out

    def mark_lower(self, state: Array) -> None:
        """Tell every product that ``state`` is lower triangular."""
        for number, op in enumerate(self.ops):
            if isinstance(op, Gemm) and ONE not in (op.b.cols, op.a.rows):
                shape = op.shape
                if op.a.array == state:
                    shape |= A_UPPER if op.a.transposed else A_LOWER
                if op.b == Operand(state):
                    shape |= B_LOWER
                self.ops[number] = replace(op, shape=shape)

    def add_to(self, total: Array, coefficient: Expr, s: Sum) -> None:
        """Emit ``total += coefficient · s``."""
        plan = self._planner().plan(s)
        assert isinstance(plan, Total)
        plain, products, sums = self._parts(plan)
        plain = [Term(coefficient * term.coefficient, term.operand) for term in plain]
        if plain or plan.diagonal != ZERO:
            terms = (Term(ONE, Operand(total)), *plain)
            self.ops.append(Combine(total, terms, coefficient * plan.diagonal))
        for factor, a, b in products:
            self.ops.append(Gemm(total, a, b, coefficient * factor, total))
        for factor, family in sums:
            self._add_family(total, coefficient * factor, family)

    def zeros(self, rows: Size, cols: Size) -> Array:
        """Emit a matrix of zeros, for a loop to add to."""
        out = self._fresh(rows, cols)
        self.ops.append(Combine(out))
        return out

    def bind(self, name: str, array: Array) -> None:
        """Let a name stand for an array that a loop adds to."""
        self._inputs[name] = array
        self._own_names |= {name}

    def require_positive_each(self, family: Family) -> None:
        """Emit the check that every summand is positive definite."""
        inner, slices = self._over(family)
        inner.require_positive(family.body)
        self.ops.append(Loop(family.count, slices, tuple(inner.ops)))

    def require_positive(self, s: Sum) -> None:
        """Emit the check that ``s`` is positive definite."""
        matrix = self._as_stored(self.value(s))
        self.ops.append(RequirePositive(self._fresh(matrix.rows, matrix.cols), matrix))

    def _planner(self) -> Planner:
        if self._outer is None:
            return Planner(self._weights, self._is_known)
        return Planner(self._weights, self._is_known, self._changes)

    def _changes(self, word: Word) -> bool:
        """Whether a word has another value in every turn of the loop."""
        return any(letter.names & self._own_names for letter in word)

    def _is_known(self, word: Word) -> bool:
        return canonical_word(word)[0] in self._words

    def _fresh(self, rows: Size, cols: Size) -> Array:
        return Array(next(self._names), rows, cols)

    def _own(self, operand: Operand, name: str) -> Array:
        """Rename the array that the last operation wrote; copy anything else."""
        out = Array(name, operand.rows, operand.cols)
        last = self.ops[-1] if self.ops else None
        mine = isinstance(last, (Gemm, Combine, Solve)) and last.out == operand.array
        if mine and not operand.transposed and operand.array not in self._outputs:
            assert isinstance(last, (Gemm, Combine, Solve))
            self.ops[-1] = replace(last, out=out)
            for table in (self._words, self._sums, self._products, self._solved, self._combined_already):
                _rename(table, last.out, out)
        else:
            self.ops.append(Combine(out, (Term(ONE, operand),)))
        self._outputs[out] = None
        return out

    def _emit(self, plan: Plan) -> Operand:
        if self._outer is not None and not isinstance(plan, Leaf) and not self._is_inner(plan):
            return self._outer._emit(plan)
        if isinstance(plan, Leaf):
            return self._leaf(plan)
        if isinstance(plan, Product):
            return self._product(plan)
        return self._total(plan)

    def _is_inner(self, plan: Plan) -> bool:
        """Whether a plan depends on what changes from one turn of the loop to the next."""
        if isinstance(plan, Total):
            scalars = {symbol.name for coefficient, _ in plan.terms for symbol in coefficient.free_symbols}
            return bool((plan.source.names | scalars) & self._own_names)
        if isinstance(plan, Product):
            return self._is_inner(plan.left) or self._is_inner(plan.right)
        return self._changes(plan.word)

    def _leaf(self, plan: Leaf) -> Operand:
        word, flipped = canonical_word(plan.word)
        if word in self._words:
            found = self._words[word]
            return found.T if flipped else found
        if self._outer is not None and not self._is_inner(plan):
            return self._outer._leaf(plan)
        letter = plan.word[0]
        if letter.root is not None:
            root = self._root(letter.root) if letter.moved is None else self._moved_root(letter)
            return self._remember(plan.word, Operand(root, letter.transposed))
        if letter.family is not None:
            total = self.zeros(letter.rows, letter.cols)
            self._add_family(total, ONE, letter.family)
            return self._remember(plan.word, Operand(total))
        if letter.inverse is None and letter.trace is None:
            return Operand(self._input(letter.name), letter.transposed)
        unit = self._fresh(letter.rows, letter.cols)
        self.ops.append(Combine(unit, (), ONE))
        if letter.trace is not None:
            return self._remember(plan.word, self._scaled(letter.trace, Operand(unit)))
        return self._remember(plan.word, self._solve(letter, Operand(unit)))

    def _input(self, name: str) -> Array:
        if name not in self._inputs:
            raise InputError(f"{name!r} has a leading axis; it can only occur inside a sum over it")
        return self._inputs[name]

    def _add_family(self, total: Array, coefficient: Expr, family: Family) -> None:
        """Emit ``total += coefficient · Σ_h body`` as a loop."""
        inner, slices = self._over(family)
        inner.add_to(total, coefficient, family.body)
        self.ops.append(Loop(family.count, slices, tuple(inner.ops)))

    def _over(self, family: Family) -> tuple[Emitter, tuple[Slice, ...]]:
        """Return an emitter for the summand, and the slices it reads."""
        slices = []
        for name in sorted(family.members & family.body.names):
            whole = self._stacked.get(name)
            if whole is None:
                raise InputError(f"{name!r} is summed over, but it has no leading axis")
            part = self._slices.get(name) or Array(self._named(f"{name}_h"), whole.rows, whole.cols)
            self._slices[name] = part
            slices.append(Slice(part, whole))
        inner = self.inside(())
        inner._inputs |= {item.whole.name: item.part for item in slices}
        inner._own_names |= {item.whole.name for item in slices}
        return inner, tuple(slices)

    def _named(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _remember(self, word: Word | None, operand: Operand) -> Operand:
        if word is not None:
            canonical, flipped = canonical_word(word)
            self._words[canonical] = operand.T if flipped else operand
        return operand

    def _product(self, plan: Product) -> Operand:
        left, right = inverse_letter(plan.left), inverse_letter(plan.right)
        scalar = only_letter(plan.left)
        if scalar is not None and scalar.trace is not None:
            return self._remember(plan.word, self._scaled(scalar.trace, self._emit(plan.right)))
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
        factors = self._factorised(letter.inverse)
        key = (letter.inverse, letter.transposed, b)
        if key not in self._solved:
            out = Operand(self._fresh(b.rows, b.cols))
            self.ops.append(Solve(out.array, factors, letter.transposed, b))
            self._solved[key] = out
        return self._solved[key]

    def _factorised(self, s: Sum) -> Array:
        if s not in self._factors:
            if self._outer is not None and not s.names & self._own_names:
                self._factors[s] = self._outer._factorised(s)
            else:
                matrix = self._as_stored(self.value(s))
                self._factors[s] = self._fresh(matrix.rows, matrix.cols)
                self.ops.append(Factorise(self._factors[s], matrix))
        return self._factors[s]

    def _root(self, s: Sum) -> Array:
        if s not in self._roots:
            if self._outer is not None and not s.names & self._own_names:
                self._roots[s] = self._outer._root(s)
            else:
                matrix = self._as_stored(self.value(s))
                self._roots[s] = self._fresh(matrix.rows, matrix.cols)
                self.ops.append(Root(self._roots[s], matrix))
        return self._roots[s]

    def _moved_root(self, letter: Letter) -> Array:
        assert letter.root is not None and letter.moved is not None
        root, moved = self._root(letter.root), self._as_stored(self.value(letter.moved))
        out = self._fresh(letter.rows, letter.cols)
        self.ops.append(Sylvester(out, root, moved))
        return out

    def _scaled(self, traced: Sum, a: Operand) -> Operand:
        out = self._fresh(a.rows, a.cols)
        self.ops.append(Scaled(out, self._trace(traced), a))
        return Operand(out)

    def _trace(self, s: Sum) -> Array:
        """Emit tr(s) as a 1 × 1 array; a product is never formed for its trace alone."""
        if s not in self._traces:
            terms = [Term(c, Operand(self._trace_of(word, s.rows))) for c, word in s.terms if word]
            diagonal = sum((c * size_symbol(s.rows) for c, word in s.terms if not word), ZERO)
            out = self._fresh(1, 1)
            self.ops.append(Combine(out, tuple(terms), diagonal))
            self._traces[s] = out
        return self._traces[s]

    def _trace_of(self, word: Word, size: Size) -> Array:
        out = self._fresh(1, 1)
        cut = len(word) // 2
        halves = [self.value(Sum(w[0].rows, w[-1].cols, ((ONE, w),))) for w in (word[:cut], word[cut:]) if w]
        self.ops.append(TraceOf(out, *halves))
        return out

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

    def _parts(
        self, plan: Total
    ) -> tuple[list[Term], list[tuple[Expr, Operand, Operand]], list[tuple[Expr, Family]]]:
        """Emit what the terms need: values to combine, products to form in place, loops to run."""
        plain: list[Term] = []
        products: list[tuple[Expr, Operand, Operand]] = []
        families: list[tuple[Expr, Family]] = []
        for coefficient, part in plan.terms:
            letter = only_letter(part)
            if letter is not None and letter.family is not None and not self._is_known((letter,)):
                families.append((coefficient, letter.family))
            elif isinstance(part, Product) and not _is_special(part):
                a, b = self._emit(part.left), self._emit(part.right)
                if (a, b) not in self._products and (b.T, a.T) not in self._products:
                    products.append((coefficient, a, b))
                    continue
                plain.append(Term(coefficient, self._multiply(a, b)))
            else:
                plain.append(Term(coefficient, self._emit(part)))
        return plain, products, families

    def _accumulate(self, plan: Total) -> Operand:
        """Emit Σ terms: what exists is combined first, products are then added in place, loops come last."""
        plain, products, families = self._parts(plan)
        total: Array | None = None
        if plain or plan.diagonal != ZERO or not products:
            total = self._combined(plan, tuple(plain), shared=not families)
        for coefficient, a, b in products:
            out = self._fresh(plan.rows, plan.cols)
            self.ops.append(Gemm(out, a, b, coefficient, total))
            total = out
        assert total is not None
        for coefficient, family in families:
            self._add_family(total, coefficient, family)
        return Operand(total)

    def _combined(self, plan: Total, terms: tuple[Term, ...], shared: bool) -> Array:
        """Emit the sum of what exists; one that is added to later must be ``shared`` with nobody."""
        alone = len(terms) == 1 and terms[0].coefficient == ONE and plan.diagonal == ZERO
        if shared and alone and not terms[0].operand.transposed:
            return terms[0].operand.array
        key = (terms, plan.diagonal, plan.rows, plan.cols)
        if shared and key in self._combined_already:
            return self._combined_already[key].array
        out = self._fresh(plan.rows, plan.cols)
        self.ops.append(Combine(out, terms, plan.diagonal))
        if shared:
            self._combined_already[key] = Operand(out)
        return out


def _is_special(product: Product) -> bool:
    """Whether a product is a solve or a scaling, not a product of matrices."""
    scalar = only_letter(product.left)
    scales = scalar is not None and scalar.trace is not None
    return scales or bool(inverse_letter(product.left) or inverse_letter(product.right))


def size_symbol(size: Size) -> Expr:
    """Return a size as a coefficient."""
    return Integer(size) if isinstance(size, int) else Symbol(size, integer=True, positive=True)


def _rename(table: dict[Any, Operand], old: Array, new: Array) -> None:
    for key, operand in table.items():
        if operand.array == old:
            table[key] = Operand(new, operand.transposed)


def _fresh_names(taken: Iterable[str]) -> Iterator[str]:
    return (name for name in (f"w{i}" for i in count()) if name not in taken)
