"""Lowering: from a flow of tokens to what is computed per token, per pair and per average."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

from sympy import Add, Expr, MatrixSymbol, Mul, S, Symbol, Trace, exp
from sympy.matrices.expressions.matexpr import MatrixExpr

from symflow.codegen.emit import Emitter
from symflow.codegen.frame import array_like, fresh
from symflow.codegen.program import ONE, Array, Program
from symflow.codegen.rewrite import Weights, typical
from symflow.codegen.tokens.program import Coupling, Inner, Number, TermProgram, TokenProgram
from symflow.codegen.words import (
    Letter,
    Sum,
    Word,
    add,
    collect,
    expand,
    multiply,
    scale,
    size_of,
    symbol,
    trace,
    transpose_word,
)
from symflow.errors import InputError
from symflow.flow import SCORE, PairTerm, TokenFlow

#: Number of tokens that is assumed when costs are compared.
_TYPICAL_COUNT = 1 << 14


def lower_tokens(flow: TokenFlow) -> TokenProgram:
    """Return the program of a flow of tokens.

    Raises
    ------
    InputError
        If an expression has no matrix program, or two symbols have one name.
    """
    scene = _Scene(flow)
    terms = tuple(_Term(scene, term).program() for term in flow.terms if term.prefactor != 0)
    return TokenProgram(
        model=flow.name,
        parameters=scene.parameters,
        scalars=scene.scalars,
        dimensions=scene.dimensions,
        pitch=scene.pitch,
        x=scene.x,
        ones=scene.ones,
        terms=terms,
        background=_background(scene),
        sphere=flow.space == "sphere",
        weights=None if flow.weights is None else str(flow.weights.name),
    )


def token_program_of(model: Any, names: frozenset[str]) -> TokenProgram:
    """Return the program of the tokens of a model for the parameter ``names``.

    The scale beta/temperature stays an argument.
    """
    from symflow.derive.particles.reduction import token_system

    return lower_tokens(token_system(model.with_symbolic_scale().statement(names)))


class _Scene:
    """What the programs of one flow share: names, arrays, sizes."""

    def __init__(self, flow: TokenFlow) -> None:
        self.flow = flow
        names = [s.name for s in (*flow.parameters, *flow.dimensions)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(
                f"{flow.name} has two symbols called {twice[0]!r}; rename the one in score or value"
            )
        self.taken = set(names)
        self.parameters = tuple(array_like(p.name, p, flow.stacked.get(p.name)) for p in flow.parameters)
        self.scalars = tuple(p.name for p in flow.parameters if not isinstance(p, MatrixSymbol))
        self.dimensions = tuple(s.name for s in flow.dimensions)
        self.pitch = fresh("pitch", self.taken)
        self.d = size_of(flow.x.rows)
        self.x = Array(fresh("x", self.taken), self.d, self.pitch)
        token = symbol(self.x.name, self.d, 1)
        self.tokens = {flow.x.name: token, flow.y.name: token}
        self.ones = Array(fresh("ones", self.taken), 1, self.pitch)
        counts = {str(size) for size in flow.stacked.values()}
        sizes = typical(self.dimensions, counts=counts).values
        self.weights = Weights({**sizes, self.pitch: _TYPICAL_COUNT, str(flow.count): _TYPICAL_COUNT})

    def emitter(self, inputs: Iterable[Array], members: Iterable[str]) -> Emitter:
        """Return an emitter that reads ``inputs`` and the matrix parameters, one matrix of each family."""
        matrices = (p for p in self.parameters if p.name not in self.scalars)
        chosen = frozenset(members)
        single = (replace(p, lead=None) for p in matrices if p.lead is None or p.name in chosen)
        return Emitter((*inputs, *single), self.weights, reserved=self.taken)

    def columns(self, expression: Any) -> Sum:
        """Return a column that is affine in one token as the matrix of the columns of all tokens."""
        s = expand(expression, self.tokens)
        return collect(s.rows, self.pitch, ((c, self._widened(word, expression)) for c, word in s.terms))

    def _widened(self, word: Word, expression: Any) -> Word:
        times = sum(self.x.name in letter.names for letter in word)
        if times == 0:
            return (*word, Letter(self.ones.name, 1, self.pitch))
        if times > 1 or word[-1].name != self.x.name or word[-1].transposed:
            raise InputError(
                f"no code can be generated for {expression}: it is not affine in the token; "
                "use scores of products and distances of affine functions, and affine values"
            )
        return (*word[:-1], Letter(self.x.name, self.d, self.pitch))

    def program(
        self, name: str, inputs: tuple[Array, ...], emitter: Emitter, outputs: tuple[Array, ...]
    ) -> Program:
        """Return the finished program."""
        sizes = (*self.dimensions, self.pitch)
        return Program(
            name, self.flow.name, inputs, outputs, self.parameters, self.scalars, sizes, tuple(emitter.ops)
        )


def _background(scene: _Scene) -> Program | None:
    s = scene.columns(scene.flow.background)
    if not s.terms:
        return None
    inputs = (scene.x, scene.ones)
    emitter = scene.emitter(inputs, ())
    emitter.output(s, fresh("layer", scene.taken))
    return scene.program("background", inputs, emitter, emitter.made())


class _Term:
    """One term on its way to a program: an emitter, and the arrays that it has to keep."""

    def __init__(self, scene: _Scene, term: PairTerm) -> None:
        self.scene, self.term = scene, term
        family = term.family
        self.members = () if family is None else tuple(sorted(str(m.name) for m in family.members))
        self.count = None if family is None else str(family.count)
        self.inputs = (scene.x, scene.ones)
        self.emitter = scene.emitter(self.inputs, self.members)
        self.inner: dict[tuple[Array, Array | None], Inner] = {}

    def program(self) -> TermProgram:
        """Return the program; everything that is emitted is emitted here, in this order."""
        term = self.term
        couplings = tuple(self._coupling(k, pairing) for k, pairing in enumerate(term.pairings))
        feature = self._keep(self.scene.columns(term.feature), "feature")
        rows = tuple(self._number(symbol, value) for symbol, value in term.rows)
        columns = tuple(self._number(symbol, value) for symbol, value in term.columns)
        score, constants = _with_constants(term.score, self._of_tokens())
        finish, velocity = self._finish(feature)
        prepare = self.scene.program("prepare", self.inputs, self.emitter, self.emitter.made())
        symmetry, pairs = self._symmetry()
        return TermProgram(
            prepare=prepare,
            couplings=couplings,
            rows=rows,
            columns=columns,
            constants=constants,
            score=score,
            weight=term.weight,
            exponential=term.weight == exp(SCORE),
            normalise=term.normalise,
            feature=feature,
            symmetry=symmetry,
            symmetric_if=pairs,
            finish=finish,
            velocity=velocity,
            members=self.members,
            count=self.count,
        )

    def _keep(self, s: Sum, name: str) -> Array:
        free = next(n for n in _numbered(name) if n not in self.scene.taken)
        array = self.emitter.kept(s, free)
        self.scene.taken.add(array.name)
        return array

    def _coupling(self, k: int, pairing: Any) -> Coupling:
        left, right = (
            self._keep(self.scene.columns(getattr(pairing, side)), f"{side}_{k}")
            for side in ("left", "right")
        )
        return Coupling(pairing.symbol, left, right, pairing.difference)

    def _symmetry(self) -> tuple[Program | None, tuple[tuple[Array, Array], ...]]:
        """Return the program of the matrices to compare, and the pairs of them."""
        if self.term.symmetric_if is None:
            return None, ()
        emitter = self.scene.emitter((), self.members)
        pairs = [
            (emitter.kept(expand(one), f"one_{k}"), emitter.kept(expand(other), f"other_{k}"))
            for k, (one, other) in enumerate(self.term.symmetric_if)
        ]
        return self.scene.program("symmetry", (), emitter, emitter.made()), tuple(pairs)

    def _finish(self, feature: Array) -> tuple[Program, Array]:
        scene, term = self.scene, self.term
        average = Array(fresh("average", scene.taken), feature.rows, scene.pitch)
        mass = Array(fresh("mass", scene.taken), 1, scene.pitch)
        emitter = scene.emitter((average, mass), self.members)
        terms = (
            multiply(expand(factor), symbol(array.name, array.rows, array.cols))
            for factor, array in ((term.matrix, average), (term.offset, mass))
        )
        velocity = emitter.kept(scale(term.prefactor, add(*terms)), fresh("moved", scene.taken))
        return scene.program("finish", (average, mass), emitter, emitter.made()), velocity

    # --- numbers of a token ---------------------------------------------------------------------------

    def _number(self, name: Symbol, value: Expr) -> Number:
        """Return a number of each token, its traces taken apart into inner products."""
        table = {atom: self._traced(atom) for atom in sorted(value.atoms(Trace), key=str)}
        plain = value.xreplace(table)
        if plain.has(MatrixExpr):
            raise InputError(f"no code can be generated for {value}; use functions of scalar products")
        used = plain.free_symbols
        return Number(name, plain, tuple(i for i in self.inner.values() if i.symbol in used))

    def _traced(self, atom: Any) -> Expr:
        s = expand(atom.arg, self.scene.tokens)
        return Add(*(c * Mul(*(self._segment(part) for part in _segments(word))) for c, word in s.terms))

    def _segment(self, word: Word) -> Symbol:
        """Return the symbol of a cyclic word that is one number."""
        x = self.scene.x.name
        ends = tuple(x in letter.names for letter in (word[0], word[-1]))
        if not any(x in letter.names for letter in word):
            one = trace(Sum(word[0].rows, word[-1].cols, ((ONE, word),)), 1)
            return self._inner(self._keep(one, "number"))
        if ends == (True, False):
            return self._segment(transpose_word(word))
        if ends == (True, True) and len(word) > 1:
            cut = _middle(word)
            a, b = transpose_word(word[:cut]), word[cut:]
            return self._inner(*(self._keep(self._wide(part), "factor") for part in (a, b)))
        return self._inner(self._keep(self._wide(word), "row"))

    def _wide(self, word: Word) -> Sum:
        terms = ((ONE, self.scene._widened(word, "a score")),)
        return Sum(word[0].rows, self.scene.pitch, terms)

    def _inner(self, a: Array, b: Array | None = None) -> Symbol:
        key = (a, b)
        if key not in self.inner:
            name = fresh(f"inner_{len(self.inner)}", self.scene.taken)
            self.inner[key] = Inner(Symbol(name, real=True), a, b)
        return self.inner[key].symbol

    def _of_tokens(self) -> frozenset[Symbol]:
        """Return the symbols of the score that differ from pair to pair."""
        term = self.term
        numbers = (name for name, _ in (*term.rows, *term.columns))
        return frozenset((*(p.symbol for p in term.pairings), *numbers))


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def _middle(word: Word) -> int:
    """Return where to cut xᵀ…x: in two equal halves if it is made of them, else after xᵀ."""
    half = len(word) // 2
    return half if len(word) % 2 == 0 and transpose_word(word[:half]) == word[half:] else 1


def _segments(word: Word) -> list[Word]:
    """Cut a cyclic word at every size 1: a trace of rank-one factors is a product of numbers."""
    starts = [i for i, letter in enumerate(word) if letter.rows == 1 and letter.trace is None]
    if not starts:
        return [word]
    turned = word[starts[0] :] + word[: starts[0]]
    cuts = [i for i, letter in enumerate(turned) if letter.rows == 1] + [len(turned)]
    return [turned[a:b] for a, b in pairwise(cuts)]


def _with_constants(score: Expr, changing: frozenset[Symbol]) -> tuple[Expr, tuple[tuple[Symbol, Expr], ...]]:
    """Replace what depends on parameters alone by symbols, so that it is computed once."""
    found: dict[Expr, Symbol] = {}

    def constant(value: Expr) -> Expr:
        if value.is_number:
            return value
        return found.setdefault(value, Symbol(f"constant_{len(found)}", real=True))

    def visit(node: Any) -> Any:
        if not getattr(node, "free_symbols", None):
            return node
        if not node.free_symbols & changing:
            return constant(node) if isinstance(node, Expr) else node.func(*map(visit, node.args))
        if isinstance(node, (Add, Mul)):
            fixed = [arg for arg in node.args if not arg.free_symbols & changing]
            rest = [visit(arg) for arg in node.args if arg.free_symbols & changing]
            return node.func(constant(node.func(*fixed)) if fixed else _neutral(node), *rest)
        return node.func(*map(visit, node.args)) if node.args else node

    replaced = visit(score)
    return replaced, tuple((name, value) for value, name in found.items())


def _neutral(node: Any) -> Expr:
    return S.Zero if isinstance(node, Add) else S.One
