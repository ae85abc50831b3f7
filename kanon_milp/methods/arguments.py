"""What `solve` and `solve_model` are given, checked before anything is done; why a problem is not for a method."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np

from kanon_milp import solvers
from kanon_milp.errors import InputError
from kanon_milp.formulations.whole_groups import MOST_GROUPS, number_of_sets
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.presolve.infeasibility import side_constraints
from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.problem.arguments import file_path, instance_of, integer, real_number, text, wrong
from kanon_milp.problem.databases import as_files
from kanon_milp.problem.group_costs import NumericCost, OwnCost
from kanon_milp.problem.group_costs.boxes import BoxPenalty
from kanon_milp.problem.privacy import AlphaKAnonymity, KAnonymity, LDiversity, Requirement
from kanon_milp.problem.privacy.base import term_of
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import Table, is_text
from kanon_milp.solvers import OnProgress, SolverAdapter, SolverOptions
from kanon_milp.system.arrays import Ints
from kanon_milp.system.clock import OnStage
from kanon_milp.system.files import check_target, refuse_overwriting, write_file
from kanon_milp.system.processes import begin_threads

LONGEST = 1e9  # seconds; a longer limit is none
LARGEST_COUNT = 2**31 - 1  # of nodes, ... and the seed, as solvers hold them
MOST_THREADS = 1024  # more are a slip of the pen


def checked_options(
    problem: Problem,
    time_limit: float | None,
    threads: int,
    seed: int,
    gap: float,
    log_file: str | Path | None,
    extra: dict[str, object] | None,
    node_limit: int | None = None,
) -> SolverOptions:
    """Options of the solver; raises InputError for one that is none, and for a log that cannot be written."""
    begin_threads()
    seconds = None if time_limit is None else real_number(time_limit, "time_limit", "a number of seconds")
    if seconds is not None and not seconds > 0:
        raise InputError("the time limit must be a positive number of seconds")
    if seconds is not None and seconds > LONGEST:
        seconds = None  # also an infinite one
    gap = real_number(gap, "gap", "a number such as 0.01")
    if not 0 <= gap < 1:
        raise InputError("the gap must be at least 0 and below 1 (0.01 is one per cent)")
    given: Mapping[object, object] = {}
    if extra is not None:
        given = instance_of(extra, Mapping, "solver_options", "a mapping from names to values")
    options = SolverOptions(
        seconds,
        # others than this machine has processors would only take memory
        min(count(threads, "threads", most=MOST_THREADS), os.cpu_count() or 1),
        count(seed, "seed", least=0),
        gap,
        0.0,
        None if log_file is None else file_path(log_file, "log_file"),
        {text(name, "a name in solver_options"): value for name, value in given.items()},
        None if node_limit is None else count(node_limit, "the node limit", least=0),
    )
    if (path := options.log_file) is not None:
        if not is_text(str(path)):
            raise InputError(f"{path}: solvers write logs only to files whose names are UTF-8; choose another name")
        refuse_overwriting([("log_file", path)], as_files(problem.sources))
        check_target(path)
    return options


MOST_MOVED = 5_000_000  # rows of a frequency table that the search holds one by one; 20 candidates each are 400 MB


def count(value: object, what: str, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """An integer that solvers can hold, too."""
    number = integer(value, what, least)
    if number > most:
        raise InputError(f"{what} must be at most {most}")
    return number


def row_groups(value: object, table: Table, what: str) -> RowGroups:
    """A group of each row as the table has them; raises InputError for what is none."""
    if isinstance(value, RowGroups):
        return value
    return RowGroups.of_table(group_numbers(value, len(table.rows_of), what), table)


def group_numbers(value: object, rows: int, what: str) -> Ints:
    """A group of each row, int64 (n,); raises InputError for what is none."""
    try:
        found = np.asarray(value)
    except ValueError:
        found = np.empty(0, dtype=object)
    if found.shape != (rows,) or found.dtype.kind not in "iu":
        raise InputError(
            f"{what}: {rows:,} integers are expected, the group of each row, such as `groups` of another result"
        )
    return found.astype(np.int64)


def check_callbacks(
    on_progress: OnProgress | None, on_stage: OnStage | None, interrupt: threading.Event | None
) -> None:
    """Raise InputError for what cannot be called, or is no event."""
    for what, given in (("on_progress", on_progress), ("on_stage", on_stage)):
        if given is not None and not callable(given):
            raise wrong(what, "a function", given)
    if interrupt is not None:
        instance_of(interrupt, threading.Event, "interrupt", "a threading.Event")


def begin_log(options: SolverOptions) -> None:
    """The log grows while the solver runs. That of an earlier session gives way, also where no solver is needed."""
    if options.log_file is not None:
        write_file(options.log_file, lambda _: None)


def adapter_of(solver: str | SolverAdapter) -> SolverAdapter:
    """The adapter of that name, or the one given; raises InputError for an unknown name."""
    if not isinstance(solver, str | SolverAdapter):
        raise wrong("solver", f'a name, such as "{solvers.DEFAULT}", or an adapter', solver)
    return solvers.get(solver) if isinstance(solver, str) else solver


def check_available(adapter: SolverAdapter) -> None:
    """Raise InputError for a solver that cannot be used here."""
    availability = adapter.availability()
    if not availability:
        raise InputError(f'the solver "{adapter.name}" cannot be used: {availability.value}; see `kanon-milp doctor`')


def groups_not_alone(problem: Problem) -> str:
    """For methods that look for the least loss of groups, each judged alone; empty if nothing is in the way."""
    if problem.objective != "loss":
        return f"the objective is {problem.objective}"
    if sides := side_constraints(problem):
        return f"there are side constraints ({' and '.join(sides.values())}), which are about all groups together"
    if problem.table.keys_match:
        return 'with missing="wildcard" k-anonymity is about several groups together'
    if not problem.separable:
        return "k-anonymity of some of the quasi-identifiers is about several groups together"
    for each in problem.requirements:
        if each.asks_of_labels:
            return f"{term_of(type(each))} is about what is released, whatever rows a group has"
    return ""


def groups_not_merging(problem: Problem) -> str:
    """For methods that form a group whatever others will be released like it; empty if nothing is in the way."""
    if reason := groups_not_alone(problem):
        return reason
    if not problem.merge_closed:
        return "two groups that satisfy a requirement may break it together, and groups that are released alike are one"
    return ""


def not_searched(problem: Problem) -> str:
    """For the hybrid method; empty if nothing is in the way."""
    if problem.attributes and problem.table.counts is not None and problem.table.n > MOST_MOVED:
        return (
            f"its search moves the rows of sensitive values one by one, and the counts add up to {problem.table.n:,}, "
            f"more than {MOST_MOVED:,}; take milp"
        )
    return groups_not_alone(problem)


def not_guessed(problem: Problem) -> str:
    """For Algorithm 1 of the homogeneity paper, which has bounds on the loss and on the number of groups; empty if
    nothing is in the way."""
    return groups_not_merging(problem.without_sides())


def more_than_sizes(problem: Problem) -> str:
    """For methods that know sizes of groups alone; empty if nothing is in the way."""
    if reason := groups_not_alone(problem):
        return reason
    return "" if problem.size_only else "more than the sizes of groups is required"


def not_matching(problem: Problem) -> str:
    """Why simplex matching is not for this problem; empty if it is."""
    if reason := groups_not_alone(problem):
        return reason
    for requirement in problem.requirements:
        if reason := _not_covered(requirement):
            return reason
    if len(problem.attributes) > 1:
        return "2-diversity of several sensitive attributes is no matching (with three of them it is NP-hard)"
    if not problem.attributes and all(isinstance(r, KAnonymity) and r.k == 1 for r in problem.requirements):
        return "k is 1, which requires nothing"
    return ""


def _not_covered(requirement: Requirement) -> str:
    """Why a requirement is more than groups of two and three rows can be priced for; empty if it is not."""
    if type(requirement) is KAnonymity and requirement.unit is not None:
        return f'k counts different values of "{requirement.unit}", and groups of two and three rows may be one of them'
    if type(requirement) is KAnonymity:
        return "" if requirement.k <= 2 else f"k is {requirement.k}; groups of two and three are enough for k = 2 alone"
    if type(requirement) is LDiversity:
        if requirement.form != "frequency":
            return f"the {requirement.form} form of l-diversity has groups that are no union of pairs and triples"
        exact = requirement.exact
        return "" if exact == 2 else f"l is {exact}; groups of two and three are enough for l = 2 alone"
    if type(requirement) is AlphaKAnonymity and requirement.values is None:
        if requirement.exact != Fraction(1, 2):
            return f"alpha is {requirement.exact}; groups of two and three are enough for alpha = 1/2 alone"
        return "" if requirement.k <= 2 else f"k is {requirement.k}; groups of two and three are enough for k = 2 alone"
    return f"{requirement.spelled} is not 2-anonymity or 2-diversity (the frequency form of l-diversity with l = 2)"


def not_points(problem: Problem) -> str:
    """For methods that look at rows as points, and at sizes of groups; empty if nothing is in the way."""
    return _other_costs(problem) or more_than_sizes(problem)


def _other_costs(problem: Problem) -> str:
    if isinstance(problem.group_cost, OwnCost):
        return f"of the group cost {problem.group_cost.own.name} nothing is known but what groups cost"
    if not isinstance(problem.group_cost, NumericCost):
        return "rows are points only under the recoding microaggregation"
    return ""


def not_boxes(problem: Problem) -> str:
    """For methods that cut boxes; empty if nothing is in the way."""
    if not isinstance(problem.group_cost, BoxPenalty):
        return "cuts at medians give boxes, and the recoding is microaggregation"
    return groups_not_merging(problem)


def not_priced(problem: Problem) -> str:
    """For the bounds on microaggregation and boxes; empty if nothing is in the way."""
    if isinstance(problem.group_cost, BoxPenalty):
        return groups_not_merging(problem)
    if reason := _other_costs(problem) or groups_not_merging(problem):
        return reason
    cost = problem.group_cost
    assert isinstance(cost, NumericCost)
    return "" if cost.splits else f"{cost.words} is bounded only around the {cost.natural}, where it is least"


def not_one_column(problem: Problem) -> str:
    """For dynamic programming over the rows in their order; empty if nothing is in the way."""
    if reason := not_points(problem):
        return reason
    cost = problem.group_cost
    assert isinstance(cost, NumericCost)
    if len(cost.points.columns) > 1:
        return "rows have an order only in one column"
    return (
        "" if cost.splits else f"the {cost.center} is not where {cost.words} is least, so groups need not be in order"
    )


def too_many_groups(problem: Problem) -> str:
    """For the model with a variable for each possible group; empty if nothing is in the way."""
    if number_of_sets(GroupInstance.of(problem)) <= MOST_GROUPS:
        return ""
    return f"{problem.table.n:,} rows have more than {MOST_GROUPS:,} possible groups"
