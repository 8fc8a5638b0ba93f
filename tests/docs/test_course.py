"""Every exercise of the course has a solution that runs, and what it finds is what its text says."""

import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lineament.claims import all_claims
from lineament.report import explorer

COURSE = Path(__file__).parents[2] / "course"
LESSONS = sorted(COURSE.glob("plot_*.py"))


@pytest.fixture(scope="module", autouse=True)
def solutions():
    sys.path.insert(0, str(COURSE / "solutions"))
    yield
    sys.path.remove(str(COURSE / "solutions"))


def solved(lesson, exercise):
    return getattr(import_module(f"lesson_{lesson:02d}"), f"exercise_{exercise}")()


def test_every_lesson_shows_its_three_solutions():
    assert len(LESSONS) == 12
    for number, path in enumerate(LESSONS, 1):
        shown = re.findall(r"^# \.\. solution:: (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert shown == [f"lesson_{number:02d}.exercise_{k}" for k in (1, 2, 3)]


def test_the_exercises_of_the_lecture_notes_are_among_them():
    text = " ".join(path.read_text(encoding="utf-8") for path in LESSONS)
    assert set(re.findall(r"exercise (\d) of the lecture notes", text)) == set("12345")


def test_claims_and_presets_that_lessons_name_are_there():
    for path in LESSONS:
        text = path.read_text(encoding="utf-8")
        claims, presets = (set(re.findall(rf":{role}:`([^`]+)`", text)) for role in ("claim", "preset"))
        assert claims
        assert claims <= set(all_claims())
        assert presets
        assert presets <= set(explorer.presets())


def test_a_notebook_holds_neither_directives_nor_roles(monkeypatch):
    monkeypatch.syspath_prepend(COURSE.parent / "docs" / "extensions")
    lessons = import_module("lessons")
    for path in LESSONS:
        comments = re.findall(r"^# ?(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        cell = lessons.plain("\n".join(comments), lessons._markdown)
        assert cell.count("<details>") == cell.count("```python\ndef exercise_") == 3
        assert not re.search(r"^\.\. solution::|:(claim|preset|doc):", cell, re.MULTILINE)
        assert not re.search(":math:|math::", "".join(re.findall("<details>.*?</details>", cell, re.DOTALL)))


def test_01_the_logistic_curve():
    found = solved(1, 1)
    assert_allclose(found["trained"], found["by hand"], rtol=1e-7)
    assert_allclose(found["half"], found["theory"], rtol=1e-12)


def test_01_the_speed_is_the_variance():
    found = solved(1, 2)
    assert_allclose(found["trained"], found["by hand"], atol=1e-8)


def test_01_half_rise_times_are_logarithms_or_powers_of_the_start():
    found = solved(1, 3)
    steps = np.diff(found["times"][2]) / np.log(10)
    assert_allclose(steps, -1 / 4, rtol=1e-6)  # −1/(2σ*) for each factor e
    assert_allclose(found["slopes"][3], -1 / 3, atol=1e-3)
    assert_allclose(found["slopes"][4], -1 / 2, atol=1e-3)
    assert_allclose(found["later"][3], 2, rtol=1e-3)
    assert (np.diff(np.abs(found["later"][2] - 2)) > 0).all()  # nearer to 2, the smaller the start


def test_02_two_weights_move_on_a_hyperbola():
    found = solved(2, 1)
    assert_allclose(found["trained"], found["by equation"], rtol=1e-8)
    assert_allclose(found["conserved"], found["conserved"][0], rtol=1e-8)


def test_02_a_step_changes_what_is_conserved_by_its_square():
    found = solved(2, 2)
    assert_allclose(found["changed"], found["by formula"], atol=1e-13)


def test_02_every_matrix_has_balanced_layers():
    found = solved(2, 3)
    assert_allclose(found["product"], found["map"], atol=1e-13)
    assert found["unbalancedness"] < 1e-13


def test_03_one_output():
    assert solved(3, 1)["gap"] < 1e-12


def test_03_the_symmetric_network():
    found = solved(3, 2)
    assert_allclose(found["layers"], found["by equation"], atol=1e-8)


def test_03_the_preconditioner_has_these_eigenvalues():
    found = solved(3, 3)
    assert_allclose(found["dense"], found["formula"], atol=1e-10)


def test_04_the_distance_to_deficient_matrices():
    found = solved(4, 1)
    assert_allclose(found["attained"], found["formula"], rtol=1e-12)
    assert_allclose(found["found"], found["formula"], rtol=1e-6)  # as near as a search comes, and no nearer


def test_04_the_curvature_of_the_saddle_at_depth_two():
    found = solved(4, 2)
    assert_allclose(found["eigenvalues"], found["expected"], atol=1e-12)


def test_04_without_balance_there_is_no_rate():
    found = solved(4, 3)
    assert_allclose(found["rates"], found["expected"], rtol=1e-3)


def test_05_every_norm_grows_from_a_negative_determinant_too():
    found = solved(5, 1)
    assert found["loss"][-1] < 0.1 * found["loss"][0]
    assert found["bound"].max() > 0.5  # it says something
    assert (found["corner"] >= found["least"]).all()
    assert (found["norm"] >= found["bound"]).all()


def test_05_the_wrong_sign_ends_on_a_saddle():
    found = solved(5, 2)
    assert_allclose(found["end"], np.diag([2.0, 0.0]), atol=1e-6)
    assert_allclose(found["loss"], 0.5, atol=1e-6)


def test_05_one_layer_does_not_complete():
    found = solved(5, 3)
    assert_allclose(found["end"], found["expected"], atol=1e-8)
    assert_allclose(found["error"], found["unseen"], rtol=1e-8)


def test_06_constant_alignment():
    found = solved(6, 1)
    assert_allclose(found["by hand"], found["package"], rtol=1e-12)
    assert_allclose(found["depth 3"], found["integrated"], rtol=1e-6)


def test_06_the_threshold_by_bisection():
    found = solved(6, 2)
    assert_allclose(found["bisected"], found["exact"], rtol=1e-9)


def test_06_the_printed_bound_is_false_and_the_corrected_one_is_not():
    found = solved(6, 3)
    assert found["printed"] < found["exact"] < found["corrected"]


def test_07_the_printed_formula_is_false():
    found = solved(7, 1)
    assert_allclose(found["measured"], found["corrected"], rtol=1e-8)
    assert abs(found["printed"] / found["measured"] - 1) > 0.1


def test_07_the_map_of_least_norm_at_every_scale():
    assert (solved(7, 2)["gaps"] < 1e-6).all()


def test_07_laziness():
    found = solved(7, 3)
    assert_allclose(found["by hand"], found["package"], rtol=1e-12)
    assert found["by hand"][0] < 0.01
    assert found["by hand"][-1] == 1


def test_08_vectors_of_a_component_grow_together():
    found = solved(8, 1)
    assert found["moved"] > 0.1
    assert found["drift"] < 1e-8


def test_08_an_aligned_component_is_a_mode():
    found = solved(8, 2)
    assert_allclose(found["trained"], found["mode"], rtol=1e-8)


def test_08_of_order_two_it_is_a_linear_network():
    found = solved(8, 3)
    assert found["same map"] < 1e-13
    assert found["drift"] < 1e-8


def test_09_the_kernel_of_two_layers():
    found = solved(9, 1)
    assert_allclose(found["package"], found["by hand"], atol=1e-10)


def test_09_it_ends_in_kernel_regression():
    found = solved(9, 2)
    assert_allclose(found["training"], found["labels"], atol=1e-8)
    assert_allclose(found["other"], found["regression"], rtol=1e-6)


def test_09_the_largest_step():
    found = solved(9, 3)
    assert_allclose(found["by hand"], found["package"], rtol=1e-9)
    assert found["below"] < 1 < 1e6 < found["above"]


def test_10_constants():
    found = solved(10, 1)
    for name, values in found["by hand"].items():
        assert_allclose(found["quadrature"][name], values, atol=1e-10)


def test_10_the_mirrored_start():
    found = solved(10, 2)
    assert not found["outputs"].any()
    assert_allclose(found["mirrored"], found["plain"], rtol=1e-12)


def test_10_the_twin_step_by_step():
    found = solved(10, 3)
    assert_allclose(found["by steps"], found["closed"], atol=1e-12)


def test_11_what_one_step_leaves_out():
    assert_allclose(solved(11, 1)["slope"], 2, atol=0.05)


def test_11_the_scale_matrix_at_the_start():
    found = solved(11, 2)
    assert (np.abs(found["mean"] - np.eye(2)) < 5 * found["error"]).all()
    assert_allclose(found["exact"], found["by hand"], rtol=1e-12)
    assert_allclose(found["variance"], found["by hand"], rtol=5 * (2 / 4000) ** 0.5)  # five standard errors


def test_11_when_to_stop():
    found = solved(11, 3)
    assert_allclose(found["package"], found["by hand"], rtol=1e-4)  # of a minimum, by its values
    assert_allclose(found["error"], found["least"], rtol=1e-9)


def test_12_the_largest_stable_step():
    for distance, below, above in solved(12, 1).values():
        assert below < 0.1 * distance
        assert above > 2 * distance


def test_12_the_cycle_of_two_points():
    found = solved(12, 2)
    assert_allclose(found["iterated"], found["by hand"], rtol=1e-9)
    assert_allclose(found["package"], found["by hand"], rtol=1e-9)
    assert_allclose(found["edge"], 5**0.5 - 1, rtol=1e-9)


def test_12_the_error_without_balance():
    found = solved(12, 3)
    assert_allclose(found["slope"], 1, atol=0.1)
    assert found["errors"][0] > 1e-6
