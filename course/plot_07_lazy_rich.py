r"""
7 · Lazy and rich
=================

The same network can learn as a linear model on fixed features, or it can make features of its own. Which of the two it
does is decided by the size and the balance of the start.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import lineament as la
from lineament.report import style

jax.config.update("jax_enable_x64", True)
plt.rcParams.update(style.rc(style.LIGHT))

# %%
# One mode, two layers
# --------------------
#
# A mode of a two-layer network has a weight :math:`b` in the first layer and :math:`a` in the second; its value is
# :math:`\sigma=ab`. In lesson 2 we saw that :math:`\lambda=a^2-b^2` is conserved and that
#
# .. math:: \dot\sigma=k(\sigma)\,(\sigma^*-\sigma),\qquad k(\sigma)=a^2+b^2=\sqrt{\lambda^2+4\sigma^2} .
#
# The factor :math:`k` is the mode's *tangent kernel* (lesson 9): the speed at which it learns, per unit of error. Two
# limits:
#
# * **Lazy**, :math:`|\lambda|\gg\sigma^*`: the kernel stays at :math:`|\lambda|` and :math:`\sigma^*-\sigma` falls as
#   :math:`e^{-|\lambda|t}`. The weights hardly move relative to their size, and the network is a linear model with a
#   fixed kernel.
# * **Rich**, :math:`\lambda\to0`: the kernel grows with what is learnt, and the curve is the sigmoid of lesson 1.
#
# In between, :math:`\sigma(t)` is still a closed form: :math:`(a+b)^2` is a fraction of two linear functions of
# :math:`e^{-\kappa t}` with :math:`\kappa=k(\sigma^*)`. The package has it as ``la.theory.lambda_modes``.
#
# The layers in the end
# ---------------------
#
# Let :math:`W_1` (hidden × inputs) start as :math:`\sqrt{2\gamma}` times a matrix with orthonormal columns, and
# :math:`W_2=0`. The number :math:`\gamma` is the scale of the start. All data can be arbitrary. Conservation says
# :math:`W_1W_1^\top-W_2^\top W_2=2\gamma P`, where :math:`P` projects on the columns that :math:`W_1` has at the
# start; they contain all columns of :math:`W_1` at all times, so :math:`PW_1=W_1`. Multiply by :math:`W_1^\top` from
# the left and :math:`W_1` from the right. With the Gram matrix :math:`M=W_1^\top W_1` and the map :math:`W=W_2W_1`
#
# .. math:: M^2-W^\top W=2\gamma M .
#
# So :math:`M` and :math:`W^\top W` share their eigenvectors, and for the singular values :math:`\sigma_i` of :math:`W`
# and :math:`m_i` of :math:`W_1`, :math:`m_i^4-2\gamma m_i^2=\sigma_i^2`:
#
# .. math:: m_i=\Bigl(\sqrt{\sigma_i^2+\gamma^2}+\gamma\Bigr)^{1/2} .
#
# Directions that the labels do not need have :math:`\sigma_i=0` and keep :math:`m_i=\sqrt{2\gamma}`. For small
# :math:`\gamma` they vanish against the others: the first layer has become as low in rank as the task, it has *learnt
# features*. For large :math:`\gamma` all :math:`m_i` are about :math:`\sqrt{2\gamma}`: the first layer is as good as
# untouched. (The poster prints the formula without the square on :math:`\sigma_i`; that form fails.)
#
# Train
# -----
#
# Six inputs, two outputs, a map with singular values 3 and 1, from scales :math:`\gamma` over six orders of magnitude:
# seven networks, trained at once.
rng = np.random.default_rng(0)
truth = np.linalg.qr(rng.normal(size=(2, 2)))[0] @ np.diag([3.0, 1.0]) @ np.linalg.qr(rng.normal(size=(6, 2)))[0].T
net, problem, gammas = la.models.DeepLinear((6, 8, 2)), la.problems.whitened(truth), np.geomspace(1e-3, 1e2, 6)
starts = la.ensemble(lambda gamma: la.starts.shaped(net, 0, gamma), gammas)
run = la.flow(net, problem, starts, record=("loss",))
first = np.stack([np.linalg.svd(run.final[k][0], compute_uv=False) for k in range(len(gammas))])
forecast = np.stack([la.theory.lambda_modes.final_layer_singular_values([3.0, 1.0], gamma, 6).W1 for gamma in gammas])
worst = np.max(np.abs(first / forecast - 1))

balances, time = (0.0, 0.5, 2.0, 8.0, 32.0), np.geomspace(1e-3, 10, 300)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.6), layout="constrained")
shades = plt.colormaps[style.FIELD_MAP](np.linspace(0.25, 0.82, len(balances)))
for balance, colour, level in zip(balances, shades, (0.7, 1.1, 1.5, 1.9, 2.3), strict=True):
    sigma = la.theory.lambda_modes.trajectory(time, 3.0, 1e-3, balance)
    left.semilogx(time, sigma, color=colour, lw=style.MEASURED_WIDTH)
    when = float(la.theory.lambda_modes.time_to(level, 3.0, 1e-3, balance))
    left.text(
        when, level, f"λ = {balance:g}", color=colour, ha="center", va="center",
        bbox={"facecolor": style.LIGHT.paper, "edgecolor": "none", "pad": 1},
    )  # fmt: skip
left.set(xlabel="time $t$", ylabel="mode σ", title="from rich (λ = 0) to lazy (λ = 32)")
names = ("σ = 3", "σ = 1", "not needed")
for k, colour in zip((0, 1, 2), style.LIGHT.palette, strict=False):
    right.loglog(gammas, first[:, k], "o", color=colour, ms=5)
    fine = np.geomspace(1e-3, 1e2, 100)
    values = np.sqrt(np.hypot((3.0, 1.0, 0.0)[k], fine) + fine)
    right.loglog(fine, values, color=style.LIGHT.ink, lw=style.THEORY_WIDTH)
    spot = (4, 5) if k < 2 else (14, 0)
    right.annotate(names[k], (1e-3, values[0]), spot, textcoords="offset points", color=colour)
right.set(xlabel="scale γ of the start", ylabel="singular values of $W_1$ at the end", title="features learnt, or not")
rich, lazy = first[0, 1] / first[0, 2], first[-1, 1] / first[-1, 2]
figure.supxlabel(
    f"Left: the closed form for one mode, start 0.001. Right: trained (dots) and formula (thin) agree to {worst:.0e}.\n"
    f"At γ = 0.001 the needed directions stand out by a factor {rich:.0f} and more, at γ = 100 by {lazy:.3f}.",
    fontsize=8.5,
)

# %%
# **Play**: :preset:`beyond-lazy-rich` and :preset:`varre-regimes` in the explorer.
#
# **Checked by** :claim:`varre-sv` (the formula: it holds with the square, and not as printed), :claim:`varre-b` (the
# map of least norm is found at every scale), :claim:`varre-params` (what the layers minimise), :claim:`varre-regimes`,
# :claim:`varre-lngd` (label noise makes large starts rich), :claim:`beyond-lazy-rich` and :claim:`beyond-two-layer`
# (the closed forms).
#
# Exercises
# ---------
#
# **Exercise 1.** Show by a trained network that the formula of the poster,
# :math:`(\sqrt{\sigma_i+\gamma^2}+\gamma)^{1/2}`, is false, and say without any computation why it cannot be right.
#
# .. solution:: lesson_07.exercise_1
#
# **Exercise 2.** There are fewer examples than inputs, so that many maps fit. Show that the start of this lesson leads
# to the map of least Frobenius norm, whatever :math:`\gamma` is: the layers are rich or lazy, the map is the same.
#
# .. solution:: lesson_07.exercise_2
#
# **Exercise 3.** A mode starts at :math:`\sigma=0` with balance :math:`\lambda`. Which share of :math:`\sigma^*` is
# learnt before the kernel has grown by ten per cent?
#
# .. solution:: lesson_07.exercise_3
