"""Tokens and syntax tree of the small grammar; plain data, knows neither SymPy nor shapes.

::

    sum      := ["+" | "-"] product (("+" | "-") product)*
    product  := factor (("*" | "/") factor)*
    factor   := ("+" | "-")* postfix ["**" exponent]
    postfix  := primary (".T" | "ᵀ")*
    primary  := number | name | function "(" argument ("," argument)* ")" | "(" sum ")"
    argument := sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
    exponent := ["-"] integer | "(" ["-"] integer ")"

A name is a letter followed by letters, digits and ``_``; any other name is written between double quotes,
with ``""`` for a quote. Sums and products are flat lists and brackets are counted, so neither long nor deep
text can exhaust the stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from symflow.errors import GrammarError

MAX_LENGTH = 20_000  #: characters; the longest certificate entry is below a tenth of this
MAX_DEPTH = 48  #: nested brackets
MAX_DIGITS = 400  #: characters of one number
MAX_EXPONENT = 100  #: of an integer power, and of ten in a decimal number

FUNCTIONS = {
    "dot": 2, "norm2": 1, "inv": 1, "tr": 1, "eye": 1, "zeros": 2, "exp": 1, "log": 1, "sqrt": 1, "sin": 1,
    "cos": 1, "tanh": 1, "erf": 1, "Max": -2, "Min": -2, "Abs": 1, "Heaviside": 1, "sigmoid": 1,
    "sqrtm": 1, "sum": -3, "Piecewise": -3, "And": -2, "Or": -2, "Not": 1,
}  #: number of arguments; negative means "at least"  # fmt: skip


@dataclass(frozen=True, eq=False)
class Node:
    """Base of the syntax tree; ``position`` is the offset of the first character, identity is equality."""

    position: int


@dataclass(frozen=True, eq=False)
class Number(Node):
    """An exact rational literal."""

    value: Fraction


@dataclass(frozen=True, eq=False)
class Name(Node):
    """A symbol."""

    name: str


@dataclass(frozen=True, eq=False)
class Sum(Node):
    """``±a ± b …``: pairs (sign, term)."""

    terms: tuple[tuple[int, Node], ...]


@dataclass(frozen=True, eq=False)
class Product(Node):
    """``a * b / c …``: pairs (is divisor, factor)."""

    factors: tuple[tuple[bool, Node], ...]


@dataclass(frozen=True, eq=False)
class Power(Node):
    """``base ** exponent`` with an integer exponent."""

    base: Node
    exponent: int


@dataclass(frozen=True, eq=False)
class Transposed(Node):
    """``operand.T``."""

    operand: Node


@dataclass(frozen=True, eq=False)
class Call(Node):
    """``function(arguments)``."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Comparison(Node):
    """``left < right`` and its like, a condition."""

    operator: str
    left: Node
    right: Node


def subtrees(node: Node) -> Iterator[Node]:
    """Yield a node and every node below it."""
    pending: list[object] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, Node):
            yield part
            pending += vars(part).values()
        elif isinstance(part, tuple):
            pending += part


def names_in(node: Node) -> set[str]:
    """Return every name in a syntax tree."""
    return {part.name for part in subtrees(node) if isinstance(part, Name)}


@dataclass(frozen=True, eq=False)
class _Token:
    kind: str
    text: str
    position: int


_PLAIN_NAME = r"(?:(?!ᵀ)[^\W\d])(?:(?!ᵀ)\w)*"
_TOKEN = re.compile(
    rf"""(?P<space>\s+)
       | (?P<number>(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))
       | (?P<transpose>\.T(?!\w)|ᵀ)
       | (?P<name>{_PLAIN_NAME})
       | (?P<quoted>"(?:[^"]|"")+")
       | (?P<power>\*\*|\^)
       | (?P<mark><=|>=|==|!=|[-+*/(),−·<>≤≥≠])""",
    re.VERBOSE,
)
_SAME = {"−": "-", "·": "*", "≤": "<=", "≥": ">=", "≠": "!="}
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
#: Functions of conditions; their value is a condition again.
CONNECTIVES = ("And", "Or", "Not")


