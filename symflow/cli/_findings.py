"""What ``derive`` finds, as JSON and for reading: equations of laws, systems of tokens, constants "
"on balls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from symflow.cli._target import Target
    from symflow.derive.derivation import Argument

#: What is derived, as the end of the names of files.
GAUSSIAN, TOKENS, STABILITY = "", "-tokens", "-stability"
_SPACES = ("euclidean", "sphere")


def kind_of(target: Target, tokens: bool, stability: bool) -> str:
    """Return what is asked for; tokens where no Gaussian law is meant."""
    if tokens and stability:
        raise click.UsageError("--tokens and --stability are two derivations; give one of them.")
    if stability:
        return STABILITY
    initial = None if target.spec is None else target.spec.initial
    on_tokens = target.model.space == "sphere" or hasattr(initial, "ndim")
    return TOKENS if tokens or on_tokens else GAUSSIAN


def argument_of(target: Target, kind: str) -> Argument:
    """Derive it.

    Raises
    ------
    InputError
        If there is no such derivation of the model.
    """
    given = target.given
    if kind == TOKENS:
        from symflow.derive.particles import token_flow

        return token_flow(target.model, given)
    if kind == STABILITY:
        from symflow.derive.stability import stability

        return stability(target.model, given)
    from symflow.derive.outcome import derive_or_refute

    return derive_or_refute(target.model, given)


def finding(found: Any) -> dict[str, Any]:
    """Return what was found, JSON-ready."""
    if hasattr(found, "growth"):
        return _constants(found)
    if hasattr(getattr(found, "flow", None), "terms"):
        return _system(found)
    return _gaussian_finding(found)


def print_finding(out: Console, found: Any) -> None:
    """Print what was found."""
    from rich.markup import escape

    if hasattr(found, "growth"):
        out.print("[bold]Constants on the ball of radius R[/], in spectral norms")
        for name, text in _constants(found)["constants"].items():
            out.print(escape(f"  {name}: {text}"))
    elif hasattr(getattr(found, "flow", None), "terms"):
        _print_system(out, found)
    else:
        _print_gaussian(out, found)


def energies() -> list[dict[str, str]]:
    """Return every energy: its name and what it is."""
    from symflow.energies import Energy, Pairwise
    from symflow.energies.registry import shipped_energies

    kinds: list[type[Energy]] = [*shipped_energies().values(), Pairwise]
    return [{"name": kind.__name__, "describe": (kind.__doc__ or "").splitlines()[0]} for kind in kinds]


def token_kernels(model: type[Any]) -> dict[str, str]:
    """Return for each space how a variant's kernel of tokens comes to be."""
    from symflow.codegen import shipped
    from symflow.codegen.forms import default_names
    from symflow.codegen.kinds import TOKENS as KIND

    found = {}
    for space in _SPACES:
        one = model(space=space)
        carried = shipped.find(one, default_names(one), KIND) is not None
        found[space] = "compiled, shipped" if carried else "built on first use"
    return found


def _system(found: Any) -> dict[str, Any]:
    from symflow.algebra.latex import latex

    flow = found.flow
    step = next(step for step in found.steps if step.kind == "result")
    return {
        "tokens": True,
        "equations_latex": {latex(f.lhs): latex(f.rhs) for f in step.formulas},
        "terms": [
            {
                "score": str(term.score),
                "pairings": {
                    p.symbol.name: {"left": str(p.left), "right": str(p.right), "kind": _kind(p)}
                    for p in term.pairings
                },
                "normalise": term.normalise,
                "symmetric_if": [f"{a} = {b}" for a, b in term.symmetric_if or ()],
                "symmetric": term.symmetric_if is not None,
            }
            for term in flow.terms
        ],
    }


def _kind(pairing: Any) -> str:
    return "squared distance" if pairing.difference else "inner product"


def _print_system(out: Console, found: Any) -> None:
    from rich.markup import escape

    where = "on the unit sphere" if found.flow.space == "sphere" else "on ℝᵈ"
    out.print(f"[bold]The system of n tokens {where}[/]")
    for term in _system(found)["terms"]:
        out.print(escape(f"  score s = {term['score']}"))
        for name, pairing in term["pairings"].items():
            open_, between, close = (
                ("|", " − ", "|²") if pairing["kind"] == "squared distance" else ("⟨", ", ", "⟩")
            )
            out.print(escape(f"    {name} = {open_}{pairing['left']}{between}{pairing['right']}{close}"))
        if term["symmetric"]:
            when = ", ".join(term["symmetric_if"])
            out.print(escape(f"    s(x, y) = s(y, x){' if ' + when if when else ''}"))


def _constants(found: Any) -> dict[str, Any]:
    from symflow.algebra.latex import latex

    parts = {"speed": found.speed, "query": found.query, "law": found.law}
    return {
        "constants": {name: str(part) for name, part in parts.items()},
        "constants_latex": {name: latex(part) for name, part in parts.items()},
    }


def _gaussian_finding(found: Any) -> dict[str, Any]:
    """Return the equations, with the running sums of a mask, or the witness that there are none."""
    from symflow.algebra.latex import latex

    flow = getattr(found, "flow", None)
    if flow is None:
        message = f"{found.statement.name} does not keep Gaussians Gaussian: {found.witness}"
        witness = {"text": str(found.witness), "latex": found.witness.to_latex(), **found.witness.to_record()}
        return {"closed": False, "error": "NotGaussianPreserving", "message": message, "witness": witness}
    running = () if flow.chain is None else flow.chain.running
    return {
        "closed": True,
        "mean_rhs": str(found.mean_rhs),
        "cov_rhs": str(found.cov_rhs),
        "mean_rhs_latex": latex(found.mean_rhs),
        "cov_rhs_latex": latex(found.cov_rhs),
        "running_sums": {symbol.name: str(part) for symbol, part in running},
    }


def _print_gaussian(out: Console, found: Any) -> None:
    """Print the equations of mean and covariance, or the witness that there are none."""
    from rich.markup import escape

    flow = getattr(found, "flow", None)
    if flow is None:
        out.print("[bold]Gaussians are not preserved[/]")
        out.print(escape(f"  {found.witness}"))
        return
    out.print(
        "[bold]Mean and covariance of a Gaussian law[/]" + (" at every position s" if flow.chain else "")
    )
    out.print(escape(f"  alpha' = {found.mean_rhs}"))
    out.print(escape(f"  Sigma' = {found.cov_rhs}"))
    for symbol, part in () if flow.chain is None else flow.chain.running:
        out.print(escape(f"  {symbol.name} = sum over the positions up to s of {part}"))
