r"""Recurrences of Taylor coefficients, derived from a program operation by operation.

With :math:`X_{[k]} = X^{(k)}(t)/k!` every operation has a rule that gives the coefficient of its result from
those of what it reads, and the differential equation closes the circle:

.. math:: (AB)_{[k]} = \sum_{j=0}^k A_{[j]}B_{[k-j]}, \qquad
          (A^{-1}B)_{[k]} = A_{[0]}^{-1}\Big(B_{[k]} - \sum_{j=1}^k A_{[j]}(A^{-1}B)_{[k-j]}\Big), \qquad
          (k+1)\,y_{[k+1]} = f(y)_{[k]}.

A principal square root R of P follows from a Sylvester equation for each order,

.. math:: R_{[0]}R_{[k]} + R_{[k]}R_{[0]} = P_{[k]} - \sum_{j=1}^{k-1} R_{[j]}R_{[k-j]}.

What depends on parameters alone is constant: it has a coefficient of order zero only. Loops over heads and
positions are written out (``unrolled``). Here is the analysis; ``latex`` states the rules, ``numpy_source``
executes them, ``instructions`` lays them out for the runtime and ``c_source`` prints them at small sizes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from symflow.codegen.program import (
    Array,
    Combine,
    Factorise,
    Gemm,
    Operand,
    Program,
    RequirePositive,
    Root,
    Scaled,
    Simple,
    Solve,
    SymmetrisedSum,
    TraceOf,
)
from symflow.codegen.taylor.unrolled import Place, without_loops
from symflow.errors import InputError

#: The largest size for which a recursion is printed: a row of a matrix fits into a register.
LARGEST = 8

#: Operations that have a rule.
_RULES = (Gemm, Combine, SymmetrisedSum, Factorise, Solve, RequirePositive, Root, TraceOf, Scaled)

#: Terms per unit of −log(rtol). One half would be right for costs p² per step; part of the cost is
#: proportional to p, and so the best order is higher.
_ORDER_RATE = 0.75
_LEAST_ORDER, _LARGEST_ORDER = 6, 32


@dataclass(frozen=True)
class Recursion:
    """The coefficient recurrences of a program whose inputs and outputs are states and their derivatives.

    Attributes
    ----------
    program : Program
        An autonomous right-hand side without loops.
    ops : tuple of Simple
        Its operations, in single-assignment form.
    constants : frozenset of Array
        What depends on parameters alone.
    places : dict
        Of which parameter each parameter of ``program`` is a part.
    given : tuple of str
        The parameters as they are given, in call order.
    """

    program: Program
    ops: tuple[Simple, ...]
    constants: frozenset[Array]
    places: Mapping[str, Place]
    given: tuple[str, ...]

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """Inputs, parameters, then the result of every operation."""
        return (*self.program.inputs, *self.program.parameters, *(op.out for op in self.ops))

    @cached_property
    def once(self) -> tuple[Simple, ...]:
        """Operations on constants: executed at order zero only."""
        return tuple(op for op in self.ops if op.out in self.constants)

    @cached_property
    def rules(self) -> tuple[Simple, ...]:
        """Operations with a recurrence, in order of execution."""
        return tuple(op for op in self.ops if op.out not in self.constants)

    @cached_property
    def matrix_of(self) -> dict[Array, Array]:
        """Return the matrix behind each array of LU factors, whose coefficients a solve reads."""
        return {op.out: op.a for op in self.ops if isinstance(op, Factorise)}

    @cached_property
    def remembered(self) -> frozenset[Array]:
        """Arrays whose earlier coefficients are read: factors of products in which neither is constant."""
        pairs = (self.factors(op) for op in self.rules)
        moving = (pair for pair in pairs if not any(self.is_constant(x.array) for x in pair))
        return frozenset(x.array for pair in moving for x in pair) | frozenset(self.program.inputs)

    def factors(self, op: Simple) -> tuple[Operand, ...]:
        """Return the two factors whose Cauchy product is part of a rule, if there are any."""
        return _factors(op, self)

    def is_constant(self, array: Array) -> bool:
        """Tell whether an array has a coefficient of order zero only."""
        return array in self.constants


@functools.singledispatch
def _factors(op: Any, source: Recursion) -> tuple[Operand, ...]:
    return ()


@_factors.register
def _(op: Gemm, source: Recursion) -> tuple[Operand, ...]:
    return op.a, op.b


@_factors.register
def _(op: Solve, source: Recursion) -> tuple[Operand, ...]:
    return Operand(source.matrix_of[op.factors], op.transposed), Operand(op.out)


@_factors.register
def _(op: Root, source: Recursion) -> tuple[Operand, ...]:
    return Operand(op.out), Operand(op.out)


@_factors.register
def _(op: TraceOf, source: Recursion) -> tuple[Operand, ...]:
    return () if op.b is None else (op.a, op.b)


@_factors.register
def _(op: Scaled, source: Recursion) -> tuple[Operand, ...]:
    return Operand(op.factor), op.a


def recursion(program: Program, sizes: Mapping[str, int]) -> Recursion:
    """Return the recurrences of a program.

    Parameters
    ----------
    program : Program
        ``"moments"`` or ``"factor"``.
    sizes : mapping
        A number for every size over which the program loops.

    Raises
    ------
    InputError
        If an operation has no rule, or inputs and outputs do not match.
    """
    shapes = [[(a.rows, a.cols, a.lead) for a in arrays] for arrays in (program.inputs, program.outputs)]
    if shapes[0] != shapes[1]:
        raise InputError(f"{program.name!r} of {program.model} is not a right-hand side: no series solves it")
    straight, places = without_loops(program, sizes)
    constants = set(straight.parameters)
    ops: list[Simple] = []
    for op in straight.ops:
        if not isinstance(op, _RULES):
            raise InputError(
                f"method='taylor' has no recurrence for {type(op).__name__} in {program.model}; use 'dop853'"
            )
        if all(array in constants for array in op.reads()):
            constants.add(op.out)
        ops.append(op)
    given = tuple(p.name for p in program.parameters)
    return Recursion(straight, tuple(ops), frozenset(constants), places, given)


def order_for(rtol: float) -> int:
    r"""Return the order that costs least for a relative tolerance.

    .. math:: p = \lceil -\tfrac34\ln(\mathrm{rtol})\rceil

    Parameters
    ----------
    rtol : float
        In (0, 1).

    References
    ----------
    Jorba, Zou (2005), section 3.2: a cost p² per step is least for −½ log(rtol).

    Examples
    --------
    >>> order_for(1e-9)
    16
    """
    return min(max(math.ceil(-_ORDER_RATE * math.log(rtol)), _LEAST_ORDER), _LARGEST_ORDER)
