"""Generated instances, claim by claim: what the papers' proofs use, and where they had to be mended."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.solvers import SolverOptions, StopReason, get
from kanon_milp.studies.families import COLUMN_FAMILIES, Asked, generate, generate_any
from kanon_milp.studies.families.base import Answer, GeneratedColumns
from kanon_milp.studies.families.generated_files import columns_model

SEEDS = range(3)


def edges_of(frame: pl.DataFrame) -> list[tuple[int, int]]:
    """Of a table whose rows are edges."""
    found = []
    for row in frame.rows():
        a, b = (at for at, cell in enumerate(row) if cell == "1")
        found.append((a, b))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_new_rows_cost_nothing_and_old_ones_what_they_did(seed: int) -> None:
    """Theorem 4: the first columns of the old rows alone, as (n/2)-anonymity, have the same optimum."""
    found = generate("bisection_share", size=6, seed=seed)
    old = found.frame.filter(pl.col("x1") == "A")
    k = old.height // 2
    assert k * 4 in (found.frame.height, found.frame.height * 4 // 3)  # c = 1/4, or 1/3
    names = [name for name in old.columns if name.startswith("e")]
    half = km.solve(km.Problem(km.Table.from_frame(old.select(names), names), km.KAnonymity(k)))
    assert half.is_optimal
    assert half.exact_objective == found.optimum


@pytest.mark.parametrize(("seed", "answer"), [*itertools.product(SEEDS, ("yes", "no"))])
def test_the_optimum_is_that_of_the_largest_set_of_edges_within_few_vertices(seed: int, answer: Answer) -> None:
    """Theorem 5, the formula of its proof: n'm - max |V1|·|E22|, without the bound on the cost."""
    found = generate("half_clique", size=3, seed=seed, answer=answer)
    n, m, rows = 6, found.frame.width, found.frame.height
    edges = [
        tuple(at for at, cell in enumerate(column) if cell == str(at + 1) and at < n)
        for column in found.frame.get_columns()
    ]
    edges = [tuple(v for v in edge if v < n) for edge in edges]
    best = max(
        len(outside) * sum(not set(edge) & set(outside) for edge in edges)
        for number in range(n // 2, min(n, rows - n // 2) + 1)
        for outside in itertools.combinations(range(n), number)
    )
    table = km.Table.from_frame(found.frame, found.quasi_identifiers)
    result = km.solve(km.Problem(table, km.KAnonymity(n // 2)))
    assert result.exact_objective == rows * m - best
    assert (best >= 3 * 3) == (answer == "yes")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_the_graph_of_a_formula_has_no_triangle_and_stars_to_divide_into(seed: int, answer: Answer) -> None:
    found = generate("one_in_three", size=4, seed=seed, answer=answer)
    edges = edges_of(found.frame)
    graph = nx.Graph(edges)
    assert graph.number_of_edges() == len(edges) == len(set(map(frozenset, edges)))  # no edge is double
    assert not any(nx.triangles(graph).values())
    assert {degree for _, degree in graph.degree} == {1, 3, 4}
    assert len(edges) % 3 == 0


def test_the_graph_of_a_formula_need_not_be_bipartite() -> None:
    """Theorem 1.5 says that it is; a variable in both of its literals makes an odd circle."""
    graphs = [nx.Graph(edges_of(generate("one_in_three", size=4, seed=seed).frame)) for seed in range(6)]
    assert not all(map(nx.is_bipartite, graphs))


@pytest.mark.parametrize("seed", SEEDS)
def test_two_edges_are_never_diverse_in_three_attributes(seed: int) -> None:
    """Theorem 1.6, Lemma 5; and by the pairwise form, Definition 1, nothing at all is."""
    found = generate("triangles_2_diversity", size=3, seed=seed)
    secrets = found.frame.select(found.sensitive).rows()
    for a, b in itertools.combinations(secrets, 2):
        assert any(x == y for x, y in zip(a, b, strict=True))
    table = km.Table.from_frame(found.frame, found.quasi_identifiers, found.sensitive)
    assert km.solve(km.Problem(table, km.LDiversity(2, form="blocki-williams"))).proof == "infeasible"


@pytest.mark.parametrize("m", [3, 4, 5])
def test_the_greedy_heuristic_pays_as_much_as_is_said(m: int) -> None:
    found = generate("greedy_tight", size=m)
    result = km.solve(found.problem(), method="greedy")
    assert result.exact_objective == (m - 1) * m * m
    assert found.optimum == m * m


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [2, 4])
def test_the_minimum_cover_is_the_minimum_quasi_identifier(seed: int, size: int) -> None:
    found = generate_any("minimum_cover", size=size, seed=seed)
    assert isinstance(found, GeneratedColumns)
    assert found.chosen is not None
    assert found.read_back(found.chosen) == f"cover by {size} sets"
    said = km.find_quasi_identifiers(found.frame, every=True)
    assert found.chosen in said.minimum
    assert {found.read_back(each) for each in said.minimum} == {f"cover by {size} sets"}
    with pytest.raises(ValueError, match="do not cover"):
        found.read_back(found.chosen[1:])
    if size == 2:  # all sets of columns
        smaller = (found.frame.select(each) for each in itertools.combinations(found.frame.columns, 1))
        assert all(frame.n_unique() < found.frame.height for frame in smaller)
    model = columns_model(found)
    answer = get("highs").solve(model, SolverOptions())
    assert answer.x is not None
    assert round(model.value(answer.x)) == size


def test_the_answer_no_has_no_cover() -> None:
    found = generate_any("minimum_cover", asked=Asked("no"))
    assert isinstance(found, GeneratedColumns)
    assert found.optimum is None
    assert get("highs").solve(columns_model(found), SolverOptions()).stop_reason is StopReason.INFEASIBLE


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_tables_with_a_known_quasi_identifier_are_written(answer: str, tmp_path: Path) -> None:
    assert set(COLUMN_FAMILIES) == {"minimum_cover"}
    done = run("generate", "minimum_cover", "--answer", answer, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    said = json.loads((tmp_path / "source.json").read_text())
    assert (said["columns"] is None) == (answer == "no")
    table = pl.read_csv(tmp_path / "table.csv", infer_schema=False)
    assert np.array_equal(table.n_unique(), table.height)
    assert (tmp_path / "model.mps.gz").exists()
    assert run("qid", str(tmp_path / "table.csv")).returncode == 0


def test_a_seed_below_zero_is_refused(tmp_path: Path) -> None:
    for family in ("planted_k", "minimum_cover"):
        done = run("generate", family, "--seed", "-1", "--out", str(tmp_path / "o"))
        assert done.returncode == 2
        assert "seed must be at least 0, found -1" in done.stderr
