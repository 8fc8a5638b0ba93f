"""Propositions 1 and 3: exact derivatives against differences, segments and saddles against evaluation."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineament.theory import critical_points
from lineament.theory.critical_points import _descend, _same_product, classify_critical_point
from lineament.theory.landscape import (
    hessian,
    nonconvexity_segment,
    objective_gradient,
    objective_hvp,
)
from lineament.theory.layers import balanced, product

seeds = st.integers(0, 2**32 - 1)
sides = st.integers(1, 3)
depths = st.integers(2, 6)


class Quadratic:
    """½⟨W − T, Q(W − T)⟩ with a positive Q over all entries."""

    def __init__(self, rng, shape, target=None):
        M = rng.normal(size=(np.prod(shape), np.prod(shape)))
        self.Q, self.shape = M @ M.T / np.prod(shape) + 0.1 * np.eye(np.prod(shape)), shape
        self.target = rng.normal(size=shape) if target is None else target

    def loss(self, W):
        return self.hvp(W, W - self.target).ravel() @ (W - self.target).ravel() / 2

    def gradient(self, W):
        return self.hvp(W, W - self.target)

    def hvp(self, W, D):
        return (self.Q @ D.ravel()).reshape(self.shape)


def quartic(rng, shape):
    """ℓ, ∇ℓ and ∇²ℓ[·] of a quadratic plus ¼ Σ w⁴."""
    base = Quadratic(rng, shape)
    return (
        lambda W: base.loss(W) + np.sum(W**4) / 4,
        lambda W: base.gradient(W) + W**3,
        lambda W, D: base.hvp(W, D) + 3 * W**2 * D,
    )


def widths(shape, n, extra=0):
    return (shape[1], *([min(shape) + extra] * (n - 1)), shape[0])


def random_layers(rng, sizes):
    return [rng.normal(size=(b, a)) / np.sqrt(a) for a, b in pairwise(sizes)]


def shift(layers, directions, h):
    return [W + h * D for W, D in zip(layers, directions, strict=True)]


def flat(layers):
    return np.concatenate([W.ravel() for W in layers])


@given(st.integers(1, 6), sides, sides, seeds)
def test_gradient_and_hessian_are_exact(n, outputs, inputs, seed):
    rng = np.random.default_rng(seed)
    loss, gradient, hvp = quartic(rng, (outputs, inputs))
    sizes = (inputs, *rng.integers(1, 4, size=n - 1), outputs)
    layers, D = random_layers(rng, sizes), random_layers(rng, sizes)
    h = 1e-5
    values = [loss(product(shift(layers, D, s * h))) for s in (1, -1)]
    slope = (values[0] - values[1]) / (2 * h)
    exact = flat(objective_gradient(layers, gradient)) @ flat(D)
    size = 1 + np.linalg.norm(flat(objective_gradient(layers, gradient)))
    assert slope == pytest.approx(exact, abs=1e-7 * size * np.linalg.norm(flat(D)) ** 3 + 1e-10 * values[0])
    ahead, behind = (flat(objective_gradient(shift(layers, D, s * h), gradient)) for s in (1, -1))
    product_rule = flat(objective_hvp(layers, D, gradient, hvp))
    assert np.abs((ahead - behind) / (2 * h) - product_rule).max() <= 1e-6 * (1 + np.abs(product_rule).max())
    H = hessian(layers, gradient, hvp)
    assert np.allclose(H @ flat(D), product_rule, rtol=1e-9, atol=1e-9 * (1 + np.abs(product_rule).max()))
    assert np.array_equal(H, H.T)


@given(depths, sides, sides, st.integers(0, 2), seeds)
def test_proposition_1(n, outputs, inputs, extra, seed):
    """A loss that is not minimised at 0: both ends have ℓ(W), the midpoint ℓ(0)."""
    rng = np.random.default_rng(seed)
    problem = Quadratic(rng, (outputs, inputs))
    W = problem.target
    segment = nonconvexity_segment(lambda W: 3 + problem.loss(W), W, n, widths=widths(W.shape, n, extra))
    ends = [problem.loss(product(x)) for x in (segment.start, segment.end)]
    middle = problem.loss(product(segment.midpoint))
    assert segment.gap == pytest.approx(middle - np.mean(ends))
    assert segment.gap == pytest.approx(problem.loss(0 * W) - problem.loss(W))
    assert segment.gap > 0


LOSSES = {
    "half the square": lambda W: np.sum(W**2) / 2,
    "the norm": lambda W: np.linalg.norm(W),
    "bounded": lambda W: 1 - np.exp(-np.sum(W**2)),
    "flat near zero": lambda W: max(0.0, np.linalg.norm(W) - 0.5),
    "hinge on one entry": lambda W: max(0.0, W[0, 0]) ** 2,
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_degenerate_case_of_proposition_1(loss, n):
    """Losses minimised at 0, convex or not: φ is convex for none of them."""
    W = np.array([[1.0, 0.3], [0.2, -1.0]])
    segment = nonconvexity_segment(loss, W, n)
    ends = [loss(product(x)) for x in (segment.start, segment.end)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-10, abs=1e-12)
    assert np.allclose(product(segment.midpoint), W, atol=1e-12)
    assert segment.gap >= (loss(W) - loss(0 * W)) / 2 * (1 - 1e-9)
    assert segment.gap == pytest.approx(loss(product(segment.midpoint)) - np.mean(ends))


def test_a_constant_loss_is_the_only_convex_case():
    with pytest.raises(ValueError, match="φ is convex if ℓ is constant"):
        nonconvexity_segment(lambda W: 3.0, np.eye(2), 2)


@pytest.mark.parametrize("n", range(2, 7))
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 3), (3, 2)])
@pytest.mark.parametrize("extra", [0, 1])
def test_proposition_3_at_the_origin(n, shape, extra):
    """Strict for n = 2, with eigenvalues ±σ_r(∇ℓ(0)); non-strict for n ≥ 3; lower points nearby in either case."""
    p = Quadratic(np.random.default_rng(n), shape)
    sizes = widths(shape, n, extra)
    origin = [np.zeros((b, a)) for a, b in pairwise(sizes)]
    H = hessian(origin, p.gradient, p.hvp)
    found = classify_critical_point(origin, p.loss, p.gradient, p.hvp, convex=True)
    assert found.gradient == 0
    if n == 2:
        values = np.linalg.svd(p.gradient(np.zeros(shape)), compute_uv=False)
        expected = np.sort(np.concatenate([np.repeat([values, -values], sizes[1])]))
        zeros = np.zeros(H.shape[0] - expected.size)
        assert np.allclose(np.linalg.eigvalsh(H), np.sort(np.concatenate([expected, zeros])), atol=1e-12)
        assert found.kind == "strict saddle"
        assert found.least_eigenvalue == pytest.approx(-values[0])
    else:
        assert not H.any()
        assert found.kind == "non-strict saddle"
    drop = p.loss(np.zeros(shape)) - p.loss(product(found.lower))
    assert drop == pytest.approx(found.drop, rel=1e-6, abs=0)
    assert drop > 0
    assert np.linalg.norm(flat(found.lower)) <= 0.3 * (1 + 1e-12)


@pytest.mark.parametrize("n", [3, 4])
def test_lower_points_are_arbitrarily_near(n):
    p = Quadratic(np.random.default_rng(1), (2, 2))
    radii = np.array([0.2, 0.1, 0.05, 0.025])
    drops = [
        classify_critical_point([np.zeros((2, 2))] * n, p.loss, p.gradient, p.hvp, convex=True, radius=r).drop
        for r in radii
    ]
    assert np.polyfit(np.log(radii), np.log(drops), 1)[0] == pytest.approx(n, abs=0.1)  # descent of order n


@settings(max_examples=20)
@given(depths, st.sampled_from([(2, 2), (3, 2), (1, 3), (3, 3)]), st.data(), seeds)
def test_saddles_and_minima_of_whitened_regression(n, shape, data, seed):
    """Maps that keep some modes of the target are critical: all, a minimum; the leading ones, not strict for n ≥ 3."""
    rng = np.random.default_rng(seed)
    d = min(shape)
    U, V = (np.linalg.qr(rng.normal(size=(k, d)))[0] for k in shape)
    s = np.sort(rng.uniform(0.5, 1, size=d))[::-1] + 0.5 * np.arange(d, 0, -1)
    target = (U * s) @ V.T
    kept = data.draw(st.sets(st.integers(0, d - 1)))
    W = (U * np.where(np.isin(np.arange(d), list(kept)), s, 0)) @ V.T
    layers = balanced(W, widths(shape, n))
    found = classify_critical_point(
        layers, lambda X: np.sum((X - target) ** 2) / 2, lambda X: X - target, lambda X, D: D, convex=True
    )
    if len(kept) == d:
        assert found.kind == "minimum"
        assert found.lower is None
        return
    leading = kept == set(range(len(kept)))
    assert found.kind == ("strict saddle" if n == 2 or not leading else "non-strict saddle")
    assert np.sum((product(found.lower) - target) ** 2) < np.sum((W - target) ** 2)
    assert np.linalg.norm(flat(found.lower) - flat(layers)) <= 0.3 * (1 + 1e-9)


@settings(max_examples=15)
@given(st.integers(2, 5), st.sampled_from([(2, 2), (3, 2), (1, 3), (3, 1)]), st.data(), seeds)
def test_saddles_with_vanishing_layers(n, shape, data, seed):
    """Two vanishing layers make a strict saddle, three or more a non-strict one, whatever the others."""
    rng = np.random.default_rng(seed)
    p = Quadratic(rng, shape)
    zeros = data.draw(st.sets(st.integers(0, n - 1), min_size=2))
    layers = random_layers(rng, widths(shape, n, int(rng.integers(0, 2))))
    layers = [0 * W if j in zeros else W / np.linalg.norm(W, 2) + 2 * np.eye(*W.shape) for j, W in enumerate(layers)]
    found = classify_critical_point(layers, p.loss, p.gradient, p.hvp, convex=True)
    assert found.kind == ("strict saddle" if len(zeros) == 2 else "non-strict saddle")
    assert p.loss(product(found.lower)) < p.loss(np.zeros(shape))
    assert np.linalg.norm(flat(found.lower) - flat(layers)) <= 0.3 * (1 + 1e-9)


@pytest.mark.parametrize("n", [2, 3])
def test_losses_with_a_saddle_or_minimum_at_zero(n):
    """∇ℓ(0) = 0: a saddle of ℓ is a non-strict one of φ, also for n = 2; a convex minimum is a minimum."""
    sign = np.array([[1.0, 0.0], [0.0, -1.0]])
    origin = [np.zeros((2, 2))] * n
    saddle = classify_critical_point(
        origin, lambda W: np.sum(sign * W**2) / 2, lambda W: sign * W, lambda W, D: sign * D, convex=False
    )
    assert saddle.kind == "non-strict saddle"
    assert np.sum(sign * product(saddle.lower) ** 2) < 0
    bowl = (lambda W: np.sum(W**2) / 2, lambda W: W, lambda W, D: D)
    for convex, kind in ((True, "minimum"), (False, "undecided")):
        found = classify_critical_point(origin, *bowl, convex=convex)
        assert (found.kind, found.lower, found.drop) == (kind, None, 0.0)


def test_proposition_3_as_proved_in_the_notes_but_for_a_norm():
    """The layers in the proof have norm √(1 + (n−1)d_n) ‖W‖^{1/n}; the text has √n ε^{1/n}, which is too small."""
    n, W = 4, np.random.default_rng(0).normal(size=(2, 3)) * 1e-3
    size = np.linalg.norm(W)
    layers = [size ** (1 / n - 1) * W, *[size ** (1 / n) * np.eye(2)] * (n - 1)]
    assert np.allclose(product(layers), W)
    assert np.linalg.norm(flat(layers)) == pytest.approx(np.sqrt(1 + (n - 1) * 2) * size ** (1 / n))
    assert np.linalg.norm(flat(layers)) > np.sqrt(n) * size ** (1 / n)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nonconvexity_segment(np.sum, np.eye(2), 1), "depth must be a whole number of at least 2"),
        (
            lambda: nonconvexity_segment(np.sum, np.eye(2), 3, widths=(2, 2, 2)),
            r"widths must be 4 numbers for depth 3; got \(2, 2, 2\)",
        ),
        (lambda: nonconvexity_segment(lambda W: float(W.any()), np.eye(2), 2), "continuous at the zero map"),
        (
            lambda: objective_hvp([np.eye(2)], [np.ones((2, 3))], lambda W: W, lambda W, D: D),
            r"directions must be of shapes \[\(2, 2\)\]; got \[\(2, 3\)\]",
        ),
        (
            lambda: classify_critical_point(
                [np.eye(2), np.eye(2)], lambda W: np.sum(W**2) / 2, lambda W: W, lambda W, D: D, convex=True
            ),
            "layers must be a stationary point of the objective",
        ),
    ],
)
def test_wrong_use(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_a_restart_keeps_the_product_and_lies_within_its_size(scale):
    rng = np.random.default_rng(3)
    layers = (scale * rng.normal(size=(4, 3)), scale * rng.normal(size=(5, 4)), scale * rng.normal(size=(2, 5)))
    near = _same_product(layers, 0.1, rng)
    moves = [np.linalg.norm(a - b) for a, b in zip(near, layers, strict=True)]
    np.testing.assert_allclose(product(near), product(layers), atol=1e-9 * scale**3)
    assert 0 < np.linalg.norm(moves) <= 0.1 * (1 + 1e-9)


@pytest.mark.parametrize("radius", [0.05, 0.3])
@pytest.mark.parametrize("flat_loss", [True, False])
def test_lower_points_are_looked_for_from_layers_of_the_same_product_within_half_the_radius(
    monkeypatch, radius, flat_loss
):
    begun = []

    def watched(centre, start, *others):
        begun.append(np.linalg.norm(flat(start) - flat(centre)))
        np.testing.assert_allclose(product(start), product(centre), atol=1e-14)
        return _descend(centre, start, *others)

    monkeypatch.setattr(critical_points, "_descend", watched)
    origin = [np.zeros((2, 2))] * 3
    sign, target = np.diag([1.0, -1.0]), np.diag([2.0, 1.0])
    saddle = (lambda W: np.sum(sign * W**2) / 2, lambda W: sign * W, lambda W, D: sign * D)
    regression = (lambda W: np.sum((W - target) ** 2) / 2, lambda W: W - target, lambda W, D: D)
    found = classify_critical_point(
        origin, *(saddle if flat_loss else regression), convex=not flat_loss, radius=radius
    )
    assert found.kind == "non-strict saddle"
    assert 0 < begun[0] <= radius / 2 * (1 + 1e-12)
    assert np.linalg.norm(flat(found.lower)) <= radius * (1 + 1e-12)


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_saddle_before_a_layer_of_full_rank(mirrored):
    """What is above the second layer has no kernel, so that only the way from the outputs down opens the saddle."""
    target = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    layers = [np.diag([1.0, 0.0]), np.diag([1.0, 0.0]), np.eye(3, 2)]
    if mirrored:
        target, layers = target.T, [W.T for W in layers[::-1]]
    loss = (lambda W: np.sum((W - target) ** 2) / 2, lambda W: W - target, lambda W, D: D)
    found = classify_critical_point(layers, *loss, convex=True)
    assert found.kind == "non-strict saddle"
    assert loss[0](product(found.lower)) == pytest.approx(0.5 - found.drop, rel=1e-12, abs=0)


@pytest.mark.parametrize("third", [None, 0.2, 1.0, 3.0])
def test_what_counts_as_negative_is_relative_to_what_the_hessian_is_made_of(third):
    """Two layers of zeros below one of size c: the Hessian's eigenvalues are ±cσ, and its terms c‖∇ℓ‖."""
    target = np.diag([1.0, 0.0])
    loss = (lambda W: -np.sum(W * target), lambda W: -target, lambda W, D: 0 * D)
    layers = [np.zeros((2, 2)), np.zeros((2, 2))] + ([] if third is None else [third * np.eye(2)])
    size = 1.0 if third is None else third
    for tolerance, kind in ((0.49, "strict saddle"), (0.51, "non-strict saddle")):
        found = classify_critical_point(layers, *loss, convex=False, tolerance=tolerance)
        assert found.least_eigenvalue == pytest.approx(-size, rel=1e-12, abs=0)
        assert found.kind == kind
