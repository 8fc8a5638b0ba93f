"""Solutions of lesson 11: principal components and learning order."""

import numpy as np

import lineament as la


def exercise_1():
    r"""The gradient of layer :math:`l` is :math:`P_l^\top E_rQ_l^\top` with :math:`P_l=W_L\cdots W_{l+1}` and
    :math:`Q_l=W_{l-1}\cdots W_1`. Multiply out :math:`\prod_l(W_l-\mu P_l^\top E_rQ_l^\top)`. To first order in
    :math:`\mu` one factor at a time is replaced by its step, with :math:`P_l` to its left and :math:`Q_l` to its
    right: :math:`-\mu\sum_lP_lP_l^\top E_rQ_l^\top Q_l`. All other terms have at least two steps in them. The code
    halves :math:`\mu` again and again; the remainder falls by four each time.
    """
    rng = np.random.default_rng(0)
    layers = [rng.normal(size=shape) for shape in ((4, 3), (4, 4), (2, 4))]
    sxx, syx = np.diag([2.0, 1.0, 0.5]), rng.normal(size=(2, 3))
    W1, W2, W3 = layers
    error = W3 @ W2 @ W1 @ sxx - syx
    gradients = [(W3 @ W2).T @ error, W3.T @ error @ W1.T, error @ (W2 @ W1).T]
    steps, left = 1e-2 / 2.0 ** np.arange(6), []
    for step in steps:
        A, B, C = (W - step * G for W, G in zip(layers, gradients, strict=True))
        left.append(np.linalg.norm(C @ B @ A - la.theory.pc_bias.one_step(layers, sxx, syx, step)))
    return {"slope": np.polyfit(np.log(steps), np.log(left), 1)[0]}


def exercise_2():
    r"""Entry :math:`(i,j)` of :math:`W_1^\top W_1` is :math:`\sum_{r=1}^mw_{ri}w_{rj}` over the :math:`m` hidden
    units, with independent entries of mean 0 and variance :math:`1/m`. For :math:`i\ne j` its mean is 0, for
    :math:`i=j` it is :math:`m\cdot1/m=1`. The variance of :math:`w^2` for a normal :math:`w` is twice the square of
    its own, :math:`2/m^2`; the diagonal entry is a sum of :math:`m` of them, with variance :math:`2/m`. This is the
    :math:`O(1/m)` of the lesson.
    """
    rng, m, draws = np.random.default_rng(0), 50, 4000
    W = rng.normal(size=(draws, m, 2)) / m**0.5
    B = np.einsum("nri,nrj->nij", W, W)
    variances = la.theory.pc_bias.isometric_variances((2, m, 2))
    exact = la.theory.pc_bias.scale_variances((2, m, 2), variances).B_diagonal[1]
    return {
        "mean": B.mean(axis=0),
        "error": B.std(axis=0) / draws**0.5,
        "variance": B[:, 0, 0].var(),
        "by hand": 2 / m,
        "exact": exact,
    }


def exercise_3():
    r"""Let the training inputs have the second moment :math:`\mathrm{diag}(d_j)` and new inputs as well. The labels'
    noise has variance :math:`\sigma^2`, so least squares on :math:`n` examples ends at :math:`w_j^*+\epsilon_j` with
    :math:`E\,\epsilon_j^2=\sigma^2/(nd_j)`. Flow from zero is at :math:`w_j(t)=(1-\kappa_j)(w_j^*+\epsilon_j)` with
    :math:`\kappa_j=e^{-d_jt}`, and the expected squared error on a new input, less its own noise, is

    .. math:: \sum_jd_j\,E(w_j(t)-w_j^*)^2=\sum_j\Bigl(d_j\,\kappa_j^2\,(w_j^*)^2+(1-\kappa_j)^2\,\frac{\sigma^2}n\Bigr) :

    a bias that falls and a variance that rises. If all :math:`d_j=d` for :math:`q` components, let
    :math:`S=d\|w^*\|^2` and :math:`V=q\sigma^2/n`. The least of :math:`\kappa^2S+(1-\kappa)^2V` is at
    :math:`\kappa=V/(S+V)`, so the best time is

    .. math:: t=\frac1d\ln\Bigl(1+\frac SV\Bigr) ,

    the later, the stronger the signal. With different :math:`d_j` one time must do for all: late for some, early for
    others.
    """
    d, q, n, noise = 0.5, 4, 20, 0.3
    truth = np.array([[1.0, -2.0, 0.5, 1.5]])
    S, V = d * np.sum(truth**2), q * noise / n
    task = la.theory.early_stopping.task(np.full(q, n * d), truth, np.zeros((1, q)), np.full(q, d), noise)
    rates = la.theory.early_stopping.flow_rates(np.full(q, d))
    best = la.theory.early_stopping.best_stopping(task, rates)
    return {"by hand": np.log(1 + S / V) / d, "package": best.time, "error": best.error, "least": S * V / (S + V)}
