"""Data and what is done to them, against their definitions and at their bounds."""

import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from lineament.data import columns, components, delimited, frequency, gaussian, images, labels, pixels, tables
from lineament.data.entries import CATALOGUE, TABLES

RNG = np.random.default_rng(0)


def test_what_the_catalogue_says_of_each_data_set():
    """Heights, widths, channels, classes, training and test images, as their authors publish them."""
    assert {name: (*entry.shape, entry.classes, entry.train, entry.test) for name, entry in CATALOGUE.items()} == {
        "cifar-10": (32, 32, 3, 10, 50_000, 10_000),
        "cats-dogs": (32, 32, 3, 2, 10_000, 2000),
        "cats-horses": (32, 32, 3, 2, 10_000, 2000),
        "cifar-100": (32, 32, 3, 100, 50_000, 10_000),
        "small-mammals": (32, 32, 3, 5, 2500, 500),
        "mnist": (28, 28, 1, 10, 60_000, 10_000),
        "fashion-mnist": (28, 28, 1, 10, 60_000, 10_000),
        "digits": (8, 8, 1, 10, 1500, 297),
        "photographs": (16, 16, 1, 8, 2000, 800),
        "natural-gaussian": (16, 16, 1, 2, 2000, 1000),
        "frequency": (1, 1, 2, 2, 10_000, 1000),
    }
    assert {name: (entry.rows, entry.features) for name, entry in TABLES.items()} == {"gas-sensors": (2565, 128)}


# ---------------------------------------------------------------------------------------------------------
# Principal components


@pytest.mark.parametrize("shape", [(6, 6), (5, 6), (7, 6)])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_what_counts_as_no_direction_depends_on_the_largest_alone(shape, scale):
    """Variances below the larger side × rounding × the largest are none; both routes agree on that."""
    n, q = shape
    size = min(n, q)
    U, V = (np.linalg.qr(RNG.normal(size=(side, size)))[0] for side in (n, q))
    for last, count in ((1e-6, size), (1e-9, size - 1)):
        s = np.append(np.linspace(1.0, 0.5, size - 1), last)
        found = components.fit(scale * (U * s) @ V.T, centre=False)
        assert found.count == count
        np.testing.assert_allclose(found.variances[:4], (scale * s[:4]) ** 2 / n, rtol=1e-9)
        np.testing.assert_allclose(found.explained[-1], 1, rtol=1e-12)
        np.testing.assert_allclose(found.explained[0], s[0] ** 2 / np.sum(s[:count] ** 2), rtol=1e-6)
        assert found.examples == n


def test_shares_of_components_are_rounded_to_a_number():
    found = components.fit(RNG.normal(size=(40, 10)))
    for share, number in ((0.04, 1), (0.14, 1), (0.16, 2), (0.5, 5), (1.0, 10)):
        assert found.highest(share) == slice(0, number)
        assert found.lowest(share) == slice(10 - number, 10)
    for share in (0.0, 1.01):
        with pytest.raises(ValueError, match="share must be"):
            found.highest(share)


def test_some_coordinates_restore_a_projection():
    X = RNG.normal(size=(30, 5)) + 3
    found = components.fit(X)
    for P in range(6):
        np.testing.assert_allclose(found.restored(found.coordinates(X)[:, :P]), found.project(X, P), atol=1e-12)
    np.testing.assert_allclose(found.project(X, 0), np.tile(X.mean(0), (30, 1)))
    for bad in (np.ones(5), np.ones((2, 6))):
        with pytest.raises(ValueError, match="coordinates must be"):
            found.restored(bad)
    with pytest.raises(ValueError, match="Z must be"):
        found.unwhiten(np.ones(5), "pca")


