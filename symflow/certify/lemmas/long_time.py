"""Facts about what flows do in the long time: continuation, comparison, monotone limits, resolvents."""

from __future__ import annotations

from typing import Any

from sympy import Identity, Trace

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected, multiply, shape_of, total, transposed


def _same_system(line: Inference, *judgements: Any) -> None:
    """Every judgement that has ``mean_rhs`` or ``cov_rhs`` must have that of the conclusion."""
    for judgement in judgements:
        for field in ("mean_rhs", "cov_rhs"):
            if field in judgement.terms and field in line.conclusion.terms:
                line.same(judgement[field], line.conclusion[field], f"another {field}")


def _linear_mean(line: Inference) -> None:
    """``mean_rhs = G·mean`` with G free of the mean: such an equation has a solution as long as Σ has."""
    gain, names = line.arguments["gain"], line.variables
    line.terms.require_free(gain, [names.mean, *names.outside_state], "the gain")
    line.same(
        line.conclusion["mean_rhs"],
        multiply(gain, line.symbol(names.mean)),
        "the mean equation is not linear",
    )


def _weighted_trace(line: Inference, functional: Any, weight: Any) -> None:
    """``functional = tr(P Σ)`` with P free of the state."""
    names = line.variables
    line.terms.require_free(
        weight, [names.mean, names.covariance, *names.outside_state], "the weight of the trace"
    )
    line.same(
        functional, Trace(multiply(weight, line.symbol(names.covariance))), "the functional is not tr(PΣ)"
    )


def _derivative(line: Inference, index: int, functional: Any) -> Any:
    """Return the derivative that the premise at ``index`` states for ``functional``."""
    premise = line.premise(index, "flow-derivative")
    line.same(premise["functional"], functional, f"premise {index + 1} is about another functional")
    _same_system(line, premise)
    return premise["derivative"]


def _constant(line: Inference, index: int) -> Any:
    """Return a positive scalar that is free of the state."""
    scalar, names = line.premise(index, "positive")["scalar"], line.variables
    line.terms.require_free(scalar, [names.mean, names.covariance, *names.outside_state], "the constant")
    return scalar


def _lyapunov(line: Inference) -> None:
    line.require("bounded-flow")
    line.count(5)
    done = line.conclusion
    _same_system(line, line.premise(0, "local-flow"), line.premise(1, "congruence"))
    _weighted_trace(line, done["functional"], line.premise(2, "definite")["matrix"])
    change = _derivative(line, 3, done["functional"])
    line.same(line.premise(4, "nonnegative")["scalar"], -change, "premise 5 is not minus the derivative")
    _linear_mean(line)


def _decay(line: Inference) -> None:
    line.require("decay")
    line.count(6)
    done, bounded = line.conclusion, line.premise(0, "bounded-flow")
    functional = done["functional"]
    _same_system(line, bounded)
    line.same(bounded["functional"], functional, "premise 1 is about another functional")
    _weighted_trace(line, functional, line.premise(1, "definite")["matrix"])
    change = _derivative(line, 2, functional)
    scale, strength = _constant(line, 3), _constant(line, 4)
    gap = total([-scale * change, -strength * functional**2])
    line.same(line.premise(5, "nonnegative")["scalar"], gap, "premise 6 is not −τf' − af² ≥ 0")
    line.same(done["scale"], scale, "another τ")
    line.same(done["strength"], strength, "another a")


def _escape(line: Inference) -> None:
    line.require("escape")
    line.count(7)
    done = line.conclusion
    functional = done["functional"]
    _same_system(line, line.premise(0, "local-flow"), line.premise(1, "congruence"))
    _weighted_trace(line, functional, line.premise(2, "definite")["matrix"])
    change = _derivative(line, 3, functional)
    scale, strength = _constant(line, 4), _constant(line, 5)
    gap = total([scale * change, -strength * functional**2])
    line.same(line.premise(6, "nonnegative")["scalar"], gap, "premise 7 is not τf' − af² ≥ 0")
    line.same(done["scale"], scale, "another τ")
    line.same(done["strength"], strength, "another a")


def _gronwall(line: Inference) -> None:
    line.require("exponential-bound")
    line.count(3)
    congruence, norm = line.premise(1, "congruence"), line.premise(2, "norm")
    _same_system(line, line.premise(0, "local-flow"), congruence)
    line.same(norm["matrix"], congruence["gradient"], "premise 3 is not about the velocity gradient")
    line.same(norm["bound"], line.conclusion["rate"], "the rate is not the bound")
    names = line.variables
    line.terms.require_free(
        line.conclusion["rate"], [names.mean, names.covariance, *names.outside_state], "the rate"
    )
    _linear_mean(line)


