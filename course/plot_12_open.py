r"""
12 · What remains open
======================

Every lesson had an assumption that made it work. This one takes two of them away, shows what happens, and lists the
questions that are left. Some of them can be attacked with this package in an afternoon.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import lineament as la
from lineament.report import style

jax.config.update("jax_enable_x64", True)
plt.rcParams.update(style.rc(style.LIGHT))

# %%
# What the lessons assumed
# ------------------------
#
# * *Aligned, balanced starts* (lessons 1, 3 and 5). Real starts are random: unaligned, and balanced only roughly.
#   Small ones turn towards the target before the loss moves (:claim:`beyond-silent-alignment`), but how long that
#   takes at depth three and more has no closed form. Without balance, the end-to-end equation is wrong from the first
#   moment (exercise 3); with two layers a larger class of starts is solved (:claim:`beyond-two-layer`), with three it
#   is not.
# * *Steps so small that they are a flow.* Practice takes steps so large that training is at the edge of stability. For
#   one mode all is known: beyond a limit descent settles into a cycle of two points, and later into chaos (exercises 1
#   and 2). How many modes share one step size, when the strongest of them oscillates, is open.
# * *White or concentrated inputs* (lessons 1, 6, 7, 10). Where inputs are neither, modes mix.
# * *Convergence of the early phase.* The twin of lesson 10 is right until about :math:`d\log d/\eta` steps. What a
#   network learns next, and in which order, is known for special labels only.
# * *Rank.* That depth prefers low rank is a theorem for some measurements and an observation for others; for tensors
#   (lesson 8) even the right notion of rank is a choice.
#
# And some of what is printed is not so. The package found statements that are false as printed and hold when
# corrected, such as :claim:`varre-sv`, :claim:`varre-params` and :claim:`gissin-t2`, and experiments that come out
# otherwise than reported. ``lineament claims`` lists them all with their verdicts. Each is an invitation: check the
# check.
#
# Two assumptions less
# --------------------
#
# On the left, forty random starts of a network of depth three, all with entries of the same small size; the forecast
# is that of an aligned start of the same scale. On the right, one mode of depth 2 under ever larger steps: where
# descent is after a long time.
targets, scale = np.array([3.0, 1.5]), 1e-2
net, problem = la.models.DeepLinear((2, 4, 4, 2)), la.problems.whitened(np.diag(targets))
keys = jax.random.split(jax.random.key(0), 40)
starts = la.ensemble(lambda key: la.starts.gaussian(net, key, start_scale=scale), keys)
STEP, STEPS = 4e-3, 2500
at = np.arange(0, STEPS + 1, 10)
run = la.descend(net, problem, starts, step_size=STEP, steps=STEPS, at=at, record=("singular_values",))
time, values = STEP * at, run.singular_values.values
forecast = la.theory.training_time.singular_values(time, targets, scale, 3)
expected = la.theory.training_time.time_to(targets / 2, targets, scale, 3)
reached = values > targets / 2
delays = time[reached.argmax(axis=1)] / expected
delays = np.where(reached.any(axis=1), delays, np.nan)

figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.6), layout="constrained")
palette, ink = style.LIGHT.palette, style.LIGHT.ink
for k in range(2):
    left.plot(time, values[:, :, k].T, color=palette[k], lw=0.7, alpha=0.45)
    left.plot(time, forecast[:, k], color=ink, lw=1.4)
    left.annotate(
        f"σ* = {targets[k]:g}",
        (time[-1], targets[k]),
        (0, 4),
        textcoords="offset points",
        ha="right",
        color=palette[k],
    )
left.annotate(
    "aligned start", (expected[0] + 0.1, 2.2), (4.0, 2.3), arrowprops={"arrowstyle": "-", "color": ink, "lw": 0.6}
)
left.set(xlabel="time $t$", ylabel="singular values of $W$", title="40 random starts, depth 3", ylim=(0, 3.6))

ratios = np.linspace(0.8, 1.55, 300)  # steps, in units of the largest stable one: each is a member
mode, unit = la.models.DeepLinear((1, 1, 1)), la.problems.whitened(np.eye(1))
late = np.arange(1000, 1032)
steps = la.descend(
    mode, unit, (0.7 * np.eye(1), 0.7 * np.eye(1)), step_size=ratios, steps=late[-1], at=late, record=("end_to_end",)
)
ends = steps.end_to_end.values[:, :, 0, 0]
right.plot(np.repeat(ratios, len(late)), ends.ravel(), ".", ms=1.2, mew=0, color=palette[0], rasterized=True)
beyond = ratios[ratios > 1.001]
cycles = np.array([np.square(la.theory.large_steps.two_cycle(ratio, 2.0)) for ratio in beyond])
right.plot(beyond, cycles, color=ink, lw=style.THEORY_WIDTH)
edge = la.theory.large_steps.largest_cycle(2.0)
for x, name in ((1.0, "settles"), (edge, "cycles")):
    right.axvline(x, color=style.LIGHT.guide, lw=style.GUIDE_WIDTH, ls="--", zorder=1)
    right.annotate(name, (x, 1.7), (-4, 0), textcoords="offset points", ha="right")
right.annotate("longer cycles, chaos", (1.54, 1.7), ha="right")
right.set(xlabel="step, in units of the largest stable one", ylabel="σ after 1000 steps", ylim=(0, 1.8))
right.set_title("large steps, one mode of depth 2")
median, low, high = (np.nanquantile(delays[:, 1], q) for q in (0.5, 0.1, 0.9))
figure.supxlabel(
    f"Left: a random start learns its second mode {median:.1f} times as late as the aligned one (median; one in ten "
    f"before {low:.1f}, one in ten after {high:.1f}).\nRight: beyond the stable step descent jumps between two points "
    f"(thin: theory), up to {edge:.3f} = √5 − 1; then longer cycles and chaos follow.",
    fontsize=8.5,
)

# %%
# Questions to work on
# --------------------
#
# * What law do the delays on the left follow, as the start shrinks and as the depth grows?
# * Two modes share one step size beyond the limit of the strong one: how does its oscillation slow down or speed up
#   the weak one?
# * The threshold of lesson 6 is exact for two modes from equal starts. What is its distribution over random starts?
# * Which losses, other than the square loss, have modes that are by themselves?
# * After the twin: is there a quadratic twin that follows a network for longer, and can it be written down before
#   training?
#
# To make one of them a claim of your own, with checks and a verdict, begin with :doc:`the guide to claims </claims>`.
#
# **Play**: :preset:`beyond-two-layer` turns the start away from the target, the one case without alignment that is
# solved.
#
# **Checked by** :claim:`beyond-silent-alignment`, :claim:`beyond-two-layer`, :claim:`gissin-lc` (steps that never
# overshoot).
#
# Exercises
# ---------
#
# **Exercise 1.** Where does gradient descent on a mode of depth :math:`N` stop to be stable? Find the largest
# eigenvalue of the Hessian at the optimum.
#
# .. solution:: lesson_12.exercise_1
#
# **Exercise 2.** Find the cycle of two points at depth 2, and the step up to which it is stable.
#
# .. solution:: lesson_12.exercise_2
#
# **Exercise 3.** How wrong is the end-to-end equation of lesson 3 if the start is not balanced? Measure the error
# against the unbalancedness.
#
# .. solution:: lesson_12.exercise_3
