"""Costs of whole groups, also a user's, from the problem to the verified table, against all partitions; as models."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import polars as pl
import pyomo.environ as pyo
import pytest
from command_line import run
from effort import examples
from group_cases import GroupCase, group_cases, least
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from present import present

import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.heuristics.boxes import improved_boxes
from kanon_milp.heuristics.microaggregation import mdav, scaled
from kanon_milp.methods import registry
from kanon_milp.presolve.boxes import BoxCosts
from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.problem.group_costs import GROUP_COSTS, NumericCost
from kanon_milp.problem.group_costs.boxes import BoxPenalty
from kanon_milp.solvers import SolverOptions, StopReason
from kanon_milp.solvers.checked import solve_checked
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.studies.datasets import FOLDER_VARIABLE
from kanon_milp.system.limit import NO_LIMIT

OF_GROUPS = [name for name, method in registry.METHODS.items() if method.groups is not None]


def proves(case: GroupCase, method: str) -> bool:
    """Whether a method must end with a proof: search where groups have parts of few rows or different values, whose
    costs it knows; elsewhere its bound is that of sizes, or of such parts."""
    if method != "search" or not case.recoding:
        return method in ("milp", "univariate")
    squares = case.required is None and case.recoding["cost"] == "sse"
    return squares or (case.k <= 2 and case.required in (None, ("l", Fraction(2))))


@given(group_cases())
@settings(max_examples=examples(1000, 14))
def test_all_methods_agree_with_all_partitions(case: GroupCase) -> None:
    problem, best = case.problem(), least(case.n, case.cost, case.holds)
    for name in ("auto", *OF_GROUPS):
        if name != "auto" and registry.refusal(name, problem):
            continue
        result = km.solve(problem, method=name, time_limit=20 if name == "search" else None)
        if best is None:
            assert result.proof == "infeasible"
            continue
        assert result.verified, (result.message, result.report)
        assert (result.exact_bound or 0) <= best <= present(result.exact_objective)
        if proves(case, name) or result.is_optimal:
            assert result.require_optimal().exact_objective == best
        if name == "univariate":
            assert (result.backed_by, result.solver.name) == (("own bound",), "none")
        if name == "search" and case.required is None and case.recoding and best:
            assert result.certify().bound <= best
        # what is written is what is verified, also without the groups
        report = km.verify(problem, result.table)
        assert report.ok
        assert report.cost == result.exact_objective


@pytest.mark.parametrize("method", ["mdav", "vmdav", "milp", "univariate", "k_member"])
def test_limits_start_and_ends(method: str) -> None:
    """A table to start with is never lost, and one is found at once after the limit."""
    table = km.Table.from_frame(pl.DataFrame({"a": [1, 2, 3, 10, 11, 12, 30, 31, 32]}), ["a"])
    problem = km.Problem(table, km.KAnonymity(3), km.Microaggregation())
    result = km.solve(problem, method=method, start=[0, 0, 0, 1, 1, 1, 2, 2, 2], time_limit=1e-6)
    assert result.verified
    assert result.exact_objective == 6
    assert result.stop_reason in ("time_limit", "optimal")
    assert result.table is not None
    assert result.table["a"].to_list() == [2.0] * 3 + [11.0] * 3 + [31.0] * 3
    assert result.groups is not None
    assert len(set(result.groups.tolist())) == 3
    dropped = km.solve(problem, method=method, start=[0] * 8 + [1])
    assert "start was dropped" in dropped.message
    assert dropped.exact_objective == 6


@pytest.mark.parametrize("recoding", [km.Microaggregation(), km.Boxes()])
def test_k_member_has_small_groups_also_at_once(recoding: km.Microaggregation | km.Boxes) -> None:
    """What the limit leaves is cut at medians: groups that have what is required, and not all rows as one."""
    frame = pl.DataFrame({"a": range(64), "s": ["x", "y"] * 32})
    problem = km.Problem(km.Table.from_frame(frame, "a", "s"), [km.KAnonymity(2), km.LDiversity(2)], recoding)
    result = km.solve(problem, method="k_member", time_limit=1e-6)
    assert (result.verified, result.stop_reason) == (True, "time_limit")
    assert result.groups is not None
    assert len(set(result.groups.tolist())) == 32


def test_what_results_say() -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": ["1", "2", "3", "9"], "b": ["x", "y", "x", "y"]}), "a", keep="b")
    result = km.solve(km.Problem(table, km.KAnonymity(2), km.Microaggregation(standardize=True)))
    assert result.solver.method == "univariate"
    said = result.as_dict()
    assert Fraction(said["objective_exact"]) == Fraction(said["bound_exact"]) == result.exact_objective
    assert said["objective"] == float(Fraction(said["objective_exact"]))
    assert said["information_loss"] == pytest.approx(100 * said["objective"] / 3)
    assert (said["gap"], said["proof"], said["problem"]["recoding"]) == (0.0, "optimal", "microaggregation")
    assert "proven optimum" in result.summary()


def test_methods_that_are_for_other_problems_refuse_by_name() -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": ["1", "2"], "b": ["3", "4"]}), ["a", "b"])
    points, rows = km.Problem(table, km.KAnonymity(1), km.Microaggregation()), km.Problem(table, km.KAnonymity(1))
    boxes, l1 = replace(points, recoding=km.Boxes()), replace(points, recoding=km.Microaggregation(center="median"))
    for problem, method, said in (
        (rows, "mdav", "it is for the recodings microaggregation and boxes"),
        (points, "greedy", "levels of cells, which the recoding microaggregation does not have"),
        (points, "univariate", "only in one column"),
        (boxes, "vmdav", "only under the recoding microaggregation"),
        (l1, "univariate", "only in one column"),
        (l1, "search", "only around the mean, where it is least"),
    ):
        with pytest.raises(km.InputError, match=said):
            km.solve(problem, method=method)
    with pytest.raises(km.InputError, match="the formulation textbook has levels"):
        km.solve(points, formulation="textbook")
    with pytest.raises(km.InputError, match="then: further objectives"):
        km.solve(points, then="groups")


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1.5", "1.5", "6", "6"], None),
        (["2", "2", "6", "6"], None),  # rounded as the column is
        (["1.5", "1.5", "6.1", "6.1"], "rows 3, 4"),
        (["1.5", "1.6", "6", "6"], "row"),
        (["*", "*", "6", "6"], "rows 1, 2"),
        (["1.5", "1.5", "5.9999999", "5.9999999"], "rows 3, 4"),
    ],
)
def test_verifier_accepts_means_and_nothing_else(cells: list[str], said: str | None) -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": ["1", "2", "3", "9"]}), "a")
    problem = km.Problem(table, km.KAnonymity(2), km.Microaggregation())
    report = km.verify(problem, pl.DataFrame({"a": cells}))
    assert report.ok == (said is None)
    if said is None:
        assert (report.cost, report.information_loss) == (Fraction(37, 2), 100 * Fraction(37, 2) / Fraction(155, 4))
    else:
        assert any(said in violation for violation in report.violations)
        assert report.cost is None


@pytest.mark.parametrize(
    ("values", "cell", "ok"),
    [
        ((10**15, 10**15 + 6), "1000000000000003", True),
        ((10**15, 10**15 + 6), "1000000000000004", False),
        ((10**15, 10**15 + 6), "1000000000000000", True),  # 15 digits
        ((10**15, 10**15 + 16), "1000000000000000", False),
        ((33, 33, 34), "33.3333333333333", True),
        ((33, 33, 34), "33.333333333333336", True),  # a float
        ((33, 33, 34), "33.3333333333334", False),
        ((33, 33, 34), "33.33333333333341", False),
        ((-1, -1, -1), "-1.00000000000001", False),
    ],
)
def test_verifier_accepts_15_digits_and_floats(values: tuple[int, ...], cell: str, ok: bool) -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": [*map(str, values)], "b": ["0.001"] * len(values)}), ["a", "b"])
    problem = km.Problem(table, km.KAnonymity(2), km.Microaggregation())
    assert km.verify(problem, pl.DataFrame({"a": [cell] * len(values), "b": ["0.001"] * len(values)})).ok == ok


def test_verifier_judges_boxes() -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": ["1", "2", "3", "9"], "b": ["x", "x", "y", "z"]}), ["a", "b"])
    problem = km.Problem(table, km.KAnonymity(2), km.Boxes())
    released = pl.DataFrame({"a": ["1-2", "1-2", "3-9", "3-9"], "b": ["x", "x", "{y, z}", "{y, z}"]})
    assert km.verify(problem, released).cost == 2 * Fraction(1, 8) + 2 * Fraction(6, 8) + 2 * Fraction(1, 2)
    wider = released.with_columns(a=pl.Series(["1-3", "1-3", "3-9", "3-9"]))
    assert km.verify(problem, wider).cost == 2 * Fraction(2, 8) + 2 * Fraction(6, 8) + 2 * Fraction(1, 2)
    assert not km.verify(problem, released.with_columns(a=pl.Series(["1-2", "1-2", "4-9", "4-9"]))).ok


@given(group_cases(boxes=False))
@settings(max_examples=examples(200, 3))
def test_both_models_have_the_optimum_of_all_partitions(case: GroupCase) -> None:
    natural = {"sse": "mean", "l1": "median"}[case.recoding["cost"]]
    case = replace(case, k=max(case.k, 2), required=None, recoding={**case.recoding, "center": natural})
    best = least(case.n, case.cost, case.holds)
    assume(best is not None)
    for formulation in ("groups", "compact"):
        linear = to_arrays(km.build_model(case.problem(), formulation)).linear
        found = solvers.get().solve(linear, SolverOptions())
        assert found.objective == pytest.approx(float(best), abs=1e-6)  # type: ignore[arg-type]


def test_models_that_are_too_large_or_of_another_kind_are_refused() -> None:
    frame = pl.DataFrame({"a": [str(x * x) for x in range(70)]})
    problem = km.Problem(km.Table.from_frame(frame, "a"), km.KAnonymity(5), km.Microaggregation())
    for formulation, said in (
        ("groups", "70 rows have more than 50,000"),
        ("compact", "up to 60 rows"),
        ("textbook", "formulation of microaggregation must be one of strong, groups, compact"),
    ):
        with pytest.raises(km.InputError, match=said):
            km.build_model(problem, formulation)
    with pytest.raises(km.InputError, match="around the mean"):
        km.build_model(replace(problem, recoding=km.Boxes()), "compact")


PUBLISHED = {
    "tarragona": {3: "16.9326", 4: "19.5460", 5: "22.4619"},
    "census": {3: "5.6922", 4: "7.4947", 5: "9.0884"},
}


@pytest.mark.parametrize(("name", "k"), [(name, k) for name, values in PUBLISHED.items() for k in values])
def test_mdav_has_the_published_information_loss(name: str, k: int) -> None:
    """The values that every paper on microaggregation compares with, of the CASC reference tables, standardized."""
    path = Path(os.environ.get(FOLDER_VARIABLE, "")) / "casc" / f"{name}.csv.gz"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    frame = pl.read_csv(path)
    problem = km.Problem(
        km.Table.from_frame(frame, frame.columns), km.KAnonymity(k), km.Microaggregation(standardize=True)
    )
    instance = GroupInstance.of(problem)
    assert isinstance(instance.cost, NumericCost)
    loss = instance.table(mdav(scaled(instance.cost), k, 2, NO_LIMIT)).cost / instance.cost.total()
    assert f"{float(100 * loss):.4f}" == PUBLISHED[name][k]


def test_integers_and_other_costs_are_proven_exactly() -> None:
    frame = pl.DataFrame({"a": [3, 7, 8, 20, 21, 29, 30, 44], "b": [1, 5, 2, 9, 9, 4, 30, 31]})
    table = km.Table.from_frame(frame, ["a", "b"])
    found = km.solve(km.Problem(table, km.KAnonymity(3), km.Microaggregation()), method="milp").require_optimal()
    assert "millionth" not in found.message
    assert found.exact_bound == found.exact_objective
    standardized = km.Problem(table, km.KAnonymity(3), km.Microaggregation(standardize=True))
    exact = km.solve(standardized, method="milp").require_optimal()
    assert exact.exact_bound == exact.exact_objective
    solved = km.solve(standardized, method="milp", parameters={"group_proof.groups": 0}).require_optimal()
    assert solved.exact_bound == exact.exact_bound
    assert (exact.backed_by, "solver" in solved.backed_by) == (("own bound",), True)


def test_bounded_costs_have_certificates_where_nothing_is_lost() -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": ["1", "1", "2", "2"]}), ["a"])
    result = km.solve(km.Problem(table, km.KAnonymity(2), km.Microaggregation(cost="l1"))).require_optimal()
    assert result.exact_objective == 0
    assert result.certify().bound == 0
    around_means = km.Problem(table, km.KAnonymity(2), km.Microaggregation(cost="l1", center="mean"))
    assert km.solve(around_means).require_optimal().certify().bound == 0


@pytest.mark.parametrize("recoding", [km.Microaggregation(), km.Boxes()])
def test_a_certificate_under_l_diversity_is_of_groups_of_so_many_rows(
    recoding: km.Microaggregation | km.Boxes,
) -> None:
    """Multipliers of groups of different values prove nothing of others; those of groups of κ rows prove the optimum
    of 2-anonymity."""
    frame = pl.DataFrame({"x": [1, 2, 4, 10, 11, 13, 30, 31], "s": list("aaabbbab")})
    table = km.Table.from_frame(frame, ["x"], "s")
    problem = km.Problem(table, km.LDiversity(2), recoding)
    sizes = km.solve(km.Problem(table, km.KAnonymity(2), recoding)).require_optimal().exact_objective
    found = km.solve(problem, method="search", time_limit=5)
    certificate = found.certify()
    report = km.check_certificate(problem, certificate)
    assert report.valid, report.problems
    assert sizes is not None
    assert found.exact_objective is not None
    assert 0.999 * sizes < certificate.bound <= report.bound <= sizes < found.exact_objective


def test_the_parts_of_a_large_group_of_the_best_table_are_no_table_of_its_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A start with a group of four rows, which the program over all groups has as two of two rows."""
    points = [(165, 77), (202, 24), (37, 274), (48, 187), (298, 29), (259, 109), (19, 44), (222, 214)]
    points += [(1000, 1000), (1012, 1000), (1000, 1010), (1012, 1010)]
    frame = pl.DataFrame({"x": [x for x, _ in points], "y": [y for _, y in points]})
    problem = km.Problem(km.Table.from_frame(frame, ["x", "y"]), km.KAnonymity(2), km.Microaggregation())
    forced = {"group_search.tables": 0, "group_search.diving": 0, "group_proof.groups": 0}
    start = [1, 2, 3, 3, 2, 4, 1, 4, 9, 9, 9, 9]
    found = km.solve(problem, method="search", start=start, parameters=forced)
    assert found.exact_objective == found.exact_bound == km.solve(problem, method="milp").exact_objective == 25965

    # the same of `milp`, where the solver ends without a table and costs are no small integers
    frame = pl.DataFrame({"x": [1000 * x + i % 3 for i, (x, _) in enumerate(points)], "y": [y for _, y in points]})
    problem = replace(problem, table=km.Table.from_frame(frame.with_columns(pl.col("y") * 1000), ["x", "y"]))

    def ended(*given: Any, **more: Any) -> Any:
        nothing: dict[str, Any] = {"x": None, "objective": None, "bound": None}
        return replace(solve_checked(*given, **more), **nothing, stop_reason=StopReason.NODE_LIMIT)

    monkeypatch.setattr("kanon_milp.methods.group_model.solve_checked", ended)
    found = km.solve(problem, method="milp", start=start, parameters={"group_proof.groups": 0})
    assert found.exact_objective == found.exact_bound == 25_965_015_005


