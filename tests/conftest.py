"""Shared fixtures."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from effort import THOROUGH, examples
from hypothesis import HealthCheck, settings
from places import ROOT

if TYPE_CHECKING:
    from kanon_milp.system.extras import Plugins

pytest_plugins = ["database_cases"]  # which has fixtures


def pytest_configure(config: pytest.Config) -> None:
    """Tables in tests need no role for every column; tests about the warning ask for it."""
    # where a test does not say how many; problems are large examples, and a busy machine may take long for one. The
    # same ones each time, so that what passes once passes everywhere; others in the thorough runs, which look for what
    # nobody has thought of
    settings.register_profile(
        "tests",
        max_examples=examples(100, 20),
        deadline=None,
        derandomize=not THOROUGH,
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("tests")
    gc.disable()  # until all tests have been imported
    config.addinivalue_line("filterwarnings", "ignore::kanon_milp.errors.RoleWarning")
    config.addinivalue_line("filterwarnings", "ignore::kanon_milp.errors.FileWarning")
    # compiling all modules takes a third of a process that tests start, and rewriting assertions half of the collection
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # processes that tests start use the same files as the tests, not a copy whose inner loops are not compiled yet
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test of four parameters or more the default run has the first and then one in eight, the full one all.

    Kernels are tested once more for each of their builds, by the default run alone, and keep all of theirs. Slow tests
    are for neither.
    """
    by_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        if "kernels" not in item.path.parts and not any(map(item.get_closest_marker, ("full", "slow"))):
            by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for several in by_test.values():
        for number, item in enumerate(several):
            if len(several) >= 4 and number % 8:
                item.add_marker(pytest.mark.full)


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


@pytest.fixture(scope="module", autouse=True)
def what_is_registered_is_forgotten() -> Iterator[None]:
    """Solvers that lie, reductions, bounds do not outlive the test module that registers them."""
    from kanon_milp.bounds import BOUNDS
    from kanon_milp.formulations import FORMULATIONS
    from kanon_milp.methods.phases import REGISTERED
    from kanon_milp.methods.registry import METHODS
    from kanon_milp.presolve.own_reductions import OWN
    from kanon_milp.problem.group_costs import GROUP_COSTS
    from kanon_milp.solvers.registry import SOLVERS
    from kanon_milp.studies.bench import study

    everything: list[Plugins[Any]] = [BOUNDS, FORMULATIONS, REGISTERED, METHODS, OWN, GROUP_COSTS, SOLVERS]
    before, loaded = [dict(each) for each in everything], set(study._loaded)
    yield
    for each, known in zip(everything, before, strict=True):
        each.clear()
        each.update(known)
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
