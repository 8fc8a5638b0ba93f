"""Tables of examples: an .npz archive, a .csv file read in pieces, or a bundled data set, as a stream of chunks.

A chunk is a pair (features, targets) of a bounded number of rows. Nothing here holds a CSV file as a whole, so that a
table of any length can be summed up by its moments.
"""

import difflib
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Chunk = tuple[NDArray[Any], NDArray[Any]]

CELLS = 1 << 20
"""Numbers in one chunk: 8 MiB in float64, whatever the number of columns."""

BUNDLED = {
    "breast-cancer": ("load_breast_cancer", True),
    "diabetes": ("load_diabetes", False),
    "digits": ("load_digits", True),
    "iris": ("load_iris", True),
    "linnerud": ("load_linnerud", False),
    "wine": ("load_wine", True),
}
"""The data sets that come with scikit-learn: their loader, and whether the target names a class."""

ENDINGS = (".npz", ".csv", ".csv.gz")


@dataclass(frozen=True, eq=False)
class Table:
    """Examples as a stream.

    Attributes:
        name: the file or data set.
        features: the names of the feature columns.
        targets: the names of the target columns.
        classes: whether the target names classes; None where its values are to say.
        chunks: a function that begins a new pass over the chunks.
        notices: what was done to the table on the way in.
    """

    name: str
    features: tuple[str, ...]
    targets: tuple[str, ...]
    classes: bool | None
    chunks: Callable[[], Iterator[Chunk]]
    notices: tuple[str, ...] = field(default=())


def read(source: str | Path, target: str | None = None) -> Table:
    """Open a table by the path of a file or the name of a bundled data set.

    Args:
        source: a path that ends in .npz, .csv or .csv.gz, or one of `BUNDLED`.
        target: the column to be predicted, by its name or its number from 0 (negative from the end); by default the
            last column of a CSV file or of a single matrix. An archive with features and targets needs none.

    Raises:
        ValueError: if there is no such file, data set or column, or it cannot be read as a table of numbers.
    """
    path, name = Path(source), str(source)
    if name in BUNDLED and not path.is_file():
        if target is not None:
            raise ValueError(f"the bundled data set {name!r} has its own target; leave the target {target!r} out")
        return _bundled(name)
    if not name.lower().endswith(ENDINGS):
        if path.is_file():
            raise ValueError(f"{name!r} is no table that can be read; its name must end in {', '.join(ENDINGS)}")
        _refuse_unknown(name)
    if not path.is_file():
        raise ValueError(f"there is no file {name!r}; check the path")
    return _archive(path, target) if name.lower().endswith(".npz") else _csv(path, target)


