"""Files are whole or absent."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from lineament.execution import files


def test_a_file_is_replaced_and_readable_by_others(tmp_path):
    path = tmp_path / "a.txt"
    files.write(path, "one")
    files.write(path, "zwei ≤ 2")
    assert path.read_text(encoding="utf-8") == "zwei ≤ 2"
    mask = os.umask(0o022)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_error_on_the_way_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, call, error):
    path = files.write(tmp_path / "a.txt", "old")

    def fail(*_):
        raise error

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)):
        files.write(path, "new")
    assert os.listdir(tmp_path) == ["a.txt"]
    assert path.read_text() == "old"


def test_a_kill_on_the_way_leaves_no_file_of_that_name_and_the_next_run_sweeps(tmp_path):
    code = """
        import os, pathlib, sys, time
        from lineament.execution import files
        def halt(_):
            print("half", flush=True)
            time.sleep(60)
        os.fsync = halt
        files.write(pathlib.Path(sys.argv[1]) / "a.txt", "new" * 1000)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "half\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    (part,) = tmp_path.iterdir()
    assert part.name.startswith(".a.txt.")
    files.writable(tmp_path)
    assert part.exists(), "a file that may still be written to is left alone"
    long_ago = time.time() - 120
    os.utime(part, (long_ago, long_ago))
    files.writable(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_made(tmp_path):
    assert files.writable(tmp_path / "a" / "b").is_dir()


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(ValueError, match=r"cannot write to the folder '.*a.b'"):
        files.writable(tmp_path / "a" / "b")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_not_replaced_by_one(tmp_path, make):
    path = tmp_path / "there"
    make(path)
    before = path.stat().st_mode
    with pytest.raises(OSError, match="there") as told:
        files.write(path, "new")
    assert told.value.filename == str(path)
    assert path.stat().st_mode == before
    assert os.listdir(tmp_path) == ["there"]


def test_half_a_character_is_written_as_an_escape(tmp_path):
    name = os.fsdecode(b"table\xe9.csv")  # a name of a file that is no UTF-8
    assert files.write(tmp_path / "page.html", f"<p>{name}</p>").read_bytes() == rb"<p>table\udce9.csv</p>"


def test_a_full_disk_is_told_with_the_file(tmp_path, monkeypatch):
    """The system names no file where a write finds no room; the command line took standard output to be full."""

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as error:
        files.write(tmp_path / "page.html", "text")
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(tmp_path / "page.html"))
    assert list(tmp_path.iterdir()) == []
