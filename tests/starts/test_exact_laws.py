"""Laws of starts to the last digit: with one key all of them are the same draw, layer by layer times a number."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament.models import CP, MLP, Circular, DeepLinear, Diagonal, Mirrored, Quadratic

LINEAR, KEY = DeepLinear((3, 5, 4, 2)), 7
FANS = [(3, 5), (5, 4), (4, 2)]


def ratios(start, unit):
    """What each layer of a start is, in units of another draw; the same for all of its entries."""
    found = []
    for a, b in zip(start, unit, strict=True):
        quotient = np.asarray(a) / np.asarray(b)
        np.testing.assert_allclose(quotient, quotient.flat[0], rtol=1e-12)
        found.append(float(quotient.flat[0]))
    return found


@pytest.mark.parametrize(
    ("make", "deviations"),
    [
        (lambda: la.starts.gaussian(LINEAR, KEY, deviation=2.5), [2.5] * 3),
        (lambda: la.starts.gaussian(LINEAR, KEY, start_scale=0.3), [0.3 ** (1 / 3) / a**0.5 for a, _ in FANS]),
        (lambda: la.starts.gaussian(LINEAR, KEY, variances=[4.0, 1.0, 0.25]), [2.0, 1.0, 0.5]),
        (lambda: la.starts.he(LINEAR, KEY), [a**-0.5 for a, _ in FANS]),
        (lambda: la.starts.glorot(LINEAR, KEY, "normal"), [(2 / (a + b)) ** 0.5 for a, b in FANS]),
        (lambda: la.starts.isometric(LINEAR, KEY), [5**-0.5, (2 / 9) ** 0.5, 4**-0.5]),
    ],
    ids=["deviation", "start_scale", "variances", "he", "glorot", "isometric"],
)
def test_normal_laws(make, deviations):
    unit = la.starts.gaussian(LINEAR, KEY, deviation=1.0)
    np.testing.assert_allclose(ratios(make(), unit), deviations, rtol=1e-12)


def test_uniform_laws_have_their_ends_where_the_authors_put_them():
    unit = la.starts.glorot(LINEAR, KEY)
    np.testing.assert_allclose(
        ratios(la.starts.torch_default(LINEAR, KEY), unit), [((a + b) / (6 * a)) ** 0.5 for a, b in FANS], rtol=1e-12
    )
    (wide,) = la.starts.glorot(DeepLinear((60, 60)), KEY)
    most = (6 / 120) ** 0.5
    assert 0.999 * most < float(jnp.abs(wide).max()) <= most


def test_rectifiers_double_the_variance_of_every_layer():
    net = MLP((3, 5, 2), "relu", parameterisation="standard")
    he, unit = (
        jax.tree.leaves(start)[:2] for start in (la.starts.he(net, KEY), la.starts.gaussian(net, KEY, deviation=1.0))
    )
    np.testing.assert_allclose(ratios(he, unit), [(2 / 3) ** 0.5, (2 / 5) ** 0.5], rtol=1e-12)


def test_circular_and_components():
    net = Circular(6, 3)
    (ratio,) = ratios([la.starts.circular(net, KEY, 0.2)], [la.starts.gaussian(net, KEY, deviation=1.0)])
    assert ratio == pytest.approx(0.3 ** (1 / 3) * (6**0.5) ** (2 / 3) / 6, rel=1e-12)
    factors = la.starts.balanced_components(CP((2, 3, 4), 5), KEY, 0.2)
    for factor in factors:
        np.testing.assert_allclose(np.linalg.norm(factor, axis=0), 0.2 ** (1 / 3), rtol=1e-12)


def test_multiples_of_the_identity_for_every_model_that_has_one():
    scale = 0.3
    for net in (Diagonal(3, 2.5), Diagonal(3, 4), Diagonal(3, 2, shared=False)):
        np.testing.assert_allclose(net.end_to_end(la.starts.identity(net, scale)), scale * np.ones((1, 3)), rtol=1e-14)
    apart = la.starts.identity(Diagonal(3, 3), np.array([0.1, 0.2, 0.3]))
    np.testing.assert_allclose(apart, np.array([0.1, 0.2, 0.3]) ** (1 / 3), rtol=1e-14)
    np.testing.assert_allclose(la.starts.identity(Diagonal(2, 2, signed=True), scale), np.full((2, 2), scale**0.5))
    (W,) = la.starts.identity(Quadratic(3), scale)
    np.testing.assert_allclose(W, scale**0.5 * np.eye(3), rtol=1e-14)


def test_multiples_of_an_orthogonal_matrix():
    for start in (la.starts.orthogonal, lambda net, key, scale, **bias: la.starts.identity(net, scale, **bias)):
        for bias, expected in ((None, 0.0), (-1.5, -1.5)):
            W, b = start(Quadratic(3, bias=True), KEY, 0.3, bias=bias)
            np.testing.assert_allclose(W.T @ W, 0.3 * np.eye(3), atol=1e-15)
            assert float(b) == expected
        assert len(start(Quadratic(3), KEY, 0.3)) == 1
        with pytest.raises(ValueError, match="bias must be None unless the network has one"):
            start(Quadratic(3), KEY, 0.3, bias=1.0)


def test_a_scale_for_each_feature_is_for_diagonal_networks_alone():
    for net, scale in ((DeepLinear((2, 2)), np.ones(2)), (Diagonal(3, 2), np.ones(2)), (Quadratic(2), np.ones(2))):
        with pytest.raises(ValueError, match="start_scale must be one positive number"):
            la.starts.identity(net, scale)
    with pytest.raises(ValueError, match="start_scale must be positive and finite"):
        la.starts.identity(Diagonal(2, 2), np.array([1.0, 0.0]))


def test_mirrored_copies_are_the_plain_start_twice():
    net = Mirrored(MLP((3, 4, 1)))
    added, subtracted = la.starts.mirrored(net, KEY, la.starts.gaussian, deviation=1.0)
    plain = la.starts.gaussian(net.plain, KEY, deviation=1.0)
    for copy in (added, subtracted):
        jax.tree.map(np.testing.assert_array_equal, copy, plain)


def test_starts_that_are_not_named_are_refused():
    with pytest.raises(TypeError, match="model must be"):
        la.starts.gaussian(3, KEY, deviation=1.0)
    with pytest.raises(TypeError, match="model must be"):
        la.starts.he(3, KEY)
    with pytest.raises(ValueError, match="one of start_scale, deviation and variances must be given"):
        la.starts.gaussian(LINEAR, KEY, deviation=1.0, start_scale=1.0)


def test_balanced_layers_without_a_key_stand_on_unit_vectors():
    """Whatever is left out: the scale is 1, and diag(4, 1) splits into layers of its roots."""
    net = DeepLinear((2, 3, 3, 2))
    first, second, third = la.starts.balanced(net, map=np.diag([8.0, 1.0]))
    root = np.diag([2.0, 1.0])
    np.testing.assert_allclose(np.abs(third) @ np.abs(second) @ np.abs(first), np.diag([8.0, 1.0]), atol=1e-14)
    np.testing.assert_allclose(second, np.pad(root, ((0, 1), (0, 1))), atol=1e-14)
    scaled = net.end_to_end(la.starts.balanced(net, KEY, map=np.ones((2, 2)), start_scale=-0.5))
    np.testing.assert_allclose(scaled, -0.5 * np.ones((2, 2)), atol=1e-14)
    np.testing.assert_allclose(la.measure.singular_values(net.end_to_end(la.starts.balanced(net, KEY))), 1, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_what_is_rounding_of_a_map_depends_on_its_scale_and_longer_side(scale):
    eps = np.finfo(float).eps
    net = DeepLinear((40, 2, 2))
    W = np.zeros((2, 40))
    for size, rank in ((20 * eps, 1), (80 * eps, 2)):
        W[0, 0], W[1, 1] = scale, scale * size
        layers = la.starts.balanced(net, map=W)
        assert np.linalg.matrix_rank(layers[1], tol=0) == rank
    narrow = DeepLinear((3, 2, 3))
    la.starts.balanced(narrow, map=scale * np.diag([1.0, 0.5, 1e-13]))
    with pytest.raises(ValueError, match="to split a map of full rank"):
        la.starts.balanced(narrow, map=scale * np.diag([1.0, 0.5, 1e-11]))
    bottle = DeepLinear((4, 1, 4))
    with pytest.raises(ValueError, match="to split a map of full rank"):  # some of what is left out is too much
        la.starts.balanced(bottle, map=scale * np.diag([1.0, 0.5, 0.0, 0.0]))


def test_narrow_layers_cannot_be_looked_at_inside_a_compiled_function():
    maps = jnp.stack([jnp.diag(jnp.array([1.0, 0.0])), jnp.eye(2)])
    with pytest.raises(ValueError, match="to split a map of full rank"):
        jax.vmap(lambda W: la.starts.balanced(DeepLinear((2, 1, 2)), map=W))(maps)
    wide = jax.vmap(lambda W: la.starts.balanced(DeepLinear((2, 2, 2)), map=W))(maps)
    np.testing.assert_allclose(jnp.einsum("noh,nhi->noi", wide[1], wide[0]), maps, atol=1e-14)
