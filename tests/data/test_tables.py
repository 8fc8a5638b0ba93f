"""Tables are read whole or in pieces alike, and what cannot be read is refused by name."""

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.data import archives, delimited, tables
from lineament.data.labels import printable


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
    monkeypatch.setattr(delimited, "CELLS", 28)
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
    assert "numbers or names the rows" in numbered.notices[0]
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


def test_columns_of_words_become_one_column_for_each_word(tmp_path):
    (tmp_path / "t.csv").write_text("a,town,price\n1,Ulm,2\n2,Bonn,3\n3,,4\n4,Bonn,5\n")
    table = tables.read(tmp_path / "t.csv")
    assert table.features == ("a", "town=Bonn", "town=Ulm")
    assert table.notices == ("column 'town' holds words and became 2 columns of 0 and 1, one for each: Bonn, Ulm",)
    np.testing.assert_array_equal(whole(table)[0][:, 1:], [[0, 1], [1, 0], [np.nan] * 2, [1, 0]])
    filled = tables.read(tmp_path / "t.csv", impute="median")
    np.testing.assert_array_equal(whole(filled)[0][:, 1:], [[0, 1], [1, 0], [1, 0], [1, 0]])


def test_missing_numbers_are_filled_by_the_median_on_request(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "CELLS", 4)
    (tmp_path / "t.csv").write_text("a,b\n1,1\n?,2\n10,3\n2,4\nNA,5\n")
    np.testing.assert_array_equal(whole(tables.read(tmp_path / "t.csv"))[0][:, 0], [1, np.nan, 10, 2, np.nan])
    np.testing.assert_array_equal(whole(tables.read(tmp_path / "t.csv", impute="median"))[0][:, 0], [1, 2, 10, 2, 2])


def test_columns_are_chosen_and_left_out(tmp_path, frame):
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert tables.read(tmp_path / "t.csv", use=["c", "a"]).features == ("c", "a")
    assert tables.read(tmp_path / "t.csv", drop=["price"]).targets == ("c",)
    assert tables.read("iris", drop=["1"]).features == (
        "sepal length (cm)", "petal length (cm)", "petal width (cm)",
    )  # fmt: skip
    with pytest.raises(ValueError, match="no column 'pric'; did you mean 'price'"):
        tables.read(tmp_path / "t.csv", drop=["pric"])


SPELLINGS = {"1": ["1", "1.0", "01", " 1", "1e0", "+1"], "True": ["true", "True", "TRUE"], "cat": ["cat", "cat "]}


@given(st.lists(st.sampled_from([(k, s) for k, all_of in SPELLINGS.items() for s in all_of]), min_size=2, max_size=30))
def test_spellings_never_split_a_class_wherever_pieces_end(labels):
    text = "a,kind\n" + "".join(f"{i},{spelt}\n" for i, (_, spelt) in enumerate(labels))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "CELLS", 4)
        path = Path(folder, "t.csv")
        path.write_text(text)
        _, y = whole(tables.read(path, classes=True))
    assert list(y) == [meant for meant, _ in labels]


@given(st.text(max_size=200))
def test_no_name_can_steer_a_terminal(name):
    shown = printable(f"\x1b[2J{name}\x07")
    assert shown.isprintable()
    assert len(shown) <= 80


def test_layouts_of_other_programs(tmp_path, frame):
    words = " ".join(f'"{name}"' for name in frame.columns)
    rows = "\n".join(f'"row {i}" ' + " ".join(map(str, row)) for i, row in enumerate(frame.to_numpy()))
    (tmp_path / "r.txt").write_text(f"{words}\n{rows}\n")
    table = tables.read(tmp_path / "r.txt")
    assert table.features == ("a", "b", "c")
    assert "names the rows" in table.notices[0]
    np.testing.assert_allclose(whole(table)[1], frame["price"])
    frame.to_csv(tmp_path / "t.tsv.xz", index=False, sep="\t")
    np.testing.assert_allclose(whole(tables.read(tmp_path / "t.tsv.xz"))[1], frame["price"])
    (tmp_path / "trailing.csv").write_text("a,b\n1,2,\n3,4,\n")
    assert tables.read(tmp_path / "trailing.csv").features == ("a",)


