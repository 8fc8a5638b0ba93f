"""Pages that are written when the documentation is built, from the code itself, so that they cannot drift from it."""

from pathlib import Path

import claim_list
import command_line
import errata
import reference
import speed
import stopwatch

FOLDER = "generated"


def write(docs: Path) -> None:
    """Write every generated page under `docs/generated`; one that is as before is left alone, so that Sphinx reuses it."""
    folder = docs / FOLDER
    pages = {
        **reference.pages(),
        "command_line.md": command_line.page(),
        "errata.md": errata.page(docs.parent / "results"),
        "claim_list.md": claim_list.page(docs.parent / "results"),
        "speed.md": speed.page(docs.parent / "benchmarks" / "measured.json"),
        "stopwatch.md": stopwatch.page(docs.parent / "benchmarks" / "stopwatch.json"),
    }
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
