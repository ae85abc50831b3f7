"""3-dimensional matching as 3-anonymity with 27 columns, and as t-closeness."""

from __future__ import annotations

import random
from fractions import Fraction

from kanon_milp.instances.families.base import (
    Answer,
    Family,
    Generated,
    Groups,
    columns,
    masked,
    refuse_large,
    text_frame,
)
from kanon_milp.problem.distances import MatrixDistance
from kanon_milp.problem.privacy import KAnonymity, TCloseness

Triple = tuple[int, int, int]
OCCURRENCES = 3  # triples that an element is in, at most
ATTEMPTS = 20
LOW, HIGH = Fraction(1, 5), Fraction(2, 5)  # t of Theorem 6 and of Theorem 7


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


def _rows_of(triple: Triple, size: int) -> tuple[int, ...]:
    return tuple(d * size + v for d, v in enumerate(triple))


def _read_matching(groups: Groups, triples: list[Triple], size: int) -> str:
    known = {_rows_of(triple, size) for triple in triples}
    found = [tuple(sorted(group)) for group in groups if min(group) < 3 * size]
    if not all(group in known for group in found):
        raise ValueError("a group is no triple")
    return f"perfect matching of {len(found)} triples"


def columns_27(size: int, draw: random.Random, _answer: Answer) -> Generated:
    """An element is a row of 27 cells that name its triples, so that the rows of a triple agree in one column, and four
    rows in none (Theorem 1.2)."""
    triples, perfect = _triples(size, draw)
    rows = []
    for d in range(3):
        for v in range(size):
            named = [f"t{number}" for number, triple in enumerate(triples) if triple[d] == v]
            named += [f"own{d}_{v}_{number}" for number in range(OCCURRENCES - len(named))]
            period = (9, 3, 1)[d]
            rows.append([named[cell // period % 3] for cell in range(27)])
    return Generated(
        f"3-dimensional matching of {len(triples)} triples as 3-anonymity with 27 columns",
        text_frame(rows, columns("c", 27)),
        columns("c", 27),
        (KAnonymity(3),),
        3 * 26 * size,
        "Blocki, Williams 2010, Theorem 1.2: 26 cells of each row; a perfect matching is planted. The mask loses "
        "nothing: no three rows agree in two columns",
        patterns=masked([[j] for j in range(27)], 27),
        groups=tuple(_rows_of(triple, size) for triple in perfect),
        source_problem=f"a perfect matching among {len(triples)} triples of 3·{size} elements",
        read_back=lambda found: _read_matching(found, triples, size),
    )


def closeness_low(size: int, draw: random.Random, _answer: Answer) -> Generated:
    """t < 1/3 with three sensitive values: an element is a row, a triple a column in which its elements agree
    (Theorem 6)."""
    triples, perfect = _triples(size, draw)
    rows, secrets = _incidence(triples, size, 3 * size)
    return _closeness(
        rows, secrets, triples, perfect, size, TCloseness(str(LOW)), "Theorem 6",
    )  # fmt: skip


def closeness_high(size: int, draw: random.Random, _answer: Answer) -> Generated:
    """1/3 ≤ t < 1/2 with a fourth sensitive value at half the distance, and rows that stay alone (Theorem 7).

    Of 3n/(1 - 2t) rows, which is a whole number for t = 2/5.
    """
    triples, perfect = _triples(size, draw)
    rows, secrets = _incidence(triples, size, int(3 * size / (1 - 2 * HIGH)))
    secrets += ["4"] * (len(rows) - len(secrets))
    half = [[Fraction(i != j) if "4" not in (a, b) or a == b else Fraction(1, 2) for j, b in enumerate("1234")]
            for i, a in enumerate("1234")]  # fmt: skip
    metric = MatrixDistance(tuple("1234"), tuple(tuple(row) for row in half))
    return _closeness(rows, secrets, triples, perfect, size, TCloseness(str(HIGH), metric), "Theorem 7")


def _incidence(triples: list[Triple], size: int, count: int) -> tuple[list[list[str]], list[str]]:
    """So many rows, the first of them of the elements, and the sensitive values of the latter."""
    rows = [["0" if i in _rows_of(triple, size) else str(i + 1) for triple in triples] for i in range(count)]
    return rows, [str(1 + i // size) for i in range(3 * size)]


def _closeness(
    rows: list[list[str]], secrets: list[str], triples: list[Triple], perfect: list[Triple], size: int,
    requirement: TCloseness, theorem: str,
) -> Generated:  # fmt: skip
    alone = tuple((row,) for row in range(3 * size, len(rows)))
    names = columns("e", len(triples))
    return Generated(
        f"3-dimensional matching of {len(triples)} triples as t-closeness with t = {requirement.t}",
        text_frame([[*row, secret] for row, secret in zip(rows, secrets, strict=True)], [*names, "s"]),
        names,
        (requirement,),
        3 * size * (len(triples) - 1),
        f"Liang, Yuan 2013, {theorem}: 3n(m - 1) for n = {size}, m = {len(triples)}; a perfect matching is planted. "
        "A mask loses nothing: a group is a triple, which agrees in one column, a row alone, or fully suppressed",
        sensitive=("s",),
        patterns=masked([*([j] for j in range(len(triples))), range(len(triples))], len(triples)),
        groups=(*(_rows_of(triple, size) for triple in perfect), *alone),
        source_problem=f"a perfect matching among {len(triples)} triples of 3·{size} elements",
        read_back=lambda found: _read_matching(found, triples, size),
    )


_SIZE = "triples of the planted matching"
FAMILIES = (
    Family(
        "matching_27", "3-dimensional matching → 3-anonymity with 27 columns", "Blocki, Williams 2010, Theorem 1.2",
        _SIZE, 3, 1, columns_27,
    ),
    Family(
        "matching_t_low", "3-dimensional matching → t-closeness, t = 1/5", "Liang, Yuan 2013, Theorem 6", _SIZE, 3, 2,
        closeness_low,
    ),
    Family(
        "matching_t_high", "3-dimensional matching → t-closeness, t = 2/5", "Liang, Yuan 2013, Theorem 7", _SIZE, 2, 2,
        closeness_high,
    ),
)  # fmt: skip
