"""What a lower bound on the loss is to the methods that solve, when it ends, which ones there are, and how others are
added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from kanon_milp.errors import InputError, own_code, type_in_words
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance, mutation_guard
from kanon_milp.solvers.call import OnProgress
from kanon_milp.solvers.proof import REGISTERED, Backing
from kanon_milp.system.extras import Plugins, made
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import DEFAULT, Parameters

if TYPE_CHECKING:
    from kanon_milp.bounds.dual import DualPoint


@dataclass(frozen=True)
class BoundLimit(Limit):
    """A moment and an event as in `Limit`, a loss to prove, and numbers of iterations or of rounds of cuts.

    target: a loss in units, such as that of a table at hand. A bound above target - 1 proves that there is nothing
    cheaper. With a number of iterations or rounds and no moment no clock plays a part.
    """

    target: float | None = None
    iterations: int | None = None
    rounds: int | None = None

    def reached(self, value: float, margin: float, *, iterations: int = 0, rounds: int = 0) -> bool:
        """Whether a bound of this value is good enough, or the time is over.

        margin: what rounding the multipliers may cost. iterations, rounds: how many there were.
        """
        if self.target is not None and value > self.target - 1 + margin:
            return True
        if self.iterations is not None and iterations >= self.iterations:
            return True
        return (self.rounds is not None and rounds >= self.rounds) or self.over


@dataclass(frozen=True, eq=False)
class BoundTask:
    """What a bound may go on from, and when it ends.

    limit: when to stop; a bound that cannot look at it may take longer. dual: the best multipliers so far, if there are
    any. table: the cheapest assignment so far, if there is one. threads: processors to use. on_progress: to be called
    with bounds on the way, in units of `instance.levels.unit`. parameters: numbers of the user's. enough: whether a
    point is good enough to end there; bounds that go in rounds ask it with the seconds that their next unit is likely
    to take.
    """

    limit: BoundLimit = field(default_factory=BoundLimit)
    dual: DualPoint | None = None
    table: Assignment | None = None
    threads: int = 1
    on_progress: OnProgress | None = None
    parameters: Parameters = DEFAULT
    enough: Callable[[DualPoint, float], bool] | None = None


@dataclass(frozen=True, eq=False)
class ProvenBound:
    """No table of the instance loses fewer than `units` times `instance.levels.unit`.

    justified_by: what proves it: "certificate" where the multipliers in `dual` do, so that anybody can check it, "own
    bound" where this package has computed it, "registered bound" where the word of a user's own bound is all there is.
    dual: multipliers to go on from; they may prove less.
    """

    units: int
    justified_by: tuple[Backing, ...] = ("own bound",)
    dual: DualPoint | None = None


NOTHING = ProvenBound(0)
"""No table loses less than nothing."""


class LowerBound(Protocol):
    """A way to prove a lower bound on the loss of all tables of an instance."""

    @property
    def name(self) -> str:
        """What it is called in the registry and in messages."""

    def accepts(self, instance: Instance) -> bool:
        """Whether it is about this instance. Those whose objective is not the loss are never asked about."""

    def compute(self, instance: Instance, task: BoundTask) -> ProvenBound:
        """The bound. It must hold for every table that satisfies the requirements of `instance.problem`.

        Row types, candidates and costs are those after the reductions, which keep the least loss. A bound in the
        user's units is rounded up to units, `math.ceil(value / instance.levels.unit)`: losses are integer numbers of
        units.
        """


def _checked(bound: object, what: str) -> LowerBound:
    bound = made(bound, what)
    name: object = getattr(bound, "name", None)
    if not isinstance(name, str) or not name:
        raise InputError("a bound needs a name")
    for needed in ("accepts", "compute"):
        if not callable(getattr(bound, needed, None)):
            raise InputError(f"the bound {name} has no method {needed}")
    return cast(LowerBound, bound)


BOUNDS: Plugins[LowerBound] = Plugins("bound", (), _checked)
"""All bounds by name: those of this package (`kanon_milp.bounds.built_in`), then those that were registered."""


def register_bound(bound: LowerBound | type[LowerBound], *, replace: bool = False) -> None:
    """Add a bound of your own: direct MILP and the hybrid method ask for it whenever the loss is minimized.

    It is taken on trust: results that use it have "registered bound" in `backed_by`. If it is above the loss of a
    verified table, it is wrong. Then it alone is discarded, what else is proven stays, and the result says so. bound:
    an object, or a class whose objects are made without arguments. replace: replace the registered one of this name.
    Raises InputError if the name is taken or something is missing.
    """
    BOUNDS.add(bound, replace=replace)


def unregister_bound(name: str) -> None:
    """Take a registered bound out again. Raises InputError for one that is not there, or is not a user's own."""
    if name not in BOUNDS.registered:
        raise InputError(f"no bound {name} was registered")
    del BOUNDS[name]


def registered_bounds(instance: Instance) -> list[LowerBound]:
    """The registered bounds that accept an instance, by name."""
    if instance.problem.objective != "loss":
        return []
    return [each for _, each in sorted(BOUNDS.registered.items()) if _accepts(each, instance)]


def _accepts(bound: LowerBound, instance: Instance) -> bool:
    what, must = f'the bound "{bound.name}": {type(bound).__name__}.accepts', "return True or False"
    with own_code(what, must):
        found: object = bound.accepts(instance)
    if not isinstance(found, bool | np.bool_):
        raise InputError(f"{what} must {must}, found {type_in_words(found)}")
    return bool(found)


def best_registered(instance: Instance, task: BoundTask) -> ProvenBound:
    """The highest of the registered bounds that accept the instance; `NOTHING` where there is none.

    Raises InputError where one gives something else than a bound.
    """
    best = NOTHING
    for bound in registered_bounds(instance):
        what = f'the bound "{bound.name}": {type(bound).__name__}.compute'
        must = "return a ProvenBound(units) with an integer number of units, such as ProvenBound(0) where it knows none"
        with own_code(what, must), mutation_guard(instance, what):
            found: object = bound.compute(instance, task)
        if not isinstance(found, ProvenBound):
            raise InputError(f"{what} must {must}, found {type_in_words(found)}")
        if isinstance(found.units, bool) or not isinstance(found.units, int | np.integer):
            raise InputError(f"{what} must {must}, found {type_in_words(found.units)} as its units")
        if found.units > best.units:
            best = ProvenBound(int(found.units), (REGISTERED,))
    return best
