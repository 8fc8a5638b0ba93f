"""The result as a page: what share was noticed in each package, and the survivors, each of which is a missing test."""

from collections import Counter
from collections.abc import Sequence

from .campaign import Trial

BARS = {"theory": 0.95, "measure": 0.95}
BAR = 0.90
"""Share of mutants that unit tests should notice; of `theory` and `measure`, on which verdicts stand, more."""


def page(trials: Sequence[Trial], heading: str) -> str:
    """Markdown: a row for each package, then a list of survivors."""
    counts: dict[str, Counter[str]] = {}
    for trial in trials:
        counts.setdefault(trial.mutant.module.split(".")[1], Counter())[trial.verdict.word] += 1
    rows = [_row(package, words) for package, words in counts.items()]
    head = ["| package | mutants | noticed | of these, hang | survived | share | bar |", "| --- |" + " --- |" * 6]
    survivors = [_line(trial) for trial in trials if trial.verdict.word == "survived"]
    return "\n".join([f"# Mutants\n\n{heading}\n", *head, *rows, "\n## Survivors\n", *(survivors or ["None."]), ""])


def _row(package: str, words: Counter[str]) -> str:
    total, bar = words.total(), BARS.get(package, BAR)
    noticed = total - words["survived"]
    mark = "✓" if noticed >= bar * total else "✗"
    return (
        f"| `{package}` | {total} | {noticed} | {words['hangs']} | {words['survived']} | {noticed / total:.0%} | "
        f"{bar:.0%} {mark} |"
    )


def _line(trial: Trial) -> str:
    m = trial.mutant
    path = m.module.removeprefix("lineament.").replace(".", "/")
    where = f"{path}.py:{m.line} in `{m.function or 'module'}`"
    return f"- `{m.key}` {where} [{m.kind}] `{_short(m.before)}` → `{_short(m.after)}`"


def _short(code: str) -> str:
    return " ⏎ ".join(line.strip() for line in code.splitlines())[:160]
