"""Problems about covers: 3-Set Cover as pattern-guided anonymity, and minimum cover as minimum quasi-identifier."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from kanon_milp.errors import InputError
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.studies.families.base import (
    ATTEMPTS,
    Answer,
    ColumnFamily,
    Family,
    Generated,
    GeneratedColumns,
    Groups,
    columns,
    listed,
    refuse_large,
    settled,
    text_frame,
)
from kanon_milp.studies.families.source_problems import Source, exact_cover, smallest_cover

EXTRA = 2  # times as many sets as a cover needs are drawn besides it
ELEMENTS = 5  # of a set of the planted minimum cover
PATTERNS = (("keep", "*", "*"), ("*", "keep", "keep"))


def three_set_cover(size: int, draw: random.Random, answer: Answer) -> Generated:
    """Two patterns, three columns, k = 3 (Theorem 1): an element's own two rows need a third one, from a set that is
    chosen; a set that is not chosen is a group of its own."""
    refuse_large(15 * size, 3)
    if answer != "yes":
        sets = _without_partition(size, draw)
        fewest = smallest_cover(range(3 * size), sets) if answer == "imperfect" else None
        return _three_set_cover(sets, 3 * size, fewest, answer)
    universe = list(range(3 * size))
    order = universe[:]
    draw.shuffle(order)
    cover = [tuple(sorted(order[i : i + 3])) for i in range(0, 3 * size, 3)]
    sets = sorted({*cover, *(tuple(sorted(draw.sample(universe, 3))) for _ in range(EXTRA * size))})
    return _three_set_cover(sets, 3 * size, [sets.index(each) for each in cover], answer)


def three_set_cover_of(source: Source, asked: Answer | None) -> Generated:
    """The same, of sets of one's own."""
    sets, elements = list(source.members), len(source.names[0])
    if any(len(each) != 3 for each in sets):
        raise InputError("sets of three different elements are expected")
    refuse_large(2 * elements + 3 * len(sets), 3)
    return _three_set_cover(sets, elements, smallest_cover(range(elements), sets), asked, source.names[0])


def _without_partition(size: int, draw: random.Random) -> list[tuple[int, ...]]:
    """Sets of three that cover three times so many elements, though so many of the sets do not: sets of an exact cover
    are taken away, and sets for what is not covered then are drawn, until there is none."""
    universe = range(3 * size)
    sets = {tuple(sorted(draw.sample(universe, 3))) for _ in range((EXTRA + 1) * size)}
    for _ in range(ATTEMPTS if size > 1 else 0):
        for u in sorted(set(universe).difference(*sets)):
            sets.add(tuple(sorted((u, *draw.sample([v for v in universe if v != u], 2)))))
        listed_sets = sorted(sets)
        found = exact_cover(universe, listed_sets)
        if found is None:
            return listed_sets
        sets.remove(listed_sets[draw.choice(found)])
    raise InputError(f"no sets that {size} of them do not cover were found; choose a larger size")


