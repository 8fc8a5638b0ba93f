r"""
3 · End-to-end dynamics
=======================

From a balanced start, the product of the layers moves by an equation of its own. The layers are gone from it; what is
left of them is a preconditioner that speeds up the directions in which the network has already moved.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import lineament as la
from lineament.report import style

jax.config.update("jax_enable_x64", True)
plt.rcParams.update(style.rc(style.LIGHT))

# %%
# An equation without layers
# --------------------------
#
# By the product rule and the gradient of each layer, :math:`W=W_n\cdots W_1` moves by
#
# .. math:: \dot W=-\sum_{j=1}^nL_j\,\nabla\ell(W)\,R_j
#
# with :math:`L_j=(W_n\cdots W_{j+1})(W_n\cdots W_{j+1})^\top` and :math:`R_j=(W_{j-1}\cdots W_1)^\top(W_{j-1}\cdots
# W_1)`.
#
# Let the start be balanced; by lesson 2 the layers then are balanced at all times, :math:`W_{j+1}^\top
# W_{j+1}=W_jW_j^\top`. So neighbours have the same singular values, and the right singular vectors of :math:`W_{j+1}`
# can be chosen as the left ones of :math:`W_j`: there are orthonormal :math:`Q_j` and one diagonal matrix :math:`D`
# with :math:`W_j=Q_jDQ_{j-1}^\top`. In products of neighbours all inner :math:`Q_j` cancel. With :math:`U=Q_n` and
# :math:`V=Q_0`
#
# .. math:: L_j=UD^{2(n-j)}U^\top=[WW^\top]^{\frac{n-j}n},\qquad R_j=VD^{2(j-1)}V^\top=[W^\top W]^{\frac{j-1}n} ,
#
# since :math:`W=UD^nV^\top`.
#
# Put in, and count the sum from its other end:
#
# .. math:: \dot W=-\sum_{j=1}^n\,[WW^\top]^{\frac{j-1}n}\;\nabla\ell(W)\;[W^\top W]^{\frac{n-j}n} .
#
# It holds for every loss and every shape, and knows of the network only its depth :math:`n`.
#
# What it does
# ------------
#
# Write :math:`W=\sum_r\sigma_ru_rv_r^\top`, with :math:`u_r,v_r` the singular vectors. In the basis
# :math:`u_rv_q^\top` the right-hand side is diagonal: the gradient's part along :math:`u_rv_q^\top` is multiplied by
#
# .. math:: p_{rq}=\sum_{j=1}^n\sigma_r^{2(n-j)/n}\,\sigma_q^{2(j-1)/n} .
#
# These are the eigenvalues of a *preconditioner*. For :math:`n=1` all are 1. For :math:`n\ge2` they are large where
# :math:`W` is large: directions already taken are promoted, those not yet taken wait. With one output,
# :math:`W=w^\top` is a row, and the equation becomes (exercise 1)
#
# .. math:: \dot w=-\|w\|^{2-2/n}\bigl(\nabla\ell+(n-1)\,\mathrm{proj}_w\nabla\ell\bigr) ,
#
# where :math:`\mathrm{proj}_w` projects on the line through :math:`w`: what of the gradient lies along :math:`w`
# counts :math:`n` times.
#
# See it turn
# -----------
#
# Two inputs, one output: the loss :math:`\tfrac12\|w-w^*\|^2` can be drawn. Its gradient points straight at
# :math:`w^*`, so one layer walks there on a straight line. Deeper networks first lengthen :math:`w` in the direction
# in which it happens to start, and turn late. The thin lines are computed from the equation above, without layers; the
# coloured ones train all layers.

goal, begin = np.array([[1.6, 0.9]]), np.array([[0.15, 0.5]])
problem = la.problems.whitened(goal)
depths = (1, 2, 4)


def trained(depth):
    net = la.models.DeepLinear((2, *[2] * (depth - 1), 1))
    start = la.starts.balanced(net, map=begin)
    step = 2e-3
    run = la.descend(
        net, problem, start, step_size=step, steps=6000, at=np.arange(0, 6001, 20), record=("end_to_end",)
    )
    forecast = la.theory.end_to_end.trajectory(step * run.step.values, begin, lambda W: W - goal, depth)
    return run.end_to_end.values[:, 0], forecast[:, 0]


figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
x, y = np.meshgrid(np.linspace(-0.1, 2.1, 80), np.linspace(-0.1, 1.4, 80))
left.contour(x, y, (x - goal[0, 0]) ** 2 + (y - goal[0, 1]) ** 2, 9, colors=style.LIGHT.grid, linewidths=0.8)
shades, worst = plt.colormaps[style.FIELD_MAP](np.linspace(0.25, 0.82, 3)), 0.0
places = {1: (0.85, 0.58), 2: (0.95, 0.81), 4: (0.42, 1.0)}
for depth, colour in zip(depths, shades, strict=True):
    path, forecast = trained(depth)
    worst = max(worst, np.abs(path - forecast).max())
    left.plot(*path.T, color=colour, lw=style.MEASURED_WIDTH)
    left.plot(*forecast.T, color=style.LIGHT.ink, lw=style.THEORY_WIDTH)
    left.text(*places[depth], f"depth {depth}", color=colour)
left.plot(*begin[0], "o", color=style.LIGHT.ink, ms=4)
left.plot(*goal[0], "*", color=style.LIGHT.ink, ms=9)
left.annotate("start", begin[0], (-4, -12), textcoords="offset points", ha="center")
left.annotate("$w^*$", goal[0], (6, 2), textcoords="offset points")
left.set(xlabel="$w_1$", ylabel="$w_2$", title="paths of the product", aspect="equal", ylim=(0.2, 1.3))
sigma = np.linspace(0, 2, 200)
for depth, colour in zip(depths, shades, strict=True):
    along, across = depth * sigma ** (2 - 2 / depth), sigma ** (2 - 2 / depth)
    right.plot(sigma, along, color=colour)
    right.plot(sigma, across, color=colour, ls="--")
    right.annotate(
        f"depth {depth}", (2, along[-1]), (4, -3), textcoords="offset points", color=colour, annotation_clip=False
    )
right.text(1.02, 7.6, "solid: along $w$\ndashed: across it", ha="right")
right.set(
    xlabel="length of $w$",
    ylabel="factor before the gradient",
    title="the preconditioner",
    xlim=(0, 2),
    ylim=(0, None),
)
figure.supxlabel(
    f"Layers (coloured, descent with steps of 0.002) and equation (thin) differ by at most {worst:.0e}. "
    "At depth 4 and length 2,\nthe gradient counts 11 times along $w$ and 2.8 times across it; at length ½ it is 1.4 "
    "and 0.35 times.",
    fontsize=8.5,
)

# %%
# **Play**: :preset:`cohen-t1` and :preset:`cohen-x1` draw this field for any depth; drag the start.
#
# **Checked by** :claim:`cohen-t1` (the equation against the layers, six depths, many losses), :claim:`cohen-c1` (the
# preconditioner), :claim:`cohen-r1` (no function has this field for its gradient), :claim:`cohen-x1` and
# :claim:`cohen-x2` (the exercises).
#
# Exercises
# ---------
#
# **Exercise 1** (exercise 1 of the lecture notes). Simplify the end-to-end dynamics for a single output, and explain
# how the result fits the reading that directions already taken are promoted.
#
# .. solution:: lesson_03.exercise_1
#
# **Exercise 2** (exercise 2 of the lecture notes). A symmetric network computes :math:`WW^\top` with one square matrix
# :math:`W`; its loss is :math:`\ell(WW^\top)`. Derive an equation for :math:`W_s=WW^\top` that does not mention
# :math:`W`.
#
# .. solution:: lesson_03.exercise_2
#
# **Exercise 3.** Write the end-to-end dynamics for the vector :math:`\mathrm{vec}(W)`, which stacks the columns of
# :math:`W`, and show that the preconditioner has the eigenvalues :math:`p_{rq}`, with :math:`\sigma_r=0` beyond the
# rank.
#
# .. solution:: lesson_03.exercise_3
