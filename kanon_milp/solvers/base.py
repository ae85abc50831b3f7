"""What goes to a MILP solver and comes back from it: arrays in, arrays out."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanon_milp.solvers.proof import Backing

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A mixed-integer linear program: minimize offset + c·x, constraint_lower ≤ A·x ≤ constraint_upper,
    lower ≤ x ≤ upper.

    Always a minimization; infinite bounds are ±numpy.inf. A: CSR, one row of the matrix for each constraint, one column
    for each variable; integer: bool (variables,). Names are in the order of variables and constraints and may hold
    anything. integral: if there is an optimum, there is one where the continuous variables have integer values too, so
    that a solver for integer programs finds the same value. The arrays cannot be written to: what is claimed of a model
    is held against the model that was handed over.
    """

    name: str
    c: Floats
    offset: float
    A: sp.csr_array
    constraint_lower: Floats
    constraint_upper: Floats
    lower: Floats
    upper: Floats
    integer: NDArray[np.bool_]
    variable_names: tuple[str, ...]
    constraint_names: tuple[str, ...]
    integral: bool = False

    def __post_init__(self) -> None:
        """Lock the arrays."""
        rows = (self.A.data, self.A.indices, self.A.indptr, self.constraint_lower, self.constraint_upper)
        for array in (self.c, self.lower, self.upper, self.integer, *rows):
            array.flags.writeable = False

    @property
    def variables(self) -> int:
        """Number of variables."""
        return len(self.c)

    @property
    def constraints(self) -> int:
        """Number of constraints."""
        return len(self.constraint_lower)

    @property
    def largest_cost(self) -> float:
        """The largest number in the objective."""
        return max(abs(self.offset), float(np.abs(self.c).max(initial=0.0)))

    def violation(self, x: Floats) -> float:
        """Largest violation of a bound, a constraint or an integrality by the point x (absolute)."""
        values = self.A @ x
        worst = 0.0
        for low, value, high in ((self.lower, x, self.upper), (self.constraint_lower, values, self.constraint_upper)):
            if len(value):
                worst = max(worst, float(np.max(low - value)), float(np.max(value - high)))
        if self.integer.any():
            ints = x[self.integer]
            worst = max(worst, float(np.max(np.abs(ints - np.round(ints)))))
        return worst

    def value(self, x: Floats) -> float:
        """Objective value of the point x."""
        return self.offset + float(self.c @ x)


class Availability(enum.Enum):
    """Whether a solver can be used here; true in a boolean context only if it can."""

    AVAILABLE = "available"
    NOT_FOUND = "not found"
    TOO_OLD = "too old"
    BROKEN = "found, but it does not run"

    def __bool__(self) -> bool:
        return self is Availability.AVAILABLE


class Capability(enum.Enum):
    """What an adapter can do; the conformance suite tests exactly what is declared."""

    START = "takes a complete starting point"
    PARTIAL_START = "takes a partial starting point"
    BOUND = "reports a dual bound when it stops early"
    TRAJECTORY = "reports incumbents and bounds over time"
    THREADS = "runs on a chosen number of threads"
    SEED = "takes a random seed"
    LOG_FILE = "writes its log to a file"
    NODE_LIMIT = "stops after a number of nodes"
    INTERRUPT = "keeps the incumbent when it is interrupted"
    EXACT = "computes in integers, without rounding"
    CONTINUOUS = "takes fractional and unbounded variables"


class StopReason(enum.Enum):
    """Why the solver stopped, in its own words; no proof by itself."""

    OPTIMAL = "optimal"
    GAP_LIMIT = "gap_limit"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time_limit"
    NODE_LIMIT = "node_limit"
    ITERATION_LIMIT = "iteration_limit"
    INTERRUPTED = "interrupted"
    ERROR = "error"


@dataclass(frozen=True)
class SolverOptions:
    """Options that every solver understands; `extra` goes to the solver as it is.

    time_limit in seconds of wall clock, None for no limit. `gap` is relative. `absolute_gap` is in objective
    units: with an integral objective, 0.999 still ends in a proof. Default gaps of solvers are no proof, so
    both default to 0. node_limit: branch-and-bound nodes, a limit that is the same on every machine; only where the
    adapter has Capability.NODE_LIMIT.
    """

    time_limit: float | None = None
    threads: int = 1
    seed: int = 0
    gap: float = 0.0
    absolute_gap: float = 0.0
    log_file: Path | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    node_limit: int | None = None


@dataclass(frozen=True)
class Progress:
    """One point of the trajectory: seconds since the start, incumbent and bound (None: none yet)."""

    seconds: float
    incumbent: float | None
    bound: float | None


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class SolverResult:
    """What a solver claims: `x` its best point over all columns, `bound` its lower bound; None: none.

    backed_by: who stands behind the bound, or behind "infeasible".
    """

    stop_reason: StopReason
    x: Floats | None
    objective: float | None
    bound: float | None
    solver: str
    version: str
    options: SolverOptions
    seconds: float
    trajectory: tuple[Progress, ...] = ()
    message: str = ""
    backed_by: tuple[Backing, ...] = ("solver",)


@dataclass(frozen=True, eq=False)
class RawResult:
    """What a solver says at the end of one run, before it is checked.

    reason: None where it cannot tell infeasible from unbounded. x: float64 (variables,), or None. bound: the lower
    bound that it claims, None for none.
    """

    reason: StopReason | None
    x: Floats | None
    bound: float | None
    message: str = ""
