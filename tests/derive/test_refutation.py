"""The argument that Gaussians are not preserved: its checks, and that a wrong witness fails them."""

from dataclasses import replace

import pytest

from symflow.derive.closure import gaussian_closure
from symflow.derive.nonclosure import refutation
from symflow.derive.nonclosure.argument import SizeOne
from symflow.derive.nonclosure.reduction import scalar
from symflow.errors import CheckFailed, NotGaussianPreserving
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead

MODELS = [
    Sigmoid(),
    Unnormalised(),
    Masked(Softmax()),
    MultiHead(Sigmoid()),
    Sigmoid(feed_forward=True, diffusion="1/10"),
    Attention("dot(x, y) - dot(y, y)*dot(y, y)"),
]


def _refute(model):
    with pytest.raises(NotGaussianPreserving) as found:
        gaussian_closure(model)
    return refutation(model, model.statement(), found.value.witness)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.title)
def test_every_step_is_checked_and_printed(model):
    argument = _refute(model)
    assert argument.check()
    assert [step.kind for step in argument.steps] == ["definition", "lemma", "result"]
    assert r"\neq 0" in argument.to_latex()
    assert r"\documentclass" not in argument.to_latex(fragment=True)
    page = argument.to_html()
    assert "No Gaussian closure" in page
    assert "<math" in page


def test_a_wrong_value_fails():
    argument = _refute(Sigmoid())
    wrong = replace(argument.witness, value=argument.witness.value / 2)
    with pytest.raises(CheckFailed, match="No Gaussian closure"):
        refutation(argument.model, argument.statement, wrong).check()


def test_size_one_notices_another_definition(monkeypatch):
    check = SizeOne(Sigmoid().statement())
    assert check.run().passed
    kernel, other = Sigmoid().statement().head.kernel, Unnormalised().statement().head.kernel
    monkeypatch.setattr(
        "symflow.derive.nonclosure.argument.scalar", lambda e: scalar(other if e == kernel else e)
    )
    assert not check.run().passed
