"""What a problem cannot say, or is not about, is refused by name."""

import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament.problems.base import AbstractProblem, UnknownOptimumError, as_array, require_problem

X, Y = np.eye(4)[:, :3], np.ones((4, 2))


class Bare(AbstractProblem):
    """A problem that knows its loss alone."""

    @property
    def shape(self):
        return (2, 3)

    def loss(self, map):
        return jnp.sum(jnp.asarray(map) ** 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Bare().optimum(), "the optimum of Bare is not known"),
        (lambda: Bare().refuse_rank(1), "over matrices of rank 1 < 2 is not known"),
        (lambda: Bare().take(jnp.arange(2)), "problem must have examples"),
        (lambda: as_array(lambda x: x, (2, 3)), r"map must be an array of shape \(2, 3\); got a function"),
        (
            lambda: la.problems.quadratic_squared(np.eye(2)).loss(jnp.eye(2)),
            r"about quadratic forms.*map of shape \(2, 2\)",
        ),
        (lambda: la.problems.quadratic_squared(np.eye(2)).loss(lambda x: x), "about quadratic forms.*got a function"),
        (lambda: la.problems.completion([0.0], [0], [1.0], (2, 2)), "rows must be 1 integers"),
        (lambda: la.problems.completion([0], [0, 1], [1.0], (2, 2)), "columns must be 1 integers"),
        (lambda: la.problems.completion([0], [2], [1.0], (2, 2)), r"columns must lie in 0\.\.1"),
        (lambda: la.problems.completion([-1], [0], [1.0], (2, 2)), r"rows must lie in 0\.\.1"),
        (
            lambda: la.problems.completion([0, 0], [1, 1], [1.0, 2.0], (2, 2)),
            r"entry \(0, 1\) is observed more than once",
        ),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises((ValueError, UnknownOptimumError), match=message):
        call()


def test_a_rank_that_bounds_nothing_is_none():
    Bare().refuse_rank(2)
    Bare().refuse_rank(None)
    assert Bare().examples is None
    assert Bare().example_inputs is None


def test_what_is_no_problem_is_told_what_it_lacks():
    with pytest.raises(TypeError, match="got int, which lacks shape, loss"):
        require_problem(3)
    with pytest.raises(TypeError, match="which does not derive from it"):
        require_problem(type("Alike", (), {"shape": (1, 1), "loss": None})())
    require_problem(Bare())