def arrays(X: NDArray[Any], y: NDArray[Any], name: str = "arrays") -> Table:
    """A table of features (n, columns) and targets (n,) or (n, outputs) that are in memory.

    Features of more than two dimensions, such as images, are flattened.
    """
    X, y = _plain(np.asarray(X)), _plain(np.asarray(y))
    if X.ndim < 2 or 0 in X.shape:
        raise ValueError(f"X must be a table of examples by columns; got shape {X.shape}")
    if y.ndim not in (1, 2) or 0 in y.shape:
        raise ValueError(f"y must hold one target, or a row of targets, for each example; got shape {y.shape}")
    if len(X) != len(y):
        raise ValueError(f"X and y must have equally many rows; got {len(X)} and {len(y)}")
    if not (np.issubdtype(X.dtype, np.number) or X.dtype == bool) or np.iscomplexobj(X):
        raise ValueError(f"X must hold real numbers, not {X.dtype}; encode other columns as numbers, or drop them")
    X = X.reshape(len(X), -1)
    rows = max(1, CELLS // X.shape[1])

    def chunks() -> Iterator[Chunk]:
        for i in range(0, len(X), rows):
            yield X[i : i + rows], y[i : i + rows]

    targets = ("y",) if y.ndim == 1 else tuple(f"y{k}" for k in range(y.shape[1]))
    return Table(name, tuple(f"x{j}" for j in range(X.shape[1])), targets, None, chunks)


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """An array of Python objects as numbers, if numbers (or None) are all it holds."""
    if array.dtype.kind != "O" or not all(value is None or isinstance(value, Real) for value in array.flat):
        return array
    return array if all(isinstance(value, bool) for value in array.flat) else array.astype(np.float64)


def _bundled(name: str) -> Table:
    from sklearn import datasets

    loader, classes = BUNDLED[name]
    bunch: Any = getattr(datasets, loader)()
    y = np.asarray(bunch.target)
    table = arrays(np.asarray(bunch.data), np.asarray(bunch.target_names).astype(str)[y] if classes else y, name)
    features = tuple(str(feature) for feature in bunch.feature_names)
    targets = ("class",) if classes else tuple(bunch.get("target_names", [])) or ("target",)
    return Table(name, features, targets, classes, table.chunks)


def _refuse_unknown(name: str) -> NoReturn:
    near = difflib.get_close_matches(name, BUNDLED, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    known = ", ".join(BUNDLED)
    raise ValueError(
        f"{name!r} is no file ending in {', '.join(ENDINGS)}, and no bundled data set; {hint}Known: {known}"
    )


def _archive(path: Path, target: str | None) -> Table:
    try:
        with np.load(path) as stored:
            found = {key: stored[key] for key in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        why = "it holds Python objects; save plain arrays of numbers or strings" if "pickle" in str(error) else error
        raise ValueError(f"{str(path)!r} cannot be read as an .npz archive: {why}") from error
    keys = {key.lower(): key for key in found}
    if {"x", "y"} <= set(keys):
        X, y = found[keys["x"]], found[keys["y"]]
    elif len(found) >= 2:
        X, y = list(found.values())[:2]
    elif len(found) == 1 and next(iter(found.values())).ndim == 2:
        (matrix,) = found.values()
        names = [str(j) for j in range(matrix.shape[1])]
        column = _column(names, target, str(path))
        table = arrays(np.delete(matrix, column, axis=1), matrix[:, column], str(path))
        return Table(table.name, tuple(np.delete(names, column)), (names[column],), None, table.chunks)
    else:
        held = ", ".join(f"{key} {value.shape}" for key, value in found.items()) or "nothing"
        raise ValueError(f"{str(path)!r} must hold arrays X and y, or one matrix; it holds {held}")
    if target is not None:
        raise ValueError(f"{str(path)!r} holds its targets as an array; leave the target {target!r} out")
    return arrays(X, y, str(path))


def _csv(path: Path, target: str | None) -> Table:
    import pandas as pd

    try:
        separator, header, notices = _layout(path)
        head = pd.read_csv(path, sep=separator, header=header, nrows=0 if header == 0 else 1)
    except (OSError, ValueError, UnicodeError, pd.errors.ParserError) as error:
        raise ValueError(f"{str(path)!r} cannot be read as CSV: {_one_line(error)}") from error
    names = [str(column) for column in head.columns]
    # What pandas writes in front of every row unless told not to is its number, not a feature.
    numbered = names[0].startswith("Unnamed: 0")
    if numbered:
        notices += ("the first column has no name and numbers the rows; it was left out",)
    used = list(range(int(numbered), len(names)))
    if len(used) < 2:
        raise ValueError(f"{str(path)!r} has {len(used)} column(s) {names}; features and a target need at least two")
    column = used[_column([names[j] for j in used], target, str(path))]
    features = [j for j in used if j != column]
    # Without index_col=False, a separator too many at the end of each line would shift every column by one.
    options: Any = {"chunksize": max(1, CELLS // len(used)), "low_memory": False, "index_col": False}

    def chunks() -> Iterator[Chunk]:
        numeric: bool | None = None
        done = 0
        try:
            with pd.read_csv(path, sep=separator, header=header, **options) as pieces:
                for piece in pieces:
                    if piece.empty:
                        raise ValueError(f"{str(path)!r} names its columns but holds no examples")
                    y = piece.iloc[:, column]
                    if numeric is None:
                        numeric = _is_numeric(y)
                    X = np.column_stack([_feature(piece.iloc[:, j], names[j], path, done) for j in features])
                    yield X, _target(y, names[column], numeric, path, done)
                    done += len(piece)
        except (pd.errors.ParserError, UnicodeError) as error:
            raise ValueError(f"{str(path)!r} cannot be read as CSV: {_one_line(error)}") from error

    return Table(str(path), tuple(names[j] for j in features), (names[column],), None, chunks, notices)


def _layout(path: Path) -> tuple[str, int | None, tuple[str, ...]]:
    """The separator of a CSV file and whether its first line names the columns, from that line."""
    import gzip

    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig") as file:
        first = file.readline().strip()
    if not first:
        raise ValueError("it is empty, or its first line is")
    separator = max(",;\t", key=first.count)
    if all(_parses(cell) for cell in first.split(separator)):
        return separator, None, ("the first line holds only numbers, so it was read as an example, not as names",)
    return separator, 0, ()


def _parses(cell: str) -> bool:
    try:
        float(cell.strip().strip('"'))
    except ValueError:
        return False
    return True


def _column(names: list[str], target: str | None, source: str) -> int:
    """The place of the target column: its name first, then its number."""
    if target is None:
        return len(names) - 1
    if target in names:
        return names.index(target)
    if target.lstrip("-").isdigit() and -len(names) <= int(target) < len(names):
        return int(target) % len(names)
    near = difflib.get_close_matches(target, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    shown = ", ".join(names[:12]) + (f", … ({len(names)} in all)" if len(names) > 12 else "")
    raise ValueError(f"{source!r} has no column {target!r}; {hint}Its columns are {shown}")


def _is_numeric(column: "pd.Series") -> bool:
    """Whether a target column holds numbers; words, truth values and the like name classes."""
    return column.dtype.kind in "iuf"


def _feature(column: "pd.Series", name: str, path: Path, done: int) -> NDArray[np.float64]:
    numbers, odd = _numbers(column)
    if odd is None:
        return numbers
    raise ValueError(
        f"column {name!r} of {str(path)!r} must hold numbers; example {done + odd + 1} has {column.iloc[odd]!r}. "
        "Encode the column as numbers, or drop it"
    )


def _target(column: "pd.Series", name: str, numeric: bool, path: Path, done: int) -> NDArray[Any]:
    if not numeric:
        return column.astype(object).to_numpy()
    if column.dtype.kind in "iu":
        return column.to_numpy()  # whole numbers are kept as such: they may be meant as classes
    numbers, odd = _numbers(column)
    if odd is None:
        return numbers
    raise ValueError(
        f"the target {name!r} of {str(path)!r} holds numbers at first, but example {done + odd + 1} has "
        f"{column.iloc[odd]!r}; make all of them numbers, or all of them names of classes"
    )


def _numbers(column: "pd.Series") -> tuple[NDArray[np.float64], int | None]:
    """A column as numbers, and the place of the first entry that is none, if there is one."""
    import pandas as pd

    if column.dtype.kind in "iufb":
        return column.to_numpy(np.float64), None
    numbers = np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
    odd = np.isnan(numbers) & column.notna().to_numpy()
    return numbers, int(np.argmax(odd)) if odd.any() else None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
