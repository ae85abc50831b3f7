"""Compiling the inner loops before they are needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np
import polars as pl

from kanon_milp.bounds.registry import BoundLimit, BoundTask
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.problem.privacy import KAnonymity, LDiversity, PSensitivity, Requirement, TCloseness
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import Table
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.system.background import Background

ROWS, COLUMNS, VALUES = 300, 4, 4  # of a table for which the search has to do everything that it can


def warm_up(*, sensitive: bool = True) -> tuple[int, float]:
    """Run the bound and the search on a small table, so that all compiled functions are on disk afterwards.

    sensitive: also those for requirements about sensitive attributes.

    Returns how many were not there yet, and the seconds it took.
    """
    from kanon_milp.system.jit import number_compiled  # imports the compiler

    began, before = time.perf_counter(), number_compiled()
    parts = longest_first(part for part in PARTS if sensitive or part not in VALUED)
    with Background(missing(parts)) as background:
        for part in parts:
            background.wait(part)
            compile_part(part)  # from the disk, unless it is this process that has to do it
        elsewhere = background.compiled
    return number_compiled() - before + elsewhere, time.perf_counter() - began


def longest_first(parts: Iterable[str]) -> list[str]:
    """The parts in the order in which processes that share all of them are done first."""
    return sorted(parts, key=lambda part: -SECONDS[part])


def missing(parts: Iterable[str]) -> list[str]:
    """Those of the parts that are not on disk though they could be kept there."""
    # these import the compiler
    from kanon_milp.bounds.evaluation import dot
    from kanon_milp.bounds.matching.odd_sets import _growing_sets
    from kanon_milp.bounds.rank_one_cuts import _enlarged
    from kanon_milp.bounds.screens import solve_left
    from kanon_milp.bounds.valued_groups import cheapest_by_size
    from kanon_milp.bounds.valued_pricing import cheapest_valued_groups
    from kanon_milp.heuristics.linked_annealing import make_moves as make_linked_moves
    from kanon_milp.heuristics.size_neighbourhoods import _exchange
    from kanon_milp.heuristics.valued_annealing import make_moves
    from kanon_milp.system.jit import on_disk

    last = {
        "bound": dot,
        "search": _exchange,
        "cuts": _enlarged,
        "matching": _growing_sets,
        "linked": make_linked_moves,
        "required": solve_left,
        "proven": cheapest_by_size,
        "valued_search": make_moves,
        "valued_cuts": cheapest_valued_groups,
    }
    return [part for part in parts if not on_disk(last[part])]


def compile_part(part: str) -> int:
    """Have one of `PARTS` compiled; how many functions were not on disk."""
    from kanon_milp.system.jit import number_compiled

    before = number_compiled()
    PARTS[part]()
    return number_compiled() - before


def _cells() -> tuple[pl.DataFrame, list[str]]:
    cells = np.random.default_rng(0).integers(VALUES, size=(ROWS, COLUMNS)).astype(str)
    names = [f"q{j}" for j in range(COLUMNS)]
    return pl.DataFrame(cells, schema=names, orient="row"), names


def _instance() -> Instance:
    frame, names = _cells()
    return prepare(Problem(Table.from_frame(frame, names), KAnonymity(3)))


def _bound() -> None:
    """The Lagrangian bound, its proof in integers, what it says of candidates, and a first table's groups."""
    from kanon_milp.bounds import lagrangian, round_dual
    from kanon_milp.bounds.built_in import LAGRANGIAN
    from kanon_milp.bounds.reduced_costs import ReducedCosts
    from kanon_milp.heuristics.greedy import suppress_all
    from kanon_milp.heuristics.grouping import tighten_groups

    instance = _instance()
    start = suppress_all(instance)
    if start is not None:
        tighten_groups(instance, start)
    dual = lagrangian(instance, iterations=100)
    LAGRANGIAN.compute(instance, BoundTask(BoundLimit(iterations=10)))
    ReducedCosts(round_dual(dual), ROWS * COLUMNS).possible(instance)


def _search() -> None:
    """Construction, annealing and neighbourhoods; without the bound, whose multipliers they would have."""
    from kanon_milp.bounds import DualPoint
    from kanon_milp.heuristics.grouping import tighten_groups
    from kanon_milp.heuristics.search import Search
    from kanon_milp.heuristics.size_neighbourhoods import cut_out, put_back
    from kanon_milp.heuristics.state import Board
    from kanon_milp.heuristics.worker_pool import Effort, InlinePool

    instance = _instance()
    price = np.full(instance.types.count, float(instance.candidates.cost.mean()))
    dual = DualPoint(price, 0.0, None, np.zeros(instance.candidates.count))
    found = Search(instance, dual, None, InlinePool(), Effort(neighbourhoods=2)).run(get(), SolverOptions())
    # the search may have found no neighbourhood, and nothing in it
    board = Board.of(instance, np.ones(instance.candidates.pairs, np.bool_), found)
    hood = cut_out(board, ROWS, np.zeros(len(board.state.cost), np.bool_))
    if hood is not None:
        put_back(board, hood, hood.start)
    if found is not None:
        tighten_groups(instance, found)