def quote_name(name: str) -> str:
    """Return ``name`` as the grammar writes it: bare where possible, else between double quotes."""
    return name if re.fullmatch(_PLAIN_NAME, name) else '"' + name.replace('"', '""') + '"'


def fail(message: str, text: str, position: int) -> GrammarError:
    """Return the error for ``position`` of ``text``, with a short excerpt."""
    excerpt = text[max(0, position - 20) : position + 20]
    return GrammarError(f"{message} (at character {position + 1}, near {excerpt!r})", text, position)


def tokenise(text: str) -> list[_Token]:
    """Return the tokens of ``text``, closed by an ``end`` token."""
    if not isinstance(text, str):
        raise GrammarError(f"expected text of the small grammar, got {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise GrammarError(
            f"text of {len(text)} characters is too long (at most {MAX_LENGTH})", text[:80], MAX_LENGTH
        )
    tokens, position = [], 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise fail(f"cannot read {text[position]!r}", text, position)
        kind, value = str(found.lastgroup), found.group()
        if kind == "quoted":
            kind, value = "name", value[1:-1].replace('""', '"')
        if kind != "space":
            tokens.append(_Token(kind, _SAME.get(value, value), position))
        position = found.end()
    tokens.append(_Token("end", "", len(text)))
    return tokens


def read(text: str, functions: dict[str, int] = FUNCTIONS) -> Node:
    """Return the syntax tree of ``text``; raises :class:`GrammarError` naming the place."""
    reader = _Reader(text, tokenise(text), functions)
    node = reader.sum()
    if reader.token.kind != "end":
        raise fail(f"expected an operator before {reader.token.text!r}", text, reader.token.position)
    return node


