"""Every claim that can be checked: one folder per paper, one module per theme.

A module of such a folder lists its claims in ``CLAIMS``; the folders are scanned.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from symflow.certify.certificate import read_file
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline, wrong_arguments
from symflow.claims.table import ClaimRow, render_claims, rows
from symflow.errors import InputError, Undecided

__all__ = ["Claim", "ClaimRow", "check", "claim", "claims", "claims_table", "read_verdict", "render_claims"]


@functools.cache
def claims() -> dict[str, Claim]:
    """Return every claim by id, generic ones first.

    Examples
    --------
    >>> "CACP25/gaussian-softmax" in claims()
    True
    """
    found: dict[str, Claim] = {}
    for folder in pkgutil.iter_modules(__path__, __name__ + "."):
        if not folder.ispkg:
            continue
        package = importlib.import_module(folder.name)
        for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            for entry in getattr(importlib.import_module(info.name), "CLAIMS", ()):
                found[entry.id] = entry
    return dict(sorted(found.items(), key=lambda item: ("/" in item[0], item[0])))


def claim(name: str) -> Claim:
    """Return the claim with the id ``name``.

    Raises
    ------
    InputError
        If there is none; the message lists near matches.
    """
    if not isinstance(name, str):
        raise InputError(f"a claim is named by its id, e.g. 'CACP25/gaussian-softmax', got {name!r}")
    if name not in claims():
        near = difflib.get_close_matches(name, claims(), n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known claims are {', '.join(claims())}"
        raise InputError(f"claim {name!r} is unknown; {hint}")
    return claims()[name]


def check(name: str, *args: Any, max_wall_time: float | None = None, **options: Any) -> Verdict:
    """Decide a claim.

    Parameters
    ----------
    name : str
        Id of the claim, for example ``"gaussian-preservation"`` or ``"CACP25/gaussian-softmax"``.
    *args
        What the claim is about: a generic claim takes a model (or a derivation), and optionally the names of
        the parameters in use.
    max_wall_time : float, optional
        Seconds after which the search gives up with an undecided verdict. The limit is consulted between the
        stages of the search.
    **options
        Further details of a generic claim, by the names in its ``options``.

    Returns
    -------
    Verdict
        A proof is replayed before it is returned.

    Raises
    ------
    InputError
        If the claim is unknown or its arguments do not fit.

    Examples
    --------
    >>> from symflow.models.attention.softmax import Softmax
    >>> verdict = check("gaussian-preservation", Softmax())
    >>> verdict.status, bool(verdict)
    ('proved', True)
    """
    entry = claim(name)
    required = [argument for argument in entry.arguments if not argument.endswith("?")]
    if not len(required) <= len(args) <= len(entry.arguments):
        raise wrong_arguments(entry, args)
    for option in options:
        if option not in entry.options:
            known = ", ".join(entry.options) or "none"
            raise InputError(f"claim {entry.id!r} has no option {option!r}; it takes: {known}")
    try:
        return entry.decide(*args, deadline=Deadline(max_wall_time), **options)
    except Undecided as stopped:
        return Verdict(entry.id, "undecided", method=entry.method, reason=str(stopped))


def read_verdict(path: str | Path) -> Verdict:
    """Read a verdict from a file, with the experiment that repeats its measurement if it has one.

    Raises
    ------
    CertificateError
        If the file cannot be read or does not follow the schema, or a measurement comes without the proof of
        what it is compared with.
    InputError
        If its measurement is for a claim that nothing is measured for.
    """
    verdict = Verdict.from_record(read_file(path))
    if verdict.measurement is None:
        return verdict
    experiment = claim(verdict.claim).experiment
    if experiment is None:
        raise InputError(f"{str(path)!r} holds a measurement for {verdict.claim}, which is not measured")
    experiment.require_proof(verdict)
    return replace(verdict, rerun=experiment.repeat)


def claims_table() -> tuple[ClaimRow, ...]:
    """Return one row for each claim: as usually quoted, what holds, witness, replay command."""
    return rows(claims().values())
