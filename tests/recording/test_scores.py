"""Scores of difficulty, against loops over the record, and on labels that are known to be wrong."""

import numpy as np
import pytest

from lineament.recording import Recording, estimates, forgetting_events, mean_margin, probabilities, to_frame


def a_record(T=6, n=8, k=4, seed=0):
    rng = np.random.default_rng(seed)
    return Recording(np.arange(T), rng.normal(size=(T, n, k)), rng.integers(k, size=n))


def test_scores_are_what_the_papers_say():
    record = a_record()
    margins, forgotten = mean_margin(record), forgetting_events(record)
    for j in range(8):
        each = [
            record.outputs[t, j, record.labels[j]] - max(np.delete(record.outputs[t, j], record.labels[j]))
            for t in range(1, 6)  # not at step 0
        ]
        assert margins[j] == pytest.approx(np.mean(each))
        right = [record.predictions[t, j] == record.labels[j] for t in range(6)]
        assert forgotten[j] == sum(right[t] and not right[t + 1] for t in range(5))


def test_one_output_tells_two_classes_apart():
    outputs = np.array([[[0.0], [0.0]], [[1.0], [3.0]]])
    np.testing.assert_allclose(mean_margin(Recording([0, 1], outputs, [1, 0])), [2.0, -6.0])


def test_a_table_of_all_scores_with_the_hardest_first():
    record = a_record(n=30)
    table = to_frame(record)
    assert len(table) == 30
    assert table["label_quality"].is_monotonic_increasing
    assert table.index[0] == np.argmin(mean_margin(record))
    np.testing.assert_array_equal(table.sort_index()["given_label"], record.labels)
    only = to_frame(Recording(record.steps, labels=record.labels, predictions=record.predictions))
    assert "mean_margin" not in only
    # Every column that cleanlab's own table of label issues has.
    assert {"is_label_issue", "label_quality", "given_label", "predicted_label"} <= set(table) & set(only)
    np.testing.assert_array_equal(table["is_label_issue"], table["mean_margin"] < 0)


def test_wrong_labels_are_found():
    """Softmax regression on three blobs; a tenth of the labels is wrong and has the lowest margins."""
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=200)
    X = np.eye(3)[truth] * 3 + rng.normal(size=(200, 3))
    labels = truth.copy()
    labels[:20] = (labels[:20] + 1) % 3
    W, outputs = np.zeros((3, 3)), []
    for _ in range(9):
        outputs.append(X @ W.T)
        p = np.exp(outputs[-1] - outputs[-1].max(1, keepdims=True))
        W -= 0.5 * ((p / p.sum(1, keepdims=True)) - np.eye(3)[labels]).T @ X / 200
    margins = mean_margin(Recording(np.arange(9), outputs, labels))
    found = np.mean(margins[:20][:, None] < margins[20:][None])  # the area under the curve
    assert found > 0.95


def test_probabilities_are_the_mean_softmax_over_training():
    record = a_record()
    expected = np.mean([np.exp(f) / np.exp(f).sum(1, keepdims=True) for f in record.outputs[1:]], axis=0)
    np.testing.assert_allclose(probabilities(record), expected)
    outputs = np.array([[[9.0], [9.0]], [[1.0], [-3.0]]])
    odds = np.array([1.0, -3.0])
    expected = np.stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))], axis=1)
    np.testing.assert_allclose(probabilities(Recording([0, 1], outputs, [1, 0])), expected)


def test_estimates_are_the_share_of_errors_below_ones_own():
    rng = np.random.default_rng(3)
    outputs, targets = rng.normal(size=(5, 7, 2)).round(1), rng.normal(size=(7, 2)).round(1)
    found = estimates(Recording(np.arange(5), outputs, targets))
    each = np.zeros((4, 7, 2))
    for t in range(1, 5):  # not at step 0
        for i in range(7):
            for j in range(2):
                errors = targets[:, j] - outputs[t, :, j]
                others = np.delete(errors, i)
                each[t - 1, i, j] = np.mean(others < errors[i]) + np.mean(others == errors[i]) / 2
    np.testing.assert_allclose(found.score, each.mean(axis=0))
    np.testing.assert_allclose(found.spread, each.std(axis=0))


def test_wrong_targets_are_found():
    """Linear regression, a tenth of whose targets is shifted by three standard deviations of the noise, up or down."""
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(300, 5)), rng.normal(size=5)
    y = X @ w + 0.5 * rng.normal(size=300)
    y[:30] += 1.5 * np.where(np.arange(30) % 2, 1, -1)
    v, outputs = np.zeros(5), []
    for _ in range(20):
        outputs.append(X @ v)
        v -= 0.3 * X.T @ (X @ v - y) / 300
    record = Recording(np.arange(20), outputs, y)
    table = to_frame(record).sort_index()
    wrong, sound = table["label_quality"][:30].to_numpy(), table["label_quality"][30:].to_numpy()
    assert np.mean(wrong[:, None] < sound[None]) > 0.9
    score = estimates(record).score[:30, 0]
    assert score[1::2].mean() > 0.85
    assert score[::2].mean() < 0.15
    several = to_frame(Recording(np.arange(20), np.stack([outputs, np.zeros((20, 300))], 2), np.stack([y, 0 * y], 1)))
    assert set(several["output"]) <= {0, 1}


def test_what_cannot_be_scored_is_refused():
    real = Recording([0, 1], np.zeros((2, 3, 1)), np.array([0.1, 0.5, 0.7]))
    with pytest.raises(ValueError, match="classes as labels"):
        mean_margin(real)
    with pytest.raises(ValueError, match="all outputs, and of classes"):
        probabilities(real)
    with pytest.raises(ValueError, match="must hold labels to be scored"):
        to_frame(Recording([0, 1], np.zeros((2, 3, 2))))
    with pytest.raises(ValueError, match="for classes there is mean_margin"):
        estimates(a_record())