def _resolvent(line: Inference) -> None:
    line.require("resolvent-flow")
    line.count(3)
    done, names = line.conclusion, line.variables
    flow, curve, domain = (
        line.premise(0, "local-flow"),
        line.premise(1, "solution-curve"),
        line.premise(2, "definite"),
    )
    _same_system(line, flow, curve)
    root, kernel, core = done["root"], done["kernel"], line.arguments["core"]
    for term in (root, kernel, core):
        line.terms.require_free(term, [names.mean, names.covariance, *names.outside_state], "R and N")
    line.same(kernel, multiply(transposed(root), core, root), "N is not RᵀMR")
    line.same(core, transposed(core), "M is not symmetric")
    time = line.symbol(names.time)
    gap = total([Identity(shape_of(kernel)[0]), multiply(-time, kernel)])
    line.same(domain["matrix"], gap, "premise 3 is not I − tN ≻ 0")
    line.same(curve["curve"], multiply(root, gap.inverse(), transposed(root)), "another curve")
    _linear_mean(line)


def _projected_limit(line: Inference) -> None:
    line.require("projected-limit")
    line.count(2)
    done, flow = line.conclusion, line.premise(0, "resolvent-flow")
    _same_system(line, flow)
    for field in ("root", "kernel"):
        line.same(done[field], flow[field], f"another {field}")
    line.same(line.premise(1, "negative-semidefinite")["matrix"], done["kernel"], "premise 2 is not N ⪯ 0")


def _shorted_limit(line: Inference) -> None:
    line.require("shorted-limit")
    line.count(4)
    done, names = line.conclusion, line.variables
    _same_system(line, line.premise(0, "local-flow"), line.premise(1, "congruence"))
    directions, weight, argument = done["directions"], line.arguments["weight"], line.arguments["argument"]
    covariance = line.symbol(names.covariance)
    state = [names.mean, names.covariance, *names.outside_state]
    for term in (directions, weight):
        line.terms.require_free(term, state, "K and W")
    if not getattr(argument, "is_symbol", False) or argument.name in line.terms.definitions:
        raise Rejected("'argument' must be a symbol of the statement")
    for term in (directions, done["mean_rhs"], done["cov_rhs"]):
        line.terms.require_free(term, [argument.name], "the system")
    section = multiply(directions, covariance, transposed(directions))
    equation = line.premise(2, "equal")
    line.same(equation["left"], done["cov_rhs"], "premise 3 is not about the covariance equation")
    weight_there = weight.xreplace({argument: section})
    drop = multiply(-1, covariance, transposed(directions), weight_there, directions, covariance)
    line.same(equation["right"], drop, "premise 3 is not −ΣKᵀW(KΣKᵀ)KΣ")
    line.same(line.premise(3, "definite")["matrix"], weight, "premise 4 is not W(T) ≻ 0")
    _linear_mean(line)


_HARTMAN = "Hartman, Ordinary Differential Equations (1964)"

