"""The parameters that a recorded run began with, on disk, so that a resumed run is linearised about the same place."""

import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .probing import Forward, Linearisation


def save_start(file: Path, start: Linearisation) -> None:
    """Write the file, or nothing; a disk that is full is a warning, since the run itself does not need it."""
    part = None
    try:
        # A name that nobody can guess, made anew: no link that lies there is followed.
        descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)
        part = Path(name)
        with open(descriptor, "wb") as stream:
            torch.save({"parameters": start.parameters, "buffers": start.buffers}, stream)
        part.replace(file)
    except (OSError, RuntimeError) as error:
        warnings.warn(
            f"cannot write {str(file)!r}: {error}. Recording goes on, but cannot be resumed with its linearisation",
            stacklevel=5,
        )
    finally:
        if part is not None and part.exists():
            part.unlink()


def load_start(file: Path, forward: Forward, device: torch.device) -> Linearisation | None:
    """Read the file; None, with a warning, if it is missing or damaged: that must not end a training."""
    try:
        held = torch.load(file, weights_only=True, map_location=device)
        return Linearisation(_tensors(held["parameters"]), _tensors(held["buffers"]), forward)
    except Exception as error:  # what unpickling raises over bytes of another kind has no end
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        warnings.warn(
            f"cannot read {str(file)!r}: {reason}. Recording goes on; from here on it holds no linearisation",
            stacklevel=5,
        )
        return None


def _tensors(held: Any) -> dict[str, Tensor]:
    """What was held, if it is tensors by name."""
    found = dict(held)
    if not all(isinstance(value, Tensor) for value in found.values()):
        raise TypeError("it holds something else than tensors")
    return found
