"""What is stored under `results/`, as the atlas lists it; read once a build."""

from functools import cache
from pathlib import Path

from lineament.claims import all_claims
from lineament.execution.store import load_folder
from lineament.report.entries import Entry, gather


@cache
def entries(results: Path) -> tuple[Entry, ...]:
    """Every claim with the evidence that the repository holds for it."""
    return tuple(gather(load_folder(results)[0], all_claims()))
