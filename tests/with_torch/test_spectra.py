"""One row per layer, against the definitions."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from scipy.linalg import block_diag  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.utils import parametrizations  # noqa: E402

from lineament import measure  # noqa: E402
from lineament.torch import expand, spectra, truncate  # noqa: E402
from lineament.torch.layers import ALLOWED  # noqa: E402


def test_a_row_holds_the_spectrum_of_the_weight_as_a_matrix():
    model = nn.Sequential(nn.Conv2d(4, 6, 3, groups=2), nn.Flatten(), nn.Linear(6, 5)).double()
    table = spectra(model)
    W = model[0].weight.detach().numpy().reshape(2, 3, -1)
    blocks = block_diag(*W)
    assert table["0"].effective_rank == pytest.approx(float(measure.effective_rank(blocks)))
    assert table["0"].stable_rank == pytest.approx(float(measure.stable_rank(blocks)))
    np.testing.assert_allclose(table["0"].singular_values, np.linalg.svd(blocks, compute_uv=False), atol=1e-14)
    squares = np.sum(np.linalg.svd(W, compute_uv=False) ** 2, axis=0)
    np.testing.assert_allclose(table["0"].energy, np.cumsum(squares) / squares.sum())
    V = model[2].weight.detach().numpy()
    assert table["2"].effective_rank == pytest.approx(float(measure.effective_rank(V)))
    assert table["2"].shape == (5, 6)


def test_what_could_be_saved_is_what_truncation_saves():
    layer = nn.Linear(30, 20)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(20, 2) @ torch.randn(2, 30))
    (row,) = spectra(layer)
    assert row.rank_99 <= 2
    _, report = truncate(layer, energy=0.99)
    assert report.parameters - report.truncated == row.saved_99 == 600 - row.rank_99 * 50


def test_a_product_counts_as_the_layer_it_stands_for():
    model = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 3)).double()
    plain, product = spectra(model), spectra(expand(model, 3).model)
    for a, b in zip(plain, product, strict=True):
        assert (a.layer, a.shape, a.rank_99, a.saved_99) == (b.layer, b.shape, b.rank_99, b.saved_99)
        np.testing.assert_allclose(a.singular_values, b.singular_values, atol=1e-13)


@pytest.mark.parametrize("shape", [(17, 17), (40, 23), (23, 40), (16, 99), (90, 18)])
def test_singular_values_are_as_precise_as_the_weight(shape):
    m = min(shape)
    torch.manual_seed(0)
    U, V = (torch.linalg.qr(torch.randn(n, m, dtype=torch.float64))[0] for n in shape)
    wanted = np.geomspace(3e4, 3e-8, m)  # condition 1e12: of single precision the last are rounding
    layer = nn.Linear(shape[1], shape[0], dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(U * torch.from_numpy(wanted) @ V.mT)
    (row,) = spectra(layer)
    np.testing.assert_allclose(row.singular_values, wanted, rtol=1e-3)
    (row,) = spectra(layer.float())
    truth = torch.linalg.svdvals(layer.weight.detach().double()).numpy()
    np.testing.assert_allclose(row.singular_values, truth, rtol=0, atol=1e-7 * truth[0])
    np.testing.assert_allclose(row.singular_values[: m // 4], truth[: m // 4], rtol=1e-9)
    assert np.all(np.diff(row.singular_values) <= 0)


def test_a_zero_weight_has_no_rank():
    layer = nn.Linear(3, 2)
    nn.init.zeros_(layer.weight)
    (row,) = spectra(layer)
    assert (row.effective_rank, row.stable_rank, row.rank_99) == (0, 0, 1)
    np.testing.assert_array_equal(row.energy, [1, 1])


def test_equal_singular_values_have_full_rank():
    layer = nn.Linear(4, 4)
    nn.init.eye_(layer.weight)
    (row,) = spectra(layer)
    assert row.effective_rank == pytest.approx(4)
    assert row.stable_rank == pytest.approx(4)
    assert row.rank_99 == 4
    assert row.saved_99 == 0


def test_computed_weights_are_read_and_other_weights_are_listed():
    model = nn.Sequential(parametrizations.orthogonal(nn.Linear(3, 3)), nn.Bilinear(5, 2, 3), nn.LazyLinear(2))
    table = spectra(model)
    assert table["0"].stable_rank == pytest.approx(3, rel=1e-5)
    assert [(row.layer, row.note) for row in table.skipped] == [
        ("1", f"a Bilinear is none of {ALLOWED}"),
        ("2", "not initialised yet: run the lazy layer once"),
    ]
    text = str(table)
    assert text.splitlines()[0].split("  ")[0] == "layer"
    assert "effective rank" in text
    assert len(text.splitlines()) == 4


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", [(0, 0), (1, 2)])
def test_one_number_that_is_not_finite_is_enough(value, place):
    """Nothing is read off such a weight, and nothing is put in its place."""
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2))
    with torch.no_grad():
        model[0].weight[place] = value
    for table in (spectra(model), expand(model, 2).report, truncate(model, ranks=1).report.layers):
        assert [row.done for row in table] == [False, True]
        assert table["0"].note == "its weight is not finite"


def test_no_layers():
    assert str(spectra(nn.ReLU())) == "no layers"
    with pytest.raises(ValueError, match=r"model must be a torch\.nn\.Module; got str"):
        spectra("model")
