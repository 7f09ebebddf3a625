"""Sphinx configuration; the pages of the collectives are written from the registry."""

import inspect
import sys
from pathlib import Path

from collectives.registry import COLLECTIVES, algorithms

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for the modules beside this file
from gallery_scripts import write, write_scripts  # noqa: E402
from lesson_pages import write_lessons  # noqa: E402

project = "collectives"
author = "The collectives developers"
copyright = "2026, The collectives developers"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["build", "gallery"]
html_theme = "pydata_sphinx_theme"
html_title = "collectives"
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 4,
}
html_show_sourcelink = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
myst_heading_anchors = 3
html_static_path = ["_static"]
html_css_files = ["gallery.css"]
html_sidebars = {"pictures/**": []}  # room for pictures

# The scripts in gallery/ are run, and their pages written to pictures/; so are the lessons, for the
# pages in lessons/. Runs are short, so that all pictures are drawn again in every build;
# `-D plot_gallery=0` builds the other pages only.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "pictures",
    "filename_pattern": r"\.py$",
    "run_stale_examples": True,
    "within_subsection_order": "gallery_pictures.InOrder",
    "image_scrapers": ("gallery_pictures.scrape",),
    "reset_modules": ("gallery_pictures.remember",),
    "capture_repr": (),
    "remove_config_comments": True,
    "notebook_extensions": set(),
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "parallel": True,  # as many as `-j` says
}


def page(collective):
    """Return the page of one collective: its meaning, the comparison, every algorithm."""
    entries = list(algorithms(collective))
    package = inspect.getmodule(inspect.unwrap(entries[0].function)).__name__.rpartition(".")[0]
    names = "\n\n".join(f".. autofunction:: {package}.{entry.name}.{entry.function.__name__}"
                        for entry in entries)  # fmt: skip
    pictures = f":doc:`Pictures of every algorithm </pictures/collectives/{collective}>`"
    title = f"{collective}\n{'=' * len(collective)}"
    return f"{title}\n\n.. automodule:: {package}\n\n{pictures}\n\n{names}\n"


def write_pages(app):
    """Write pages of lessons and a page and a script per collective, touching what has changed."""
    write_lessons(HERE / "lessons", again=app.config.sphinx_gallery_conf["plot_gallery"])
    write_scripts(HERE / "gallery" / "collectives")
    folder = HERE / "collectives"
    folder.mkdir(exist_ok=True)
    for collective in COLLECTIVES:
        write(folder / f"{collective}.rst", page(collective))


def setup(app):
    """Hook the generated pages in."""
    app.connect("builder-inited", write_pages, priority=100)  # before sphinx-gallery looks
