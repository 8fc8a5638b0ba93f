"""idx files written by hand, MNIST where it is at hand, and errors that say what to do."""

import gzip
import os
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineament.data import mnist as digits
from lineament.data.idx import read_idx

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def idx(array, kind):
    header = bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(TYPES[kind]).tobytes()


@settings(max_examples=25)
@given(
    st.sampled_from(sorted(TYPES)),
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.booleans(),
    st.integers(0, 9),
)
def test_what_was_written_is_read(tmp_path_factory, kind, shape, packed, seed):
    array = np.random.default_rng(seed).integers(-100, 100, shape).astype(TYPES[kind])
    path = tmp_path_factory.mktemp("idx") / "file"
    path.write_bytes(gzip.compress(idx(array, kind)) if packed else idx(array, kind))
    found = read_idx(path)
    np.testing.assert_array_equal(found, array)
    assert found.dtype.isnative


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "no idx file"),
        (b"\1\0\x08\1", "no idx file"),
        (b"\0\0\x07\1\0\0\0\1\0", "no idx file"),
        (b"\0\0\x08\2\0\0\0\1", "cut off within its header"),
        (b"\0\0\x08\1\0\0\0\3ab", "should hold 3 bytes"),
    ],
)
def test_broken_files_are_refused(tmp_path, raw, message):
    (tmp_path / "file").write_bytes(raw)
    with pytest.raises(ValueError, match=message):
        read_idx(tmp_path / "file")


def test_missing_data_says_what_to_put_where(monkeypatch, tmp_path):
    monkeypatch.delenv(digits.VARIABLE, raising=False)
    assert not digits.has_mnist()
    with pytest.raises(FileNotFoundError, match=r"LINEAMENT_DATA.*train-images-idx3-ubyte\.gz.*small_digits"):
        digits.mnist()
    monkeypatch.setenv(digits.VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match="is missing"):
        digits.mnist()


def test_an_altered_file_is_refused(tmp_path):
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(np.zeros((1, 2, 2)), 0x08)))
    with pytest.raises(ValueError, match="not the original"):
        digits.mnist(tmp_path)


def test_the_bundled_digits():
    found = digits.small_digits()
    assert found.images.shape == (1500, 8, 8)
    assert found.test_images.shape == (297, 8, 8)
    assert "8×8" in found.name
    assert set(found.labels) == set(found.test_labels) == set(range(10))
    rows, test_rows = found.rows()
    assert rows.shape == (1500, 64)
    assert test_rows.dtype == np.float32
    assert (rows.min(), rows.max()) == (-0.5, 0.5)


@pytest.mark.data
@pytest.mark.skipif(digits.VARIABLE not in os.environ, reason="LINEAMENT_DATA is not set")
def test_mnist():
    found = digits.mnist()
    assert found.images.shape == (60000, 28, 28)
    assert found.test_images.shape == (10000, 28, 28)
    np.testing.assert_array_equal(found.labels[:10], [5, 0, 4, 1, 9, 2, 1, 3, 1, 4])
    np.testing.assert_array_equal(found.test_labels[:5], [7, 2, 1, 0, 4])
    assert found.images.mean() == pytest.approx(0.1307, abs=1e-4)
    assert found.images.max() == 1
