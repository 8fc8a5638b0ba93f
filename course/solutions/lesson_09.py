"""Solutions of lesson 9: the tangent kernel."""

import numpy as np

import lineament as la


def exercise_1():
    r"""Output :math:`j` is :math:`f_j(x)=\sum_hW_{2,jh}(W_1x)_h`. Its derivative with respect to :math:`W_{2,ih}` is
    :math:`\delta_{ij}(W_1x)_h`, and with respect to :math:`W_{1,hk}` it is :math:`W_{2,jh}x_k`. Sum the products of
    derivatives over all weights:

    .. math:: K(x,x')_{jk}=(x^\top W_1^\top W_1x')\,\delta_{jk}+(x\cdot x')\,(W_2W_2^\top)_{jk} .

    Now :math:`\dot f(x)=-E_{x'}K(x,x')\,(f(x')-y')`. With :math:`E\,(f-y)x^\top=\nabla\ell(W)` this is :math:`\dot
    Wx=-\nabla\ell(W)W_1^\top W_1x-W_2W_2^\top\nabla\ell(W)x` for every :math:`x`, the equation at the beginning of
    lesson 3. If the layers are balanced, :math:`W_1^\top W_1=[W^\top W]^{1/2}` and
    :math:`W_2W_2^\top=[WW^\top]^{1/2}`.
    """
    rng = np.random.default_rng(0)
    W1, W2, X = rng.normal(size=(4, 3)), rng.normal(size=(2, 4)), rng.normal(size=(5, 3))
    net = la.models.DeepLinear((3, 4, 2))
    package = la.measure.kernels.empirical(net, (W1, W2), X)
    by_hand = np.einsum("ij,kl->ijkl", X @ W1.T @ W1 @ X.T, np.eye(2)) + np.einsum("ij,kl->ijkl", X @ X.T, W2 @ W2.T)
    return {"package": package, "by hand": by_hand}


def exercise_2():
    r"""Elsewhere the same derivation gives :math:`\dot f(x)=-\tfrac1nK(x,X)(f-y)`, where :math:`K(x,X)` is the row of
    kernels between :math:`x` and the training inputs. By the lesson :math:`f-y=e^{-Kt/n}(f(0)-y)`; integrate:

    .. math:: f(x;t)=f(x;0)+K(x,X)\,K^{-1}\bigl(I-e^{-Kt/n}\bigr)(y-f(0)) .

    On the training inputs it ends at :math:`y`, and elsewhere at :math:`K(x,X)K^{-1}y` if :math:`f(0)=0`: kernel
    regression without a penalty.
    """
    rng = np.random.default_rng(0)
    X, fresh, y = rng.normal(size=(8, 3)), rng.normal(size=(5, 3)), rng.normal(size=8)
    K = la.theory.kernels.infinite(X, activation="relu", hidden_layers=2).ntk
    cross = la.theory.kernels.infinite(fresh, X, activation="relu", hidden_layers=2).ntk
    end = la.theory.linearised.predict(np.inf, K, y, cross)
    return {"training": end.training, "labels": y, "other": end.other, "regression": cross @ np.linalg.solve(K, y)}


def exercise_3():
    r"""One step multiplies the error along an eigenvector with eigenvalue :math:`\kappa` by :math:`1-\eta\kappa/n`. It
    shrinks if this lies between −1 and 1: for all eigenvalues if

    .. math:: \eta<\frac{2n}{\kappa_{\max}} .

    At the limit the error along the first eigenvector changes its sign at every step and keeps its size; beyond it
    grows. (A real network then leaves the place where this kernel holds: lesson 12.)
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 4)), rng.normal(size=10)
    K = la.theory.kernels.infinite(X, activation="erf", hidden_layers=1).ntk
    most = 2 * len(y) / np.linalg.eigvalsh(K)[-1]
    below, above = (np.abs(la.theory.linearised.descend(2000, K, y, share * most) - y).max() for share in (0.99, 1.01))
    return {"by hand": most, "package": la.theory.linearised.largest_step(K), "below": below, "above": above}
