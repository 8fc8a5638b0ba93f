"""Ranks for all layers at once: within a budget of parameters, or within a budget of errors."""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np

K = TypeVar("K")
Ranks = dict[K, int | None]


class Choice(NamedTuple):
    """What a layer can become: whole, or two factors of some rank.

    Attributes:
        size: Numbers in the whole weight.
        step: Numbers in the factors for each unit of rank.
        energy: Share of `‖W‖²_F`, or of the outputs' energy on data, that ranks 1, 2, … keep.
        largest: What is cut off below ranks 1, 2, …: no input's output changes by more than that times its norm.
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

    def at_price(self, price: float) -> int | None:
        """The best of all ranks, and of the whole layer, if each number held costs that much."""
        if not self.useful:
            return None
        ranks = np.arange(1, self.useful + 1)
        total = 1 - self.energy[: self.useful] + price * self.step * ranks
        best = int(np.argmin(total))
        # Of equally good choices the smaller one, so that what is held falls with the price.
        return best + 1 if total[best] <= price * self.size else None


def spent(choices: Mapping[K, Choice], picked: Mapping[K, int | None]) -> int:
    """How many numbers all layers hold."""
    return sum(choice.cost(picked[key]) for key, choice in choices.items())


def squared_error(choices: Mapping[K, Choice], picked: Mapping[K, int | None]) -> float:
    """`1 − Π energy`: the sum of the layers' relative squared errors, for small ones."""
    kept = [1 - choice.error(picked[key]) for key, choice in choices.items()]
    return max(0.0, 1 - float(np.prod(kept)))


def ranks_within(choices: Mapping[K, Choice], budget: int) -> Ranks[K]:
    """Ranks (None: whole) with a small sum of relative squared errors whose factors hold at most `budget` numbers.

    At a price λ per number each layer minimises error + λ·size by itself; what all layers hold falls with the price,
    so bisection finds the lowest price within the budget, where the choice is the best for what it spends. What is
    left over buys the best single steps that fit.
    """
    if sum(choice.size for choice in choices.values()) <= budget:
        return dict.fromkeys(choices)
    low, high = _LOW, _HIGH
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(choices, _priced(choices, middle)) > budget else (low, middle)
    picked = _priced(choices, high)
    return _steps_that_fit(choices, picked, budget - spent(choices, picked))


def ranks_to(choices: Mapping[K, Choice], allowed: float) -> Ranks[K]:
    """Ranks (None: whole) that hold few numbers with `√(1 − Π energy)` at most `allowed`, by the highest such price."""
    low, high = _LOW, _HIGH
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        good = squared_error(choices, _priced(choices, middle)) <= allowed**2
        low, high = (middle, high) if good else (low, middle)
    return _priced(choices, low)


_LOW, _HIGH, _HALVINGS = (
    -40.0,
    4.0,
    60,
)  # log10 of the price: at the low end all layers are whole, at the high of rank 1


def _priced(choices: Mapping[K, Choice], price: float) -> Ranks[K]:
    return {key: choice.at_price(10**price) for key, choice in choices.items()}


def _steps_that_fit(choices: Mapping[K, Choice], picked: Ranks[K], left: int) -> Ranks[K]:
    """What is left over buys the best single steps that fit."""
    while steps := [step for key, rank in picked.items() if (step := _next(key, choices[key], rank, left))]:
        _, key, rank, price = max(steps, key=lambda step: step[0])
        picked[key], left = rank, left - price
    return picked


def _next(key: K, choice: Choice, rank: int | None, left: int) -> tuple[float, K, int | None, int] | None:
    """The gain per number of one more unit of rank (or of the whole layer, past the useful ranks), if it fits."""
    if rank is None:
        return None
    following = rank + 1 if rank < choice.useful else None
    price = choice.cost(following) - choice.cost(rank)
    if price > left:
        return None
    return (choice.error(rank) - choice.error(following)) / price, key, following, price
