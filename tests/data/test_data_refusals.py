"""Files and arguments that are not what they should be are refused by name."""

import gzip
import struct

import numpy as np
import pytest

from lineament.data import components, frequency, gaussian, idx, pixels

WAVES = {"frequencies": [1.0], "phases": [0.0]}
GREY = np.random.default_rng(0).normal(size=(3, 2, 2, 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: frequency.partial_labels(np.ones((2, 3)), **WAVES), r"points must be \(n, 2\)"),
        (lambda: frequency.partial_labels(np.ones(2), **WAVES), r"points must be \(n, 2\)"),
        (
            lambda: frequency.partial_labels(np.ones((2, 2)), rule="both", **WAVES),
            "rule must be one of 'graph', 'sign'",
        ),
        (lambda: gaussian.natural_gaussian(flips=-0.1), "flips must be a finite number of at least 0 and at most 1"),
        (lambda: gaussian.natural_gaussian(flips=1.1), "flips must be a finite number of at least 0 and at most 1"),
        (lambda: gaussian.natural_gaussian(train=0), "train must be a whole number of at least 1"),
        (lambda: gaussian.natural_gaussian(test=0), "test must be a whole number of at least 1"),
        (lambda: gaussian.natural_gaussian(classes=1), "classes must be a whole number of at least 2"),
        (lambda: pixels.normalise_channels(GREY, np.ones((2, 2, 2, 3))), "all images must have 1 channels"),
        (lambda: pixels.normalise_channels(np.ones((3, 2, 2, 1))), "train must vary in every channel"),
        (lambda: pixels.low_pass(GREY, -1.0), "cutoff must be a finite number of at least 0"),
        (lambda: pixels.low_pass(GREY, np.inf), "cutoff must be a finite number of at least 0"),
        (lambda: components.fit(GREY.reshape(3, 4)).unwhiten(np.ones((2, 5)), "pca"), r"Z must be \(n, 2\)"),
        (lambda: components.fit(GREY.reshape(3, 4)).unwhiten(np.ones(2), "pca"), r"Z must be \(n, 2\)"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def idx_file(array, kind=0x08):
    return b"\0\0" + bytes([kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def test_an_idx_file_is_read_packed_or_not_and_refused_when_damaged(tmp_path):
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    whole, path = idx_file(array), tmp_path / "images"
    for raw in (whole, gzip.compress(whole)):
        path.write_bytes(raw)
        np.testing.assert_array_equal(idx.read_idx(path), array)
    big = np.array([1.5, -2.0], dtype=">f4")
    path.write_bytes(idx_file(big, 0x0D))
    np.testing.assert_array_equal(idx.read_idx(path), [1.5, -2.0])
    for raw, message in (
        (b"\0\0", "is no idx file"),
        (b"\1" + whole[1:], "is no idx file"),
        (b"\0\0\7" + whole[3:], "is no idx file"),
        (whole[:9], "is cut off within its header"),
        (whole[:-1], "should hold 6 bytes"),
        (whole + b"\0", "should hold 6 bytes"),
    ):
        path.write_bytes(raw)
        with pytest.raises(ValueError, match=message):
            idx.read_idx(path)
