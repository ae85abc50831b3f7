"""The methods that `solve(method=...)` knows: a name, the problems it is for, and what it does with a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Literal, get_args

from kanon_milp import solvers
from kanon_milp.errors import InputError, TooManyLevelVectorsError, nearest, own_code, type_in_words
from kanon_milp.formulations.whole_groups import number_of_sets
from kanon_milp.methods import full_domain
from kanon_milp.methods.approximate import solve_greedy, solve_m_approximation, solve_mondrian
from kanon_milp.methods.arguments import (
    groups_not_alone,
    groups_not_merging,
    more_than_sizes,
    not_boxes,
    not_guessed,
    not_matching,
    not_one_column,
    not_points,
    not_priced,
    not_searched,
    too_many_groups,
)
from kanon_milp.methods.fpt import solve_fpt
from kanon_milp.methods.group_heuristics import solve_cuts, solve_k_member, solve_mdav, solve_univariate, solve_vmdav
from kanon_milp.methods.group_session import GroupSession
from kanon_milp.methods.phases import Estimate, RestrictedModelParams, beyond_solvers, few_options
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.presolve.infeasibility import side_constraints
from kanon_milp.presolve.instance import compress_table, types_of
from kanon_milp.presolve.preparation import Prepared, too_many_to_list
from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.problem.arguments import instance_of, text, wrong
from kanon_milp.problem.problem import Problem
from kanon_milp.system.extras import Plugins
from kanon_milp.system.parameters import DEFAULT, Parameters, number, parameters

Argument = Literal["solver", "formulation", "node_limit", "iteration_limit", "dask", "parameters"]
ARGUMENTS: tuple[Argument, ...] = get_args(Argument)

AUTO = "auto"  # one of the built-in methods with a proof, by the size of the problem


@parameters("auto")
@dataclass(frozen=True)
class AutoParams:
    """Which method `auto` takes; pairs are (row type, candidate) pairs."""

    limited_pairs: int = number(
        2_000,
        "pairs, from which on a model is large within a time limit, where only sizes of groups are required, or no "
        "network is left and either a row type has more than a few candidates or the limit is too short for the solver",
    )
    search_pairs: int = number(20_000, "pairs, from which on it is elsewhere")
    few_pairs: int = number(300_000, "pairs, up to which it is not where row types have few candidates, with a network")
    slow_pair_seconds: float = number(5e-4, "of the solver, a pair, where no network is left (masks of CMC, Adult)")
    emd_pair_seconds: float = number(9e-4, "of the solver, a pair, where no network is left, under t-closeness")
    matching_pairs: int = number(4_000_000, "pairs, up to which matching for k = 2 without a mask ends soon (Adult)")
    matching_pair_seconds: float = number(1.6e-5, "seconds a pair that it takes, at most")
    few_groups: int = number(2_000, "possible groups of rows, up to which one model of all of them proves at once")
    nominal_seconds: float = number(600.0, "seconds that expected gains are compared over where there is no time limit")
    search_gain: float = number(0.6, "share of the gap that search is expected to close")
    large_gain: float = number(0.2, "share of the gap that direct MILP is expected to close where the model is large")


def _accepts_all(_problem: Problem) -> str:
    return ""


@dataclass(frozen=True)
class WholeGroups:
    """What a method does where the cost is one of whole groups (microaggregation, boxes).

    run: works on `session.instance`, tells `session.tracker` what it finds, and ends with `session.finish()`. refuses:
    why a problem is not for it; "" where it is.
    """

    run: Callable[[GroupSession], Result]
    refuses: Callable[[Problem], str] = _accepts_all


@dataclass(frozen=True)
class Method:
    """A way from an instance to a released table.

    name: as in `solve(method=name)`. about: one line for `--help`. run: works on `session.instance` (row types,
    candidates, requirements) and ends with `session.finish(assignment, bound=...)`, which releases the table, verifies
    it and returns the Result. refuses: says why a problem is not for this method; "" where it is. takes: arguments of
    `solve` that it heeds beside time_limit, threads, seed and gap; others are refused, so that none is ignored.
    candidates: False for a method that divides the rows itself and ends with `session.finish_partition`: then no
    candidates are enumerated, of which tables of many columns have too many. small_groups: True for a method of
    problems for which groups of two and three rows are enough; candidates may be the closures of such groups alone.
    free_first: True for a method that judges each group alone: it solves problems without their side constraints, and
    direct MILP has what is left where its table does not satisfy them.
    groups: what it does where the cost is one of whole groups; None of those that work on levels of cells alone. run is
    None for those that do not.
    """

    name: str
    about: str
    run: Callable[[Session], Result] | None = None
    refuses: Callable[[Problem], str] = _accepts_all
    takes: frozenset[Argument] = frozenset()
    candidates: bool = True
    small_groups: bool = False
    free_first: bool = False
    groups: WholeGroups | None = None

    def __post_init__(self) -> None:
        if not (text(self.name, "name of a method").isprintable() and self.name.strip()):
            raise InputError("the name of a method must be printable text")
        text(self.about, "about, one line on a method")
        for what, given in (("run", self.run), ("refuses", self.refuses)):
            if given is None and self.groups is not None:
                continue
            if isinstance(given, type) or not callable(given):
                raise wrong(f'method "{self.name}": {what}', "a function", given)
        takes: object = self.takes
        if not (isinstance(takes, frozenset | set) and takes <= set(ARGUMENTS)):
            raise wrong(f'method "{self.name}": takes', f"a set with some of {', '.join(ARGUMENTS)}", takes)
        instance_of(self.candidates, bool, f'method "{self.name}": candidates', "True or False")
        instance_of(self.small_groups, bool, f'method "{self.name}": small_groups', "True or False")
        instance_of(self.free_first, bool, f'method "{self.name}": free_first', "True or False")
        if self.groups is not None:
            instance_of(self.groups, WholeGroups, f'method "{self.name}": groups', "a WholeGroups")


def _imported_later(module: str) -> Callable[[Any], Result]:
    """The method of a module that is imported when it runs."""

    def run(session: Any) -> Result:
        found: Callable[[Any], Result] = getattr(import_module(f"kanon_milp.methods.{module}"), f"solve_{module}")
        return found(session)

    return run


METHODS: Plugins[Method] = Plugins(
    "method",
    (
        Method(
            "milp",
            "direct MILP, one model for the solver",
            _imported_later("started"),
            takes=frozenset({"solver", "formulation", "node_limit", "parameters"}),
            groups=WholeGroups(_imported_later("group_model"), too_many_groups),
        ),
        Method(
            "search",
            "hybrid: Lagrangian bound, heuristics and restricted MILP, at minimum loss",
            _imported_later("hybrid"),
            not_searched,
            frozenset({"solver", "node_limit", "iteration_limit", "dask", "parameters"}),
            free_first=True,
            groups=WholeGroups(_imported_later("group_search"), not_priced),
        ),
        Method(
            "greedy",
            "Algorithm 1 of the pattern-guided paper, without a proof",
            solve_greedy,
            groups_not_alone,
            candidates=False,
        ),
        Method(
            "mondrian",
            "cuts at medians (LeFevre et al.), without a proof",
            solve_mondrian,
            groups_not_merging,
            candidates=False,
            groups=WholeGroups(solve_cuts, not_boxes),
        ),
        Method(
            "mondrian_relaxed",
            "the same, rows at a median on both sides",
            partial(solve_mondrian, relaxed=True),
            groups_not_merging,
            candidates=False,
        ),
        Method(
            "m_approximation",
            "k-anonymity within a factor of m (Liang, Yuan)",
            solve_m_approximation,
            more_than_sizes,
            candidates=False,
        ),
        Method(
            "full_domain",
            "best full-domain recoding, up to 5 % of the rows suppressed, without a bound",
            full_domain.solve_method,
            full_domain.refuses,
            frozenset({"parameters"}),
            candidates=False,
        ),
        Method(
            "fpt",
            "Algorithm 1 of the homogeneity paper, for few row types",
            solve_fpt,
            not_guessed,
            frozenset({"parameters"}),
        ),
        Method(
            "subset_dp",
            "dynamic programming over all sets of rows, up to about 22",
            _imported_later("subset_dp"),
            groups_not_merging,
            frozenset({"parameters"}),
            candidates=False,
            free_first=True,
        ),
        Method(
            "matching",
            "simplex matching, proven optima for k = 2 and for l = 2",
            _imported_later("matching"),
            not_matching,
            frozenset({"solver", "node_limit", "parameters"}),
            small_groups=True,
            free_first=True,
        ),
        Method(
            "mdav",
            "microaggregation by MDAV (Domingo-Ferrer, Torra), without a proof",
            groups=WholeGroups(solve_mdav, not_points),
        ),
        Method(
            "vmdav",
            "the same with groups of k to 2k-1 rows (V-MDAV), then moves and exchanges of rows",
            takes=frozenset({"parameters"}),
            groups=WholeGroups(solve_vmdav, not_points),
        ),
        Method(
            "k_member",
            "greedy k-member clustering (Byun et al.) for microaggregation and boxes, without a proof",
            groups=WholeGroups(solve_k_member, groups_not_merging),
        ),
        Method(
            "univariate",
            "microaggregation of one column by dynamic programming (Hansen, Mukherjee), proven",
            groups=WholeGroups(solve_univariate, not_one_column),
        ),
    ),
    lambda method, what: instance_of(method, Method, what, "a Method(name, about, run)"),
    "kanon_milp.methods",
    AUTO,
)


def names() -> list[str]:
    """Names that `solve(method=...)` takes: of this package, registered ones, and entry points."""
    return [AUTO, *METHODS.names()]


def about() -> str:
    """All methods in one line, for `--help`."""
    return "; ".join(["auto (default): milp, search or matching", *(f"{m.name}: {m.about}" for m in METHODS.values())])


def register_method(method: Method, *, replace: bool = False) -> None:
    """Make a method of your own known to `solve` and to model files, in this process.

    replace: replace the registered one of this name. A package can bring methods without this call, by entry points of
    the group `kanon_milp.methods`: the name of the method, and the `Method` itself. Raises InputError for the name of a
    method of this package, and for one that is registered, unless it is replaced or the same.
    """
    METHODS.add(method, replace=replace)


def _named(name: str) -> Method:
    """The method of a known name."""
    found = METHODS.find(name)
    assert found is not None
    return found


def known_name(name: object, what: str = "method") -> str:
    """Check the name of a method; raises InputError with the nearest one that is known. what: the argument's name."""
    if isinstance(name, str) and (name == AUTO or name in METHODS):
        return name
    if not isinstance(name, str):
        raise wrong(what, f"one of {', '.join(names())}", name)
    if name not in names():
        known = ", ".join(names())
        raise InputError(f'{what}: unknown method "{name}"{nearest(name, names())}; must be one of {known}')
    return name


