"""What the claims of Varre et al. read off their runs: conservation from any start, and the rate of alignment."""

import numpy as np
import pytest

from lineament.claims.varre import corollary_figure, going_beyond_small_gamma


def gram_path(k, seed=0, times=5):
    """σ(W1) where W1ᵀW1 is a fixed matrix plus one of rank k that grows, as conservation has it: (1, 1, time, d)."""
    rng = np.random.default_rng(seed)
    C = np.diag(np.geomspace(0.1, 10, 6))
    W2 = rng.normal(size=(6, k))
    values = [np.sqrt(np.linalg.eigvalsh(C + t * W2 @ W2.T)[::-1]) for t in np.linspace(0, 3, times)]
    return np.array(values)[None, None]


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_conservation_allows_what_a_gram_matrix_of_rank_k_adds(k, seed):
    assert all(check.passed for check in corollary_figure._conserved(gram_path(k, seed), k))


def test_conservation_forbids_values_that_fall_and_ranks_that_grow_beyond_k():
    fallen = gram_path(2)
    fallen[..., -1, -1] = 0.9 * fallen[..., 0, -1]
    falls, excess = corollary_figure._conserved(fallen, 2)
    assert falls.failed
    assert excess.passed
    falls, excess = corollary_figure._conserved(gram_path(4), 2)  # rank 4 where only 2 outputs are
    assert falls.passed
    assert excess.failed


def test_the_rate_of_alignment_is_that_of_the_second_value_against_the_first():
    times = np.linspace(0, 2, going_beyond_small_gamma.RECORDS)
    values = np.stack([3 * np.exp(-0.1 * times), np.exp(-1.6 * times), np.exp(-5 * times)], axis=-1)
    assert going_beyond_small_gamma._rate(np.log(values), times) == pytest.approx(1.5)
    assert going_beyond_small_gamma._rate(np.log(np.stack([values, values])), times) == pytest.approx(1.5)
