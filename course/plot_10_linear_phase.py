r"""
10 · The early linear phase
===========================

In high dimension a wide non-linear network begins as a linear model of its inputs, its *twin*, which can be written
down before training. One further feature is needed that one might not expect: the length of the input.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import lineament as la
from lineament.report import style

plt.rcParams.update(style.rc(style.LIGHT))

# %%
# Why inputs in high dimension look linear
# ----------------------------------------
#
# Take the network of lesson 9, :math:`f(x)=\tfrac1{\sqrt m}\sum_rv_r\varphi(w_r\cdot x/\sqrt d)`, very wide. Its
# tangent kernel is an expectation over two normal numbers :math:`u=w\cdot x/\sqrt d` and :math:`u'=w\cdot x'/\sqrt d`.
# For inputs with independent entries of variance 1 and large :math:`d`, lengths are nearly the same,
# :math:`\|x\|^2\approx d`, and different inputs are nearly orthogonal: their overlap :math:`c=x\cdot x'/d` is of order
# :math:`d^{-1/2}`. So :math:`u,u'` have variance about 1 and the small covariance :math:`c`, and we may expand in it.
# With :math:`g` standard normal,
#
# .. math:: E\,\varphi(u)\varphi(u')=(E\varphi(g))^2+\zeta^2c+O(c^2),\qquad \zeta=E\varphi'(g) ,
#
# since the derivative of such an expectation with respect to the covariance is :math:`E\,\varphi'(u)\varphi'(u')`. The
# part of the first layer is :math:`c\,E\,\varphi'(u)\varphi'(u')=\zeta^2c+O(c^2)`. Together
# :math:`K(x,x')\approx2\zeta^2\,x\cdot x'/d` plus a constant: the kernel of a **linear** model. The terms of order
# :math:`c^2\sim1/d` are small for each pair, but there are :math:`n^2` pairs; the theorem is that as a matrix they act
# like a constant, so that one constant feature takes care of them.
#
# The length
# ----------
#
# Lengths vary too, :math:`\|x\|=\sqrt d\,(1+\rho)` with :math:`\rho` of order :math:`d^{-1/2}`. They change the
# largest term of the kernel, :math:`h(x)h(x')` with
#
# .. math:: h(x)=E\,\varphi\bigl((1+\rho)g\bigr)=\vartheta_0+\vartheta_1\rho+\vartheta_2\rho^2+\dots ,
#
# where :math:`\vartheta_0=E\varphi(g)`, :math:`\vartheta_1=E\,g\varphi'(g)` and
# :math:`\vartheta_2=E(\tfrac12g^3-g)\varphi'(g)`. So the twin has the features :math:`x`, a constant, and
# :math:`h(x)`. For odd activations such as erf all three :math:`\vartheta` vanish. For ReLU they do not: **a ReLU
# network sees how long its input is**.
#
# The twin is a linear model with a known kernel, trained by gradient descent from zero, so it has a closed solution:
# the label's part along mode :math:`k` of the features, with singular value :math:`s_k`, is learnt as :math:`1-(1-\eta
# s_k^2/n)^t`, where :math:`\eta` is the step size and :math:`t` counts steps. The theorems hold up to about
# :math:`T=d\log d/\eta` steps.
#
# Network and twins
# -----------------
#
# A ReLU network, labels that depend on the length and on one direction. The network starts *mirrored*: two copies of
# the same weights with opposite signs, so that its output is zero at first. Beside it are the twin, and a naive twin
# without the length.
rng = np.random.default_rng(0)
d, n, width, step, steps = 20, 500, 512, 0.5, 250
X, fresh = rng.normal(size=(n, d)), rng.normal(size=(300, d))
direction = rng.normal(size=d) / d**0.5
label = lambda x: np.linalg.norm(x, axis=1) / d**0.5 + np.maximum(x @ direction, 0)  # noqa: E731
y, fresh_y = label(X), label(fresh)

constants = la.theory.twin.constants("relu")
print(", ".join(f"{name} {value:.4f}" for name, value in constants._asdict().items()))
twin = la.theory.twin.two_layer(X, y, activation="relu", first_step_size=step, second_step_size=step)
naive = la.theory.twin.Twin(X, y, twin.features.naive(), step_size=step)

net = la.models.Mirrored(la.models.MLP((d, width, 1), "relu"))
problem = la.problems.lp_regression(X.astype(np.float32), y.astype(np.float32)[:, None], 2)
inputs = jnp.asarray(fresh, jnp.float32)
outputs = la.Record("outputs", lambda model, problem, params: model.end_to_end(params)(inputs)[:, 0], ("example",))
at = np.unique(np.r_[0, np.geomspace(1, steps, 40).astype(int)])
start = la.starts.mirrored(net, 0, la.starts.gaussian, deviation=1.0, dtype=jnp.float32)
run = la.descend(net, problem, start, step_size=step, steps=steps, at=at, record=(outputs,))

measured, forecasts = run.outputs.values, {"twin": twin.predict(at, fresh), "naive twin": naive.predict(at, fresh)}
error = lambda f: np.mean((f - fresh_y) ** 2, axis=1) / np.var(fresh_y)  # noqa: E731
gaps = {name: la.measure.agreement.relative_mse(measured, f, np.mean(fresh_y**2)) for name, f in forecasts.items()}
blue, orange, ink, guide = *style.LIGHT.palette[:2], style.LIGHT.ink, style.LIGHT.guide
figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.5), layout="constrained")
left.loglog(at[1:], error(measured)[1:], color=blue, lw=style.MEASURED_WIDTH)
for name, f in forecasts.items():
    left.loglog(at[1:], error(f)[1:], color=ink, lw=style.THEORY_WIDTH, ls="-" if name == "twin" else "--")
for name, f, drop, colour in (
    ("naive twin", forecasts["naive twin"], 9, ink), ("twin", forecasts["twin"], 4, ink), ("network", measured, -13, blue)
):  # fmt: skip
    left.annotate(name, (at[-1], error(f)[-1]), (-3, drop), textcoords="offset points", ha="right", color=colour)
left.set(xlabel="step", ylabel="error on fresh inputs, per variance", title="learning")
left.set_ylim(0.09, 7)
left.set_yticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
left.minorticks_off()
for (name, gap), colour in zip(gaps.items(), (blue, orange), strict=True):
    right.loglog(at[1:], gap[1:], color=colour, lw=style.MEASURED_WIDTH)
    right.annotate(name, (at[-1], gap[-1]), (-4, 6), textcoords="offset points", ha="right", color=colour)
for ax in (left, right):
    ax.axvline(twin.horizon(), color=guide, lw=style.GUIDE_WIDTH, ls="--")
    ax.set_xlim(1, steps)
right.annotate("$T$", (twin.horizon(), right.get_ylim()[0]), (3, 5), textcoords="offset points")
right.set(xlabel="step", ylabel="gap to the network, per mean square", title="agreement")
last = np.searchsorted(at, twin.horizon())
ratio = gaps["naive twin"][last] / gaps["twin"][last]
figure.supxlabel(
    f"At T = d log d/η = {twin.horizon():.0f} steps network and twin differ by {gaps['twin'][last]:.2%} of the mean "
    f"square of the labels;\nwithout the length the gap is {ratio:.0f} times as large.",
    fontsize=8.5,
)

# %%
# **Play**: :preset:`hu-f1`, :preset:`hu-f2` (the length) and :preset:`hu-k` (the constants of every activation).
#
# **Checked by** :claim:`hu-k` (constants), :claim:`hu-c31` (concentration), :claim:`hu-p34` (the kernel as a matrix),
# :claim:`hu-t32`, :claim:`hu-t35` and :claim:`hu-td1` (the theorems, over dimensions), :claim:`hu-f1`, :claim:`hu-f2`,
# :claim:`hu-f3` (deep networks on images).
#
# Exercises
# ---------
#
# **Exercise 1.** Compute :math:`\zeta,\vartheta_0,\vartheta_1,\vartheta_2` for ReLU, and :math:`\zeta` for erf.
#
# .. solution:: lesson_10.exercise_1
#
# **Exercise 2.** Show that the mirrored start is the zero function, and that its tangent kernel is that of the plain
# network, if the pair is divided by :math:`\sqrt2`.
#
# .. solution:: lesson_10.exercise_2
#
# **Exercise 3.** Derive the twin's closed solution, and check it against plain gradient descent on the features.
#
# .. solution:: lesson_10.exercise_3
