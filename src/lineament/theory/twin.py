r"""The linear twin of a network: the linear model whose gradient descent the network follows early on (Hu et al. 2020).

The twin of f(x) = vᵀφ(Wx/√d)/√m is linear in the features (eqs. 5, 9 and 11)

.. math:: ψ(x) = \left[\sqrt{\tfrac{a_1 + a_2}{d}}\,ζx;\ \sqrt{\tfrac{a_1 + a_2/2}{d}}\,ν;\
          \sqrt{a_2}\,(ϑ_0 + ϑ_1ρ + ϑ_2ρ^2)\right], \qquad ρ = \|x\|/\sqrt d - 1,

with (a1, a2) = (1, 0) for training the first layer, (0, 1) for the second and (1, 1) for both; steps η1 ≠ η2
weigh the two kernels, aᵢ = ηᵢ/max(η1, η2).

Where they come from, for inputs with ‖x‖² ≈ d and small overlaps c = ⟨x, x′⟩/d: the kernel of the second layer is
E[φ(u)φ(v)] = h0² + ζ²c + ½ϑ1²c² + …, with h0 = Eφ(‖x‖g/√d) expanded to second order in the norm, and that of the first
is c·E[φ′(u)φ′(v)] = ζ²c + ϑ1²c² + …. As a matrix over the examples, c² acts as its mean TrΣ²/d² off the diagonal,
which gives the constant feature ν = ϑ1(TrΣ²/d)^½.

Descent on a linear model is solved by its singular value decomposition: the component of the labels along the k-th mode
is learnt as 1 − (1 − ηs_k²/n)^t.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array
from .activations import Activation
from .twin_constants import Constants, constants, quadrature

__all__ = [
    "Constants",
    "FeatureMap",
    "Twin",
    "constants",
    "covariance_spread",
    "feature_map",
    "quadrature",
    "two_layer",
]


class FeatureMap(NamedTuple):
    """ψ(x) = [linear·x/√d; constant/√d; norm₀ + norm₁ρ + norm₂ρ²], of d + 2 features, ρ = ‖x‖/√d − 1.

    ``FeatureMap(np.sqrt(k))`` has the kernel k·XXᵀ/d, the twin of a deep network with an odd activation, where k is
    :func:`lineament.theory.kernels.expansion`'s ``linear``.
    """

    linear: float
    constant: float = 0.0
    norm: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __call__(self, x: ArrayLike) -> Array:
        """The features of inputs ``(n, d)``, as ``(n, d + 2)``."""
        X = arguments.matrix("x", x)
        root = np.sqrt(X.shape[1])
        rho = np.linalg.norm(X, axis=1) / root - 1
        last = np.polynomial.polynomial.polyval(rho, self.norm)
        return np.column_stack([self.linear / root * X, np.full(len(X), self.constant / root), last])

    def kernel(self, x: ArrayLike, y: ArrayLike | None = None) -> Array:
        """⟨ψ(x), ψ(y)⟩, ``(n, n')``."""
        first = self(x)
        if y is None:
            return first @ first.T
        Y = arguments.matrix("y", y)
        if Y.shape[1] + 2 != first.shape[1]:
            raise ValueError(f"y must be of {first.shape[1] - 2} columns as x is; got shape {Y.shape}")
        return first @ self(Y).T

    def naive(self) -> "FeatureMap":
        """The same without dependence on the norm, ϑ1 = ϑ2 = 0 (ν stays), as in Fig. 2."""
        return self._replace(norm=(self.norm[0], 0.0, 0.0))


_FOURTH = 1e70
"""What is larger overflows when sums of its fourth power are taken."""


def covariance_spread(x: ArrayLike) -> float:
    """TrΣ²/d without bias: the mean of ⟨xᵢ, xⱼ⟩² over i ≠ j, divided by d (for inputs of mean 0).

    The plug-in estimate would count the examples' own ‖x‖⁴ and exceed it by a factor of about 1 + d/n.
    """
    X = arguments.matrix("x", arguments.examples("x", x, least=2), most=_FOURTH)
    n, d = X.shape
    gram = X.T @ X if d <= n else X @ X.T
    own = np.sum(np.einsum("ij,ij->i", X, X) ** 2)
    return max(float(np.sum(gram**2) - own), 0.0) / (n * (n - 1) * d)


def feature_map(
    activation: str | Activation | Callable[[Array], Array], *, spread: float, first: float = 1.0, second: float = 1.0
) -> FeatureMap:
    """The features of the twin of a two-layer network: kernel ``first·Θ^lin1 + second·Θ^lin2``.

    (first, second) = (1, 0), (0, 1) and (1, 1) are ψ1, ψ2 and ψ of eqs. 5, 9 and 11; ψ1 with a last feature 0.

    Args:
        activation: see :func:`lineament.theory.activations.resolve`.
        spread: TrΣ²/d of the inputs; 1 for identity covariance, see :func:`covariance_spread`.
        first: weight of the first layer's kernel.
        second: weight of the second layer's kernel.
    """
    spread = arguments.number("spread", spread, least=0)
    first, second = arguments.number("first", first, least=0), arguments.number("second", second, least=0)
    zeta, theta0, theta1, theta2 = constants(activation)
    nu, root = theta1 * np.sqrt(spread), float(np.sqrt(second))
    return FeatureMap(
        float(np.sqrt(first + second) * zeta),
        float(np.sqrt(first + second / 2) * nu),
        (root * theta0, root * theta1, root * theta2),
    )


class Twin:
    """A linear model on given features, trained by gradient descent from zero on Σ(f − y)²/(2n).

    Attributes:
        features: the map ψ.
        step_size: η.
        dimension: d, of the inputs.
        rates: ηs²/n of the modes that the examples span, falling; descent converges if all are below 2.
    """

    def __init__(self, x: ArrayLike, y: ArrayLike, features: FeatureMap, *, step_size: float):
        """Decompose the features of the training inputs.

        Args:
            x: inputs, ``(n, d)``.
            y: labels, ``(n,)``, or ``(n, k)`` for k outputs that share the features.
            features: ψ.
            step_size: η > 0.
        """
        X = arguments.matrix("x", x)
        labels = arguments.labels("y", y, len(X))
        self.features, self.dimension = arguments.instance("features", features, FeatureMap), X.shape[1]
        self.step_size = arguments.number("step_size", step_size, above=0)
        self._psi, self._outputs = features(X), labels.shape[1:]
        # QR of [ψ, y] keeps all that matters of n examples in d + 2 + k rows: ψ = QA, y = QB.
        R = _triangle(np.column_stack([self._psi, labels]))
        A, B = np.split(R, [self._psi.shape[1]], axis=1)
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        kept = s > np.finfo(float).eps * max(self._psi.shape) * s[0]
        self._scales, self._directions, self._parts = s[kept], Vt[kept], U[:, kept].T @ B
        self._out_of_reach = float(np.sum((B - U[:, kept] @ self._parts) ** 2))
        self.rates = self.step_size * self._scales**2 / len(X)

    @property
    def stable(self) -> bool:
        """Whether descent with steps of this size converges."""
        return bool(np.all(self.rates < 2))

    def coefficients(self, t: ArrayLike) -> Array:
        """The weights on the features after t steps, ``(*t.shape, d + 2[, k])``; ``t = inf`` gives the optimum.

        Args:
            t: whole numbers of steps from 0 on, of any shape, or infinity.
        """
        parts = self._learnt(t) / self._scales[:, None]
        return self._shaped(t, np.einsum("tmk,mp->tpk", parts, self._directions))

    def optimum(self) -> Array:
        """The weights that descent converges to: of least norm among those of least loss."""
        return self.coefficients(np.inf)

    def predict(self, t: ArrayLike, x: ArrayLike | None = None) -> Array:
        """The outputs after t steps on the training inputs, or on x, ``(*t.shape, n[, k])``."""
        psi = self._psi if x is None else self.features(self._inputs(x))
        parts = self._learnt(t) / self._scales[:, None]
        return self._shaped(t, np.einsum("tmk,nm->tnk", parts, psi @ self._directions.T, optimize=True))

    def loss(self, t: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None) -> Array:
        """Σ(f − y)²/(2n) after t steps, on the training examples or on (x, y); of the shape of t.

        The cost for each time does not depend on n: the examples enter by their modes or by one QR factorisation.
        """
        if x is None and y is None:
            left = self._parts[None] - self._learnt(t)
            return self._losses(t, np.sum(left**2, axis=(1, 2)) + self._out_of_reach, len(self._psi))
        if x is None or y is None:
            raise ValueError("x and y must be given together, or neither for the training loss; got one of them")
        X = self._inputs(x)
        labels = arguments.labels("y", y, len(X))
        if labels.shape[1:] != self._outputs:
            raise ValueError(f"y must be of outputs of shape {self._outputs} as in training; got {labels.shape[1:]}")
        flat = labels.reshape(len(X), -1)
        Q, R = np.linalg.qr(self.features(X) @ self._directions.T)
        target = Q.T @ flat
        outside = float(np.sum((flat - Q @ target) ** 2))
        within = np.einsum("tmk,qm->tqk", self._learnt(t) / self._scales[:, None], R, optimize=True) - target[None]
        return self._losses(t, np.sum(within**2, axis=(1, 2)) + outside, len(X))

    def horizon(self, c: float = 1.0) -> float:
        """T = c·d log d/η, the number of steps until which Theorems 3.2 and 3.5 speak; c is some constant.

        It is long enough for the modes of rate η/d. Where the second layer trains and ϑ0ϑ1 ≠ 0 (ReLU), the constant and
        the norm feature are nearly parallel and one mode, along the norm, has a rate near
        η(a1 + a2/2)(ϑ1ν)²/(2ϑ0²d²): the twin is not yet at its optimum at T if the labels depend on the norm.
        """
        c = arguments.number("c", c, above=0)
        return c * self.dimension * float(np.log(self.dimension)) / self.step_size

    def _learnt(self, t: ArrayLike) -> Array:
        """What is learnt of the labels' component in every mode, (times, modes, outputs)."""
        steps = arguments.real("t", t, least=0, infinite=True).ravel()
        if (steps != np.floor(steps)).any():
            raise ValueError(f"t must be whole numbers of steps; got {steps[steps != np.floor(steps)][0]:g}")
        if np.isinf(steps).any() and not self.stable:
            raise ValueError(f"t must be finite where descent does not converge; got inf at a rate {self.rates[0]:g}")
        return _gain(steps[:, None], self.rates[None])[..., None] * self._parts[None]

    def _shaped(self, t: ArrayLike, values: Array) -> Array:
        return values.reshape(np.shape(t) + values.shape[1:2] + self._outputs)

    def _losses(self, t: ArrayLike, sums: Array, n: int) -> Array:
        return (sums / (2 * n)).reshape(np.shape(t))

    def _inputs(self, x: ArrayLike) -> Array:
        X = arguments.matrix("x", x)
        if X.shape[1] != self.dimension:
            raise ValueError(f"x must be of {self.dimension} columns as in training; got shape {X.shape}")
        return X


def two_layer(
    x: ArrayLike,
    y: ArrayLike,
    *,
    activation: str | Activation | Callable[[Array], Array],
    first_step_size: float,
    second_step_size: float,
    spread: float | None = None,
) -> Twin:
    """The twin of a two-layer network trained with step sizes η1, η2; 0 leaves that layer as it starts.

    Args:
        x: training inputs, ``(n, d)``.
        y: labels, ``(n,)`` or ``(n, k)``.
        activation: see :func:`lineament.theory.activations.resolve`.
        first_step_size: η1 ≥ 0.
        second_step_size: η2 ≥ 0; not both 0.
        spread: TrΣ²/d of the inputs; estimated from x if not given.
    """
    first = arguments.number("first_step_size", first_step_size, least=0)
    second = arguments.number("second_step_size", second_step_size, least=0)
    if (larger := max(first, second)) == 0:
        raise ValueError("first_step_size and second_step_size must be numbers of which one is above 0; got 0 and 0")
    known = covariance_spread(x) if spread is None else spread
    features = feature_map(activation, spread=known, first=first / larger, second=second / larger)
    return Twin(x, y, features, step_size=larger)


def _triangle(M: Array) -> Array:
    """R of M = QR by Householder, in blocks of rows that stay in cache: twice as fast for many rows."""
    rows = max(1024, 4 * M.shape[1])
    blocks = [np.asarray(np.linalg.qr(M[begin : begin + rows], mode="r")) for begin in range(0, len(M), rows)]
    return np.asarray(np.linalg.qr(np.concatenate(blocks), mode="r"))


def _gain(t: Array, rate: Array) -> Array:
    """1 − (1 − rate)^t, also for tiny rates and for rates above 1, where the sign alternates."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exponent = t * np.where(rate <= 1, np.log1p(-rate), np.log(rate - 1))
        gain = -np.expm1(np.where(t == 0, 0.0, exponent))  # rate 1 would make it 0·(−∞)
        return np.where((rate > 1) & (t % 2 == 1), 2 - gain, gain)