def test_names_decide_what_is_target_in_an_archive(tmp_path, frame):
    X, y = frame.to_numpy()[:, :3], frame.to_numpy()[:, 3]
    np.savez(tmp_path / "t.npz", target=y, data=X)
    np.testing.assert_array_equal(whole(tables.read(tmp_path / "t.npz"))[1], y)
    np.savez(tmp_path / "u.npz", p=y, q=X)
    with pytest.raises(ValueError, match=r"must hold arrays X and y.*got p \(50,\), q \(50, 3\)"):
        tables.read(tmp_path / "u.npz")
    np.testing.assert_array_equal(whole(tables.read(tmp_path / "u.npz", "p"))[0], X)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("day,b\n2024-01-05,1\n2024-01-06,2\n", "got a date, '2024-01-05', in example 1"),
        ("z,b\n1+2j,1\n2-1j,2\n", r"got a complex number, '1\+2j'"),
        ("b,day\n1,5/6/2020\n2,6/6/2020\n", "column 'day' .* got a date"),
        ("day,b\n5 Jan 2020,1\n6-Feb-21,2\n", "got a date, '5 Jan 2020'"),
        ('day,b\n"March 5, 2020",1\n"May 6, 2020",2\n', "got a date, 'March 5, 2020'"),
        ('a,b\n"1,5",1\n"2,25",2\n', "got a decimal comma, '1,5', in example 1. Write numbers with a point"),
        ("n,b\n" + "".join(f"n{i},{i}\n" for i in range(12)), "words that come more than once; got 12 of them"),
        (
            "a,b\n1,true\n2,1\n3,0\n",
            "must hold numbers, or names of classes, not both; got '1' and, in example 1, 'true'",
        ),
        ("a,b\n,1\n,2\n", "must hold values in one feature column at least"),
        ("id,b\n" + "".join(f"n{i},{i}\n" for i in range(200)), "at most 100 different words; got more"),
        (",".join(f"c{j}" for j in range(100_000)) + "\n", "at most 5000 feature columns; got 99999"),
        ("a,b\n1," + "2" * (17 * 2**20), "a line must be shorter than 16 MiB"),
    ],
    ids=[
        "dates",
        "complex",
        "target dates",
        "months",
        "American months",
        "decimal commas",
        "names of rows",
        "truth values",
        "nothing",
        "identifiers",
        "wide",
        "endless line",
    ],
)
def test_what_a_table_cannot_hold_is_told_at_once(tmp_path, text, said):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=said) as error:
        tables.read(tmp_path / "t.csv")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("dress", ["{}%", "${}", "{} \u20ac", "\u2212{}", "1 {:03d}"])
def test_numbers_with_a_sign_or_gaps_are_no_classes(tmp_path, dress):
    """As a target they were taken as the names of classes, one for nearly every row."""
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{i},{dress.format(i % 9)}\n" for i in range(20)))
    with pytest.raises(
        ValueError, match=r"column 'y' .* must hold real numbers or words; got a .*Write plain numbers"
    ):
        tables.read(tmp_path / "t.csv")


def test_semicolons_go_with_decimal_commas(tmp_path):
    (tmp_path / "t.csv").write_text("a;b;y\n1;2,5;-1,25e2\n0,5;3;2\n")
    X, y = whole(tables.read(tmp_path / "t.csv"))
    np.testing.assert_array_equal(X, [[1, 2.5], [0.5, 3]])
    np.testing.assert_array_equal(y, [-125, 2])
    (tmp_path / "bare.csv").write_text("1,5;2\n2,5;3\n")
    assert len(whole(tables.read(tmp_path / "bare.csv"))[1]) == 2
    (tmp_path / "words.csv").write_text("a;b;y\n1.5;x,1;2\n2.5;x,1;3\n")
    assert tables.read(tmp_path / "words.csv").features == ("a", "b=x,1")


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("tsv", "a\tb\ty\n1\t2,5\t-1,25e2\n0,5\t3\t2\n"),
        ("tsv", "1\t2,5\t-125\n0,5\t3\t2\n"),
        ("txt", "a b y\n1 2,5 -1,25e2\n0,5 3 2\n"),
        ("txt", "1 2,5 -1,25e2\n0,5 3 2\n"),
        ("csv", "a;b;y\n1;2,5;-125\n0,5;3;2\n"),
    ],
)
def test_decimal_commas_are_read_wherever_commas_do_not_separate(tmp_path, ending, text):
    path = tmp_path / f"t.{ending}"
    path.write_text(text)
    X, y = whole(tables.read(path))
    np.testing.assert_array_equal(X, [[1, 2.5], [0.5, 3]])
    np.testing.assert_array_equal(y, [-125, 2])


