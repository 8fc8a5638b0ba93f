"""Names for code and for data by their content: the same content has the same name."""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lineament.evidence import Figure

from . import sources
from .encoding import encode

if TYPE_CHECKING:
    from lineament.claims import Claim


def fingerprint(claim: "Claim") -> str:
    """A hash of what decides a claim's numbers: its words, and the source that its check depends on.

    Editing one claim leaves the others' as they are; so do comments, docstrings, and whatever runs, keeps and shows them.
    """
    words = [claim.id, claim.place, claim.title, claim.statement, claim.kind, claim.check]
    return hashlib.sha256(json.dumps([words, sources.closure([claim.module]).modules]).encode()).hexdigest()


@cache
def package() -> str:
    """A hash of the whole package, to say which one made a page."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def digest(figure: Figure, drawn_by: str) -> str:
    """A name for a drawing: the same data drawn by the same code has the same name."""
    return hashlib.sha256((json.dumps(encode(figure)) + drawn_by).encode()).hexdigest()[:24]
