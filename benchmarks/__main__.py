"""Run every case (or those named), print the ratios and what got slower, and keep them with the environment in bench/."""

import argparse
import importlib
from pathlib import Path

import jax

CASES = (
    "modes", "descent", "plain_loop", "first_flow", "sensing", "end_to_end", "two_layer", "gissin_f6", "cohen_f3",
    "hacohen_linear", "hu_f1", "varre_noise", "ntk", "torch_ntk", "infinite_kernel", "twin", "scikit", "recorder",
    "st_vgg", "explorer", "sweep",
)  # fmt: skip


def main() -> None:
    """Run the benchmarks named on the command line, all of them by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="case", help=f"any of {', '.join(CASES)}; default: all")
    parser.add_argument("--out", type=Path, default=Path("bench/results.json"))
    asked = parser.parse_args()
    unknown = [case for case in asked.cases if case not in CASES]
    if unknown:
        parser.error(f"unknown case {unknown[0]!r}; choose from {', '.join(CASES)}")
    jax.config.update("jax_enable_x64", True)
    from . import harness, history

    rows = []
    for case in asked.cases or CASES:
        print(f"measuring {case} …", flush=True)
        rows += importlib.import_module(f"benchmarks.{case}").rows()
    harness.show(rows)
    harness.write(rows, asked.out)
    print(f"written to {asked.out}")
    kept = asked.out.with_name("history.jsonl")
    earlier, run = history.read(kept), history.entry(rows, harness.environment())
    for sentence in history.slower(run, earlier):
        print(f"slower by more than its spread: {sentence}")
    history.append(kept, run)


if __name__ == "__main__":
    main()
