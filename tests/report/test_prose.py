"""Statements are typeset, cut where a line may break, and never let markup through."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.claims import all_claims
from lineament.report import prose

TYPICAL = [
    r"\dot\sigma_i=\sigma_i^{2-2/N}(\sigma_i^*-\sigma_i)",
    r"\bigl\|W_{j+1}^\top W_{j+1}-W_jW_j^\top\bigr\|_F\le\varepsilon",
    r"\Bigl(\frac{r-1}{r-s}\Bigr)^{N/(N-2)}",
    r"\left\langle -\nabla\ell(W), u_rv_r^\top\right\rangle",
    r"\begin{cases}a, & n=2\\ b, & n\ge 3\end{cases}",
    r"\operatorname*{arg\,min}_W \tfrac12\lVert W\rVert_*",
    r"\mathbb{R}^{d\times d},\ \mathcal{O}(\eta^2),\ \widehat{\beta}\ll\infty",
]


def parse(markup: str) -> ElementTree.Element:
    root = ElementTree.fromstring(markup)
    for part in root.iter():
        part.tag = part.tag.rpartition("}")[2]
    return root


def words_in(markup: str) -> str:
    return "".join(ElementTree.fromstring(f"<p>{markup}</p>".replace("&nbsp;", " ")).itertext())


@pytest.mark.parametrize("latex", TYPICAL)
def test_typical_formulas_are_fully_typeset(latex):
    text = prose.maths(latex)
    ElementTree.fromstring(text)
    assert text.startswith("<math")
    assert "\\" not in words_in(text)


def test_a_formula_keeps_its_parts():
    root = parse(prose.maths(r"\frac{a}{b}<\sqrt{c}", display=True))
    assert root.get("displaystyle") == "true"
    assert [part.tag for part in root.iter() if part.tag in ("mfrac", "msqrt")] == ["mfrac", "msqrt"]
    assert "".join(root.itertext()) == "ab<c"


def test_brackets_sized_by_hand_stretch_and_lone_ones_do_not_break():
    pair = parse(prose.maths(r"\Bigl\{x\Bigr\}"))
    assert [part.get("stretchy") for part in pair.iter("mo")] == ["true", "true"]
    assert words_in(prose.maths(r"x\Bigr|_{t=0}")) == "x|t=0"


@pytest.mark.parametrize("latex", [r"\frac", r"x_", r"\left("])
def test_what_cannot_be_typeset_is_shown_as_written(latex):
    assert prose.maths(latex) == f"<code>{latex}</code>"


@given(st.text(alphabet="<>&\"'abx$`\\{}_^ 1e-", max_size=25))
def test_no_text_breaks_out_of_its_markup(text):
    for made in (prose.inline(text), prose.blocks(text), prose.statement(text), prose.number(text)):
        ElementTree.fromstring(f"<p>{made}</p>".replace("&nbsp;", " "))
    assert "<script" not in prose.statement(rf"\text{{<script>{text}}}")


@pytest.mark.parametrize(
    ("latex", "pieces"),
    [
        (r"a=b", [("maths", "a=b")]),
        (r"\text{for } t\ge 0", [("words", "for"), ("maths", r"t\ge 0")]),
        (r"a\quad b\\c", [("maths", "a"), ("gap", ""), ("maths", "b"), ("gap", ""), ("maths", "c")]),
        (r"f(x,y), g", [("maths", "f(x,y),"), ("maths", "g")]),
        (r"\left(a,b\right],c", [("maths", r"\left(a,b\right],"), ("maths", "c")]),
        (r"a\implies b", [("maths", "a"), ("maths", r"\implies  b")]),
        (r"x_{\text{max}}+y_\text{min}", [("maths", r"x_{\text{max}}+y_\text{min}")]),
        (r"\text{rank}_F", [("maths", r"\text{rank}_F")]),
        (r"\begin{cases}a, & b\\c\end{cases}", [("maths", r"\begin{cases}a, & b\\c\end{cases}")]),
        (r"a,\ b\ \implies\;c", [("maths", "a,"), ("maths", "b"), ("maths", r"\implies \;c")]),
        (r"\ \; ", []),
        (r"\{a,b\},c", [("maths", r"\{a,b\},"), ("maths", "c")]),
    ],
)
def test_a_statement_is_cut_where_a_reader_would(latex, pieces):
    cut = prose.cut(latex)
    assert [(kind, text.replace("  ", " ")) for kind, text in cut] == [(k, t.replace("  ", " ")) for k, t in pieces]


@given(st.lists(st.sampled_from(["a", ",", r"\quad ", r"\text{if }", "(", ")", "{", "}", r"\iff "]), max_size=12))
def test_cutting_loses_nothing(tokens):
    def bare(latex):
        return re.sub(r"\\quad|\\text\{|[{}\s]", "", latex)

    latex = "".join(tokens)
    assert bare("".join(text for _, text in prose.cut(latex))) == bare(latex)


def test_every_registered_statement_is_fully_typeset():
    for claim in all_claims().values():
        made = prose.statement(claim.statement)
        assert "\\" not in words_in(made), f"{claim.id}: {words_in(made)}"
        assert "<code>" not in made, claim.id


def test_docstrings_become_paragraphs_and_lists():
    made = prose.blocks("""First line
        goes on.

        - one `code <x>`
          and more
        - two $a<b$

        Last, to 1.5e-12.
    """)
    assert re.sub(r"<math.*?</math>", "MATHS", made) == (
        "<p>First line goes on.</p>\n<ul><li>one <code>code &lt;x&gt;</code> and more</li><li>two MATHS</li></ul>\n"
        "<p>Last, to 1.5&nbsp;×&nbsp;10<sup>−12</sup>.</p>"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3, "3"),
        (0.5, "0.5"),
        (-0.25, "−0.25"),
        (-0.0, "0"),
        (123456789, "123456789"),
        (1e-9, "10<sup>−9</sup>"),
        (-2.5e-10, "−2.5&nbsp;×&nbsp;10<sup>−10</sup>"),
        (1.23456e12, "1.235&nbsp;×&nbsp;10<sup>12</sup>"),
        (1e100, "10<sup>100</sup>"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
        (float("nan"), "not a number"),
        (True, "True"),
        ("<x>", "&lt;x&gt;"),
    ],
)
def test_numbers(value, shown):
    assert prose.number(value) == shown


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.001, "< 0.01 s"), (0.014, "0.014 s"), (2.34, "2.3 s"), (9.96, "10 s"), (99.4, "99 s"), (99.6, "2 min"),
     (3600, "60 min"), (9000, "2 h 30 min")],
)  # fmt: skip
def test_durations(seconds, said):
    assert prose.duration(seconds) == said
