"""l rows that pairwise differ in every sensitive attribute (Blocki, Williams 2010, Definition 1)."""

from __future__ import annotations

from collections.abc import Sequence

import pyomo.environ as pyo

from kanon_milp.errors import UndecidedError
from kanon_milp.problem.hierarchies import Label
from kanon_milp.problem.privacy.cells import Rows, cells
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
    n = instance.types.counts.tolist()
    block.CELLS = cells(rows)
    block.present = pyo.Var(block.CELLS, domain=pyo.Binary, doc="z[g,τ]: whether the joint value τ occurs in g")
    partners = {
        (g, value): [other for other in rows.values(g) if _differ(joint[value], joint[other])]
        for g, value in rows.index()
    }
    block.CHOICES = pyo.Set(
        dimen=3,
        initialize=[(g, value, other) for (g, value), others in partners.items() for other in others],
        doc="(g, τ, τ') where τ and τ' differ in every attribute",
    )
    block.partner = pyo.Var(block.CHOICES, domain=pyo.Binary, doc="w[g,τ,τ']: τ' is chosen as a partner of τ in g")

    @block.Constraint(block.CELLS, doc="a joint value with z[g,τ] = 1 occurs")
    def occurs(b: pyo.Block, g: int, value: int) -> object:
        return rows.with_value(g, value) >= b.present[g, value]

    block.MEMBERS = pyo.Set(
        dimen=3,
        initialize=[(g, value, i) for g, value in rows.index() for i in rows.types(g, value)],
        doc="(g, τ, i) where row type i of the cover of g has the joint value τ",
    )

    @block.Constraint(block.MEMBERS, doc="a joint value with z[g,τ] = 0 does not occur")
    def admits(b: pyo.Block, g: int, value: int, i: int) -> object:
        return model.assign[i, g] <= n[i] * b.present[g, value]

    @block.Constraint(block.CELLS, doc="nothing occurs in a candidate that is not used")
    def closed(b: pyo.Block, g: int, value: int) -> object:
        return b.present[g, value] <= model.open[g]

    @block.Constraint(block.CELLS, doc="a joint value that occurs has l-1 partners")
    def enough(b: pyo.Block, g: int, value: int) -> object:
        chosen = sum(b.partner[g, value, other] for other in partners[g, value])
        return chosen >= (number - 1) * b.present[g, value]

    @block.Constraint(block.CHOICES, doc="a partner occurs")
    def exists(b: pyo.Block, g: int, value: int, other: int) -> object:
        return b.partner[g, value, other] <= b.present[g, other]

    alike: dict[tuple[int, int, int, Label], list[int]] = {}
    for (g, value), others in partners.items():
        for other in others:
            for attribute, label in enumerate(joint[other]):
                alike.setdefault((g, value, attribute, label), []).append(other)
    crowded = [(key, others) for key, others in alike.items() if len(others) > 1]
    block.ALIKE = pyo.RangeSet(0, len(crowded) - 1, doc="sets of possible partners of one τ that share a value")

    @block.Constraint(block.ALIKE, doc="partners differ from each other: at most one of those that share a value")
    def differ(b: pyo.Block, number_of: int) -> object:
        (g, value, _, _), others = crowded[number_of]
        return sum(b.partner[g, value, other] for other in others) <= 1
