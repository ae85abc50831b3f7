"""Where sub-problems are solved: in this process, in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import concurrent.futures as cf
import contextlib
import importlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from typing import Any, ParamSpec, Self, TypeVar, cast

from kanon_milp.errors import InputError
from kanon_milp.system.processes import refuse_unguarded_script

_CONNECT_SECONDS = 10.0
_END_SECONDS = 2.0  # for processes that have been told to end
_POLL = 0.01  # seconds between two looks at them
# of Dask for workers that have died, and of tasks that could not be sent; an error of these kinds that is the task's
# own comes up again where it runs next
_LOST = frozenset(
    [
        "KilledWorker",
        "CommClosedError",
        "ClosedClientError",
        "FutureCancelledError",
        "PicklingError",
        "AttributeError",
        "TypeError",
    ]
)

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Pool(ABC):
    """Functions go in, futures come out. A context manager: nothing of it is left running afterwards.

    workers: how many functions run at the same time beside this process; 0 if `submit` runs them itself.
    """

    workers: int

    @abstractmethod
    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> cf.Future[R]:
        """Run a function of a module on picklable arguments.

        A worker that dies gives futures that raise BrokenExecutor or CancelledError.
        """

    def shared(self, value: T) -> T:
        """What stands for a value among the arguments of tasks: itself, or what is sent to each worker once."""
        return value

    def each(self, function: Callable[..., R], shared: object, parts: Sequence[tuple[Any, ...]]) -> list[R]:
        """What a function of a module says of `shared`, as of this pool, and of each of these parts, in their order: on
        threads, since kernels let go of the interpreter."""
        with cf.ThreadPoolExecutor(max(self.workers, 1)) as executor:
            return list(executor.map(lambda part: function(shared, *part), parts))

    def lost(self, future: cf.Future[R]) -> bool:
        """Whether a finished future has no result because its worker is gone, or the task could not be sent to it."""
        error = None if future.cancelled() else future.exception()
        return future.cancelled() or isinstance(error, cf.BrokenExecutor) or type(error).__name__ in _LOST

    @contextlib.contextmanager
    def part(self, workers: int) -> Iterator[Callable[[], None]]:
        """Within the block there are no more than so many workers, since this process has something else to do; until
        what is yielded is called, when it has done that."""
        whole = self.workers

        def give_back() -> None:
            self.workers = whole if self.workers else 0  # unless they were lost

        self.workers = min(whole, workers)
        try:
            yield give_back
        finally:
            give_back()

    def losses(self) -> str:
        """How many workers are gone that should be there, in words; empty if none is. To be asked before `close`."""
        return ""

    @abstractmethod
    def close(self) -> None:
        """Stop all workers, whatever they are at."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class InlinePool(Pool):
    """Run everything at once, in this process and in the order of submission: the same result each time."""

    workers = 0

    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> cf.Future[R]:
        """Run it; the future is done."""
        future: cf.Future[R] = cf.Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        """Nothing is left running."""


class ProcessPool(Pool):
    """Processes of this machine. If one of them dies, everything that is submitted from then on runs inline.

    Each is a fresh interpreter ("spawn"): threads of solvers and data frames do not survive a fork. So a script that
    uses it needs the usual `if __name__ == "__main__":`.
    """

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise InputError(f"a pool of processes needs at least 1 worker, not {workers}")
        refuse_unguarded_script()
        self.workers = workers
        self._seen: dict[int, BaseProcess] = {}
        self._executor = cf.ProcessPoolExecutor(
            workers, mp_context=multiprocessing.get_context("spawn"), initializer=_begin_worker
        )
        # importing takes a second or two: let it pass while the caller has other things to do; processes that begin
        # while Ctrl-C is ignored ignore it from their first moment
        here = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN) if here else None
        try:
            for _ in range(workers):
                self._executor.submit(os.getpid)
        finally:
            if here:
                signal.signal(signal.SIGINT, before)

    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> cf.Future[R]:
        """Run it in a process, or here if one has died."""
        if self.workers:
            try:
                return self._executor.submit(function, *args, **kwargs)
            except cf.BrokenExecutor:
                self.workers = 0
        return InlinePool().submit(function, *args, **kwargs)

    def lost(self, future: cf.Future[R]) -> bool:
        """As for every pool; with one process all of them are gone."""
        if not future.cancelled() and isinstance(future.exception(), cf.BrokenExecutor):
            self.workers = 0
        return super().lost(future)

    def processes(self) -> list[int]:
        """Process ids of the workers."""
        return [process.pid for process in self._started if process.pid is not None]

    def losses(self) -> str:
        """All of them, since the executor ends the others when one dies; what that died of is said if known."""
        if self.workers:
            return ""
        processes, ends = self._started, time.monotonic() + _END_SECONDS
        # joining is no help: a moment after the executor has seen the end of a process, nobody knows its exit code yet
        while any(process.exitcode is None for process in processes) and time.monotonic() < ends:
            time.sleep(_POLL)
        codes = [process.exitcode for process in processes]
        # the others were ended by SIGTERM
        first = next((code for code in codes if code not in (None, 0, -signal.SIGTERM)), None)
        cause = "" if first is None else f" ({_cause(first)})"
        one = "1 worker process was lost"
        many = f"{len(codes)} worker processes were lost after one of them ended"
        return f"{one if len(codes) == 1 else many}{cause}; the rest was done in one process"

    def close(self) -> None:
        """End the processes at once; what they are at is given up."""
        running = self._started
        self._executor.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.kill()
        for process in running:
            process.join()

    @property
    def _started(self) -> list[BaseProcess]:
        """All processes that there are or were; some may begin after the first few."""
        self._seen.update(self._executor._processes or {})
        return list(self._seen.values())


