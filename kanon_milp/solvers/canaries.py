"""Tiny models with known answers, and what `kanon-milp doctor` finds out with them about each solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kanon_milp.errors import KanonError, one_line
from kanon_milp.solvers.adapter import Availability, SolverAdapter
from kanon_milp.solvers.call import SolverOptions, StopReason
from kanon_milp.solvers.model import LinearModel
from kanon_milp.solvers.pulp_any import PULP, solver_names
from kanon_milp.solvers.registry import get, own_names

_SECONDS = 20.0
_TOLERANCE = 1e-6
_INF = float("inf")


@dataclass(frozen=True)
class Canary:
    """A model with its answer; `optimum` is None where there is none."""

    model: LinearModel
    stop_reason: StopReason
    optimum: float | None


@dataclass(frozen=True)
class Diagnosis:
    """What was found out about one solver; `problems` are sentences, none if all canaries live."""

    name: str
    availability: Availability
    version: str
    location: str
    problems: tuple[str, ...]


def small_model(
    name: str,
    c: Sequence[float],
    constraints: Sequence[tuple[float, Sequence[float], float]],
    bounds: Sequence[tuple[float, float]],
    integer: Sequence[bool],
    *,
    offset: float = 0.0,
    integral: bool = False,
) -> LinearModel:
    """A model written out: `constraints` are (lower side, coefficients, upper side), `bounds` (lower, upper)."""
    matrix = np.array([each for _, each, _ in constraints], dtype=np.float64).reshape(len(constraints), len(c))
    return LinearModel(
        name=name,
        c=np.array(c, dtype=np.float64),
        offset=offset,
        A=sp.csr_array(matrix),
        constraint_lower=np.array([low for low, _, _ in constraints], dtype=np.float64),
        constraint_upper=np.array([high for _, _, high in constraints], dtype=np.float64),
        lower=np.array([low for low, _ in bounds], dtype=np.float64),
        upper=np.array([high for _, high in bounds], dtype=np.float64),
        integer=np.array(integer, dtype=np.bool_),
        variable_names=tuple(f"x{j}" for j in range(len(c))),
        constraint_names=tuple(f"r{i}" for i in range(len(constraints))),
        integral=integral,
    )


def mixed_rounding() -> Canary:
    """HiGHS 1.14.0 answers 15, marked optimal: minimize 2x + 3z, x + z ≥ 4.5, 0 ≤ x, z ≤ 10, z integer."""
    constraints = [(4.5, (1.0, 1.0), _INF)]
    model = small_model("mixed rounding", (2, 3), constraints, [(0, 10), (0, 10)], (False, True))
    return Canary(model, StopReason.OPTIMAL, 9.0)


def equality_clique() -> Canary:
    """HiGHS 1.15.1 answers 2, marked optimal, unless presolve or its aggregator is off.

    The model is what is left of a small t-closeness problem. Its continuous variables are integral by themselves, and
    bounds that presolve derives for them are not (https://github.com/ERGO-Code/HiGHS/issues/3274).
    """
    sparse: list[tuple[float, dict[int, float], float]] = [
        (1, {0: 1, 1: 1, 2: 1}, 1),  # a row goes to group 0, 1 or elsewhere
        (-_INF, {3: 1, 6: -1}, 0),
        (-_INF, {1: 1, 7: -1}, 0),
        (-_INF, {}, 0),
        (0, {0: 1, 3: 1, 8: -1}, 0),  # sizes of the groups
        (0, {1: 1, 4: 1, 5: 1, 9: -1}, 0),
        (0, {7: -2, 9: 1}, _INF),
        (-_INF, {0: 3, 8: -1, 10: -1}, 0),  # shares
        (-_INF, {3: 3, 8: -1, 11: -1}, 0),
        (-_INF, {1: 3, 9: -1}, 0),
        (-_INF, {8: -3, 10: 2, 11: 2}, 0),
    ]
    constraints = [(low, [each.get(j, 0.0) for j in range(12)], high) for low, each, high in sparse]
    bounds = [(0.0, 1.0)] * 8 + [(0.0, 2.0), (0.0, 5.0), (0.0, _INF), (0.0, _INF)]
    costs = [0, 1, 2, 0, 1, 1, 0, 0, 0, 0, 0, 0]
    model = small_model("equality clique", costs, constraints, bounds, [True] * 8 + [False] * 4, integral=True)
    return Canary(model, StopReason.OPTIMAL, 0.0)


def weak_dual_reductions() -> Canary:
    """SCIP 10.0.2 answers 9, marked optimal, unless weak dual reductions are off.

    The model is what is left of the table 3 2, 3 2, 0 0, 1 2, 1 0, 1 0 under k = 3: four groups may be opened, and the
    two of cost 1 that split the rows evenly are the best.
    """
    sparse: list[tuple[float, dict[int, float], float]] = [
        (1, {2: 1, 6: 1}, 1),  # every row goes somewhere
        (2, {0: 1, 3: 1}, 2),
        (1, {1: 1, 4: 1, 7: 1}, 1),
        (2, {5: 1, 8: 1}, 2),
        (-_INF, {1: 1, 9: -1}, 0),  # and only to an open group
        (-_INF, {2: 1, 10: -1}, 0),
        (-_INF, {4: 1, 11: -1}, 0),
        (-_INF, {6: 1, 12: -1}, 0),
        (-_INF, {7: 1, 12: -1}, 0),
        (0, {0: 1, 1: 1, 9: -3}, _INF),  # of at least three rows
        (0, {2: 1, 3: 1, 10: -3}, _INF),
        (0, {4: 1, 5: 1, 11: -3}, _INF),
        (0, {6: 1, 7: 1, 8: 1, 12: -3}, _INF),
    ]
    constraints = [(low, [each.get(j, 0.0) for j in range(13)], high) for low, each, high in sparse]
    bounds = [(0.0, most) for most in (2.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0)]
    costs = [1, 1, 1, 1, 1, 1, 2, 2, 2, 0, 0, 0, 0]
    model = small_model("weak dual reductions", costs, constraints, bounds, [False] * 9 + [True] * 4, integral=True)
    return Canary(model, StopReason.OPTIMAL, 6.0)


def knapsack() -> Canary:
    """Feasible with a fractional relaxation: maximize 5a + 4b + 3c under three capacities, and a constant."""
    constraints = [(-_INF, (2.0, 3.0, 1.0), 5.0), (-_INF, (4.0, 1.0, 2.0), 11.0), (-_INF, (3.0, 4.0, 2.0), 7.0)]
    model = small_model("knapsack", (-5, -4, -3), constraints, [(0, 5)] * 3, (True,) * 3, offset=100.0)
    # (1, 1, 0) = 9, (2, 0, 0) = 10, (1, 0, 2) = 11
    return Canary(model, StopReason.OPTIMAL, 89.0)


def infeasible_integers() -> Canary:
    """Feasible without integrality only: 2a + 2b = 3."""
    model = small_model("odd sum", (1, 1), [(3.0, (2.0, 2.0), 3.0)], [(0, 5), (0, 5)], (True, True))
    return Canary(model, StopReason.INFEASIBLE, None)


def infeasible_relaxation() -> Canary:
    """Infeasible even without integrality: a + b ≥ 5 with a, b ≤ 2."""
    model = small_model("too much", (1, 1), [(5.0, (1.0, 1.0), _INF)], [(0, 2), (0, 2)], (True, False))
    return Canary(model, StopReason.INFEASIBLE, None)


def unbounded() -> Canary:
    """Minimize b - a with a ≥ b, nothing else."""
    model = small_model("no end", (-1, 1), [(0.0, (1.0, -1.0), _INF)], [(0, _INF)] * 2, (True, False))
    return Canary(model, StopReason.UNBOUNDED, None)


CANARIES: tuple[Callable[[], Canary], ...] = (
    mixed_rounding,
    equality_clique,
    weak_dual_reductions,
    knapsack,
    infeasible_integers,
    infeasible_relaxation,
    unbounded,
)


def check(adapter: SolverAdapter) -> list[str]:
    """Solve all canaries that the solver takes; one sentence for each wrong answer."""
    problems = []
    for make in CANARIES:
        canary = make()
        if not adapter.takes(canary.model):
            continue
        try:
            result = adapter.solve(canary.model, SolverOptions(time_limit=_SECONDS))
        except KanonError as error:
            problems.append(f"{canary.model.name}: {error}")
            continue
        if result.stop_reason is not canary.stop_reason:
            problems.append(
                f"{canary.model.name}: says {result.stop_reason.value}, right is {canary.stop_reason.value}"
            )
        elif canary.optimum is not None:
            if result.objective is None or abs(result.objective - canary.optimum) > _TOLERANCE:
                problems.append(f"{canary.model.name}: says {result.objective} where {canary.optimum:g} is right")
            elif result.x is None or canary.model.violation(result.x) > _TOLERANCE:
                problems.append(f"{canary.model.name}: its point does not satisfy the model")
    return problems


def diagnose() -> list[Diagnosis]:
    """Look at every solver that is known by name, and at those of PuLP that are available here."""
    return [_diagnose(name) for name in (*own_names(), *(PULP + name for name in solver_names(only_available=True)))]


def _diagnose(name: str) -> Diagnosis:
    try:
        adapter = get(name)
        availability = adapter.availability()
        problems = check(adapter) if availability else []
        return Diagnosis(name, availability, adapter.version(), adapter.location(), tuple(problems))
    except Exception as error:  # of somebody else's adapter
        said = str(error) if isinstance(error, KanonError) else f"it raises {type(error).__name__}: {one_line(error)}"
        return Diagnosis(name, Availability.BROKEN, "", "", (said,))
