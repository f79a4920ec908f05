"""The flows of Sinkhorn, linear and multi-head attention, masks, layers and noise: the answer key."""

from dataclasses import replace

import mpmath
import pytest
from sympy import Identity, Integer, Inverse, MatPow, Matrix, Rational, Symbol, Trace, ZeroMatrix

from symflow.algebra.families import FamilySum
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.words import identical
from symflow.derive.closure import gaussian_closure
from symflow.derive.components import Draw, explicit, in_digits, spelled_out
from symflow.derive.coupling_checks import DoublyStochastic, MixedDifferences
from symflow.errors import CheckFailed, ClosureUndecided, InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.models.statement import Positions

d, k, m, H = (dimension(name) for name in "dkmH")
I = Identity(d)
alpha, Sigma = vector("alpha", d), matrix("Sigma", d, d)
A, V, C = matrix("A", d, d), matrix("V", d, d), matrix("C", d, d)
Q, K = matrix("Q", k, d), matrix("K", k, d)
bq, bk, bv, bo = vector("bq", k), vector("bk", k), vector("bv", d), vector("bo", d)
moment = Sigma + alpha * alpha.T


def same(left, right):
    return identical(left, right, (Sigma,))


def gain(bilinear):
    """H of the answer key, written with the root on the right."""
    return (
        2
        * Sigma
        * bilinear
        * Inverse(I + MatPow(I + 4 * Sigma * bilinear.T * Sigma * bilinear, Rational(1, 2)))
    )


# ---- linear ----------------------------------------------------------------------------------------


def test_linear_has_the_published_ode():
    derivation = gaussian_closure(Linear())
    assert same(derivation.mean_rhs, V * moment * A * alpha)
    half = V * moment * A * Sigma
    assert same(derivation.cov_rhs, half + half.T)
    assert derivation.flow.covariance.tilt is None


def test_every_bias_of_linear_attention_counts():
    derivation = gaussian_closure(Linear(), {"Q", "K", "V", "bq"})
    # E[(Vy + bv)(Ky + bk)ᵀ], multiplied out by hand, times Qx + bq.
    second = V * moment * K.T + V * alpha * bk.T + bv * alpha.T * K.T + bv * bk.T
    assert same(derivation.mean_rhs, second * (Q * alpha + bq) + bo)
    half = second * Q * Sigma
    assert same(derivation.cov_rhs, half + half.T)


@pytest.mark.parametrize(
    ("score", "mean", "gradient"),
    [
        ("1", V * alpha, ZeroMatrix(d, d)),
        ("1 + dot(y, A*x)", V * alpha + V * moment * A * alpha, V * moment * A),
        ("dot(c, y)", V * moment * vector("c", d), ZeroMatrix(d, d)),
        ("dot(c, x)", V * alpha * vector("c", d).T * alpha, V * alpha * vector("c", d).T),
    ],
)
def test_a_kernel_that_is_affine_in_both_tokens(score, mean, gradient):
    derivation = gaussian_closure(Attention(score, normalise="none"))
    assert derivation.check()
    assert same(derivation.mean_rhs, mean)
    assert same(derivation.flow.covariance.velocity_gradient, gradient)


@pytest.mark.parametrize(
    ("score", "value", "mean", "gradient"),
    [
        ("norm2(y)", "V*y", V * (Trace(moment) * alpha + 2 * Sigma * alpha), ZeroMatrix(d, d)),
        (
            "dot(x, A*y)*dot(c, y)",
            "y",
            None,
            (Trace(alpha.T * vector("c", d)) * moment + Sigma * vector("c", d) * alpha.T) * A.T
            + alpha * vector("c", d).T * Sigma * A.T,
        ),
        ("dot(c, y)", "dot(c, y)*y", None, ZeroMatrix(d, d)),
    ],
)
def test_a_kernel_of_higher_degree_in_the_key(score, value, mean, gradient):
    """Isserlis: E[|y|² y] = (tr Σ + |α|²)α + 2Σα, and E[yyᵀ⟨c, y⟩] by hand."""
    derivation = gaussian_closure(Attention(score, value=value, normalise="none"))
    assert derivation.check()
    assert mean is None or same(derivation.mean_rhs, mean)
    assert same(derivation.flow.covariance.velocity_gradient, gradient)
    assert "^{2}^{2}" not in derivation.to_latex()


def test_a_degree_beyond_the_theorem_at_hand_is_undecided():
    with pytest.raises(ClosureUndecided, match="degree"):
        gaussian_closure(Attention("norm2(y)**5", normalise="none"))


