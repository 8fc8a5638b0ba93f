r"""
8 · Tensors
===========

A linear network factorises a matrix. Factorise a tensor in the same way and the network is no longer linear; but its
parts still rise one after the other, and still the more sharply, the more factors there are.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import lineament as la
from lineament.report import style

jax.config.update("jax_enable_x64", True)
plt.rcParams.update(style.rc(style.LIGHT))

# %%
# Components
# ----------
#
# A tensor of order :math:`N` is an array with :math:`N` indices. Its simplest kind is an outer product
# :math:`w^1\otimes\dots\otimes w^N` of vectors, with entries :math:`w^1_{i_1}\cdots w^N_{i_N}`. Write a tensor as a
# sum of :math:`R` of them,
#
# .. math:: T=\sum_{r=1}^R w_r^1\otimes\dots\otimes w_r^N ,
#
# and train all vectors on a loss :math:`\ell(T)`. For :math:`N=2` this is a linear network with two layers and
# :math:`R` hidden units (exercise 3). For :math:`N\ge3` it is a network whose units multiply. The least :math:`R` that
# suffices for a tensor is its *CP rank*. It plays the part of the rank of a matrix, but is hard even to compute.
#
# What one component does
# -----------------------
#
# Fix :math:`r` and write :math:`\langle\cdot,\cdot\rangle` for the sum of products of all entries. The gradient with
# respect to :math:`w_r^n` leaves out that one factor:
#
# .. math:: \langle w_r^n,\dot w_r^n\rangle=\langle-\nabla\ell(T),\,w_r^1\otimes\dots\otimes w_r^N\rangle .
#
# The right side does not depend on :math:`n`. So :math:`\|w_r^n\|^2-\|w_r^m\|^2` is conserved for all :math:`n,m`:
# lesson 2 again. Let all vectors of a component start with the same norm, then they keep it. The *norm of the
# component* is :math:`\sigma_r=\prod_n\|w_r^n\|`, so each vector has the norm :math:`\sigma_r^{1/N}`, and with unit
# vectors :math:`\hat w_r^n`
#
# .. math:: \dot\sigma_r=N\,\sigma_r^{2-2/N}\;\langle-\nabla\ell(T),\,\hat w_r^1\otimes\dots\otimes\hat w_r^N\rangle .
#
# Compare it with lesson 5: **the order of the tensor stands where the depth of the network stood**. From a small start
# a component rests, rises at once, and what need not rise stays at zero: low CP rank without asking for it.
#
# Complete a tensor
# -----------------
#
# A :math:`6\times6\times6` tensor with two components, of norm 3 and 1.5; 60 % of its entries are known. The
# factorisation has twelve components, from a small start and from a large one.
rng = np.random.default_rng(3)
vectors = [np.linalg.qr(rng.normal(size=(6, 2)))[0] for _ in range(3)]
truth = np.einsum("r,ir,jr,kr->ijk", [3.0, 1.5], *vectors)
seen = np.argwhere(rng.random(truth.shape) < 0.6)
problem = la.problems.tensor_completion(seen, truth[tuple(seen.T)], truth.shape, reduction="sum")
model = la.models.CP(truth.shape, components=12)
norms = la.Record("norms", lambda model, problem, w: model.component_norms(w)[:6], ("component",))
STEP, STEPS = 0.02, 12_000


def trained(scale):
    start = la.starts.balanced_components(model, 0, scale)
    at = np.arange(0, STEPS + 1, 20)
    run = la.descend(model, problem, start, step_size=STEP, steps=STEPS, at=at, record=("loss", norms))
    error = np.linalg.norm(np.asarray(model.end_to_end(run.final)) - truth) / np.linalg.norm(truth)
    return STEP * run.step.values, run.norms.values, error


scales = (1.0, 1e-3, 1e-5)
figure, axes = plt.subplots(1, 3, figsize=(9.4, 3.3), layout="constrained", sharey=True)
shades = plt.colormaps[style.FIELD_MAP](np.linspace(0.25, 0.82, 6))
errors, counts = [], []
for ax, scale in zip(axes, scales, strict=True):
    time, values, error = trained(scale)
    errors.append(error)
    counts.append(int(np.sum(values[-1] > 0.1)))
    for level in (3.0, 1.5):
        ax.axhline(level, color=style.LIGHT.guide, lw=style.GUIDE_WIDTH, ls="--", zorder=1)
    for k in range(6):
        ax.plot(time, values[:, k], color=shades[k], lw=style.MEASURED_WIDTH)
    ax.set(xlabel="time $t$", title=f"start {scale:g}: error {error:.0%}", ylim=(-0.1, 3.3))
axes[0].annotate("norms of the truth", (time[-1], 3.0), (0, -12), textcoords="offset points", ha="right")
axes[0].set_ylabel("norms of the six largest components")
figure.supxlabel(
    f"The smaller the start, the more the components rise one after the other: {counts[0]}, {counts[1]} and {counts[2]} "
    f"of the six end above 0.1.\nThe error over all entries, seen and unseen, falls from {errors[0]:.0%} to "
    f"{errors[1]:.0%} and {errors[2]:.1%}.",
    fontsize=8.5,
)

# %%
# **Play**: a component that is aligned with the truth is a mode of depth :math:`N` (exercise 2), and
# :preset:`gissin-t4` draws it; set the depth to the order of the tensor.
#
# **Checked by** :claim:`cohen-s5cp` (this experiment, over ranks and numbers of entries) and :claim:`cohen-s5ht`
# (trees of factorisations, which are deep networks).
#
# Exercises
# ---------
#
# **Exercise 1.** Follow the flow of a factorisation of order 3 from an *unbalanced* start, and check that differences
# of squared norms are conserved.
#
# .. solution:: lesson_08.exercise_1
#
# **Exercise 2.** The truth is one component of norm :math:`\sigma^*` and all of its entries are known, the loss is
# :math:`\tfrac12\|T-T^*\|^2`. One component starts in its direction, with norm :math:`\sigma_0`. Find the equation of
# its norm, for every order :math:`N`.
#
# .. solution:: lesson_08.exercise_2
#
# **Exercise 3.** Show that for :math:`N=2` the factorisation with :math:`R` components is a linear network with
# :math:`R` hidden units. Which quantity of lesson 2 is then conserved beside the differences of norms?
#
# .. solution:: lesson_08.exercise_3
