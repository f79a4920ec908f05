"""Verification: every compiled kernel against independent witnesses.

Of Gaussian laws, per model and parametrisation: the derived symbols at 50 digits, the NumPy printer of the
same Program, a derivation by components, the definition by quadrature or by Sinkhorn's iteration, SciPy's
integrators, clouds of tokens, and particles where there is noise; per shipped model, equal bits for one and
two BLAS threads.
Of a mechanism that does not keep Gaussians, the witness of that against quadrature.

Of n tokens, on ℝᵈ and on the sphere: the definition at 50 digits, the NumPy printer, symmetries, SciPy's
integrators, and equal bits for any number of threads (:mod:`symflow.verify.systems`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from symflow.derive.nonclosure import Witness
from symflow.errors import CheckFailed, ClosureUndecided, NotGaussianPreserving, NoTokenFlow
from symflow.models.attention.linear import Linear
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.softmax import Softmax
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.models.registry import attention_model, attention_models
from symflow.verify.subject import Subject, label
from symflow.verify.systems import System
from symflow.verify.systems import applicable as applicable_to_tokens
from symflow.verify.table import COLUMNS, Row, Table
from symflow.verify.threads import equal_bits
from symflow.verify.witnesses import applicable

__all__ = ["COLUMNS", "Row", "Table", "verify"]

Progress = Callable[[str], None]


def verify(
    model: AttentionModel | str | None = None,
    given: Iterable[str] | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Table:
    r"""Compare compiled kernels with independent witnesses.

    Parameters
    ----------
    model : AttentionModel or str, optional
        A model, or the name of a shipped one, on ℝᵈ and on the sphere; by default every shipped model, and
        one each of what models are composed to: heads with output matrices, a causal mask, a feed-forward
        layer with noise.
    given : iterable of str, optional
        The parameters in use; by default every parametrisation of the model, of tokens the smallest and the
        largest one.
    seed : int
        Of the random points and samples.
    progress : callable, optional
        Called with one line of text before each comparison.

    Returns
    -------
    Table
        One row per witness; ``.passed`` says whether all hold. A model of which it is proved that it does not
        keep Gaussians has one row: its counterexample against quadrature of the definition.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    say = progress or _silent
    table: list[Row] = []
    closed: dict[str, None] = {}
    for one, choice in _chosen(model, given):
        rows, closes = _rows(one, choice, seed, say)
        table += rows
        if closes and attention_models().get(one.name) is type(one):
            closed[one.name] = None
    if closed:
        say(f"{', '.join(closed)}: 1 against 2 BLAS threads")
        table += equal_bits(list(closed))
    for one, choice in _systems(model, given):
        table += _token_rows(one, choice, seed, say)
    return Table(tuple(table))


Choice = tuple[AttentionModel, frozenset[str]]


def _chosen(model: AttentionModel | str | None, given: Iterable[str] | None) -> list[Choice]:
    if model is None:
        shipped = [choice for variant in attention_models().values() for choice in _forms(variant(), given)]
        return shipped + ([] if given is not None else _composed())
    return _forms(attention_model(model)() if isinstance(model, str) else model, given)


def _forms(model: AttentionModel, given: Iterable[str] | None) -> list[Choice]:
    choices = model.parametrisations() if given is None else (frozenset(given),)
    return [(model, choice) for choice in choices]


def _composed() -> list[Choice]:
    """Return one model for each way to compose models."""
    return [
        (MultiHead(Softmax()), frozenset({"A", "V", "W"})),
        (Masked(Linear(), sink=0.25), frozenset({"A", "V"})),
        (Softmax(feed_forward=True, diffusion=0.1), frozenset({"A", "V", "W", "c"})),
    ]


def _systems(model: AttentionModel | str | None, given: Iterable[str] | None) -> list[Choice]:
    """Return what is verified for tokens: shipped models in both spaces, a model of the caller in its own."""
    if isinstance(model, AttentionModel):
        models = [model]
    else:
        kinds = attention_models().values() if model is None else [attention_model(model)]
        models = [kind(space=space) for kind in kinds for space in ("euclidean", "sphere")]
        if model is None and given is None:
            models += [MultiHead(Softmax()), Masked(Softmax(space="sphere"), sink=0.25)]
    if given is not None:
        return [(one, frozenset(given)) for one in models]
    ends = [(one, sorted(one.parametrisations(), key=len)) for one in models]
    return [(one, choice) for one, choices in ends for choice in dict.fromkeys((choices[0], choices[-1]))]


def _token_rows(model: AttentionModel, given: frozenset[str], seed: int, say: Progress) -> list[Row]:
    """Return the rows of one model for tokens; none where it has no system of them."""
    say(f"{model.name}, tokens: derivation and kernels")
    try:
        system = System.of(model, given)
    except NoTokenFlow:
        return []
    rows = []
    for witness in applicable_to_tokens(system):
        say(f"{system.flow.name}: {witness.__name__.replace('_', ' ')}")
        rows.append(witness(system, seed))
    return rows


def _rows(model: AttentionModel, given: frozenset[str], seed: int, say: Progress) -> tuple[list[Row], bool]:
    """Return the rows of one model, and whether Gaussians stay Gaussian."""
    if model.space != "euclidean":
        return [], False  # no Gaussian lives there
    say(f"{model.name}: derivation and kernels")
    try:
        subject = Subject.of(model, given)
    except NotGaussianPreserving as error:
        return [_refuted(model, given, error.witness)], False
    except ClosureUndecided:
        return [], False
    rows = []
    for witness in applicable(subject):
        say(f"{subject.flow.name}: {witness.__name__.replace('_', ' ')}")
        rows.append(witness(subject, seed))
    return rows, True


def _refuted(model: AttentionModel, given: frozenset[str], witness: Witness) -> Row:
    """Return the row of a proof that Gaussians are not preserved: does quadrature find the same number?"""
    failure = ""
    try:
        witness.check()
    except CheckFailed as error:
        failure = str(error)
    return Row(
        model=model.name,
        parametrisation=label(model, given),
        quantity="Gaussians are not preserved",
        witness="quadrature of the definition",
        points=1,
        error=1.0 if failure else 0.0,
        tolerance=0.0,
        passed=not failure,
        worst=failure,
        note=str(witness),
    )


def _silent(_text: str) -> None:
    pass
