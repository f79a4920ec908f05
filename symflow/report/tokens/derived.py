"""Of every subject: the system of n tokens on both spaces, and the constants on a ball."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symflow.algebra.latex import aligned
from symflow.derive.derivation import Argument
from symflow.derive.particles import TokenDerivation, token_flow
from symflow.derive.stability import Stability, stability
from symflow.derive.steps import Step
from symflow.errors import InputError, NoTokenFlow
from symflow.models.attention.model import AttentionModel
from symflow.references import keys_in
from symflow.report.blocks import Badge, Display, Outcome, Paragraph, Section, Steps, state
from symflow.report.formulas import displayed
from symflow.report.subjects import Subject

#: How a space is called in text.
SPACES = {"euclidean": r"on $\mathbb{R}^d$", "sphere": r"on the sphere"}


def tokens_outcome(subject: Subject) -> Outcome | None:
    """Return what follows for n tokens; None where no system of them is derived."""
    try:
        found = [token_flow(model) for model in (subject.model, subject.on_sphere) if model is not None]
    except NoTokenFlow:
        return None
    parts = [system_blocks(one) for one in found]
    separating = stability_blocks(subject.model)
    checked = [part[1] for part in (*parts, separating)]
    good, total = (sum(column) for column in zip(*checked, strict=True))
    blocks = (*(block for part in parts for block in part[0]), *separating[0])
    badge = Badge("tokens", f"{good} of {total} steps checked", state(good == total))
    section = Section("Tokens", f"{subject.anchor}-tokens", blocks, (badge,))
    summary = {"tokens": {"spaces": [one.flow.space for one in found], "steps": total, "checked": good}}
    cited = cited_by((*found, *separating[2]))
    return Outcome(section, summary, good == total, cited)


def system_blocks(found: TokenDerivation) -> tuple[list[Any], tuple[int, int]]:
    """Return the system of tokens with its derivation, and how many steps are checked, of how many."""
    checked = tuple(found.checked())
    where = SPACES[found.flow.space]
    result = system_step(found)
    folded = f"The system {where}, step by step, with what every check saw"
    blocks = [
        Paragraph(rf"\textbf{{Tokens}} {where}. {result.statement}"),
        Display(displayed(result.formulas)),
        Steps(found, checked, folded, in_article=found.flow.space == "euclidean"),
    ]
    return blocks, (sum(seen.passed for _, seen in checked), len(checked))


def system_step(found: TokenDerivation) -> Step:
    """Return the step that states the system of tokens; what follows it is about other frames."""
    return next(step for step in found.steps if step.kind == "result")


def stability_blocks(
    model: AttentionModel, given: Iterable[str] | None = None
) -> tuple[list[Any], tuple[int, int], tuple[Stability, ...]]:
    """Return the constants of a model on a ball; nothing where it has none."""
    try:
        found = stability(model, given)
    except InputError as error:
        return [Paragraph(rf"\textbf{{No constants on balls.}} {error}.")], (0, 0), ()
    checked = tuple(found.checked())
    said = (
        r"\textbf{Stability.} On the ball of radius $R$ the speed is at most $B$, and the velocity changes "
        r"by at most $\Lambda_x$ per unit of length of the token and $\Lambda_\mu$ per unit of $W_1$ of the "
        r"law, in spectral norms. While the support stays in the ball of radius $R(t)$, $\dot R = B(R)$, two "
        r"solutions separate by at most the factor $\exp\int_0^t(\Lambda_x+\Lambda_\mu)(R(s))\,ds$ in every "
        r"$W_p$; on the sphere $R = 1$."
    )
    constants = [("B", found.speed), (r"\Lambda_x", found.query), (r"\Lambda_\mu", found.law)]
    blocks = [
        Paragraph(said),
        Display(aligned(constants)),
        Steps(found, checked, "How the constants follow, with what every check saw", in_article=False),
    ]
    return blocks, (sum(seen.passed for _, seen in checked), len(checked)), (found,)


def cited_by(arguments: Iterable[Argument]) -> tuple[str, ...]:
    """Return the citation keys of every step."""
    steps = (step for argument in arguments for step in argument.steps)
    return tuple(dict.fromkeys(key for step in steps for key in keys_in(step.reference)))
