"""Which problem a model was built for, so that it is not solved for another one."""

from __future__ import annotations

import hashlib

import pyomo.environ as pyo

from kanon_milp.presolve.instance import Instance

_NAME = "kanon_milp_built_for"


def mark(model: pyo.ConcreteModel, instance: Instance) -> None:
    """Note on a model the instance that it states; a copy of the model has the note, too."""
    setattr(model, _NAME, digest(instance))


def is_of_another(model: pyo.ConcreteModel, instance: Instance) -> bool:
    """Whether a model says that it states another instance, or has other pairs of row types and candidates."""
    marked = getattr(model, _NAME, None)
    if marked is not None:
        return bool(marked != digest(instance))
    candidates = instance.candidates
    pairs = zip(candidates.members.tolist(), candidates.candidate_of_pair().tolist(), strict=True)
    return any(pair not in model.assign for pair in pairs)


def digest(instance: Instance) -> str:
    """SHA-256 of all that a model is about: row types, candidates and costs, requirements, objective, sides."""
    problem, types, candidates = instance.problem, instance.types, instance.candidates
    found = hashlib.sha256()
    of_types = (types.codes, types.counts, types.star_type, types.star_codes, types.star_counts)
    of_candidates = (candidates.indptr, candidates.members, candidates.cost, candidates.vector, instance.exempt)
    for array in (*of_types, *of_candidates):
        found.update(repr((array.shape, str(array.dtype))).encode())
        found.update(array.tobytes())
    said = (
        types.names,
        types.sensitive,
        types.domains,
        instance.levels.unit,
        instance.levels.vectors.tolist(),
        [requirement.spelled for requirement in problem.requirements],
        (problem.objective, instance.cost_bound, problem.min_groups, problem.max_groups, problem.suppressed_rows),
    )
    found.update(repr(said).encode("utf-8", "surrogatepass"))
    return found.hexdigest()
