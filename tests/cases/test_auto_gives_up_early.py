"""Where there is no time for the candidates of all level vectors, `auto` is no worse than greedy, goes on to its limit,
states a bound, and says what would help."""

from __future__ import annotations

import random
from itertools import product
from typing import Literal

import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.bounds.built_in import cheapest_loss, cheapest_without_candidates
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.reductions import Viability
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


def test_it_is_no_worse_than_greedy_and_goes_on_to_its_limit() -> None:
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
