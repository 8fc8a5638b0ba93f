"""Solutions of lesson 5: implicit bias and completion."""

import numpy as np
from layer_flow import layer_flow

import lineament as la


def exercise_1():
    r"""Change the sign of the second row of everything: the known entries become :math:`w_{12}=1`, :math:`w_{21}=-1`,
    :math:`w_{22}=0`. Now every solution has the determinant :math:`0\cdot w_{11}+1=+1`, while the start keeps it
    negative: :math:`w_{11}w_{22}<w_{12}w_{21}` at all times. Let :math:`e=\sqrt{6\ell}<1`. Then :math:`w_{12}\ge1-e>0`
    and :math:`w_{21}\le-(1-e)<0`, so :math:`w_{11}w_{22}<-(1-e)^2` and, since :math:`|w_{22}|\le e`,

    .. math:: |w_{11}|\ge\frac{(1-e)^2}{e}=\frac1e-2+e\ge\frac1e-2 .

    From here the proof of the lesson goes on word by word:
    :math:`\|W\|\ge|w_{11}|\,\|e_1e_1^\top\|-\|W-w_{11}e_1e_1^\top\|`, and the last matrix has bounded entries. For
    :math:`e\ge1` choose the constant :math:`c'` so small that the bound is negative. (The package proves the slightly
    better :math:`1/e-e`.)
    """
    task, time = la.theory.two_by_two.completion(2, -1), np.linspace(0, 300, 60)
    begin = np.diag([0.3, -0.3])
    root = np.diag([0.3**0.5, 0.3**0.5])
    layers = [root, np.diag([1.0, -1.0]) @ root]  # balanced, with the product `begin`
    first, second = layer_flow(layers, lambda W: np.where(task.observed, W - task.values, 0) / 3, time)
    W = second @ first
    loss = la.theory.two_by_two.loss(W, -1)
    e = np.sqrt(6 * loss)
    bound = la.theory.two_by_two.norm_bound(begin, loss, "spectral", -1)
    return {
        "corner": np.abs(W[:, 0, 0]),
        "least": 1 / e - 2,
        "norm": np.linalg.norm(W, 2, axis=(1, 2)),
        "bound": bound,
        "loss": loss,
    }


def exercise_2():
    r"""The determinant stays negative, but :math:`W^*` has a positive one: it cannot be reached. For a diagonal start
    :math:`\mathrm{diag}(a,-b)` both modes are by themselves. The first rises to 2. The second is negative and its
    target is 1, so it rises towards zero, :math:`\dot\sigma=2|\sigma|(1-\sigma)`, which slows down as it comes there,
    and it never passes. The limit is :math:`\mathrm{diag}(2,0)`, a saddle, at the loss :math:`\tfrac12`.
    """
    root = np.diag([0.3**0.5, 0.2**0.5])
    first, second = layer_flow([root, np.diag([1.0, -1.0]) @ root], lambda W: W - np.diag([2.0, 1.0]), [0.0, 8.0])
    last = (second @ first)[-1]
    return {"end": last, "loss": np.sum((last - np.diag([2.0, 1.0])) ** 2) / 2}


def exercise_3():
    r"""The gradient of :math:`\tfrac1{2m}\sum(W_{ij}-b_{ij})^2` is zero at unknown entries: nothing moves them. From
    zero they stay zero, whatever the truth is, so the error is the norm of the unknown entries of the truth. Among all
    matrices with the known values this one has the least Frobenius norm, since every other unknown entry would add its
    square. A small norm is a poor reason to believe in it: a random matrix of low rank has no zeros.
    """
    rng, m = np.random.default_rng(0), 12
    truth = np.outer(rng.normal(size=5), rng.normal(size=5))
    seen = np.zeros(25, bool)
    seen[rng.permutation(25)[:m]] = True
    seen = seen.reshape(5, 5)
    (path,) = layer_flow([np.zeros((5, 5))], lambda W: np.where(seen, W - truth, 0) / m, [0.0, 500.0])
    return {
        "end": path[-1],
        "expected": np.where(seen, truth, 0),
        "error": np.linalg.norm(path[-1] - truth),
        "unseen": np.linalg.norm(truth[~seen]),
    }
