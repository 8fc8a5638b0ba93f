r"""
5 · Implicit bias and completion
================================

Many matrices agree with the entries that were seen. Which of them does training find? Not the one of least norm, as
one might hope: depth prefers low rank, and there is a case where every norm grows without end.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import lineament as la
from lineament.report import style

jax.config.update("jax_enable_x64", True)
plt.rcParams.update(style.rc(style.LIGHT))

# %%
# How singular values move
# ------------------------
#
# *Matrix completion*: only some entries :math:`(i,j)` of a matrix are known, their values are :math:`b_{ij}`, and the
# loss is :math:`\ell(W)=\tfrac1{2m}\sum(W_{ij}-b_{ij})^2`, the sum over the :math:`m` known entries. It has many
# minima, and says nothing of the unknown entries.
#
# Along gradient flow from a balanced start, write :math:`W=\sum_r\sigma_ru_rv_r^\top` with singular values and vectors
# that depend smoothly on time; :math:`\sigma_r` may then become negative. Since :math:`u_r` and :math:`v_r` keep their
# length, :math:`\dot u_r\perp u_r` and :math:`\dot v_r\perp v_r`, so that :math:`\dot\sigma_r=u_r^\top\dot Wv_r`. Put
# in the end-to-end dynamics of lesson 3: every power of :math:`WW^\top` or :math:`W^\top W` becomes a power of
# :math:`\sigma_r^2`, and the :math:`n` addends become equal,
#
# .. math:: \dot\sigma_r=n\,(\sigma_r^2)^{1-1/n}\,\langle-\nabla\ell(W),\,u_rv_r^\top\rangle .
#
# A singular value moves the faster the larger it is, and the more of the descent direction lies along it. From a small
# start one after the other rises, and whatever need not rise stays small: **low rank without asking for it**.
#
# The sign of the determinant
# ---------------------------
#
# For :math:`n\ge2` the equation above has the solution :math:`\sigma_r=0`, and solutions are unique there, so a
# singular value that is not zero never becomes zero. Therefore the determinant of a square :math:`W` keeps its sign
# for ever.
#
# Now let the known entries of a :math:`2\times2` matrix be :math:`w_{12}=w_{21}=1` and :math:`w_{22}=0`. Whatever
# :math:`w_{11}` is, the determinant of a solution is :math:`0\cdot w_{11}-1=-1`. Begin with a positive determinant:
# then :math:`w_{11}w_{22}>w_{12}w_{21}` always. As the loss falls, the right side tends to 1 and :math:`w_{22}` to 0,
# so :math:`w_{11}` must grow without bound. Let :math:`e=\sqrt{6\ell}`, the length of the residuals; then
# :math:`|w_{11}|\ge1/e-1`, and **every norm** of :math:`W` is at least :math:`c\,\ell^{-1/2}+c'` with constants
# :math:`c>0` and :math:`c'`. No norm is being minimised.

corner = la.problems.completion([0, 1, 1], [1, 0, 1], [1.0, 1.0, 0.0], (2, 2))
net = la.models.DeepLinear((2, 2, 2, 2))
begin = np.diag([0.1, 0.1])  # a positive determinant
at = np.unique(np.geomspace(1, 60_000, 300).astype(int))
run = la.descend(
    net, corner, la.starts.balanced(net, map=begin), step_size=0.05, steps=60_000, at=at,
    record=("loss", "end_to_end"),
)  # fmt: skip
loss, W = run.loss.values, run.end_to_end.values
norms = {name: la.theory.two_by_two.size(W, name) for name in ("nuclear", "frobenius", "spectral")}
print(f"loss {loss[-1]:.1e}, spectral norm {norms['spectral'][-1]:.1f}, determinant {np.linalg.det(W[-1]):.1e}")

# %%
# Low rank
# --------
#
# A random matrix of rank 2, of which about half of the entries are known. One layer never moves the unknown entries:
# it ends with the known values and the start elsewhere. Two layers, from a small start, come nearer to the truth, and
# three find it.
rng = np.random.default_rng(1)
truth = rng.normal(size=(10, 2)) @ rng.normal(size=(2, 10))
seen = rng.random((10, 10)) < 0.6
problem = la.problems.completion(*np.nonzero(seen), truth[seen], truth.shape, reduction="sum")
found = {1: np.where(seen, truth, 0.0)}
for depth in (2, 3):
    deep = la.models.DeepLinear((10,) * (depth + 1))
    start = la.starts.balanced(deep, 0, start_scale=1e-3)
    found[depth] = la.descend(
        deep, problem, start, step_size=0.01, steps=6000, record=("end_to_end",)
    ).end_to_end.values[-1]
errors = {depth: np.linalg.norm(W - truth) / np.linalg.norm(truth) for depth, W in found.items()}
ranks = {depth: float(la.measure.effective_rank(W)) for depth, W in found.items()}

palette, ink = style.LIGHT.palette, style.LIGHT.ink
figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.6), layout="constrained")
late = loss < 0.05
spread = max(float(np.max(np.abs(norm / norms["spectral"] - 1)[late])) for norm in norms.values())
left.loglog(loss[late], norms["frobenius"][late], color=palette[0], lw=style.MEASURED_WIDTH)
bound = la.theory.two_by_two.norm_bound(begin, loss[late])
left.loglog(loss[late], bound, color=ink, lw=style.THEORY_WIDTH)
middle = np.flatnonzero(late)[late.sum() // 2]
left.annotate("nuclear, Frobenius\nand spectral norm", (loss[middle], norms["frobenius"][middle]), (-8, 10),
              textcoords="offset points", ha="right", color=palette[0])  # fmt: skip
left.annotate("bound", (loss[late][20], bound[20]), (8, -6), textcoords="offset points")
left.invert_xaxis()
left.set(xlabel="loss (falling to the right)", ylabel="norm of $W$", title="every norm grows")
shades = plt.colormaps[style.FIELD_MAP](np.linspace(0.82, 0.25, 3))
index = np.arange(1, 11)
values = np.linalg.svd(truth, compute_uv=False)
right.plot(index, np.where(values > 1e-9, values, np.nan), "_", color=ink, ms=16, mew=1.5)
right.annotate("truth, rank 2", (2, values[1]), (12, 2), textcoords="offset points")
for (depth, W), colour in zip(found.items(), shades, strict=True):
    values = np.linalg.svd(W, compute_uv=False)
    right.plot(index, values, "o-", color=colour, ms=4, lw=1)
    right.text(5.2, 5.2 - 0.6 * depth, f"depth {depth}: error {errors[depth]:.0%}", color=colour)
right.set(
    xlabel="number $r$", ylabel="singular value $\\sigma_r$", title=f"{seen.sum()} of 100 entries seen", xticks=index
)
slope = np.polyfit(np.log(loss[-40:]), np.log(norms["spectral"][-40:]), 1)[0]
figure.supxlabel(
    f"Left: the three norms agree to {spread:.1%} and grow as the loss to the power −{-slope:.2f}; the bound has −½.\n"
    f"Right: effective ranks {ranks[1]:.1f}, {ranks[2]:.1f} and {ranks[3]:.1f} at depths 1, 2 and 3; "
    f"the truth's is {float(la.measure.effective_rank(truth)):.1f}.",
    fontsize=8.5,
)

# %%
# **Play**: :preset:`cohen-l2` starts on the wrong side of the determinant, and ends on a saddle.
#
# **Checked by** :claim:`cohen-t3` (the singular values' equation), :claim:`cohen-l2` (the determinant),
# :claim:`cohen-p5` (the norms), :claim:`cohen-f2` and :claim:`cohen-f3` (completion, against the matrix of least
# nuclear norm), :claim:`cohen-s44` (what it is good for: networks that can be compressed).
#
# Exercises
# ---------
#
# **Exercise 1** (exercise 4 of the lecture notes). Adapt the task and the proof so that every norm grows from a start
# with a *negative* determinant.
#
# .. solution:: lesson_05.exercise_1
#
# **Exercise 2.** Two layers learn :math:`W^*=\mathrm{diag}(2,1)` on white inputs, from a balanced start with a
# negative determinant. Where does the flow end, and at which loss?
#
# .. solution:: lesson_05.exercise_2
#
# **Exercise 3.** Show that one layer leaves the unknown entries of a completion task where they began. Why does that
# make it a poor method for completion, and why is it still a minimum of least norm?
#
# .. solution:: lesson_05.exercise_3
