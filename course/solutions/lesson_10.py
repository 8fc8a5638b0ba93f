"""Solutions of lesson 10: the early linear phase."""

import jax.numpy as jnp
import numpy as np

import lineament as la


def exercise_1():
    r"""For ReLU :math:`\varphi'(g)` is 1 for :math:`g>0` and 0 otherwise. Half of all :math:`g` are positive:
    :math:`\zeta=\tfrac12`. The positive half of a normal number has the moments :math:`E\,g^+=1/\sqrt{2\pi}` and
    :math:`E\,(g^+)^3=2/\sqrt{2\pi}`, so :math:`\vartheta_0=\vartheta_1=1/\sqrt{2\pi}` and
    :math:`\vartheta_2=\tfrac12\cdot2/\sqrt{2\pi}-1/\sqrt{2\pi}=0`: for ReLU :math:`h(x)=(1+\rho)\vartheta_0` is linear
    in the length. For erf :math:`\varphi'(g)=\tfrac2{\sqrt\pi}e^{-g^2}`, and

    .. math:: \zeta=\frac2{\sqrt\pi}\int\frac{e^{-g^2-g^2/2}}{\sqrt{2\pi}}\,dg=\frac2{\sqrt\pi}\cdot\frac1{\sqrt3} .
    """
    root = 1 / np.sqrt(2 * np.pi)
    by_hand = {"relu": (0.5, root, root, 0.0), "erf": (2 / np.sqrt(3 * np.pi), 0.0, 0.0, 0.0)}
    return {"by hand": by_hand, "quadrature": {name: tuple(la.theory.twin.quadrature(name)) for name in by_hand}}


def exercise_2():
    r"""Let :math:`g(x;\theta)` be the plain network and :math:`f=(g(x;\theta_1)-g(x;\theta_2))/\sqrt2` with
    :math:`\theta_1=\theta_2` at the start: the difference is zero for every input. The tangent kernel sums over the
    weights of both copies, :math:`\tfrac12K_g(\theta_1)+\tfrac12K_g(\theta_2)=K_g`; the sign of the second copy is
    squared away. So the random function that a network computes at its start is gone, and its kernel is not.
    """
    net, X = la.models.MLP((3, 8, 1), "tanh"), np.random.default_rng(0).normal(size=(4, 3))
    pair = la.models.Mirrored(net)
    start = la.starts.mirrored(pair, 0, la.starts.gaussian, deviation=1.0)
    outputs = pair.end_to_end(start)(jnp.asarray(X))
    kernels = la.measure.kernels.empirical(pair, start, X), la.measure.kernels.empirical(net, start.added, X)
    return {"outputs": np.asarray(outputs), "mirrored": kernels[0], "plain": kernels[1]}


def exercise_3():
    r"""Let the rows of :math:`\Psi` be the features of the :math:`n` examples, and :math:`\Psi=\sum_ks_kp_kq_k^\top` a
    singular value decomposition. Descent :math:`\theta^+=\theta-\tfrac\eta n\Psi^\top(\Psi\theta-y)` changes the
    outputs :math:`f=\Psi\theta` to :math:`f^+=f-\tfrac\eta n\Psi\Psi^\top(f-y)`. The part of the error along
    :math:`p_k` is multiplied by :math:`1-\eta s_k^2/n` at each step. From :math:`f=0` the part of the labels along
    :math:`p_k` is learnt as :math:`1-(1-\eta s_k^2/n)^t`, and what lies outside all :math:`p_k` never is.
    """
    rng, steps = np.random.default_rng(0), 50
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    twin = la.theory.twin.two_layer(X, y, activation="relu", first_step_size=0.3, second_step_size=0.3)
    psi, theta = twin.features(X), np.zeros(7)
    for _ in range(steps):
        theta -= 0.3 / len(X) * psi.T @ (psi @ theta - y)
    return {"by steps": psi @ theta, "closed": twin.predict(steps)}
