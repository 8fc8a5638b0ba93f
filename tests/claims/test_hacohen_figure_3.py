"""When the scale matrices of Figure 3 are judged, and when the run cannot answer."""

from types import SimpleNamespace

import numpy as np
import pytest

from lineament.claims.hacohen.figure_3 import FULL, Cell, _checks, _too_narrow, _void

TASK = SimpleNamespace(classes=5, tests=np.zeros((400, 3)))


@pytest.mark.parametrize(("accuracy", "words"), [(0.30, ""), (0.235, "not told from chance"), (None, "no step size")])
def test_a_peak_of_chance_leaves_it_undecided(accuracy, words):
    curves = np.full((10, 4), 0.2)
    curves[:, 2] = accuracy or 0.2
    judged = [] if accuracy is None else [SimpleNamespace(accuracy=curves)]
    told = _void(FULL, judged, TASK)
    assert words in told
    assert bool(told) == bool(words)


NARROW = FULL._replace(hidden=(64,) * 4)


def cell(moved: float = 0.0, deviation: float = 0.0, others: float = 0.0, best: int = 160, late: float = 0.0) -> Cell:
    """Ten networks with matrices at their means but for A₂, which moves; entries of B₄ deviate, A₂ moves on late."""
    accuracy = np.where(np.arange(len(FULL.epochs)) >= FULL.epochs.index(best), 0.4, 0.3) * np.ones((10, 1))
    summary = np.zeros((10, len(FULL.epochs), 2, 5, 4))
    summary[..., 0] = 1.0  # diagonals at their means, and nothing beside them
    summary[:, 1:, 0, 1, 0] += moved * np.linspace(0.9, 1.0, 10)[:, None]  # but A₂
    summary[:, FULL.epochs.index(200) :, 0, 1, 0] += late
    summary[..., 1, 3, 1], summary[..., 1, 3, 3] = deviation, others
    return Cell("cross-entropy", "Glorot", 0.5, 1e-4, 4096, summary, accuracy, False, FULL.epochs.index(200))


@pytest.mark.parametrize(("moved", "words"), [(0.05, "too narrow"), (0.15, "")])
def test_a_wider_control_tells_a_narrow_run_from_a_statement_that_differs(moved, words):
    told = _too_narrow(NARROW, [cell(moved, deviation=0.2)])
    assert words in told
    assert bool(told) == bool(words)
    assert not _too_narrow(NARROW, [])


def test_no_run_of_the_papers_width_is_too_narrow():
    assert not _too_narrow(FULL, [cell(0.05)])


@pytest.mark.parametrize(("deviation", "others", "failed"), [(0.09, 0.06, []), (0.2, 0.06, [3]), (0.09, 0.2, [4])])
def test_entries_that_cancel_in_the_mean_are_seen_in_their_deviation(deviation, others, failed):
    checks = _checks(FULL, [cell(0.05, deviation, others)], "")
    assert [i for i, check in enumerate(checks) if not check.passed] == failed
    assert all(check.void == "chance" for check in _checks(FULL, [cell(0.05)], "chance"))


def test_deviations_are_those_of_all_networks_together():
    assert cell(0.1).diagonals_deviate() == pytest.approx(0.1 * np.std(np.linspace(0.9, 1.0, 10)))
    both = cell(deviation=0.3)
    both.summary[:5, :, 1, 3, 0] += 0.8
    assert both.diagonals_deviate() == pytest.approx(np.hypot(0.3, 0.4))
    one_sided = cell(others=0.3)
    one_sided.summary[..., 1, 3, 2] = 0.4
    assert one_sided.others_deviate() == pytest.approx(0.5)


@pytest.mark.parametrize(("best", "late"), [(160, 200), (200, 200), (300, 300)])
def test_the_matrices_are_followed_up_to_the_printed_epoch_at_least(best, late):
    run = cell(best=best)
    assert FULL.epochs[run.last] == late
    moved = _checks(FULL, [cell(0.05, best=best, late=0.2)], "")[0]
    assert moved.failed
    assert "epoch 200 at least" in moved.name
