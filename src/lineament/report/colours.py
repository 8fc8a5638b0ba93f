"""Which colour each group of a figure has: one meaning a colour, and an even ramp for what is ordered."""

import re
from collections.abc import Sequence

import numpy as np

from lineament.evidence.figure import Mark, Panel

from . import style
from .style import Theme

Key = tuple[int, int]
"""A group, and which of its meanings: panels may use one number for different things."""
MOST_NUMBERS = 2  # in a name that is ordered
LEAST = 3  # names that differ by a number make a ramp from here on; two are told apart best by the palette
NUMBER = re.compile(r"(?<!\w)(?:10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|\d+(?:\.\d+)?(?:e[-+]?\d+)?|∞)|[₀-₉]+")
"""A number, or an index; the figure of a name such as "W1" or "β1" is neither."""
PLAIN = str.maketrans("₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "01234567890123456789-")


def colours_of(panels: Sequence[Panel], theme: Theme) -> list[dict[int, str]]:
    """The colour of each group, panel by panel.

    A group has the same colour in all panels, unless its names there are of different kinds ("depth 2", "p = 4"). Groups
    whose names differ by a number alone have colours that follow each other; others those of the palette, or an even
    ramp if they are more than the palette has.
    """
    keys, names = _meanings(panels)
    ramp = _ordered(names)
    if len(names) - len(ramp) > len(theme.palette):  # as where panels count up by numbers of their own
        ramp = _largest_family(names)
    if len(names) - len(ramp) > len(theme.palette):  # too many to give each its own: the numbers of the groups decide
        keys = [{group: (group, 0) for group in panel} for panel in keys]
        names = {(group, 0): [] for group in sorted({group for group, _ in names})}
        ramp = []
    chosen = _palette([key for key in names if key not in ramp], theme)
    chosen |= dict(zip(ramp, _ramp(len(ramp), theme), strict=True))
    return [{group: chosen[key] for group, key in panel.items()} for panel in keys]


def _meanings(panels: Sequence[Panel]) -> tuple[list[dict[int, Key]], dict[Key, list[str]]]:
    """For each panel what each group means, and the names that each meaning has."""
    known: dict[int, list[set[str]]] = {}
    names: dict[Key, list[str]] = {}
    keys: list[dict[int, Key]] = []
    for panel in panels:
        keys.append({})
        for group in sorted({mark.group for mark in panel.marks}):
            here = [mark.label for mark in panel.marks if mark.group == group and _tells(mark)]
            kinds, meanings = {NUMBER.sub("#", label) for label in here}, known.setdefault(group, [])
            same = next((place for place, seen in enumerate(meanings) if not (kinds and seen) or kinds & seen), None)
            if same is None:
                same = len(meanings)
                meanings.append(set())
            meanings[same] |= kinds
            names.setdefault((group, same), []).extend(here)
            keys[-1][group] = (group, same)
    return keys, names


def _tells(mark: Mark) -> bool:
    """Whether the label of a mark says what its colour means; that of a field or an image stands elsewhere."""
    return bool(mark.label) and mark.role == "measured" and mark.kind in ("line", "points", "band", "bars")


def _ordered(names: dict[Key, list[str]]) -> list[Key]:
    """The largest set of groups whose names differ by a number, in the order of that number.

    There is none if a group has no name at all, for which a colour of the palette would be left, and none by names of
    three numbers and more, such as shapes.
    """
    if not all(names.values()):
        return []
    families: dict[str, dict[Key, list[float]]] = {}
    for key, labels in names.items():
        for label in labels[:1]:
            families.setdefault(NUMBER.sub("#", label), {})[key] = [_value(n) for n in NUMBER.findall(label)]
    for family in sorted(families.values(), key=len, reverse=True):
        if len(family) >= LEAST and len(next(iter(family.values()))) <= MOST_NUMBERS:
            for column in np.transpose(list(family.values())):
                if len(set(column)) == len(family):
                    return [list(family)[place] for place in np.argsort(column)]
    return []


def _largest_family(names: dict[Key, list[str]]) -> list[Key]:
    """The largest set of groups whose names differ by numbers, in the order of the groups; none if it is of two."""
    families: dict[str, list[Key]] = {}
    for key, labels in names.items():
        for label in labels[:1]:
            families.setdefault(NUMBER.sub("#", label), []).append(key)
    numbered = [sorted(family) for kind, family in families.items() if "#" in kind and len(family) >= LEAST]
    return max(numbered, key=len, default=[])


def _value(text: str) -> float:
    plain = text.translate(PLAIN)
    if text.startswith("10") and plain != text:
        return 10.0 ** float(plain[2:])
    return float("inf") if plain == "∞" else float(plain)


def _palette(keys: list[Key], theme: Theme) -> dict[Key, str]:
    """Colours that are not ordered; a group keeps its own from figure to figure, if no two fall on the same."""
    if len(keys) > len(theme.palette):
        return dict(zip(keys, _ramp(len(keys), theme), strict=True))
    chosen: dict[Key, str] = {}
    free = list(theme.palette)
    for key in sorted(keys, key=lambda key: key[1]):  # first meanings first
        own = theme.palette[key[0] % len(theme.palette)]
        chosen[key] = own if own in free else free[0]
        free.remove(chosen[key])
    return chosen


def _ramp(count: int, theme: Theme) -> list[str]:
    """Colours that follow each other evenly."""
    import matplotlib
    from matplotlib.colors import to_hex

    if count <= len(theme.ramp):
        return [theme.ramp[place] for place in np.rint(np.linspace(0, len(theme.ramp) - 1, count)).astype(int)]
    return [to_hex(colour) for colour in matplotlib.colormaps[style.MODES_MAP](np.linspace(0.32, 0.86, count))]
