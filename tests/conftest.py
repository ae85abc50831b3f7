"""Shared fixtures."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Tables in tests need no role for every column; tests about the warning ask for it."""
    config.addinivalue_line("filterwarnings", "ignore::kanon_milp.errors.RoleWarning")


@pytest.fixture(scope="session", autouse=True)
def inner_loops_are_compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where tests will need the compiler: compile first, so that no time limit pays for it, and in one worker only."""
    if "numba" not in sys.modules:
        return
    from kanon_milp.methods.warm_up import warm_up

    if "PYTEST_XDIST_WORKER" not in os.environ:
        warm_up(sensitive=False)
        return
    shared = tmp_path_factory.getbasetemp().parent
    try:
        (shared / "compiling").touch(exist_ok=False)
    except FileExistsError:
        ends = time.perf_counter() + 300
        while not (shared / "compiled").exists() and time.perf_counter() < ends:
            time.sleep(0.1)
        return
    try:
        warm_up(sensitive=False)
    finally:
        (shared / "compiled").touch()


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
