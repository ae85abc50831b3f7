"""Problems about covers: 3-Set Cover as pattern-guided anonymity, and minimum cover as minimum quasi-identifier."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from kanon_milp.instances.families.base import (
    Answer,
    ColumnFamily,
    Family,
    Generated,
    GeneratedColumns,
    Groups,
    columns,
    refuse_large,
    text_frame,
)
from kanon_milp.problem.privacy import KAnonymity

EXTRA = 2  # times as many sets as a cover needs are drawn besides it
ELEMENTS = 5  # of a set of the planted minimum cover
PATTERNS = (("keep", "*", "*"), ("*", "keep", "keep"))


def three_set_cover(size: int, draw: random.Random, _answer: Answer) -> Generated:
    """Two patterns, three columns, k = 3 (Theorem 1): an element's own two rows need a third one, from a set that is
    chosen; a set that is not chosen is a group of its own."""
    refuse_large(15 * size, 3)
    universe = list(range(3 * size))
    order = universe[:]
    draw.shuffle(order)
    cover = [tuple(sorted(order[i : i + 3])) for i in range(0, 3 * size, 3)]
    sets = sorted({*cover, *(tuple(sorted(draw.sample(universe, 3))) for _ in range(EXTRA * size))})
    own = itertools.count()
    rows = [[f"u{u}", f"own{next(own)}", f"own{next(own)}"] for u in universe for _ in range(2)]
    rows += [[f"u{u}", f"S{i}", f"S{i}"] for i, members in enumerate(sets) for u in members]
    at = {(i, u): 2 * len(universe) + 3 * i + j for i, each in enumerate(sets) for j, u in enumerate(each)}
    chosen = {sets.index(each) for each in cover}
    by_element = [[2 * u, 2 * u + 1, *(at[i, u] for i in chosen if u in sets[i])] for u in universe]
    by_set = [[at[i, u] for u in each] for i, each in enumerate(sets) if i not in chosen]
    return Generated(
        f"Cover of {len(universe)} elements by {len(sets)} sets of three as pattern-guided 3-anonymity",
        text_frame(rows, columns("q", 3)),
        columns("q", 3),
        (KAnonymity(3),),
        4 * len(universe) + 3 * len(sets) + 3 * size,
        f"Bredereck et al. 2013, Theorem 1: 4|U| + 3|S| + 3h with h = {size}: that many sets that cover are "
        "planted, and fewer sets of three do not cover",
        patterns=PATTERNS,
        groups=tuple(tuple(group) for group in [*by_element, *by_set]),
        source_problem=f"a cover of {len(universe)} elements by at most {size} of {len(sets)} sets of three",
        read_back=lambda found: _read_cover(found, sets, len(universe)),
    )


def _read_cover(groups: Groups, sets: list[tuple[int, ...]], elements: int) -> str:
    """The sets of which some row is with the two rows of its element."""
    chosen = {
        (row - 2 * elements) // 3
        for group in groups
        if any(row < 2 * elements for row in group)
        for row in group
        if row >= 2 * elements
    }
    covered = {u for i in chosen for u in sets[i]}
    if len(covered) < elements:
        raise ValueError("the sets of the groups do not cover")
    return f"cover by {len(chosen)} sets"


def minimum_cover(size: int, draw: random.Random, answer: Answer) -> GeneratedColumns:
    """An element is a row, and a set a column in which its elements have values of their own; one more row is in no set
    (section 4.1). So columns that tell all rows apart are sets that cover.

    Of the elements of each planted set one is in no other set but one, which is drawn at random otherwise, and no two
    of these elements are in one set. So each cover has as many sets as the planted one at least.
    """
    elements = list(range(ELEMENTS * size))
    refuse_large(len(elements) + 1, (2 + EXTRA) * size)
    draw.shuffle(elements)
    cover = [set(elements[i : i + ELEMENTS]) for i in range(0, len(elements), ELEMENTS)]
    own = [min(each) for each in cover]
    common = sorted(set(elements) - set(own))
    double = [{u, *draw.sample(common, ELEMENTS - 1)} for u in own]
    sets = [*cover, *double, *(set(draw.sample(common, ELEMENTS)) for _ in range(EXTRA * size))]
    draw.shuffle(sets)
    names = columns("c", len(sets))
    rows = [[u + 1 if u in each else "-" for each in sets] for u in range(len(elements))]
    at_most = size if answer == "yes" else size - 1
    return GeneratedColumns(
        f"Minimum cover of {len(elements)} elements by {len(sets)} sets as minimum quasi-identifier",
        text_frame([*rows, ["-"] * len(sets)], names),
        size if answer == "yes" else None,
        at_most,
        f"Yuan, Wang, section 4.1: a cover by {size} sets is planted, and {size} elements are in no set together",
        tuple(name for name, each in zip(names, sets, strict=True) if each in cover) if answer == "yes" else None,
        f"a cover of {len(elements)} elements by at most {at_most} of {len(sets)} sets",
        lambda chosen: _read_sets(chosen, names, sets, len(elements)),
    )


def _read_sets(chosen: Sequence[str], names: Sequence[str], sets: list[set[int]], elements: int) -> str:
    """Columns as sets."""
    covered = {u for name, each in zip(names, sets, strict=True) if name in chosen for u in each}
    if len(covered) < elements:
        raise ValueError("the sets of the columns do not cover")
    return f"cover by {len(chosen)} sets"


COLUMN_FAMILIES = (
    ColumnFamily(
        "minimum_cover", "minimum cover → minimum quasi-identifier", "Yuan, Wang, section 4.1",
        "sets of the planted cover", 4, 2, minimum_cover, True,
    ),
)  # fmt: skip
FAMILIES = (
    Family(
        "three_set_cover", "3-Set Cover → pattern-guided 3-anonymity with two patterns",
        "Bredereck et al. 2013, Theorem 1", "sets of the planted cover", 3, 1, three_set_cover,
    ),
)  # fmt: skip
