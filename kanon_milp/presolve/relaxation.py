"""What a problem asks that leaves a network: an easier problem whose optimum is a bound."""

from __future__ import annotations

from dataclasses import replace

from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.privacy import KAnonymity, Requirement
from kanon_milp.problem.privacy.base import least_rows
from kanon_milp.problem.problem import Problem

LARGE = 20_000  # (row type, candidate) pairs from which on the relaxation is solved first


def network_relaxation(instance: Instance) -> Problem | None:
    """The same problem with k-anonymity for the size κ that all requirements together imply, and what else is a
    network.

    Every group of a solution has at least κ rows, so its optimum is at most that of the problem. Its `assign` is
    continuous and its LP bound stronger for its size, so it is solved where the complete model is still at its root.
    None for small models, for those that are a network themselves, and where the loss is not the objective.
    """
    problem = instance.problem
    if problem.network or problem.objective != "loss" or instance.candidates.pairs < LARGE:
        return None
    size = max(least_rows(requirement, instance.table_group) for requirement in problem.requirements)
    if problem.table.unit is not None:  # no more units than are asked for
        size = max((each.k for each in problem.requirements if isinstance(each, KAnonymity)), default=1)
    kept: list[Requirement] = list(KAnonymity(size).bind(problem.table))
    for requirement in problem.requirements:
        cells = {other.attributes for other in kept if other.attributes} | {requirement.attributes}
        valued = requirement.attributes and not isinstance(requirement, KAnonymity)
        if requirement.keeps_flow_structure and valued and len(cells) == 1:
            kept.append(requirement)
    return replace(problem, privacy=kept, name=f"{problem.name}, relaxed")
