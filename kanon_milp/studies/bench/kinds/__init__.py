"""Kinds of runs, each one function: what is measured in the process of a run, and how that tells whoever watches it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from kanon_milp.methods.description import describe_problem
from kanon_milp.problem.exact import plain
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers.search_log import Search

BEGAN, READY, POINT, DONE, ANSWER, ENDED = "began", "ready", "point", "done", "answer", "ended"


class Teller:
    """A pipe to whoever watches, one JSON object a line. Its clock decides how long the run took."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def say(self, what: str, **more: Any) -> None:
        """One line, at once."""
        line = (json.dumps({"what": what, **more}) + "\n").encode()
        while line:
            line = line[os.write(self._pipe, line) :]

    def ready(self) -> None:
        """The input is read; the clock of the run starts."""
        self.say(READY)

    def point(self, incumbent: float | None, bound: float | None) -> None:
        """A better table or bound, in the problem's units."""
        values = (None if value is None else float(value) for value in (incumbent, bound))
        self.say(POINT, **dict(zip(("incumbent", "bound"), values, strict=True)))

    def done(self) -> None:
        """What is measured is over; checks follow."""
        self.say(DONE)


@dataclass(frozen=True)
class Measured:
    """The answer of a run.

    objective, bound: exact, in the sense and sign of the problem or file. sense: its own, min or max. defects: what is
    wrong with it, in sentences. warnings: what was said of the file while it was read. sizes: those of the table below.
    seconds: build, handover and solve. search: what the solver's log says, its bound in the unit and sign of bound.
    """

    stop_reason: str
    proof: str = "none"
    objective: Fraction | None = None
    bound: Fraction | None = None
    sense: str = "min"
    verified: bool | None = None
    defects: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    message: str = ""
    solver_version: str = ""
    problem: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, int | None] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    search: Search = field(default_factory=Search)

    def as_row(self) -> dict[str, Any]:
        """The columns of the row that are known here."""
        objective, bound = plain(self.objective), plain(self.bound)
        return {
            "stop_reason": self.stop_reason,
            "proof": self.proof,
            "objective": None if objective is None else float(objective),
            "bound": None if bound is None else float(bound),
            "objective_exact": None if self.objective is None else str(self.objective),
            "bound_exact": None if self.bound is None else str(self.bound),
            "gap": _gap(self.objective, self.bound),
            "sense": self.sense,
            "verified": self.verified,
            "defects": list(self.defects),
            "warnings": list(self.warnings),
            "message": self.message,
            "solver_version": self.solver_version,
            **self.problem,
            **self.sizes,
            **asdict(self.search),
            **{f"{step}_seconds": seconds for step, seconds in self.seconds.items()},
        }


def _gap(objective: Fraction | None, bound: Fraction | None) -> float | None:
    """|objective - bound| / max(|objective|, |bound|), at most 1; None where one of them is missing."""
    if objective is None or bound is None:
        return None
    size = max(abs(objective), abs(bound))
    return min(1.0, float(abs(objective - bound) / size)) if size else 0.0


def facts(problem: Problem, row_types: tuple[int, int]) -> dict[str, Any]:
    """What a row says of a problem."""
    described = describe_problem(problem, row_types)
    letters = {letter: described[letter] for letter in "kplt"}
    return {
        "n": described["n"],
        "m": described["m"],
        "t_in": described["t_in"],
        "t_in_star": described["t_in_star"] if problem.table.sensitive else None,
        **{letter: letters[letter] if isinstance(letters[letter], int) else None for letter in "kp"},
        **{letter: None if letters[letter] is None else str(letters[letter]) for letter in "lt"},
    }


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
