"""Examples of a recording as pictures, each with its row, its label and what the network says."""

import base64
import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lineament import recording as rec
from lineament.recording import Recording

MOST = 12
"""Pictures in a group."""
LONGEST = 96
"""Pixels along the longer side of a picture; larger ones are thinned out."""


class Tile(NamedTuple):
    """One example: its picture as the source of an image element, and what stands under it."""

    row: int
    source: str
    label: int
    prediction: int


class Group(NamedTuple):
    """Examples that are shown together."""

    title: str
    tiles: tuple[Tile, ...]


def groups(recording: Recording, suspects: Sequence[int] = ()) -> tuple[Group, ...]:
    """The examples that were learnt first and last, and those whose labels are in doubt.

    Args:
        recording: With pictures as inputs and classes as labels.
        suspects: Rows whose labels are in doubt, the most suspicious first.

    Raises:
        ValueError: If the inputs are no pictures, or there are too few of them.
    """
    sound = recording.sound
    order = rec.learning_order(sound)
    if sound.inputs is None:
        raise ValueError("inputs must have been recorded to show examples; none were given")
    pictures, number = channels_last(sound.inputs), min(MOST, sound.examples // 2)
    if not (pictures.ndim == 3 or (pictures.ndim == 4 and pictures.shape[3] == 3)) or min(pictures.shape[1:3]) < 4:
        raise ValueError(f"inputs of shape {pictures.shape} are no pictures: examples are not shown")
    if number < 1:
        raise ValueError("at least two probe examples are needed to tell the first learnt from the last")
    ends = float(pictures.min()), float(pictures.max())
    chosen = {"Labels in doubt": list(suspects)[:MOST]} if suspects else {}
    chosen |= {"Learnt first": order[:number].tolist(), "Learnt last, or never": order[::-1][:number].tolist()}
    return tuple(
        Group(title, tuple(_tile(sound, row, pictures[row], ends) for row in rows)) for title, rows in chosen.items()
    )


def channels_last(x: np.ndarray) -> np.ndarray:
    """Pictures with their colours along the last axis, and without that axis where there is one colour."""
    if x.ndim == 4 and x.shape[1] in (1, 3) and x.shape[3] not in (1, 3):
        x = np.moveaxis(x, 1, 3)
    return x[..., 0] if x.ndim == 4 and x.shape[3] == 1 else x


def _tile(recording: Recording, row: int, picture: np.ndarray, ends: tuple[float, float]) -> Tile:
    assert recording.labels is not None
    assert recording.predictions is not None
    stride = -(-max(picture.shape[:2]) // LONGEST)
    low, high = ends
    share = (np.asarray(picture[::stride, ::stride], float) - low) / max(high - low, np.finfo(float).tiny)
    return Tile(row, _source(share), int(recording.labels[row]), int(recording.predictions[-1, row]))


def _source(share: np.ndarray) -> str:
    """A picture with values in [0, 1] as an address that holds all of it."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.round(255 * share).astype(np.uint8)).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
