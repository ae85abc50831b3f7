"""Which constraints of an extended model cannot be satisfied together: an irreducible subset by a deletion filter.

The parts are the constraint components that were declared and those that were added, and the variables that were fixed.
Bounds and domains of variables always hold. A component of the user's with a few members is taken apart in the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyomo.core as pyo

from kanon_milp.errors import KanonError
from kanon_milp.formulations.restricted import RestrictedModel, solve_restricted
from kanon_milp.methods.extension import Extension, component_of
from kanon_milp.presolve.infeasibility import Conflict, irreducible
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers import LinearModel, SolverAdapter, SolverOptions
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.system.arrays import Ints
from kanon_milp.system.limit import Limit

MOST_MEMBERS = 64  # members of a component that are tried one by one


@dataclass(frozen=True, eq=False)
class _Parts:
    """A model by its parts. rows, columns: by part, its constraints and its fixed variables. values: of columns."""

    linear: LinearModel
    rows: Mapping[str, Ints]
    columns: Mapping[str, Ints]
    values: Mapping[int, float]

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys((*self.rows, *self.columns)))

    def only(self, names: list[str]) -> LinearModel:
        """The model with these parts alone, and no objective, so that any point will do."""
        linear, nothing = self.linear, np.zeros(0, np.int64)
        kept = np.sort(np.concatenate([nothing, *(self.rows[name] for name in names if name in self.rows)]))
        held = np.concatenate([nothing, *(self.columns[name] for name in names if name in self.columns)])
        lower, upper = linear.lower.copy(), linear.upper.copy()
        lower[held] = upper[held] = [self.values[column] for column in held.tolist()]
        return replace(
            linear,
            c=np.zeros(linear.variables),
            offset=0.0,
            A=linear.A[kept],
            constraint_lower=linear.constraint_lower[kept],
            constraint_upper=linear.constraint_upper[kept],
            lower=lower,
            upper=upper,
            constraint_names=tuple(linear.constraint_names[row] for row in kept.tolist()),
        )

    def taken_apart(self, names: list[str], kept: list[str]) -> _Parts:
        """The parts that are kept, those of `names` one member each where these are few."""
        rows, columns = ({name: parts[name] for name in kept if name in parts} for parts in (self.rows, self.columns))
        for members, labels in ((rows, self.linear.constraint_names), (columns, self.linear.variable_names)):
            for name in names:
                if name in members and 1 < len(members[name]) <= MOST_MEMBERS:
                    members.update(_grouped((labels[each], each) for each in members.pop(name).tolist()))
        return replace(self, rows=rows, columns=columns)


def conflict_in_model(
    model: pyo.ConcreteModel,
    instance: Instance,
    extension: Extension,
    adapter: SolverAdapter,
    options: SolverOptions,
    limit: Limit,
) -> Conflict:
    """An irreducible conflict in a model that is infeasible as its user has extended it.

    Built-in components are named with what they say. Where the limit came first, it may be reducible, and says so. The
    model is as before at the end.
    """
    parts = _parts_of(model, instance)
    added = {*extension.added, *extension.fixed, *extension.changed}

    def decide(names: list[str]) -> bool | None:
        if limit.over:
            return None
        quick = replace(options, time_limit=limit.left, gap=0.999, log_file=None, node_limit=None)
        try:
            answer = solve_restricted(parts.only(names), adapter, quick, limit)
        except KanonError:  # what is proven already does not depend on this
            return None
        return True if answer.infeasible else False if answer.x is not None else None

    # what was built is tried first: it leaves if it can, and what the user has added stays
    kept, decided = irreducible(sorted(parts.names, key=lambda name: name in added), decide)
    parts = parts.taken_apart([name for name in kept if name in added], kept)
    if len(parts.names) > len(kept):
        kept, decided = irreducible(parts.names, decide, decided)
    return Conflict(tuple(_in_words(model, name, added) for name in kept), decided, "point")


def _parts_of(model: pyo.ConcreteModel, instance: Instance) -> _Parts:
    fixed = [variable for variable in model.component_data_objects(pyo.Var) if variable.fixed]
    try:
        for variable in fixed:
            variable.unfix()
        arrays = to_arrays(model, names=True)
    finally:
        for variable in fixed:
            variable.fix()
    arrays = RestrictedModel(instance, model, arrays, own=False).with_integer_rows().arrays
    rows = _grouped((component_of(name), row) for row, name in enumerate(arrays.linear.constraint_names))
    held = [(v, column) for v, column in zip(fixed, arrays.columns_of(fixed).tolist(), strict=True) if column >= 0]
    columns = _grouped((component_of(variable.name), column) for variable, column in held)
    return _Parts(arrays.linear, rows, columns, {column: float(variable.value) for variable, column in held})


def _grouped(numbers: Iterable[tuple[str, int]]) -> dict[str, Ints]:
    found: dict[str, list[int]] = {}
    for name, number in numbers:
        found.setdefault(name, []).append(number)
    return {name: np.array(each, dtype=np.int64) for name, each in found.items()}


def _in_words(model: pyo.ConcreteModel, name: str, added: set[str]) -> str:
    component = model.find_component(component_of(name))
    what = "fixed" if isinstance(component, pyo.Var) else getattr(component, "doc", None)
    said = ", ".join(each for each in (what, "yours" if component_of(name) in added else None) if each)
    return f"{name} ({said})" if said else name
