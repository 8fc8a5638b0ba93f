"""Which points are still to be run, cut into tasks for workers."""

import math
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from .engines import Lost
from .grid import Grid, Point
from .parts import FAILED, Row
from .shelf import Shelf
from .tables import mark
from .worker import Report, Task

SECONDS = 1.0  # of work in a task: little enough to share out, much enough for what a task costs to vanish
MOST = 5000  # points of a task
MEMBERS = 4096  # points that are trained as one program, if they fit into memory
TRIES = 3


class Plan:
    """Gives out tasks, larger ones as points prove to be quick, and takes back those whose worker was lost.

    A point is given to a second and a third worker if the first was lost with it, each time alone; then it has failed.
    """

    def __init__(
        self,
        grid: Grid,
        shelf: Shelf,
        make: Callable[[Sequence[Point], bool], Task],
        shape_of: Callable[[Point], Hashable] | None,
    ) -> None:
        self.grid, self.shelf, self.make, self.shape_of = grid, shelf, make, shape_of
        self.slots = 1
        self.seen: set[str] = set()
        self.elsewhere = 0  # points that another process has run in the meantime
        self.done = np.zeros(len(grid), bool)
        self.rescan()
        self.waiting = deque(np.flatnonzero(grid.wanted() & ~self.done).tolist())
        self.wanted = len(self.waiting)
        self.shards = deque(self._shards()) if shape_of is not None else deque[list[int]]()
        self.size = 1.0
        self.tries: dict[int, int] = {}
        self.alone: deque[int] = deque()

    def rescan(self) -> None:
        """Note what is stored by now, by this sweep or by another process that shares the store."""
        for part in self.shelf.parts(self.seen):
            mark(self.done, self.grid, part)

    def _shards(self) -> list[list[int]]:
        """Points of one shape together, in equal pieces of at most `MEMBERS`."""
        assert self.shape_of is not None
        alike: dict[Any, list[int]] = {}
        for index in self.waiting:
            alike.setdefault(self.shape_of(self.grid.point(index)), []).append(index)
        self.waiting.clear()
        pieces = []
        for members in alike.values():
            size = math.ceil(len(members) / math.ceil(len(members) / MEMBERS))
            pieces += [members[k : k + size] for k in range(0, len(members), size)]
        return pieces

    def take(self) -> Task | None:
        """The next task."""
        while self.shards:
            if chosen := [index for index in self.shards.popleft() if self._open(index)]:
                return self._task(chosen, together=True)
        share = math.ceil(len(self.waiting) / (2 * self.slots))
        chosen: list[int] = []
        while self.waiting and len(chosen) < max(1, min(self.size, share, MOST)):
            index = self.waiting.popleft()
            if self._open(index):
                chosen.append(index)
        if not chosen and self.alone:
            chosen = [self.alone.popleft()]
        return self._task(chosen, together=self.shape_of is not None) if chosen else None

    def _open(self, index: int) -> bool:
        """Whether a point is still to be run; another process may have done so."""
        self.elsewhere += int(self.done[index])
        return not self.done[index]

    def _task(self, chosen: list[int], together: bool) -> Task:
        return self.make([self.grid.point(index) for index in chosen], together)

    def back(self, task: Task, outcome: Report | Lost) -> tuple[int, list[str]]:
        """Take note of what came of a task: how many points are stored, and why some failed."""
        stored, self.elsewhere = self.elsewhere, 0
        if isinstance(outcome, Lost):
            kept, reasons = self._lost(task, outcome)
            return stored + kept, reasons
        self.seen.update(outcome.parts)
        if not outcome.broken:
            # Halfway to what this task suggests: one slow point, or one that compiled, must not decide alone.
            suggested = SECONDS * len(task.points) / max(outcome.seconds, 1e-6)
            self.size = math.sqrt(self.size * min(suggested, MOST)) if self.size > 1 else min(suggested, MOST)
        return stored + outcome.stored, [reason for _, reason in outcome.failures]

    def _lost(self, task: Task, lost: Lost) -> tuple[int, list[str]]:
        self.rescan()  # what the worker stored before it died is kept
        stored, reasons = 0, []
        for point in task.points:
            index = self.grid.index(point)
            assert index is not None
            if self.done[index]:
                stored += 1
                continue
            self.tries[index] = self.tries.get(index, 0) + 1
            if self.tries[index] < TRIES:
                self.alone.append(index)
            else:
                reason = f"{lost.reason} ({TRIES} times)"
                self.shelf.write([(Row(point, FAILED, reason, float("nan")), {})])
                stored, reasons = stored + 1, [*reasons, reason]
        return stored, reasons
