"""Sphinx configuration."""

import sys
from pathlib import Path

import lineament
from lineament.claims.papers import PAPERS
from lineament.report import explorer

here = Path(__file__).parent
sys.path.insert(0, str(here / "extensions"))
project = "lineament"
author = "The lineament developers"
copyright = "2026, The lineament developers"
release = version = lineament.__version__

# The bibliography is the one the package cites by.
(here / "_build").mkdir(exist_ok=True)
references = "\n\n".join(paper.bibtex for paper in PAPERS.values()) + "\n"
(here / "_build" / "references.bib").write_text(references)

# The explorer is one page, written beside the static files.
(here / "_build" / "static").mkdir(exist_ok=True)
explorer.write(here / "_build" / "static" / explorer.NAME)

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "lessons",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
bibtex_bibfiles = ["_build/references.bib"]
exclude_patterns = ["_build", "extensions"]
suppress_warnings = ["config.cache"]

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "undoc-members": False}

sphinx_gallery_conf = {
    "examples_dirs": ["../course", "../examples"],
    "gallery_dirs": ["course", "gallery"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "lessons.Order",
    "first_notebook_cell": (here / "first_cell.txt").read_text(),
    "abort_on_example_error": True,
    "show_memory": False,
    "download_all_examples": False,
    "plot_gallery": "True",
}

napoleon_use_ivar = True


def absolute_values(app, what, name, obj, options, lines):
    """In our docstrings a bar is an absolute value, never a substitution."""
    for i, line in enumerate(lines):
        parts = line.split("`")
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        lines[i] = "`".join(parts)


def setup(app):
    """Hook into autodoc."""
    app.connect("autodoc-process-docstring", absolute_values)


html_theme = "pydata_sphinx_theme"
html_static_path = ["_static", "_build/static"]
html_title = "lineament"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": True, "secondary_sidebar_items": ["page-toc"]}
html_sidebars = {"index": []}
