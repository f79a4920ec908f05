"""The first step of a derivation: what the model says, with the integral that its normalisation means."""

from __future__ import annotations

from sympy import Symbol

from symflow.algebra.latex import latex
from symflow.derive.checks import AffineInQuery, QuadraticInComponents, Together
from symflow.derive.steps import Check, Formula, Step
from symflow.derive.velocity.record import argument
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Head, Statement

NOISE = r"\varepsilon"


def definition(model: AttentionModel, statement: Statement) -> Step:
    """Return the definition of a model as a step."""
    checks = tuple(_check(head, statement) for head in active_heads(statement))
    return Step(
        kind="definition",
        title=model.title,
        statement=f"{_motion(statement)}, {_where(statement)}",
        formulas=(*_formulas(statement), *_noise(statement)),
        rule="definition",
        reference=statement.reference,
        check=checks[0] if len(checks) == 1 else Together(checks),
    )


def active_heads(statement: Statement) -> tuple[Head, ...]:
    """Return the heads whose factor is not zero."""
    return tuple(head for head in statement.heads if not head.prefactor.is_zero)


def is_superposition(statement: Statement) -> bool:
    """Whether several integrals are added."""
    heads = active_heads(statement)
    return len(heads) > 1 or any(head.family is not None for head in heads)


def field_label(statement: Statement, index: int | None = None) -> str:
    r"""Return the LaTeX of the velocity, of one head where an index is given."""
    if index is None:
        return r"\Gamma_\mu"
    head = active_heads(statement)[index]
    return rf"\Gamma^{{({'h' if head.family is not None else index + 1})}}_\mu"


def _motion(statement: Statement) -> str:
    masked, sphere = statement.positions is not None, statement.space == "sphere"
    place = r"the unit sphere $\mathbb{S}^{d-1}$" if sphere else r"$\mathbb{R}^d$"
    tokens = rf"Tokens with law $\mu$ on {place}"
    if masked:
        pair = r"$(s,x)$, $x\in\mathbb{S}^{d-1}$," if sphere else "$(s,x)$"
        tokens = rf"Tokens {pair} with law $\mu$ keep their position $s$, which has the law $\theta$, and"
    field = r"\Gamma_\mu(s,X)" if masked else r"\Gamma_\mu(X)"
    below = "_x" if masked else ""
    projected = r"P_x\Gamma_\mu" if sphere else r"\Gamma_\mu"
    transport = rf"\partial_t\mu + \operatorname{{div}}{below}(\mu\,{projected})"
    if statement.diffusion.is_zero:
        meaning = r", $P_x = I - xx^{\top}$" if sphere else ""
        return rf"{tokens} move with the velocity field ${projected}${meaning}, that is ${transport} = 0$"
    motion = rf"dX = {field}\,dt + \sqrt{{2{NOISE}}}\,dw"
    equation = rf"{transport} = {NOISE}\,\Delta{below}\mu"
    return f"{tokens} follow ${motion}$ with independent Brownian motions $w$, that is ${equation}$"


def _where(statement: Statement) -> str:
    parts = []
    if any(head.normalise == "sinkhorn" for head in active_heads(statement)):
        parts.append(
            r"where $k_\infty(x,y) = a(x)\,e^{s(x,y)}\,b(y)$ with $a, b > 0$ such that "
            r"$\int k_\infty(x,y)\,d\mu(y) = \int k_\infty(x,y)\,d\mu(x) = 1$, and"
        )
    else:
        parts.append("where")
    families = [head.family for head in active_heads(statement) if head.family is not None]
    if families:
        own = ", ".join(f"${latex(member)}$" for family in families for member in family.members)
        parts.append(f"for heads with {own} of their own, whose index $h$ is not written,")
    return " ".join(parts)


def _formulas(statement: Statement) -> tuple[Formula, ...]:
    heads, at = active_heads(statement), argument(statement)
    tail = "" if statement.background.is_ZeroMatrix else latex(statement.background)
    if not is_superposition(statement):
        terms = [_integral(head, statement) for head in heads]
        first = Formula(rf"\Gamma_\mu{at}", _plus([*terms, tail]))
        return (first, *(Formula(*_stated(head)) for head in heads))
    labels = [f"{field_label(statement, index)}{at}" for index in range(len(heads))]
    sums = [
        label if head.family is None else rf"\sum_{{h=1}}^{{{latex(head.family.count)}}}{label}"
        for label, head in zip(labels, heads, strict=True)
    ]
    rows = [Formula(rf"\Gamma_\mu{at}", _plus([*sums, tail]))]
    for label, head in zip(labels, heads, strict=True):
        rows += [Formula(label, _integral(head, statement)), Formula(*_stated(head))]
    return tuple(rows)


def _plus(terms: list[str]) -> str:
    kept = [term for term in terms if term]
    return " + ".join(kept).replace("+ -", "- ") if kept else "0"


def _check(head: Head, statement: Statement) -> Check:
    if head.normalise == "none":
        return AffineInQuery(head.kernel, statement.x, statement.y)
    return QuadraticInComponents(head.score, statement.y)


def _stated(head: Head) -> tuple[str, object]:
    """Return the name and the expression that a head is stated by: its score, or its kernel."""
    return ("k(x,y)", head.kernel) if head.normalise == "none" else ("s(x,y)", head.score)


def _integral(head: Head, statement: Statement) -> str:
    value = latex(head.value)
    if head.value.is_MatAdd:
        value = rf"({value})"
    masked = statement.positions is not None
    sign, law = (r"\int_{\tau\le s}", r"d\mu(\tau,y)") if masked else (r"\int", r"d\mu(y)")
    factor = "" if head.prefactor == 1 else "-" if head.prefactor == -1 else rf"{latex(head.prefactor)}"
    if head.normalise == "softmax":
        weights = r"e^{s(x,y)}"
        return rf"{factor}\frac{{{sign} {value}\,{weights}\,{law}}}{{{sign} {weights}\,{law}}}"
    weights = "k(x,y)" if head.normalise == "none" else r"k_\infty(x,y)"
    return rf"{factor}{sign} {value}\,{weights}\,{law}"


def _noise(statement: Statement) -> tuple[Formula, ...]:
    is_letter = isinstance(statement.diffusion, Symbol)
    return () if statement.diffusion.is_zero or is_letter else (Formula(NOISE, statement.diffusion),)
