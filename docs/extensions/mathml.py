"""Mathematics as MathML, written when the pages are built: a page opened from disk asks the network for nothing."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from lineament.report import prose

logger = logging.getLogger(__name__)
_LINES = re.compile(r"\\(begin|end)\{(?:aligned|alignedat|gathered)\}")
_UNKNOWN = re.compile(r">[^<]*\\[A-Za-z]+")


def typeset(latex: str, *, display: bool) -> str:
    """A formula as MathML; one that cannot be typeset raises an error, so that no page is published with raw LaTeX."""
    # The converter knows `align*` and `split`, not the forms for use inside another formula.
    written = str(prose.maths(_LINES.sub(r"\\\1{split}", latex), display=display))
    if not written.startswith("<math") or _UNKNOWN.search(written):
        raise ValueError(f"a formula must be LaTeX that latex2mathml reads; got {latex!r}")
    return written


def _written(node: nodes.Node, *, display: bool) -> str:
    try:
        return typeset(node.astext(), display=display)
    except ValueError as error:
        logger.warning("%s", error, location=node)
        return ""


def inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(translator.starttag(node, "span", "", CLASS="math"))
    translator.body.append(_written(node, display=False) + "</span>")
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula of its own line, which scrolls where it is wider than the page."""
    translator.body.append(translator.starttag(node, "div", "", CLASS="math", tabindex="0"))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({node["number"]})</span>')
        translator.add_permalink_ref(node, "Link to this equation")
    translator.body.append(_written(node, display=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer to Sphinx as `html_math_renderer = "mathml"`."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