@pytest.mark.parametrize("P", [1, 3])
def test_separable_labels_are_those_of_least_squares(P):
    X, new = RNG.normal(size=(60, 4)) * [4.0, 2.0, 1.0, 0.5] + 2, RNG.normal(size=(20, 4))
    y = RNG.integers(0, 3, 60)
    found = components.fit(X)
    design = lambda Z: np.c_[found.coordinates(Z)[:, :P], np.ones(len(Z))]  # noqa: E731
    W = np.linalg.lstsq(design(X), np.eye(3)[y], rcond=None)[0]
    here, there = components.separable_labels(found, X, y, P, new)
    np.testing.assert_array_equal(here, np.argmax(design(X) @ W, axis=1))
    np.testing.assert_array_equal(there, np.argmax(design(new) @ W, axis=1))
    for bad in (y - 1, y.astype(float), y[:, None], y[:59]):
        with pytest.raises(ValueError, match="labels must be whole numbers from 0"):
            components.separable_labels(found, X, bad, P)


def test_examples_of_another_kind_are_refused():
    found = components.fit(RNG.normal(size=(9, 3)))
    for bad, message in ((np.ones((2, 4)), "examples of 3 numbers"), (np.ones((0, 3)), "must hold examples")):
        with pytest.raises(ValueError, match=message):
            found.coordinates(bad)
    with pytest.raises(ValueError, match="X must be finite; 1 of its numbers are not"):
        components.fit(np.array([[1.0, np.inf], [2.0, 3.0]]))
    assert components.fit(np.array([[1, 2], [3, 5]])).directions.dtype == np.float64
    with pytest.raises(ValueError, match="part must be"):
        found.amplify(np.ones((2, 3)), 1, 2.0)
    with pytest.raises(ValueError, match="components must be"):
        components.separable_labels(3, np.ones((2, 3)), [0, 1], 1)


# ---------------------------------------------------------------------------------------------------------
# Computed data


@pytest.mark.parametrize(("size", "exponent"), [(4, 2.0), (5, 1.0), (2, 0.0)])
def test_the_natural_spectrum_by_its_formula(size, exponent):
    found = gaussian.natural_spectrum(size, exponent)
    power = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            u, v = min(i, size - i), min(j, size - j)
            power[i, j] = max(np.hypot(u, v), 1.0) ** -exponent
    np.testing.assert_allclose(found, power / power.mean(), rtol=1e-12)
    np.testing.assert_array_equal(gaussian.natural_spectrum(size), gaussian.natural_spectrum(size, 2.0))


def test_gaussian_images_that_are_left_out_of_a_call():
    made = gaussian.natural_gaussian()
    assert (made.images.shape, made.test_images.shape) == ((2000, 16, 16, 1), (1000, 16, 16, 1))
    assert made.classes == ("class 0", "class 1")
    full = gaussian.natural_gaussian(30, 20, size=8, classes=3, exponent=2.0, alignment=1.0, flips=0.0, seed=0)
    short = gaussian.natural_gaussian(30, 20, size=8, classes=3)
    for one, other in zip(full[:4], short[:4], strict=True):
        np.testing.assert_array_equal(one, other)
    assert (len(full.labels), len(full.test_labels)) == (30, 20)
    for bad in ({"classes": 1}, {"flips": 1.1}, {"flips": -0.1}, {"size": 1}, {"train": 0}, {"seed": -1}):
        with pytest.raises(ValueError, match=f"{next(iter(bad))} must be"):
            gaussian.natural_gaussian(**({"train": 4, "test": 4, "size": 4} | bad))


