"""The Jinja environments of every document: one for HTML, one for LaTeX whose marks do not clash with TeX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def html_environment(package: str, **filters: Callable[..., Any]) -> Environment:
    """Return the environment of the HTML templates in ``package/templates``; text is escaped.

    Parameters
    ----------
    package : str
        Dotted name of the package.
    **filters : callable
        Filters by name.
    """
    return _environment(package, filters, autoescape=True)


def latex_environment(package: str, **filters: Callable[..., Any]) -> Environment:
    """Return the environment of the LaTeX templates in ``package/templates``; filters escape text.

    Blocks are written ``((* … *))``, values ``((( … )))``, comments ``((= … =))``.

    Parameters
    ----------
    package : str
        Dotted name of the package.
    **filters : callable
        Filters by name.
    """
    return _environment(
        package,
        filters,
        autoescape=False,
        block_start_string="((*",
        block_end_string="*))",
        variable_start_string="(((",
        variable_end_string=")))",
        comment_start_string="((=",
        comment_end_string="=))",
    )


def _environment(package: str, filters: dict[str, Callable[..., Any]], **syntax: Any) -> Environment:
    environment = Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **syntax,
    )
    environment.filters |= filters
    return environment