class _Reader:
    """Recursive descent over the tokens."""

    def __init__(self, text: str, tokens: list[_Token], functions: dict[str, int]) -> None:
        self._text = text
        self._tokens = tokens
        self._functions = functions
        self._next = 0
        self._depth = 0

    @property
    def token(self) -> _Token:
        """The token that is read next."""
        return self._tokens[self._next]

    def _take(self, *texts: str) -> _Token | None:
        token = self.token
        if token.kind in ("mark", "power") and token.text in texts:
            self._next += 1
            return token
        return None

    def _expect(self, text: str) -> None:
        if self._take(text) is None:
            shown = repr(self.token.text) if self.token.text else "the end"
            raise fail(f"expected {text!r}, found {shown}", self._text, self.token.position)

    def _sign(self) -> int:
        sign = 1
        while (token := self._take("+", "-")) is not None:
            sign = -sign if token.text == "-" else sign
        return sign

    def sum(self) -> Node:
        """Read a sum, the outermost rule of the grammar."""
        start = self.token.position
        terms = [(self._sign(), self._product())]
        while (token := self._take("+", "-")) is not None:
            sign = -1 if token.text == "-" else 1
            terms.append((sign * self._sign(), self._product()))
        return terms[0][1] if len(terms) == 1 and terms[0][0] == 1 else Sum(start, tuple(terms))

    def _product(self) -> Node:
        start = self.token.position
        factors = [(False, self._factor())]
        while (token := self._take("*", "/")) is not None:
            factors.append((token.text == "/", self._factor()))
        return factors[0][1] if len(factors) == 1 else Product(start, tuple(factors))

    def _factor(self) -> Node:
        start, sign = self.token.position, self._sign()
        node = self._postfix()
        if self._take("**", "^") is not None:
            node = Power(start, node, self._exponent())
            if self.token.kind == "power":
                raise fail("a power of a power needs brackets", self._text, self.token.position)
        return node if sign == 1 else Sum(start, ((-1, node),))

    def _exponent(self) -> int:
        bracket = self._take("(") is not None
        sign = -1 if self._take("-") is not None else 1
        token = self.token
        if token.kind != "number" or not token.text.isdigit() or len(token.text) > 3:
            raise fail("an exponent is an integer literal", self._text, token.position)
        if int(token.text) > MAX_EXPONENT:
            raise fail(f"an exponent is at most {MAX_EXPONENT}", self._text, token.position)
        self._next += 1
        if bracket:
            self._expect(")")
        return sign * int(token.text)

    def _postfix(self) -> Node:
        odd, position = False, self.token.position
        node = self._primary()
        while self.token.kind == "transpose":
            odd = not odd
            self._next += 1
        return Transposed(position, node) if odd else node

    def _primary(self) -> Node:
        token = self.token
        self._next += token.kind in ("number", "name")
        if token.kind == "number":
            return Number(token.position, self._value(token))
        if token.kind == "name":
            return self._call(token) if self._is_open_bracket() else Name(token.position, token.text)
        if token.kind == "mark" and token.text == "(":
            return self._bracket()
        shown = repr(token.text) if token.text else "the end of the text"
        raise fail(f"expected a number, a name or '(', found {shown}", self._text, token.position)

    def _is_open_bracket(self) -> bool:
        return self.token.kind == "mark" and self.token.text == "("

    def _value(self, token: _Token) -> Fraction:
        mantissa, _, exponent = token.text.lower().partition("e")
        power = exponent.lstrip("+-")
        if len(mantissa) > MAX_DIGITS or len(power) > 3 or int(power or 0) > MAX_EXPONENT:
            raise fail("number with too many digits", self._text, token.position)
        return Fraction(token.text)

    def _enter(self) -> None:
        self._expect("(")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise fail(f"more than {MAX_DEPTH} nested brackets", self._text, self.token.position)

    def _leave(self) -> None:
        self._expect(")")
        self._depth -= 1

    def _bracket(self) -> Node:
        self._enter()
        node = self.sum()
        self._leave()
        return node

    def _call(self, token: _Token) -> Node:
        if token.text == "DiracDelta":
            message = "DiracDelta is a distribution, no function; use a smooth function in its place"
            raise fail(message, self._text, token.position)
        if token.text not in self._functions:
            known = ", ".join(self._functions)
            raise fail(
                f"unknown function {token.text!r}; known are {known} (a product is written with *)",
                self._text,
                token.position,
            )
        self._enter()
        arguments = [self._argument()]
        while self._take(",") is not None:
            arguments.append(self._argument())
        self._leave()
        wanted = self._functions[token.text]
        if len(arguments) != wanted and not (wanted < 0 and len(arguments) >= -wanted):
            words = f"at least {-wanted}" if wanted < 0 else str(wanted)
            message = f"{token.text} takes {words} argument(s), got {len(arguments)}"
            raise fail(message, self._text, token.position)
        self._refuse_misplaced(token, arguments)
        return Call(token.position, token.text, tuple(arguments))

    def _argument(self) -> Node:
        start, left = self.token.position, self.sum()
        token = self._take(*_COMPARISONS)
        return left if token is None else Comparison(start, token.text, left, self.sum())

    def _refuse_misplaced(self, token: _Token, arguments: list[Node]) -> None:
        """Refuse a condition where a value is needed, and the other way round."""
        if token.text == "Piecewise" and len(arguments) % 2 == 0:
            message = "Piecewise takes value, condition, …, and a last value without condition"
            raise fail(message, self._text, token.position)
        for index, argument in enumerate(arguments):
            wanted = token.text in CONNECTIVES or (token.text == "Piecewise" and index % 2 == 1)
            if wanted != is_condition(argument):
                what = "a condition such as a < b" if wanted else "a value, not a condition,"
                message = f"argument {index + 1} of {token.text} must be {what}"
                raise fail(message.rstrip(","), self._text, argument.position)


def is_condition(node: Node) -> bool:
    """Whether a node says something that is true or false."""
    return isinstance(node, Comparison) or (isinstance(node, Call) and node.function in CONNECTIVES)
