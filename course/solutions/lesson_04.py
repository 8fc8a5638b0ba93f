"""Solutions of lesson 4: saddles and certificates."""

import numpy as np
from layer_flow import layer_flow
from scipy.optimize import minimize

import lineament as la


def exercise_1():
    r"""*No nearer.* Let :math:`\sigma_{\min}(W')\le\delta`. Of the vector :math:`\sigma(W)-\sigma(W')` keep only the
    last entry:
    :math:`\|W-W'\|_F\ge\|\sigma(W)-\sigma(W')\|_2\ge\sigma_{\min}(W)-\sigma_{\min}(W')\ge\sigma_{\min}(W)-\delta`. A
    distance is not negative either.

    *No farther.* If :math:`\sigma_{\min}(W)\le\delta`, take :math:`W'=W`. Otherwise let
    :math:`W=\sum_r\sigma_ru_rv_r^\top` and lower the last singular value to :math:`\delta`:
    :math:`W'=W-(\sigma_{\min}(W)-\delta)\,u_mv_m^\top`, where :math:`m` is the number of singular values. The distance
    is :math:`\sigma_{\min}(W)-\delta`, since :math:`\|u_mv_m^\top\|_F=1`.

    The code looks for a nearer matrix by brute force, and finds none.
    """
    rng, delta = np.random.default_rng(0), 0.1
    W = rng.normal(size=(2, 3))
    nearest = la.theory.certificates.nearest_deficient(W, delta)

    def far(entries):  # matrices of the form A diag(s, δ) Bᵀ are those with σ_min ≤ δ
        U, s, Vt = np.linalg.svd(entries.reshape(2, 3), full_matrices=False)
        return np.linalg.norm(W - (U * np.array([s[0], min(s[1], delta)])) @ Vt)

    found = min(minimize(far, rng.normal(size=6), method="Nelder-Mead", tol=1e-10).fun for _ in range(5))
    formula = max(0.0, np.linalg.svd(W, compute_uv=False)[-1] - delta)
    return {"formula": formula, "attained": np.linalg.norm(W - nearest), "found": found}


def exercise_2():
    r"""For :math:`n=2` the terms of degree two are :math:`\langle\nabla\ell(0),W_2W_1\rangle`. Let
    :math:`\nabla\ell(0)=\sum_rg_ru_rv_r^\top`. In the coordinates :math:`a_r=W_2^\top u_r` and :math:`b_r=W_1v_r`,
    which are vectors over the hidden units, this is :math:`\sum_rg_r\,a_r\cdot b_r`, and
    :math:`2ab=\tfrac12(a+b)^2-\tfrac12(a-b)^2`: each :math:`g_r` gives the eigenvalues :math:`+g_r` and :math:`-g_r`,
    once for each hidden unit. All others are zero. So there is negative curvature, and the saddle is strict, exactly
    if :math:`\nabla\ell(0)\ne0`.
    """
    slope = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    hidden, layers = 2, [np.zeros((2, 3)), np.zeros((2, 2))]
    # ℓ(W) = ⟨slope, W⟩ + ½‖W‖²: gradient and second derivative.
    hessian = la.theory.landscape.hessian(layers, lambda W: slope + W, lambda W, D: D)
    g = np.linalg.svd(slope, compute_uv=False)
    expected = np.sort(np.concatenate([np.repeat(np.r_[g, -g], hidden), np.zeros(len(hessian) - 4 * hidden)]))
    return {"eigenvalues": np.linalg.eigvalsh(hessian), "expected": expected}


def exercise_3():
    r"""Let :math:`W_1=\mathrm{diag}(a,1/a)` and :math:`W_2=\mathrm{diag}(1/a,a)` with a large :math:`a`. Their product
    is the identity. A change of :math:`W_{12}`, the entry in the first row and second column, can come from either
    layer, :math:`\dot W=-W_2W_2^\top\nabla\ell-\nabla\ell\,W_1^\top W_1`: it is multiplied by :math:`1/a^2` from both
    sides, the factor :math:`2/a^2` in all. If the target differs from the identity in that entry only, the loss falls
    at first as :math:`e^{-4t/a^2}`. Balanced layers with the same product have the factor 2.
    """
    rates, time = [], np.linspace(0, 0.5, 20)
    for a in (1.0, 4.0, 16.0):
        target = np.array([[1.0, 1e-3], [0.0, 1.0]])
        first, second = layer_flow([np.diag([a, 1 / a]), np.diag([1 / a, a])], lambda W, to=target: W - to, time)
        loss = np.sum((second @ first - target) ** 2, axis=(1, 2)) / 2
        rates.append(-np.log(loss[-1] / loss[0]) / time[-1])
    return {"rates": np.array(rates), "expected": 4 / np.array([1.0, 4.0, 16.0]) ** 2}
