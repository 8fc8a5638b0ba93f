"""What counts as zero beside the largest singular value: the bar is where the code says it is, on either side of it.

The bars are multiples of rounding, of the larger side of a matrix and of its largest value, so that matrices here are
diagonal (their singular values are then exact), oblong, and of a scale other than one.
"""

import numpy as np
import pytest

from lineament.theory import circulation, kernel_modes, layers, log_det, narrowing, singular_flow, twin

EPS = np.finfo(float).eps
SIDES = pytest.mark.parametrize(("share", "counts"), [(0.995, False), (1.005, True)])
SCALES = pytest.mark.parametrize("scale", [0.01, 1.0, 300.0])


def oblong(rows, columns, scale, least):
    """A diagonal matrix with one value that is far smaller than the others."""
    W = np.zeros((rows, columns))
    np.fill_diagonal(W, scale * np.r_[1.0, np.full(min(rows, columns) - 2, 0.5), least])
    return W


@SIDES
@SCALES
def test_first_layers_of_full_column_rank(share, counts, scale):
    W1, W2 = oblong(7, 3, scale, share * EPS * 7), np.ones((1, 7))
    X, Y = np.eye(3), np.ones((3, 1))
    if counts:
        assert np.isfinite(log_det.kkt(W1, W2, X, Y, 0.5).feasibility)
    else:
        with pytest.raises(ValueError, match="full column rank"):
            log_det.kkt(W1, W2, X, Y, 0.5)


@SIDES
@SCALES
@pytest.mark.parametrize("shape", [(3, 8), (8, 3)])
def test_the_row_space_of_examples(share, counts, scale, shape):
    rows = log_det._row_space(oblong(*shape, scale, share * EPS * 8))
    np.testing.assert_allclose(np.abs(rows), np.eye(2 + counts, shape[1]), atol=1e-14)


@SIDES
@SCALES
@pytest.mark.parametrize("shape", [(3, 8), (8, 3)])
def test_maps_at_which_the_field_has_a_derivative(share, counts, scale, shape):
    W = oblong(*shape, scale, share * EPS * 8)
    if counts:
        assert circulation.derivative(W, np.ones(shape), lambda W: W, lambda W, A: A, 2).shape == shape
    else:
        with pytest.raises(ValueError, match="full rank"):
            circulation.derivative(W, np.ones(shape), lambda W: W, lambda W, A: A, 2)


@SIDES
@SCALES
def test_values_that_are_followed_by_their_logarithms(share, counts, scale):
    W = np.zeros((2, 8))
    np.fill_diagonal(W, scale * np.array([1.0, share * 32 * EPS * 8]))
    found = singular_flow.singular_flow([0.0], W, lambda W: W, 2)
    np.testing.assert_allclose(np.exp(found.log_s[0]), np.diagonal(W)[: 1 + counts], rtol=1e-12)


@SIDES
@SCALES
def test_values_that_layers_share(share, counts, scale):
    W = np.zeros((2, 8))
    np.fill_diagonal(W, scale * np.array([1.0, share * 32 * EPS * 8]))
    for layer in layers.balanced(W, (8, 3, 2)):
        root = np.linalg.svd(layer)[1]
        assert (root[1] > 0) == counts
        assert root[0] == pytest.approx(np.sqrt(scale), rel=1e-12, abs=0)


@SIDES
@SCALES
@pytest.mark.parametrize("n", [2, 9])
def test_modes_of_features(share, counts, scale, n):
    """Two inputs along the axes (the others are zero), of which one is next to nothing beside the other."""
    x = np.zeros((n, 4))
    x[0, 0], x[1, 1] = scale, share * EPS * max(n, 6) * scale
    assert twin.Twin(x, np.ones(n), twin.FeatureMap(2.0), step_size=0.1).rates.size == 1 + counts


@SIDES
@SCALES
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_eigenvalues_of_kernels(share, counts, scale, sign):
    values = scale * np.array([1.0, 0.5, sign * share * EPS * 3])
    found = kernel_modes.modes(np.diag(values), np.ones((3, 1))).values
    np.testing.assert_allclose(np.sort(found)[1:], np.sort(values[:2]), rtol=1e-14)
    assert np.min(found) == pytest.approx(values[2] if counts and sign > 0 else 0.0, rel=1e-12, abs=0)


@SIDES
@SCALES
def test_directions_that_reach_a_hidden_layer(share, counts, scale):
    frame = narrowing._frame(oblong(6, 4, scale, share * 1e-10))
    np.testing.assert_allclose(np.abs(frame), np.eye(6, 3 + counts), atol=1e-9)
