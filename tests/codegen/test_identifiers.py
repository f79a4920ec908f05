"""Any parameter name becomes a valid and distinct identifier (C027, C030)."""

from __future__ import annotations

import keyword

import pytest

from symflow.codegen.names import identifiers

HOSTILE = [
    r"\alpha",
    "alpha",
    "β",
    "beta",
    "Σ_0",
    "Sigma_0",
    "x'",
    "x y",
    "x_y",
    "lambda",
    "double",
    "1a",
    "",
    "漢",
    "∇",
]


def test_distinct_valid_identifiers() -> None:
    found = identifiers(HOSTILE)
    assert list(found) == HOSTILE
    assert len(set(found.values())) == len(HOSTILE)
    for identifier in found.values():
        assert identifier.isascii()
        assert identifier.isidentifier()
        assert not keyword.iskeyword(identifier)
        assert identifier not in {"double", "int", "nogil", "cdef", "new"}


def test_plain_names_keep_themselves() -> None:
    assert identifiers(["A", "V", "bq"]) == {"A": "A", "V": "V", "bq": "bq"}
    # even where a stranger would be spelled the same and comes first
    assert identifiers(["β", "beta"]) == {"β": "beta_2", "beta": "beta"}


@pytest.mark.parametrize("reserved", ["y", "call", "la"])
def test_reserved_names_are_left_alone(reserved: str) -> None:
    assert identifiers([reserved], reserved=[reserved])[reserved] != reserved
