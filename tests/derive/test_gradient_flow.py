"""Gradient-flow structures: what is found, on which conditions, and what look-alikes are refused."""

from dataclasses import replace

import pytest
from sympy import Identity, Rational

from symflow import energies
from symflow.derive.gradient_flow import GradientFlow, NoGradientFlow, gradient_flow
from symflow.derive.gradient_flow.checks import DissipationRate, FirstVariation, Identities, TwoAtoms
from symflow.derive.gradient_flow.coupled_checks import CoupledFlow, CouplingVariation
from symflow.derive.gradient_flow.necessity import necessity
from symflow.errors import CheckFailed, InputError, Undecided
from symflow.models.attention.linear import Linear
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.combinators.masked import Masked
from symflow.models.energies.dissipation import Dissipation
from symflow.models.energies.exponential import Exponential
from symflow.models.energies.interaction import Interaction
from symflow.models.energies.log_partition import LogPartition
from symflow.models.energies.model import EnergyModel
from symflow.models.energies.self_transport import SelfTransport

ONE = [[1, 0], [0, 1]]


class Square(EnergyModel):
    name = "square"
    pair = "dot(Q*x, K*y)**2/2"


class Lopsided(EnergyModel):
    """Not symmetric, and with a potential."""

    name = "lopsided"
    pair = "dot(x, y) + dot(x, x)*dot(y, L*y)"
    potential = "dot(x, L*x)"


def texts(equations):
    return [f"{a} = {b}" for a, b in equations]


@pytest.mark.parametrize(
    ("model", "energy", "given", "equations", "metric", "sign", "wasserstein"),
    [
        (Softmax(), Exponential(), None, ["A = A.T"], "A*V**(-1)", 0, False),
        (Unnormalised(), Exponential(), {"Q", "K", "V"}, ["A = A.T"], "A*V**(-1)", 0, False),
        (Linear(), Square(), None, ["A = A.T"], "A*V**(-1)", 0, False),
        (Softmax(space="sphere").with_symbolic_scale(), Interaction(), (), [], "I", 1, False),
        (Unnormalised(space="sphere", beta=3), Interaction(), (), [], "I", 1, True),
        (Softmax(space="sphere", beta=2), Dissipation(), (), [], "-2*I", -1, False),
        (Softmax(space="sphere", sign=-1), Interaction(), (), [], "-I", -1, False),
        (
            Softmax(space="sphere"),
            Exponential(),
            {"A", "V"},
            ["V = c_V*A", "A = A.T"],
            "1/c_V*I",
            0,
            False,
        ),
    ],
)
def test_the_structure_and_its_conditions(model, energy, given, equations, metric, sign, wasserstein):
    found = gradient_flow(model, energy, given)
    assert texts(found.equations) == equations
    assert str(found.metric) == metric
    assert (found.sign, found.is_wasserstein) == (sign, wasserstein)


@pytest.mark.parametrize(
    ("model", "energy", "given"),
    [
        (Softmax(), Exponential(), None),
        (Softmax(space="sphere", beta=2), Interaction(), ()),
        (Softmax(space="sphere"), Exponential(), {"A", "V"}),
        (Linear(), Square(), None),
    ],
)
def test_every_step_passes_its_check_and_is_printed(model, energy, given):
    found = gradient_flow(model, energy, given)
    assert found.check()
    for text in (found.to_latex(), found.to_html()):
        assert "NaN" not in text


