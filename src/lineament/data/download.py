"""Files of data sets: what they are, whether they are the originals, and how to get them.

A file is written under its own name only after its checksum was verified; archives are read member by member, and
nothing is unpickled or executed.
"""

import hashlib
import os
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .cifar import coarse_records

TIMEOUT = 60
PIECE = 1 << 20
LARGEST = 256 * 2**20
"""Bytes of a download, and of a file unpacked from one; the largest of the catalogue, CIFAR-10's archive, has 163 MiB."""

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class File:
    """One file of a data set.

    Attributes:
        path: Where it lies in the data folder.
        digest: Its checksum, as "sha256:…" or "sha1:…": the strongest that is published.
        url: Where it is downloaded from, or the archive (.tar.gz) that holds it.
        member: Its name in the archive.
        coarse: The coarse class whose records alone are kept, for parts of CIFAR-100.
    """

    path: str
    digest: str
    url: str
    member: str = ""
    coarse: int | None = None

    def verify(self, root: Path) -> Path:
        """The path of the file below a data folder; refused if it is missing or not the original."""
        path = root / self.path
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing")
        with path.open("rb") as content:
            checksum = hashlib.file_digest(content, self._algorithm).hexdigest()
        self._compare(checksum, str(path))
        return path

    def place(self, root: Path, content: bytes) -> Path:
        """Write the file below a data folder, whole and verified or not at all."""
        self._compare(hashlib.new(self._algorithm, content, usedforsecurity=False).hexdigest(), self.url)
        path = root / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(part, path)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
        return path

    @property
    def _algorithm(self) -> str:
        return self.digest.partition(":")[0]

    def _compare(self, checksum: str, origin: str) -> None:
        expected = self.digest.partition(":")[2]
        if checksum != expected:
            raise ValueError(
                f"{origin} is not the original {self.path}: its {self._algorithm} is {checksum}, not {expected}. "
                "Remove it and fetch it again"
            )


def fetch(files: Iterable[File], root: Path, progress: Progress | None = None) -> list[Path]:
    """Download files into a data folder, each address once, and verify them.

    Args:
        files: Which files.
        root: The data folder; made if missing.
        progress: Called with the address, the bytes so far and the bytes in all (None if unknown).

    Raises:
        OSError: If an address cannot be reached.
        ValueError: If what came is not the original; nothing is kept then.
    """
    wanted: dict[str, list[File]] = {}
    for file in files:
        wanted.setdefault(file.url, []).append(file)
    placed = []
    for url, group in wanted.items():
        with tempfile.TemporaryFile() as content:
            _receive(url, content, progress)
            if not group[0].member:
                content.seek(0)
                placed.append(group[0].place(root, content.read()))
            else:
                placed += _unpack(url, content, group, root)
    return placed


def _receive(url: str, content: IO[bytes], progress: Progress | None) -> None:
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        length = answer.headers.get("Content-Length")
        received = 0
        _refuse_large(url, int(length or 0))
        while piece := answer.read(PIECE):
            content.write(piece)
            received += len(piece)
            _refuse_large(url, received)
            if progress is not None:
                progress(url, received, int(length) if length else None)


def _refuse_large(origin: str, length: int) -> None:
    if length > LARGEST:
        raise ValueError(
            f"{origin} must have at most {LARGEST >> 20} MiB; got {length >> 20} MiB or more: not the original"
        )


def _unpack(url: str, content: IO[bytes], files: list[File], root: Path) -> list[Path]:
    content.seek(0)
    by_member: dict[str, list[File]] = {}
    for file in files:
        by_member.setdefault(file.member, []).append(file)
    placed = []
    try:
        with tarfile.open(fileobj=content, mode="r:gz") as archive:
            for entry in archive:
                for file in by_member.pop(entry.name, []):
                    _refuse_large(f"{url}: {entry.name}", entry.size)
                    stream = archive.extractfile(entry)
                    raw = b"" if stream is None else stream.read()
                    placed.append(file.place(root, raw if file.coarse is None else coarse_records(raw, file.coarse)))
    except tarfile.TarError as error:
        raise ValueError(f"{url} is no archive that can be read: {error}") from error
    if by_member:
        raise ValueError(f"{url} does not hold {', '.join(by_member)}")
    return placed
