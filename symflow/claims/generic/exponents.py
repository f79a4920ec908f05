"""Signs of exponents of a given common noise."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symflow.certify.propositions.common_noise import QUANTITIES, SIGNS, WITH_PARAMETER, Instance
from symflow.certify.search.common_noise import decide_signs
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed
from symflow.errors import InputError

if TYPE_CHECKING:
    from symflow.noise.common import CommonNoise

_CLAIM = "exponent-sign"
_EXAMPLE = "'relu d=64 sigma=0.1 dissipation' or 'tanh d=5 rate=1 positive'"
_NUMBERS = ("sigma", "sigma_w", "sigma_u", "d", "dim")


def _decide(
    noise: CommonNoise, quantity: Any = "lyapunov", sign: str = "negative", *, deadline: Deadline
) -> Verdict:
    """Decide the sign of an exponent of common noise.

    Parameters
    ----------
    noise : CommonNoise
    quantity : str or (str, number)
        ``"lyapunov"``, ``"dissipation"``, ``("moment", p)``, ``("rate", beta)`` or ``("fractional", q)``.
    sign : str
        What is claimed: ``"negative"`` or ``"positive"``.
    """
    from symflow.models.scalars import exact_scalar
    from symflow.noise.common import CommonNoise

    if not isinstance(noise, CommonNoise):
        raise InputError(f"{_CLAIM} is about a CommonNoise, got {type(noise).__name__}")
    name, given = quantity if isinstance(quantity, (tuple, list)) and len(quantity) == 2 else (quantity, None)
    if name not in QUANTITIES or (given is not None) != (name in WITH_PARAMETER):
        raise InputError(
            f"quantity = {quantity!r}: use 'lyapunov', 'dissipation', ('moment', p), ('rate', beta) or "
            "('fractional', q)"
        )
    if sign not in SIGNS:
        raise InputError(f"sign = {sign!r}: use {' or '.join(map(repr, SIGNS))}")
    parameter = None
    if given is not None:
        exact = exact_scalar(str(name), given, allow_zero=False)
        if not exact.is_Rational:
            raise InputError(f"{name}: the parameter {given} is not rational; give a fraction")
        parameter = Fraction(int(exact.p), int(exact.q))
    item = Instance(noise.activation.phi, noise.sigma_w, noise.sigma_u, noise.dim, str(name), parameter, sign)
    return replayed(decide_signs(_CLAIM, (item,), deadline.check), deadline)


def _from_text(text: str) -> tuple[Any, ...]:
    """Return noise, quantity and sign from words such as ``relu d=64 sigma=0.1 rate=1``, or from JSON."""
    if text.lstrip().startswith("{"):
        return _from_json(text)
    words = text.split()
    settings: dict[str, str] = {}
    quantity: Any = "lyapunov"
    sign = "negative"
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if equals and name in _NUMBERS:
            settings[name] = value
        elif name in QUANTITIES and bool(equals) == (name in WITH_PARAMETER):
            quantity = (name, value) if equals else name
        elif word in SIGNS:
            sign = word
        else:
            raise InputError(f"{_CLAIM}: {word!r} is not understood; write e.g. {_EXAMPLE}")
    return _noise(words[0] if words else "", settings), quantity, sign


def _from_json(text: str) -> tuple[Any, ...]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InputError(f"{_CLAIM}: the text is not JSON: {error}") from error
    known = ("activation", *_NUMBERS, "quantity", "sign")
    for key in data:
        if key not in known:
            raise InputError(f"{_CLAIM}: the key {key!r} is unknown; known are {', '.join(known)}")
    settings = {name: str(data[name]) for name in _NUMBERS if name in data}
    activation = str(data.get("activation", ""))
    return _noise(activation, settings), data.get("quantity", "lyapunov"), data.get("sign", "negative")


def _noise(activation: str, settings: dict[str, str]) -> CommonNoise:
    from symflow.noise.common import CommonNoise

    dim = settings.get("d", settings.get("dim", ""))
    if not dim.isdecimal():
        raise InputError(f"{_CLAIM}: the size d = {dim!r} is no whole number; write e.g. {_EXAMPLE}")
    both = settings.get("sigma", "0")
    weights, inner = (settings.get(name, both) for name in ("sigma_w", "sigma_u"))
    return CommonNoise(activation, weights, inner, dim=int(dim))


CLAIMS = (
    Claim(
        id=_CLAIM,
        title="Signs of exponents of common noise",
        quoted=r"$\lambda_1 < 0$, $\bar\lambda < 0$, $\bar\lambda' < 0$.",
        holds=r"The sign of $\lambda_1$, $\bar\lambda$, $\Lambda(p)$, $\bar\lambda'$ or $\sup_u Lf/f$ for $f "
        r"= (1 - u)^q$ is decided for the given field by enclosures in ball arithmetic.",
        hypotheses=r"An activation that is a polynomial, linear on both sides of zero, or smooth and of "
        r"exponential growth; rational $\sigma_W$ and $\sigma_U$.",
        method="field-signs",
        documented="proved",
        reference="",
        decide=_decide,
        arguments=("noise", "quantity?", "sign?"),
        from_text=_from_text,
    ),
)
