"""Gradient flow of a linear network, written out as it stands on paper: what the solutions train with."""

import numpy as np
from scipy.integrate import solve_ivp


def layer_flow(layers, gradient, times):
    """The layers at the times: a list over layers of arrays (time, outputs, inputs).

    `gradient` is ∇ℓ, a function of the product W = W_n ⋯ W_1; the gradient of layer j is (W_n ⋯ W_{j+1})ᵀ ∇ℓ(W)
    (W_{j−1} ⋯ W_1)ᵀ.
    """
    shapes = [np.shape(W) for W in layers]
    ends = np.cumsum([rows * columns for rows, columns in shapes])[:-1]

    def unpacked(vector):
        return [part.reshape(shape) for part, shape in zip(np.split(vector, ends), shapes, strict=True)]

    def velocity(_, vector):
        W = unpacked(vector)
        before, after = [np.eye(shapes[0][1])], [np.eye(shapes[-1][0])]
        for j in range(len(W) - 1):
            before.append(W[j] @ before[-1])
            after.append(after[-1] @ W[-1 - j])
        slope = gradient(W[-1] @ before[-1])
        return -np.concatenate([(after[-1 - j].T @ slope @ before[j].T).ravel() for j in range(len(W))])

    start = np.concatenate([np.ravel(W) for W in layers]).astype(float)
    path = solve_ivp(velocity, (0, times[-1]), start, "DOP853", times, rtol=1e-10, atol=1e-14).y.T
    return [part.reshape(len(times), *shape) for part, shape in zip(np.split(path, ends, axis=1), shapes, strict=True)]
