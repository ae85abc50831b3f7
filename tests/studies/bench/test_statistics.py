"""Statistics of runs: against values worked by hand, and against numpy."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from study_runs import frame, point, study

import kanon_milp as km
from kanon_milp.studies.bench import statistics


def test_the_shifted_geometric_mean_is_that_of_mittelmann() -> None:
    for values, mean in (([0.0, 90.0], math.sqrt(10 * 100) - 10), ([7.0], 7.0)):
        found = pl.DataFrame({"seconds": values}).select(statistics.shifted_geometric_mean("seconds")).item()
        assert found == pytest.approx(mean)


def test_solved_means_ended_proven_and_not_red() -> None:
    runs = statistics.with_outcomes(
        frame(
            {},
            {"proof": "infeasible"},
            {"proof": "bound"},
            {"proof": None},
            {"ended": "time"},
            {"ended": "crashed", "proof": "none"},
            {"defects": ["refuted"]},
            {"defects": None},
        )
    )
    assert runs["solved"].to_list() == [True, True, False, False, False, False, False, True]
    assert runs["red"].to_list() == [False] * 6 + [True, False]
    assert runs["failed"].to_list() == [False] * 5 + [True, False, False]


def test_settings_are_named_by_what_they_differ_in() -> None:
    def named(*rows: dict[str, object]) -> list[str]:
        return statistics.with_outcomes(frame(*rows))["setting"].to_list()

    assert named({}, {"instance": "b"}) == ["highs", "highs"]
    assert named({}, {"formulation": "textbook"}) == ["strong", "textbook"]
    assert named({}, {"solver": "scip", "threads": 2}) == ["highs, 1 thread", "scip, 2 threads"]
    assert named({}, {"options": json.dumps({"gap": 0.1, "x": "y"})}) == ["highs", "highs, gap=0.1 x=y"]
    assert named({}, {"options": "odd"})[1] == "highs, odd"


def test_a_frame_that_is_no_table_of_runs_is_refused() -> None:
    with pytest.raises(km.InputError, match="has a column trajectory"):
        statistics.with_outcomes(frame({}).drop("trajectory"))
    with pytest.raises(km.InputError, match="no rows"):
        statistics.with_outcomes(frame({}).clear())


@pytest.mark.parametrize(
    ("incumbent", "bound", "gap"),
    [
        (10, 5, 0.5),
        (5, 10, 0.5),
        (0, 0, 0),
        (10, 10, 0),
        (None, 5, 1),
        (5, None, 1),
        (0, 5, 1),
        (5, -5, 1),
        (-4, -5, 0.2),
    ],
)
def test_the_gap_is_a_share_of_the_larger_number(incumbent: float | None, bound: float | None, gap: float) -> None:
    assert statistics.gap_of(incumbent, bound) == pytest.approx(gap)


def test_the_primal_and_the_dual_integral_by_hand() -> None:
    # best value 8: primal gap 1 for 2 s, |10 - 8| / 10 for 3 s, 0 for 5 s; dual gap 1 for 2 s, 3 / 8 for 8 s
    told = [point(2.0, 10.0, 5.0), point(5.0, 8.0, 5.0)]
    run = {"trajectory": told, "seconds": 10.0, "proof": "bound", "objective": 8.0, "bound": 5.0, "time_limit": 10.0}
    found = statistics.summary(
        statistics.with_outcomes(frame({**run, "root_bound": 4.0, "nodes": 10, "root_seconds": 2}))
    )
    assert found["primal"].to_list() == pytest.approx([2 + 3 * 0.2])
    assert found["dual"].to_list() == pytest.approx([2 + 8 * 3 / 8])
    assert found["root_gap"].to_list() == pytest.approx([0.5])
    assert found["nodes"].to_list() == pytest.approx([10])


def test_the_best_value_is_the_known_one_or_the_best_that_nothing_is_wrong_with() -> None:
    rows: list[dict[str, object]] = [{"objective": 8.0}, {"objective": 7.0, "defects": ["wrong"]}, {"objective": 9.0}]
    for sense, best in (("min", 8.0), ("max", 9.0), (None, 8.0)):
        runs = statistics.with_outcomes(frame(*(row | {"sense": sense} for row in rows)))
        assert statistics.best_values(runs) == [best] * 3
    runs = statistics.with_outcomes(frame(*(row | {"known": "15/2"} for row in rows)))
    assert statistics.best_values(runs) == [7.5] * 3


def test_models_and_files_are_compared_where_there_is_one_formulation() -> None:
    others: tuple[dict[str, str], ...] = ({}, {"instance": "b", "formulation": "file"})
    rows = [{"solver": name, **of} for name in ("highs", "scip") for of in others]
    found = statistics.summary(statistics.with_outcomes(frame(*rows)))
    assert found["setting"].to_list() == ["highs", "scip"]
    assert found["mean_ratio"].to_list() == [1.0, 1.0]


def test_infinite_bounds_count_as_missing() -> None:
    assert statistics.gap_of(5, -math.inf) == 1
    assert statistics.gap_of(math.nan, 5) == 1


def test_the_primal_dual_integral_by_hand() -> None:
    # gap 1 for 2 s, 0.5 for 3 s, 0.2 for 5 s, then solved: 2 + 1.5 + 1 = 4.5
    told = [(2.0, 10.0, 5.0), (5.0, 10.0, 8.0)]
    steps = statistics.gap_steps(told, 10.0, 0.0)
    assert statistics.primal_dual_integral(steps, 100.0) == pytest.approx(4.5)
    # the limit cuts it off; what is told in another order is the same
    assert statistics.primal_dual_integral(statistics.gap_steps(told[::-1], 10.0, 0.0), 6.0) == pytest.approx(3.7)
    # nothing known: the gap is 1 all the time
    assert statistics.primal_dual_integral(statistics.gap_steps([], 3.0, None), 60.0) == pytest.approx(60.0)
    # not solved: the last gap stays to the limit
    assert statistics.primal_dual_integral(statistics.gap_steps(told, 10.0, 0.2), 20.0) == pytest.approx(6.5)


def test_the_integral_is_that_of_a_fine_sum() -> None:
    generator = np.random.default_rng(3)
    told = [(float(at), 10 + float(up), 10 - float(down)) for at, up, down in generator.uniform(0, 9, (20, 3))]
    steps = statistics.gap_steps(told, 9.5, 0.0)
    times = np.linspace(0, 30, 600_001)[:-1]
    assert statistics.primal_dual_integral(steps, 30.0) == pytest.approx(
        statistics.gap_at(steps, times).mean() * 30, rel=1e-4
    )


def test_the_summary_by_hand() -> None:
    runs = statistics.with_outcomes(
        frame(
            {"seconds": 10.0},
            {"seconds": 30.0, "instance": "b", "trajectory": [point(0.0, 10.0, 5.0)]},
            {"solver": "scip", "seconds": 40.0},
            {"solver": "scip", "seconds": 100.0, "instance": "b", "ended": "time", "proof": "bound", "bound": 9.0},
        )
    )
    highs, scip = statistics.summary(runs).to_dicts()
    assert (highs["setting"], highs["runs"], highs["solved"], highs["red"]) == ("highs", 2, 2, 0)
    assert highs["mean"] == pytest.approx(math.sqrt(20 * 40) - 10)
    assert highs["par10"] == pytest.approx(20)
    assert highs["integral"] == pytest.approx((10 + 15) / 2)
    assert (scip["solved"], scip["solved_ratio"]) == (1, 0.5)
    assert scip["mean"] == pytest.approx(math.sqrt(50 * 110) - 10)
    assert scip["mean_ratio"] == pytest.approx((math.sqrt(5500) - 10) / (math.sqrt(800) - 10))
    assert scip["par10"] == pytest.approx((40 + 1000) / 2)
    assert scip["par10_ratio"] == pytest.approx(26)
    assert scip["integral"] == pytest.approx((40 + 100) / 2)
    assert [highs[f"{name}_ratio"] for name in ("solved", "mean", "par10", "integral")] == [1, 1, 1, 1]


def test_ratios_to_a_best_of_nothing() -> None:
    red = {"defects": ["wrong"], "ended": "crashed"}
    found = statistics.summary(statistics.with_outcomes(frame(red, {**red, "solver": "scip"})))
    assert found["solved_ratio"].to_list() == [1, 1]
    assert found["par10"].to_list() == [1000, 1000]


def test_performance_profiles_by_hand() -> None:
    # two settings on four cases: a wins two, one is a tie, one is solved by b alone
    a, b = statistics.performance_profile(np.array([[1, 2], [2, 8], [3, 3], [np.inf, 5]]))
    assert a[0].tolist() == [1]
    assert a[1].tolist() == [0.75]
    assert b[0].tolist() == [1, 2, 4]
    assert b[1].tolist() == [0.5, 0.75, 1]


def test_shares_are_of_the_cases_that_a_setting_was_run_on() -> None:
    a, b = statistics.performance_profile(np.array([[1.0, np.nan], [4.0, 2.0], [np.inf, np.nan]]))
    assert (a[0].tolist(), a[1].tolist()) == ([1, 2], [1 / 3, 2 / 3])
    assert (b[0].tolist(), b[1].tolist()) == ([1], [1])


def test_settings_of_other_cases_are_not_compared() -> None:
    runs = statistics.with_outcomes(frame({"seconds": 3.0}, {"seconds": 5.0, "seed": 1}, {"solver": "cbc"}))
    found = statistics.summary(runs)
    assert not statistics.same_cases(runs)
    assert found["mean_ratio"].to_list() == [None, None]
    assert statistics.summary(runs.filter(pl.col("seed") == 0))["mean_ratio"].null_count() == 0


def test_a_case_that_nobody_solves_is_in_no_profile() -> None:
    ((ratios, shares),) = statistics.performance_profile(np.array([[np.inf], [np.inf]]))
    assert (ratios.tolist(), shares.tolist()) == ([1], [0])
    ((_, shares),) = statistics.performance_profile(np.array([[1.0], [np.inf]]))
    assert shares.tolist() == [0.5]


def test_times_too_short_to_compare_count_as_equal() -> None:
    a, b = statistics.performance_profile(np.array([[1e-5, 4e-3]]))
    assert a[1].tolist() == b[1].tolist() == [1]


def test_cases_have_the_seconds_of_solved_runs() -> None:
    runs = statistics.with_outcomes(
        frame(
            {"seconds": 3.0},
            {"seconds": 4.0},  # the same case again: the last one counts
            {"seconds": 5.0, "seed": 1, "k": None},
            {"seconds": 6.0, "solver": "cbc", "proof": "bound"},
        )
    )
    cases = statistics.case_seconds(runs)
    assert cases["highs"].to_list() == [4.0, 5.0]
    assert cases["cbc"].to_list() == [math.inf, None]  # not solved, and not run


def test_mean_gaps_and_sizes_agree_with_numpy() -> None:
    runs = statistics.with_outcomes(study())
    gaps = statistics.mean_gap(runs, points=50)
    one = runs.filter(pl.col("setting") == "highs, strong")
    times = np.geomspace(0.01, 60, 50)
    expected = np.mean([statistics.gap_at(steps, times) for steps in statistics.run_steps(one)], axis=0)
    assert gaps.filter(pl.col("setting") == "highs, strong")["gap"].to_numpy() == pytest.approx(expected)
    by_size = statistics.scaling(runs, "k")
    seconds = statistics.charged_seconds(one)
    for k, mean in by_size.filter(pl.col("setting") == "highs, strong").select("k", "mean").rows():
        chosen = seconds.filter(one["k"] == k).to_numpy()
        assert mean == pytest.approx(math.exp(np.log(chosen + 10).mean()) - 10)


def test_a_failed_run_has_the_size_of_its_instance() -> None:
    lost = {"k": None, "n": None, "ended": "error", "proof": "none", "solver": "cbc"}
    runs = statistics.with_outcomes(frame({"k": 5}, lost, {**lost, "instance": "nowhere else"}))
    assert statistics.scaling(runs, "k").select("setting", "k", "solved", "runs").rows() == [
        ("cbc", 5, 0.0, 1),
        ("highs", 5, 1.0, 1),
    ]
    assert statistics.case_seconds(runs)["highs"].to_list() == [1.0, None]


def test_many_sizes_are_taken_together_in_ranges() -> None:
    values = np.array([1, 10, 100, 1000, 10_000, 3])
    assert statistics.grouped_sizes(values, 6).tolist() == values.tolist()
    # two ranges, 1 to 100 and 100 to 10,000
    assert statistics.grouped_sizes(values, 2).tolist() == [10, 10, 1000, 1000, 1000, 10]
    assert statistics.grouped_sizes(np.array([0, 1, 2]), 2).tolist() == [0, 1, 2]