def test_waves_and_the_points_between_them():
    z = np.linspace(-1, 1, 7)
    found = frequency.partial_sums(z, [1.0, 2.5], [0.3, -0.4])
    first = np.sin(2 * np.pi * z + 0.3)
    np.testing.assert_allclose(found, [first, first + np.sin(5 * np.pi * z - 0.4)], atol=1e-12)
    points = np.stack([z, RNG.normal(size=7)], axis=1)
    for rule, height in (("graph", points[:, 1]), ("sign", 0.0)):
        np.testing.assert_array_equal(frequency.partial_labels(points, rule), frequency.partial_sums(z) > height)
    np.testing.assert_array_equal(frequency.partial_labels(points), frequency.partial_labels(points, "graph"))
    made = frequency.frequency_points()
    assert (made.points.shape, made.test_points.shape) == ((10_000, 2), (1000, 2))
    low, high = made.points.min(axis=0), made.points.max(axis=0)
    np.testing.assert_allclose([low, high], [[-1, -2 * np.pi], [1, 2 * np.pi]], rtol=1e-2)
    np.testing.assert_array_equal(made.labels, frequency.partial_labels(made.points)[-1])
    as_images = frequency.frequency_images(6, 4)
    assert (as_images.images.shape, as_images.test_images.shape) == ((6, 1, 1, 2), (4, 1, 1, 2))
    assert (len(frequency.FREQUENCIES), frequency.FREQUENCIES[0], frequency.FREQUENCIES[-1]) == (10, 0, 9)
    assert frequency.PHASES == (0.0, 3.46, 5.08, 0.45, 2.10, 1.4, 5.36, 0.85, 5.9, 5.16)
    for bad in (([1.0, 1.0], [0.0, 0.0]), ([2.0, 1.0], [0.0, 0.0]), ([], []), ([1.0], [0.0, 1.0]), ([[1.0]], [[0.0]])):
        with pytest.raises(ValueError, match="frequencies must rise"):
            frequency.partial_sums(z, *bad)
    with pytest.raises(ValueError, match="z must be a vector"):
        frequency.partial_sums(z[None])
    for bad in (points[:, :1], points[0]):
        with pytest.raises(ValueError, match="points must be"):
            frequency.partial_labels(bad)


# ---------------------------------------------------------------------------------------------------------
# Images


