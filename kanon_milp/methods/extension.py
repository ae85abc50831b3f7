"""A model of `build_model` that a user has extended: whether it is of this problem, and what was added or changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.core as pyo
import scipy.sparse as sp

from kanon_milp.errors import InputError, counted
from kanon_milp.formulations import FORMULATIONS, Formulation
from kanon_milp.formulations.fingerprint import formulation_of, is_of_another
from kanon_milp.formulations.restricted import RestrictedModel
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import Prepared, presolve
from kanon_milp.presolve.resources import too_large
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers.pyomo_arrays import PyomoArrays, to_arrays
from kanon_milp.system.arrays import Flags, Floats
from kanon_milp.system.clock import Clock

_SAME = 1e-9  # relative: what counts as the same number, once fixed variables are moved to the right-hand side
_INDEX = re.compile(r"\[[^\]]*\]")


@dataclass(frozen=True)
class Extension:
    """How a model differs from the one that `build_model` makes of its problem, as names of Pyomo components.

    added: constraints, variables and objectives that it did not have. changed: those with other coefficients, bounds or
    domains. fixed: variables. deactivated: constraints and objectives that are switched off, or deleted. objective: the
    component that is optimized, if that is not the objective of the problem as it was built; results have its values
    as it was written, whichever component holds it. sense: "minimize" or "maximize". relaxed: whether something that
    the problem asks for may be gone, so that the model can have solutions that are no valid table. compared: False
    where the time was over before this was known; then all else is unknown. integer_again: variables that were made
    continuous, and integer again before the model was solved, since a table has no parts of rows. lazy: how many
    constraints were stated while it was solved; None where nobody was asked for any.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    deactivated: tuple[str, ...] = ()
    objective: str | None = None
    sense: str = "minimize"
    relaxed: bool = False
    compared: bool = True
    integer_again: tuple[str, ...] = ()
    lazy: int | None = None

    @property
    def words(self) -> str:
        """What was done to the model, in words."""
        if not self.compared:
            return "the time limit was reached before it was compared with the one that was built"
        again = {"solved as integer all the same (relax solves the relaxation)": self.integer_again}
        done = [f"{', '.join(names)} {what}" for what, names in {**self._done, **again}.items() if names]
        return "; ".join(done if self.lazy is None else [*done, f"{counted(self.lazy, 'lazy constraint')} stated"])

    @property
    def _done(self) -> dict[str, list[str]]:
        return {what: list(getattr(self, what)) for what in ("added", "changed", "fixed", "deactivated")}

    def as_dict(self) -> dict[str, Any]:
        """The entry `extended` of `result.json`."""
        known = {"relaxed": self.relaxed, "compared": self.compared, "lazy": self.lazy, "words": self.words}
        return {**self._done, **known}


def check_model(model: pyo.ConcreteModel, prepared: Prepared, formulation: str) -> None:
    """Raise InputError for a model without the components that `build_model` gives it by this formulation, and for one
    of another problem."""
    built_by = formulation_of(model)
    if built_by is not None and built_by != formulation:
        raise InputError(
            f'the model was built by the formulation "{built_by}", not "{formulation}": write formulation="{built_by}"'
        )
    candidates = prepared.instance.candidates
    for name, size in (("assign", candidates.pairs), ("open", candidates.count)):
        component = model.component(name)
        if component is None or len(component) != size:
            others = " or ".join(f'formulation="{other}"' for other in FORMULATIONS if other != formulation)
            raise InputError(
                f'the model was not built for this problem by the formulation "{formulation}": it has no component '
                f'"{name}" of {size} members; name the formulation that build_model was given, perhaps {others}'
            )
    if is_of_another(model, prepared.instance):
        raise InputError(
            "the model was built for another problem: its table, recoding, costs, requirements, objective or side "
            "constraints differ; build it again with build_model(problem), and repeat the additions"
        )


def prepared_for_model(
    problem: Problem, formulation: Formulation, clock: Clock, *, reduced: bool = False, declared: bool = False
) -> Prepared:
    """An instance for a model that others read, extend or solve, with all candidates where it is not reduced.

    declared: the model is there already. Raises InputError where candidates or model do not fit into memory.
    """
    prepared = presolve(problem, clock, reduced=formulation.reduced, merge=reduced, open_model=not reduced)
    if prepared.shortage is not None:
        raise InputError(prepared.shortage.said())
    if not declared and (message := too_large(prepared.instance)):
        raise InputError(message)
    return prepared


def not_compared(model: pyo.ConcreteModel) -> Extension:
    """What is known of a model before it is compared: the objective that is active."""
    goal = next(model.component_data_objects(pyo.Objective, active=True), None)
    if goal is None:
        return Extension(compared=False, relaxed=True)
    sense = "minimize" if goal.sense == pyo.minimize else "maximize"
    return Extension(objective=goal.name, sense=sense, relaxed=True, compared=False)


