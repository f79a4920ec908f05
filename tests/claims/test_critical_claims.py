"""Claims about critical points on the command line: energy and tokens from a spec file."""

import numpy as np
import pytest

from symflow.claims import check
from symflow.claims.claim import Deadline
from symflow.claims.generic import critical
from symflow.energies import Exponential
from symflow.errors import InputError, Undecided
from symflow.spec import parse_spec
from symflow.spec.tokens import exact_tokens

ENERGY = '[energy]\nname = "interaction"\nbeta = 1\n'


@pytest.fixture
def spec(tmp_path):
    def write(initial, energy=ENERGY):
        path = tmp_path / "run.toml"
        path.write_text(f"{energy}[initial]\n{initial}\n", encoding="utf-8")
        return str(path)

    return write


def test_tokens_of_a_spec_are_exact_where_they_are_written_so(spec):
    triangle = 'tokens = [[1, 0], ["-1/2", "sqrt(3)/2"], ["cos(4*pi/3)", "sin(4*pi/3)"]]'
    verdict = check("saddle", *critical._saddle_of_spec(spec(triangle)))
    assert verdict.status == "proved"
    assert "within" not in verdict.scope
    decimal = "tokens = [[1.0, 0.0], [-0.5, 0.8660254037844386], [-0.5, -0.8660254037844386]]"
    near = check("saddle", *critical._saddle_of_spec(spec(decimal)))
    assert near.status == "proved"
    assert "within" in near.scope


def test_all_critical_points_for_the_number_of_tokens_of_a_spec(spec):
    energy, count = critical._all_of_spec(spec('tokens = "uniform"\nn = 3\nd = 2'))
    assert count == 3
    assert check("critical-points", energy, count).status == "proved"
    with pytest.raises(InputError, match="dimension 3; on the circle d = 2"):
        critical._all_of_spec(spec('tokens = "uniform"\nn = 3\nd = 3'))


def test_what_a_spec_lacks_is_named(spec):
    with pytest.raises(InputError, match=r"section \[energy\] is missing"):
        critical._saddle_of_spec(
            spec("tokens = [[1, 0]]", '[model]\nattention = "softmax"\nspace = "sphere"\n')
        )
    with pytest.raises(InputError, match=r"tokens\[0, 1\] = 'x' is not|unknown"):
        critical._saddle_of_spec(spec('tokens = [[1, "x"]]'))
    with pytest.raises(InputError, match="rows of one length"):
        critical._saddle_of_spec(spec("tokens = [[1, 0], [1]]"))
    with pytest.raises(InputError, match=r"tokens\[0\] is zero"):
        critical._saddle_of_spec(spec("tokens = [[0, 0]]"))
    with pytest.raises(InputError, match="both a list of tokens and seed"):
        critical._saddle_of_spec(spec("tokens = [[1, 0]]\nseed = 3"))


def test_written_tokens_are_the_start_of_a_run():
    data = {
        "model": {"attention": "softmax", "space": "sphere"},
        "initial": {"tokens": [[1, 0], ["-1/2", "sqrt(3)/2"]]},
        "time": {"t_span": [0, 1]},
    }
    np.testing.assert_allclose(parse_spec(data).initial, [[1, 0], [-0.5, 0.75**0.5]], rtol=1e-15)
    assert exact_tokens({"tokens": "uniform"}) is None
    assert exact_tokens({"tokens": [[1.0, 0]]}) is None


def test_the_number_of_tokens_is_checked():
    for value in (1, 9, 3.0, True):
        with pytest.raises(InputError, match="must be a whole number from 2 to 8"):
            check("critical-points", 1, value)
    with pytest.raises(InputError, match="must not change under rotations"):
        check("critical-points", Exponential(np.eye(2), 2 * np.eye(2)), 3)


def test_the_deadline_is_consulted():
    with pytest.raises(Undecided, match="max_wall_time"):
        critical._all(1, 4, deadline=Deadline(1e-9))
