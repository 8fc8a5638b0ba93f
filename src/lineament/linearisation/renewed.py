"""A network's training, forecast with tangents that are renewed on the way.

One tangent, that of the start, says what wide networks do, and of others only the beginning. Here the network is
followed in strides (`lineament.linearisation.path`), so that what is learnt beyond the first tangent is in the forecast
too: features, as far as a few tangents show them. The path is then traced again with strides twice as long. A stride
misses what falls with the cube of its length, so that the second path is off by about four times as much as the first:
how far the two are apart is a careful error bar for the first, unless what was missed on the way sums up to more.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..core import arguments
from . import batches
from .linearised import Band, Linearised
from .path import Path, follow, retrace
from .safe import CAUTION, DEPARTED, Safety, departure, first_departure
from .strides import Place, Tangent, Training, begin
from .tangents import Array

TOLERANCE = 0.02
"""The share of a loss that a stride may miss, examples taken one by one; a look at the network may miss as much."""
LEAST = TOLERANCE
"""The error bar is never narrower: within a stride a curve may miss as much as its end."""
RENEWALS = 60
"""Tangents that are computed at most, where nothing else is asked for."""


@dataclass(frozen=True, eq=False, repr=False)
class Renewed(Linearised):
    """A forecast with renewed tangents; made by `lineament.linearise` with `renew`.

    Attributes:
        renewals: how many tangents may be computed beyond that of the start.
    """

    renewals: int = RENEWALS

    @cached_property
    def path(self) -> Path:
        """The network followed through its training."""
        drawn = None
        if self.batch_size is not None:
            drawn = batches.draw(len(self.y), self.batch_size, self.steps, self.seed)
        return self._follow(self.at, drawn)

    def outputs(self, steps: Any) -> tuple[Array, Array]:
        """Outputs on training and test points, ``(*steps, n, k)`` and ``(*steps, m, k)``, after whole steps.

        For steps that are not among `at` the network is followed once more. Where it diverges, outputs are not-a-number.
        """
        count = arguments.real("steps", steps, least=0, most=self.steps)
        if not np.equal(count, np.floor(count)).all():
            raise ValueError("steps must be whole numbers; got fractions of steps")
        wanted = count.astype(np.int64).ravel()
        path = self.path
        if not np.isin(wanted, self.at).all():
            path = self._follow(np.union1d([0], wanted))
        here, there = (_at(wanted, path.at, part) for part in (path.here, path.there))
        return here.reshape(*count.shape, *here.shape[1:]), there.reshape(*count.shape, *there.shape[1:])

    @cached_property
    def _recorded(self) -> tuple[Array, Array]:
        return self.outputs(self.at)

    @cached_property
    def band(self) -> Band | None:
        """As of any network, the runs carried along with the path."""
        orders = self.path.orders
        if orders is None:
            return None
        here, there = (_at(self.at, self.path.at, part.T).T for part in orders)
        return Band(here.min(axis=0), here.max(axis=0), there.min(axis=0), there.max(axis=0))

    @cached_property
    def tangent(self) -> Linearised:
        """The forecast by the tangent of the start alone."""
        return Linearised(**{name: getattr(self, name) for name in Linearised.__dataclass_fields__})

    @property
    def linear_until(self) -> float:
        """The step until which the tangent of the start alone would do, losses within a tenth; infinity for all."""
        seen, known = self.tangent.curves, np.isfinite(self.curves.loss)
        test = (self.curves.test_loss[known], seen.test_loss[known]) if self.y_test is not None else (_NONE, _NONE)
        return first_departure(self.at[known], departure(self.curves.loss[known], seen.loss[known], *test), DEPARTED)

    @cached_property
    def error(self) -> tuple[Array, Array]:
        """The error of training and test loss at the steps `at`, as shares.

        The larger of two estimates: what strides twice as long miss by then, and what the strides missed themselves,
        added up as independent errors are. Where units switch on and off, strides half as long miss no less, and the
        second is the larger. An error does not heal: paths that cross are taken to be as far apart as they were before.
        """
        path = self.path
        every_other = slice(None, None, -2)
        ends = path.ends[every_other][::-1]
        again = retrace(self._training(), *self._start, ends)
        summed = np.interp(self.at, np.r_[0, path.ends], np.r_[0.0, np.sqrt(np.cumsum(path.missed**2))])
        followed = np.where(self.at <= path.followed, 0.0, np.inf)
        found = []
        for seen, curve in zip(again.T, (path.loss, path.test_loss), strict=True):
            if not len(curve):
                continue
            with np.errstate(divide="ignore", invalid="ignore"):
                off = np.abs(seen / curve[every_other][::-1] - 1)
                worst = np.maximum.accumulate(np.r_[0.0, np.where(np.isnan(off), np.inf, off)])
                along = np.interp(self.at, np.r_[0, ends], worst)
            along = np.where(np.isnan(along), np.inf, along)
            found.append(np.maximum(along, summed) + followed)
        return found[0], found[-1]

    @cached_property
    def error_bar(self) -> Band:
        """Between which losses those of the network are to be expected, step by step."""
        curves, band = self.curves, self.band
        if band is None:
            band = Band(curves.loss, curves.loss, curves.test_loss, curves.test_loss)
        off, test_off = (np.maximum(part, LEAST) for part in self.error)
        low, test_low = np.maximum(1 - off, 0.0), np.maximum(1 - test_off, 0.0)
        return Band(low * np.minimum(curves.loss, band.low), (1 + off) * np.maximum(curves.loss, band.high),
                    test_low * np.minimum(curves.test_loss, band.test_low),
                    (1 + test_off) * np.maximum(curves.test_loss, band.test_high))  # fmt: skip

    @cached_property
    def safety(self) -> Safety:
        """Safe as long as the error stays within what is promised; the looks are those at the ends of the strides."""
        path = self.path
        step = first_departure(self.at, np.maximum(*self.error), CAUTION * DEPARTED)
        return Safety(step, path.ends, path.loss, path.loss, path.test_loss, path.test_loss, path.finished)

    def _training(self) -> Training:
        return Training(
            self.X, self.y, self.X_test, self.y_test, self.loss_name, self.solution.optimiser, self.weight_decay,
            self.steps, self.kernel,
        )  # fmt: skip

    @property
    def _start(self) -> tuple[Place, Tangent]:
        start = begin(self.network, self.solution.start, self.solution.start_test)
        return start, Tangent(self.network, self.solution.given)

    def _follow(self, at: np.ndarray, drawn: np.ndarray | None = None) -> Path:
        return follow(self._training(), *self._start, at, TOLERANCE, self.renewals, drawn, self.progress)


_NONE = np.zeros(0)


def _at(wanted: np.ndarray, at: np.ndarray, values: Array) -> Array:
    """Values recorded at the rising steps `at`, at those wanted; not-a-number where there are none."""
    place = np.minimum(np.searchsorted(at, wanted), len(at) - 1)
    known = (at[place] == wanted).reshape(-1, *[1] * (values.ndim - 1))
    return np.where(known, values[place], np.nan)
