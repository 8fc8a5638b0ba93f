"""The catalogue: where data are looked for, what is verified, and what is said when they are not there."""

import gzip
import hashlib
import io
import struct
import sys
import tarfile
import urllib.error
import urllib.request

import numpy as np
import pytest
from binaries import records

from lineament.data import catalogue, cifar, download, entries
from lineament.data.mnist import SHA256, VARIABLE

BUILT_IN = ("digits", "photographs", "natural-gaussian", "frequency")


@pytest.fixture
def places(tmp_path, monkeypatch):
    """An empty folder of LINEAMENT_DATA, an empty cache, and no network."""
    named, cache = tmp_path / "named", tmp_path / "cache"
    named.mkdir()
    monkeypatch.setenv(VARIABLE, str(named))
    monkeypatch.setattr(catalogue, "cache_folder", lambda: cache)

    def offline(url, timeout):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    return named, cache


def serve(monkeypatch, pages):
    """Answer requests from memory, and note them."""
    asked = []

    def urlopen(url, timeout):
        asked.append(url)
        answer = io.BytesIO(pages[url])
        answer.headers = {"Content-Length": str(len(pages[url]))}
        return answer

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return asked


def archive(members):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return target.getvalue()


def idx(array):
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes())


def tiny(monkeypatch, name, contents):
    """Let a data set consist of given contents: same paths and addresses, their checksums."""
    entry = catalogue.entry(name)
    files = tuple(
        download.File(f.path, "sha256:" + hashlib.sha256(content).hexdigest(), f.url, f.member, f.coarse)
        for f, content in zip(entry.files, contents, strict=True)
    )
    shrunk = entries.Entry(**{**vars(entry), "files": files})
    monkeypatch.setitem(entries.CATALOGUE, name, shrunk)
    return files


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_sets_are_what_the_catalogue_says(places, name):
    entry, found = catalogue.entry(name), catalogue.load(name)
    assert (found.shape, len(found.classes)) == (entry.shape, entry.classes)
    assert (len(found.images), len(found.test_images)) == (entry.train, entry.test)
    assert (len(found.labels), len(found.test_labels)) == (entry.train, entry.test)
    assert set(found.labels) == set(found.test_labels) == set(range(entry.classes))
    assert (found.images.dtype, found.labels.dtype) == (np.float32, np.int64)


def test_every_file_has_a_checksum_and_an_address():
    lengths = {"sha256": 64, "sha1": 40, "md5": 32}
    for name in catalogue.names():
        for file in catalogue.entry(name).files:
            kind, _, digest = file.digest.partition(":")
            assert len(digest) == lengths[kind]
            assert file.url.startswith(("https://", "http://"))
            assert not file.path.startswith("/")
    assert {f.path.split("/")[1] for f in catalogue.entry("mnist").files} == set(SHA256)


def test_what_is_missing_offline_is_said_with_where_to_put_it(places):
    named, cache = places
    for options in ({"download": False}, {}):
        with pytest.raises(FileNotFoundError) as caught:
            catalogue.load("fashion-mnist", **options)
        said = str(caught.value)
        for needed in ("fashion-mnist/t10k-labels-idx1-ubyte.gz", VARIABLE, str(named), str(cache), "http"):
            assert needed in said
        assert ("no network" in said) == (options == {})
    with pytest.raises(FileNotFoundError, match="elsewhere"):
        catalogue.load("mnist", folder=named / "elsewhere")


def test_folders_are_searched_in_order(places, monkeypatch):
    named, cache = places
    contents = [
        idx(np.full((3, 2, 2), 51, np.uint8)),
        idx(np.arange(3, dtype=np.uint8)),
        idx(np.zeros((1, 2, 2), np.uint8)),
        idx(np.zeros(1, np.uint8)),
    ]
    files = tiny(monkeypatch, "mnist", contents)
    assert catalogue.locate("mnist") is None
    for root in (cache, named):
        for file, content in zip(files, contents, strict=True):
            file.place(root, content)
        assert catalogue.locate("mnist") == root
    found = catalogue.load("mnist")
    np.testing.assert_allclose(found.images, 0.2)
    assert found.images.shape == (3, 2, 2, 1)
    np.testing.assert_array_equal(found.labels, [0, 1, 2])
    monkeypatch.delenv(VARIABLE)
    assert catalogue.locate("mnist") == cache


