"""Solutions of lesson 6: incremental learning."""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import lineament as la


def exercise_1():
    r"""As long as :math:`\sigma_r>0`, :math:`\dot\sigma_r=2c_r\sigma_r`, so :math:`\sigma_r(t)=\epsilon\,e^{2c_rt}`
    for :math:`t\le t_e`, and indeed it stays positive. The ratio of two of them is

    .. math:: \frac{\sigma_r(t)}{\sigma_q(t)}=e^{2(c_r-c_q)\,t} ,

    which grows or falls exponentially, since :math:`c_r\ne c_q`. At depth 3 the equation is
    :math:`\dot\sigma=3c\,\sigma^{4/3}` with the solution :math:`\sigma(t)=\epsilon\,(1-c\,\epsilon^{1/3}t)^{-3}`: for
    :math:`c>0` it reaches infinity at the finite time :math:`\epsilon^{-1/3}/c`, the largest :math:`c` first, and
    ratios grow faster than any exponential. Of course no alignment stays constant for so long: the target ends it.
    """
    c, epsilon, time = np.array([1.0, 0.6, -0.3]), 1e-3, np.linspace(0, 2, 30)
    by_hand = epsilon * np.exp(2 * c * time[:, None])
    two = la.theory.constant_alignment.trajectory(time[:, None], c, epsilon, 2)
    three = epsilon * (1 - c * epsilon ** (1 / 3) * time[:, None]) ** -3
    solved = solve_ivp(lambda _, x: 3 * c * x ** (4 / 3), (0, 2), np.full(3, epsilon), "DOP853", time, rtol=1e-11)
    return {"by hand": by_hand, "package": two, "depth 3": three, "integrated": solved.y.T}


def exercise_2():
    r"""By lesson 1, in the papers' time, the fraction :math:`\alpha` of :math:`\sigma^*` is reached at

    .. math:: t_\alpha=\frac1{\sigma^*}\ln\frac{\alpha\,(\sigma^*-\sigma_0)}{(1-\alpha)\,\sigma_0} .

    With :math:`\sigma_j^*=1` and :math:`\sigma_i^*=r` the threshold is where

    .. math:: \frac1r\ln\frac{f\,(r-\sigma_0)}{(1-f)\,\sigma_0}=\ln\frac{s\,(1-\sigma_0)}{(1-s)\,\sigma_0} .

    The right side less the left is positive for small :math:`\sigma_0` and negative at :math:`\sigma_0=s`, where the
    right side is zero; bisect :math:`\ln\sigma_0` between them.
    """
    s, f, thresholds, exact = 0.1, 0.9, [], []
    for r in (1.3, 2.0, 5.0):

        def lead(log_start, r=r):
            start = np.exp(log_start)
            weak = np.log(s / (1 - s)) + np.log1p(-start) - log_start
            return weak - (np.log(f / (1 - f)) + np.log(r - start) - log_start) / r

        thresholds.append(np.exp(brentq(lead, np.log(1e-30), np.log(s), xtol=1e-14)))
        exact.append(float(la.theory.phases.threshold(2, r, s, f)))
    return {"bisected": np.array(thresholds), "exact": np.array(exact)}


def exercise_3():
    r"""The proof replaces :math:`\sigma` by :math:`s\sigma_j^*` in a factor of the integrands, which gives a necessary
    condition for being incremental, and then drops the positive term :math:`(rf\sigma_j^*)^{-(1-2/N)}` on one side.
    Dropped from a necessary condition it makes the condition stricter, and the bound too low. It shows where that term
    is large against :math:`(s\sigma_j^*)^{-(1-2/N)}`: :math:`s` not small, :math:`r` and :math:`f` small. At
    :math:`N=3`, :math:`r=1.3`, :math:`s=0.24`, :math:`f=0.76` the exact threshold lies above the printed bound. With
    the term put back the bound holds, there and everywhere (:claim:`gissin-t2`).
    """
    setting = (3, 1.3, 0.24, 0.76)
    exact = float(la.theory.phases.log_threshold(*setting))
    printed = 0.24 * (0.3 / (1.3 - 0.24)) ** 3
    corrected = float(la.theory.phase_bounds.log_bounds_corrected(*setting)[1])
    return {"exact": np.exp(exact), "printed": printed, "corrected": np.exp(corrected)}
