"""What every formulation has: sets, the data of row types and candidates, objective and side constraints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo
from pyomo.core.base.param import IndexedParam

from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions import has_values


class LazyParam(IndexedParam):  # type: ignore[misc]
    """A Param whose values are looked up when they are asked for, so that large models have them for nothing.

    It is printed with all of its values.
    """

    def _pprint(self) -> tuple[Any, ...]:
        headers, _, columns, values = super()._pprint()
        shown = [header for header in headers if header[0] in ("Size", "Index")]
        return shown, self.items, columns, values


def add_sets(m: pyo.ConcreteModel, instance: Instance) -> None:
    """The sets ROW_TYPES, CANDIDATES, PAIRS and QUASI_IDENTIFIERS, and what is known of their members.

    Of a row type i: n[i], original[i], sensitive[i]. Of a candidate g: w[g], N[g], cover[g], released[g], vector[g] and
    level[g, column]; height[column] is the level that suppresses a cell. Where row types were merged, `original`,
    `released`, `level` and `height` are missing. Units of protection are numbers in `sensitive`.
    """
    types, levels, candidates = instance.types, instance.levels, instance.candidates
    unit = "" if levels.unit == 1 else f", in units of {levels.unit}"
    m.ROW_TYPES = pyo.RangeSet(0, types.count - 1, doc="row types i: distinct rows of the table")
    m.CANDIDATES = pyo.RangeSet(0, candidates.count - 1, doc="candidates g: rows that could be released")
    pairs = zip(candidates.members.tolist(), candidates.candidate_of_pair().tolist(), strict=True)
    m.PAIRS = pyo.Set(
        dimen=2,
        initialize=list(pairs),
        ordered=pyo.Set.InsertionOrder,
        doc="(i, g) where candidate g generalizes row type i",
    )
    m.QUASI_IDENTIFIERS = pyo.Set(
        initialize=list(types.names), ordered=pyo.Set.InsertionOrder, doc="columns that are generalized"
    )

    def known(name: str, sets: tuple[pyo.Set, ...], value: Callable[..., object], doc: str) -> None:
        rule = lambda _, *index: value(*index)  # noqa: E731  (Pyomo takes a plain function)
        m.add_component(name, LazyParam(*sets, default=rule, within=pyo.Any, doc=doc))

    def cover(g: int) -> tuple[int, ...]:
        return tuple(candidates.members[candidates.indptr[g] : candidates.indptr[g + 1]].tolist())

    known("n", (m.ROW_TYPES,), lambda i: int(types.counts[i]), "number of rows of row type i")
    known("w", (m.CANDIDATES,), lambda g: int(candidates.cost[g]), f"loss of a row{unit}")
    known("N", (m.CANDIDATES,), lambda g: int(candidates.support[g]), "number of rows that candidate g generalizes")
    known("cover", (m.CANDIDATES,), cover, "row types that candidate g generalizes")
    known("vector", (m.CANDIDATES,), lambda g: int(candidates.vector[g]), "number of the level vector of candidate g")

    def sensitive(i: int) -> tuple[object, ...]:
        domains = types.domains[len(types.names) :]
        held = zip(types.sensitive, domains, types.star_codes[i].tolist(), strict=True)
        # who somebody is stays a number
        return tuple(c if name == instance.problem.table.unit else domain[c] for name, domain, c in held)

    if types.split:
        known("sensitive", (m.ROW_TYPES,), sensitive, f"values of row type i of {', '.join(types.sensitive)}")
    if not has_values(types):
        return
    position = {name: j for j, name in enumerate(types.names)}

    def original(i: int) -> tuple[object, ...]:
        return tuple(domain[c] for domain, c in zip(types.domains, types.codes[i].tolist(), strict=False))

    def level(g: int, column: str) -> int:
        return int(levels.vectors[candidates.vector[g], position[column]])

    def released(g: int) -> tuple[object, ...]:
        codes = types.codes[candidates.members[candidates.indptr[g]]]
        at = levels.vectors[candidates.vector[g]]
        return tuple(c.labels[c.label_of[at[j], codes[j]]] for j, c in enumerate(levels.columns))

    known("original", (m.ROW_TYPES,), original, "values of row type i, in the order of QUASI_IDENTIFIERS")
    known("released", (m.CANDIDATES,), released, "what candidate g releases, in the order of QUASI_IDENTIFIERS")
    known(
        "level", (m.CANDIDATES, m.QUASI_IDENTIFIERS), level, "generalization level of a column in candidate g; 0: kept"
    )
    known(
        "height",
        (m.QUASI_IDENTIFIERS,),
        lambda column: levels.columns[position[column]].height,
        "the level of a column at which it is suppressed",
    )


def candidates_of_types(instance: Instance) -> list[list[int]]:
    """For each row type the candidates that cover it."""
    found: list[list[int]] = [[] for _ in range(instance.types.count)]
    for g, cover in enumerate(instance.candidates.cover_lists()):
        for i in cover:
            found[i].append(g)
    return found


def add_assignment(m: pyo.ConcreteModel, instance: Instance, domain: Any) -> None:
    """Variables `assign` x[i,g] of this domain and `open` y[g]; constraints `placed` and `linked`."""
    n = instance.types.counts.tolist()
    candidates_of = candidates_of_types(instance)
    m.assign = pyo.Var(
        m.PAIRS,
        domain=domain,
        bounds=lambda _, i, g: (0, n[i]),
        doc="x[i,g]: number of rows of type i that candidate g receives",
    )
    m.open = pyo.Var(m.CANDIDATES, domain=pyo.Binary, doc="y[g]: whether candidate g is used")

    # Σ_g x[i,g] = n_i
    @m.Constraint(m.ROW_TYPES, doc="every row goes to one candidate")
    def placed(m: pyo.ConcreteModel, i: int) -> object:
        return sum(m.assign[i, g] for g in candidates_of[i]) == n[i]

    # x[i,g] ≤ n_i · y[g]
    @m.Constraint(m.PAIRS, doc="only an open candidate receives rows")
    def linked(m: pyo.ConcreteModel, i: int, g: int) -> object:
        return m.assign[i, g] <= n[i] * m.open[g]


def add_objective_and_sides(m: pyo.ConcreteModel, instance: Instance) -> None:
    """Objective `loss` or `groups`; constraints `cost_bound`, `min_groups`, `max_groups` where the problem has them.

    Loss is counted in units of `Levels.unit`, so that all its coefficients are integers.
    """
    problem = instance.problem
    unit = "" if instance.levels.unit == 1 else f", in units of {instance.levels.unit}"
    w = instance.candidates.cost.tolist()
    loss = sum(w[g] * m.assign[i, g] for i, g in m.PAIRS)
    groups = sum(m.open[g] for g in m.CANDIDATES)

    # Σ w_g x[i,g]
    m.loss = pyo.Objective(expr=loss, sense=pyo.minimize, doc=f"information lost{unit}")
    if problem.objective != "loss":
        m.loss.deactivate()
        sense = pyo.minimize if problem.objective == "min_groups" else pyo.maximize
        m.groups = pyo.Objective(expr=groups, sense=sense, doc="number of released row types")

    if instance.cost_bound is not None:
        doc = f"the information lost is at most cost_bound{unit}"
        m.cost_bound = pyo.Constraint(expr=loss <= instance.cost_bound, doc=doc)
    if problem.min_groups is not None:
        m.min_groups = pyo.Constraint(expr=groups >= problem.min_groups, doc="smallest number of released row types")
    if problem.max_groups is not None:
        m.max_groups = pyo.Constraint(expr=groups <= problem.max_groups, doc="largest number of released row types")
