"""Heads and masks: what they state, and what they refuse."""

import pickle

import pytest

from symflow import L2, Attention, Linear, Masked, MultiHead, Softmax
from symflow.errors import InputError


def test_heads_get_a_leading_axis_and_share_the_output_bias():
    shapes = dict(MultiHead(Softmax()).parameters) | dict(MultiHead(Softmax()).biases)
    assert shapes["Q"] == ("H", "k", "d") and shapes["bv"] == ("H", "d") and shapes["bo"] == ("d",)


def test_output_matrices_are_selected_by_name():
    model = MultiHead(Softmax())
    plain, projected = model.statement({"A", "V"}), model.statement({"A", "V", "W"})
    assert plain.name != projected.name
    assert [s.name for s in projected.dimensions] == ["d", "m", "H"]
    assert set(projected.stacked) == {"A", "V", "W"}


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        ([Softmax(), L2(beta=2)], r"heads\[1\] has another beta"),
        ([Softmax(), L2(sign=-1)], r"heads\[1\]: give sign"),
        ([Softmax(), MultiHead(L2())], r"heads\[1\] must be"),
        ([], "heads is empty"),
        (Softmax(diffusion=1), "give sign"),
        (MultiHead(Softmax()), "one head"),
        ("softmax", "attention model"),
    ],
)
def test_unusable_heads_are_refused(heads, said):
    with pytest.raises(InputError, match=said):
        MultiHead(heads)


def test_a_layer_takes_the_name_of_the_output_matrices():
    model = MultiHead(Softmax(), feed_forward=True)
    assert model.statement({"A", "V", "W", "c"}).stacked.keys() == {"A", "V"}


def test_the_law_of_positions_sums_to_one():
    assert Masked(Linear()).weights(4) == [0.25] * 4
    weights = Masked(Linear(), sink=0.4).weights(4)
    assert weights[0] == 0.4 and sum(weights) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("sink", [1, -0.1, float("nan"), "0.1", True])
def test_an_impossible_sink_is_refused(sink):
    with pytest.raises(InputError, match="sink"):
        Masked(Linear(), sink=sink)


def test_models_of_models_pickle():
    for model in (MultiHead(Softmax(beta=2)), Masked(Linear(), sink=0.25)):
        assert pickle.loads(pickle.dumps(model)) == model


def test_a_layer_must_not_take_the_name_of_a_parameter():
    with pytest.raises(InputError, match="'c' is a parameter of"):
        Attention("dot(y, A*x) + dot(c, y)", feed_forward=True).statement()


@pytest.mark.parametrize("sign", [2, 0.5, True])
def test_an_unknown_sign_is_refused(sign):
    with pytest.raises(InputError, match="sign"):
        Softmax(sign=sign)


def test_a_mask_belongs_around_all_heads():
    with pytest.raises(InputError, match="mask all heads together"):
        MultiHead(Masked(Linear()))
    assert Masked(MultiHead(Linear())).statement().positions is not None


def test_unlike_heads_have_numbered_parameters():
    model = MultiHead([Softmax(), L2()], feed_forward=True)
    statement = model.statement({"A_1", "V_1", "Q_2", "K_2", "V_2", "W", "c"})
    assert [head.normalise for head in statement.heads] == ["softmax", "softmax"]
    assert [s.name for s in statement.dimensions] == ["d", "k_2"]
    assert len({name for names in model.parametrisations() for name in names}) == 17
    assert pickle.loads(pickle.dumps(model)) == model
    with pytest.raises(InputError, match=r"'K' is unknown.*end in _i"):
        model.statement({"Q", "K", "V"})
    with pytest.raises(InputError, match=r"'c' of .* is missing"):
        model.statement({"A_1", "V_1", "Q_2", "K_2", "V_2", "W"})
