"""Names for code and for data by their content: the same content has the same name."""

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from lineament.evidence import Figure

from .encoding import encode

SHOWN = ("report/", "cli/", "execution/", "__main__.py")  # decide what is shown and kept, not what is found


@cache
def fingerprint() -> str:
    """A hash of the source that decides a claim's numbers: all of the package but what runs, keeps and shows them."""
    root = Path(__file__).parent.parent
    sources = {path.relative_to(root).as_posix(): path for path in root.rglob("*.py")}
    return _hash((name, path.read_bytes()) for name, path in sources.items() if decides(name))


def digest(figure: Figure, drawn_by: str) -> str:
    """A name for a drawing: the same data drawn by the same code has the same name."""
    return hashlib.sha256((json.dumps(encode(figure)) + drawn_by).encode()).hexdigest()[:24]


def decides(name: str) -> bool:
    """Whether a source file, named within the package, can change a claim's numbers."""
    return not name.startswith(SHOWN)


def _hash(sources: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(sources):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
