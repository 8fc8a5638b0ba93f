"""Tables in text files: separator, names and row names found from the first lines, then read in bounded pieces."""

import bz2
import csv
import gzip
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .labels import is_number, printable

if TYPE_CHECKING:
    import pandas as pd

CELLS = 1 << 20
"""Numbers in one piece: 8 MiB in float64, whatever the number of columns."""

LONGEST_LINE = 16 * 2**20
"""Bytes of one line."""

SWELLS, SWOLLEN = 250, 64 * 2**20
"""A file that unpacks to so many bytes, so many times those that were read of it, is no table: text packs tenfold."""

MISSING = ["?"]
"""What files write for a missing value, besides what pandas knows (nothing, NA, nan, null and the like)."""

OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
TEXT = (".csv", ".tsv", ".txt", ".dat", ".data")
_COMMA = re.compile(r"^\s*([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)\s*$", re.ASCII)
_THOUSANDS = re.compile(r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$", re.ASCII)
_POINT = re.compile(r"\s*[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_LOOKED_AT = 50, 2**16  # lines, and bytes of them, in which a decimal comma is looked for
ENDINGS = tuple(ending + packed for packed in ("", *OPENERS) for ending in TEXT)


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out.

    Attributes:
        separator: between the values of a line; a regular expression for white space.
        header: whether the first line names the columns.
        row_names: whether every line begins with a name of its own, which the first line has none for.
        names: of the columns, without row names.
        decimal: what comes before the decimals of a number: a comma where commas do not separate values and the first
            lines have them in numbers, and no points. Where no semicolons separate values, one number at least must be
            none with a comma before its thousands.
    """

    separator: str
    header: bool
    row_names: bool
    names: tuple[str, ...]
    decimal: str = "."


def layout(path: Path) -> Layout:
    """Find the layout of a file from its first lines.

    R's `write.table` writes a name in front of every row but none over these; other programs end every line with a
    separator, which leaves an empty last value instead.
    """
    with opened(path) as file:
        lines = [_decoded(file.readline(LONGEST_LINE)).strip("\r\n") for _ in range(2)]
        most, size = _LOOKED_AT
        while len(lines) < most and file.done < size and (line := file.readline(LONGEST_LINE)):
            lines.append(_decoded(line).strip("\r\n"))
        file.refuse_bomb()
    first, second = lines[:2]
    if "\0" in first:
        raise ValueError("it holds null bytes, as UTF-16 does, and no text in UTF-8; save it as UTF-8")
    if not first.strip():
        raise ValueError("it is empty, or its first line is")
    separator = _separator(first, second)
    cells, below = _cells(first, separator), _cells(second, separator)
    commas = separator != "," and _has_decimal_commas(lines, separator)
    header = not all(is_number(cell) or (commas and bool(_COMMA.match(cell))) for cell in cells)
    row_names = header and len(below) == len(cells) + 1 and below[-1] != ""
    names = tuple(cells) if header else tuple(str(j) for j in range(len(cells)))
    return Layout(separator, header, row_names, _distinct(names), "," if commas else ".")


def pieces(path: Path, plan: Layout, columns: list[int], texts: set[int]) -> Iterator["pd.DataFrame"]:
    """The chosen columns of a file in pieces; those of `texts` as they are written, the others as pandas reads them."""
    import pandas as pd

    shift = int(plan.row_names)
    options: Any = {
        "sep": plan.separator,
        "decimal": plan.decimal,
        "header": None,
        "skiprows": int(plan.header),
        "names": range(len(plan.names) + shift),
        "dtype": {j + shift: str for j in texts},
        "chunksize": max(1, CELLS // len(plan.names)),
        "na_values": MISSING,
        "skipinitialspace": True,
        "low_memory": False,
        "encoding": "utf-8-sig",
        # Without index_col=False, a separator too many at the end of each line would shift every column by one.
        "index_col": False,
    }
    try:
        with opened(path) as file, pd.read_csv(file, **options) as reader:
            for piece in reader:
                if plan.decimal == ",":  # pandas minds it in numbers alone
                    for j in texts:
                        piece[j + shift] = _with_points(piece[j + shift], plan.names[j])
                yield piece[[j + shift for j in columns]]
    except pd.errors.EmptyDataError:
        return
    except UnicodeError as error:
        raise ValueError(f"{str(path)!r} cannot be read as a table: {_no_text(error)}") from error
    except (pd.errors.ParserError, NoTableError) as error:
        raise ValueError(f"{str(path)!r} cannot be read as a table: {' '.join(str(error).split())}") from error


def _with_points(values: "pd.Series", name: str) -> "pd.Series":
    """Numbers with decimal commas as numbers with points; a point among them may mark thousands, and is refused."""
    odd = values[values.str.fullmatch(_POINT, na=False)]
    if len(odd):
        raise NoTableError(
            f"column {printable(name)!r} must hold numbers with decimal commas, as the first lines do; got "
            f"{str(odd.iloc[0]).strip()!r}, whose point may mark thousands: write plain numbers"
        )
    return values.str.replace(_COMMA, r"\1.\2", regex=True)


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8-sig")
    except UnicodeError as error:
        raise ValueError(_no_text(error)) from error


def _no_text(error: UnicodeError) -> str:
    return f"it is no text in UTF-8, in which it is to be saved ({error})"


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A file of bytes, unpacked as it is read; refused by name if it is cut off, or unpacks to far more than text."""
    opener = OPENERS.get(path.suffix.lower(), open)
    try:
        with path.open("rb") as raw, raw if opener is open else opener(raw, "rb") as file:
            yield _Bounded(file, None if opener is open else raw)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{str(path)!r} cannot be read: {' '.join(str(error).split())}") from error


class NoTableError(ValueError):
    """What a file holds that no table of text does."""


class _Bounded:
    """Bytes of a file, as long as its lines are bounded and it does not unpack to far more than text does."""

    def __init__(self, file: IO[bytes], packed: IO[bytes] | None) -> None:
        self.file, self.packed = file, packed
        self.done = self.line = 0

    def read(self, size: int = -1) -> bytes:
        return self._counted(self.file.read(LONGEST_LINE if size is None or size < 0 else size))

    def readline(self, size: int = -1) -> bytes:
        return self._counted(self.file.readline(LONGEST_LINE if size < 0 else size))

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            yield line

    def refuse_bomb(self) -> None:
        """Unpack the beginning of a packed file, which takes a moment where to parse it would take minutes."""
        while self.packed and self.done <= SWOLLEN and self._counted(self.file.read(1 << 20)):
            pass

    def _counted(self, piece: bytes) -> bytes:
        self.done += len(piece)
        end = piece.rfind(b"\n")
        self.line = self.line + len(piece) if end < 0 else len(piece) - 1 - end
        if self.line >= LONGEST_LINE:
            raise NoTableError(
                f"a line must be shorter than {LONGEST_LINE // 2**20} MiB; the file is no table of text"
            )
        if self.packed and self.done > max(SWOLLEN, SWELLS * self.packed.tell()):
            raise NoTableError(
                f"it unpacks to more than {SWOLLEN // 2**20} MiB, over {SWELLS} times what was read of it: no table does"
            )
        return piece


def _separator(first: str, second: str = "") -> str:
    """What separates values: what all values of the first line are numbers by, or what both lines have equally often.

    Of several the one that the first line has most of. R writes names in front of rows, but none over these.
    """
    for sign, separator in ((";", ";"), ("\t", "\t"), (None, r"\s+")):
        parts = [part.strip() for part in first.split(sign)]
        if len(parts) > 1 and all(is_number(part) or _COMMA.match(part) for part in parts):
            return separator
    likely = [sign for sign in ",;\t" if sign in first]
    alike = [sign for sign in likely if len(_cells(second, sign)) - len(_cells(first, sign)) in (0, 1)]
    return max(alike or likely, key=first.count, default=r"\s+")


def _has_decimal_commas(lines: list[str], separator: str) -> bool:
    """Whether the numbers in the first lines have commas before their decimals, and not before their thousands."""
    cells = [cell for line in lines for cell in _cells(line, separator)]
    commas = [cell for cell in cells if _COMMA.match(cell)]
    if not commas or any("." in cell and is_number(cell) for cell in cells):
        return False
    return separator == ";" or not all(map(_THOUSANDS.match, commas))


def _cells(line: str, separator: str) -> list[str]:
    delimiter = " " if separator == r"\s+" else separator
    text = " ".join(line.split()) if delimiter == " " else line
    try:
        return [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])]
    except csv.Error as error:
        raise ValueError(f"its first lines are no cells: {error}") from error


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names without repeats: the second `a` becomes `a.1`."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, -1) + 1
        distinct.append(f"{name}.{seen[name]}" if seen[name] else name)
    return tuple(distinct)
