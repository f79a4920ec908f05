r"""The coefficients of the runtime's exponential function, and a proof of its error.

The argument is reduced to :math:`x = k\ln 2 + r` with k a multiple of 1/16 (and then
:math:`2^{k} = 2^{\lfloor k\rfloor}T_j` from a table of 16 numbers) or an integer, and
:math:`e^r = 1 + r q(r)` with a polynomial q through Chebyshev's points. ``2**t`` goes the same way, with
:math:`t - k` formed exactly. What is proved bounds the relative error of the evaluation as
``symflow_exp.h`` writes it, for results that are normal numbers: the polynomial by ball arithmetic, every
rounding by :math:`u = 2^{-53}`.

``python -m symflow.codegen.exponential`` prints the header ``symflow_exp_constants.h``.

References
----------
Tang, *Table-driven implementation of the exponential function in IEEE floating-point arithmetic* (1989), is
the classic of the method.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

#: Unit roundoff of binary64.
UNIT = 2.0**-53

#: Bits of ball arithmetic and digits of mpmath; results are wanted to 60 bits.
_BITS, _DIGITS = 256, 60

#: Bits of the first part of ln 2: its product with k (at most 15 bits) is exact.
_HIGH_BITS = 38

#: Largest |k| that occurs: beyond, the result over- or underflows.
_LARGEST = 1100

#: Intervals on which the error of a polynomial is bounded.
_INTERVALS = 64


@dataclass(frozen=True)
class Scheme:
    """One way to evaluate.

    Attributes
    ----------
    pieces : int
        k is a multiple of 1/pieces; 1 means that there is no table.
    degree : int
        Degree of q.
    natural : bool
        Whether it is e**x, else 2**t.
    fused : bool
        Whether ``a*b + c`` is rounded once.
    """

    pieces: int
    degree: int
    natural: bool
    fused: bool

    @property
    def radius(self) -> Any:
        """Bound of \\|r\\|, in the unit of the argument: half a piece and what rounding k adds."""
        from flint import arb

        piece = (arb.const_log2() if self.natural else arb(1)) / (2 * self.pieces)
        return (piece * (1 + arb(2) ** -30)).abs_upper()


#: With a table (registers that can be permuted by another register) and without; e**x and 2**t.
SCHEMES = {
    "table_e": Scheme(16, 5, True, True),
    "table_2": Scheme(16, 5, False, True),
    "plain_e": Scheme(1, 10, True, True),
    "plain_2": Scheme(1, 10, False, True),
    "unfused_e": Scheme(1, 10, True, False),
    "unfused_2": Scheme(1, 10, False, False),
}


@cache
def coefficients(pieces: int, degree: int, natural: bool) -> tuple[float, ...]:
    """Return q, lowest power first: ``(base**r - 1)/r`` through Chebyshev's points, rounded."""
    import mpmath

    with mpmath.workdps(_DIGITS):
        rate = mpmath.mpf(1) if natural else mpmath.log(2)
        radius = (mpmath.log(2) if natural else mpmath.mpf(1)) / (2 * pieces)
        nodes = [radius * mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * degree + 2)) for k in range(degree + 1)]
        values = [mpmath.expm1(rate * x) / x if abs(x) > radius / 2**40 else rate for x in nodes]
        powers = mpmath.matrix([[x**j for j in range(degree + 1)] for x in nodes])
        return tuple(float(c) for c in mpmath.lu_solve(powers, mpmath.matrix(values)))


def table() -> tuple[float, ...]:
    """Return ``2**(j/16)``, rounded to nearest."""
    import mpmath

    with mpmath.workdps(_DIGITS):
        return tuple(float(mpmath.power(2, mpmath.mpf(j) / 16)) for j in range(16))


def logarithm_parts() -> tuple[float, float]:
    """Return ln 2 as a number of few bits and the rest of it."""
    import mpmath

    with mpmath.workdps(_DIGITS):
        high = mpmath.floor(mpmath.log(2) * 2**_HIGH_BITS) / 2**_HIGH_BITS
        return float(high), float(mpmath.log(2) - high)


def relative_error(scheme: Scheme) -> float:
    """Return a proved bound of the relative error, rounded up to four digits.

    The steps: the reduction, Horner's rule for q, then ``T + (T r) q`` or ``1 + r q``, each with its
    roundings, on one small interval of r after the other.
    """
    from flint import arb, ctx

    with ctx.workprec(_BITS):
        rate = arb(1) if scheme.natural else arb.const_log2()
        q = [arb(c) for c in coefficients(scheme.pieces, scheme.degree, scheme.natural)]
        difference, rest = _difference(q, rate, scheme.radius)
        worst = arb(0)
        for r in _intervals(scheme.radius):
            error = _rounding_error(scheme, q, r) + abs(_on_interval(difference, r)) + rest
            shifted = _reduction_error(scheme) * (rate * r.abs_upper()).exp()
            worst = max(worst, ((error + shifted) / (rate * r).exp()).abs_upper())
        return _rounded_up((1 + worst) * (1 + _table_error(scheme)) * (1 + _unit()) - 1)


def _unit() -> Any:
    from flint import arb

    return arb(2) ** -53


