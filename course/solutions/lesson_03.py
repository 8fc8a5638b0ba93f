"""Solutions of lesson 3: end-to-end dynamics."""

import numpy as np
from layer_flow import layer_flow

import lineament as la


def exercise_1():
    r"""With one output :math:`W=w^\top` is a row, and :math:`WW^\top=\|w\|^2` is a number. :math:`W^\top W=ww^\top`
    has one non-zero eigenvalue, :math:`\|w\|^2`, with eigenvector :math:`\hat w=w/\|w\|`, so :math:`[W^\top
    W]^\beta=\|w\|^{2\beta}\hat w\hat w^\top` for :math:`\beta>0`, and :math:`I` for :math:`\beta=0`. In the sum over
    :math:`j` the exponents of :math:`\|w\|` add up to :math:`2(j-1)/n+2(n-j)/n=2-2/n` in every term. The term
    :math:`j=n` has the identity on the right, the :math:`n-1` others project on :math:`w`:

    .. math:: \dot w=-\|w\|^{2-2/n}\Bigl(\nabla\ell+(n-1)\,\hat w\hat w^\top\nabla\ell\Bigr) .

    Along :math:`w` the gradient counts :math:`n` times, across it once. From a start near zero :math:`w` is the
    movement so far: the network keeps going where it is going. The factor :math:`\|w\|^{2-2/n}` says that this builds
    up as :math:`w` grows.
    """
    rng, worst = np.random.default_rng(0), 0.0
    for depth in (1, 2, 3, 5):
        w, gradient = rng.normal(size=4), rng.normal(size=4)
        unit = w / np.linalg.norm(w)
        by_hand = -(np.linalg.norm(w) ** (2 - 2 / depth)) * (gradient + (depth - 1) * unit * (unit @ gradient))
        general = la.theory.end_to_end.field(w[None], gradient[None], depth)[0]
        worst = max(worst, np.abs(by_hand - general).max())
    return {"gap": worst}


def exercise_2():
    r"""Let :math:`G=\nabla\ell(W_s)`. A change :math:`dW` changes :math:`W_s` by :math:`dW\,W^\top+W\,dW^\top` and the
    loss by :math:`\langle G,dW\,W^\top+W\,dW^\top\rangle=\langle(G+G^\top)W,dW\rangle`. So :math:`\dot
    W=-(G+G^\top)W`, and

    .. math:: \dot W_s=\dot WW^\top+W\dot W^\top=-(G+G^\top)W_s-W_s(G+G^\top) .

    :math:`W` appears only through :math:`W_s`. Unlike Theorem 1 this needs no balance: the two factors are each
    other's transposes, so they are balanced by construction.
    """
    rng, time = np.random.default_rng(0), np.linspace(0, 1, 20)
    W, target = 0.5 * rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    # WWᵀ as two layers that start as transposes of each other stays so where the gradient is symmetric.
    symmetric = target + target.T
    first, second = layer_flow([W.T, W], lambda P: P - symmetric, time)
    by_equation = la.theory.end_to_end.trajectory_symmetric(time / 2, W @ W.T, lambda P: P - symmetric)
    return {"layers": second @ first, "by equation": by_equation}


def exercise_3():
    r"""For matrices :math:`\mathrm{vec}(AXB)=(B^\top\otimes A)\,\mathrm{vec}(X)`, where :math:`\otimes` is the
    Kronecker product. Hence

    .. math:: \mathrm{vec}(\dot W)=-P\,\mathrm{vec}(\nabla\ell),\qquad
       P=\sum_{j=1}^n[W^\top W]^{\frac{n-j}n}\otimes[WW^\top]^{\frac{j-1}n} .

    With all singular vectors, also those that belong to zero, :math:`[W^\top W]^\beta v_q=\sigma_q^{2\beta}v_q` and
    :math:`[WW^\top]^\beta u_r=\sigma_r^{2\beta}u_r`. So :math:`\mathrm{vec}(u_rv_q^\top)=v_q\otimes u_r` is an
    eigenvector of every addend, with the eigenvalue :math:`\sigma_q^{2(n-j)/n}\sigma_r^{2(j-1)/n}`; their sum is
    :math:`p_{rq}`, which does not change when :math:`r` and :math:`q` are exchanged. For :math:`\beta=0` the power is
    the identity, on the null space too.
    """
    W, n = np.random.default_rng(0).normal(size=(2, 3)), 3

    def power(S, beta):
        values, vectors = np.linalg.eigh(S)
        values = np.where(values > 1e-12, values, 0)  # a root of rounding is no rounding
        return vectors * values**beta @ vectors.T if beta else np.eye(len(S))

    P = sum(np.kron(power(W.T @ W, (n - j) / n), power(W @ W.T, (j - 1) / n)) for j in range(1, n + 1))
    return {"dense": np.linalg.eigvalsh(P), "formula": np.sort(la.theory.end_to_end.eigensystem(W, n).values.ravel())}
