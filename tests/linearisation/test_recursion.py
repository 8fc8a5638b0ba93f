"""Training of a tangent in coefficients: against the same training in its parameters, written out."""

import numpy as np
import pytest

import lineament as la
from lineament.linearisation import losses
from lineament.linearisation.recursion import advance
from lineament.linearisation.response import Optimiser
from lineament.theory.kernel_shapes import matrix

N, K, P = 4, 3, 30
ETA, MU, PULL, DECAY = 0.15, 0.7, 0.05, 0.02


def in_parameters(J, f0, y, loss, start, offset, velocity, steps):
    """v ← μv + Jᵀℓ'/n + pull (θ − θ₀) + decay θ and θ ← θ − ηv, from θ₀ + offset with a velocity; every step kept."""
    moved, v, kept = offset.copy(), velocity.copy(), []
    for _ in range(steps):
        f = f0 + J @ (moved - offset)
        v = MU * v + np.einsum("iap,ia->p", J, losses.slope(loss, f, y)) / N + PULL * moved + DECAY * (start + moved)
        moved = moved - ETA * v
        kept.append((f0 + J @ (moved - offset), moved, v))
    return kept


@pytest.mark.parametrize("loss", ["square", "cross-entropy"])
def test_coefficients_and_weights_are_those_of_the_parameters(loss):
    rng = np.random.default_rng(0)
    J, f0 = rng.normal(size=(N, K, P)) / 3, rng.normal(size=(N, K))
    y = np.eye(K)[rng.integers(K, size=N)]
    start, offset, velocity = rng.normal(size=(3, P))
    expected = in_parameters(J, f0, y, loss, start, offset, velocity, 9)
    vectors = np.stack([offset, velocity, start])
    images, weights = np.einsum("iap,bp->bia", J, vectors), np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    kernel = matrix(np.einsum("iap,jbp->ijab", J, J))
    at = np.array([2, 9])
    found = advance(
        kernel, y, f0, images, weights, np.array([0.0, 0.0, DECAY]), Optimiser(ETA, MU, PULL + DECAY), loss, at
    )
    for record, step in enumerate(at):
        f, moved, _ = expected[step - 1]
        pulled = np.einsum("iap,ia->p", J, found.coefficients[record]) + found.weights[record, :, 0] @ vectors
        np.testing.assert_allclose(pulled, moved, atol=1e-10)
        np.testing.assert_allclose(f0 + J @ (pulled - offset), f, atol=1e-10)
    moving = np.einsum("iap,ia->p", J, found.velocity) + found.weights[-1, :, 1] @ vectors
    np.testing.assert_allclose(moving, expected[-1][2], atol=1e-10)


def test_weight_decay_of_one_tangent_is_that_of_its_training():
    """`la.linearise` with λ against a linear model, which is its own tangent: trained by `la.descend` with optax."""
    import optax

    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    net = la.models.MLP((3, 2), "relu", "standard", bias=True)
    start = la.starts.he(net, 0)
    made = la.linearise(net, start, X, y, X[:5], y[:5], weight_decay=0.1, momentum=0.6, steps=25, step_size=0.05)
    sgd = lambda step_size: optax.chain(optax.add_decayed_weights(0.1), optax.sgd(step_size, momentum=0.6))  # noqa: E731
    run = la.descend(
        net, la.problems.lp_regression(X, y, 2), start, step_size=0.05, steps=25, at=made.at, optimiser=sgd
    )
    np.testing.assert_allclose(made.curves.loss, run.loss.values, rtol=1e-8)
    np.testing.assert_allclose(made.curves.test_loss[-1], losses.mean("square", made.outputs(25)[1], y[:5]))
    np.testing.assert_allclose(made.safety.loss, made.safety.forecast, rtol=1e-8)  # nothing to depart from
    batch = la.linearise(net, start, X, y, weight_decay=0.1, batch_size=12, steps=25, step_size=0.05, momentum=0.6)
    np.testing.assert_allclose(batch.band.low, made.curves.loss, rtol=1e-8)  # one batch of all is no batch