def test_a_decimal_comma_may_come_late_and_beside_words_with_points(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\nst. x;1\nst. y;2\nst. y;0,5\n")
    np.testing.assert_array_equal(whole(tables.read(path))[1], [1, 2, 0.5])


def test_commas_that_may_mark_thousands_are_no_decimal_commas(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a\ty\n1,500\t1\n2,250\t2\n")
    with pytest.raises(ValueError, match=r"got a decimal comma, '1,500', in example 1\. Write numbers with a point"):
        tables.read(path)
    path.write_text("a\ty\n0,500\t1\n2,250\t2\n")
    np.testing.assert_array_equal(whole(tables.read(path))[0], [[0.5], [2.25]])
    path.write_text("a\ty\n" + "1,5\t1\n" * 70 + "1.234\t2\n")
    with pytest.raises(
        ValueError, match=r"column 'a' must hold numbers with decimal commas.*got '1\.234', whose point"
    ):
        whole(tables.read(path))


def test_what_separates_is_what_both_lines_have_equally_often(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("height, cm\tw, kg\n1.5\t2\n2.5\t3\n")
    assert tables.read(path).features == ("height, cm",)
    path.write_text("a;b,c\n1,2\n3,4\n")
    assert tables.read(path).features == ("a;b",)
    path.write_text("height, cm\tw, kg\ty\nx\t1.5\t2\t1\nz\t2.5\t3\t2\n")  # R's names of rows
    assert tables.read(path).features == ("height, cm", "w, kg")


def test_a_column_without_any_value_leaves_its_rows_in(tmp_path):
    (tmp_path / "t.csv").write_text("a,e,b\n1,,2\n3,NA,4\n")
    table = tables.read(tmp_path / "t.csv")
    assert table.features == ("a",)
    assert table.notices == ("left out, as no row has a value there: e",)
    np.testing.assert_array_equal(whole(table)[1], [2, 4])


def test_a_table_keeps_a_feature_and_names_what_it_does_not_use(tmp_path, frame):
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match="must keep at least one feature column besides its target"):
        tables.read(tmp_path / "t.csv", use=["a"], drop=["a"])
    X = frame.to_numpy()
    np.savez(tmp_path / "t.npz", X=X[:, :3], y=X[:, 3], weights=X[:, 0])
    assert tables.read(tmp_path / "t.npz").notices == ("arrays that were not used: weights",)


def test_files_that_are_not_what_they_seem(tmp_path, monkeypatch):
    with (tmp_path / "t.npz").open("wb") as file:
        np.save(file, np.eye(3))
    with pytest.raises(ValueError, match=r"it is a single array \(\.npy\)"):
        tables.read(tmp_path / "t.npz")
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 10_000)
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ValueError, match=r"cut\.csv\.gz' cannot be read"):
        tables.read(tmp_path / "cut.csv.gz")
    monkeypatch.setattr(archives, "LARGEST", 10_000)
    np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros((1000, 10)), y=np.zeros(1000))
    with pytest.raises(ValueError, match="must unpack to at most"):
        tables.read(tmp_path / "bomb.npz")
    monkeypatch.setattr(delimited, "SWOLLEN", 10_000)
    monkeypatch.setattr(delimited, "SWELLS", 10)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000))
    with pytest.raises(
        ValueError, match=r"bomb\.csv\.gz' cannot be read as a table: .*over 10 times what was read of it"
    ):
        tables.read(tmp_path / "bomb.csv.gz")


def test_a_hundred_thousand_columns_are_counted_not_read(tmp_path, monkeypatch):
    names, numbers = ",".join(f"c{i}" for i in range(100_000)), ",".join(["1"] * 100_000)
    (tmp_path / "wide.csv").write_text(f"{names}\n{numbers}\n{numbers}\n")
    monkeypatch.setattr(delimited, "pieces", lambda *_: pytest.fail("rows were read"))
    monkeypatch.chdir(tmp_path)  # a long path would be shortened where it is named
    with pytest.raises(
        ValueError, match=r"'wide\.csv' must have at most 5000 feature columns; got 99999\. Name those"
    ):
        tables.read("wide.csv")


