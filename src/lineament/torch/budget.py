"""Ranks for all layers within a budget of parameters."""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np

K = TypeVar("K")


class Choice(NamedTuple):
    """What a layer can become: whole, or two factors of some rank.

    Attributes:
        size: Numbers in the whole weight.
        step: Numbers in the factors for each unit of rank.
        energy: Share of `‖W‖²_F` that ranks 1, 2, … keep.
        largest: The singular values in falling order, the largest over the groups.
    """

    size: int
    step: int
    energy: np.ndarray
    largest: np.ndarray

    def if_smaller(self, rank: int) -> int | None:
        """The rank, or None for the whole layer where factors would hold no fewer numbers."""
        return rank if rank * self.step < self.size else None

    @property
    def useful(self) -> int:
        """The largest rank whose factors are smaller than the whole weight; 0 if there is none."""
        return min((self.size - 1) // self.step, len(self.energy))

    @property
    def least(self) -> int:
        """The fewest numbers the layer can have."""
        return self.step if self.useful else self.size

    def cost(self, rank: int | None) -> int:
        """Numbers held at a rank."""
        return self.size if rank is None else rank * self.step

    def error(self, rank: int | None) -> float:
        """Relative squared error at a rank."""
        return 0.0 if rank is None else 1 - float(self.energy[rank - 1])


def ranks_within(choices: Mapping[K, Choice], budget: int) -> dict[K, int | None]:
    """Ranks (None: whole) with a small sum of relative squared errors whose factors hold at most `budget` numbers.

    At a price λ per number each layer minimises error + λ·size by itself; what all layers hold falls with the price,
    so bisection finds the lowest price within the budget, where the choice is the best for what it spends. What is
    left over buys the best single steps that fit.
    """
    if sum(choice.size for choice in choices.values()) <= budget:
        return dict.fromkeys(choices)
    low, high = -40.0, 4.0  # log10 of the price: at the high end every layer has rank 1, at the low end all are whole
    for _ in range(60):
        middle = (low + high) / 2
        spent = sum(c.cost(_at_price(c, 10**middle)) for c in choices.values())
        low, high = (middle, high) if spent > budget else (low, middle)
    picked = {key: _at_price(choice, 10**high) for key, choice in choices.items()}
    left = budget - sum(choices[key].cost(rank) for key, rank in picked.items())
    return _spent(choices, picked, left)


def _spent(choices: Mapping[K, Choice], picked: dict[K, int | None], left: int) -> dict[K, int | None]:
    """What is left over buys the best single steps that fit."""
    while steps := [step for key, rank in picked.items() if (step := _next(key, choices[key], rank, left))]:
        _, key, rank, cost = max(steps, key=lambda step: step[0])
        picked[key], left = rank, left - cost
    return picked


def _at_price(choice: Choice, price: float) -> int | None:
    options = [None, *range(1, choice.useful + 1)]
    # Of equally good choices the smaller one, so that what is held falls with the price.
    return min(options, key=lambda rank: (choice.error(rank) + price * choice.cost(rank), choice.cost(rank)))


def _next(key: K, choice: Choice, rank: int | None, left: int) -> tuple[float, K, int | None, int] | None:
    """The gain per number of one more unit of rank (or of the whole layer, past the useful ranks), if it fits."""
    if rank is None:
        return None
    following = rank + 1 if rank < choice.useful else None
    cost = choice.cost(following) - choice.cost(rank)
    if cost > left:
        return None
    return (choice.error(rank) - choice.error(following)) / cost, key, following, cost