@dataclass(eq=False)
class _Sent:
    """A value, and what stands for it on a cluster once it is there: a copy for each worker, which Dask keeps, as it
    keeps no more than one of what has copies."""

    value: Any
    copies: list[Any] = field(default_factory=list)


class DaskPool(Pool):
    """The workers of a Dask cluster, which must have this package; needs `distributed`."""

    def __init__(self, address: str) -> None:
        import asyncio  # slow to import

        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError as error:
            raise InputError("a Dask cluster needs the package distributed; pip install distributed") from error
        try:
            # asked first, since a client that finds nobody goes on trying and complaining in the background, and waits
            # for ever for somebody who says nothing; in a thread of its own, since this one may have an event loop
            with cf.ThreadPoolExecutor(1) as other:
                other.submit(asyncio.run, _greet(address)).result()
            self._client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(f"no Dask scheduler answers at {address}") from error
        self._nodes = self._client.nthreads()
        self.workers = max(1, sum(self._nodes.values()))
        self._executor: cf.Executor = self._client.get_executor(pure=False)

    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> cf.Future[R]:
        """Run it somewhere on the cluster, or here if that is gone."""
        submitted: Any = function
        if self.workers:
            try:
                return self._executor.submit(submitted, *map(self._there, args), **kwargs)
            except Exception:  # of many kinds, where the scheduler is gone
                self.workers = 0
        return InlinePool().submit(submitted, *map(_here, args), **kwargs)

    def shared(self, value: T) -> T:
        """Sent with the first task that has it, to all workers; again if all of these are lost."""
        return cast(T, _Sent(value))

    def _there(self, argument: object) -> object:
        if not isinstance(argument, _Sent):
            return argument
        copies = [each for each in argument.copies if each.status in ("pending", "finished")]
        if not copies:
            for address in self._client.nthreads():
                with contextlib.suppress(Exception):  # of many kinds, where a worker is lost just now
                    copies += self._client.scatter([argument.value], workers=[address], hash=False)
        argument.copies = copies[1:] + copies[:1]
        return argument.copies[-1]

    def each(self, function: Callable[..., R], shared: object, parts: Sequence[tuple[Any, ...]]) -> list[R]:
        """Workers begin with the first part, this process with the last: a worker that is lost costs no more than its
        task, and neither does a slow one."""
        tasks, here = [self.submit(function, shared, *part) for part in parts], dict[int, R]()
        for at in reversed(range(len(parts))):
            if not tasks[at].done() or self.lost(tasks[at]):
                tasks[at].cancel()
                here[at] = function(_here(shared), *parts[at])
        return [here[at] if at in here else task.result() for at, task in enumerate(tasks)]

    def losses(self) -> str:
        """Workers that were there at the beginning, or all of the cluster."""
        try:
            here = self._client.nthreads() if self.workers else {}
        except Exception:  # of many kinds, where the scheduler is gone
            here = {}
        if not here:
            return "the Dask cluster was lost; the rest was done in one process"
        gone = sum(address not in here for address in self._nodes)
        return f"{gone} of {len(self._nodes)} workers of the Dask cluster were lost" if gone else ""

    def close(self) -> None:
        """Leave the cluster, if it is still there."""
        for leave in (lambda: self._executor.shutdown(wait=False), self._client.close):
            with contextlib.suppress(Exception):
                leave()


def _here(argument: Any) -> Any:
    """What stands for an argument in this process."""
    return argument.value if isinstance(argument, _Sent) else argument


async def _greet(address: str) -> None:
    """Connect to a Dask scheduler, and leave again. Raises OSError or ValueError."""
    import asyncio  # slow to import

    connect: Any = importlib.import_module("distributed.comm").connect
    comm = await asyncio.wait_for(connect(address, timeout=_CONNECT_SECONDS), _CONNECT_SECONDS)
    await comm.close()


def open_pool(threads: int, dask: str | None = None) -> Pool:
    """The workers of a Dask cluster at this address, else as many processes as threads, or none for one thread."""
    if dask is not None:
        return DaskPool(dask)
    return ProcessPool(threads) if threads > 1 else InlinePool()


def _cause(code: int) -> str:
    """What the exit code of a process says: its own, or which signal ended it."""
    try:
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"
    except ValueError:
        return f"signal {-code}"


def _begin_worker() -> None:
    """Leave Ctrl-C to the main process, and end when that is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if "fork" in multiprocessing.get_all_start_methods():
        # no process begins here; locks of other packages have no name then, which would be left behind by a kill
        multiprocessing.set_start_method("fork", force=True)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)
