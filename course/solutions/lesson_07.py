"""Solutions of lesson 7: lazy and rich."""

import numpy as np
from layer_flow import layer_flow

import lineament as la


def exercise_1():
    r"""Multiply all weights by a number :math:`c`: the first layer's singular values grow by :math:`c`, the map's by
    :math:`c^2`, and :math:`\gamma`, which is half the square of a weight, by :math:`c^2`. In the printed formula
    :math:`\sigma_i` and :math:`\gamma^2` are added, one of which grows by :math:`c^2`, the other by :math:`c^4`: it
    cannot hold in all units. In the corrected one :math:`\sigma_i^2` and :math:`\gamma^2` both grow by :math:`c^4`,
    and the root of the root by :math:`c`. The code trains one case.
    """
    gamma, target = 0.5, np.array([[3.0, 0.0]])
    first, _ = layer_flow([(2 * gamma) ** 0.5 * np.eye(2), np.zeros((1, 2))], lambda W: W - target, [0.0, 20.0])
    measured = np.linalg.svd(first[-1], compute_uv=False)[0]
    return {
        "measured": measured,
        "printed": np.sqrt(np.sqrt(3.0 + gamma**2) + gamma),
        "corrected": np.sqrt(np.sqrt(3.0**2 + gamma**2) + gamma),
    }


def exercise_2():
    r"""Let the rows of :math:`X` be the examples. The gradient of the map has its rows in the row space of :math:`X`,
    and so has every change of :math:`W_1`. From :math:`W_2=0` the map starts at zero. By the lesson :math:`W_1^\top
    W_1=M` is a function of :math:`W^\top W`, and :math:`\dot W=-W_2W_2^\top G-GM`: if the rows of :math:`W` lie in the
    row space of :math:`X`, then :math:`M` is :math:`2\gamma I` outside of it and maps it to itself, so the rows of
    :math:`GM` lie in it, and those of :math:`W_2W_2^\top G` as well. The map never leaves it. Of all maps that fit,
    exactly one has its rows in the row space of :math:`X`, and it is the one of least norm: any other differs by rows
    that are orthogonal to it, which only add to the norm.
    """
    rng, gaps = np.random.default_rng(0), []
    X, Y = rng.normal(size=(3, 5)), rng.normal(size=(3, 2))
    least = (np.linalg.pinv(X) @ Y).T
    for gamma in (0.01, 1.0, 10.0):
        frame = np.linalg.qr(rng.normal(size=(6, 5)))[0]
        layers = [(2 * gamma) ** 0.5 * frame, np.zeros((2, 6))]
        first, second = layer_flow(layers, lambda W: (X @ W.T - Y).T @ X, [0.0, 40.0])
        gaps.append(np.linalg.norm(second[-1] @ first[-1] - least) / np.linalg.norm(least))
    return {"gaps": np.array(gaps)}


def exercise_3():
    r"""The kernel is :math:`\sqrt{\lambda^2+4\sigma^2}` and starts at :math:`|\lambda|`. It is
    :math:`(1+\varepsilon)|\lambda|` where :math:`4\sigma^2=\lambda^2\,\varepsilon(2+\varepsilon)`, that is at

    .. math:: \sigma=\tfrac12|\lambda|\sqrt{\varepsilon(2+\varepsilon)} .

    Divided by :math:`\sigma^*` this is the share, or 1 if it is more than that. For :math:`\varepsilon=0.1` it is
    :math:`0.23\,|\lambda|/\sigma^*`: a mode is learnt lazily if :math:`|\lambda|` is more than about four times its
    target.
    """
    balance, target, change = np.array([0.1, 1.0, 5.0, 20.0]), 3.0, 0.1
    by_hand = np.minimum(balance * np.sqrt(change * (2 + change)) / 2 / target, 1)
    return {"by hand": by_hand, "package": la.theory.lambda_modes.laziness(target, 0.0, balance, change)}
