"""Small parts of training by themselves, each against its definition: hardly anything is compiled here."""

from importlib import import_module

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lineament as la
from lineament.train import dormand_prince, epochs, loop, members, noise, steps, two_layer
from lineament.train.solve import Outcome, solver

# The package has functions of these names.
descend, flow = (import_module(f"lineament.train.{name}") for name in ("descend", "flow"))
NET = la.models.DeepLinear((3, 2))
rng = np.random.default_rng(0)

# ---------------------------------------------------------------------------------------------------------
# Steps of the explicit solver


def naive_first_step(field, y, rtol, atol):
    """Hairer, Nørsett & Wanner (1993), II.4, of order 8 with the change of slope."""
    rms = lambda v: np.sqrt(np.mean((v / (atol + rtol * np.abs(y))) ** 2))  # noqa: E731
    slope = field(y)
    d0, d1 = rms(y), rms(slope)
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    d2 = rms(field(y + h0 * slope) - slope) / h0
    h1 = max(1e-6, 1e-3 * h0) if max(d1, d2) <= 1e-15 else (0.01 / max(d1, d2)) ** (1 / 8)
    return min(100 * h0, h1)


def naive_error(field, y, h, rtol, atol):
    """The next state, and the error of a step over what is allowed, from the coefficients."""
    tableau, slopes = diffrax.Dopri8.tableau, [field(y)]
    for row in tableau.a_lower:
        slopes.append(field(y + h * sum(a * k for a, k in zip(row, slopes, strict=True))))
    after = y + h * sum(b * k for b, k in zip(tableau.b_sol, slopes, strict=True))
    size = atol + rtol * np.maximum(np.abs(y), np.abs(after))
    return after, np.sqrt(np.mean((h * sum(b * k for b, k in zip(tableau.b_error, slopes, strict=True)) / size) ** 2))


RTOL, ATOL = 1e-6, 1e-9
STARTS = np.array([[0.4, 0.3]] * 5 + [[0.0, 0.0], [1e-3, 2e-3]])
RATES = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 1.0, -40.0])
# Beyond a limit the slope jumps, so that a first step fails, or just does not.
LIMITS = np.array([0.41, 9.0, 0.41, 0.41, 0.41, 9.0, 9.0])
JUMPS = np.array([1e-6, 0.0, np.nan, 0.3, 6e-6, 0.0, 0.0])
# Constant slopes: from zero, from near it, just large enough to be a start, and just large enough to be slopes.
STEADY = [(0.0, 1.0), (1e-3, 1.0), (1.005e-14, 1.0), (1e-3, 1.005e-5 * 2e-9), (0.0, 1.005e-24)]
STARTS = np.concatenate([STARTS, [[y, y] for y, _ in STEADY]])
RATES, LIMITS = np.append(RATES, [0.0] * 5), np.append(LIMITS, [-1.0] * 5)
JUMPS = np.append(JUMPS, [slope for _, slope in STEADY])


def jumping(rate, limit, jump, library):
    return lambda y: rate * y * (1 - y) + library.where(y > limit, jump, 0.0)


def test_a_step_is_kept_and_the_next_one_chosen_by_the_error():
    fields = [jumping(*kind, np) for kind in zip(RATES, LIMITS, JUMPS, strict=True)]
    field = jumping(*(column[:, None] for column in (RATES, LIMITS, JUMPS)), jnp)
    never = lambda y: jnp.zeros(len(y), bool)  # noqa: E731
    times, tolerances = jnp.asarray([0.0, 50.0]), (jnp.asarray(RTOL), jnp.asarray(ATOL))
    end = jax.jit(lambda y: dormand_prince.follow(field, lambda y: (y,), never, y, times, *tolerances, 1))(
        jnp.asarray(STARTS)
    )
    factors = []
    for member, (at, start) in enumerate(zip(fields, STARTS, strict=True)):
        h = naive_first_step(at, start, RTOL, ATOL)
        with np.errstate(invalid="ignore"):
            after, error = naive_error(at, start, h, RTOL, ATOL)
        kept = error < 1
        with np.errstate(divide="ignore"):
            wanted = 0.9 * np.float64(error) ** (-1 / 8) if np.isfinite(error) else 0.0
        factors.append(np.clip(wanted, 1.0 if kept else 0.2, 10.0 if kept else 0.9))
        assert_allclose(end.step[member], h * factors[-1], rtol=1e-6)
        assert_allclose(end.time[member], h if kept else 0.0, rtol=1e-10)
        assert_allclose(end.state[member], after if kept else start, rtol=1e-12)
    assert_array_equal(end.steps, 1)
    assert_array_equal(end.looked, 1)
    # All five cases: as the error has it, at most tenfold, a fifth at least, less after a failure, no less else.
    assert 1 < factors[0] < 10
    assert factors[1] == 10
    assert factors[2] == 0.2
    assert 0.2 < factors[3] < 0.9
    assert factors[4] == 1


