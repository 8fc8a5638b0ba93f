"""Files that were cut, flipped, renamed or blown up, given to whatever reads files of that kind."""

import gzip
import io
import json
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .judge import Outcome, judge

ENDINGS = (".csv", ".tsv", ".csv.gz", ".npz", ".npy", ".parquet", ".xlsx", ".nc", ".json", ".toml", ".txt", ".zip", "")


class Kind(NamedTuple):
    """A kind of file: a whole one, what reads it, and whether damage must show (its content has a checksum)."""

    path: Path
    read: Callable[[Path], Any]
    sealed: bool = False


class Trial(NamedTuple):
    """One damaged file: its kind, what was done to it, and how reading it ended."""

    kind: str
    damage: str
    outcome: Outcome
    fault: str

    def __str__(self) -> str:
        return f"{self.fault:9} {self.kind} {self.damage}: {' '.join(self.outcome.told.split())[:240]}"


def whole_files(folder: Path) -> dict[str, Kind]:
    """One whole file of every kind, written to a folder."""
    import lineament as la
    from lineament import models, problems, recording, starts
    from lineament.claims import registry
    from lineament.core.run import Run
    from lineament.data.idx import read_idx
    from lineament.evidence import Evidence, at_most
    from lineament.execution import reproduce, spec, store, sweep
    from lineament.execution.stores import Store

    rng = np.random.default_rng(0)
    rows = "a,b,word,y\n" + "".join(
        f"{x:.3f},{i},{'xy'[i % 2]},{x * i:.3f}\n" for i, x in enumerate(rng.normal(size=50))
    )
    kinds: dict[str, Kind] = {}

    def add(name: str, content: bytes, read: Callable[[Path], Any], sealed: bool = False) -> None:
        path = folder / name
        path.write_bytes(content)
        kinds[name] = Kind(path, read, sealed)

    add("table.csv", rows.encode(), read_table)
    add("table.tsv", rows.replace(",", "\t").encode(), read_table)
    add("packed.csv.gz", gzip.compress(rows.encode()), read_table)
    arrays = io.BytesIO()
    np.savez_compressed(arrays, X=rng.normal(size=(20, 3)), y=rng.normal(size=20))
    add("arrays.npz", arrays.getvalue(), read_table, True)
    single = io.BytesIO()
    np.save(single, rng.normal(size=(20, 3)))
    add("single.npy.npz", single.getvalue(), read_table)
    for name, content in _frames(rng).items():
        add(name, content, read_table)
    add("digits-idx3-ubyte.gz", gzip.compress(b"\0\0\x08\x03\0\0\0\x02\0\0\0\x03\0\0\0\x03" + bytes(18)), read_idx)
    add("sweep.toml", b'experiment = "math:sqrt"\nstore = "runs"\n[grid]\nx = {linspace = [0, 1, 3]}\n', spec.read)
    net = models.DeepLinear((2, 2))
    trained = la.descend(net, problems.whitened(np.eye(2)), starts.identity(net, 0.1), step_size=0.1, steps=3)
    kinds["run.nc"] = Kind(trained.save(folder / "run.nc"), lambda path: Run.load(path, net))
    record = recording.Recording([0, 1, 2], rng.normal(size=(3, 6, 2)), [0, 1] * 3, rng.normal(size=(6, 2)))
    kinds["recording.npz"] = Kind(record.save(folder / "recording.npz"), recording.Recording.load, True)
    growing = recording.Recorder(rng.normal(size=(6, 2)), path=folder / "growing")
    growing(rng.normal(size=(6, 2)), 0)
    growing.close()
    kinds["growing"] = Kind(folder / "growing", recording.Recording.load, True)
    claim = registry.find("gissin-t1")
    result = reproduce.Result(claim, Evidence([at_most("error", 0.1, 0.5)]), "quick", 0, 1.0, {})
    kinds["evidence.json"] = Kind(store.save(result, folder / "evidence"), store.load)
    sweep.sweep(_cube, {"x": [1.0, 2.0, 3.0]}, store=folder / "runs", workers=1, progress=False)
    kinds["runs"] = Kind(folder / "runs", lambda path: read_store(Store(path)), True)
    return kinds


def _frames(rng: np.random.Generator) -> dict[str, bytes]:
    """Files that need a package of their own, where it is installed."""
    import pandas as pd

    frame, found = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "y"]), {}
    for name, write in (("table.parquet", frame.to_parquet), ("table.xlsx", frame.to_excel)):
        content = io.BytesIO()
        try:
            write(content)
        except ImportError:
            continue
        found[name] = content.getvalue()
    return found


def _cube(x: float) -> float:
    return x**3


def read_table(path: Path) -> list[Any]:
    """All rows of a table, as bytes: to make lists of millions of rows takes longer than to read them."""
    from lineament.data import tables

    return [
        (X.tobytes(), "\0".join(map(str, y)) if y.dtype == object else y.tobytes())
        for X, y in tables.read(path).chunks()
    ]


def read_store(store: Any) -> dict[str, Any]:
    """What the points of a store gave, those that are done."""
    table = store.open()
    done = table["status"].values == "done"
    return {str(x): float(v) for x, v in zip(table["x"].values[done], table["value"].values[done], strict=True)}


