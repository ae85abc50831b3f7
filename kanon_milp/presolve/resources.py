"""How much memory and time candidates and a model would take, and the easier problem where that is much."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.privacy import KAnonymity, Requirement
from kanon_milp.problem.problem import Problem
from kanon_milp.system.processes import available_bytes

# measured for one (row type, candidate) pair: Pyomo, the arrays for the solver, the solver's own; declare, hand over
PAIR_BYTES, PAIR_SECONDS = 2_400, 25e-6
SOLVE_SECONDS = 2e-4  # the same, for the solver on masks of Adult
# measured for one (row type, level vector) pair: 10^7 rows of synthetic microdata under 256 patterns, k = 10, and 10^6
# rows with l = 2 as well
COVER_BYTES, VALUED_BYTES = 75, 115
# the same, and for one level vector: enumerate and reduce
COVER_SECONDS, VECTOR_SECONDS = 4e-7, 1e-4
SHARE = 0.9  # of what is free


@dataclass(frozen=True)
class ModelSize:
    """The size of a model of `build_model`, before it is declared.

    rows, row_types, candidates, pairs: of the instance; pairs are (row type, candidate). variables, constraints: of the
    strong formulation (assign and open; placed, linked and one size for each candidate), without those of requirements
    about sensitive values, of sets of quasi-identifiers and of side constraints. seconds: about how long declaring it
    takes. bytes: about how much memory it and the solver need.
    """

    rows: int
    row_types: int
    candidates: int
    pairs: int
    variables: int
    constraints: int
    seconds: float
    bytes: int

    @classmethod
    def of(cls, instance: Instance) -> ModelSize:
        """Of the model over an instance."""
        candidates, pairs = instance.candidates.count, instance.candidates.pairs
        constraints = instance.types.count + pairs + candidates
        return cls.counted(instance.types, candidates, pairs, pairs + candidates, constraints)

    @classmethod
    def counted(cls, types: RowTypes, candidates: int, pairs: int, variables: int, constraints: int) -> ModelSize:
        """With the seconds and bytes that so many pairs take."""
        seconds, size = pairs * PAIR_SECONDS, pairs * PAIR_BYTES
        return cls(types.n, types.count, candidates, pairs, variables, constraints, seconds, size)


def too_long(instance: Instance, seconds: float | None) -> str:
    """Why the model of an instance cannot be declared in so many seconds; empty if it can."""
    wait = instance.candidates.pairs * PAIR_SECONDS
    if seconds is None or wait <= seconds:
        return ""
    return (
        f"the model of {instance.candidates.pairs:,} (row type, candidate) pairs would take about {wait:.0f} s "
        "to declare, more than is left; give more time, a pattern mask, or fewer quasi-identifiers"
    )


def too_large(instance: Instance) -> str:
    """Why the model of an instance cannot be declared in the memory that is free; empty if it can, or nobody knows."""
    needed, free = instance.candidates.pairs * PAIR_BYTES, available_bytes()
    if free is None or needed <= SHARE * free:
        return ""
    return (
        f"the model of {instance.candidates.pairs:,} (row type, candidate) pairs would take about "
        f"{needed / 2**30:.1f} GB and {free / 2**30:.1f} GB are free; give a pattern mask, fewer quasi-identifiers, "
        "or a sample of the rows"
    )


def vectors_in_time(row_types: int, seconds: float) -> float:
    """The candidates of how many level vectors can be enumerated in so many seconds."""
    return seconds / (VECTOR_SECONDS + row_types * COVER_SECONDS)


def vectors_in_memory(row_types: int, *, valued: bool = False) -> float:
    """The candidates of how many level vectors fit into the memory that is free.

    valued: whether there are requirements about sensitive values.
    """
    free = available_bytes()
    return math.inf if free is None else SHARE * free / (row_types * (VALUED_BYTES if valued else COVER_BYTES))


LARGE = 20_000  # (row type, candidate) pairs from which on the relaxation is solved first


def network_relaxation(instance: Instance, smallest: int = LARGE) -> Problem | None:
    """The same problem with k-anonymity for the size κ that all requirements together imply, and what else is a
    network.

    Every group of a solution has at least κ rows, so its optimum is at most that of the problem. Its `assign` is
    continuous and its LP bound stronger for its size, so it is solved where the complete model is still at its root.
    None for models of fewer than `smallest` pairs, for those that are a network themselves, and where the loss is not
    the objective.
    """
    problem = instance.problem
    if problem.network or problem.objective != "loss" or instance.candidates.pairs < smallest:
        return None
    size = instance.smallest_size
    if problem.table.unit is not None:  # no more units than are asked for
        size = max((each.k for each in problem.requirements if isinstance(each, KAnonymity)), default=1)
    kept: list[Requirement] = list(KAnonymity(size).bind(problem.table))
    for requirement in problem.requirements:
        cells = {other.attributes for other in kept if other.attributes} | {requirement.attributes}
        valued = requirement.attributes and not isinstance(requirement, KAnonymity)
        if requirement.keeps_flow_structure and valued and len(cells) == 1:
            kept.append(requirement)
    return replace(problem, privacy=kept, name=f"{problem.name}, relaxed")
