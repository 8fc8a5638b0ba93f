r"""
11 · Principal components and learning order
============================================

Real inputs are not white. Then even a linear network learns in an order, and the data alone decide which: the
directions of largest variance first. This is the principal components bias. It makes networks agree about which
examples are easy.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import lineament as la
from lineament.report import style

jax.config.update("jax_enable_x64", True)
plt.rcParams.update(style.rc(style.LIGHT))

# %%
# One step of descent
# -------------------
#
# The loss is :math:`\tfrac12E\|Wx-y\|^2` with :math:`W=W_L\cdots W_1`. Its gradient with respect to :math:`W` is the
# *error matrix* :math:`E_r=W\Lambda_{xx}-\Lambda_{yx}` with the moments of lesson 1. One step of size :math:`\mu` on
# all layers changes the product by
#
# .. math:: W^+=W-\mu\sum_{l=1}^LA_l\,E_r\,B_l+O(\mu^2),
#
# where :math:`A_l=(W_L\cdots W_{l+1})(W_L\cdots W_{l+1})^\top` and :math:`B_l=(W_{l-1}\cdots W_1)^\top(W_{l-1}\cdots
# W_1)` are the *gradient scale matrices*; in lesson 3 they were powers of :math:`W`, because the layers were balanced.
#
# Wide layers with random weights are another case. If the weights of layer :math:`l` are independent with variance
# :math:`2/(m_{l-1}+m_l)`, where :math:`m_l` are the widths, and :math:`1/m_1`, :math:`1/m_{L-1}` in the first and last
# layer, and hidden widths are equal, then :math:`E\,A_l=I` and :math:`E\,B_l=I`, and the spread of their entries is of
# order :math:`1/m`. As long as they stay near :math:`I`, the step is
#
# .. math:: W^+=W-\mu L\,(W\Lambda_{xx}-\Lambda_{yx}) :
#
# linear regression with steps :math:`L` times as large. Turn to the *principal components* of the inputs,
# :math:`\Lambda_{xx}=UDU^\top` with variances :math:`d_1\ge d_2\ge\dots`. The column :math:`w_j` of :math:`WU` obeys
#
# .. math:: w_j(s)=\lambda_j^s\,w_j(0)+(1-\lambda_j^s)\,w_j^{\mathrm{opt}},\qquad \lambda_j=1-\mu Ld_j ,
#
# after :math:`s` steps, where :math:`w_j^{\mathrm{opt}}` is the least-squares solution. **The rate is the variance of
# the component.** The labels say where each column ends, not when. (The papers count moments as sums over examples,
# and print the exponent one too low.)
#
# Train
# -----
#
# Eight components with variances from 1 to 1/128, two layers of width 2000, one output; and the same task after the
# inputs were whitened. The solution is small against the layers: a large one moves :math:`A_l` and :math:`B_l` away
# from :math:`I` as it is learnt. (Make ``optimum`` ten times as large, and the last component comes 1.8 times earlier
# than forecast.)
rng = np.random.default_rng(0)
variance = 2.0 ** -np.arange(8)
optimum = 0.1 * np.sign(rng.normal(size=(1, 8)))
net = la.models.DeepLinear((8, 2000, 1))
start = la.starts.isometric(net, 0)
STEP, STEPS = 0.1, 4000
at = np.unique(np.r_[0, np.geomspace(1, STEPS, 120).astype(int)])


def trained(d):
    problem = la.problems.regression_from_moments(np.diag(d), optimum * d, np.eye(1) * 10)
    run = la.descend(net, problem, start, step_size=STEP, steps=STEPS, at=at, record=("end_to_end",))
    W = run.end_to_end.values
    forecast = la.theory.pc_bias.convergence(at, d, W[0], optimum * d, STEP, scale=2.0)
    return np.abs(W[:, 0] - optimum[0]), np.abs(forecast[:, 0] - optimum[0])


def half(distance):
    """The step at which half of the way is done, interpolated between records."""
    share = distance / distance[0]
    return np.array([np.interp(-0.5, -share[:, j], at) for j in range(8)])


shades = plt.colormaps[style.FIELD_MAP](np.linspace(0.25, 0.82, 8))
figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.5), layout="constrained")
distance, forecast = trained(variance)
white, _ = trained(np.ones(8))
for j in range(8):
    left.semilogx(at[1:], (distance / distance[0])[1:, j], color=shades[j], lw=style.MEASURED_WIDTH)
    left.semilogx(at[1:], (forecast / forecast[0])[1:, j], color=style.LIGHT.ink, lw=style.THEORY_WIDTH)
left.annotate("$d_1=1$", (half(distance)[0], 0.5), (-6, -12), textcoords="offset points", ha="right", color=shades[0])
left.annotate("$d_8=1/128$", (half(distance)[7], 0.5), (10, 4), textcoords="offset points", color=shades[7])
left.set(xlabel="step", ylabel="share left to learn", title="along the principal components")
blue, orange = style.LIGHT.palette[:2]
right.loglog(variance, half(distance), "o", color=blue, ms=5)
right.loglog(variance, half(white), "o", color=orange, ms=5)
right.loglog(variance, np.log(2) / -np.log1p(-2 * STEP * variance), color=style.LIGHT.ink, lw=style.THEORY_WIDTH)
right.annotate("raw inputs", (variance[5], half(distance)[5]), (12, -6), textcoords="offset points", color=blue)
right.annotate(
    "whitened", (variance[5], half(white)[5]), (0, 8), textcoords="offset points", color=orange, ha="center"
)
right.invert_xaxis()
right.set(xlabel="variance $d_j$ (falling)", ylabel="step at which half is learnt", title="the order of learning")
worst = np.max(np.abs(distance - forecast) / distance[0])
slope = np.polyfit(np.log(variance), np.log(half(distance)), 1)[0]
spread = half(white).max() / half(white).min()
figure.supxlabel(
    f"Left: trained (coloured) and forecast for infinite width (thin) differ by at most {worst:.1%}.\nRight: the step "
    f"at which half is learnt grows as the variance to the power −{-slope:.2f}; theory says −1. Whitened, all come "
    f"within a factor {spread:.2f}.",
    fontsize=8.5,
)

# %%
# What it means
# -------------
#
# Networks with different starts, and even of different kinds, learn the same components first, so they get the same
# *examples* right first. Noise in the labels is learnt late, since most of what it does to the solution lies along
# components of small variance: this is why stopping early helps, and why whitening, which removes the order, removes
# the help too.
#
# **Play**: :preset:`hacohen-eq10` and :preset:`hacohen-f9` (when to stop), on a table of your own if you like.
#
# **Checked by** :claim:`hacohen-t1`, :claim:`hacohen-t3`, :claim:`hacohen-t4` (one step, and the scale matrices),
# :claim:`hacohen-t2` and :claim:`hacohen-eq10` (through training), :claim:`hacohen-f4` (non-linear networks too),
# :claim:`hacohen-f6a` and :claim:`hacohen-f7` (the order of examples), :claim:`hacohen-f9` (early stopping).
#
# Exercises
# ---------
#
# **Exercise 1.** Derive the change of :math:`W` in one step, and confirm that what is left out is of order
# :math:`\mu^2`.
#
# .. solution:: lesson_11.exercise_1
#
# **Exercise 2.** Show that :math:`E\,W_1^\top W_1=I` for the start of this lesson with two layers, and find the
# variance of its diagonal entries.
#
# .. solution:: lesson_11.exercise_2
#
# **Exercise 3.** Labels are :math:`y=w^*\cdot x+\text{noise}`. Find the expected error on new inputs over time when a
# linear model is trained from zero by gradient flow, and when to stop if all components have the same variance.
#
# .. solution:: lesson_11.exercise_3
