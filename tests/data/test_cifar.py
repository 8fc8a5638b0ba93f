"""CIFAR's binary files: tiny ones written by hand in the official format, and the real ones where they are."""

import os

import numpy as np
import pytest
from binaries import records

from lineament.data import catalogue, cifar
from lineament.data.mnist import VARIABLE

real = pytest.mark.skipif(VARIABLE not in os.environ, reason="LINEAMENT_DATA is not set")


@pytest.fixture
def cifar10(tmp_path):
    pixels = {}
    for number, name in enumerate((*cifar.TRAIN, cifar.TEST)):
        raw, pixels[name] = records([number % 10, 3, 5, 7], seed=number)
        (tmp_path / name).write_bytes(raw)
    return tmp_path, pixels


def test_what_was_written_is_read(cifar10):
    folder, pixels = cifar10
    found = cifar.read_cifar10(folder)
    expected = np.concatenate([pixels[name] for name in cifar.TRAIN]) / np.float32(255)
    np.testing.assert_array_equal(found.images, expected)
    np.testing.assert_array_equal(found.test_images, pixels[cifar.TEST] / np.float32(255))
    np.testing.assert_array_equal(found.labels, np.concatenate([[n, 3, 5, 7] for n in range(5)]))
    assert found.images.dtype == np.float32
    assert found.images.flags.c_contiguous
    assert (found.shape, found.name, found.classes[3]) == ((32, 32, 3), "CIFAR-10", "cat")
    assert found.rows()[0].shape == (20, 3072)


def test_missing_batches_are_named_and_used_only_when_asked(cifar10):
    folder, _ = cifar10
    (folder / "data_batch_2.bin").unlink()
    (folder / "data_batch_4.bin").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks data_batch_2\.bin, data_batch_4\.bin.*partial=True"):
        cifar.read_cifar10(folder)
    found = cifar.read_cifar10(folder, partial=True)
    assert (len(found.images), found.name) == (12, "CIFAR-10, 3 of 5 batches")
    (folder / cifar.TEST).unlink()
    with pytest.raises(FileNotFoundError, match=r"test_batch\.bin of CIFAR-10$"):
        cifar.read_cifar10(folder, partial=True)


def test_two_classes_and_pooling(cifar10):
    found = cifar.read_cifar10(cifar10[0])
    pair = found.subset(("horse", "cat"))
    assert pair.classes == ("horse", "cat")
    np.testing.assert_array_equal(pair.labels, [1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0])
    np.testing.assert_array_equal(pair.images[1], found.images[3])
    pooled = pair.pooled(4)
    assert pooled.shape == (8, 8, 3)
    np.testing.assert_allclose(pooled.images[0, 0, 0], pair.images[0, :4, :4].mean((0, 1)), rtol=1e-6)
    few = found.first(3, 2)
    assert (len(few.images), len(few.labels), len(few.test_labels)) == (3, 3, 2)
    np.testing.assert_array_equal(few.images, found.images[:3])


def test_small_mammals_out_of_cifar_100(tmp_path):
    labels = [(16, 80), (3, 0), (16, 36), (16, 65), (7, 99)]
    for name in ("train.bin", "test.bin"):
        raw, pixels = records(labels)
        (tmp_path / name).write_bytes(raw)
    found = cifar.read_small_mammals(tmp_path)
    np.testing.assert_array_equal(found.labels, [4, 0, 2])
    np.testing.assert_array_equal(found.images, pixels[[0, 2, 3]] / np.float32(255))
    assert found.classes == ("hamster", "mouse", "rabbit", "shrew", "squirrel")
    whole = cifar.read_cifar100(tmp_path)
    np.testing.assert_array_equal(whole.labels, [80, 0, 36, 65, 99])
    assert (whole.classes[0], whole.classes[99]) == ("apple", "worm")
    kept = cifar.coarse_records(raw, 16)
    (tmp_path / "train.bin").write_bytes(kept)
    np.testing.assert_array_equal(cifar.read_small_mammals(tmp_path).images, found.images)


def test_broken_files_are_refused(tmp_path, cifar10):
    folder, _ = cifar10
    path = folder / "data_batch_3.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"data_batch_3\.bin is no CIFAR file.*12291 bytes"):
        cifar.read_cifar10(folder)
    path.write_bytes(records([11])[0])
    with pytest.raises(ValueError, match=r"a label of data_batch_1.bin.* is 11"):
        cifar.read_cifar10(folder)
    for name in ("train.bin", "test.bin"):
        (tmp_path / name).write_bytes(records([(16, 1)])[0])
    with pytest.raises(ValueError, match="must hold fine labels among"):
        cifar.read_small_mammals(tmp_path)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: data.subset(("cat", "cow")), "classes must be different ones of airplane"),
        (lambda data: data.subset(()), "classes must be different ones"),
        (lambda data: data.subset(("cat", "cat")), "classes must be different ones"),
        (lambda data: data.first(21), "train must be a whole number of at least 1 and at most 20"),
        (lambda data: data.first(1, 5), "test must be a whole number of at least 1 and at most 4"),
        (lambda data: data.pooled(5), "window must divide"),
    ],
)
def test_what_is_wrong_is_named(cifar10, call, message):
    with pytest.raises(ValueError, match=message):
        call(cifar.read_cifar10(cifar10[0]))


@pytest.mark.data
@real
def test_small_mammals():
    found = catalogue.load("small-mammals", download=False)
    assert found.images.shape == (2500, 32, 32, 3)
    np.testing.assert_array_equal(np.bincount(found.labels), [500] * 5)
    np.testing.assert_array_equal(np.bincount(found.test_labels), [100] * 5)


@pytest.mark.data
@real
def test_cifar_10():
    found = catalogue.load("cifar-10", partial=True, download=False)
    np.testing.assert_array_equal(found.labels[:6], [6, 9, 9, 4, 1, 1])
    np.testing.assert_array_equal(np.bincount(found.test_labels), [1000] * 10)
    pair = catalogue.load("cats-dogs", partial=True, download=False)
    assert len(pair.test_images) == 2000