FACTS = (
    lemma(
        "trace-lyapunov",
        "Continuation with a Lyapunov function",
        r"Let $\Sigma(t) = \Phi\Sigma(0)\Phi^\top \succeq 0$ be the maximal solution, $P \succ 0$ and "
        r"$\frac{d}{dt}\operatorname{tr}(P\Sigma) \le 0$. Then $\lambda_{\min}(P)\,|\Sigma(t)| \le "
        r"\operatorname{tr}(P\Sigma(t)) \le \operatorname{tr}(P\Sigma(0))$; a solution that stays in a "
        r"compact set exists for all $t \ge 0$, and so does that of the linear equation of the mean.",
        ("a maximal solution", "Σ(t) = ΦΣ(0)Φᵀ", "P ≻ 0", "the derivative of tr(PΣ)", "it is ≤ 0"),
        f"{_HARTMAN}, Theorems II.3.1 and IV.1.1",
        _lyapunov,
        ("gain",),
    ),
    lemma(
        "riccati-decay",
        "Comparison with a Riccati equation",
        r"Let $f = \operatorname{tr}(P\Sigma)$ with $P \succ 0$, $\Sigma \succeq 0$ for all $t \ge 0$, and "
        r"$\tau f' \le -af^2$ with constants $\tau, a > 0$. Then $f(t) \le f(0)/(1 + (a/\tau)f(0)t)$.",
        ("all times", "P ≻ 0", "the derivative of f", "τ > 0", "a > 0", "−τf' − af² ≥ 0"),
        "Khalil, Nonlinear Systems, 3rd ed. (2002), Lemma 3.4",
        _decay,
    ),
    lemma(
        "riccati-escape",
        "Comparison with a Riccati equation that blows up",
        r"Let $f = \operatorname{tr}(P\Sigma)$ with $P \succ 0$, $\Sigma(t) = \Phi\Sigma(0)\Phi^\top "
        r"\succeq 0$, and $\tau f' \ge af^2$ with constants $\tau, a > 0$. If $\Sigma(0) \ne 0$, then "
        r"$f(0) > 0$ and $f(t) \ge f(0)/(1 - (a/\tau)f(0)t)$ as long as $\Sigma$ exists, which is not beyond "
        r"$\tau/(af(0))$; a maximal solution that ends leaves every compact set.",
        (
            "a maximal solution",
            "Σ(t) = ΦΣ(0)Φᵀ",
            "P ≻ 0",
            "the derivative of f",
            "τ > 0",
            "a > 0",
            "τf' − af² ≥ 0",
        ),
        f"Khalil, Nonlinear Systems, 3rd ed. (2002), Lemma 3.4; {_HARTMAN}, Theorem II.3.1",
        _escape,
    ),
    lemma(
        "gronwall",
        "Grönwall's inequality for a linear flow",
        r"Let $\Sigma(t) = \Phi\Sigma(0)\Phi^\top$, $\Phi' = L\Phi$, $|L| \le c$ with $c$ free of the state. "
        r"Then $|\Phi(t)| \le e^{c|t|}$, $|\Sigma(t)| \le e^{2c|t|}|\Sigma(0)|$, so that $\Sigma$ exists for "
        "all times, and so does the solution of the linear equation of the mean.",
        ("a maximal solution", "Σ(t) = ΦΣ(0)Φᵀ", "|L| ≤ c"),
        f"{_HARTMAN}, Theorems II.3.1, III.1.1 and IV.1.1",
        _gronwall,
        ("gain",),
    ),
    lemma(
        "symmetric-resolvent",
        "Resolvent of a symmetric matrix",
        r"Let $N = R^\top MR$ be symmetric with spectral projectors $P_\lambda$. Then $(I - tN)^{-1} = "
        r"\sum_\lambda (1 - t\lambda)^{-1}P_\lambda$, and the set of $t \ge 0$ with $I - tN \succ 0$ is the "
        r"interval from 0 to $t^* = 1/\lambda_{\max}(N)$, or $[0, \infty)$ if $\lambda_{\max}(N) \le 0$. If "
        r"$Nv = \lambda_{\max}v$ and $Rv = 0$, then $\lambda_{\max}v = R^\top MRv = 0$; hence for "
        r"$\lambda_{\max} > 0$ the matrix $RP_{\lambda_{\max}}R^\top$ has the multiplicity of "
        r"$\lambda_{\max}$ as rank, $X(t) = R(I - tN)^{-1}R^\top$ is unbounded as $t \to t^*$, and "
        r"$X/\operatorname{tr}X \to RP_{\lambda_{\max}}R^\top/\operatorname{tr}(RP_{\lambda_{\max}}R^\top)$. "
        "A curve that solves the equation is its maximal solution, up to where it is unbounded.",
        ("a maximal solution", "X solves the equation where I − tN ≻ 0", "I − tN ≻ 0"),
        "Horn and Johnson, Matrix Analysis, 2nd ed. (2013), Theorem 2.5.6",
        _resolvent,
        ("core", "gain"),
    ),
    lemma(
        "spectral-limit",
        "Limit of a resolvent",
        r"Let $N \preceq 0$ with the projector $\Pi$ on its kernel and largest negative eigenvalue $-\mu$. "
        r"Then $0 \preceq (I - tN)^{-1} - \Pi \preceq (1 + t\mu)^{-1}I$ for $t \ge 0$, so that "
        r"$R(I - tN)^{-1}R^\top \to R\Pi R^\top$, whose rank is $\operatorname{rank}(R\Pi)$: it is "
        r"$\dim\ker N$ if $R$ is invertible.",
        ("the solution R(I − tN)⁻¹Rᵀ", "N ⪯ 0"),
        "Horn and Johnson, Matrix Analysis, 2nd ed. (2013), Theorem 2.5.6",
        _projected_limit,
    ),
    lemma(
        "shorted-operator",
        "Monotone flows and the shorted operator",
        r"Let $\Sigma' = -\Sigma K^\top W(K\Sigma K^\top)K\Sigma$ with $W(T) \succ 0$ for $T \succeq 0$. "
        r"Then $\Sigma$ never increases, is global and converges to an equilibrium $\Sigma_\infty$, where "
        r"$K\Sigma_\infty = 0$. For every symmetric $X$ with $KX = 0$, $\Sigma - X$ solves the same "
        r"equation; if $0 \preceq X \preceq \Sigma(0)$, it stays $\succeq 0$, so that $X \preceq "
        r"\Sigma_\infty$. Hence $\Sigma_\infty$ is the shorted operator of $\Sigma(0)$, the largest $X$ with "
        r"$0 \preceq X \preceq \Sigma(0)$ and $KX = 0$: $R\Pi R^\top$ for $\Sigma(0) = RR^\top$ and the "
        r"projector $\Pi$ on $\ker(KR)$; its rank is $\dim\ker K$ if $\Sigma(0) \succ 0$.",
        ("a maximal solution", "Σ(t) = ΦΣ(0)Φᵀ", "the form of the equation", "W(T) ≻ 0 for T ⪰ 0"),
        "Anderson and Trapp, Shorted operators II, SIAM J. Appl. Math. 28 (1975), 60–71; "
        f"{_HARTMAN}, Theorem II.3.1",
        _shorted_limit,
        ("weight", "argument", "gain"),
    ),
)
