"""
A forecast for your own table
=============================

From second moments alone: what a deep linear network learns from a table, when, and what it then did.
"""

import jax
import matplotlib.pyplot as plt
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
left.plot(run.steps, run.loss, color="C0", linewidth=3, label="trained")
left.plot(made.time / made.step_size, made.loss, color="black", linewidth=0.9, label="forecast")
left.plot(
    made.time / made.step_size,
    stopping.loss,
    color="black",
    linewidth=0.9,
    linestyle="--",
    label="expected on new data",
)
left.set(xscale="log", xlim=(80, 2000), xlabel="step", ylabel="loss")
left.legend()
for number in range(4):
    right.plot(run.steps, run.share[:, number], linewidth=3, label=f"component {number + 1}")
    right.plot(made.time / made.step_size, made.path.share[:, number], color="black", linewidth=0.9)
right.set(xscale="log", xlim=(80, 2000), xlabel="step", ylabel="share learnt")
right.legend()
