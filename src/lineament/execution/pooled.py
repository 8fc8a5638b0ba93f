"""Several seeds of one claim as one piece of evidence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lineament.evidence import Check, Kind, Verdict, judge, pool

from .store import Stored

FACTORS = (0.5, 1.0, 2.0)  # how much looser each bar is made to see what the verdict hangs on


class Spread(NamedTuple):
    """A check over all seeds: the run that is shown, the least and the largest value, and how many seeds pass."""

    check: Check
    low: float
    high: float
    passed: int
    of: int

    @property
    def at_factors(self) -> tuple[bool, ...]:
        """Whether the shown value would pass with the bar half, once and twice as loose."""
        return tuple(self.check.loosened(factor).passed for factor in FACTORS)


@dataclass(frozen=True, eq=False)
class Pooled:
    """The newest run of each seed of one claim at one size, by seed."""

    runs: tuple[Stored, ...]

    @property
    def kind(self) -> Kind:
        """Whether the claim is a theorem or an experiment."""
        return "theorem" if self.runs[0].kind == "theorem" else "experiment"

    @property
    def verdict(self) -> Verdict:
        """The verdict that all seeds give together."""
        return pool([run.verdict for run in self.runs], self.kind)[0]

    @property
    def agree(self) -> int:
        """How many seeds have that verdict on their own."""
        return pool([run.verdict for run in self.runs], self.kind)[1]

    @property
    def label(self) -> str:
        """The verdict with the count behind it, such as "holds 5/5"."""
        return f"{self.verdict} {self.agree}/{len(self.runs)}"

    @property
    def comparable(self) -> bool:
        """Whether every run has kept its table of settings; the first form of stored evidence had none."""
        return all(run.table for run in self.runs)

    @property
    def alike(self) -> bool:
        """Whether several seeds found the same to the last digit: nothing was drawn at random, and all count as one."""
        found = [(dict(run.numbers), [check.value for check in (*run.checks, *run.printed)]) for run in self.runs]
        return len(found) > 1 and all(one == found[0] for one in found[1:])

    @property
    def shown(self) -> Stored:
        """The run to show in full: one that has the common verdict and a figure, the newest of these."""
        common = [run for run in self.runs if run.verdict == self.verdict] or list(self.runs)
        return max(common, key=lambda run: (run.figure is not None, run.finished))

    @property
    def seconds(self) -> float:
        """How long the run that is shown took."""
        return self.shown.seconds

    def spread(self, name: str) -> tuple[Spread, ...]:
        """The `checks` or `printed` checks of the shown run, each with its values over all seeds."""
        return tuple(self._spread(check, name) for check in getattr(self.shown, name))

    def _spread(self, check: Check, name: str) -> Spread:
        same = [other for run in self.runs for other in getattr(run, name) if other.name == check.name]
        values = [other.value for other in same]
        return Spread(check, min(values), max(values), sum(other.passed for other in same), len(same))

    def verdict_at(self, factor: float) -> Verdict:
        """What the verdict would be with every bar `factor` times as loose."""
        verdicts = [
            judge(_loosened(run.checks, factor), _loosened(run.printed, factor), self.kind) for run in self.runs
        ]
        return pool(verdicts, self.kind)[0]

    @property
    def at_factors(self) -> tuple[tuple[float, Verdict], ...]:
        """The verdict with every bar half and twice as loose."""
        return tuple((factor, self.verdict_at(factor)) for factor in FACTORS if factor != 1.0)


def pooled(runs: Iterable[Stored]) -> Pooled:
    """Pool the runs of one claim at one size; of several runs of a seed the newest stands."""
    newest: dict[int, Stored] = {}
    for run in sorted(runs, key=lambda run: run.finished):
        newest[run.seed] = run
    return Pooled(tuple(newest[seed] for seed in sorted(newest)))


def by_claim(records: Iterable[Stored], size: str) -> dict[str, Pooled]:
    """All evidence of one size, pooled claim by claim."""
    runs: dict[str, list[Stored]] = {}
    for record in records:
        if record.size == size:
            runs.setdefault(record.id, []).append(record)
    return {id: pooled(found) for id, found in runs.items()}


def _loosened(checks: Sequence[Check], factor: float) -> list[Check]:
    return [check.loosened(factor) for check in checks]
