"""Columns of a table as numbers: what each holds over the whole table, its levels, and what fills its gaps.

A column is looked at from the first row to the last before any of it is encoded, so that a word in the last row, or a
label that is written in two ways, is known from the beginning.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from .labels import canonical, is_number, printable

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Impute = Literal["median"]

MOST_LEVELS = 100
"""Different words in a column; more are taken to be identifiers or free text."""

NEVER_AGAIN = 10
"""So many words of which none comes twice are names of rows: nothing learnt of one row tells anything of another."""

MOST_VALUES = 10_000_000
"""Numbers that are held at once to find medians."""

NUMERIC = ("number", "truth value", "infinite value")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
    rf"|\d{{1,2}}[ -]{_MONTH}[ ,-]+\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}",
    re.IGNORECASE,
)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?")
_DIGITS = r"[+\-\u2212]?(\d[\d.,]*|\.\d+)"
_PERCENTAGE = re.compile(rf"{_DIGITS}\s?[%\u2030]")
_MONEY = re.compile(rf"[+\-\u2212]?[$\u20ac\u00a3\u00a5\u20b9]\s?{_DIGITS}|{_DIGITS}\s?[$\u20ac\u00a3\u00a5\u20b9]")
_GAPS_OR_MINUS = re.compile(
    r"[+\-\u2212]?\d{1,3}([ '_\u00a0\u202f\u2019]\d{3})+(\.\d+)?|\u2212(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
)
_COMPLEX = re.compile(r"\(?([+-]?[\d.]+([eE][+-]?\d+)?)?[+-]?[\d.]*([eE][+-]?\d+)?[ij]\)?")

_DRESSED = {"percentage": _PERCENTAGE, "sum of money": _MONEY, "number with gaps or a typeset minus": _GAPS_OR_MINUS}

REMEDIES = {
    "date": "Turn it into numbers",
    "complex number": "Turn it into numbers",
    "decimal comma": "Write numbers with a point",
    "percentage": "Write plain numbers",
    "sum of money": "Write plain numbers",
    "number with gaps or a typeset minus": "Write plain numbers",
}
"""What is a number in the eyes of a reader, and would be a word to a program: how to make it one."""


@dataclass(frozen=True)
class Column:
    """How a column becomes numbers.

    Attributes:
        name: as the table has it.
        levels: the words that it holds, which become one column each; None for a column of numbers.
        fill: what takes the place of a missing value; None where rows that miss one are left out.
    """

    name: str
    levels: tuple[str, ...] | None = None
    fill: float | str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that it becomes."""
        if self.levels is None:
            return (printable(self.name),)
        return tuple(printable(f"{self.name}={level}") for level in self.levels)

    def encode(self, values: "pd.Series") -> Array:
        """The column as (rows, columns), not-a-number where a value is missing and nothing fills it."""
        if self.levels is None:
            numbers = as_numbers(values)[:, None]
            return numbers if self.fill is None else np.where(np.isnan(numbers), self.fill, numbers)
        words = values.map(canonical, na_action="ignore")
        if self.fill is not None:
            words = words.fillna(self.fill)
        hot = np.equal.outer(words.to_numpy(object), np.array(self.levels, object)).astype(np.float64)
        hot[words.isna().to_numpy()] = np.nan
        return hot


