"""CIFAR-10 and CIFAR-100 in their official binary versions (Krizhevsky 2009); nothing is unpickled.

A record is the label bytes, then 1024 bytes each of red, green and blue, row by row.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .images import Images

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
TRAIN = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST = "test_batch.bin"
CIFAR100 = tuple(
    """
    apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can
    castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin
    elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard
    lobster man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear
    pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal
    shark shrew skunk skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table tank
    telephone television tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm
    """.split()  # noqa: SIM905
)
# CIFAR-100's coarse class 16 and its fine classes.
SMALL_MAMMALS = 16
MAMMALS = (36, 50, 65, 74, 80)
PIXELS = 3072


def read_records(path: str | Path, label_bytes: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Labels (n, label_bytes) and pixels (n, 32, 32, 3) of a binary file: 1 label byte for CIFAR-10, 2 for CIFAR-100.

    CIFAR-100's are the coarse label and the fine one.
    """
    raw = np.fromfile(path, np.uint8)
    record = label_bytes + PIXELS
    if raw.size == 0 or raw.size % record:
        raise ValueError(
            f"{path} is no CIFAR file with {label_bytes} label byte(s): "
            f"its {raw.size} bytes are no whole number of records of {record}"
        )
    records = raw.reshape(-1, record)
    return records[:, :label_bytes], records[:, label_bytes:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def read_cifar10(folder: str | Path, partial: bool = False) -> Images:
    """CIFAR-10 from a folder with its six binary files: 50,000 training and 10,000 test images of 32 × 32 × 3.

    Args:
        folder: Where data_batch_1.bin … data_batch_5.bin and test_batch.bin are.
        partial: Whether to make do with the training batches that are there, at least one.
    """
    folder = Path(folder)
    present = _batches(folder, partial)
    name = "CIFAR-10" if len(present) == len(TRAIN) else f"CIFAR-10, {len(present)} of {len(TRAIN)} batches"
    return Images(*_ten_classes(folder, present), *_ten_classes(folder, [TEST]), CIFAR10, name)


def _batches(folder: Path, partial: bool) -> list[str]:
    """The training batches that are there; refused if one is missing, or, where some may be, all or the test batch."""
    missing = [name for name in (*TRAIN, TEST) if not (folder / name).is_file()]
    enough = TEST not in missing and not set(TRAIN) <= set(missing)
    if missing and not (partial and enough):
        hint = "; partial=True uses the batches that are there" if enough else ""
        raise FileNotFoundError(f"{folder} lacks {', '.join(missing)} of CIFAR-10{hint}")
    return [name for name in TRAIN if name not in missing]


def _ten_classes(folder: Path, files: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The images of some files of CIFAR-10, one after the other, and their labels."""
    labels, pixels = (
        np.concatenate(parts) for parts in zip(*(read_records(folder / f, 1) for f in files), strict=True)
    )
    if labels.max() > 9:
        raise ValueError(f"{folder} is not CIFAR-10: a label of {', '.join(files)} is {labels.max()}")
    return unit(pixels), labels[:, 0].astype(np.int64)


def read_two_classes(folder: str | Path, classes: tuple[str, str]) -> Images:
    """Two classes of CIFAR-10 from a folder with train.bin and test.bin, which hold their records alone."""
    parts = [read_records(Path(folder) / name, 1) for name in ("train.bin", "test.bin")]
    for labels, _ in parts:
        if labels.max() > 9:
            raise ValueError(f"{folder} is not of CIFAR-10: a label is {labels.max()}")
    (labels, pixels), (test_labels, test) = parts
    numbers = labels[:, 0].astype(np.int64), test_labels[:, 0].astype(np.int64)
    return Images(unit(pixels), numbers[0], unit(test), numbers[1], CIFAR10, "CIFAR-10").subset(classes)


def read_cifar100(folder: str | Path) -> Images:
    """CIFAR-100 with its 100 fine classes from a folder with train.bin and test.bin: 50,000 + 10,000 images."""
    return _fine(Path(folder), range(100), "CIFAR-100")


def read_small_mammals(folder: str | Path) -> Images:
    """Small mammals: the 2500 + 500 images of CIFAR-100's coarse class 16, with five fine classes.

    Args:
        folder: Where train.bin and test.bin are, in CIFAR-100's format: of that class only, or the whole of CIFAR-100.
    """
    return _fine(Path(folder), MAMMALS, "small mammals", SMALL_MAMMALS)


def coarse_records(raw: bytes, coarse: int) -> bytes:
    """The records of one coarse class out of the bytes of a CIFAR-100 file, in their order."""
    records = np.frombuffer(raw, np.uint8).reshape(-1, 2 + PIXELS)
    return records[records[:, 0] == coarse].tobytes()


def _fine(folder: Path, known: Sequence[int], title: str, coarse: int | None = None) -> Images:
    def part(file: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        labels, pixels = read_records(folder / file, 2)
        if coarse is not None:
            chosen = labels[:, 0] == coarse
            labels, pixels = labels[chosen], pixels[chosen]
        return unit(pixels), _numbered(folder / file, labels[:, 1], known)

    return Images(*part("train.bin"), *part("test.bin"), tuple(CIFAR100[number] for number in known), title)


def _numbered(path: Path, fine: NDArray[np.uint8], known: Sequence[int]) -> NDArray[np.int64]:
    if not np.isin(fine, np.asarray(known)).all() or fine.size == 0:
        raise ValueError(f"{path} must hold fine labels among {tuple(known[:5])} …; it holds {np.unique(fine)[:8]}")
    return np.searchsorted(known, fine).astype(np.int64)


def unit(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Bytes as numbers in [0, 1]."""
    # The files hold planes of colour: order="C" makes channels lie side by side.
    return pixels.astype(np.float32, order="C") / np.float32(255)