def test_a_masked_kernel_of_higher_degree_is_undecided():
    with pytest.raises(ClosureUndecided, match="degree two in y"):
        gaussian_closure(Masked(Attention("norm2(y)", normalise="none")))


# ---- Sinkhorn --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("temperature", "scale"), [(1, 1), ("1/3", 3), (2, Rational(1, 2))])
def test_sinkhorn_has_the_published_ode(temperature, scale):
    derivation = gaussian_closure(Sinkhorn(temperature=temperature))
    assert same(derivation.mean_rhs, scale * V * alpha)
    half = scale * V * gain(scale * A) * Sigma
    assert same(derivation.cov_rhs, half + half.T)
    assert derivation.flow.covariance.tilt is None


def test_sinkhorn_decouples_mean_and_covariance():
    derivation = gaussian_closure(Sinkhorn(), max(Sinkhorn().parametrisations(), key=len))
    assert Sigma not in derivation.mean_rhs.free_symbols
    assert alpha not in derivation.cov_rhs.free_symbols
    assert same(derivation.mean_rhs, V * alpha + bv + bo)


@pytest.mark.parametrize(
    "score", ["dot(y, A*x) - norm2(y) + dot(c, y)", "dot(y, A*x) + 3*norm2(y) - norm2(K*x)"]
)
def test_the_scaling_absorbs_what_depends_on_one_token(score):
    derivation = gaussian_closure(Attention(score, normalise="sinkhorn"))
    assert derivation.check()
    assert same(derivation.cov_rhs, gaussian_closure(Sinkhorn()).cov_rhs)


def test_sinkhorn_without_interaction_averages_over_all():
    derivation = gaussian_closure(Attention("norm2(y)", normalise="sinkhorn"))
    assert derivation.check()
    assert same(derivation.mean_rhs, V * alpha) and derivation.cov_rhs.is_ZeroMatrix


def _random(size, rank, seed):
    draw = Draw(size, seed)
    factor = draw.matrix(size, size)[:, :rank] + Matrix(size, rank, lambda i, j: int(i == j))
    return factor * factor.T, 4 * draw.matrix(size, rank) * draw.matrix(rank, size)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("deficit", [0, 1])
def test_the_coupling_solves_its_optimality_equation(size, deficit):
    """Σ⁻¹C(Σ − CᵀΣ⁻¹C)⁻¹ = Aᵀ, without inverses: C = ΣHᵀ, H = (Σ − HΣHᵀ)A; also for singular Σ and A."""
    sigma, bilinear = _random(size, max(1, size - deficit), 31 * size + deficit)
    gradient = gaussian_closure(Sinkhorn()).flow.covariance.velocity_gradient
    values = {A: bilinear, V: Matrix.eye(size), Sigma: sigma}
    H_ = explicit(gradient, values, {d: size})
    residual = H_ - (sigma - H_ * sigma * H_.T) * bilinear
    with mpmath.workdps(50):
        scale = max(1, mpmath.mnorm(in_digits(sigma)))
        assert mpmath.mnorm(in_digits(residual)) < mpmath.mpf(10) ** -35 * scale
        spread = sigma - H_ * sigma * H_.T
        assert min(mpmath.eigsy(in_digits((spread + spread.T) / 2), eigvals_only=True)) > -(
            mpmath.mpf(10) ** -35
        )


def test_the_coupling_is_the_published_one_for_a_multiple_of_the_identity():
    """Ā = aI: C = (√(I + 4a²Σ²) − I)/(2a)."""
    gradient = gaussian_closure(Sinkhorn()).flow.covariance.velocity_gradient
    draw = Draw(3, 5)
    factor = draw.lower_triangular(3)
    sigma, a = factor * factor.T, Rational(3, 2)
    H_ = explicit(gradient, {A: a * Matrix.eye(3), V: Matrix.eye(3), Sigma: sigma}, {d: 3})
    with mpmath.workdps(50):
        root = mpmath.sqrtm(in_digits(Matrix.eye(3) + 4 * a**2 * sigma**2))
        expected = (root - mpmath.eye(3)) / (2 * mpmath.mpmathify(a))
        assert mpmath.mnorm(in_digits(sigma * H_.T) - expected) < mpmath.mpf(10) ** -40


@pytest.mark.parametrize("wrong", [lambda H: H.T, lambda H: H * Rational(1001, 1000)])
def test_the_checks_reject_a_wrong_coupling(wrong):
    derivation = gaussian_closure(Sinkhorn())
    (step,) = [s for s in derivation.steps if isinstance(s.check, DoublyStochastic)]
    check = step.check
    assert check.run().passed
    spoiled = wrong(check.gain)
    field = V * (alpha + spoiled * (check.x - alpha))
    assert not replace(check, gain=spoiled, field=field).run().passed
    lemma = next(s for s in derivation.steps if s.title == "The self-coupling in closed form")
    assert lemma.check.run().passed
    assert not replace(lemma.check, gain=wrong(lemma.check.gain)).run().passed


