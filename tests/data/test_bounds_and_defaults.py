"""What data are bounded by, what is taken where nothing is asked for, and edges between one reading and another."""

import gzip
import io
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest

from lineament.core import arguments
from lineament.data import (
    archives,
    catalogue,
    columns,
    components,
    delimited,
    download,
    frequency,
    gas,
    gaussian,
    idx,
    images,
    labels,
    mnist,
    photos,
    pixels,
    tables,
    tasks,
)

RNG = np.random.default_rng(1)
MIB = 1024 * 1024


def test_bounds_are_those_that_messages_and_descriptions_name():
    assert (archives.LARGEST, idx.LARGEST, download.LARGEST) == (2048 * MIB, 1024 * MIB, 256 * MIB)
    assert (delimited.LONGEST_LINE, delimited.SWOLLEN, delimited.SWELLS) == (16 * MIB, 64 * MIB, 250)
    assert 8 * delimited.CELLS == 8 * MIB, "8 MiB in float64"
    assert (columns.MOST_LEVELS, columns.NEVER_AGAIN, columns.MOST_VALUES) == (100, 10, 10_000_000)
    assert (tables.MOST_COLUMNS, labels.LONGEST, photos.LARGEST) == (5000, 80, 32)
    assert ".tsv.bz2" in delimited.ENDINGS


# ---------------------------------------------------------------------------------------------------------
# Computed data


