"""What to do after a run: each sentence where there is reason for it, and nowhere else."""

import numpy as np

from lineament.recording import Recording, advice


def by_kind(recording):
    return {one.kind: one for one in advice(recording)}


def a_run(T=11, n=60, wrong=(), late=()):
    """Three classes, right from step 2 on; `late` ones from step 8, and `wrong` examples never."""
    labels = np.arange(n) % 3
    begin = np.where(np.isin(labels, late), 8, 2)
    right = np.arange(T)[:, None] >= begin
    right[:, list(wrong)] = False
    chosen = np.where(right, labels, (labels + 1) % 3)
    return Recording(np.arange(T), np.eye(3)[chosen], labels)


def test_labels_that_another_class_is_ahead_of_are_named():
    found = by_kind(a_run(wrong=(7, 31)))["labels"]
    assert found.rows == (7, 31)
    assert "2 of 60 examples" in found.text
    assert "rows 7 (labelled 1, said 2), 31 (labelled 1, said 2)" in found.text
    assert "labels" not in by_kind(a_run())
    assert by_kind(a_run(wrong=range(40)))["labels"].text.startswith("Train longer before")
    assert by_kind(a_run(wrong=range(40)))["labels"].rows == ()


def test_a_wrong_label_that_was_memorised_is_named_with_what_was_said_before():
    outputs = np.array(a_run(wrong=(7,)).outputs)
    outputs[-1, 7] = np.eye(3)[1]  # its label, at the last record
    found = by_kind(Recording(np.arange(11), outputs, np.arange(60) % 3))["labels"]
    assert "row 7 (labelled 1, said 2)" in found.text


def test_late_classes_are_named():
    assert "classes" not in by_kind(a_run())
    found = by_kind(a_run(late=(1,)))["classes"].text
    assert "a class that comes late: 1 (half of it right from step 8)" in found
    assert "median class are right from step 2 on" in found
    never = by_kind(a_run(wrong=range(2, 60, 3)))["classes"].text
    assert "2 (most are wrong at the end)" in never


def test_layers_that_collapsed_are_named():
    s = np.ones((4, 8))
    s[-1, 1:] = 1e-9
    found = by_kind(Recording(np.arange(4), np.zeros((4, 2, 2)), spectra={"one": s, "two": np.ones((4, 3))}))
    assert "1 of 2 layers, whose effective rank collapsed: one (8 to 1)" in found["layers"].text
    assert "layers" not in by_kind(Recording(np.arange(4), np.zeros((4, 2, 2)), spectra={"two": np.ones((4, 3))}))


def test_the_end_of_the_linear_phase_is_told():
    t = np.arange(5.0)
    straight = t[:, None] * np.array([1.0, -2.0, 0.5])
    assert "all of this run" in by_kind(Recording(t, straight, linearised=straight))["linear"].text
    bent = Recording(t, straight + 0.2 * t[:, None] ** 2, linearised=straight)
    assert "until step" in by_kind(bent)["linear"].text
    assert "its linearisation at the start" in by_kind(bent)["linear"].text


def test_targets_that_are_missed_throughout_are_named():
    rng = np.random.default_rng(0)
    f, y = rng.normal(size=100), np.zeros(100)
    y[[3, 50]] = 30.0, -20.0
    found = by_kind(Recording([1, 2, 3], np.stack([f, f, f]), y))["labels"]
    assert found.rows == (3, 50)
    y[:] = 0.1
    assert "labels" not in by_kind(Recording([1, 2, 3], np.stack([f, f, f]), y))


def test_trouble_comes_first():
    run = a_run(wrong=(7,))
    found = advice(Recording(run.steps, run.outputs, run.labels, loss=[1.0] * 9 + [np.nan] * 2))
    assert [one.kind for one in found] == ["trouble", "labels"]
    assert found[0].text.startswith("The loss is nan at step 9: try a smaller step size")
    none = advice(Recording([0], run.outputs[:1] * np.nan, run.labels))
    assert [one.kind for one in none] == ["trouble"]
