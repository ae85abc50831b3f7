"""Shared fixtures."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

pytest_plugins = ["database_cases"]  # which has fixtures


def pytest_configure(config: pytest.Config) -> None:
    """Tables in tests need no role for every column; tests about the warning ask for it."""
    gc.disable()  # until all tests have been imported
    config.addinivalue_line("filterwarnings", "ignore::kanon_milp.errors.RoleWarning")
    config.addinivalue_line("filterwarnings", "ignore::kanon_milp.errors.FileWarning")
    # compiling all modules takes a third of a process that tests start, and rewriting assertions half of the collection
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # processes that tests start use the same files as the tests, not a copy whose inner loops are not compiled yet
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A worker that has no tests left takes half of those that another one has left: both end at the same time."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


def pytest_collection_finish() -> None:
    """What has been imported stays: the garbage collector need not look through it, nor for the rest so often."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def inner_loops_are_compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where tests will need the compiler: compile first, so that no time limit pays for it; workers share the work."""
    if "numba" not in sys.modules:
        return
    from kanon_milp.methods.warm_up import PARTS, compile_part, longest_first, warm_up

    if "PYTEST_XDIST_WORKER" not in os.environ:
        warm_up(sensitive=False)
        return
    shared = tmp_path_factory.getbasetemp().parent
    for part in longest_first(PARTS):
        try:
            (shared / f"compiling-{part}").touch(exist_ok=False)
        except FileExistsError:  # another worker is at it
            continue
        try:
            compile_part(part)
        finally:
            (shared / f"compiled-{part}").touch()
    ends = time.perf_counter() + 300
    while not all((shared / f"compiled-{part}").exists() for part in PARTS) and time.perf_counter() < ends:
        time.sleep(0.1)


@pytest.fixture(scope="module", autouse=True)
def registered_solvers_are_forgotten() -> Iterator[None]:
    """Solvers that lie or hang do not outlive the test module that registers them: the next one may ask them all."""
    from kanon_milp.solvers import registry
    from kanon_milp.studies.bench import study

    before, loaded = dict(registry.SOLVERS), set(study._loaded)
    yield
    registry.SOLVERS.clear()
    registry.SOLVERS.update(before)
    study._loaded.intersection_update(loaded)


@pytest.fixture
def data_folder() -> Path:
    """The folder with the real tables; tests that need it are skipped where it is not set."""
    folder = os.environ.get("KANON_MILP_DATA")
    if not folder:
        pytest.skip("KANON_MILP_DATA is not set")
    return Path(folder)


@pytest.fixture
def models() -> Path:
    """The model library."""
    return Path(__file__).parent.parent / "models"
