"""What the verifier does with hierarchies that are none, with code of the user's, and how its answers are worded."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import judges
import numpy as np
import polars as pl
import pyomo.environ as pyo
import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_requirement import Own
from present import present

import kanon_milp as km
from kanon_milp.problem import distances
from kanon_milp.problem.privacy import KAnonymity, TCloseness
from kanon_milp.problem.records import Group
from kanon_milp.verify import verify
from kanon_milp.verify.ground import emd_bounds, emd_cost


def hierarchy_of(paths: dict[str, tuple[str | None, ...]]) -> km.Hierarchy:
    """A hierarchy that its own constructor has not seen."""
    made = km.Hierarchy.from_rows([("a", "*")])
    object.__setattr__(made, "paths", paths)
    return made


BAD_PATHS: dict[str, dict[str, tuple[str | None, ...]]] = {
    "level 0 of a value must be the value itself": {"20": ("x", "y", "*"), "21": ("21", "y", "*")},
    "no common top": {"20": ("20", "2x", "*"), "21": ("21", "2x", "+")},
    "levels are not nested": {"20": ("20", "2x", "l", "*"), "21": ("21", "2x", "h", "*")},
    "the same number of levels": {"20": ("20", "*"), "21": ("21", "2x", "*")},
    "the top stands in level 1 too": {"20": ("20", "*", "*"), "21": ("21", "*", "*")},
    "a label of level 1 is missing": {"20": ("20", None, "*"), "21": ("21", None, "*")},
    "has no values": {},
}


@pytest.mark.parametrize("words", BAD_PATHS)
def test_a_hierarchy_that_is_none_is_refused_with_column_and_kind(words: Any) -> None:
    frame = pl.DataFrame({"age": ["20", "21"] * 2})
    problem = km.Problem(
        km.Table.from_frame(frame, "age"), KAnonymity(2), km.Hierarchies({"age": hierarchy_of(BAD_PATHS[words])})
    )
    for age in ("20", "*"):
        with pytest.raises(km.InputError, match=f'column "age".*{words}') as caught:
            verify(problem, frame.with_columns(age=pl.lit(age)))
        assert "21" not in str(caught.value)


def test_sixty_people_are_not_all_released_as_aged_20() -> None:
    """The label 20 of all ages is told from the age 20, or is that of the entire column."""
    ages = [str(age) for age in range(20, 80)]
    frame = pl.DataFrame({"age": ages})
    paths: dict[str, tuple[str | None, ...]] = {age: (age, "20", "*") for age in ages}
    problem = km.Problem(km.Table.from_frame(frame, "age"), KAnonymity(1), km.Hierarchies({"age": hierarchy_of(paths)}))
    assert verify(problem, frame.with_columns(age=pl.lit("20"))).cost == 30  # each at level 1
    apart = verify(problem, pl.DataFrame({"age": ["20", *["20 (level 1)"] * 59]}))
    assert (apart.ok, apart.cost, apart.groups) == (True, Fraction(59, 2), 2)
    mixed = verify(problem, pl.DataFrame({"age": ["20", "21", *["20"] * 58]}))
    assert mixed.violations == (
        'column "age": not the original value, not a label of its hierarchy: rows 3, 4, 5, 6, 7 and 53 more',
    )


@dataclass(frozen=True)
class AtMost(Own):
    """No group has more than so many rows: about no sensitive attribute."""

    rows: int
    name: ClassVar[str] = "at_most"

    @property
    def merge_closed(self) -> bool:
        return False

    def holds(self, group: Group) -> bool:
        assert group.names == ()
        assert present(group.table_group).size == 6
        return group.size <= self.rows

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, _instance: Any) -> None:
        @block.Constraint(model.CANDIDATES)
        def few(_block: pyo.Block, g: int) -> object:
            return model.rows[g] <= self.rows * model.open[g]

    def describe(self) -> dict[str, object]:
        return {"rows": self.rows}


class Unbound(AtMost):
    """Its `bind` returns the requirement itself."""

    def bind(self, _table: Any) -> Any:
        return self


class BoundToNothing(AtMost):
    """Its `bind` returns no requirement."""

    def bind(self, _table: Any) -> Any:
        return ()


class BoundToText(AtMost):
    """Its `bind` returns names."""

    def bind(self, _table: Any) -> Any:
        return ("at_most",)


class Vague(AtMost):
    """Its `holds` forgets to return something."""

    def holds(self, _group: Any) -> Any:
        return None


class Numpy(AtMost):
    """Its `holds` returns a truth value of numpy."""

    def holds(self, group: Any) -> Any:
        return np.bool_(group.size <= self.rows)


@dataclass(frozen=True)
class AnyK(KAnonymity):
    """A class of the user's with the parameters of one of the package, and a meaning of its own."""

    def holds(self, _group: Any) -> bool:
        return True


