"""What is made of a network at its start, and shown of a forecast: each number by its definition."""

import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from two_layers import TwoLayers

import lineament as la
from lineament.linearisation import Band, Curves, Linearised, Renewed, in_jax, losses, path, renewed, solution
from lineament.linearisation.make import make, targets_of
from lineament.linearisation.shown import Shown

MODULE = sys.modules[targets_of.__module__]  # the package has a function of this name

RNG = np.random.default_rng(3)
X, Z = RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))
Y, W = RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))
LABELS, TEST_LABELS = [0, 1, 1, 0], [1, 0, 1]
ASKED = {
    "loss": "square", "step_size": None, "momentum": 0.0, "ridge": 0.0, "weight_decay": 0.0, "batch_size": None,
    "steps": 10, "kernel": None, "renew": 0, "seed": 0, "progress": None,
}  # fmt: skip


def made(y=Y, Z=Z, y_test=W, net=None, **asked):
    return make(net or TwoLayers.drawn(0), X, y, Z, y_test, **ASKED | asked)


# ---------------------------------------------------------------------------------------------------------
# What is made


@pytest.mark.parametrize(("mu", "rho", "decay"), [(0.0, 0.0, 0.0), (0.5, 2.0, 0.0), (0.5, 2.0, 0.3)])
def test_the_step_is_a_tenth_of_the_largest_at_the_same_pace(mu, rho, decay):
    """Descent is stable below 2(1 + μ)/(λ/n + ρ/n + decay); momentum multiplies the pace by 1/(1 − μ)."""
    found = made(momentum=mu, ridge=rho, weight_decay=decay)
    J = TwoLayers.drawn(0).jacobian(X).reshape(8, -1)
    largest = 2 * (1 + mu) / (np.linalg.eigvalsh(J @ J.T)[-1] / 4 + rho / 4 + decay)
    assert found.largest_stable == pytest.approx(largest)
    assert found.step_size == pytest.approx(0.1 * (1 - mu) / (1 + mu) * largest)
    assert (found.momentum, found.ridge, found.weight_decay) == (mu, rho, decay)
    assert made(step_size=0.25).step_size == 0.25
    if decay:
        np.testing.assert_allclose(found.solution.origin[0].ravel(), J @ TwoLayers.drawn(0).theta)
        np.testing.assert_allclose(found.solution.origin[1], TwoLayers.drawn(0).push_forward(Z, found.network.origin))
        alone = made(Z=None, y_test=None, weight_decay=decay)
        assert alone.solution.origin[1].shape == (0, 2)
    else:
        assert found.solution.origin is None


def test_outputs_share_a_kernel_beyond_six_thousand_rows(monkeypatch):
    assert MODULE.MOST_ROWS == 6000
    monkeypatch.setattr(MODULE, "MOST_ROWS", 8)
    assert made().kernel == "all"
    assert len(made().solution.given.kernel) == 8
    monkeypatch.setattr(MODULE, "MOST_ROWS", 7)
    assert made().kernel == "mean"
    assert made(kernel="all").kernel == "all"
    shared = made().solution.given.kernel
    np.testing.assert_allclose(shared, TwoLayers.drawn(0).kernel(X, None, "mean"))
    one = made(Y[:, 0], y_test=W[:, 0], net=TwoLayers.drawn(0, outputs=1))
    assert (one.kernel, one.solution.given.kernel.shape) == ("all", (4, 4))
    monkeypatch.setattr(MODULE, "MOST_ROWS", 3)
    assert made(Y[:, 0], y_test=W[:, 0], net=TwoLayers.drawn(0, outputs=1)).kernel == "all"
    assert "share the mean" in made().notices[0]


