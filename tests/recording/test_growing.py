"""Recordings that grow in a folder: one writer, a constant cost, nothing that ends a training."""

import copy
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

from lineament.recording import Recording, store
from lineament.recording.growing import Growing
from lineament.recording.lock import NAME, HeldError, Lock, _let_go


def row(step):
    return Recording([step], np.full((1, 3, 2), float(step)), [0, 1, 1])


def grown(path, steps, **options):
    growing = Growing(path, **options)
    growing.begin()
    for step in steps:
        growing.add(row(step))
        growing.write_if_due()
    return growing


OTHER = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.write(file, b"process 17 on the moon")
    print("held", flush=True)
except OSError:
    print("refused", flush=True)
sys.stdin.read()
"""


def another_process(folder):
    """A process that tries to lock a folder, and what it says of that."""
    other = subprocess.Popen(
        [sys.executable, "-S", "-c", OTHER, folder / NAME], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return other, other.stdout.readline().strip()


def test_a_second_process_is_refused_and_a_dead_one_leaves_no_lock(tmp_path):
    other, said = another_process(tmp_path)
    assert said == "held"
    with pytest.raises(
        HeldError, match=rf"got '{tmp_path}', which process 17 on the moon is writing to: choose another"
    ):
        Growing(tmp_path)
    other.kill()  # no chance to tidy up
    other.communicate()
    growing = grown(tmp_path, [0])
    assert (tmp_path / NAME).read_text().startswith(f"process {os.getpid()} on ")
    for expected in ("refused", "held"):
        other, said = another_process(tmp_path)
        assert said == expected
        other.communicate()
        growing.close()


def test_a_loop_that_is_run_again_takes_the_folder_over_from_the_one_that_broke_off(tmp_path):
    before = grown(tmp_path, [0])  # still referred to, as by the traceback of a notebook
    after = Growing(tmp_path)
    after.resume()
    before.add(row(1))
    with pytest.warns(UserWarning, match="another recorder has taken over the folder"):
        before.write_if_due()
    with pytest.raises(HeldError, match="another recorder has taken over"):
        before.write()
    after.add(row(2))
    after.write()
    np.testing.assert_array_equal(Recording.load(tmp_path).steps, [0, 2])


def test_what_another_writer_added_after_the_close_is_not_overwritten(tmp_path):
    growing = grown(tmp_path, [0])
    growing.close()
    growing.add(row(1))
    growing.write()  # the lock is taken anew
    growing.close()
    store.append(tmp_path, row(2), 2)
    growing.add(row(3))
    with pytest.raises(HeldError, match="another recorder"):
        growing.write()
    np.testing.assert_array_equal(Recording.load(tmp_path).steps, [0, 1, 2])


def test_no_link_is_followed(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "run" / NAME).symlink_to(tmp_path / "precious")
    with pytest.raises(store.UnwritableError, match=r"\.lock"):
        Growing(tmp_path / "run")
    (tmp_path / "run" / NAME).unlink()
    growing = Growing(tmp_path / "run")
    growing.begin()
    (tmp_path / "run" / store.name(0)).symlink_to(tmp_path / "precious")
    growing.add(row(0))
    with pytest.raises(HeldError):
        growing.write()
    assert (tmp_path / "precious").read_text() == "kept"


def test_an_append_looks_at_no_other_file(tmp_path, monkeypatch):
    growing = grown(tmp_path, [0, 1])

    def looked(*_):
        raise AssertionError("the folder was listed")

    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, looked)
    growing.add(row(2))
    growing.write_if_due()
    monkeypatch.undo()
    assert len(store.stretches(tmp_path)) == 3
    assert len(growing.read()) == 3


def test_a_full_disk_is_one_warning_and_is_tried_again_ever_more_rarely(tmp_path, monkeypatch):
    growing = grown(tmp_path, [0])
    tries = []

    def full(*_, **__):
        tries.append(growing.last)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        patch.setattr(np, "savez", full)
        for step in range(1, 21):
            growing.add(row(step))
            growing.write_if_due()
    assert tries == [1, 2, 4, 8, 16]
    assert len(told) == 1
    assert "\n" not in str(told[0].message)
    assert len(growing.read()) == 21
    growing.write()
    np.testing.assert_array_equal(Recording.load(tmp_path).steps, np.arange(21))


def test_what_a_killed_writer_left_half_written_is_removed(tmp_path):
    (tmp_path / ".000000.npz.abc.part").touch()
    (tmp_path / "other.part").touch()
    Growing(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [NAME, "other.part"]


def test_what_a_forked_worker_inherits_is_let_go(tmp_path):
    """A worker of a data loader may outlive a parent that was killed, and must not hold the folder."""
    growing = grown(tmp_path, [0])
    _let_go()  # what a fork calls in the child
    other, said = another_process(tmp_path)
    assert said == "held"
    growing.add(row(1))
    with pytest.raises(HeldError, match="which process 17 on the moon is writing to"):
        growing.write()
    other.communicate()


def test_a_lock_ends_with_the_last_that_knows_it(tmp_path):
    lock = Lock(tmp_path)
    held = lock._file
    del lock
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(held)


def test_a_copy_of_a_lock_neither_has_the_folder_nor_takes_it_away(tmp_path):
    lock = Lock(tmp_path)
    for other in (copy.deepcopy(lock), pickle.loads(pickle.dumps(lock))):
        assert not other.held
        other.release()
    assert lock.held
    other, said = another_process(tmp_path)
    assert said == "refused"
    other.communicate()


def test_a_copy_of_what_grows_takes_the_folder_over_only_if_it_writes(tmp_path):
    growing = grown(tmp_path, [0])
    idle, busy = copy.deepcopy(growing), copy.deepcopy(growing)
    del idle
    growing.add(row(1))
    growing.write()
    busy.add(row(1))
    with pytest.raises(HeldError, match="has taken over the folder"):
        busy.write()
    np.testing.assert_array_equal(store.read(tmp_path).steps, [0, 1])


def test_a_pipe_is_neither_waited_for_nor_replaced(tmp_path):
    pipe = tmp_path / store.name(0)
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match=r"no recording that can be read: .*A device or a pipe"):
        Recording.load(pipe)
    whole = Recording([0, 1], np.zeros((2, 3, 2)), [0, 1, 1])
    with pytest.raises(ValueError, match=r"cannot write the recording to .*A device or a pipe"):
        whole.save(pipe)
    assert pipe.is_fifo()


def damaged(file):
    file.write_bytes(file.read_bytes()[:100])


def test_a_damaged_last_file_says_that_moving_it_away_keeps_the_rest(tmp_path):
    grown(tmp_path, range(3)).close()
    last = tmp_path / store.name(2)
    damaged(last)
    remedy = r"000002\.npz' is no recording that can be read: .*\. Move this file out of the folder to keep what was"
    with pytest.raises(ValueError, match=remedy):
        Recording.load(tmp_path)
    growing = Growing(tmp_path)
    with pytest.raises(ValueError, match=remedy):
        growing.resume()
    last.rename(tmp_path / "damaged")
    np.testing.assert_array_equal(Recording.load(tmp_path).steps, [0, 1])
    growing.resume()
    growing.add(row(2))
    growing.write()
    np.testing.assert_array_equal(Recording.load(tmp_path).steps, [0, 1, 2])


def test_a_damaged_file_in_between_says_what_must_go_with_it(tmp_path):
    grown(tmp_path, range(4)).close()
    damaged(tmp_path / store.name(1))
    with pytest.raises(ValueError, match=r"Move this file and those after it, to 000003\.npz, out of the folder"):
        Recording.load(tmp_path)
    for number in (1, 2, 3):
        (tmp_path / store.name(number)).unlink()
    np.testing.assert_array_equal(Recording.load(tmp_path).steps, [0])


def test_a_damaged_first_file_says_how_the_later_ones_are_read(tmp_path):
    grown(tmp_path, range(3)).close()
    damaged(tmp_path / store.name(0))
    with pytest.raises(ValueError, match=rf"can be read by itself, as Recording\.load\('{tmp_path}/000001\.npz'\)$"):
        Recording.load(tmp_path)
    np.testing.assert_array_equal(Recording.load(tmp_path / store.name(1)).steps, [1])


def test_only_what_is_damaged_is_told_to_go(tmp_path, monkeypatch):
    grown(tmp_path, range(2)).close()
    last = tmp_path / store.name(1)
    for error in (PermissionError(13, "Permission denied"), MemoryError("too large")):
        with monkeypatch.context() as broken:
            broken.setattr(np, "load", lambda *_, error=error, **__: (_ for _ in ()).throw(error))
            with pytest.raises(ValueError, match=r"(denied.*|large)$"):
                store.read_file(last)
    monkeypatch.setattr(store, "FORMAT", 7)
    with pytest.raises(ValueError, match=r"another version$"):
        store.read_file(last)
    alone = tmp_path / "run.npz"
    alone.write_bytes(b"")
    with pytest.raises(ValueError, match=r"no recording that can be read: [^.]*$"):
        store.read_file(alone)
    (tmp_path / store.name(0)).unlink()
    damaged(last)
    with pytest.raises(ValueError, match=r"no recording that can be read: [^.]*\.?$"):
        store.read_file(last)
