"""What the claims of the lecture notes share: hard instances, iterations, components, and the table of gas sensors."""

from types import SimpleNamespace

import numpy as np
import pytest

from lineament.claims.cohen import (
    figure_1_right,
    hard_instances,
    proposition_3,
    section_4_4,
    section_5_cp,
    section_5_tree,
)
from lineament.claims.cohen.completion_routes import resolved
from lineament.claims.cohen.figure_1_left import Race, Settings, _checks
from lineament.claims.cohen.iterations import first_step
from lineament.claims.cohen.losses import Loss
from lineament.claims.cohen.tensor_tasks import overlap, turns
from lineament.data import catalogue, gas
from lineament.evidence import Verdict, judge
from lineament.evidence import figure as fig
from lineament.theory import certificates, layers


@pytest.mark.parametrize("widths", [(3, 2, 1), (2, 2, 2), (3, 2, 2, 2)])
def test_instances_have_the_unbalance_and_step_that_they_are_asked_for(widths):
    rng = np.random.default_rng(0)
    for excess, step, holds in ((1.0, 0.999, True), (1e-6, 0.5, True), (3.0, 0.999, False), (1.0, 1.1, False)):
        shape = hard_instances.random_shape(rng, widths, 10.0)
        instance = hard_instances.build(shape, widths, excess, step)
        margin = instance.certificate.margin
        admitted = certificates.admissible_unbalancedness(instance.target, len(widths) - 1, margin)
        assert layers.unbalancedness(instance.layers) == pytest.approx(0.999 * excess * admitted, rel=1e-3)
        assert instance.certificate.holds == holds
        assert instance.certificate.step_size is not None
        turned = hard_instances.turned(rng, instance, instance.certificate.step_size)
        assert turned.certificate.margin == pytest.approx(margin)
        assert hard_instances.pace(turned) == pytest.approx(hard_instances.pace(instance))


def test_the_search_finds_harder_instances_than_chance():
    rng, widths = np.random.default_rng(1), (3, 2, 2)
    pace = lambda shape: hard_instances.pace(hard_instances.build(shape, widths, 1.0))  # noqa: E731
    chance = min(pace(hard_instances.random_shape(rng, widths, 10.0)) for _ in range(30))
    searched = pace(hard_instances.hardest(rng, widths, 1.0, 400))
    assert 1 < searched < chance
    assert searched < 2.3  # 2 is the limit of no unbalance and small displacements


def test_pace_is_the_decay_of_a_small_step():
    rng, widths = np.random.default_rng(2), (2, 2, 2)
    instance = hard_instances.build(hard_instances.random_shape(rng, widths, 5.0), widths, 1.0)
    W1, W2 = instance.layers
    G, eta = W2 @ W1 - instance.target, 1e-7
    after = (W2 - eta * G @ W1.T) @ (W1 - eta * W2.T @ G) - instance.target
    decay = -np.log(np.sum(after**2) / np.sum(G**2)) / eta
    rate = certificates.guaranteed_rate(2, instance.certificate.margin) / 2
    assert hard_instances.pace(instance) == pytest.approx(decay / rate, rel=1e-5)


def test_the_first_step_is_infinite_where_a_run_never_arrives():
    reached = np.array([[False, True, True], [False, False, False]])
    np.testing.assert_array_equal(first_step(np.array([0, 5, 9]), reached), [5, np.inf])


def test_overlap_tells_one_by_one_from_side_by_side_and_how_coarse_records_are():
    t = np.linspace(0, 20, 2001)
    rise = lambda at: 1 / (1 + np.exp(-4 * (t - at)))  # noqa: E731
    apart, jump = overlap(np.stack([rise(5), 0.5 * rise(10)], axis=1), 2)
    together, _ = overlap(np.stack([rise(5), 0.5 * rise(5)], axis=1), 2)
    assert apart < 1e-6
    assert together == pytest.approx(0.5, abs=0.02)
    assert jump < 0.02
    _, coarse = overlap(np.stack([rise(5), 0.5 * rise(10)], axis=1)[::400], 2)
    assert coarse > 0.5


def test_without_the_figures_data_its_checks_are_void():
    settings = Settings(step_sizes=(1e-2, 10.0, 24), starts=1, steps=400, limit_steps=10)
    assert all("LINEAMENT_DATA" in check.void for check in _checks({}, settings))
    panel = fig.Panel((fig.measured([0, 1], [1, 0]),))
    races = {name: Race(np.array([[200.0], [50.0], [np.inf]]), panel) for name in gas.LABELS}
    second, third = _checks(races, settings)[:2]
    assert second.passed
    assert second.value == 4
    assert "does not arrive" in third.void


