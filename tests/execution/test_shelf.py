"""Points go to disk and come back the same; nothing that is finished is lost, nothing damaged is trusted."""

import errno
import os
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineament.execution import files, shelf
from lineament.execution.grid import grid
from lineament.execution.parts import DONE, FAILED, Row, group, join, pack, unpack
from lineament.execution.points import About
from lineament.execution.shelf import Shelf, StoreError
from lineament.execution.tables import table
from lineament.execution.values import Variable, variables

ABOUT = About("trial", {"trial": "1"}, {}, {"python": "3"}, "", "", {})


def row(i, state=DONE, reason=""):
    return Row({"i": i}, state, reason, 0.5)


def made(folder, points=range(5)):
    one = Shelf(folder / "trial")
    one.begin(ABOUT, grid({"i": list(points)}))
    return one


values = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=5)


@settings(max_examples=10)
@given(
    st.lists(st.tuples(values, st.tuples(values)), min_size=1, max_size=5), st.sampled_from(["f8", "i4", "?", "c16"])
)
def test_a_part_comes_back_as_it_was(points, kind):
    rows = [Row({"a": a, "b": b}, FAILED, "why ≠", 0.25) for a, b in points]
    arrays = [np.arange(6).reshape(2, 3).astype(kind) + np.array(k, kind) for k in range(len(rows))]
    given = [(r, {"v": Variable(("x", "y"), a, False)}) for r, a in zip(rows, arrays, strict=True)]
    (part,) = group(given)
    content = pack(part)
    back = unpack(content)
    assert back.rows == tuple(rows)
    assert back.variables["v"].dims == ("x", "y")
    assert np.array_equal(back.variables["v"].array, np.stack(arrays))
    assert pack(back) == content, "the same content has the same bytes, hence the same name"


def test_any_reader_of_zarr_opens_a_part(tmp_path):
    import zarr

    one = made(tmp_path)
    (name,) = one.write([(row(i), variables({"v": np.arange(3.0) + i})) for i in range(2)])
    with zarr.storage.ZipStore(one._path(name), mode="r") as store:
        assert np.array_equal(zarr.open_group(store, mode="r")["v"][:], [[0, 1, 2], [1, 2, 3]])


def test_points_of_different_layouts_lie_apart_and_join_once():
    parts = group([(row(0), variables(1.0)), (row(1), variables(np.ones(2))), (row(2), variables(2.0)), (row(3), {})])
    assert sorted(len(part.rows) for part in parts) == [1, 1, 2]
    twice = join([parts[0], parts[0]])
    assert [r.point["i"] for r in twice.rows] == [0, 2]


def test_small_parts_are_merged_and_every_point_stays(tmp_path):
    one = made(tmp_path, range(40))
    for i in range(40):
        one.write([(row(i), variables(float(i)))])
    assert len(one.names()) == 40
    one.tidy()
    assert len(one.names()) == 1
    assert np.array_equal(table(one.grid, one.parts())["value"], np.arange(40.0))


def test_readers_miss_nothing_while_parts_are_merged(tmp_path):
    one = made(tmp_path, range(100))
    stop = threading.Event()

    def tidy():
        while not stop.is_set():
            Shelf(one.folder).tidy()

    tidying = threading.Thread(target=tidy)
    tidying.start()
    try:
        for i in range(100):
            one.write([(row(i), variables(float(i)))])
            if i % 20 == 19:
                seen = {r.point["i"] for part in Shelf(one.folder).parts() for r in part.rows}
                assert seen == set(range(i + 1))
    finally:
        stop.set()
        tidying.join()


def test_a_damaged_part_is_set_aside_with_a_line(tmp_path):
    one = made(tmp_path)
    kept, broken = (one.write([(row(i), variables(float(i)))])[0] for i in range(2))
    path = one._path(broken)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    found = table(one.grid, one.parts())
    assert list(found["status"].values) == ["done", *["missing"] * 4]
    assert len(one.problems) == 1
    assert f"{broken}.zarr.zip is set aside: its content is not what was written" in one.problems[0]
    assert kept in one.names()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_full_or_locked_disk_is_one_clear_line(tmp_path, monkeypatch, code):
    one = made(tmp_path)
    one.write([(row(0), variables(0.0))])

    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(StoreError, match=f"cannot write to the store .*: {os.strerror(code)}. What is stored stays"):
        one.write([(row(1), variables(1.0))])
    monkeypatch.undo()
    assert list(table(one.grid, one.parts())["status"].values[:2]) == ["done", "missing"]
    assert not list(one.folder.rglob("*.part"))


def test_a_slow_rename_shows_the_old_or_the_new_never_a_half(tmp_path, monkeypatch):
    one, replace = made(tmp_path), os.replace

    def slow(*paths):
        time.sleep(0.2)
        replace(*paths)

    monkeypatch.setattr(os, "replace", slow)
    writing = threading.Thread(target=one.write, args=([(row(0), variables(np.ones(1000)))],))
    writing.start()
    while writing.is_alive():
        other = Shelf(one.folder)
        assert len(list(other.parts())) in (0, 1)
        assert other.problems == []
    writing.join()
    assert len(list(Shelf(one.folder).parts())) == 1


def test_tables_pad_what_is_shorter_and_share_what_is_the_same():
    import xarray as xr

    def run(i, length):
        return variables(xr.Dataset({"loss": ("time", np.full(length, float(i)))}, {"time": np.arange(length) * 0.1}))

    rows = [(row(i), run(i, 3)) for i in range(2)]
    shared = table(grid({"i": [0, 1]}), group(rows))
    assert shared["loss"].dims == ("i", "time")
    assert np.array_equal(shared["time"], [0.0, 0.1, 0.2])
    apart = table(grid({"i": [0, 1, 2, 3]}), group([*rows, (row(2), run(2, 5)), (row(3, FAILED, "no"), {})]))
    assert apart["time"].dims == ("i", "time_index")
    assert np.array_equal(apart["loss"].isel(i=1), [1, 1, 1, np.nan, np.nan], equal_nan=True)
    assert apart["loss"].isel(i=3).isnull().all()
    assert apart["reason"].values[3] == "no"


def test_counts_stay_whole_numbers_unless_some_are_missing():
    rows = [(row(i), variables(i)) for i in range(3)]
    assert table(grid({"i": [0, 1, 2]}), group(rows))["value"].dtype.kind == "i"
    assert np.isnan(table(grid({"i": [0, 1, 2, 3]}), group(rows))["value"].values[3])


@pytest.mark.parametrize("returned", ["text", {"a": "text"}, {"status": 1}, [1, [2]], object()])
def test_what_is_no_number_is_refused(returned):
    with pytest.raises(ValueError, match="an experiment must return"):
        variables(returned)


def test_a_merged_part_is_on_the_disk_before_the_small_ones_go(tmp_path, monkeypatch):
    one, seen, write = made(tmp_path), [], files.write
    monkeypatch.setattr(shelf.files, "write", lambda *given, **how: seen.append(how["settle"]) or write(*given, **how))
    for i in range(shelf.MANY):
        one.write([(row(i), variables(float(i)))])
    one.tidy()
    assert seen == [False] * shelf.MANY + [True]