def test_altered_files_are_refused(places, monkeypatch):
    named, _ = places
    (file, *_rest) = tiny(monkeypatch, "small-mammals", [records([(16, 36)])[0], records([(16, 50)], 1)[0]])
    for part, content in zip((file, *_rest), [records([(16, 36)])[0], records([(16, 50)], 1)[0]], strict=True):
        part.place(named, content)
    assert len(catalogue.load("small-mammals").images) == 1
    assert len(catalogue.verify("small-mammals", named)) == 2
    path = named / file.path
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match=r"train\.bin is not the original.*sha256"):
        catalogue.load("small-mammals")


def test_partial_cifar_10(places, monkeypatch):
    named, _ = places
    contents = [records([n, 3, 5], n)[0] for n in range(6)]
    files = tiny(monkeypatch, "cifar-10", contents)
    monkeypatch.setattr(catalogue, "CIFAR10_FILES", files)
    monkeypatch.setitem(
        entries.CATALOGUE, "cats-dogs", entries.Entry(**{**vars(catalogue.entry("cats-dogs")), "files": files})
    )
    for number in (1, 5):
        files[number].place(named, contents[number])
    with pytest.raises(FileNotFoundError, match=r"data_batch_1\.bin.*partial=True"):
        catalogue.load("cats-dogs", download=False)
    assert len(catalogue.load("cifar-10", partial=True, download=False).images) == 3
    assert len(catalogue.load("cats-dogs", partial=True, download=False).images) == 2
    (named / files[1].path).unlink()
    with pytest.raises(FileNotFoundError, match=r"data_batch_1\.bin"):
        catalogue.load("cifar-10", partial=True, download=False)


def test_downloads_are_verified_and_cached(places, monkeypatch):
    _, cache = places
    whole = {
        name: records([(16, 36), (2, 9), (16, 80)], seed)[0] for seed, name in enumerate(("train.bin", "test.bin"))
    }
    kept = [cifar.coarse_records(raw, 16) for raw in whole.values()]
    files = tiny(monkeypatch, "small-mammals", kept)
    packed = archive({f"cifar-100-binary/{name}": raw for name, raw in whole.items()})
    asked = serve(monkeypatch, {files[0].url: packed})
    told = []
    found = catalogue.load("small-mammals", progress=lambda *said: told.append(said))
    np.testing.assert_array_equal(found.labels, [0, 4])
    assert asked == [files[0].url]  # one address, once
    assert told[-1] == (files[0].url, len(packed), len(packed))
    assert catalogue.locate("small-mammals") == cache
    catalogue.load("small-mammals")
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (archive({"cifar-100-binary/train.bin": records([(16, 80)], 5)[0]}), "is not the original"),
        (archive({"other": b""}), r"does not hold cifar-100-binary/train\.bin"),
        (b"<html>", "no archive that can be read"),
    ],
    ids=["other bytes", "other files", "no archive"],  # an archive holds the time it was made, no name for a test
)
def test_wrong_downloads_leave_nothing_behind(places, monkeypatch, page, message):
    _, cache = places
    content = records([(16, 36)])[0]
    files = tiny(monkeypatch, "small-mammals", [content, content])
    serve(monkeypatch, {files[0].url: page})
    with pytest.raises(ValueError, match=message):
        catalogue.load("small-mammals")
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_a_wrong_single_file_is_refused(places, monkeypatch):
    _, cache = places
    asked = serve(monkeypatch, {f.url: b"nonsense" for f in catalogue.entry("fashion-mnist").files})
    with pytest.raises(ValueError, match="is not the original fashion-mnist/train-images"):
        catalogue.load("fashion-mnist")
    assert len(asked) == 1
    assert not cache.exists()


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"name must be one of cifar-10, .*; got 'imagenet'"):
        catalogue.load("imagenet")