def _cuts() -> None:
    """Rank-1 cuts."""
    from kanon_milp.bounds import lagrangian, round_dual
    from kanon_milp.bounds.columns.cut_rounds import raise_bound
    from kanon_milp.bounds.columns.relax_and_cut import relax_and_cut
    from kanon_milp.bounds.reduced_costs import ReducedCosts

    instance = _instance()
    dual = relax_and_cut(instance, lagrangian(instance, iterations=100), BoundLimit(rounds=1))
    dual = raise_bound(instance, dual, None, BoundLimit(rounds=2))
    ReducedCosts(round_dual(dual), ROWS * COLUMNS).possible(instance)


def _matching() -> None:
    """Groups of two and three, and the cuts on them."""
    from kanon_milp.bounds import lagrangian
    from kanon_milp.bounds.matching.pairs_and_triples import Space
    from kanon_milp.bounds.matching.program import MatchingProgram, prove
    from kanon_milp.system.limit import NO_LIMIT

    frame, names = _cells()
    instance = prepare(Problem(Table.from_frame(frame, names), KAnonymity(2)))
    space = Space.of(instance)
    program = MatchingProgram(space, lagrangian(instance, iterations=50).multipliers)
    program.solve(NO_LIMIT)
    program.add_cuts(program.find_cuts())
    prove(space, program.dual)


def _linked() -> None:
    """Annealing of several sets of quasi-identifiers."""
    from kanon_milp.heuristics.greedy import suppress_all
    from kanon_milp.heuristics.linked_annealing import anneal_sets
    from kanon_milp.heuristics.worker_pool import Effort
    from kanon_milp.presolve.linked_sets import linked_sets

    frame, names = _cells()
    sets = [KAnonymity(3, quasi_identifiers=names[:3]), KAnonymity(3, quasi_identifiers=names[2:])]
    instance = prepare(Problem(Table.from_frame(frame, names), sets))
    linked, start = linked_sets(instance), suppress_all(instance)
    if linked is not None and start is not None:
        anneal_sets(linked, start, np.zeros(linked.parts.candidates.count), Effort(neighbourhoods=1), 0)


def _sensitive() -> list[Instance]:
    frame, names = _cells()
    table = Table.from_frame(frame, names[:-1], names[-1])
    asked: list[list[Requirement]] = [[PSensitivity(2)], [LDiversity("3/2")], [TCloseness("1/2"), KAnonymity(3)]]
    return [prepare(Problem(table, requirements)) for requirements in asked]


def _required() -> None:
    """The bound under requirements about sensitive attributes."""
    from kanon_milp.bounds.lagrangian_bound import required_bound

    for instance in _sensitive():
        required_bound(instance, iterations=20)


def _proven() -> None:
    """Its proof in integers, and what it fixes."""
    from kanon_milp.bounds.dual import DualPoint, round_dual
    from kanon_milp.bounds.evaluation import RequiredEvaluator
    from kanon_milp.bounds.reduced_costs import ReducedCosts

    for instance in _sensitive():
        start, types = RequiredEvaluator(instance).start(), instance.types.count
        dual = DualPoint(start[:types], charges=start[types:])
        ReducedCosts(round_dual(dual), 1).possible(instance)


def _valued_cuts() -> None:
    """Rank-1 cuts under requirements about sensitive attributes."""
    from kanon_milp.bounds.columns.cut_rounds import CutRounds
    from kanon_milp.bounds.lagrangian_bound import required_bound

    instance = _sensitive()[1]
    cuts = CutRounds(instance, required_bound(instance, iterations=20), None)
    cuts.go_on(BoundLimit(rounds=2), lambda _: None)
    cuts.near(1.0, 1.0)
    cuts.proof()


def _valued_search() -> None:
    """Construction and annealing under requirements about sensitive attributes."""
    from kanon_milp.bounds.dual import DualPoint
    from kanon_milp.bounds.relaxations import relaxations_of
    from kanon_milp.heuristics.greedy import suppress_all
    from kanon_milp.heuristics.set_partitioning import Columns
    from kanon_milp.heuristics.valued_annealing import anneal
    from kanon_milp.heuristics.valued_construction import PricedCandidates, construct
    from kanon_milp.heuristics.worker_pool import Effort
    from kanon_milp.system.limit import NO_LIMIT

    for instance in _sensitive():
        price = np.full(instance.types.count, float(instance.candidates.cost.mean()))
        charged = sum(relaxation.closeness is not None for relaxation in relaxations_of(instance))
        point = DualPoint(price, charges=np.zeros(charged * instance.candidates.count))
        Columns.near(instance, point)
        start = construct(instance, point, NO_LIMIT) or suppress_all(instance)
        if start is not None:
            anneal(PricedCandidates.of(instance, point), start, Effort(neighbourhoods=1), None, 0, lambda _: None)


PARTS: dict[str, Callable[[], None]] = {
    "bound": _bound,
    "search": _search,
    "cuts": _cuts,
    "matching": _matching,
    "linked": _linked,
    "required": _required,
    "valued_search": _valued_search,
    "proven": _proven,
    "valued_cuts": _valued_cuts,
}
"""What needs compiled functions, in the order in which a session comes to it."""
SECONDS = {
    "bound": 3,
    "search": 5,
    "cuts": 5,
    "matching": 2,
    "linked": 2,
    "required": 11,
    "valued_search": 13,
    "proven": 7,
    "valued_cuts": 15,
}
"""What compiling each of them has taken on one core."""
VALUED = ("required", "valued_search", "proven", "valued_cuts")
"""Those for requirements about sensitive attributes."""