def test_arguments_reach_to_their_ends():
    assert made(steps=1).steps == 1
    assert made(steps=10**9).steps == 10**9
    assert made(seed=0).seed == 0
    assert made(seed=1, batch_size=4).batch_size == 4
    assert type(made(renew=0)) is Linearised
    assert (type(made(renew=1)), made(renew=1).renewals) == (Renewed, 1)
    assert made(y_test=None).y_test is None
    told = []
    assert made(progress=told.append).progress is not None
    assert told == [0.5, 1.0]
    for wrong, message in [
        ({"steps": 10**9 + 1}, "steps must be"), ({"momentum": -0.1}, "momentum must be"), ({"ridge": -1.0}, "ridge"),
        ({"weight_decay": -1.0}, "weight_decay must"), ({"renew": -1}, "renew must"), ({"seed": -1}, "seed must"),
        ({"batch_size": 5}, "batch_size must"), ({"batch_size": 0}, "batch_size must"), ({"step_size": 0.0}, "step_s"),
        ({"kernel": "some"}, "kernel must be one of"), ({"progress": 3}, "progress must be"), ({"loss": "l"}, "loss"),
        ({"y_test": W[:2]}, "y_test must"), ({"Z": None}, "y_test must be left out"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            made(**wrong)


def test_a_kernel_that_overflows_is_named():
    class Lost(TwoLayers):
        def kernel(self, X, Y, outputs):
            found = super().kernel(X, Y, outputs)
            found[0, 0] = np.inf if (Y is None) == self.here else found[0, 0]
            return found

    for here, name in ((True, "tangent kernel"), (False, "tangent cross kernel")):
        net = Lost.drawn(0)
        net.here = here
        with pytest.raises(ValueError, match=f"must have a finite {name} at its start"):
            made(net=net)


def test_targets_at_their_edges():
    for table, classes in (
        ([[0.0, 1.0], [1.0, 0.0]], True), ([[1.0, 1.0], [0.0, 0.0]], False), ([[2.0, -1.0], [1.0, 0.0]], False),
        ([[0.0, 1.0], [2.0, -1.0]], False), ([[0.0, 1.0], [0.0, 0.0]], False),
    ):  # fmt: skip
        assert targets_of("y", table, 2, 2, "square")[1] is classes
    near = np.array([[0.5, 0.5 + 9e-7], [1.0, 0.0]])
    np.testing.assert_array_equal(targets_of("y", near, 2, 2, "cross-entropy")[0], near)
    for off in (1.005e-6, -1.005e-6, 0.1, -0.1):
        with pytest.raises(ValueError, match="shares of classes that sum to 1"):
            targets_of("y", [[0.5, 0.5 + off], [1.0, 0.0]], 2, 2, "cross-entropy")
    with pytest.raises(ValueError, match="y must have a column for each of the network's 3 output"):
        targets_of("y", [[0.5, 0.5]], 1, 3, "square")
    three, _ = targets_of("y", [[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]], 2, 3, "cross-entropy")
    assert three.shape == (2, 3)


# ---------------------------------------------------------------------------------------------------------
# A forecast


def test_curves_are_drawn_at_even_steps_and_at_even_powers():
    at = made(steps=10**6).at
    even = np.rint(np.arange(61) / 60 * 1e6)
    powers = np.rint(1e6 ** (np.arange(60) / 59))
    np.testing.assert_array_equal(at, np.unique(np.r_[even, powers]))
    np.testing.assert_array_equal(made(steps=1).at, [0, 1])


def test_outputs_after_whole_steps_of_any_shape():
    found = made()
    here, there = found.outputs([[0, 3], [10, np.inf]])
    assert (here.shape, there.shape) == ((2, 2, 4, 2), (2, 2, 3, 2))
    np.testing.assert_allclose(here[0, 0], TwoLayers.drawn(0).outputs(X))
    np.testing.assert_allclose(here[0, 1], found.outputs(3)[0])
    np.testing.assert_allclose(there[0, 0], TwoLayers.drawn(0).outputs(Z))
    for wrong, message in (([1, 1.5], "whole numbers"), (0.5, "whole"), ([], "at least one"), (-1, "steps must be")):
        with pytest.raises(ValueError, match=message):
            found.outputs(wrong)
    with pytest.raises(ValueError, match="steps must be"):
        made(LABELS, y_test=TEST_LABELS, loss="cross-entropy").outputs(np.inf)
    assert found.exact is False


def test_answers_are_classes_or_numbers():
    classes = made(np.eye(2)[LABELS], y_test=None)
    assert classes.classes
    np.testing.assert_array_equal(classes.answers(np.inf), classes.outputs(np.inf)[1].argmax(axis=1))
    np.testing.assert_array_equal(made().answers(10), made().outputs(10)[1])


@pytest.mark.parametrize("loss", ["square", "cross-entropy"])
def test_curves_are_losses_and_shares_of_right_answers(loss):
    y, y_test = np.eye(2)[LABELS], np.eye(2)[TEST_LABELS]
    found = made(y, y_test=y_test, loss=loss, steps=100)
    here, there = found.outputs(found.at)
    for curve, right, f, target in (
        (found.curves.loss, found.curves.accuracy, here, y),
        (found.curves.test_loss, found.curves.test_accuracy, there, y_test),
    ):
        np.testing.assert_allclose(curve, [losses.each(loss, g, target).mean() for g in f])
        np.testing.assert_allclose(right, [(g.argmax(axis=1) == target.argmax(axis=1)).mean() for g in f])
    assert found.band is None
    untested = made(y, y_test=None, loss=loss).curves
    assert np.isnan([*untested.test_loss, *untested.test_accuracy]).all()
    assert np.isfinite(untested.accuracy).all()
    numbers = made().curves
    assert np.isnan([*numbers.accuracy, *numbers.test_accuracy]).all()
    nowhere = made(y, Z=None, y_test=None, loss=loss)
    assert nowhere.outputs([0, 5])[1].shape == (2, 0, 2)


def test_the_band_spans_all_orders():
    spread = RNG.normal(size=(2, 5, 3))
    asked = []
    fake = SimpleNamespace(
        batch_size=7, at="at", seed=9, y_test="y",
        solution=SimpleNamespace(spread=lambda *given: asked.append(given) or spread),
    )  # fmt: skip
    band = Linearised.band.func(fake)
    assert asked == [("y", "at", 7, 9)]
    np.testing.assert_array_equal(
        np.stack(band), [spread[0].min(0), spread[0].max(0), spread[1].min(0), spread[1].max(0)]
    )


def safety_of(**change):
    given = {
        "steps": np.array([1, 10]), "loss": np.array([1.0, 2.0]), "forecast": np.array([1.0, 1.0]),
        "test_loss": np.array([4.0, 1.0]), "test_forecast": np.array([4.0, 2.0]),
    }  # fmt: skip
    return SimpleNamespace(**given | change)


def test_the_error_bar_takes_test_loss_at_its_own_ratio_where_it_is_known():
    """At step 10 training loss was twice, test loss half of its forecast; 2 % are what a look may miss."""
    curves = Curves(np.array([3.0, 1.0]), np.array([4.0, 2.0]), *np.full((2, 2), np.nan))
    at = np.array([0, 10])
    fake = SimpleNamespace(safety=safety_of(), curves=curves, band=None, at=at)
    bar = Linearised.error_bar.func(fake)
    np.testing.assert_allclose(bar.low, [3 * 0.98, 0.98])
    np.testing.assert_allclose(bar.high, [3 * 1.02, 2 * 1.02])
    np.testing.assert_allclose(bar.test_low, [4 * 0.98, 0.98])
    np.testing.assert_allclose(bar.test_high, [4 * 1.02, 2 * 1.02])
    fake.safety = safety_of(test_loss=np.zeros(0))
    np.testing.assert_allclose(Linearised.error_bar.func(fake).test_high, [4 * 1.02, 4 * 1.02])
    fake.band = Band(*np.array([[2.0, 0.5], [3.5, 1.5], [3.0, 1.0], [5.0, 2.5]]))
    wide = Linearised.error_bar.func(fake)
    np.testing.assert_allclose(wide.low, [2 * 0.98, 0.5 * 0.98])
    np.testing.assert_allclose(wide.high, [3.5 * 1.02, 3 * 1.02])
    np.testing.assert_allclose(wide.test_low, [3 * 0.98, 0.98])
    np.testing.assert_allclose(wide.test_high, [5 * 1.02, 5 * 1.02])


def test_of_examples_that_are_never_learnt_the_one_furthest_off_is_the_latest():
    outputs = np.zeros((2, 12, 1))
    outputs[-1, :, 0] = [1, 3, 2, *range(9)]
    fake = SimpleNamespace(
        loss_name="square", y=np.zeros((12, 1)), _recorded=(outputs, None),
        learnt_at=np.array([np.inf, np.inf, np.inf, 5, 7, 5, *range(6)]),
    )  # fmt: skip
    assert Linearised.late(fake, 8).tolist() == [1, 2, 0, 4, 11, 5, 3, 10]
    assert len(Linearised.late(fake)) == 10
    at, right = np.array([0, 4]), np.array([[1.0], [0.0]])
    learnt = SimpleNamespace(
        at=at, _recorded=(np.array([[[9.0], [0.0]], [[1.0], [5.0]]]), None), y=right, classes=False
    )
    np.testing.assert_array_equal(Linearised.learnt_at.func(learnt), [4, np.inf])


# ---------------------------------------------------------------------------------------------------------
# Where outputs come from


def test_modes_that_serve_a_step_serve_those_before(monkeypatch):
    found, counted = made().solution, []
    modes = solution.kernel_modes.modes
    monkeypatch.setattr(solution.kernel_modes, "modes", lambda *given: counted.append(1) or modes(*given))
    for steps, decompositions in zip(
        ([5.0, 30.0], [30.0], [7.0, 0.0], [31.0], [8.0], [31.0]), (1, 1, 1, 2, 2, 2), strict=True
    ):
        here, _ = found.outputs(np.array(steps))
        assert len(counted) == decompositions
        np.testing.assert_allclose(here, made().solution.outputs(np.array(steps))[0])
        del counted[decompositions:]


def test_a_solution_without_weight_decay():
    given = made(ridge=2.0).solution
    plain = solution.Solution(given.given, "square", given.start, given.start_test, 0.1, 0.5, 2.0)
    assert plain.optimiser == (0.1, 0.5, 0.5)
    assert plain.outputs(np.array([3.0]))[0].shape == (1, 4, 2)
    assert "_kept" not in repr(plain)


@pytest.mark.parametrize("loss", ["square", "cross-entropy"])
@pytest.mark.parametrize("decay", [0.0, 0.2])
def test_a_batch_of_all_is_no_batch(loss, decay):
    y, y_test = np.eye(2)[LABELS], np.eye(2)[TEST_LABELS]
    found = made(y, y_test=y_test, loss=loss, weight_decay=decay, momentum=0.5, ridge=0.6, batch_size=4, step_size=0.3)
    at = np.array([0, 2, 9])
    here, there = found.outputs(at)
    runs = found.solution.spread(y_test, at, 4, 0)
    for seen, f, target in zip(runs, (here, there), (y, y_test), strict=True):
        np.testing.assert_allclose(seen, np.broadcast_to(losses.mean(loss, f, target), seen.shape), rtol=1e-9)
    untested, nothing = found.solution.spread(None, at, 4, 0)
    np.testing.assert_allclose(untested, runs[0], rtol=1e-12)
    assert np.isnan(nothing).all()


@pytest.mark.parametrize("loss", ["square", "cross-entropy"])
def test_coefficients_move_the_parameters_to_where_the_outputs_are(loss):
    """Outputs are those at the start and J(Jᵀc + drift θ₀); steps may come in any order, and twice."""
    net, steps = TwoLayers.drawn(0), np.array([9.0, 2.0, 9.0])
    for decay in (0.0, 0.2):
        found = made(np.eye(2)[LABELS], y_test=None, loss=loss, weight_decay=decay, step_size=0.3).solution
        c, drift = found.coefficients(steps), found.drift(steps)
        here, there = found.outputs(steps)
        assert drift.shape == (3,)
        assert (drift != 0).all() == bool(decay)
        for i in range(3):
            moved = net.pull_back(X, c[i]) + drift[i] * net.theta
            np.testing.assert_allclose(here[i], net.outputs(X) + net.push_forward(X, moved), atol=1e-10)
            np.testing.assert_allclose(there[i], net.outputs(Z) + net.push_forward(Z, moved), atol=1e-10)
        np.testing.assert_array_equal(here[0], here[2])
        assert np.abs(here[0] - here[1]).max() > 0.01


# ---------------------------------------------------------------------------------------------------------
# A lineament model at its start


def test_what_is_taken_where_nothing_else_is_asked_for():
    net = la.models.MLP((2, 2), "relu", "standard", bias=True)
    start = la.starts.he(net, 0)
    found = la.linearise(net, start, X, Y)
    assert (found.momentum, found.ridge, found.weight_decay, found.steps, found.seed) == (0, 0, 0, 1500, 0)
    assert (type(found), found.network.memory, found.X_test) == (Linearised, 2**30, None)
    assert found.network.name == "MLP 2 → 2"
    assert found.network.size == 6
    assert la.linearise(net, start, X, Y, memory=1).network.memory == 1
    for wrong, message in [
        ({"X": np.zeros(4)}, r"X must hold examples, one a row; got shape \(4,\)"),
        ({"X": np.zeros((0, 2))}, "X must hold examples"), ({"memory": 0}, "memory must be"),
        ({"X_test": np.zeros((2, 3))}, "X_test must have rows"), ({"X_test": [[0.0, np.inf]]}, "X_test must be finite"),
        ({"parameters": [1.0]}, "parameters"), ({"model": 3}, "model"),
    ]:  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=message):
            la.linearise(**{"model": net, "parameters": start, "X": X, "y": Y} | wrong)


def test_a_linear_network_is_its_own_tangent():
    """Of maps that are matrices, W = W₂W₁: outputs XWᵀ, and the kernel of products written out."""
    net = la.models.DeepLinear((2, 3, 2))
    start = la.starts.he(net, 0)
    tangents = in_jax.Tangents(net, start, 2**20)
    layers = [np.asarray(layer) for layer in start]
    np.testing.assert_allclose(tangents.outputs(X), X @ (layers[1] @ layers[0]).T)
    assert (tangents.size, tangents.name) == (12, "DeepLinear 2 → 3 → 2")
    diagonal = la.models.Diagonal(2, 3)
    assert in_jax.Tangents(diagonal, la.starts.identity(diagonal, 0.5), 1).name == "Diagonal"


# ---------------------------------------------------------------------------------------------------------
# What is shown


class Rows(HTMLParser):
    """The cells of a table, row by row."""

    def __init__(self, text):
        super().__init__()
        self.rows = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data):
        if self.rows and data.strip():
            self.rows[-1].append(data.strip())


