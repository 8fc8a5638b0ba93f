"""Scores of difficulty, against loops over the record, and on labels that are known to be wrong."""

import numpy as np
import pytest

from lineament.recording import Recording, forgetting_events, mean_margin, to_frame


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
    np.testing.assert_array_equal(table.sort_index()["label"], record.labels)
    only = to_frame(Recording(record.steps, labels=record.labels, predictions=record.predictions))
    assert "mean_margin" not in only


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


def test_what_has_no_classes_is_refused():
    real = Recording([0, 1], np.zeros((2, 3, 1)), np.array([0.1, 0.5, 0.7]))
    with pytest.raises(ValueError, match="classes as labels"):
        mean_margin(real)
    with pytest.raises(ValueError, match="classes as labels"):
        to_frame(real)