def test_points_in_the_plane_and_the_same_as_images():
    data, pictures = frequency.frequency_points(6, 4), frequency.frequency_images(6, 4)
    for one, other in zip(data, frequency.frequency_points(6, 4, rule="graph", seed=0), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(pictures.images[:, 0, 0], data.points.astype(np.float32))
    np.testing.assert_array_equal(pictures.test_images[:, 0, 0], data.test_points.astype(np.float32))
    np.testing.assert_array_equal(pictures.labels, data.labels)
    whole = frequency.frequency_images()
    assert (len(whole.labels), len(whole.test_labels)) == (10_000, 1000)


def test_what_memory_could_not_hold_is_refused_before_it_is_drawn(monkeypatch):
    """Ten waves at every point; a number for every pixel of images and teachers."""
    monkeypatch.setattr(arguments, "MOST_NUMBERS", 50)
    assert len(frequency.frequency_points(3, 2).points) == 3
    with pytest.raises(ValueError, match="train and test must lead to arrays of at most 50 numbers; got 60"):
        frequency.frequency_points(3, 3)
    monkeypatch.setattr(arguments, "MOST_NUMBERS", 28)
    assert len(gaussian.natural_gaussian(3, 2, size=2).labels) == 3
    for sizes in ((4, 2, 2), (3, 3, 2), (3, 2, 3)):
        with pytest.raises(
            ValueError, match="train, test and classes must lead to arrays of at most 28 numbers; got 32"
        ):
            gaussian.natural_gaussian(*sizes[:2], size=2, classes=sizes[2])
    with pytest.raises(ValueError, match="at most 4096"):
        gaussian.natural_spectrum(4097)


@pytest.mark.parametrize(("classes", "alignment", "flips"), [(2, 1.0, 0.0), (3, -0.5, 0.5)])
def test_gaussian_images_written_out(classes, alignment, flips):
    """White images coloured by √power, mode by mode; the class is the teacher of unit length that answers most."""
    train, test, size = 5, 40, 4
    made = gaussian.natural_gaussian(
        train, test, size=size, classes=classes, exponent=1.5, alignment=alignment, flips=flips, seed=3
    )
    rng = np.random.default_rng(3)
    white, power = rng.standard_normal((train + test, size, size)), gaussian.natural_spectrum(size, 1.5)
    waves = np.exp(-2j * np.pi * np.outer(np.arange(size), np.arange(size)) / size) / np.sqrt(size)

    def coloured(image, gain):
        return (waves.conj() @ ((waves @ image @ waves) * gain) @ waves.conj()).real

    pictures = np.stack([coloured(image, np.sqrt(power)) for image in white])
    teachers = [coloured(each, power ** (alignment / 2)) for each in rng.standard_normal((classes, size, size))]
    answers = np.stack([[np.sum(image * t) / np.linalg.norm(t) for t in teachers] for image in white])
    chosen = answers.argmax(axis=1)
    flipped = np.flatnonzero(rng.random(train) < flips)
    chosen[flipped] = rng.integers(0, classes, len(flipped))
    np.testing.assert_allclose(np.concatenate([made.images, made.test_images])[..., 0], pictures, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(np.r_[made.labels, made.test_labels], chosen)
    assert len(made.classes) == classes


def test_photographs_are_grey_and_halved():
    from skimage import color, data, util

    rocket = color.rgb2gray(util.img_as_float(data.rocket()))
    assert rocket.shape == (427, 640), "an odd height"
    for picture, name in ((util.img_as_float(data.camera()), "camera"), (rocket, "rocket")):
        height, width = (side // 2 for side in picture.shape)
        naive = [
            [picture[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean() for j in (0, 7, width - 1)] for i in range(height)
        ]
        found = photos._grey(name)
        assert (found.shape, found.dtype) == ((height, width), np.float32)
        np.testing.assert_allclose(found[:, [0, 7, -1]], naive, atol=1e-6)


@pytest.mark.parametrize(("rows", "columns", "held_out"), [(3, 4, 3), (1, 3, 1), (2, 10, 5)])
def test_a_quarter_of_the_tiles_is_held_out_and_patches_lie_anywhere_in_them(rows, columns, held_out):
    """Every pixel of a picture of 4 × 4 tiles, and a margin of 3, has a number of its own."""
    height, width = 4 * rows + 3, 4 * columns + 3
    picture = np.arange(height * width, dtype=np.float32).reshape(height, width)
    parts = photos._patches(picture, 2, 4000, 2000, np.random.default_rng(0))
    tiles = []
    for patches, number in zip(parts, (4000, 2000), strict=True):
        assert patches.shape == (number, 2, 2, 1)
        np.testing.assert_array_equal(patches[:, 0, 0] + width + 1, patches[:, 1, 1])
        y, x = np.divmod(patches[:, 0, 0, 0].astype(int), width)
        assert set(y % 4) == set(x % 4) == {0, 1, 2}
        tiles.append(set(zip(y // 4, x // 4, strict=True)))
    assert not tiles[0] & tiles[1]
    assert (len(tiles[0]), len(tiles[1])) == (rows * columns - held_out, held_out)


def test_photographs_that_are_not_asked_for_otherwise(monkeypatch):
    one, other = photos.photographs(16, 8, size=8), photos.photographs(16, 8, size=8, seed=0, names=photos.PHOTOGRAPHS)
    np.testing.assert_array_equal(one.images, other.images)
    np.testing.assert_array_equal(one.labels, other.labels)
    whole = photos.photographs()
    assert (whole.images.shape, whole.test_images.shape) == ((2000, 16, 16, 1), (800, 16, 16, 1))
    assert photos.photographs(8, 8, size=2).shape == (2, 2, 1)
    for wrong in (
        {"size": 33},
        {"size": 1},
        {"names": ("camera", "camera")},
        {"train": 12},
        {"test": 12},
        {"seed": -1},
    ):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            photos.photographs(**{"train": 8, "test": 8} | wrong)
    assert len(photos.photographs(2, 2, names=("camera", "coffee")).classes) == 2


# ---------------------------------------------------------------------------------------------------------
# Pixels and components


@pytest.mark.parametrize(("side", "frequency"), [(10, 3), (25, 7), (33, 11)])
def test_a_frequency_on_the_circle_is_kept_whatever_its_rounding(side, frequency):
    """3/10 times 10 is more than 3."""
    assert np.fft.fftfreq(side)[frequency] * side > frequency
    wave = np.cos(2 * np.pi * frequency * np.arange(side) / side)[None, :, None, None] * np.ones((1, 1, side, 1))
    np.testing.assert_allclose(pixels.low_pass(wave, frequency), wave, atol=1e-12)
    np.testing.assert_allclose(pixels.low_pass(wave, frequency * (1 - 1e-9)), 0, atol=1e-12)


def test_one_number_is_an_example():
    found = components.fit([[1.0], [3.0]])
    np.testing.assert_allclose(np.abs(found.coordinates([[5.0]])), 3)
    np.testing.assert_allclose(found.variances, [1.0])
    assert components.separable_labels(found, [[5.0]], [0], 1)[0].tolist() == [0]
    assert found.coordinates(np.ones((1, 1, 1))).shape == (1, 1)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_whitening_of_any_scale_is_undone(scale):
    X = scale * RNG.normal(size=(6, 9))
    found, others = components.fit(X), scale * RNG.normal(size=(4, 9))
    np.testing.assert_allclose(found.unwhiten(found.whiten(X)), X, atol=1e-9 * scale)
    np.testing.assert_allclose(found.unwhiten(found.whiten(X, "pca"), "pca"), X, atol=1e-9 * scale)
    back = found.unwhiten(found.whiten(others, "zca", 0.1), "zca", 0.1)
    np.testing.assert_allclose(back, others, atol=1e-9 * scale)
    covariance = found.directions.T * found.variances @ found.directions
    values, vectors = np.linalg.eigh(covariance + 0.1 * np.trace(covariance) / 9 * np.eye(9))
    expected = (others - X.mean(axis=0)) @ (vectors / np.sqrt(values)) @ vectors.T
    np.testing.assert_allclose(found.whiten(others, "zca", 0.1), expected, atol=1e-9)


def test_a_data_set_may_have_one_test_image():
    few = images.Images(
        np.ones((2, 1, 1, 1), "f"), np.arange(2), np.ones((1, 1, 1, 1), "f"), np.zeros(1, int), ("a",), "n"
    )
    assert len(few.first(1).test_labels) == 1
    assert len(few.first(2, 1).labels) == 2


# ---------------------------------------------------------------------------------------------------------
# Files


def test_bytes_as_numbers():
    np.testing.assert_array_equal(mnist._unit(np.array([0, 255], np.uint8)), [0, 1])
    found = mnist.small_digits()
    assert (len(found.labels), len(found.test_labels)) == (1500, 297)
    from sklearn.datasets import load_digits

    np.testing.assert_array_equal(np.r_[found.labels, found.test_labels], load_digits().target)
    np.testing.assert_allclose(found.rows()[1][-1], load_digits().data[-1] / 16 - 0.5)


def test_mnist_is_there_when_all_four_files_are(tmp_path, monkeypatch):
    monkeypatch.setenv(mnist.VARIABLE, str(tmp_path))
    (tmp_path / "mnist").mkdir()
    for name in mnist.SHA256:
        assert not mnist.has_mnist()
        (tmp_path / "mnist" / name).touch()
    assert mnist.has_mnist()
    monkeypatch.delenv(mnist.VARIABLE)
    assert not mnist.has_mnist()


def test_idx_files_at_their_bounds(tmp_path, monkeypatch):
    path = tmp_path / "file"
    for raw, message in (
        (b"\0\0\x08\1", "cut off within its header of 8 bytes: it has 4"),
        (b"\0\0\x08", "no idx file"),
    ):
        path.write_bytes(raw)
        with pytest.raises(ValueError, match=message):
            idx.read_idx(path)
    path.write_bytes(b"\0\0\x08\0\7")
    assert idx.read_idx(path) == 7
    path.write_bytes(b"\0\0\x08\1\0\0\0\0")
    assert idx.read_idx(path).shape == (0,)
    path.write_bytes(gzip.compress(b"\0\0\x08\1\0\0\0\2ab"))
    monkeypatch.setattr(idx, "LARGEST", 10)
    assert idx.read_idx(path).tolist() == [97, 98]
    monkeypatch.setattr(idx, "LARGEST", 9)
    with pytest.raises(ValueError, match="must unpack to at most"):
        idx.read_idx(path)


def test_archives_at_their_bounds(tmp_path, monkeypatch):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.ones((2, 2)), y=np.ones(2))
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    monkeypatch.setattr(archives, "LARGEST", size)
    assert set(archives.read_archive(path)) == {"X", "y"}
    monkeypatch.setattr(archives, "LARGEST", size - 1)
    with pytest.raises(ValueError, match="must unpack to at most"):
        archives.read_archive(path)


def test_which_arrays_are_features_and_targets(tmp_path):
    two = {"p": np.zeros(2), "q": np.zeros((2, 2))}
    assert archives.pair({"DATA": two["q"], "Target": two["p"], "w": two["p"]}, None, tmp_path) == ("DATA", "Target")
    assert archives.pair({"x": two["q"], "y": two["p"]}, "y", tmp_path) == ("x", "y")
    assert archives.pair(two, "p", tmp_path) == ("q", "p")
    for held, target, message in (
        ({"x": 0, "y": 0}, "x", "holds its targets as the array y; leave the target 'x' out"),
        (two | {"r": np.zeros(1)}, "p", "must hold arrays X and y"), (two, "r", "must hold arrays X and y"),
        ({}, None, "got nothing"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            archives.pair(held, target, tmp_path)


# ---------------------------------------------------------------------------------------------------------
# Where data sets are looked for


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """No files anywhere, and no network; a list of the addresses that are asked for."""
    asked = []

    def offline(url, timeout):
        asked.append((url, timeout))
        raise OSError("no network")

    monkeypatch.setenv(catalogue.VARIABLE, str(tmp_path))
    monkeypatch.setattr(catalogue, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(download.urllib.request, "urlopen", offline)
    return tmp_path, asked


def test_what_is_missing_is_downloaded_only_where_that_was_said(empty):
    _, asked = empty
    for load in (gas.ethanol, lambda: tasks.real("cats-dogs"), lambda: catalogue.load_table(gas.NAME, download=False)):
        with pytest.raises(FileNotFoundError, match="was not found in"):
            load()
    assert asked == []
    assert not gas.has_gas()
    for number, load in enumerate((catalogue.load_table, catalogue.load), start=1):
        with pytest.raises(FileNotFoundError, match="The download failed: no network"):
            load((gas.NAME, "fashion-mnist")[number - 1])
        assert (len(asked), asked[-1][1]) == (number, 60)
    with pytest.raises(ValueError, match="is a table, which load_table reads"):
        catalogue.load(gas.NAME)
    for wrong in ("cifar-10", 3):
        with pytest.raises(ValueError, match="name must be one of gas-sensors; got"):
            catalogue.load_table(wrong)


def test_training_batches_may_be_missing_where_that_is_allowed(empty):
    root, _ = empty
    entry = catalogue.entry("cifar-10")
    *batches, test = entry.files
    for file in (batches[2], test):
        (root / file.path).parent.mkdir(exist_ok=True)
        (root / file.path).touch()
    kept = [file for file in batches if file is not batches[2]]
    assert catalogue.missing(entry, root) == kept
    assert catalogue.missing(entry, root, partial=True) == []
    assert catalogue.locate("cifar-10") is None
    assert catalogue.locate("cifar-10", partial=True) == root
    said = catalogue.advice(entry, [root / "elsewhere", root])
    assert f"into {root} (partial=True makes do with the batches that are there)" in said
    assert "partial=True" not in catalogue.advice(entry, [root], partial=True)
    assert "partial=True" not in catalogue.advice(entry, [root / "elsewhere"])
    fashion = catalogue.entry("fashion-mnist")
    (root / fashion.files[0].path).parent.mkdir()
    (root / fashion.files[0].path).touch()
    assert "partial=True" not in catalogue.advice(fashion, [root])
    (root / test.path).unlink()
    assert catalogue.missing(entry, root, partial=True) == [test]


def test_concentrations_are_those_whose_logarithm_was_centred(monkeypatch):
    """ln(1 + ppm) less 4.3565 is what the table holds."""
    ppm, X = np.array([2.5, 75.0, 600.0]), RNG.normal(size=(3, 4))
    given = []
    table = tables.arrays(X, np.log1p(ppm) - 4.3565)
    monkeypatch.setattr(gas.catalogue, "load_table", lambda *what, **how: given.append((what, how)) or table)
    features, found = gas.ethanol()
    np.testing.assert_array_equal(features, X)
    np.testing.assert_allclose(found, ppm)
    assert given == [(("gas-sensors",), {"folder": None, "download": False})]


def test_a_task_is_rows_of_normalised_pixels():
    given = photos.photographs(16, 8, size=4)
    made = tasks.prepared(given)
    assert (made.X.shape, made.tests.shape, made.classes) == ((16, 16), (8, 16), 8)
    np.testing.assert_allclose([made.X.mean(), made.X.std()], [0, 1], atol=1e-5)
    np.testing.assert_array_equal(made.one_hot.argmax(axis=1), given.labels)
    assert made.sizes["image"] == "4×4×1"


class Answer(io.BytesIO):
    """What an address says, with its length or without."""

    headers: dict[str, str]


@pytest.mark.parametrize("told", [True, False])
def test_a_download_of_just_the_largest_size_is_taken(tmp_path, monkeypatch, told):
    content, seen = b"0123456789", []
    monkeypatch.setattr(download, "LARGEST", 10)
    monkeypatch.setattr(download, "PIECE", 4)

    def answer(url, timeout):
        page = Answer(content)
        page.headers = {"Content-Length": str(len(content))} if told else {}
        return page

    monkeypatch.setattr(download.urllib.request, "urlopen", answer)
    sha = "sha256:" + download.hashlib.sha256(content).hexdigest()
    files = [download.File("a/b/c", sha, "https://x"), download.File("d", sha, "https://y")]
    placed = download.fetch(files, tmp_path, lambda *said: seen.append(said))
    assert placed == [tmp_path / "a/b/c", tmp_path / "d"]
    assert [path.read_bytes() for path in placed] == [content] * 2
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["c", "d"]
    whole = 10 if told else None
    assert seen == [(url, done, whole) for url in ("https://x", "https://y") for done in (4, 8, 10)]
    assert download.fetch(files[:1], tmp_path) == placed[:1], "what is there is written again"
    monkeypatch.setattr(download, "LARGEST", 9)
    with pytest.raises(ValueError, match="must have at most 0 MiB"):
        download.fetch(files[:1], tmp_path)


def test_members_of_an_archive_are_bounded_too(tmp_path, monkeypatch):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("m")
        info.size = 5000
        archive.addfile(info, io.BytesIO(bytes(5000)))
    page = Answer(packed.getvalue())
    page.headers = {}
    monkeypatch.setattr(download.urllib.request, "urlopen", lambda url, timeout: page)
    monkeypatch.setattr(download, "LARGEST", 4999)
    with pytest.raises(ValueError, match="https://x: m must have at most"):
        download.fetch([download.File("m", "sha256:0", "https://x", "m")], tmp_path)


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    file = download.File("a", "sha1:" + download.hashlib.sha1(b"x").hexdigest(), "https://x")

    def full(part, path):
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(download.os, "replace", full)
        with pytest.raises(OSError, match="no space"):
            file.place(tmp_path, b"x")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match="a is missing"):
        file.verify(tmp_path)
    assert file.place(tmp_path, b"x") == file.verify(tmp_path) == tmp_path / "a"
    (tmp_path / "a").write_bytes(b"y")
    with pytest.raises(ValueError, match="is not the original a: its sha1 is"):
        file.verify(tmp_path)


# ---------------------------------------------------------------------------------------------------------
# Columns


def surveyed(*parts, hold=False):
    found, first = columns.Survey("c"), 1
    for part in parts:
        found.see(pd.Series(part), first, hold)
        first += len(part)
    return found


def test_numbers_and_words_are_counted():
    assert surveyed([1.0, np.nan, 2.0]).numbers == 2
    assert surveyed(["1", "x", "2", None]).numbers == 2
    assert surveyed(["1", "x"], [3.0]).numbers == 2
    assert surveyed([True, False]).odd == {"truth value": (1, "True")}
    assert surveyed([1.0], [False]).odd == {"truth value": (2, "False")}
    assert surveyed([1.0]).held == []
    assert [part.tolist() for part in surveyed([1.0], ["2", "x"], [3.0], hold=True).held] == [[1.0]]
    assert surveyed([1.0, 5.0]).feature("t", "median").fill is None


@pytest.mark.parametrize(
    ("parts", "numbers"),
    [
        ((["1", "2"],), True), ((["a", "b"],), False), ((["true", "False"],), False), (([True, False],), False),
        ((["x", "true"],), False), ((["inf", "1"],), True), ((["1"], [2.0]), True), ((["x", "2020-01-31"],), False),
    ],
)  # fmt: skip
def test_targets_are_numbers_or_classes(parts, numbers):
    assert surveyed(*parts).holds_numbers("t") is numbers


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((["1", "x"],), "got '1' and, in example 2, 'x'"),
        (([1.0, 2.0], ["x"]), "got 'numbers' and, in example 3, 'x'"),
        ((["true", "1"],), "got '1' and, in example 1, 'true'"),
        ((["5", "true", "x"],), "got '5' and, in example 3, 'x'"),
        ((["2020-01-31", "1"],), "got a date, '2020-01-31', in example 1"),
    ],
)
def test_targets_that_are_both_are_refused(parts, said):
    with pytest.raises(ValueError, match=said):
        surveyed(*parts).holds_numbers("t")


def test_of_several_odd_values_the_first_is_named():
    with pytest.raises(ValueError, match="in example 2, 'x'"):
        surveyed(["1", "x", "2020-01-31"]).feature("t", None)
    with pytest.raises(ValueError, match="got 'numbers' and, in example 2, '2020-01-31'"):
        surveyed([1.0], ["2020-01-31", "x"]).feature("t", None)


# ---------------------------------------------------------------------------------------------------------
# Lines


def layout(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    return delimited.layout(tmp_path / "t.csv")


def test_what_a_first_line_is(tmp_path):
    assert layout(tmp_path, "a,1\n2,3\n") == delimited.Layout(",", True, False, ("a", "1"))
    assert layout(tmp_path, "1,2\n3,4\n") == delimited.Layout(",", False, False, ("0", "1"))
    assert layout(tmp_path, '"1,5","2,5"\n1,2\n').header
    assert layout(tmp_path, "1,5;2\n2,5;3\n") == delimited.Layout(";", False, False, ("0", "1"), ",")
    assert layout(tmp_path, "a;b\n1,5;2.5\n").decimal == "."
    assert layout(tmp_path, "a;b\n1;x,1\n").decimal == "."
    assert layout(tmp_path, "a b\nr 1 2\n").row_names
    assert not layout(tmp_path, "a,b\n1,2,\n").row_names
    assert not layout(tmp_path, "1,b\n1,2,3,4\n").row_names
    assert not layout(tmp_path, "1,2\n1,2,3\n").row_names
    assert [delimited._separator(line) for line in ("1,5", "1,5;2,5", "x;1,5", "1;2")] == [",", ";", ",", ";"]


def test_pieces_and_the_spaces_in_them(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text('a,b,y\n1, "p, q",2\n3, "p, q",4\n5, r,6\n')
    table = tables.read(tmp_path / "t.csv")
    assert table.features == ("a", "b=p, q", "b=r")
    monkeypatch.setattr(delimited, "CELLS", 1)
    assert [len(y) for _, y in table.chunks()] == [1, 1, 1]
    (tmp_path / "r.txt").write_text('"w" "v" "y"\n"r1" p 1,5 2\n"r2" q 2,5 3\n"r3" p 3 4\n'.replace(" ", ";"))
    named = tables.read(tmp_path / "r.txt")
    assert named.features == ("w=p", "w=q", "v")
    np.testing.assert_array_equal(
        np.concatenate([X for X, _ in named.chunks()]), [[1, 0, 1.5], [0, 1, 2.5], [1, 0, 3]]
    )


def test_a_swollen_file_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "SWOLLEN", 10_000)
    monkeypatch.setattr(delimited, "SWELLS", 10)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000))
    with pytest.raises(delimited.NoTableError, match="over 10 times"):
        delimited.layout(tmp_path / "t.csv.gz")


def test_bytes_that_are_counted():
    read = delimited._Bounded(io.BytesIO(b"12345\n12\n\n3"), None)
    assert (read.done, read.line) == (0, 0)
    assert (read.read(0), read.readline(0)) == (b"", b"")
    for size, line, done in ((4, 4, 4), (2, 0, 6), (2, 2, 8), (1, 0, 9), (2, 1, 11)):
        read.read(size)
        assert (read.line, read.done) == (line, done)
    begins = delimited._Bounded(io.BytesIO(b"ab\ncd"), None)
    begins.read(2)
    begins.read(3)
    assert begins.line == 2, "a piece that begins with the end of a line"
    assert delimited._Bounded(io.BytesIO(b"ab\ncd"), None).read(None) == b"ab\ncd"


# ---------------------------------------------------------------------------------------------------------
# Tables


def test_words_are_listed_up_to_six():
    for count, listed in ((6, "a, b, c, d, e, f"), (7, "a, b, c, d, e, f, …")):
        words = list("abcdefg"[:count])
        frame = pd.DataFrame({"w": words * 2, "y": np.arange(2.0 * count)})
        (notice,) = tables.frame(frame).notices
        assert notice == f"column 'w' holds words and became {count} columns of 0 and 1, one for each: {listed}"


def test_columns_are_listed_up_to_twelve():
    for count, listed in ((12, "c0, .*, c11$"), (13, r"c0, .*, c11, … \(13 in all\)$")):
        frame = pd.DataFrame(np.zeros((2, count)), columns=[f"c{i}" for i in range(count)])
        with pytest.raises(ValueError, match=f"has no column 'zzz'; Its columns are {listed}"):
            tables.frame(frame, choose=tables._Choice(target="zzz"))


def test_words_that_become_too_many_columns_are_refused(monkeypatch):
    frame = pd.DataFrame({"w": list("abcdabcd"), "y": np.arange(8.0)})
    monkeypatch.setattr(tables, "MOST_COLUMNS", 4)
    assert len(tables.frame(frame).features) == 4
    monkeypatch.setattr(tables, "MOST_COLUMNS", 3)
    with pytest.raises(ValueError, match="must have at most 3 feature columns; got 4"):
        tables.frame(frame)


def test_what_is_no_frame_or_no_choice_is_refused(tmp_path):
    for wrong, message in (
        (lambda: tables.frame(pd.DataFrame()), "must have at least two columns"),
        (lambda: tables.frame(np.ones((2, 2))), "data must be a data frame"),
        (lambda: tables.frame(pd.DataFrame({"a": [1.0], "b": [2.0]}), choose=3), "choose must be"),
        (lambda: tables.read("iris", impute="mean"), "impute must be one of 'median'"),
        (lambda: tables.read("iris", classes="yes"), "classes must be"),
        (lambda: tables.read("iris", target=3), "target must be the name or the number of a column"),
        (lambda: tables.read("iris", "0"), "has its own target"),
        (lambda: tables.read("irsi"), "did you mean 'iris'"),
        (lambda: tables.read("xyzzy"), "xz\\); Known"),
        (lambda: tables.read(tmp_path / "no.csv"), "there is no file"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()


def test_targets_of_bundled_tables_and_whether_they_are_classes():
    found = {name: tables.read(name) for name in tables.BUNDLED}
    assert {name: table.classes for name, table in found.items()} == {
        "breast-cancer": True, "diabetes": False, "digits": True, "iris": True, "linnerud": False, "wine": True,
    }  # fmt: skip
    assert found["iris"].targets == ("class",)
    assert found["diabetes"].targets == ("target",)
    assert found["linnerud"].targets == ("Weight", "Waist", "Pulse")


def test_some_columns_of_a_bundled_table():
    whole, some = tables.read("iris"), tables.read("iris", use=["3", "0"])
    assert some.features == ("petal width (cm)", "sepal length (cm)")
    assert tables.read("iris", use=["3", "0"], drop=["0"]).features == ("petal width (cm)",)
    (rows, y), (all_rows, all_y) = (next(iter(table.chunks())) for table in (some, whole))
    np.testing.assert_array_equal(rows, all_rows[:, [3, 0]])
    np.testing.assert_array_equal(y, all_y)
    with pytest.raises(ValueError, match="must keep at least one feature column; all were left out"):
        tables.read("iris", use=["0"], drop=["0"])


def test_a_frame_of_features_beside_its_targets():
    X = pd.DataFrame({"n": [1.0, 2.0, 3.0], "w": ["a", "b", "a"]})
    found = tables.joined(X, np.arange(3.0), "both")
    assert (found.name, found.features, found.targets) == ("both", ("n", "w=a", "w=b"), ("y",))
    ((rows, y),) = found.chunks()
    np.testing.assert_array_equal(rows, [[1, 1, 0], [2, 0, 1], [3, 1, 0]])
    np.testing.assert_array_equal(y, [0, 1, 2])
    assert tables.joined(np.ones((3, 2)), np.arange(3.0)).features == ("x0", "x1")
    with pytest.raises(ValueError, match="example 2"):
        tables.joined(pd.DataFrame({"n": ["1", "x"]}), np.arange(2.0))


def test_downloads_go_to_the_users_cache():
    assert catalogue.cache_folder().parts[-2:] == ("lineament", "data")


def test_only_archives_are_looked_through_for_bombs(tmp_path, monkeypatch):
    looked = []
    monkeypatch.setattr(archives, "refuse_bomb", lambda path: looked.append(path.suffix))
    for ending, (reader, _) in tables.FRAMES.items():
        monkeypatch.setattr(pd, reader, lambda path: pd.DataFrame({"a": [1.0], "b": [2.0]}))
        (tmp_path / f"t{ending}").touch()
        assert tables.read(tmp_path / f"t{ending}").targets == ("b",)
    assert looked == [".xlsx"]


def test_objects_that_are_numbers_become_numbers():
    for given, kind in (([1, None], "f"), ([True, 2], "f"), ([True, False], "O"), ([1, "a"], "O"), ([None, "a"], "O")):
        assert tables._plain(np.array(given, object)).dtype.kind == kind
    np.testing.assert_array_equal(tables._plain(np.array([1, None], object)), [1, np.nan])
    assert tables._plain(np.array([1, 2])).dtype.kind == "i"
