"""Run one claim, and keep all that is needed to run it again."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineament.claims.claim import Claim
from lineament.claims.registry import find
from lineament.claims.sizes import SIZES, Size, Sized
from lineament.core import arguments
from lineament.evidence import Evidence, Verdict

from .environment import environment

if TYPE_CHECKING:
    from .store import Stored


@dataclass(frozen=True, eq=False)
class Result:
    """A claim that was run: its evidence, and all that is needed to run it again."""

    claim: Claim
    evidence: Evidence
    size: Size
    seed: int
    seconds: float
    environment: Mapping[str, str]

    @property
    def verdict(self) -> Verdict:
        """The verdict that the evidence supports."""
        return self.evidence.verdict(self.claim.kind)


def reproduce(claim: Claim | str, size: Size = "quick", seed: int = 0) -> Result:
    """Run one claim. The same claim, size and seed give the same numbers on the same machine.

    ```python
    import jax
    import lineament as la

    jax.config.update("jax_enable_x64", True)
    print(la.reproduce("gissin-t1").verdict)
    ```

    Args:
        claim: The claim, its id, or its place in the paper.
        size: "quick" for seconds on two cores, "full" for the paper's own size, or as near to it as it gets.
        seed: The seed of every random draw.
    """
    import jax

    arguments.one_of("size", size, SIZES)
    seed = arguments.count("seed", seed, 0)
    if not isinstance(claim, Claim | str):
        raise ValueError(f"claim must be a claim, its id or its place; got {arguments.shown(claim)}")
    if not jax.config.read("jax_enable_x64"):
        raise RuntimeError(
            'claims compare numbers with theory in float64; call jax.config.update("jax_enable_x64", True) first'
        )
    found = find(claim) if isinstance(claim, str) else claim
    check = found.load()
    begun = time.perf_counter()
    evidence = check(size, jax.random.key(seed))
    return Result(found, evidence, size, seed, time.perf_counter() - begun, environment())


def stands(stored: "Stored", claim: Claim) -> bool:
    """Whether stored evidence is of a committed source, and of the settings that the claim has now."""
    from .encoding import plain

    commit = stored.environment.get("commit", "")
    now = plain(table(claim, stored.size)) if stored.size in SIZES else {}
    return bool(commit) and not commit.endswith("-dirty") and bool(now) and dict(stored.table) == now


def table(claim: Claim, size: Size) -> dict[str, object]:
    """The settings that a claim has at one size, by name."""
    check = claim.load()
    return dict(check.settings[size]._asdict()) if isinstance(check, Sized) else {}
