"""One valid call of everything public: what the conformance test and the fuzz campaign put bad arguments into."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.fuzz.hostile import kind_of

PARTS = ("theory", "measure", "training", "tables", "networks")


class Is:
    """A value of a kind that cannot be seen from the value."""

    def __init__(self, kind: str, value: Any) -> None:
        self.kind, self.value = kind, value


@dataclass(frozen=True)
class Call:
    """A function, arguments that are right, and what kind each of them is of.

    Attributes:
        function: what is called.
        arguments: by name.
        kinds: of the arguments, as in `tools.fuzz.hostile`.
        slow: whether the valid call itself takes long, so that tests leave it out.
    """

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    kinds: Mapping[str, str] = field(default_factory=dict)
    slow: bool = False


def call(function: Callable[..., Any], slow: bool = False, /, **arguments: Any) -> Call:
    """A call; kinds are read off the values unless they are given as `Is(kind, value)`."""
    plain = {name: given.value if isinstance(given, Is) else given for name, given in arguments.items()}
    kinds = {name: given.kind if isinstance(given, Is) else kind_of(given) for name, given in arguments.items()}
    return Call(function, plain, kinds, slow)


def surface(packages: Sequence[str] = PARTS) -> dict[str, Call]:
    """All calls by their names, such as "theory.modes.trajectory".

    They name files by relative paths, and so do hostile arguments: the working folder must be one that is thrown away.
    """
    if any(Path().iterdir()):
        raise ValueError(f"the working folder must be empty, for calls write to it; got {Path.cwd()}")
    parts = (importlib.import_module(f"{__name__}.{part}") for part in packages)
    return {name: made for part in parts for name, made in part.calls().items()}
