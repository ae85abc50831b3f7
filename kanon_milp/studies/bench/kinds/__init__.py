"""Kinds of runs: what is measured in the process of a run. Each is one function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A kind of run.

    name: in study files. run: module and name of a function (task, tell) -> Measured, imported in the process of a run
    only. ways: what its `methods` may be beside what it knows else. default: the method where none is named. solver,
    formulation: whether these make a difference. parameters: what a study may set, with their defaults.

    What measures steps instead of solving ends with the stop reason `MEASURED`.
    """

    name: str
    run: str
    ways: tuple[str, ...]
    default: str
    solver: bool = False
    formulation: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "solve",
            "solving.solving",
            ("solver",),
            "solver",
            solver=True,
            formulation=True,
            parameters={"late_seconds": None},
        ),
        Kind(
            "handover",
            "modeling.handover",
            ("ours", "pyomo", "pyomo_appsi", "pyomo_lp", "arrays"),
            "ours",
        ),
        Kind(
            "presolve", "modeling.presolving", ("compress", "group_by", "scan", "candidates", "reduce", "bound"),
            "reduce", parameters={"iterations": 200},
        ),
        Kind("bound", "steps.bounding", ("sizes", "required", "relaxation"), "sizes"),
        Kind("started", "solving.started", ("solver",), "solver", solver=True, parameters={"start_seconds": 10}),
        Kind("anneal", "steps.annealing", ("construct", "anneal"), "anneal", parameters={"bound_seconds": 30}),
    )
}  # fmt: skip
