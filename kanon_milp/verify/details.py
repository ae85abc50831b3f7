"""What holds in each single group, as a data frame."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.verify.counts import Counts
from kanon_milp.verify.facts import group_diversity
from kanon_milp.verify.groups import Grouping
from kanon_milp.verify.logarithms import LogRatio
from kanon_milp.verify.ratios import Ratios


def group_frame(groups: Grouping) -> pl.DataFrame:
    """One row a group, in the order of their first rows; no value of the table is in it, only counts of rows.

    Columns: group (number from 1), first_row (from 1, header not counted), rows, units (different ones, where these are
    counted), suppressed (all quasi-identifiers
    are the symbol), and for each sensitive attribute A: A.p, A.l (frequency), A.l_entropy (rounded down), A.c_2
    (r_1 / (r_2 + ... + r_m); nothing for groups of one value), A.alpha, A.t_equal and the other ground distances,
    A.beta, A.delta (natural logarithm, rounded up; nothing where the group lacks a value) and A.delta_present. Each
    number that need not be an integer has its exact text beside it, as A.l_exact; for delta_present that of e^delta.
    """
    first = np.unique(groups.of_row, return_index=True)[1]
    columns = [
        pl.Series("group", np.arange(1, len(groups.size) + 1)),
        pl.Series("first_row", first + 1),
        pl.Series("rows", groups.size),
        *(pl.Series("units", groups.held(unit)) for unit in groups.sensitive.hidden),
        pl.Series("suppressed", groups.suppressed),
    ]
    for name, counts in groups.counts.items():
        columns += _attribute(name, counts, groups.closeness[name])
    return pl.DataFrame(columns)


def _attribute(name: str, counts: Counts, closeness: dict[str, Ratios]) -> list[pl.Series]:
    starts = counts.starts[:-1]
    several = np.flatnonzero(counts.distinct > 1)
    gains = counts.gains.largest_in(starts)
    changes = counts.changes.largest_in(starts).reduced()
    logarithm = cache(lambda above, below: LogRatio(Fraction(above, below)).natural)
    deltas = [
        logarithm(above, below) for above, below in zip(changes.above.tolist(), changes.below.tolist(), strict=True)
    ]
    complete = counts.distinct == len(counts.labels)
    entropy = cache(lambda diversity: (diversity.value, diversity.text))
    entropies = [entropy(group_diversity(counts, g)) for g in range(counts.groups)]
    return [
        pl.Series(f"{name}.p", counts.distinct),
        *_both(f"{name}.l", counts.frequency),
        pl.Series(f"{name}.l_entropy", [value for value, _ in entropies]),
        pl.Series(f"{name}.l_entropy_exact", [text for _, text in entropies]),
        *_both(f"{name}.c_2", counts.recursive(2, several), several, counts.groups),
        *_both(f"{name}.alpha", counts.shares),
        *(series for distance, found in closeness.items() for series in _both(f"{name}.t_{distance}", found)),
        *_both(f"{name}.beta", Ratios(gains.above - gains.below, gains.below)),
        pl.Series(
            f"{name}.delta", [delta if present else None for delta, present in zip(deltas, complete, strict=True)]
        ),
        pl.Series(f"{name}.delta_present", deltas),
        pl.Series(f"{name}.delta_present_exact", changes.texts()),
    ]


def _both(
    name: str, ratios: Ratios, positions: NDArray[np.int64] | None = None, groups: int | None = None
) -> tuple[pl.Series, pl.Series]:
    """Ratios as floats and as exact texts; positions: the groups that they are of, where not all have one."""
    floats, texts = pl.Series(name, ratios.floats()), pl.Series(f"{name}_exact", ratios.texts(), dtype=pl.String)
    if positions is None or groups is None:
        return floats, texts
    place = np.full(groups, None, dtype=object)
    place[positions] = np.arange(len(positions))
    chosen = pl.Series(place.tolist(), dtype=pl.UInt32)
    return floats.gather(chosen), texts.gather(chosen)
