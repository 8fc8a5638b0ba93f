"""Text for pages: LaTeX as MathML, plain docstrings as paragraphs, numbers as they are printed."""

import contextlib
import html
import inspect
import math
import re
import textwrap
import unicodedata
from xml.etree import ElementTree

from markupsafe import Markup, escape

_BIG = re.compile(r"\\[bB]igg?([lrm]?)(?![A-Za-z])\s*")
_POWER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?e[+-]?\d+(?!\w)")
_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|.", re.DOTALL)
_OPENS, _CLOSES = ("{", r"\left", r"\begin"), ("}", r"\right", r"\end")
_BRACKETS_OPEN, _BRACKETS_CLOSE = ("(", "[", r"\{"), (")", "]", r"\}")
_SPACES = (r"\quad", r"\qquad", r"\\")
# White space at either end of a piece, also as LaTeX writes it: the page sets its own between pieces.
_SPACING = re.compile(r"^(?:\s|\\[ ,;:!>]|~)+|(?:(?<!\\)\s|\\[ ,;:!>]|~)+$")
_CONNECTIVES = (r"\implies", r"\iff", r"\Rightarrow", r"\Longrightarrow", r"\Leftrightarrow")


def maths(latex: str, *, display: bool = False) -> Markup:
    """One formula as MathML. LaTeX that cannot be typeset is shown as it is written."""
    from latex2mathml.converter import convert_to_element

    try:
        element = convert_to_element(_stretched(latex))
    except Exception:  # the parser's errors have no common type
        return Markup("<code>{}</code>").format(latex.strip())
    for part in element.iter():
        # The converter writes entities as text and leaves the rest unescaped; the writer below escapes everything.
        part.text = html.unescape(part.text or "")
        # Browsers know no `mathvariant` but "normal": a letter of another kind is a character of its own.
        if part.get("mathvariant", "normal") != "normal" and len(part.text) == 1:
            part.text = _letter(part.text, part.attrib.pop("mathvariant"))
    if display:
        element.set("displaystyle", "true")
    return Markup(ElementTree.tostring(element, encoding="unicode"))


def _letter(plain: str, kind: str) -> str:
    """A letter or digit in double-struck, script, fraktur or bold, where Unicode has it; else as it is."""
    name = unicodedata.name(plain).removeprefix("LATIN ").replace("L LETTER", "L")  # SMALL L, CAPITAL L, DIGIT ONE
    for family in (f"MATHEMATICAL {kind.upper().replace('BOLD-', 'BOLD ')}", kind.upper()):
        with contextlib.suppress(KeyError):
            return unicodedata.lookup(f"{family} {name}")
    return plain


def statement(latex: str) -> Markup:
    r"""A statement as a line of formulas and words that can wrap.

    Browsers break no line inside a formula. So a statement is cut where a reader would: at `\text`, `\quad` and `\\`,
    after commas and before arrows, as long as they are not inside brackets or braces.
    """
    written = {
        "maths": lambda text: maths(text, display=True),
        "words": lambda text: Markup("<span>{}</span>").format(inline(text)),
        "gap": lambda text: Markup('<span class="gap"></span>'),
    }
    return Markup(" ").join(written[kind](text) for kind, text in cut(latex))


def inline(text: str) -> Markup:
    """A line of plain text: formulas between dollar signs, code between backticks, 1e-9 as a power of ten."""
    parts = re.split(r"(\$[^$]+\$|``[^`]+``|`[^`]+`)", " ".join(text.split()))
    return Markup("").join(
        maths(part.strip("$")) if part.startswith("$") and len(part) > 1
        else Markup("<code>{}</code>").format(part.strip("`")) if part.startswith("`") and len(part) > 1
        else _powers(part)
        for part in parts
    )  # fmt: skip


