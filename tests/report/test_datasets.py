"""What `lineament data` prints and saves."""

import urllib.error
import urllib.request

import numpy as np
import pytest

from lineament.data import catalogue, entries
from lineament.data.download import File
from lineament.data.images import Images
from lineament.data.mnist import VARIABLE
from lineament.report import datasets


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "named"))
    monkeypatch.setattr(catalogue, "cache_folder", lambda: tmp_path / "cache")

    def offline(url, timeout):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    return tmp_path


def one_file(monkeypatch, content=b"abc"):
    digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of b"abc", FIPS 180-2
    file = File("mnist/abc", digest, "https://example.org/abc")
    entry = catalogue.entry("mnist")
    monkeypatch.setitem(entries.CATALOGUE, "mnist", entries.Entry(**{**vars(entry), "files": (file,)}))
    return file


def test_the_table_names_every_set_and_says_which_are_at_hand(places, capsys):
    datasets.list_sets()
    lines = capsys.readouterr().out.splitlines()
    for name in catalogue.names():
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        assert ("built in" in line) == (not catalogue.entry(name).files)


def test_verification_tells_missing_from_altered(places, monkeypatch, capsys):
    file = one_file(monkeypatch)
    assert not datasets.verify(["mnist"])
    assert "missing" in capsys.readouterr().out
    path = file.place(places / "named", b"abc")
    assert datasets.verify(["mnist", "digits"])
    assert "as published" in capsys.readouterr().out
    assert datasets.at_hand("mnist") == str(places / "named")
    path.write_bytes(b"abd")
    assert not datasets.verify(["mnist"])
    assert "not the original" in " ".join(capsys.readouterr().out.split())


def test_fetching_offline_says_what_to_put_where(places, monkeypatch, capsys):
    file = one_file(monkeypatch)
    with pytest.raises(FileNotFoundError, match=r"mnist/abc.*LINEAMENT_DATA.*no network"):
        datasets.fetch(["mnist"])
    file.place(places / "cache", b"abc")
    assert datasets.fetch(["mnist"]) == []
    assert "is at hand" in capsys.readouterr().err
    with pytest.raises(ValueError, match="name must be one of"):
        datasets.fetch(["imagenet"])


def test_a_description_holds_files_and_checksums(places, monkeypatch, capsys):
    file = one_file(monkeypatch)
    datasets.describe("mnist")
    said = "".join(capsys.readouterr().out.split())
    for needed in (file.digest, file.url, "lacks1of1files", "LeCun"):
        assert needed in said


@pytest.mark.parametrize("name", ["digits", "frequency", "natural-gaussian"])
def test_contact_sheets_are_pictures(places, name):
    from PIL import Image

    path = datasets.show(catalogue.load(name), places / "sheet.png")
    with Image.open(path) as picture:
        colours = np.asarray(picture.convert("RGB")).reshape(-1, 3)
    assert len(np.unique(colours, axis=0)) > 10


def test_classes_with_few_images_leave_gaps(places):
    image = np.zeros((1, 2, 2, 3), np.float32)
    data = Images(image, np.array([1]), image, np.array([1]), ("none", "one"), "tiny")
    assert datasets.show(data, places / "tiny.png").stat().st_size > 0
    with pytest.raises(ValueError, match=r"must end in \.png"):
        datasets.show(data, places / "tiny.gif")
