"""What a core can do at most, for benchmarks; the loops are in include/symflow_limits.h."""

from symflow_ext.buffers cimport Reader

cdef extern from "symflow_limits.h" nogil:
    enum:
        SYMFLOW_LIMITS_NUMBERS
        SYMFLOW_LIMITS_CHAINS

    int symflow_limits_width()
    double symflow_limits_multiply_add(long long, double)
    double symflow_limits_powers(long long, const double *)

#: Doubles in a register; numbers that :func:`powers` takes; operations in a round of :func:`multiply_add`.
WIDTH = symflow_limits_width()
NUMBERS = SYMFLOW_LIMITS_NUMBERS
OPERATIONS = 2 * SYMFLOW_LIMITS_CHAINS * symflow_limits_width()


def multiply_add(long long rounds, double factor=0.5):
    """Multiply and add registers; the sum of all of them, without the interpreter's lock."""
    cdef double total
    with nogil:
        total = symflow_limits_multiply_add(rounds, factor)
    return total


def powers(exponents, long long rounds):
    """Return the sum of 2^x of :data:`NUMBERS` numbers between -1000 and 1000, added up ``rounds`` times."""
    cdef Reader read = Reader(exponents, NUMBERS, "exponents")
    cdef double total
    with nogil:
        total = symflow_limits_powers(rounds, read.data)
    return total
