"""3-dimensional matching as 3-anonymity with 27 columns, and as t-closeness."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace
from fractions import Fraction

from kanon_milp.errors import InputError
from kanon_milp.problem.distances import MatrixDistance
from kanon_milp.problem.privacy import KAnonymity, TCloseness
from kanon_milp.studies.families import base
from kanon_milp.studies.families.base import (
    Answer,
    Family,
    Generated,
    Groups,
    Parameter,
    columns,
    listed,
    masked,
    refuse_large,
    settled,
    text_frame,
)
from kanon_milp.studies.families.source_problems import Source, Triple, exact_cover, largest_matching

OCCURRENCES = 3  # triples that an element is in, at most
ATTEMPTS = 20
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
    for _ in range(ATTEMPTS * size):
        new = (draw.randrange(size), draw.randrange(size), draw.randrange(size))
        if new not in triples and all(times[d][v] < OCCURRENCES for d, v in enumerate(new)):
            triples.add(new)
            for d, v in enumerate(new):
                times[d][v] += 1
    return sorted(triples), sorted(perfect)


def _without_perfect(size: int, draw: random.Random) -> list[Triple]:
    """Triples of which none cover every element once, though each element is in one: triples of a perfect matching are
    taken away until there is none."""
    for _ in range(base.ATTEMPTS):
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
FAMILIES = tuple(
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
)  # fmt: skip
