"""What lies just outside the domain is refused by name; the smallest and emptiest cases inside it have their values."""

import numpy as np
import pytest

from lineament.theory import (
    certificates,
    dual_activations,
    dual_grid,
    end_to_end,
    kernels,
    landscape,
    layer_descent,
    layers,
    learning_curves,
    linearised,
    linearised_classes,
    linearised_ensemble,
    log_det,
    narrowing,
    nuclear,
    pc_bias,
    quadratic,
    riccati,
    silent_alignment,
    twin,
    two_by_two,
    wide_limit,
)
from lineament.theory.activations import NAMED, Activation, piecewise_linear

I2, ONE = np.eye(2), np.ones((1, 1))
PAIRS = np.array([[1.0, 0.5], [-1.0, -0.5]])


def ensemble(**changed):
    return linearised_ensemble.predict(1.0, **{"ntk": I2, "nngp": I2, "y": np.ones(2)} | changed)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: certificates.guaranteed_iterations(1e-3, 1.0, 1e-300, 2, 1e-300), "step_size must be so large"),
        (lambda: certificates.guaranteed_step(np.zeros((2, 2)), 2, 0.1), "target must be a matrix other than zero"),
        (lambda: certificates.guaranteed_step(1e41 * I2, 2, 0.1), "target and margin must be at most 1e40"),
        (lambda: certificates.admissible_unbalancedness(I2, 2, 1e41), "target and margin must be at most 1e40"),
        (lambda: dual_activations.dual("erf", 1.0, 1.0, 1.001), "c must be covariances"),
        (lambda: dual_activations.dual("relu", 4.0, 1.0, -2.01), "c must be covariances"),
        (lambda: end_to_end.field_one_output(1.0, 1.0, 2), "w must be a vector of at least one number"),
        (lambda: end_to_end.field_one_output([], [], 2), "w must be a vector of at least one number"),
        (lambda: linearised.predict(1.0, np.ones(3), np.ones(3)), r"kernel must be of shape \(n, n\)"),
        (lambda: linearised.predict(1.0, np.ones((2, 2, 2)), np.ones(2)), r"kernel must be of shape \(n, n\)"),
        (lambda: linearised.predict(1.0, np.zeros((0, 0)), np.ones(0)), r"kernel must be of shape \(n, n\)"),
        (lambda: linearised.predict(1.0, np.diag([1.0, np.nan]), np.ones(2)), "kernel must be finite"),
        (lambda: layer_descent.descend([0, 0.5], [ONE], lambda W, _: W, 0.1), "steps must be whole numbers"),
        (lambda: linearised.descend([1, 1.5], I2, np.ones(2), 0.1), "steps must be whole numbers"),
        (lambda: linearised_classes.descend([1, 1.5], I2, I2, 0.1), "steps must be whole numbers"),
        (lambda: learning_curves.expected_errors(3, [1.0, 2.0], [1.0]), "coefficients must be of shape"),
        (lambda: learning_curves.expected_errors(3, [1.0, 2.0], np.ones((1, 1, 2))), "coefficients must be of shape"),
        (lambda: learning_curves.effective_ridge(3, [0.0, 1e-101]), "eigenvalues must hold one of at least 1e-100"),
        (lambda: linearised_classes.flow([], I2, I2), "t must be at least one time"),
        (lambda: linearised_classes.flow(1.0, I2, 0.9 * I2), "y must be shares of at least two classes"),
        (lambda: linearised_classes.flow(1.0, I2, 1.1 * I2), "y must be shares of at least two classes"),
        (lambda: linearised.predict(1.0, np.ones((2, 2, 2, 2)), I2, np.ones((1, 2, 3, 3))), "cross must be of"),
        (lambda: ensemble(ntk_cross=np.ones((1, 3)), nngp_cross=np.ones((1, 3)), nngp_other=ONE), "ntk_cross must be of"),
        (lambda: log_det.kkt(I2, I2, I2, np.ones((2, 3)), 1.0), r"Y must be of shape \(2, 2\)"),
        (lambda: nuclear.least_nuclear_completion([0], [0], [1.0], (2, 2, 2)), "shape must be two numbers"),
        (lambda: pc_bias.paired_relu_update(PAIRS, [1.0, -1.0], np.ones((3, 1)), np.ones(3), 0.1), "X must be of as"),
        (lambda: pc_bias.isometric_variances([3]), "widths must be at least two"),
        (lambda: pc_bias.paired_relu_update(PAIRS, [1.0, -1.0], np.ones((2, 2)), [1.0, 0.0], 0.1), "y must be labels"),
        (lambda: quadratic.trajectory([0.0, 1e7], [1.0], 0.1), "times must be at most"),
        (lambda: riccati.prepare(np.array([1.0, 2.0]), np.zeros((2, 2)), I2, 1e-16), "rates must be falling"),
        (lambda: riccati.prepare(np.array([2.0, 1.0]), np.zeros((2, 2)), np.ones((3, 1)), 1e-16), "overlaps must be"),
        (lambda: silent_alignment.early(0.0, I2, [1.0, 1.0], [0.0, 0.0]), "target must be of a length between"),
        (lambda: silent_alignment.early(0.0, I2, [1.0, 1.0], [1e101, 0.0]), "target must be of a length between"),
        (lambda: twin.FeatureMap(1.0).kernel(np.ones((2, 3)), np.ones((2, 4))), "y must be of 3 columns"),
        (lambda: two_by_two.loss([[1.0]]), "W must be of at least two rows"),
        (lambda: two_by_two.norm_bound([[1.0]], 0.1), "start must be of at least two rows"),
        (lambda: wide_limit.scales(1e151 * I2), "W must have entries of at most"),
        (lambda: wide_limit.descent([1.0], [[1.0]], 1e3, 50), "step_size must be so small"),
    ],
)  # fmt: skip
def test_what_lies_outside_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_layers_whose_product_overflows_are_refused():
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="layers must be small enough"):
        layers.product([1e200 * ONE, 1e200 * ONE])


