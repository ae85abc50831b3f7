"""Which problem a model was built for, so that it is not solved for another one."""

from __future__ import annotations

import hashlib
import uuid
from fractions import Fraction
from weakref import WeakValueDictionary

import pyomo.environ as pyo
from pyomo.common.numeric_types import RegisterNumericType

from kanon_milp.formulations.contents import contents
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.problem import Problem

_NAME = "kanon_milp_built_for"
_known: WeakValueDictionary[str, Problem] = WeakValueDictionary()  # by what the models built for them carry


def mark(model: pyo.ConcreteModel, instance: Instance, formulation: str) -> None:
    """Note on a model the instance that it states, and by which formulation; a copy of the model has the note, too.

    model.unit: what one unit of its objective `loss` is worth, a Fraction that its expressions take.
    """
    RegisterNumericType(Fraction)
    model.unit = instance.levels.unit
    token = uuid.uuid4().hex
    _known[token] = instance.problem
    setattr(model, _NAME, (digest(instance), digest(instance, public=True), token, formulation))


def formulation_of(model: pyo.ConcreteModel) -> str | None:
    """The formulation that a model says it was built by."""
    marked = getattr(model, _NAME, None)
    return None if marked is None else str(marked[-1])


def is_of_another(model: pyo.ConcreteModel, instance: Instance) -> bool:
    """Whether a model says that it states another instance, or has other pairs of row types and candidates.

    What requirements keep for themselves (`_name`) may change as they are asked, so it counts only where they are
    other objects than those that the model was built for.
    """
    marked = getattr(model, _NAME, None)
    if marked is not None:
        everything, public, token, _ = marked
        if _same(_known.get(token), instance.problem):
            return bool(public != digest(instance, public=True))
        return bool(everything != digest(instance))
    candidates = instance.candidates
    pairs = zip(candidates.members.tolist(), candidates.candidate_of_pair().tolist(), strict=True)
    return any(pair not in model.assign for pair in pairs)


def _same(known: Problem | None, asked: Problem) -> bool:
    """Whether two problems have the same objects as requirements."""
    return known is not None and list(map(id, known.requirements)) == list(map(id, asked.requirements))


def digest(instance: Instance, *, public: bool = False) -> str:
    """SHA-256 of all that a model is about: row types, candidates and costs, requirements, objective, sides.

    Of requirements that is all they hold, not only what they say of themselves: `describe` gives no values. public:
    without their attributes whose names begin with `_`.
    """
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
        [(requirement.spelled, contents(requirement, public=public)) for requirement in problem.requirements],
        (problem.objective, instance.cost_bound, problem.min_groups, problem.max_groups, problem.suppressed_rows),
    )
    found.update(repr(said).encode("utf-8", "surrogatepass"))
    return found.hexdigest()
