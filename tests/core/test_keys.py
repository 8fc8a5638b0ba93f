"""A key is a JAX key or a whole number."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament.core import as_key


@pytest.mark.parametrize("key", [3, np.int64(3), jax.random.key(3), jax.random.PRNGKey(3)])
def test_every_kind_of_key_draws_the_same(key):
    net = la.models.DeepLinear((3, 2))
    expected = jax.random.normal(jax.random.key(3), (4,))
    np.testing.assert_array_equal(jax.random.normal(as_key(key), (4,)), expected)
    ours, theirs = (la.starts.gaussian(net, k, start_scale=1.0)[0] for k in (key, jax.random.key(3)))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("key", [True, 1.0, "0", None, jnp.zeros(2), jax.random.split(jax.random.key(0), 3)])
def test_anything_else_is_refused(key):
    with pytest.raises(ValueError, match="key must be a JAX key or a whole number"):
        as_key(key)
