"""Monotonicity of linear functionals: known answers, and altered certificates."""

import contextlib
import copy
from fractions import Fraction

import numpy as np
import pytest

from symflow import L2, Gaussian, Linear, MultiHead, Softmax, check, solve
from symflow.certify import replay
from symflow.errors import CertificateError, InputError

I2 = [[1, 0], [0, 1]]
V = [[2, 1], [1, 3]]

#: model, functional, parameters, answer; tr Σ' = −2|Σe₁|² + 2⟨Σe₁, Σe₂⟩ − 2a|Σe₂|² needs a ≥ 1/4
KNOWN = [
    (Softmax(), "tr(inv(V)*Sigma)", {"V": V, "A": [[-1, 1], [0, -1]]}, "proved"),
    (Softmax(), "tr(inv(V)*Sigma)", {"V": V, "A": [[-1, 3], [0, -1]]}, "refuted"),
    (Softmax(), "tr(Sigma)", {"V": I2, "A": [[-1, 1], [0, Fraction(-1, 4)]]}, "proved"),
    (Softmax(), "tr(Sigma)", {"V": I2, "A": [[-1, 1], [0, Fraction(-1, 5)]]}, "refuted"),
    (Softmax(), "tr(Sigma)", {"V": I2, "A": [[0, 1], [-1, 0]]}, "proved"),
    (Softmax(), "-tr(Sigma)", {"V": I2, "A": I2}, "proved"),
    (Softmax(), "tr(Sigma)", {"V": I2, "A": I2}, "refuted"),
    (
        MultiHead(Softmax()),
        "tr(Sigma)",
        {"V": [I2, I2], "A": [[[-1, 0], [0, 0]], [[0, 0], [0, -1]]]},
        "proved",
    ),
    (Softmax(), "tr(Sigma*Sigma)", {"V": I2, "A": I2}, "undecided"),
    (L2(), "tr(Sigma)", {"V": I2, "Q": I2, "K": I2}, "undecided"),
    (Linear(), "tr(Sigma)", {"V": I2, "A": I2}, "undecided"),
]


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: f"{case[1]}-{case[3]}")
def test_known_functionals_are_decided(case):
    model, functional, parameters, status = case
    verdict = check("lyapunov", model, functional, parameters)
    assert verdict.status == status
    assert verdict.reason if status == "undecided" else verdict.replay()


def test_a_proved_functional_decreases_along_a_run():
    A = np.array([[-1.0, 1.0], [0.0, -1.0]])
    run = solve(Softmax(), Gaussian([0, 0], [[2, 1], [1, 1]]), {"V": np.array(V, float), "A": A}, (0, 5))
    values = np.einsum("ij,tji->t", np.linalg.inv(np.array(V, float)), run.cov)
    assert (np.diff(values) < 0).all()


def test_arguments_are_refused_by_name():
    with pytest.raises(InputError, match="functional"):
        check("lyapunov", Softmax(), 3, {"V": I2, "A": I2})
    with pytest.raises(InputError, match="unknown name"):
        check("lyapunov", Softmax(), "tr(Z*Sigma)", {"V": I2, "A": I2})


ALTERED = {
    "another sign": lambda r: r["statement"].update(functional="-tr(Sigma)"),
    "not linear": lambda r: r["statement"].update(functional="tr(Sigma)**2"),
    "other parameters": lambda r: r["statement"]["parameters"].update(A=[["-1", "1"], ["0", "-1/5"]]),
    "another equation": lambda r: r["statement"]["model"].update(
        cov_rhs=r["statement"]["model"]["cov_rhs"].replace("Sigma*", "Sigma*Sigma*", 1)
    ),
    "another status": lambda r: r.update(status="refuted"),
    "another closure": lambda r: r["proof"]["closure"]["lines"].pop(),
}


@pytest.mark.parametrize("what", ALTERED)
def test_altered_certificates_are_refused(what):
    record = copy.deepcopy(check("lyapunov", *KNOWN[2][:3]).certificate.to_record())
    assert replay(record).accepted
    ALTERED[what](record)
    with contextlib.suppress(CertificateError):
        assert not replay(record).accepted


def test_a_counterexample_must_be_a_covariance_at_which_it_grows():
    record = copy.deepcopy(check("lyapunov", *KNOWN[3][:3]).certificate.to_record())
    for rows, said in (
        ([["1", "2"], ["2", "1"]], "not a covariance"),
        ([["1", "0"], ["0", "0"]], "not increase"),
    ):
        record["proof"]["covariance"] = rows
        assert said in replay(record).reason
