"""Branch and bound with rank-1 cuts: its bound against brute force and one model, its sides, its ends."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import polars as pl
import pytest
from case_judge import judge
from census import census_problem
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from present import present
from routes import few_cuts
from sensitive_cases import CLOSENESS, SensitiveCase, sensitive_cases
from strategies import Case, cases

import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.bounds import BoundLimit, DualPoint, lagrangian
from kanon_milp.bounds.columns import branching
from kanon_milp.bounds.columns.branching import BranchAndBound, Node, NodeBounds
from kanon_milp.bounds.columns.cut_rounds import CutRounds, raise_bound
from kanon_milp.bounds.columns.master import Master
from kanon_milp.bounds.columns.program import GroupProgram
from kanon_milp.bounds.columns.strong_branching import Pairs, best_pair
from kanon_milp.bounds.dual import can_be_priced
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.parameters import BranchParameters
from kanon_milp.formulations import get_formulation
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.heuristics.grouping import pairs_at
from kanon_milp.heuristics.search import Search
from kanon_milp.methods import branching as method
from kanon_milp.methods.branching import Branching
from kanon_milp.methods.required_cuts import RequiredCuts
from kanon_milp.methods.required_phases import ModelTrial
from kanon_milp.methods.required_search import RequiredSearch
from kanon_milp.methods.sizes_phases import RankOneCuts
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.reductions import Dropped
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.system.arrays import Ints
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import NO_LIMIT, Limit

NEVER = 1 << 40


LIMITED = ("p", "l frequency", "l distinct", "alpha", "alpha named", "beta", "delta natural violation", "t equal short")
WORKED = tuple(kind for kind in CLOSENESS if kind.endswith("short"))
ASKED: dict[str, list[km.Requirement]] = {
    "p": [km.PSensitivity(3), km.KAnonymity(4)],
    "l": [km.LDiversity("5/2"), km.KAnonymity(4)],
    "t": [km.TCloseness("3/10"), km.KAnonymity(4)],
    "t ordered": [km.TCloseness("1/4", "ordered"), km.KAnonymity(3)],
}


def asking(rows: int, kind: str, seed: int = 0) -> km.Problem:
    """Rows of four columns, most of them different, and one of four sensitive values."""
    random = np.random.default_rng(seed)
    columns = {f"q{j}": random.integers(3, size=rows).astype(str) for j in range(4)}
    frame = pl.DataFrame({**columns, "s": random.integers(4, size=rows).astype(str)})
    return km.Problem(km.Table.from_frame(frame, list(columns), "s"), ASKED[kind])


def reduced(problem: km.Problem) -> km.Instance:
    return presolve(problem, Clock(), merge=True).instance


def model_of(instance: km.Instance) -> int | None:
    """The optimum of an instance by one model; None where it has no table."""
    compiled = to_arrays(get_formulation("strong").build(instance))
    answer = solvers.get("highs").solve(compiled.linear, solvers.SolverOptions())
    return None if answer.objective is None else round(answer.objective)


class Asked:
    """Solves nodes by models, and knows the best table of those."""

    def __init__(self, optimum: int) -> None:
        self.optimum, self.best, self.leaves, self.bounds = optimum, NEVER, 0, list[int]()
        self.points: list[Node] = []

    def leaf(self, node: Dropped, below: int) -> tuple[int, int]:
        self.leaves += 1
        found = model_of(node.instance)
        if found is None:
            return below, self.best
        self.best = min(self.best, found)
        return min(found, below), self.best

    def look(self, point: Node, bound: int) -> int | None:
        self.bounds.append(bound)
        self.points.append(point)
        return self.best


def started(instance: km.Instance, rounds: int) -> NodeBounds:
    if instance.problem.attributes:
        cuts = CutRounds(instance, required_bound(instance, iterations=60), None)
        if rounds:
            cuts.go_on(BoundLimit(rounds=rounds), lambda _: None)
        return NodeBounds(instance, cuts.at, cuts.groups)
    table = greedy(instance)
    dual = lagrangian(instance, iterations=60)
    if rounds:
        dual = raise_bound(instance, dual, table, BoundLimit(rounds=rounds))
    return NodeBounds(instance, dual, Groups.none() if table is None else Groups.of_assignment(table))


@pytest.mark.parametrize(
    "drawn",
    [cases(max_rows=9, sides=False), sensitive_cases((*LIMITED, *WORKED), max_rows=9, sides=False, most=2)],
    ids=["sizes", "requirements"],
)
def test_it_closes_below_the_optimum_and_finds_it(drawn: st.SearchStrategy[Case | SensitiveCase]) -> None:
    """Whatever it begins with, and whether nodes are branched on or solved by models."""

    @given(drawn, st.integers(-1, 2), st.integers(0, 2), st.sampled_from([-1, 6, NEVER]))
    @settings(max_examples=examples(130, 7))
    def closes(case: Case | SensitiveCase, above: int, rounds: int, small: int) -> None:
        expected = judge(case)
        assume(expected is not None)
        instance = reduced(case.problem())
        if isinstance(case, SensitiveCase):
            assume(instance.problem.attributes and instance.candidates.count and can_be_priced(instance))
        best = int(present(expected) / instance.levels.unit)
        asked = Asked(best)
        tree = BranchAndBound(started(instance, rounds), best + above)
        assert tree.bound <= min(best, best + above)
        assert tree.solve(NO_LIMIT, small, asked.leaf, asked.look)
        assert not tree.open
        assert asked.bounds == sorted(asked.bounds)
        assert all(bound <= best for bound in asked.bounds)
        assert tree.bound == min(best, best + above) == tree.cutoff
        if above > 0:
            assert asked.best == best

    closes()


@pytest.mark.parametrize(
    ("problem", "above"),
    [(census_problem(30, 3), 1), (census_problem(45, 4), 2), (census_problem(60, 5), 3)]
    + [(asking(22, kind, seed), 1 + seed) for kind in ASKED for seed in range(2)],
)
@pytest.mark.full
def test_branches_agree_with_one_model(problem: km.Problem, above: int) -> None:
    """Without cuts in the nodes it has to branch, and it does."""
    instance = reduced(problem)
    best = present(model_of(instance))
    asked = Asked(best)
    tree = BranchAndBound(started(instance, 0), best + above, params=BranchParameters(rounds=0))
    assert tree.solve(NO_LIMIT, -1, asked.leaf, asked.look)
    assert tree.bound == best == asked.best
    assert tree.nodes > asked.leaves  # some were branched on


def test_what_is_not_solved_keeps_the_bound_down(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = reduced(census_problem(60, 5))
    best = present(model_of(instance))
    tree = BranchAndBound(started(instance, 0), best + 1, params=BranchParameters(rounds=0))
    first = tree.bound
    assert first < best
    # a limit that is over changes nothing
    asked = Asked(best)
    assert not tree.solve(Limit(ends=-math.inf), -1, asked.leaf, asked.look)
    assert (tree.bound, tree.open, tree.nodes) == (first, 1, 0)
    # whoever looks may stop it, and it goes on from there
    assert not tree.solve(NO_LIMIT, -1, asked.leaf, lambda _point, _bound: None)
    assert (tree.bound, tree.open) == (first, 1)
    # nor is a node begun after a turn
    assert not tree.solve(NO_LIMIT, -1, asked.leaf, asked.look, Limit(ends=-math.inf))
    assert (tree.nodes, asked.points) == (0, [])
    stop = threading.Event()

    def stopping(point: Node, bound: int) -> int:
        if tree.nodes >= 1:
            stop.set()
        return NEVER

    assert not tree.solve(Limit(interrupt=stop), -1, asked.leaf, stopping)
    assert first <= tree.bound <= best
    assert tree.open
    # leaves that are not solved, where nothing is left to branch on
    monkeypatch.setattr(branching, "best_pair", lambda *_: None)
    assert not tree.solve(NO_LIMIT, NEVER, lambda _node, _below: None, asked.look)
    assert tree.open
    assert first <= tree.bound <= best


def test_what_the_solver_does_not_solve_is_branched_on() -> None:
    """It is tried again where much less is left."""
    instance = reduced(census_problem(60, 5))
    best = present(model_of(instance))
    asked, failed = Asked(best), list[int]()

    def leaf(node: Dropped, below: int) -> tuple[int, int] | None:
        if len(failed) < 2:
            failed.append(node.instance.candidates.pairs)
            return None
        return asked.leaf(node, below)

    tree = BranchAndBound(started(instance, 0), best + 3, params=BranchParameters(rounds=0))
    assert tree.solve(NO_LIMIT, NEVER, leaf, asked.look)
    assert tree.bound == best == asked.best
    first, second = failed
    assert second < 0.8 * first  # of the pairs that are left without candidates of too few rows
    assert tree.nodes > len(failed)


def test_points_are_of_the_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = reduced(census_problem(45, 4))
    best = present(model_of(instance))
    asked = Asked(best)
    BranchAndBound(started(instance, 0), best + 2).solve(NO_LIMIT, -1, asked.leaf, asked.look)
    for point in asked.points:
        assert present(point.at.open_share).shape == (instance.candidates.count,)
        assert point.at.multipliers.shape == (instance.types.count,)
        assert point.pairs.shape == (instance.candidates.pairs,)
        assert (pairs_at(instance, *_entries(point.groups)) >= 0).all()
        covered = np.bincount(instance.candidates.members[point.pairs], minlength=instance.types.count)
        assert covered.all()


def _entries(groups: Groups) -> tuple[Ints, Ints]:
    """Row type and candidate of each entry of groups."""
    return groups.types.values, groups.candidate[groups.types.list_of_value()]


def test_sides_divide_the_tables() -> None:
    """One row in its candidate or elsewhere, and nothing else changes."""
    instance = reduced(census_problem(45, 4))
    pairs = Pairs.of(instance)
    every = np.ones(instance.candidates.pairs, dtype=bool)
    every[::7] = False
    for pair in np.flatnonzero(pairs.single & every)[:40].tolist():
        inside, outside = pairs.sides(every, pair)
        i, g = int(pairs.member[pair]), int(pairs.candidate[pair])
        for p in range(len(every)):
            same = int(pairs.member[p]) == i
            assert inside[p] == (every[p] and (not same or int(pairs.candidate[p]) == g))
            assert outside[p] == (every[p] and p != pair)


def test_groups_within_pairs() -> None:
    instance = reduced(census_problem(45, 4))
    pairs = Pairs.of(instance)
    groups = Groups.of_assignment(present(greedy(instance)))
    every = np.ones(instance.candidates.pairs, dtype=bool)
    assert pairs.within(groups, every).all()
    shares = pairs.shares(groups, np.ones(groups.count))
    assert shares.sum() == instance.types.n
    used = np.flatnonzero(shares)
    for pair in used[:20].tolist():
        gone = every.copy()
        gone[pair] = False
        expected = [
            not (g == pairs.candidate[pair] and pairs.member[pair] in members) for g, members, _ in groups.each()
        ]
        assert pairs.within(groups, gone).tolist() == expected
    assert pairs.within(Groups.none(), every).tolist() == []


def test_a_trial_leaves_the_master_problem_as_it_was() -> None:
    instance = reduced(census_problem(60, 5))
    dual, table = lagrangian(instance, iterations=60), present(greedy(instance))
    master = Master(GroupProgram.of(instance, dual), Groups.of_assignment(table))
    first = present(master.solve(NO_LIMIT))
    pairs = Pairs.of(instance)
    every = np.ones(instance.candidates.pairs, dtype=bool)
    scores: dict[int, float] = {}
    pair = present(best_pair(master, pairs, every, 3.0, scores, NO_LIMIT, BranchParameters()))
    assert pairs.single[pair]
    assert scores[pair] == max(scores.values()) > 0
    again = present(master.solve(NO_LIMIT))
    assert again.upper == pytest.approx(first.upper, abs=1e-6)
    # a basis of it makes the next one quick, and changes nothing
    basis = master.basis
    same = Master(GroupProgram.of(instance, dual), master.groups, basis)
    assert present(same.solve(NO_LIMIT)).upper == pytest.approx(first.upper, abs=0.03)
    integral = np.zeros_like(every)
    assert best_pair(master, pairs, integral, 3.0, {}, NO_LIMIT, BranchParameters()) is None


@pytest.fixture
def branched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hybrid method branches whatever is left, and nothing is searched; the numbers of nodes."""
    nodes: list[int] = []
    solve = method.Branching.solve

    def counted(self: method.Branching, *limits: Limit) -> bool:
        found = solve(self, *limits)
        nodes.append(self.nodes)
        return found

    monkeypatch.setattr(method.Branching, "solve", counted)
    monkeypatch.setattr(Search, "run", lambda *_: None)
    return nodes