def extension_of(
    model: pyo.ConcreteModel, arrays: PyomoArrays, built: pyo.ConcreteModel, original: PyomoArrays
) -> Extension | None:
    """Compare a model with the one that was built for the same problem; None where they are the same.

    arrays, original: the two, compiled with names.
    """
    ours, theirs = original.linear, arrays.linear
    at = {name: j for j, name in enumerate(ours.variable_names)}
    width = len(at)
    for name in theirs.variable_names:
        at.setdefault(name, len(at))
    columns = np.array([at[name] for name in theirs.variable_names], dtype=np.int64)
    held = {v.name: float(v.value) for v in model.component_data_objects(pyo.Var) if v.fixed}
    fixed = np.array([at[name] for name in held if at.get(name, width) < width], dtype=np.int64)
    values = np.array([value for name, value in held.items() if at.get(name, width) < width])

    # the built model with these variables fixed, too: columns of zeros, and their part on the right-hand side
    moved = ours.A[:, fixed] @ values if len(fixed) else np.zeros(ours.constraints)
    free = np.ones(len(at))
    free[fixed] = 0.0
    shape = (ours.constraints, len(at))
    before = sp.csr_array((ours.A.data * free[ours.A.indices], ours.A.indices.copy(), ours.A.indptr.copy()), shape)
    before.eliminate_zeros()
    after = sp.csr_array((theirs.A.data, columns[theirs.A.indices], theirs.A.indptr), (theirs.constraints, len(at)))
    low, high = ours.constraint_lower - moved, ours.constraint_upper - moved
    ours_at, theirs_at = _numbered(ours.constraint_names), _numbered(theirs.constraint_names)
    common = [key for key in theirs_at if key in ours_at]
    i, j = (np.array([places[key] for key in common], dtype=np.int64) for places in (ours_at, theirs_at))
    other = (
        np.asarray(abs(after[j] - before[i]).max(axis=1).todense()).ravel() > 0 if len(i) else np.zeros(0, dtype=bool)
    )
    narrower, differs = _held((low[i], high[i]), (theirs.constraint_lower[j], theirs.constraint_upper[j]))
    gone = [key for key, row in ours_at.items() if key not in theirs_at and before.indptr[row] < before.indptr[row + 1]]
    relaxed = bool(gone) or bool(other.any()) or not narrower.all()

    known = np.flatnonzero(columns < width)
    mine = columns[known]
    inside, moved_bounds = _held((ours.lower[mine], ours.upper[mine]), (theirs.lower[known], theirs.upper[known]))
    loosened = ours.integer[mine] & ~theirs.integer[known]
    restored = [
        each for each in (theirs.variable_names[c] for c in known[loosened].tolist()) if component_of(each) == "assign"
    ]
    within = (ours.lower[fixed] <= values) & (values <= ours.upper[fixed])
    within &= ~ours.integer[fixed] | (values == np.round(values))
    relaxed |= bool(loosened.any()) or not inside.all() or not within.all()

    changed = [*(common[r][0] for r in np.flatnonzero(other | differs).tolist())]
    which = np.flatnonzero(moved_bounds | (ours.integer[mine] != theirs.integer[known]))
    changed += [theirs.variable_names[c] for c in known[which].tolist()]
    declared = {component.name for component in built.component_objects((pyo.Var, pyo.Constraint))}
    added = [key[0] for key in theirs_at if key not in ours_at]
    # also those that have no row, since all their variables are fixed
    constraints = model.component_objects(pyo.Constraint, active=True)
    added += [each.name for each in constraints if each.name not in declared and len(each)]
    added += [name for name in theirs.variable_names if at[name] >= width and component_of(name) not in declared]
    deactivated = [key[0] for key in gone]

    (goal,), (first,) = (list(each.component_data_objects(pyo.Objective, active=True)) for each in (model, built))
    costs, expected = np.zeros(len(at)), np.zeros(len(at))
    costs[columns] = theirs.c
    expected[:width] = ours.c
    offset = ours.offset + float(expected[fixed] @ values)
    expected[fixed] = 0.0
    same = goal.name == first.name and arrays.sign == original.sign and bool((costs == expected).all())
    own = not same or abs(theirs.offset - offset) > _SAME * max(1.0, abs(offset))
    if goal.name != first.name:
        added.append(goal.name)
        deactivated.append(first.name)
    elif own:
        changed.append(goal.name)
    if not (added or changed or held or deactivated):
        return None
    return Extension(
        _components(added),
        _components(changed),
        _components(held),
        _components(deactivated),
        objective=goal.name if own else None,
        sense="minimize" if arrays.sign == 1 else "maximize",
        relaxed=relaxed,
        integer_again=_components(restored),
    )


def compared(
    formulation: Formulation, instance: Instance, model: pyo.ConcreteModel
) -> tuple[PyomoArrays, Extension | None]:
    """A user's model as arrays, `assign` as integer, and how it differs from the one that is built for the instance."""
    arrays, built = to_arrays(model, names=True), formulation.build(instance)
    extension = extension_of(model, arrays, built, to_arrays(built, names=True))
    return RestrictedModel(instance, model, arrays, own=False).with_integer_rows().arrays, extension


def unit_of(instance: Instance, extension: Extension | None) -> Fraction:
    """What one unit of a model's objective is worth in results: that of `loss` as it was built counts in units, and
    one that a user has stated means what it says."""
    changed = extension is not None and extension.objective is not None
    return instance.levels.unit if instance.problem.objective == "loss" and not changed else Fraction(1)


def component_of(name: str) -> str:
    """The component that a member belongs to: its name without the index, which may be about anything."""
    return _INDEX.sub("", name)


def _components(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(component_of, names)))


def _numbered(names: Iterable[str]) -> dict[tuple[str, int], int]:
    """Where each row of the matrix is, by name; a constraint with two sides has two rows."""
    seen: Counter[str] = Counter()
    found = {}
    for row, name in enumerate(names):
        seen[name] += 1
        found[name, seen[name]] = row
    return found


def _held(before: tuple[Floats, Floats], after: tuple[Floats, Floats]) -> tuple[Flags, Flags]:
    """Of intervals: whether what it is now lies within what it was, and whether it differs."""
    with np.errstate(invalid="ignore"):  # infinite less infinite
        near = [
            (a == b) | (np.abs(a - b) <= _SAME * np.maximum(1.0, np.abs(a))) for a, b in zip(before, after, strict=True)
        ]
    return (near[0] | (after[0] > before[0])) & (near[1] | (after[1] < before[1])), ~(near[0] & near[1])