def test_the_search_ends_where_nothing_is_left_to_do() -> None:
    """The last program is not stated, and all groups at hand have been gone through."""
    values = np.random.default_rng(1).integers(0, 100, (24, 2))
    table = km.Table.from_frame(pl.DataFrame(values, ["a", "b"], orient="row"), ["a", "b"])
    problem = km.Problem(table, km.KAnonymity(3), km.Microaggregation())
    unstated = {"group_search.all_groups": 1, "group_proof.groups": 0}
    found = km.solve(problem, method="search", time_limit=5, parameters=unstated)
    assert (found.proof, found.stop_reason) == ("bound", "finished")


@given(group_cases())
@settings(max_examples=examples(1000, 4))
def test_moves_and_exchanges_keep_sizes_and_lower_the_cost(case: GroupCase) -> None:
    case = replace(case, recoding={}, required=None, k=min(case.k, case.n))
    instance = GroupInstance.of(case.problem())
    assert isinstance(instance.cost, BoxPenalty)
    before = np.arange(case.n) // case.k
    before[before == case.n // case.k] = case.n // case.k - 1
    after = improved_boxes(BoxCosts.of(instance.cost, 2 * case.k), before, case.k, 9, NO_LIMIT)
    assert instance.satisfies(instance.table(after))
    assert instance.table(after).cost <= instance.table(before).cost
    moved = improved_boxes(BoxCosts.of(instance.cost, 2 * case.k), after, case.k, 9, NO_LIMIT)
    assert instance.table(moved).cost == instance.table(after).cost


def test_beyond_a_number_of_rows_search_has_the_bound_of_each_row_alone() -> None:
    case = GroupCase(
        {"a": ("1", "2", "4", "8", "9", "9"), "b": ("u", "u", "v", "v", "w", "w")}, ("x",) * 6, 3, None, {}
    )
    result = km.solve(case.problem(), method="search", time_limit=5, parameters={"group_search.rows": 5})
    other = km.solve(case.problem(), method="k_member")
    assert result.verified
    assert result.exact_bound == other.exact_bound
    assert "the bound adds up" not in other.message
    assert result.exact_bound


@pytest.mark.parametrize("method", ["k_member", "mondrian"])
def test_a_bound_that_knows_sizes_alone_says_so(method: str) -> None:
    """The sensitive values of neighbours are alike, so that their box is no group."""
    frame = pl.DataFrame({"a": ["1", "2", "8", "9"], "s": ["x", "x", "y", "y"]})
    table = km.Table.from_frame(frame, ["a"], "s")
    result = km.solve(km.Problem(table, [km.KAnonymity(2), km.TCloseness("0.1")], km.Boxes()), method=method)
    assert result.exact_objective == 4
    assert result.exact_bound == Fraction(1, 2)
    assert result.message.startswith("the bound adds up what each row costs in the narrowest box of at least 2 rows")


@pytest.mark.parametrize("method", ["milp", "search"])
def test_numbers_among_texts_are_sets(method: str) -> None:
    """A column is one of intervals only where all of its values are numbers."""
    table = km.Table.from_frame(pl.DataFrame({"a": ["2", "6.5", "1", "u"]}), ["a"])
    result = km.solve(km.Problem(table, km.KAnonymity(2), km.Boxes()), method=method).require_optimal()
    assert result.exact_objective == 4 * Fraction(1, 3)


@pytest.mark.full
def test_groups_of_different_values_are_searched() -> None:
    """Under l = 3: as many groups as there can be, against the model of all of them."""
    random = np.random.default_rng(5)
    for cost, center in (("sse", "mean"), ("l1", "median")):
        frame = pl.DataFrame({**{c: random.integers(0, 99, 14) for c in "ab"}, "s": list("xyzxyzxyzuvxyz")})
        recoding = km.Microaggregation(cost=cost, center=center)  # type: ignore[arg-type]
        problem = km.Problem(km.Table.from_frame(frame, ["a", "b"], "s"), km.LDiversity(3), recoding)
        instance = GroupInstance.of(problem)
        assert (instance.most, instance.differing is None) == (5, False)
        model = km.solve(problem, method="milp").require_optimal()
        found = km.solve(problem, method="search", time_limit=60)
        assert found.exact_bound is not None
        assert found.exact_bound <= model.exact_objective <= found.exact_objective  # type: ignore[operator]
        if cost == "sse":
            assert found.require_optimal().exact_objective == model.exact_objective
    assert GroupInstance.of(replace(problem, privacy=[km.KAnonymity(4), km.LDiversity(3)])).most is None
    assert GroupInstance.of(replace(problem, privacy=[km.LDiversity("3/2")])).most is None
    assert GroupInstance.of(replace(problem, privacy=[km.PSensitivity(3)])).most is None
    for other in (km.Microaggregation(), km.Boxes()):
        sized = km.solve(replace(problem, privacy=[km.PSensitivity(3)], recoding=other), method="search", time_limit=5)
        assert "the bound is that of groups of at least 3 rows; what else is required" in sized.message
        assert sized.verified


FRAME = pl.DataFrame({"a": [1, 1, 2, 5, 5, 6, 9], "b": [3, 4, 3, 3, 9, 8, 8]})
TABLE = km.Table.from_frame(FRAME, ["a", "b"])


@pytest.mark.parametrize(
    ("recoding", "formulation"),
    [(km.Microaggregation(), "strong"), (km.Microaggregation(), "compact"), (km.Boxes(), "strong")],
)
def test_another_solver_finds_the_same(recoding: Any, formulation: str, tmp_path: Path) -> None:
    problem = km.Problem(TABLE, km.KAnonymity(3), recoding)
    best = km.solve(problem, method="milp").require_optimal()
    km.export_model(problem, tmp_path / "m.mps", formulation=formulation)
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(str(tmp_path / "m.mps"))
    solver.run()
    assert solver.getObjectiveValue() == pytest.approx(best.objective)
    solver.writeSolution(str(tmp_path / "m.sol"), 0)
    found = km.import_solution(problem, tmp_path / "m.sol")
    assert (found.exact_objective, found.proof, found.verified) == (best.exact_objective, "none", True)
    model = km.build_model(problem, formulation)
    with pytest.raises(km.InputError, match="has no value that is a number"):
        km.solved_table(problem, model)
    pyo.SolverFactory("appsi_highs").solve(model)
    loaded = km.solved_table(problem, model)
    assert (loaded.exact_objective, loaded.proof, loaded.verified) == (best.exact_objective, "none", True)
    size, linear = km.model_size(problem, formulation), to_arrays(model).linear
    assert (size.variables, size.constraints) == (linear.variables, linear.constraints)
    pairs = len(model.assign) if formulation == "compact" else sum(len(model.members[g]) for g in model.GROUPS)
    assert size.pairs == pairs
    with pytest.raises(km.InputError, match=r"map of names is of another"):
        km.import_solution(
            km.Problem(TABLE, km.KAnonymity(2), recoding), tmp_path / "m.sol", names=tmp_path / "m.mps.names.csv"
        )
    with pytest.raises(km.InputError, match="no reductions"):
        km.export_model(problem, tmp_path / "m.mps", reduced=True)


def test_a_changed_model_proves_nothing_of_the_problem() -> None:
    problem = km.Problem(TABLE, km.KAnonymity(2), km.Microaggregation())
    best = km.solve(problem, method="milp").require_optimal()
    model = km.build_model(problem)
    found = km.solve_model(problem, model)
    assert found.exact_objective == best.exact_objective
    assert found.is_optimal
    assert sum(pyo.value(model.choose[g]) for g in model.GROUPS) == 3
    with_more = km.build_model(problem)
    with_more.apart = pyo.Constraint(
        expr=sum(with_more.choose[g] for g in with_more.GROUPS if {1, 2} <= set(with_more.members[g])) == 0
    )
    changed = km.solve_model(problem, with_more)
    assert changed.verified
    assert changed.proof == "none"
    assert "the model was changed" in changed.message
    assert changed.exact_objective is not None
    assert best.exact_objective is not None
    assert changed.exact_objective >= best.exact_objective
    assert present(changed.groups)[0] != present(changed.groups)[1]
    with pytest.raises(km.InputError, match="its groups differ"):
        km.solve_model(km.Problem(TABLE, km.KAnonymity(3), km.Microaggregation()), model)


def test_from_the_command_line(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "t.csv")
    asked = ["--data", tmp_path / "t.csv", "--qi", "a,b", "--k", "3", "--recoding", "boxes"]
    assert run("export", *asked, "--to", tmp_path / "m.mps").returncode == 0
    assert "rows 1 2 3 of the table are a group" in (tmp_path / "m.mps.names.csv").read_text()
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(str(tmp_path / "m.mps"))
    solver.run()
    solver.writeSolution(str(tmp_path / "m.sol"), 0)
    done = run("import", tmp_path / "m.sol", *asked, "--out", tmp_path / "out", "--json")
    assert done.returncode == 4, done.stderr
    assert json.loads(done.stdout)["verified"] is True


@dataclass(frozen=True, eq=False)
class Ranges(km.GroupCost):
    """The sum of the ranges of groups; they are released as their smallest and largest values."""

    table: km.Table
    columns: tuple[str, ...]
    weights: Mapping[str, Fraction]

    name = "ranges"

    def exact(self, rows: Any) -> Fraction:
        found = Fraction(0)
        for name in self.columns:
            values = [int(self.table.keys[name][int(row)]) for row in rows]
            found += self.weights[name] * (max(values) - min(values))
        return found

    def lower_bound(self, rows: Any) -> Fraction:
        return self.exact(rows)

    def release(self, group: Any) -> dict[str, pl.Series]:
        frame = self.table.keys.select(pl.col(self.columns).cast(pl.Int64), g=pl.Series(group))
        return {
            name: frame.select(
                pl.format("{}..{}", pl.col(name).min().over("g"), pl.col(name).max().over("g"))
            ).to_series()
            for name in self.columns
        }


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    km.register_group_cost(Ranges)
    yield
    del GROUP_COSTS["ranges"]


def problem_of(cells: Sequence[Sequence[int]], k: int = 2) -> km.Problem:
    frame = pl.DataFrame({"a": [a for a, _ in cells], "b": [b for _, b in cells]})
    recoding = km.Microaggregation(cost="ranges", weights={"b": "1/3"})
    return km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(k), recoding)


