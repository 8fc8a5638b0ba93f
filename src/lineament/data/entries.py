"""What each data set is: its files with their checksums, where it comes from, on what terms."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import cifar, frequency, gaussian, photos
from .download import File
from .idx import read_idx
from .images import Images
from .mnist import SHA256, small_digits

_CIFAR10 = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
_CIFAR100 = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_FASHION = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/b2617bb6d3ffa2e429640350f613e3291e10b141/data/fashion/"
_KRIZHEVSKY = "Krizhevsky, Learning multiple layers of features from tiny images, 2009"

CIFAR10_FILES = tuple(
    File(f"cifar-10-batches-bin/{name}", f"sha256:{digest}", _CIFAR10, f"cifar-10-batches-bin/{name}")
    for name, digest in (
        ("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
        ("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
        ("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
        ("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
        ("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
        ("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
    )
)
_CIFAR100_FILES = tuple(
    File(f"cifar-100-binary/{name}", f"sha1:{digest}", _CIFAR100, f"cifar-100-binary/{name}")
    for name, digest in (
        ("train.bin", "e207cd2e05b73b1393c74c7f5e7bea451d63e08e"),
        ("test.bin", "8fb6623e830365ff53cf14adec797474f5478006"),
    )
)
_MAMMAL_FILES = tuple(
    File(
        f"cifar-100-small-mammals/{name}",
        f"sha256:{digest}",
        _CIFAR100,
        f"cifar-100-binary/{name}",
        cifar.SMALL_MAMMALS,
    )
    for name, digest in (
        ("train.bin", "f84f8f58be1908c141bbdd6ee0bdf19f28dcc96920edd57ddaf07ab7a757893e"),
        ("test.bin", "8d3abcbad34b079eb2fc89009beb80dc3f0a12c2eedafd4672945e2561e33c68"),
    )
)
# The records of these two classes alone, in their order, for machines to which all of CIFAR-10 is too much to carry.
CATS_DOGS_FILES = tuple(
    File(f"cifar-10-cats-dogs/{name}", f"sha256:{digest}", _CIFAR10)
    for name, digest in (
        ("train.bin", "fffcc58db4ba6df8cd399397c2ae7dc8a8d96d7854fa4c9941489e1649abd8fb"),
        ("test.bin", "693b8402d28f6cd4a3ed7f509f699024e0f841015ecc841ec06df9204926ef8b"),
    )
)
_MNIST_FILES = tuple(File(f"mnist/{name}", f"sha256:{digest}", f"{_MNIST}{name}") for name, digest in SHA256.items())
_FASHION_FILES = tuple(
    File(f"fashion-mnist/{name}", f"sha256:{digest}", f"{_FASHION}{name}")
    for name, digest in (
        ("train-images-idx3-ubyte.gz", "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
        ("train-labels-idx1-ubyte.gz", "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
        ("t10k-images-idx3-ubyte.gz", "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
        ("t10k-labels-idx1-ubyte.gz", "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
    )
)
_GAS_FILES = (
    File(
        "uci/gas.csv.gz",
        "sha256:bd82bee47199d3952bee30a59739794b26baa742e1da7f7bd42b9a34552321a1",
        "https://raw.githubusercontent.com/treforevans/uci_datasets/36a67b7e5d4b1c08151a7d044f555f50af16548a"
        "/uci_datasets/gas/data.csv.gz",
    ),
)
_GARMENTS = (
    "T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A data set.

    Attributes:
        name: What it is called here.
        title: What it is.
        shape: Height, width and channels.
        classes: How many classes.
        train: How many training images.
        test: How many test images.
        source: Where it comes from.
        licence: On what terms.
        citation: Whom to cite; empty if nobody.
        read: Reads it from a data folder; the flag allows for missing training batches.
        files: The files it needs; none for data sets that are computed or come with a package.
        alone: Files that hold its records alone, which do instead of those of a larger set, where they are all there.
    """

    name: str
    title: str
    shape: tuple[int, int, int]
    classes: int
    train: int
    test: int
    source: str
    licence: str
    citation: str
    read: Callable[[Path, bool], Images]
    files: tuple[File, ...] = ()
    alone: tuple[File, ...] = ()

    def used(self, root: Path) -> tuple[File, ...]:
        """The files that are read from a folder: those of its records alone if they are there."""
        whole = bool(self.alone) and all((root / file.path).is_file() for file in self.alone)
        return self.alone if whole else self.files


@dataclass(frozen=True)
class TableEntry:
    """A table of examples with one number to predict.

    Attributes:
        name: What it is called here.
        title: What it is.
        rows: How many examples.
        features: How many features.
        source: Where it comes from.
        licence: On what terms.
        citation: Whom to cite.
        files: The one file that holds it, a CSV file with the target in its last column.
    """

    name: str
    title: str
    rows: int
    features: int
    source: str
    licence: str
    citation: str
    files: tuple[File, ...]

    def used(self, root: Path) -> tuple[File, ...]:
        """The files that are read from a data folder: its one file."""
        return self.files


def _cifar10(*classes: str) -> Callable[[Path, bool], Images]:
    def read(root: Path, partial: bool) -> Images:
        data = cifar.read_cifar10(root / "cifar-10-batches-bin", partial)
        return data.subset(classes) if classes else data

    return read