def test_mixed_differences_reject_the_transpose():
    x, y = vector("x", d), vector("y", d)
    score = Trace(y.T * A * x) + Trace(y.T * y)
    assert MixedDifferences(score, A, x, y).run().passed
    assert not MixedDifferences(score, A.T, x, y).run().passed


def test_one_dimension_has_the_published_root():
    """d = 1: s' = (V/A)(√(1 + 4A²s²) − 1)."""
    rhs = gaussian_closure(Sinkhorn()).cov_rhs
    a, s, v = Rational(5, 4), Rational(2, 5), Rational(-3, 7)
    values = {A: Matrix([[a]]), Sigma: Matrix([[s]]), V: Matrix([[v]])}
    expected = v / a * ((1 + 4 * a**2 * s**2) ** Rational(1, 2) - 1)
    assert abs(explicit(rhs, values, {d: 1})[0] - expected.evalf(50)) < Rational(1, 10**45)


# ---- heads, layers, noise --------------------------------------------------------------------------


def _summed(body, *members):
    return FamilySum(body, members, H)


def test_heads_of_softmax_are_added():
    derivation = gaussian_closure(MultiHead(Softmax()))
    assert same(derivation.mean_rhs, _summed(V * (I + Sigma * A) * alpha, A, V))
    half = V * Sigma * A * Sigma
    assert same(derivation.cov_rhs, _summed(half + half.T, A, V))
    assert derivation.flow.stacked == {"A": H, "V": H}


def test_projected_heads_with_every_bias():
    W, Vm, bvm = matrix("W", d, m), matrix("V", m, d), vector("bv", m)
    derivation = gaussian_closure(MultiHead(Softmax()), {"Q", "K", "V", "W", "bq"})
    one = W * (Vm * ((I + Sigma * K.T * Q) * alpha + Sigma * K.T * bq) + bvm)
    assert same(derivation.mean_rhs, _summed(one, Q, K, Vm, W, bq, bk, bvm) + bo)


@pytest.mark.parametrize("head", [Softmax(), L2(), Linear(), Sinkhorn()], ids=lambda head: head.name)
def test_two_heads_are_the_sum_of_two_models(head):
    """In components: the family written out with two members equals the two flows of one head added."""
    one, two = gaussian_closure(head), gaussian_closure(MultiHead(head))
    members = [p for p in one.flow.parameters if hasattr(p, "shape")]
    for single, several in zip(one.flow.drift, two.flow.drift, strict=True):
        copies = [single.xreplace({p: type(p)(f"{p.name}_{h}", *p.shape) for p in members}) for h in (1, 2)]
        difference = spelled_out(several, 2) - copies[0] - copies[1]
        draw = Draw(2, seed=41)
        values = draw.values([difference], skip=(Sigma,))
        factor = draw.lower_triangular(2)
        found = explicit(difference, {**values, Sigma: factor * factor.T}, draw.sizes)
        assert max(abs(entry.evalf(50)) for entry in found) < Rational(1, 10**40)


@pytest.mark.parametrize(
    "model", [Softmax(), Linear(), Sinkhorn(), MultiHead(Softmax())], ids=lambda m: m.name
)
def test_layer_and_noise_are_added(model):
    W, c = matrix("W", d, d), vector("c", d)
    plain = gaussian_closure(model)
    derivation = gaussian_closure(replace(model, feed_forward=True, diffusion="1/7"))
    assert same(derivation.mean_rhs, plain.mean_rhs + W * alpha + c)
    assert same(derivation.cov_rhs, plain.cov_rhs + W * Sigma + Sigma * W.T + Rational(2, 7) * I)
    structure = derivation.flow.covariance
    assert structure.diffusion == Rational(1, 7)
    assert same(structure.velocity_gradient, plain.flow.covariance.velocity_gradient + W)


def test_the_sign_turns_attention_round_but_not_the_layer():
    plain, turned = gaussian_closure(Softmax()), gaussian_closure(Softmax(sign=-1, feed_forward=True))
    W, c = matrix("W", d, d), vector("c", d)
    assert same(turned.mean_rhs, W * alpha + c - plain.mean_rhs)
    off = gaussian_closure(Softmax(sign=0, feed_forward=True))
    assert same(off.cov_rhs, W * Sigma + Sigma * W.T)


