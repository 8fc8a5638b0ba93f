"""`lineament forecast`: tables, pages, JSON, and mistakes told in one line."""

import json
import subprocess
import sys

import numpy as np
import pytest

from lineament import cli


@pytest.fixture(autouse=True)
def _at_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.standard_normal(40)
    np.savez("good.npz", X=X, y=y)
    rows = "\n".join(",".join(map(str, row)) for row in np.column_stack([X, y]))
    (tmp_path / "good.csv").write_text(f"a,b,c,price\n{rows}\n")
    (tmp_path / "words.csv").write_text("a,town,price\n1,Bonn,2\n2,Ulm,3\n3,Bonn,5\n4,Ulm,4\n")
    (tmp_path / "mixed.csv").write_text("a,town,price\n1,Bonn,2\n2,7,3\n")
    (tmp_path / "same.csv").write_text("a,b,price\n1,2,3\n1,2,4\n1,2,5\n")
    (tmp_path / "flat.csv").write_text("a,price\n1,3\n2,3\n")
    (tmp_path / "holes.csv").write_text("a,price\n1,\n2,\n3,4\n")
    (tmp_path / "gaps.csv").write_text("a,price\n1,2\n,3\n3,5\n")
    (tmp_path / "endless.csv").write_text("a,price\n1,2\ninf,3\n4,5\n")
    (tmp_path / "file").write_text("")


@pytest.fixture
def run(capfd):
    def command(*arguments):
        code = cli.main(["forecast", *arguments])
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    return command


def test_a_table_in_the_terminal(run):
    code, out, err = run("good.csv", "--target", "price")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "What a linear network of 2 layers learns from good.csv"
    assert "40 examples, 3 features, one target" in lines[1]
    head = next(line for line in lines if line.startswith("component "))
    assert head.split() == ["component", "variance", "explains", "10", "%", "half", "90", "%", "features"]
    assert "covariance of full rank  yes" in out


def test_tangents_and_weight_decay_are_options_of_a_network(run):
    settings = ("good.csv", "--network", "mlp", "--width", "8", "--steps", "20", "--weight-decay", "0.1")
    code, out, _ = run(*settings, "--renew", "7", "--out", ".", "--json")
    told = json.loads(out)
    assert (code, told["weight decay"]) == (0, 0.1)
    assert 1 < told["tangents"] <= 8
    assert "tangents" not in json.loads(run(*settings, "--renew", "0", "--json")[1])
    with open("forecast.html", encoding="utf-8") as page:
        assert "--weight-decay 0.1 --renew 7" in page.read()
    linear = json.loads(run("good.csv", "--weight-decay", "0.1", "--steps", "20", "--json")[1])
    assert linear["weight decay"] == 0.1
    for wrong in (("--weight-decay", "-1"), ("--renew", "x"), ("--renew", "3")):
        code, _, err = run("good.csv", *wrong)
        assert code == 2
        assert wrong[0] in err


def test_more_rows_are_told_in_the_terminal_in_json_and_on_the_page(run, tmp_path):
    code, out, err = run("good.csv", "--more-rows", "--out", ".")
    assert (code, err) == (0, "")
    assert "Double the rows (40 → 80): test error" in out
    page = (tmp_path / "forecast.html").read_text()
    assert "Would more rows help?" in page
    assert "--more-rows" in page
    told = json.loads(run("good.csv", "--more-rows", "--json")[1])["more_rows"]
    assert [step["rows"] for step in told["steps"]] == [40, 80, 160]
    code, _, err = run("words.csv", "--more-rows")
    assert (code, "at least 40 complete rows" in err) == (2, True)


def test_names_files_and_columns_lead_to_the_same_forecast(run):
    from_csv, from_npz = (json.loads(run(name, "--json")[1]) for name in ("good.csv", "good.npz"))
    assert from_csv["curve"]["loss"] == pytest.approx(from_npz["curve"]["loss"], rel=1e-6)
    other = json.loads(run("good.csv", "--target", "0", "--json")[1])
    assert other["features"] == ["b", "c", "price"]
    assert json.loads(run("iris", "--json")[1])["outputs"] == ["setosa", "versicolor", "virginica"]


