"""Strides and looks, which know coefficients and kernels alone, against the same steps written out in parameters."""

import numpy as np
import pytest
from scipy.special import softmax
from two_layers import TwoLayers

from lineament.linearisation import batches, losses, path, safe
from lineament.linearisation.response import Optimiser
from lineament.linearisation.solution import Solution
from lineament.linearisation.strides import Tangent, Training, begin
from lineament.theory.kernel_shapes import shapes

ETA, N, M = 0.6, 4, 2


def task(k):
    rng = np.random.default_rng(5)
    X, Z = rng.normal(size=(N, 2)), rng.normal(size=(M, 2))
    return X, np.eye(2)[[0, 1, 1, 0]][:, :k], Z, np.eye(2)[[1, 0]][:, :k]


def tangent_of(net, loss, X, y, Z):
    """Kernels of a network and what they are made of."""
    return shapes(net.kernel(X, None, "all"), y, net.kernel(Z, X, "all"))


# ---------------------------------------------------------------------------------------------------------
# Looks at a network


def curved(loss, f, u):
    """The second derivative of the loss at f, times u."""
    if loss == "square":
        return u
    return np.stack([(np.diag(p) - np.outer(p, p)) @ v for p, v in zip(softmax(f, axis=1), u, strict=True)])


def looks(net, X, y, loss, optimiser, decay, distances):
    """What is seen at each look: the change of the parameters, loss, its forecast, and what was missed.

    The tangent's training is m. The departure d from it follows d ← d − ηv, v ← μv + γ + JᵀSJd/n + κd, where γ is
    what the gradient is beyond that of the tangent and of its curvature: first as it would go on, then as it is seen.
    """
    eta, mu, kappa = optimiser
    J, f0, n = net.jacobian(X), net.outputs(X), len(X)
    back = lambda c: np.einsum("iap,ia->p", J, c) / n  # noqa: E731

    def departed(d, v, first, last, steps, f):
        for i in range(steps):
            gamma = first + i / steps * (last - first)
            v = mu * v + gamma + back(curved(loss, f, J @ d)) + kappa * d
            d = d - eta * v
        return d, v

    m, speed, d, v, gamma, before, last = *np.zeros((6, net.size)), 0
    for steps in distances:
        for _ in range(steps):
            speed = mu * speed + back(losses.slope(loss, f0 + J @ m, y)) + kappa * m + decay * net.theta
            m = m - eta * speed
        f = f0 + J @ m
        goes_on = gamma + (steps / last if last else 0.0) * (gamma - before)
        foreseen, _ = departed(d, v, gamma, goes_on, steps, f)
        there, gradient = net.gradient(X, y, loss, m + foreseen)
        seen = gradient - back(losses.slope(loss, f, y) + curved(loss, f, J @ foreseen))
        d, v = departed(d, v, gamma, seen, steps, f)
        loss_there, forecast = losses.mean(loss, there, y), losses.mean(loss, f, y)
        missed = abs(losses.mean(loss, there + J @ (d - foreseen), y) - loss_there) / forecast
        yield m + foreseen, loss_there, forecast, missed
        gamma, before, last = seen, gamma, steps


@pytest.mark.parametrize(
    ("loss", "mu", "ridge", "decay"), [("square", 0.5, 0.3, 0.0), ("cross-entropy", 0.5, 0.2, 0.04)]
)
def test_looks_are_those_of_a_departure_in_parameters(loss, mu, ridge, decay):
    net, (X, y, Z, _) = TwoLayers.drawn(1), task(2)
    origin = (net.push_forward(X, net.origin), net.push_forward(Z, net.origin))
    solution = Solution(
        tangent_of(net, loss, X, y, Z), loss, net.outputs(X), net.outputs(Z), ETA, mu, ridge, decay, origin
    )
    walk, distances = safe._Walk(net, solution, X, y), [1, 2, 4, 3]
    expected = looks(net, X, y, loss, Optimiser(ETA, mu, ridge / N + decay), decay, distances)
    for steps, (change, seen, forecast, missed) in zip(distances, expected, strict=True):
        found = walk.look(steps)
        np.testing.assert_allclose(found.change, change, atol=1e-9)
        np.testing.assert_allclose([found.loss, found.forecast], [seen, forecast], rtol=1e-9)
        np.testing.assert_allclose(found.missed, missed, rtol=1e-6)
        assert (found.step, walk.step) == (walk.step + steps, found.step - steps)
        walk.accept(found)
    assert np.linalg.norm(change) > 0.3
    assert missed > 1e-3


# ---------------------------------------------------------------------------------------------------------
# Strides