@given(st.lists(st.tuples(st.integers(-3, 9), st.integers(0, 4)), min_size=2, max_size=6), st.integers(2, 3))
@settings(max_examples=examples(200, 3))
def test_methods_agree_with_all_partitions(cells: list[tuple[int, int]], k: int) -> None:
    def cost(rows: Sequence[int]) -> Fraction:
        a, b = ([cells[i][j] for i in rows] for j in (0, 1))
        return max(a) - min(a) + Fraction(max(b) - min(b), 3)

    best, problem = least(len(cells), cost, lambda rows: len(rows) >= k), problem_of(cells, k)
    for method in ("milp", "k_member", "auto"):
        result = km.solve(problem, method=method)
        if best is None:
            assert result.proof == "infeasible"
            continue
        assert result.verified, (result.message, result.report)
        assert result.exact_objective is not None
        assert result.exact_objective >= best
        assert result.exact_bound is None or result.exact_bound <= best
        if method == "milp":
            assert result.require_optimal().exact_objective == best
            assert "group cost ranges" in result.backed_by
        assert km.verify(problem, result.table).cost == result.exact_objective
        assert result.as_dict()["judged_by_their_own_code"] == ['group cost "ranges"']


def test_many_rows_have_a_table_and_a_bound_in_time() -> None:
    rng = np.random.default_rng(5)
    result = km.solve(problem_of(rng.integers(0, 50, (60, 2)).tolist(), 3), time_limit=1)
    assert (result.solver.method, result.verified) == ("k_member", True)
    assert result.exact_bound is None or 0 < result.exact_bound < result.exact_objective  # type: ignore[operator]