def draw(kinds: dict[str, Kind], number: int, seed: int, folder: Path) -> Iterator[Trial]:
    """Damaged files at random."""
    rng = random.Random(seed)
    before = {name: _content(kind.read(kind.path)) for name, kind in kinds.items() if kind.sealed}
    for i in range(number):
        name = rng.choice(list(kinds))
        kind = kinds[name]
        place = folder / f"{i}"
        place.mkdir()
        path = _copied(kind.path, place)
        victim = path if path.is_file() else rng.choice(sorted(p for p in path.rglob("*") if p.is_file()))
        damage = rng.choice(DAMAGES)
        damaged = damage(victim, rng, [k.path for k in kinds.values() if k.path.is_file()])
        given = damaged if path == victim else path
        outcome = judge(partial(kind.read, given))
        fault = outcome.kind if outcome.kind in ("traceback", "hang") else ""
        if outcome.kind == "result" and kind.sealed and damage in CHANGES:
            now = _content(outcome.value)
            same = now.items() <= before[name].items() if isinstance(now, dict) else now == before[name]
            fault = "" if same else "silent"
        shutil.rmtree(place)
        yield Trial(name, damage.__name__, outcome._replace(value=None), fault)


def _content(value: Any) -> Any:
    """What can be compared of what was read."""
    if isinstance(value, dict):
        return value
    outputs = getattr(value, "outputs", value)
    return outputs.tolist() if isinstance(outputs, np.ndarray) else outputs


def _copied(path: Path, place: Path) -> Path:
    target = place / path.name
    return Path(shutil.copytree(path, target) if path.is_dir() else shutil.copy(path, target))


def cut(path: Path, rng: random.Random, others: list[Path]) -> Path:
    """Cut the end off."""
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(max(1, len(content)))])
    return path


def flip(path: Path, rng: random.Random, others: list[Path]) -> Path:
    """Change some bytes."""
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 3, 30])):
        if content:
            content[rng.randrange(len(content))] = rng.randrange(256)
    path.write_bytes(bytes(content))
    return path


def blank(path: Path, rng: random.Random, others: list[Path]) -> Path:
    """Write zeros over a stretch, as a disk that failed does."""
    content = bytearray(path.read_bytes())
    begin = rng.randrange(max(1, len(content)))
    length = min(len(content) - begin, rng.choice([8, 64, 1024]))
    content[begin : begin + length] = bytes(length)
    path.write_bytes(bytes(content))
    return path


def repeat(path: Path, rng: random.Random, others: list[Path]) -> Path:
    """Write a stretch twice."""
    content = path.read_bytes()
    begin = rng.randrange(max(1, len(content)))
    path.write_bytes(content[:begin] + content[max(0, begin - 40) :])
    return path


def swap(path: Path, rng: random.Random, others: list[Path]) -> Path:
    """Put a file of another kind in its place."""
    shutil.copy(rng.choice(others), path)
    return path


def rename(path: Path, rng: random.Random, others: list[Path]) -> Path:
    """Give it another ending."""
    return path.rename(path.with_name(f"renamed{rng.choice(ENDINGS)}"))


def junk(path: Path, rng: random.Random, others: list[Path]) -> Path:
    """Write noise, nothing, a line without end, names that steer a terminal, numbers that no float holds."""
    contents = (
        rng.randbytes(rng.randrange(3000)), b"", b"\n" * 500, b"a" * 200_000,
        b"\xff\xfe" + "a,b\n1,2\n".encode("utf-16le"),
        b"\x1b[31ma,\x1b]0;t\x07b,y\n" + b"1,2,3\n" * 20, b"a,b,y\n" + b"1e999,nan,9" * 9 + b"\n", b'"a,b\n1,2\n',
        ",".join(f"c{i}" for i in range(20_000)).encode() + b"\n" + b"1," * 19_999 + b"1\n",
        b"a" * 70_000 + b",y\n" + b"1,2\n" * 20, b"{" * 100_000, b"[" * 100_000, b"a,b,y\n" + b"1,2\n3,4,5,6,7\n" * 9,
        b"a;b;y\n1,5;2,5;3,5\n" * 9, b"\0" * 4096,
    )  # fmt: skip
    path.write_bytes(rng.choice(contents))
    return path


def bomb(path: Path, rng: random.Random, others: list[Path]) -> Path:
    """Write a small file that unpacks to a large one."""
    if rng.random() < 0.5:
        with gzip.open(path, "wb", compresslevel=9) as file:
            for _ in range(40):
                file.write(b"1,2,3\n" * 150_000)
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(rng.choice(["X.npy", "xl/workbook.xml", "zarr.json"]), bytes(50_000_000))
    return path


def header(path: Path, rng: random.Random, others: list[Path]) -> Path:
    """Claim to hold far more than there is."""
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        content, {"descr": "<f8", "fortran_order": False, "shape": (rng.choice([10**12, 10**18, 2**31]), 3)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", content.getvalue())
        archive.writestr("about.npy", json.dumps({"format": 1}))
    return path


DAMAGES = (cut, flip, flip, blank, repeat, swap, rename, junk, junk, bomb, header)
CHANGES = (cut, flip, blank)  # after which a sealed file holds what it held, or is refused