def test_records_that_are_never_taken_are_no_numbers_where_there_are_such():
    room = dormand_prince._room(jnp.zeros((2, 5)), 3)
    assert room.shape == (2, 3, 5)
    assert np.isnan(room).all()
    whole = dormand_prince._room(jnp.ones(2, int), 3)
    assert whole.dtype == int
    assert_array_equal(whole, np.zeros((2, 3)))


# ---------------------------------------------------------------------------------------------------------
# Flow


def an_outcome(**given):
    blank = {"saved": (), "last": (), "final": None, "solver_steps": jnp.asarray(7), "loss": jnp.asarray(0.25)}
    ended = {"time": jnp.asarray(3.0), "stopped": jnp.asarray(True), "failed": jnp.asarray(False)}
    return Outcome(**(blank | ended | given))


def test_the_absolute_tolerance_is_far_below_the_largest_entry():
    start = (jnp.array([[2.0, -4.0]]), jnp.array([1.0]))
    scaled = lambda c: jax.tree.map(lambda leaf: c * leaf, start)  # noqa: E731
    assert flow._atol(scaled(1e-9), 1e-3) == pytest.approx(4e-16, rel=1e-12, abs=0)
    assert flow._atol(scaled(1e-9), 1e-6) == pytest.approx(4e-19, rel=1e-12, abs=0)
    assert flow._atol(start, 1e-3) == flow._atol(scaled(0.0), 1e-3) == 1e-12


def test_it_takes_as_long_as_the_last_member_to_converge():
    assert flow._time_to_converge(an_outcome(), 1e-3) == 3.0
    both = an_outcome(time=jnp.array([3.0, 5.0]), stopped=jnp.array([True, True]), loss=jnp.zeros(2))
    assert flow._time_to_converge(both, 1e-3) == 5.0
    late = an_outcome(time=jnp.array([3.0, 5.0]), stopped=jnp.array([True, False]), loss=jnp.array([0.0, 0.125]))
    said = r"\(member 1\) did not come within 0.001 of its optimum: it was followed to time 5, loss 0.125\. "
    with pytest.raises(ValueError, match=said):
        flow._time_to_converge(late, 1e-3)


def test_the_first_member_that_the_solver_gave_up_on_is_told():
    flow._refuse_failure(an_outcome(), 9)
    failed = jnp.array([False, True, True])
    several = an_outcome(failed=failed, time=jnp.array([1.0, 2.0, 3.0]), loss=jnp.array([1.0, 4.0, 9.0]))
    with pytest.raises(
        la.Diverged, match=r"member 1 \(and 1 other members\) diverged at step 2.0: .*within 9 steps"
    ) as it:
        flow._refuse_failure(several, 9)
    assert (it.value.member, it.value.step, it.value.loss) == (1, 2.0, 4.0)
    with pytest.raises(la.Diverged, match=r"the run diverged at step 3\.0") as it:
        flow._refuse_failure(an_outcome(failed=jnp.asarray(True)), 9)
    assert it.value.member is None


def test_what_comes_after_the_end_is_held_or_unknown():
    times = np.array([0.0, 1.0, 2.0, 3.0])
    ended = {"time": jnp.array([1.0, 1.5, 2.0]), "stopped": jnp.array([True, True, False])}
    value, last = jnp.arange(24.0).reshape(3, 4, 2), -jnp.arange(1.0, 7.0).reshape(3, 2)
    held = flow._fill(value, last, times, an_outcome(**ended), None)
    lost = flow._fill(value, last, times, an_outcome(**ended), "an event")
    for member in range(3):
        for t in range(4):
            late = bool(ended["stopped"][member]) and times[t] > ended["time"][member]
            assert_array_equal(held[member, t], last[member] if late else value[member, t])
            assert_array_equal(lost[member, t], [np.nan] * 2 if late else value[member, t])
    alone = flow._fill(value[0], last[0], times, an_outcome(time=jnp.asarray(1.0)), None)
    assert_array_equal(alone, held[0])