def test_covariances_up_to_rounding_beyond_the_largest_are_taken():
    value, slope = dual_activations.dual("relu", 2.0, 8.0, 4.0 * (1 + 1e-12))
    assert value == pytest.approx(2.0)  # half of E[u·2u] with var u = 2
    assert slope == pytest.approx(0.5)


def test_one_layer_has_nothing_to_narrow():
    (W,) = narrowing.narrowed([PAIRS])
    np.testing.assert_array_equal(W, PAIRS)


@pytest.mark.parametrize("dtype", [np.float32, int])
def test_a_kernel_of_another_type_gives_the_same(dtype):
    K, y = np.array([[3, 1], [1, 2]]), np.array([1.0, -1.0])
    np.testing.assert_allclose(
        linearised.predict(0.7, K.astype(dtype), y), linearised.predict(0.7, K * 1.0, y), rtol=1e-6
    )


def test_an_activation_that_is_zero_has_kernels_of_zero():
    nothing, x = piecewise_linear(0.0, 0.0), np.random.default_rng(0).normal(size=(3, 2))
    found = kernels.infinite(x, activation=nothing, hidden_layers=2)
    np.testing.assert_array_equal(found.nngp, 0)
    np.testing.assert_array_equal(found.ntk, 0)
    assert kernels.expansion(nothing, 2) == (0, 0)


def test_a_constant_activation_makes_all_inputs_alike():
    found = kernels.expansion(lambda z: np.ones_like(z), 2)
    assert found.constant == pytest.approx(1)
    assert found.linear == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("origin", [0.0, 5.0, -3.0])
def test_shrinkage_goes_half_the_way_to_the_loss_of_the_zero_map_and_no_further_than_it_must(origin):
    loss = lambda W: origin + float(np.sum(np.abs(W)) ** 0.5)  # noqa: E731
    c = landscape._shrinkage(loss, I2, loss(I2), origin)
    assert loss(I2 / c**2) - origin <= (loss(I2) - origin) / 2
    assert loss(I2 / (c**2 / 2)) - origin > (loss(I2) - origin) / 2


def test_rounding_that_elimination_spreads_is_bounded():
    """A row with the weight √500 on a pivot before it blurs 501-fold, but no more than (1e-10 / rounding)² = 100-fold."""
    for power, pivots in ((300, [0, 1]), (50, [0, 2])):
        row = [500**0.5, 1e-11 * power**0.5]
        assert riccati.staircase(np.array([[1.0, 0.0], row, [0.0, 1.0]]), 1e-11, 3)[1] == pivots


def test_a_grid_that_is_too_coarse_is_not_used(monkeypatch):
    """Three angles are no grid for tanh: all pairs are then integrated, and agree with what is integrated one by one."""
    monkeypatch.setattr(dual_grid, "GRIDS", ((2, 3),))
    s, theta = np.linspace(0.5, 2.0, 12), np.random.default_rng(0).uniform(0, np.pi, size=(12, 12))
    found = dual_grid.grid_dual(NAMED["tanh"], s, s, theta)
    exact = dual_activations.quadrature(NAMED["tanh"], s[:, None], s[None], theta)
    np.testing.assert_allclose(found.value, exact.value, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.slope, exact.slope, rtol=0, atol=1e-10)