def test_filters_and_pools_of_oblong_images():
    array = RNG.normal(size=(2, 4, 6, 3))
    pooled = pixels.average_pool(array, 2)
    naive = [
        [[array[n, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean((0, 1)) for j in range(3)] for i in range(2)]
        for n in range(2)
    ]
    np.testing.assert_allclose(pooled, naive)
    for window in (4, 3):
        with pytest.raises(ValueError, match="window must divide the sides 4 and 6"):
            pixels.average_pool(array, window)
    y, x = np.arange(4) / 4, np.arange(6) / 6
    wave = np.cos(2 * np.pi * y)[None, :, None, None] * np.cos(2 * np.pi * 2 * x)[None, None, :, None]
    radius = np.hypot(6 / 4, 2)  # in cycles along the larger side, of six pixels
    np.testing.assert_allclose(pixels.low_pass(wave, radius), wave, atol=1e-12)
    np.testing.assert_allclose(pixels.low_pass(wave, radius - 1e-3), 0, atol=1e-12)
    assert pixels.low_pass(array[:, :, :5], 1.0).shape == (2, 4, 5, 3)


def test_one_flat_channel_or_one_bad_number_is_enough_to_refuse():
    flat = RNG.normal(size=(3, 2, 2, 2))
    flat[..., 1] = 5.0
    with pytest.raises(ValueError, match="train must vary in every channel"):
        pixels.normalise_channels(flat)
    bad = RNG.normal(size=(3, 2, 2, 2))
    bad[0, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="must be finite; 1 of its numbers are not"):
        pixels.normalise_channels(bad)
    with pytest.raises(ValueError, match="all images must have 2 channels"):
        pixels.normalise_channels(np.abs(np.nan_to_num(bad)), RNG.normal(size=(1, 2, 2, 1)))


def some_images(n=6, test=4):
    return images.Images(
        RNG.normal(size=(n, 4, 4, 1)).astype(np.float32), np.arange(n) % 3,
        RNG.normal(size=(test, 4, 4, 1)).astype(np.float32), np.arange(test) % 3, ("a", "b", "c"), "some",
    )  # fmt: skip


def test_parts_of_a_data_set():
    whole = some_images()
    assert whole.shape == (4, 4, 1)
    assert [rows.shape for rows in whole.rows()] == [(6, 16), (4, 16)]
    part = whole.subset(["c", "a"])
    assert (part.classes, part.name) == (("c", "a"), "some: c, a")
    np.testing.assert_array_equal(part.labels, [1, 0, 1, 0])
    np.testing.assert_array_equal(part.images, whole.images[[0, 2, 3, 5]])
    np.testing.assert_array_equal(part.test_labels, [1, 0, 1])
    for bad in ([], ["a", "a"], ["a", "d"]):
        with pytest.raises(ValueError, match="classes must be different ones of a, b, c"):
            whole.subset(bad)
    first = whole.first(2, 3)
    assert (len(first.labels), len(first.test_labels)) == (2, 3)
    assert len(whole.first(6).test_labels) == 4
    for bad in ((0,), (7,), (1, 0), (1, 5)):
        with pytest.raises(ValueError, match="must be a whole number"):
            whole.first(*bad)
    assert whole.pooled(2).images.shape == (6, 2, 2, 1)
    assert whole.pooled(2).test_images.shape == (4, 2, 2, 1)


# ---------------------------------------------------------------------------------------------------------
# Names and columns


@pytest.mark.parametrize(
    ("label", "spelt"),
    [(1, "1"), ("1.0", "1"), ("01", "1"), ("1e3", "1000"), ("-0.0", "0"), ("TRUE", "True"), (" cat ", "cat"),
     ("1e15", "1" + 15 * "0"), ("1e16", "1E+16"), ("1e-15", "0." + 14 * "0" + "1"), ("1e-16", "1E-16"), ("nan", "nan")],
)  # fmt: skip
def test_one_spelling_for_each_class(label, spelt):
    assert labels.canonical(label) == spelt


def test_names_are_shown_on_one_short_line():
    assert labels.printable("x" * 80) == "x" * 80
    assert labels.printable("x" * 81) == "x" * 79 + "…"
    assert labels.printable("a\nb") == "a\\nb"
    assert [labels.is_number(text) for text in ("1", " -2.5e3 ", ".5", "1.", "e3", "1e", "inf", "")] == [True] * 4 + [
        False
    ] * 4


@pytest.mark.parametrize(
    ("text", "kind"),
    [("3", "number"), ("True", "truth value"), ("2020-01-31", "date"), ("12:30", "date"), ("3 Mar 2020", "date"),
     ("1.234,5", "decimal comma"), ("1+2j", "complex number"), ("j", "word"), ("-Inf", "infinite value"),
     ("cat", "word"), ("12.5%", "percentage"), ("-3 %", "percentage"), ("%", "word"), ("$1,204.50", "sum of money"),
     ("3 \u20ac", "sum of money"), ("$", "word"), ("1 234 567", "number with gaps or a typeset minus"),
     ("1_000.5", "number with gaps or a typeset minus"), ("\u22121.5", "number with gaps or a typeset minus"),
     ("12 34", "word"), ("5% off", "word")],
)  # fmt: skip
def test_kinds_of_entries(text, kind):
    assert columns._kind(text) == kind


def surveyed(values, first=1, hold=False):
    found = columns.Survey("c")
    found.see(pd.Series(values), first, hold)
    return found


def test_words_that_name_rows_are_no_feature():
    """Ten of which none comes twice; nine may, and so may ten of which one does."""
    words = [f"w{i}" for i in range(10)]
    with pytest.raises(ValueError, match="must hold words that come more than once; got 10 of them"):
        surveyed(words).feature("t", None)
    assert len(surveyed(words[:9]).feature("t", None).levels) == 9
    assert len(surveyed([*words, "w3"]).feature("t", None).levels) == 10
    many = [f"w{i}" for i in range(100)] * 2
    assert len(surveyed(many).feature("t", None).levels) == 100
    with pytest.raises(ValueError, match="at most 100 different words; got more"):
        surveyed([*many, "v", "v"]).feature("t", None)


def test_gaps_are_filled_by_the_median_or_the_commonest_word():
    numbers = surveyed([1.0, 7.0, np.nan, 2.0], hold=True).feature("t", "median")
    assert (numbers.levels, numbers.fill) == (None, 2.0)
    np.testing.assert_array_equal(numbers.encode(pd.Series([np.nan, 4.0])), [[2.0], [4.0]])
    kept = surveyed([1.0, 7.0]).feature("t", None)
    np.testing.assert_array_equal(kept.encode(pd.Series([np.nan, 4.0])), [[np.nan], [4.0]])
    words = surveyed(["b", "a", "b", None], hold=True).feature("t", "median")
    assert (words.levels, words.fill) == (("a", "b"), "b")
    np.testing.assert_array_equal(words.encode(pd.Series(["a", None])), [[1.0, 0.0], [0.0, 1.0]])
    assert surveyed(["b", "a"]).feature("t", None).fill is None
    assert surveyed([np.nan], hold=True).feature("t", "median").fill is None


def test_where_a_column_goes_wrong_is_told():
    with pytest.raises(ValueError, match=r"must hold numbers, or words, not both; got '3' and, in example 12, 'x'"):
        surveyed(["3", None, "x", "4", "x"], first=10).feature("t", None)
    with pytest.raises(ValueError, match=r"got a date, '2020-01-31', in example 6\. Turn it into numbers"):
        surveyed(["1", "2020-01-31"], first=5).feature("t", None)
    with pytest.raises(ValueError, match=r"in example 4\."):
        surveyed(pd.to_datetime(["2020-01-31"]), first=4).feature("t", None)
    assert surveyed([None, None]).empty
    assert not surveyed([1.0]).empty
    assert not surveyed(["a"]).empty
    assert surveyed(["1", "2"]).holds_numbers("t")
    assert not surveyed(["a", "b"]).holds_numbers("t")
    assert not surveyed([True, False]).holds_numbers("t")


def test_medians_need_all_values_at_once(monkeypatch):
    monkeypatch.setattr(columns, "MOST_VALUES", 6)
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]})
    found, rows = columns.survey(["a", "b"], [frame], "median")
    assert (len(found), rows) == (2, 3)
    with pytest.raises(ValueError, match="impute must be left out for tables of more than 6 values"):
        columns.survey(["a", "b"], [frame, frame[:1]], "median")
    assert columns.survey(["a", "b"], [frame, frame[:1]], None)[1] == 4


