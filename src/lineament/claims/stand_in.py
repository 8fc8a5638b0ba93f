"""Quick runs on other data than the paper's: what they show counts, what they miss says nothing of the paper's data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..evidence import Check

STAND_INS = ("photographs", "digits", "natural-gaussian")  # bundled or drawn, so that no files are needed
REASON = "stand-in data: see full size"


def judged(checks: Sequence[Check], *data: str) -> list[Check]:
    """The checks of an experiment on some data sets; on stand-in data those that fail are void.

    An experiment *differs* where it ran as the paper describes it and does not show what the paper reports. On other
    data a miss cannot say that, so that it leaves the run undecided. A pass stays one: such a run can hold, and cannot
    differ.

    Args:
        checks: What was checked.
        data: The names of the data sets that were used; one that stands in is enough.
    """
    if not used(data):
        return list(checks)
    return [replace(check, void=REASON) if check.failed else check for check in checks]


def used(settings: object) -> bool:
    """Whether a table of settings, as it is stored, names data that stand in for others."""
    if isinstance(settings, str):
        return settings.partition(" ")[0] in STAND_INS
    if isinstance(settings, Mapping):
        return any(map(used, settings.values()))
    return isinstance(settings, Sequence) and any(map(used, settings))