@dataclass
class Survey:
    """What a column holds, from all rows seen so far."""

    name: str
    numbers: int = 0
    words: Counter[str] = field(default_factory=Counter)
    odd: dict[str, tuple[int, str]] = field(default_factory=dict)
    many: bool = False
    held: list[Array] = field(default_factory=list)

    def see(self, values: "pd.Series", first: int, hold: bool) -> None:
        """Look at some rows, the first of which is example number `first`."""
        if values.dtype.kind in "mMc":
            self.odd.setdefault(
                "date" if values.dtype.kind in "mM" else "complex number", (first, str(values.iloc[0]))
            )
            return
        if values.dtype.kind in "iufb":
            self.numbers += int(values.notna().sum())
            if values.dtype.kind == "b":
                self.odd.setdefault("truth value", (first, str(values.iloc[0])))
        else:
            self._see_text(values, first)
        if hold and not self.words:
            self.held.append(as_numbers(values))

    def _see_text(self, values: "pd.Series", first: int) -> None:
        texts = values.reset_index(drop=True).dropna().astype(str)
        kinds = texts.drop_duplicates().map(_kind)
        for kind in kinds.unique():
            place = int(kinds.index[kinds == kind][0])
            self.odd.setdefault(kind, (first + place, str(texts[place])))
        numeric = texts.map(dict(zip(texts[kinds.index], kinds, strict=True))).isin(NUMERIC)
        self.numbers += int(numeric.sum())
        if not self.many:
            self.words.update(texts[~numeric].map(canonical))
            self.many = len(self.words) > MOST_LEVELS

    @property
    def empty(self) -> bool:
        """Whether not one row has a value."""
        return not self.numbers and not self.words and not self.odd

    def feature(self, source: str, impute: Impute | None) -> Column:
        """The column as a feature; refused if it holds dates, complex numbers, both words and numbers, or names."""
        self._refuse_what_is_no_feature(source)
        if not self.words:
            return Column(self.name, None, self._median() if impute else None)
        levels = tuple(sorted(self.words, key=natural))
        return Column(self.name, levels, self.words.most_common(1)[0][0] if impute else None)

    def holds_numbers(self, source: str) -> bool:
        """Whether the column, as a target, holds numbers throughout; words and truth values name classes."""
        self._refuse_dates(source)
        truths = "truth value" in self.odd
        besides = self._word() if set(self.odd) - set(NUMERIC) else self.odd.get("truth value")
        if besides and (self.numbers if not truths else "number" in self.odd):
            (_, number), (row, word) = self.odd.get("number", (1, "numbers")), besides
            raise ValueError(
                f"the target {printable(self.name)!r} of {source!r} must hold numbers, or names of classes, not both; "
                f"got {number!r} and, in example {row}, {word!r}. Mend the table, or take all as classes (--classes)"
            )
        return not self.words and not truths

    def _refuse_what_is_no_feature(self, source: str) -> None:
        self._refuse_dates(source)
        name = printable(self.name)
        if self.many:
            raise ValueError(
                f"column {name!r} of {source!r} must hold numbers, or at most {MOST_LEVELS} different words; got more, "
                f"such as {self._word()[1]!r}. Leave it out (--drop {name})"
            )
        if len(self.words) >= NEVER_AGAIN and self.words.most_common(1)[0][1] == 1:
            raise ValueError(
                f"column {name!r} of {source!r} must hold words that come more than once; got {len(self.words)} of them, "
                f"such as {self._word()[1]!r}, which name the rows. Leave it out (--drop {name})"
            )
        if self.words and self.numbers:
            (_, number), (row, word) = self.odd.get("number", (1, "numbers")), self._word()
            raise ValueError(
                f"column {name!r} of {source!r} must hold numbers, or words, not both; got {number!r} and, in example "
                f"{row}, {word!r}. Mend it, or leave it out (--drop {name})"
            )

    def _word(self) -> tuple[int, str]:
        """The first value that is no number: a word, or a date or complex number among other values."""
        return min(found for kind, found in self.odd.items() if kind not in NUMERIC)

    def _refuse_dates(self, source: str) -> None:
        for kind in REMEDIES:
            if kind in self.odd and set(self.odd) <= {kind, "number"}:
                row, value = self.odd[kind]
                raise ValueError(
                    f"column {printable(self.name)!r} of {source!r} must hold real numbers or words; got a {kind}, "
                    f"{value!r}, in example {row}. {REMEDIES[kind]}, or leave it out (--drop {printable(self.name)})"
                )

    def _median(self) -> float | None:
        values = np.concatenate(self.held) if self.held else np.zeros(0)
        known = values[~np.isnan(values)]
        return float(np.median(known)) if len(known) else None


def survey(names: Iterable[str], pieces: Iterable["pd.DataFrame"], impute: Impute | None) -> tuple[list[Survey], int]:
    """Look at every column of a table that comes in pieces; returns what they hold, and how many rows there are."""
    columns, rows = [Survey(name) for name in names], 0
    for piece in pieces:
        if impute and (rows + len(piece)) * len(columns) > MOST_VALUES:
            raise ValueError(
                f"impute must be left out for tables of more than {MOST_VALUES} values: medians need all of them"
            )
        for j, column in enumerate(columns):
            column.see(piece.iloc[:, j], rows + 1, bool(impute))
        rows += len(piece)
    return columns, rows


def as_numbers(values: "pd.Series") -> Array:
    """A column of numbers or truth values as float64, not-a-number where one is missing."""
    import pandas as pd

    if values.dtype.kind in "iufb":
        return values.to_numpy(np.float64)
    numbers = np.array(pd.to_numeric(values, errors="coerce"), dtype=np.float64)
    # Truth values are few among numbers: to look at every entry as text would take most of the time.
    left = np.isnan(numbers) & values.notna().to_numpy()
    truths = {"true": 1.0, "false": 0.0}
    numbers[left] = [truths.get(str(value).strip().lower(), np.nan) for value in values[left]]
    return numbers


def natural(name: str) -> tuple[int, float, str]:
    """A key that sorts names that are numbers by their value, before the others."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name


def _kind(text: str) -> str:
    stripped = text.strip()
    if is_number(stripped):
        return "number"
    if stripped.lower() in ("true", "false"):
        return "truth value"
    if _DATE.fullmatch(stripped):
        return "date"
    if _DECIMAL_COMMA.fullmatch(stripped):
        return "decimal comma"
    for kind, pattern in _DRESSED.items():
        if pattern.fullmatch(stripped):
            return kind
    if stripped[-1:] in "ij)" and any(c.isdigit() for c in stripped) and _COMPLEX.fullmatch(stripped):
        return "complex number"
    return "infinite value" if stripped.lower().lstrip("+-") in ("inf", "infinity") else "word"
