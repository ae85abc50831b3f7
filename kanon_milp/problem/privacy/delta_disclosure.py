"""δ-disclosure privacy: the logarithm of how much more or less frequent a value is in a group stays below δ; and exact
comparison of rationals with e^δ and 2^δ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal

import pyomo.core as pyo

from kanon_milp.errors import InputError
from kanon_milp.problem.arguments import one_of
from kanon_milp.problem.exact import Number, both, largest_below, smallest_above
from kanon_milp.problem.privacy.base import NUMBER, TEXT, Parameter, Requirement, ValueLimits, name_attribute
from kanon_milp.problem.privacy.instance_data import InstanceData, Rows, cells
from kanon_milp.problem.privacy.p_sensitivity import PSensitivity
from kanon_milp.problem.privacy.shares import Caps, LimitedValues, declare_caps
from kanon_milp.problem.records import Group

if TYPE_CHECKING:
    from kanon_milp.problem.hierarchies import Label
    from kanon_milp.problem.table import Table

Base = Literal["natural", "base2"]
BASES = ("natural", "base2")


def below_power(value: Fraction, exponent: Fraction, base: Base) -> bool:
    """Whether value < e^exponent ("natural") or value < 2^exponent ("base2"), decided exactly. exponent > 0.

    The power itself is only computed where value is near it, so that no exponent is too large or too fine.
    """
    if value <= 1:
        return True
    # 2^bits is above value, so a power of at least that is, too
    bits = value.numerator.bit_length() - value.denominator.bit_length() + 1
    if exponent >= bits:
        return True
    if base == "base2" and exponent.denominator == 1:
        return value < Fraction(2) ** exponent.numerator
    # e^exponent is transcendental and 2^exponent irrational, so enough digits always decide
    digits = 30
    while True:
        exact = _power(exponent, base, digits)
        # relative error of the rounded exponent, carried through exp, and of the result
        margin = exact * (abs(exponent) + 2) * Fraction(10) ** (2 - digits)
        if abs(value - exact) > margin:
            return value < exact
        digits *= 2


@cache
def _power(exponent: Fraction, base: Base, digits: int) -> Fraction:
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emax=10**15, Emin=-(10**15))
    power = context.divide(exponent.numerator, exponent.denominator)
    if base == "base2":
        power = context.multiply(power, context.ln(2))
    return Fraction(context.exp(power))


Absent = Literal["violation", "ignored"]
ABSENT = ("violation", "ignored")


@dataclass(frozen=True)
class DeltaDisclosure(LimitedValues):
    """δ-disclosure privacy (Brickell, Shmatikov 2008, Definition 2): |log(q_σ/p_σ)| < δ for each value σ, where q is
    its share in the group and p its share in the table.

    log: "natural" or "base2". absent: a value of the table that the group lacks is a "violation" (log 0, as published),
    or is "ignored" (only values in the group count, as ARX reads it). The published reading is merge-closed; with
    absent values ignored a union can break it, since it can have a value too rarely that one part did not have at all.

    The bounds e^δ·p on q = X/S are irrational; since S ≤ n, the best fractions with denominators up to n beside them
    say exactly the same, so the model's coefficients are integers. `assign` stays integer.
    """

    delta: Number
    log: Base = "natural"
    absent: Absent = "violation"
    sensitive: str | None = None
    name: ClassVar[str] = "delta_disclosure"
    term: ClassVar[str] = "delta-disclosure privacy"
    against: ClassVar[str] = "skewness"
    source: ClassVar[str] = "Brickell and Shmatikov 2008"
    letter: ClassVar[str] = "delta"
    summary: ClassVar[str] = "delta-disclosure privacy: the natural logarithm of these shares' ratio stays within delta"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "delta": Parameter(NUMBER, metavar="D", help="delta-disclosure privacy, natural logarithm."),
        "log": Parameter(TEXT, "natural (default) or base2", BASES, usual="natural"),
        "absent": Parameter(TEXT, "an absent value is a violation (default) or ignored", ABSENT, usual="violation"),
    }
    sentence: ClassVar[str] = "the logarithm of no share{about} changes by {delta} or more in a group"

    def __post_init__(self) -> None:
        name_attribute(self)
        if self.exact <= 0:
            raise InputError(f"delta must be above 0, found {self.exact}")
        for what, value, known in (("log", self.log, BASES), ("absent", self.absent, ABSENT)):
            one_of(value, known, what)

    @property
    def merge_closed(self) -> bool:
        """As published; not where absent values are ignored."""
        return self.absent == "violation"

    def holds(self, group: Group) -> bool:
        """Exact check of both sides for each value."""
        table_group = group.reference
        counts = group.sensitive[self.attributes[0]]
        for value, expected in table_group.sensitive[self.attributes[0]].items():
            rows = counts.get(value, 0)
            if not rows:
                if self.absent == "violation":
                    return False
                continue
            ratio = Fraction(rows * table_group.size, expected * group.size)
            if not below_power(max(ratio, 1 / ratio), self.exact, self.log):
                return False
        return True

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData) -> None:
        """e^-δ·p_σ·S_g < X_σg < e^δ·p_σ·S_g, with exact integer coefficients for S_g ≤ n."""
        (attribute,) = self.attributes
        counts = instance.table_group.sensitive[attribute]
        declare_caps(block, model, instance, attribute, self._upper(counts))
        rows = Rows(model, instance, self.attributes)
        _, values = instance.sensitive_codes(self.attributes)
        lower = self._lower(counts)
        floor = [lower[value] for (value,) in values]
        support = instance.candidates.support.tolist()
        block.CELLS = cells(rows)
        if self.absent == "violation":

            @block.Constraint(block.CELLS, doc="every sensitive value has its least share of a group")
            def least(_block: pyo.Block, g: int, value: int) -> object:
                return floor[value].denominator * rows.with_value(g, value) >= floor[value].numerator * rows.size(g)

            lacking = [
                g for g in model.CANDIDATES if len(rows.values(g)) < len(values)
            ]  # only where candidates were not reduced
            block.LACKING = pyo.Set(
                initialize=lacking, ordered=pyo.Set.InsertionOrder, doc="candidates that lack a sensitive value"
            )

            @block.Constraint(block.LACKING, doc="a candidate that lacks a sensitive value is not used")
            def never(_block: pyo.Block, g: int) -> object:
                return model.open[g] <= 0

            return
        block.present = pyo.Var(block.CELLS, domain=pyo.Binary, doc="z[g,σ]: whether g receives a row with value σ")

        @block.Constraint(block.CELLS, doc="a sensitive value occurs only where z[g,σ] = 1")
        def occurs(b: pyo.Block, g: int, value: int) -> object:
            return rows.with_value(g, value) <= support[g] * b.present[g, value]

        # X_σg ≥ e^-δ·p_σ·S_g, unless z[g,σ] = 0 (then S_g ≤ N_g makes it hold)
        @block.Constraint(block.CELLS, doc="a sensitive value that occurs has its least share of the group")
        def least_if_present(b: pyo.Block, g: int, value: int) -> object:
            above, below = floor[value].numerator, floor[value].denominator
            absent = 1 - b.present[g, value]
            return below * rows.with_value(g, value) >= above * rows.size(g) - above * support[g] * absent

    def relaxations(self, table_group: Group) -> tuple[ValueLimits, ...]:
        """Upper shares; lower ones too where each value must be there."""
        (attribute,) = self.attributes
        counts = table_group.sensitive[attribute]
        if self.absent == "violation":
            return (ValueLimits(attribute, self._lower(counts), self._upper(counts), complete=True),)
        return (ValueLimits(attribute, upper=self._upper(counts)),)

    def certified(self, table: Table) -> tuple[Requirement, ...]:
        """That each value is there, where it must be; the limits of the shares are not rational."""
        (attribute,) = self.attributes
        every = table.column(attribute).n_unique()
        return (PSensitivity(every, attribute),) if self.absent == "violation" else ()

    def describe(self) -> dict[str, object]:
        """δ, the logarithm, the reading of absent values and the attribute."""
        return {**both("delta", self.exact), "log": self.log, "absent": self.absent, "sensitive": self.sensitive}

    def _upper(self, counts: Mapping[Label, int]) -> Caps:
        n = sum(counts.values())

        def cap(rows: int) -> Fraction:
            if below_power(Fraction(n, rows), self.exact, self.log):
                return Fraction(1)  # no share is larger, however large e^δ is
            return largest_below(lambda share: below_power(share * n / rows, self.exact, self.log), n)

        return {value: cap(rows) for value, rows in counts.items()}

    def _lower(self, counts: Mapping[Label, int]) -> Caps:
        n = sum(counts.values())

        def floor(rows: int) -> Fraction:
            # share ≤ e^-δ·p, as long as it is not (p/share < e^δ)
            found = smallest_above(
                lambda share: not (share > 0 and below_power(Fraction(rows, n) / share, self.exact, self.log)), n
            )
            assert found is not None
            return found

        return {value: floor(rows) for value, rows in counts.items()}
