"""The result as a page: how many mutants of each kind turn a claim red, and every one that does not, with its reason."""

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from .campaign import NO_RESULT, Outcome
from .formulas import Mutant

REASONS = Path(__file__).with_name("reasons.toml")
BAR = 0.90
KINDS = {"sign": "a sign", "exponent": "an exponent", "factor": "a factor of two", "constant": "1 % on a constant"}


def reasons(kind: str) -> dict[str, str]:
    """Mutants that no claim need notice, by digest or, all of a function, by its full name; each with its reason.

    Args:
        kind: "slack" for a one-sided bound that is looser than the change; "no formula" for what computes no number
            that a claim rests on: a guard against overflow, a tolerance, a block of memory, an index.
    """
    entries = tomllib.loads(REASONS.read_text()).get("mutant", [])
    return {key: entry["reason"] for entry in entries if entry["kind"] == kind for key in entry["keys"]}


def page(outcomes: Sequence[Outcome], heading: str, slack: Mapping[str, str], aside: Mapping[str, str]) -> str:
    """Markdown: a row for each kind of change, then each mutant that left its claims green."""
    words = {kind: Counter(_word(o, slack) for o in outcomes if o.mutant.kind == kind) for kind in KINDS}
    head = ["| change | mutants | red | undecided | no result | slack | green | share |", "| --- |" + " --- |" * 7]
    rows = [_row(KINDS[kind], counted) for kind, counted in words.items() if counted]
    green = [outcome for outcome in outcomes if outcome.word == "green"]
    excused = [_line(outcome, reason) for outcome in green if (reason := _reason(outcome.mutant, slack))]
    missed = [_line(outcome, "") for outcome in green if not _reason(outcome.mutant, slack)]
    return "\n".join(
        [
            heading, *head, *rows, _row("all", sum(words.values(), Counter())), "",
            "## Slack", "", *(excused or ["None."]), "",
            "## Not noticed", "", *(missed or ["None."]), "",
            "## Set aside", "", *(_set_aside(aside) or ["None."]), "",
        ]
    )  # fmt: skip


def _set_aside(aside: Mapping[str, str]) -> list[str]:
    """A line for each reason, with the changes and functions that it is given for."""
    keys: dict[str, list[str]] = {}
    for key, reason in aside.items():
        keys.setdefault(reason, []).append(f"`{key.removeprefix('lineament.')}`")
    return [f"- {reason} {', '.join(named)}." for reason, named in keys.items()]


def share(outcomes: Sequence[Outcome], slack: Mapping[str, str]) -> float:
    """The share of mutants that turn a claim red or are slack."""
    green = sum(_word(outcome, slack) == "green" for outcome in outcomes)
    return 1 - green / max(1, len(outcomes))


def _word(outcome: Outcome, slack: Mapping[str, str]) -> str:
    return "slack" if outcome.word == "green" and _reason(outcome.mutant, slack) else outcome.word


def _reason(mutant: Mutant, reasons: Mapping[str, str]) -> str:
    """The reason given for a mutant, or for all of its function."""
    return reasons.get(mutant.key) or reasons.get(f"{mutant.module}.{mutant.function}", "")


def _row(name: str, words: Counter[str]) -> str:
    total = words.total()
    cells = [words["red"], words["undecided"], sum(words[w] for w in NO_RESULT), words["slack"], words["green"]]
    return f"| {name} | {total} | {' | '.join(map(str, cells))} | {1 - words['green'] / max(1, total):.0%} |"


def _line(outcome: Outcome, reason: str) -> str:
    m = outcome.mutant
    path = m.module.removeprefix("lineament.").replace(".", "/")
    change = f"`{_short(m.before)}` → `{_short(m.after)}`"
    return f"- `{m.key}` {path}.py, `{m.function}`: {change} ({', '.join(outcome.claims)}). {reason}".rstrip()


def _short(code: str) -> str:
    return " ".join(code.split())[:110]
