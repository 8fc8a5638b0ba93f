"""What scikit-learn would be asked for: principal components, nearest neighbours, a path of regularisation."""

import numpy as np

from lineament import data
from lineament.measure.neighbours import neighbours
from lineament.theory import linearised

from .harness import Row, compare

ROWS, COLUMNS = 5000, 300  # tables that are larger than the caches of a core and quick all the same
NEAREST = 10
EXAMPLES, FEATURES, PATH = 600, 40, 200


def _images(rng: np.random.Generator) -> np.ndarray:
    """Rows with the falling spectrum of images."""
    turn = np.linalg.qr(rng.normal(size=(COLUMNS, COLUMNS)))[0]
    return rng.normal(size=(ROWS, COLUMNS)) / np.arange(1, COLUMNS + 1) @ turn


def _components(X: np.ndarray) -> Row:
    from sklearn.decomposition import PCA

    ours, theirs = lambda: data.fit(X), lambda: PCA(svd_solver="full").fit(X)
    gap = np.abs(ours().variances / (theirs().explained_variance_ * (ROWS - 1) / ROWS) - 1).max()
    return compare(
        f"all principal components, {ROWS}×{COLUMNS}", ("data.fit", ours, 1.0), ("sklearn PCA, full", theirs, 1.0),
        unit="fits", note=f"variances agree to {gap:.0e}",
    )  # fmt: skip


def _neighbours(X: np.ndarray) -> list[Row]:
    from sklearn.neighbors import NearestNeighbors

    def theirs(algorithm: str) -> np.ndarray:
        return NearestNeighbors(n_neighbors=NEAREST, algorithm=algorithm).fit(X).kneighbors(return_distance=False)

    same = np.mean(np.sort(neighbours(X, NEAREST)) == np.sort(theirs("brute")))
    return [
        compare(
            f"{NEAREST} nearest of {ROWS} examples", ("measure.neighbours", lambda: neighbours(X, NEAREST), float(ROWS)),
            (f"sklearn NearestNeighbors, {algorithm}", lambda: theirs(algorithm), float(ROWS)),  # noqa: B023
            unit="examples", repeats=3, note=f"{same:.2%} are the same",
        )
        for algorithm in ("brute", "ball_tree")
    ]  # fmt: skip


def _path(rng: np.random.Generator) -> Row:
    """Outputs of every model on the path from nothing learnt to all, by stopping early and by a penalty."""
    from sklearn.linear_model import Ridge

    X = rng.normal(size=(EXAMPLES, FEATURES)) / np.arange(1, FEATURES + 1)
    y = X @ rng.normal(size=FEATURES) + 0.1 * rng.normal(size=EXAMPLES)
    times = np.geomspace(1e-2, 1e6, PATH)
    ours = lambda: linearised.predict(times, X @ X.T, y)  # noqa: E731

    def theirs() -> np.ndarray:
        return np.stack([Ridge(EXAMPLES / t, fit_intercept=False, solver="svd").fit(X, y).predict(X) for t in times])

    ends = np.abs(ours()[-1] - theirs()[-1]).max() / np.abs(y).max()
    return compare(
        f"{PATH} models from nothing learnt to all, {EXAMPLES}×{FEATURES}",
        ("linearised.predict, stopped early", ours, float(PATH)),
        ("sklearn Ridge for each penalty n/t", theirs, float(PATH)),
        unit="models", note=f"both paths end at least squares, to {ends:.0e}; in between they are two families",
    )  # fmt: skip


def rows() -> list[Row]:
    """The same answers per CPU second, both in float64."""
    rng = np.random.default_rng(0)
    X = _images(rng)
    return [_components(X), *_neighbours(X), _path(rng)]
