"""A Dask cluster of two hosts, made of network namespaces; one of them is killed midway."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from command_line import run
from places import LIBRARY
from polars.testing import assert_frame_equal

from kanon_milp.studies.bench.running import ROWS, RUNS, TIMES, read_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "waitid"), reason="no studies on this system")

NAMES = ("kmbench1", "kmbench2")
STUDY = f"""
time_limit = 20
solvers = ["highs", "scip", "cbc"]
permutations = [0, 1, 2, 3]
[[instances]]
model = "{LIBRARY}/hospital.toml"
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def why_not() -> str:
    if sys.platform != "linux" or shutil.which("ip") is None:
        return "network namespaces need Linux and iproute2"
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        ip("netns", "add", "kmbenchtry")
        ip("netns", "delete", "kmbenchtry")
    except (subprocess.CalledProcessError, OSError):
        return "network namespaces are not allowed here"
    return ""


@contextlib.contextmanager
def two_hosts() -> Iterator[list[str]]:
    """Two namespaces, each with a wire to this one; the addresses of this one on them."""
    for name in NAMES:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)
    try:
        here = []
        for number, name in enumerate(NAMES, 1):
            outside, inside, net = f"{name}o", f"{name}i", 40 + number
            ip("netns", "add", name)
            ip("link", "add", outside, "type", "veth", "peer", "name", inside)
            ip("link", "set", inside, "netns", name)
            ip("address", "add", f"10.98.{net}.1/24", "dev", outside)
            ip("link", "set", outside, "up")
            ip("netns", "exec", name, "ip", "address", "add", f"10.98.{net}.2/24", "dev", inside)
            ip("netns", "exec", name, "ip", "link", "set", inside, "up")
            ip("netns", "exec", name, "ip", "link", "set", "lo", "up")
            ip("netns", "exec", name, "ip", "route", "add", "default", "via", f"10.98.{net}.1")
            here.append(f"10.98.{net}.1")
        yield here
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def wait_until(there: Path, rows: int, process: subprocess.Popen[str]) -> None:
    ends = time.monotonic() + 180
    while len(list((there / ROWS).glob("*.parquet"))) < rows:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends
        time.sleep(0.05)


@pytest.mark.slow
def test_a_host_is_killed_midway(tmp_path: Path) -> None:
    """Its wire is cut first, so that nobody is told; nothing is lost, and no run is twice in the results."""
    if reason := why_not():
        pytest.skip(reason)
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    environment = {
        **os.environ,
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "4 s",
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12 s",
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10 s",
    }
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    started: list[subprocess.Popen[str]] = []

    def start(*command: str) -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(command, env=environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True)
        )  # fmt: skip
        return started[-1]

    with two_hosts() as here:
        try:
            start(*dask, "--host", "0.0.0.0", "--port", "18786", "--no-dashboard")
            workers = []
            for number, name in enumerate(NAMES):
                local = tmp_path / name
                local.mkdir()
                workers.append(
                    start(
                        "ip", "netns", "exec", name, sys.executable, "-m", "distributed.cli.dask_worker",
                        f"tcp://{here[number]}:18786", "--nthreads", "1", "--nworkers", "1", "--no-nanny",
                        "--no-dashboard", "--local-directory", str(local), "--memory-limit", "0",
                    )
                )  # fmt: skip
            time.sleep(5)
            out = tmp_path / "out"
            command = [sys.executable, "-m", "kanon_milp", "bench", str(study), "--out", str(out), "--quiet",
                       "--dask", "tcp://127.0.0.1:18786"]  # fmt: skip
            process = subprocess.Popen(command, text=True, env=environment, stderr=subprocess.PIPE)
            wait_until(out, 4, process)
            busy = read_folder(out)
            ip("link", "set", f"{NAMES[1]}o", "down")
            os.killpg(workers[1].pid, signal.SIGKILL)
            _, said = process.communicate(timeout=300)
            assert process.returncode == 0, said
        finally:
            for each in started:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(each.pid, signal.SIGKILL)
                each.wait()
    found = pl.read_parquet(out / RUNS)
    assert busy.height < 12
    assert found["run"].n_unique() == found.height == 12
    assert set(found["ended"]) == {"finished"}
    alone = tmp_path / "alone"
    assert run("bench", study, "--out", alone, "--quiet").returncode == 0
    assert_frame_equal(found.drop(*TIMES, "git"), pl.read_parquet(alone / RUNS).drop(*TIMES, "git"))
    assert len(list((out / ROWS).iterdir())) == 12
