"""The address of a point: a hash of all that decides what it gives.

That is the experiment (its source and what this depends on, its constants), the versions of the packages it uses, the
device, the precision, and the values of the grid. The first four are the same for all points of a sweep: they make the
address of the experiment, and with the values that of each point.
"""

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from typing import Any

from .experiments import Dependence, name_of
from .grid import Point, plain_value
from .parts import to_json

FORMAT = 1


@dataclass(frozen=True)
class Where:
    """What an experiment runs on: versions, device and precision. Two workers that differ must not share a sweep."""

    versions: Mapping[str, str]
    device: str
    precision: str


@dataclass(frozen=True)
class About:
    """All that decides what an experiment gives, but for the values of the grid.

    Attributes:
        name: What the experiment is called.
        code: A digest of the experiment, of each helper beside it, and of each constant that they use.
        modules: A digest of each module of this package or of the user's own that it depends on.
        text: The source of the experiment and its helpers, to say what changed; no part of the address.
    """

    name: str
    code: Mapping[str, str]
    modules: Mapping[str, str]
    versions: Mapping[str, str]
    device: str
    precision: str
    text: Mapping[str, str]

    @property
    def address(self) -> str:
        """The address of the experiment."""
        return _hash({name: value for name, value in asdict(self).items() if name != "text"} | {"format": FORMAT})

    def address_of(self, point: Mapping[str, Any]) -> str:
        """The address of one of its points."""
        return address(self.address, {name: plain_value(name, value) for name, value in point.items()})


def address(experiment: str, point: Point) -> str:
    """The address of a point, whatever the order of its names."""
    return _hash({"experiment": experiment, "at": {name: to_json(point[name]) for name in sorted(point)}})


def depends(experiment: Any) -> tuple[Dependence, Mapping[str, str], frozenset[str]]:
    """What an experiment depends on: its code, the modules it needs, and the packages of others."""
    found = Dependence()
    add = getattr(experiment, "depends", None)
    if add is not None:  # an open experiment tells its own parts
        add(found)
    else:
        found.add(name_of(experiment), experiment, own=True)
    closure = found.closure()
    return found, closure.modules, closure.packages


def about(name: str, found: Dependence, modules: Mapping[str, str], where: Where) -> About:
    """All that decides what an experiment gives on one kind of machine."""
    return About(
        name, dict(sorted(found.digests.items())), modules, where.versions, where.device, where.precision, found.text
    )


def here(packages: frozenset[str] | tuple[str, ...]) -> Where:
    """What this process is: the versions of some packages, and device and precision if JAX is among them."""
    versions = {name: _version(name) for name in sorted({*packages, *(("jaxlib",) if "jax" in packages else ())})}
    versions["python"] = platform.python_version()
    if "jax" not in packages:
        return Where(versions, "", "")
    import jax

    device = jax.devices()[0]
    precision = f"x64 {'on' if jax.config.read('jax_enable_x64') else 'off'}"
    products = jax.config.jax_default_matmul_precision  # type: ignore[attr-defined]
    return Where(
        versions,
        f"{device.platform}: {device.device_kind}",
        precision + (f", products {products}" if products else ""),
    )


@cache
def _version(package: str) -> str:
    for name in (*_distributions().get(package, ()), package):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "unknown"


@cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]
