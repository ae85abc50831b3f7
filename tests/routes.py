"""Every way of the package from a problem to a result, for the conformance suite and the campaigns of benchmarks/.

A route is a method, with a solver, a formulation or options, and perhaps a forced way through it: on a table of a few
rows the bound and the first table meet before anything else begins, so that some steps are only reached where others
are off. `agrees` says what is wrong with a result: what a route is not for it must refuse, all else it must get right.
"""

from __future__ import annotations

import importlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from random import Random
from typing import Any
from unittest import mock

import numpy as np
from case_judge import AnyCase, Truth, plain, truth, wrong_certificate, wrong_result
from numpy.typing import NDArray
from sensitive_cases import (
    CLOSENESS,
    DISCLOSURE,
    KINDS,
    Demand,
    SensitiveCase,
    drawn_secrets,
    drawn_sensitive_case,
    drawn_sets_case,
)
from strategies import Case, drawn_case

import kanon_milp as km
from kanon_milp.bounds import BoundLimit, relaxations
from kanon_milp.bounds.columns.cut_rounds import raise_bound
from kanon_milp.formulations import strong
from kanon_milp.heuristics.search import Search
from kanon_milp.methods import core_problem, hybrid, sizes_phases, started
from kanon_milp.methods.outcome import Outcome
from kanon_milp.methods.phases import Known
from kanon_milp.methods.sizes_phases import RankOneCuts, TableSearch
from kanon_milp.presolve import preparation
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.resources import network_relaxation
from kanon_milp.system.limit import Limit

Patch = tuple[object, str, Any]  # owner, name, value
Solve = Callable[[km.Problem], km.Result]

SIDES = frozenset({"cost bound", "min groups", "max groups", "fewest groups", "most groups"})
SETS = frozenset({"a set of columns", "several sets of columns"})
VALUES = frozenset({*KINDS, "several requirements", "two attributes"})
NOT_ALONE = SIDES | SETS
NOT_SEARCHED = SETS | {"fewest groups", "most groups"}
MASKS = frozenset({"mask", "mask without full suppression"})
IGNORED = frozenset(kind for kind in DISCLOSURE if kind.endswith("ignored"))  # two groups may not become one
REFUSED = ("is not for this problem", "formulation")


def features(case: AnyCase) -> frozenset[str]:
    """What is special about a case."""
    base, found = plain(case), set[str]()
    says = {
        "exempt reading": base.suppressed_rows == "exempt",
        "missing values": any(None in row for row in base.rows),
        "rows alike": len(set(base.rows)) < len(base.rows),
        "one row": len(base.rows) == 1,
        "weights": set(base.weights) != {1},
        "a column without weight": 0 in base.weights,
        "hierarchies": bool(base.hierarchies),
        "level costs": any(not isinstance(costs, dict) for costs in base.level_costs.values()),
        "label costs": any(isinstance(costs, dict) for costs in base.level_costs.values()),
        "mask": base.vectors is not None,
        "mask without full suppression": base.vectors is not None and top(case) not in base.vectors,
        "cost bound": "cost_bound" in base.sides,
        "min groups": "min_groups" in base.sides,
        "max groups": "max_groups" in base.sides,
        "fewest groups": base.sides.get("objective") == "min_groups",
        "most groups": base.sides.get("objective") == "max_groups",
        "k above the rows": case.k > len(base.rows),
        "k": isinstance(case, Case) or case.with_k,
    }
    if isinstance(case, SensitiveCase):
        found |= {demand.kind for demand in case.demands}
        says |= {
            "units": case.units is not None,
            "a set of columns": len(case.sets) == 1,
            "several sets of columns": len(case.sets) > 1,
            "several requirements": len(case.demands) + case.with_k > 1,
            "two attributes": len(case.secrets[0]) > 1,
        }
    return frozenset(found | {name for name, holds in says.items() if holds})