def six() -> km.Table:
    return km.Table.from_frame(pl.DataFrame({"q": list("aaabbb")}), "q")


def test_a_requirement_about_no_sensitive_attribute_is_judged_by_its_own_code_and_the_report_says_so() -> None:
    problem = km.Problem(six(), [KAnonymity(2), AtMost(3)])
    result = km.solve(problem)
    assert result.is_optimal
    assert result.objective == 0
    report = result.report
    assert report is not None
    assert report.own == ("at_most (rows = 3)",)
    assert report.as_dict()["judged_by_their_own_code"] == ["at_most (rows = 3)"]
    assert "judged by its own code, not by a definition of the verifier: at_most (rows = 3)" in report.summary()
    assert result.as_dict()["judged_by_their_own_code"] == ["at_most (rows = 3)"]
    together = verify(problem, pl.DataFrame({"q": ["*"] * 6}))
    assert together.violations == (
        "1 of 1 groups violates at_most (rows = 3); the first is rows 1, 2, 3, 4, 5 and 1 more",
    )
    assert verify(km.Problem(six(), KAnonymity(2)), pl.DataFrame({"q": ["*"] * 6})).own == ()


@pytest.mark.parametrize(
    ("kind", "found"),
    [(Unbound, "found Unbound"), (BoundToNothing, "found an empty one"), (BoundToText, "found text of 7 characters")],
)
def test_bind_must_return_requirements(kind: type[AtMost], found: str) -> None:
    with pytest.raises(km.InputError, match=rf"{kind.__name__}\.bind must return a tuple of .* \(self,\), {found}"):
        km.Problem(six(), kind(3))


def test_holds_must_return_a_truth_value() -> None:
    problem = km.Problem(six(), [KAnonymity(2), Vague(3)])
    words = r"Vague\.holds must return True or False, found None"
    with pytest.raises(km.InputError, match=words):
        verify(problem, problem.table.frame.to_native())
    with pytest.raises(km.InputError, match=words):
        km.solve(problem)
    assert km.solve(km.Problem(six(), [KAnonymity(2), Numpy(3)])).is_optimal


@dataclass(frozen=True)
class Pairs(Own):
    """Groups of two rows: says nothing of unions, which have more."""

    name: ClassVar[str] = "pairs"

    def smallest_group(self, _whole: Any) -> int:
        return 2

    def holds(self, group: Any) -> bool:
        return bool(group.size == 2)

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, _instance: Any) -> None:
        @block.Constraint(model.CANDIDATES)
        def two(_block: pyo.Block, g: int) -> object:
            return model.rows[g] == 2 * model.open[g]


def test_a_requirement_that_says_nothing_of_unions_is_not_taken_for_merge_closed() -> None:
    frame = pl.DataFrame({"q": list("aabb")})
    result = km.solve(km.Problem(km.Table.from_frame(frame, "q"), [KAnonymity(2), Pairs()]))
    # not even the whole table has it, which says nothing of its parts
    assert result.is_optimal
    assert result.objective == 0