def heeded(name: str) -> frozenset[Argument]:
    """The arguments of `solve` that a method heeds; "auto" decides later, and heeds all of them."""
    known_name(name)
    return frozenset(ARGUMENTS) if name == AUTO else _named(name).takes


def find(name: str, problem: Problem, given: frozenset[Argument]) -> Method | None:
    """The method of that name; None for "auto", which is decided once the instance is known.

    given: the arguments of `solve` that are not at their defaults. Raises InputError for an unknown method, and for one
    that is not for this problem or does not heed an argument.
    """
    known_name(name)
    if name == AUTO:
        return None
    method = _named(name)
    if reason := refusal(name, problem):
        able = [AUTO, *(other for other in METHODS if not refusal(other, problem))]
        raise InputError(f"the method {name} is not for this problem: {reason}; use {' or '.join(able)}")
    for argument in sorted(given - method.takes):
        able = [other.name for other in METHODS.values() if argument in other.takes]
        raise InputError(f"{_IN_WORDS[argument]} is for the method {' or '.join(able)}; {name} has no use for it")
    return method


def with_way_out(error: TooManyLevelVectorsError, problem: Problem, *, priced: bool) -> TooManyLevelVectorsError:
    """The error with the methods that take the problem nevertheless: the one that prices candidates, unless that was
    tried (`priced`), and those that need none."""
    takes = [m.name for m in METHODS.values() if not (m.candidates or m.free_first)]  # exact ones are for few rows
    if not priced and too_many_to_list(problem, types_of(problem, compress_table(problem))):
        takes = ["search", *takes]
    able = [name for name in takes if not refusal(name, problem)]
    if not able or not problem.merge_closed:  # whoever forms groups of some patterns alone may form them twice
        return error
    return TooManyLevelVectorsError(f"{error}, or take a method that does not list them: {' or '.join(able)}")


