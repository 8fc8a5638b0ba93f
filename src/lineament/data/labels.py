"""Names of classes and columns: one spelling for each, and no control characters, which a terminal would follow."""

import re
from decimal import Decimal

LONGEST = 80
"""Characters of a name that are shown."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)  # other scripts' digits are words
_TRUTH = {"true": "True", "false": "False"}


def canonical(label: object) -> str:
    """One spelling for labels that mean the same class: `1`, `1.0` and `01` are 1, `true` and `TRUE` are True.

    Other words are kept as they are, without white space at their ends: `cat` and `Cat` may be two classes.
    """
    text = str(label).strip()
    if _NUMBER.fullmatch(text):
        number = Decimal(text).normalize()
        return f"{number + 0:f}" if abs(number.adjusted()) < 16 else str(number)
    return _TRUTH.get(text.lower(), text)


def is_number(text: str) -> bool:
    """Whether a text is a finite number, as files write them."""
    return bool(_NUMBER.fullmatch(text.strip()))


def printable(name: object) -> str:
    """A name on one short line: control characters, which a terminal would follow, are written as escapes."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(name))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
