"""Classification: logistic and exponential loss of a margin, and multinomial cross-entropy."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike

from ..core import arguments, checks
from .base import AbstractProblem, Map, Optimum, predict
from .minimise import minimise

_MARGIN_LOSSES: dict[str, Callable[[jax.Array], jax.Array]] = {
    "logistic": lambda margin: jax.nn.softplus(-margin),
    "exponential": lambda margin: jnp.exp(-margin),
}


class Margin(AbstractProblem):
    """`E g(y Wx)` for labels y = ±1 and g(z) = log(1 + e^{−z}) or e^{−z}."""

    inputs: Float[Array, "n in"]
    labels: Float[Array, " n"]
    kind: Literal["logistic", "exponential"] = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        """One output."""
        return 1, self.inputs.shape[-1]

    def loss(self, map: Map) -> Float[Array, ""]:
        """The mean loss of the margins."""
        return jnp.mean(_MARGIN_LOSSES[self.kind](self.labels * predict(map, self.inputs)[:, 0]))

    def optimum(self, rank: int | None = None) -> Optimum:
        """The minimiser, or the infimum alone where examples can be separated without limit."""
        directions = np.asarray(self.inputs, float) * np.asarray(self.labels, float)[:, None]
        return _optimum(self, directions)

    @property
    def examples(self) -> int:
        """How many examples there are."""
        return self.inputs.shape[0]

    @property
    def example_inputs(self) -> Float[Array, "n in"]:
        """The inputs of its examples."""
        return self.inputs

    def take(self, indices: jax.Array) -> AbstractProblem:
        """The same loss on some of the examples."""
        return Margin(self.inputs[indices], self.labels[indices], self.kind)


class CrossEntropy(AbstractProblem):
    """`E [log Σ_k e^{(Wx)_k} − (Wx)_label]`."""

    inputs: Float[Array, "n in"]
    labels: Int[Array, " n"]
    classes: int = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        """One output per class."""
        return self.classes, self.inputs.shape[-1]

    def loss(self, map: Map) -> Float[Array, ""]:
        """The mean negative log-likelihood of the labels."""
        log_p = jax.nn.log_softmax(predict(map, self.inputs), axis=1)
        return -jnp.mean(jnp.take_along_axis(log_p, self.labels[:, None], axis=1))

    def optimum(self, rank: int | None = None) -> Optimum:
        """The minimiser, or the infimum alone where examples can be separated without limit."""
        self.refuse_rank(rank)
        X, y = np.asarray(self.inputs, float), np.asarray(self.labels)
        rivals = np.array([[k for k in range(self.classes) if k != label] for label in y])
        directions = np.zeros((*rivals.shape, self.classes, X.shape[1]))
        n, r = np.indices(rivals.shape)
        directions[n, r, y[:, None]] += X[:, None]
        directions[n, r, rivals] -= X[:, None]
        return _optimum(self, directions.reshape(rivals.size, -1))

    @property
    def examples(self) -> int:
        """How many examples there are."""
        return self.inputs.shape[0]

    @property
    def example_inputs(self) -> Float[Array, "n in"]:
        """The inputs of its examples."""
        return self.inputs

    def take(self, indices: jax.Array) -> AbstractProblem:
        """The same loss on some of the examples."""
        return CrossEntropy(self.inputs[indices], self.labels[indices], self.classes)


def _optimum(problem: Margin | CrossEntropy, directions: np.ndarray) -> Optimum:
    """Minimise the loss, after finding which margins `⟨directions, w⟩` can grow without limit.

    The linear programme `max Σ s, 0 ≤ s ≤ 1, s ≤ ⟨directions, w⟩` has s = 1 exactly on the margins that some w makes
    positive while harming none. If there is one, the infimum is not attained, but only approached along that w.
    """
    from scipy.optimize import linprog

    m, d = directions.shape
    programme = linprog(
        np.r_[np.zeros(d), -np.ones(m)],
        A_ub=np.c_[-directions, np.eye(m)],
        b_ub=np.zeros(m),
        bounds=[(None, None)] * d + [(0, 1)] * m,
    )
    growing = programme.x[d:] > 0.5
    if growing.all():
        return Optimum(None, 0.0)

    if growing.any():  # start so far out along that w that what is gained by going on is below rounding
        w = programme.x[:d]
        return Optimum(None, minimise(problem, 50.0 * w / np.min((directions @ w)[growing]), problem.inputs.dtype)[1])
    return Optimum(*minimise(problem, np.zeros(d), problem.inputs.dtype))


def _signs(y: ArrayLike) -> jax.Array:
    labels = checks.real_array("y", y, 1)
    if not isinstance(labels, Tracer) and not np.isin(np.asarray(labels), (-1.0, 1.0)).all():
        raise ValueError(f"y must hold the labels −1 and +1; got {np.unique(np.asarray(labels))[:5]}")
    return labels


def logistic(X: ArrayLike, y: ArrayLike) -> Margin:
    """Mean of `log(1 + e^{−y Wx})` over the rows of X, labels y = ±1."""
    X, y = checks.columns("X", X), _signs(y)
    checks.same_length(X=X, y=y)
    return Margin(X, y, "logistic")


def exponential(X: ArrayLike, y: ArrayLike) -> Margin:
    """Mean of `e^{−y Wx}` over the rows of X, labels y = ±1."""
    X, y = checks.columns("X", X), _signs(y)
    checks.same_length(X=X, y=y)
    return Margin(X, y, "exponential")


def cross_entropy(X: ArrayLike, labels: ArrayLike, classes: int | None = None) -> CrossEntropy:
    """Multinomial cross-entropy over the rows of X, labels 0..classes−1."""
    X, y = checks.columns("X", X), labels if isinstance(labels, jax.Array) else arguments.numeric("labels", labels)
    y = jnp.asarray(y)
    if y.ndim != 1 or not jnp.issubdtype(y.dtype, jnp.integer):
        raise ValueError(f"labels must be a vector of integers; got {y.dtype} of shape {y.shape}")
    checks.same_length(X=X, labels=y)
    classes = int(y.max()) + 1 if classes is None else checks.whole("classes", classes, 2)
    if int(y.min()) < 0 or int(y.max()) >= classes or classes < 2:
        raise ValueError(
            f"labels must lie in 0..{classes - 1}, two classes at least; got {int(y.min())}..{int(y.max())}"
        )
    return CrossEntropy(X, y, classes)
