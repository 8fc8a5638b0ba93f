"""Words and numbers in sentences."""

import unicodedata


def several(number: int, noun: str) -> str:
    """A count with its noun, in the singular for one: "1 row", "12 000 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}".replace(",", "\u202f")


def harmless(text: str) -> str:
    """What was typed or read, but for characters that would steer the terminal: spaces of any width may stay."""
    if text.isprintable():
        return text
    known = (c.isprintable() or c in "\n\t" or unicodedata.category(c) == "Zs" for c in text)
    return "".join(c if kept else "\N{REPLACEMENT CHARACTER}" for c, kept in zip(text, known, strict=True))
