"""Compiling the inner loops before they are needed."""

from __future__ import annotations

import time

import numpy as np
import polars as pl

from kanon_milp.methods.solve import solve
from kanon_milp.presolve.instance import prepare
from kanon_milp.problem.privacy import KAnonymity, LDiversity, PSensitivity, Requirement, TCloseness
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import Table
from kanon_milp.solvers import SolverOptions, get

ROWS, COLUMNS, VALUES = 300, 4, 4  # of a table for which the search has to do everything that it can


def warm_up(*, sensitive: bool = True) -> tuple[int, float]:
    """Search on a small table, so that all compiled functions are on disk afterwards.

    sensitive: also those for requirements about sensitive attributes, which take longer than all others.

    Returns how many were not there yet, and the seconds it took.
    """
    # these import the compiler
    from kanon_milp.bounds import BoundLimit, lagrangian, round_dual
    from kanon_milp.bounds.columns import raise_bound, relax_and_cut
    from kanon_milp.bounds.reduced_costs import ReducedCosts
    from kanon_milp.bounds.required import proven_required, required_bound
    from kanon_milp.bounds.required_reduced_costs import RequiredReducedCosts
    from kanon_milp.heuristics.effort import Effort
    from kanon_milp.heuristics.neighbourhood import cut_out, put_back
    from kanon_milp.heuristics.requirements.annealing import anneal
    from kanon_milp.heuristics.requirements.construction import construct
    from kanon_milp.heuristics.search import Search
    from kanon_milp.heuristics.state import Board
    from kanon_milp.heuristics.worker_pool import InlinePool
    from kanon_milp.system.jit import number_compiled
    from kanon_milp.system.limit import NO_LIMIT

    began, before = time.perf_counter(), number_compiled()
    cells = np.random.default_rng(0).integers(VALUES, size=(ROWS, COLUMNS)).astype(str)
    names = [f"q{j}" for j in range(COLUMNS)]
    table = Table.from_frame(pl.DataFrame(cells, schema=names, orient="row"), names)
    problem = Problem(table, KAnonymity(3))
    result = solve(problem, method="search", iteration_limit=2)
    result.certify()

    instance = prepare(problem)
    first = lagrangian(instance, iterations=100)
    # the session may have had its proof before there were neighbourhoods, and these may find nothing
    found = Search(instance, first, None, InlinePool(), Effort(neighbourhoods=2)).run(get("highs"), SolverOptions())
    board = Board.of(instance, np.ones(instance.candidates.pairs, np.bool_), found)
    hood = cut_out(board, ROWS, np.zeros(len(board.state.cost), np.bool_))
    if hood is not None:
        put_back(board, hood, hood.start)
    dual = relax_and_cut(instance, first, BoundLimit(rounds=1))
    dual = raise_bound(instance, dual, None, BoundLimit(rounds=2))
    ReducedCosts(round_dual(dual), ROWS * COLUMNS).possible(instance)

    if not sensitive:
        return number_compiled() - before, time.perf_counter() - began
    with_values = Table.from_frame(pl.DataFrame(cells, schema=names, orient="row"), names[:-1], names[-1])
    asked: list[list[Requirement]] = [[PSensitivity(2)], [LDiversity("3/2")], [TCloseness("1/2"), KAnonymity(3)]]
    for requirements in asked:
        required = prepare(Problem(with_values, requirements))
        point = required_bound(required, iterations=20)
        proven_required(required, point)
        built = construct(required, point, NO_LIMIT)
        if built is not None:
            anneal(required, point, built, Effort(neighbourhoods=1), None, 0, lambda _: None)
        nothing = np.zeros(required.types.count, np.int64), np.zeros(required.candidates.count, np.int64)
        RequiredReducedCosts(*nothing, 1, 1).possible(required)
    return number_compiled() - before, time.perf_counter() - began
