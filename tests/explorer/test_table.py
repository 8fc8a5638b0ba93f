"""The sixth panel: a table that is dropped gives the numbers of `lineament forecast`, and none of it is run as code."""

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lineament.data import tables
from lineament.forecasting import forecast_table
from lineament.forecasting import words as forecast_words
from lineament.report import explorer, forecast_json

EXACT = 1e-9
CLOSED = 1e-5
"""Where the path is known in closed form: the end of its range is found to 1e-6, and the times of its records with it."""
FOLLOWED = 1e-6
"""Where the path is integrated, page and package step at times of their own, each to a tolerance of 1e-8."""


HELD_OUT = (
    ", and the table is too short or too wide to hold rows out.",
    ": lineament forecast holds rows out and tells by how much.",
)


def wanted(path, **options) -> dict:
    made = forecast_table(tables.read(path, options.pop("target", None)), **options)
    # The page holds no rows out: it says what the package says of a fixed design, and where more is to be had.
    stopping = made.stopping and (made.stopping.fixed_design or made.stopping)
    told = forecast_words.sentences(replace(made, stopping=stopping))
    told = [sentence.replace(*HELD_OUT) for sentence in told]
    return {**json.loads(forecast_json.to_json(made)), "sentences": told}


def found(site, text: str, **options) -> dict:
    return site.page.evaluate("([text, options]) => lineament.forecast(text, options)", [text, options])


def close(a, b, tolerance: float) -> bool:
    """Whether numbers, or lists of them, agree; what does not happen is null on one side and infinite on the other."""
    a, b = (
        np.array([np.inf if x is None else x for x in np.atleast_1d(np.array(v, dtype=object))], float) for v in (a, b)
    )
    both = np.isinf(a) & np.isinf(b)
    with np.errstate(invalid="ignore"):
        return bool(np.all(both | (np.abs(a - b) <= tolerance * np.maximum(np.abs(b), 1e-6))))


def compare(page: dict, package: dict, tolerance: float) -> None:
    for name in (
        "rows",
        "rows_with_missing_values",
        "features",
        "constant_columns",
        "outputs",
        "classes",
        "depth",
        "whiten",
    ):
        assert page[name] == package[name], name
    for name in (
        "step_size",
        "largest_stable_step_size",
        "recommended_step_size",
        "explained",
        "least_loss",
        "variances",
    ):
        assert close(page[name], package[name], EXACT), name
    assert abs(page["steps"] - package["steps"]) <= (tolerance == CLOSED and package["steps"] > 1e5)
    for mine, theirs in zip(page["components"], package["components"], strict=True):
        assert mine["number"] == theirs["number"]
        assert [name for name, _ in mine["features"]] == list(theirs["features"])
        assert [name for name, _ in mine["outputs"]] == list(theirs["outputs"])
        for name in ("variance", "strength", "explained"):
            assert close(mine[name], theirs[name], EXACT), name
        for name in ("begins_step", "half_step", "ends_step"):
            assert close(mine[name], theirs[name], tolerance), (name, mine["number"])
    assert [(p["first"], p["second"], p["separated"]) for p in page["phases"]] == [
        (p["first"], p["second"], p["separated"]) for p in package["phases"]
    ]
    for mine, theirs in zip(page["premises"], package["premises"], strict=True):
        assert {**mine, "value": 0} == {**theirs, "value": 0}
        assert abs(mine["value"] - theirs["value"]) <= EXACT * max(1, abs(theirs["value"]))
    if package["stopping"] is None:
        assert page["stopping"] is None
    else:
        fixed = package["stopping"]["fixed_design"]  # the page holds no rows out
        assert close(page["stopping"]["final"], fixed["final"], EXACT)
        assert close(page["stopping"]["least"], fixed["least"], max(tolerance, 1e-8))
    # What is printed is the same, letter by letter.
    assert page["sentences"] == package["sentences"]
    assert page["notices"] == package["notices"]


@pytest.mark.parametrize("name", explorer.SAMPLES)
@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({"depth": 1}, CLOSED),
        ({"depth": 3, "whiten": True}, CLOSED),
        ({"depth": 2}, FOLLOWED),
        ({"depth": 3, "start_scale": 1e-2}, FOLLOWED),
    ],
)
def test_samples_give_the_numbers_of_the_package(site, name, options, tolerance):
    compare(found(site, explorer.samples()[name], **options), wanted(name, **options), tolerance)