@pytest.mark.parametrize(("ending", "package"), [(".parquet", "pyarrow"), (".xlsx", "openpyxl")])
def test_files_that_need_a_package_say_which(tmp_path, frame, ending, package, monkeypatch):
    path = tmp_path / f"t{ending}"
    path.write_bytes(b"")
    monkeypatch.setattr(archives, "refuse_bomb", lambda path: None)

    def missing(path):
        raise ImportError(package)

    monkeypatch.setattr(pd, tables.FRAMES[ending][0], missing)
    with pytest.raises(ValueError, match=rf"needs the package {package}.*lineament\[tables\]"):
        tables.read(path)
    monkeypatch.setattr(pd, tables.FRAMES[ending][0], lambda path: frame)
    np.testing.assert_array_equal(whole(tables.read(path))[1], frame["price"])


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
        (
            "a,town,b\n1,2,3\n2,Bonn,4\n",
            None,
            "column 'town' .* must hold numbers, or words, not both; got '2' and, in example 2, 'Bonn'",
        ),
        ("a,b\n", None, "must hold examples; got names of columns alone"),
        ("", None, "cannot be read as a table: it is empty"),
        ("a\n1\n", None, r"must have at least two columns, features and a target; got \['a'\]"),
        ("a,b\n1,2\n1,2,3\n", None, "cannot be read as a table"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_said(tmp_path, text, target, said):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=said) as error:
        list(tables.read(path, target).chunks())
    assert "\n" not in str(error.value)


def test_a_target_that_turns_into_words_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "CELLS", 4)
    (tmp_path / "t.csv").write_text("a,b\n1,1\n2,2\n3,3\n4,many\n")
    with pytest.raises(
        ValueError, match=r"target 'b' .* must hold numbers, or names of classes, not both.*example 4, 'many'"
    ):
        tables.read(tmp_path / "t.csv")


def test_what_is_no_table_is_refused(tmp_path):
    (tmp_path / "t.npz").write_text("nothing")
    np.savez(tmp_path / "lone.npz", a=np.zeros(3))
    np.savez(tmp_path / "objects.npz", X=np.zeros((2, 2)), y=np.array(["a", None], dtype=object))
    np.savez(tmp_path / "both.npz", X=np.zeros((2, 2)), y=np.zeros(2))
    (tmp_path / "t.odt").write_text("")
    for source, target, said in [
        (tmp_path / "t.npz", None, "cannot be read as an .npz archive"),
        (tmp_path / "lone.npz", None, r"got a \(3,\)"),
        (tmp_path / "objects.npz", None, "Python objects"),
        (tmp_path / "both.npz", "z", "leave the target 'z' out"),
        (tmp_path / "t.odt", None, "file that ends in one of .npz"),
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


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1"])
@pytest.mark.parametrize("late", [False, True])
def test_text_that_is_no_utf_8_is_told_so(tmp_path, encoding, late):
    path = tmp_path / "table.csv"
    rows = "".join(f"{i},{i * i % 7}\n" for i in range(20))
    path.write_bytes(f"a,b\n{rows}".encode() * late + f"é,y\n{rows}".encode(encoding))
    with pytest.raises(
        ValueError, match="no text in UTF-8" if not late or encoding != "utf-16-le" else "cannot be|must"
    ):
        tables.read(path)


def test_digits_of_other_scripts_are_words(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n1,2\n2,3\n\u0661\u0662,4\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"column 'a' .* must hold numbers, or words, not both.*example 3"):
        tables.read(path)


def test_names_of_classes_may_be_bytes():
    X = np.eye(3)
    _, y = whole(tables.arrays(X, np.array(["ä".encode(), b"b", b"b"])))
    assert y.tolist() == ["ä", "b", "b"]
    with pytest.raises(ValueError, match="y must hold names of classes as text, or as bytes in UTF-8"):
        tables.arrays(X, np.array([b"\xff", b"b", b"b"]))
