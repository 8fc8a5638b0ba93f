"""What recorders of all frameworks share: how much is kept of each record, where it goes, and what it cost."""

import time
import warnings
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments
from lineament.core.versions import version

from .compact import Keep, accept_keep, compact
from .growing import Growing
from .recording import Recording


class Keeper:
    """Keeps records, counts what they cost, and never ends the training that is recorded."""

    def __init__(
        self,
        labels: NDArray | None,
        inputs: NDArray | None,
        *,
        path: str | Path | None,
        interval: int,
        resume: bool,
        keep: Keep,
        linearise: bool = False,
        probe: str = "",
    ) -> None:
        """Open the folder, and go on with what it holds if that is asked for.

        `probe` tells inputs that are not kept from others.
        """
        self._keep: Keep = accept_keep(keep)
        resume = arguments.truth("resume", resume)
        if linearise and keep != "outputs":
            raise ValueError(f"keep must be 'outputs' with linearise=True, which compares all of them; got {keep!r}")
        self._labels, self._shown, self._linearise, self._probe = labels, inputs, linearise, probe
        self._growing = Growing(path, interval)
        self._resumed, self._warned = resume, False
        self._since: float | None = None
        self._debt = 0.0  # seconds of the last writing, that the next record accounts for
        self._spent = self._trained = 0.0
        try:
            if resume:
                self._check(self._growing.resume())
            else:
                self._growing.begin()
        except BaseException:
            self._growing.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    @property
    def recording(self) -> Recording:
        """Everything recorded so far."""
        return self._growing.read()

    @property
    def last_step(self) -> float | None:
        """The step of the last record; None before the first."""
        return self._growing.last

    @property
    def resumes(self) -> bool:
        """Whether the next call says from which step a recording that is resumed goes on."""
        return self._resumed

    @property
    def overhead(self) -> float:
        """Seconds in the recorder per second between its calls, of this program; NaN before the second call."""
        return self._spent / self._trained if self._trained > 0 else float("nan")

    def flush(self) -> None:
        """Write what was recorded since the last writing; says so by an error if it cannot."""
        self._growing.write()

    def close(self) -> None:
        """Write what was recorded, and give the folder back; a `with` block does it at its end, whatever happens."""
        self._growing.write_or_warn(3)
        self._growing.close()

    def _begin(self, step: float) -> float:
        """Check the step of a new record and start the clock."""
        last, step = self._growing.last, arguments.number("step", step, infinite=True)
        if not np.isfinite(step) or (last is not None and step <= last and not self._resumed):
            raise ValueError(
                f"step must be finite and larger at each call; got {step:g} after {-np.inf if last is None else last:g}"
            )
        if last is not None and step <= last:
            self._growing.rewind(step)
        self._resumed = False
        return time.perf_counter()

    def _add(self, begun: float, step: float, outputs: NDArray, **others: Any) -> None:
        """Keep a record of which as much is kept as was asked for."""
        between = np.nan if self._since is None else begun - self._since
        others["about"] = {**others.get("about", {}), "lineament": version("lineament")}
        if self._probe:
            others["about"]["probe_inputs"] = self._probe
        row = Recording([step], outputs[None], self._labels, self._shown, between=[between], seconds=[0.0], **others)
        trouble, row = row.trouble, compact(row, self._keep)
        self._growing.add(row)
        if trouble is not None and not self._warned:
            self._warned = True
            warnings.warn(f"{trouble}. Recording goes on", stacklevel=3)
        row.seconds[0] = time.perf_counter() - begun + self._debt
        if np.isfinite(between):
            self._spent, self._trained = self._spent + row.seconds[0], self._trained + between
        written = time.perf_counter()
        self._growing.write_if_due()
        self._since = time.perf_counter()
        self._debt = self._since - written

    def _check(self, held: Recording) -> None:
        """Refuse to go on with a recording of something else."""
        for name, old, new in (("labels", held.labels, self._labels), ("inputs", held.inputs, self._shown)):
            same = old is new if old is None or new is None else np.array_equal(old.ravel(), new.ravel())
            if not same:
                raise ValueError(f"probe_{name} must be those of the recording that is resumed; they differ")
        if (before := held.about.get("probe_inputs", self._probe)) != self._probe:
            raise ValueError(
                f"probe_inputs must be those of the recording that is resumed, {before}; got {self._probe}"
            )
        if (held.linearised is not None) != self._linearise:
            raise ValueError(
                f"linearise must be {held.linearised is not None}, as in the recording; got {self._linearise}"
            )
        kept: Keep = "predictions" if held.top is None else held.top.values.shape[2]
        kept = kept if held.outputs is None else "outputs"
        if kept != self._keep:
            raise ValueError(f"keep must be {kept!r}, as in the recording; got {self._keep!r}")


def sum_of(parts: Mapping[str, NDArray]) -> str:
    """The shapes of inputs, and a check sum of their bytes; of objects, which have none that last, of their names."""
    total = 0
    for name in sorted(parts):
        total = zlib.crc32(name.encode(), total)
        if not parts[name].dtype.hasobject:
            total = zlib.crc32(np.ascontiguousarray(parts[name]).tobytes(), total)
    shapes = " and ".join(str(parts[name].shape) for name in sorted(parts))
    return f"{shapes} with the check sum {total:08x}"
