"""Change the mathematics in small ways and see whether the unit tests notice: `make mutants`, or `make mutants ALL=1`.

A sample of each package, the same every time (another with `--seed`), takes minutes; all of it takes a night. Survivors
are either a missing test or equivalent: those are listed, with the reason, in tools/mutants/equivalent.toml.
"""

import argparse
import os
from pathlib import Path

from . import campaign, table


def main() -> None:
    """Run the campaign and write its page, again after every mutant: a night may end before it does."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument(
        "packages", nargs="*", metavar="package", help=f"any of {', '.join(campaign.PACKAGES)}; default: all"
    )
    parser.add_argument("--count", type=int, default=8, help="mutants of each package (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument(
        "--own", action="store_true", help="tests of the mutant's own package alone: quicker, stricter"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time (default: one per core)"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=900.0,
        help="seconds after which a test file or a mutant hangs (default: %(default)s)",
    )
    parser.add_argument("--key", help="this mutant alone, by the digest that the page shows")
    parser.add_argument("--out", type=Path, default=Path("build/mutants.md"))
    asked = parser.parse_args()
    packages = asked.packages or list(campaign.PACKAGES)
    if unknown := [package for package in packages if package not in campaign.PACKAGES]:
        parser.error(f"package must be one of {', '.join(campaign.PACKAGES)}; got {unknown[0]!r}")
    chosen = campaign.sample(packages, None if asked.all or asked.key else asked.count, asked.seed)
    if asked.key:
        chosen = [(path, mutant) for path, mutant in chosen if mutant.key == asked.key]
    print(f"{len(chosen)} mutants, {asked.jobs} at a time", flush=True)
    size = "All mutants" if asked.all else f"{len(chosen)} mutants, seed {asked.seed}"
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    trials: list[campaign.Trial] = []
    for trial in campaign.run(chosen, asked.jobs, asked.limit, others=not asked.own):
        trials.append(trial)
        tell(trial)
        met = f"{size}, {len(trials)} of them met so far" if len(trials) < len(chosen) else size
        asked.out.write_text(table.page(trials, f"{met}; those known to be equivalent are left out."))
    print(asked.out.read_text())
    print(f"written to {asked.out}")


def tell(trial: campaign.Trial) -> None:
    """Print one line for a mutant."""
    m, v = trial
    print(f"{v.word:8} {v.seconds:5.1f} s  {m.key} {m.module}:{m.line} [{m.kind}] {v.test}", flush=True)


if __name__ == "__main__":
    main()
