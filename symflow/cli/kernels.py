"""Commands about compiled kernels and the installation: ``build``, ``cache``, ``config``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from symflow.cli._output import console, json_option, print_json, progress, table
from symflow.cli._target import resolve

if TYPE_CHECKING:
    from symflow.models.attention.model import AttentionModel


@click.command()
@click.argument("models", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every shipped model that closes.")
@json_option
def build(models: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Have compiled kernels ready for MODELS.

    A kernel that came with the package or lies in the cache is loaded, any other is built and cached.
    """
    import time

    from symflow.codegen.kernel import compile as compile_kernel

    if bool(models) == everything:
        raise click.UsageError("Give models, or --all for every shipped one.")
    wanted = _shipped() if everything else [(t.model, t.given) for t in map(resolve, models)]
    ready = []
    for model, given in wanted:
        with progress(f"building {model.name}"):
            start = time.perf_counter()
            kernel = compile_kernel(model, "compiled", given)
            seconds = time.perf_counter() - start
        described = kernel.interface()
        names = [slot.name for slot in described.parameters]
        ready.append((described.name, names, seconds))
    if as_json:
        print_json(
            {"kernels": [dict(zip(("kernel", "parameters", "seconds"), row, strict=True)) for row in ready]}
        )
        return
    rows = table("kernel", "parameters", "seconds")
    for name, names, seconds in ready:
        rows.add_row(name, ", ".join(names), f"{seconds:.2f}")
    console().print(rows)


def _shipped() -> list[tuple[AttentionModel, frozenset[str] | None]]:
    """Return every shipped variant that keeps Gaussians Gaussian, in every parametrisation."""
    from symflow.derive.outcome import CLOSED, closure_status
    from symflow.models.registry import attention_models

    models = [model() for model in attention_models().values()]
    forms = [(model, names) for model in models for names in model.parametrisations()]
    return [(model, names) for model, names in forms if closure_status(model, names) == CLOSED]


@click.group()
def cache() -> None:
    """Show or clear the cache of compiled kernels."""


@cache.command()
@json_option
def info(as_json: bool) -> None:
    """Show where the cache is and what it holds."""
    from symflow.codegen.cache import cache_info

    found = cache_info()
    if as_json:
        print_json(found)
        return
    out = console()
    out.print(f"{found['path']}: {found['entries']} kernels, {_size(found['bytes'])}", markup=False)
    if found["kernels"]:
        rows = table("kernel", "key", "size")
        for kernel in found["kernels"]:
            rows.add_row(kernel["name"], kernel["key"][:16], _size(kernel["bytes"]))
        out.print(rows)


@cache.command()
@json_option
def clear(as_json: bool) -> None:
    """Delete every cached kernel."""
    from symflow.codegen.cache import clear_cache

    removed = clear_cache()
    if as_json:
        print_json(removed)
    else:
        freed = f"removed {removed['entries']} kernels, {_size(removed['bytes'])}"
        console().print(f"{removed['path']}: {freed}", markup=False)


def _size(count: float) -> str:
    """Return a number of bytes for people.

    >>> _size(81920)
    '80.0 KiB'
    """
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


@click.command()
@json_option
def config(as_json: bool) -> None:
    """Show versions, compiler, compiled parts and folders."""
    from symflow.config import show_config

    found = show_config()
    if as_json:
        print_json(found)
        return
    rows = table("what", "is")
    rows.show_header = False
    for key, value in found.items():
        if isinstance(value, dict):
            for name, version in value.items():
                rows.add_row(name, version)
        elif value is not None:
            rows.add_row(key, " ".join(value) if isinstance(value, list) else str(value))
    console().print(rows)
