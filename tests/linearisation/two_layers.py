"""A network of two layers whose tangents are written out in NumPy: W₂ tanh(W₁x), with nothing to compile."""

import numpy as np

from lineament.linearisation import AbstractTangents, losses


class TwoLayers(AbstractTangents):
    """Parameters are one vector, and so is every change of them."""

    def __init__(self, theta, inputs, width, outputs):
        self.theta, self.shape = np.asarray(theta), (inputs, width, outputs)

    @classmethod
    def drawn(cls, seed, inputs=2, width=3, outputs=2):
        """A network with random parameters."""
        theta = np.random.default_rng(seed).normal(size=width * (inputs + outputs))
        return cls(theta, inputs, width, outputs)

    def _layers(self, theta):
        d, h, k = self.shape
        return theta[: h * d].reshape(h, d), theta[h * d :].reshape(k, h)

    def outputs(self, X, change=None):
        first, second = self._layers(self.theta if change is None else self.theta + change)
        return np.tanh(X @ first.T) @ second.T

    def jacobian(self, X, change=0.0):
        """The derivative of outputs by parameters, (n, k, parameter)."""
        first, second = self._layers(self.theta + change)
        hidden = np.tanh(X @ first.T)
        by_first = np.einsum("ah,nh,ni->nahi", second, 1 - hidden**2, X)
        by_second = np.einsum("ab,nh->nabh", np.eye(len(second)), hidden)
        return np.concatenate([part.reshape(len(X), len(second), -1) for part in (by_first, by_second)], axis=2)

    def gradient(self, X, y, loss, change):
        f = self.outputs(X, change)
        return f, np.einsum("iap,ia->p", self.jacobian(X, change), losses.slope(loss, f, y)) / len(X)

    def kernel(self, X, Y, outputs):
        all_of_them = np.einsum("iap,jbp->ijab", self.jacobian(X), self.jacobian(X if Y is None else Y))
        return all_of_them if outputs == "all" else np.einsum("ijaa->ij", all_of_them) / self.shape[2]

    def pull_back(self, X, coefficients):
        return np.einsum("iap,ia->p", self.jacobian(X), coefficients)

    def push_forward(self, X, change):
        return self.jacobian(X) @ change

    def combine(self, weights, changes):
        return sum(weight * change for weight, change in zip(weights, changes, strict=True))

    def moved(self, change):
        return TwoLayers(self.theta + change, *self.shape)

    @property
    def origin(self):
        return self.theta

    @property
    def size(self):
        return self.theta.size

    @property
    def name(self):
        return "two layers"