def refusal(name: str, problem: Problem) -> str:
    """Why a problem is not for a method of this name, which may be one of a user's own; "" where it is."""
    method = _named(name)
    what, must = f'the method "{method.name}": refuses', 'return why the problem is not for it, or ""'
    if problem.group_cost is not None:
        alone = f"it works on levels of cells, which the recoding {problem.recoding.kind} does not have"
        return alone if method.groups is None else method.groups.refuses(problem)
    if method.run is None:
        return "it is for the recodings microaggregation and boxes"
    with own_code(what, must):
        found: object = method.refuses(problem.without_sides() if method.free_first else problem)
    if not isinstance(found, str):
        raise InputError(f"{what} must {must}, found {type_in_words(found)}")
    return found


def given(
    solver: str,
    formulation: str,
    node_limit: int | None,
    iteration_limit: int | None,
    dask: str | None,
    parameters: Parameters,
) -> frozenset[Argument]:
    """Which of these arguments of `solve` are not at their defaults."""
    asked: dict[Argument, bool] = {
        "solver": solver != solvers.DEFAULT,
        "formulation": formulation != "strong",
        "node_limit": node_limit is not None,
        "iteration_limit": iteration_limit is not None,
        "dask": dask is not None,
        "parameters": bool(parameters.values),
    }
    return frozenset(argument for argument, is_given in asked.items() if is_given)


