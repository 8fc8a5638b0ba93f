"""A claim to begin with: a module that runs as it stands, its test, and a project that adds it to the list."""

import re
from importlib import resources
from pathlib import Path
from string import Template

from lineament.claims import all_claims

from . import files

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_TEXTS = {"{module}.py": "claim.txt", "test_{module}.py": "test.txt", "pyproject.toml": "pyproject.txt"}


def write(id: str, folder: Path) -> list[Path]:
    """Write the files of a new claim into a folder.

    Args:
        id: The claim's id: a key for where it comes from, a hyphen, a short name, such as `mine-edge`.
        folder: Where the files go; made if it is missing. What is there is never written over.

    Returns:
        The files: the module, its test, and the project.
    """
    if not _ID.fullmatch(id):
        raise ValueError(
            f"id must be a key, a hyphen and a short name in small letters, such as mine-edge; got {id!r}"
        )
    if id in all_claims():
        raise ValueError(f"id must be new, but there is a claim {id!r} already; choose another")
    module = id.replace("-", "_")
    texts = resources.files("lineament.execution") / "skeleton"
    written = {folder / name.format(module=module): text for name, text in _TEXTS.items()}
    if there := [path for path in written if path.exists()]:
        raise ValueError(f"{str(there[0])!r} is there already; give another id or folder")
    files.writable(folder)
    for path, text in written.items():
        files.write(path, Template((texts / text).read_text(encoding="utf-8")).substitute(id=id, module=module))
    return list(written)