def test_the_goal_is_a_share_of_the_way_to_the_optimum():
    X, Y = rng.normal(size=(9, 3)), rng.normal(size=(9, 2))
    problem, start = la.problems.regression(X, Y), (jnp.zeros((2, 3)),)
    floor = 0.5 * np.mean(np.sum((Y - X @ np.linalg.lstsq(X, Y, rcond=None)[0]) ** 2, axis=1))
    goal = flow._goal(NET, members.members(NET, problem, start), 0.1, None, needed=True)
    assert_allclose(goal.floor, floor, rtol=1e-10)
    assert_allclose(goal.near, 0.1 * (0.5 * np.mean(np.sum(Y**2, axis=1)) - floor), rtol=1e-10)
    several = la.stack([problem, la.problems.regression(X, 2 * Y)])
    assert_allclose(flow._optimal_loss(NET, members.members(NET, several, start)), [floor, 4 * floor], rtol=1e-10)
    separable = la.problems.cross_entropy(np.eye(3)[:2], np.array([0, 1]))
    for task, tolerance in ((problem, 0.0), (separable, 0.1)):
        free = flow._goal(NET, members.members(NET, task, start), tolerance, len, needed=False)
        assert (float(free.floor), float(free.near), free.event) == (-np.inf, 0.0, len)
        with pytest.raises(ValueError, match="times must be given"):
            flow._goal(NET, members.members(NET, task, start), tolerance, None, needed=True)


def test_solvers_are_named():
    assert (solver(False), solver(True)) == ("Dopri8", "Kvaerno5")


# ---------------------------------------------------------------------------------------------------------
# Descent


def test_records_that_were_never_reached_repeat_the_last():
    value = jnp.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]])
    assert_array_equal(descend._hold_last(value, 2, None), [[1, 2], [3, 4], [3, 4], [3, 4]])
    assert_array_equal(descend._hold_last(value, 4, None), value)
    assert_array_equal(descend._hold_last(value.T, 2, 2), [[1, 3, 3, 3], [2, 4, 4, 4]])


def test_the_first_member_that_diverged_is_told_with_its_step_size():
    def ended(diverged_at, loss):
        return loop.State(None, None, None, jnp.asarray(diverged_at), jnp.asarray(loss))

    descend._refuse_divergence(ended([-1, -1], [1.0, 2.0]), jnp.asarray(0.5))
    with pytest.raises(
        la.Diverged, match=r"member 1 \(and 1 other members\) diverged at step 0: .* step_size than 7"
    ) as it:
        descend._refuse_divergence(ended([-1, 0, 3], [1.0, 2.0, 3.0]), jnp.array([5.0, 7.0, 9.0]))
    assert (it.value.member, it.value.step, it.value.loss) == (1, 0, 2.0)
    with pytest.raises(la.Diverged, match=r"the run diverged at step 4: .* step_size than 0.5") as it:
        descend._refuse_divergence(ended(4, 2.0), jnp.asarray(0.5))
    assert it.value.member is None


def test_momentum_belongs_to_plain_descent():
    given = descend._with_momentum(optax.sgd, 0.5)
    assert given.keywords == {"momentum": 0.5}
    assert descend._with_momentum(optax.sgd, 0.5) is given  # so that it is not compiled again
    assert descend._with_momentum(optax.adam, None) is optax.adam


def test_as_many_examples_as_there_are_make_a_batch():
    who = members.members(NET, la.problems.regression(np.ones((4, 3)), np.ones((4, 2))), (jnp.zeros((2, 3)),))
    for fine in ((None, None), (4, 0), (1, 0)):
        descend._check_batches(who, *fine)
    with pytest.raises(ValueError, match=r"batch_size must lie in 1\.\.4, the number of examples; got 5"):
        descend._check_batches(who, 5, 0)


def test_progress_is_the_share_of_records_that_are_taken():
    seen = []
    for done in range(1, 6):
        loop._report(seen.append, 5, jnp.asarray(done))
    assert_allclose(seen, [0.2, 0.4, 0.6, 0.8, 1.0], rtol=1e-12)


def test_the_last_loss_is_the_last_that_is_finite():
    cases = [(2.0, 1.0, 2.0), (np.inf, 1.0, 1.0), (np.nan, 1.0, 1.0), (np.inf, np.nan, np.inf), (2.0, np.nan, 2.0)]
    for value, before, expected in cases:
        assert loop._last(jnp.asarray(value), jnp.asarray(before)) == expected


