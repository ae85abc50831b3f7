"""Why there is no solution: a value, rows, requirements, or a conflict of several; never a cell of the table, and never
where a table is at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import examples
from oracle import cheapest
from own_requirement import AtMost
from strategies import drawn_case

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code
from kanon_milp.errors import SolverError
from kanon_milp.presolve.infeasibility import find_conflict, refuse_side_constraints
from kanon_milp.presolve.instance import compress_table, types_of
from kanon_milp.solvers.highs import HighsAdapter

SECRET = ["flu-secret", "flu-secret", "flu-secret", "cold-secret", "cancer-secret"]


def table() -> km.Table:
    frame = pl.DataFrame({"a": ["x", "x", "y", "y", "z"], "b": list("uvuvu"), "s": SECRET})
    return km.Table.from_frame(frame, ["a", "b"], "s", source="t.csv")


def message(*privacy: km.Requirement, method: str = "auto", **more: Any) -> str:
    result = km.solve(km.Problem(table(), privacy, **more), method=method)
    assert (result.proof, result.stop_reason, exit_code(result)) == ("infeasible", "infeasible", 3)
    assert result.table is None
    assert "secret" not in result.message
    return result.message


def test_a_value_that_is_too_frequent_is_named_by_column_and_row() -> None:
    said = message(km.LDiversity(2))
    assert said == (
        'not even all rows as one group satisfy l-diversity of "s" (l = 2, form = frequency): '
        'in column "s" the value of row 1 has 3 of 5 rows, more than n/l = 5/2'
    )
    assert "the value of row 1 has 3 of 5 rows, more than α·n = 5/2" in message(km.AlphaKAnonymity("1/2"))
    assert "not even all rows as one group" in message(km.AlphaKAnonymity("1/5", values=["flu-secret"]))


def exempt_rows(mask: km.PatternMask | None = None, k: int = 6, *more: km.Requirement) -> km.Result:
    recoding = km.Suppression() if mask is None else mask
    return km.solve(km.Problem(table(), [km.KAnonymity(k), *more], recoding, suppressed_rows="exempt"))


def test_more_than_the_table_has_is_infeasible() -> None:
    every = "not even all rows as one group satisfy"
    assert message(km.KAnonymity(6)) == f"{every} k-anonymity (k = 6): the table has 5 rows"
    assert message(km.KAnonymity(10**30)).endswith(f"(k = {10**30}): the table has 5 rows")
    assert message(km.AlphaKAnonymity(1, 6)).endswith(": the table has 5 rows")
    values = 'column "s" has only 3 different values'
    assert message(km.PSensitivity(4)) == f'{every} p-sensitivity of "s" (p = 4): {values}'
    assert message(km.LDiversity(4, "distinct")).endswith(f": {values}")
    assert message(km.LDiversity(4, "blocki-williams")).endswith(f": {values}")
    of_a = f"{every} k-anonymity (k = 6, quasi-identifiers = a): the table has 5 rows"
    assert message(km.KAnonymity(1), km.KAnonymity(6, ["a"])) == of_a


@pytest.mark.parametrize("k", [6, 10**30])
@pytest.mark.parametrize("method", ["milp", "search", "greedy"])
def test_where_suppressed_rows_are_exempt_a_k_above_n_suppresses_all(k: int, method: str) -> None:
    problem = km.Problem(table(), km.KAnonymity(k), suppressed_rows="exempt")
    result = km.solve(problem, method=method, iteration_limit=1 if method == "search" else None)
    assert result.verified
    assert result.exact_objective == 10
    assert result.is_optimal or method == "greedy"
    assert km.verify(problem, result.table).ok
    strict = km.verify(km.Problem(table(), km.KAnonymity(k)), result.table)
    assert not strict.ok


def test_what_is_exempt_is_so_from_k_alone_and_needs_a_pattern_that_suppresses_all() -> None:
    assert exempt_rows(None, 6, km.PSensitivity(3)).require_optimal().objective == 10
    assert exempt_rows(None, 6, km.PSensitivity(4)).proof == "infeasible"
    assert exempt_rows(km.PatternMask([("keep", "*")])).proof == "infeasible"


def test_a_mask_without_full_suppression_names_rows_and_requirement() -> None:
    mask = km.PatternMask([("keep", "*")])
    said = message(km.KAnonymity(1), km.PSensitivity(2), recoding=mask)
    assert "(rows 1, 2, 5)" in said
    assert 'p-sensitivity of "s" (p = 2) alone rules out 3 of them' in said
    assert "Patterns tried: keep,*" in said


@pytest.mark.parametrize("method", ["search", "milp"])
def test_no_pattern_is_missing_where_all_are_allowed(method: str) -> None:
    """Nine rows in pairs of at most two: no pattern helps."""
    frame = pl.DataFrame({"q0": list("aabbcabca"), "q1": list("xyxyxyxyx")})
    problem = km.Problem(km.Table.from_frame(frame, ["q0", "q1"]), [km.KAnonymity(2), AtMost(2)])
    result = km.solve(problem, method=method, time_limit=120)
    assert result.proof == "infeasible"
    said = {"search": "although every pattern is allowed", "milp": "all of these together"}
    assert said[method] in result.message
    assert "Add" not in result.message
    assert "k-anonymity (k = 2)" in result.message


def test_a_pattern_that_keeps_more_may_be_what_is_missing() -> None:
    """Groups that are suppressed alike are one group, and a pattern in between tells them apart."""
    frame = pl.DataFrame({"q0": list("aabb"), "q1": list("wxyz")})
    table = km.Table.from_frame(frame, ["q0", "q1"])
    asked = [km.KAnonymity(2), AtMost(2)]
    few = km.PatternMask([("keep", "keep"), ("*", "*")])
    refused = km.solve(km.Problem(table, asked, few), method="search", time_limit=120)
    assert refused.proof == "infeasible"
    assert "Add other patterns" in refused.message
    more = km.PatternMask([("keep", "keep"), ("keep", "*"), ("*", "*")])
    assert km.solve(km.Problem(table, asked, more)).require_optimal().objective == 4


def test_t_closeness_is_never_infeasible_with_full_suppression() -> None:
    result = km.solve(km.Problem(table(), [km.TCloseness(0)]))
    assert result.is_optimal
    assert result.objective == 10


def test_a_conflict_is_irreducible() -> None:
    said = message(km.KAnonymity(2), km.TCloseness("1/5"), cost_bound=5, max_groups=4, method="milp")
    assert said == (
        "no table satisfies all of these together (without any one of them there is a solution): "
        't-closeness of "s" (t = 0.2, distance = equal, form = short), a loss of at most 5'
    )


def test_a_number_of_groups_is_named_beside_a_marketer_risk_that_asks_for_fewer() -> None:
    problem = km.Problem(table(), km.MarketerRisk("1/5"), cost_bound=4, max_groups=2)
    found = find_conflict(problem, lambda smaller: km.solve(smaller, method="milp").proof == "infeasible")
    assert found is not None
    assert (found.parts, found.irreducible) == (("a loss of at most 4", "at most 2 groups"), True)


class CrashesOnceSolved(HighsAdapter):
    """A solver that answers once, and crashes while the answer is being explained."""

    answered = False

    def solve(self, *args: Any, **more: Any) -> Any:
        if self.answered:
            raise SolverError("crashed")
        self.answered = True
        return super().solve(*args, **more)


def test_a_solver_that_crashes_while_a_conflict_is_looked_for_does_not_undo_the_proof() -> None:
    problem = km.Problem(table(), [km.KAnonymity(2), km.TCloseness("1/5")], cost_bound=5, max_groups=4)
    result = km.solve(problem, CrashesOnceSolved(), method="milp")
    assert (result.proof, result.stop_reason) == ("infeasible", "infeasible")
    assert result.message.startswith("no table satisfies")


def test_a_single_demand_needs_no_conflict() -> None:
    mask = km.PatternMask([("keep", "*"), ("*", "keep")])
    frame = pl.DataFrame({"a": list("xxyzz"), "b": list("uuvvu")})
    result = km.solve(km.Problem(km.Table.from_frame(frame, ["a", "b"]), [km.KAnonymity(3)], mask))
    assert result.proof == "infeasible"
    assert "rows" in result.message


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_more_groups_than_the_requirements_allow(solver: str) -> None:
    different = km.Table.from_frame(pl.DataFrame({"a": list("wxyz")}), ["a"])
    result = km.solve(km.Problem(different, [km.KAnonymity(2)], min_groups=2), solver)
    assert result.proof == "infeasible"
    assert "k-anonymity (k = 2) with at least 2 groups" in result.message


# --------------------------------------------------------------------------------- side constraints, by counting alone


def many_rows(**sides: Any) -> km.Result:
    """3,000 rows, no two of them alike."""
    frame = pl.DataFrame({"a": [str(i) for i in range(3000)], "b": [str(i % 7) for i in range(3000)]})
    return km.solve(km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(2), **sides), time_limit=60)


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        ({"min_groups": 1501}, "min_groups = 1501 is too many groups of 2 rows or more for 3000 rows"),
        ({"cost_bound": 2999}, "at least 3,000 rows must lose 1 or more each, which is above the cost bound of 2,999"),
        ({"max_groups": 5, "cost_bound": 100}, "at least 3,000 rows must lose 1 or more each"),
    ],
)
def test_side_constraints_that_numbers_of_rows_rule_out_are_refused_before_anything_is_built(
    sides: dict[str, int], said: str
) -> None:
    result = many_rows(**sides)
    assert (result.proof, result.stop_reason, result.backed_by) == ("infeasible", "infeasible", ("own bound",))
    assert said in result.message
    assert result.before.candidates <= 1
    assert result.seconds["build"] == result.seconds["solve"] == 0


def test_few_groups_cannot_keep_many_different_rows() -> None:
    """Proposition 3 of the Homogeneity paper, where each row type has enough rows to stay as it is."""
    frame = pl.DataFrame({"a": [str(i // 5) for i in range(100)]})
    table = km.Table.from_frame(frame, ["a"])
    asked = km.Problem(table, km.KAnonymity(5), max_groups=4, cost_bound=84)
    said = "at least 85 rows in at most 4 groups must lose 1 or more each, which is above the cost bound of 84"
    assert km.solve(asked).message == said
    assert km.solve(replace(asked, cost_bound=85)).require_optimal().objective == 85
    assert km.solve(replace(asked, max_groups=20, cost_bound=0)).require_optimal().objective == 0


@pytest.mark.parametrize("seed", range(examples(20, 3)))
def test_what_counting_refuses_has_no_table(seed: int) -> None:
    """Ten problems, each with all numbers of groups and all losses that matter, against brute force."""
    refused = 0
    for number in range(10):
        case = replace(drawn_case(Random(f"counting-{seed}-{number}"), sides=False), sides={})
        best = cheapest(case.rows, case.k, **case.judged())
        problem = case.problem()
        types = types_of(problem, compress_table(problem))
        bounds = {max(loss - less, Fraction(0)) for loss in best.values() for less in (0, Fraction(1, 100))}
        for fewest, most in product([None, *range(1, len(case.rows) + 1)], repeat=2):
            if fewest is not None and most is not None and fewest > most:
                continue
            for bound in (None, *bounds):
                asked = replace(problem, min_groups=fewest, max_groups=most, cost_bound=bound)
                if refuse_side_constraints(asked, types) is not None:
                    refused += 1
                    assert not any(
                        (fewest or 1) <= groups <= (most or groups) and (bound is None or loss <= bound)
                        for groups, loss in best.items()
                    ), (case, fewest, most, bound)
    assert refused > 10  # of some thousands


REQUIREMENTS = {
    "k": km.KAnonymity(2),
    "p": km.PSensitivity(2),
    "l": km.LDiversity("3/2"),
    "alpha": km.AlphaKAnonymity("2/3", 2),
    "beta": km.BetaLikeness(2),
    "delta": km.DeltaDisclosure(3),
    "t": km.TCloseness("1/2"),
}
BUGS: dict[str, tuple[str, Callable[..., Any]]] = {
    "holds": ("holds", lambda _self, _group: False),
    "viable": ("viable", lambda _self, instance: np.zeros(instance.candidates.count, dtype=bool)),
    "smallest_group": ("smallest_group", lambda _self, _whole: 99),
}


def problem(name: str) -> km.Problem:
    frame = pl.DataFrame({"a": list("aabbccdd"), "b": list("xyxyxyxy"), "s": list("uvuvuvuv")})
    return km.Problem(km.Table.from_frame(frame, ["a", "b"], "s"), REQUIREMENTS[name])


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("name", REQUIREMENTS)
@pytest.mark.parametrize("method", ["milp", "auto"])
def test_a_table_that_is_verified_refutes_that_there_is_none(
    name: str, bug: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = km.solve(problem(name))
    assert right.is_optimal
    monkeypatch.setattr(type(REQUIREMENTS[name]), *BUGS[bug])
    result = km.solve(problem(name), method=method)
    if result.stop_reason == "error":
        assert result.proof == "none"
        assert result.verified
        assert result.table is not None
        assert "but this verified table does" in result.message
    else:
        assert result.is_optimal
        assert result.objective == right.objective


def test_where_there_is_none_it_stays_proven() -> None:
    frame = pl.DataFrame({"a": list("aab"), "s": list("uuv")})
    hopeless = km.Problem(km.Table.from_frame(frame, "a", "s"), km.LDiversity(2))
    assert km.solve(hopeless).proof == "infeasible"