def top(case: AnyCase) -> tuple[int, ...]:
    """The level vector of full suppression."""
    base = plain(case)
    columns = range(len(base.rows[0]))
    return tuple(len(next(iter(base.hierarchies[c].values()))) - 1 if c in base.hierarchies else 1 for c in columns)


def one_group(case: AnyCase) -> bool:
    """All rows may be fully suppressed, and are enough even where such rows are exempt from k."""
    units = case.units if isinstance(case, SensitiveCase) else None
    enough = case.k <= len(plain(case).rows if units is None else set(units))
    return enough and "mask without full suppression" not in features(case)


# -------------------------------------------------------------------------------------------------- what is drawn


def any_case(rng: Random) -> AnyCase:
    """Every kind of problem."""
    match rng.randrange(8):
        case 0:
            return drawn_sets_case(rng)
        case 1 | 2:
            return drawn_case(rng, any_k=True)
    return drawn_sensitive_case(rng, units=True, any_k=True)


def sizes_case(rng: Random) -> AnyCase:
    """k-anonymity at least loss, what the hybrid method has most steps for."""
    return drawn_case(rng, (1, 9), sides=False)


def values_case(rng: Random) -> AnyCase:
    """Requirements about sensitive values at least loss."""
    return drawn_sensitive_case(rng, rows=(2, 7), sides=False)


def closeness_case(rng: Random) -> AnyCase:
    """t-closeness, with k-anonymity or without."""
    return drawn_sensitive_case(rng, CLOSENESS, rows=(2, 7), most=2)


def sets_case(rng: Random) -> AnyCase:
    """Sets of columns that are k-anonymous."""
    return drawn_sets_case(rng)


def pairs_case(rng: Random) -> AnyCase:
    """2-anonymity or 2-diversity."""
    case = drawn_case(rng, (2, 9), sides=False)
    kind = rng.choice(["k", "k", "l frequency", "alpha"])
    if kind == "k":
        return replace(case, k=2)
    case = replace(case, rows=case.rows[:8], k=2)
    secrets = tuple(row[:1] for row in drawn_secrets(rng, len(case.rows)))
    return SensitiveCase(
        case, secrets, (Demand(kind, "2" if kind == "l frequency" else "1/2", (0,), False),), rng.randrange(2) == 1
    )


# -------------------------------------------------------------------------------------------------------- routes


@dataclass(frozen=True)
class Route:
    """A way to solve problems.

    draw: which problems are drawn for it. refuses: what it is not for (features of a case). proves: it must end with a
    proof. finds: it must have a table where all rows as one group are one. certified: certificates are checked too.
    may: other refusals and errors that it is known for, a pattern of the message. forced: attributes that are replaced
    meanwhile.
    """

    name: str
    solve: Solve
    draw: Callable[[Random], AnyCase] = any_case
    refuses: frozenset[str] = frozenset()
    proves: bool = True
    finds: bool = True
    certified: bool = False
    may: str = ""
    forced: tuple[Patch, ...] = ()

    def __str__(self) -> str:
        return self.name

    def run(self, problem: km.Problem) -> km.Result:
        """The result; raises as `solve` does."""
        with ExitStack() as stack:
            for owner, name, value in self.forced:
                stack.enter_context(mock.patch.object(owner, name, value))
            return self.solve(problem)


def with_options(**options: Any) -> Solve:
    return lambda problem: km.solve(problem, **options)


def users_model(problem: km.Problem, formulation: str) -> km.Result:
    """The model that users read and extend, solved as it is."""
    return km.solve_model(problem, km.build_model(problem, formulation), formulation=formulation)


def with_any_start(problem: km.Problem, **options: Any) -> km.Result:
    """From a partition that is rarely a table of the problem."""
    return km.solve(problem, start=np.random.default_rng(problem.table.n).integers(0, 3, problem.table.n), **options)


