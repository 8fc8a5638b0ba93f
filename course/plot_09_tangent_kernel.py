r"""
9 · The tangent kernel
======================

A network that moves little is a linear model in its weights, and all there is to know of it is one matrix. This lesson
derives it, gives its limit for wide networks, and shows when it forecasts training and when it does not.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import erf

import lineament as la
from lineament.report import style

jax.config.update("jax_enable_x64", True)
plt.rcParams.update(style.rc(style.LIGHT))

# %%
# From weights to outputs
# -----------------------
#
# A network :math:`f(x;\theta)` has weights :math:`\theta`, any number of them. On :math:`n` examples with inputs
# :math:`x_i` and labels :math:`y_i`, let :math:`f\in\mathbb R^n` hold its outputs and :math:`J=\partial
# f/\partial\theta` their derivatives. Gradient flow on :math:`\tfrac1{2n}\|f-y\|^2` is
# :math:`\dot\theta=-\tfrac1nJ^\top(f-y)`, so the outputs move by
#
# .. math:: \dot f=J\dot\theta=-\tfrac1nK\,(f-y),\qquad K=JJ^\top .
#
# :math:`K` is the *tangent kernel*: :math:`K_{ij}` says how much a step on example :math:`j` changes the output on
# example :math:`i`. In general it changes as the network trains. If it does not, the equation is linear, and along
# every eigenvector of :math:`K`, with eigenvalue :math:`\kappa`, the error falls as :math:`e^{-\kappa t/n}`:
#
# .. math:: f(t)=y+e^{-Kt/n}\,(f(0)-y) .
#
# For linear networks we have met it: with white inputs it is the preconditioner of lesson 3, and for one mode of two
# layers the factor :math:`k` of lesson 7.
#
# Wide networks
# -------------
#
# Take one hidden layer of :math:`m` units in *NTK parameterisation*,
#
# .. math:: f(x)=\frac1{\sqrt m}\sum_{r=1}^mv_r\,\varphi\Bigl(\frac{w_r\cdot x}{\sqrt d}\Bigr),
#
# with activation :math:`\varphi`, inputs in :math:`\mathbb R^d`, and all weights :math:`v_r,w_r` standard normal at
# the start. Derivatives with respect to :math:`v_r` and :math:`w_r` give two sums over units,
#
# .. math:: K(x,x')=\frac1m\sum_r\varphi(z_r)\varphi(z_r')+\frac{x\cdot x'}d\;\frac1m\sum_rv_r^2\,
#    \varphi'(z_r)\varphi'(z_r')
#
# with :math:`z_r=w_r\cdot x/\sqrt d`, each a mean of :math:`m` independent numbers. By the law of large numbers they
# tend to their expectations as :math:`m\to\infty`, with an error of order :math:`m^{-1/2}`: the kernel at the start no
# longer depends on the draw. And while the outputs change by order 1, every single weight changes by order
# :math:`m^{-1/2}`: the wider the network, the less the kernel moves.
#
# How fast do they tend?
# ----------------------
#
# The kernel of finite networks, written out as above, against the limit in the package. At one width the formula is
# laid beside ``la.measure.kernels.empirical``, which differentiates any network.
rng = np.random.default_rng(0)
n, d = 24, 6
X = rng.normal(size=(n, d))
y = np.sign(X[:, 0]) + 0.5 * X[:, 1]
limit = la.theory.kernels.infinite(X, activation="erf", hidden_layers=1).ntk


def kernel(w, v):
    z = X @ w.T / d**0.5
    slope = 2 / np.pi**0.5 * np.exp(-(z**2))
    return (erf(z) @ erf(z).T + X @ X.T / d * (slope * v**2 @ slope.T)) / len(v)


widths = 2 ** np.arange(4, 13)
gaps = np.array([
    [np.linalg.norm(kernel(rng.normal(size=(m, d)), rng.normal(size=m)) - limit) for _ in range(8)] for m in widths
]) / np.linalg.norm(limit)  # fmt: skip
slope = np.polyfit(np.log(widths), np.log(gaps.mean(axis=1)), 1)[0]

# %%
# And training: a narrow and a wide network, each beside the forecast that was made from its own kernel at the start.
STEP, STEPS = 1.0, 300
problem = la.problems.lp_regression(X, y[:, None], 2)
at = np.unique(np.r_[0, np.geomspace(1, STEPS, 60).astype(int)])


def trained(width):
    net = la.models.MLP((d, width, 1), "erf")
    start = la.starts.gaussian(net, 1, deviation=1.0)
    run = la.descend(net, problem, start, step_size=STEP, steps=STEPS, at=at, record=("outputs",))
    outputs = run.outputs.values.reshape(len(at), n)
    K = la.measure.kernels.empirical(net, start, X)
    forecast = outputs[0] + la.theory.linearised.descend(at, K, y - outputs[0], STEP)
    (w, v), first = start.layers, outputs[0]
    assert np.allclose(K, kernel(np.asarray(w), np.asarray(v)[0]))
    return outputs, forecast, np.sqrt(np.mean((outputs[-1] - forecast[-1]) ** 2) / np.mean((y - first) ** 2))


figure, axes = plt.subplots(1, 3, figsize=(9.4, 3.3), layout="constrained")
left, *others = axes
blue, orange, ink = style.LIGHT.palette[0], style.LIGHT.palette[1], style.LIGHT.ink
left.fill_between(widths, gaps.min(axis=1), gaps.max(axis=1), color=blue, alpha=0.22, lw=0)
left.loglog(widths, gaps.mean(axis=1), color=blue, lw=style.MEASURED_WIDTH)
level = np.exp(np.mean(np.log(gaps.mean(axis=1) * widths**0.5)))
left.loglog(widths, level * widths**-0.5, color=ink, lw=style.THEORY_WIDTH)
left.annotate("$m^{-1/2}$", (widths[6], gaps.mean(axis=1)[6]), (6, 8), textcoords="offset points")
left.set(xlabel="width $m$", ylabel="distance of $K$ from its limit", title="the kernel at the start")
left.set_yticks([0.03, 0.1, 0.3], ["0.03", "0.1", "0.3"])
left.tick_params(axis="y", which="minor", labelleft=False)
parted = []
for ax, width in zip(others, (16, 2048), strict=True):
    outputs, forecast, gap = trained(width)
    parted.append(gap)
    for k, colour in zip((0, 3, 5), style.LIGHT.palette, strict=False):
        ax.semilogx(at, outputs[:, k], color=colour, lw=style.MEASURED_WIDTH)
        ax.semilogx(at, forecast[:, k], color=ink, lw=style.THEORY_WIDTH)
    ax.set(xlabel="step", title=f"three outputs, width {width}", xlim=(1, STEPS))
figure.supxlabel(
    f"Left: the mean over 8 draws falls as m to the power −{-slope:.2f}. Right: trained (coloured) and forecast (thin).\n"
    f"After {STEPS} steps they differ by {parted[0]:.0%} of the labels at width 16, and by {parted[1]:.1%} at 2048.",
    fontsize=8.5,
)

# %%
# **Play**: :preset:`beyond-lazy-rich` shows the tangent kernel of a mode grow, or not.
#
# **Checked by** :claim:`hu-i` (the kernel of a mirrored start), :claim:`hu-p34` and :claim:`hu-p41` (kernels against
# those of linear models), :claim:`beyond-lazy-rich`. For a network of your own, ``la.linearise`` makes the forecast
# and says until which step it is safe.
#
# Exercises
# ---------
#
# **Exercise 1.** Find the tangent kernel of a two-layer linear network :math:`f(x)=W_2W_1x` with several outputs, and
# recover the end-to-end dynamics of lesson 3 from it.
#
# .. solution:: lesson_09.exercise_1
#
# **Exercise 2.** Where does linearised training end, on the training inputs and elsewhere? Show that from
# :math:`f(0)=0` it is kernel regression.
#
# .. solution:: lesson_09.exercise_2
#
# **Exercise 3.** How large may a step of gradient descent be?
#
# .. solution:: lesson_09.exercise_3
