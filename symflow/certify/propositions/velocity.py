r"""Propositions about the velocity itself: Gaussians that do not stay Gaussian, tokens that escape.

The statement of a certificate is a record with the keys of :data:`_KEYS`: the heads (kernel, value,
normalisation, prefactor as text of the small grammar), what is added to them, whether a causal mask is there,
and the shapes and signs of the parameters:

.. math:: \Gamma_\mu(x) = \text{output}(x) + \sum_{\text{heads}} \text{prefactor} \cdot
          \int \text{value}(y)\,\text{kernel}(x, y)\,d\mu(y) \;\Big/ \int \text{kernel}(x, y)\,d\mu(y),

with the division for ``"softmax"`` only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from symflow.certify.names import is_fixed_size
from symflow.certify.propositions.proposition import Proposition, require_keys
from symflow.certify.terms import Rejected, Terms, is_matrix
from symflow.errors import CertificateError

_KEYS = frozenset(("query", "key", "heads", "output", "diffusion", "masked", "symbols", "signs"))
_HEAD = frozenset(("kernel", "value", "normalise", "prefactor", "members"))
_HEAD_TEXTS = ("kernel", "value", "normalise", "prefactor")
MAX_HEADS = 8
MAX_SYMBOLS = 40
MAX_TEXT = 2000  #: characters of one expression
_SIGNS = ("nonnegative", "positive")


@dataclass(frozen=True)
class StatedHead:
    """One head, as text."""

    kernel: str
    value: str
    normalised: bool
    prefactor: str


@dataclass(frozen=True)
class StatedVelocity:
    """The velocity that a certificate is about, read and checked.

    Two are equal if they mean the same: texts count by what they are read as.
    """

    query: str
    key: str
    heads: tuple[StatedHead, ...] = field(compare=False)
    output: str = field(compare=False)
    masked: bool
    symbols: Mapping[str, tuple[str, ...]]
    signs: Mapping[str, str]
    expressions: tuple[Any, ...]


def read_velocity(statement: Any) -> StatedVelocity:
    """Return the velocity of a stored statement after checking keys, types, names and shapes.

    Raises
    ------
    CertificateError
        Naming the key and what it must be.
    """
    require_keys(statement, _KEYS)
    texts = {key: _text(statement[key], key) for key in ("query", "key", "output", "diffusion")}
    if type(statement["masked"]) is not bool:
        raise CertificateError("statement: 'masked' must be true or false")
    shapes = _shapes(statement["symbols"])
    signs = _signs(statement["signs"], shapes)
    records = statement["heads"]
    if not isinstance(records, (list, tuple)) or not 0 < len(records) <= MAX_HEADS:
        raise CertificateError(f"statement: 'heads' must be a list of at most {MAX_HEADS} heads")
    heads = tuple(_head(record, shapes) for record in records)
    try:
        expressions = _read_expressions(texts, heads, shapes, signs)
    except Rejected as error:
        raise CertificateError(f"statement: {error}") from error
    return StatedVelocity(
        query=texts["query"],
        key=texts["key"],
        heads=heads,
        output=texts["output"],
        masked=statement["masked"],
        symbols=shapes,
        signs=signs,
        expressions=expressions,
    )


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise CertificateError(f"statement: {key!r} must be text of at most {MAX_TEXT} characters")
    return value


def _shapes(symbols: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(symbols, Mapping) or len(symbols) > MAX_SYMBOLS:
        raise CertificateError(f"statement: 'symbols' must be an object of at most {MAX_SYMBOLS} names")
    for name, shape in symbols.items():
        if (
            not isinstance(shape, (list, tuple))
            or len(shape) > 2
            or not all(isinstance(size, str) and not is_fixed_size(size) for size in shape)
        ):
            raise CertificateError(f"statement: the shape of {name!r} must be at most two names of sizes")
    return {name: tuple(shape) for name, shape in symbols.items()}


def _signs(signs: Any, shapes: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    if not isinstance(signs, Mapping):
        raise CertificateError("statement: 'signs' must be an object")
    for name, sign in signs.items():
        if sign not in _SIGNS or shapes.get(name) != ():
            raise CertificateError(
                f"statement: sign {sign!r} of {name!r}: give nonnegative or positive, for a scalar"
            )
    return dict(signs)


def _head(record: Any, shapes: Mapping[str, tuple[str, ...]]) -> StatedHead:
    if not isinstance(record, Mapping) or set(record) != _HEAD:
        raise CertificateError(f"statement: a head has exactly the keys {', '.join(sorted(_HEAD))}")
    texts = {key: _text(record[key], key) for key in _HEAD_TEXTS}
    if texts["normalise"] not in ("softmax", "none"):
        raise CertificateError(f"statement: normalise = {texts['normalise']!r}; give 'softmax' or 'none'")
    members = record["members"]
    known = isinstance(members, (list, tuple)) and all(isinstance(m, str) and m in shapes for m in members)
    if not known:
        raise CertificateError("statement: 'members' must list the symbols that every head has of its own")
    return StatedHead(texts["kernel"], texts["value"], texts["normalise"] == "softmax", texts["prefactor"])


def _read_expressions(
    texts: Mapping[str, str],
    heads: tuple[StatedHead, ...],
    shapes: Mapping[str, tuple[str, ...]],
    signs: Mapping[str, str],
) -> tuple[Any, ...]:
    """Read every text; refuse names that clash, wrong shapes, and tokens where they cannot be."""
    query, key = texts["query"], texts["key"]
    tokens = {query: ("d",), key: ("d",)}
    if len(tokens) < 2 or set(tokens) & set(shapes):
        raise CertificateError("statement: query, key and parameters need distinct names")
    terms = Terms({**shapes, **tokens}, signs)
    read: list[Any] = [
        _expression(terms, "output", texts["output"], {key}, is_vector=True),
        _expression(terms, "diffusion", texts["diffusion"], {query, key}),
    ]
    for head in heads:
        read += [
            head.normalised,
            _expression(terms, "kernel", head.kernel, set()),
            _expression(terms, "value", head.value, {query}, is_vector=True),
            _expression(terms, "prefactor", head.prefactor, {query, key}),
        ]
    return tuple(read)


def _expression(terms: Terms, name: str, text: str, barred: set[str], *, is_vector: bool = False) -> Any:
    expr = terms.read(text)
    if is_matrix(expr) != is_vector or (is_vector and expr.shape != (terms.symbols["d"], 1)):
        kind = "a vector of size d" if is_vector else "a scalar"
        raise CertificateError(f"statement: {name} = {text} must be {kind}")
    found = sorted(terms.depends_on(expr) & barred)
    if found:
        raise CertificateError(f"statement: {name} must not contain {', '.join(found)}")
    return expr


@dataclass(frozen=True)
class NonPreservation(Proposition):
    """``∃``: a law from which no Gaussian curve solves the equation, so that Gaussians are not preserved.

    Attributes
    ----------
    claim : str
        Id.
    text : Mapping or None
        The statement of the literature, to which a certificate must be equal; None for any model.
    """

    claim: str
    text: Mapping[str, Any] | None = None

    def read(self, statement: Any) -> StatedVelocity:
        """Return the velocity after comparing the statement with the one of the claim.

        Raises
        ------
        CertificateError
            If the statement is malformed or another one.
        """
        stated = read_velocity(statement)
        if self.text is not None and stated != read_velocity(self.text):
            raise CertificateError(f"the statement is not that of {self.claim}")
        return stated

    def scope(self, statement: Any) -> str:
        """Return what exists, in words."""
        stated = self.read(statement)
        law = "a Gaussian of positive variance"
        if stated.masked:
            law += " at each of finitely many positions"
        return (
            f"there are real parameters and {law} in dimension d = 1, with every other size one, from which "
            "no curve of Gaussians is a weak solution with integrable velocity on any time interval; nothing "
            "is said about other parameters or laws"
        )


@dataclass(frozen=True)
class Escape(Proposition):
    """A single token in dimension one that leaves every bounded set in finite time, for several models.

    Attributes
    ----------
    claim : str
        Id.
    parts : Mapping of str to Mapping
        The statement of each model, by the name that statement and proof use for it.
    """

    claim: str
    parts: Mapping[str, Mapping[str, Any]]

    def read(self, statement: Any) -> dict[str, StatedVelocity]:
        """Return the velocities after comparing the statement with the one of the claim.

        Raises
        ------
        CertificateError
            If the statement is malformed or another one.
        """
        if not isinstance(statement, Mapping) or set(statement) != set(self.parts):
            raise CertificateError(f"{self.claim} has the parts {', '.join(self.parts)}")
        found = {name: read_velocity(statement[name]) for name in self.parts}
        for name, part in self.parts.items():
            if found[name] != read_velocity(part):
                raise CertificateError(f"the statement {name!r} is not that of {self.claim}")
        return found

    def scope(self, statement: Any) -> str:
        """Return what exists, in words."""
        self.read(statement)
        return (
            f"{' and '.join(self.parts)}: dimension d = 1 with every other size one, one choice of "
            "parameters; the Dirac at every x₀ > 0 leaves every bounded set no later than at the stated "
            "time, so that solutions from compactly supported laws are only local in time"
        )


_QK = {"Q": ["k", "d"], "K": ["k", "d"], "V": ["d", "d"], "beta": [], "temperature": []}
_SCORE = "beta/temperature*dot(Q*x, K*y)"


def _model(kernel: str, normalise: str = "none", masked: bool = False) -> dict[str, Any]:
    head = {"kernel": kernel, "value": "V*y", "normalise": normalise, "prefactor": "1", "members": []}
    return {
        "query": "x",
        "key": "y",
        "heads": [head],
        "output": "zeros(d, 1)",
        "diffusion": "0",
        "masked": masked,
        "symbols": _QK,
        "signs": {"beta": "nonnegative", "temperature": "positive"},
    }


#: what it means that ``gaussian-preservation`` is refuted
DENIAL = NonPreservation("gaussian-preservation")

PROPOSITIONS = (
    NonPreservation("CACP25/gaussian-sigmoid", _model(f"1/(1 + exp(-({_SCORE})))")),
    NonPreservation("CACP25/gaussian-masked", _model(f"exp({_SCORE})", "softmax", masked=True)),
    Escape(
        "CACP25/linear-local-only",
        {"linear": _model(_SCORE), "unnormalised": _model(f"exp({_SCORE})")},
    ),
)
