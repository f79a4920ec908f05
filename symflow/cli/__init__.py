"""The command line: one module per group of commands, nothing heavy imported before a command runs.

Every command prints for people by default and, with ``--json``, exactly one JSON object on standard output;
messages, warnings and progress go to standard error. Exit codes: 0 success, 1 a check that failed or stayed
undecided, 2 bad input.
"""

from __future__ import annotations

import click

from symflow import __version__
from symflow.cli import bench, claims, exponents, kernels, longtime, models, report, simulate, sweep
from symflow.cli._group import SymflowGroup

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(cls=SymflowGroup, context_settings=_CONTEXT)
@click.version_option(__version__, message="symflow %(version)s")
def main() -> None:
    """Attention kernels in one line of mathematics: equations derived, claims decided, simulators compiled.

    MODEL is the name of a shipped model (see "symflow list") or the path of a spec file.
    """


for _command in (
    models.list_models,
    claims.list_claims,
    models.derive,
    claims.check,
    claims.replay,
    simulate.simulate,
    sweep.sweep,
    longtime.long_time,
    exponents.exponents,
    kernels.build,
    kernels.cache,
    kernels.config,
    models.cite,
    report.verify,
    report.report,
    bench.bench,
):
    main.add_command(_command)
