"""The hosts that run a study: this one by default, or a Dask cluster."""

from __future__ import annotations

import contextlib
import functools
import importlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.studies.bench import supervisor

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

CONNECT_SECONDS = 20.0
SLOT_POLL = 0.1  # seconds between two looks for a free place on a host
MISSING = 'dask.distributed is missing; install it with `pip install "kanon-milp[bench]"`'


@contextlib.contextmanager
def open_client(address: str | None, parallel: int) -> Iterator[Any]:
    """A Dask client: of the scheduler at that address, or of one in this process with so many runs at a time.

    Raises InputError where there is no such scheduler, or Dask is not installed.
    """
    try:
        distributed = importlib.import_module("distributed")
        dask = importlib.import_module("dask")
    except ImportError:
        raise InputError(MISSING) from None
    settings = {
        "distributed.scheduler.allowed-failures": 3,  # hosts that may be lost under one run
        "distributed.scheduler.work-stealing": True,
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": False,
        "distributed.admin.tick.limit": "1h",
    }
    with dask.config.set(settings), contextlib.ExitStack() as closing:
        if address is None:
            # its scratch space would stay in the current directory
            scratch = closing.enter_context(
                tempfile.TemporaryDirectory(prefix="kanon-milp-", ignore_cleanup_errors=True)
            )
            cluster = distributed.LocalCluster(
                local_directory=scratch,
                n_workers=1,
                threads_per_worker=parallel,
                processes=False,
                dashboard_address="127.0.0.1:0",  # nothing of it is seen from other hosts
                worker_dashboard_address="127.0.0.1:0",
                memory_limit=0,
                silence_logs=50,
            )
            closing.callback(_quietly, cluster.close)
            client = distributed.Client(cluster)
        else:
            try:
                client = distributed.Client(address, timeout=CONNECT_SECONDS)
            except (OSError, ValueError, TimeoutError) as error:
                raise InputError(f"no Dask scheduler answers at {address}") from error
        closing.callback(_quietly, client.close)
        yield client


def run_all(
    client: Any,
    tasks: Sequence[Mapping[str, Any]],
    *,
    token: str,
    parallel: int,
    on_row: Callable[[dict[str, Any]], None],
) -> None:
    """Run all tasks on the cluster and hand each row to `on_row`, in this thread, as it comes.

    A run whose host is lost is run again on another; where three hosts were lost under it, its row says so. token: of
    the study. On any exception, such as Ctrl-C, all that runs is killed.
    """
    distributed = importlib.import_module("distributed")
    futures = {
        client.submit(_on_host, dict(task), token, parallel, key=f"{task['run']}-{token}", pure=False): task
        for task in tasks
    }
    try:
        for future in distributed.as_completed(list(futures)):
            error = future.exception()
            on_row(future.result() if error is None else _lost(futures[future], error))
            future.release()
    except BaseException:
        _quietly(functools.partial(client.cancel, list(futures), force=True))
        supervisor.stop(token)
        _quietly(functools.partial(client.run, supervisor.stop, token))
        raise
    finally:
        _quietly(functools.partial(client.run, _clean, token))


def _lost(task: Mapping[str, Any], error: BaseException) -> dict[str, Any]:
    """The row of a run that no host has brought to an end."""
    said = "the host was lost each time" if type(error).__name__ == "KilledWorker" else type(error).__name__
    return {**supervisor.row_of(task), "ended": "crashed", "message": f"no host could run it: {said}"}


def _on_host(task: dict[str, Any], token: str, parallel: int) -> dict[str, Any]:
    """Run a task in a worker: no more than so many at a time on its host, however many workers that has."""
    with _place(parallel, token):
        return supervisor.supervise(task, token)


@contextlib.contextmanager
def _place(parallel: int, token: str) -> Iterator[None]:
    """One of the places of this host, which is freed also where its holder is killed."""
    if fcntl is None:
        with _places(parallel):
            yield
        return
    folder = _folder(token)
    folder.mkdir(mode=0o700, exist_ok=True)
    while True:
        for number in range(parallel):
            file = (folder / f"{_address()}-{number}").open("w")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                continue
            try:
                yield
            finally:
                file.close()
            return
        if supervisor.is_stopped(token):
            raise supervisor.StoppedError
        time.sleep(SLOT_POLL)


def _folder(token: str) -> Path:
    return Path(tempfile.gettempdir()) / f"kanon-milp-bench-{token}"


def _clean(token: str) -> None:
    shutil.rmtree(_folder(token), ignore_errors=True)


@functools.cache
def _places(parallel: int) -> threading.Semaphore:
    return threading.Semaphore(parallel)


def _address() -> str:
    """The worker's own address, which tells hosts apart that share a name and a file system."""
    distributed = importlib.import_module("distributed")
    try:
        address = str(distributed.get_worker().address)
    except ValueError:  # not in a worker
        return "here"
    host = address.rpartition(":")[0].rpartition("/")[2]
    return "".join(each if each.isalnum() else "_" for each in host) or "here"


def _quietly(act: Callable[[], object]) -> None:
    """At the end, whatever becomes of it."""
    with contextlib.suppress(Exception):
        act()
