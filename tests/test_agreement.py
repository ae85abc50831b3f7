"""Every route from a problem to a result agrees with brute force on every kind of problem; a planted fault is seen."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from case_judge import Truth, check, judge, truth, wrong_table
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from routes import (
    ROUTES,
    SETS,
    SIDES,
    VALUES,
    Route,
    Verdict,
    agrees,
    any_case,
    features,
    known_truth,
    numbered,
    selected,
    sets_case,
    values_case,
)
from sensitive_cases import Demand, SensitiveCase
from strategies import Case, by_hypothesis

import kanon_milp as km
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions import Dominance

CASES = examples(300, 16)  # a route, or more where it takes more for all features
TURNS = examples(1, 4)  # of so many of these the default run has one on most routes
RECODINGS = {"exempt reading", "missing values", "rows alike", "weights", "a column without weight", "hierarchies"}
RECODINGS |= {"level costs", "label costs", "mask", "mask without full suppression"}
EVERYTHING = {*RECODINGS, *SIDES, *SETS, *VALUES} | {"k", "k above the rows", "units", "one row"}


COMPLETE = ("milp highs",)  # where the default run has every feature


def verdicts(route: Route, numbers: Sequence[int]) -> dict[int, Verdict]:
    """By the number of the case; none is wrong."""
    found = {number: agrees(numbered(route.draw, number), route, known_truth(route.draw, number)) for number in numbers}
    wrong = {number: verdict.wrong for number, verdict in found.items() if verdict.wrong}
    assert not wrong, {number: (numbered(route.draw, number), wrong[number]) for number in wrong}
    return found


@pytest.mark.parametrize("route", [route for route in ROUTES if route.name not in COMPLETE], ids=str)
def test_each_route_agrees_with_brute_force(route: Route) -> None:
    """On some problems; other routes have others."""
    numbers = selected(route.draw, route.refuses, CASES)
    verdicts(route, numbers[ROUTES.index(route) % TURNS :: TURNS])


@pytest.mark.parametrize(
    "route", [pytest.param(each, marks=() if each.name in COMPLETE else pytest.mark.full) for each in ROUTES], ids=str
)
def test_each_route_agrees_with_brute_force_on_every_kind_of_problem(route: Route) -> None:
    found = verdicts(route, selected(route.draw, route.refuses, CASES))
    # a refusal that no case meets is none, and what is not refused has been solved
    assert any(verdict.refused for verdict in found.values()) or not route.refuses
    had = [features(numbered(route.draw, number)) for number, each in found.items() if route.may or not each.refused]
    expected: dict[Any, set[str]] = {
        any_case: EVERYTHING,
        values_case: RECODINGS | {*VALUES},
        sets_case: RECODINGS | {*SETS, *SIDES},
    }
    assert expected.get(route.draw, RECODINGS) - route.refuses <= frozenset().union(*had)
    infeasible = [number for number, each in found.items() if known_truth(route.draw, number).best is None]
    assert any(not found[number].refused for number in infeasible)


@given(by_hypothesis(any_case), st.sampled_from([route for route in ROUTES if route.draw is any_case]))
@settings(max_examples=examples(1000, 13))
def test_any_route_agrees_with_brute_force_on_any_problem(case: Case | SensitiveCase, route: Route) -> None:
    assert not agrees(case, route).wrong


# --------------------------------------------------------------------------------------------- it can fail


def route(name: str) -> Route:
    return next(each for each in ROUTES if each.name == name)


DECLARE, HIGHER, KEEP = km.PSensitivity.declare, Tracker.higher, Dominance.keep


def one_more(self: Any, *given: Any) -> Any:
    """The model states a number that is one too high."""
    return DECLARE(replace(self, p=self.p + 1), *given)


def nothing(*_: Any) -> None:
    """The model states nothing."""


def too_few(self: km.KAnonymity, instance: Instance) -> NDArray[np.bool_]:
    """Covers of just k rows are none that may become a group."""
    return instance.candidates.support > self.k


def higher(self: Tracker, units: int, *rest: Any, **more: Any) -> Any:
    """Bounds are one unit too high."""
    return HIGHER(self, units + 1, *rest, **more)


def one_less(self: Dominance, instance: Instance) -> NDArray[np.bool_]:
    """A reduction drops one of the candidates that cost least, too."""
    keep = KEEP(self, instance)
    cost = instance.candidates.cost.astype(float)
    if keep.any():
        keep[np.where(keep, cost, np.inf).argmin()] = False
    return keep


@pytest.mark.parametrize(
    ("name", "feature", "owner", "attribute", "fault", "seen", "begin"),
    [
        ("milp highs", "p", km.PSensitivity, "declare", one_more, "wrong optimum|infeasible", 0),
        ("milp highs", "p", km.PSensitivity, "declare", nothing, "verification failed|error", 800),
        ("milp cbc", "k", km.KAnonymity, "declare", nothing, "verification failed|error", 0),
        ("milp cbc", "k", km.KAnonymity, "viable", too_few, "wrong|infeasible", 0),
        ("a user's model, groups", "p", km.PSensitivity, "holds", lambda *_: True, "verification failed|error", 0),
        ("subset_dp", "k", km.KAnonymity, "smallest_group", lambda self, _: self.k + 1, "wrong|infeasible", 0),
        ("search", "k", Tracker, "higher", higher, "wrong bound|wrong optimum|error|not proven", 0),
        ("search, cuts first", "k", Tracker, "higher", higher, "wrong bound|wrong optimum|error|not proven", 0),
        ("search", "k", Dominance, "keep", one_less, "wrong|infeasible", 0),
    ],
)
def test_a_planted_fault_is_seen(
    name: str,
    feature: str,
    owner: type,
    attribute: str,
    fault: Any,
    seen: str,
    begin: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """begin: number of the case to begin with, where few would show the fault."""
    asked = route(name)
    having = (number for number in itertools.count(begin) if feature in features(numbered(asked.draw, number)))
    having = (number for number in having if not features(numbered(asked.draw, number)) & asked.refuses)
    monkeypatch.setattr(owner, attribute, fault)  # in code that no judge shares
    found = (
        agrees(numbered(asked.draw, number), asked, known_truth(asked.draw, number)).wrong
        for number in itertools.islice(having, 40)
    )
    assert any(text.startswith(tuple(seen.split("|"))) for wrong in found for text in wrong)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"exact_objective": Fraction(1000)}, "wrong objective"),
        ({"proof": "infeasible"}, "infeasible: said of a problem"),
        ({"exact_bound": Fraction(1000)}, "wrong bound"),
        ({"exact_objective": Fraction(-1), "table": None}, "wrong optimum"),
        ({"stop_reason": "error", "message": "the verifier refuses"}, "error: the verifier refuses"),
        ({"proof": "bound"}, "not proven"),
    ],
)
def test_wrong_results_are_seen(changed: dict[str, Any], said: str) -> None:
    lies = Route("lies", lambda problem: replace(km.solve(problem), **changed))
    case = Case((("a", "b"), ("a", "c"), ("d", "b")), 2, None, (Fraction(1),) * 2, {}, {}, "strict", {})
    assert any(text.startswith(said) for text in agrees(case, lies).wrong)


def test_refusals_of_what_a_route_is_for_are_seen() -> None:
    case = Case((("a",), ("b",)), 1, None, (Fraction(1),), {}, {}, "strict", {"min_groups": 2})
    greedy = route("greedy")
    assert agrees(case, greedy) == Verdict(refused=True)
    assert agrees(case, replace(greedy, refuses=frozenset())).wrong[0].startswith("refused: ")


def test_wrong_tables_are_seen() -> None:
    case = Case((("a", "b"), ("a", "c"), ("d", "b")), 2, None, (Fraction(1),) * 2, {}, {}, "strict", {})
    result = km.solve(case.problem())

    def wrong(released: Sequence[tuple[str | None, ...]], said: Fraction) -> str:
        table = pl.DataFrame(released, schema=case.names, orient="row")
        return " ".join(wrong_table(case, replace(result, table=table, exact_objective=said)))

    assert wrong_table(case, result) == []
    assert wrong([("*", "*")] * 3, Fraction(6)) == ""
    assert "wrong objective" in wrong([("*", "*")] * 3, Fraction(5))
    assert "a group has not" in wrong(list(case.rows), Fraction(0))
    assert "none that its row may become" in wrong([("a", "*")] * 3, Fraction(3))


# ------------------------------------------------------------------- problems that some route once got wrong


@pytest.mark.parametrize("solver", ["highs", "cbc"])
@pytest.mark.parametrize(
    ("requirement", "rows", "expected"),
    [
        (km.BetaLikeness("499/1000"), "ax ax bx bx bx bx ay ay by", 3),
        (km.AlphaKAnonymity("193/300"), "ax bx az by ax by bz", 2),
        (km.AlphaKAnonymity("217/300"), "ax bx ax ay by bx ax by", 2),
        (km.LDiversity("19/10"), "bz ax ay ay ax bx by by ax", 2),
    ],
    ids=str,
)
def test_tables_that_presolve_of_highs_1_15_1_got_wrong(
    requirement: Any, rows: str, expected: int, solver: str
) -> None:
    # with the sizes of groups declared as continuous it called a dearer table optimal (doubleton equations)
    frame = pl.DataFrame([tuple(row) for row in rows.split()], schema=["q", "s"], orient="row")
    problem = km.Problem(km.Table.from_frame(frame, ["q"], ["s"]), [requirement])
    check(Fraction(expected), km.solve(problem, solver))


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_a_table_that_presolve_of_highs_1_15_1_called_impossible(solver: str) -> None:
    # without its aggregator, and with continuous numbers of rows
    rows = "abb2 bbb2 aab2 bab2 aba2 bab1 bab2 aab1 aaa5 bba1 bba5"
    frame = pl.DataFrame([tuple(row) for row in rows.split()], schema=["q0", "q1", "q2", "s"], orient="row")
    problem = km.Problem(
        km.Table.from_frame(frame, ["q0", "q1", "q2"], ["s"]),
        [km.PSensitivity(2)],
        km.Suppression({"q0": 9, "q1": "1/2", "q2": 4}),
        cost_bound=7,
        objective="min_groups",
        suppressed_rows="exempt",
    )
    check(Fraction(4), km.solve(problem, solver))


@pytest.mark.parametrize("formulation", ["strong", "groups"])
@pytest.mark.parametrize(
    ("delta", "log", "weights", "rows"),
    [
        ("7/10", "natural", (1, 0), "aaz bax bby bay aay aax abx aaz aaz bby"),
        ("3/5", "base2", (1, 0), "bbx aax bax abz bbx baz aax bay aaz bay aby"),
        ("9/10", "base2", (0, 1), "abx bax aay bay aby aay aaz abx bbx baz aaz"),
    ],
)
def test_groups_that_must_stay_apart_do(
    delta: str, log: Any, weights: tuple[int, int], rows: str, formulation: str
) -> None:
    # what ignores absent values is not merge-closed: with dominance these tables would cost more
    table = tuple((row[0], row[1]) for row in rows.split())
    plain = Case(table, 1, None, tuple(map(Fraction, weights)), {}, {}, "strict", {})
    demand = Demand(f"delta {log} ignored", delta, (0,), named=False)
    case = SensitiveCase(plain, tuple((row[2],) for row in rows.split()), (demand,))
    check(judge(case), km.solve(case.problem(), formulation=formulation))


def test_what_the_judge_says_of_sides_is_both() -> None:
    case = Case((("a",), ("b",), ("a",)), 1, None, (Fraction(1),), {}, {}, "strict", {"min_groups": 3})
    assert truth(case) == Truth(best=Fraction(1), loss=Fraction(1))  # which a certificate states
    stated = replace(case, sides={"max_groups": 1})  # by certificates, too
    bounded = replace(case, k=2, sides={"cost_bound": Fraction(1)})
    assert truth(bounded) == Truth(best=None, loss=Fraction(3))
    assert truth(stated) == Truth(best=Fraction(3), loss=Fraction(3))
