"""The registry of claims: what is claimed, where it is printed, and the function that checks it.

Third-party packages add claims by naming a module in the entry-point group `lineament.claims`; importing that
module must run its `@claim` decorators.
"""

import difflib
import importlib
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

import jax

from .evidence import ClaimKind, Evidence, Verdict
from .papers import PAPERS

Scale = Literal["quick", "full"]
SCALES: tuple[Scale, ...] = ("quick", "full")
ENTRY_POINTS = "lineament.claims"
BUILT_IN = (
    "lineament.claims.cohen",
    "lineament.claims.gissin",
    "lineament.claims.hacohen",
    "lineament.claims.hu",
    "lineament.claims.varre",
    "lineament.claims.beyond",
)

_registry: dict[str, "Claim"] = {}


@dataclass(frozen=True)
class Claim:
    """One statement of one paper, and the function that brings evidence for or against it."""

    id: str
    paper: str
    place: str
    title: str
    statement: str
    kind: ClaimKind
    cost: Mapping[Scale, str]
    check: Callable[[Scale, jax.Array], Evidence]

    @property
    def description(self) -> str:
        """How the claim is checked: the docstring of its function."""
        return self.check.__doc__ or ""


@dataclass(frozen=True, eq=False)
class Result:
    """A claim that was run: its evidence, and all that is needed to run it again."""

    claim: Claim
    evidence: Evidence
    scale: Scale
    seed: int
    seconds: float
    environment: Mapping[str, str]

    @property
    def verdict(self) -> Verdict:
        """The verdict that the evidence supports."""
        return self.evidence.verdict(self.claim.kind)


def claim(
    id: str,
    *,
    place: str,
    title: str,
    statement: str,
    kind: ClaimKind = "theorem",
    quick: str,
    full: str,
) -> Callable[[Callable[[Scale, jax.Array], Evidence]], Callable[[Scale, jax.Array], Evidence]]:
    r"""Register a function `(scale, key) -> Evidence` as the check of a claim.

    Args:
        id: The paper's key, a hyphen and a short name, such as `gissin-t1`.
        place: Where the paper states it, such as "Theorem 1".
        title: One line in plain words.
        statement: The statement in LaTeX, without dollar signs.
        kind: A theorem can fail; an experiment can only differ.
        quick: The usual cost at quick scale on two cores, in words.
        full: The same at full scale, with the machine it was measured on where that is not two cores.
    """
    paper = id.split("-")[0]
    if paper not in PAPERS:
        raise ValueError(f"claim id {id!r} must begin with the key of a known paper: {', '.join(PAPERS)}")

    def register(check: Callable[[Scale, jax.Array], Evidence]) -> Callable[[Scale, jax.Array], Evidence]:
        if id in _registry:
            raise ValueError(f"claim {id!r} is registered twice; give one of them another id")
        _registry[id] = Claim(id, paper, place, title, statement, kind, {"quick": quick, "full": full}, check)
        return check

    return register


def all_claims() -> dict[str, Claim]:
    """Import every module that registers claims, and return the claims by id, in the papers' order."""
    for module in BUILT_IN:
        importlib.import_module(module)
    for entry_point in metadata.entry_points(group=ENTRY_POINTS):
        entry_point.load()
    order = list(PAPERS)
    return dict(sorted(_registry.items(), key=lambda item: order.index(item[1].paper)))


def find(id: str) -> Claim:
    """Return one claim; an unknown id is answered with the nearest known ones."""
    if id in _registry:
        return _registry[id]
    claims = all_claims()
    if id in claims:
        return claims[id]
    near = difflib.get_close_matches(id, claims, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known claims: {', '.join(claims)}"
    raise ValueError(f"unknown claim {id!r}; {hint}")


def run(claim: Claim, scale: Scale = "quick", seed: int = 0) -> Result:
    """Run one claim. The same claim, scale and seed give the same numbers on the same machine."""
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, not {scale!r}")
    if not jax.config.read("jax_enable_x64"):
        raise RuntimeError(
            'claims compare numbers with theory in float64; call jax.config.update("jax_enable_x64", True) first'
        )
    begun = time.perf_counter()
    evidence = claim.check(scale, jax.random.key(seed))
    return Result(claim, evidence, scale, seed, time.perf_counter() - begun, environment())


def environment() -> dict[str, str]:
    """Versions and device, for provenance."""
    packages = ("lineament", "jax", "diffrax", "numpy", "scipy")
    device = jax.devices()[0]
    versions = {name: _version(name) for name in packages}
    return {
        **versions,
        "python": platform.python_version(),
        "device": f"{device.platform}: {device.device_kind}",
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "source tree"