class Shows(Shown):
    """Whatever forecast is given."""

    sentences = ("It learns.",)

    def __init__(self, **change):
        count = 40
        bar = Band(*(np.full(count, value) for value in (1.0, 2.0, 3.0, 4.0)))
        curves = Curves(*(np.arange(count) + value for value in (0.0, 100.0, 200.0, 300.0)))
        given = {
            "at": np.arange(count) * 10, "curves": curves, "y_test": W, "classes": True, "error_bar": bar,
            "safe_step": 50, "notices": ("A <notice>.",), "network": SimpleNamespace(name="a < b"),
        }  # fmt: skip
        self.given = SimpleNamespace(**given | change)

    @property
    def _forecast(self):
        return self.given


def test_a_table_has_what_is_known():
    losses_and_bars = ["loss_low", "loss_high", "test_loss_low", "test_loss_high", "safe"]
    full = Shows().to_frame()
    assert list(full) == ["step", "loss", "test_loss", "accuracy", "test_accuracy", *losses_and_bars]
    assert full.iloc[5].tolist() == [50, 5, 105, 205, 305, 1, 2, 3, 4, True]
    assert not full.safe[6]
    assert list(Shows(y_test=None).to_frame()) == ["step", "loss", "accuracy", "loss_low", "loss_high", "safe"]
    assert list(Shows(classes=False).to_frame()) == ["step", "loss", "test_loss", *losses_and_bars]


