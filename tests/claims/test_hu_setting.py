"""Networks of several sizes as one padded ensemble, against descent of each alone; and slopes over d."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import erf

from lineament.claims.hu import figure_1, rates, setting
from lineament.evidence import Verdict, at_least, judge

ACTIVATIONS = {
    "erf": (erf, lambda z: 2 / np.sqrt(np.pi) * np.exp(-(z**2))),
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0).astype(float)),
}


def _descend(task: setting.Task, half: tuple, activation: str, first: float, second: float, steps: int) -> np.ndarray:
    """Eqs. 1 to 4 as printed: all m neurons, w twice and v with both signs; outputs on the fresh examples."""
    phi, slope = ACTIVATIONS[activation]
    W, v = np.concatenate([half[0], half[0]]), np.concatenate([half[1][0], -half[1][0]])
    n, d = task.X.shape
    m = len(v)
    for _ in range(steps):
        z = task.X @ W.T / np.sqrt(d)
        residual = phi(z) @ v / np.sqrt(m) - task.y
        gradient_W = ((residual[:, None] * slope(z)) * v / np.sqrt(m)).T @ task.X / np.sqrt(d) / n
        gradient_v = phi(z).T @ residual / np.sqrt(m) / n
        W, v = W - first * gradient_W, v - second * gradient_v
    return phi(task.fresh @ W.T / np.sqrt(d)) @ v / np.sqrt(m)


@pytest.mark.parametrize(
    ("activation", "first", "second"),
    [
        ("erf", [1.0, 2.0, 0.5], [0.25, 1.0, 1.5]),
        ("relu", [0.5, 0.7, 1.0], [0, 0, 0]),
        ("relu", [0, 0, 0], [0.3, 0.5, 1]),
    ],
)
def test_padded_networks_train_as_they_would_alone(activation, first, second):
    sizes = [(4, 20, 10), (7, 33, 6), (3, 12, 26)]
    make = np.random.default_rng(0)
    members = [(setting.task(make, d, n, 9, "skewed", "shifted"), m) for d, n, m in sizes]
    comparisons = setting.follow(
        np.random.default_rng(1), members, activation=activation, first=first, second=second, at=np.array([0, 3, 8])
    )
    rng = np.random.default_rng(1)  # the same starts once more
    for (task, m), one, eta1, eta2 in zip(members, comparisons, first, second, strict=True):
        half = setting.mirrored_start(rng, task.X.shape[1], m)
        assert np.all(one.network_fresh[0] == 0)
        for index, steps in ((1, 3), (2, 8)):
            alone = _descend(task, half, activation, eta1, eta2, steps)
            assert np.abs(alone).max() > 0.02
            np.testing.assert_allclose(one.network_fresh[index], alone, atol=2e-6)
        assert one.twin.horizon() == pytest.approx(task.X.shape[1] * np.log(task.X.shape[1]) / max(eta1, eta2))


@pytest.mark.parametrize("inputs", ["gaussian", "skewed", "cube"])
def test_tasks_have_the_covariance_they_state(inputs):
    task = setting.task(np.random.default_rng(2), 6, 40_000, 10, inputs, "teacher")
    covariance = task.X.T @ task.X / len(task.X)
    assert np.trace(covariance) == pytest.approx(6, rel=0.02)
    assert np.sum(covariance**2) / 6 == pytest.approx(task.spread, rel=0.03)
    assert set(np.unique(task.y)) == {-1.0, 1.0}


def test_rate_finds_a_slope_under_series_of_different_levels():
    rng, sizes = np.random.default_rng(3), [8, 16, 32, 64]
    noise = np.exp(0.1 * rng.normal(size=(4, 3, 5)))
    table = np.array(sizes)[:, None, None] ** -0.7 * np.array([1.0, 10.0, 0.01])[None, :, None] * noise
    slope, low, high = rates.rate(sizes, table)
    assert low < -0.7 < high
    assert slope == pytest.approx((low + high) / 2)
    assert high - low < 0.15
    assert rates.rate(sizes, table / noise)[0] == pytest.approx(-0.7, abs=1e-12)


def test_the_gap_at_T_is_that_of_the_last_look_up_to_T():
    curve = np.array([0.0, 0.3, 0.2, 0.9])  # networks of a group run on until the last of them has come to its T
    comparison = lambda looks: SimpleNamespace(  # noqa: E731
        inside=np.arange(4) < looks, gaps=lambda: (curve, curve)
    )
    table = figure_1._at_T([[[comparison(3), comparison(4)]], [[comparison(2), comparison(2)]]])
    assert table.tolist() == [[[0.2, 0.9]], [[0.3, 0.3]]]


@pytest.mark.parametrize(
    ("largest", "at_T", "verdict"),
    [
        ((0.2, 0.1, 0.4), (-0.05, -0.2, 0.1), Verdict.UNDECIDED),  # one reading refutes it, the other cannot tell
        ((0.2, 0.1, 0.4), (0.1, 0.05, 0.2), Verdict.CORRECTED),  # both refute it
        ((0.2, 0.1, 0.4), (-0.3, -0.4, -0.2), Verdict.HOLDS),  # one shows it
        ((-0.3, -0.4, -0.2), (0.2, 0.1, 0.4), Verdict.HOLDS),
        ((0.2, -0.1, 0.4), (0.1, -0.1, 0.3), Verdict.UNDECIDED),
    ],
)
def test_figure_1c_as_printed_is_refuted_only_at_T_and_up_to_T(largest, at_T, verdict):
    printed = figure_1._printed({figure_1.FIXED: largest, f"{figure_1.FIXED}, at T": at_T})
    assert judge([at_least("else", 1.0, 0.5)], printed) is verdict


def test_a_slope_over_d_is_said_to_be_what_its_interval_tells():
    up, flat, down = (0.2, 0.1, 0.4), (-0.05, -0.2, 0.1), (-0.4, -0.5, -0.3)
    words = figure_1._over_d({
        figure_1.FIXED: up, f"{figure_1.FIXED}, at T": flat, figure_1.GROWN: down, f"{figure_1.GROWN}, at T": down,
    })  # fmt: skip
    for part in (
        "the largest MSE up to T grows with d (slope 0.20, 0.10 to 0.40)",
        "the MSE at T itself is not seen to change with d (slope -0.05, -0.20 to 0.10)",
        "the largest up to T falls with d (slope -0.40, -0.50 to -0.30), and that at T falls with d",
    ):
        assert part in words
