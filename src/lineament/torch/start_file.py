"""The parameters that a recorded run began with, on disk, so that a resumed run is linearised about the same place."""

import pickle
import tempfile
import warnings
from pathlib import Path

import torch

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
        return Linearisation(dict(held["parameters"]), dict(held["buffers"]), forward)
    except (OSError, EOFError, RuntimeError, ValueError, KeyError, TypeError, pickle.UnpicklingError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        warnings.warn(
            f"cannot read {str(file)!r}: {reason}. Recording goes on; from here on it holds no linearisation",
            stacklevel=5,
        )
        return None
