"""`lineament sweep`, `runs` and `why`, and the page of a sweep."""

import json
import re
import sys

import numpy as np
import pytest

import lineament as la
from lineament.cli import main
from lineament.execution import spec
from lineament.report import sweep_page

TRIAL = """
import numpy as np

def experiment(depth, scale, seed):
    if depth == 3:
        raise ValueError("too deep <b>")
    return {"final": depth * scale, "curve": np.arange(4) * scale}

def shallow(depth):
    return depth < 4
"""
SPEC = """
experiment = "sweep_trial.py:experiment"
store = "runs"
where = "sweep_trial.py:shallow"
[grid]
depth = [1, 2, 3, 4]
scale = { geomspace = [1e-4, 1, 5] }
seed = { range = [0, 2] }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "sweep_trial", raising=False)  # every test has a file of that name
    (tmp_path / "sweep_trial.py").write_text(TRIAL)
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


def test_a_sweep_from_a_file_its_runs_and_why(folder, capsys):
    file, store = str(folder / "spec.toml"), str(folder / "runs")
    assert main(["sweep", file, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "4 depth × 5 scale × 2 seed = 30 points" in told
    assert "0 stored in" in told
    assert not (folder / "runs").exists()
    assert main(["sweep", file, "--jobs", "1", "--page", str(folder / "page.html")]) == 1
    told = capsys.readouterr()
    assert "20 done, 10 failed, 10 missing" in told.out
    assert "10 × ValueError: too deep <b>" in told.err
    assert main(["sweep", file, "--dry-run"]) == 0
    assert "30 stored in" in capsys.readouterr().out

    backwards = folder / "\u202elmth.egap"
    assert main(["runs", store, "--page", str(backwards)]) == 0
    assert backwards.is_file()
    assert "".join(capsys.readouterr().out.split()).isprintable()

    assert main(["runs", store]) == 0
    listed = capsys.readouterr().out
    assert "20 done, 10 failed" in listed
    address = re.search(r"^([0-9a-f]{12})  experiment", listed, re.M)[1]
    assert main(["runs", store, address]) == 0
    points = re.findall(r"^([0-9a-f]{12})  ", capsys.readouterr().out, re.M)
    assert len(points) == 30
    assert main(["runs", store, points[0], points[-1]]) == 0
    assert "depth: 1 → 3" in capsys.readouterr().out
    assert main(["why", "depth=1,scale=1.0,seed=0", "--store", store]) == 0
    assert "nothing has changed" in capsys.readouterr().out
    assert main(["runs", store, "--delete", address]) == 0
    assert main(["runs", store]) == 0
    assert address not in capsys.readouterr().out.partition("deleted")[2].partition("\n")[2]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("depth = [1, 2, 3, 4]", "depth = 3", r"grid\['depth'\] must be a list"),
        ("geomspace", "spacegeom", "must be a list, or one of range"),
        ("[1e-4, 1, 5]", "[1e-4]", "must be what geomspace takes"),
        ("sweep_trial.py:experiment", "sweep_trial.py", "must read MODULE:FUNCTION"),
        ("sweep_trial.py:experiment", "sweep_trial.py:nothing", "has no 'nothing'"),
        ("sweep_trial.py:experiment", "no_such_module:experiment", "cannot"),
        ('store = "runs"', "", "must have store"),
        ('store = "runs"', 'store = "runs"\ncolour = 1', "got colour"),
        ("[grid]", "[grid", "is not TOML"),
    ],
)
def test_bad_files_are_refused(folder, capsys, old, new, said):
    (folder / "spec.toml").write_text(SPEC.replace(old, new))
    assert main(["sweep", str(folder / "spec.toml")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(said, line)


def test_bad_stores_and_engines_are_one_line(folder, capsys):
    for arguments in (
        ["runs", str(folder / "none")],
        ["why", "abcd", "--store", str(folder / "none")],
        ["why", "ab", "--store", str(folder)],
        ["runs", str(folder), "--delete", "abcdef"],
        ["sweep", str(folder / "spec.toml"), "--engine", "dusk"],
    ):
        assert main(arguments) == 2, arguments
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_page_that_cannot_be_written_is_told_before_the_sweep(folder, capsys):
    (folder / "file").write_text("no folder")
    assert main(["sweep", str(folder / "spec.toml"), "--page", str(folder / "file" / "page.html")]) == 2
    assert "cannot write to the folder" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "runs").exists()


def test_values_of_a_file(folder):
    given = spec.read(folder / "spec.toml")
    np.testing.assert_allclose(given["grid"]["scale"], np.geomspace(1e-4, 1, 5))
    assert list(given["grid"]["seed"]) == [0, 1]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")

    def experiment(depth, scale):
        if depth == 3:
            raise ValueError("too deep </script><b>")
        return {"final": depth * scale, "curve": np.arange(4) * scale}

    grid = {"depth": [1, 2, 3], "scale": np.geomspace(1e-4, 1, 5)}
    table = la.sweep(experiment, grid, store=folder / "runs", workers=1, progress=False)
    return sweep_page.write(table, folder / "page.html"), table


def test_the_page_holds_every_value_and_no_text_can_break_out(shown):
    path, table = shown
    text = path.read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])
    final = next(v for v in data["variables"] if v["name"] == "final")
    assert final["dims"] == ["depth", "scale"]
    values = np.array([np.nan if v is None else v for v in final["values"]]).reshape(3, 5)
    np.testing.assert_allclose(values, table["final"], rtol=1e-5)
    assert "</script><b>" not in text
    assert "http" not in text.replace("http://www.w3.org/", "")


def test_the_page_draws_answers_the_pointer_and_saves(shown, browser):
    path, _ = shown
    page = browser.new_page(viewport={"width": 390, "height": 900})
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator("#drawing svg").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    assert re.search(r"scale .*, depth \d: final", page.locator("#told").inner_text())
    page.select_option("select[name=value]", "curve")
    assert page.locator("select[name=as]").input_value() == "curves"
    with page.expect_download() as saved:
        page.click("#csv")
    lines = open(saved.value.path()).read().splitlines()  # noqa: SIM115
    assert lines[0] == '"curve_0","scale","curve"'
    assert len(lines) == 1 + 4 * 5
    with page.expect_download() as saved:
        page.click("#svg")
    assert open(saved.value.path()).read().startswith("<svg")  # noqa: SIM115
    page.close()
    assert troubles == []
