"""The table of Liang and Yuan (2013): every optimum by an exact judge, and their printed partitions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import judges
import polars as pl
import pytest
from places import LIBRARY
from present import present

import kanon_milp as km
from kanon_milp.problem.privacy.t_closeness import Form

TABLE_1 = LIBRARY / "hospital" / "table1.csv"
QI = ["zip1", "zip2", "zip3", "zip4", "zip5", "age1", "age2", "education"]
FRAME = pl.read_csv(TABLE_1, infer_schema=False)
ROWS = FRAME.select(QI).rows()
SECRETS = FRAME.select("disease").rows()
EVERYBODY = range(10)
T = ("0", "1/15", "1/10", "1/5", "3/10", "2/5", "1/2", "7/10")
Group = Sequence[int]

TABLE_2 = [(1, 2, 3), (4, 5, 6, 7), (8, 9, 10)]
TABLE_3 = [(1, 2), (3, 5, 8, 9), (4, 6), (7, 10)]
TABLE_5 = [(1, 2, 4), (3, 5, 8, 9), (6, 7, 10)]


def suppressor(group: Group) -> tuple[str, ...]:
    """Their section 2: a value stays if all rows of the group have it."""
    return tuple(column[0] if len(set(column)) == 1 else "*" for column in zip(*(ROWS[i] for i in group), strict=True))


@cache
def cost(group: tuple[int, ...]) -> int:
    return len(group) * suppressor(group).count("*")


def best(holds: Callable[[Group], bool]) -> Fraction | None:
    return judges.best_partition(cost, holds, len(ROWS))


def problem(*privacy: Any) -> km.Problem:
    return km.Problem(km.read_table(TABLE_1, QI, "disease"), privacy)


def check(expected: Fraction | None, *privacy: Any) -> None:
    """The package's optimum is the judge's, proven."""
    result = km.solve(problem(*privacy))
    if expected is None:
        assert result.proof == "infeasible"
    else:
        assert result.is_optimal
        assert result.exact_objective == result.exact_bound == expected


@cache
def emd(group: tuple[int, ...]) -> Fraction:
    return judges.distance_from_table(group, SECRETS, 0, judges.equal_distance)


def test_the_table_is_the_printed_one() -> None:
    assert ["".join(row[:5]) for row in ROWS[:3]] == ["98765", "98654", "98543"]
    assert suppressor((0, 1, 2)) == (*"98***3*", "*")
    assert cost((0, 1, 2)) == 15  # their Table 4
    shares = judges.shares(EVERYBODY, SECRETS, 0)
    assert shares == {"Viral Infection": Fraction(3, 10), "Heart Disease": Fraction(3, 10), "Cancer": Fraction(4, 10)}


@pytest.mark.parametrize("k", range(1, 7))
def test_k_anonymity(k: int) -> None:
    expected = best(lambda group: len(group) >= k)
    check(expected, km.KAnonymity(k))
    if k == 3:
        assert expected == 54
    # Lemma 1 with the diseases replaced by distinct values
    frame = FRAME.with_columns(disease=pl.Series([f"disease {i}" for i in EVERYBODY]))
    table = km.Table.from_frame(frame, QI, "disease")
    result = km.solve(km.Problem(table, [km.TCloseness(1 - Fraction(k, 10))]))
    assert result.is_optimal
    assert result.exact_objective == expected


@pytest.mark.parametrize(("p", "k"), list(itertools.product((1, 2, 3), (1, 3))))
def test_p_sensitivity(p: int, k: int) -> None:
    expected = best(lambda group: len(group) >= k and judges.p_sensitive(group, SECRETS, 0, p))
    check(expected, km.PSensitivity(p), km.KAnonymity(k))


@pytest.mark.parametrize("least", ["1", "3/2", "2", "5/2", "3"])
def test_l_diversity(least: str) -> None:
    expected = best(lambda group: judges.frequency_diverse(group, SECRETS, 0, Fraction(least)))
    assert (expected is None) == (least == "3")  # four of ten have cancer
    check(expected, km.LDiversity(least))


@pytest.mark.parametrize("t", T)
@pytest.mark.parametrize("form", ["short", "transport"])
def test_t_closeness(t: str, form: Form) -> None:
    check(best(lambda group: emd(group) <= Fraction(t)), km.TCloseness(t, form=form))


def test_the_optimum_of_t_closeness_falls_with_t() -> None:
    def closest(t: str) -> Fraction:
        return present(best(lambda group: emd(group) <= Fraction(t)))

    costs = [closest(t) for t in T]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == cost(tuple(EVERYBODY))  # only the whole table, with a disease's 3, 3, 4 of 10


# ------------------------------------------------------------------------------------------ printed partitions


def printed(partition: Sequence[Group]) -> tuple[pl.DataFrame, list[int], list[tuple[int, ...]]]:
    """The released table of a partition (rows counted from 1), the group of each row, and the groups from 0."""
    group_of = {row - 1: number for number, group in enumerate(partition) for row in group}
    groups = [tuple(row - 1 for row in group) for group in partition]
    released = [suppressor(groups[group_of[i]]) for i in EVERYBODY]
    frame = pl.DataFrame(released, schema=QI, orient="row").hstack(FRAME.select("disease"))
    return frame, [group_of[i] for i in EVERYBODY], groups


def verified(partition: Sequence[Group], *privacy: Any, as_partition: bool = True) -> km.Report:
    frame, group_of, _ = printed(partition)
    return km.verify(problem(*privacy), frame, partition=group_of if as_partition else None)


def test_table_2_is_3_anonymous_and_optimal() -> None:
    frame, _, groups = printed(TABLE_2)
    assert ["".join(row) for row in frame.rows()[::4]] == [
        "98***3**Viral Infection",
        "9******BachelorViral Infection",
        "970*****Cancer",
    ]
    report = verified(TABLE_2, km.KAnonymity(3))
    assert report.ok
    assert report.cost == sum(map(cost, groups)) == 54 == best(lambda group: len(group) >= 3)
    assert not verified(TABLE_2, km.KAnonymity(4)).ok
    # all of the third group have cancer
    assert not verified(TABLE_2, km.PSensitivity(2)).ok
    assert not verified(TABLE_2, km.LDiversity("1.01")).ok
    assert verified(TABLE_2, km.TCloseness("3/5")).ok
    assert not verified(TABLE_2, km.TCloseness("0.599")).ok


def test_table_3_is_2_diverse_and_not_03_close() -> None:
    _, _, groups = printed(TABLE_3)
    assert verified(TABLE_3, km.LDiversity(2), km.KAnonymity(2), km.PSensitivity(2)).ok
    assert not verified(TABLE_3, km.LDiversity("2.01")).ok
    assert [emd(group) for group in groups] == [Fraction(2, 5), Fraction(1, 10), Fraction(3, 10), Fraction(3, 10)]
    assert not verified(TABLE_3, km.TCloseness("3/10")).ok
    assert verified(TABLE_3, km.TCloseness("2/5")).ok
    best_cost = best(lambda group: judges.frequency_diverse(group, SECRETS, 0, 2))
    assert best_cost is not None
    assert present(verified(TABLE_3, km.LDiversity(2)).cost) >= best_cost


def test_table_5_is_01_close_as_a_partition_and_closer_as_a_released_table() -> None:
    _, _, groups = printed(TABLE_5)
    assert [emd(group) for group in groups] == [Fraction(1, 15), Fraction(1, 10), Fraction(1, 15)]
    for t in ("3/10", "1/10"):
        assert verified(TABLE_5, km.TCloseness(t)).ok
    assert not verified(TABLE_5, km.TCloseness("0.0999")).ok
    # its first two groups look the same
    assert emd((*groups[0], *groups[1])) == Fraction(1, 35)
    assert verified(TABLE_5, km.TCloseness("1/15"), as_partition=False).ok
    assert not verified(TABLE_5, km.TCloseness("0.0666"), as_partition=False).ok
