"""l-diversity: no sensitive value is too frequent in a group, or each row has partners that differ in all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pyomo.core as pyo

from kanon_milp.errors import InputError, UndecidedError
from kanon_milp.problem.arguments import column_names, one_of
from kanon_milp.problem.exact import Number, both, exact_parameter, in_words, text_in_words
from kanon_milp.problem.privacy.base import (
    NUMBER,
    TEXT,
    Parameter,
    Shortfall,
    Swept,
    ValueLimits,
    name_attribute,
    sensitive_names,
)
from kanon_milp.problem.privacy.diversity import (
    declare_recursive,
    declare_sums,
    enough_entropy,
    entropy_share,
    listed,
    recursive_holds,
    recursive_share,
    recursive_values,
)
from kanon_milp.problem.privacy.instance_data import InstanceData, Rows, cells
from kanon_milp.problem.privacy.shares import LimitedValues, declare_caps
from kanon_milp.problem.records import Group, Label

if TYPE_CHECKING:
    from kanon_milp.problem.table import Table

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


def declare_partners(
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


Form = Literal["frequency", "distinct", "blocki-williams", "entropy", "recursive"]
FORMS = ("frequency", "distinct", "blocki-williams", "entropy", "recursive")
RATIONAL = ("frequency", "entropy")  # whose l need not be an integer


@dataclass(frozen=True)
class LDiversity(LimitedValues):
    """l-diversity in one of five forms.

    frequency: each value of the sensitive attribute makes up at most 1/l of each group (Wong et al. 2006; Bredereck et
    al. 2012, Definition 4); l may be any rational from 1 on. `assign` stays integer: these constraints are no network.
    distinct: at least l different values in each group, the same as p-sensitivity with p = l.
    blocki-williams: for every row of a group there are l-1 others in it such that the l rows pairwise differ in every
    one of the sensitive attributes (Blocki, Williams 2010, Definition 1); for a single attribute the same as distinct.
    entropy: -Σ p log p ≥ log l for the shares p of the values in a group (Machanavajjhala et al. 2007, Definition 4.1),
    decided in integers; l may be any rational from 1 on.
    recursive: r_1 < c·(r_l + ... + r_m) for the numbers of rows r_1 ≥ ... ≥ r_m by value (their Definition 4.2). c: an
    exact rational above 0.

    sensitive: an attribute; for blocki-williams one or several. By default every sensitive attribute of the table:
    jointly for blocki-williams, each on its own for the others. All forms are merge-closed. Entropy: S log S -
    Σ X log X - S log l is concave and homogeneous in the rows X, so it is superadditive. Recursive: it is X_σ +
    c·X(A) < c·S for each set A of l-1 values and each σ, which adds up.
    """

    l: Number  # noqa: E741  (the papers' letter)
    form: Form = "frequency"
    sensitive: str | Sequence[str] | None = None
    c: Number | None = None
    name: ClassVar[str] = "l_diversity"
    term: ClassVar[str] = "l-diversity"
    against: ClassVar[str] = "homogeneity and, with a larger l, background knowledge"
    source: ClassVar[str] = "Machanavajjhala et al. 2007; frequency form: Wong et al. 2006"
    letter: ClassVar[str] = "l"
    summary: ClassVar[str] = "l-diversity, exact as written: no sensitive value makes up more than 1/l of a group"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "l": Parameter(
            NUMBER, metavar="L", help="l-diversity, a rational: no value makes up more than 1/l of a group."
        ),
        "form": Parameter(
            TEXT,
            "frequency (default), distinct, blocki-williams, entropy or recursive",
            option="--l-form",
            help="frequency, distinct, blocki-williams, entropy or recursive.",
            usual="frequency",
        ),
        "c": Parameter(
            NUMBER,
            "the c of recursive (c,l)-diversity",
            option="--l-c",
            metavar="C",
            help="The c of recursive (c,l)-diversity, a rational.",
        ),
    }
    swept: ClassVar[Swept] = Swept(1, "1.5,2,3")
    compares: ClassVar[bool] = False
    most: ClassVar[str] = "n/l"
    merge_closed: ClassVar[bool] = True  # a union has the values of both parts, and shares between theirs

    def __post_init__(self) -> None:
        one_of(self.form, FORMS, "the form of l-diversity")
        if self.form == "blocki-williams" and self.sensitive is not None:
            object.__setattr__(self, "sensitive", column_names(self.sensitive, "sensitive"))
        elif isinstance(self.sensitive, list | tuple):
            raise InputError(f"the {self.form} form of l-diversity is about one sensitive attribute at a time")
        else:
            name_attribute(self)
        if self.exact < 1:
            raise InputError(f"l must be at least 1, found {self.exact}")
        if self.form not in RATIONAL and self.exact.denominator != 1:
            raise InputError(f"l must be an integer for the {self.form} form, found {self.exact}")
        if (self.form == "recursive") != (self.c is not None):
            raise InputError(
                "l-diversity: c (--l-c) is for the recursive form alone (--l-form recursive), and that form needs it"
            )
        if self.c is not None and self.exact_c <= 0:
            raise InputError(f"c must be above 0, found {self.exact_c}")

    @property
    def exact_c(self) -> Fraction:
        """The c of the recursive form, exactly."""
        return exact_parameter(self.c, "c")

    @classmethod
    def in_words(cls, claims: Mapping[str, Any], about: str) -> str:
        """What the form asks for, in words of the data."""
        number, least = Fraction(claims["l"]), text_in_words(claims["l"])
        most = {"1": "all", "2": "half", "3": "a third", "4": "a quarter"}.get(str(number), in_words(1 / number))
        said = {
            "frequency": f"in each group, no value{about} makes up more than {most} of the rows",
            "distinct": f"in each group there are at least {least} different values{about}",
            "blocki-williams": f"in each group, every row is one of {least} that pairwise differ in each value{about}",
            "entropy": f"in each group, the values{about} have at least the entropy of {least} equally frequent ones",
            "recursive": f"in each group, the most frequent value{about} has fewer rows than "
            f"{text_in_words(claims.get('c'))} times all from the {least}. most frequent one on",
        }
        return said[claims["form"]]

    def bind(self, table: Table) -> tuple[LDiversity, ...]:
        """One for each attribute, but one for all of them in the form blocki-williams."""
        names = sensitive_names(self.name, self.sensitive, table)
        if self.form == "blocki-williams":
            return (replace(self, sensitive=names),)
        return tuple(replace(self, sensitive=name) for name in names)

    @property
    def keeps_flow_structure(self) -> bool:
        """The distinct and Blocki-Williams forms bound cells."""
        return self.form in ("distinct", "blocki-williams")

    @property
    def absence_matters(self) -> bool:
        """For Blocki-Williams each row needs partners of its own."""
        return self.form == "blocki-williams"

    @property
    def needs_group_size(self) -> bool:
        """Shares compare with the size."""
        return self.form not in ("distinct", "blocki-williams")

    def relaxations(self, table_group: Group) -> tuple[ValueLimits, ...]:
        """Upper shares, or different values of each attribute, which partners of each row are more than."""
        if self.form == "frequency":
            (attribute,) = self.attributes
            upper = dict.fromkeys(table_group.sensitive[attribute], 1 / self.exact)
            return (ValueLimits(attribute, upper=upper, complete=True),)
        if self.form in ("entropy", "recursive"):
            (attribute,) = self.attributes
            table, n = table_group.sensitive[attribute], table_group.size
            if self.form == "entropy":
                share, different, complete = (
                    entropy_share(self.exact, len(table), n),
                    math.ceil(self.exact),
                    len(table) == 2,
                )
            else:
                l = int(self.exact)  # noqa: E741
                share, different, complete = (
                    recursive_share(self.exact_c, l, n),
                    recursive_values(self.exact_c, l),
                    l <= 2,
                )
            return (ValueLimits(attribute, upper=dict.fromkeys(table, share), different=different, complete=complete),)
        number, complete = int(self.exact), self.form == "distinct"
        return tuple(ValueLimits(attribute, different=number, complete=complete) for attribute in self.attributes)

    def shortfall(self, table_group: Group) -> Shortfall | None:
        """What is said of shares; of the entropy and the recursive form that all rows are not diverse enough."""
        if self.form not in ("entropy", "recursive"):
            return super().shortfall(table_group)
        return Shortfall(f'the column "{self.attributes[0]}" of the table itself, as one group, is not as diverse')

    def holds(self, group: Group) -> bool:
        """Exact check of one group."""
        if self.form == "entropy":
            return enough_entropy(group.sensitive[self.attributes[0]].values(), self.exact)
        if self.form == "recursive":
            return recursive_holds(group.sensitive[self.attributes[0]].values(), self.exact_c, int(self.exact))
        if self.form != "blocki-williams":
            return super().holds(group)
        at = [group.names.index(name) for name in self.attributes]
        present = {tuple(values[j] for j in at) for values in group.tuples}
        return each_has_partners(sorted(present, key=str), int(self.exact))

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData) -> None:
        """frequency: l·X_σg ≤ S_g for each value σ; for the others see `declare_partners`, `declare_recursive`,
        `declare_sums`."""
        if self.form == "blocki-williams":
            declare_partners(block, model, instance, self.attributes, int(self.exact))
        elif self.form == "recursive":
            declare_recursive(block, model, instance, self.attributes, self.exact_c, int(self.exact))
        elif self.form == "entropy":
            (limits,) = self.relaxations(instance.table_group)
            declare_caps(block, model, instance, limits.attribute, limits.upper)
            if not limits.complete:
                exact = self.exact
                declare_sums(
                    block, model, instance, self.attributes, lambda counts: enough_entropy(counts.values(), exact)
                )
        else:
            super().declare(block, model, instance)

    def states_less(self, instance: InstanceData) -> bool:
        """The entropy form of more than two values, where a candidate has too many groups to be listed."""
        if self.form != "entropy" or len(instance.table_group.sensitive[self.attributes[0]]) == 2:
            return False
        return not bool(listed(instance, self.attributes).all())

    def certified(self, table: Table) -> tuple[LDiversity, ...]:
        """All of it; of the entropy and the recursive form shares and different values."""
        if self.form not in ("entropy", "recursive"):
            return (self,)
        (attribute,) = self.attributes
        if self.form == "entropy":
            values = table.column(attribute).n_unique()
            share, different = entropy_share(self.exact, max(values, 3), 1), math.ceil(self.exact)
        else:
            l = int(self.exact)  # noqa: E741
            share = self.exact_c / (1 + self.exact_c) if l > 1 else min(self.exact_c, Fraction(1))
            different = recursive_values(self.exact_c, l)
        return (LDiversity(1 / share, sensitive=attribute), LDiversity(different, "distinct", attribute))

    def describe(self) -> dict[str, object]:
        """The number l, the form, c where there is one, and the attributes."""
        sensitive = self.sensitive if isinstance(self.sensitive, str | None) else list(self.sensitive)
        c = {} if self.c is None else both("c", self.exact_c)
        return {**both("l", self.exact), "form": self.form, **c, "sensitive": sensitive}
