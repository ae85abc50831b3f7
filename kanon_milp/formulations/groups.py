"""The set-partitioning formulation: every group is a variable. For tiny tables, complete, no columns generated."""

from __future__ import annotations

import pyomo.environ as pyo

from kanon_milp.formulations.enumeration import enumerate_groups
from kanon_milp.formulations.parts import add_objective_and_sides, add_sets, candidates_of_types
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.expressions import weighted_sum


def build_groups(instance: Instance) -> pyo.ConcreteModel:
    """Partition the rows into groups: use[c] says how often group c, a_ic rows of each row type i, is used.

    Set partitioning is Σ_c a_ic use[c] = n_i at least Σ_c w_g(c) |c| use[c]; here through assign[i,g] = Σ_{c of g} a_ic
    use[c], so that objectives, side constraints and whatever reads `assign` and `open` are those of the other
    formulations. What requirements ask for is in the list of groups: the model has no rows for them.

    The list (see `enumeration`) has the groups that cannot be split, if requirements are merge-closed: what a
    candidate receives in a solution is a union of such, and each union is allowed. It is complete for every objective
    and side constraint, since these count loss and open candidates and splitting changes neither. Otherwise it has all
    groups, and a candidate receives at most one.

    For k-anonymity its linear relaxation is worth as much as that of the strong formulation. Proof. A point of the
    latter has, for y[g] > 0, x[g]/y[g] in {Σx ≥ κ, 0 ≤ x ≤ n}, whose vertices are whole; each splits into groups of κ
    to 2κ-1 rows. Conversely groups add up to Σ_i x[i,g] ≥ κ Σ_c use[c] ≥ κ y[g], and `linked` is the same row. So
    nothing is gained before rows over groups are added, such as those of rank 1 in `bounds.rank_one`.
    """
    groups = enumerate_groups(instance)
    m = pyo.ConcreteModel(name=instance.problem.name)
    add_sets(m, instance)
    m.GROUPS = pyo.RangeSet(0, groups.count - 1)
    n, most = instance.types.counts.tolist(), groups.most(instance.types.counts).tolist()

    # x[i,g]: how many rows of type i candidate g receives;  y[g]: whether candidate g is used
    m.assign = pyo.Var(m.PAIRS, domain=pyo.NonNegativeIntegers, bounds=lambda _, i, g: (0, n[i]))
    m.open = pyo.Var(m.CANDIDATES, domain=pyo.Binary)
    # θ[c]: how often group c is used
    m.use = pyo.Var(m.GROUPS, domain=pyo.NonNegativeIntegers, bounds=lambda _, c: (0, most[c]))

    of_candidate: list[list[int]] = [[] for _ in m.CANDIDATES]
    of_pair: dict[tuple[int, int], tuple[list[int], list[int]]] = {pair: ([], []) for pair in m.PAIRS}
    for c, (g, types, copies) in enumerate(groups.each()):
        of_candidate[g].append(c)
        for i, rows in zip(types, copies, strict=True):
            held, numbers = of_pair[i, g]
            held.append(rows)
            numbers.append(c)

    # every row goes somewhere: Σ_g x[i,g] = n_i
    candidates_of = candidates_of_types(instance)

    @m.Constraint(m.ROW_TYPES)
    def placed(m: pyo.ConcreteModel, i: int) -> object:
        gs = candidates_of[i]
        return weighted_sum([1] * len(gs), [m.assign[i, g] for g in gs]) == n[i]

    # and comes in one of the groups: x[i,g] = Σ_{c of g} a_ic θ[c]
    @m.Constraint(m.PAIRS)
    def received(m: pyo.ConcreteModel, i: int, g: int) -> object:
        held, numbers = of_pair[i, g]
        return weighted_sum([*held, -1], [*(m.use[c] for c in numbers), m.assign[i, g]]) == 0

    # only of an open candidate: x[i,g] ≤ n_i · y[g]
    @m.Constraint(m.PAIRS)
    def linked(m: pyo.ConcreteModel, i: int, g: int) -> object:
        return m.assign[i, g] <= n[i] * m.open[g]

    # and an open candidate has groups: Σ_{c of g} θ[c] ≥ y[g], or one, where a union may not be a group
    least = None if instance.problem.merge_closed else 0

    @m.Constraint(m.CANDIDATES)
    def formed(m: pyo.ConcreteModel, g: int) -> object:
        numbers = of_candidate[g]
        return (least, weighted_sum([1, *[-1] * len(numbers)], [m.open[g], *(m.use[c] for c in numbers)]), 0)

    add_objective_and_sides(m, instance)
    return m