def _cats_dogs(root: Path, partial: bool) -> Images:
    if all((root / file.path).is_file() for file in CATS_DOGS_FILES):
        return cifar.read_two_classes(root / "cifar-10-cats-dogs", ("cat", "dog"))
    return _cifar10("cat", "dog")(root, partial)


def _idx(folder: str, title: str, classes: tuple[str, ...]) -> Callable[[Path, bool], Images]:
    def read(root: Path, partial: bool) -> Images:
        arrays = [read_idx(root / folder / name) for name in SHA256]
        return Images(
            cifar.unit(arrays[0])[..., None],
            arrays[1].astype(np.int64),
            cifar.unit(arrays[2])[..., None],
            arrays[3].astype(np.int64),
            classes,
            title,
        )

    return read


def _digits(root: Path, partial: bool) -> Images:
    digits = small_digits()
    names = tuple(str(digit) for digit in range(10))
    return Images(
        digits.images[..., None],
        digits.labels.astype(np.int64),
        digits.test_images[..., None],
        digits.test_labels.astype(np.int64),
        names,
        digits.name,
    )


_NUMERALS = tuple(str(digit) for digit in range(10))
_TORONTO = "www.cs.toronto.edu/~kriz/cifar.html"
_NO_LICENCE = "none stated"
CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry(
            "cifar-10", "CIFAR-10", (32, 32, 3), 10, 50_000, 10_000, _TORONTO, _NO_LICENCE, _KRIZHEVSKY,
            _cifar10(), CIFAR10_FILES,
        ),
        Entry(
            "cats-dogs", "cats and dogs of CIFAR-10", (32, 32, 3), 2, 10_000, 2000, _TORONTO, _NO_LICENCE,
            _KRIZHEVSKY, _cats_dogs, CIFAR10_FILES, CATS_DOGS_FILES,
        ),
        Entry(
            "cats-horses", "cats and horses of CIFAR-10", (32, 32, 3), 2, 10_000, 2000, _TORONTO, _NO_LICENCE,
            _KRIZHEVSKY, _cifar10("cat", "horse"), CIFAR10_FILES,
        ),
        Entry(
            "cifar-100", "CIFAR-100, fine classes", (32, 32, 3), 100, 50_000, 10_000, _TORONTO, _NO_LICENCE,
            _KRIZHEVSKY, lambda root, partial: cifar.read_cifar100(root / "cifar-100-binary"), _CIFAR100_FILES,
        ),
        Entry(
            "small-mammals", "small mammals, coarse class 16 of CIFAR-100", (32, 32, 3), 5, 2500, 500, _TORONTO,
            _NO_LICENCE, _KRIZHEVSKY,
            lambda root, partial: cifar.read_small_mammals(root / "cifar-100-small-mammals"), _MAMMAL_FILES,
        ),
        Entry(
            "mnist", "MNIST, handwritten digits", (28, 28, 1), 10, 60_000, 10_000, "yann.lecun.com/exdb/mnist",
            "CC BY-SA 3.0", "LeCun et al., Gradient-based learning applied to document recognition, 1998",
            _idx("mnist", "MNIST", _NUMERALS), _MNIST_FILES,
        ),
        Entry(
            "fashion-mnist", "Fashion-MNIST, garments", (28, 28, 1), 10, 60_000, 10_000,
            "github.com/zalandoresearch/fashion-mnist", "MIT",
            "Xiao et al., Fashion-MNIST: a novel image dataset for benchmarking machine learning algorithms, 2017",
            _idx("fashion-mnist", "Fashion-MNIST", _GARMENTS), _FASHION_FILES,
        ),
        Entry(
            "digits", "handwritten digits that come with scikit-learn", (8, 8, 1), 10, 1500, 297,
            "UCI, optical recognition of handwritten digits", "CC BY 4.0", "Alpaydin & Kaynak 1998", _digits,
        ),
        Entry(
            "photographs", "patches of photographs that come with scikit-image", (16, 16, 1), 8, 2000, 800,
            "scikit-image", "CC0 and public domain", "van der Walt et al., scikit-image, 2014",
            lambda root, partial: photos.photographs(),
        ),
        Entry(
            "natural-gaussian", "Gaussian images with a natural spectrum", (16, 16, 1), 2, 2000, 1000, "computed",
            "CC0", "", lambda root, partial: gaussian.natural_gaussian(),
        ),
        Entry(
            "frequency", "points separated by ten waves", (1, 1, 2), 2, 10_000, 1000, "computed", "CC0",
            "Hacohen & Weinshall 2021, Appendix D.3", lambda root, partial: frequency.frequency_images(),
        ),
    )
}  # fmt: skip
TABLES = {
    entry.name: entry
    for entry in (
        TableEntry(
            "gas-sensors", "gas sensor array drift at different concentrations, ethanol", 2565, 128,
            "UCI 270, doi.org/10.24432/C5MK6M, as prepared by the package uci_datasets", "CC BY 4.0",
            "Vergara et al., Chemical gas sensor drift compensation using classifier ensembles, 2012", _GAS_FILES,
        ),
    )
}  # fmt: skip