def any_ample(instance: Instance, *_: object) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Candidates that a condensed model takes for ample without a reason."""
    drawn = np.random.default_rng(instance.candidates.pairs).integers(2, size=instance.candidates.count)
    return drawn.astype(bool), np.zeros(instance.types.count, dtype=bool)


def few_cuts(_: RankOneCuts, known: Known, limit: Limit) -> None:
    """So few that the bound stays low."""
    del limit
    assert known.dual is not None
    known.dual, known.raised_in = raise_bound(known.instance, known.dual, known.best, BoundLimit(rounds=1)), known.round


def without_target(*given: Any, **more: Any) -> BoundLimit:
    return replace(BoundLimit(*given, **more), target=None)


def ended_at_once(session: km.Session) -> km.Result:
    """A search that has its first table, and no bound."""
    return session.end(session.fallback(Outcome().stopped("time_limit")))


NO_SEARCH: tuple[Patch, ...] = ((Search, "run", lambda *_: None),)
NOT_EASY = {"forecast.easy_pairs": -1}
NOT_PROMISING = {**NOT_EASY, "restricted_model.few_options": 0}
CONDENSING = {"forecast.easy_pairs": 10**9, "forecast.condensed_options": 10**9, "condensed.worth": 2.0}
BRANCHING = {**NOT_PROMISING, "forecast.branch_gap": math.inf, "forecast.branch_seconds": -1}
ROUNDS = {**NOT_PROMISING, "cuts.first_types": 0, "rounds.shortest": 0.02}
ROUGH: tuple[Patch, ...] = ((sizes_phases, "BoundLimit", without_target),)
SLOW = {"good_table.pairs": 0, "good_table.pair_seconds": 1e9}
AT_ONCE: tuple[Patch, ...] = ((hybrid, "solve_hybrid", ended_at_once), (started, "too_long", lambda *_: ""))
BY_SEARCH = {"auto.limited_pairs": 1, "auto.search_pairs": 1, "auto.few_pairs": 0}
PRICED: tuple[Patch, ...] = ((preparation, "FEW_VECTORS", 0), (preparation, "PRICED_PAIRS", 0))
# the package's name `solve` is the function, not the module
direct = importlib.import_module("kanon_milp.methods.direct")


def _milp() -> Iterable[Route]:
    for solver in ("highs", "cbc", "scip"):
        yield Route(f"milp {solver}", with_options(method="milp", solver=solver), certified=solver == "highs")
    old = with_options(method="milp", solver="pulp:PULP_CBC_CMD")
    yield Route("milp cbc of pulp", old, may="its point does not satisfy the model")
    yield Route(
        "milp cpsat", with_options(method="milp", solver="cpsat"), may="may be fractional|integer programs only"
    )
    only_rows = VALUES | SETS | {"units"}
    for solver in ("highs", "cbc"):
        yield Route(
            f"milp {solver} textbook",
            with_options(method="milp", solver=solver, formulation="textbook"),
            refuses=only_rows,
        )
        yield Route(
            f"milp {solver} groups", with_options(method="milp", solver=solver, formulation="groups"), refuses=SETS
        )
    of_papers = SETS | {"units"} | (frozenset(KINDS) - {"p", "l frequency"})
    homogeneity = partial(with_options, method="milp", formulation="homogeneity")
    yield Route("milp homogeneity", homogeneity(), refuses=of_papers)
    yield Route("milp cbc homogeneity", homogeneity(solver="cbc"), refuses=of_papers)
    numbers = SIDES - {"cost bound"}
    liang_yuan = with_options(method="milp", formulation="liang_yuan")
    yield Route("milp liang_yuan", liang_yuan, closeness_case, refuses=numbers | {"k", "units"})
    for name, draw, refuses in (
        ("strong", any_case, frozenset[str]()),
        ("textbook", any_case, only_rows),
        ("groups", any_case, SETS),
        ("homogeneity", any_case, of_papers),
        ("liang_yuan", closeness_case, numbers | {"k", "units"}),
    ):
        yield Route(f"a user's model, {name}", partial(users_model, formulation=name), draw, refuses=refuses)
    milp = with_options(method="milp")
    yield Route("milp with variables for sizes", milp, forced=((strong, "MOST_NONZEROS", 0),))
    yield Route("milp from the bound", milp, forced=((direct, "LARGE", 0),))
    yield Route(
        "milp from the relaxation",
        milp,
        forced=((direct, "network_relaxation", partial(network_relaxation, smallest=0)),),
    )
    after_search = with_options(method="milp", time_limit=600, parameters=SLOW)
    yield Route("milp after the search", after_search)
    yield Route("milp after a first table", after_search, forced=AT_ONCE)
    yield Route("milp from any start", partial(with_any_start, method="milp"))
    yield Route("milp of sets", with_options(node_limit=10_000, parameters={"sets.fewest_pairs": 0}), sets_case)


def _search() -> Iterable[Route]:
    counted = with_options(method="search", iteration_limit=2)
    timed = partial(with_options, method="search", time_limit=60)
    once = with_options(method="search", iteration_limit=1, parameters={**NOT_EASY, "first_bound.evaluations": 2})

    def sizes(name: str, *forced: Patch, parameters: Mapping[str, float] | None = None, **more: Any) -> Route:
        solve = more.pop("solve", None) or timed(parameters=parameters)
        return Route(f"search, {name}", solve, sizes_case, forced=forced, **more)

    yield Route("auto", with_options(), certified=True)
    yield Route("auto within a limit", with_options(time_limit=60))
    yield Route("auto within a limit, by search", with_options(time_limit=60, parameters=BY_SEARCH))
    yield Route("search", counted, refuses=NOT_SEARCHED, certified=True)
    any_start = partial(with_any_start, method="search", iteration_limit=2)
    yield Route("search from any start", any_start, refuses=NOT_SEARCHED)
    yield sizes("models first")
    given_up = {**CONDENSING, "condensed.slow_seconds": 0.0, "condensed.far": 0.0}
    yield sizes("condensed", parameters=CONDENSING)
    yield sizes("condensed by chance", (core_problem, "_by_prices", any_ample), parameters=CONDENSING)
    yield sizes("condensed and given up", parameters=given_up)
    yield sizes("cuts first", *NO_SEARCH, parameters=NOT_PROMISING)
    alone = with_options(method="search", iteration_limit=1, parameters=NOT_EASY)
    yield sizes("cuts alone", *NO_SEARCH, solve=alone)
    yield sizes("branching", *NO_SEARCH, (RankOneCuts, "run", few_cuts), parameters=BRANCHING)
    yield sizes("rounds", parameters=ROUNDS)
    yield sizes("rough bound", *ROUGH, solve=once, certified=True)
    yield sizes("rough bound alone", *ROUGH, (TableSearch, "applies", lambda *_: False), solve=once, certified=True)
    rough = {"required_bound.counted_iterations": 2, "turns.easy_pairs": -1}
    yield Route(
        "search under requirements, rough bound",
        with_options(method="search", iteration_limit=2, parameters=rough),
        values_case,
        certified=True,
    )
    yield Route(
        "search under requirements, trials",
        timed(parameters={"turns.easy_pairs": -1, "model_trials.seconds": 1e-9}),
        values_case,
    )
    yield Route(
        "search without a core problem",
        with_options(method="search", iteration_limit=2, parameters={"restricted_model.pairs": 0}),
        refuses=NOT_ALONE,
        proves=False,
        certified=True,
    )
    yield Route("search, priced", counted, refuses=NOT_SEARCHED, proves=False, certified=True, forced=PRICED)
    by_rows = (*PRICED, (preparation, "MOST_LABELS", 0))
    yield Route("search, priced by rows", counted, refuses=NOT_SEARCHED, proves=False, certified=True, forced=by_rows)
    yield Route("search under requirements, priced", counted, values_case, proves=False, certified=True, forced=PRICED)
    yield Route("search for many units", counted, refuses=NOT_ALONE, forced=((relaxations, "MANY", 0),))


def _others() -> Iterable[Route]:
    merging = NOT_ALONE | IGNORED
    yield Route("subset_dp", with_options(method="subset_dp"), refuses=merging)
    guessed = merging - {"cost bound", "min groups", "max groups"}
    yield Route("fpt", with_options(method="fpt"), refuses=guessed, may="sets of released rows|would guess")
    matching = with_options(method="matching")
    yield Route("matching", matching, pairs_case)
    closures = ((preparation, "FEW_VECTORS", 0), (preparation, "closed_instance", lambda *_: None))
    yield Route(
        "matching over closures of three rows", matching, pairs_case, forced=closures, may="too many|level vectors"
    )
    yield Route("greedy", with_options(method="greedy"), refuses=NOT_ALONE, proves=False)
    for name in ("mondrian", "mondrian_relaxed"):
        yield Route(name, with_options(method=name), refuses=merging, proves=False)
    yield Route("full_domain", with_options(method="full_domain"), refuses=merging | MASKS, proves=False)
    yield Route(
        "m_approximation", with_options(method="m_approximation"), refuses=merging | VALUES | {"units"}, proves=False
    )


ROUTES = (*_milp(), *_search(), *_others())


# ------------------------------------------------------------------------------------------------------ agreement


@dataclass(frozen=True)
class Verdict:
    """What is wrong, empty if nothing is; whether the route refused the problem."""

    wrong: tuple[str, ...] = ()
    refused: bool = False
    result: km.Result | None = None


def agrees(case: AnyCase, route: Route, known: Truth | None = None) -> Verdict:
    """Solve a case by a route and hold the result against brute force. known: what that says."""
    problem, known = case.problem(), known or truth(case)
    try:
        result = route.run(problem)
    except (km.InputError, km.SolverError) as error:
        by_kind = features(case) & route.refuses and any(words in str(error) for words in REFUSED)
        if by_kind or (route.may and re.search(route.may, str(error))):
            return Verdict(refused=True)
        return Verdict((f"refused: {error}",))
    if route.may and result.stop_reason == "error" and re.search(route.may, result.message):
        return Verdict(refused=True)
    wrong = wrong_result(case, result, known)
    if route.proves and result.proof not in ("optimal", "infeasible"):
        wrong.append(f"not proven: {result.stop_reason}, {result.message[:100]}")
    if route.finds and result.table is None and known.best is not None and one_group(case):
        wrong.append(f"no table of a problem with the optimum {known.best}: {result.message[:100]}")
    if route.certified and result.proof != "infeasible":
        wrong += wrong_certificate(problem, result, known)
    return Verdict(tuple(wrong), result=result)


@cache
def numbered(draw: Callable[[Random], AnyCase], number: int) -> AnyCase:
    return draw(Random(f"{draw.__name__}-{number}"))


@cache
def known_truth(draw: Callable[[Random], AnyCase], number: int) -> Truth:
    return truth(numbered(draw, number))


@cache
def selected(
    draw: Callable[[Random], AnyCase], refuses: frozenset[str], count: int, span: int = 300
) -> tuple[int, ...]:
    """So many numbers of cases, or more: each feature is had by one that is not to be refused, each refused one too."""
    chosen, seen = list[int](), set[str]()
    for number in range(span):
        found = features(numbered(draw, number))
        new = (found & refuses if found & refuses else found) - seen
        if new:
            chosen.append(number)
            seen |= new
    more = (
        number
        for number in itertools.count()
        if number not in chosen and not features(numbered(draw, number)) & refuses
    )
    return tuple(sorted([*chosen, *itertools.islice(more, max(0, count - len(chosen)))]))