def test_a_wrong_noise_is_caught():
    good = gaussian_closure(Softmax(diffusion="1/10"))
    last = good.steps[-1]
    spoiled = replace(last, check=replace(last.check, diffusion=Rational(1, 5)))
    with pytest.raises(CheckFailed, match="continuity equation"):
        replace(good, steps=(*good.steps[:-1], spoiled)).check()


def test_heads_with_domains_of_their_own_are_undecided():
    with pytest.raises(ClosureUndecided, match="domain of its own"):
        gaussian_closure(MultiHead(Attention("dot(x, A*y) + dot(y, C*y)")))
    shared = gaussian_closure(MultiHead(Attention("dot(x, A*y) + norm2(y)")))
    assert same(shared.flow.covariance.tilt, 2 * I)


# ---- masks -----------------------------------------------------------------------------------------


def test_masked_linear_is_a_chain():
    derivation = gaussian_closure(Masked(Linear()))
    chain = derivation.flow.chain
    ((second, part),) = chain.running
    assert same(part, chain.weight * moment)
    assert same(derivation.mean_rhs, V * second * A * alpha)
    assert identical(derivation.cov_rhs, V * second * A * Sigma + Sigma * A.T * second * V.T, (Sigma, second))
    assert chain.weights.name == "theta" and chain.count in chain.weights.shape


def test_masked_linear_with_one_position_is_linear():
    masked = gaussian_closure(Masked(Linear()), max(Linear().parametrisations(), key=len))
    plain = gaussian_closure(Linear(), max(Linear().parametrisations(), key=len))
    one = {symbol: part.subs(masked.flow.chain.weight, 1) for symbol, part in masked.flow.chain.running}
    assert len(one) == 3
    for here, alone in zip(masked.flow.drift, plain.flow.drift, strict=True):
        assert same(here.xreplace(one), alone)


def test_masked_heads_share_their_running_moments():
    derivation = gaussian_closure(Masked(MultiHead(Linear())))
    assert [symbol.name for symbol, _ in derivation.flow.chain.running] == ["M2"]
    assert derivation.check()


def test_a_parameter_called_like_a_running_moment_is_refused():
    model = Masked(Attention("dot(x, M2*y)", normalise="none"))
    with pytest.raises(InputError, match="two symbols called 'M2'"):
        gaussian_closure(model)


def test_a_parameter_called_like_the_weight_of_a_position_is_refused():
    with pytest.raises(InputError, match="two symbols called 'weight'"):
        gaussian_closure(Masked(Attention("weight*dot(x, A*y)", normalise="none")))
    assert gaussian_closure(Attention("weight*dot(x, A*y)", normalise="none")).check()


def test_heads_of_different_mechanisms_are_added():
    """A statement may hold several heads: here linear attention and a constant one under one mask."""

    class Two(AttentionModel):
        name, title, score, value, normalise = "two", "Two heads", "dot(Q*x, K*y)", "V*y", "none"
        kernel = "s"
        parameters = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d")}

        def statement(self, given=None):
            stated = super().statement(given)
            (head,) = stated.heads
            flat = replace(head, score=Integer(1), kernel=Integer(1))
            positions = Positions(dimension("n"), vector("theta", dimension("n")))
            return replace(stated, heads=(head, flat), positions=positions)

    derivation = gaussian_closure(Two())
    running = {symbol.name: symbol for symbol, _ in derivation.flow.chain.running}
    assert list(running) == ["M2", "M1"]
    assert same(derivation.mean_rhs, V * running["M2"] * A * alpha + V * running["M1"])
    assert derivation.check() and r"\Gamma^{(2)}_\mu(s,x)" in derivation.to_latex()


def test_the_user_score_of_two_normalisations():
    """A score with a metric of its own: tilted where rows are normalised, coupled where both sides are."""
    P, b = matrix("P", d, d), vector("b", d)
    S = (P + P.T) / 2
    score = "-dot(x-y, P*(x-y))/2 + dot(b, y)"
    tilted = gaussian_closure(Attention(score))
    assert tilted.check()
    assert same(tilted.mean_rhs, V * Inverse(I + Sigma * S) * (alpha + Sigma * (S * alpha + b)))
    coupled = gaussian_closure(Attention(score, normalise="sinkhorn"))
    half = V * gain(S) * Sigma
    assert coupled.check() and same(coupled.cov_rhs, half + half.T)


def test_symbolic_scalars_stay_symbols():
    derivation = gaussian_closure(Sinkhorn(diffusion=1).with_symbolic_scale())
    names = {str(s) for s in derivation.flow.parameters if isinstance(s, Symbol)}
    assert names == {"beta", "temperature", "diffusion"}
    assert derivation.check()
