"""Principal components of a data set, and changes to them (Hacohen & Weinshall, Definition 1, §3.3, §4.3, §6).

Arrays hold one example per row; examples of any shape, such as images (n, height, width, channels), are flattened and
come back in their shape. Fit on training data, then apply to training and test data alike. NumPy only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments

Float = NDArray[np.floating]
Kind = Literal["pca", "zca"]
# Rows turned into float64 at a time: 100 MB at 3072 pixels.
CHUNK = 4096


@dataclass(frozen=True)
class Components:
    """The principal coordinate system of some examples: a centre, orthonormal directions, the variance along each.

    Only directions with variance are held: fewer than there are pixels if there are few examples, so that the lowest
    components are directions the examples really take. What an example has outside their span is its residual.

    Attributes:
        mean: The centre, (pixels,); zero if fitted without centring.
        directions: Orthonormal rows in order of falling variance, (components, pixels).
        variances: Mean squared coordinate of the examples along each. Definition 1's d_j, without centring, is
            `examples × variances`.
        examples: How many examples it was fitted on.
    """

    mean: NDArray[np.float64]
    directions: NDArray[np.float64]
    variances: NDArray[np.float64]
    examples: int

    @property
    def count(self) -> int:
        """How many components there are."""
        return len(self.variances)

    @property
    def explained(self) -> NDArray[np.float64]:
        """The share of all variance that the first 1, 2, … components hold."""
        return np.cumsum(self.variances) / self.variances.sum()

    def highest(self, share: float) -> slice:
        """The components of highest variance that make up a share of their number, at least one."""
        return slice(0, self._number(share))

    def lowest(self, share: float) -> slice:
        """The components of lowest variance that make up a share of their number, at least one."""
        return slice(self.count - self._number(share), self.count)

    def coordinates(self, X: ArrayLike) -> Float:
        """Principal coordinates (n, components) of the examples about the centre, in their precision."""
        rows = self._rows(X)
        return (rows - self.mean.astype(rows.dtype)) @ self.directions.T.astype(rows.dtype)

    def restored(self, coordinates: ArrayLike) -> Float:
        """Rows of pixels (n, pixels) from principal coordinates; the inverse of `coordinates` on the span."""
        c = _floating("coordinates", coordinates)
        if c.ndim != 2 or c.shape[1] > self.count:
            raise ValueError(f"coordinates must be (n, at most {self.count}); got shape {c.shape}")
        return c @ self.directions[: c.shape[1]].astype(c.dtype) + self.mean.astype(c.dtype)

    def project(self, X: ArrayLike, P: int) -> Float:
        """The examples projected on the first P components (§3.3): what remains lies in a P-dimensional flat."""
        arguments.count("P", P, 0, self.count)
        rows = self._rows(X)
        directions = self.directions[:P].astype(rows.dtype)
        mean = self.mean.astype(rows.dtype)
        return ((rows - mean) @ directions.T @ directions + mean).reshape(np.shape(X))

    def amplify(self, X: ArrayLike, part: slice, factor: float) -> Float:
        """The examples with some of their principal coordinates multiplied (§6.1, Appendix D.1).

        Args:
            X: Examples.
            part: Which components, such as `components.lowest(0.015)`.
            factor: What they are multiplied by; the paper's is 10.
        """
        factor = arguments.number("factor", factor)
        arguments.instance("part", part, slice)
        rows = self._rows(X)
        directions = self.directions[part].astype(rows.dtype)
        coordinates = (rows - self.mean.astype(rows.dtype)) @ directions.T
        return (rows + rows.dtype.type(factor - 1) * (coordinates @ directions)).reshape(np.shape(X))

    def whiten(self, X: ArrayLike, kind: Kind = "zca", regularisation: float = 0.0) -> Float:
        """The examples with the same variance in every principal direction (§4.3).

        Args:
            X: Examples.
            kind: "zca" multiplies by the symmetric root `(Σ + εI)^{−1/2}` and keeps pixels in place; "pca" gives the
                scaled principal coordinates, (n, components).
            regularisation: ε over the mean variance per pixel. Without it, whitening is exact on the components; what
                lies outside their span, which training data never do, is dropped. With it, "zca" scales the residual
                by ε^{−1/2} and can be undone for every example.
        """
        _kind(kind)
        epsilon = self._epsilon(regularisation)
        coordinates = self.coordinates(X)
        scale = (1 / np.sqrt(self.variances + epsilon)).astype(coordinates.dtype)
        if kind == "pca":
            return coordinates * scale
        residual = self._residual(X, coordinates, 1 / np.sqrt(epsilon)) if epsilon > 0 else 0
        return ((coordinates * scale) @ self.directions.astype(coordinates.dtype) + residual).reshape(np.shape(X))

    def unwhiten(self, Z: ArrayLike, kind: Kind = "zca", regularisation: float = 0.0) -> Float:
        """Undo `whiten` with the same kind and regularisation; "pca" gives rows of pixels."""
        _kind(kind)
        epsilon = self._epsilon(regularisation)
        if kind == "pca":
            z = _floating("Z", Z)
            if z.ndim != 2 or z.shape[1] != self.count:
                raise ValueError(f"Z must be (n, {self.count}) for kind 'pca'; got shape {z.shape}")
            return self.restored(z * np.sqrt(self.variances + epsilon).astype(z.dtype))
        rows = self._rows(Z, "Z")
        directions = self.directions.astype(rows.dtype)
        white = rows @ directions.T
        root = np.sqrt(self.variances + epsilon).astype(rows.dtype)
        residual = (rows - white @ directions) * rows.dtype.type(np.sqrt(epsilon))
        return ((white * root) @ directions + residual + self.mean.astype(rows.dtype)).reshape(np.shape(Z))

    def _residual(self, X: ArrayLike, coordinates: Float, scale: float) -> Float:
        rows = self._rows(X)
        inside = coordinates @ self.directions.astype(rows.dtype)
        return (rows - self.mean.astype(rows.dtype) - inside) * rows.dtype.type(scale)

    def _epsilon(self, regularisation: float) -> float:
        return (
            arguments.number("regularisation", regularisation, least=0) * float(self.variances.sum()) / self.mean.size
        )

    def _number(self, share: float) -> int:
        return max(1, round(arguments.number("share", share, above=0, most=1) * self.count))

    def _rows(self, X: ArrayLike, name: str = "X") -> Float:
        rows = _flat(name, X)
        if rows.shape[1] != self.mean.size:
            raise ValueError(f"{name} must hold examples of {self.mean.size} numbers; got shape {np.shape(X)}")
        return rows


def fit(X: ArrayLike, *, centre: bool = True) -> Components:
    """The principal components of examples, in float64 whatever the precision of X.

    With more examples than pixels from the eigenvectors of the covariance, accumulated over chunks of rows; with
    fewer from those of the Gram matrix. Either squares the condition number: standard deviations less than about 1e-7
    of the largest count as zero.

    Args:
        X: Examples (n, …), at least two.
        centre: Whether to take the mean off first. Definition 1 does not, but normalises the data beforehand.
    """
    rows, centre = _flat("X", X), arguments.truth("centre", centre)
    n, q = rows.shape
    if n < 2:
        raise ValueError(f"X must hold at least two examples; got {n}")
    mean = rows.mean(axis=0, dtype=np.float64) if centre else np.zeros(q)
    if n >= q:
        covariance = np.zeros((q, q))
        for chunk in _chunks(rows, mean):
            covariance += chunk.T @ chunk
        values, vectors = np.linalg.eigh(covariance / n)
        variances, directions = values[::-1], vectors.T[::-1]
    else:
        centred = rows - mean
        values, vectors = np.linalg.eigh(centred @ centred.T)
        # Rows of vectorsᵀ·centred are orthogonal up to rounding relative to the largest; in order of falling size, a
        # QR decomposition takes out of each what it holds of the larger ones.
        Q, R = np.linalg.qr(centred.T @ vectors[:, ::-1])
        variances, directions = np.diagonal(R) ** 2 / n, Q.T
    held = variances > max(n, q) * np.finfo(float).eps * variances[0]
    if not held.any():
        raise ValueError("X must vary: all its examples are the same")
    held = np.logical_and.accumulate(held)
    return Components(mean, np.ascontiguousarray(directions[held]), variances[held].copy(), n)


def separable_labels(
    components: Components, X: ArrayLike, labels: ArrayLike, P: int, *others: ArrayLike
) -> tuple[NDArray[np.int64], ...]:
    """Labels that a linear separator in the first P components reproduces exactly (§6.2, Figure 11).

    The separator is the least-squares one (with offset) of the one-hot labels on the P coordinates, W_opt of §3.2.
    Every example gets the class it chooses, so examples it gets wrong switch labels.

    Args:
        components: Principal components of the training data.
        X: Training examples.
        labels: Their classes 0 … K−1: the real ones, or shuffled ones.
        P: How many components the labels may depend on.
        others: Further examples, such as the test set, to label by the same separator.

    Returns:
        The new labels of X, and of each of `others`.
    """
    arguments.instance("components", components, Components)
    P = arguments.count("P", P, 1, components.count)
    y = arguments.numeric("labels", labels)
    if y.shape != (len(_flat("X", X)),) or not np.issubdtype(y.dtype, np.integer) or y.size == 0 or y.min() < 0:
        raise ValueError(f"labels must be whole numbers from 0, one per example; got shape {y.shape}, {y.dtype}")
    design = _design(components, X, P)
    weights = np.linalg.lstsq(design, np.eye(y.max() + 1)[y], rcond=None)[0]
    return tuple(np.argmax(_design(components, Z, P) @ weights, axis=1) for Z in (X, *others))


def _design(components: Components, X: ArrayLike, P: int) -> NDArray[np.float64]:
    coordinates = components.coordinates(X)[:, :P].astype(float)
    return np.column_stack([coordinates / np.sqrt(components.variances[:P]), np.ones(len(coordinates))])


def _kind(kind: str) -> None:
    arguments.one_of("kind", kind, ("pca", "zca"))


def _flat(name: str, X: ArrayLike) -> Float:
    array = _floating(name, X)
    if array.ndim < 2 or array.size == 0:
        raise ValueError(f"{name} must hold examples along its first axis; got shape {array.shape}")
    return array.reshape(len(array), -1)


def _floating(name: str, X: ArrayLike) -> Float:
    array = arguments.numeric(name, X)
    array = array if np.issubdtype(array.dtype, np.floating) else array.astype(float)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; {np.count_nonzero(~np.isfinite(array))} of its numbers are not")
    return array


def _chunks(rows: Float, mean: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    for begin in range(0, len(rows), CHUNK):
        yield rows[begin : begin + CHUNK] - mean