def test_a_subclass_of_the_users_is_the_users() -> None:
    report = verify(km.Problem(six(), AnyK(5)), pl.DataFrame({"q": list("aaabbb")}))
    assert report
    assert report.own == ("k_anonymity (k = 5)",)


@dataclass(frozen=True)
class Squares(distances.GroundDistance):
    """A ground distance of the user's, and no metric: what two sides have in common may be better moved."""

    name: ClassVar[str] = "squares"

    def space(self, values: Any, where: str) -> distances.Space:
        return distances.Space(tuple(values), 4, lambda i, j: (i - j) ** 2)


def test_a_ground_distance_of_the_users_is_taken_as_it_computes() -> None:
    frame = pl.DataFrame({"q": list("aab"), "s": ["1", "2", "3"]})
    table = km.Table.from_frame(frame, "q", "s")
    report = verify(km.Problem(table, TCloseness(1, Squares())), frame)
    judged = [
        judges.distance_from_table(
            group, [("1",), ("2",), ("3",)], 0, lambda a, b: Fraction((int(a or 0) - int(b or 0)) ** 2, 4)
        )
        for group in ([0, 1], [2])
    ]
    assert report.released.sensitive["s"].closeness["squares"] == max(judged)
    assert report.own == ('ground distance "squares"',)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.data())
def test_emd_cost_agrees_with_the_judges(first: Any, data: st.DataObject) -> None:
    size = len(first)
    second = data.draw(st.lists(st.integers(0, 6), min_size=size, max_size=size))
    if not any(first) or not any(second):
        return
    entry = st.integers(0, 9)
    cost = data.draw(st.lists(st.lists(entry, min_size=size, max_size=size), min_size=size, max_size=size))
    a, b = sum(first), sum(second)
    exact = judges.emd(tuple(first), tuple(second), tuple(tuple(map(Fraction, row)) for row in cost))
    assert Fraction(emd_cost([x * b for x in first], [y * a for y in second], cost), a * b) == exact


def test_emd_cost_with_numbers_beyond_64_bits() -> None:
    large = 10**30
    assert emd_cost([large, 1], [1, large], [[3, 5], [0, 7]]) == 5 * large


def test_an_infeasible_extended_model_blames_nothing_that_is_not_known() -> None:
    problem = km.Problem(six(), KAnonymity(2), km.PatternMask([("keep",), ("*",)]))
    model = km.build_model(problem)
    model.mine = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) >= 5)
    result = km.solve_model(problem, model)
    assert result.proof == "infeasible"
    assert "everything that was added to it, has no solution" in result.message
    assert "not known" in result.message
    assert "pattern" not in result.message
    # what holds for the problem itself is said of it
    alone = km.Problem(
        km.Table.from_frame(pl.DataFrame({"q": list("ab")}), "q"), KAnonymity(2), km.PatternMask([("keep",)])
    )
    hopeless = km.solve_model(alone, km.build_model(alone))
    assert hopeless.proof == "infeasible"
    assert "k-anonymity (k = 2)" in hopeless.message


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.data())
def test_emd_cost_is_between_its_bounds(first: Any, data: st.DataObject) -> None:
    size = len(first)
    second = data.draw(st.lists(st.integers(0, 6), min_size=size, max_size=size))
    if not any(first) or not any(second):
        return
    entry = st.integers(0, 9)
    cost = data.draw(st.lists(st.lists(entry, min_size=size, max_size=size), min_size=size, max_size=size))
    supply, demand = [x * sum(second) for x in first], [y * sum(first) for y in second]
    low, high = emd_bounds(supply, demand, cost)
    assert low <= emd_cost(supply, demand, cost) <= high


def test_emd_cost_of_hundreds_of_values_is_quick() -> None:
    draw = random.Random(1)
    cost = [[draw.randrange(5_000, 10_000) for _ in range(300)] for _ in range(300)]
    began = time.process_time()
    emd_cost([1] * 300, [1] * 300, cost)
    assert time.process_time() - began < 10  # takes about 0.2 seconds; by the method of Bellman and Ford above 20
