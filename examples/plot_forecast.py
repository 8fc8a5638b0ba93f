"""
A forecast for your own table
=============================

From second moments alone: what a deep linear network learns from a table, when, and what it then did.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np
import xarray
from sklearn.datasets import load_diabetes

import lineament as la
from lineament.forecasting import train

jax.config.update("jax_enable_x64", True)

# %%
# Ten features of 442 patients, and how far their disease had gone a year later. Two layers, a small start.
X, y = load_diabetes(return_X_y=True, as_frame=True)
made = la.forecast(X, y, depth=2, start_scale=1e-3)
print(f"largest stable step {made.largest_stable:.3g}, recommended {made.recommended:.3g}")
for each in made.components[:4]:
    names = ", ".join(name for name, _ in each.features)
    print(f"component {each.number} ({names}): half learnt at step {made.step_of(each.half):.0f}")

# %%
# When to stop? The expected test loss comes from the spectrum and the noise that least squares leaves.
stopping = made.stopping
print(f"best step {made.step_of(stopping.best):.0f}, which saves {stopping.gain:.1%} of the final test loss")

# %%
# Now train the network that was described, and lay the forecast over it.
run = train(made)
print(f"the forecast {run.verdict}: the loss is within {run.gap:.1%} at every step")
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
shown = (run.steps >= 80) & (run.steps <= 2000)
at = xarray.DataArray(run.steps[shown], dims="step", name="step")
forecast_at = lambda curve: np.interp(at, made.time / made.step_size, curve)  # noqa: E731
loss = xarray.DataArray(run.loss[shown], coords={"step": at}, name="loss")
left.plot(at, forecast_at(stopping.loss), color="grey", linestyle="--", linewidth=1)
left.text(2000, forecast_at(stopping.loss)[-1] + 25, "expected on new data", ha="right", va="bottom", color="grey")
la.plot.overlay(loss, forecast_at(made.loss), ax=left, x_scale="log")
share = xarray.DataArray(run.share[shown, :4], coords={"step": at, "component": [1, 2, 3, 4]}, name="share_learnt")
expected = np.stack([forecast_at(made.path.share[:, number]) for number in range(4)], axis=1)
la.plot.overlay(share, expected, ax=right, x_scale="log")
