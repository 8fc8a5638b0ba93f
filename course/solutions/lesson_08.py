"""Solutions of lesson 8: tensors."""

import jax.numpy as jnp
import numpy as np
from layer_flow import layer_flow
from scipy.integrate import solve_ivp

import lineament as la


def exercise_1():
    r"""For one component of order 3, :math:`\dot a=-\nabla\ell[\cdot,b,c]`, where the brackets say that the gradient
    is summed against :math:`b` and :math:`c` along its second and third index, and in the same way for :math:`b` and
    :math:`c`. Then :math:`\tfrac12\frac{d}{dt}\|a\|^2=\langle a,\dot a\rangle=-\nabla\ell[a,b,c]`, and for :math:`b`
    and :math:`c` it is the same number.
    """
    rng = np.random.default_rng(0)
    target, start = rng.normal(size=(3, 4, 2)), rng.normal(size=9)

    def velocity(_, w):
        a, b, c = np.split(w, [3, 7])
        G = np.einsum("i,j,k->ijk", a, b, c) - target
        parts = (
            np.einsum(f"ijk,{rest}", G, *others)
            for rest, others in (("j,k->i", (b, c)), ("i,k->j", (a, c)), ("i,j->k", (a, b)))
        )
        return -np.concatenate(list(parts))

    path = solve_ivp(velocity, (0, 2), start, "DOP853", rtol=1e-10, atol=1e-12).y.T
    squares = np.stack([np.sum(part**2, axis=1) for part in np.split(path, [3, 7], axis=1)])
    return {
        "moved": np.ptp(squares[0]),
        "drift": max(np.ptp(squares[0] - squares[1]), np.ptp(squares[1] - squares[2])),
    }


def exercise_2():
    r"""The directions :math:`\hat w^n` agree with those of the truth and stay there. With :math:`E=\hat
    w^1\otimes\dots\otimes\hat w^N`, a tensor of norm 1, :math:`-\nabla\ell=T^*-T=(\sigma^*-\sigma)E`, so the inner
    product of the lesson is :math:`\sigma^*-\sigma` and

    .. math:: \dot\sigma=N\sigma^{2-2/N}(\sigma^*-\sigma) :

    the mode of a linear network of depth :math:`N` (lesson 1), with the same clock.
    """
    order, target, start, time = 3, 2.0, 0.05, np.linspace(0, 3, 40)

    def velocity(_, w):  # one number for each vector: its length along the truth
        return (target - np.prod(w)) * np.prod(w) / w

    path = solve_ivp(velocity, (0, 3), np.full(order, start ** (1 / order)), "DOP853", time, rtol=1e-11, atol=1e-14).y
    return {
        "trained": np.prod(path, axis=0),
        "mode": la.theory.training_time.singular_values(time, [target], start, order)[:, 0],
    }


def exercise_3():
    r"""Stack the vectors as columns, :math:`A=[w_1^1,\dots,w_R^1]` and :math:`B=[w_1^2,\dots,w_R^2]`. Then
    :math:`\sum_rw_r^1(w_r^2)^\top=AB^\top`: two layers, :math:`W_2=A` and :math:`W_1=B^\top`, with :math:`R` hidden
    units. Differences of norms are the diagonal of :math:`C_1=A^\top A-B^\top B`. For matrices all of :math:`C_1` is
    conserved, so that also :math:`w_r^1\cdot w_q^1-w_r^2\cdot w_q^2` is constant for different components :math:`r,q`.
    For :math:`N\ge3` it is not.
    """
    rng = np.random.default_rng(0)
    A, B, target = rng.normal(size=(3, 4)), rng.normal(size=(5, 4)), rng.normal(size=(3, 5))
    factorised = la.models.CP((3, 5), components=4).end_to_end((jnp.asarray(A), jnp.asarray(B)))
    first, second = layer_flow([B.T, A], lambda W: W - target, np.linspace(0, 1, 10))
    C = np.swapaxes(second, 1, 2) @ second - first @ np.swapaxes(first, 1, 2)
    return {"same map": np.abs(factorised - A @ B.T).max(), "drift": np.ptp(C, axis=0).max()}
