"""Ensembles: members that come back as they went in, and what cannot be one."""

import jax.numpy as jnp
import numpy as np
import pytest

from lineament.core.ensembles import ensemble, stack


def test_members_come_back_from_either_end():
    made = stack([(jnp.array([1.0, 2.0]), "same"), (jnp.array([3.0, 4.0]), "same"), (jnp.array([5.0, 6.0]), "same")])
    assert made.members == 3
    for member, expected in ((0, [1, 2]), (2, [5, 6]), (-1, [5, 6]), (-3, [1, 2])):
        array, word = made[member]
        np.testing.assert_array_equal(array, expected)
        assert word == "same"
    for member in (3, -4):
        with pytest.raises(IndexError, match=r"member must lie in -3\.\.2"):
            made[member]


def test_one_member_for_each_entry():
    made = ensemble(lambda a, b: a * b, jnp.array([1.0, 2.0]), jnp.array([3.0, 5.0]))
    np.testing.assert_array_equal(made.stacked, [3, 10])
    with pytest.raises(
        ValueError, match=r"must be equally long, one entry for each member; got arrays of shapes \(2,\), \(3,\)"
    ):
        ensemble(lambda a, b: a * b, jnp.ones(2), jnp.ones(3))


def test_what_cannot_be_stacked_is_refused():
    with pytest.raises(ValueError, match="at least one member"):
        stack([])
    with pytest.raises(ValueError, match="differ only in their arrays"):
        stack([(jnp.ones(2), "one"), (jnp.ones(2), "two")])
