"""Source problems of one's own: read, solved as trying all solves them, and built into tables that say the same."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.errors import InputError
from kanon_milp.studies.families import Asked, generate, generate_any, source_problems
from kanon_milp.studies.families.base import GeneratedColumns
from kanon_milp.studies.families.source_problems import (
    clique,
    exact_cover,
    largest_matching,
    most_common_neighbours,
    one_true_literal,
    read_source,
    shipped,
    smallest_bisection,
    smallest_cover,
)

SEEDS = range(40)


def subsets(items: range) -> list[tuple[int, ...]]:
    return [each for size in range(len(items) + 1) for each in itertools.combinations(items, size)]


@pytest.mark.parametrize("seed", SEEDS)
def test_exact_solvers_find_what_trying_all_finds(seed: int) -> None:
    draw = random.Random(seed)
    n = draw.randint(2, 4)
    triples = sorted({(draw.randrange(n), draw.randrange(n), draw.randrange(n)) for _ in range(draw.randint(1, 8))})
    matchings = [
        chosen
        for chosen in subsets(range(len(triples)))
        if all(len({triples[i][d] for i in chosen}) == len(chosen) for d in range(3))
    ]
    found = largest_matching(triples)
    assert tuple(found) in matchings
    assert len(found) == max(map(len, matchings))

    sets = [draw.sample(range(6), draw.randint(1, 3)) for _ in range(draw.randint(2, 7))]
    covers = [each for each in subsets(range(len(sets))) if {u for i in each for u in sets[i]} == set(range(6))]
    cover = smallest_cover(range(6), sets)
    assert (cover is None) == (not covers)
    if cover is not None:
        assert tuple(cover) in covers
        assert len(cover) == min(map(len, covers))
    exact = [each for each in covers if sum(len(sets[i]) for i in each) == 6]
    chosen = exact_cover(range(6), sets)
    assert (chosen is None) == (not exact)
    assert chosen is None or tuple(chosen) in exact

    clauses: Any = [
        tuple((v, draw.random() < 0.5) for v in draw.sample(range(4), 3)) for _ in range(draw.randint(1, 5))
    ]

    def satisfies(truth: Any) -> bool:
        return all(sum(truth[v] == sign for v, sign in clause) == 1 for clause in clauses)

    truths = [truth for truth in itertools.product((False, True), repeat=4) if satisfies(truth)]
    values = one_true_literal(clauses)
    assert (values is None) == (not truths)
    assert values is None or satisfies(values)

    edges = [edge for edge in itertools.combinations(range(6), 2) if draw.random() < 0.5]
    known = set(edges)
    cliques = [
        each for each in itertools.combinations(range(6), 3) if known.issuperset(itertools.combinations(each, 2))
    ]
    some = clique(6, edges, 3)
    assert (some in cliques) if cliques else some is None
    cuts: dict[tuple[int, ...], int] = {}
    for half in itertools.combinations(range(6), 3):
        cuts[half] = sum((a in half) != (b in half) for a, b in edges)
    assert cuts[smallest_bisection(6, edges)] == min(cuts.values())
    neighbours = [{b for b in range(4) if draw.random() < 0.6} for _ in range(4)]
    pair, common = most_common_neighbours(neighbours, 2)
    assert common == neighbours[pair[0]] & neighbours[pair[1]]
    assert len(common) == max(len(a & b) for a, b in itertools.combinations(neighbours, 2))


def test_a_source_problem_that_is_too_large_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_problems, "MOST_STEPS", 5)
    with pytest.raises(InputError, match="was not solved exactly in 5 steps"):
        smallest_cover(range(6), [[i, (i + 1) % 6] for i in range(6)])
    monkeypatch.undo()
    with pytest.raises(InputError, match="was not solved exactly"):  # too deep for Python
        exact_cover(range(5000), [[i] for i in range(5000)])


TRIPLES = {"triples": [["a", "b", "c"], ["d", "e", "f"], ["a", "e", "c"]]}
NO_MATCHING = {"triples": [["a", "b", "c"], ["d", "b", "f"], ["a", "e", "f"]]}
SETS = {"sets": [["a", "b", "c"], ["c", "d", "e"], ["d", "e", "f"]]}
OVERLAP = {"sets": [["a", "b", "c"], ["c", "d", "e"], ["a", "e", "f"]]}
STAR = {"edges": [[0, 1], [0, 2], [0, 3]]}
PATH = {"edges": [["a", "b"], ["b", "c"], ["c", "d"]]}
CLIQUE = {"edges": [[1, 2], [2, 3], [1, 3], [3, 4], [4, 5], [5, 6]]}
CIRCLE = {"edges": [[1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 1]]}
SQUARE = {
    "parts": [["a", "b", "c", "d"], ["w", "x", "y", "z"]],
    "edges": [["a", "w"], ["a", "x"], ["b", "w"], ["b", "x"]],
}
LADDER = {
    "parts": [["a", "b", "c", "d"], ["w", "x", "y", "z"]],
    "edges": [["a", "w"], ["b", "x"], ["c", "y"], ["d", "z"]],
}
TRIANGLE = {"parts": [["a"], ["b"], ["c"]], "edges": [["a", "b"], ["b", "c"], ["a", "c"]]}
HEXAGON = {
    "parts": [["a", "d"], ["b", "e"], ["c", "f"]],
    "edges": [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"], ["e", "f"], ["f", "a"]],
}
YES, NO = "blocki_williams_example_1", "blocki_williams_example_2"


@pytest.mark.parametrize(
    ("family", "source", "answer"),
    [
        *((name, TRIPLES, "yes") for name in ("matching_27", "matching_t_low", "matching_t_high")),
        *((name, NO_MATCHING, "imperfect") for name in ("matching_27", "matching_t_low", "matching_t_high")),
        ("three_set_cover", SETS, "yes"), ("three_set_cover", OVERLAP, "imperfect"),
        ("three_set_cover", {**SETS, "universe": list("abcdefg")}, "no"),
        ("edge_partition", STAR, "yes"), ("edge_partition", TRIANGLE, "yes"), ("edge_partition", PATH, "no"),
        ("half_clique", CLIQUE, "yes"), ("half_clique", CIRCLE, "no"),
        ("bisection", CIRCLE, "yes"), ("bisection_share", {"edges": [[1, 2], [3, 4], [2, 3]]}, "yes"),
        *((name, SQUARE, "yes") for name in ("bipartite", "bipartite_types")),
        *((name, SQUARE, "yes") for name in ("bipartite_sensitive", "bipartite_diverse")),
        *((name, LADDER, "no") for name in ("bipartite", "bipartite_diverse")),
        *((name, TRIANGLE, "yes") for name in ("triangles_2_diversity", "triangles_3_diversity")),
        *((name, HEXAGON, "no") for name in ("triangles_2_diversity", "triangles_3_diversity")),
        ("one_in_three", YES, "yes"), ("one_in_three", NO, "no"),
    ],
)  # fmt: skip
@pytest.mark.full
def test_a_table_of_ones_own_source_problem_says_what_is_true_of_it(
    family: str, source: Any, answer: str, tmp_path: Path
) -> None:
    """Through files: what is read back is solved, and has the optimum or is infeasible as [known] says."""
    given = source
    if not isinstance(source, str):
        given = tmp_path / "source.json"
        given.write_text(json.dumps(source))
    done = run("generate", family, "--source", given, "--no-mps", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    said = json.loads((tmp_path / "out" / "source.json").read_text())
    assert said["answer"] == answer
    model = km.read_model(tmp_path / "out" / "model.toml")
    result = km.solve(model.problem)
    found = generate(family, source=given)
    if answer == "no":
        assert (result.proof, said["optimum"], found.groups) == ("infeasible", None, None)
        with pytest.raises(InputError, match="the answer yes was asked for, and the source problem has not"):
            generate(family, source=given, answer="yes")
        return
    assert str(result.exact_objective) == said["optimum"] == str(found.optimum)
    assert found.read_back is not None
    assert result.groups is not None
    groups = [np.flatnonzero(result.groups == number).tolist() for number in np.unique(result.groups)]
    assert found.read_back(groups)
    if answer == "yes" and family not in ("bisection", "bisection_share"):
        with pytest.raises(InputError, match="the answer no was asked for, and the source problem has what"):
            generate(family, source=given, answer="no")
    else:
        assert km.solve(generate(family, source=given, answer="no").problem()).proof == "infeasible"


@pytest.mark.parametrize(
    ("family", "source", "said"),
    [
        ("matching_27", TRIPLES, "perfect matching of 2 triples: a b c; d e f"),
        ("three_set_cover", SETS, "cover by 2 sets: a b c; d e f"),
        ("edge_partition", STAR, "0 triangles and 1 stars: 0-1 0-2 0-3"),
        ("half_clique", CLIQUE, "clique of 3 vertices: 1 2 3"),
        ("bisection", {"edges": [["a", "b"], ["b", "c"], ["c", "d"]]}, "cut of 1 edges: a b; c d"),
        ("bipartite", SQUARE, "complete bipartite subgraph with 2 + 2 vertices: a b w x"),
        ("one_in_three", [["x", "y", "z"], ["x", "-y", "-z"], ["-x", "y", "w"]], ""),
    ],
)
def test_a_solution_is_read_back_by_the_names_of_the_source(family: str, source: Any, said: str) -> None:
    found = generate(family, source=source)
    assert found.groups is not None
    assert found.read_back is not None
    words = found.read_back(found.groups)
    assert words == said or not said
    if family == "one_in_three":
        truth = {part.split()[0]: part.endswith("true") for part in words.partition(": ")[2].split(", ")}
        for clause in source:
            assert sum(truth[name.lstrip("-")] != name.startswith("-") for name in clause) == 1
        return
    result = km.solve(found.problem())
    assert result.groups is not None
    groups = [np.flatnonzero(result.groups == number).tolist() for number in np.unique(result.groups)]
    assert found.read_back(groups).partition(":")[0] == said.partition(":")[0]


def test_columns_of_ones_own_sets(tmp_path: Path) -> None:
    found = generate_any("minimum_cover", asked=Asked(source=OVERLAP))
    assert isinstance(found, GeneratedColumns)
    assert found.optimum == 3
    assert found.chosen in km.find_quasi_identifiers(found.frame, every=True).minimum


def test_examples_of_appendix_b_have_the_solutions_that_the_paper_names() -> None:
    assert shipped() == [YES, NO]
    for name, expected in ((YES, [(False, False, False), (True, True, False)]), (NO, [])):
        clauses = read_source(name, "formula").members
        truths = [
            truth
            for truth in itertools.product((False, True), repeat=3)
            if all(sum(truth[v] == sign for v, sign in clause) == 1 for clause in clauses)
        ]
        assert truths == expected


def test_graphs_of_networkx_are_taken_as_objects_and_as_their_json(tmp_path: Path) -> None:
    square = nx.complete_bipartite_graph(4, 4)
    star = nx.star_graph(3)
    assert generate("edge_partition", source=star).optimum == 9
    assert generate("bipartite", source=square).answer == "yes"
    for number, graph in enumerate((star, square)):
        for key in ("links", "edges"):
            path = tmp_path / f"{number}{key}.json"
            path.write_text(json.dumps(nx.node_link_data(graph, edges=key)))
            family = "bipartite" if number else "edge_partition"
            assert generate(family, source=path).optimum == generate(family, source=graph).optimum
    with pytest.raises(InputError, match="undirected graph"):
        generate("edge_partition", source=nx.DiGraph([(0, 1)]))


@pytest.mark.parametrize(
    ("family", "source", "said"),
    [
        ("matching_27", {"triples": [["a", "b"]]}, "has 2 entries, 3 are expected"),
        ("matching_27", {"triples": [["a", "b", "c"], ["d", "b", "c"]]}, "equally many elements"),
        ("matching_27", {"edges": []}, '"triples" must be a list of lists'),
        (
            "matching_27",
            [[0, 0, 0], [0, 1, 1], [0, 2, 2], [0, 3, 3], [1, 0, 1], [2, 1, 0], [3, 2, 3]],
            "is in 4 triples",
        ),
        ("three_set_cover", {"sets": [["a", "a", "b"]]}, "sets of three different elements"),
        ("three_set_cover", {"sets": [["a", "b", "c"]], "universe": ["a"]}, "is not listed"),
        ("edge_partition", {"edges": [["a", "a"]]}, "joins a vertex to itself"),
        ("edge_partition", {"edges": []}, "there is no edge"),
        ("edge_partition", {"nodes": [1], "links": [2]}, "node-link data has an id"),
        ("bisection", {"edges": [[1, 2], [2, 3]]}, "an even number of at least 4 vertices"),
        ("half_clique", {"edges": [[1, 2], [3, 4]]}, "an even number of 6 to 12"),
        ("bipartite", TRIANGLE, "two parts of one even number"),
        ("bipartite", {"edges": [["a", "b"]], "parts": [["a", "b"], []]}, "joins two vertices of one part"),
        ("triangles_3_diversity", SQUARE, "three parts of vertices"),
        ("one_in_three", {"clauses": [["x", "-x", "y"]]}, "three different variables"),
        ("one_in_three", {"clauses": [["x", True, "y"]]}, "texts or whole numbers"),
        ("one_in_three", 7, "must be a list of lists"),
    ],
)
def test_what_is_wrong_with_a_source_problem_is_said(family: str, source: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(source))
    with pytest.raises(InputError) as caught:
        generate(family, source=path)
    assert said in str(caught.value)
    done = run("generate", family, "--source", path, "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\x00"])
def test_a_file_that_is_no_json_is_said_so(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"mine\.json"):
        generate("edge_partition", source=path)


PARAMETERS: list[tuple[str, dict[str, object], Callable[[Any], bool]]] = [
    ("matching_t_low", {"t": 0}, lambda found: str(found.privacy[0].t) == "0"),
    ("matching_t_low", {"t": "33/100"}, lambda found: str(found.privacy[0].t) == "33/100"),
    ("matching_t_high", {"t": "1/3"}, lambda found: found.frame.height == 18),
    ("matching_t_high", {"t": "5/12"}, lambda found: found.frame.height == 36),
    ("bisection_share", {"c": "1/6"}, lambda found: found.frame.height == 12),
    ("half_clique", {"c": "3/8"}, lambda found: found.frame.height == 10),
    ("bipartite_types", {"t_out": 2}, lambda found: found.sides["groups"] == 2),
    ("bipartite_types", {"t_out": 5}, lambda found: found.frame.height == 4 + 2 + 3 * 3),
    ("bipartite_sensitive", {"p": 3, "t_out": 3}, lambda found: found.privacy[1].p == 3 and found.privacy[0].k == 4),
    ("bipartite_sensitive", {"p": 4, "t_out": 2}, lambda found: found.privacy[1].p == 4 and found.privacy[0].k == 5),
    ("bipartite_diverse", {"t_out": 3}, lambda found: found.frame["s"].is_unique().all() and len(found.privacy) == 1),
]  # fmt: skip


@pytest.mark.parametrize(("family", "parameters", "shows"), PARAMETERS)
@pytest.mark.parametrize("answer", ["yes", "no"])
@pytest.mark.full
def test_numbers_that_theorems_leave_open(
    family: str, parameters: dict[str, object], shows: Callable[[Any], bool], answer: Any
) -> None:
    size = {"bisection_share": 4, "half_clique": 4}.get(family)
    found = generate(family, size, answer=answer, parameters=parameters)
    assert shows(found)
    result = km.solve(found.problem())
    if answer == "no":
        assert result.proof == "infeasible"
        return
    assert result.exact_objective == found.optimum
    assert found.read_back is not None
    assert result.groups is not None
    assert found.read_back([np.flatnonzero(result.groups == g).tolist() for g in np.unique(result.groups)])


COVERS = [["a", "b", "c"], ["c", "d", "e"], ["d", "e", "f"], ["a", "d", "f"]]


@pytest.mark.parametrize("h", [1, 2, 3])
def test_a_loss_of_so_many_cells_is_reached_exactly_if_h_sets_cover(h: int) -> None:
    """Theorem 1 as a decision: 4|U| + 3|S| + 3h cells."""
    covers = any(set().union(*chosen) == set("abcdef") for chosen in itertools.combinations(COVERS, h))
    found = generate("three_set_cover", source={"sets": COVERS, "universe": [*"abcdef"]})
    result = km.solve(replace(found, sides={"cost_bound": 4 * 6 + 3 * len(COVERS) + 3 * h}).problem())
    assert result.proof == ("optimal" if covers else "infeasible")
