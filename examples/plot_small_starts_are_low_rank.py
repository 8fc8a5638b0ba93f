"""
Small starts keep the rank low
==============================

Forty networks, from large starts to small, trained as one compiled program: the smaller the start, the longer a
network's map stays of low rank while it learns.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import lineament as la

jax.config.update("jax_enable_x64", True)

# %%
# Ten random starts at each of four scales, in one ensemble.
problem = la.problems.whitened(np.diag([3.0, 2.0, 1.0, 0.5]))
net = la.models.DeepLinear((4, 10, 10, 4))
scales = jnp.repeat(jnp.array([1e-1, 1e-2, 1e-3, 1e-4]), 10)
keys = jax.random.split(jax.random.key(0), scales.shape[0])
start = la.ensemble(lambda key, scale: la.starts.gaussian(net, key, start_scale=scale), keys, scales)
run = la.descend(net, problem, start, step_size=5e-3, steps=20_000, every=100, record=("loss", "effective_rank"))

# %%
# Effective rank against the share of the loss that is left: how complex the map is at each stage of learning.
share = (run.loss / run.loss.isel(step=0)).values.reshape(4, 10, -1)
rank = run.effective_rank.values.reshape(4, 10, -1)
figure, axes = plt.subplots(figsize=(5, 3.6), layout="constrained")
colours = plt.colormaps["viridis"](np.linspace(0.8, 0.1, 4))  # the smaller the start, the darker
for scale, x, y, colour in zip((1e-1, 1e-2, 1e-3, 1e-4), share, rank, colours, strict=True):
    x, y = np.median(x, axis=0), np.median(y, axis=0)
    axes.plot(x, y, color=colour)
    axes.annotate(f"start {scale:g}", (x[0], y[0]), (4, 3), textcoords="offset points", color=colour)
axes.set(xscale="log", xlabel="share of the loss left", ylabel="effective rank of the map", xlim=(1, 1e-4))
