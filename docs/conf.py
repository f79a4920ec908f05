"""Sphinx configuration: built offline, warnings are errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sphinx_gallery.sorting import FileNameSortKey

import symflow

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from gallery_figures import new_figures  # noqa: E402  (found through the line above)

project = "symflow"
author = "the symflow developers"
copyright = "2026, the symflow developers"
version = release = symflow.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "generated_pages",
    "mathml",
]
exclude_patterns = ["_build", "_ext", "experiments", "gallery/**/*.ipynb"]
html_theme = "furo"
html_math_renderer = "mathml"
html_title = "symflow"
html_static_path = ["_static"]
myst_enable_extensions = ["dollarmath", "deflist"]
suppress_warnings = ["config.cache"]  # the gallery's settings are not all picklable

autodoc_typehints = "none"  # the NumPy-style docstrings say more
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": ["../derivations", "experiments"],
    "gallery_dirs": ["gallery/derivations", "gallery/experiments"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"(__init__|conftest|measure|heads)\.py",
    "image_scrapers": (new_figures,),
    "within_subsection_order": FileNameSortKey,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10,
}
