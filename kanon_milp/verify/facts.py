"""The strongest privacy that holds in every group, for each sensitive attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.ground import Ground, Numeric, Ordered
from kanon_milp.verify.logarithms import EntropyDiversity, LogRatio, less
from kanon_milp.verify.ratios import NEAR, Ratios


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