def choose(
    prepared: Prepared,
    given: frozenset[Argument],
    time_limit: float | None,
    parameters: Parameters = DEFAULT,
) -> Method:
    """What "auto" takes for an instance: of the methods that can do it, the one that is expected to gain most for its
    time, as the scheduler takes the phases of one.

    Within a time limit, in seconds, the hybrid method has also smaller ones: it has a good table at once, and then
    hands what is left to the solver where that is likely to end in time. Without a limit the model that ends with a
    proof is worth waiting for. Pairs of rows under a mask are a matching, whose bound is close; so are pairs of
    different sensitive values under all patterns, and pairs of rows where the core problem is too large for one model.
    """
    expected = estimates(prepared, time_limit, parameters)
    # direct MILP takes what it has no use for: it is told then
    able = [
        name
        for name in expected
        if name == "milp"
        or (
            given <= METHODS[name].takes
            and not METHODS[name].refuses(prepared.problem)
            and not side_constraints(prepared.problem)  # what comes after the problem without them
        )
    ]
    return METHODS[max(able, key=lambda name: expected[name].rate)]


def choose_for_groups(problem: Problem, given: frozenset[Argument], parameters: Parameters = DEFAULT) -> Method:
    """What "auto" takes where the cost is one of whole groups: of the methods that can do it, and heed what is given,
    the first with a proof, or else with the better table."""
    few = number_of_sets(GroupInstance.of(problem)) <= parameters.of(AutoParams).few_groups
    order = _BEST_FIRST if few else sorted(_BEST_FIRST, key=("univariate", "search").__contains__, reverse=True)
    able = [name for name in order if given <= METHODS[name].takes and not refusal(name, problem)]
    if not able:
        asked = ", ".join(requirement.spelled for requirement in problem.requirements)
        why = (refusal(name, problem) or _no_use(given - METHODS[name].takes) for name in _BEST_FIRST)
        refused = "; ".join(f"{name}: {reason}" for name, reason in zip(_BEST_FIRST, why, strict=True))
        raise InputError(f"no method for the recoding {problem.recoding.kind} takes this problem ({asked}): {refused}")
    return METHODS[able[0]]


def _no_use(arguments: frozenset[Argument]) -> str:
    return f"no use for {' or '.join(_IN_WORDS[argument] for argument in sorted(arguments))}"


_BEST_FIRST = ("univariate", "milp", "search", "vmdav", "k_member")


def estimates(prepared: Prepared, time_limit: float | None, parameters: Parameters) -> dict[str, Estimate]:
    """What each of the methods that "auto" may take is expected to need and to gain; only of those worth a thought."""
    params, model = parameters.of(AutoParams), parameters.of(RestrictedModelParams)
    problem, instance = prepared.problem, prepared.instance
    pairs, few = instance.candidates.pairs, few_options(instance, model)
    sizes_only = problem.size_only
    # where no network is left, the solver is slow
    pair_seconds = params.emd_pair_seconds if instance.limits_emd else params.slow_pair_seconds
    slow = time_limit is not None and not problem.network and pairs * pair_seconds > time_limit
    if time_limit is not None and (sizes_only or slow or not (problem.network or few)):
        large = pairs >= params.limited_pairs
    else:
        large = pairs >= params.search_pairs and not (problem.network and pairs <= params.few_pairs and few)
    seconds = params.nominal_seconds if time_limit is None else time_limit
    found = {"milp": Estimate(seconds, params.large_gain if large else 1.0)}
    if prepared.obstacle is not None or prepared.shortage is not None:
        return found
    found["search"] = Estimate(seconds, params.search_gain)
    if prepared.priced or beyond_solvers(instance):  # no model can be stated, or solved
        return {"milp": Estimate(seconds, 0.0), "search": found["search"]}
    # for k = 2 under all patterns the hybrid method is as quick where its core problem is one model, and quicker where
    # groups of three are too many; for l = 2 it is far from a proof
    masked = problem.recoding.mask is not None
    enough = time_limit is None or pairs * params.matching_pair_seconds <= time_limit
    alone = model.pairs < pairs <= params.matching_pairs and enough
    if large and (alone if sizes_only and not masked else masked == sizes_only and time_limit is not None):
        found["matching"] = Estimate(seconds / 4, 1.0)
    return found


_IN_WORDS: dict[Argument, str] = {
    "solver": "another solver",
    "formulation": "another formulation",
    "node_limit": "a node limit",
    "iteration_limit": "an iteration limit",
    "dask": "a Dask cluster",
    "parameters": "a parameter of a phase",
}
