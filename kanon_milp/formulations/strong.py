"""The strong formulation: lower-bounded assignment of row types to candidates, each pair linked on its own; and what
every formulation has: sets, the data of row types and candidates, objective and side constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyomo.core as pyo
from pyomo.core.base.param import IndexedParam

from kanon_milp.errors import is_built_in
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions import has_values
from kanon_milp.problem.privacy import Requirement
from kanon_milp.problem.privacy.base import declare_in
from kanon_milp.problem.privacy.instance_data import Rows, distinct_values
from kanon_milp.solvers.adapter import Setting

FEW_PATTERNS = 64
MOST_NONZEROS = 5  # a pair, of constraints in which sizes of groups are sums; with more of them variables are quicker


def tune_strong(instance: Instance) -> tuple[Setting, ...]:
    """What this formulation tells solvers of an instance.

    Under a mask of few patterns and with a continuous assignment the root LP is nearly integral, and simple rounding
    finds good tables.
    """
    few = instance.levels.count <= FEW_PATTERNS and instance.problem.network
    return (*((Setting.NEARLY_INTEGRAL,) if few else ()), *trust_strong(instance))


def trust_strong(instance: Instance) -> tuple[Setting, ...]:
    """That of it without which an answer is not to be trusted, also of a model that was extended."""
    mixed = any(requirement.has_continuous_variables for requirement in instance.problem.requirements)
    return (Setting.MIXED,) if mixed else ()


def build_strong(instance: Instance) -> pyo.ConcreteModel:
    """Assignment of row types to candidates with strong links.

    For k-anonymity the links of one candidate and its size constraint describe the convex hull of {0} ∪ {Σx ≥ k, 0 ≤ x
    ≤ n}, so the LP bound is that of the Lagrangian dual of the assignment constraints. Only `open` and what
    requirements declare is binary where these leave a network; else `assign` is integer. Row types are
    (quasi-identifier, sensitive) tuples where requirements are about sensitive attributes.
    """
    m = pyo.ConcreteModel(name=instance.problem.name)
    add_sets(m, instance)
    problem, requirements = instance.problem, instance.problem.requirements
    add_assignment(m, instance, pyo.NonNegativeReals if problem.network else pyo.NonNegativeIntegers)
    if problem.objective == "discernibility" or any(requirement.needs_group_size for requirement in requirements):
        add_sizes(m, instance)

    # what each open group must have
    for requirement, name in zip(requirements, block_names(requirements), strict=True):
        m.add_component(name, pyo.Block(doc=requirement.spelled))
        declare_in(requirement, m.component(name), m, instance)
        add_values(requirement, m.component(name), instance)
    add_smallest_size(m, instance)

    add_objective_and_sides(m, instance)
    return m


def add_sizes(m: pyo.ConcreteModel, instance: Instance) -> None:
    """rows[g]: how many rows candidate g receives, S_g: a sum where that makes the model little larger, or a variable.

    HiGHS tries up to a hundred points between those of its relaxation and an inner one, which are far apart where there
    are variables with a wide range, and looks at its time limit only after that (masks of CMC, l = 2, 8,000 pairs: a
    quarter of a minute, a model with sums is solved in one to four seconds).

    The variables are integer by themselves, but declared so: presolve of HiGHS 1.15.1 rounds the bounds of continuous
    variables that it finds to be integer wrongly (https://github.com/ERGO-Code/HiGHS/issues/3274), and a point above
    the optimum looks optimal. A requirement of a user's own always has variables, whose bounds it may read.
    """
    cover, support = instance.candidates.cover_lists(), instance.candidates.support.tolist()
    ours = all(map(is_built_in, instance.problem.requirements))
    if ours and 0 < _nonzeros_of_sums(instance) <= MOST_NONZEROS * instance.candidates.pairs:
        m.rows = pyo.Expression(
            m.CANDIDATES,
            rule=lambda m, g: sum(m.assign[i, g] for i in cover[g]),
            doc="S[g]: number of rows that candidate g receives",
        )
        return
    m.rows = pyo.Var(
        m.CANDIDATES,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, g: (0, support[g]),
        doc="S[g]: number of rows that candidate g receives",
    )

    @m.Constraint(m.CANDIDATES, doc="rows[g] counts the rows that candidate g receives")
    def counted(m: pyo.ConcreteModel, g: int) -> object:
        return sum(m.assign[i, g] for i in cover[g]) == m.rows[g]


def _nonzeros_of_sums(instance: Instance) -> int:
    """Nonzeros of one constraint for each candidate and sensitive value in its cover, with the size as a sum; 0 where
    nothing is required of sensitive values."""
    types = np.bincount(instance.candidates.candidate_of_pair(), minlength=instance.candidates.count)
    return sum(int(types @ distinct_values(instance, (each,))) for each in instance.problem.attributes)


def add_smallest_size(m: pyo.ConcreteModel, instance: Instance) -> None:
    """An open group has at least the κ rows that all requirements together imply, where no k says as much already."""
    asked = max((r.rows_asked for r in instance.problem.requirements if r.exempts and r.separable), default=0)
    least, exempt = instance.least.tolist(), instance.exempt
    rows = Rows(m, instance)
    needed = [g for g in m.CANDIDATES if least[g] > (min(asked, 1) if exempt[g] else asked)]
    if not needed:
        return
    m.SMALL = pyo.Set(
        initialize=needed, ordered=pyo.Set.InsertionOrder, doc="candidates whose groups all have more rows than k"
    )

    @m.Constraint(m.SMALL, doc="an open group has the number of rows that all requirements together imply")
    def smallest_size(m: pyo.ConcreteModel, g: int) -> object:
        return rows.size(g) >= least[g] * m.open[g]


def block_names(requirements: Sequence[Requirement]) -> list[str]:
    """One block a requirement: its name, and from the second of a kind on a number behind it."""
    names: list[str] = []
    for requirement in requirements:
        again = sum(name.split("__")[0] == requirement.name for name in names)
        names.append(f"{requirement.name}__{again + 1}" if again else requirement.name)
    return names


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
    return [each.tolist() for each in instance.candidates.covers.transposed(instance.types.count)[0].each()]


def add_values(requirement: Requirement, block: pyo.Block, instance: Instance) -> None:
    """What a requirement's block numbers σ: value[σ], the sensitive value (a tuple of several attributes' values), and
    reference[σ], its rows r_σ in the entire table, the reference distribution. Units of protection stay numbers."""
    attributes = requirement.attributes
    if not (attributes and is_built_in(requirement)):
        return
    code, values = instance.sensitive_codes(attributes)
    hidden = instance.problem.table.unit in attributes
    rows = np.bincount(code, weights=instance.types.counts).astype(np.int64).tolist()
    names = [number if hidden else of[0] if len(of) == 1 else of for number, of in enumerate(values)]
    about = f"of {', '.join(attributes)}"
    block.NUMBERS = pyo.RangeSet(0, len(values) - 1, doc=f"numbers σ of the sensitive values {about}")
    block.value = LazyParam(
        block.NUMBERS,
        default=lambda _, v: names[v],
        within=pyo.Any,
        doc=f"the sensitive value with the number σ {about}",
    )
    block.reference = LazyParam(
        block.NUMBERS,
        default=lambda _, v: rows[v],
        within=pyo.Any,
        doc="r[σ]: rows with the value σ in the entire table",
    )


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
    """Objective `loss`, `groups` or `discernibility`; constraints `cost_bound`, `min_groups`, `max_groups` where the
    problem has them.

    Loss is counted in units of `Levels.unit`, so that all its coefficients are integers.
    """
    problem = instance.problem
    unit = "" if instance.levels.unit == 1 else f", in units of {instance.levels.unit}"
    w = instance.candidates.cost.tolist()
    loss = sum(w[g] * m.assign[i, g] for i, g in m.PAIRS)

    def groups() -> Any:
        return sum(m.open[g] for g in m.CANDIDATES)

    # Σ w_g x[i,g]
    m.loss = pyo.Objective(expr=loss, sense=pyo.minimize, doc=f"information lost{unit}")
    if problem.objective != "loss":
        m.loss.deactivate()
    if problem.objective == "discernibility":
        m.discernibility = pyo.Objective(expr=add_squares(m, instance), doc="Σ S[g]², of the sizes of groups")
    elif problem.objective != "loss":
        sense = pyo.minimize if problem.objective == "min_groups" else pyo.maximize
        m.groups = pyo.Objective(expr=groups(), sense=sense, doc="number of released row types")

    if instance.cost_bound is not None:
        doc = f"the information lost is at most cost_bound{unit}"
        m.cost_bound = pyo.Constraint(expr=loss <= instance.cost_bound, doc=doc)
    if problem.min_groups is not None:
        m.min_groups = pyo.Constraint(expr=groups() >= problem.min_groups, doc="smallest number of released row types")
    if problem.most_groups is not None:
        m.max_groups = pyo.Constraint(expr=groups() <= problem.most_groups, doc="largest number of released row types")


def add_squares(m: pyo.ConcreteModel, instance: Instance) -> Any:
    """Σ_g S_g², by the tangents at s + 1/2 of S², of which the largest is S² itself where S is an integer:
    square[g] ≥ (2s + 1) S_g - s (s + 1) y[g] for s = 0, ..., N_g - 1. Without y[g] they hold too, and say less of a
    relaxation."""
    if m.component("square") is not None:
        return sum(m.square[g] for g in m.CANDIDATES)
    rows, support = Rows(m, instance), instance.candidates.support.tolist()
    m.square = pyo.Var(
        m.CANDIDATES,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, g: (0, support[g] ** 2),
        doc="S[g]²: number of rows that candidate g receives, squared",
    )
    m.tangent = pyo.Constraint(
        [(g, s) for g, most in enumerate(support) for s in range(most)],
        rule=lambda m, g, s: m.square[g] >= (2 * s + 1) * rows.size(g) - s * (s + 1) * m.open[g],
        doc="square[g] is at least S[g]²",
    )
    return sum(m.square[g] for g in m.CANDIDATES)
