"""
What is learnt first
====================

Networks that start apart learn the same examples in the same order, and what they learn first is what the largest
principal components of the data decide. This measures both, on handwritten digits, with an ensemble trained as one
program.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import lineament as la
from lineament.measure import critical, order

# %%
# Eight non-linear networks, and what each predicts after every epoch.
images = la.data.load("digits").first(1200)
X, y = images.rows()[0].astype(np.float32), images.labels
X = (X - X.mean()) / X.std()
net = la.models.MLP((64, 64, 10), "relu", "standard", bias=True)
start = la.ensemble(lambda key: la.starts.he(net, key, dtype=jnp.float32), jax.random.split(jax.random.key(0), 8))
predicted = la.Record(
    "predicted", lambda model, problem, p: jnp.argmax(model.end_to_end(p)(problem.inputs), axis=1), ("example",)
)
problem = la.problems.CrossEntropy(jnp.asarray(X), jnp.asarray(y), 10)
run = la.descend(
    net,
    problem,
    start,
    step_size=0.02,
    steps=40 * 24,
    every=24,
    record=(predicted,),
    batch_size=50,
    key=jax.random.key(1),
)

# %%
# Accessibility: how often, over networks and epochs, an example was right. Two halves of the ensemble agree on it.
right = run.predicted.values[:, 1:] == y
accessible = order.accessibility(right)
halves = order.constancy(order.accessibility(right[:4]), order.accessibility(right[4:]))
show = lambda found: "r = {:.2f} ({:.2f} to {:.2f})".format(found.pearson, *found.pearson_interval)  # noqa: E731
print("two halves of the ensemble:", show(halves))

# %%
# The critical component of an example: the least number P of principal components from which on a linear classifier,
# trained on whole images, is right about its projection.
components = la.data.fit(X)
design = np.column_stack([components.coordinates(X), np.ones(len(X))])
*weights, offset = np.linalg.lstsq(design, np.eye(10)[y], rcond=None)[0]
sizes = range(1, components.count + 1)
said = critical.linear_predictions(np.transpose(weights), components.coordinates(X), sizes, offset)
component = critical.critical_pc(said, y, list(sizes))
known = ~np.isnan(component)
both = order.constancy(component[known], accessible[known])
print("accessibility and critical component:", show(both))

# %%
# The hardest and the easiest digits, and accessibility by critical component.
groups = order.group_means(accessible, component)
figure, (left, right_side) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
left.plot(groups.values, groups.means, "o", ms=4)
left.set(xlabel="critical component", ylabel="accessibility", title=f"r = {both.pearson:.2f} over examples")
ranked = np.argsort(accessible)
framed = np.pad(images.images[..., 0], ((0, 0), (1, 1), (1, 1)))
strip = lambda some: np.concatenate(list(framed[some]), axis=1)  # noqa: E731
right_side.imshow(np.concatenate([strip(ranked[-8:]), strip(ranked[:8])]), cmap="gray_r")
right_side.set(title="first learnt (above) and last", xticks=[], yticks=[])