@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("which", ["value", "slope"])
def test_a_grid_is_used_where_both_integrals_are_right_at_every_pair_of_the_sample(monkeypatch, which, sign, factor):
    """To 1e-10 of the largest, be it in one pair alone, below or above, and whatever the size of the activation."""
    tanh = NAMED["tanh"]
    phi = Activation(lambda z: factor * tanh.function(z), lambda z: factor * tanh.derivative(z))
    s, theta = np.full(30, 1.5), np.random.default_rng(0).uniform(2.0, np.pi, size=(30, 30))  # all values below 0
    exact = dual_activations.quadrature(phi, s[:, None], s[None], theta)
    rows, columns = dual_grid._sample(30, 30)
    largest = np.abs(getattr(exact, which)[rows, columns]).max()
    for gap, good in ((0.9e-10, True), (1.1e-10, False)):
        found = getattr(exact, which).copy()
        found[rows[70], columns[70]] += sign * gap * largest
        read_off = exact._replace(**{which: found})
        monkeypatch.setattr(dual_grid, "_interpolated", lambda *_, read_off=read_off: read_off)
        given = dual_grid.grid_dual(phi, s, s, theta)
        assert (getattr(given, which) is found) is good


@pytest.mark.parametrize(
    ("kinks", "alike", "least"),
    [((), False, 6144), ((0.0,), False, 6144), ((1.0,), False, None), ((0.0, 1.0), False, None), ((1.0,), True, 96),
     ((0.0, 1.0), True, 96)],
)  # fmt: skip
def test_a_grid_is_tried_where_it_is_smooth_and_pays(monkeypatch, kinks, alike, least):
    """Four pairs for each of its 8 × 8 × 24 nodes, or 24 where all deviations are alike."""
    tried = []

    def interpolated(phi, s, t, theta, nodes):
        tried.append(nodes)
        return dual_activations.Dual(0 * theta, 0 * theta)

    monkeypatch.setattr(dual_grid, "_interpolated", interpolated)
    monkeypatch.setattr(dual_grid, "quadrature", lambda phi, s, t, theta: dual_activations.Dual(0 * theta, 0 * theta))
    phi = Activation(np.tanh, np.tanh, kinks)
    for pairs in (95, 96, 6143, 6144):
        tried.clear()
        s = np.ones(1)
        dual_grid.grid_dual(phi, s, np.full(pairs, 1.0 if alike else 2.0), np.zeros((1, pairs)))
        assert tried == ([] if least is None or pairs < least else [(1 if alike else 8, 24)])


@pytest.mark.parametrize(("n", "m"), [(7, 5), (5, 7), (1, 30), (30, 1), (100, 90)])
def test_a_sample_of_pairs_is_spread_over_all_rows_and_columns(n, m):
    rows, columns = dual_grid._sample(n, m)
    for found, size in ((rows, n), (columns, m)):
        counts = np.bincount(found, minlength=size)
        assert len(counts) == size
        assert np.ptp(counts) <= 4
    assert len(set(zip(rows, columns, strict=True))) >= 0.9 * min(n * m, 200)


@pytest.mark.parametrize("gaps", [(0.5, 0.2, 0.3), (0.2, 0.5, 0.4)])
def test_the_best_of_all_attempts_is_told_where_none_is_good_enough(monkeypatch, gaps):
    found = iter(gaps)
    monkeypatch.setattr(nuclear, "_attempts", lambda *_: [("solver", {})] * len(gaps))
    monkeypatch.setattr(nuclear, "_programme", lambda *_: ())
    monkeypatch.setattr(nuclear, "_certify", lambda *_: nuclear.LeastNuclear(I2, 1.0, 1 - next(found), I2, 0.0))
    with pytest.raises(RuntimeError, match=r"only within a relative gap of 0\.2$"):
        nuclear.least_nuclear_completion([0], [0], [1.0], (2, 2))


def test_a_gram_of_zeros_beside_its_diagonal_may_be_off_by_rounding():
    M = np.diag([2.0, 1.0])
    expected = log_det.convex_objective(M, I2, 0.5)
    M[0, 1] = 1e-13
    assert log_det.convex_objective(M, I2, 0.5) == pytest.approx(expected, rel=1e-12, abs=0)
