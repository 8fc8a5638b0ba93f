"""A claim at quick size in a process of its own, with one module changed or with its lines watched.

The process begins as a copy of one that has imported everything but the package. Compiled programs are kept between
processes: a change of a formula in NumPy leaves them as they are, and compiling is most of a quick claim's time.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from ..mutants import trial as unit

CACHE = Path("build/formula_mutants/compiled")
RESULTS = Path("results")


class Change(NamedTuple):
    """A module and the source that stands in its place."""

    module: str
    source: str


def load() -> None:
    """Import all that claims use but the package itself; keep compiled programs."""
    unit.load()
    import jax

    # Not by the environment, which JAX has read by then.
    CACHE.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(CACHE.resolve()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.05)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    jax.config.update("jax_enable_x64", True)


def cheap_claims(seconds: float) -> list[str]:
    """The ids of the claims whose stored evidence at quick size took no longer than that."""
    from lineament.claims import all_claims
    from lineament.execution import store

    kept = [record for record in store.load_folder(RESULTS)[0] if record.size == "quick"]
    least = {id: min((record.seconds for record in kept if record.id == id), default=seconds) for id in all_claims()}
    return [id for id, taken in least.items() if taken <= seconds]


def fingerprint(claim: str) -> str:
    """What decides a claim's numbers, as evidence has it; asked in this process, which runs no claim."""
    from lineament.claims import all_claims
    from lineament.execution import fingerprint as names

    return names.fingerprint(all_claims()[claim])


def run(claim: str, change: Change | None, limit: float, watch: bool = False) -> dict[str, Any]:
    """Run a claim in a process of its own, and return its verdict, the checks that did not pass, and CPU seconds."""
    with tempfile.TemporaryDirectory(prefix="formula-") as scratch:
        told = Path(scratch) / "told.json"
        sys.stdout.flush()
        child = os.fork()
        if not child:
            os.setsid()
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 1))
            told.write_text(json.dumps(_told(claim, change, watch)))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if told.exists():
            return json.loads(told.read_text())
        out_of_time = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        return {"verdict": "no end" if out_of_time else "error", "why": f"status {status}", "seconds": limit}


def _told(claim: str, change: Change | None, watch: bool) -> dict[str, Any]:
    """In the child: import the package with its change, run the claim, say what came of it."""
    from .reach import Watch

    for name in [name for name in sys.modules if name.partition(".")[0] == "lineament"]:
        del sys.modules[name]
    watching = Watch()
    if watch:
        watching.begin()
    if change is not None:
        sys.meta_path.insert(0, Finder(change))
    begun = time.process_time()
    try:
        from lineament.execution import worker

        worker.prepare(short=True)
        import jax

        from lineament.execution.reproduce import reproduce

        jax.config.update("jax_enable_x64", True)
        result = reproduce(claim)
        failed = [str(check) for check in (*result.evidence.checks, *result.evidence.printed) if not check.passed]
        said: dict[str, Any] = {"verdict": str(result.verdict), "why": "; ".join(failed)}
    except Exception as error:  # whatever a wrong formula raises: the claim did not come to an end
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        said = {"verdict": "error", "why": f"{type(error).__name__}: {error} ({place})"}
    lines = {module: sorted(found) for module, found in watching.lines.items()}
    return {**said, "seconds": time.process_time() - begun, "lines": lines}


class Finder(importlib.abc.MetaPathFinder):
    """Finds one module with another source than its file's."""

    def __init__(self, change: Change) -> None:
        self.change = change

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The changed module, and no other."""
        if fullname != self.change.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"module must lie in the package; got {fullname!r}")
        return importlib.util.spec_from_file_location(
            fullname, spec.origin, loader=Changed(fullname, spec.origin, self.change.source)
        )


class Changed(importlib.machinery.SourceFileLoader):
    """Loads the source it was given."""

    def __init__(self, fullname: str, path: str, source: str) -> None:
        super().__init__(fullname, path)
        self.source = source

    def get_code(self, fullname: str) -> CodeType:
        """Compiled anew: kept bytecode is that of the file."""
        return compile(self.source, self.path, "exec", dont_inherit=True)