TABLES = {
    "missing values": "a,b,c,y\n1,2,0.5,3\n2,,1,1\n3,1,NA,4\n4,0.5,2,6\n5,2,1,8\n0,1,7,2\n2,2,2,2.5\n1,0,3,1\n",
    "semicolons, quotes, no header": '1;"2";3;4\n2;1;1;5\n3;4;0;6\n4;0;2;9\n0;1;5;1.5\n2;3;7;4\n1;1;1;1\n',
    "words": "a,b,c,kind\n1,2,0,x\n2,1,3,y\n3,5,1,x\n4,0,1,z\n1,1,7,y\n0,2,2,z\n5,5,3,x\n2,2,9,z\n",
    "whole numbers with few values": "a,b,c,y\n1,2,7,0\n2,1,3,1\n3,5,2,0\n4,0,4,1\n1,1,0,2\n0,2,3,2\n5,5,1,0\n",
    "a constant column and numbered rows": (
        ",a,b,k,c,y\n0,1,2,7,4,1.5\n1,2,1,7,1,2\n2,3,5,7,0,0\n3,4,0,7,3,3\n4,1,1,7,9,1\n5,0,3,7,2,2\n"
    ),
    "fewer rows than columns": "a,b,c,d,y\n1,2,3,4,5\n2,1,0,1,2\n0,5,1,1,1\n3,3,1,0,2\n",
    "truth values": "a,b,c,y\n1,True,0,2\n2,False,3,1\n3,True,1,4\n0,False,1,1.5\n5,True,2,6\n4,False,7,2\n1,True,5,3\n",
    "words as features": (
        "place,colour,size,old,y\nnorth,red,1,true,2\nsouth,blue,2,False,5\nnorth,green,3,TRUE,1\neast,red,2.5,false,7\n"
        "south,red,0,true,3\nnorth,?,1,true,2\neast,blue,4,false,9\n south ,green,3,true,4\nnorth,red,2,false,2.5\n"
    ),
    "numbers and truth values in one column": "a,b,y\n1,1,2\ntrue,0,3\n0,5,1\nFalse,3,4\n1,2,2\n0,7,9\n",
    "truth values as the target": "a,b,y\n1,2,true\n2,1,FALSE\n3,5,True\n4,0,false\n1,7,True\n0,2,False\n",
    "classes written in several ways": "a,b,y\n1,2,u\n2,1,TRUE\n3,5,v\n4,0, u\n1,7,true\n0,2,v \n5,5,True\n",
    "whole numbers with a point": "a,b,y\n1,2,1.0\n2,1,2\n3,5,1\n4,0,2.0\n1,7,3\n0,2,1\n",
    "white space and R's row names": (
        'x1 x2 x3 "the y"\nr1 1 2 0 3\nr2 2 1 1 5\n  r3  3 5.5   7 1\nr4 0 2 1 2\nr5 4 4 3 7\nr6 1 9 2 3\n'
    ),
    "a separator at the end of every line": "a,b,y\n1,2,3,\n2,1,5,\n3,5,1,\n0,2,2,\n4,4,7,\n",
    "blanks, a mark of the order of bytes, and lines of Windows": (
        "\ufeffa, b ,y\r\n1, 2, 3\r\n\r\n2, ,5\r\n3, 5,1 \r\n0,2.5e0,2\r\n4,.5,7\r\n"
    ),
    "quotes within quotes": (
        '"a ""one""","b,c",d,y\n1,2,4,"u"\n2,1,0,"v,w"\n3,5,1,"u"\n4,0,1,"v,w"\n1,7,3,"say ""x"""\n0,3,9,"u"\n'
    ),
    "decimal commas and tabs": "a\tb\ty\n1,5\t2\t4,25\n2,5\t1\t0\n3\t5,125\t1\n4\t0\t-1,5\n",
    "decimal commas alone": "1,5\t2\t4,25\n2,5\t1\t0\n3\t5,125\t1\n4\t0\t-1,5\n",
    "decimal commas and semicolons": "a;b;y\n1;2;4\n2;1;0\n3,5;5;1\n4;0;-1,5\n",
    "commas in names": "height, cm\tw, kg\ty\n1.5\t2\t4\n2.5\t1\t0\n3\t5\t1\n4\t0\t1\n",
    "names twice": "a,a,a,y\n1,2,7,2\n2,5,3,1\n3,1,0,4\n0,3,3,1.5\n5,2,1,6\n",
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("options", [{"depth": 1}, {"depth": 2, "whiten": True}], ids=["plain", "whitened"])
def test_odd_tables_are_read_as_the_package_reads_them(site, tmp_path, kind, options):
    path = tmp_path / "table.csv"
    path.write_text(TABLES[kind], encoding="utf-8")
    compare(found(site, TABLES[kind], **options), wanted(str(path), **options), CLOSED)


@pytest.mark.skipif("LINEAMENT_DATA" not in os.environ, reason="LINEAMENT_DATA is not set")
@pytest.mark.parametrize("name", ["autos", "housing", "machine"])
def test_real_tables_give_the_numbers_of_the_package(site, name):
    path = Path(os.environ["LINEAMENT_DATA"]) / "uci" / f"{name}.csv.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    for options in ({"depth": 2}, {"depth": 3, "start_scale": 1e-2}):
        compare(found(site, text, **options), wanted(str(path), **options), FOLLOWED)


def test_a_bundled_table_of_classes_gives_the_numbers_of_the_package(site, tmp_path):
    X, y = next(tables.read("breast-cancer").chunks())
    names = [name.replace(" ", "_") for name in tables.read("breast-cancer").features]
    rows = [",".join([*map(repr, x.tolist()), str(label)]) for x, label in zip(X, y, strict=True)]
    text = "\n".join([",".join([*names, "class"]), *rows]) + "\n"
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    compare(found(site, text, depth=2), wanted(str(path), depth=2), FOLLOWED)


def test_a_target_by_name_and_classes_by_request(site, tmp_path):
    text = TABLES["whole numbers with few values"]
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    compare(found(site, text, depth=1, classes=True), wanted(str(path), depth=1, classes=True), CLOSED)
    compare(found(site, text, depth=1, target="a"), wanted(str(path), depth=1, target="a"), CLOSED)


def test_a_long_table_keeps_the_same_examples(site, tmp_path):
    rng = np.random.default_rng(0)
    # Heavy tails: what is told of the worst of the examples that were kept depends on which these are.
    X = rng.standard_t(2, size=(5000, 3)) @ rng.normal(size=(3, 3))
    rows = np.column_stack([X, X @ [1, -2, 0.5] + rng.normal(size=5000)]).round(6)
    text = "a,b,c,y\n" + "\n".join(",".join(map(str, row)) for row in rows.tolist()) + "\n"
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    made = wanted(str(path), depth=1)
    assert "is allowed" in made["premises"][-1]["meaning"]
    compare(found(site, text, depth=1), made, CLOSED)


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        ("a\n1\n2\n", "at least two"),
        ("a,b\n", "must hold examples; got names of columns alone"),
        (
            "a,b\n3,1\ny,2\n",
            "column 'a' of 'table.csv' must hold numbers, or words, not both; got '3' and, in example 2",
        ),
        ("a,b\n1,1\n2,x\n", "must hold numbers, or names of classes, not both"),
        (
            "a,b\n2024-01-02,1\n2024-01-03,2\n",
            "must hold real numbers or words; got a date, '2024-01-02', in example 1",
        ),
        ("a,b\n1+2j,1\n2j,2\n", "got a complex number, '1+2j'"),
        (
            "a,b\n" + "\n".join(f"w{i},{i}" for i in range(101)),
            "or at most 100 different words; got more, such as 'w0'",
        ),
        ("a,b\n10%,1\n12%,2\n", "got a percentage, '10%', in example 1. Write plain numbers"),
        ("a,b\n1,€5\n2,€7\n", "got a sum of money, '€5'"),
        ("a\tb\n1,500\t1\n2,250\t2\n", "got a decimal comma, '1,500', in example 1. Write numbers with a point"),
        ("a;b\n" + "1,5;1\n" * 60 + "1.234;2\n", "whose point may mark thousands: write plain numbers"),
        ("a,b\n" + "".join(f"n{i},{i}\n" for i in range(12)), "words that come more than once; got 12 of them"),
        ("a,b\n1,true\n2,1\n3,0\n", "not both; got '1' and, in example 1, 'true'"),
        ("a,b\n1,2\n1,2,3\n", "example 2 has 3 cells, 2 expected"),
        ("PK\x03\x04\0\0,\n", "must be a table of text to be read on this page; use the command: lineament forecast"),
        ("a,b\n1,2\n", "at least two complete rows"),
        ("a,b\n1,2\n1,3\n", "at least one feature must vary"),
        ("a,b\n1,2\n2,2\n", "the target b must vary; all 2 rows have the same"),
        (
            f"a,b\n1,{2**60}\n2,{2**60 + 1}\n",
            "or differ by less than 2e+04, which numbers near 1e+18 need to be told apart in float64: subtract",
        ),
        ("a,b\ninf,2\n2,3\n1,1\n", "holds an infinite value"),
        ("a,b\n1e200,2\n2e200,3\n-1e200,1\n", "squares fit float64"),
    ],
)
def test_tables_that_cannot_be_used_are_refused_with_the_reason(site, tmp_path, text, says):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r".+"):  # by the package, too
        forecast_table(tables.read(path))
    message = site.page.evaluate(
        "text => { try { lineament.forecast(text); return 'no'; } catch (e) { return e.message; } }", text
    )
    assert says in message


