"""Problems about covers: 3-Set Cover, minimum cover, and 3-dimensional matching."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from kanon_milp.errors import InputError
from kanon_milp.problem.distances import MatrixDistance
from kanon_milp.problem.privacy import KAnonymity, TCloseness
from kanon_milp.studies.families.base import (
    ATTEMPTS,
    Answer,
    ColumnFamily,
    Family,
    Generated,
    GeneratedColumns,
    Groups,
    Parameter,
    columns,
    listed,
    masked,
    refuse_large,
    settled,
    text_frame,
)
from kanon_milp.studies.families.source_problems import Source, Triple, exact_cover, largest_matching, smallest_cover

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


OCCURRENCES = 3  # triples that an element is in, at most
TRIES = 20  # at a further triple, for each that is planted
LOW, HIGH = Fraction(1, 5), Fraction(2, 5)  # t of Theorem 6 and of Theorem 7, where none is given


@dataclass(frozen=True)
class _Matching:
    """Triples of three times `size` elements, and as many of them as possible that share no element; for the answer no,
    which needs none, it may be any."""

    triples: list[Triple]
    size: int
    best: list[Triple]
    answer: Answer
    names: tuple[str, ...] = ()  # of the elements, part by part

    @classmethod
    def drawn(cls, size: int, draw: random.Random, answer: Answer) -> _Matching:
        """A perfect matching is planted for yes; else there is none."""
        if answer == "yes":
            triples, perfect = _triples(size, draw)
            return cls(triples, size, perfect, answer)
        triples = _without_perfect(size, draw)
        return cls(triples, size, [], answer) if answer == "no" else cls.solved(triples, size, answer)

    @classmethod
    def of_source(cls, source: Source, asked: Answer | None) -> _Matching:
        """One's own, solved."""
        found = cls.solved(list(source.members), len(source.names[0]), asked)
        return replace(found, names=tuple(itertools.chain(*source.names)))

    @classmethod
    def solved(cls, triples: list[Triple], size: int, asked: Answer | None) -> _Matching:
        """The largest matching found by trying all."""
        best = [triples[number] for number in largest_matching(triples)]
        return cls(triples, size, best, settled(asked, perfect=len(best) == size, otherwise="imperfect"))

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The rows of each triple of the best matching, and all other rows of elements."""
        groups = [_rows_of(triple, self.size) for triple in self.best]
        rest = tuple(sorted(set(range(3 * self.size)).difference(*groups)))
        return (*groups, rest) if rest else tuple(groups)

    @property
    def words(self) -> str:
        """The source problem."""
        among = f"among {len(self.triples)} triples of 3·{self.size} elements"
        return f"a largest matching {among}" if self.answer == "imperfect" else f"a perfect matching {among}"

    @property
    def known(self) -> str:
        """What is known of it."""
        if self.answer == "yes":
            return "there is a perfect matching"
        if self.answer == "no":
            return "there is no perfect matching: all were tried"
        return f"the largest matching has {len(self.best)} of {self.size} triples; all were tried"

    def read_back(self, groups: Groups) -> str:
        """The matching of the groups that are triples."""
        known = {_rows_of(triple, self.size) for triple in self.triples}
        found = [tuple(sorted(group)) for group in groups if tuple(sorted(group)) in known]
        if len(found) < len(self.best):
            raise ValueError("too few groups are triples")
        words = f"{'perfect ' if len(found) == self.size else ''}matching of {len(found)} triples"
        return words + listed(self.names, found)

    def generated(self, found: Generated, perfect: int) -> Generated:
        """The instance: three cells more for each triple that is missing; for no, at most as much as a perfect matching
        costs."""
        if self.answer == "no":
            return replace(found, answer="no", optimum=None, groups=None, sides={"cost_bound": perfect})
        return replace(found, answer=self.answer, optimum=perfect + 3 * (self.size - len(self.best)))


def _triples(size: int, draw: random.Random) -> tuple[list[Triple], list[Triple]]:
    """Triples of three times `size` elements, each element in at most three, and a perfect matching among them."""
    refuse_large(3 * size, 27)
    perfect = list(zip(range(size), draw.sample(range(size), size), draw.sample(range(size), size), strict=True))
    times = [[1] * size for _ in range(3)]
    triples = set(perfect)
    for _ in range(TRIES * size):
        new = (draw.randrange(size), draw.randrange(size), draw.randrange(size))
        if new not in triples and all(times[d][v] < OCCURRENCES for d, v in enumerate(new)):
            triples.add(new)
            for d, v in enumerate(new):
                times[d][v] += 1
    return sorted(triples), sorted(perfect)


def _without_perfect(size: int, draw: random.Random) -> list[Triple]:
    """Triples of which none cover every element once, though each element is in one: triples of a perfect matching are
    taken away until there is none."""
    for _ in range(ATTEMPTS):
        triples, _ = _triples(size, draw)
        while (found := exact_cover(range(3 * size), [_rows_of(each, size) for each in triples])) is not None:
            del triples[draw.choice(found)]
        if {row for each in triples for row in _rows_of(each, size)} == set(range(3 * size)):
            return triples
    raise InputError(f"no {size} triples of elements without a perfect matching were drawn; choose a larger size")


def _rows_of(triple: Triple, size: int) -> tuple[int, ...]:
    return tuple(d * size + v for d, v in enumerate(triple))


def columns_27(matching: _Matching) -> Generated:
    """An element is a row of 27 cells that name its triples, so that the rows of a triple agree in one column, and four
    rows in none (Theorem 1.2)."""
    size, triples = matching.size, matching.triples
    refuse_large(3 * size, 27)
    rows = []
    for d in range(3):
        for v in range(size):
            named = [f"t{number}" for number, triple in enumerate(triples) if triple[d] == v]
            if len(named) > OCCURRENCES:
                raise InputError(f"an element is in {len(named)} triples; it may be in {OCCURRENCES}")
            named += [f"own{d}_{v}_{number}" for number in range(OCCURRENCES - len(named))]
            period = (9, 3, 1)[d]
            rows.append([named[cell // period % 3] for cell in range(27)])
    found = Generated(
        f"3-dimensional matching of {len(triples)} triples as 3-anonymity with 27 columns",
        text_frame(rows, columns("c", 27)),
        columns("c", 27),
        (KAnonymity(3),),
        None,
        f"Blocki, Williams 2010, Theorem 1.2 and Lemma 1: 27·{3 * size} cells less 3 for each triple of a matching; "
        f"{matching.known}. The mask loses nothing: no three rows agree in two columns",
        patterns=masked([[j] for j in range(27)], 27),
        groups=matching.groups,
        source_problem=matching.words,
        read_back=matching.read_back,
    )
    return matching.generated(found, 3 * 26 * size)


def closeness_low(matching: _Matching, t: Fraction) -> Generated:
    """t < 1/3 with three sensitive values: an element is a row, a triple a column in which its elements agree
    (Theorem 6)."""
    rows, secrets = _incidence(matching, 3 * matching.size)
    return _closeness(matching, rows, secrets, TCloseness(str(t)), "Theorem 6")


def closeness_high(matching: _Matching, t: Fraction) -> Generated:
    """1/3 ≤ t < 1/2 with a fourth sensitive value at half the distance, and rows that stay alone (Theorem 7), of
    3n/(1 - 2t) rows."""
    count = 3 * matching.size / (1 - 2 * t)
    if count.denominator > 1:
        raise InputError(f"3n/(1 - 2t) rows must be a whole number; for t = {t}, n = {matching.size} it is {count}")
    rows, secrets = _incidence(matching, int(count))
    secrets += ["4"] * (len(rows) - len(secrets))
    half = [[Fraction(i != j) if "4" not in (a, b) or a == b else Fraction(1, 2) for j, b in enumerate("1234")]
            for i, a in enumerate("1234")]  # fmt: skip
    metric = MatrixDistance(tuple("1234"), tuple(tuple(row) for row in half))
    return _closeness(matching, rows, secrets, TCloseness(str(t), metric), "Theorem 7")


def _incidence(matching: _Matching, count: int) -> tuple[list[list[str]], list[str]]:
    """So many rows, the first of them of the elements, and the sensitive values of the latter."""
    size, triples = matching.size, matching.triples
    if not triples:
        raise InputError("a source problem without triples gives a table without columns")
    refuse_large(count, len(triples))
    inside = [set(_rows_of(triple, size)) for triple in triples]
    rows = [["0" if i in each else str(i + 1) for each in inside] for i in range(count)]
    return rows, [str(1 + i // size) for i in range(3 * size)]


def _closeness(
    matching: _Matching, rows: list[list[str]], secrets: list[str], requirement: TCloseness, theorem: str
) -> Generated:
    size, m = matching.size, len(matching.triples)
    alone = tuple((row,) for row in range(3 * size, len(rows)))
    names = columns("e", m)
    found = Generated(
        f"3-dimensional matching of {m} triples as t-closeness with t = {requirement.t}",
        text_frame([[*row, secret] for row, secret in zip(rows, secrets, strict=True)], [*names, "s"]),
        names,
        (requirement,),
        None,
        f"Liang, Yuan 2013, {theorem}: 3nm cells for n = {size}, m = {m}, less 3 for each triple of a matching; "
        f"{matching.known}. "
        "A mask loses nothing: a group is a triple, which agrees in one column, a row alone, or fully suppressed",
        sensitive=("s",),
        patterns=masked([*([j] for j in range(m)), range(m)], m),
        groups=(*matching.groups, *alone),
        source_problem=matching.words,
        read_back=matching.read_back,
    )
    return matching.generated(found, 3 * size * (m - 1))


_LOW = Parameter("t", "at least 0 and below 1/3, default 1/5", LOW, lambda t: 0 <= t < Fraction(1, 3))
_HIGH = Parameter("t", "at least 1/3 and below 1/2, default 2/5", HIGH, lambda t: Fraction(1, 3) <= t < Fraction(1, 2))
FAMILIES = (
    Family(
        "three_set_cover", "3-Set Cover → pattern-guided 3-anonymity with two patterns",
        "Bredereck et al. 2013, Theorem 1", "sets of a cover without overlaps", 3, 1, three_set_cover, True,
        reads="sets", of_source=three_set_cover_of, imperfect=True,
    ),
    *(
        Family(
            name, f"3-dimensional matching → {what}", source, "triples of a perfect matching", default, smallest,
            _Matching.drawn, True, reads="triples", of_source=_Matching.of_source, build=build, parameters=parameters,
            imperfect=True,
        )
        for name, what, source, default, smallest, build, parameters in (
            (
                "matching_27", "3-anonymity with 27 columns", "Blocki, Williams 2010, Theorem 1.2, Lemma 1", 3, 1,
                columns_27, (),
            ),
            ("matching_t_low", "t-closeness, t < 1/3", "Liang, Yuan 2013, Theorem 6", 3, 2, closeness_low, (_LOW,)),
            (
                "matching_t_high", "t-closeness, 1/3 ≤ t < 1/2", "Liang, Yuan 2013, Theorem 7", 2, 2, closeness_high,
                (_HIGH,),
            ),
        )
    ),
)  # fmt: skip