def test_a_notebook_shows_twelve_rows_from_the_first_to_the_last():
    said = Shows()._repr_html_()
    assert said.startswith("<h3>a &lt; b</h3><p>It learns.</p><p>A &lt;notice&gt;.</p>")
    head, *rows = Rows(said).rows
    assert head[:2] == ["step", "loss"]
    assert [row[0] for row in rows] == [str(10 * round(place - 1e-9)) for place in np.floor(np.linspace(0, 39, 12))]


def test_a_figure_is_light_unless_a_dark_one_is_asked_for(monkeypatch):
    from lineament.report import draw, linearised_figures

    monkeypatch.setattr(linearised_figures, "figures", lambda forecast: {"loss": "its figure"})
    monkeypatch.setattr(draw, "draw", lambda figure, dark: (figure, dark))
    assert Shows().plot() == ("its figure", False)
    assert Shows().plot("loss", dark=True) == ("its figure", True)


# ---------------------------------------------------------------------------------------------------------
# With renewed tangents


def test_outputs_of_other_steps_are_looked_for():
    """A path recorded at 0 and 4 is followed once more where any other step is asked for."""

    def path_at(at):
        return SimpleNamespace(
            at=np.array(at), here=np.array(at)[:, None, None] * 1.0, there=-np.ones((len(at), 2, 1))
        )

    asked = []
    fake = SimpleNamespace(
        steps=9, path=path_at([0, 4]), at=np.array([0, 4]),
        _follow=lambda at: asked.append(at.tolist()) or path_at(at),
    )  # fmt: skip
    np.testing.assert_array_equal(Renewed.outputs(fake, [4, 0])[0][:, 0, 0], [4, 0])
    assert asked == []
    here, there = Renewed.outputs(fake, [[4, 7], [9, 0]])
    np.testing.assert_array_equal(here[..., 0, 0], [[4, 7], [9, 0]])
    assert (here.shape, there.shape, asked) == ((2, 2, 1, 1), (2, 2, 2, 1), [[0, 4, 7, 9]])
    assert Renewed.outputs(fake, 3)[0].shape == (1, 1)
    assert asked[-1] == [0, 3]
    for wrong in ([1, 1.5], 0.5):
        with pytest.raises(ValueError, match="whole numbers"):
            Renewed.outputs(fake, wrong)
    for wrong in (-1, 10):
        with pytest.raises(ValueError, match="steps must be"):
            Renewed.outputs(fake, wrong)


