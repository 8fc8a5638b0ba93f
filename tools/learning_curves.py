"""The tables on learning curves of `docs/scoreboard.md`: `python -m tools.learning_curves FOLDER [even|odd]`.

Every second table of at least 500 rows, of the folder and of the bundled ones together in alphabetical order, was used to
shape the method (`even`); the others (`odd`) were run once it was settled.
"""

import sys
from pathlib import Path

import numpy as np

from lineament.data import tables
from lineament.forecasting.scoreboard_curves import CurveScore, score

LEARNERS = {
    "least squares": ("linear", "none"),
    "ridge": ("linear", "tuned"),
    "Gaussian kernel": ("gaussian", "tuned"),
    "ReLU kernel": ("relu", "tuned"),
}
KINDS = ("forecast", "theory", "power_law")
LEAST = 500


def found(folder: Path) -> dict[str, str]:
    """Tables of at least so many rows by name; one of the folder goes before a bundled one of the same name."""
    paths = sorted(path for path in folder.iterdir() if path.name.lower().endswith(tables.ENDINGS))
    sources = {name: name for name in tables.BUNDLED} | {path.name.split(".")[0]: str(path) for path in paths}
    return {name: sources[name] for name in sorted(sources) if _rows(sources[name]) >= LEAST}


def _rows(source: str) -> int:
    return sum(len(y) for _, y in tables.read(source).chunks())


def row(name: str, result: CurveScore) -> str:
    """One line of the table: misses at both factors, by theory and power law alone, and how often the band held."""
    held = "/".join(str(np.count_nonzero(result.held[:, i])) for i in range(2))
    misses = " | ".join(", ".join(f"{miss:.1%}" for miss in result.miss(kind)) for kind in KINDS)
    return f"| {name} | {result.used} | {misses} | {held} |"


def main() -> None:
    """Score every learner on the tables, and print them with their medians."""
    names = found(Path(sys.argv[1]))
    part = {"even": slice(1, None, 2), "odd": slice(0, None, 2)}.get(
        sys.argv[2] if len(sys.argv) > 2 else "", slice(None)
    )
    for title, (kernel, ridge) in LEARNERS.items():
        print(f"\n{title}\n\n| table | rows used | miss at × 2, × 4 | theory alone | power law alone | in the band |")
        print("| --- | --- | --- | --- | --- | --- |")
        results = []
        for name in list(names)[part]:
            results.append(score(tables.read(names[name]), kernel, ridge))
            print(row(name, results[-1]), flush=True)
        medians = [np.median([result.miss(kind) for result in results], axis=0) for kind in KINDS]
        held = np.mean([result.held.mean(axis=0) for result in results], axis=0)
        told = " | ".join(", ".join(f"{miss:.1%}" for miss in median) for median in medians)
        print(f"| **median** | | {told} | {held[0]:.0%}/{held[1]:.0%} |", flush=True)


if __name__ == "__main__":
    main()
