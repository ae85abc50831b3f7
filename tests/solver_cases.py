"""What the tests of solver adapters share: the adapters, and models that no solver finishes."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
import pytest
import scipy.sparse as sp
from present import present

from kanon_milp import solvers
from kanon_milp.solvers import Capability, LinearModel, SolverAdapter, SolverOptions
from kanon_milp.solvers import cbc as cbc_module
from kanon_milp.system.arrays import Floats

INF = float("inf")
# PuLP's way to SCIP holds Python's lock while it solves (no progress, no Ctrl-C) and takes a gap limit for an optimum;
# the adapter `scip` is there instead; GLPK gets no gaps from PuLP, so its word is no proof of anything
LEFT_OUT = ("pulp:SCIP_PY", "pulp:GLPK_CMD")


def all_adapters() -> dict[str, SolverAdapter]:
    """The adapters of this package, those of PuLP that are available here, and both executables of CBC."""
    found = {name: solvers.get(name) for name in solvers.names() if name not in LEFT_OUT}
    for label, path in (("pulp", cbc_module._in_pulp()), ("cbcbox", cbc_module._in_cbcbox())):
        found[f"cbc of {label}"] = solvers.get("cbc", executable=path or "no such executable")
    # the one that is found without a path is one of these, as a rule
    if found["cbc"].location() in (found["cbc of pulp"].location(), found["cbc of cbcbox"].location()):
        del found["cbc"]
    return {name: adapter for name, adapter in found.items() if not name.startswith("pulp:") or adapter.availability()}


ADAPTERS = all_adapters()


def among(*names: str) -> pytest.MarkDecorator:
    """Run a test with each of these adapters; those that are not installed are skipped and say so."""
    found = []
    for name in names:
        here = ADAPTERS[name].availability()
        skip = pytest.mark.skipif(not here, reason=f"{name}: {here.value}")
        found.append(pytest.param(ADAPTERS[name], id=name, marks=skip))
    return pytest.mark.parametrize("adapter", found)


def _again() -> set[str]:
    """Adapters that run a solver as another one does: of CBC the default run has one, and PuLP's way to its own."""
    kinds = [name for name in ADAPTERS if name.startswith("cbc") and ADAPTERS[name].availability()]
    return {*kinds[1:], *(["pulp:COIN_CMD", "pulp:HiGHS"] if "pulp:PULP_CBC_CMD" in ADAPTERS else [])}


AGAIN = _again()


def _marks(name: str) -> list[pytest.MarkDecorator]:
    here = ADAPTERS[name].availability()
    skip = pytest.mark.skipif(not here, reason=f"{name}: {here.value}")
    return [skip, pytest.mark.slow] if name in AGAIN else [skip]


# all of them: `pytest -m "slow or not slow"`
each_adapter = pytest.mark.parametrize(
    "adapter", [pytest.param(adapter, id=name, marks=_marks(name)) for name, adapter in ADAPTERS.items()]
)


def each_adapter_with(argument: str, values: Mapping[str, object], share: int) -> pytest.MarkDecorator:
    """Each adapter with each value; the default run has each of them, and one pair of `share`."""
    found, number = [], 0
    for name, adapter in ADAPTERS.items():
        for j, (label, value) in enumerate(values.items()):
            marks = _marks(name) + ([pytest.mark.slow] if (number + j) % share else [])
            found.append(pytest.param(adapter, value, id=f"{label}-{name}", marks=marks))
        number += name not in AGAIN
    return pytest.mark.parametrize(("adapter", argument), found)


def needs(adapter: SolverAdapter, capability: Capability) -> None:
    """Skip the test for an adapter that does not declare this."""
    if capability not in adapter.capabilities:
        pytest.skip(f"{adapter.name} does not declare: {capability.value}")


@functools.cache
def market_split(rows: int = 6, columns: int = 50, slack: bool = True) -> LinearModel:
    """Cornuéjols-Dawande market split, hopeless for branch and bound; with slack, points abound."""
    random = np.random.default_rng(0)
    weights = random.integers(0, 100, (rows, columns)).astype(float)
    half = np.floor(weights.sum(axis=1) / 2)
    parts = [weights, np.eye(rows), -np.eye(rows)] if slack else [weights]
    A = sp.csr_array(np.hstack(parts))
    extra = A.shape[1] - columns
    return LinearModel(
        name="market split",
        c=np.r_[np.zeros(columns) if slack else np.ones(columns), np.ones(extra)],
        offset=1000.0,
        A=A,
        constraint_lower=half,
        constraint_upper=half,
        lower=np.zeros(A.shape[1]),
        upper=np.r_[np.ones(columns), np.full(extra, 100.0 * columns)],
        integer=np.r_[np.ones(columns, dtype=bool), np.zeros(extra, dtype=bool)],
        variable_names=tuple(f"x{j}" for j in range(A.shape[1])),
        constraint_names=tuple(f"r{i}" for i in range(rows)),
        integral=True,  # what is missing to a half is a difference of weights
    )


def random_start() -> Floats:
    """A feasible point of the market split: any choice, and the slack that it needs."""
    model = market_split()
    chosen = np.random.default_rng(5).integers(0, 2, 50).astype(float)
    short: Floats = model.constraint_lower - model.A[:, :50] @ chosen
    return np.concatenate([chosen, np.maximum(short, 0), np.maximum(-short, 0)])


@functools.cache
def good_start() -> Floats:
    """A point that solvers do not find in half a second."""
    return present(ADAPTERS["highs"].solve(market_split(), SolverOptions(time_limit=2, seed=1)).x)
