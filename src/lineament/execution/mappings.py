"""Room for compiled programs in a process that lives long.

Every program that JAX has compiled stays mapped into memory, and Linux gives a process only so many maps (65,530 unless
an administrator says otherwise). A process that reaches the limit does not get an error: the compiler ends it. Some three
hundred claims in one process come that far.
"""

import gc
import sys
from pathlib import Path

MAPS = Path("/proc/self/maps")
MOST = Path("/proc/sys/vm/max_map_count")


def crowded(maps: Path = MAPS, most: Path = MOST) -> bool:
    """Whether more than half of the maps that this process may have are taken; never so where none are counted."""
    if not maps.exists() or not most.exists():
        return False
    with maps.open("rb") as lines:
        return 2 * sum(1 for _ in lines) > int(most.read_text())


def relieve() -> None:
    """Forget what was compiled if it has come to take up too much; what is needed again is compiled again."""
    if "jax" in sys.modules and crowded():
        import jax

        jax.clear_caches()
        gc.collect()
