"""A claim: one statement of one paper, and where the function that checks it is."""

import ast
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..evidence import Evidence, Kind
from .sizes import Size

if TYPE_CHECKING:
    import jax


SAFE_ID = re.compile(r"(?!index$)[A-Za-z0-9][A-Za-z0-9_.-]*")
"""What an id must be: it names a claim's files and its page."""


class Source(NamedTuple):
    """Where a check is written."""

    path: Path
    line: int
    docstring: str


@dataclass(frozen=True)
class Claim:
    """One statement of one paper. Nothing here imports what the check needs, so that listing claims is quick.

    Attributes:
        id: The paper's key, a hyphen and a short name, such as `gissin-t1`.
        place: Where the paper states it, such as "Theorem 1".
        title: One line in plain words.
        statement: The statement in LaTeX, without dollar signs.
        check: The module and the function that check it, such as `lineament.claims.gissin.theorem_1:check`.
        words: The statement in words, every symbol of it defined.
        meaning: What it means for someone who trains networks.
        paper_setting: What the paper did, by name: data, network, loss, optimiser, step size, repeats.
        kind: A theorem can fail; an experiment can only differ.
        quick: The usual cost at quick size on two cores, in words.
        full: The same at full size, with the machine it was measured on where that is not two cores.
    """

    id: str
    place: str
    title: str
    statement: str
    check: str
    words: str = ""
    meaning: str = ""
    paper_setting: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = "theorem"
    quick: str = ""
    full: str = ""

    @property
    def paper(self) -> str:
        """The key of the paper."""
        return self.id.split("-")[0]

    @property
    def cost(self) -> dict[Size, str]:
        """What a run costs at each size, in words."""
        return {"quick": self.quick, "full": self.full}

    @property
    def module(self) -> str:
        """The module of the check."""
        return self.check.partition(":")[0]

    def load(self) -> "Callable[[Size, jax.Array], Evidence]":
        """Import the function that checks it."""
        function: Any = getattr(importlib.import_module(self.module), self.check.partition(":")[2])
        return function

    @property
    def source(self) -> Source:
        """Where the check is written, read from the source without importing it."""
        return _source(self.check)

    @property
    def description(self) -> str:
        """How the claim is checked: the docstring of its function."""
        return self.source.docstring


@cache
def _source(check: str) -> Source:
    module, _, name = check.partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"check must name a module that can be imported; got {check!r}")
    path = Path(spec.origin)
    for node in ast.parse(path.read_bytes()).body:  # as Python reads it, with a byte-order mark or without
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return Source(path, node.lineno, ast.get_docstring(node) or "")
    raise ValueError(f"check must name a function of {module}; got {check!r}")
