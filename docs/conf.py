"""Sphinx configuration."""

import functools
import gc
import shutil
import sys
from pathlib import Path

from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer
from sphinx.search.en import SearchEnglish

import lineament
from lineament.claims.papers import PAPERS
from lineament.execution.worker import compile_quickly, lower_in_one_context
from lineament.report import explorer

here = Path(__file__).parent
sys.path.insert(0, str(here / "extensions"))
import pages  # noqa: E402

project = "lineament"
author = "The lineament developers"
copyright = "2026, The lineament developers"
release = version = lineament.__version__

# The bibliography is the one the package cites by.
(here / "_build").mkdir(exist_ok=True)
references = "\n\n".join(paper.bibtex for paper in PAPERS.values()) + "\n"
(here / "_build" / "references.bib").write_text(references)

# Reference, command line, claims, errata and speed are written from the code and what it measured.
pages.write(here)

# The explorer is one page, written beside the static files.
(here / "_build" / "static").mkdir(exist_ok=True)
explorer.write(here / "_build" / "static" / explorer.NAME)

# The atlas of the last `make atlas` goes into the site, without the evidence that it was drawn from.
extra = here / "_build" / "extra"
shutil.rmtree(extra, ignore_errors=True)
extra.mkdir()
atlas = here.parent / "atlas"
if (atlas / "index.html").exists():
    shutil.copytree(atlas, extra / "atlas", ignore=shutil.ignore_patterns("evidence"))
    tags.add("atlas")  # noqa: F821 - Sphinx puts `tags` into this file

extensions = [
    "mathml",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "lessons",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
bibtex_bibfiles = ["_build/references.bib"]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "extensions"]
suppress_warnings = ["config.cache"]

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "undoc-members": False}

compile_quickly()  # scripts of the galleries compile far more than they compute
lower_in_one_context()
gc.freeze()  # after each script all of the heap is looked through for cycles: not once more what was imported before
sphinx_gallery_conf = {
    "examples_dirs": ["../course", "../examples"],
    "gallery_dirs": ["course", "gallery"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "lessons.Order",
    "first_notebook_cell": (here / "first_cell.txt").read_text(),
    "abort_on_example_error": True,
    "show_memory": False,
    "capture_repr": (),
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


def examples(app, what, name, obj, options, lines):
    """In our docstrings code is fenced, as in Markdown: Sphinx reads it as a block."""
    written, inside = [], False
    for line in lines:
        if line.strip().startswith("```"):
            inside = not inside
            written += [".. code-block:: python", ""] if inside else [""]
        else:
            written.append(f"    {line}" if inside else line)
    lines[:] = written


def of_the_package(name):
    """The analyser of a module of ours; comments in the modules that ours inherit from are not looked for."""
    if not f"{name}.".startswith("lineament."):
        raise PycodeError(f"{name} is not documented here")
    return analyser(name)


# Two in five of the modules that would be parsed are others'. Most words of a page are on other pages too.
analyser, ModuleAnalyzer.for_module = ModuleAnalyzer.for_module, of_the_package
SearchEnglish.stem = functools.cache(SearchEnglish.stem)


def fields_of_tuples(app, what, name, obj, skip, options):
    """The fields of a named tuple are told in its docstring; their own say only "Alias for field number 0"."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app):
    """Hook into autodoc."""
    app.connect("autodoc-process-docstring", examples)
    app.connect("autodoc-process-docstring", absolute_values)
    app.connect("autodoc-skip-member", fields_of_tuples)


html_theme = "pydata_sphinx_theme"
html_static_path = ["_static", "_build/static"]
html_extra_path = ["_build/extra"]
html_css_files = ["site.css"]
html_title = "lineament"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": True, "secondary_sidebar_items": ["page-toc"]}
html_sidebars = {"index": []}
