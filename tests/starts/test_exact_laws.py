"""Laws of starts to the last digit: with one key all of them are the same draw, layer by layer times a number."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament.models import CP, MLP, Circular, DeepLinear

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