def test_members_that_have_stopped_keep_what_they_had():
    new, old = (loop.State(np.full((3, 2, 2), c), None, None, np.full(3, c), None) for c in (1.0, 0.0))
    found = loop._where(jnp.array([True, False, True]), new, old)
    assert_array_equal(found.diverged_at, [1, 0, 1])
    assert_array_equal(found.parameters, np.broadcast_to(np.array([1, 0, 1])[:, None, None], (3, 2, 2)))


def test_a_record_has_room_after_the_member_axis():
    start = (jnp.zeros((2, 3)),)
    problem = la.problems.whitened(np.ones((2, 3)))
    alone, several = (members.members(NET, problem, start, **axes) for axes in ({}, {"step_size": jnp.ones(4)}))
    seen = jax.ShapeDtypeStruct((4, 6), jnp.float32)
    assert loop._empty(seen, 5, alone).shape == (5, 4, 6)
    room = loop._empty(seen, 5, several)
    assert (room.shape, room.dtype) == ((4, 5, 6), jnp.float32)
    assert not room.any()


def test_every_so_many_steps_by_the_number_of_records():
    assert steps.RECORDED_BY_DEFAULT == 200
    assert steps.recorded_steps(599, None, None)[:3].tolist() == [0, 2, 4]
    assert steps.recorded_steps(7, None, [7]).tolist() == [7]
    assert steps.recorded_steps(7, None, [0]).tolist() == [0]


def test_large_networks_are_trained_in_turn_on_a_cpu_alone(monkeypatch):
    class Large(la.models.DeepLinear):
        @property
        def large(self):
            return True

    for backend, turn in (("cpu", True), ("gpu", False)):
        monkeypatch.setattr(jax, "default_backend", lambda backend=backend: backend)
        assert members.in_turn(Large((2, 2))) is turn
        assert not members.in_turn(NET)


# ---------------------------------------------------------------------------------------------------------
# Label noise


def refused(final, losses, at=(0, 10, 20, 30), step_size=0.5):
    with pytest.raises(la.Diverged) as caught:
        noise._refuse_divergence(final, (jnp.asarray(losses),), np.array(at), step_size)
    return caught.value


