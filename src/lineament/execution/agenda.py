"""What a campaign has to do: which evidence is missing, the most disputed first, and how long that will take."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lineament.claims.claim import Claim
from lineament.evidence import Verdict

from .campaign import Job
from .store import Stored

SETTLED = (Verdict.HOLDS, Verdict.CORRECTED)
UNKNOWN = 300.0  # seconds for a run of which nothing is known
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
DISPUTED, ABSENT, AGAIN, EARLIER, FURTHER = range(5)
"""Which come first: claims whose verdict is in dispute, those without evidence, further seeds of what is in dispute,
those whose evidence is of an earlier form of the check, and further seeds of what is settled."""


class Item(NamedTuple):
    """A run that is missing.

    Attributes:
        job: The run.
        rank: How much it matters; the least comes first.
        reason: Why it is there, in words.
        seconds: About how long it takes, from an earlier run of the claim at this size or from what the claim says.
    """

    job: Job
    rank: int
    reason: str
    seconds: float


def agenda(jobs: Iterable[Job], records: Sequence[Stored]) -> list[Item]:
    """The runs in the order in which they tell most.

    By rank; within a rank the second seed of every claim comes before the third of any, and cheap runs before long ones.

    Args:
        jobs: The runs that are missing.
        records: All evidence that is stored, of every size and seed.
    """
    kept: dict[str, list[Stored]] = {}
    for record in records:
        kept.setdefault(record.id, []).append(record)
    turns: dict[str, int] = {}
    ordered = []
    for job in jobs:
        turn = turns[job.id] = turns.get(job.id, -1) + 1
        own = kept.get(job.id, [])
        rank, reason = dispute(own, job.size)
        if turn:
            rank, reason = (AGAIN, reason) if rank == DISPUTED else (FURTHER, "a further seed")
        item = Item(job, rank, reason, seconds(job, own))
        ordered.append(((rank, turn, item.seconds), item))
    return [item for _, item in sorted(ordered, key=lambda pair: pair[0])]


def dispute(records: Sequence[Stored], size: str) -> tuple[int, str]:
    """How much a claim's verdict at one size is in dispute, and why, from what is stored of it."""
    of_size = [record for record in records if record.size == size]
    verdicts = {record.verdict for record in of_size}
    if open_verdicts := sorted(verdict.value for verdict in verdicts if verdict not in SETTLED):
        return DISPUTED, f"{' and '.join(open_verdicts)} at {size} size"
    if len(verdicts) > 1:
        return DISPUTED, f"seeds disagree at {size} size"
    others = {record.verdict for record in records if record.size != size}
    if of_size and not others <= verdicts:
        return DISPUTED, "quick and full size disagree"
    if not of_size:
        if unsettled := [verdict for verdict in others if verdict not in SETTLED]:
            return DISPUTED, f"never run; {unsettled[0].value} at the other size"
        return ABSENT, "never run"
    if not all(record.table for record in of_size):
        return EARLIER, "of an earlier form of the check"
    return FURTHER, "a further seed"


def seconds(job: Job, records: Sequence[Stored]) -> float:
    """About how long a run takes: as long as the last one of its claim at its size, or as its claim says."""
    same = [record for record in records if record.size == job.size]
    if same:
        return max(same, key=lambda record: record.finished).seconds
    return in_words(job.claim.cost[job.size])


def in_words(cost: str) -> float:
    """The seconds that a cost in words names, such as "8 min on an H200"; a guess where it names none."""
    match = re.match(r"([\d.]+) (s|min|h)\b", cost)
    return float(match[1]) * UNITS[match[2]] if match else UNKNOWN


def for_gpu(claim: Claim) -> bool:
    """Whether a claim is meant for a GPU at full size, by what it says of its cost."""
    return "GPU" in claim.full or "H200" in claim.full


def within(items: Iterable[Item], limit: float) -> list[Item]:
    """The items that can be done in so many seconds, one after the other: what does not fit is passed over."""
    chosen = []
    for item in items:
        if item.seconds <= limit:
            chosen.append(item)
            limit -= item.seconds
    return chosen
