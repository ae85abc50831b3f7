"""Tables with planted groups: a partition under noise, and one on which the greedy heuristic does badly."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import partial

from kanon_milp.problem.privacy import KAnonymity, LDiversity, PSensitivity, Requirement, TCloseness
from kanon_milp.studies.families.base import Answer, Family, Generated, columns, refuse_large, text_frame
from kanon_milp.studies.generators import tight_example

COLUMNS, NOISE = 8, (1, 2, 3)
K = 4
VALUES, SIZES = 4, (1, 1, 2)  # sensitive values, each as often in every group; how often that is


def _table(size: int, draw: random.Random) -> tuple[list[list[str]], tuple[tuple[int, ...], ...], int]:
    refuse_large(VALUES * size, COLUMNS)
    rows: list[list[str]] = []
    groups, loss = [], 0
    noisy: list[tuple[int, int]] = []
    for g in range(size):
        count = VALUES * draw.choice(SIZES)
        chosen = draw.sample(range(COLUMNS), draw.choice(NOISE))
        group = tuple(range(len(rows), len(rows) + count))
        for row in group:
            rows.append([f"g{g}" for _ in range(COLUMNS)])
            noisy += [(row, column) for column in chosen]
        groups.append(group)
        loss += count * len(chosen)
    of_row = {row: g for g, group in enumerate(groups) for row in group}
    for column in range(COLUMNS):
        here = [row for row, noise in noisy if noise == column]
        draw.shuffle(here)
        number = 0
        sharing: list[int] = []
        for row in here:  # a value for fewer than k rows, of different groups
            if len(sharing) == K - 1 or of_row[row] in {of_row[other] for other in sharing}:
                number, sharing = number + 1, []
            sharing.append(row)
            rows[row][column] = f"n{number}"
    order = list(range(len(rows)))
    draw.shuffle(order)
    place = {row: at for at, row in enumerate(order)}
    return [rows[row] for row in order], tuple(tuple(sorted(place[r] for r in group)) for group in groups), loss


def _planted(what: str, privacy: tuple[Requirement, ...], size: int, draw: random.Random, _answer: Answer) -> Generated:
    rows, groups, loss = _table(size, draw)
    secret = len(privacy) > 1
    names, sensitive = columns("q", COLUMNS), ("s",) if secret else ()
    if secret:
        value = {row: str(at % VALUES) for group in groups for at, row in enumerate(group)}
        rows = [[*row, value[at]] for at, row in enumerate(rows)]
    return Generated(
        f"{size} planted groups, {len(rows)} rows: {what}",
        text_frame(rows, [*names, *sensitive]),
        names,
        privacy,
        loss,
        f"planted: a row's noise is shared by fewer than {K} rows, so each row loses as many cells in every table",
        sensitive=sensitive,
        groups=groups,
        source_problem="the planted groups",
    )


def closeness_of_k(size: int, draw: random.Random, _answer: Answer) -> Generated:
    """k-anonymity as t-closeness with t = 1 - k/n: all sensitive values are different (Lemma 1)."""
    rows, groups, loss = _table(size, draw)
    n, names = len(rows), columns("q", COLUMNS)
    return Generated(
        f"{K}-anonymity of {n} rows as t-closeness",
        text_frame([[*row, str(at)] for at, row in enumerate(rows)], [*names, "s"]),
        names,
        (TCloseness(str(1 - Fraction(K, n))),),
        loss,
        f"Liang, Yuan 2013, Lemma 1: that of {K}-anonymity, whose groups are planted",
        sensitive=("s",),
        groups=groups,
        source_problem=f"{K}-anonymity of the same table",
    )


def greedy_tight(size: int, draw: random.Random, _answer: Answer) -> Generated:
    """The greedy heuristic's tight example, under the patterns that suppress none, one or all columns (Theorem 3).

    The paper says all patterns, under which the heuristic does better from three columns on (`tight_example`).
    """
    refuse_large(size * size, size)
    order = draw.sample(range(size * size), size * size)
    place = {row: at for at, row in enumerate(order)}
    frame = tight_example(size)[order]
    names = columns("q", size)
    alone = [tuple("*" if j == which else "keep" for j in range(size)) for which in range(size)]
    groups = [[row, *range(size + row * (size - 1), size + (row + 1) * (size - 1))] for row in range(size)]
    return Generated(
        f"The greedy heuristic's tight example with {size} columns",
        text_frame(frame.rows(), names),
        names,
        (KAnonymity(size),),
        size * size,
        f"Bredereck et al. 2013, Theorem 3: m² for m = k = {size}, where the greedy heuristic pays (m - 1)·m²",
        patterns=(("keep",) * size, *alone, ("*",) * size),
        groups=tuple(tuple(place[row] for row in group) for group in groups),
        source_problem="one row of ones with the rows of each column",
        read_back=lambda found: f"{len(found)} groups, each of one column's rows and a row of ones",
    )


_SIZE = "groups"
FAMILIES = (
    *(
        Family(
            f"planted_{letter}", f"planted groups under {term}", "planted", _SIZE, 5, 1,
            partial(_planted, what, (KAnonymity(K), *others)),
        )
        for letter, term, what, *others in (
            ("k", "k-anonymity", f"{K}-anonymity"),
            ("p", "p-sensitivity", f"3-sensitive {K}-anonymity", PSensitivity(3)),
            ("l", "l-diversity", f"3-diversity with {K}-anonymity", LDiversity(3)),
            ("t", "t-closeness", f"1/5-closeness with {K}-anonymity", TCloseness("1/5")),
        )
    ),
    Family("closeness_of_k", "k-anonymity → t-closeness", "Liang, Yuan 2013, Lemma 1", _SIZE, 3, 1, closeness_of_k),
    Family(
        "greedy_tight", "the greedy heuristic's tight example, of m columns and m² rows",
        "Bredereck et al. 2013, Theorem 3", "columns m = k", 4, 3, greedy_tight,
    ),
)  # fmt: skip
