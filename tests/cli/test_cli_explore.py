"""`lineament explore` writes one page, says where, and opens it."""

import webbrowser

import pytest

from lineament.cli import main


@pytest.fixture
def opened(monkeypatch):
    seen: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: seen.append(address) or True)
    return seen


def test_the_page_is_written_and_opened(tmp_path, capsys, opened):
    path = tmp_path / "new folder" / "page.html"
    assert main(["explore", "--out", str(path), "--preset", "gissin-f2"]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    assert opened == [path.resolve().as_uri()]
    assert '"preset":"gissin-f2"' in path.read_text(encoding="utf-8")


def test_by_default_the_page_is_in_the_users_cache(tmp_path, capsys, opened, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["explore", "--no-browser"]) == 0
    assert capsys.readouterr().out.strip().endswith("explorer.html")
    assert opened == []


def test_an_unknown_preset_and_a_place_that_cannot_be_written_are_refused(tmp_path, capsys, opened):
    assert main(["explore", "--preset", "gissin-f99"]) == 2
    assert "'gissin-f99' is not one of gissin-f2" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["explore", "--out", str(tmp_path / "file" / "page.html")]) == 2
    assert "cannot write to the folder" in capsys.readouterr().err
    assert opened == []
