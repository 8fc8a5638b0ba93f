"""Numbers in sentences."""


def several(number: int, noun: str) -> str:
    """A count with its noun, in the singular for one: "1 row", "12 000 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}".replace(",", "\u202f")