def blocks(text: str) -> Markup:
    """A docstring as paragraphs; lines that begin with a hyphen make a list."""
    paragraphs = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        block = textwrap.dedent(block)
        if block.startswith("- "):
            items = [Markup("<li>{}</li>").format(inline(item)) for item in re.split(r"(?:^|\n)- ", block)[1:]]
            paragraphs.append(Markup("<ul>{}</ul>").format(Markup("").join(items)))
        elif block.strip():
            paragraphs.append(Markup("<p>{}</p>").format(inline(block)))
    return Markup("\n").join(paragraphs)


def number(value: object) -> Markup:
    """A number with four digits, and powers of ten where they are shorter; anything else as its text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return escape(value)
    if isinstance(value, float) and not math.isfinite(value):
        return Markup("∞" if value > 0 else "−∞" if value < 0 else "not a number")
    text = str(value) if isinstance(value, int) else f"{value + 0.0:.4g}"
    return _power(text)


def duration(seconds: float) -> str:
    """A time as a reader says it."""
    if seconds < 0.01:
        return "< 0.01 s"
    if seconds < 99.5:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def cut(latex: str) -> list[tuple[str, str]]:
    """Cut a statement into formulas (`maths`), `words` and wider spaces (`gap`), at its outermost level."""
    tokens = _TOKEN.findall(latex)
    pieces = [("maths", "")]
    hard = soft = place = 0
    while place < len(tokens):
        token = tokens[place]
        hard = max(0, hard + (token in _OPENS) - (token in _CLOSES))
        soft = max(0, soft + (token in _BRACKETS_OPEN) - (token in _BRACKETS_CLOSE))
        words, after = _words(tokens, place)
        if words and not hard and not pieces[-1][1].rstrip().endswith(("_", "^")):
            pieces += [("words", words), ("maths", "")]
            place = after
        else:
            pieces[-1:] = _continued(pieces[-1][1], token, inside=bool(hard or soft))
            place += 1
    trimmed = [(kind, _SPACING.sub("", text)) for kind, text in pieces]
    return [(kind, text) for kind, text in trimmed if kind == "gap" or text]


def _continued(formula: str, token: str, inside: bool) -> list[tuple[str, str]]:
    """A formula with one more token: the pieces that it becomes where the token ends it."""
    if inside:
        return [("maths", formula + token)]
    if token in _SPACES:
        return [("maths", formula), ("gap", ""), ("maths", "")]
    if token in _CONNECTIVES:
        return [("maths", formula), ("maths", token + " ")]
    ends = token in (",", ";")
    return [("maths", formula + token), *([("maths", "")] if ends else [])]


def _power(text: str) -> Markup:
    """Python's way to write a float, `1.2e-09`, as a reader writes it."""
    digits, _, power = text.replace("-", "−").partition("e")
    if not power:
        return Markup(digits)
    ten = Markup("10<sup>{}</sup>").format(re.sub(r"^(−?)\+?0*(?=\d)", r"\1", power))
    return ten if digits == "1" else Markup("{}&nbsp;×&nbsp;{}").format(digits, ten)


def _powers(text: str) -> Markup:
    return Markup(_POWER.sub(lambda match: _power(match[0]), str(escape(text))))


def _stretched(latex: str) -> str:
    r"""Brackets of a size set by hand (`\bigl(`) made to stretch: the converter knows few of them by name."""
    sides = [match[1] for match in _BIG.finditer(latex)]
    matched = sides.count("l") == sides.count("r")
    return _BIG.sub(lambda match: {"l": r"\left", "r": r"\right"}.get(match[1], "") if matched else "", latex)


def _words(tokens: list[str], place: int) -> tuple[str, int]:
    r"""The words of a `\text{…}` and the place after it; none where an index hangs on it."""
    if tokens[place : place + 2] != [r"\text", "{"]:
        return "", place
    depth, end = 1, place + 2
    while end < len(tokens) and depth:
        depth += (tokens[end] == "{") - (tokens[end] == "}")
        end += 1
    hangs = end < len(tokens) and tokens[end] in ("_", "^")
    return ("", place) if hangs else ("".join(tokens[place + 2 : end - 1]), end)
