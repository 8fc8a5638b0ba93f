"""Principal components against a plain singular value decomposition, and surgery that can be undone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.data import components as pc
from lineament.data import pixels


def examples(seed, n, q, rank=None, scale=1.0):
    rng = np.random.default_rng(seed)
    rank = min(n, q) if rank is None else rank
    spread = 2.0 ** -np.arange(rank)
    return scale * (
        (rng.standard_normal((n, rank)) * spread) @ rng.standard_normal((rank, q)) + rng.standard_normal(q)
    )


@given(st.integers(2, 30), st.integers(1, 12), st.sampled_from([1e-6, 1.0, 1e5]), st.booleans(), st.integers(0, 99))
def test_components_are_those_of_the_singular_value_decomposition(n, q, scale, centre, seed):
    X = examples(seed, n, q, scale=scale)
    found = pc.fit(X, centre=centre)
    centred = X - X.mean(axis=0) if centre else X
    s = np.linalg.svd(centred, compute_uv=False)
    r = found.count
    assert r == np.linalg.matrix_rank(centred, tol=1e-7 * s[0])
    np.testing.assert_allclose(found.variances, s[:r] ** 2 / n, rtol=1e-6, atol=1e-13 * s[0] ** 2)
    np.testing.assert_allclose(found.directions @ found.directions.T, np.eye(r), atol=1e-12)
    np.testing.assert_allclose(found.restored(found.coordinates(X)), X, atol=1e-7 * np.abs(X).max())
    second = found.coordinates(X).T @ found.coordinates(X) / n
    np.testing.assert_allclose(second, np.diag(found.variances), atol=1e-12 * found.variances[0])


@pytest.mark.parametrize(("n", "q"), [(40, 9), (9, 40)])
def test_rank_deficient_data_hold_no_null_directions(n, q):
    X = examples(0, n, q, rank=3)
    assert pc.fit(X).count == 3
    assert pc.fit(X, centre=False).count == 4
    twice = np.concatenate([X, X])
    np.testing.assert_allclose(pc.fit(twice).variances, pc.fit(X).variances)


def test_small_components_are_orthogonal_to_large_ones():
    """The Gram matrix loses the directions of small components; the QR step restores them."""
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((size, 6)))[0] for size in (8, 30))
    s = 10.0 ** -np.arange(6)
    found = pc.fit((U * s) @ V.T, centre=False)
    assert found.count == 6
    np.testing.assert_allclose(np.sqrt(found.variances * 8), s, rtol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(found.directions * V.T, axis=1)), 1, rtol=1e-9)


def test_chunks_add_up(monkeypatch):
    X = examples(1, 50, 7).astype(np.float32)
    whole = pc.fit(X)
    monkeypatch.setattr(pc, "CHUNK", 8)
    parts = pc.fit(X)
    np.testing.assert_allclose(parts.variances, whole.variances, rtol=1e-9)
    assert whole.variances.dtype == np.float64
    assert whole.coordinates(X).dtype == whole.project(X, 2).dtype == whole.whiten(X).dtype == np.float32


@given(st.integers(0, 6), st.integers(0, 9))
def test_projections_keep_the_first_coordinates(P, seed):
    images = examples(seed, 20, 12).reshape(20, 2, 2, 3)
    found = pc.fit(images)
    P = min(P, found.count)
    projected = found.project(images, P)
    assert projected.shape == images.shape
    expected = found.coordinates(images)
    expected[:, P:] = 0
    np.testing.assert_allclose(found.coordinates(projected), expected, atol=1e-10)
    np.testing.assert_allclose(found.project(projected, P), projected, atol=1e-10)
    lost = np.mean(np.sum((images - projected).reshape(20, -1) ** 2, axis=1))
    np.testing.assert_allclose(lost, found.variances[P:].sum(), atol=1e-10)


@given(st.sampled_from(["pca", "zca"]), st.sampled_from([0.0, 1e-3, 1.0]), st.integers(0, 9))
def test_whitening_gives_equal_variances_and_can_be_undone(kind, regularisation, seed):
    X = examples(seed, 30, 5)
    found = pc.fit(X)
    white = found.whiten(X, kind, regularisation)
    epsilon = regularisation * found.variances.sum() / 5
    variances = found.variances / (found.variances + epsilon)
    covariance = np.cov(white.T, bias=True)
    if kind == "zca":
        covariance = found.directions @ covariance @ found.directions.T
    np.testing.assert_allclose(covariance, np.diag(variances), atol=1e-9)
    np.testing.assert_allclose(found.unwhiten(white, kind, regularisation), X, atol=1e-9)


def test_zca_is_the_symmetric_root_outside_the_span_too():
    X = examples(3, 6, 9)
    found = pc.fit(X)
    others = np.random.default_rng(4).standard_normal((5, 9))
    covariance = np.cov(X.T, bias=True)
    epsilon = 0.1 * np.trace(covariance) / 9
    values, vectors = np.linalg.eigh(covariance + epsilon * np.eye(9))
    root = (vectors / np.sqrt(values)) @ vectors.T
    np.testing.assert_allclose(found.whiten(others, "zca", 0.1), (others - X.mean(0)) @ root, atol=1e-10)
    np.testing.assert_allclose(found.unwhiten(found.whiten(others, "zca", 0.1), "zca", 0.1), others, atol=1e-10)
    exact = found.whiten(others)
    np.testing.assert_allclose(exact @ found.directions.T @ found.directions, exact, atol=1e-10)


def test_amplified_components():
    images = examples(5, 40, 12).reshape(40, 2, 2, 3)
    found = pc.fit(images)
    low, high = found.lowest(0.25), found.highest(0.1)
    assert (low, high) == (slice(9, 12), slice(0, 1))
    for part in (low, high):
        expected = found.coordinates(images)
        expected[:, part] *= 10
        np.testing.assert_allclose(found.coordinates(found.amplify(images, part, 10.0)), expected, atol=1e-9)
    np.testing.assert_allclose(found.amplify(images, low, 1.0), images)
    # Ten times a tenth is where one began.
    back = found.amplify(found.amplify(images, high, 10.0), high, 0.1)
    np.testing.assert_allclose(back, images, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("P", [1, 3])
def test_separable_labels_depend_on_the_first_components_only(classes, P):
    X, test = examples(6, 200, 8), examples(7, 50, 8)
    labels = np.random.default_rng(8).integers(0, classes, 200)
    found = pc.fit(X)
    new, of_test = pc.separable_labels(found, X, labels, P, test)
    (again,) = pc.separable_labels(found, found.project(X, P), labels, P)
    np.testing.assert_array_equal(new, again)
    assert of_test.shape == (50,)
    assert np.mean(new == labels) > 1 / classes  # least squares is better than chance on its own data
    # Relabelling by a separator that already separates changes nothing in two classes.
    if classes == 2 and len(np.unique(new)) == 2:
        side = found.coordinates(X)[:, :P]
        gap = side[new == 1].mean(0) - side[new == 0].mean(0)
        assert np.corrcoef(side @ gap, new)[0, 1] > 0.5


def test_low_pass_is_a_projection_on_low_frequencies():
    rng = np.random.default_rng(0)
    images = rng.standard_normal((3, 8, 8, 2))
    x = np.arange(8) / 8
    wave = np.cos(2 * np.pi * 2 * x)[None, :, None, None] * np.cos(2 * np.pi * 1 * x)[None, None, :, None]
    np.testing.assert_allclose(pixels.low_pass(wave, np.hypot(2, 1)), wave, atol=1e-12)
    np.testing.assert_allclose(pixels.low_pass(wave, 2.2), 0, atol=1e-12)
    once = pixels.low_pass(images, 3)
    np.testing.assert_allclose(pixels.low_pass(once, 3), once, atol=1e-12)
    np.testing.assert_allclose(
        pixels.low_pass(images, 0), np.broadcast_to(images.mean((1, 2), keepdims=True), (3, 8, 8, 2))
    )
    np.testing.assert_allclose(pixels.low_pass(images, 6), images, atol=1e-12)
    assert np.sum((images - once) * once) == pytest.approx(0, abs=1e-10)
    assert pixels.low_pass(images.astype(np.float32), 2).dtype == np.float32


def test_channels_are_normalised_by_the_training_set():
    rng = np.random.default_rng(0)
    train, test = (rng.uniform(0.2, 0.8, (n, 4, 4, 3)).astype(np.float32) * [1, 2, 3] for n in (30, 10))
    done, also = pixels.normalise_channels(train, test)
    np.testing.assert_allclose(done.mean((0, 1, 2)), 0, atol=1e-6)
    np.testing.assert_allclose(done.std((0, 1, 2)), 1, rtol=1e-6)
    np.testing.assert_allclose(also, (test - train.mean((0, 1, 2))) / train.std((0, 1, 2)), atol=1e-5)


def test_average_pooling():
    images = np.arange(16.0).reshape(1, 4, 4, 1)
    np.testing.assert_allclose(pixels.average_pool(images, 2)[0, :, :, 0], [[2.5, 4.5], [10.5, 12.5]])
    np.testing.assert_allclose(pixels.average_pool(images, 1), images)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, c: pc.fit(X[:1]), "X must hold at least two"),
        (lambda X, c: pc.fit(np.ones((4, 3))), "X must vary"),
        (lambda X, c: pc.fit(X * np.nan), "X must be finite"),
        (lambda X, c: pc.fit(X[0]), "X must hold examples"),
        (lambda X, c: pc.fit(X.astype(str)), "X must be real numbers"),
        (lambda X, c: c.project(X, 99), "P must be a whole number of at least 0 and at most 5"),
        (lambda X, c: c.coordinates(X[:, :2]), "X must hold examples of 5 numbers"),
        (lambda X, c: c.restored(np.ones((2, 9))), "coordinates must be"),
        (lambda X, c: c.lowest(0.0), "share must be a finite number above 0"),
        (lambda X, c: c.amplify(X, slice(1), np.inf), "factor must be a finite number"),
        (lambda X, c: c.whiten(X, "mca"), "kind must be one of 'pca', 'zca'"),
        (lambda X, c: c.whiten(X, "zca", -1.0), "regularisation must be"),
        (lambda X, c: c.unwhiten(X[:, :2], "pca"), "Z must be"),
        (lambda X, c: pc.separable_labels(c, X, np.zeros(3, int), 1), "labels must be whole numbers"),
        (
            lambda X, c: pc.separable_labels(c, X, np.zeros(20, int), 0),
            "P must be a whole number of at least 1 and at most 5",
        ),
        (lambda X, c: pixels.low_pass(X, 1), "images must be images"),
        (lambda X, c: pixels.low_pass(X[:, :, None, None], -1), "cutoff must be"),
        (lambda X, c: pixels.average_pool(X[:, :, None, None], 2), "window must divide"),
        (lambda X, c: pixels.normalise_channels(np.ones((2, 2, 2, 1))), "train must vary in every channel"),
        (lambda X, c: pixels.normalise_channels(X.reshape(5, 2, 5, 2), X[:, :, None, None]), "must have 2 channels"),
        (lambda X, c: pixels.low_pass(np.ones((1, 2, 2, 1), int), 1), "floating-point"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    X = examples(0, 20, 5)
    with pytest.raises(ValueError, match=message):
        call(X, pc.fit(X))


def test_a_share_of_less_than_one_component_is_one_component():
    found = pc.fit(examples(5, 40, 12))
    assert found.lowest(1e-9) == slice(11, 12)
    assert found.highest(1e-9) == slice(0, 1)


def test_unwhitening_refuses_an_unknown_kind():
    X = examples(0, 20, 5)
    with pytest.raises(ValueError, match="kind must be one of 'pca', 'zca'"):
        pc.fit(X).unwhiten(X, "mca")
