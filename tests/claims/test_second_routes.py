"""The second routes by which claims hold formulas: right where it is known, and off where a formula is changed by 1 %."""

import numpy as np
import pytest

from lineament.claims.beyond import lazy_rich
from lineament.claims.cohen import theorem_2
from lineament.claims.gissin import theorem_1, theorem_3
from lineament.claims.gissin import theorem_2 as threshold_2
from lineament.claims.hu import equation_3, equations_5_and_9


def test_a_dip_of_the_kernel_narrower_than_any_grid_is_seen():
    target, start, balance = (np.array([x]) for x in (-7.743777166608411, 9.298204990760672e-4, 4.028147956948865e-3))
    share = lazy_rich._lazy_share(target, start, balance)
    fine = np.linspace(0, 2e-4, 2_000_001)
    kernel = np.hypot(balance, 2 * (start + fine * (target - start))) / np.hypot(balance, 2 * start)
    outside = (kernel > 1.1) | (kernel < 1 / 1.1)
    assert share == pytest.approx(fine[np.argmax(outside)], abs=1e-10)
    assert not outside[int(share[0] / 1e-10) + 400_000 : int(share[0] / 1e-10) + 800_000].all(), (
        "the kernel comes back"
    )


@pytest.mark.parametrize(
    ("start", "target", "share"), [(0.0, 1.0, 0.0), (1.0, 1.01, 1.0), (1.0, -1.0, (1 - 1 / 1.1) / 2), (1.0, 2.0, 0.1)]
)
def test_a_balanced_mode_is_lazy_until_it_has_moved_by_a_tenth(start, target, share):
    with np.errstate(invalid="ignore", divide="ignore"):
        found = lazy_rich._lazy_share(*(np.array([x]) for x in (target, start, 0.0)))
    assert found == pytest.approx(share, abs=1e-12)


def test_printed_kernels_are_right_where_they_are_known():
    one = np.array(1.0)
    value, slope = equation_3._as_printed("relu", 4 * one, one, 0 * one)
    assert (value, slope) == pytest.approx((1 / np.pi, 0.25))
    value, slope = equation_3._as_printed("leaky_relu", 4 * one, 4 * one, 4 * one)
    assert (value, slope) == pytest.approx((2 * (1 + 1e-4), (1 + 1e-4) / 2))
    value, slope = equation_3._as_printed("erf", one, one, one)
    assert (value, slope) == pytest.approx((2 / np.pi * np.arcsin(2 / 3), 4 / np.pi / np.sqrt(5)))


def off(gap, monkeypatch, module, name):
    """The gap once what a function of the theory gives is 1 % larger."""
    exact = getattr(module, name)

    def changed(*args, **named):
        found = exact(*args, **named)
        return type(found)(*(1.01 * np.asarray(part) for part in found)) if hasattr(found, "_fields") else 1.01 * found

    monkeypatch.setattr(module, name, changed)
    return gap()


def test_one_per_cent_is_seen(monkeypatch):
    rng = np.random.default_rng(0)
    X = equations_5_and_9._inputs(rng)
    for gap, bar, module, name in (
        (theorem_2._gap_by_hand, 1e-12, theorem_2.theory, "guaranteed_rate"),
        (lambda: theorem_1._zero_gap(np.random.default_rng(0), 20), 1e-10, theorem_1.modes, "time_to"),
        (threshold_2._gap_in_the_limit, 1e-12, threshold_2.phases, "log_threshold"),
        (lambda: equation_3._quadrature_gap(np.random.default_rng(0)), 1e-9, equation_3, "quadrature_dual"),
        (lambda: equation_3._limit_gap(np.random.default_rng(0)), 1e-10, equation_3.kernels, "infinite"),
        (
            lambda: equations_5_and_9._kernel_gap(X, "gelu", 1.3, 0.4, 1.0),
            1e-10,
            equations_5_and_9.twin,
            "feature_map",
        ),
    ):
        with monkeypatch.context() as patch:
            assert gap() <= bar, name
            assert off(gap, patch, module, name) > 10 * bar, name


def test_bounds_by_hand_are_those_of_the_remark():
    """(1/8) 64^14.7, as the counter-example says."""
    assert theorem_3._by_hand()[0] - np.log(3) == pytest.approx(np.log(1 / 8) + 14.7 * np.log(64), rel=1e-2)
