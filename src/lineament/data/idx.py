"""The idx format of MNIST and similar data sets: a header that gives type and shape, then the numbers."""

import gzip
import struct
import zlib
from math import prod
from pathlib import Path

import numpy as np

from ..core import places

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


LARGEST = 2**30
"""Bytes that a file may unpack to; MNIST's largest has 45 MiB."""


def read_idx(path: str | Path) -> np.ndarray:
    """The array in an idx file, compressed by gzip or not.

    The header is two zero bytes, a byte for the type, a byte for the number of axes, and the big-endian 32-bit length
    of each axis. Nothing is executed or unpickled.
    """
    path = Path(path)
    places.refuse_to_read(path)
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        raw = _unpacked(path)
    if len(raw) < 4 or raw[:2] != b"\0\0" or raw[2] not in _TYPES:
        raise ValueError(f"{path} is no idx file: it begins with the bytes {raw[:4].hex(' ')}")
    kind, axes = np.dtype(_TYPES[raw[2]]), raw[3]
    begin = 4 + 4 * axes
    if len(raw) < begin:
        raise ValueError(f"{path} is cut off within its header of {begin} bytes: it has {len(raw)}")
    shape = struct.unpack(f">{axes}I", raw[4:begin])
    if len(raw) - begin != prod(shape) * kind.itemsize:
        raise ValueError(
            f"{path} should hold {prod(shape) * kind.itemsize} bytes of numbers for its shape {shape}; "
            f"it holds {len(raw) - begin}"
        )
    return np.frombuffer(raw, kind, offset=begin).reshape(shape).astype(kind.newbyteorder("="))


def _unpacked(path: Path) -> bytes:
    """The content of a gzip file, unless it is damaged or far larger than it looks."""
    try:
        with gzip.open(path) as file:
            raw = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is no idx file: it cannot be unpacked: {error}") from error
    if len(raw) > LARGEST:
        raise ValueError(f"{path} must unpack to at most {LARGEST >> 20} MiB; it holds more")
    return raw
