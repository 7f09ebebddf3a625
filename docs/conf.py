"""Sphinx configuration; the pages of the collectives are written from the registry."""

import inspect
from pathlib import Path

from collectives.registry import COLLECTIVES, algorithms

project = "collectives"
author = "The collectives developers"
copyright = "2026, The collectives developers"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
]
exclude_patterns = ["build"]
html_theme = "pydata_sphinx_theme"
html_title = "collectives"
html_theme_options = {"navigation_with_keys": False, "show_toc_level": 2}
html_show_sourcelink = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
myst_heading_anchors = 3

HERE = Path(__file__).parent


def page(collective):
    """Return the page of one collective: its meaning, the comparison, every algorithm."""
    entries = list(algorithms(collective))
    package = inspect.getmodule(inspect.unwrap(entries[0].function)).__name__.rpartition(".")[0]
    names = "\n\n".join(f".. autofunction:: {package}.{entry.name}.{entry.function.__name__}"
                        for entry in entries)  # fmt: skip
    return f"{collective}\n{'=' * len(collective)}\n\n.. automodule:: {package}\n\n{names}\n"


def write_pages(_app):
    """Write a page per collective, touching only what has changed."""
    folder = HERE / "collectives"
    folder.mkdir(exist_ok=True)
    for collective in COLLECTIVES:
        file, text = folder / f"{collective}.rst", page(collective)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def setup(app):
    """Hook the generated pages in."""
    app.connect("builder-inited", write_pages)