def test_sinkhorn_descends_the_cost_of_transport():
    found = gradient_flow(Sinkhorn(temperature=2), SelfTransport())
    assert (texts(found.equations), str(found.metric)) == (["A = A.T"], "-A*V**(-1)")
    same = gradient_flow(
        Sinkhorn(temperature=2), SelfTransport(), params={"A": [[1, 2], [2, 1]], "V": [[1, 2], [2, 1]]}
    )
    assert same.sign == -1
    assert same.check()
    sphere = gradient_flow(Sinkhorn(space="sphere"), SelfTransport(), ())
    assert (str(sphere.metric), sphere.is_wasserstein) == ("-I", True)
    doubled = replace(same.joined, metric=2 * same.metric)
    assert not CoupledFlow(same.statement, same.averages, doubled, "rate").run().passed
    loose = replace(found.joined, equations=())
    assert not CoupledFlow(found.statement, found.averages, loose, "gradient").run().passed
    half = replace(found.averages, slope=found.averages.slope / 2)
    assert not CouplingVariation(half).run().passed


def test_conditions_are_printed_and_necessity_is_a_step():
    text = gradient_flow(Softmax(), Exponential()).to_latex(fragment=True)
    assert r"$A = A^{\top}$ and $V$ is invertible and $A$ is invertible" in text
    assert "What such a structure needs" in text
    assert "What such a structure needs" not in gradient_flow(
        Softmax(space="sphere"), Interaction(), ()
    ).to_latex(fragment=True)


def test_energies_with_numbers_count_by_their_definition():
    named = gradient_flow(Softmax(), energies.Exponential([[1.0]], [[1.0]]))
    assert named.energy.name == "exponential"
    assert named.metric == gradient_flow(Softmax(), Exponential()).metric


# ---- given parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("A", "V", "sign"),
    [
        ([[-1, 0], [0, -1]], ONE, -1),
        ([[2, 1], [1, 1]], [[2, 1], [1, 1]], 1),
        ([[1, 0], [0, 0]], [[1, 0], [0, 0]], 1),  # singular, but V = A
        ([[2]], [[-0.25]], -1),
        # an indefinite A with V = N⁻¹A, N = diag(1, 2)
        ([[1, 2], [2, 1]], [[1, 2], [1, Rational(1, 2)]], 1),
    ],
)
def test_parameters_that_satisfy_the_conditions(A, V, sign):
    found = gradient_flow(Softmax(), Exponential(), params={"A": A, "V": V})
    assert isinstance(found, GradientFlow)
    assert found.sign == sign
    assert found.steps[-1].check.run().passed


@pytest.mark.parametrize(
    ("A", "V", "reason"),
    [
        ([[1, 1], [0, 1]], ONE, "no multiple of the mobility"),  # A not symmetric, its Diracs are fine
        ([[2, 1], [1, -1]], ONE, "increases along the velocity of one atom"),  # AV⁻¹ indefinite
        ([[2, 1], [1, 1]], [[1, 1], [0, 1]], "orthogonal"),  # AV⁻¹ not symmetric
        ([[2, 1], [1, 1]], [[3, 1], [0, 2]], "not symmetric"),  # and not seen by signs
        ([[2, 1], [1, 1]], [[1, 1], [1, 1]], "the velocity vanishes"),  # V singular
        ([[0, 1], [-1, 0]], ONE, "the gradient vanishes"),  # no symmetric part
        ([[2, 1, 0], [1, 1, 0], [0.5, 0, 1]], [[2, 1, 0], [1, 1, 0], [0, 0, 1]], "not symmetric"),
    ],
)
def test_parameters_that_do_not_have_a_witness(A, V, reason):
    found = gradient_flow(Softmax(), Exponential(), params={"A": A, "V": V})
    assert isinstance(found, NoGradientFlow)
    assert reason in found.witness.reason
    assert found.steps[-1].check.run().passed
    assert found.to_latex()


def test_other_scores_on_the_sphere_are_refused_by_three_tokens():
    for A in ([[1, 2], [0, 1]], [[1, 2, 0], [2, 1, 0], [0, 0, 1]]):
        found = gradient_flow(Unnormalised(space="sphere"), Interaction(), {"A"}, {"A": A})
        assert isinstance(found, NoGradientFlow)
        assert len(found.witness.states[-1].atoms) == 3
        assert found.steps[-1].check.run().passed