def test_the_band_of_a_path_is_open_beyond_its_end():
    orders = RNG.normal(size=(2, 3, 2))
    fake = SimpleNamespace(at=np.array([0, 4, 8]), path=SimpleNamespace(at=np.array([0, 4]), orders=orders))
    band = np.stack(Renewed.band.func(fake))
    np.testing.assert_array_equal(band[:, :2], [f(part, axis=0) for part in orders for f in (np.min, np.max)])
    assert np.isnan(band[:, 2]).all()
    fake.path.orders = None
    assert Renewed.band.func(fake) is None


def test_the_bar_of_a_path_is_its_error_around_the_band():
    curves = Curves(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), *np.full((2, 3), np.nan))
    fake = SimpleNamespace(curves=curves, band=None, error=(np.array([0.0, 0.5, 2.0]), np.array([0.01, np.inf, 0.25])))
    bar = np.stack(Renewed.error_bar.func(fake))
    expected = [[0.98, 1, 0], [1.02, 3, 9], [4 * 0.98, 0, 4.5], [4 * 1.02, np.inf, 7.5]]
    np.testing.assert_allclose(bar, expected)
    fake.band = Band(*np.array([[0.5, 2.5, 3.0], [1.5, 1.0, 4.0], [3.0, 6.0, 6.0], [5.0, 4.0, 8.0]]))
    bar = np.stack(Renewed.error_bar.func(fake))
    expected = [[0.49, 1, 0], [1.53, 3, 12], [3 * 0.98, 0, 4.5], [5 * 1.02, np.inf, 10]]
    np.testing.assert_allclose(bar, expected)


