"""Tables are read whole or in pieces alike, and what cannot be read is refused by name."""

import gzip

import numpy as np
import pandas as pd
import pytest

from lineament.data import tables


def whole(table):
    X, y = zip(*table.chunks(), strict=True)
    return np.concatenate(X), np.concatenate(y)


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.standard_normal((50, 4)), columns=["a", "b", "c", "price"])


def test_a_csv_file_in_pieces_is_the_file(tmp_path, frame, monkeypatch):
    path = tmp_path / "houses.csv"
    frame.to_csv(path, index=False, float_format="%.17g")
    monkeypatch.setattr(tables, "CELLS", 28)
    table = tables.read(path)
    assert (table.features, table.targets) == (("a", "b", "c"), ("price",))
    assert len(list(table.chunks())) == 8, "seven rows of four numbers in each piece"
    X, y = whole(table)
    np.testing.assert_array_equal(X, frame[["a", "b", "c"]].to_numpy())
    np.testing.assert_array_equal(y, frame["price"].to_numpy())


@pytest.mark.parametrize(("target", "column"), [("b", "b"), ("1", "b"), ("-4", "a"), (None, "price")])
def test_the_target_by_name_or_number(tmp_path, frame, target, column):
    path = tmp_path / "houses.csv"
    frame.to_csv(path, index=False)
    table = tables.read(path, target)
    assert table.targets == (column,)
    assert column not in table.features
    np.testing.assert_allclose(whole(table)[1], frame[column], rtol=1e-12)


def test_layouts(tmp_path, frame):
    frame.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    assert tables.read(tmp_path / "semicolons.csv").features == ("a", "b", "c")
    frame.to_csv(tmp_path / "plain.csv", index=False, header=False)
    plain = tables.read(tmp_path / "plain.csv")
    assert plain.features == ("0", "1", "2")
    assert len(whole(plain)[0]) == 50, "the first line is an example"
    assert "read as an example" in plain.notices[0]
    frame.to_csv(tmp_path / "numbered.csv")
    numbered = tables.read(tmp_path / "numbered.csv")
    assert numbered.features == ("a", "b", "c")
    assert "numbers the rows" in numbered.notices[0]
    with gzip.open(tmp_path / "packed.csv.gz", "wt") as file:
        frame.to_csv(file, index=False)
    np.testing.assert_allclose(whole(tables.read(tmp_path / "packed.csv.gz"))[1], frame["price"])


def test_missing_values_and_classes_pass_through(tmp_path):
    (tmp_path / "t.csv").write_text("a,kind\n1,cat\n,dog\n3,\n")
    X, y = whole(tables.read(tmp_path / "t.csv"))
    np.testing.assert_array_equal(X[:, 0], [1, np.nan, 3])
    assert list(y[:2]) == ["cat", "dog"]
    assert pd.isna(y[2])
    (tmp_path / "t.csv").write_text("a,b\nTrue,1\n,2\nFalse,3\n")
    np.testing.assert_array_equal(whole(tables.read(tmp_path / "t.csv"))[0][:, 0], [1, np.nan, 0])


def test_archives(tmp_path, frame):
    X, y = frame.to_numpy()[:, :3], frame.to_numpy()[:, 3]
    for arrays in ({"X": X, "y": y}, {"y": y, "x": X}, {"inputs": X, "labels": y}):
        np.savez(tmp_path / "t.npz", **arrays)
        found = whole(tables.read(tmp_path / "t.npz"))
        np.testing.assert_array_equal(found[0], X)
        np.testing.assert_array_equal(found[1], y)
    np.savez(tmp_path / "one.npz", table=frame.to_numpy())
    one = tables.read(tmp_path / "one.npz", "1")
    assert (one.features, one.targets) == (("0", "2", "3"), ("1",))
    np.testing.assert_array_equal(whole(one)[1], frame["b"])
    np.savez(tmp_path / "images.npz", X=np.zeros((5, 4, 4)), y=np.arange(5))
    assert len(tables.read(tmp_path / "images.npz").features) == 16


@pytest.mark.parametrize("name", tables.BUNDLED)
def test_bundled_data_sets(name):
    table = tables.read(name)
    X, y = whole(table)
    assert X.shape[1] == len(table.features)
    assert len(X) == len(y) > 10
    assert (y.dtype.kind == "U") == table.classes
    assert (y.ndim == 1 and len(table.targets) == 1) or y.shape[1] == len(table.targets)


@pytest.mark.parametrize(
    ("text", "target", "said"),
    [
        ("a,b\n1,2\n", "prise", "no column 'prise'; Its columns are a, b"),
        ("a,price\n1,2\n", "prise", "did you mean 'price'"),
        ("a,b\n1,2\n", "2", "no column '2'"),
        ("a,town,b\n1,2,3\n2,Bonn,4\n", None, "column 'town' .* must hold numbers; example 2 has 'Bonn'"),
        ("a,b\n", None, "names its columns but holds no examples"),
        ("", None, "cannot be read as CSV: it is empty"),
        ("a\n1\n", None, r"has 1 column\(s\)"),
        ("a,b\n1,2\n1,2,3\n", None, "cannot be read as CSV"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_said(tmp_path, text, target, said):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=said) as error:
        list(tables.read(path, target).chunks())
    assert "\n" not in str(error.value)


def test_a_target_that_turns_into_words_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "CELLS", 4)
    (tmp_path / "t.csv").write_text("a,b\n1,1\n2,2\n3,3\n4,many\n")
    with pytest.raises(ValueError, match=r"target 'b' .* example 4 has 'many'"):
        list(tables.read(tmp_path / "t.csv").chunks())


def test_what_is_no_table_is_refused(tmp_path):
    (tmp_path / "t.npz").write_text("nothing")
    np.savez(tmp_path / "lone.npz", a=np.zeros(3))
    np.savez(tmp_path / "objects.npz", X=np.zeros((2, 2)), y=np.array(["a", None], dtype=object))
    np.savez(tmp_path / "both.npz", X=np.zeros((2, 2)), y=np.zeros(2))
    (tmp_path / "t.xlsx").write_text("")
    for source, target, said in [
        (tmp_path / "t.npz", None, "cannot be read as an .npz archive"),
        (tmp_path / "lone.npz", None, r"it holds a \(3,\)"),
        (tmp_path / "objects.npz", None, "Python objects"),
        (tmp_path / "both.npz", "y", "leave the target 'y' out"),
        (tmp_path / "t.xlsx", None, "must end in .npz, .csv"),
        (tmp_path / "gone.csv", None, "there is no file"),
        ("digit", None, "did you mean 'digits'"),
        ("digits", "x", "has its own target"),
    ]:
        with pytest.raises(ValueError, match=said):
            tables.read(source, target)
    for X, y, said in [
        (np.zeros((2, 2)), np.zeros(3), "equally many rows; got 2 and 3"),
        (np.array([["a"], ["b"]]), np.zeros(2), "X must hold real numbers"),
        (np.zeros(3), np.zeros(3), "X must be a table"),
        (np.zeros((2, 2)), np.zeros((2, 2, 2)), "y must hold one target"),
    ]:
        with pytest.raises(ValueError, match=said):
            tables.arrays(X, y)
