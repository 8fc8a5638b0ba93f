"""The command line: what it prints, where, and the exit codes that scripts rely on."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from lineament import cli
from lineament.claims import SIZES
from lineament.claims.papers import PAPERS
from lineament.cli import completion, options
from lineament.execution import environment, reproduce, store

pytest_plugins = ["report.faked"]
HEAVY = ("jax", "numpy", "scipy", "matplotlib", "xarray", "jinja2", "rich", "diffrax", "lineament.claims")
# What no claim needs before its work begins: pages, pictures, statistics, convex programs, other frameworks.
UNNEEDED = (
    "cvxpy",
    "distributed",
    "jinja2",
    "matplotlib",
    "PIL",
    "scipy.stats",
    "skimage",
    "sklearn",
    "torch",
    "zarr",
)


@pytest.fixture(autouse=True)
def _at_home(faked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def imported(command, names):
    """What a command prints in a process of its own, and on the last line which of these modules it has imported."""
    code = "import sys; from lineament import cli; "
    code += f"cli.main({command.split()!r}); print([name for name in {names!r} if name in sys.modules])"
    return subprocess.check_output([sys.executable, "-c", code], text=True, stderr=subprocess.PIPE)


@pytest.fixture
def run(capfd):
    """Run the command as the shell would; returns the exit code and what was printed to either stream."""

    def command(*arguments):
        code = cli.main(arguments)
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    return command


def test_help_imports_nothing_heavy():
    """What makes an answer slow is what it imports, and that does not depend on how busy the machine is."""
    told = imported("--help", HEAVY)
    assert {"claims", "reproduce", "atlas", "forecast", "data", "cite"} <= set(told.split())
    assert told.splitlines()[-1] == "[]"


def test_a_claim_by_formulas_imports_no_solver():
    names = ("diffrax", "equinox", "optax", "pandas", "xarray", *UNNEEDED)
    told = imported("reproduce gissin-t1 --json", names)
    assert json.loads(told.splitlines()[0])["id"] == "gissin-t1"
    assert told.splitlines()[-1] == "[]"


def test_no_claim_imports_what_only_a_few_need_when_they_run():
    code = "import sys; from lineament import cli; from lineament.claims import all_claims; from lineament.execution "
    code += "import campaign; [claim.load() for claim in all_claims().values()]; "
    code += f"print([name for name in {UNNEEDED!r} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


@pytest.mark.parametrize("command", ["claims", "reproduce", "atlas", "forecast", "data", "cite"])
def test_every_command_explains_itself(command):
    told = CliRunner().invoke(cli.app, [command, "--help"])
    assert told.exit_code == 0
    assert told.stdout.startswith(f"Usage: lineament {command}")
    if command in ("reproduce", "atlas"):
        assert "exit code is 0" in " ".join(told.stdout.split())


@pytest.mark.parametrize(
    ("complete", "incomplete", "offered"),
    [
        (completion.claims, "gissin-t", "gissin-t1"),
        (completion.papers, "hu", "hu"),
        (completion.claims_and_papers, "co", "cohen"),
        (completion.data_sets, "cif", "cifar-10"),
        (completion.presets, "gissin-f", "gissin-f2"),
    ],
)
def test_what_the_tab_key_offers(complete, incomplete, offered, monkeypatch):
    monkeypatch.undo()  # the claims that there are, not the made-up ones
    found = [each if isinstance(each, str) else each[0] for each in complete(incomplete)]
    assert offered in found
    assert all(each.startswith(incomplete) for each in found)


def test_the_shell_is_answered(monkeypatch, capsys):
    monkeypatch.setenv("_LINEAMENT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "lineament new")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 0
    assert capsys.readouterr().out.split() == ["new-claim"]


def test_a_new_claim_is_written_once_and_can_be_shown(run, tmp_path):
    code, out, _ = run("new-claim", "mine-edge", "--out", "here")
    assert code == 0
    assert out.splitlines()[:3] == ["here/mine_edge.py", "here/test_mine_edge.py", "here/pyproject.toml"]
    assert 'mine_edge = "mine_edge:CLAIMS"' in (tmp_path / "here" / "pyproject.toml").read_text()
    assert run("new-claim", "mine-edge", "--out", "here")[0] == 2
    assert "must be a key, a hyphen" in run("new-claim", "Edge")[2]
    code, out, _ = run("show", "here/mine_edge.py")
    assert code == 0
    assert "each singular value $\\sigma$ of the product" in " ".join(out.split()).lower()


@pytest.mark.parametrize(
    ("text", "told"), [("", "must define CLAIMS"), ("CLAIMS = 1,", "must name a sequence of Claim")]
)
def test_a_file_without_claims_is_refused_in_one_line(run, tmp_path, text, told):
    name = f"no_claims_{len(text)}.py"
    (tmp_path / name).write_text(text)
    code, _, err = run("reproduce", name)
    assert code == 2
    assert told in err
    assert len(err.splitlines()) == 1
    assert "there is no file" in run("reproduce", "nowhere.py")[2]


def test_an_unknown_paper_is_told_where_it_was_given(run):
    code, _, err = run("claims", "gisin")
    assert code == 2
    assert "'PAPER'" in err
    assert "gissin" in err


def test_the_bare_command_shows_what_there_is(run):
    assert run() == run("--help")
    assert run()[0] == 0


def test_plot_is_reached_from_the_top():
    code = "import sys, lineament; assert 'matplotlib' not in sys.modules; print(lineament.plot.overlay.__name__)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "overlay\n"


def test_version(run):
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    assert out.split()[0] == "lineament"


def test_sizes_are_those_of_the_claims():
    assert tuple(options.Size) == SIZES


def test_claims_are_listed(run):
    code, out, _ = run("claims")
    assert code == 0
    head, *rows = out.splitlines()
    assert head.split() == ["claim", "place", "title", "kind", "quick", "full"]
    assert [row.split()[0] for row in rows] == ["cohen-d", "gissin-a", "gissin-b", "gissin-c"]
    assert "Figure 3" in rows[3]
    assert "experiment" in rows[3]


def test_claims_as_json(run):
    code, out, _ = run("claims", "--paper", "cohen", "--json")
    assert code == 0
    (claim,) = map(json.loads, out.splitlines())
    assert claim == {
        "id": "cohen-d",
        "paper": "cohen",
        "place": "Lemma 2",
        "title": "A lemma",
        "statement": r"\det W>0",
        "words": "",
        "kind": "theorem",
        "cost": {"quick": "1 s", "full": "2 s"},
    }


def test_reproduce_prints_a_table(run):
    code, out, err = run("reproduce", "gissin-a", "gissin-c", "gissin-a")
    assert code == 0, "an experiment that differs is a finding"
    head, first, second = out.splitlines()
    assert head.split() == ["claim", "size", "verdict", "key", "number", "time"]
    assert first.split()[:3] == ["gissin-a", "quick", "holds"]
    assert "gap = 3.2e-10 ≤ 1e-08" in first
    assert second.split()[:3] == ["gissin-c", "quick", "differs"]
    assert [line.split()[0] for line in err.splitlines()] == ["1/2", "2/2"]


def test_reproduce_as_json_prints_nothing_else(run):
    code, out, err = run("reproduce", "--all", "--json", "--seed", "4", "--size", "full")
    assert code == 0
    results = [json.loads(line, parse_constant=pytest.fail) for line in out.splitlines()]
    assert [result["id"] for result in results] == ["cohen-d", "gissin-a", "gissin-b", "gissin-c"]
    assert all(list(result) == ["id", "verdict", "reason", "numbers", "size", "seed", "seconds"] for result in results)
    assert {(result["size"], result["seed"]) for result in results} == {("full", 4)}
    assert results[1]["numbers"] == {"bad": "nan", "far": "inf", "gap": 3.2e-10, "slope": 1.98}
    assert "4/4 gissin-c" in err


def test_several_seeds_give_one_verdict(run, tmp_path):
    code, out, _ = run("reproduce", "gissin-a", "gissin-b", "--seeds", "0-2,7", "--out", "kept")
    assert code == 0
    assert "gissin-a" in out
    pooled = [line.split()[:4] for line in out.splitlines() if "/4" in line]
    assert pooled == [["gissin-a", "quick", "holds", "4/4"], ["gissin-b", "quick", "holds,", "corrected"]]
    kept = {seed: store.load(tmp_path / "kept" / f"gissin-a.quick.{seed}.json") for seed in (0, 1, 2, 7)}
    assert [seed for seed, stored in kept.items() if stored.figure is not None] == [0], "one seed's figure is enough"


def test_only_what_is_missing_is_run(run, monkeypatch, tmp_path):
    monkeypatch.setenv("LINEAMENT_COMMIT", "abc1234")
    environment._commit.cache_clear()
    assert run("reproduce", "gissin-a", "--out", "kept")[0] == 0
    code, out, err = run("reproduce", "gissin-a", "--seeds", "0-1", "--out", "kept", "--missing")
    assert code == 0
    assert "1 of 2 claims is already there" in err
    assert "2/2" in out
    environment._commit.cache_clear()
    code, _, err = run("reproduce", "gissin-a", "--missing")
    assert code == 2
    assert "--out" in err


def test_a_plan_says_what_is_missing_and_runs_nothing(run, monkeypatch, tmp_path):
    monkeypatch.setenv("LINEAMENT_COMMIT", "abc1234")
    environment._commit.cache_clear()
    assert run("reproduce", "gissin-a", "--out", "kept")[0] == 0
    code, out, _ = run("reproduce", "gissin-a", "gissin-b", "--out", "kept", "--missing", "--plan")
    environment._commit.cache_clear()
    assert code == 0
    assert [line.split()[:3] for line in out.splitlines() if "gissin" in line] == [["gissin-b", "quick", "0"]]
    assert "1 of 1 missing runs; 1 are there" in out
    assert not list((tmp_path / "kept").glob("gissin-b*"))
    for option in (["--plan"], ["--minutes", "5"]):
        code, _, err = run("reproduce", "gissin-a", *option)
        assert code == 2
        assert "--missing" in err


def test_only_what_fits_in_the_time_is_begun(run, tmp_path):
    code, out, _ = run("reproduce", "gissin-a", "--out", "kept", "--missing", "--minutes", "0.001", "--plan")
    assert code == 0
    assert "0 of 1 missing runs" in out
    assert run("reproduce", "gissin-a", "--out", "kept", "--missing", "--minutes", "60")[0] == 0
    assert list((tmp_path / "kept").glob("gissin-a.quick.0.json"))


def test_seeds_are_ranges_of_whole_numbers(run):
    for given in ("3-1", "x", "1-", "-1", "0-99999999", ""):
        code, _, err = run("reproduce", "gissin-a", "--seeds", given)
        assert code == 2, given
        assert "--seeds" in err


def test_show_tells_all_of_one_claim(run, tmp_path):
    run("atlas", "gissin-a")
    code, out, _ = run("show", "Theorem 1")
    assert code == 0
    for part in (
        "gissin-a",
        "A < B & so on",
        "Gissin et al. 2020, Theorem 1",
        "quick, seed 0: holds",
        ".py:",
        "atlas/gissin-a.html",
        "lineament reproduce gissin-a",
    ):
        assert part in out, part
    assert run("show", "Theorem 99")[0] == 2


def test_reproduce_stores_evidence_and_figures(run, tmp_path):
    code, _, _ = run("reproduce", "gissin-a", "gissin-c", "--out", "new/folder")
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "new/folder").iterdir()) == [
        "gissin-a.quick.0.json",
        "gissin-a.quick.0.png",
        "gissin-a.quick.0.svg",
        "gissin-c.quick.0.json",
    ]
    assert store.load(tmp_path / "new/folder/gissin-a.quick.0.json").id == "gissin-a"


def test_a_claim_that_raises_is_an_error_and_the_rest_runs(run, monkeypatch):
    monkeypatch.setenv("FAKED_RAISE", "1")
    code, out, err = run("reproduce", "--all", "--json")
    assert code == 1
    first, *rest = map(json.loads, out.splitlines())
    assert first["verdict"] == "error"
    assert first["reason"].startswith("RuntimeError: the solver gave up")
    assert list(first) == list(rest[0])
    assert len(rest) == 3
    assert "Traceback" not in err


def test_a_theorem_that_fails_is_exit_one(run, monkeypatch):
    monkeypatch.setenv("FAKED_FALSE", "1")
    code, out, _ = run("reproduce", "cohen-d")
    assert code == 1
    assert "violations = 3 > bar 0" in out
    assert run("atlas", "cohen-d")[0] == 1


def test_atlas_runs_resumes_and_starts_over(run, tmp_path):
    code, out, err = run("atlas", "--jobs", "1")
    assert code == 0
    *table, total, index = out.splitlines()
    assert [row.split()[0] for row in table] == ["claim", "cohen-d", "gissin-a", "gissin-b", "gissin-c"]
    assert total.split()[:3] == ["total", "4", "claims"]
    assert index == "atlas/index.html"
    assert (tmp_path / index).is_file()
    assert len(err.splitlines()) == 4
    _, again, err = run("atlas", "--jobs", "1")
    assert err.splitlines() == ["4 of 4 claims are already there"]
    assert again == out
    _, _, err = run("atlas", "--jobs", "1", "--fresh", "--paper", "gissin", "--out", "atlas")
    assert [line.split()[1] for line in err.splitlines()] == ["gissin-a", "gissin-b", "gissin-c"]


def test_atlas_with_workers(run, tmp_path):
    code, out, _ = run("atlas", "gissin-a", "gissin-b", "--jobs", "2", "--out", "site")
    assert code == 0
    assert "site/index.html" in out
    assert {path.name for path in (tmp_path / "site" / "evidence").glob("*.json")} == {
        "gissin-a.quick.0.json",
        "gissin-b.quick.0.json",
    }
    assert "not run" in (tmp_path / "site" / "cohen-d.html").read_text(encoding="utf-8")


def test_atlas_shows_results_of_full_runs(run, tmp_path):
    assert run("reproduce", "gissin-a", "--size", "full", "--out", "results")[0] == 0
    (tmp_path / "results" / "gissin-c.full.0.json").write_text("{")
    code, _, err = run("atlas", "gissin-a")
    assert code == 0
    assert "left out: results/gissin-c.full.0.json is not stored evidence" in err
    page = (tmp_path / "atlas" / "gissin-a.html").read_text(encoding="utf-8")
    assert "lineament reproduce gissin-a --size full --seed 0" in page


def test_ctrl_c_says_how_to_go_on(run, monkeypatch, tmp_path):
    monkeypatch.setenv("FAKED_INTERRUPT", "1")
    code, out, err = run("atlas", "--jobs", "1")
    assert code == 130
    assert err.splitlines()[-1] == (
        "lineament: interrupted; 3 of 4 claims are kept; give the same command without --fresh to go on"
    )
    assert (tmp_path / "atlas" / "index.html").is_file()
    assert "gissin-b" in out
    code, out, err = run("reproduce", "gissin-a", "gissin-c", "gissin-b")
    assert code == 130
    assert out.splitlines()[1].startswith("gissin-a")
    assert err.splitlines()[-1] == "lineament: interrupted; 1 of 3 runs were finished"


def test_cite(run):
    code, out, _ = run("cite", "gissin-a", "gissin", "hu")
    assert code == 0
    assert out == f"{PAPERS['gissin'].bibtex}\n\n{PAPERS['hu'].bibtex}\n"
    assert run("cite")[1] == f"{PAPERS['cohen'].bibtex}\n\n{PAPERS['gissin'].bibtex}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reproduce", "gissin-aa"], ["'ID'", "unknown claim 'gissin-aa'", "did you mean gissin-a"]),
        (["reproduce"], ["'ID'", "--all"]),
        (["reproduce", "gissin-a", "--all"], ["'ID'", "--all"]),
        (["reproduce", "gissin-a", "--size", "huge"], ["--size", "'huge'", "'quick', 'full'"]),
        (["reproduce", "gissin-a", "--seed", "-3"], ["--seed", "'-3'", "from 0"]),
        (["reproduce", "gissin-a", "--seed", "x"], ["--seed", "'x'", "whole number"]),
        (["reproduce", "gissin-a", "--seed", str(2**63)], ["--seed", str(2**63 - 1)]),
        (["reproduce", "gissin-a", "--out", "file/sub"], ["--out", "'file/sub'", "Not a directory"]),
        (["atlas", "--out", "file"], ["--out", "'file'", "File exists"]),
        (["atlas", "--jobs", "0"], ["--jobs", "'0'", "from 1"]),
        (["atlas", "--results", "nowhere"], ["--results", "'nowhere'"]),
        (["atlas", "--paper", "wu"], ["--paper", "'wu'", "cohen, gissin"]),
        (["atlas", "gissin-a", "--paper", "cohen"], ["'ID'", "gissin-a", "'cohen'"]),
        (["claims", "--paper", "wu"], ["--paper", "'wu'", "cohen, gissin"]),
        (["cite", "wu"], ["'wu'", "cohen, gissin, varre"]),
        (["atlass"], ["atlass"]),
        (["atlas", "--nope"], ["--nope"]),
    ],
)
def test_bad_input_is_one_line_and_exit_two(run, tmp_path, arguments, said):
    (tmp_path / "file").write_text("")
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("lineament: ")
    for part in said:
        assert part in line
    assert not (tmp_path / "atlas").exists(), "nothing is made before the arguments are known to be good"


def test_an_unwritable_folder_stops_before_any_claim_runs(run, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(reproduce, "reproduce", lambda *_: pytest.fail("a claim was run"))
    assert run("reproduce", "--all", "--out", "file")[0] == 2


def test_a_closed_pipe_is_no_traceback():
    process = subprocess.Popen(
        [sys.executable, "-m", "lineament", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()  # long before anything is printed
    assert process.wait() == 1
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.parametrize("name", ["\u202ekcab.html", "\x1b[2Jclear.html"])
def test_a_path_that_was_written_cannot_steer_the_terminal(run, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("explore", "--no-browser", "--out", name)
    assert (code, (tmp_path / name).is_file()) == (0, True)
    assert out.strip().isprintable()
    assert "\N{REPLACEMENT CHARACTER}" in out
