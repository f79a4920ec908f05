"""Claims about exponents of common noise: decided as documented; forged certificates are rejected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from symflow import CommonNoise, check
from symflow.certify.recheck import replay
from symflow.claims import claim
from symflow.errors import InputError

_THEOREMS = ("relu-unbiased-dissipation", "dissipation-rate", "odd-two-point", "fractional-energy")


@pytest.mark.parametrize("name", _THEOREMS)
def test_claims_are_decided_as_documented(name):
    verdict = check(f"ABGSR26/{name}")
    assert verdict.status == claim(verdict.claim).documented == "proved"


@pytest.mark.parametrize(
    ("noise", "quantity", "status"),
    [
        (CommonNoise("relu", 0.1, 0.1, 64), "dissipation", "proved"),
        (CommonNoise("relu", 0.1, 0.1, 64), ("rate", 1), "proved"),
        (CommonNoise("relu", 0, 0, 64), "dissipation", "refuted"),
        (CommonNoise("relu", 0, 0, 64), ("rate", 1), "refuted"),
        (CommonNoise("tanh", 0, 0, 5), ("rate", 1), "refuted"),
        (CommonNoise("tanh", 0, 0, 5), ("fractional", "1/4"), "refuted"),
        (CommonNoise("relu", 0.1, 0.1, 5), ("fractional", 0.3), "proved"),
        (CommonNoise("relu", 0.1, 0.1, 5), ("moment", 1), "proved"),
    ],
)
def test_signs_of_given_fields(noise, quantity, status):
    assert check("exponent-sign", noise, quantity).status == status


def test_text_says_the_same():
    read = claim("exponent-sign").from_text
    noise, quantity, sign = read("relu d=64 sigma=0.1 rate=1 positive")
    assert (noise, quantity, sign) == (CommonNoise("relu", 0.1, 0.1, 64), ("rate", "1"), "positive")
    assert read('{"activation": "relu", "d": 64, "quantity": "lyapunov"}')[0].dim == 64
    for text in ("relu", "relu d=64 whatever", '{"a": 1}'):
        with pytest.raises(InputError, match="exponent-sign"):
            read(text)


def test_forged_certificates_are_rejected():
    good = check("exponent-sign", CommonNoise("relu", 0.1, 0.1, 5), ("fractional", 0.3)).certificate
    assert replay(good).accepted
    statement = {"instances": [good.statement["instances"][0] | {"parameter": "9/10"}]}
    scope = good.scope.replace("3/10", "9/10")
    assert not replay(replace(good, statement=statement, scope=scope))
    assert not replay(replace(good, proof={"instances": [{"method": "cover", "cuts": ["-1", "1"]}]}))
    assert not replay(replace(good, proof={"instances": [{"method": "cover", "cuts": ["-1", "1/2"]}]}))
    assert not replay(replace(good, proof={"instances": [{"method": "odd"}]}))
    assert not replay(replace(good, status="refuted"))
    value = check("exponent-sign", CommonNoise("tanh", 0, 0, 64), "lyapunov").certificate
    entry = value.proof["instances"][0]
    assert not replay(replace(value, proof={"instances": [entry | {"low": entry["high"]}]}))
    assert not replay(replace(value, status="refuted"))


@pytest.mark.parametrize(
    ("name", "proof"),
    [
        ("dissipation-rate", {"drift": ["u", "(d - 1)*(k - s)", "(1 - u**2)*s", "1 - 2*u"]}),
        ("dissipation-rate", {"odd": ["1", "1 + (d - 1)*(k - 1)"]}),
        ("dissipation-rate", {"diffusion": ["1 + u"]}),
        ("relu-unbiased-dissipation", {"rate": ["2/d"]}),
        ("odd-two-point", {"extra": ["1"]}),
    ],
)
def test_forged_theorems_are_rejected(name, proof):
    good = check(f"ABGSR26/{name}").certificate
    assert not replay(replace(good, proof=dict(good.proof) | proof))