def give(site, name: str, text: str | bytes) -> None:
    site.show("panel=table")
    site.page.locator("[role=tabpanel]:not([hidden]) input[type=file]").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": text.encode() if isinstance(text, str) else text}
    )
    site.page.wait_for_function("name => document.querySelector('#table-sample').value === 'own'", arg=name)
    site.settle()


def test_a_file_that_is_chosen_is_forecast(site, tmp_path):
    text = TABLES["words"]
    give(site, "mine.csv", text)
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    made = forecast_table(tables.read(str(path)))
    shown = site.text()
    assert forecast_words.data(made) in shown
    assert forecast_words.step_size(made) in shown
    assert [o.inner_text() for o in site.page.locator("#table-target option").all()] == [
        "the last (kind)",
        "a",
        "b",
        "c",
        "kind",
    ]
    assert "Nothing leaves the browser" in shown


def test_a_file_that_is_dropped_is_forecast(site):
    site.show("panel=table")
    site.page.evaluate(
        """text => {
          const carried = new DataTransfer();
          carried.items.add(new File([text], "dropped.csv", { type: "text/csv" }));
          const zone = document.querySelector(".drop");
          zone.dispatchEvent(new DragEvent("dragover", { dataTransfer: carried, bubbles: true, cancelable: true }));
          zone.dispatchEvent(new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
        }""",
        TABLES["missing values"],
    )
    site.page.wait_for_function(
        "() => document.querySelector('#panel-table').innerText.includes('rows have a missing value')"
    )
    assert "2 of 8 rows have a missing value and were left out." in site.text()