def test_cats_and_dogs_alone_are_those_of_the_whole(places, monkeypatch):
    named, _ = places
    batches = {
        name: records([number, 3, 5, 7, 5], seed=number)[0] for number, name in enumerate((*cifar.TRAIN, cifar.TEST))
    }
    files = tiny(monkeypatch, "cats-dogs", list(batches.values()))
    for file, content in zip(files, batches.values(), strict=True):
        (named / file.path).parent.mkdir(exist_ok=True)
        (named / file.path).write_bytes(content)
    whole = catalogue.load("cats-dogs")
    split = lambda raw: [raw[i : i + 3073] for i in range(0, len(raw), 3073)]  # noqa: E731
    kept = {name: b"".join(r for r in split(raw) if r[0] in (3, 5)) for name, raw in batches.items()}
    contents = b"".join(kept[name] for name in cifar.TRAIN), kept[cifar.TEST]
    alone = tuple(
        download.File(f.path, "sha256:" + hashlib.sha256(content).hexdigest(), f.url)
        for f, content in zip(entries.CATS_DOGS_FILES, contents, strict=True)
    )
    entry = entries.CATALOGUE["cats-dogs"]
    monkeypatch.setitem(entries.CATALOGUE, "cats-dogs", entries.Entry(**{**vars(entry), "alone": alone}))
    for file in files:
        (named / file.path).unlink()
    with pytest.raises(FileNotFoundError):
        catalogue.load("cats-dogs", download=False)
    for file, content in zip(alone, contents, strict=True):
        (named / file.path).parent.mkdir(exist_ok=True)
        (named / file.path).write_bytes(content)
    found = catalogue.load("cats-dogs", download=False)
    assert (found.name, found.classes) == (whole.name, whole.classes)
    for got, expected in zip(found[:4], whole[:4], strict=True):
        np.testing.assert_array_equal(got, expected)
    (named / alone[0].path).write_bytes(contents[0][:-1] + b"x")
    with pytest.raises(ValueError, match="not the original"):
        catalogue.load("cats-dogs", download=False)


def test_every_address_is_safe_and_every_checksum_is_strong():
    files = [file for entry in catalogue.CATALOGUE.values() for file in entry.files]
    assert files
    assert all(file.url.startswith("https://") for file in files)
    weak = {file.path for file in files if not file.digest.startswith("sha256:")}
    assert weak == {"cifar-100-binary/train.bin", "cifar-100-binary/test.bin"}, "whose only published sums are sha1"


@pytest.mark.parametrize("told", [True, False])
def test_a_download_without_end_is_cut_off(places, monkeypatch, told):
    from lineament.data import download

    class Endless(io.RawIOBase):
        def __init__(self):
            self.headers, self.given = {"Content-Length": str(10**12)} if told else {}, 0

        def read(self, size=-1):
            self.given += size
            return b"0" * size

    answer = Endless()
    monkeypatch.setattr(download, "LARGEST", 3 * download.PIECE)
    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: answer)
    with pytest.raises(ValueError, match="must have at most 3 MiB; got"):
        catalogue.load("fashion-mnist")
    assert answer.given == (0 if told else 4 * download.PIECE)


def test_the_cache_is_not_asked_for_where_the_named_folder_has_the_files(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "platformdirs", None)  # as on a borrowed machine
    monkeypatch.setenv("LINEAMENT_DATA", str(tmp_path))
    assert catalogue.locate("digits") == tmp_path
    with pytest.raises(ModuleNotFoundError, match="platformdirs"):
        catalogue.folders()