def _intervals(radius: Any) -> Iterator[Any]:
    """Yield balls that cover [-radius, radius]."""
    from flint import arb

    for index in range(-_INTERVALS, _INTERVALS):
        yield radius * (arb(2 * index + 1) + arb(0, 1)) / (2 * _INTERVALS)


def _rounding_error(scheme: Scheme, q: list[Any], r: Any) -> Any:
    """Return a bound of what rounding adds to ``1 + r q(r)`` before the last sum is rounded."""
    from flint import arb

    unit, size = _unit(), abs(r).abs_upper()
    value, error = q[-1], arb(0)
    for c in reversed(q[:-1]):
        product = (value * r).abs_upper() + error * size
        error = error * size + (arb(0) if scheme.fused else unit * product)
        value = value * r + c
        error += unit * (value.abs_upper() + error)
    if scheme.pieces > 1 or not scheme.fused:  # T r, or r q, is rounded by itself
        return size * (error + unit * (value.abs_upper() + error))
    return size * error


def _reduction_error(scheme: Scheme) -> Any:
    """Return a bound of the error of r: that of the second part of ln 2, its product, and the last sum.

    k times the first part is exact (15 + 38 bits), and so is its difference to x: both are multiples of one
    power of two and close to each other. For ``2**t`` the difference t - k is exact for that reason.
    """
    from flint import arb

    if not scheme.natural:
        return arb(0)
    high, low = (arb(part) for part in logarithm_parts())
    rest = abs(arb.const_log2() - high - low) * _LARGEST
    product = abs(low) * _LARGEST * _unit()
    return rest + product + _unit() * scheme.radius * (1 + _unit())


def _difference(q: list[Any], rate: Any, radius: Any) -> tuple[list[Any], Any]:
    """Return ``1 + r q(r)`` less a Taylor polynomial of base**r, and a bound of what that leaves out.

    The coefficients of the difference are small, so that balls of moderate width suffice.
    """
    from flint import arb

    terms = len(q) + 12
    difference, taylor = [arb(0)], arb(1)
    for k in range(1, terms + 1):
        taylor = taylor * rate / k
        difference.append((q[k - 1] if k <= len(q) else arb(0)) - taylor)
    return difference, taylor * rate / (terms + 1) * radius ** (terms + 1) * (rate * radius).exp()


def _on_interval(polynomial: list[Any], r: Any) -> Any:
    """Return the values of a polynomial on a ball, by the mean value theorem."""
    slope = [k * c for k, c in enumerate(polynomial)][1:]
    return _value(polynomial, r.mid()) + _value(slope, r) * (r - r.mid())


def _value(polynomial: list[Any], r: Any) -> Any:
    value = polynomial[-1]
    for c in reversed(polynomial[:-1]):
        value = value * r + c
    return value


def _table_error(scheme: Scheme) -> Any:
    """Return the largest relative error of the table, zero where there is none."""
    from flint import arb

    if scheme.pieces == 1:
        return arb(0)
    exact = [arb(2) ** (arb(j) / 16) for j in range(16)]
    return max(abs(arb(entry) / true - 1).abs_upper() for entry, true in zip(table(), exact, strict=True))


def _rounded_up(value: Any) -> float:
    """Return a double of four digits that is not below the ball."""
    from fractions import Fraction

    from symflow.algebra.exact.numbers import Ball

    upper = Ball.of(value).upper
    rounded = float(f"{float(upper):.3e}")
    while Fraction(rounded) < upper:
        rounded *= 1.001
    return rounded


def header() -> str:
    """Return the text of ``symflow_exp_constants.h``."""
    high, low = logarithm_parts()
    lines = [
        "/* Constants of symflow_exp.h, written by symflow/codegen/exponential.py and proved there. */",
        "#ifndef SYMFLOW_EXP_CONSTANTS_H",
        "#define SYMFLOW_EXP_CONSTANTS_H",
        "",
        "/* Relative errors of normal results are at most, in units of 2^-53: */",
        *(f"/*   {name:10} {relative_error(scheme) / UNIT:.4f} */" for name, scheme in SCHEMES.items()),
        "",
        f"#define SYMFLOW_EXP_HIGH {high.hex()} /* ln 2 = HIGH + LOW */",
        f"#define SYMFLOW_EXP_LOW {low.hex()}",
        "",
    ]
    for name in ("table_e", "table_2", "plain_e", "plain_2"):
        scheme = SCHEMES[name]
        lines += _array("double", f"symflow_exp_{name}", [
            c.hex() for c in coefficients(scheme.pieces, scheme.degree, scheme.natural)
        ])  # fmt: skip
    lines += ["", "/* 2^(j/16), and the same less j << 48 in its bits. */"]
    lines += _array("double", "symflow_exp_powers", [entry.hex() for entry in table()])
    lines += _array(
        "long long", "symflow_exp_moved", [hex(_bits(x) - (j << 48)) for j, x in enumerate(table())]
    )
    return "\n".join([*lines, "", "#endif", ""])


def _array(kind: str, name: str, items: list[str]) -> list[str]:
    rows = [", ".join(items[k : k + 4]) for k in range(0, len(items), 4)]
    body = ",\n    ".join(rows)
    return [f"static const {kind} {name}[{len(items)}] = {{\n    {body}}};"]


def _bits(value: float) -> int:
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits)


if __name__ == "__main__":
    sys.stdout.write(header())
