"""Groups of a released table: sizes, the strongest privacy that holds in each, which requirements they meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl

from kanon_milp.errors import InputError, UndecidedError
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.verify.counts import Coding, Counts, Matching
from kanon_milp.verify.definitions import MeanRule, SizeRule, ValueRule
from kanon_milp.verify.definitions.l_diversity import pairwise_diversity
from kanon_milp.verify.ground import Ground, Numeric, Ordered
from kanon_milp.verify.numbers import NEAR, EntropyDiversity, LogRatio, Ratios, in_words, less
from kanon_milp.verify.tables import list_rows, tally


@dataclass(frozen=True)
class SensitiveFacts:
    """The strongest that holds in every group for one sensitive attribute; a missing value is a value of its own.

    p: fewest different values in a group (p-sensitivity, distinct l-diversity). l: least size / largest count of a
    value (frequency l-diversity). l_entropy: exp(entropy) of the group where it is least (entropy l-diversity).
    recursive: l → largest r_1 / (r_l + ... + r_m), where r_1 ≥ ... ≥ r_m are the counts of a group, for l from 2 to p:
    recursive (c,l)-diversity (Machanavajjhala et al. 2007, Definition 4.2) holds for every larger c.
    closeness: ground distance → largest earth mover's distance to the entire table (t-closeness). beta: largest
    (q-p)/p of a value with the share q in a group and p in the table (basic β-likeness). delta: largest |ln(q/p)| over
    all values of the table, None where a group lacks one (δ-disclosure privacy as published); delta_present: over the
    values that a group has (as ARX reads it).
    """

    p: int
    l: Fraction  # noqa: E741  (the papers' letter)
    l_entropy: EntropyDiversity
    recursive: Mapping[int, Fraction]
    closeness: Mapping[str, Fraction]
    beta: Fraction
    delta: LogRatio | None
    delta_present: LogRatio

    @property
    def l_distinct(self) -> int:
        """Fewest different values in a group."""
        return self.p

    @property
    def alpha(self) -> Fraction:
        """Largest share of a value in a group ((α,k)-anonymity)."""
        return 1 / self.l

    @property
    def t(self) -> Fraction:
        """Largest distance ½ Σ |share in the group - share in the table| (t-closeness with equal ground distance)."""
        return self.closeness["equal"]


@dataclass(frozen=True)
class GroupFacts:
    """What holds for a set of groups.

    k_strict: size of the smallest group. k_exempt: of the smallest one that is not fully suppressed, None if
    there is none.
    sensitive: per sensitive attribute what holds in every group. l_pairwise: largest l such that each row has l-1
    others in its group, all l of them pairwise different in every sensitive attribute (Blocki, Williams 2010,
    Definition 1); None with less than two sensitive attributes, or where the search for it would take too long.
    unit: the unit of protection where units are counted; units_strict, units_exempt: the fewest of them in a group.
    """

    groups: int
    k_strict: int
    k_exempt: int | None
    mean_group: Fraction
    largest_group: int
    sensitive: Mapping[str, SensitiveFacts]
    l_pairwise: int | None = None
    unit: str | None = None
    units_strict: int | None = None
    units_exempt: int | None = None


def sensitive_facts(counts: Counts, closeness: Mapping[str, Ratios]) -> SensitiveFacts:
    """The strongest that holds in every group for the one attribute that is counted. closeness: as `closeness_of`."""
    p = int(counts.distinct.min())
    present = LogRatio(counts.changes.largest)
    return SensitiveFacts(
        p=p,
        l=counts.frequency.least,
        l_entropy=_least_entropy(counts),
        recursive={number: counts.recursive(number).largest for number in range(2, p + 1)},
        closeness={name: ratios.largest for name, ratios in closeness.items()},
        beta=counts.gains.largest - 1,
        delta=present if p == len(counts.labels) else None,
        delta_present=present,
    )


def closeness_of(counts: Counts, given: Sequence[Ground], where: str) -> dict[str, Ratios]:
    """Ground distance → per group the earth mover's distance to the entire table.

    Besides equal distance: those given, and ordered and numeric distance where all values are numbers.
    where: what messages call the column.
    """
    named: dict[str, Ground] = {}
    for distance in given:
        if distance.name == "equal" or distance in named.values():
            continue
        taken = sum(name.split()[0] == distance.name for name in named)
        named[f"{distance.name} {taken + 1}" if taken else distance.name] = distance
    for distance in (Ordered(), Numeric()):
        named.setdefault(distance.name, distance)
    found = {"equal": counts.equal_distance}
    for name, distance in named.items():
        try:
            geometry = distance.over(counts.values, where)
        except InputError:  # not numbers; or the sensitive values were changed, which is a violation of its own
            continue
        found[name] = geometry.distances(counts)
    return found


def group_diversity(counts: Counts, g: int) -> EntropyDiversity:
    """Entropy l-diversity of one group."""
    return EntropyDiversity(tuple(sorted(counts.of_group(g).values(), reverse=True)))


def _least_entropy(counts: Counts) -> EntropyDiversity:
    entropies = counts.entropies
    near = np.flatnonzero(entropies <= entropies.min() + NEAR)
    # floats cannot tell these from each other; equal numbers have the same powers of primes
    found = {group_diversity(counts, g) for g in near.tolist()}
    least, *others = sorted(found, key=lambda diversity: (diversity.size, diversity.counts))
    for other in others:
        if other.powers != least.powers and less(other, least):
            least = other
    return least


@dataclass(frozen=True, eq=False, repr=False)
class Sensitive:
    """The sensitive attributes of a released table, row by row, and those of its original.

    released, original: as text; where units are counted they are the last column, which a released table does not have:
    that of the original, row by row. hidden: names of columns that are no sensitive attribute. weights: int64, how many
    rows each row of both stands for. distances: per attribute ground distances to report, besides those that need no
    more than the values. source: what messages call the table.
    """

    released: pl.DataFrame
    original: pl.DataFrame
    weights: tuple[Ints, Ints]
    distances: Mapping[str, Sequence[Ground]] = field(default_factory=dict)
    source: str = "table"
    hidden: tuple[str, ...] = ()
    _codings: dict[tuple[bool, tuple[str, ...]], Coding] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes."""
        return tuple(name for name in self.released.columns if name not in self.hidden)

    @cached_property
    def unchanged(self) -> bool:
        """Whether the released values are those of the original."""
        before, after = self.weights
        return np.array_equal(before, after) and self.released.equals(self.original)

    def coding(self, names: Sequence[str], *, original: bool = True) -> Coding:
        """Joint values as numbers, compared with the original table or with the released one itself."""
        original = original or self.unchanged
        key = original, tuple(names)
        if key not in self._codings:
            # one frame for both where nothing was changed, so that values are numbered once
            reference = self.original if original else self.released
            held = reference if self.unchanged else self.released
            weights = self.weights[0], self.weights[1 if original else 0]
            self._codings[key] = Coding.of(names, held, reference, weights)
        return self._codings[key]


