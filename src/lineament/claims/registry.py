"""All claims by id, in the papers' order.

Third-party packages add claims by naming a sequence of `Claim`s in the entry-point group `lineament.claims`.
"""

import difflib
import importlib
import sys
import warnings
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from ..core import arguments
from .claim import SAFE_ID, Claim
from .papers import PAPERS

ENTRY_POINTS = "lineament.claims"
BUILT_IN = tuple(f"lineament.claims.{paper}" for paper in PAPERS)


def all_claims() -> dict[str, Claim]:
    """The claims by id, in the papers' order; then those of other packages."""
    claims: dict[str, Claim] = {}
    for package in BUILT_IN:
        _add(claims, importlib.import_module(package).CLAIMS)
    for entry_point in metadata.entry_points(group=ENTRY_POINTS):
        try:
            _add(claims, entry_point.load())
        except (Exception, SystemExit) as error:  # whatever a package raises, all other claims are still there
            warnings.warn(
                f"the claims of {entry_point.value!r} are left out: {_told(error)}", RuntimeWarning, stacklevel=2
            )
    return claims


def _add(claims: dict[str, Claim], added: Iterable[Claim]) -> None:
    added = tuple(added)
    if not_claims := [claim for claim in added if not isinstance(claim, Claim)]:
        raise TypeError(f"an entry point of {ENTRY_POINTS} must name a sequence of Claim; it holds {not_claims[0]!r}")
    for claim in added:
        if not SAFE_ID.fullmatch(claim.id):
            raise ValueError(
                "a claim's id, which names files, must begin with a letter or digit and hold only letters, digits, '.', "
                f"'_' and '-'; got {claim.id!r}"
            )
        if claim.id in claims:
            raise ValueError(f"claim {claim.id!r} is registered twice; give one of them another id")
        claims[claim.id] = claim


def _told(error: BaseException) -> str:
    """An error of someone else's module; what only has a name, such as the end of a program, by that."""
    return "it ends the program" if isinstance(error, SystemExit) else str(error) or type(error).__name__


def in_file(path: Path) -> tuple[Claim, ...]:
    """The claims of a module that is not installed: its `CLAIMS`. Its folder can be imported from then on."""
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(path.stem)
        claims = tuple(module.CLAIMS)
    except (Exception, SystemExit) as error:  # whatever the module raises, the file is to blame
        raise ValueError(f"{str(path)!r} must define CLAIMS, a sequence of Claim: {_told(error)}") from error
    if module.__file__ is None or not path.samefile(module.__file__):
        raise ValueError(f"{str(path)!r} must have a name of its own; there is another module {path.stem!r}")
    _add({}, claims)
    return claims


def find(name: str) -> Claim:
    """One claim by its id or its place ("Theorem 3.2"); an unknown name is answered with the nearest known ones."""
    if not isinstance(name, str):
        raise ValueError(f"name must be the id or the place of a claim; got {arguments.shown(name)}")
    claims = all_claims()
    if name in claims:
        return claims[name]
    there = [claim for claim in claims.values() if _same_place(claim.place, name)]
    if len(there) == 1:
        return there[0]
    if there:
        raise ValueError(f"{name!r} is in more than one paper: {', '.join(claim.id for claim in there)}")
    near = difflib.get_close_matches(name, claims, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else "`lineament claims` lists them"
    raise ValueError(f"unknown claim {name[:100]!r}; {hint}")


def _same_place(place: str, name: str) -> bool:
    """Whether a claim's place, such as "Figure 6a, §4.1", is the one asked for; "hu Theorem 3.2" names the paper."""
    return name.strip().casefold() in {part.strip().casefold() for part in (place, *place.split(","))}