def _three_set_cover(
    sets: list[tuple[int, ...]],
    elements: int,
    cover: list[int] | None,
    asked: Answer | None,
    names: tuple[str, ...] = (),
) -> Generated:
    """cover: the smallest one, None where the sets do not cover, and where it is not needed for the answer no."""
    perfect = cover is not None and 3 * len(cover) == elements
    answer = settled(asked, perfect=perfect, otherwise="no" if cover is None else "imperfect")
    own = itertools.count()
    rows = [[f"u{u}", f"own{next(own)}", f"own{next(own)}"] for u in range(elements) for _ in range(2)]
    rows += [[f"u{u}", f"S{i}", f"S{i}"] for i, members in enumerate(sets) for u in members]
    at = {(i, u): 2 * elements + 3 * i + j for i, each in enumerate(sets) for j, u in enumerate(each)}
    chosen = set(cover or ())
    by_element = [[2 * u, 2 * u + 1, *(at[i, u] for i in chosen if u in sets[i])] for u in range(elements)]
    by_set = [[at[i, u] for u in each] for i, each in enumerate(sets) if i not in chosen]
    spent = 4 * elements + 3 * len(sets)
    least = -(-elements // 3)
    words = f"no {least} of the sets cover: all ways were tried"
    if cover is not None:
        words = f"{len(cover)} sets cover, and " + (
            "fewer sets of three do not" if 3 * len(cover) - elements < 3 else "no fewer do: all were tried"
        )
    fewest = "as few as possible" if answer == "imperfect" else f"at most {least}"
    return Generated(
        f"Cover of {elements} elements by {len(sets)} sets of three as pattern-guided 3-anonymity",
        text_frame(rows, columns("q", 3)),
        columns("q", 3),
        (KAnonymity(3),),
        None if answer == "no" or cover is None else spent + 3 * len(cover),
        f"Bredereck et al. 2013, Theorem 1: 4|U| + 3|S| + 3h cells for a cover by h sets; {words}",
        patterns=PATTERNS,
        sides={"cost_bound": spent + 3 * least} if answer == "no" else {},
        groups=None if answer == "no" else tuple(tuple(group) for group in [*by_element, *by_set]),
        source_problem=f"a cover of {elements} elements by {fewest} of {len(sets)} sets of three",
        read_back=lambda found: _read_cover(found, sets, elements, names),
        answer=answer,
    )


def _read_cover(groups: Groups, sets: list[tuple[int, ...]], elements: int, names: Sequence[str]) -> str:
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
    return f"cover by {len(chosen)} sets" + listed(names, (sets[i] for i in sorted(chosen)))


def minimum_cover(size: int, draw: random.Random, answer: Answer) -> GeneratedColumns:
    """Of the elements of each planted set one is in no other set but one, which is drawn at random otherwise, and no
    two of these elements are in one set. So each cover has as many sets as the planted one at least.
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
    chosen = [number for number, each in enumerate(sets) if each in cover]
    reason = f"a cover by {size} sets is planted, and {size} elements are in no set together"
    return _minimum_cover(sets, len(elements), chosen, size - (answer == "no"), reason)


def minimum_cover_of(source: Source, asked: Answer | None) -> GeneratedColumns:
    """The same, of sets of one's own; no is the smallest cover less one set."""
    sets, elements = [set(each) for each in source.members], len(source.names[0])
    refuse_large(elements + 1, len(sets))
    cover = smallest_cover(range(elements), sets)
    if cover is None:
        raise InputError("the sets do not cover their universe")
    reason = f"{len(cover)} sets cover, and no fewer do: all were tried"
    return _minimum_cover(sets, elements, cover, len(cover) - (asked == "no"), reason)


def _minimum_cover(
    sets: list[set[int]], elements: int, cover: list[int], at_most: int, reason: str
) -> GeneratedColumns:
    """An element is a row, and a set a column in which its elements have values of their own; one more row is in no set
    (section 4.1). So columns that tell all rows apart are sets that cover."""
    names = columns("c", len(sets))
    rows = [[u + 1 if u in each else "-" for each in sets] for u in range(elements)]
    yes = at_most >= len(cover)
    return GeneratedColumns(
        f"Minimum cover of {elements} elements by {len(sets)} sets as minimum quasi-identifier",
        text_frame([*rows, ["-"] * len(sets)], names),
        len(cover) if yes else None,
        at_most,
        f"Yuan, Wang, section 4.1: {reason}",
        tuple(names[number] for number in cover) if yes else None,
        f"a cover of {elements} elements by at most {at_most} of {len(sets)} sets",
        lambda chosen: _read_sets(chosen, names, sets, elements),
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
        "sets of the planted cover", 4, 2, minimum_cover, True, reads="sets", of_source=minimum_cover_of,
    ),
)  # fmt: skip
FAMILIES = (
    Family(
        "three_set_cover", "3-Set Cover → pattern-guided 3-anonymity with two patterns",
        "Bredereck et al. 2013, Theorem 1", "sets of a cover without overlaps", 3, 1, three_set_cover, True,
        reads="sets", of_source=three_set_cover_of, imperfect=True,
    ),
)  # fmt: skip
