"""What a page says of the seeds that a verdict rests on, and of the device they ran on."""

from collections.abc import Mapping

from lineament.execution.pooled import Pooled

from .prose import duration

WANTED = 3  # seeds, for a spread
LONG = 180.0  # seconds of one seed beyond which fewer will do


def device(environment: Mapping[str, str]) -> str:
    """The device as a reader calls it; evidence has the platform and what JAX calls the device."""
    platform, _, kind = environment.get("device", "").partition(": ")
    return kind if kind and kind != platform else platform.upper()


def few(pool: Pooled) -> str:
    """Why a verdict rests on fewer than three seeds; nothing where it does not."""
    count = len(pool.runs)
    if count >= WANTED:
        return ""
    number = "One seed" if count == 1 else "Two seeds"
    where = device(pool.shown.environment)
    takes = f"takes {duration(pool.seconds)}" + (f" on {'a ' if where == 'CPU' else 'one '}{where}" if where else "")
    if pool.seconds > LONG:
        return f"{number} only, since one {takes}."
    return f"{number} so far; one {takes}."
