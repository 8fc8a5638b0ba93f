"""Solutions of lesson 2: balance and conservation."""

from itertools import pairwise

import numpy as np
from layer_flow import layer_flow

import lineament as la


def exercise_1():
    r"""Here :math:`C_1=a^2-b^2=:\lambda`, a number: the weights move on a hyperbola. The flow is :math:`\dot
    a=b(\sigma^*-ab)` and :math:`\dot b=a(\sigma^*-ab)`, so

    .. math:: \dot\sigma=\dot ab+a\dot b=(a^2+b^2)(\sigma^*-\sigma),\qquad
       (a^2+b^2)^2=(a^2-b^2)^2+4a^2b^2=\lambda^2+4\sigma^2 ,

    and therefore :math:`\dot\sigma=\sqrt{\lambda^2+4\sigma^2}\,(\sigma^*-\sigma)`. For :math:`\lambda=0` this is the
    mode of depth 2 of lesson 1. For large :math:`|\lambda|` the square root is nearly constant, and the mode is learnt
    exponentially, as by one layer.
    """
    a, b, target, time = 1.2, 0.1, 3.0, np.linspace(0, 3, 40)
    first, second = layer_flow([[[b]], [[a]]], lambda W: W - target, time)
    by_equation = la.theory.lambda_modes.trajectory(time, target, a * b, a**2 - b**2)
    return {
        "trained": (second * first)[:, 0, 0],
        "by equation": by_equation,
        "conserved": (second**2 - first**2)[:, 0, 0],
    }


def exercise_2():
    r"""Expand :math:`(W_{j+1}-\eta G_{j+1})^\top(W_{j+1}-\eta G_{j+1})-(W_j-\eta G_j)(W_j-\eta G_j)^\top`. Without
    :math:`\eta` it is :math:`C_j`. The terms with :math:`\eta` are :math:`-\eta\,(W_{j+1}^\top G_{j+1}-G_jW_j^\top)`
    and its transpose, and the lesson has shown that the bracket is zero. What is left has :math:`\eta^2`.
    """
    rng, eta = np.random.default_rng(0), 0.1
    W1, W2, target = rng.normal(size=(4, 3)), rng.normal(size=(2, 4)), rng.normal(size=(2, 3))
    G = W2 @ W1 - target
    G1, G2 = W2.T @ G, G @ W1.T
    (before,), (after,) = la.measure.conserved((W1, W2)), la.measure.conserved((W1 - eta * G1, W2 - eta * G2))
    return {"changed": np.asarray(after - before), "by formula": eta**2 * (G2.T @ G2 - G1 @ G1.T)}


def exercise_3():
    r"""Let :math:`W=USV^\top` with :math:`r` singular values on the diagonal of :math:`S`. Choose matrices
    :math:`Q_1,\dots,Q_{n-1}` with :math:`r` orthonormal columns and as many rows as the hidden layers have units, let
    :math:`Q_0=V` and :math:`Q_n=U`, and split the singular values evenly:

    .. math:: W_j=Q_jS^{1/n}Q_{j-1}^\top .

    In the product every :math:`Q_j^\top Q_j` is the identity and :math:`USV^\top` is left. And :math:`W_{j+1}^\top
    W_{j+1}=Q_jS^{2/n}Q_j^\top=W_jW_j^\top`. ``la.starts.balanced`` does the same.
    """
    rng, widths = np.random.default_rng(1), (5, 4, 6, 3)
    W = rng.normal(size=(3, 2)) @ rng.normal(size=(2, 5))  # of rank 2
    U, s, Vt = np.linalg.svd(W)
    frames = [np.linalg.qr(rng.normal(size=(width, 2)))[0] for width in widths[1:-1]]
    frames = [Vt[:2].T, *frames, U[:, :2]]
    layers = [after * s[:2] ** (1 / 3) @ before.T for before, after in pairwise(frames)]
    return {
        "map": W,
        "product": layers[2] @ layers[1] @ layers[0],
        "unbalancedness": float(la.measure.unbalancedness(layers)),
    }