def test_trained_with_a_page(run, tmp_path):
    code, out, _ = run("good.npz", "--train", "--depth", "1", "--out", "new/page")
    assert code == 0
    assert "Trained: holds" in out
    assert out.splitlines()[-1] == "new/page/forecast.html"
    page = (tmp_path / "new/page/forecast.html").read_text(encoding="utf-8")
    assert "lineament forecast good.npz --depth 1 --start 0.001 --train --seed 0" in page
    stored = json.loads((tmp_path / "new/page/forecast.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert stored["trained"]["verdict"] == "holds"


def test_json_prints_nothing_else(run):
    code, out, err = run("good.npz", "--json", "--whiten", "--depth", "3", "--seed", "5", "--out", "page")
    assert (code, err) == (0, "")
    (line,) = out.splitlines()
    found = json.loads(line, parse_constant=pytest.fail)
    assert (found["depth"], found["seed"], found["whiten"]) == (3, 5, True)


def test_a_step_above_the_stable_one_is_warned_of_not_refused(run):
    stable = json.loads(run("good.npz", "--json")[1])["largest_stable_step_size"]
    code, out, _ = run("good.npz", "--lr", str(2 * stable))
    assert code == 0
    assert "the largest stable one at the balanced optimum: the forecast ends there" in " ".join(out.split())


def test_fewer_rows_than_columns_are_noticed(run):
    rng = np.random.default_rng(0)
    np.savez("wide.npz", X=rng.standard_normal((6, 10)), y=rng.standard_normal(6))
    code, out, _ = run("wide.npz")
    assert code == 0
    assert "There are 6 rows for 10 columns" in out
    assert "When to stop cannot be told" in out


def test_words_become_columns_and_columns_can_be_chosen(run):
    code, out, _ = run("words.csv")
    assert code == 0
    assert "column 'town' holds words and became 2 columns of 0 and 1, one for each: Bonn, Ulm" in " ".join(
        out.split()
    )
    found = json.loads(run("good.csv", "--columns", "c,a", "--scale-target", "--json")[1])
    assert found["features"] == ["c", "a"]
    assert found["curve"]["loss"][0] == pytest.approx(0.5, rel=0.01), "half of the variance of a scaled target"
    assert json.loads(run("good.csv", "--drop", "a", "--drop", "b", "--json")[1])["features"] == ["c"]
    assert json.loads(run("gaps.csv", "--impute", "median", "--json")[1])["rows"] == 3


def test_names_cannot_steer_the_terminal(run, tmp_path):
    rows = "\n".join(f"{i},{i % 3},{'x' if i % 2 else chr(27) + '[31mred'}" for i in range(20))
    (tmp_path / "evil.csv").write_text(f"\x1b[2Jclear,{'n' * 500},kind\n{rows}\n")
    code, out, err = run("evil.csv")
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert "n" * 81 not in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.csv"], ["'DATA'", "no file 'gone.csv'", "check the path"]),
        (["digitz"], ["'digitz'", "did you mean 'digits'"]),
        (["file"], ["'file'", "ends in one of .npz"]),
        (["good.csv", "--target", "prize"], ["no column 'prize'", "did you mean 'price'"]),
        (["diabetes", "--target", "age"], ["has its own target", "'age'"]),
        (["mixed.csv"], ["column 'town'", "'Bonn'", "--drop town"]),
        (["same.csv"], ["at least one feature must vary", "2 columns"]),
        (["flat.csv"], ["target price must vary"]),
        (["holes.csv"], ["at least two complete rows", "there are 1, and 2 with a missing value"]),
        (["endless.csv"], ["column 'a' holds an infinite value"]),
        (["good.npz", "--depth", "0"], ["--depth", "'0'"]),
        (["good.npz", "--start", "-1"], ["--start", "'-1'", "positive"]),
        (["good.npz", "--lr", "much"], ["--lr", "'much'"]),
        (["good.npz", "--depth", "1000000"], ["depth must be", "at most 100; got 1000000"]),
        (["good.npz", "--start", "60000"], ["start_scale must be at most", "got 60000"]),
        (["good.npz", "--lr", "1e-320"], ["step_size must be between", "Recommended"]),
        (["good.npz", "--steps", "1000000000", "--train"], ["--steps", "at most 10000000 to be trained"]),
        (["good.csv", "--columns", "a,prise"], ["no column 'prise'", "did you mean 'price'"]),
        (["good.csv", "--impute", "mode"], ["--impute", "'mode'"]),
        (["good.npz", "--steps", "0"], ["--steps", "'0'"]),
        (["good.npz", "--out", "file"], ["--out", "'file'", "File exists"]),
        ([], ["DATA"]),
    ],
)
def test_mistakes_are_one_line_and_exit_two(run, arguments, said):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("lineament: ")
    for part in said:
        assert part in line


