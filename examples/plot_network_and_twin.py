"""
A network and its linear twin
=============================

Early on, a wide two-layer network learns as a linear model on a few known features. The twin is that model: it is
written down before training, needs only the inputs and labels, and is solved for all times at once. Here both are seen
side by side, and the step at which they part is found.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import lineament as la

# %%
# Inputs in 20 dimensions; the labels are the sign of a sum and a product, of which a linear model can learn the sum only.
rng = np.random.default_rng(0)
d, n, width, step = 20, 600, 1024, 2.0
X, fresh = rng.normal(size=(n, d)), rng.normal(size=(500, d))
y, fresh_y = (np.sign(x[:, 0] + 1.5 * x[:, 1] * x[:, 2]) for x in (X, fresh))

# %%
# The forecast: constants of the activation and the covariance of the inputs give the features; no network is trained.
twin = la.theory.twin.two_layer(X, y, activation="erf", first_step_size=step, second_step_size=step)
print(f"theory speaks up to step T = d log d / η = {twin.horizon():.0f}")

# %%
# The measurement: descent from a start whose output is zero everywhere, as the theory asks.
net = la.models.Mirrored(la.models.MLP((d, width, 1), "erf"))
problem = la.problems.lp_regression(X.astype(np.float32), y.astype(np.float32)[:, None], 2)
inputs = jnp.asarray(fresh, jnp.float32)
outputs = la.Record("outputs", lambda model, problem, params: model.end_to_end(params)(inputs)[:, 0], ("example",))
at = np.unique(np.r_[0, np.geomspace(1, 600, 40).astype(int)])
start = la.starts.mirrored(net, 0, la.starts.gaussian, deviation=1.0, dtype=jnp.float32)
run = la.descend(net, problem, start, step_size=step, steps=600, at=at, record=(outputs,))

# %%
# Where do they part? At 2 % of the labels' mean square; half the bar says how much that choice matters.
model = twin.predict(at, fresh)
phase = la.measure.agreement.linear_phase(at, run.outputs.values, model, scale=1.0)
print(f"network and twin part at step {phase.end:.0f}")
print(f"at half the bar they would part at step {phase.at_half:.0f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for group, i in enumerate(np.argsort(model[-1])[[20, 250, 480]]):
    left.plot(at, run.outputs[:, i], color=f"C{group}", lw=3, label="network" if group == 0 else None)
    left.plot(at, model[:, i], color="black", lw=1, label="twin" if group == 0 else None)
left.axvline(phase.end, color="grey", ls="--", lw=1)
left.set(xscale="log", xlim=(1, 600), xlabel="step", ylabel="output f(x)", title="three fresh inputs")
left.legend()
error = lambda outputs: np.mean((outputs - fresh_y) ** 2, axis=1)  # noqa: E731
right.plot(at, error(run.outputs.values), lw=3, label="network")
right.plot(at, error(model), lw=1, color="black", label="twin")
right.axvline(phase.end, color="grey", ls="--", lw=1, label="they part")
right.set(xscale="log", xlim=(1, 600), xlabel="step", ylabel="mean squared error", title="fresh inputs")
right.legend()
