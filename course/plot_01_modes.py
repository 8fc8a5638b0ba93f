r"""
1 · From linear regression to modes
===================================

Linear regression is learnt by all its directions at once. Put two or three matrices where there was one, and the same
regression is learnt one direction after the other. This lesson derives both, and says when each direction is learnt.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import lineament as la
from lineament.report import style

jax.config.update("jax_enable_x64", True)  # small starts need all digits
plt.rcParams.update(style.rc(style.LIGHT))

# %%
# One matrix
# ----------
#
# Inputs :math:`x\in\mathbb R^{d}` and outputs :math:`y\in\mathbb R^{k}` are random; a matrix :math:`W` predicts
# :math:`Wx`. Write :math:`\Lambda_{xx}=E\,xx^\top` and :math:`\Lambda_{yx}=E\,yx^\top` for their second moments. The
# square loss is
#
# .. math:: \ell(W)=\tfrac12E\|Wx-y\|^2, \qquad \nabla\ell(W)=W\Lambda_{xx}-\Lambda_{yx}.
#
# Inputs are *white* if :math:`\Lambda_{xx}=I`. Then :math:`\ell(W)=\tfrac12\|W-\Lambda_{yx}\|_F^2` plus a constant:
# all that there is to learn is one matrix, :math:`W^*=\Lambda_{yx}`. *Gradient flow* is gradient descent with steps so
# small that they become a differential equation, :math:`\dot W=-\nabla\ell(W)=W^*-W`, where the dot is the derivative
# with respect to the time :math:`t`. Every entry of :math:`W^*-W` falls as :math:`e^{-t}`: all directions are learnt
# at one speed.
#
# Many matrices
# -------------
#
# A linear network of depth :math:`N` computes :math:`W=W_N\cdots W_1`. It can say no more than one matrix can, but it
# learns otherwise: by the chain rule
#
# .. math:: \dot W_j=(W_N\cdots W_{j+1})^\top\,(W^*-W)\,(W_{j-1}\cdots W_1)^\top .
#
# Let :math:`W^*=U\,\mathrm{diag}(\sigma_1^*,\sigma_2^*,\dots)\,V^\top` be a singular value decomposition. Start with
# layers that share its directions: :math:`W_1=\sigma_0^{1/N}Q_1V^\top`, :math:`W_j=\sigma_0^{1/N}Q_jQ_{j-1}^\top`, …,
# :math:`W_N=\sigma_0^{1/N}UQ_{N-1}^\top`, where all :math:`Q_j` have orthonormal columns. Put this into the equation:
# each right-hand side is of the same form, with a diagonal matrix in the middle. So the directions never turn, and
# every one of them, every **mode**, is by itself. Its value is :math:`\sigma=w^N`, where each of the :math:`N` layers
# holds one factor :math:`w`, and :math:`\dot w=w^{N-1}(\sigma^*-w^N)`. By :math:`\dot\sigma=Nw^{N-1}\dot w`
#
# .. math:: \dot\sigma=N\,\sigma^{2-2/N}\,(\sigma^*-\sigma),\qquad \sigma(0)=\sigma_0 .
#
# At :math:`N=1` the first factor is 1 and this is linear regression. At :math:`N\ge2` a small value moves slowly,
# since it stands in its own way: it rests for long, then rises at once, and the larger :math:`\sigma^*` is, the
# sooner. For :math:`N=2` the solution is the logistic curve
#
# .. math:: \sigma(t)=\frac{\sigma_0\,\sigma^*e^{2\sigma^*t}}{\sigma^*+\sigma_0\,(e^{2\sigma^*t}-1)} ,
#
# and :math:`\sigma=\tfrac12\sigma^*` is reached at :math:`t=\ln(\sigma^*/\sigma_0-1)/(2\sigma^*)`. The package has the
# solution for every depth. The papers divide the loss by :math:`N` to have one clock for all depths: their time is
# :math:`Nt`, and ``la.theory.training_time`` converts.

target = np.diag([4.0, 2.0, 1.0, 0.5])
problem, sigma_0 = la.problems.whitened(target), 1e-3
half = {n: la.theory.training_time.time_to(problem.modes / 2, problem.modes, sigma_0, n) for n in (1, 2, 3)}
for n, times in half.items():
    print(f"depth {n}: half learnt at t =", np.round(times, 2))

# %%
# Train, and compare
# ------------------
#
# Nothing was trained so far. Now three networks are, by gradient descent with small steps, which knows only the loss
# and the layers. Its time is the size of a step times their number.
STEP = 2e-3


def trained(depth, until):
    net = la.models.DeepLinear((4, *[8] * (depth - 1), 4))
    start = la.starts.aligned(net, target, start_scale=sigma_0)
    at = np.linspace(0, until / STEP, 200).astype(int)
    return la.descend(net, problem, start, step_size=STEP, steps=at[-1], at=at, record=("singular_values",))


runs = {n: trained(n, until) for n, until in {1: 5.0, 2: 12.0, 3: 24.0}.items()}
shades = plt.colormaps[style.FIELD_MAP](np.linspace(0.25, 0.82, 4))  # ordered, as the modes are
figure, axes = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained", sharey=True)
worst = 0.0
for (n, run), ax in zip(runs.items(), axes, strict=True):
    time, values = STEP * run.step.values, run.singular_values.values
    forecast = la.theory.training_time.singular_values(time, problem.modes, sigma_0, n)
    worst = max(worst, np.max(np.abs(values - forecast) / problem.modes))
    for i, colour in enumerate(shades):
        ax.plot(time, values[:, i], color=colour, lw=style.MEASURED_WIDTH)
        ax.plot(time, forecast[:, i], color=style.LIGHT.ink, lw=style.THEORY_WIDTH)
        ax.plot(half[n][i], problem.modes[i] / 2, "o", color=style.LIGHT.ink, ms=3.5, zorder=5)
        ax.annotate(
            f"σ* = {problem.modes[i]:g}", (time[-1], problem.modes[i]), (0, 3), textcoords="offset points",
            ha="right", va="bottom", color=colour,
        )  # fmt: skip
    ax.set(xlabel="time $t$", title=f"depth {n}", ylim=(0, 4.6))
axes[0].set_ylabel("singular values of $W$")
figure.supxlabel(
    f"Coloured: trained. Thin: forecast, with its half-rise times as dots. They differ by at most {worst:.1%} of σ*, as "
    "steps are no flow.\nAt depth 1 all modes rise together; at depth 3 the weakest begins when the strongest has long "
    "been learnt.",
    fontsize=8.5,
)

# %%
# **Play**: :preset:`gissin-f2` in the explorer has one panel for each depth, and bars to drag.
#
# **Checked by** :claim:`gissin-t1` (the closed solution, at any depth and scale), :claim:`gissin-f2` (this picture,
# after the paper's) and :claim:`gissin-t4` (matrices instead of numbers).
#
# Exercises
# ---------
#
# **Exercise 1.** Solve :math:`\dot\sigma=2\sigma(\sigma^*-\sigma)` by partial fractions, and find when half of
# :math:`\sigma^*` is learnt.
#
# .. solution:: lesson_01.exercise_1
#
# **Exercise 2.** Let :math:`N=1`, :math:`\Lambda_{xx}=\mathrm{diag}(\lambda_1,\dots,\lambda_d)` and
# :math:`\Lambda_{yx}` diagonal as well, with entries :math:`s_i`. At which speed is each entry learnt, and towards
# what? Which of the two depends on the labels?
#
# .. solution:: lesson_01.exercise_2
#
# **Exercise 3.** How does the half-rise time grow as the start :math:`\sigma_0` tends to zero, at depth 2 and at depth
# 3? By which factor does the weaker of two modes come later in that limit?
#
# .. solution:: lesson_01.exercise_3
