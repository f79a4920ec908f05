"""Verification: every compiled kernel against independent witnesses.

Per model and parametrisation: the derived symbols at 50 digits, the NumPy printer of the same Program, a
derivation by components, quadrature of the definition, SciPy's integrators, and Monte Carlo; per shipped
model, equal bits for one and two BLAS threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from symflow.models.attention.model import AttentionModel
from symflow.models.registry import attention_model, attention_models
from symflow.verify.subject import Subject
from symflow.verify.table import COLUMNS, Row, Table
from symflow.verify.threads import equal_bits
from symflow.verify.witnesses import WITNESSES

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
        A model, or the name of a shipped one; by default every shipped model.
    given : iterable of str, optional
        The parameters in use; by default every parametrisation of the model.
    seed : int
        Of the random points and samples.
    progress : callable, optional
        Called with one line of text before each comparison.

    Returns
    -------
    Table
        One row per witness; ``.passed`` says whether all hold.

    Raises
    ------
    InputError
        If a name is unknown, or the model has no Gaussian closure.
    """
    models = _chosen(model)
    rows = []
    for one in models:
        choices = one.parametrisations() if given is None else (frozenset(given),)
        for choice in choices:
            rows += _rows(one, choice, seed, progress or _silent)
    shipped = [one.name for one in models if attention_models().get(one.name) is type(one)]
    if shipped:
        (progress or _silent)(f"{', '.join(shipped)}: 1 against 2 BLAS threads")
        rows += equal_bits(shipped)
    return Table(tuple(rows))


def _chosen(model: AttentionModel | str | None) -> list[AttentionModel]:
    if model is None:
        return [variant() for variant in attention_models().values()]
    return [attention_model(model)() if isinstance(model, str) else model]


def _rows(model: AttentionModel, given: frozenset[str], seed: int, progress: Progress) -> list[Row]:
    subject = Subject.of(model, given)
    rows = []
    for witness in WITNESSES:
        progress(f"{subject.flow.name}: {witness.__name__.replace('_', ' ')}")
        rows.append(witness(subject, seed))
    return rows


def _silent(_text: str) -> None:
    pass
