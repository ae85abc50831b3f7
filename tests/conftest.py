"""Shared fixtures."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import ROOT

pytest_plugins = ["database_cases"]  # which has fixtures


def pytest_configure(config: pytest.Config) -> None:
    """Tables in tests need no role for every column; tests about the warning ask for it."""
    config.addinivalue_line("filterwarnings", "ignore::kanon_milp.errors.RoleWarning")
    # processes that tests start use the same files as the tests, not a copy whose inner loops are not compiled yet
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


@pytest.fixture(scope="session", autouse=True)
def inner_loops_are_compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where tests will need the compiler: compile first, so that no time limit pays for it; workers share the work."""
    if "numba" not in sys.modules:
        return
    from kanon_milp.methods.warm_up import warm_up

    if "PYTEST_XDIST_WORKER" not in os.environ:
        warm_up(sensitive=False)
        return
    shared = tmp_path_factory.getbasetemp().parent
    parts = {"most": lambda: warm_up(sensitive=False), "rest": compile_the_rest}
    for name, part in parts.items():
        try:
            (shared / f"compiling-{name}").touch(exist_ok=False)
        except FileExistsError:  # another worker is at it
            continue
        try:
            part()
        finally:
            (shared / f"compiled-{name}").touch()
    ends = time.perf_counter() + 300
    while not all((shared / f"compiled-{name}").exists() for name in parts) and time.perf_counter() < ends:
        time.sleep(0.1)


def compile_the_rest() -> None:
    """What `warm_up` leaves out or comes to last: bounds under requirements, and rank-1 cuts."""
    import polars as pl

    import kanon_milp as km
    from kanon_milp.bounds import BoundLimit, lagrangian
    from kanon_milp.bounds.columns import raise_bound, relax_and_cut
    from kanon_milp.bounds.required import proven_required, required_bound
    from kanon_milp.presolve.instance import prepare

    frame = pl.DataFrame(
        [(str(i % 3), str(i % 5), str(i % 7), str(i % 4)) for i in range(200)], schema=list("abcs"), orient="row"
    )
    instance = prepare(km.Problem(km.Table.from_frame(frame, list("abc")), km.KAnonymity(3)))
    dual = relax_and_cut(instance, lagrangian(instance, iterations=100), BoundLimit(rounds=1))
    raise_bound(instance, dual, None, BoundLimit(rounds=2))
    required = prepare(km.Problem(km.Table.from_frame(frame, list("abc"), "s"), km.PSensitivity(2)))
    proven_required(required, required_bound(required, iterations=20))


@pytest.fixture(scope="module", autouse=True)
def registered_solvers_are_forgotten() -> Iterator[None]:
    """Solvers that lie or hang do not outlive the test module that registers them: the next one may ask them all."""
    from kanon_milp.bench import plugins
    from kanon_milp.solvers import registry

    before, loaded = dict(registry._registered), set(plugins._loaded)
    yield
    registry._registered.clear()
    registry._registered.update(before)
    plugins._loaded.intersection_update(loaded)


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