# branch and bound comes whatever is left, and however far away that is
EASY = {"forecast.easy_pairs": -1, "restricted_model.few_options": 0}
BRANCHES = {
    **EASY,
    "forecast.branch_gap": math.inf,
    "forecast.branch_seconds": -1.0,
    "branching.leaf": -1,
    "branch_and_bound.rounds": 0,
}


@pytest.mark.parametrize(("rows", "k"), [(40, 3), (50, 4), (60, 5)])
@pytest.mark.full
def test_the_hybrid_method_with_branches_agrees_with_one_model(rows: int, k: int, branched: list[int]) -> None:
    problem = census_problem(rows, k)
    result = km.solve(problem, method="search", time_limit=120, parameters=BRANCHES)
    assert sum(branched)
    assert result.require_optimal().objective == km.solve(problem, method="milp").require_optimal().objective
    assert result.backed_by[0] in ("own bound", "certificate")


@pytest.fixture
def branched_by_values(branched: list[int], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The same from a few cuts on."""
    rise = RequiredCuts.rise

    def one(self: RequiredCuts, point: DualPoint, turn: Limit, limit: Limit) -> None:
        rise(self, point, turn.part(1e-3), limit.part(1e-3))
        self.possible = False

    monkeypatch.setattr(RequiredCuts, "rise", one)
    monkeypatch.setattr(ModelTrial, "look", lambda *_: False)
    monkeypatch.setattr(RequiredSearch, "improve", _only_a_table)
    return branched


STALLED = {
    "turns.easy_pairs": -1,
    **dict.fromkeys(("required_bound.stalled_after", "required_bound.slow_after"), 0),
    **dict.fromkeys(("required_bound.stalled", "required_bound.slow", "required_bound.slow_charged"), math.inf),
}


def _only_a_table(self: RequiredSearch, *given: Any, **_: Any) -> None:
    """A first table, and no better one."""
    point, proof, effort, seed = given
    if self.tracker.best is None:
        self._constructed(proof.value, point, effort, seed)


@pytest.mark.parametrize(("kind", "rows", "seed"), [("p", 28, 2), ("l", 24, 1), ("t", 28, 2), ("t ordered", 60, 2)])
@pytest.mark.full
def test_the_hybrid_method_under_requirements_does(
    kind: str, rows: int, seed: int, branched_by_values: list[int]
) -> None:
    problem = asking(rows, kind, seed)
    result = km.solve(problem, method="search", time_limit=120, parameters=STALLED)
    assert sum(branched_by_values)
    assert result.require_optimal().objective == km.solve(problem, method="milp").require_optimal().objective
    assert result.backed_by[0] == "own bound"


@pytest.mark.full
@pytest.mark.parametrize("most", [-1, 1000])
def test_what_is_far_from_proven_is_searched_once_more_and_branches(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And goes to the solver where it is too far for that."""
    seeds, solved = list[int](), list[int]()
    solve = method.Branching.solve

    def counted(self: method.Branching, *limits: Limit) -> bool:
        solved.append(1)
        return solve(self, *limits)

    monkeypatch.setattr(method.Branching, "solve", counted)
    monkeypatch.setattr(RankOneCuts, "run", few_cuts)
    monkeypatch.setattr(Search, "run", lambda search, *_: seeds.append(search._seed))
    parameters = {**EASY, "forecast.branch_gap": -1.0, "forecast.far_gap": most, "forecast.model_seconds": 1e9}
    problem = census_problem(40, 3)
    result = km.solve(problem, method="search", time_limit=60, parameters=parameters)
    assert len(set(seeds)) == len(seeds) == 2
    assert bool(solved) == (most > 0)
    assert result.require_optimal().objective == km.solve(problem, method="milp").require_optimal().objective


@pytest.mark.full
def test_ctrl_c_keeps_the_table_and_the_least_bound(branched: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    stop, looks = threading.Event(), list[int]()
    table_of: Any = Branching._table

    def stopping(*given: Any) -> Any:
        looks.append(1)
        if len(looks) == 2:
            stop.set()
        return table_of(*given)

    monkeypatch.setattr(Branching, "_table", stopping)
    problem = census_problem(80, 5)
    result = km.solve(problem, method="search", interrupt=stop, parameters=BRANCHES)
    best = km.solve(problem, method="milp").require_optimal().objective
    assert len(looks) == 2
    assert branched
    assert result.verified
    assert present(result.bound) <= present(best) <= present(result.objective)
    assert result.stop_reason == "interrupted"
