"""The explicit solver is as accurate as asked, needs the steps that diffrax needs, and keeps members apart."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lineament.train.dormand_prince import follow

RATES = jnp.asarray([0.3, 1.0, 4.0])
NEVER = lambda y: jnp.zeros(len(y), bool)  # noqa: E731


def logistic(y):
    """Each member grows at its own rate from its start to 1."""
    return RATES[: len(y), None] * y * (1 - y)


def exact(start, rate, times):
    return 1 / (1 + (1 / start - 1) * np.exp(-rate * times))


def solved(start, times, rtol=1e-8, finished=NEVER, max_steps=1000, field=logistic):
    tolerances = jnp.asarray(rtol), jnp.asarray(1e-14)
    solve = jax.jit(lambda y: follow(field, lambda y: (y,), finished, y, times, *tolerances, max_steps))
    return solve(jnp.asarray(start))


START = np.array([[0.01, 0.5], [1e-6, 0.9], [0.2, 0.3]])
TIMES = jnp.linspace(0.0, 12.0, 241)


@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
def test_saved_values_are_as_accurate_as_asked(rtol):
    end = solved(START, TIMES, rtol)
    truth = np.stack([exact(s[:, None], r, np.asarray(TIMES)).T for s, r in zip(START, RATES, strict=True)])
    # Between steps the interpolant's error is not controlled.
    np.testing.assert_allclose(end.saved[0], truth, rtol=1000 * rtol)
    np.testing.assert_allclose(end.state, truth[:, -1], rtol=100 * rtol)
    assert (np.asarray(end.time) == 12.0).all()
    assert (np.asarray(end.looked) == len(TIMES)).all()


def test_it_needs_the_steps_that_diffrax_needs():
    end = solved(START, TIMES)

    @jax.jit
    def by_diffrax(start, rate):
        term = diffrax.ODETerm(lambda t, y, rate: rate * y * (1 - y))
        control = diffrax.PIDController(rtol=1e-8, atol=1e-14)
        saved = diffrax.SaveAt(ts=TIMES)
        solution = diffrax.diffeqsolve(
            term, diffrax.Dopri8(), 0.0, 12.0, None, start, rate, saveat=saved, stepsize_controller=control
        )
        return solution.ys, solution.stats["num_steps"]

    for member, rate in enumerate(RATES):
        values, steps = by_diffrax(jnp.asarray(START[member]), rate)
        # The first step is chosen in another way.
        assert abs(int(end.steps[member]) - int(steps)) <= 2
        np.testing.assert_allclose(end.saved[0][member], values, rtol=1e-5)


def test_members_are_followed_as_if_alone():
    together = solved(START, TIMES)
    alone = solved(START[:1], TIMES)
    np.testing.assert_allclose(together.saved[0][:1], alone.saved[0], rtol=1e-10)
    assert int(together.steps[0]) == int(alone.steps[0])
    assert len({int(steps) for steps in together.steps}) > 1


def test_a_finished_member_stays_where_it_is():
    end = solved(START, TIMES, finished=lambda y: y[:, 0] > 0.5)
    assert np.asarray(end.stopped).tolist() == [False, False, True]
    for member in np.flatnonzero(end.stopped):
        assert end.state[member, 0] > 0.5
        seen = np.asarray(TIMES) <= float(end.time[member])
        assert not np.isnan(end.saved[0][member][seen]).any()
        assert np.isnan(end.saved[0][member][~seen]).all()


def test_too_many_steps_and_a_field_that_is_no_number_end_the_run():
    end = solved(START, TIMES, max_steps=3)
    assert (np.asarray(end.steps) == 3).all()
    assert (np.asarray(end.time) < 12.0).all()
    astray = solved(START, TIMES, max_steps=50, field=lambda y: jnp.where(y > 0.95, jnp.nan, logistic(y)))
    assert not np.isnan(astray.state).any()
    assert (np.asarray(astray.time)[1:] < 12.0).all()
