"""Where points and claims are run: processes of this machine, a dask cluster, or any executor of `concurrent.futures`."""

import contextlib
import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from . import worker

POLL = 0.05  # seconds between two looks at jobs that do not tell when they are done
JOBS = 32  # of a scheduler, at a time
T = TypeVar("T")
Given = TypeVar("Given", covariant=True)


class Engine(NamedTuple):
    """An executor, how many tasks to keep at it, and whether its workers are on this machine with this source."""

    executor: Executor
    slots: int
    near: bool
    words: str


class Lost(NamedTuple):
    """A task whose worker is gone: nothing is known of it but this."""

    reason: str


class EngineError(RuntimeError):
    """The engine itself is gone, not one of its workers."""


class Source(Protocol[Given]):
    """Where tasks come from, one after the other; None when there is none at the moment."""

    def take(self) -> Given | None:
        """The next task."""
        ...


class Here(Executor):
    """Runs each task in this process, when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Run a task now."""
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Processes(Executor):
    """Processes of this machine, spawned because a forked JAX hangs; a dead one is replaced, and one task lost."""

    def __init__(self, workers: int, devices: int = 0) -> None:
        self.threads = max(1, cores() // workers)
        self.others = multiprocessing.active_children()
        self.freed = threading.Condition()
        self.idle = deque(self._pool(place % devices if devices else None) for place in range(workers))
        self.running: set[ProcessPoolExecutor] = set()
        self.closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Run a task in a process that is idle, or is about to be."""
        with self.freed:
            self.freed.wait_for(lambda: self.idle)  # a task is known to be done a moment before its process is free
            device, pool = self.idle.popleft()
            self.running.add(pool)
        with _without_main():
            try:
                future = pool.submit(fn, *args, **kwargs)
            except BrokenExecutor:  # it died while it had nothing to do
                broken, (device, pool) = pool, self._pool(device)
                with self.freed:
                    self.running ^= {broken, pool}
                future = pool.submit(fn, *args, **kwargs)
        future.add_done_callback(lambda done: self._back(device, pool, done))
        return future

    def _back(self, device: int | None, pool: ProcessPoolExecutor, done: Future) -> None:
        broken = not done.cancelled() and isinstance(done.exception(), BrokenExecutor)
        with self.freed:
            if self.closed:  # the pool is being ended, and no other is wanted
                return
            self.running.discard(pool)
            self.idle.append(self._pool(device) if broken else (device, pool))
            self.freed.notify()

    def _pool(self, device: int | None) -> tuple[int | None, ProcessPoolExecutor]:
        # A pool of one process for each worker: the death of a process breaks its pool, and so only its own task.
        context = multiprocessing.get_context("spawn")
        return device, ProcessPoolExecutor(1, context, initializer=worker.settle, initargs=(self.threads, device))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes: idle ones in their own time, those with a task, after an interruption, at once."""
        with self.freed:  # a task is known to be done a moment before its process is free
            self.closed = True
        for _, pool in self.idle:
            pool.shutdown()
        for pool in self.running:
            pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            if process not in self.others:
                process.terminate()


class Polled(Executor):
    """An executor whose jobs are no futures, such as submitit's: a thread asks them whether they are done."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.jobs: dict[Future, Any] = {}
        self.closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Hand a task over."""
        future: Future = Future()
        self.jobs[future] = self.given.submit(fn, *args, **kwargs)
        return future

    def _watch(self) -> None:
        while not self.closed.wait(POLL):
            for future, job in list(self.jobs.items()):
                try:
                    if job.done():
                        future.set_result(job.result())
                except Exception as error:  # of the job or of the machinery around it: for the one who asked
                    future.set_exception(error)
                if future.done():
                    del self.jobs[future]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop asking, and take back what is under way; the executor itself is its owner's."""
        self.closed.set()
        for job in list(self.jobs.values()):  # the thread may still take one out
            if hasattr(job, "cancel"):
                job.cancel()


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """A spawned process runs the user's script once more, which would sweep again, unless it does not know of it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def engine(given: Any, workers: int | None = None, *, whole_device: bool = False) -> Iterator[Engine]:
    """Open an engine.

    Args:
        given: "local" for processes of this machine; the address of a dask scheduler, such as "tcp://10.0.0.1:8786"; a
            dask client or cluster; an executor of `concurrent.futures`, or one of submitit, which is left open.
        workers: How many processes or tasks at a time (default: one for each GPU or core, or dask's own number).
        whole_device: Whether one task fills a device: then one process for each GPU, or this process alone.
    """
    if isinstance(given, str) and given == "local":
        gpus = len(list(Path("/dev").glob("nvidia[0-9]*")))
        count = workers or (max(1, gpus) if whole_device or gpus else cores())
        here = workers is None and whole_device and gpus <= 1
        executor = Here() if here or workers == 1 else Processes(count, gpus)
        words = "this process" if isinstance(executor, Here) else f"{count} processes of this machine"
        with _closing(executor):
            yield Engine(executor, count, True, words)
    elif isinstance(given, Executor):
        count = workers or getattr(given, "_max_workers", None) or cores()
        yield Engine(given, count, False, type(given).__name__)
    elif isinstance(given, str) or hasattr(given, "scheduler_address") or hasattr(given, "get_executor"):
        yield from _dask(given, workers)
    elif callable(getattr(given, "submit", None)):
        with _closing(Polled(given)) as executor:
            yield Engine(executor, workers or JOBS, False, type(given).__name__)
    else:
        raise ValueError(
            'engine must be "local", the address of a dask scheduler such as "tcp://10.0.0.1:8786", a dask client or '
            f"cluster, or an executor of concurrent.futures or submitit; got {given!r}"
        )


def _dask(given: Any, workers: int | None) -> Iterator[Engine]:
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            f"engine must be one that is installed; {given!r} needs dask: pip install 'lineament[dask]'"
        ) from None
    if isinstance(given, str) and "://" not in given:
        raise ValueError(f'engine must be "local" or an address such as "tcp://10.0.0.1:8786"; got {given!r}')
    own = not hasattr(given, "get_executor")  # a client has it, a cluster and an address do not
    try:
        client: Any = Client(given, timeout=10) if own else given
    except OSError as error:
        raise EngineError(f"no dask scheduler answers at {given}: {error}") from error
    try:
        threads = sum(client.nthreads().values()) or 1
        # Twice as many tasks as workers, so that none waits for the next to arrive.
        yield Engine(client.get_executor(pure=False), workers or 2 * threads, False, f"dask, {threads} threads")
    finally:
        if own:
            with contextlib.suppress(Exception):  # a scheduler that is gone cannot be taken leave of
                client.close(timeout=2)


@contextlib.contextmanager
def _closing(executor: Executor) -> Iterator[Executor]:
    try:
        yield executor
    finally:
        executor.shutdown()


class Drive(Generic[T]):
    """Keeps an engine busy: tasks from a source, outcomes as they come, lost workers told apart."""

    def __init__(self, on: Engine, function: Callable[[T], Any], source: Source[T]) -> None:
        self.on, self.function, self.source = on, function, source
        self.running: dict[Future, T] = {}

    def __iter__(self) -> Iterator[tuple[T, Any]]:
        """Each task with what the function gave, or `Lost`; the source may be added to in between."""
        while True:
            while len(self.running) < self.on.slots and (task := self.source.take()) is not None:
                self.running[self._submit(task)] = task
                if isinstance(self.on.executor, Here):
                    break  # it has run already: tell of it before the next
            if not self.running:
                return
            for future in wait(self.running, timeout=1.0, return_when=FIRST_COMPLETED).done:
                yield self.running.pop(future), self._outcome(future)

    def _submit(self, task: T) -> Future:
        try:
            return self.on.executor.submit(self.function, task)
        except (RuntimeError, BrokenExecutor) as error:
            raise EngineError(f"the engine ({self.on.words}) takes no more tasks: {error}") from error

    def _outcome(self, future: Future) -> Any:
        try:
            return future.result()
        except KeyboardInterrupt:
            raise
        except BrokenExecutor:
            if not isinstance(self.on.executor, Processes):
                raise EngineError(f"the engine ({self.on.words}) broke: a process of it died") from None
            return Lost("its process died, perhaps for want of memory")
        except BaseException as error:  # the functions that are driven tell their own errors: this is the engine's
            if type(error).__name__ in ("CancelledError", "FutureCancelledError", "CommClosedError"):
                raise EngineError(f"the engine ({self.on.words}) is gone: {error}") from error
            return Lost(f"{type(error).__name__}: {error}".splitlines()[0])


def cores() -> int:
    """How many cores this process may use; a cluster often lends fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
