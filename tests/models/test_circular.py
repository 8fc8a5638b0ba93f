"""Circular networks: the Lemma against a loop over the definition, and frequencies as modes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lineament as la
from lineament.models import Circular
from lineament.theory import modes


def forward(w, x):
    """Appendix G, eq. 11, as printed."""
    h, d = x, len(x)
    for kernel in w[:-1]:
        h = [sum(kernel[k] * h[(i + k) % d] for k in range(d)) for i in range(d)]
    return np.dot(h, w[-1])


NETS = [Circular(1, 1), Circular(1, 3), Circular(2, 2), Circular(5, 1), Circular(8, 4), Circular(9, 3)]
read = jax.jit(lambda net, w: (net.end_to_end(w), net.frequencies(w)), static_argnums=0)  # one program for each


@settings(max_examples=30)
@given(st.sampled_from(NETS), st.integers(0, 999))
def test_the_map_is_the_network_and_its_transform_is_the_product(net, seed):
    d, depth = net.length, net.depth
    w = np.random.default_rng(seed).normal(size=(depth, d))
    net.check(w)
    sigma, frequencies = map(np.asarray, read(net, w))
    size = np.prod(np.linalg.norm(w, axis=1)) * d
    np.testing.assert_allclose(sigma, [[forward(w, e) for e in np.eye(d)]], atol=1e-12 * size)
    product = np.prod(np.fft.fft(w, axis=1), axis=0)
    np.testing.assert_allclose(np.fft.fft(sigma[0]), product, atol=1e-12 * size)
    np.testing.assert_allclose(frequencies, np.abs(product[: d // 2 + 1]), atol=1e-12 * size)


@pytest.mark.parametrize(("d", "depth"), [(8, 1), (8, 3), (7, 2)])
def test_in_phase_amplitudes_follow_the_closed_form(d, depth):
    """From layers of even modulus, with the target's phases in the last one, each frequency is a mode of depth N."""
    r = np.random.default_rng(d)
    target = r.normal(size=d)
    spectrum = np.fft.rfft(target)
    layers = np.full((depth, d // 2 + 1), 0.05 ** (1 / depth), complex)
    layers[-1] *= spectrum / np.abs(spectrum)
    start = jnp.asarray(np.fft.irfft(layers, n=d, axis=1))
    net, times = Circular(d, depth), np.linspace(0, 3, 9)
    run = la.flow(
        net, la.problems.whitened(target[None]), start, times=times, record=(net.frequencies,), rtol=1e-10, tolerance=0
    )
    forecast = modes.trajectory(depth * times[:, None], np.abs(spectrum), 0.05, depth)
    np.testing.assert_allclose(run.frequencies, forecast, rtol=1e-8)


def test_the_start_has_the_promised_spread_at_any_depth():
    keys = jax.random.split(jax.random.key(0), 4000)
    for depth in (1, 2, 3):
        net = Circular(10, depth)
        start = la.ensemble(lambda key, net=net: la.starts.circular(net, key, 0.2), keys).stacked
        deviation = (1.5 * 0.2) ** (1 / depth) * np.sqrt(10) ** ((depth - 1) / depth) / 10
        n = start.size
        assert abs(np.mean(start**2) / deviation**2 - 1) < 5 * np.sqrt(2 / n)
        power = np.asarray(jax.vmap(net.frequencies)(start)) ** 2
        error = power.std(axis=0) / np.sqrt(len(keys))
        assert np.all(np.abs(power.mean(axis=0) - 0.3**2 / 10) < 5 * error)


def test_ensembles_run_as_their_members_do():
    r = np.random.default_rng(0)
    problem = la.problems.exponential(r.normal(size=(20, 6)), r.choice([-1.0, 1.0], 20))
    net = Circular(6, 3)
    start = la.ensemble(lambda key: la.starts.circular(net, key, 0.5), jax.random.split(jax.random.key(1), 3))
    together = la.descend(net, problem, start, step_size=0.05, steps=40, record=("loss", net.frequencies))
    alone = la.descend(net, problem, start[2], step_size=0.05, steps=40, record=("loss", net.frequencies))
    np.testing.assert_allclose(together.frequencies[2], alone.frequencies, rtol=1e-12)
    assert (together.loss[:, -1] < together.loss[:, 0]).all()


def test_bad_networks_and_parameters_are_refused():
    with pytest.raises(ValueError, match="length must be a positive integer; got 0"):
        Circular(0, 2)
    with pytest.raises(ValueError, match=r"depth must be a positive integer; got 1\.5"):
        Circular(4, 1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="scale must be positive"):
        la.starts.circular(Circular(4, 2), 0, -1.0)
    with pytest.raises(ValueError, match=r"start must have the shapes \(2, 4\) .* got \(3, 4\)"):
        la.flow(Circular(4, 2), la.problems.whitened(np.ones((1, 4))), jnp.ones((3, 4)))