# ---------------------------------------------------------------------------------------------------------
# Lines of text


def bounded(data, packed=None):
    return delimited._Bounded(io.BytesIO(data), packed if packed is None else SimpleNamespace(tell=lambda: packed))


def test_lines_are_bounded_wherever_pieces_end(monkeypatch):
    monkeypatch.setattr(delimited, "LONGEST_LINE", 10)
    short = bounded(b"123456789\n" * 3)
    assert [short.read(4) for _ in range(3)] == [b"1234", b"5678", b"9\n12"]
    assert short.line == 2
    assert list(bounded(b"12\n345\n6")) == [b"12\n", b"345\n", b"6"]
    assert bounded(b"12345\n").read() == b"12345\n"
    long = bounded(b"1234567890\n")
    long.read(9)
    with pytest.raises(delimited.NoTableError, match="a line must be shorter"):
        long.read(1)


def test_what_unpacks_to_far_more_than_was_read_is_no_table(monkeypatch):
    """Up to a bound anything does; beyond it no more than so many times what was read."""
    monkeypatch.setattr(delimited, "SWOLLEN", 100)
    monkeypatch.setattr(delimited, "SWELLS", 10)
    lines = b"1234\n" * 40
    assert len(bounded(lines, packed=20).read(200)) == 200
    assert len(bounded(lines, packed=1).read(100)) == 100
    with pytest.raises(delimited.NoTableError, match="it unpacks to more than"):
        bounded(lines, packed=19).read(200)
    with pytest.raises(delimited.NoTableError, match="it unpacks to more than"):
        bounded(lines, packed=9).refuse_bomb()
    plain = bounded(lines)
    plain.refuse_bomb()
    assert plain.done == 0
    assert len(plain.read(200)) == 200


@pytest.mark.parametrize(
    ("line", "separator"),
    [
        ("a,b,c;d", ","),
        ("a;b;c,d", ";"),
        ("a\tb", "\t"),
        ("a b", r"\s+"),
        ("1,5;2,5;3", ";"),
        ("1,5;x", ","),
        ("abc", r"\s+"),
    ],
)
def test_what_separates_values(line, separator):
    assert delimited._separator(line) == separator


