"""Evidence on disk: one strict JSON file for each claim, size and seed.

What is loaded stands alone: a `Stored` record needs no registered claim, so evidence from another machine or an
older version can still be shown. Stored evidence is never edited.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lineament.claims.claim import SAFE_ID
from lineament.core import arguments, places
from lineament.evidence import Check, Figure, Verdict

from . import encoding, files
from .encoding import encode, plain
from .fingerprint import fingerprint
from .reproduce import Result, table

SCHEMA = 2
FILE_NAME = re.compile(r"(?P<id>.+)\.(?P<size>quick|full)\.(?P<seed>\d+)\.json")
LARGEST = 64 * 2**20  # bytes of a file that is worth reading


@dataclass(frozen=True, eq=False)
class Stored:
    """A claim as it was run: what it states, what was found, and how to find it again.

    Attributes:
        settings: All that was run: the claim's table for its size, and what followed from the data at hand.
        table: The claim's table of settings alone, to be compared with the one that the code has now.
        protocol: What was done, under the names under which the claim says what the paper did.
    """

    id: str
    paper: str
    place: str
    title: str
    statement: str
    description: str
    kind: str
    verdict: Verdict
    reason: str
    checks: tuple[Check, ...]
    printed: tuple[Check, ...]
    correction: str
    numbers: Mapping[str, float]
    settings: Mapping[str, Any]
    remarks: tuple[str, ...]
    figure: Figure | None
    size: str
    seed: int
    seconds: float
    environment: Mapping[str, str]
    fingerprint: str
    finished: str
    command: str
    table: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, str] = field(default_factory=dict)

    @property
    def key_check(self) -> Check:
        """The check to show where there is room for one: the first that did not pass, or the first of all."""
        return next((check for check in self.checks if not check.passed), self.checks[0])


def record(result: Result) -> Stored:
    """Everything about a result that is kept."""
    claim, evidence = result.claim, result.evidence
    tabled = plain(table(claim, result.size))
    return Stored(
        id=claim.id,
        paper=claim.paper,
        place=claim.place,
        title=claim.title,
        statement=claim.statement,
        description=claim.description,
        kind=claim.kind,
        verdict=result.verdict,
        reason=evidence.reason(),
        checks=tuple(map(_as_floats, evidence.checks)),
        printed=tuple(map(_as_floats, evidence.printed)),
        correction=evidence.correction,
        numbers={name: float(value) for name, value in evidence.numbers.items()},
        settings={**tabled, **plain(evidence.settings)},
        remarks=tuple(evidence.remarks),
        figure=evidence.figure,
        size=result.size,
        seed=result.seed,
        seconds=result.seconds,
        environment=dict(result.environment),
        fingerprint=fingerprint(claim),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        command=f"lineament reproduce {claim.id} --size {result.size} --seed {result.seed}",
        table=tabled,
        protocol=dict(evidence.protocol),
    )


def save(result: Result | Stored, folder: str | Path) -> Path:
    """Write a result to `<folder>/<id>.<size>.<seed>.json`, whole or not at all; the folder is made if need be."""
    if not isinstance(result, Result | Stored):
        raise ValueError(f"result must be what reproduce returned, or stored evidence; got {arguments.shown(result)}")
    stored = record(result) if isinstance(result, Result) else result
    fields = {"schema": SCHEMA, **{name: encode(getattr(stored, name)) for name in Stored.__dataclass_fields__}}
    # One line for each field: readable, and no line for each entry of an array.
    lines = [f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in fields.items()]
    arguments.path("folder", folder).mkdir(parents=True, exist_ok=True)
    return files.write(path_of(folder, stored.id, stored.size, stored.seed), "{\n" + ",\n".join(lines) + "\n}\n")


def path_of(folder: str | Path, id: str, size: str, seed: int) -> Path:
    """Where the evidence of a claim is kept."""
    return Path(folder) / f"{id}.{size}.{seed}.json"


def load(path: str | Path) -> Stored:
    """Read a stored result.

    Raises:
        ValueError: If the file is not evidence that this version can read, or its name is not that of its content;
            the message names it and the cause.
    """
    path = arguments.path("path", path)
    try:
        stored = _from_fields(_read(path))
        if path_of(path.parent, stored.id, stored.size, stored.seed) != path:
            raise ValueError(f"its content is that of {path_of('', stored.id, stored.size, stored.seed)}")
        return stored
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not stored evidence: {error}") from error


def _read(path: Path) -> dict[str, Any]:
    places.refuse_to_read(path)
    if path.stat().st_size > LARGEST:
        raise ValueError(f"it is larger than {LARGEST // 2**20} MiB")
    fields = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    if not isinstance(fields, dict) or (schema := fields.pop("schema", None)) not in (1, SCHEMA):
        raise ValueError(f"it has no `schema` of {SCHEMA}")
    if schema == 1:  # evidence is never edited: what is stored under the first names is read under today's
        fields["size"] = fields.pop("scale")
    return fields


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _from_fields(fields: dict[str, Any]) -> Stored:
    for name, kind in _TYPES.items():
        if not _is_of(fields.get(name, kind()) if name in _LATER else fields[name], kind):
            raise ValueError(f"its {name} must be {kind.__name__}; it is {type(fields[name]).__name__}")
    for name, kind in _ENTRIES.items():
        held = fields.get(name, ())
        for value in held.values() if isinstance(held, dict) else held:
            if not _is_of(value, kind):
                raise ValueError(f"its {name} must hold {kind.__name__}; one of them is {type(value).__name__}")
    if not SAFE_ID.fullmatch(fields["id"]):
        raise ValueError(f"its id {fields['id']!r} cannot name a page")
    if not fields["checks"]:
        raise ValueError("it has no checks")
    return Stored(**{name: _DECODE.get(name, _as_is)(value) for name, value in fields.items()})


def load_folder(folder: str | Path) -> tuple[list[Stored], list[str]]:
    """Read all evidence in a folder and below it; what cannot be read is told in the second list."""
    records, problems = [], []
    for path in sorted(arguments.path("folder", folder).rglob("*.json")):
        if FILE_NAME.fullmatch(path.name):
            try:
                records.append(load(path))
            except (OSError, ValueError) as error:
                problems.append(str(error))
    return records, problems


def summary(stored: Stored) -> dict[str, Any]:
    """The result in short, as strict JSON values: what a script wants to know."""
    printed = {f"as printed: {check.name}": check.value for check in stored.printed}
    checked = {check.name: check.value for check in stored.checks}
    return {
        "id": stored.id,
        "verdict": str(stored.verdict),
        "reason": stored.reason,
        "numbers": encode({**stored.numbers, **printed, **checked}),
        "size": stored.size,
        "seed": stored.seed,
        "seconds": stored.seconds,
    }


def _as_floats(check: Check) -> Check:
    return Check(check.name, float(check.value), float(check.low), float(check.high), check.origin, check.void)


def _as_is(value: Any) -> Any:
    return value


def _is_of(value: Any, kind: type) -> bool:
    """Whether a JSON value is of a type; a number may be a whole one, or the name of one that is not finite."""
    if kind is float:
        return (isinstance(value, int | float) and not isinstance(value, bool)) or value in encoding.NOT_FINITE
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


_WORDS = (
    "id", "paper", "place", "title", "statement", "description", "kind", "verdict", "reason", "correction", "size",
    "fingerprint", "finished", "command",
)  # fmt: skip
_LATER = ("table", "protocol")  # which the first form of stored evidence lacks
_TYPES: dict[str, type] = {
    **dict.fromkeys(_WORDS, str),
    **dict.fromkeys(("settings", "numbers", "environment", "table", "protocol"), dict),
    **dict.fromkeys(("checks", "printed", "remarks"), list),
    "seed": int,
    "seconds": float,
}
_ENTRIES: dict[str, type] = {"numbers": float, "environment": str, "protocol": str, "remarks": str, "checks": dict}
_DECODE = {
    "verdict": Verdict,
    "checks": encoding.checks,
    "printed": encoding.checks,
    "numbers": encoding.decode,
    "settings": encoding.decode,
    "table": encoding.decode,
    "remarks": tuple,
    "figure": encoding.figure,
    "seconds": float,
}