def test_names_are_never_run_as_code(site):
    evil = "<img src=x onerror=window.hit=1>"
    header = f'"{evil}","<script>window.hit=1</script>","\'""><svg onload=window.hit=1>",y'
    rows = "\n".join(f"{i},{(i * 7) % 5},{(i * 3) % 4},{'<b>' if i % 2 else '<i>'}" for i in range(12))
    give(site, f"{evil}.csv", f"{header}\n{rows}\n")
    site.press("Predict, then reveal")
    site.press("Predict, then reveal")
    assert site.page.evaluate("() => window.hit") is None
    assert evil in site.text()
    assert site.page.locator("[role=tabpanel] img, [role=tabpanel] svg, [role=tabpanel] b").count() == 0
    with site.page.expect_download() as caught:
        site.press("Download SVG")
    svg = caught.value.path().read_text(encoding="utf-8")
    assert "<img" not in svg
    assert "<script" not in svg


def test_a_file_that_is_no_table_is_refused_on_the_page(site):
    give(site, "words.csv", "a,b\nx,1\n3,2\n")
    assert "Refused: column 'a' of 'words.csv' must hold numbers, or words, not both" in site.text()
    assert site.page.locator("[role=tabpanel]:not([hidden]) .reading").inner_text() == ""
    site.control("sample").locator("select").select_option("iris")
    site.settle()
    assert "150 examples" in site.text()


def test_a_packed_file_is_unpacked_and_other_kinds_are_left_to_the_command(site):
    give(site, "mine.csv.gz", gzip.compress(TABLES["words as features"].encode()))
    assert (
        "column 'place' holds words and became 3 columns of 0 and 1, one for each: east, north, south" in site.text()
    )
    give(site, "mine.parquet", b"PAR1")
    assert "for other kinds of tables use the command: lineament forecast mine.parquet" in site.text()
    give(site, "torn.csv.gz", gzip.compress(b"a,b\n1,2\n")[:12])
    assert "'torn.csv.gz' could not be read" in site.text()
