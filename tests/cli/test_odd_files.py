"""The command line on what it does not expect: pipes for files, names of no alphabet, outputs that take nothing."""

import io
import os
import statistics
import sys

import pytest

from lineament import cli
from lineament.core.words import harmless
from lineament.report.terminal import Terminal

ROWS = "a,b,y\n" + "".join(f"{i},{i * i % 7},{i * i % 11}\n" for i in range(40))
OWN = '''"""A claim that costs nothing."""
from lineament.claims import Claim
from lineament.evidence import Evidence, at_most

CLAIMS = (Claim("own-one", "Section 1", "One", "1=1", "{module}:check", words="One is one.", kind="theorem"),)


def check(size, key):
    """Whether one is one."""
    {body}
    return Evidence([at_most("gap", 0.0, 0.5)])
'''


@pytest.fixture(autouse=True)
def _at_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))


def own(path, module, body="pass"):
    (path / f"{module}.py").write_text(OWN.format(module=module, body=body), encoding="utf-8")
    return f"{module}.py"


def test_a_page_takes_the_place_of_a_file_alone(tmp_path, capsys):
    os.mkfifo("pipe.html")
    assert cli.main(["explore", "--no-browser", "--out", "pipe.html"]) == 2
    assert capsys.readouterr().err == "lineament: A device or a pipe, not a file to be written: 'pipe.html'\n"
    assert (tmp_path / "pipe.html").is_fifo()


def test_a_table_whose_name_is_no_text_has_a_page(tmp_path, capsys):
    name = os.fsdecode(b"table\xe9.csv")
    (tmp_path / name).write_text(ROWS)
    assert cli.main(["forecast", name, "--out", "pages"]) == 0
    assert b"table\\udce9.csv" in (tmp_path / "pages" / "forecast.html").read_bytes()


def test_what_the_alphabet_of_the_terminal_lacks_is_escaped(tmp_path, monkeypatch):
    (tmp_path / "table.csv").write_text(ROWS)
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
    assert cli.main(["forecast", "table.csv"]) == 0
    sys.stdout.flush()
    assert b"learns from table.csv" in printed.getvalue()
    assert b"\\u" in printed.getvalue() or b"\\x" in printed.getvalue()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_is_one_line(monkeypatch, capsys):
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert cli.main(["claims"]) == 1
    assert capsys.readouterr().err == "lineament: No space left on device: standard output\n"


@pytest.mark.parametrize("text", ["plain", "1\u202f483 × 2\u2009m", "två\tr\n"])
def test_words_and_spaces_of_any_width_are_harmless(text):
    assert harmless(text) == text


def test_nothing_steers_the_terminal_but_its_own_styles():
    out = io.StringIO()
    terminal = Terminal()
    terminal.file = out
    terminal.print("[red]a\x1b[31m[/x]\x9b\udcff\u202e", soft_wrap=True)
    assert out.getvalue() == "[red]a\ufffd[31m[/x]\ufffd\ufffd\ufffd\n"


def test_a_check_that_ends_the_program_is_an_error_and_its_words_do_not_steer_the_terminal(tmp_path, capsys):
    assert cli.main(["reproduce", own(tmp_path, "own_ends", "raise SystemExit(0)")]) == 1
    assert "SystemExit: 0 (own_ends.py, line 10)" in capsys.readouterr().out
    assert cli.main(["reproduce", own(tmp_path, "own_red", r"raise ValueError('\x1b[31m')")]) == 1
    said = capsys.readouterr()
    assert harmless(said.out + said.err) == said.out + said.err
    assert "ValueError: \ufffd[31m" in said.out


def test_a_claim_without_a_check_has_no_page(tmp_path, capsys):
    name = own(tmp_path, "own_lacks")
    (tmp_path / name).write_text((tmp_path / name).read_text().replace("def check", "def other"))
    for command in (["show", name], ["atlas", name, "--out", "atlas"]):
        assert cli.main(command) == 2
        said = capsys.readouterr().err
        assert "'ID': own-one: check must name a function of own_lacks; got 'own_lacks:check'" in said


def test_a_claim_whose_source_is_torn_while_it_is_kept_is_named(tmp_path, capsys):
    name = own(tmp_path, "own_torn")
    command = ["reproduce", name, "--out", "results"]
    assert cli.main(command) == 0
    (tmp_path / "torn_helper.py").write_text("def f(:\n")
    (tmp_path / name).write_text((tmp_path / name).read_text() + "    import torn_helper\n")
    sys.modules.pop("own_torn")
    assert cli.main(["atlas", name, "--out", "atlas", "--results", "results", "--jobs", "1"]) in (1, 2)
    said = capsys.readouterr()
    assert "torn_helper.py' is no Python" in said.out + said.err


def test_evidence_that_is_no_file_is_told_and_the_rest_is_shown(tmp_path, capsys):
    name = own(tmp_path, "own_shown")
    assert cli.main(["reproduce", name, "--out", "results"]) == 0
    os.mkfifo("results/own-one.quick.7.json")
    os.mkdir("results/own-one.quick.8.json")
    assert cli.main(["show", name, "--results", "results"]) == 0
    said = capsys.readouterr().out
    assert "quick, seed 0: holds" in said
    assert "A device or a pipe, not a file" in said
    assert "Is a directory" in said


def test_a_pipe_is_no_sweep(capsys):
    os.mkfifo("pipe.toml")
    assert cli.main(["sweep", "pipe.toml", "--dry-run"]) == 2
    assert "A device or a pipe, not a file: 'pipe.toml'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("experiment", "text", "told"),
    [
        ("statistics.py:own", "def own(x): return x", "there is another module 'statistics'"),
        ("spec_torn.py:own", "def own(x:", "SyntaxError"),
        ("spec_raises.py:own", "1/0", "ZeroDivisionError: division by zero"),
        ("spec_ends.py:own", "raise SystemExit(0)", "SystemExit: 0"),
    ],
)
def test_an_experiment_that_cannot_be_imported_is_refused(tmp_path, capsys, experiment, text, told):
    assert not hasattr(statistics, "own")
    (tmp_path / experiment.partition(":")[0]).write_text(text)
    (tmp_path / "sweep.toml").write_text(f'experiment = "{experiment}"\nstore = "runs"\n[grid]\nx = [1.0]\n')
    assert cli.main(["sweep", "sweep.toml", "--dry-run"]) == 2
    assert told in capsys.readouterr().err


def test_a_spread_of_more_values_than_fit_the_memory_is_refused(tmp_path, capsys):
    (tmp_path / "trial.py").write_text("def own(x): return x")
    spread = "x = {linspace = [0, 1, 1000000000000]}"
    (tmp_path / "sweep.toml").write_text(f'experiment = "trial.py:own"\nstore = "runs"\n[grid]\n{spread}\n')
    assert cli.main(["sweep", "sweep.toml", "--dry-run"]) == 2
    assert "at most 10000000; got 1000000000000" in capsys.readouterr().err


def test_a_scoreboard_says_at_once_what_it_begins(tmp_path, capsys):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "flat.csv").write_text("a,y\n1,2\n2,2\n3,2\n")
    assert cli.main(["scoreboard", "tables", "--only", "1 layer", "--out", "board"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["1 table, 1 column: finished cells are kept in board", "flat, linear, 1 layer …"]
