"""Solutions of lesson 1: from linear regression to modes."""

import numpy as np
from layer_flow import layer_flow

import lineament as la


def exercise_1():
    r"""Separate the variables and split the fraction:

    .. math:: 2t=\int_{\sigma_0}^{\sigma}\frac{ds}{s(\sigma^*-s)}
       =\frac1{\sigma^*}\int_{\sigma_0}^{\sigma}\Bigl(\frac1s+\frac1{\sigma^*-s}\Bigr)ds
       =\frac1{\sigma^*}\ln\frac{\sigma\,(\sigma^*-\sigma_0)}{\sigma_0\,(\sigma^*-\sigma)} .

    At :math:`\sigma=\sigma^*/2` the fraction is :math:`(\sigma^*-\sigma_0)/\sigma_0`, so half is learnt at
    :math:`t=\ln(\sigma^*/\sigma_0-1)/(2\sigma^*)`. Solved for :math:`\sigma` it is the logistic curve of the lesson.
    The code lays both beside the package and beside a network whose layers are followed by ``layer_flow``: SciPy's
    solver for the equation of the lesson, in ``course/solutions/layer_flow.py``.
    """
    target, start, time = 3.0, 1e-4, np.linspace(0, 4, 50)
    grown = np.exp(2 * target * time)
    by_hand = start * target * grown / (target + start * (grown - 1))
    half = np.log(target / start - 1) / (2 * target)
    w = start**0.5 * np.eye(1)
    first, second = layer_flow([w, w], lambda W: W - target, time)
    theory = la.theory.training_time.time_to(target / 2, target, start, 2)
    return {"by hand": by_hand, "trained": (second @ first)[:, 0, 0], "half": half, "theory": theory}


def exercise_2():
    r"""The gradient is diagonal, so every entry is by itself: :math:`\dot w_i=s_i-\lambda_iw_i`, hence

    .. math:: w_i(t)=\frac{s_i}{\lambda_i}+\Bigl(w_i(0)-\frac{s_i}{\lambda_i}\Bigr)e^{-\lambda_it} .

    The speed is the variance :math:`\lambda_i` of the inputs and knows nothing of the labels; they only say where it
    ends. This is the principal components bias, to which lesson 11 comes back.
    """
    variance, moment, time = np.array([2.0, 0.5]), np.array([3.0, 1.0]), np.linspace(0, 6, 40)
    (path,) = layer_flow([np.zeros((2, 2))], lambda W: W * variance - np.diag(moment), time)
    by_hand = moment / variance * -np.expm1(-variance * time[:, None])
    return {"by hand": by_hand, "trained": np.diagonal(path, axis1=1, axis2=2)}


def exercise_3():
    r"""Almost all of the time is spent where :math:`\sigma\ll\sigma^*`, and there :math:`\dot\sigma\approx
    N\sigma^*\sigma^{2-2/N}`. For :math:`N=2` the solution grows exponentially,
    :math:`t\approx\ln(\sigma^*/\sigma_0)/(2\sigma^*)`: a start ten times smaller adds the same time again and again.
    For :math:`N\ge3`

    .. math:: t\approx\int_{\sigma_0}^{\infty}\frac{d\sigma}{N\sigma^*\sigma^{2-2/N}}
       =\frac{\sigma_0^{-(1-2/N)}}{(N-2)\,\sigma^*} ,

    a power of the start: at depth 3, ten times less costs a factor :math:`10^{1/3}`. Either way :math:`\sigma^*`
    stands in the denominator: in the limit a mode that is :math:`r` times weaker comes :math:`r` times later.
    """
    starts, depths = np.geomspace(1e-14, 1e-10, 5), (2, 3, 4)
    times = {n: la.theory.training_time.time_to(1.0, 2.0, starts, n) for n in depths}
    later = {n: la.theory.training_time.time_to(0.5, 1.0, starts, n) / times[n] for n in depths}
    slopes = {n: np.polyfit(np.log(starts), np.log(times[n]), 1)[0] for n in depths}
    return {"times": times, "slopes": slopes, "later": later, "starts": starts}
