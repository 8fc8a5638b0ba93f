"""Tables of examples, from files, arrays, data frames or bundled data sets, as a stream of chunks.

A chunk is a pair (features, targets) of a bounded number of rows. Nothing here holds a text file as a whole, so that a
table of any length can be summed up by its moments. What a column holds is found in a pass over the whole table first.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..core import arguments
from . import archives, columns, delimited
from .columns import Column, Impute
from .labels import canonical, printable

if TYPE_CHECKING:
    import pandas as pd

Chunk = tuple[NDArray[Any], NDArray[Any]]

MOST_COLUMNS = 5000
"""Columns of numbers, after words have become columns; their covariance must fit the memory."""

BUNDLED = {
    "breast-cancer": ("load_breast_cancer", True),
    "diabetes": ("load_diabetes", False),
    "digits": ("load_digits", True),
    "iris": ("load_iris", True),
    "linnerud": ("load_linnerud", False),
    "wine": ("load_wine", True),
}
"""The data sets that come with scikit-learn: their loader, and whether the target names a class."""

FRAMES = {".parquet": ("read_parquet", "pyarrow"), ".xlsx": ("read_excel", "openpyxl")}
"""Files that are read as a whole: pandas' reader, and the package that it needs."""

ENDINGS = (".npz", *FRAMES, *delimited.ENDINGS)


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


def read(
    source: str | Path,
    target: str | None = None,
    *,
    use: Sequence[str] = (),
    drop: Sequence[str] = (),
    impute: Impute | None = None,
    classes: bool | None = None,
) -> Table:
    """Open a table by the path of a file or the name of a bundled data set.

    Columns of words become one column for each word, named `column=word`.

    Args:
        source: a path that ends in one of `ENDINGS`, or one of `BUNDLED`.
        target: the column to be predicted, by its name or its number from 0 (negative from the end); by default the
            last column of a file or of a single matrix. An archive with features and targets needs none.
        use: the feature columns to use; by default all.
        drop: columns to leave out.
        impute: "median" fills missing numbers by the median of their column, and missing words by the most frequent;
            by default rows that miss a value are left out.
        classes: take a target of numbers as names of classes.

    Raises:
        ValueError: if there is no such file, data set or column, or it cannot be read as a table.
    """
    path = arguments.path("source", source)
    name, use, drop = str(source), arguments.words("use", use), arguments.words("drop", drop)
    if target is not None and not isinstance(target, str):
        raise ValueError(f"target must be the name or the number of a column, as text; got {arguments.shown(target)}")
    if impute is not None:
        arguments.one_of("impute", impute, ("median",))
    if classes is not None:
        arguments.truth("classes", classes)
    if name in BUNDLED and not path.is_file():
        if target is not None:
            raise ValueError(f"the bundled data set {name!r} has its own target; leave the target {target!r} out")
        return _selected(_bundled(name), use, drop)
    if not name.lower().endswith(ENDINGS):
        _refuse_unknown(name)
    if not path.is_file():
        raise ValueError(f"there is no file {name!r}; check the path")
    if name.lower().endswith(".npz"):
        return _selected(_archive(path, target), use, drop)
    choose = _Choice(target, tuple(use), tuple(drop), impute, classes)
    if path.suffix.lower() in FRAMES:
        return frame(_whole(path), printable(name), choose)
    return _text(path, choose)


