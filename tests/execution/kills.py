"""Kill a sweep at random moments, let it go on, and see that nothing is lost, wrong, or run twice.

Run as a script it is the whole campaign: `python tests/execution/kills.py 50`. Who is killed: workers, the process
that sweeps, whoever is in the middle of a write, and a dask scheduler or one of its workers.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from lineament.execution.stores import Store

EXPERIMENT = """
    import os, pathlib, time

    import numpy as np

    LOG = pathlib.Path(__file__).with_name("log")
    replace = os.replace

    def slow(*paths):  # as over a network, so that a kill can fall between writing and renaming
        time.sleep(0.02)
        replace(*paths)

    os.replace = slow

    def experiment(i):
        with LOG.open("a") as log:
            log.write(f"{i}\\n")
        time.sleep(0.004 + 0.012 * (i * 37 % 100) / 100)
        return {"square": i * i, "row": np.arange(20.0) * i}
"""
SWEEP = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import kill_trial
    import lineament as la

    engine = sys.argv[3]
    la.sweep(kill_trial.experiment, {"i": range(int(sys.argv[2]))}, store=sys.argv[1] + "/runs", engine=engine,
             workers=2 if engine == "local" else None, progress=False)
"""


class Trial:
    """One sweep in a folder of its own, killed and begun again until it is whole."""

    def __init__(self, folder: Path, points: int, seed: int = 0) -> None:
        self.folder, self.points = folder, points
        self.random = random.Random(seed)
        (folder / "kill_trial.py").write_text(textwrap.dedent(EXPERIMENT))
        (folder / "go.py").write_text(textwrap.dedent(SWEEP))
        (folder / "log").touch()
        self.kills: dict[str, int] = {}
        self.stored: set[int] = set()
        self.begun_since: list[tuple[set[int], int]] = []

    def start(self, engine: str = "local") -> subprocess.Popen:
        command = [sys.executable, str(self.folder / "go.py"), str(self.folder), str(self.points), engine]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=_environment(self.folder))

    def wait_for_more(self, process: subprocess.Popen) -> bool:
        """Wait until the sweep has run some more points; whether it still runs."""
        at, until = self.lines(), time.monotonic() + 90
        while process.poll() is None and self.lines() < at + 30:
            assert time.monotonic() < until, "the sweep does not go on"
            time.sleep(0.01)
        time.sleep(self.random.uniform(0, 0.4))
        return process.poll() is None

    def kill(self, who: str, pid: int) -> None:
        """Kill one process, and note which points are stored at that moment."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.kills[who] = self.kills.get(who, 0) + 1
        self.look()

    def look(self) -> None:
        """Whatever is stored now must stay, be right, and never be run again."""
        now = self.read()
        assert self.stored <= now, f"lost: {sorted(self.stored - now)[:5]}"
        self.stored = now
        self.begun_since.append((now, self.lines()))

    def read(self) -> set[int]:
        found: set[int] = set()
        if not any(self.folder.glob("runs/*/about.json")):
            return found
        for shelf, _ in Store(self.folder / "runs").shelves():
            for part in shelf.parts():
                for place, row in enumerate(part.rows):
                    i = row.point["i"]
                    assert isinstance(i, int)
                    assert row.reason == "", row
                    assert part.variables["square"].array[place] == i * i
                    assert (part.variables["row"].array[place] == [k * i for k in range(20)]).all()
                    found.add(i)
            assert shelf.problems == []
        return found

    def lines(self) -> int:
        return (self.folder / "log").read_bytes().count(b"\n")

    def finish(self, engine: str = "local") -> dict[str, int]:
        """Let it come to its end, and say what came of it."""
        process = self.start(engine)
        _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told
        self.look()
        assert self.stored == set(range(self.points))
        runs = [int(line) for line in (self.folder / "log").read_text().split()]
        for stored, line in self.begun_since:
            again = stored & set(runs[line:])
            assert not again, f"run again though stored: {sorted(again)[:5]}"
        return {"points": self.points, "runs": len(runs), "in flight": len(runs) - self.points, **self.kills}


def workers_of(pid: int) -> list[int]:
    """The worker processes of a sweep."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"spawn_main" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
    return sorted(found)


def kill_locally(trial: Trial, kills: int) -> None:
    """Kill workers, parents, and whoever is writing."""
    process = trial.start()
    while sum(trial.kills.values()) < kills:
        if not trial.wait_for_more(process):
            process.wait()
            assert process.returncode in (0, -signal.SIGKILL), process.stderr and process.stderr.read()
            if process.returncode == 0:
                break
            process = trial.start()
            continue
        who = trial.random.choice(["worker", "worker", "parent", "writer"])
        workers = workers_of(process.pid)
        if who == "writer" and workers:
            until = time.monotonic() + 2
            while not any(trial.folder.glob("runs/*/parts/*/.*.part")) and time.monotonic() < until:
                time.sleep(0.001)
            trial.kill("writer", trial.random.choice([*workers, process.pid]))
        elif who == "worker" and workers:
            trial.kill("worker", trial.random.choice(workers))
        elif who == "parent":
            trial.kill("parent", process.pid)
    process.kill()
    process.wait()


def kill_dask(trial: Trial, kills: int) -> None:
    """Kill schedulers and dask workers."""
    wanted = sum(trial.kills.values()) + kills
    while sum(trial.kills.values()) < wanted and len(trial.stored) < trial.points:
        with _cluster(trial.folder) as (address, processes):
            process = trial.start(address)
            if trial.wait_for_more(process):
                who = trial.random.choice(["scheduler", "dask worker"])
                trial.kill(who, processes[0 if who == "scheduler" else 1].pid)
                if who == "scheduler":
                    _, told = process.communicate(timeout=120)
                    assert process.returncode != 0
                    assert "EngineError" in told, told
            process.kill()
            process.wait()


@contextlib.contextmanager
def _cluster(folder: Path):
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": _environment(folder)}
    processes = [subprocess.Popen([*command, str(file)], **quiet)]
    while not file.exists():
        time.sleep(0.1)
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    for _ in range(2):
        processes.append(subprocess.Popen([*command, "--scheduler-file", str(file)], **quiet))
    try:
        import json

        yield json.loads(file.read_text())["address"], processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}


def main(kills: int) -> None:
    """Kill so many times, a fifth of them on a dask cluster, and print what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), points=90 * kills)
        kill_locally(trial, kills - kills // 5)
        kill_dask(trial, kills // 5)
        print(trial.finish())


if __name__ == "__main__":
    main(int(sys.argv[1]))
