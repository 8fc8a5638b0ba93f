"""
A first forecast
================

A deep linear network learns one singular value after the other. The closed solution says when, before anything
is trained.
"""

import jax
import numpy as np

import lineament as la

jax.config.update("jax_enable_x64", True)

# %%
# A task with four modes of strength 4, 2, 1 and ½, on whitened inputs, and a three-layer network from a small start.
target = np.diag([4.0, 2.0, 1.0, 0.5])
problem = la.problems.whitened(target)
net = la.models.DeepLinear((4, 16, 16, 4))
start = la.starts.aligned(net, target, start_scale=1e-3)

# %%
# When will each mode be half learnt? No training is needed to say.
half_learnt = la.theory.training_time.time_to(problem.modes / 2, problem.modes, start=1e-3, depth=3)
print("forecast half-rise times:", np.round(half_learnt, 2))

# %%
# Now train, by gradient flow, and lay the forecast over what was measured.
run = la.flow(net, problem, start, record=("loss", "singular_values"))
forecast = la.theory.training_time.singular_values(run.time, problem.modes, start=1e-3, depth=3)
worst = float(np.max(np.abs(run.singular_values.values / forecast - 1)))
print(f"worst relative gap: {worst:.1e}")
la.plot.overlay(run.singular_values, forecast)
