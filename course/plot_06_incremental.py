r"""
6 · Incremental learning
========================

"One after the other" can be made precise, and then decided: how small must a start be, so that a weak mode waits until
a strong one has been learnt? At depth two exponentially small, from depth three on only moderately so.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import lineament as la
from lineament.report import style

jax.config.update("jax_enable_x64", True)
plt.rcParams.update(style.rc(style.LIGHT))

# %%
# A definition
# ------------
#
# Two modes with targets :math:`\sigma_i^*=r\,\sigma_j^*`, where :math:`r>1`, start at the same :math:`\sigma_0`.
# Choose two fractions, a small :math:`s` and a large :math:`f`, say 0.1 and 0.9. Learning is
# :math:`(s,f)`-*incremental* if at some time the strong mode has reached the fraction :math:`f` of its target while
# the weak one is still below the fraction :math:`s` of its own. Modes only rise, so this compares two times:
#
# .. math:: t_f(\sigma_i)\le t_s(\sigma_j) .
#
# In the papers' time (lesson 1) a mode of depth :math:`N` obeys :math:`\dot\sigma=\sigma^{2-2/N}(\sigma^*-\sigma)`,
# and the time to reach a value is an integral of :math:`1/\dot\sigma`:
#
# .. math:: t_f(\sigma_i)=\int_{\sigma_0}^{f\sigma_i^*}\frac{d\sigma}{\sigma^{2-2/N}(\sigma_i^*-\sigma)} ,
#
# .. math:: t_s(\sigma_j)=\int_{\sigma_0}^{s\sigma_j^*}\frac{d\sigma}{\sigma^{2-2/N}(\sigma_j^*-\sigma)} .
#
# How small a start?
# ------------------
#
# Both integrals grow as :math:`\sigma_0\to0`, the second one faster, by the factor :math:`r`, since near zero the
# integrands are :math:`\sigma^{2/N-2}/\sigma_i^*` and :math:`\sigma^{2/N-2}/\sigma_j^*`. So there is a largest start
# :math:`\sigma_0^{\mathrm{th}}` that is still incremental, the *threshold*. What must be made up for is a fixed time,
# the strong mode's way from :math:`s\sigma_j^*` to :math:`f\sigma_i^*`, and it is made up between :math:`\sigma_0` and
# :math:`s\sigma_j^*`:
#
# * At :math:`N=2` the integrand is :math:`1/\sigma` there, and its integral a logarithm. To gain a fixed time,
#   :math:`\ln(1/\sigma_0)` must grow in proportion to :math:`1/(r-1)`: the threshold is **exponentially small** in
#   :math:`1/(r-1)`.
# * At :math:`N\ge3` the integrand is the power :math:`\sigma^{-(2-2/N)}`, and its integral is
#   :math:`\sigma_0^{-(1-2/N)}`: the threshold is about the **power** :math:`(r-1)^{N/(N-2)}`, a few orders of
#   magnitude where depth two needs hundreds.
#
# This is a separation by depth: it needs no width and no data, only one more layer. The package computes the threshold
# exactly.

s, f, depths = 0.1, 0.9, (2, 3, 5, np.inf)
for depth in depths:
    print(f"depth {depth}: r = 1.5 needs a start of at most {la.theory.phases.threshold(depth, 1.5, s, f):.1e} σj*")

# %%
# Trained exactly at the threshold, the weak mode passes :math:`s` in the very moment in which the strong one passes
# :math:`f`.
targets, depth = np.array([1.5, 1.0]), 3
start = float(la.theory.phases.threshold(depth, 1.5, s, f))
net, problem = la.models.DeepLinear((2, 2, 2, 2)), la.problems.whitened(np.diag(targets))
table = la.theory.phases.timetable(targets, start, depth, s, f)
end = 1.4 * float(table.ends[1]) / depth
layers = la.starts.aligned(net, np.diag(targets), start_scale=start)
run = la.flow(net, problem, layers, times=np.linspace(0, end, 400), record=("singular_values",))
moment = float(table.ends[0]) / depth  # in the time of training, which runs `depth` times as fast
time, shares = run.time.values, run.singular_values.values / targets
weak = np.interp(moment, time, shares[:, 1])

palette, ink, guide = style.LIGHT.palette, style.LIGHT.ink, style.LIGHT.guide
figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.5), layout="constrained")
theory = la.theory.training_time.singular_values(time, targets, start, depth) / targets
for k, (name, spot) in enumerate((("strong mode, $r=1.5$", (0.60, 0.5)), ("weak mode", (1.42, 0.5)))):
    left.plot(time, shares[:, k], color=palette[k], lw=style.MEASURED_WIDTH)
    left.plot(time, theory[:, k], color=ink, lw=style.THEORY_WIDTH)
    left.text(spot[0] * moment, spot[1], name, color=palette[k], ha="right" if k == 0 else "left")
left.axvline(moment, color=guide, lw=style.GUIDE_WIDTH, ls="--")
left.plot([moment, moment], [f, weak], "o", color=ink, ms=4, zorder=5)
left.annotate("$f=0.9$", (moment, f), (-6, 2), textcoords="offset points", ha="right")
left.annotate("$s=0.1$", (moment, s), (6, -3), textcoords="offset points")
left.set(xlabel="time $t$", ylabel="share of the target", title=f"depth 3, start at the threshold {start:.3f}")
excess = np.geomspace(0.02, 5, 160)
shades = plt.colormaps[style.FIELD_MAP](np.linspace(0.25, 0.82, 4))
for each, colour in zip(depths, shades, strict=True):
    limit = np.exp(la.theory.phases.log_threshold(each, 1 + excess, s, f))
    right.loglog(excess, limit, color=colour, lw=style.MEASURED_WIDTH)
    name, place = ("∞" if np.isinf(each) else each), (0.16 if each == 2 else 0.022)
    lift = {2: -4, 3: -15, 5: -13}.get(each, 6)
    right.annotate(
        f"depth {name}", (place, np.interp(place, excess, limit)), (4, lift), textcoords="offset points",
        color=colour,
    )  # fmt: skip
right.set(xlabel="$r-1$: how much stronger the strong mode is", ylabel="largest start σ₀/σⱼ*", ylim=(1e-16, 1))
right.set_title("the threshold")
at_two, at_three = (la.theory.phases.log_threshold(n, 1.2, s, f) / np.log(10) for n in (2, 3))
figure.supxlabel(
    f"Left: when the strong mode has 90 % of its target, the weak one has {weak:.4f} of its own.\n"
    f"Right: for r = 1.2 the largest start is $10^{{{at_two:.0f}}}$ at depth 2 and $10^{{{at_three:.1f}}}$ at depth 3.",
    fontsize=8.5,
)

# %%
# **Play**: :preset:`gissin-d1` maps the incremental starts; :preset:`gissin-t2` shows where the printed bound fails.
#
# **Checked by** :claim:`gissin-d1` (the exact decision), :claim:`gissin-t2` (Theorem 2: its upper bound is false as
# printed for :math:`N\ge3`, and holds when a dropped term is put back), :claim:`gissin-t3` (gradient descent),
# :claim:`gissin-f1` and :claim:`gissin-f4` (four other models, and deep matrix sensing), :claim:`beyond-jumps` (the
# limit of vanishing starts).
#
# Exercises
# ---------
#
# **Exercise 1** (exercise 5 of the lecture notes). By lesson 5, singular values of two layers move by
# :math:`\dot\sigma_r=2|\sigma_r|\,\langle-\nabla\ell,u_rv_r^\top\rangle`. Let the inner product stay at :math:`c_r`
# until a time :math:`t_e`, with different :math:`c_r`, and let all :math:`\sigma_r(0)=\epsilon>0`. Find
# :math:`\sigma_r(t)`, and show that ratios of singular values change exponentially. What happens at depth 3?
#
# .. solution:: lesson_06.exercise_1
#
# **Exercise 2.** At depth 2 both times of the definition are known in closed form. Write them down and compute the
# threshold by bisection.
#
# .. solution:: lesson_06.exercise_2
#
# **Exercise 3.** Theorem 2 of the paper bounds the threshold for :math:`N\ge3` from above by
# :math:`s\,\sigma_j^*\bigl((r-1)/(r-s)\bigr)^{N/(N-2)}`. Find :math:`N,r,s,f` for which this is false.
#
# .. solution:: lesson_06.exercise_3
