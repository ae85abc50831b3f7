"""Reductions of the user's own: which candidates some best table can do without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kanon_milp.errors import InputError, counted, own_code, type_in_words
from kanon_milp.presolve.instance import Instance, mutation_guard
from kanon_milp.presolve.reductions import Dropped, drop
from kanon_milp.problem.arguments import text, wrong
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Flags
from kanon_milp.system.extras import Plugins
from kanon_milp.system.limit import Limit


@dataclass(frozen=True)
class CandidateReduction:
    """A reduction that leaves candidates out, for `register_reduction`.

    keep: from an instance to bool (candidates,): which ones stay. Some best table, if there is any table, must use
    these alone: that is the user's word, and results whose proofs depend on it say so in `backed_by` ("reduction
    NAME"). valid: for which problems; default all. A row type that had a candidate must keep one.
    """

    name: str
    keep: Callable[[Instance], Flags]
    valid: Callable[[Problem], bool] = lambda problem: True


def _checked(reduction: object, what: str) -> CandidateReduction:
    if not isinstance(reduction, CandidateReduction):
        raise wrong(what, "a CandidateReduction(name, keep)", reduction)
    text(reduction.name, "name of the reduction")
    for each, function in (("keep", reduction.keep), ("valid", reduction.valid)):
        if not callable(function):
            raise wrong(f'reduction "{reduction.name}": {each}', "a function", function)
    return reduction


OWN: Plugins[CandidateReduction] = Plugins("reduction", (), _checked, "", "viability", "dominance", "equal_signature")


def register_reduction(reduction: CandidateReduction, *, replace: bool = False) -> None:
    """Make a reduction part of presolve in this process, after the package's own. It is left out where a model with all
    candidates is declared (`build_model`, `export_model` and what uses them).

    replace: take the place of one of the same name. Raises InputError for what is no reduction, and for a name that is
    taken.
    """
    OWN.add(reduction, replace=replace)


def own_reductions(problem: Problem) -> list[CandidateReduction]:
    """Those that are registered and valid for a problem."""
    found = []
    for each in OWN.values():
        with own_code(f'valid of the reduction "{each.name}"', "return True or False"):
            if each.valid(problem):
                found.append(each)
    return found


def own_steps(instance: Instance, limit: Limit) -> list[Dropped]:
    """What they make of an instance, one after the other. Raises InputError where one gives no flags, or leaves
    no table."""
    steps: list[Dropped] = []
    for each in own_reductions(instance.problem):
        if limit.over:
            break
        what = f'keep of the reduction "{each.name}"'
        with own_code(what, "return a bool for each candidate"), mutation_guard(instance, what):
            keep = each.keep(instance)
        if not (isinstance(keep, np.ndarray) and keep.dtype == np.bool_ and keep.shape == (instance.candidates.count,)):
            found = keep.dtype if isinstance(keep, np.ndarray) else type_in_words(keep)
            shape = f"({instance.candidates.count},)"
            raise InputError(f"{what} must return an array of bool {shape}, one a candidate, found {found}")
        steps.append(drop(each.name, instance, keep))
        before, instance = instance, steps[-1].instance
        if lost := len(np.setdiff1d(before.candidates.members, instance.candidates.members)):
            raise InputError(
                f"{what} leaves {counted(lost, 'row type')} without any candidate; some table must be left"
            )
    return steps