def test_a_path_is_safe_until_either_error_reaches_eight_per_cent():
    ends = SimpleNamespace(
        ends=np.array([1]), loss=np.array([2.0]), test_loss=np.array([3.0]), finished=True, followed=9, kernels=2
    )
    fake = SimpleNamespace(
        path=ends, at=np.array([0, 1, 4, 16]), error=(np.array([0, 0, 0.05, 0.05]), np.array([0, 0.04, 0.04, 0.12]))
    )
    found = Renewed.safety.func(fake)
    assert found.step == pytest.approx(4 * 4 ** (3 / 7)), "0.08 between 0.05 and 0.12, in the logarithm"
    assert (found.finished, found.steps.tolist(), found.loss.tolist()) == (True, [1], [2.0])
    np.testing.assert_array_equal(found.departure, 0)


def test_one_tangent_would_do_until_losses_are_a_tenth_apart():
    at = np.array([0, 1, 4, 16])
    renewed_curves = SimpleNamespace(loss=np.array([1, 1, 1, np.nan]), test_loss=np.array([1, 1, 1.0, 1]))
    tangent = SimpleNamespace(loss=np.array([1, 1, 1 / 1.05, 1]), test_loss=np.array([1, 1, 1 / 1.4, 1]))
    fake = SimpleNamespace(at=at, curves=renewed_curves, tangent=SimpleNamespace(curves=tangent), y_test=W)
    assert Renewed.linear_until.fget(fake) == pytest.approx(4 ** (0.1 / 0.4))
    fake.y_test = None
    assert Renewed.linear_until.fget(fake) == np.inf


def test_a_path_is_followed_with_what_was_asked_for(monkeypatch):
    assert (renewed.TOLERANCE, renewed.LEAST, renewed.RENEWALS, path.FIRST) == (0.02, 0.02, 60, 50)
    given = []
    monkeypatch.setattr(renewed, "follow", lambda *arguments: given.append(arguments) or "a path")
    found = made(renew=7, batch_size=2, seed=5, steps=10)
    assert found.path == "a path"
    _, start, tangent, at, tolerance, most, drawn, progress = given[0]
    assert (tolerance, most, progress) == (0.02, 7, None)
    np.testing.assert_array_equal(at, found.at)
    np.testing.assert_array_equal(drawn, renewed.batches.draw(4, 2, 10, 5))
    np.testing.assert_array_equal(start.here, found.network.outputs(X))
    assert (start.step, start.offset.tolist(), start.velocity.tolist()) == (0, [0.0] * 12, [0.0] * 12)
    assert tangent.given is found.solution.given
    assert made(renew=7).path == "a path"
    assert given[1][6] is None
