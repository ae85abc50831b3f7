"""Where sub-problems run: here, in processes, on a cluster; with the same answers, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kanon_milp.errors import InputError
from kanon_milp.system.worker_pool import DaskPool, InlinePool, Pool, ProcessPool, open_pool


def check(pool: Pool) -> None:
    futures = [pool.submit(divmod, 17, divisor) for divisor in (2, 3, 4)]
    assert [future.result(timeout=60) for future in futures] == [(8, 1), (5, 2), (4, 1)]
    failed = pool.submit(divmod, 1, 0)
    assert isinstance(failed.exception(timeout=60), ZeroDivisionError)
    assert not pool.lost(failed)  # an error of the task itself


def where(pool: Pool) -> set[int]:
    """The processes that tasks of a pool run in."""
    return {task.result(timeout=60) for task in [pool.submit(os.getpid) for _ in range(4)]}


def test_a_part_of_the_workers_is_given_back_when_the_other_work_is_done() -> None:
    pool = InlinePool()
    pool.workers = 3
    with pool.part(1) as give_back:
        assert pool.workers == 1
        give_back()
        assert pool.workers == 3
    with pool.part(2) as give_back:
        pool.workers = 0  # they were lost
        give_back()
        assert pool.workers == 0
    assert pool.workers == 0


def test_inline_and_processes_give_the_same_answers() -> None:
    with open_pool(1) as here:
        assert isinstance(here, InlinePool)
        check(here)
        assert where(here) == {os.getpid()}
    with open_pool(2) as there:
        assert isinstance(there, ProcessPool)
        check(there)
        processes = there.processes()
        assert where(there) <= set(processes)
    assert len(processes) == 2
    assert not any(Path(f"/proc/{process}").exists() for process in processes)


def test_a_lost_worker_is_told_apart_and_the_rest_runs_here() -> None:
    with ProcessPool(1) as pool:
        slow = pool.submit(time.sleep, 60)
        pool.submit(os.getpid)
        while not slow.running():
            time.sleep(0.05)
        os.kill(pool.processes()[0], signal.SIGKILL)
        assert slow.exception(timeout=30) is not None
        assert pool.lost(slow)
        again = pool.submit(os.getpid)
        again.exception(timeout=30)
        assert pool.lost(again) or again.result() == os.getpid()
        assert pool.submit(os.getpid).result(timeout=30) == os.getpid()
        assert pool.losses() == "1 worker process was lost (SIGKILL); the rest was done in one process"


def test_how_many_workers_were_lost_is_said() -> None:
    with InlinePool() as here:
        assert here.losses() == ""
    with ProcessPool(2) as pool:
        tasks = [pool.submit(time.sleep, 60) for _ in range(2)]
        assert pool.losses() == ""
        while not all(task.running() for task in tasks):
            time.sleep(0.05)
        os.kill(pool.processes()[1], signal.SIGKILL)
        assert all(task.exception(timeout=30) is not None and pool.lost(task) for task in tasks)
        assert pool.losses() == (
            "2 worker processes were lost after one of them ended (SIGKILL); the rest was done in one process"
        )


def test_what_cannot_be_sent_counts_as_lost() -> None:
    with ProcessPool(1) as pool:
        unsendable = pool.submit(lambda: 3)
        unsendable.exception(timeout=60)
        assert pool.lost(unsendable)


@pytest.mark.slow
def test_bad_numbers_and_addresses_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1 worker"):
        ProcessPool(0)
    with pytest.raises(InputError, match="Dask"):
        DaskPool("tcp://127.0.0.1:1")


def test_workers_end_with_the_process_that_began_them(tmp_path: Path) -> None:
    """Also where it is killed and has no time to say so."""
    script = tmp_path / "owner.py"
    script.write_text(
        "import time\n"
        "from kanon_milp.system.worker_pool import ProcessPool\n"
        "if __name__ == '__main__':\n"
        "    pool = ProcessPool(2)\n"
        "    pool.submit(max, 1, 2).result()\n"
        "    print(*pool.processes(), flush=True)\n"
        "    time.sleep(60)\n"
    )
    owner = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    found = [int(each) for each in owner.stdout.readline().split()]
    assert len(found) == 2
    owner.kill()
    owner.wait()
    ends = time.perf_counter() + 20
    while any(Path(f"/proc/{each}").exists() for each in found):
        assert time.perf_counter() < ends
        time.sleep(0.1)
