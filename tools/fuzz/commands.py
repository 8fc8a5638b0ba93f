"""Command lines of every command of `lineament`, in which one word is replaced, left out or added."""

import contextlib
import io
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lineament.core.words import harmless

from .judge import Outcome, judge

# Each ends within a second or so as it stands. Slow commands (atlas, scoreboard, sweep) get work that is small.
LINES = (
    "claims gissin --json",
    "claims --paper hu",
    "show gissin-t1 --results results",
    "cite hu gissin-t1",
    "data list mnist",
    "data verify natural-gaussian",
    "data show natural-gaussian --out sheet.png --partial",
    "data fetch natural-gaussian",
    "forecast table.csv --target y --columns a,b --drop a --depth 2 --start 0.01 --lr 0.1 --steps 20 --seed 0 --json",
    "forecast table.csv --target word --impute median --whiten --out pages --seed 1",
    "forecast arrays.npz --network mlp --width 4 --init he --optimiser momentum --batch 5 --loss square --steps 3 --json",
    "forecast iris --classes --scale-target --steps 10",
    "forecast table.csv --more-rows --json",
    "new-claim mine-edge --out claims",
    "reproduce own.py --size quick --seed 0 --out results --json",
    "reproduce own.py --seeds 0-1",
    "atlas own.py --out atlas --jobs 1 --seed 0 --size quick --engine local --fresh",
    "runs runs",
    "runs runs --page page.html",
    "why x=1.0 --store runs",
    "sweep sweep.toml --jobs 1 --dry-run",
    "sweep sweep.toml --engine local --jobs 1 --retry --page sweep.html",
    "watch recording.npz --once --every 1 --page watch.html",
    "explore --no-browser --out explorer.html --preset gissin-f2",
    "scoreboard empty --out board",
    "--version",
    "--help",
)
HOSTILE = (
    "", " ", "-1", "0", "1.5", "nan", "inf", "-inf", "1e400", "9" * 400, "1_000", "0x10", "True", "None", "--", "-",
    "--no-such-option", "-x", "/", "/dev/null", "/dev/zero", "/proc/self/mem", ".", "..", "../" * 40, "~", "a" * 5000,
    "\x1b[31mred", "\x1b]0;title\x07", "\u202ekcab", "😀", "a\nb", "$(true)", "%s%n", "*", "nowhere.csv", "table.csv",
    "damaged.csv", "escape.csv", "wide.csv", "damaged.npz", "runs", "gissin-t1", "x=", "x=1.0,y", "=", "y,y", "own.py",
    "1-0", "0-99999999", "0,,1", "linear", "module:function", "os:system", "local", "tcp://nowhere.invalid:1",
)  # fmt: skip
OWN = '''"""A claim that costs nothing."""
from lineament.claims import Claim
from lineament.evidence import Evidence, at_most

CLAIMS = (Claim("own-one", "Section 1", "One", "1=1", "own:check", words="One is one.", kind="theorem"),)


def check(size, key):
    """Whether one is one."""
    return Evidence([at_most("gap", 0.0, 0.5)])
'''


class Trial(NamedTuple):
    """One command line, how it ended, and what is wrong with that."""

    line: tuple[str, ...]
    outcome: Outcome
    fault: str

    def __str__(self) -> str:
        shown = " ".join(repr(word)[:60] for word in self.line)
        return f"{self.fault:9} lineament {shown}: {' '.join(self.outcome.told.split())[:240]}"


def prepare(folder: Path) -> None:
    """Write what the command lines name, whole and damaged, to a folder."""
    from .files import whole_files

    whole_files(folder)
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    (folder / "empty").mkdir()
    (folder / "damaged.csv").write_bytes(b"a,b\n1,2,3\n\xff\xfe\x00,,\n" * 5)
    (folder / "escape.csv").write_text(
        "\x1b[31ma,\x1b]0;t\x07b,y\n" + "1,2,3\n4,5,7\n6,1,2\n8,8,8\n9,2,1\n" * 4, "utf-8"
    )
    (folder / "wide.csv").write_text(",".join(f"c{i}" for i in range(9000)) + "\n" + "1," * 8999 + "2\n", "utf-8")
    content = (folder / "arrays.npz").read_bytes()
    (folder / "damaged.npz").write_bytes(content[: len(content) // 2])
    (folder / "trial.py").write_text("def experiment(x):\n    return x**2\n", encoding="utf-8")
    (folder / "sweep.toml").write_text('experiment = "trial.py:experiment"\nstore = "swept"\n[grid]\nx = [1.0, 2.0]\n')


def draw(number: int, seed: int) -> Iterator[Trial]:
    """Command lines at random, run in the working folder."""
    rng = random.Random(seed)
    for _ in range(number):
        yield tried(changed(rng.choice(LINES).split(), rng))


def changed(words: Sequence[str], rng: random.Random) -> tuple[str, ...]:
    """A line with one word replaced, left out, added or repeated; its command stays, now and then."""
    place = rng.randrange(len(words)) if rng.random() < 0.1 else rng.randrange(min(1, len(words) - 1), len(words))
    kind = rng.choice(("replace", "replace", "replace", "replace", "drop", "add", "repeat"))
    if kind == "replace":
        # A scoreboard of a folder that holds tables trains on each of them: a minute of work, and no hang.
        hostile = [word for word in HOSTILE if words[place] != "empty" or word not in (".", "..")]
        return (*words[:place], rng.choice(hostile), *words[place + 1 :])
    if kind == "drop" and words[place] not in ("own.py", "empty"):  # without them, all claims and tables would run
        return (*words[:place], *words[place + 1 :])
    return (*words[: place + 1], rng.choice(HOSTILE) if kind == "add" else words[place], *words[place + 1 :])


def tried(line: tuple[str, ...]) -> Trial:
    """Run one line; an exit code is an answer, and what is printed must not steer the terminal."""
    printed, told = io.StringIO(), io.StringIO()
    paths = list(sys.path)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(told):
        outcome = judge(_run, line=line)
    sys.path[:] = paths
    text = printed.getvalue() + told.getvalue()
    if outcome.kind == "result" and harmless(text.replace("\r", "")) != text.replace("\r", ""):
        return Trial(line, outcome._replace(told="control characters reach the terminal"), "silent")
    if outcome.kind == "result" and outcome.value not in (0, 1, 2, 130):
        return Trial(line, outcome._replace(told=f"exit code {outcome.value}"), "silent")
    # The command line tells every mistake itself: an error that comes out of it is a traceback, whoever raised it.
    return Trial(line, outcome, {"result": "", "refused": "traceback"}.get(outcome.kind, outcome.kind))


def _run(line: tuple[str, ...]) -> int:
    from lineament.cli import main

    return main(line)
