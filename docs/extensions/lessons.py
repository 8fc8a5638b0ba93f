"""What the course needs of Sphinx: solutions that open on a click, links to presets and claims, and plain notebooks."""

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx_gallery.notebook import rst2md
from sphinx_gallery.sorting import NumberOfCodeLinesSortKey
from sphinx_gallery.typing import PathLikeStr

from lineament.claims import all_claims
from lineament.report import explorer

SOLUTIONS = Path(__file__).parents[2] / "course" / "solutions"
GALLERY = "course"
SOLUTION = re.compile(r"^\.\. solution:: (\S+)$", re.MULTILINE)


class Order(NumberOfCodeLinesSortKey):
    """Lessons by their number, the examples of any other gallery from short to long."""

    def __call__(self, filename: PathLikeStr) -> int:
        """A number to sort by."""
        lesson = re.match(r"plot_(\d+)_", str(filename))
        return int(lesson[1]) if lesson else super().__call__(filename)


def parts(name: str) -> tuple[str, str]:
    """A solution's text, which is the docstring of a function such as `lesson_01.exercise_1`, and its code without it."""
    module, exercise = name.split(".")
    source = (SOLUTIONS / f"{module}.py").read_text(encoding="utf-8")
    functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    solved = functions[exercise]
    said, lines = solved.body[0], source.splitlines()
    code = lines[solved.lineno - 1 : said.lineno - 1] + lines[said.end_lineno : solved.end_lineno]
    return ast.get_docstring(solved) or "", "\n".join(code)


class Solution(SphinxDirective):
    """`.. solution:: lesson_01.exercise_1` shows text and code of a solution, closed until it is clicked."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Text and code between the two ends of a details element."""
        (name,) = self.arguments
        self.env.note_dependency(str(SOLUTIONS / f"{name.split('.')[0]}.py"))
        text, code = parts(name)
        inside = nodes.container(classes=["solution"])
        self.state.nested_parse(StringList(text.splitlines(), source=name), self.content_offset, inside)
        return [
            nodes.raw("", "<details class='solution'><summary>Solution</summary>", format="html"),
            inside,
            nodes.literal_block(code, code, language="python"),
            nodes.raw("", "</details>", format="html"),
        ]


class Preset(SphinxRole):
    """A preset of the explorer, such as :preset:`gissin-f2`, as a link to the page of this site that shows it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """A link, or an error that names the preset."""
        if self.text not in explorer.presets():
            return [], [self.inliner.reporter.error(f"no preset {self.text!r}", line=self.lineno)]
        return [_link(self, f"_static/{explorer.NAME}#{self.text}", explorer.presets()[self.text].title)], []


class ClaimRole(SphinxRole):
    """A claim, such as :claim:`cohen-t1`, as a link to its page where the site has one."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """A link, or an error that names the claim."""
        if self.text not in all_claims():
            return [], [self.inliner.reporter.error(f"no claim {self.text!r}", line=self.lineno)]
        label = nodes.literal(self.text, self.text)
        pages = self.config.claim_pages
        return [_link(self, f"{pages}/{self.text}.html", "", label) if pages else label], []


def _link(role: SphinxRole, address: str, text: str, *inside: nodes.Node) -> nodes.reference:
    root = "../" * role.env.docname.count("/")
    return nodes.reference("", text, *inside, refuri=root + address, internal=False)


def notebooks(app: Sphinx) -> None:
    """Write solutions and links of the lessons' notebooks out: directives and roles say nothing outside of Sphinx."""
    for path in sorted((Path(app.srcdir) / GALLERY).glob("plot_*.ipynb")):
        book = json.loads(path.read_text(encoding="utf-8"))
        for cell in book["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = [plain("".join(cell["source"]), _markdown)]
        path.write_text(json.dumps(book, indent=1) + "\n", encoding="utf-8")


def plain(text: str, markdown: Callable[[str], str]) -> str:
    """The text of a cell as a notebook shows it."""
    text = SOLUTION.sub(lambda match: _details(*parts(match[1]), markdown), text)
    text = re.sub(r":preset:`([^`]+)`", r"`lineament explore --preset \1`", text)
    text = re.sub(r":claim:`([^`]+)`", r"`lineament reproduce \1`", text)
    return re.sub(r":doc:`([^`<]+?)(?: <[^`]*>)?`", r"\1", text)


def _details(text: str, code: str, markdown: Callable[[str], str]) -> str:
    return f"<details><summary>Solution</summary>\n\n{markdown(text)}\n\n```python\n{code.strip()}\n```\n\n</details>"


def _markdown(text: str) -> str:
    return rst2md(text, {"notebook_images": False}, ".", {})


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive and the roles; rewrite notebooks once the gallery has written them."""
    app.add_config_value("claim_pages", "atlas" if app.tags.has("atlas") else "", "env")  # where the site has them
    app.add_directive("solution", Solution)
    app.add_role("preset", Preset())
    app.add_role("claim", ClaimRole())
    app.add_css_file("course.css")
    app.connect("builder-inited", notebooks, priority=900)
    return {"parallel_read_safe": True}