def test_verifier_refuses_other_cells() -> None:
    problem = problem_of([(1, 1), (2, 1), (7, 3), (9, 3)])
    right = pl.DataFrame({"a": ["1..2", "1..2", "7..9", "7..9"], "b": ["1..1", "1..1", "3..3", "3..3"]})
    assert km.verify(problem, right).cost == 3
    wrong = right.with_columns(a=pl.Series(["1..2", "1..2", "7..8", "7..8"]))
    assert "rows 3, 4" in km.verify(problem, wrong).violations[0]


def test_what_is_no_cost_is_refused_by_name() -> None:
    class Half(Ranges):
        name = "half"

        def exact(self, rows: Any) -> Any:
            return 0.5

    with pytest.raises(km.InputError, match="does not say exact, release"):
        km.register_group_cost(type("No", (km.GroupCost,), {"name": "no"}))
    km.register_group_cost(Half)
    table = problem_of([(1, 1), (2, 1)]).table
    half = km.Problem(table, km.KAnonymity(2), km.Microaggregation(cost="half"))
    with pytest.raises(km.InputError, match='group cost "half": exact must return an int or a Fraction'):
        km.solve(half)
    del GROUP_COSTS["half"]
    with pytest.raises(km.InputError, match="standardize and center are not for the group cost ranges"):
        km.Problem(table, km.KAnonymity(2), km.Microaggregation(cost="ranges", standardize=True))
    with pytest.raises(km.InputError, match="the group cost ranges nothing is known"):
        km.solve(problem_of([(1, 1), (2, 1)]), method="mdav")
