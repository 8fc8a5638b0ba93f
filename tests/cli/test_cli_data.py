"""`lineament data`: what it prints, and what it refuses."""

import pytest

from lineament import cli


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LINEAMENT_DATA", raising=False)
    monkeypatch.setattr("lineament.data.catalogue.cache_folder", lambda: tmp_path / "cache")

    def go(*arguments):
        code = cli.main(arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return go


def test_list_names_every_set_and_says_what_is_at_hand(run):
    code, out, _ = run("data", "list")
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "built in" in lines["digits"]
    assert "lacks 4 of 4 files" in lines["mnist"]


def test_list_with_a_name_tells_files_and_checksums(run):
    code, out, _ = run("data", "list", "mnist")
    assert code == 0
    assert "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609" in out


def test_verify_fails_when_files_are_missing(run):
    assert run("data", "verify", "digits")[0] == 0
    code, out, _ = run("data", "verify", "mnist")
    assert code == 1
    assert out.count("missing") == 4


def test_show_saves_a_contact_sheet(run, tmp_path):
    code, out, _ = run("data", "show", "digits", "--out", "sheet.png")
    assert (code, out.strip()) == (0, "sheet.png")
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "minst"], ["'NAME'", "'minst'", "mnist"]),
        (["show", "digits", "--out", "sheet.pdf"], ["'--out'", "must end in .png"]),
        (["fetch"], ["NAME"]),
    ],
)
def test_mistakes_are_told_in_one_line(run, arguments, words):
    code, out, err = run("data", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert all(word in err for word in words)
