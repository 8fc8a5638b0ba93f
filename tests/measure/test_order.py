"""Learning order: streams against means, correlations against scipy, neighbours against sorting all distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lineament.measure import critical, order
from lineament.measure import neighbours as near


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 6), st.integers(0, 99))
def test_streaming_gives_the_mean(members, epochs, examples, seed):
    correct = np.random.default_rng(seed).random((members, epochs, examples)) < 0.5
    expected = [np.mean([correct[i, e, j] for i in range(members) for e in range(epochs)]) for j in range(examples)]
    np.testing.assert_allclose(order.accessibility(correct), expected)
    one, two = order.Accessibility(examples), order.Accessibility(examples)
    for epoch in range(epochs):
        one.add(correct[0, epoch])
    for member in range(1, members):
        two.add(correct[member])
    np.testing.assert_allclose(one.merge(two).value, expected)
    assert one.seen == members * epochs


def test_learnt_sooner_is_more_accessible():
    learnt = np.array([0, 3, 7, 10])
    correct = np.broadcast_to(np.arange(10)[None, :, None] >= learnt, (2, 10, 4))
    np.testing.assert_allclose(order.accessibility(correct), 1 - learnt / 10)


@given(st.integers(4, 40), st.sampled_from([-1.0, 0.0, 0.3, 2.0]), st.integers(0, 99))
def test_correlations_are_those_of_scipy(n, strength, seed):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 9, n) / 8  # ties, as accessibility has
    a[0] = 2.0
    b = strength * a + rng.standard_normal(n)
    found = order.constancy(a, b)
    expected = stats.pearsonr(a, b)
    assert found.pearson == pytest.approx(expected.statistic)
    np.testing.assert_allclose(found.pearson_interval, expected.confidence_interval(0.95), atol=1e-6)
    assert found.spearman == pytest.approx(stats.spearmanr(a, b).statistic)
    assert found.spearman_interval[0] <= found.spearman <= found.spearman_interval[1]


@pytest.mark.parametrize("method", ["fisher", "bootstrap"])
def test_intervals_cover_the_truth_as_often_as_they_say(method):
    rng = np.random.default_rng(0)
    truth, n, trials = 0.6, 60, 100
    spearman = 6 / np.pi * np.arcsin(truth / 2)
    covered = np.zeros((trials, 2))
    for trial in range(trials):
        x, y = rng.multivariate_normal([0, 0], [[1, truth], [truth, 1]], n).T
        found = order.constancy(x, y, confidence=0.9, method=method, resamples=100, seed=trial)
        for i, (value, interval) in enumerate([(truth, found.pearson_interval), (spearman, found.spearman_interval)]):
            covered[trial, i] = interval[0] <= value <= interval[1]
    # Binomial with 100 trials at 0.9: three standard deviations are 0.09.
    assert (np.abs(covered.mean(axis=0) - 0.9) < 0.1).all()


def test_equal_and_opposite_orders():
    a = np.arange(6.0)
    assert order.constancy(a, 2 * a + 1) == order.Constancy(1, (1, 1), 1, (1, 1))
    assert order.constancy(a, -(a**3)).spearman == -1


def test_fastest_examples():
    np.testing.assert_array_equal(order.fastest([0.1, 0.9, 0.5, 0.8, 0.9], 0.4), [1, 4])
    np.testing.assert_array_equal(order.fastest([0.1, 0.2], 0.01), [1])
    np.testing.assert_array_equal(order.fastest([1.0, 1.0, 1.0], 1.0), [0, 1, 2])


def test_group_means_and_moving_averages():
    found = order.group_means([1.0, 2.0, 4.0, 8.0, 9.0], [3, 1, 3, 1, np.nan])
    np.testing.assert_array_equal(found.values, [1, 3])
    np.testing.assert_allclose(found.means, [5, 2.5])
    np.testing.assert_allclose(found.errors, [stats.sem([2, 8]), stats.sem([1, 4])])
    np.testing.assert_array_equal(found.counts, [2, 2])
    assert np.isnan(order.group_means([1.0, 2.0], [0, 1]).errors).all()
    np.testing.assert_allclose(order.moving_average([1, 2, 3, 4], 2), [1.5, 2.5, 3.5])
    np.testing.assert_allclose(order.moving_average([1, 2, 5], 1), [1, 2, 5])


@given(st.integers(1, 40), st.integers(0, 99))
def test_groups_by_their_definition(n, seed):
    """Groups of one to many examples, some of them in none."""
    rng = np.random.default_rng(seed)
    score, by = rng.standard_normal(n), rng.choice([-2.5, 0.0, 1.0, 7.0, np.nan], n)
    by[0] = 0.0
    found = order.group_means(score, by)
    groups = {value: score[by == value] for value in sorted(set(by[~np.isnan(by)].tolist()))}
    np.testing.assert_array_equal(found.values, list(groups))
    np.testing.assert_array_equal(found.counts, [len(group) for group in groups.values()])
    np.testing.assert_allclose(found.means, [group.mean() for group in groups.values()], atol=1e-14)
    errors = [group.std(ddof=1) / len(group) ** 0.5 if len(group) > 1 else np.nan for group in groups.values()]
    np.testing.assert_allclose(found.errors, errors, atol=1e-14)


def naive_neighbours(X, k):
    distance = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
    np.fill_diagonal(distance, np.inf)
    return np.sort(np.argsort(distance, axis=1)[:, :k], axis=1)


@given(st.integers(3, 25), st.integers(1, 6), st.integers(0, 99))
def test_discriminability_counts_neighbours_of_the_same_class(n, q, seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.standard_normal((n, q)), rng.integers(0, 3, n)
    k = int(rng.integers(1, n))
    expected = [np.mean(labels[row] == labels[i]) for i, row in enumerate(naive_neighbours(X, k))]
    np.testing.assert_allclose(order.discriminability(X, labels, k), expected)


@pytest.mark.parametrize(("decay", "dtype"), [(0.5, np.float32), (1.5, np.float64), (0.0, np.float64)])
def test_the_filter_loses_no_neighbour(monkeypatch, decay, dtype):
    """Steep spectra, where the bound proves nearly all, and white ones, where it proves nothing."""
    for name, value in (("SMALL", 50), ("SAMPLE", 36), ("FILTER", 8), ("ROWS", 64)):
        monkeypatch.setattr(near, name, value)
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((300, 40)) * np.arange(1, 41) ** -decay).astype(dtype)
    X[7] = X[8] = X[9]  # copies
    found = near.neighbours(X, 5)
    gaps = lambda chosen: np.sort(np.linalg.norm(X[:, None] - X[chosen], axis=2), axis=1)  # noqa: E731
    np.testing.assert_allclose(gaps(found), gaps(naive_neighbours(X.astype(float), 5)), rtol=1e-5, atol=1e-5)
    assert not (found == np.arange(300)[:, None]).any()
    assert all(len(set(row)) == 5 for row in found.tolist())


def test_more_copies_than_neighbours():
    X = np.ones((9, 2))
    found = near.neighbours(X, 3)
    assert not (found == np.arange(9)[:, None]).any()
    np.testing.assert_allclose(order.discriminability(X, np.zeros(9, int), 3), 1)


@given(st.integers(1, 6), st.integers(1, 20), st.integers(0, 99))
def test_critical_scores_by_their_definitions(steps, n, seed):
    rng = np.random.default_rng(seed)
    predictions, labels = rng.integers(0, 2, (steps, n)), rng.integers(0, 2, n)
    sizes = np.cumsum(rng.integers(1, 9, steps))
    pc, frequency = critical.critical_pc(predictions, labels, sizes), critical.critical_frequency(predictions, labels)
    for j in range(n):
        lasting = [P for i, P in enumerate(sizes) if (predictions[i:, j] == labels[j]).all()]
        some = [i for i in range(steps) if predictions[i, j] == labels[j]]
        np.testing.assert_equal(pc[j], lasting[0] if lasting else np.nan)
        np.testing.assert_equal(frequency[j], some[0] if some else np.nan)


def test_sizes_and_frequencies_that_are_left_out():
    """Components are counted from 1, frequencies from 0."""
    predictions, labels = [[0, 1, 1], [1, 1, 0], [1, 1, 0]], [1, 1, 0]
    np.testing.assert_array_equal(critical.critical_pc(predictions, labels), [2, 1, 2])
    np.testing.assert_array_equal(critical.critical_frequency(predictions, labels), [1, 0, 1])
    np.testing.assert_array_equal(critical.critical_frequency(predictions, labels, [3.5, 7, 9]), [7, 3.5, 7])


def test_linear_predictions_without_an_offset_and_of_any_rising_sizes():
    W, C = np.random.default_rng(0).standard_normal((3, 4)), np.random.default_rng(1).standard_normal((9, 4))
    found = critical.linear_predictions(W, C, [0, 1, 2, 4])
    np.testing.assert_array_equal(found[0], 0)  # ties go to the lower class
    for row, P in zip(found, (0, 1, 2, 4), strict=True):
        np.testing.assert_array_equal(row, np.argmax(C[:, :P] @ W[:, :P].T, axis=1))
    for sizes in ([1, 1], [2, 1], [1, 3, 2], [0, 2, 2], [2, 5]):
        with pytest.raises(ValueError, match="sizes must be"):
            critical.linear_predictions(W, C, sizes)


@given(st.integers(1, 5), st.integers(2, 9), st.integers(0, 99))
def test_linear_predictions_are_those_on_projected_data(classes, q, seed):
    rng = np.random.default_rng(seed)
    W, C, b = rng.standard_normal((classes, q)), rng.standard_normal((6, q)), rng.standard_normal(classes)
    sizes = sorted(rng.choice(q + 1, 2, replace=False).tolist())
    found = critical.linear_predictions(W, C, sizes, b)
    for row, P in zip(found, sizes, strict=True):
        projected = C.copy()
        projected[:, P:] = 0
        np.testing.assert_array_equal(row, np.argmax(projected @ W.T + b, axis=1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: order.accessibility(np.ones((2, 3), bool)), "correct must be"),
        (lambda: order.accessibility(np.ones((2, 3, 1))), "correct must be boolean"),
        (lambda: order.accessibility(np.ones((2, 3, 0), bool)), "correct must be .member, epoch, example."),
        (lambda: order.accessibility(np.ones((1, 2, 3, 1), bool)), "correct must be .member, epoch, example."),
        (lambda: order.Accessibility(1).add(True), "1 examples on its last axis"),
        (lambda: order.constancy(np.arange(5), np.arange(6)), "scores of the same examples"),
        (lambda: order.constancy(np.arange(5), np.ones(5)), "b must be scores that differ"),
        (
            lambda: order.constancy(np.arange(5), np.arange(5), resamples=10**6 + 1),
            "resamples must be.* at most 1000000",
        ),
        (lambda: order.constancy(np.arange(5), np.arange(5), confidence=0.0), "confidence must be"),
        (lambda: order.fastest([1.0], 1.5), "share must be"),
        (lambda: order.moving_average([1.0], 0), "width must be"),
        (lambda: near.neighbours(np.array([[1.0, np.nan], [2.0, 3.0]]), 1), "features must be finite"),
        (lambda: near.neighbours(np.ones((3, 0)), 1), "features must be finite"),
        (lambda: order.Accessibility(0), "examples must be"),
        (lambda: order.Accessibility(2).add(np.ones(3, bool)), "2 examples on its last axis"),
        (lambda: order.Accessibility(2).merge(order.Accessibility(3)), "other must be of 2 examples; got 3"),
        (lambda: order.Accessibility(2).value, "no predictions were added"),
        (
            lambda: order.constancy(np.ones(5), np.arange(5)),
            "a must be scores that differ, or there is no order; got 1 for all",
        ),
        (lambda: order.constancy(np.arange(3), np.arange(3)), "at least four"),
        (
            lambda: order.constancy([1, np.nan, 2, 3], np.arange(4)),
            r"a must be finite numbers; got nan at entry \(1,\)",
        ),
        (lambda: order.constancy(np.arange(5), np.arange(5), confidence=1.0), "confidence must be"),
        (lambda: order.constancy(np.arange(5), np.arange(5), method="exact"), "method must be one of"),
        (lambda: order.fastest([1.0], 0.0), "share must be"),
        (lambda: order.group_means([1.0], [1, 2]), r"by must be of the shape \(1,\) of score; got \(2,\)"),
        (lambda: order.group_means([1.0], [np.nan]), "by must be a number for some example; got none"),
        (lambda: order.moving_average([1.0], 2), "width must be"),
        (
            lambda: order.discriminability(np.ones((4, 2)), np.zeros(3), 1),
            r"labels must be one for each of 4 examples; got shape \(3,\)",
        ),
        (
            lambda: order.discriminability(np.ones((4, 2)), np.zeros(4), 4),
            "k must be a whole number of at least 1 and at most 3; got 4",
        ),
        (lambda: order.discriminability(np.ones((4, 2), int), np.zeros(4), 1), "features must be finite"),
        (
            lambda: critical.critical_pc(np.zeros((2, 3)), np.zeros(2)),
            r"labels must be one for each of 3 examples; got shape \(2,\)",
        ),
        (
            lambda: critical.critical_pc(np.zeros((2, 3)), np.zeros(3), [2, 1]),
            "sizes must be rising numbers; got 2 before 1",
        ),
        (
            lambda: critical.linear_predictions(np.ones((2, 3)), np.ones((4, 2)), [1]),
            r"coordinates must be of as many components as weights, 3; got shape \(4, 2\)",
        ),
        (
            lambda: critical.linear_predictions(np.ones((2, 3)), np.ones((4, 3)), [4]),
            r"sizes must be rising, at most 3, the number of components; got \(4,\)",
        ),
        (lambda: critical.linear_predictions(np.ones((2, 3)), np.ones((4, 3)), []), "sizes must be"),
        (
            lambda: critical.linear_predictions(np.ones((2, 3)), np.ones((4, 3)), [1], [0]),
            r"offset must be a vector of 2 number\(s\); got shape \(1,\)",
        ),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_proven_nearest_is_so_by_more_than_rounding(monkeypatch, dtype):
    """Distances of what is far out are rounded most, and one example may lie in the middle."""
    for name, value in (("SMALL", 50), ("SAMPLE", 36), ("FILTER", 8), ("ROWS", 64)):
        monkeypatch.setattr(near, name, value)
    X = np.random.default_rng(0).standard_normal((300, 40)).astype(dtype)
    X[5] = X.mean(axis=0)
    margins, refined = [], near._refined

    def noted(*given):
        margins.append(given[-1])
        return refined(*given)

    monkeypatch.setattr(near, "_refined", noted)
    near.neighbours(X, 3)
    furthest = np.linalg.norm(X - X.mean(axis=0), axis=1).max()
    assert min(margins) > 16 * np.finfo(dtype).eps * furthest
    assert max(margins) < 256 * np.finfo(dtype).eps * furthest


def test_more_neighbours_than_the_filter_could_offer(monkeypatch):
    for name, value in (("SMALL", 50), ("SAMPLE", 36), ("FILTER", 8), ("ROWS", 64)):
        monkeypatch.setattr(near, name, value)
    X = np.random.default_rng(1).standard_normal((60, 40))
    for k in (1, 2, 9, 10, 11, 20, 59):  # 6 k and 24 k candidates: fewer than there are examples, as many, more
        found = near.neighbours(X, k)
        np.testing.assert_array_equal(np.sort(found, axis=1), naive_neighbours(X, k))


def test_neighbours_of_images_are_those_of_their_pixels():
    X = np.random.default_rng(2).standard_normal((20, 3, 2, 2))
    found = near.neighbours(X, 4)
    np.testing.assert_array_equal(np.sort(found, axis=1), naive_neighbours(X.reshape(20, 12), 4))


def test_one_dimensional_features_are_refused():
    with pytest.raises(ValueError, match="features must be finite floating-point numbers"):
        near.neighbours(np.arange(5.0), 1)


@pytest.mark.parametrize("predictions", [np.zeros(3, int), np.zeros((2, 0), int), np.zeros((1, 2, 3), int)])
def test_predictions_of_another_shape_are_refused(predictions):
    for score in (critical.critical_pc, critical.critical_frequency):
        with pytest.raises(ValueError, match="predictions must be"):
            score(predictions, np.zeros(3, int))


def test_weights_that_are_not_finite_are_refused():
    good, bad = np.ones((2, 2)), np.array([[1.0, np.inf], [0.0, 1.0]])
    for weights, coordinates, name in ((bad, good, "weights"), (good, bad, "coordinates")):
        with pytest.raises(ValueError, match=f"{name} must be finite"):
            critical.linear_predictions(weights, coordinates, [1])


@pytest.mark.parametrize(
    ("scale", "offset", "dtype"),
    [(1.0, 1e8, float), (1.0, 1e12, float), (1e200, 0.0, float), (1e-200, 0.0, float), (1.0, 1e4, np.float32),
     (1e30, 0.0, np.float32), (1e-30, 0.0, np.float32), (1.0, 3.0, np.float16), (1.0, 1e8, np.longdouble),
     (1.0, 1e8, ">f8")],
)  # fmt: skip
def test_neighbours_far_from_the_origin_and_at_every_scale(scale, offset, dtype):
    X = (scale * np.random.default_rng(5).normal(size=(60, 3)) + offset).astype(dtype)
    X[3, 1] = offset  # as many features are exactly zero
    exact = (X.astype(float) - offset) / scale
    found = near.neighbours(X, 3)
    gaps = lambda index: np.sort(np.linalg.norm(exact[:, None] - exact[index], axis=2))  # noqa: E731
    np.testing.assert_allclose(gaps(found), gaps(naive_neighbours(exact, 3)), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e80, 1e200, 1e-85, 1e-200])
@pytest.mark.parametrize("method", ["fisher", "bootstrap"])
def test_correlations_do_not_depend_on_the_scale(scale, method):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 10))
    a[4] = b[4] = 0
    plain = order.constancy(a, a + b, method=method, resamples=20)
    np.testing.assert_allclose(order.constancy(scale * a, scale * (a + b), method=method, resamples=20)[0], plain[0])


NUMBERS = [np.int64, np.uint8, np.int8, bool, np.float32, np.float64]


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("other", NUMBERS)
def test_classes_are_compared_whatever_kind_of_number_they_are(kind, other):
    """As uint8 from a file of images, and int64 from an argmax."""
    predictions, labels = np.array([[0, 1, 1], [1, 1, 0]]).astype(kind), np.array([1, 1, 1]).astype(other)
    np.testing.assert_array_equal(critical.critical_pc(predictions, labels), [2, 1, np.nan])
    np.testing.assert_array_equal(critical.critical_frequency(predictions, labels), [1, 0, 0])


def test_bytes_are_not_compared_with_text_nor_with_numbers():
    named = np.array([["a", "b"], ["b", "b"]])
    for score in (critical.critical_pc, critical.critical_frequency):
        for predictions, labels in (
            (named.astype("S"), named[1]),
            (named, named[1].astype("S")),
            (named.astype("S"), [0, 1]),
            ([[0, 1], [1, 1]], named[1].astype("S")),
        ):
            with pytest.raises(ValueError, match="labels must be of the kind of predictions"):
                score(predictions, labels)
        same = score(named.astype("S"), named[1].astype("S"))
        np.testing.assert_array_equal(same, score(named, named[1]))


def test_the_mean_of_numbers_near_the_largest_does_not_overflow():
    a = np.linspace(0, 1, 9)
    b = a[[0, 2, 1, 3, 5, 4, 6, 8, 7]]
    np.testing.assert_allclose(order.constancy(1.7e308 * a, 1.7e308 * b)[0], order.constancy(a, b)[0])
    np.testing.assert_allclose(order.constancy(1.7e308 * a, -1.7e308 * b)[0], order.constancy(a, -b)[0])
