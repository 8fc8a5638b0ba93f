"""Networks beside their twin on images: the loss in parts, the preparation, and what is read off a run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lineament import data, models, problems, starts
from lineament.claims.hu import appendix_a, images, rates
from lineament.core import Applied
from lineament.evidence import Verdict, judge


def _function(parameters):
    return Applied(models.MLP((5, 7, 1), "erf"), parameters)


def test_the_loss_in_parts_is_the_loss_of_all_examples_and_so_is_its_gradient():
    rng = np.random.default_rng(0)
    X, y = jnp.asarray(rng.normal(size=(12, 5))), jnp.asarray(rng.normal(size=(12, 1)))
    parameters = starts.gaussian(models.MLP((5, 7, 1), "erf"), jax.random.key(0), deviation=1.0)
    whole = problems.LpRegression(X, y, 2)
    value, gradient = jax.value_and_grad(lambda p: whole.loss(_function(p)))(parameters)
    for part in (12, 4, 1):
        some = images.InParts(X, y, 2, part)
        again, same = jax.value_and_grad(lambda p, some=some: some.loss(_function(p)))(parameters)
        assert float(again) == pytest.approx(float(value), rel=1e-12)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-14), gradient, same)


def test_parts_that_do_not_divide_the_examples_are_refused():
    problem = images.InParts(jnp.ones((10, 2)), jnp.ones((10, 1)), 2, 4)
    with pytest.raises(ValueError, match="part must divide the 10 examples into equal parts; got 4"):
        problem.loss(lambda X: X[:, :1])


@pytest.mark.parametrize("how", images.PREPARED)
def test_prepared_images_have_the_norm_that_is_stated(how):
    X, tests = images.prepare(data.natural_gaussian(50, 30, size=6), how)
    if how == "per image":
        np.testing.assert_allclose(np.mean(X**2, axis=1), 1)
        np.testing.assert_allclose(np.mean(tests**2, axis=1), 1)
    assert np.mean(X**2) == pytest.approx(1)
    if how == "centred":
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)


def course(twin: np.ndarray, network: np.ndarray, inputs: np.ndarray, labels: np.ndarray) -> images.OnImages:
    """A fully connected network beside its twin, recorded at every step."""
    steps = np.arange(len(twin))
    end = images.linear_phase(steps, images.losses(twin, labels, inputs).linear)
    return images.OnImages(steps, twin, {"fully connected": network}, inputs, labels, end, {"fully connected": twin})


def test_the_linear_phase_and_the_progress_off_the_span_are_read_off_the_outputs():
    inputs, labels = np.eye(4)[:, :2], np.ones(4)  # V_lin holds the first two of four test images
    grow = np.array([0.0, 0.2, 0.6, 1.0])
    twin = grow[:, None] * [1, 1, 0, 0]
    late = np.array([0.0, 0.0, 0.0, 0.5])
    run = course(twin, twin + late[:, None] * [0, 0, 1, 1], inputs, labels)
    assert run.steps[run.early].tolist() == [1, 2]  # (1 − 0.6)² of the loss is left, over half of it gone at step 2
    assert run.early_gap("fully connected") == 0
    assert run.loss_gap("fully connected") == pytest.approx(0, abs=1e-12)
    before, after = run.progress("fully connected")
    assert before == pytest.approx(0)
    assert after == pytest.approx(0.75)


def test_both_kinds_of_network_begin_at_zero_and_train_alike_in_parts():
    few = data.natural_gaussian(12, 8, size=6)
    training = images.Training(train=12, test=8, width=8, channels=4, steps=3, rate=0.1, part=4)
    names = ("fully connected", "convolutional")
    run = images.follow(few, "per image", training, jax.random.key(1), names)
    whole = images.follow(few, "per image", training._replace(part=12), jax.random.key(1), names[1:])
    assert run.steps.tolist() == [0, 1, 2, 3]
    for name in names:
        assert np.all(run.networks[name][0] == 0)
        assert np.abs(run.networks[name][-1]).max() > 1e-3
    np.testing.assert_allclose(run.networks["convolutional"], whole.networks["convolutional"], atol=1e-6)
    assert run.limit == {}


def test_a_run_of_the_beginning_alone_has_the_linear_phase_of_the_whole_course():
    few = data.natural_gaussian(12, 8, size=6)
    training = images.Training(train=12, test=8, width=8, channels=4, steps=60, rate=0.1)
    whole, begun, short = (
        images.follow(few, "per image", training._replace(steps=steps, course=course), jax.random.key(1), ())
        for steps, course in ((60, 0), (5, 60), (5, 0))
    )
    assert begun.end == whole.end != short.end
    assert begun.steps[-1] == 5


def test_pace_is_how_far_the_first_step_goes_along_the_twins():
    twin = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 3.0]])
    across = np.array([[0.0, 0.0], [2.0, -1.0], [0.0, 0.0]])
    run = course(twin, 1.2 * twin + across, np.eye(2)[:, :1], np.ones(2))
    assert run.pace("fully connected") == pytest.approx(1.2)


def test_progress_off_the_span_has_an_error_over_test_images():
    inputs, labels = np.eye(4)[:, :2], np.ones(4)  # V_lin holds the first two of four test images
    twin = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    network = twin + np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])  # the third is learnt, the fourth is not
    run = course(twin, network, inputs, labels)
    assert run.progress("fully connected")[1] == pytest.approx(0.5)
    gained = np.array([0.0, 0.0, 1.0, 0.0])
    assert run.progress_error("fully connected") == pytest.approx(gained.std(ddof=1) / 2 / 0.5)


@pytest.mark.parametrize(
    ("interval", "passed", "void"),
    [((-0.3, -0.4, -0.2), True, False), ((-0.1, -0.3, 0.1), False, True), ((0.3, 0.1, 0.5), False, False)],
)
def test_a_slope_whose_interval_contains_zero_is_not_told(interval, passed, void):
    check = rates.falls("slope", interval)
    assert (check.passed, bool(check.void)) == (passed, void)
    assert check.failed == (not passed and not void)


def beside_its_twin(early: float, late: float) -> images.OnImages:
    """A network so far from its twin in relative mean square, first in the linear phase and then at the end."""
    inputs, labels = np.eye(4)[:, :2], np.ones(4)
    grow = np.array([0.0, 0.2, 0.6, 1.0])
    apart = np.sqrt([0.0, early, early, late]) * grow
    twin = grow[:, None] * [1.0, 1.0, 0.0, 0.0]
    return course(twin, twin + apart[:, None] * [0.0, 0.0, 1.0, 1.0], inputs, labels)


@pytest.mark.parametrize(
    ("early", "late", "quick", "full"),
    [
        (0.01, 0.2, Verdict.UNDECIDED, Verdict.HOLDS),
        (0.01, 0.01, Verdict.UNDECIDED, Verdict.DIFFERS),  # half of the statement is not half a verdict
        (0.2, 0.9, Verdict.UNDECIDED, Verdict.DIFFERS),  # a miss on small digits says nothing of the appendix's images
    ],
)
def test_small_digits_never_decide_whether_networks_leave_their_twin(early, late, quick, full):
    run = beside_its_twin(early, late)
    pairs = [("two classes", run._replace(limit=run.networks))]  # no width would bring it nearer
    for size, verdict in (("quick", quick), ("full", full)):
        settings = appendix_a.check.settings[size]._replace(networks=("fully connected",))
        checks = appendix_a._checks(pairs, settings)
        assert len(checks) == 2
        assert judge(checks) is verdict