def test_a_noisy_run_diverged_where_its_loss_was_last_seen_finite():
    fine = (jnp.ones((2, 3)), jnp.ones(2))
    noise._refuse_divergence(fine, (jnp.ones((2, 4)),), np.arange(4), 0.5)
    told = refused(fine, [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, np.nan, np.inf]])
    assert (told.member, told.step, told.loss) == (1, 20.0, 6.0)
    assert "try a smaller step_size than 0.5" in str(told)
    assert "other" not in str(told)
    # Parameters may be lost after the last record.
    lost = (jnp.ones((2, 3)).at[0, 1].set(jnp.nan), jnp.ones(2).at[1].set(jnp.inf))
    told = refused(lost, [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    assert (told.member, told.step, told.loss) == (0, 30.0, 4.0)
    assert "(and 1 other members)" in str(told)
    single = refused((jnp.array([jnp.nan]),), [1.0, np.inf, np.inf, np.inf])
    assert (single.member, single.step, single.loss) == (None, 10.0, 1.0)


def test_a_diffusion_of_too_many_steps_is_refused():
    problem, start = la.problems.regression(np.ones((4, 3)), np.ones((4, 2))), (jnp.zeros((2, 3)),)
    with pytest.raises(ValueError, match=r"step_size must lead to at most \d+ steps over these times; got 0\.1"):
        noise.noisy_flow(NET, problem, start, intensity=1.0, step_size=0.1, times=[0.0, 3e8], key=0)


def test_a_diffusion_may_begin_late(monkeypatch):
    """Only the time between the first and the last record counts."""
    problem, start = la.problems.regression(np.ones((4, 3)), np.ones((4, 2))), (jnp.zeros((2, 3)),)

    class ReachedError(Exception):
        pass

    def diffuse(*_):
        raise ReachedError

    monkeypatch.setattr(noise, "_diffuse", diffuse)
    with pytest.raises(ReachedError):
        noise.noisy_flow(NET, problem, start, intensity=1.0, step_size=0.1, times=[3e8, 3e8 + 1], key=0)


# ---------------------------------------------------------------------------------------------------------
# Ensembles by epochs, and two layers without their hidden units


def watched(n, kind="cross-entropy", **others):
    X, y = jnp.asarray(rng.normal(size=(n, 3))), jnp.asarray(np.arange(n) % 2)
    return epochs.Watched(X, y, 2, kind, **others)


@pytest.mark.parametrize(("kind", "n", "few"), [("cross-entropy", 60, 50), ("square", 7, 7)])
def test_the_loss_that_is_watched_is_that_of_the_first_fifty(kind, n, few):
    W, problem = rng.normal(size=(2, 3)), watched(n, kind)
    X, y = np.asarray(problem.inputs)[:few], np.arange(few) % 2
    outputs = X @ W.T
    if kind == "square":
        expected = 0.5 * np.mean(np.sum((outputs - np.eye(2)[y]) ** 2, axis=1))
    else:
        expected = np.mean(np.log(np.exp(outputs).sum(axis=1)) - outputs[np.arange(few), y])
    assert_allclose(jax.jit(lambda W: problem.loss(W))(jnp.asarray(W)), expected, rtol=1e-12)
    assert (problem.shape, problem.examples) == ((2, 3), n)


def test_cells_are_made_of_their_data_and_members():
    data = [rng.normal(size=(4, 3)).astype(np.float32) for _ in range(2)]
    labels, more = [np.array([0, 1, 1, 0])] * 2, rng.normal(size=(2, 3)).astype(np.float32)
    net = la.models.MLP((3, 2), "linear", "standard")
    for given in (more, [more, more]):
        made = epochs._problem(net, data, labels, given, "square", 3, watch_training=False)
        assert made.members == 6
        for member in range(6):
            assert_array_equal(made.stacked.inputs[member], np.concatenate([data[member // 3], more]))
        assert (made.stacked.unwatched, made.stacked.kind, made.stacked.classes) == (4, "square", 2)
    alone = epochs._problem(net, data[0], labels[0], None, "cross-entropy", 3, watch_training=True)
    assert_array_equal(alone.inputs, data[0])
    assert alone.unwatched == 0
    assert epochs.cell_slices(3, 2) == [slice(0, 2), slice(2, 4), slice(4, 6)]


def test_shares_of_what_was_right_are_means_over_examples():
    said = np.array([[[0, 1, 1], [0, 0, 1]], [[1, 1, 1], [0, 1, 0]]])
    history = epochs.History(np.array([1, 2]), said, {}, np.array([False, False]), None)
    assert_allclose(history.accuracy(np.array([0, 1, 1])), [[1, 2 / 3], [2 / 3, 2 / 3]])
    assert_allclose(history.accuracy(np.array([1, 1]), slice(1, None)), [[1, 0.5], [1, 0.5]])


def test_two_layers_see_the_minibatches_of_their_key():
    X, y = rng.normal(size=(12, 5)), rng.integers(0, 3, 12)
    W1, W2 = rng.normal(size=(7, 5)) / 3, rng.normal(size=(3, 7)) / 3
    start = two_layer.State(*(jnp.asarray(A)[None] for A in (W2 @ W1, W2 @ W2.T, W1.T @ W1)))
    key, at = jax.random.key(3), np.array([1, 2, 5])
    curves = two_layer.descend_two_layer(start, X, y, X, y, step_sizes=np.array([0.3]), keys=key[None], at=at, batch=5)
    assert_array_equal(curves.steps, at)
    for s in range(5):
        # Two batches of five an epoch; the odd rest of twelve is left out.
        order = np.asarray(jax.random.permutation(jax.random.fold_in(key, s // 2), 12))
        rows = order[(s % 2) * 5 : (s % 2) * 5 + 5]
        outputs = X[rows] @ (W2 @ W1).T
        p = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
        G = (p - np.eye(3)[y[rows]]).T @ X[rows] / 5
        W1, W2 = W1 - 0.3 * W2.T @ G, W2 - 0.3 * G @ W1.T
        if s + 1 in at:
            outputs = X @ (W2 @ W1).T
            loss = np.mean(np.log(np.exp(outputs).sum(axis=1)) - outputs[np.arange(12), y])
            assert_allclose(curves.loss[0, list(at).index(s + 1)], loss, rtol=1e-12)


def test_a_uniform_start_is_the_sum_over_its_hidden_units():
    key = jax.random.key(1)
    drawn = two_layer.uniform_start(key, 4, 2, 3)
    assert drawn.W.dtype == jnp.float32
    pairs = [jax.random.split(jax.random.fold_in(key, i)) for i in range(3)]
    edge = np.sqrt(3)  # of variance 1
    W1 = np.concatenate([jax.random.uniform(a, (4, 4), jnp.float32, -edge, edge) for a, _ in pairs])
    W2 = np.concatenate([jax.random.uniform(b, (2, 4), jnp.float32, -edge, edge) for _, b in pairs], axis=1)
    assert_allclose(drawn.W, W2 @ W1, rtol=1e-5, atol=1e-5)
    assert_allclose(drawn.A, W2 @ W2.T, rtol=1e-5)
    assert_allclose(drawn.B, W1.T @ W1, rtol=1e-5, atol=1e-5)
    both = two_layer.scaled(drawn, 0.25, 9.0)
    assert_allclose(both.W, 1.5 * drawn.W, rtol=1e-6)
    assert_allclose(both.A, 9 * drawn.A, rtol=1e-6)
    assert_allclose(both.B, drawn.B / 4, rtol=1e-6)


# ---------------------------------------------------------------------------------------------------------
# What whole runs are told to do


class Told(Exception):  # noqa: N818 (it says what happened)
    """Raised in the place of a run, with what it was told."""


def telling(*given, **named):
    raise Told(given, named)


def told(monkeypatch, module, name, call):
    monkeypatch.setattr(module, name, telling)
    with pytest.raises(Told) as caught:
        call()
    return caught.value.args


TASK, ORIGIN = la.problems.regression(rng.normal(size=(6, 3)), rng.normal(size=(6, 2))), (jnp.ones((2, 3)),)


def descending(monkeypatch, start=ORIGIN, task=TASK, **options):
    given = {"step_size": 0.1, "steps": 10} | options
    return told(monkeypatch, descend, "descend_all", lambda: la.descend(NET, task, start, **given))[0]


def test_descent_is_told_when_to_stop_and_when_to_record(monkeypatch):
    how, who, step_size, keys, at, progress = descending(monkeypatch)
    assert (how.stopping, step_size, progress) == (-np.inf, 0.1, None)
    assert how.batch_size is None
    assert_array_equal(at, np.arange(11))
    assert (keys.shape, who.count) == ((), None)
    how, who, step_size, keys, at, progress = descending(
        monkeypatch, tolerance=0.5, step_size=np.array([0.1, 0.2]), batch_size=3, key=1, at=[2, 4], progress=len
    )
    assert (how.stopping, how.batch_size, progress) == (0.5, 3, len)
    assert_array_equal(at, [2, 4])
    assert_array_equal(step_size, [0.1, 0.2])
    assert (keys.shape, who.count) == ((2,), 2)


def test_float64_is_refused_to_bfloat16_alone(monkeypatch):
    single, task = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), (ORIGIN, TASK))
    for start, problem, precision in ((single, task, "bf16"), (single, task, "tf32"), (ORIGIN, TASK, "tf32")):
        assert descending(monkeypatch, start, problem, precision=precision)[2].dtype == start[0].dtype
    with pytest.raises(ValueError, match=r"precision must be .* for parameters in float64; got 'bf16'"):
        la.descend(NET, TASK, ORIGIN, step_size=0.1, steps=10, precision="bf16")


def flowing(monkeypatch, start=ORIGIN, **options):
    return told(monkeypatch, flow, "solve", lambda: la.flow(NET, TASK, start, **options))[0]


def test_flow_is_told_its_times_and_tolerances(monkeypatch):
    _, _, goal, numbers, records, stiff, most = flowing(monkeypatch, until=2.0)
    assert_allclose(numbers.times, np.linspace(0, 2, 256), rtol=1e-12)
    assert (numbers.rtol, numbers.atol) == (1e-8, 1e-12)
    assert ([record.name for record in records], stiff, most) == (["loss"], False, 100_000)
    first = 0.5 * np.mean(np.sum((np.asarray(TASK.outputs) - np.asarray(TASK.inputs) @ np.ones((3, 2))) ** 2, axis=1))
    assert_allclose(goal.near, 1e-10 * (first - float(TASK.optimum().loss)), rtol=1e-8)
    numbers = flowing(monkeypatch, times=[0.0, 0.5, 3.0], rtol=1e-3, atol=0.0)[3]
    assert_array_equal(numbers.times, [0.0, 0.5, 3.0])
    assert (numbers.rtol, numbers.atol) == (1e-3, 0.0)
    # With neither it is followed for ever first, to find out how long it takes.
    endless = flowing(monkeypatch, stiff=True, max_steps=7)
    assert (endless[3].times[0], endless[5], endless[6]) == (0.0, True, 7)
    assert endless[3].times[-1] >= 1e15
    assert len(endless[3].times) == 256


def test_an_endless_flow_runs_again_up_to_its_end(monkeypatch):
    seen = []

    def solved(model, who, goal, numbers, records, stiff, most):
        seen.append(np.asarray(numbers.times))
        kept = jnp.zeros(len(seen[-1]))
        return an_outcome(saved=(kept,), last=(jnp.asarray(0.0),), final=ORIGIN)

    monkeypatch.setattr(flow, "solve", solved)
    run = la.flow(NET, TASK, ORIGIN)
    assert_allclose(run.time, np.linspace(0, 3, 256), rtol=1e-12)  # the time at which it stopped
    assert [len(times) for times in seen] == [256, 256]
    assert (float(run.stopped_at), int(run.solver_steps)) == (3.0, 7)


def learning(monkeypatch, X, y, **options):
    net = la.models.MLP((3, 2), "linear", "standard")
    start = lambda key: la.starts.he(net, key, dtype=jnp.float32)  # noqa: E731
    given = {"members": 2, "epochs": 5, "step_size": 0.5, "start": start, "key": jax.random.key(2)} | options
    return told(monkeypatch, epochs, "descend", lambda: epochs.learn(net, X, y, **given)), start


def test_epochs_are_told_in_steps_and_cells_in_members(monkeypatch):
    X, y = rng.normal(size=(11, 3)).astype(np.float32), np.arange(11) % 2
    ((_, problem, begin), named), start = learning(monkeypatch, X, y, batch=4, every=2)
    # Two batches an epoch, an odd rest, every second of five epochs.
    assert (named["steps"], named["batch_size"]) == (8, 4)
    assert_array_equal(named["at"], [4, 8])
    assert_array_equal(named["step_size"], [0.5, 0.5])
    start_key, order_key = jax.random.split(jax.random.key(2))
    assert (jax.random.key_data(named["key"]) == jax.random.key_data(order_key)).all()
    for member, key in enumerate(jax.random.split(start_key, 2)):
        for ours, theirs in zip(jax.tree.leaves(begin[member]), jax.tree.leaves(start(key)), strict=True):
            assert_allclose(ours, theirs, rtol=1e-6)
    assert [record.name for record in named["record"]] == ["predictions"]
    assert (problem.examples, problem.unwatched) == (11, 0)
    # Cells: of data and step sizes, walked together; each network begins as that of its number in every cell.
    ((_, problem, begin), named), _ = learning(monkeypatch, [X, X], [y, y], step_size=[0.5, 0.25], at=(0, 3))
    assert_array_equal(named["step_size"], [0.5, 0.5, 0.25, 0.25])
    assert (named["steps"], named["batch_size"], problem.members, begin.members) == (3, 11, 4, 4)
    assert_array_equal(named["at"], [0, 3])
    for one, other in zip(jax.tree.leaves(begin[1]), jax.tree.leaves(begin[3]), strict=True):
        assert_array_equal(one, other)
    ((_, _, begin), _), start = learning(
        monkeypatch, X, y, start=[lambda key: (jnp.ones(2),), lambda key: (jnp.zeros(2),)]
    )
    assert_array_equal(begin.stacked[0], [[1, 1], [1, 1], [0, 0], [0, 0]])


def test_an_implicit_flow_ends_at_its_goal_or_at_an_event():
    """One layer on whitened data goes to its target as 1 − e^{−t}."""
    net, targets = la.models.DeepLinear((1, 1)), (1.0, 3.0)
    problem = la.stack([la.problems.whitened([[target]]) for target in targets])
    times = np.linspace(0, 4, 9)
    run = la.flow(
        net, problem, (jnp.zeros((1, 1)),), times=times, record=("end_to_end",), stiff=True, tolerance=1e-2,
        event=lambda layers: layers[0][0, 0] > 1.2,
    )  # fmt: skip
    assert run.settings["solver"] == "Kvaerno5"
    # The first is near its goal at log(100)/2, the second meets the event at log(3/1.8); a step may go a little further.
    goals = [np.log(100) / 2, np.log(3 / 1.8)]
    for member, (target, goal) in enumerate(zip(targets, goals, strict=True)):
        end = float(run.stopped_at[member])
        assert goal <= end < goal + 0.5
        seen = times <= end
        gone = target * (1 - np.exp(-times))
        assert_allclose(run.end_to_end[member, seen, 0, 0], gone[seen], atol=1e-6)
        assert np.isnan(run.end_to_end[member, ~seen]).all()
        assert_allclose(run.final[member][0], target * (1 - np.exp(-end)), rtol=1e-6)
        assert int(run.solver_steps[member]) > 3


def stepping(stopping=-np.inf, batch_size=None):
    return loop.Descent(NET, (), optax.sgd, batch_size, jnp.asarray(stopping))


def test_an_epoch_draws_every_example_in_an_order_of_its_own():
    problem, key = la.problems.regression(np.arange(36.0).reshape(12, 3), np.ones((12, 2))), jax.random.key(4)
    state = stepping(batch_size=5).begin(problem, ORIGIN, jnp.asarray(0.1))
    assert state.order.shape == (12,)
    assert (int(state.diverged_at), np.isnan(state.last_loss)) == (-1, True)
    assert stepping().begin(problem, ORIGIN, jnp.asarray(0.1)).order.shape == (0,)
    draw = jax.jit(lambda state, step: stepping(batch_size=5)._draw(problem, state, key, step))
    for step in range(6):
        batch, order = draw(state, jnp.asarray(step))
        state = state._replace(order=order)
        # Two batches of five an epoch; the odd rest is left out.
        epoch, place = divmod(step, 2)
        expected = np.asarray(jax.random.permutation(jax.random.fold_in(key, epoch), 12))
        assert_array_equal(order, expected)
        assert_array_equal(batch.inputs[:, 0] / 3, expected[5 * place : 5 * place + 5])


@pytest.mark.parametrize(("stopping", "scale", "running"), [(3.0, 0.0, False), (2.9, 0.0, True), (-np.inf, 1.0, True)])
def test_a_member_runs_until_its_loss_is_at_most_the_tolerance(stopping, scale, running):
    """Of a target of six ones the map zero has the loss 3."""
    problem, parameters = la.problems.whitened(np.ones((2, 3))), (scale * jnp.ones((2, 3)),)
    for before, after in ((-1, -1), (2, 2)):
        state = loop.State(parameters, (), jnp.zeros(0), jnp.asarray(before), jnp.asarray(5.0))
        _, seen, runs = stepping(stopping).observe(problem, state, jnp.asarray(7))
        assert (int(seen.diverged_at), float(seen.last_loss), bool(runs)) == (
            after,
            3.0 if scale == 0 else 0.0,
            running,
        )


def test_a_loss_that_is_no_number_is_noted_once():
    problem = la.problems.whitened(np.ones((2, 3)))
    for before, after in ((-1, 7), (2, 2)):
        state = loop.State((jnp.full((2, 3), jnp.inf),), (), jnp.zeros(0), jnp.asarray(before), jnp.asarray(5.0))
        _, seen, runs = stepping().observe(problem, state, jnp.asarray(7))
        assert (int(seen.diverged_at), float(seen.last_loss), bool(runs)) == (after, 5.0, False)


@pytest.mark.parametrize(
    ("train", "name", "bad"),
    [
        ("descend", "optimiser", 3), ("descend", "tolerance", np.nan), ("descend", "progress", 3),
        ("descend", "precision", "fp8"), ("descend", "batch_size", 2.5), ("descend", "steps", 1.5),
        ("flow", "event", 3), ("flow", "stiff", 2), ("flow", "max_steps", 0), ("flow", "atol", -1.0),
        ("flow", "tolerance", np.nan), ("flow", "rtol", np.inf), ("flow", "until", 0.0),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused_by_their_names(train, name, bad):
    needed = {"step_size": 0.1, "steps": 10} if train == "descend" else {"times": None}
    with pytest.raises(ValueError, match=f"^{name} must "):
        getattr(la, train)(NET, TASK, ORIGIN, **(needed | {name: bad}))


def test_what_is_no_model_and_no_problem_is_refused_by_its_name():
    for train, options in ((la.descend, {"step_size": 0.1, "steps": 1}), (la.flow, {"until": 1.0})):
        with pytest.raises(TypeError, match=r"model must be a lineament\.core\.AbstractModel"):
            train(3, TASK, ORIGIN, **options)
        with pytest.raises(TypeError, match="problem must be"):
            train(NET, 3, ORIGIN, **options)
