"""l rows that pairwise differ in every sensitive attribute (Blocki, Williams 2010, Definition 1)."""

from __future__ import annotations

from collections.abc import Sequence

import pyomo.environ as pyo

from kanon_milp.errors import UndecidedError
from kanon_milp.problem.expressions import weighted_sum
from kanon_milp.problem.hierarchies import Label
from kanon_milp.problem.privacy.cells import Rows
from kanon_milp.problem.privacy.instance_data import InstanceData

Values = tuple[Label, ...]
STEPS = 200_000  # comparisons of two joint values: with three attributes and more the question is NP-hard


def each_has_partners(present: Sequence[Values], number: int) -> bool:
    """Whether each of these joint values is one of `number` that pairwise differ in every attribute.

    Raises UndecidedError where a value takes more than `STEPS` comparisons, and those of going straight down.
    """
    most = STEPS + number * len(present)
    return all(_extend([own], [other for other in present if _differ(own, other)], number, [most]) for own in present)


def _extend(chosen: list[Values], possible: list[Values], number: int, steps: list[int]) -> bool:
    """Whether `chosen`, pairwise different, can be made `number` long from the possible ones (all differ from it)."""
    if len(chosen) >= number:
        return True
    for position, one in enumerate(possible):
        if len(chosen) + len(possible) - position < number:
            return False
        steps[0] -= len(possible) - position
        if steps[0] < 0:
            raise UndecidedError(
                f"l-diversity, form blocki-williams: whether a group has l = {number} could not be decided within "
                f"{STEPS:,} steps; choose a smaller l, fewer attributes, or another formulation"
            )
        rest = [other for other in possible[position + 1 :] if _differ(one, other)]
        if _extend([*chosen, one], rest, number, steps):
            return True
    return False


def _differ(left: Values, right: Values) -> bool:
    return all(a != b for a, b in zip(left, right, strict=True))


def declare(
    block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData, attributes: Sequence[str], number: int
) -> None:
    """State for each candidate g: a joint value τ that occurs in the group has number-1 partners there.

    z[g,τ] = 1 exactly if τ occurs; w[g,τ,τ'] = 1 chooses τ' as a partner of τ. Any two chosen ones differ in every
    attribute exactly if no attribute has one value twice among them, τ itself included.
    """
    rows = Rows(model, instance, attributes)
    _, joint = instance.sensitive_codes(attributes)
    counts = instance.types.counts.tolist()
    members = {(g, value): rows.with_value(g, value) for g, value in rows.index()}
    block.CELLS = pyo.Set(dimen=2, initialize=list(members), ordered=pyo.Set.InsertionOrder)
    block.present = pyo.Var(block.CELLS, domain=pyo.Binary)
    partners = {
        (g, value): [other for other in rows.values(g) if _differ(joint[value], joint[other])] for g, value in members
    }
    block.CHOICES = pyo.Set(
        dimen=3, initialize=[(g, value, other) for (g, value), others in partners.items() for other in others]
    )
    block.partner = pyo.Var(block.CHOICES, domain=pyo.Binary)

    # z says what occurs: Σ_i x[i,τ,g] ≥ z[g,τ] ...
    @block.Constraint(block.CELLS)
    def occurs(b: pyo.Block, g: int, value: int) -> object:
        xs = members[g, value]
        return (0, weighted_sum([*[1] * len(xs), -1], [*xs, b.present[g, value]]), None)

    # ... and x[i,τ,g] ≤ n_iτ · z[g,τ]
    block.MEMBERS = pyo.Set(
        dimen=3, initialize=[(g, value, x.index()[0]) for (g, value), xs in members.items() for x in xs]
    )

    @block.Constraint(block.MEMBERS)
    def admits(b: pyo.Block, g: int, value: int, i: int) -> object:
        return model.assign[i, g] <= counts[i] * b.present[g, value]

    # nothing occurs in a closed group
    @block.Constraint(block.CELLS)
    def closed(b: pyo.Block, g: int, value: int) -> object:
        return b.present[g, value] <= model.open[g]

    # who occurs has enough partners: Σ_τ' w[g,τ,τ'] ≥ (l-1)·z[g,τ]
    @block.Constraint(block.CELLS)
    def enough(b: pyo.Block, g: int, value: int) -> object:
        ws = [b.partner[g, value, other] for other in partners[g, value]]
        return (0, weighted_sum([*[1] * len(ws), 1 - number], [*ws, b.present[g, value]]), None)

    # a partner occurs: w[g,τ,τ'] ≤ z[g,τ']
    @block.Constraint(block.CHOICES)
    def exists(b: pyo.Block, g: int, value: int, other: int) -> object:
        return b.partner[g, value, other] <= b.present[g, other]

    # partners of one row differ from each other: each value of each attribute at most once among them
    alike: dict[tuple[int, int, int, Label], list[int]] = {}
    for (g, value), others in partners.items():
        for other in others:
            for attribute, label in enumerate(joint[other]):
                alike.setdefault((g, value, attribute, label), []).append(other)
    crowded = [(key, others) for key, others in alike.items() if len(others) > 1]
    block.ALIKE = pyo.RangeSet(0, len(crowded) - 1)

    @block.Constraint(block.ALIKE)
    def differ(b: pyo.Block, number_of: int) -> object:
        (g, value, _, _), others = crowded[number_of]
        return (None, weighted_sum([1] * len(others), [b.partner[g, value, other] for other in others]), 1)
