"""Where there is no time for the candidates of all level vectors, `auto` is no worse than greedy, goes on to its limit,
states a bound, and says what would help."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal

import polars as pl
import pytest
from census import census
from effort import examples
from oracle import optimum
from present import present
from strategies import drawn_case

import kanon_milp as km
from kanon_milp.bounds.built_in import cheapest_loss, cheapest_without_candidates
from kanon_milp.heuristics.greedy import greedy_partition
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.mondrian import mondrian_partition
from kanon_milp.methods.registry import refusal
from kanon_milp.methods.session import GreedyTableParams, quick_partition
from kanon_milp.presolve import preparation
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.partition import released_partition
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.reductions import Viability
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import NO_LIMIT, Limit


def people(rows: int) -> km.Problem:
    """Made-up people with hierarchies of seven columns: 4,608 level vectors."""
    draw = random.Random(7)
    cells = []
    for _ in range(rows):
        age = min(90, max(17, int(draw.gauss(40, 14))))
        place = draw.choice(["13", "14", "90", "91"]) + f"{int(draw.paretovariate(1.2)) % 1000:03d}"
        job, country = f"j{draw.randrange(12):02d}", draw.choice(["home"] * 40 + [f"c{j}" for j in range(30)])
        cells.append((draw.choice("mf"), age, place, f"e{draw.randrange(14):02d}", country, job, draw.choice("abcd")))
    names = ["sex", "age", "zip", "edu", "country", "job", "marital"]
    frame = pl.DataFrame([[str(cell) for cell in row] for row in cells], schema=names, orient="row")
    table = km.Table.from_frame(frame, names)
    hierarchies = {
        "age": km.Hierarchy.intervals(frame["age"], [5, 10, 20, 40]),
        **{name: km.Hierarchy.prefixes(frame[name], lengths) for name, lengths in PREFIXES.items()},
    }
    return km.Problem(table, km.KAnonymity(5), km.Hierarchies(hierarchies))


PREFIXES = {"zip": [4, 3, 2, 1], "edu": [2, 1], "job": [2, 1]}


@pytest.mark.full
def test_it_is_no_worse_than_greedy_and_goes_on_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "FEW_VECTORS", 1 << 20)  # closed candidates would be few enough
    problem = people(1_500)
    greedy = km.solve(problem, method="greedy")
    found = km.solve(problem, time_limit=4)
    assert found.verified
    assert found.exact_objective is not None
    assert greedy.exact_objective is not None
    assert found.exact_objective <= greedy.exact_objective
    assert found.exact_bound is not None
    assert 0 < found.exact_bound <= found.exact_objective
    assert found.proof == "bound"
    assert found.stop_reason == "time_limit"
    assert found.seconds["total"] > 2  # of 4; with no time for another round it ends a little earlier
    assert found.message.startswith("Not enough time to examine all 4,608 patterns; this table uses ")
    assert found.message.endswith(" of them. Try a longer --time-limit.")


@pytest.mark.full
def test_closed_candidates_of_some_thousand_level_vectors_are_quickly_had() -> None:
    found = km.solve(people(1_500), time_limit=10)
    assert found.verified
    assert "patterns" not in found.message
    assert present(found.gap) < 0.2


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_that_of_all_candidates(seed: int) -> None:
    """And where it is cut short, a lower one."""
    draw = random.Random(seed)
    names, rows = ["a", "b", "c"], draw.randrange(4, 30)
    frame = pl.DataFrame({name: [draw.choice("xyz") for _ in range(rows)] for name in names})
    table = km.Table.from_frame(frame, names)
    patterns = [each for each in product(("keep", "*"), repeat=3) if draw.random() < 0.7 or set(each) == {"*"}]
    recoding = km.PatternMask(patterns, {"a": 2}) if draw.random() < 0.5 else km.Suppression({"a": 2})
    reading: Literal["strict", "exempt"] = draw.choice(["strict", "exempt"])
    problem = km.Problem(table, km.KAnonymity(draw.randrange(2, 5)), recoding, suppressed_rows=reading)
    instance = prepare(problem)
    expected = cheapest_loss(instance.subset(Viability().keep(instance)))
    assert cheapest_without_candidates(instance, instance.levels, NO_LIMIT) == expected
    assert cheapest_without_candidates(instance, instance.levels, Limit(0.0)) <= expected


@pytest.fixture
def no_time_for_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "vectors_in_time", lambda *_: 0)
    monkeypatch.setattr(preparation, "FEW_VECTORS", 1 << 20)


@pytest.mark.usefixtures("no_time_for_candidates")
@pytest.mark.parametrize("seed", range(examples(20, 5)))
def test_a_table_of_some_level_vectors_is_no_worse_than_those_without_candidates(seed: int) -> None:
    """And its bound is one of all tables: brute force."""
    draw = random.Random(f"some-{seed}")
    case = replace(drawn_case(draw, (4, 8), sides=False), sides={})
    best = optimum(case.rows, case.k, **case.judged())
    found = km.solve(case.problem(), time_limit=1.5)
    if best is None:
        assert found.table is None
        return
    others = [km.solve(case.problem(), method=name) for name in BASELINES if not refusal(name, case.problem())]
    if found.exact_objective is None:
        assert all(other.exact_objective is None for other in others)
        return
    assert found.verified
    assert best <= found.exact_objective
    assert found.exact_bound is None or found.exact_bound <= best
    assert all(other.exact_objective is None or found.exact_objective <= other.exact_objective for other in others)
    assert found.is_optimal == (found.exact_bound == found.exact_objective)


BASELINES = ("greedy", "mondrian", "full_domain")


@pytest.mark.usefixtures("no_time_for_candidates")
def test_where_greedy_has_no_time_mondrian_has_the_first_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kanon_milp.heuristics.greedy.greedy_partition", lambda *_: None)
    problem = people(300)
    mondrian = km.solve(problem, method="mondrian")
    found = km.solve(problem, time_limit=3)
    assert found.exact_objective is not None
    assert mondrian.exact_objective is not None
    assert found.exact_objective <= mondrian.exact_objective


@pytest.mark.full
def test_where_greedy_over_candidates_is_cut_short_it_goes_over_level_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(_: Instance, limit: Limit) -> None:
        while not limit.over:
            time.sleep(0.05)

    monkeypatch.setattr("kanon_milp.methods.session.greedy", slow)
    problem = people(300)
    greedy = km.solve(problem, method="greedy")
    found = km.solve(problem, method="search", time_limit=10)
    assert greedy.objective is not None
    assert found.trajectory[0][1] is not None
    assert found.trajectory[0][1] <= greedy.objective + 1e-9


@dataclass(frozen=True)
class Looks(Limit):
    """A limit that is over after so many looks at it."""

    looks: Iterator[int] = field(default_factory=lambda: iter(()))

    @property
    def over(self) -> bool:
        return next(self.looks, None) is None


def valued() -> km.Problem:
    table = km.Table.from_frame(census(200), ["age", "education", "race"], "disease")
    return km.Problem(table, [km.KAnonymity(2), km.LDiversity(3)])


@pytest.mark.parametrize("looks", [1, 10, 40, 80, 1000])
def test_a_table_before_candidates_is_no_worse_than_greedy_and_mondrian_cut_short_alike(looks: int) -> None:
    """Its groups are judged by the requirements, as the verifier is not asked here."""
    instance = presolve(valued(), Clock(), enumerated=False).before
    quick = quick_partition(instance, Looks(looks=iter(range(looks))), NO_LIMIT, GreedyTableParams())
    greedy = greedy_partition(instance, Looks(looks=iter(range(looks))))
    mondrian = mondrian_partition(instance, Looks(looks=iter(range(looks))))
    released = [present(released_partition(instance, present(each))) for each in (quick, greedy, mondrian)]
    assert released[0][1].cost <= min(each.cost for _, each in released)
    assert not len(GroupCheck(released[0][0]).refused(released[0][1]))


@pytest.mark.parametrize("method", ["auto", "search"])
def test_greedy_runs_once_and_before_candidates_where_it_is_slow(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise AssertionError("greedy runs a second time")

    greedy = km.solve(valued(), method="greedy")
    monkeypatch.setattr("kanon_milp.methods.session.greedy", none)
    found = km.solve(valued(), method=method, time_limit=0.3)
    assert present(found.exact_objective) <= present(greedy.exact_objective)