@pytest.mark.parametrize("model", [Sigmoid(), Linear(), Softmax(feed_forward=True)])
def test_where_nothing_fits_drawn_parameters_show_it(model):
    found = gradient_flow(model, Exponential(), {"A", "V", "W", "c"} if model.feed_forward else None)
    assert isinstance(found, NoGradientFlow)
    assert found.steps[-1].check.run().passed


# ---- checks that can fail ---------------------------------------------------------------------------


def test_checks_see_false_structures():
    sphere = gradient_flow(Softmax(space="sphere", beta=2), Interaction(), ())
    plain = replace(sphere.averages, weight=None)  # SA with the metric of Wasserstein
    assert not Identities(sphere.statement, plain, sphere.joined).run().passed
    assert not DissipationRate(sphere.statement, plain, sphere.joined).run().passed
    wrong_sign = replace(sphere.joined, metric=-Identity(sphere.averages.x.shape[0]))
    assert not Identities(sphere.statement, sphere.averages, wrong_sign).run().passed
    softmax = gradient_flow(Softmax(), Exponential())
    loose = replace(softmax.joined, equations=())  # without A = A.T
    assert not Identities(softmax.statement, softmax.averages, loose).run().passed
    half = replace(softmax.averages, slope=softmax.averages.slope / 2)
    assert not FirstVariation(softmax.statement, half).run().passed
    why = necessity(softmax.averages, softmax.joined)
    swapped = replace(why, own=why.exchanged, exchanged=why.own)
    assert not TwoAtoms(softmax.statement, softmax.averages, swapped).run().passed


def test_a_witness_without_a_contradiction_fails_its_check():
    found = gradient_flow(Softmax(), Exponential(), params={"A": [[1, 1], [0, 1]], "V": ONE})
    (state,) = found.witness.states
    other = gradient_flow(Softmax(), Exponential(), params={"A": [[2, 1], [1, -1]], "V": ONE}).witness.states
    for states in ((replace(state, velocity=state.gradient),), other):
        check = replace(found.steps[-1].check, witness=replace(found.witness, states=states))
        with pytest.raises(CheckFailed):
            replace(found, steps=(replace(found.steps[-1], check=check),)).check()


def test_first_variations_of_energies_that_are_not_symmetric():
    found = gradient_flow(Unnormalised(), Lopsided(), params={"A": ONE, "V": ONE, "L": [[1, 2], [0, 1]]})
    assert found.steps[1].check.run().passed


def test_what_is_refused():
    with pytest.raises(InputError, match="missing"):
        gradient_flow(Softmax(), Exponential(), params={"A": ONE})
    with pytest.raises(InputError, match="unknown"):
        gradient_flow(Softmax(), Exponential(), params={"A": ONE, "V": ONE, "B": ONE})
    with pytest.raises(InputError, match="shape"):
        gradient_flow(Softmax(), Exponential(), params={"A": ONE, "V": [[1]]})
    with pytest.raises(InputError, match="finite"):
        gradient_flow(Softmax(), Exponential(), params={"A": ONE, "V": [[1, 0], [0, float("nan")]]})
    with pytest.raises(InputError, match="noise"):
        gradient_flow(Softmax(diffusion=1), Exponential())
    with pytest.raises(InputError, match="mask"):
        gradient_flow(Masked(Softmax()), Exponential())
    with pytest.raises(InputError, match="no average of a function of two tokens"):
        gradient_flow(Softmax(), LogPartition())
    for model, energy in ((Sinkhorn(), Exponential()), (Softmax(), SelfTransport())):
        with pytest.raises(Undecided, match="no conditions were found"):
            gradient_flow(model, energy)
    with pytest.raises(InputError, match="an attention model"):
        gradient_flow("softmax", Exponential())
    with pytest.raises(InputError, match="an energy"):
        gradient_flow(Softmax(), "exponential")
