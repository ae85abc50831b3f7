"""The set-partitioning formulation: every group is a variable. For tiny tables, complete, no columns generated."""

from __future__ import annotations

import pyomo.environ as pyo

from kanon_milp.formulations.enumeration import enumerate_groups
from kanon_milp.formulations.parts import add_assignment, add_objective_and_sides, add_sets
from kanon_milp.presolve.instance import Instance


def build_groups(instance: Instance) -> pyo.ConcreteModel:
    """Partition the rows into groups: use[c] says how often group c, a_ic rows of each row type i, is used.

    Set partitioning is Σ_c a_ic use[c] = n_i at least Σ_c w_g(c) |c| use[c]; here through assign[i,g] = Σ_{c of g} a_ic
    use[c], so that objectives, side constraints and whatever reads `assign` and `open` are those of the other
    formulations. What requirements ask for is in the list of groups: the model has no constraints for them.

    The list (see `enumeration`) has the groups that cannot be split, if requirements are merge-closed: what a
    candidate receives in a solution is a union of such, and each union is allowed. It is complete for every objective
    and side constraint, since these count loss and open candidates and splitting changes neither. Otherwise it has all
    groups, and a candidate receives at most one.

    For k-anonymity its linear relaxation is worth as much as that of the strong formulation. Proof. A point of the
    latter has, for y[g] > 0, x[g]/y[g] in {Σx ≥ κ, 0 ≤ x ≤ n}, whose vertices are integral; each splits into groups of
    κ to 2κ-1 rows. Conversely groups add up to Σ_i x[i,g] ≥ κ Σ_c use[c] ≥ κ y[g], and `linked` is the same constraint.
    So nothing is gained before cuts over groups are added, such as those of rank 1 in `bounds.rank_one_cuts`.
    """
    groups = enumerate_groups(instance)
    m = pyo.ConcreteModel(name=instance.problem.name)
    add_sets(m, instance)
    m.GROUPS = pyo.RangeSet(0, groups.count - 1, doc="groups c")
    most = groups.most(instance.types.counts).tolist()

    add_assignment(m, instance, pyo.NonNegativeIntegers)
    m.use = pyo.Var(
        m.GROUPS,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, c: (0, most[c]),
        doc="θ[c]: how often group c is used",
    )

    groups_of: list[list[int]] = [[] for _ in m.CANDIDATES]
    groups_with: dict[tuple[int, int], list[int]] = {pair: [] for pair in m.PAIRS}
    a: dict[tuple[int, int], int] = {}  # a_ic, rows of type i in group c
    for c, (g, types, copies) in enumerate(groups.each()):
        groups_of[g].append(c)
        for i, rows in zip(types, copies, strict=True):
            groups_with[i, g].append(c)
            a[i, c] = rows

    # Σ_{c of g} a_ic θ[c] = x[i,g]
    @m.Constraint(m.PAIRS, doc="rows come in one of the groups")
    def received(m: pyo.ConcreteModel, i: int, g: int) -> object:
        return sum(a[i, c] * m.use[c] for c in groups_with[i, g]) == m.assign[i, g]

    # Σ_{c of g} θ[c] ≥ y[g], or = y[g], where a union may not be a group
    @m.Constraint(m.CANDIDATES, doc="an open candidate has a group")
    def formed(m: pyo.ConcreteModel, g: int) -> object:
        used = sum(m.use[c] for c in groups_of[g])
        return used >= m.open[g] if instance.problem.merge_closed else used == m.open[g]

    add_objective_and_sides(m, instance)
    return m
