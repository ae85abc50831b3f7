"""Branch and bound under requirements: against brute force over all tables, and one model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from case_judge import judge
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from present import present
from sensitive_cases import CLOSENESS, SensitiveCase, sensitive_cases
from test_branching import NEVER, Asked, model_of

import kanon_milp as km
from kanon_milp.bounds import BoundLimit, DualPoint
from kanon_milp.bounds.columns.branching import BranchAndBound, NodeBounds
from kanon_milp.bounds.columns.cut_rounds import CutRounds
from kanon_milp.bounds.dual import can_be_priced
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.parameters import BranchParameters
from kanon_milp.methods import branching as method
from kanon_milp.methods.required_cuts import RequiredCuts
from kanon_milp.methods.required_phases import ModelTrial
from kanon_milp.methods.required_search import RequiredSearch
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import presolve
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import NO_LIMIT, Limit

LIMITED = ("p", "l frequency", "l distinct", "alpha", "alpha named", "beta", "delta natural violation", "t equal short")
WORKED = tuple(kind for kind in CLOSENESS if kind.endswith("short"))
REQUIREMENTS: dict[str, list[km.Requirement]] = {
    "p": [km.PSensitivity(3), km.KAnonymity(4)],
    "l": [km.LDiversity("5/2"), km.KAnonymity(4)],
    "t": [km.TCloseness("3/10"), km.KAnonymity(4)],
    "t ordered": [km.TCloseness("1/4", "ordered"), km.KAnonymity(3)],
}


def problem(rows: int, privacy: list[km.Requirement], seed: int = 0) -> km.Problem:
    """Rows of four columns, most of them different, and one of four sensitive values."""
    random = np.random.default_rng(seed)
    columns = {f"q{j}": random.integers(3, size=rows).astype(str) for j in range(4)}
    frame = pl.DataFrame({**columns, "s": random.integers(4, size=rows).astype(str)})
    return km.Problem(km.Table.from_frame(frame, list(columns), "s"), privacy)


def started(instance: Instance, rounds: int) -> NodeBounds:
    point = required_bound(instance, iterations=60)
    cuts = CutRounds(instance, point, None)
    if rounds:
        cuts.go_on(BoundLimit(rounds=rounds), lambda _: None)
    return NodeBounds(instance, cuts.at, cuts.groups)


@given(
    sensitive_cases((*LIMITED, *WORKED), max_rows=9, sides=False, most=2),
    st.integers(-1, 2),
    st.integers(0, 2),
    st.sampled_from([-1, 6, NEVER]),
)
@settings(max_examples=examples(200, 8))
def test_it_closes_below_the_optimum_and_finds_it(case: SensitiveCase, above: int, rounds: int, small: int) -> None:
    """Whatever it begins with, and whether nodes are branched on or solved by models."""
    instance = presolve(case.problem(), Clock(), merge=True).instance
    assume(instance.problem.attributes and instance.candidates.count and can_be_priced(instance))
    expected = judge(case)
    assume(expected is not None)
    best = int(present(expected) / instance.levels.unit)
    asked = Asked(best)
    tree = BranchAndBound(started(instance, rounds), best + above)
    assert tree.bound <= min(best, best + above)
    assert tree.solve(NO_LIMIT, small, asked.leaf, asked.look)
    assert asked.bounds == sorted(asked.bounds)
    assert all(bound <= best for bound in asked.bounds)
    assert tree.bound == min(best, best + above) == tree.cutoff
    if above > 0:
        assert asked.best == best


@pytest.mark.parametrize("kind", REQUIREMENTS)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.full
def test_branches_agree_with_one_model(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without cuts in the nodes it has to branch, and it does."""
    instance = presolve(problem(22, REQUIREMENTS[kind], seed), Clock(), merge=True).instance
    best = present(model_of(instance))
    asked = Asked(best)
    tree = BranchAndBound(started(instance, 0), best + 1 + seed, params=BranchParameters(rounds=0))
    assert tree.solve(NO_LIMIT, -1, asked.leaf, asked.look)
    assert tree.bound == best == asked.best
    assert tree.nodes > asked.leaves  # some were branched on


@pytest.fixture
def branched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hybrid method branches from a few cuts on, and nothing is searched; the numbers of nodes."""
    nodes: list[int] = []
    solve, rise = method.Branching.solve, RequiredCuts.rise

    def counted(self: method.Branching, *limits: Limit) -> bool:
        found = solve(self, *limits)
        nodes.append(self.nodes)
        return found

    def one(self: RequiredCuts, point: DualPoint, turn: Limit, limit: Limit) -> None:
        rise(self, point, turn.part(1e-3), limit.part(1e-3))
        self.possible = False

    monkeypatch.setattr(method.Branching, "solve", counted)
    monkeypatch.setattr(RequiredCuts, "rise", one)
    monkeypatch.setattr(ModelTrial, "look", lambda *_: False)
    monkeypatch.setattr(RequiredSearch, "improve", _only_a_table)
    return nodes


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
def test_the_hybrid_method_with_branches_agrees_with_one_model(
    kind: str, rows: int, seed: int, branched: list[int]
) -> None:
    asked = problem(rows, REQUIREMENTS[kind], seed)
    result = km.solve(asked, method="search", time_limit=120, parameters=STALLED)
    assert sum(branched)
    assert result.require_optimal().objective == km.solve(asked, method="milp").require_optimal().objective
    assert result.backed_by[0] == "own bound"
