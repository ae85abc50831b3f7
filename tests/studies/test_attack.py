"""What an optimal table gives away, against all original tables that there could have been."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import attack_pool
import numpy as np
import polars as pl
import pytest
from command_line import run
from oracle import optimum
from present import present

import kanon_milp as km

TREE: dict[str, tuple[str, ...]] = {"0": ("0", "low", "*"), "1": ("1", "low", "*"), "2": ("2", "high", "*")}
PATHS: dict[str, tuple[str, ...]] = {value: (value, "*") for value in "012"}
Row = tuple[str, ...]
Paths = dict[str, Row]
Counts = tuple[int, int, int]  # values that the label stands for, possible ones, certain ones


def judged(released: list[Row], domains: list[list[str]], paths: list[Paths]) -> dict[tuple[int, int], Counts]:
    """By group and generalized column, over all originals of which this table is an optimal 2-anonymous one."""
    groups = list(dict.fromkeys(released))
    stands_for = [
        [[v for v in domain if label in path[v]] for label, domain, path in zip(row, domains, paths, strict=True)]
        for row in groups
    ]
    cost = Fraction(0)
    for row in released:
        for label, path in zip(row, paths, strict=True):
            levels = next(levels for levels in path.values() if label in levels)
            cost += Fraction(levels.index(label), len(levels) - 1)
    each = [
        combinations_with_replacement(list(product(*values)), released.count(row))
        for values, row in zip(stands_for, groups, strict=True)
    ]
    known = dict(enumerate(paths))
    tables = [
        chosen
        for chosen in product(*each)
        if optimum([row for rows in chosen for row in rows], 2, hierarchies=known) == cost
    ]
    found = {}
    for number, row in enumerate(groups):
        for j, label in enumerate(row):
            if label not in stands_for[number][j]:
                shown = [{original[j] for original in chosen[number]} for chosen in tables]
                values = len(stands_for[number][j])
                found[number + 1, j] = (values, len(set.union(*shown)), len(set.intersection(*shown)))
    return found


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.full) for seed in (0, 3, 4, 5))])
def test_exactly_what_all_possible_tables_have_in_common(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, paths = ("a", "b"), [TREE if seed % 2 else PATHS, PATHS]
    rows = [tuple(row) for row in rng.integers(0, 3, (5, 2)).astype(str).tolist()]
    rows += [("0", "0")] if seed % 3 else []
    frame = pl.DataFrame(rows, columns, orient="row")
    recoding = km.Hierarchies({"a": TREE}) if seed % 2 else km.Suppression()
    problem = km.Problem(km.Table.from_frame(frame, columns), km.KAnonymity(2), recoding)
    released = km.solve(problem).require_optimal().table
    assert released is not None
    domains = [sorted(frame[name].unique()) for name in columns]
    by_brute_force = judged(released.rows(), domains, paths)
    for exact in (True, False):
        found = km.attack(problem, released, exact=exact)
        cells = {(group, columns.index(column)): tuple(counts) for group, _, column, *counts in found.cells.iter_rows()}
        assert found.exact is exact
        assert found.groups["examined"].all()
        if exact:
            assert cells == by_brute_force
        assert cells.keys() == by_brute_force.keys()
        for at, (values, possible, certain) in by_brute_force.items():
            assert cells[at][0] == values
            assert cells[at][1] >= possible
            assert cells[at][2] <= certain


def of(rows: list[str], k: int = 2) -> tuple[km.Problem, pl.DataFrame]:
    frame = pl.DataFrame([tuple(row) for row in rows], ["a", "b"], orient="row")
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(k))
    released = km.solve(problem).require_optimal().table
    assert isinstance(released, pl.DataFrame)
    return problem, released


def test_two_values_that_differ_are_both_there() -> None:
    """Were both rows f, the cell would have been kept: each of the two values is certain to be there."""
    problem, released = of(["fx", "mx", "fy", "fy"])
    found = km.attack(problem, released)
    assert found.cells.row(0) == (1, 2, "a", 2, 2, 2)
    assert found.certain_groups == 1


def test_a_value_of_a_cheaper_group_is_ruled_out() -> None:
    """Three rows with x; none of them was f, since it would be with the others that are f and x."""
    problem, _ = of(["fx", "fx", "mx", "nx", "ox"])
    released = pl.DataFrame([*["fx"] * 2, *["*x"] * 3]).select(
        a=pl.col("column_0").str.slice(0, 1), b=pl.col("column_0").str.slice(1, 1)
    )
    found = km.attack(problem, released)
    assert found.cells.row(0) == (2, 3, "a", 4, 3, 0)
    assert (found.refined_rows, found.refined_cells, found.known_cells) == (3, 3, 0)
    assert "ruled out: 3 of 5\n" in found.summary()
    assert repr(found) == "<Attack: 3 of 5 rows refined>"


def test_losses_that_are_no_binary_fractions_are_compared_exactly() -> None:
    rows = [("1", "0"), ("1", "0"), ("1", "1"), ("0", "2")]
    recoding = km.Hierarchies({"a": TREE, "b": TREE}, {"a": "1/2", "b": 2}, costs={"a": (0, "1/3", 2)})
    problem = km.Problem(
        km.Table.from_frame(pl.DataFrame(rows, ["a", "b"], orient="row"), ["a", "b"]), km.KAnonymity(2), recoding
    )
    result = km.solve(problem).require_optimal()
    assert result.exact_objective == Fraction(13, 3)
    found = km.attack(problem, result.table, exact=True)
    assert found.cells.row(0) == (2, 2, "a", 2, 2, 2)


def test_what_is_refused() -> None:
    problem, released = of(["fx", "mx", "fy", "fy"])
    table = problem.table
    for other in (
        km.Problem(table, km.KAnonymity(2), max_groups=3),
        km.Problem(table, km.KAnonymity(2), suppressed_rows="exempt"),
        km.Problem(table, km.KAnonymity(2, quasi_identifiers=["a"])),
    ):
        with pytest.raises(km.InputError, match="attack: "):
            km.attack(other, released)
    with pytest.raises(km.InputError, match="label that the recoding does not have"):
        km.attack(problem, released.with_columns(a=pl.lit("high")))
    with pytest.raises(km.InputError, match="not 2-anonymous"):
        km.attack(problem, pl.DataFrame({"a": ["f", "m", "f", "f"], "b": ["x", "x", "y", "y"]}))
    worse = pl.DataFrame({"a": ["*"] * 4, "b": ["*", "*", "y", "y"]})
    with pytest.raises(km.InputError, match="not optimal for this problem"):
        km.attack(km.Problem(km.Table.from_frame(pl.DataFrame({"a": ["f"] * 4, "b": list("xyyy")}), ["a", "b"]),
                             km.KAnonymity(2)), worse)  # fmt: skip
    cheaper = pl.DataFrame({"a": ["f", "f", "*", "*", "*"], "b": ["x"] * 5})
    with pytest.raises(
        km.InputError, match="not optimal for this problem"
    ):  # every original would be in the first group
        km.attack(
            km.Problem(km.Table.from_frame(cheaper.with_columns(a=pl.lit("f")), ["a", "b"]), km.KAnonymity(2)), cheaper
        )
    with pytest.raises(km.InputError, match="leave out exact=True"):
        km.attack(*of([*["fx"] * 3, *[f"{a}{b}" for a in "mnopq" for b in "yz"]]), exact=True)


def test_the_command_prints_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    problem, released = of(["fx", "mx", "fy", "fy"])
    problem.table.frame.to_polars().write_csv("people.csv")
    released.write_csv("out.csv")
    command = ("attack", "--data", "people.csv", "--qi", "a,b", "--k", "2", "--released", "out.csv")
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("what optimality gives away, at least")
    assert json.loads(run(*command, "--exact", "--json").stdout)["certain_groups"] == 1


def test_the_benchmark_of_pools_finds_the_same_tables_and_the_same_originals() -> None:
    cells = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    frame = pl.DataFrame(cells.astype(str), ["a", "b"])
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(2))
    best = int(attack_pool.least_losses(cells[None], 2)[0])
    tables = attack_pool.released_tables(cells, 2, best + 2)
    pool = present(km.solve(problem, pool=100, pool_loss=2).pool)
    assert pool.complete
    released = [
        tuple(tuple(-1 if cell == "*" else int(cell) for cell in row) for row in each.table.iter_rows())
        for each in pool
    ]
    assert sorted(released) == tables
    figures = attack_pool.Figures()
    optimal = next(each for each in tables if sum(cell < 0 for row in each for cell in row) == best)
    figures.add(optimal, 2, 2, 0)
    shown = pl.DataFrame(
        [["*" if cell < 0 else str(cell) for cell in row] for row in optimal], ["a", "b"], orient="row"
    )
    found = km.attack(problem, shown, exact=True)
    assert figures.rows == found.refined_rows / 4
    assert figures.certain == found.certain_groups / found.groups.height