def arrays(X: NDArray[Any], y: NDArray[Any], name: str = "arrays") -> Table:
    """A table of features (n, columns) and targets (n,) or (n, outputs) that are in memory.

    Features of more than two dimensions, such as images, are flattened.
    """
    X, y = _plain(arguments.array("X", X)), _plain(arguments.array("y", y))
    _refuse_shapes(X, y)
    if not (np.issubdtype(X.dtype, np.number) or X.dtype == bool) or np.iscomplexobj(X):
        raise ValueError(f"X must hold real numbers; got {X.dtype}: encode other columns as numbers, or drop them")
    if y.dtype.kind == "S":
        y = _decoded(y)
    if y.dtype.kind in "mMc":
        raise ValueError(f"y must hold real numbers or names of classes; got {y.dtype}")
    X = X.reshape(len(X), -1)
    _refuse_wide(X.shape[1], name)
    rows = max(1, delimited.CELLS // X.shape[1])

    def chunks() -> Iterator[Chunk]:
        for i in range(0, len(X), rows):
            yield X[i : i + rows], y[i : i + rows]

    targets = ("y",) if y.ndim == 1 else tuple(f"y{k}" for k in range(y.shape[1]))
    return Table(name, tuple(f"x{j}" for j in range(X.shape[1])), targets, None, chunks)


def _decoded(y: NDArray[Any]) -> NDArray[Any]:
    """Names of classes that are stored as bytes."""
    try:
        return np.char.decode(y, "utf-8")
    except UnicodeError as error:
        raise ValueError(f"y must hold names of classes as text, or as bytes in UTF-8; {error}") from error


def _refuse_shapes(X: NDArray[Any], y: NDArray[Any]) -> None:
    if X.ndim < 2 or 0 in X.shape:
        raise ValueError(f"X must be a table of examples by columns; got shape {X.shape}")
    if y.ndim not in (1, 2) or 0 in y.shape:
        raise ValueError(f"y must hold one target, or a row of targets, for each example; got shape {y.shape}")
    if len(X) != len(y):
        raise ValueError(f"X and y must have equally many rows; got {len(X)} and {len(y)}")


def _refuse_wide(number: int, source: str) -> None:
    if number > MOST_COLUMNS:
        raise ValueError(
            f"{source!r} must have at most {MOST_COLUMNS} feature columns; got {number}. Name those to use (--columns)"
        )


def joined(X: Any, y: Any, name: str = "arrays") -> Table:
    """A table of features and targets in memory; the columns of a data frame may hold words, and keep their names."""
    if not hasattr(X, "columns"):
        return arrays(X, y, name)
    seen, _ = columns.survey([str(column) for column in X.columns], [X], None)
    encoder = _Encoder(tuple(column.feature(name, None) for column in seen))
    table = arrays(encoder.encode(X), y, name)
    return replace(table, features=encoder.names, notices=encoder.notices)


@dataclass(frozen=True)
class _Encoder:
    """All feature columns of a table."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for column in self.columns for name in column.names)

    @property
    def notices(self) -> tuple[str, ...]:
        return tuple(_one_hot(column) for column in self.columns if column.levels is not None)

    def encode(self, piece: "pd.DataFrame") -> NDArray[np.float64]:
        """Rows of a data frame as numbers."""
        parts = [column.encode(piece.iloc[:, j]) for j, column in enumerate(self.columns)]
        return np.concatenate([np.zeros((len(piece), 0)), *parts], axis=1)


@dataclass(frozen=True)
class _Choice:
    """What of a table is wanted; see `read`."""

    target: str | None = None
    use: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    impute: Impute | None = None
    classes: bool | None = None

    def places(self, names: list[str], source: str) -> list[int]:
        """The places of the columns that are read: features first, then the target."""
        left_out = set(_places(names, self.drop, source))
        known = [j for j in range(len(names)) if j not in left_out]
        if len(known) < 2:
            shown = [printable(names[j]) for j in known]
            raise ValueError(f"{source!r} must have at least two columns, features and a target; got {shown}")
        target = known[_place([names[j] for j in known], self.target, source)]
        wanted = _places(names, self.use, source) or known
        features = [j for j in wanted if j not in left_out and j != target]
        if not features:
            raise ValueError(f"{source!r} must keep at least one feature column besides its target; all were left out")
        _refuse_wide(len(features), source)
        return [*features, target]


def frame(data: "pd.DataFrame", name: str = "data frame", choose: _Choice = _Choice()) -> Table:  # noqa: B008
    """A table of a data frame, whose columns may hold numbers, truth values or words."""
    if not hasattr(data, "columns") or not hasattr(data, "iloc"):
        raise ValueError(f"data must be a data frame; got {arguments.shown(data)}")
    arguments.instance("choose", choose, _Choice)
    names = [str(column) for column in data.columns]
    rows = max(1, delimited.CELLS // max(1, len(names)))

    def pieces(chosen: list[int], texts: set[int]) -> Iterator["pd.DataFrame"]:
        for i in range(0, len(data), rows):
            yield data.iloc[i : i + rows, chosen]

    return _encoded(name, names, choose, pieces, ())


def _text(path: Path, choose: _Choice) -> Table:
    try:
        plan = delimited.layout(path)
    except (ValueError, UnicodeError) as error:
        raise ValueError(f"{str(path)!r} cannot be read as a table: {' '.join(str(error).split())}") from error
    names, notices = list(plan.names), []
    if not plan.header:
        notices.append("the first line holds only numbers, so it was read as an example, not as names")
    # What pandas and R write in front of every row unless told not to is its number or name, not a feature.
    if plan.row_names or names[0] == "":
        notices.append("the first column has no name over it and numbers or names the rows; it was left out")
    if not plan.row_names and names[0] == "":
        names[0] = "(rows)"
        choose = replace(choose, drop=(*choose.drop, "(rows)"))

    def pieces(chosen: list[int], texts: set[int]) -> Iterator["pd.DataFrame"]:
        return delimited.pieces(path, plan, chosen, texts)

    return _encoded(printable(str(path)), names, choose, pieces, tuple(notices))


Pieces = Callable[[list[int], set[int]], Iterator["pd.DataFrame"]]


def _encoded(source: str, names: list[str], choose: _Choice, pieces: Pieces, notices: tuple[str, ...]) -> Table:
    """A table whose columns are looked at in a first pass, and encoded in every further one."""
    chosen = choose.places(names, source)
    seen, texts = _surveyed([names[j] for j in chosen], lambda texts: pieces(chosen, texts), chosen, choose, source)
    empty = [column.name for column in seen[:-1] if column.empty]
    if empty:
        if len(empty) == len(seen) - 1:
            raise ValueError(f"{source!r} must hold values in one feature column at least; all are empty")
        # A column without any value would leave out every row.
        told = f"left out, as no row has a value there: {', '.join(map(printable, empty))}"
        return _encoded(source, names, replace(choose, drop=(*choose.drop, *empty)), pieces, (*notices, told))
    encoder = _Encoder(tuple(column.feature(source, choose.impute) for column in seen[:-1]))
    _refuse_wide(len(encoder.names), source)
    numeric = not choose.classes and seen[-1].holds_numbers(source)

    def chunks() -> Iterator[Chunk]:
        for piece in pieces(chosen, texts):
            yield encoder.encode(piece.iloc[:, :-1]), _target(piece.iloc[:, -1], numeric)

    target = printable(names[chosen[-1]])
    return Table(source, encoder.names, (target,), not numeric, chunks, notices + encoder.notices)


def _surveyed(
    names: Sequence[str],
    pieces: Callable[[set[int]], Iterable["pd.DataFrame"]],
    chosen: Sequence[int],
    choose: _Choice,
    source: str,
) -> tuple[list[columns.Survey], set[int]]:
    """What every column holds, and which must be read as text: the target, and all that hold words in any piece."""
    texts = {chosen[-1]}
    while True:
        seen, rows = columns.survey(names, pieces(texts), choose.impute)
        if rows == 0:
            raise ValueError(f"{source!r} must hold examples; got names of columns alone")
        wordy = {j for j, column in zip(chosen, seen, strict=True) if column.words} | texts
        if wordy == texts:
            return seen, texts
        texts = wordy


def _target(values: "pd.Series", numeric: bool) -> NDArray[Any]:
    if numeric:
        return columns.as_numbers(values)
    return values.map(canonical, na_action="ignore").astype(object).to_numpy()


def _one_hot(column: Column) -> str:
    assert column.levels is not None
    levels = ", ".join(map(printable, column.levels[:6])) + (", …" if len(column.levels) > 6 else "")
    return (
        f"column {printable(column.name)!r} holds words and became {len(column.levels)} columns of 0 and 1, one for "
        f"each: {levels}"
    )


def _whole(path: Path) -> "pd.DataFrame":
    """A file that pandas reads as a whole, if the package that it needs is there."""
    import pandas as pd

    reader, package = FRAMES[path.suffix.lower()]
    try:
        if path.suffix.lower() == ".xlsx":
            archives.refuse_bomb(path)
        data = getattr(pd, reader)(path)
    except ImportError as error:
        raise ValueError(
            f"{str(path)!r} needs the package {package} to be read: install it with pip install 'lineament[tables]'"
        ) from error
    except Exception as error:  # the readers' errors have no common type
        raise ValueError(f"{str(path)!r} cannot be read as a table: {' '.join(str(error).split())}") from error
    return data


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


def _archive(path: Path, target: str | None) -> Table:
    held = archives.read_archive(path)
    if len(held) != 1 or next(iter(held.values())).ndim != 2:
        used = archives.pair(held, target, path)
        others = [printable(key) for key in held if key not in used]
        table = arrays(held[used[0]], held[used[1]], printable(str(path)))
        told = (f"arrays that were not used: {', '.join(others)}",) if others else ()
        return replace(table, notices=(*table.notices, *told))
    (matrix,) = held.values()
    names = [str(j) for j in range(matrix.shape[1])]
    column = _place(names, target, str(path))
    table = arrays(np.delete(matrix, column, axis=1), matrix[:, column], printable(str(path)))
    return replace(table, features=tuple(np.delete(names, column)), targets=(names[column],))


def _selected(table: Table, use: Sequence[str], drop: Sequence[str]) -> Table:
    """A table of numbers with some of its feature columns."""
    if not use and not drop:
        return table
    names = list(table.features)
    left_out = _places(names, drop, table.name)
    wanted = _places(names, use, table.name) or range(len(names))
    kept = [j for j in wanted if j not in left_out]
    if not kept:
        raise ValueError(f"{table.name!r} must keep at least one feature column; all were left out")

    def chunks() -> Iterator[Chunk]:
        for X, y in table.chunks():
            yield X[:, kept], y

    return replace(table, features=tuple(names[j] for j in kept), chunks=chunks)


def _refuse_unknown(name: str) -> NoReturn:
    near = difflib.get_close_matches(name, BUNDLED, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    known = ", ".join(BUNDLED)
    kinds = ", ".join((".npz", *FRAMES, *delimited.TEXT))
    raise ValueError(
        f"{printable(name)!r} must be a bundled data set, or a file that ends in one of {kinds} (also packed: .gz, .bz2, "
        f".xz); {hint}Known: {known}"
    )


def _places(names: list[str], wanted: Sequence[str], source: str) -> list[int]:
    """The places of columns, each once, in the order in which they are named."""
    return list(dict.fromkeys(_place(names, name, source) for name in wanted))


def _place(names: list[str], wanted: str | None, source: str) -> int:
    """The place of a column: by its name first, then by its number; the last if none is wanted."""
    if wanted is None:
        return len(names) - 1
    for spelt in (names, [printable(name) for name in names]):
        if wanted in spelt:
            return spelt.index(wanted)
    if wanted.lstrip("-").isdigit() and -len(names) <= int(wanted) < len(names):
        return int(wanted) % len(names)
    near = difflib.get_close_matches(wanted, names[:MOST_COLUMNS], n=1)
    hint = f"did you mean {printable(near[0])!r}? " if near else ""
    shown = ", ".join(map(printable, names[:12])) + (f", … ({len(names)} in all)" if len(names) > 12 else "")
    raise ValueError(f"{source!r} has no column {printable(wanted)!r}; {hint}Its columns are {shown}")