def test_a_forecast_of_an_archive_needs_neither_jax_nor_pandas():
    heavy = ("jax", "pandas", "scipy.stats", "sklearn", "matplotlib", "torch")
    code = "import sys; from lineament import cli; cli.main(['forecast', 'good.npz', '--json']); "
    code += f"print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()[-1] == "[]"


def test_an_ordinary_network_is_forecast_as_json(run):
    code, out, _ = run("good.csv", "--network", "mlp", "--width", "8", "--steps", "5", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["network"].startswith("MLP 3 → 8 → 8 → 1")
    assert data["loss"] == "½ mean‖f − y‖²"
    assert len(data["curve"]["test_loss"]) == len(data["curve"]["step"])


def test_a_linear_network_with_an_ordinary_start_is_followed_row_by_row(run, tmp_path):
    options = ["--init", "glorot", "--depth", "3", "--width", "9", "--batch", "8", "--steps", "20", "--train"]
    code, out, _ = run("good.csv", *options, "--out", ".")
    assert code == 0
    assert out.startswith("What a DeepLinear 3 → 9 → 9 → 1 learns from good.csv")
    assert "Nothing is linearised" in out
    assert "Start: Glorot's." in " ".join(out.split())
    page = (tmp_path / "forecast.html").read_text()
    assert "--network linear --depth 3" in page
    data = json.loads((tmp_path / "forecast.json").read_text())
    assert data["trained"]["covered"] > 0.5
    assert len(data["error_bar"]["low"]) == len(data["curve"]["step"])


@pytest.mark.parametrize(("options", "said"), [
    (["--init", "glorot", "--whiten"], "--whiten"),
    (["--batch", "8", "--more-rows"], "--more-rows"),
    (["--network", "mlp", "--init", "balanced"], "start must be"),
])  # fmt: skip
def test_options_that_do_not_go_together_are_refused(run, options, said):
    code, _, err = run("good.csv", *options)
    assert code == 2
    assert said in err


@pytest.mark.parametrize("name", ["cnn", "no_such_module:f", "json:nothing", "json:__name__"])
def test_an_unknown_network_is_refused(run, name):
    code, _, err = run("good.csv", "--network", name)
    assert code == 2
    assert "--network" in err


def test_an_error_of_ones_own_function_is_told_with_its_name(tmp_path, monkeypatch, capfd):
    (tmp_path / "mine_fails.py").write_text("def build(inputs, outputs):\n    raise TypeError('no such layer')\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["forecast", "diabetes", "--network", "mine_fails:build"]) == 2
    told = " ".join(capfd.readouterr().err.split())
    assert "'mine_fails:build' must make a network from the numbers of inputs and outputs" in told
    assert "it raised TypeError: no such layer" in told


@pytest.mark.parametrize(
    "given", [("--network", "mlp", "--depth", "9"), ("--network", "mlp", "--start", "2"), ("--width", "64")]
)
def test_options_of_which_nothing_would_be_made_are_refused(given, capfd):
    assert cli.main(["forecast", "diabetes", *given]) == 2
    told = " ".join(capfd.readouterr().err.split())
    assert f"Invalid value for '{given[-2]}': is for" in told
