r"""
4 · Saddles and certificates
============================

Depth makes the loss non-convex and puts a saddle at the origin, just where training likes to begin. This lesson says
how long it takes to leave, and from which starts convergence is guaranteed beforehand.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import lineament as la
from lineament.report import style

jax.config.update("jax_enable_x64", True)
plt.rcParams.update(style.rc(style.LIGHT))

# %%
# A saddle at the origin
# ----------------------
#
# Let :math:`\phi(W_1,\dots,W_n)=\ell(W_n\cdots W_1)` and let :math:`\ell` be convex, with its minimum elsewhere than
# at zero. If all layers are zero, so is the gradient of every layer for :math:`n\ge2`: each is a product with other
# layers in it. A convex function would have its minimum there. Since :math:`\ell` has not, :math:`\phi` **is not
# convex**, and the origin is a *saddle*: a stationary point with lower values nearby.
#
# How flat is it? Expand in small layers: :math:`\ell(W_n\cdots W_1)=\ell(0)+\langle\nabla\ell(0),W_n\cdots
# W_1\rangle+\dots`, a term of degree :math:`n`. For :math:`n=2` it is quadratic and has directions of negative
# curvature, a *strict* saddle. For :math:`n\ge3` gradient and Hessian both vanish: the saddle is *non-strict*, and
# general theorems that rely on negative curvature say nothing.
#
# Lesson 1 tells what that costs. A mode of strength :math:`\sigma^*` obeys :math:`\dot\sigma\approx
# n\sigma^*\sigma^{2-2/n}` near zero. From a start :math:`\sigma_0` it leaves after a time that grows as
# :math:`\ln(1/\sigma_0)` for :math:`n=2`, and as the power :math:`\sigma_0^{-(1-2/n)}` for :math:`n\ge3`.
#
# A certificate
# -------------
#
# Let :math:`\sigma_{\min}` be the least singular value of a matrix. A matrix :math:`W` has *deficiency margin*
# :math:`\delta>0` if every matrix :math:`W'` with :math:`\sigma_{\min}(W')\le\delta` has a larger loss than :math:`W`.
# The loss never rises along gradient flow; so a start with this margin can never come to a matrix with
# :math:`\sigma_{\min}\le\delta`. Saddles lie among those matrices, and are out of reach.
#
# What follows is quick. By lesson 3 every eigenvalue of the preconditioner is at least
# :math:`\sigma_{\min}^{2(n-1)/n}\ge\delta^{2(n-1)/n}`, so
#
# .. math:: \frac{d\ell}{dt}\le-\delta^{2(n-1)/n}\,\|\nabla\ell(W)\|_F^2 .
#
# If :math:`\ell` is :math:`\alpha`-strongly convex, then :math:`\|\nabla\ell\|_F^2\ge2\alpha(\ell-\ell^*)`, where
# :math:`\ell^*` is its minimum, and by Grönwall's inequality
#
# .. math:: \ell(t)-\ell^*\le(\ell(0)-\ell^*)\,e^{-2\alpha\delta^{2(n-1)/n}\,t} .
#
# On white inputs :math:`\ell=\tfrac12\|W-W^*\|_F^2` and :math:`\alpha=1`. A matrix with :math:`\sigma_{\min}\le\delta`
# is at least :math:`\sigma_{\min}(W^*)-\delta` away from :math:`W^*` (exercise 1), so :math:`W` has the margin
# :math:`\delta` exactly if :math:`\|W-W^*\|_F<\sigma_{\min}(W^*)-\delta`: the certified starts are a ball around the
# solution. For square matrices each eigenvalue of the preconditioner has :math:`n` addends of that size, and the rate
# gains a factor :math:`n`.

target = np.diag([1.5, 1.0, 0.8])
net = la.models.DeepLinear((3, 3, 3, 3))
away = np.array([[0, 0.3, 0], [0.2, 0, 0], [0, 0.2, -0.2]])
layers = la.starts.balanced(net, map=target + away)
certificate = la.theory.certificates.certify(layers, target)
print(certificate)

# %%
# Both, measured
# --------------
#
# On the left one mode leaves the saddle from starts of many sizes, an ensemble trained at once; dots are the times at
# which half of it is learnt. On the right a certified start keeps below its guarantee.
STEP, scales = 5e-3, np.geomspace(1e-4, 1e-1, 7)
shades = plt.colormaps[style.FIELD_MAP](np.linspace(0.25, 0.82, 3))
figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.5), layout="constrained")
for depth, colour in zip((2, 3, 4), shades, strict=True):
    chain = la.models.DeepLinear((1,) * (depth + 1))
    starts = la.ensemble(lambda scale, net=chain: la.starts.identity(net, scale), scales)
    run = la.descend(
        chain, la.problems.whitened(np.eye(1)), starts, step_size=STEP, steps=12_000, at=np.arange(0, 12_001, 10),
        record=("end_to_end",),
    )  # fmt: skip
    risen = run.end_to_end.values[:, :, 0, 0] > 0.5
    left.loglog(scales, STEP * run.step.values[risen.argmax(axis=1)], "o", color=colour, ms=5)
    fine = np.geomspace(5e-5, 0.15, 100)
    times = la.theory.training_time.time_to(0.5, 1.0, fine, depth)
    left.loglog(fine, times, color=style.LIGHT.ink, lw=style.THEORY_WIDTH)
    left.annotate(
        f"depth {depth}",
        (2e-4, np.interp(2e-4, fine, times)),
        (4, -18 if depth == 3 else 7),
        textcoords="offset points",
        color=colour,
    )
left.set(xlabel="start σ₀", ylabel="time to half of σ*", title="leaving the saddle")
problem = la.problems.whitened(target)
run = la.descend(net, problem, layers, step_size=STEP, steps=1600, at=np.arange(0, 1601, 10), record=("loss",))
time, excess = STEP * run.step.values, run.loss.values
blue, ink = style.LIGHT.palette[0], style.LIGHT.ink
right.semilogy(time, excess, color=blue, lw=style.MEASURED_WIDTH)
right.semilogy(time, certificate.envelope(time), color=ink, lw=style.THEORY_WIDTH)
right.semilogy(time, certificate.envelope(3 * time), color=ink, lw=style.THEORY_WIDTH, ls="--")
right.annotate("guaranteed", (8, certificate.envelope(8.0)), (0, 14), textcoords="offset points", ha="right")
right.annotate(
    "guaranteed, square maps", (8, certificate.envelope(24.0)), (0, -16), textcoords="offset points", ha="right"
)
right.annotate("trained", (1.7, 2e-7), color=blue)
right.set(
    xlabel="time $t$",
    ylabel="loss above its minimum",
    title=f"a start with margin {certificate.margin:.2f}, depth 3",
    ylim=(1e-9, 1),
)
rate = -np.polyfit(time[excess > 1e-12], np.log(excess[excess > 1e-12]), 1)[0]
figure.supxlabel(
    "Left: the time to leave is a logarithm of σ₀ at depth 2, and σ₀ to the power −1/3 and −1/2 at depths 3 and 4 "
    f"(thin: theory).\nRight: the loss falls {rate / certificate.rate:.0f} times as fast as Theorem 2 guarantees.",
    fontsize=8.5,
)

# %%
# **Play**: :preset:`cohen-p3` (the saddle), :preset:`cohen-e1` (the disc of certified starts) and :preset:`cohen-t2`
# in the explorer.
#
# **Checked by** :claim:`cohen-p1` (non-convexity), :claim:`cohen-p3` (the saddle), :claim:`cohen-e1` (the margin),
# :claim:`cohen-t2` and :claim:`cohen-r2` (the guarantee for flow and for descent; neither was ever violated),
# :claim:`cohen-claim1` and :claim:`cohen-f1l` (depth can also make training faster).
#
# Exercises
# ---------
#
# **Exercise 1** (exercise 3 of the lecture notes). Prove that the least distance :math:`\|W-W'\|_F` from :math:`W` to
# a matrix :math:`W'` with :math:`\sigma_{\min}(W')\le\delta` is :math:`\max\{0,\sigma_{\min}(W)-\delta\}`. You may use
# :math:`\|W-W'\|_F\ge\|\sigma(W)-\sigma(W')\|_2` for the vectors of singular values in falling order.
#
# .. solution:: lesson_04.exercise_1
#
# **Exercise 2.** For :math:`n=2`, find all eigenvalues of the Hessian of :math:`\phi` at the origin. When is the
# saddle strict?
#
# .. solution:: lesson_04.exercise_2
#
# **Exercise 3.** Why must the layers be balanced? Find two layers whose product is the identity, so that :math:`W` is
# as far from singular as can be, but whose loss falls as slowly as one likes.
#
# .. solution:: lesson_04.exercise_3