def strided(net, training, at, ends, drawn=None, last_alone=None):
    """A path with strides to the given ends: outputs at recorded steps, losses, what was missed, losses of runs.

    From θ_s, half of the way that the older tangent goes is gone, less half a step; the tangent there is trained from
    θ_s for the whole stride, and the network put where it ends. What either tangent says is joined by how far along the
    step is between their places, and what the newer one has missed at the end is laid over the stride.
    """
    eta, mu, kappa = training.optimiser
    X, y, Z, W, loss = training.X, training.y, training.X_test, training.y_test, training.loss
    place, speed, older, last, step = net, np.zeros(net.size), net, 0, 0
    kept = {0: (net.outputs(X), net.outputs(Z))}
    seen, runs = [], {}
    if drawn is not None:
        both = [np.repeat(part[None], drawn.shape[1], axis=0) for part in kept[0]]
        still = [np.zeros_like(part) for part in both]
        runs[0] = [losses.mean(loss, part, target) for part, target in zip(both, (y, W), strict=True)]

    def train(tangent, length):
        J, J_test = tangent.jacobian(X), tangent.jacobian(Z)
        m, v, said = np.zeros(net.size), speed, []
        for _ in range(length):
            slope = losses.slope(loss, place.outputs(X) + J @ m, y)
            pull = kappa * (place.theta + m - net.theta) + training.weight_decay * net.theta
            v = mu * v + np.einsum("iap,ia->p", J, slope) / len(X) + pull
            m = m - eta * v
            said.append((place.outputs(X) + J @ m, place.outputs(Z) + J_test @ m))
        return m, v, said

    for end in ends:
        length = end - step
        mended = end != last_alone
        told = None
        middle = older
        if mended:
            change, _, told = train(older, length)
            middle = place.moved(change * (1 - 1 / length) / 2) if length > 1 else place
        change, after, says = train(middle, length)
        there = place.moved(change)
        true = there.outputs(X), there.outputs(Z)
        off = [f - g for f, g in zip(true, says[-1], strict=True)]
        for r in range(1, length + 1):
            newer = (r + last) / (length + last) if length > 1 and mended else 1.0
            share = r / length if mended else 0.0
            kept[step + r] = [
                newer * says[r - 1][i] + (1 - newer) * (told or says)[r - 1][i] + share * off[i] for i in (0, 1)
            ]
        if drawn is not None:
            slopes = [middle.jacobian(part) for part in (X, Z)]
            for s in range(step, end):
                for run, batch in enumerate(drawn[s]):
                    slope = losses.slope(loss, both[0][run, batch], y[batch]) / len(batch)
                    pulled = np.einsum("iap,ia->p", middle.jacobian(X[batch]), slope)
                    for i, J in enumerate(slopes):
                        moved = both[i][run] - place.outputs((X, Z)[i])
                        decay = kappa * (moved + J @ (place.theta - net.theta))
                        drift = training.weight_decay * (J @ net.theta)
                        still[i][run] = mu * still[i][run] + J @ pulled + decay + drift
                    for i in (0, 1):
                        both[i][run] = both[i][run] - eta * still[i][run]
                runs[s + 1] = [losses.mean(loss, part, target) for part, target in zip(both, (y, W), strict=True)]
            both = [part + gone for part, gone in zip(both, off, strict=True)]
        pairs = zip(true, says[-1], (y, W), strict=True)
        each = [[losses.each(loss, f, target) for f in (a, b)] for a, b, target in pairs]
        missed = max(np.abs(b - a).mean() / a.mean() for a, b in each)
        if mended:
            seen.append((end, *(a.mean() for a, _ in each), missed))
        place, speed, older, last, step = there, after if mu else speed, middle, length, end
    outputs = [np.stack([kept[s][i] for s in at]) for i in (0, 1)]
    orders = np.stack([runs[s] for s in at], axis=2) if runs else None
    return outputs, np.array(seen), orders


def training_of(net, k, loss, mu, ridge, decay, steps=10):
    X, y, Z, W = task(k)
    training = Training(X, y, Z, W, loss, Optimiser(ETA, mu, ridge / N + decay), decay, steps, "all")
    return training, begin(net, net.outputs(X), net.outputs(Z)), Tangent(net, shapes(net.kernel(X, None, "all"), y))


@pytest.mark.parametrize(
    ("k", "loss", "mu", "ridge", "decay", "batched"),
    [
        (1, "square", 0.0, 0.0, 0.0, False),
        (2, "square", 0.4, 0.3, 0.05, True),
        (2, "cross-entropy", 0.4, 0, 0.05, True),
    ],
)
def test_a_path_is_that_of_strides_in_parameters(k, loss, mu, ridge, decay, batched):
    net = TwoLayers.drawn(2, outputs=k)
    training, start, tangent = training_of(net, k, loss, mu, ridge, decay)
    at = np.array([0, 1, 3, 7, 10])
    drawn = np.stack([batches.draw(N, 2, 10, seed)[:, 0] for seed in (0, 1)], axis=1) if batched else None
    found = path.follow(training, start, tangent, at, np.inf, 99, drawn)
    np.testing.assert_array_equal(found.at, at)
    ends = found.ends.tolist()
    assert (len(ends), ends[-1], found.followed, found.finished, found.kernels) == (3, 10, 10, True, 4)
    (here, there), seen, orders = strided(net, training, at, ends, drawn)
    np.testing.assert_allclose(found.here, here, atol=1e-9)
    np.testing.assert_allclose(found.there, there, atol=1e-9)
    np.testing.assert_allclose(np.stack([found.ends, found.loss, found.test_loss, found.missed], 1), seen, rtol=1e-7)
    assert seen[-1, -1] > 1e-3
    if batched:
        np.testing.assert_allclose(found.orders, orders, rtol=1e-9)
    else:
        assert found.orders is None
    again = path.retrace(training, start, tangent, np.array([4, 10]))
    np.testing.assert_allclose(again, strided(net, training, at, [4, 10])[1][:, 1:3], rtol=1e-9)


def test_where_tangents_run_out_the_last_one_is_followed_as_it_is():
    net = TwoLayers.drawn(3)
    training, start, tangent = training_of(net, 2, "square", 0.4, 0.3, 0.05)
    at = np.array([0, 1, 3, 7, 10])
    found = path.follow(training, start, tangent, at, np.inf, 2)
    assert (found.followed, found.finished, found.kernels) == (5, False, 3)
    (here, there), seen, _ = strided(net, training, at, [*found.ends, 10], last_alone=10)
    np.testing.assert_allclose(found.here, here, atol=1e-9)
    np.testing.assert_allclose(found.there, there, atol=1e-9)
    np.testing.assert_allclose(found.missed, seen[:, -1], rtol=1e-7)
