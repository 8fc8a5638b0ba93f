"""Whatever is killed, no finished point is lost, wrong, or run again."""

import os

import kills
import pytest


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="reads the process table")
def test_kills_lose_nothing_that_is_finished(tmp_path):
    trial = kills.Trial(tmp_path, points=250, seed=1)
    kills.kill_locally(trial, 3)
    told = trial.finish()
    assert told["points"] == 250
    assert sum(trial.kills.values()) >= 1


def test_two_processes_share_a_store(tmp_path):
    trial = kills.Trial(tmp_path, points=150)
    for process in [trial.start(), trial.start()]:
        _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told
    trial.look()
    assert trial.stored == set(range(150))