def test_the_table_of_gas_sensors_is_in_the_catalogue():
    entry = catalogue.entry(gas.NAME)
    assert entry.licence == "CC BY 4.0"
    assert entry.files[0].path == gas.FILE
    with pytest.raises(ValueError, match="is a table, which load_table reads"):
        catalogue.load(gas.NAME)
    with pytest.raises(ValueError, match="name must be one of gas-sensors"):
        catalogue.load_table("mnist")


@pytest.mark.skipif(not gas.has_gas(), reason="the table of gas sensors is not at hand")
def test_the_concentrations_are_those_of_the_experiment():
    X, ppm = gas.ethanol()
    assert X.shape == (2565, 128)
    assert len(np.unique(ppm.round(1))) == 35
    assert ppm.min() == pytest.approx(2.5, rel=1e-3)
    assert ppm.max() == pytest.approx(600, rel=1e-3)


def test_signs_count_until_the_least_values_of_balanced_layers_part():
    least = np.array([[0.1, 0.1], [0.02, 0.03], [0.01, 0.03], [0.02, 0.02]])  # (record, layer): the third has parted
    layers = np.stack([[np.diag([1.0, value]) for value in record] for record in least])
    np.testing.assert_array_equal(resolved(layers), [True, True, False, False])


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("gradient", [1.0, 1e-3, 1e-6])
def test_the_order_of_descent_is_seen_from_a_slight_slope_too(n, gradient):
    # ½(w + 3)² + ½(w − 3 − g)²: a slope of −g at 0 under values of 9 and a curvature of 2.
    loss = Loss("square", np.ones((2, 1, 1)), np.array([3.0, -3.0 - gradient]), np.ones(2))
    radii = proposition_3.RADII * proposition_3._bend(loss, np.ones((1, 1))) ** (1 / n)
    drops = proposition_3._drops(loss, np.ones((1, 1)), (1,) * (n + 1), radii)
    w = (radii / n**0.5) ** n
    assert drops == pytest.approx(gradient * w - w**2, rel=1e-8)
    assert proposition_3.slope(radii[:5], drops[:5])[0] == pytest.approx(n, rel=1e-3)


@pytest.mark.parametrize("check", [section_5_cp.check, section_5_tree.check])
@pytest.mark.parametrize("size", ["quick", "full"])
def test_components_that_rise_early_are_seen_to_rise(check, size):
    settings = check.settings[size]
    early = settings.recorded[settings.recorded <= settings.early]
    assert np.diff(early).max() <= (10 if settings.early <= 100_000 else 50)
    assert settings.recorded[-1] == settings.steps


def test_components_that_rise_late_are_seen_to_rise_too():
    settings = section_5_cp.check.settings["full"]
    assert settings.early == settings.steps
    assert len(settings.recorded) == 12_001


def test_a_drawing_keeps_rests_short_and_rises_whole():
    rise = np.clip((np.arange(10_001) - 6000) / 100, 0, 1)
    curves = np.stack([rise, np.full(10_001, 0.5)], axis=1)
    kept = turns(curves)
    assert len(kept) < 210
    assert {0, 6000, 6100, 10_000} <= set(kept.tolist())
    drawn = np.interp(np.arange(10_001), kept, rise[kept])
    assert np.abs(drawn - rise).max() <= 0.005
    np.testing.assert_array_equal(turns(np.ones((3, 2))), [0, 2])


@pytest.mark.parametrize(("data", "miss"), [("digits", Verdict.UNDECIDED), ("MNIST", Verdict.DIFFERS)])
def test_a_miss_on_small_digits_is_undecided_and_a_pass_a_pass(data, miss):
    runs = {depth: SimpleNamespace(loss=np.array([[[1.0, 0.1]]])) for depth in (1, 2)}
    slower, faster = np.array([0.2, 0.01]), np.array([-0.2, 0.01])
    assert judge(figure_1_right._checks(runs, slower, data)) is miss
    assert judge(figure_1_right._checks(runs, faster, data)) is Verdict.HOLDS
    codes = lambda rank: section_4_4.Codes(  # noqa: E731
        rank * np.array([1.0, 1.1]), np.ones((2, 8)), rank * np.array([np.ones(8), 1.1 * np.ones(8)]), np.full(2, 90.0)
    )
    assert judge(section_4_4._checks({0: codes(10.0), 8: codes(9.0)}, 8, data)) is miss
    assert judge(section_4_4._checks({0: codes(10.0), 8: codes(2.0)}, 8, data)) is Verdict.HOLDS
