"""What the atlas lists: claims with all evidence that is stored for them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from lineament.claims import stand_in
from lineament.claims.claim import Claim
from lineament.claims.papers import PAPERS, Paper
from lineament.claims.sizes import SIZES
from lineament.evidence import Figure, Verdict
from lineament.execution.campaign import Failure
from lineament.execution.pooled import Pooled, pooled
from lineament.execution.store import Stored

NOT_RUN = "not run"
ERROR = "error"
BADGES = {
    Verdict.HOLDS: ("holds", "✓"),
    Verdict.CORRECTED: ("corrected", "✎"),
    Verdict.DIFFERS: ("differs", "≠"),
    Verdict.FAILS: ("fails", "✗"),
    Verdict.UNDECIDED: ("undecided", "?"),
    ERROR: ("error", "!"),
    NOT_RUN: ("not-run", "–"),
}
"""For each verdict, its name in the style sheet and a sign, so that it is shown by more than a colour."""
MEANINGS = {
    Verdict.HOLDS: "every check passed",
    Verdict.CORRECTED: "the statement is false as printed; its corrected form passed every check",
    Verdict.DIFFERS: "the experiment ran as the paper describes it and does not show what the paper reports",
    Verdict.FAILS: "a theorem has a counter-example",
    Verdict.UNDECIDED: "the run cannot answer, for the reason that its page gives",
    ERROR: "the check raised an error: a fault of the code or the machine, not a finding",
    NOT_RUN: "there is no evidence yet",
}
"""What each verdict says, in one line."""
MARKS = {
    "†": "evidence of an earlier form of the check, which kept no table of its settings",
    "‡": "run on data that stand in for the paper's: what is seen on them counts, what is missed leaves it undecided",
}
"""What stands behind a verdict in a table, and what it says."""
MEASURED = (
    "An experiment: what is printed was not found with these settings. Those that the paper leaves open are on the "
    "claim's page."
)
"""What an erratum of an experiment says of itself: no counter-example refutes it."""


OPEN = re.compile(r"\bnot (stated|printed|in the notes)|^any\b|^–$")
ASIDE = re.compile(r"\s*\([^()]*\)")
NUMBER = re.compile(r"\d+(?:,\d{3})+(?!\d)|\d+\.\d+(?:e[-−]?\d+)?|\d+e[-−]?\d+")
NOT_KEPT = "not recorded"
"""What is said of every setting where evidence of an earlier form did not keep what was done."""


class Row(NamedTuple):
    """One setting: what it is called, what the paper did, and what was done here.

    Attributes:
        name: What it is called.
        paper: What the paper did.
        here: What was done here.
        allowed: Whether the paper speaks of a whole range, of which this is a case: the assumptions of a theorem.
    """

    name: str
    paper: str
    here: str
    allowed: bool = False

    @property
    def same(self) -> bool:
        """Whether the same was done; what stands in brackets says where the paper has it."""
        return _plain(self.paper) == _plain(self.here)

    @property
    def differs(self) -> bool:
        """Whether something else was done: neither the same, nor the same told in more detail or less, nor left open."""
        paper, here = _plain(self.paper), _plain(self.here)
        closed = not self.allowed and OPEN.search(self.paper) is None and self.here != NOT_KEPT
        less = paper.startswith(tuple(here + sign for sign in ",:;"))
        return closed and not here.startswith(paper) and not less


def _plain(text: str) -> str:
    """A setting without what stands in brackets, with its numbers in one spelling."""
    while (shorter := ASIDE.sub("", text)) != text:
        text = shorter
    return NUMBER.sub(lambda found: f"{float(found[0].replace(',', '').replace('−', '-')):g}", text)


@dataclass(frozen=True, eq=False)
class Entry:
    """A claim in the atlas: what it states, and at each size all seeds, with superseded runs behind them."""

    id: str
    paper: Paper
    place: str
    title: str
    statement: str
    description: str
    kind: str
    runs: Mapping[str, Pooled]
    others: tuple[Stored, ...]
    errors: Mapping[str, str]
    words: str = ""
    meaning: str = ""
    paper_setting: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    code: str = ""
    cost: Mapping[str, str] = field(default_factory=dict)

    def verdict(self, size: str) -> str:
        """The verdict at one size. An error just now outweighs what an earlier run found."""
        if size in self.errors:
            return ERROR
        return str(self.runs[size].verdict) if size in self.runs else NOT_RUN

    def stands_in(self, size: str) -> bool:
        """Whether the runs of one size used data that stand in for the paper's, where the paper states its data."""
        stated = not self.paper_setting.get("data", "not stated").startswith("not stated")
        return stated and size in self.runs and any(stand_in.used(run.table) for run in self.runs[size].runs)

    def label(self, size: str) -> str:
        """The verdict of one size with the seeds behind it and its marks, such as "holds 5/5 ‡"; a dash if not run."""
        if size not in self.runs:
            return "–"
        marked = {"†": not self.runs[size].comparable, "‡": self.stands_in(size)}
        return " ".join([self.runs[size].label, *(mark for mark, applies in marked.items() if applies)])

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Every verdict that some size has, for the filter: not run only if no size was."""
        tried = [size for size in SIZES if size in self.runs or size in self.errors]
        return tuple(dict.fromkeys(map(self.verdict, tried))) or (NOT_RUN,)

    @property
    def corrected(self) -> Stored | None:
        """The run that refutes the statement as printed and offers a correction, if one does.

        The largest of today's form of the check decides: one of an earlier form may lack the counter-example to check by
        hand, and what fails as printed at quick size alone is no erratum. Nor is what an experiment does not show on data
        that stand in for the paper's: its authors never wrote of them.
        """
        decided = [pool for pool in self.runs.values() if pool.verdict in (Verdict.HOLDS, Verdict.CORRECTED)]
        if not decided:
            return None
        largest = max(decided, key=lambda pool: (pool.comparable, SIZES.index(pool.shown.size)))
        run = largest.shown  # its table has the short name of what was run, its settings what was found at hand
        elsewhere = self.kind != "theorem" and stand_in.used([run.table, run.settings])
        return run if largest.verdict is Verdict.CORRECTED and not elsewhere else None

    @property
    def figure(self) -> Figure | None:
        """The figure of the largest run that has one."""
        figures = [pool.shown.figure for pool in self.runs.values()]
        return next((figure for figure in reversed(figures) if figure is not None), None)

    def protocol(self, run: Stored) -> list[Row]:
        """What the paper did beside what was done in a run, setting by setting.

        A run that keeps what was done leaves out what it did as the paper. One that keeps nothing of it says nothing.
        """
        names = dict.fromkeys((*self.paper_setting, *run.protocol))
        rows = []
        for name in names:
            paper = self.paper_setting.get(name, "not stated")
            here = run.protocol.get(name, paper) if run.protocol else NOT_KEPT
            # What a paper shows as a picture is read off as a number here: that is no other experiment.
            rows.append(Row(name, paper, here, allowed=self.kind == "theorem" or name == "measure"))
        return rows


def gather(records: Iterable[Stored], claims: Mapping[str, Claim], failures: Iterable[Failure] = ()) -> list[Entry]:
    """One entry for each claim: the registered ones in their order, then those only known from evidence."""
    by_id: dict[str, list[Stored]] = {id: [] for id in claims}
    for record in sorted(records, key=lambda record: record.finished, reverse=True):
        by_id.setdefault(record.id, []).append(record)
    errors: dict[str, dict[str, str]] = {}
    for failure in failures:
        errors.setdefault(failure.id, {})[failure.size] = failure.message
    return [_entry(claims.get(id), records, errors.get(id, {})) for id, records in by_id.items()]


def legend(labels: Iterable[str]) -> list[str]:
    """A sentence for each mark that some of the labels bear."""
    text = " ".join(labels)
    return [f"{mark}: {meaning}." for mark, meaning in MARKS.items() if mark in text]


def errata(entries: Iterable[Entry]) -> list[Entry]:
    """The claims with a correction: first theorems, which a counter-example refutes, then experiments."""
    return sorted((entry for entry in entries if entry.corrected), key=lambda entry: entry.kind != "theorem")


def tally(entries: Iterable[Entry], size: str) -> dict[str, int]:
    """Count the claims of each verdict at one size."""
    counts = dict.fromkeys(map(str, BADGES), 0)
    for entry in entries:
        counts[entry.verdict(size)] += 1
    return counts


def _entry(claim: Claim | None, records: list[Stored], errors: Mapping[str, str]) -> Entry:
    # A claim's own words come from the code, where there still is one.
    runs = _by_size(records)
    standing = list(chain.from_iterable(pool.runs for pool in runs.values()))
    source = claim or records[0]
    return Entry(
        id=source.id,
        paper=PAPERS.get(source.paper) or Paper(source.paper, source.paper, "", ""),
        place=source.place,
        title=source.title,
        statement=source.statement,
        description=source.description,
        kind=source.kind,
        runs=runs,
        others=tuple(run for run in records if run not in standing),
        errors=errors,
        **(_told_by_code(claim) if claim else {}),
    )


def _by_size(records: Iterable[Stored]) -> dict[str, Pooled]:
    """The runs of one claim pooled over seeds, for every size that has any."""
    records = list(records)
    return {size: pooled(runs) for size in SIZES if (runs := [run for run in records if run.size == size])}


def _told_by_code(claim: Claim) -> dict[str, Any]:
    """What only a claim that is still registered can say."""
    return {
        "words": claim.words,
        "meaning": claim.meaning,
        "paper_setting": claim.paper_setting,
        "source": _source(claim),
        "code": claim.source.path.read_text(encoding="utf-8"),
        "cost": dict(claim.cost.items()),
    }


def _source(claim: Claim) -> str:
    """The file and line of a check, named from the folder of its package, the same on every machine."""
    parts = claim.source.path.parts
    top = claim.module.split(".")[0]
    first = len(parts) - 1 - parts[::-1].index(top) if top in parts[:-1] else len(parts) - 1
    return f"{'/'.join(parts[first:])}:{claim.source.line}"