def test_cells_and_names():
    assert delimited._cells(' a , "b,c" ,d', ",")[0] == "a"
    assert delimited._cells("a   b c", r"\s+") == ["a", "b", "c"]
    assert delimited._cells("", ",") == []
    assert delimited._distinct(("a", "b", "a", "a", "b")) == ("a", "b", "a.1", "a.2", "b.1")


# ---------------------------------------------------------------------------------------------------------
# Tables in memory


@pytest.mark.parametrize(("cells", "sizes"), [(6, [2, 2, 2, 1]), (2, [1] * 7), (21, [7]), (20, [6, 1])])
def test_tables_come_in_pieces_of_so_many_cells(monkeypatch, cells, sizes):
    monkeypatch.setattr(delimited, "CELLS", cells)
    X, y = RNG.normal(size=(7, 3)), np.arange(7.0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for table in (tables.arrays(X, y), tables.frame(frame)):
        pieces = list(table.chunks())
        assert [len(part) for part, _ in pieces] == sizes
    np.testing.assert_array_equal(np.concatenate([part for part, _ in tables.arrays(X, y).chunks()]), X)
    np.testing.assert_array_equal(np.concatenate([part for _, part in tables.arrays(X, y).chunks()]), y)
    assert tables.frame(frame).features == ("a", "b")


def test_names_of_columns_in_memory():
    images = tables.arrays(np.zeros((4, 2, 3)), np.zeros((4, 2)))
    assert (len(images.features), images.targets) == (6, ("y0", "y1"))
    assert (images.features[0], images.features[-1]) == ("x0", "x5")
    assert tables.arrays(np.zeros((4, 2)), np.zeros(4)).targets == ("y",)
    for X, y, said in (
        (np.zeros(3), np.zeros(3), "X must be a table"),
        (np.zeros((3, 0)), np.zeros(3), "X must be a table"),
        (np.zeros((3, 2)), np.zeros((3, 0)), "y must hold one target"),
        (np.zeros((3, 2)), np.zeros((3, 1, 1)), "y must hold"),
        (np.zeros((3, 2)), np.zeros(2), "X and y must have equally many rows; got 3 and 2"),
        (np.zeros((3, 2), complex), np.zeros(3), "X must hold real numbers"),
        (np.array([["a"]]), np.zeros(1), "X must hold"),
        (np.zeros((3, 2)), np.zeros(3, complex), "y must hold real numbers or names"),
        (np.zeros((1, tables.MOST_COLUMNS + 1)), np.zeros(1), "must have at most"),
    ):
        with pytest.raises(ValueError, match=said):
            tables.arrays(X, y)
    assert len(tables.arrays(np.zeros((1, tables.MOST_COLUMNS)), np.zeros(1)).features) == tables.MOST_COLUMNS


def test_columns_are_chosen_by_name_or_number():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5.0, 6.0]})
    choose = lambda **asked: tables.frame(frame, choose=tables._Choice(**asked))  # noqa: E731
    assert (choose().features, choose().targets) == (("a", "b"), ("c",))
    assert (choose(target="a").features, choose(target="0").targets) == (("b", "c"), ("a",))
    assert choose(target="-2").targets == ("b",)
    assert choose(use=("b",)).features == ("b",)
    assert choose(drop=("c",)).targets == ("b",)
    for asked, said in (
        ({"drop": ("a", "b")}, "must have at least two columns"),
        ({"use": ("c",)}, "must keep at least one feature column"),
        ({"target": "d"}, "d"),
        ({"target": "3"}, "3"),
        ({"use": ("d",)}, "d"),
    ):
        with pytest.raises(ValueError, match=said):
            choose(**asked)


def test_classes_are_read_as_they_are_spelt(tmp_path):
    """Names of classes that differ beyond the digits of a float are two classes, and no numbers."""
    first, second = "0.12345678901234567891", "0.12345678901234567892"
    path = tmp_path / "labels.csv"
    path.write_text("a,b\n" + "".join(f"{i},{first if i % 2 else second}\n" for i in range(6)))
    ((_, labels),) = tables.read(path, classes=True).chunks()
    assert set(labels) == {first, second}