@dataclass(frozen=True, eq=False)
class Grouping:
    """Rows in groups, numbered from 0 in the order of their first rows; or, for each of the different rows, all that
    match it, where `matching` says what matches.

    of_row: int64 (n,), the group of each row. size: int64 (groups,). suppressed: bool (groups,), whether each
    of the group's cells is the symbol. title: what a group is, for messages.
    """

    of_row: Ints
    size: Ints
    suppressed: Flags
    sensitive: Sensitive
    title: str
    matching: Matching | None = None
    _counts: dict[Coding, Counts] = field(default_factory=dict, repr=False)

    @classmethod
    def build(cls, of_row: Ints, suppressed_rows: Flags, sensitive: Sensitive, title: str) -> Grouping:
        """Collect rows into groups. suppressed_rows: bool (n,), whether the row is fully suppressed."""
        size = tally(of_row, sensitive.weights[0])
        suppressed = np.bincount(of_row[~suppressed_rows], minlength=len(size)) == 0
        return cls(of_row, size, suppressed, sensitive, title)

    @classmethod
    def of_matching(cls, matching: Matching, suppressed_rows: Flags, sensitive: Sensitive) -> Grouping:
        """For each of the different rows all that match it. A row that is missing in all keys is alike with a fully
        suppressed one here, and is none: its set counts as that of any other row."""
        suppressed = np.ones(len(matching.size), dtype=bool)
        suppressed[matching.of_row[~suppressed_rows]] = False
        return cls(matching.of_row, matching.size, suppressed, sensitive, "sets of matching rows", matching)

    def held(self, unit: str | None) -> Ints:
        """How many rows each group has, int64 (groups,), or how many different units."""
        return self.size if unit is None else self.counts_of(self.sensitive.coding([unit])).distinct

    @cached_property
    def mean_risk(self) -> Fraction:
        """The mean over the rows of 1/|group|."""
        weights = self.sensitive.weights[0]
        sizes, at = np.unique(self.size[self.of_row], return_inverse=True)
        total = sum(Fraction(n, size) for size, n in zip(sizes.tolist(), tally(at, weights).tolist(), strict=True))
        return Fraction(total, int(weights.sum()))

    def counts_of(self, coding: Coding) -> Counts:
        """How often joint values occur in the groups."""
        if coding not in self._counts:
            counted = self.matching and Counts.of_matching(self.matching, coding)
            self._counts[coding] = counted or Counts.build(self.of_row, coding)
        return self._counts[coding]

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """Per sensitive attribute how often its values occur in the groups, the reference being the released table."""
        coding = self.sensitive.coding
        return {name: self.counts_of(coding([name], original=False)) for name in self.sensitive.names}

    @cached_property
    def closeness(self) -> dict[str, dict[str, Ratios]]:
        """Per sensitive attribute and ground distance the distance of each group to the entire table."""
        return {
            name: closeness_of(
                counts, self.sensitive.distances.get(name, ()), f'{self.sensitive.source}: column "{name}"'
            )
            for name, counts in self.counts.items()
        }

    @cached_property
    def facts(self) -> GroupFacts:
        """Sizes and the strongest that holds for each sensitive attribute."""
        visible = self.size[~self.suppressed]
        unit = next(iter(self.sensitive.hidden), None)
        units = None if unit is None else self.held(unit)
        shown = np.zeros(0) if units is None else units[~self.suppressed]
        return GroupFacts(
            groups=len(self.size),
            k_strict=int(self.size.min()),
            k_exempt=int(visible.min()) if visible.size else None,
            mean_group=Fraction(int(self.size.sum()), len(self.size)),
            largest_group=int(self.size.max()),
            sensitive={name: sensitive_facts(counts, self.closeness[name]) for name, counts in self.counts.items()},
            l_pairwise=self._l_pairwise(),
            unit=unit,
            units_strict=None if units is None else int(units.min()),
            units_exempt=int(shown.min()) if shown.size else None,
        )

    def check(self, rule: SizeRule | ValueRule | MeanRule, *, exempt: bool) -> list[str]:
        """Check a rule in every group; fully suppressed rows that are exempt need no k partners."""
        if isinstance(rule, MeanRule):
            mean = self.mean_risk
            return [] if mean <= rule.risk else [f"the marketer risk is {in_words(mean)}, above {in_words(rule.risk)}"]
        if isinstance(rule, SizeRule):
            if rule.unit is not None and rule.unit not in self.sensitive.hidden:
                return [f'whether all {self.title} have k = {rule.k} different values of "{rule.unit}" cannot be told']
            small = self.held(rule.unit) < rule.k
            failing = np.flatnonzero(small & ~self.suppressed if exempt else small)
            counts = "rows" if rule.unit is None else f'different values of "{rule.unit}"'
            verbs, what = ("has", "have"), f"fewer than k = {rule.k} {counts}"
        else:
            try:
                failing = self._failing(rule)
            except UndecidedError as undecided:  # what is not known is not taken for true
                return [f"whether all {self.title} satisfy {rule.text} {undecided}"]
            verbs, what = ("violates", "violate"), rule.text
        if not failing.size:
            return []
        rows = list_rows(np.flatnonzero(self.of_row == failing[0]))
        verb = verbs[0] if len(failing) == 1 else verbs[1]
        return [f"{len(failing)} of {len(self.size)} {self.title} {verb} {what}; the first is {rows}"]

    def _failing(self, rule: ValueRule) -> Ints:
        """The groups that do not satisfy it, and those with a value that the original lacks: nothing is known then."""
        coding = self.sensitive.coding(rule.attributes)
        strange = np.bincount(self.of_row[~coding.known], minlength=len(self.size))
        if self.matching is not None:
            strange = self.matching.sums(strange[:, None])[:, 0]
        return np.flatnonzero((strange > 0) | ~rule.holds(self.counts_of(coding)))

    def _l_pairwise(self) -> int | None:
        if len(self.sensitive.names) < 2:
            return None
        return pairwise_diversity(self.counts_of(self.sensitive.coding(self.sensitive.names, original=False)))
