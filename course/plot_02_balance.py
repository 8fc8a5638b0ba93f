r"""
2 · Balance and conservation
============================

Every pair of neighbouring layers carries a quantity that training cannot change. It is fixed by the start, and it
decides how a network learns.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import lineament as la
from lineament.report import style

jax.config.update("jax_enable_x64", True)
plt.rcParams.update(style.rc(style.LIGHT))

# %%
# What cannot change
# ------------------
#
# Let :math:`\ell` be any differentiable loss of a matrix, and :math:`\phi(W_1,\dots,W_n)=\ell(W_n\cdots W_1)` the loss
# of a linear network of depth :math:`n`. Write :math:`G=\nabla\ell(W)` for the gradient at the product
# :math:`W=W_n\cdots W_1`, :math:`A=W_n\cdots W_{j+2}` for the layers above a pair of neighbours, and
# :math:`B=W_{j-1}\cdots W_1` for those below. Gradient flow moves the pair by
#
# .. math:: \dot W_{j+1}=-A^\top G\,(W_jB)^\top,\qquad \dot W_j=-(AW_{j+1})^\top G\,B^\top .
#
# Multiply the first by :math:`W_{j+1}^\top` from the left, the second by :math:`W_j^\top` from the right. Both become
# :math:`-W_{j+1}^\top A^\top GB^\top W_j^\top`, so
#
# .. math:: W_{j+1}^\top\dot W_{j+1}=\dot W_jW_j^\top .
#
# Add the transpose to each side: left stands the derivative of :math:`W_{j+1}^\top W_{j+1}`, right that of
# :math:`W_jW_j^\top`. Their difference
#
# .. math:: C_j=W_{j+1}^\top W_{j+1}-W_jW_j^\top
#
# is therefore constant: along gradient flow, on every loss, for every shape of the layers. It is a symmetric matrix
# with one row for each hidden unit. Its trace says that :math:`\|W_{j+1}\|_F^2-\|W_j\|_F^2` is constant too: no layer
# can grow alone.
#
# Layers are *balanced* if all :math:`C_j=0`. The *unbalancedness* is the largest :math:`\|C_j\|_F`. A start with small
# entries has a small unbalancedness, and keeps it while the layers grow: in the end it is balanced for all practical
# purposes. This is why the theory of small starts may assume balance.
#
# Descent is not flow
# -------------------
#
# One step of size :math:`\eta` of gradient *descent*, :math:`W_j^+=W_j-\eta G_j` with :math:`G_j` the gradient of
# layer :math:`j`, changes :math:`C_j` by
#
# .. math:: \eta^2\,(G_{j+1}^\top G_{j+1}-G_jG_j^\top)
#
# and nothing else, since the terms of order :math:`\eta` cancel as above (exercise 2). To cover a time :math:`t` takes
# :math:`t/\eta` steps, so the drift over a fixed time is proportional to :math:`\eta`. We train the same network with
# eight sizes of steps.

rng = np.random.default_rng(0)
problem = la.problems.whitened(np.diag([3.0, 1.0, 0.5]))
net = la.models.DeepLinear((3, 4, 3))
start = (jnp.asarray(0.9 * rng.normal(size=(4, 3))), jnp.asarray(0.3 * rng.normal(size=(3, 4))))
etas = np.geomspace(1e-3, 0.1, 8)
drifts = []
for eta in etas:
    steps = round(5 / eta)
    run = la.descend(net, problem, start, step_size=eta, steps=steps, at=(0, steps), record=("loss",))
    drifts.append(float(np.linalg.norm(la.measure.conserved(run.final)[0] - la.measure.conserved(start)[0])))
slope = np.polyfit(np.log(etas), np.log(drifts), 1)[0]
print(f"drift of C over t = 5 grows as the step to the power {slope:.2f}")

# %%
# And along gradient flow, where nothing drifts while both layers move:
layers = la.Record("norms", lambda model, problem, W: jnp.stack([jnp.sum(w**2) for w in W]), ("layer",))
flow = la.flow(net, problem, start, until=5.0, record=(layers,))
norms = flow.norms.values
kept = np.linalg.norm(la.measure.conserved(flow.final)[0] - la.measure.conserved(start)[0])

blue, orange, *_ = style.LIGHT.palette
figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.3), layout="constrained")
for k, (name, colour, drop) in enumerate((("$\\|W_1\\|_F^2$", blue, 5), ("$\\|W_2\\|_F^2$", orange, -14))):
    left.plot(flow.time, norms[:, k], color=colour, lw=style.MEASURED_WIDTH)
    left.annotate(name, (4.9, norms[-1, k]), (0, drop), textcoords="offset points", ha="right", color=colour)
left.plot(flow.time, norms[:, 0] - norms[:, 1], color=style.LIGHT.ink, lw=style.THEORY_WIDTH)
left.annotate("difference", (4.9, norms[0, 0] - norms[0, 1]), (0, 4), textcoords="offset points", ha="right")
left.set(xlabel="time $t$", ylabel="squared norm", title="gradient flow", ylim=(0, 8))
right.loglog(etas, drifts, "o", color=blue, ms=5)
right.loglog(etas, drifts[0] * etas / etas[0], color=style.LIGHT.ink, lw=style.THEORY_WIDTH)
right.annotate(
    "proportional to η", (etas[4], drifts[0] * etas[4] / etas[0]), (-8, 10), textcoords="offset points", ha="right"
)
right.set(xlabel="size η of a step", ylabel="drift of $C_1$ over $t=5$", title="gradient descent")
figure.supxlabel(
    f"Left: both layers grow, and what is conserved changes by {kept:.0e}. "
    f"Right: with steps, the drift is η to the power {slope:.2f}; theory says 1.",
    fontsize=8.5,
)

# %%
# **Play**: :preset:`beyond-lazy-rich` has a slider for the imbalance of two layers. Move it, and watch the learning
# curve change from a sigmoid to an exponential; lesson 7 says why.
#
# **Checked by** :claim:`cohen-l1` (conservation on many losses, and its slope under descent), :claim:`cohen-p2` and
# :claim:`cohen-a1` (every matrix has a balanced factorisation).
#
# Exercises
# ---------
#
# **Exercise 1.** A network with one input, one hidden unit and one output has two weights, :math:`b` below and
# :math:`a` above, and computes :math:`\sigma=ab`. What is conserved? On the loss :math:`\tfrac12(\sigma^*-ab)^2`, find
# an equation for :math:`\sigma` alone.
#
# .. solution:: lesson_02.exercise_1
#
# **Exercise 2.** Show that one step of gradient descent changes :math:`C_j` by exactly :math:`\eta^2(G_{j+1}^\top
# G_{j+1}-G_jG_j^\top)`.
#
# .. solution:: lesson_02.exercise_2
#
# **Exercise 3.** Given any matrix :math:`W` and hidden widths that are at least its rank, find balanced layers with
# the product :math:`W`.
#
# .. solution:: lesson_02.exercise_3
