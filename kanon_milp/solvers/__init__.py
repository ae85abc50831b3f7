"""Solvers, one adapter a file. A new one is its file and a line in `_ADAPTERS`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kanon_milp.errors import InputError
from kanon_milp.solvers.base import (
    Availability,
    Capability,
    LinearModel,
    OnProgress,
    Progress,
    SolverAdapter,
    SolverOptions,
    SolverResult,
    StopReason,
)
from kanon_milp.solvers.cbc import CbcAdapter
from kanon_milp.solvers.cpsat import CpsatAdapter
from kanon_milp.solvers.highs import HighsAdapter
from kanon_milp.solvers.pulp_any import PulpAdapter, solver_names
from kanon_milp.solvers.scip import ScipAdapter
from kanon_milp.solvers.suggestions import PULP, did_you_mean

__all__ = [
    "Availability",
    "Capability",
    "LinearModel",
    "OnProgress",
    "Progress",
    "SolverAdapter",
    "SolverOptions",
    "SolverResult",
    "StopReason",
    "get",
    "names",
]

_ADAPTERS: dict[str, Callable[[], SolverAdapter]] = {
    "highs": HighsAdapter,
    "cbc": CbcAdapter,
    "scip": ScipAdapter,
    "cpsat": CpsatAdapter,
}


def names() -> list[str]:
    """Names that `get` takes: the adapters of this package, then `pulp:NAME` for all that PuLP knows."""
    return [*_ADAPTERS, *(PULP + solver for solver in solver_names())]


def get(name: str, executable: Path | str | None = None) -> SolverAdapter:
    """Return the adapter of that name; `executable` is the path of CBC, for `cbc` only.

    Raises InputError for an unknown name. Whether the solver can be used here is the adapter's
    `availability()`.
    """
    if executable is not None and name != "cbc":
        raise InputError(f"solver {name!r} takes no executable; only 'cbc' does")
    if name == "cbc":
        return CbcAdapter(executable)
    if name in _ADAPTERS:
        return _ADAPTERS[name]()
    known = names()
    if name in known:
        return PulpAdapter(name.removeprefix(PULP))
    hint = did_you_mean(name, list(_ADAPTERS), solver_names())
    raise InputError(f"unknown solver {name!r}{hint}; known are {', '.join(known)}")
