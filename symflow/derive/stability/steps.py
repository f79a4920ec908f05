"""The stability estimate as an argument: every bound a step with its own check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from symflow.algebra.latex import latex
from symflow.derive.definition import active_heads, definition
from symflow.derive.stability.checks import (
    DiracChecked,
    EscapeChecked,
    GrowthChecked,
    RangeChecked,
    TrajectoriesChecked,
    VelocityChecked,
)
from symflow.derive.stability.growth import START, TIME, Growth
from symflow.derive.stability.heads import HeadBounds, largest_spread, log_kernel, oscillation
from symflow.derive.steps import Formula, Step
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Statement

_BALL = r"Let $|x|, |y| \le R$. "
_SPHERE = r"Let $|x| = |y| = 1$. "
_SOURCES = {
    "softmax": r"Weights that are normalised average: $|\Gamma| \le |v|$. Under them $\nabla_x\Gamma = "
    r"\operatorname{Cov}(v, \nabla_x s)$, at most the radius of the values times the spread of $\nabla_x s$ "
    r"in $y$ (Cauchy--Schwarz). With $c = \Gamma_\nu(x)$, $\Gamma_\mu(x) - \Gamma_\nu(x) = Z_\mu^{-1}\int "
    r"(v - c)\,k\,d(\mu - \nu)$, whose integrand changes by at most $\ell(1 + 2RL_y)e^{D}$ per unit of "
    r"length, $\ell$ and $L_y$ the Lipschitz constants of $v$ and of $s$ in $y$ and $D$ the oscillation of "
    r"$s$ in $y$; so $W_1$ bounds it.",
    "none": r"Weights as they are: the product rule for $v(y)\,k(x,y)$, whose Lipschitz constant in $y$ "
    r"bounds the change with the law in $W_1$.",
    "sinkhorn": r"The weights $e^{f(x) + s(x,y) + g(y)}$ average, so that size and slope in $x$ are those of "
    r"normalised weights. With $G$ the spread of both gradients of $s$, $s + g$ has the slope $2G$ in $y$, "
    r"oscillates by at most $4RG$, and a change of the law moves either potential by $4Ge^{4RG}W_1$ in "
    r"oscillation, and scaling contracts Hilbert's metric by $\tanh(RG)$ (Birkhoff), so that the potentials "
    r"move by at most $2Ge^{4RG}(e^{2RG} + 1)W_1$. They enter $\Gamma$ with half of that times the radius "
    r"of the values.",
}


def steps(
    model: AttentionModel,
    statement: Statement,
    heads: tuple[HeadBounds, ...],
    totals: tuple[Any, Any, Any],
    rise: Growth,
) -> tuple[Step, ...]:
    """Return definition, score, velocity, growth and the estimate as steps."""
    speed, query, law = totals
    return (
        replace(definition(model, statement), check=DiracChecked(statement)),
        *(_weight(statement, bounds, index, len(heads)) for index, bounds in enumerate(heads)),
        _bound(statement, totals, "speed", "B", speed, "How fast tokens move"),
        _bound(statement, totals, "query", r"\Lambda_x", query, "How the velocity changes with the token"),
        _bound(statement, totals, "law", r"\Lambda_\mu", law, "How the velocity changes with the law"),
        *([] if statement.space == "sphere" else [_growth(statement, rise)]),
        _result(statement, totals, rise),
    )


def _where(statement: Statement) -> str:
    return _SPHERE if statement.space == "sphere" else _BALL


def _weight(statement: Statement, bounds: HeadBounds, index: int, count: int) -> Step:
    """Return what the score, or the kernel, can do on the ball."""
    head, weight = bounds.head, bounds.weight
    normalised = head.normalise != "none"
    expression = log_kernel(head) if normalised else head.kernel
    name = "s" if normalised else "k"
    formulas = [
        Formula(f"{name}(x,y)", expression),
        Formula("S", weight.size),
        Formula("L_x", weight.query),
        Formula("L_y", weight.key),
    ]
    text = rf"$|{name}| \le S$, $|\nabla_x {name}| \le L_x$, $|\nabla_y {name}| \le L_y$"
    if weight.mixed is not None:
        formulas.append(Formula("L_{xy}", weight.mixed))
        text += rf", $\|\nabla_x\nabla_y {name}\| \le L_{{xy}}$"
    if head.normalise == "softmax":
        formulas.append(Formula("D", oscillation(weight)))
        text += rf", and ${name}$ oscillates by at most $D$ in $y$"
    if head.normalise == "sinkhorn":
        formulas.append(Formula("G", largest_spread(weight)))
        text += ", and the spread of both gradients is at most $G$"
    what = "score" if normalised else "kernel"
    which = f" of head {index + 1}" if count > 1 else ""
    return Step(
        kind="step",
        title=f"The {what}{which} on the ball",
        statement=f"{_where(statement)}Then {text}.",
        formulas=tuple(formulas),
        rule="norms of products, chain and product rule",
        reference=statement.reference,
        check=RangeChecked(statement, expression, weight),
    )


def _bound(
    statement: Statement, totals: tuple[Any, Any, Any], part: str, label: str, value: Any, title: str
) -> Step:
    kinds = dict.fromkeys(head.normalise for head in active_heads(statement))
    text = {
        "speed": r"The speed $|\Gamma_\mu|$ is at most",
        "query": r"For every law on the ball, $|\Gamma_\mu(x) - \Gamma_\mu(z)| \le \Lambda_x|x - z|$ with",
        "law": r"For two laws on the ball, $|\Gamma_\mu(x) - \Gamma_\nu(x)| \le \Lambda_\mu W_1(\mu, \nu) "
        r"\le \Lambda_\mu W_p(\mu, \nu)$ with",
    }[part]
    reasons = " ".join(_SOURCES[kind] for kind in kinds) if part == "law" else ""
    if part == "law" and statement.positions is not None:
        text = (
            r"For two laws on the ball with one law $\theta$ of positions, $(\int |\Gamma_\mu(s,x) - "
            r"\Gamma_\nu(s,x)|^p d\theta(s))^{1/p} \le \Lambda_\mu d_p(\mu, \nu)$ with"
        )
        reasons += _masked(statement)
    if part == "query" and statement.space == "sphere":
        reasons = r"The projection adds the speed: $\|P_x - P_z\| \le |x - z|$."
    return Step(
        kind="step",
        title=title,
        statement=" ".join(filter(None, (_where(statement) + reasons, text))),
        formulas=(Formula(label, value),),
        rule="weights as they are normalised, sum over heads",
        reference=statement.reference,
        check=VelocityChecked(statement, *totals, part),
    )


def _masked(statement: Statement) -> str:
    if all(head.normalise == "none" for head in active_heads(statement)):
        return ""
    return (
        r" A position $s$ averages over the law of the positions $\tau \le s$, and $\frac{1}{\theta([0,s])}"
        r"\int_{\tau\le s} W_1(\mu^\tau, \nu^\tau)d\theta(\tau)$ is at most $d_1(\mu,\nu)/\theta(\{0\})$ at "
        r"every $s$; for $p > 1$ its norm in $L^p(\theta)$ is at most $\frac{p}{p-1}d_p(\mu,\nu)$ (Hardy), "
        r"with a sink or without. So $\kappa = \min(1/\theta(\{0\}), p/(p-1))$."
    )


def _growth(statement: Statement, rise: Growth) -> Step:
    equation = Formula(r"\dot{R}", rise.speed)
    if rise.solution is None:
        return Step(
            kind="step",
            title="How far the support reaches",
            statement=r"The support stays in the ball whose radius solves $\dot R = B(R)$, $R(0) = R_0$, as "
            r"long as that has a solution; the bound may end at $\int_{R_0}^\infty dR/B(R)$.",
            formulas=(equation,),
            rule="comparison of scalar equations",
            reference=statement.reference,
            check=EscapeChecked(statement, rise.speed),
        )
    until = (
        "for all times" if rise.end is None else rf"for $t < {latex(rise.end)}$, beyond which nothing is said"
    )
    return Step(
        kind="step",
        title="How far the support reaches",
        statement=r"The support stays in the ball whose radius solves $\dot R = B(R)$, $R(0) = R_0$, "
        f"{until}.",
        formulas=(equation, Formula("R(t)", rise.solution)),
        rule="comparison of scalar equations",
        reference=statement.reference,
        check=GrowthChecked(statement, rise.speed, rise.solution, rise.end),
    )


def _result(statement: Statement, totals: tuple[Any, Any, Any], rise: Growth) -> Step:
    _, query, law = totals
    distance = "d_p" if statement.positions is not None else "W_p"
    sphere = statement.space == "sphere"
    exponent = r"(\Lambda_x + \Lambda_\mu)t" if sphere else r"\int_0^t (\Lambda_x + \Lambda_\mu)(R(s))\,ds"
    where = "on the sphere" if sphere else rf"with supports in the ball of radius ${latex(START)}$"
    until = "" if sphere or rise.is_global else r", as long as $R$ is finite"
    return Step(
        kind="result",
        title="Stability",
        statement=rf"Let $\mu, \nu$ solve the transport equation from two laws {where}. Moving an optimal "
        rf"coupling of the starts along both flows, $D = \|X - Y\|_{{L^p}}$ satisfies $\dot D \le "
        rf"(\Lambda_x + \Lambda_\mu)D$, so that for every $p \ge 1$ and ${latex(TIME)} \ge 0${until}, "
        rf"${distance}(\mu(t), \nu(t)) \le C(t, R_0)\,{distance}(\mu_0, \nu_0)$ with",
        formulas=(
            Formula("C(t, R_0)", rf"\exp\Big({exponent}\Big)"),
            Formula(r"\Lambda_x + \Lambda_\mu", query + law),
        ),
        rule="optimal coupling along both flows, Grönwall's inequality",
        reference=statement.reference,
        check=TrajectoriesChecked(statement, *totals),
    )
