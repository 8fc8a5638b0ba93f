"""Ranks within budgets, decompositions and spectra, against brute force and definitions."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from lineament.torch import budget, decomposition, spectra
from lineament.torch.spectra import energy_curve, factored_size, least_rank

RNG = np.random.default_rng(0)


def choice(size=100, step=10, singular_values=(4.0, 2.0, 1.0, 0.5)):
    s = np.array(singular_values)
    return budget.Choice(size, step, np.cumsum(s**2) / np.sum(s**2), np.append(s[1:], 0.0))


def test_what_a_layer_can_become():
    one = choice(size=31)
    assert (one.useful, one.least, one.cost(None), one.cost(2)) == (3, 10, 31, 20)
    assert choice(size=30).useful == 2, "factors must hold fewer numbers than the whole"
    assert choice(size=1000).useful == 4, "there is no higher rank"
    assert (choice(size=10).useful, choice(size=10).least) == (0, 10)
    assert (choice(size=11).useful, choice(size=11).least) == (1, 10)
    assert (one.if_smaller(3), choice(size=30).if_smaller(3), one.if_smaller(4)) == (3, None, None)
    assert one.error(None) == 0
    assert one.error(2) == pytest.approx(1.25 / 21.25)


@pytest.mark.parametrize("size", [25, 31, 60])
def test_at_a_price_the_best_is_chosen(size):
    one = choice(size=size)
    for price in 10.0 ** np.linspace(-6, 0, 41):
        ranks = [*range(1, one.useful + 1), None]
        totals = {rank: one.error(rank) + price * one.cost(rank) for rank in ranks}
        best = min(totals.values())
        assert totals[one.at_price(price)] == pytest.approx(best, rel=1e-12)
    assert choice(size=10).at_price(1.0) is None


def test_one_layer_gets_the_largest_rank_that_fits():
    one = {"a": choice(size=45)}
    for numbers in range(10, 60):
        expected = None if numbers >= 45 else numbers // 10
        assert budget.ranks_within(one, numbers) == {"a": expected}
    for allowed in (0.9, 0.5, 0.3, 0.26, 0.2, 0.1, 0.0):
        good = [rank for rank in (1, 2, 3, 4) if one["a"].error(rank) <= allowed**2 + 1e-15]
        assert budget.ranks_to(one, allowed) == {"a": good[0] if good else None}


def test_budgets_of_several_layers_are_kept_and_used_up():
    choices = {
        "a": choice(60, 10), "b": choice(45, 8, (3.0, 2.9, 2.8, 0.1)), "c": choice(12, 12),
        "d": choice(90, 20, (1.0, 1.0)),
    }  # fmt: skip
    errors = []
    for numbers in range(60, 220, 3):
        picked = budget.ranks_within(choices, numbers)
        left = numbers - budget.spent(choices, picked)
        assert left >= 0
        assert not any(budget._next(key, choices[key], rank, left) for key, rank in picked.items())
        errors.append(budget.squared_error(choices, picked))
    assert errors[-1] == 0
    assert all(after <= before + 0.05 for before, after in pairwise(errors))
    assert budget.ranks_within(choices, 207) == dict.fromkeys(choices), "all of it fits"
    one = {"a": 1, "b": None, "c": None, "d": 2}
    assert budget.spent(choices, one) == 10 + 45 + 12 + 40
    assert budget.squared_error(choices, one) == pytest.approx(1 - 16 / 21.25)


def test_the_next_step_and_what_it_gains_for_each_number():
    one = choice(45)
    assert budget._next("a", one, None, 99) is None
    gain, key, rank, price = budget._next("a", one, 1, 10)
    assert (key, rank, price, gain) == ("a", 2, 10, pytest.approx((one.error(1) - one.error(2)) / 10))
    assert budget._next("a", one, 1, 9) is None
    assert budget._next("a", one, 4, 5)[1:] == ("a", None, 5)
    assert budget._next("a", one, 4, 4) is None


@pytest.mark.parametrize("shape", [(2, 30, 20), (1, 20, 30), (1, 16, 40), (3, 5, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_decompositions_give_the_weight_back(shape, dtype):
    W = torch.from_numpy(RNG.normal(size=shape))
    U, S, Vt = decomposition.decomposed(W, dtype)
    torch.testing.assert_close(U * S[:, None] @ Vt, W, rtol=0, atol=1e-12)
    torch.testing.assert_close(S, torch.linalg.svdvals(W), rtol=1e-10, atol=0)
    k = min(shape[1:])
    for side in (U.mT @ U, Vt @ Vt.mT):
        torch.testing.assert_close(side, torch.eye(k, dtype=W.dtype).expand(shape[0], k, k), rtol=0, atol=1e-9)


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("width", [3, 5, 8])
def test_factors_are_balanced_and_multiply_to_the_weight(depth, width):
    W = torch.from_numpy(RNG.normal(size=(2, 6, 5)))
    parts = decomposition.decomposed(W, torch.float64)
    factors = decomposition.balanced(parts, depth, width)
    found = factors[0]
    for factor in factors[1:]:
        found = factor @ found
    kept = min(width, 5)
    best = (parts.U[:, :, :kept] * parts.S[:, None, :kept]) @ parts.Vt[:, :kept]
    torch.testing.assert_close(found, best, rtol=0, atol=1e-12)
    for before, after in pairwise(factors):
        torch.testing.assert_close(after.mT @ after, before @ before.mT, rtol=0, atol=1e-12)
    two = decomposition.balanced(parts, depth, width, kept=2)
    assert all(torch.linalg.matrix_rank(factor).max() == 2 for factor in two)


def test_rounding_has_no_root():
    S = torch.tensor([[1.0, 1e-17]], dtype=torch.float64)
    parts = decomposition.Decomposed(torch.eye(2).double()[None], S, torch.eye(2).double()[None])
    first, last = decomposition.balanced(parts, 2, 2)
    assert first[0, 1].abs().max() == last[0, :, 1].abs().max() == 0
    large = decomposition.Decomposed(parts.U, 1e6 * torch.tensor([[1.0, 1e-14]], dtype=torch.float64), parts.Vt)
    assert decomposition.balanced(large, 2, 2)[0][0, 1].abs().max() > 0


def test_ranks_to_a_part_of_the_norm():
    S = torch.tensor([[3.0, 4e-3, 3e-3], [1.0, 1e-9, 0.0]], dtype=torch.float64)
    parts = decomposition.Decomposed(S, S, S)
    norm = float(torch.linalg.vector_norm(S[0]))
    for to, rank in ((1e-12, 3), (0.9e-3, 3), (1.001 * 3e-3 / norm, 2), (1.001 * 5e-3 / norm, 1), (0.9, 1)):
        assert decomposition.rank(parts, to) == rank
    W = torch.ones((1, 40, 3), dtype=torch.float64)
    assert decomposition.precision(W, torch.float32) == torch.finfo(torch.float32).eps
    assert decomposition.precision(W, torch.float64) == 40 * torch.finfo(torch.float64).eps


def test_the_gap_of_factors_is_relative():
    W = torch.from_numpy(RNG.normal(size=(1, 3, 3)))
    assert decomposition.gap([W, torch.eye(3).double()[None]], W) == 0
    assert decomposition.gap([1.5 * W], W) == pytest.approx(0.5)
    nothing = torch.zeros(1, 3, 3).double()
    assert decomposition.gap([nothing], nothing) == 0
    assert decomposition.gap([W], nothing) == 1


def test_energies_of_groups_together():
    S = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    np.testing.assert_allclose(energy_curve(S), [5 / 8, 7 / 8, 1])
    np.testing.assert_array_equal(energy_curve(np.zeros((1, 2))), 1)
    for share, rank in ((0.5, 1), (0.625, 1), (0.63, 2), (0.875, 2), (0.9, 3), (1.0, 3)):
        assert least_rank(energy_curve(S), share) == rank
    assert factored_size(torch.zeros(2, 3, 5), 4) == 2 * 4 * 8


def test_the_spectrum_of_a_layer_by_definition():
    layer = torch.nn.Linear(6, 4)
    (row,) = spectra(layer)
    s = np.linalg.svd(layer.weight.detach().double().numpy(), compute_uv=False)
    p = s / s.sum()
    assert row.effective_rank == pytest.approx(np.exp(-np.sum(p * np.log(p))))
    assert row.stable_rank == pytest.approx(np.sum(s**2) / s[0] ** 2)
    assert row.rank_99 == int(np.argmax(np.cumsum(s**2) >= 0.99 * np.sum(s**2))) + 1
    assert (row.parameters, row.saved_99) == (24, max(0, 24 - row.rank_99 * 10))
    np.testing.assert_allclose(row.singular_values, s, rtol=1e-12)
    torch.nn.init.zeros_(layer.weight)
    (zero,) = spectra(layer)
    assert (zero.effective_rank, zero.stable_rank, zero.rank_99) == (0, 0, 1)
    torch.nn.init.constant_(layer.weight, float("nan"))
    assert not spectra(layer)[0].done
