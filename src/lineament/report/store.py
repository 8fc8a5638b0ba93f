"""Evidence on disk: one strict JSON file for each claim, scale and seed.

What is loaded stands alone: a `Stored` record needs no registered claim, so evidence from another machine or an
older version can still be shown.
"""

import hashlib
import json
import math
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from lineament.claims.evidence import Check, Verdict
from lineament.claims.figure import Figure, Mark, Panel
from lineament.claims.registry import Result

from . import files

SCHEMA = 1
FILE_NAME = re.compile(r"(?P<id>.+)\.(?P<scale>quick|full)\.(?P<seed>\d+)\.json")
# A claim's id names its files and its page.
SAFE_ID = re.compile(r"(?!index$)[A-Za-z0-9][A-Za-z0-9_.-]*")
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True, eq=False)
class Stored:
    """A claim as it was run: what it states, what was found, and how to find it again."""

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
    scale: str
    seed: int
    seconds: float
    environment: Mapping[str, str]
    fingerprint: str
    finished: str
    command: str

    @property
    def key_check(self) -> Check:
        """The check to show where there is room for one: the first that failed, or the first of all."""
        return next((check for check in self.checks if not check.passed), self.checks[0])


def record(result: Result) -> Stored:
    """Everything about a result that is kept."""
    claim, evidence = result.claim, result.evidence
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
        settings={name: _plain(value) for name, value in evidence.settings.items()},
        remarks=tuple(evidence.remarks),
        figure=evidence.figure,
        scale=result.scale,
        seed=result.seed,
        seconds=result.seconds,
        environment={**result.environment, **_commit()},
        fingerprint=fingerprint(),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        command=f"lineament reproduce {claim.id} --scale {result.scale} --seed {result.seed}",
    )


@cache
def _commit() -> dict[str, str]:
    """The commit of a source checkout. LINEAMENT_COMMIT names it where the files came without their history."""
    described, root = os.environ.get("LINEAMENT_COMMIT", ""), Path(__file__).parents[3]
    if not described and (root / ".git").exists() and shutil.which("git"):
        command = ["git", "-C", str(root), "describe", "--always", "--dirty"]
        described = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return {"commit": described} if described else {}


def save(result: Result | Stored, folder: str | Path) -> Path:
    """Write a result to `<folder>/<id>.<scale>.<seed>.json`, whole or not at all."""
    stored = record(result) if isinstance(result, Result) else result
    fields = {"schema": SCHEMA, **{name: _encode(getattr(stored, name)) for name in Stored.__dataclass_fields__}}
    # One line for each field: readable, and no line for each entry of an array.
    lines = [f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in fields.items()]
    return files.write(path_of(folder, stored.id, stored.scale, stored.seed), "{\n" + ",\n".join(lines) + "\n}\n")


def path_of(folder: str | Path, id: str, scale: str, seed: int) -> Path:
    """Where the evidence of a claim is kept."""
    return Path(folder) / f"{id}.{scale}.{seed}.json"


def load(path: str | Path) -> Stored:
    """Read a stored result.

    Raises:
        ValueError: If the file is not evidence that this version can read; the message names it and the cause.
    """
    try:
        fields = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(fields, dict) or fields.pop("schema", None) != SCHEMA:
            raise ValueError(f"it has no `schema` of {SCHEMA}")
        if not SAFE_ID.fullmatch(fields["id"]):
            raise ValueError(f"its id {fields['id']!r} cannot name a page")
        if not fields["checks"]:
            raise ValueError("it has no checks")
        return Stored(**{name: _DECODE.get(name, _as_is)(value) for name, value in fields.items()})
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not stored evidence: {error}") from error


def load_folder(folder: str | Path) -> tuple[list[Stored], list[str]]:
    """Read all evidence in a folder and below it; what cannot be read is told in the second list."""
    records, problems = [], []
    for path in sorted(Path(folder).rglob("*.json")):
        if FILE_NAME.fullmatch(path.name):
            try:
                records.append(load(path))
            except ValueError as error:
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
        "numbers": _encode({**stored.numbers, **printed, **checked}),
        "scale": stored.scale,
        "seed": stored.seed,
        "seconds": stored.seconds,
    }


@cache
def fingerprint() -> str:
    """A hash of the source that decides a claim's numbers: all of the package but `report` and the command line."""
    root = Path(__file__).parent.parent
    sources = {path.relative_to(root).as_posix(): path for path in root.rglob("*.py")}
    return _hash({name: path.read_bytes() for name, path in sources.items() if _decides(name)}.items())


def digest(figure: Figure, drawn_by: str) -> str:
    """A name for a drawing: the same data drawn by the same code has the same name."""
    return hashlib.sha256((json.dumps(_encode(figure)) + drawn_by).encode()).hexdigest()[:24]


def _decides(name: str) -> bool:
    return not name.startswith("report/") and name not in ("cli.py", "__main__.py")


def _hash(sources: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(sources):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _as_floats(check: Check) -> Check:
    return Check(check.name, float(check.value), float(check.low), float(check.high))


def _plain(value: Any) -> Any:
    """Any setting as values that JSON has; what JSON has no form for is kept as its text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | range | set | frozenset):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy and JAX
        return _plain(value.tolist())
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def _encode(value: Any) -> Any:
    """Values for strict JSON: a float that is not finite becomes its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, np.ndarray):
        return _encode(value.tolist())
    if isinstance(value, Mapping):
        return {name: _encode(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(part) for part in value]
    if isinstance(value, Check | Mark | Panel | Figure):
        return {name: _encode(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


def _decode(value: Any) -> Any:
    """Undo `_encode`. The words nan, inf and -inf come back as numbers, also where a setting had them as text."""
    if isinstance(value, str):
        return NOT_FINITE.get(value, value)
    if isinstance(value, dict):
        return {name: _decode(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_decode(part) for part in value]
    return value


def _as_is(value: Any) -> Any:
    return value


def _checks(values: list[dict]) -> tuple[Check, ...]:
    return tuple(Check(part["name"], *(float(part[name]) for name in ("value", "low", "high"))) for part in values)


def _array(values: list | None) -> np.ndarray | None:
    return None if values is None else np.asarray(_decode(values), dtype=float)


def _mark(fields: dict) -> Mark:
    return Mark(**{**fields, **{name: _array(fields[name]) for name in ("x", "y", "z", "high")}})


def _panel(fields: dict) -> Panel:
    limits = fields["y_limits"]
    marks = tuple(map(_mark, fields["marks"]))
    return Panel(**{**fields, "marks": marks, "y_limits": None if limits is None else tuple(_decode(limits))})


def _figure(fields: dict | None) -> Figure | None:
    return None if fields is None else Figure(**{**fields, "panels": tuple(map(_panel, fields["panels"]))})


_DECODE = {
    "verdict": Verdict,
    "checks": _checks,
    "printed": _checks,
    "numbers": _decode,
    "settings": _decode,
    "remarks": tuple,
    "figure": _figure,
    "seconds": float,
}
