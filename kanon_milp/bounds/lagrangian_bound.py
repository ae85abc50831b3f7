"""The Lagrangian bound by the volume algorithm: assignment constraints and packing cuts are relaxed.

    L(λ, μ) = Σ_i n_i λ_i - Σ_S μ_S ⌊N_S/κ_S⌋ + Σ_g min(0, φ_g),
    φ_g = σ_g + min { Σ_i (w_g - λ_i) x_i : Σ_i x_i ≥ κ_g, 0 ≤ x_i ≤ n_i },   σ_g = Σ_{S: C(g) ⊆ S} μ_S

over the row types i that candidate g covers; κ_g is the smallest size of a group, and S are sets of row types with a
packing cut Σ_{g: C(g) ⊆ S} y_g ≤ ⌊N_S/κ_S⌋ (`kanon_milp.bounds.packing_cuts`). L is a lower bound on the loss of every
solution for any λ and any μ ≥ 0: add Σ_i λ_i (n_i - Σ_g x_ig) = 0 and Σ_S μ_S (Σ y_g - ⌊N_S/κ_S⌋) ≤ 0 to the loss; what
is left falls apart into one problem for each candidate, closed (0) or open (φ_g). The subproblems have integral
vertices, so the largest L(λ, 0) is the value of the strong formulation's linear relaxation (Geoffrion 1974).

Where requirements ask for more than a size (p-sensitivity, l-diversity, t-closeness, ...), row types are
(quasi-identifier, sensitive) tuples and κ_g is the smallest size that the requirements imply (`Instance.least`).
Every group that they allow has at least κ_g rows, so L is still a lower bound, of the relaxation that asks for
nothing but these sizes. Side constraints only take solutions away. All values are in units of `Levels.unit`.

With all requirements of a group inside the subproblems:

    L(λ, θ) = Σ_i n_i λ_i + Σ_g min(0, φ_g),    φ_g = max over relaxations v of min { Σ (w_g - λ_i) x_i : x meets v }

over the (quasi-identifier, sensitive) row types i that candidate g covers, groups of integer numbers of rows and any
size from κ_g on. A relaxation (`kanon_milp.bounds.relaxations`) is necessary for every group, so no φ_g is above the
least reduced cost of a group that satisfies all requirements, and L is a lower bound on the loss of every table, for
any λ and θ ≥ 0: add Σ λ_i (n_i - Σ_g x_ig) = 0 to the loss; what is left falls apart into one group for each
candidate, closed (0) or open.

Where one relaxation says all that is required (p-sensitivity, limits of shares, the equal distance between up to three
values, with k-anonymity), φ_g is that least cost, and max L the value of the Dantzig-Wolfe relaxation with one column
for each group that a candidate may have: at least that of the strong formulation's linear relaxation, whose constraints
of a candidate hold for all of these groups (Geoffrion 1974). The EMD cost that t-closeness limits is charged with
multipliers θ_g for each candidate, which together are as strong as its constraints in the linear relaxation (its
minimum is convex in the group, and its constraints are those of the EMD cost, whose Lagrangian dual has no gap), less
what `relaxations` says of metrics of no tree. Groups of up to four rows are not charged but looked at one by one
(`bounds.small_groups`), which is stronger.

θ is part of the point that the volume algorithm moves; afterwards each θ_g is searched alone. Packing cuts add σ_g to
φ_g and Σ μ_S ⌊N_S/κ_S⌋ is taken away, as above: so numbers of groups come in.
All values are in units of `Levels.unit`; the proof is in exact integer arithmetic (`bounds.dual.prove`).

The volume algorithm (Barahona, Anbil 2000) works in floating point, over the multipliers of row types, packing cuts and
charges. It is deterministic for a given number of iterations: only limits of time look at the clock.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, replace

import numpy as np

from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.evaluation import Evaluator, RequiredEvaluator
from kanon_milp.bounds.packing_cuts import NO_SETS, TypeSets, first_sets, violated_sets
from kanon_milp.bounds.parameters import LagrangianParameters, PackingParameters, SubproblemParameters
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.errors import InputError, counted
from kanon_milp.kernels.volume import mix, move
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.call import OnProgress, Progress
from kanon_milp.system.arrays import Floats
from kanon_milp.system.parameters import DEFAULT, Parameters

NEAR = 0.05  # units; what rounding the multipliers may cost


@dataclass(frozen=True)
class Pace:
    """weight: of the newest point in the averages, at most; patience: so many iterations without a rise make the step
    shorter, `shorter` times as long."""

    weight: float
    patience: int
    shorter: float


class VolumeAlgorithm:
    """Where the algorithm stands: the best point and its value, and the averages of subgradients and open
    candidates."""

    def __init__(
        self,
        at: Evaluator,
        limit: BoundLimit,
        on_progress: OnProgress | None = None,
        params: Parameters = DEFAULT,
        *,
        far: bool = False,
        fast_iterations: int | None = None,
    ) -> None:
        """far: whether the best point is likely to be far from the first one. fast_iterations: that go for a fast rise,
        in place of as many as the parameters say."""
        self.params = p = params.of(LagrangianParameters)
        self._packing = params.of(PackingParameters)
        self.at, self.limit, self.on_progress, self.began = at, limit, on_progress, time.perf_counter()
        candidates = at.instance.candidates
        # no table costs more than the most expensive candidate for every row
        self.ceiling = float(candidates.cost.max()) * at.instance.types.n
        self.best, self.first_sets = at.start(), at.sets.lists  # these stay
        found = at(self.best)
        self.value, self.average = found.value, found.subgradient
        self.share = (found.phi < 0).astype(np.float64)
        self.iterations, self.first_step, self.step, self.idle = 1, self.params.step, self.params.step, 0
        # how the steps go until the number of iterations is reached, and from then on
        self.fast = Pace(p.far_weight if far else p.fast_weight, p.fast_patience, p.fast_shorter)
        self.pace, self.weight = self.fast, self.fast.weight
        self.fast_iterations = (
            (p.far_iterations if far else p.fast_iterations) if fast_iterations is None else fast_iterations
        )
        self.begun = -np.inf
        first = max(self.params.first_target * self.value, self.value + self.ceiling / 1000)
        self.goal = first if limit.target is None else limit.target

    @property
    def reached(self) -> bool:
        """Whether the bound is good enough, or the time is over."""
        return self.limit.reached(self.value, NEAR, iterations=self.iterations)

    def maximize(self, *, packing_cuts: bool) -> None:
        """Until it no longer rises. packing_cuts: add some on the way, while the steps are long enough to make use of
        them."""
        packing_cuts = packing_cuts and self.params.packing_cuts > 0
        before = self.value
        while not self.reached and self.value <= self.ceiling:
            if self.iterations % self.params.sort_every == 0:
                self.at.sort(self.best)
                self.refine()
            if self.iterations == self.fast_iterations:
                p = self.params
                self.pace = Pace(p.accurate_weight, p.accurate_patience, p.accurate_shorter)
                self.weight = self.pace.weight
            if not self.iterate():
                # no row is placed too often or too rarely: the average is a point of the relaxation, though on small
                # tables not always an optimal one; new packing cuts do not always violate it
                fresh = packing_cuts and self.add_cuts() > 0
                if not (fresh and self.iterate()) and not self._begin_again(packing_cuts):
                    break
            if self.iterations % self.params.round_length == 0:
                self.show()
                risen = (self.value - before) / max(abs(self.value), 1.0)
                if risen < self.params.stalled and self.weight <= 4 * self.params.least_weight:
                    break
                if risen < self.params.slow:
                    self.weight = max(self.weight / 2, self.params.least_weight)
                before = self.value
                if packing_cuts:
                    self.add_cuts()

    def go_on(self, limit: BoundLimit, on_progress: OnProgress | None) -> None:
        """Get another limit."""
        self.limit, self.on_progress, self.began = limit, on_progress, time.perf_counter()
        self.goal = self.goal if limit.target is None else limit.target
        self.begun = -np.inf

    def move_to(self, at: Evaluator, limit: BoundLimit, share: Floats) -> None:
        """Go on over other candidates of the same row types, from where that evaluator starts, with the average of the
        subgradients by row types as it is. share: of each candidate in the averages, (G,)."""
        self.at, self.limit, self.best, self.share = at, limit, at.start(), share
        self.average = np.concatenate([self.average[: at.types], at.right[at.types :]])
        at.packing.add_groups(share, self.average[at.types : at.types + at.sets.lists])
        self.value = at(self.best).value
        self.goal = self.goal if limit.target is None else limit.target

    def refine(self, *, final: bool = False) -> None:
        """Take what the evaluator makes of the best point, if that is better. final: with more care."""
        trial = self.at.refined(self.best, self.limit, final)
        if trial is not None:
            value = self.at(trial).value
            if value > self.value:
                self.best, self.value = trial, value

    def show(self) -> None:
        """Tell how far it is."""
        if self.on_progress is not None:
            self.on_progress(Progress(time.perf_counter() - self.began, None, self.value))

    def iterate(self) -> bool:
        """One step along the average, from the best point; False where the average is no direction."""
        if self.limit.target is None and self.value > 0.95 * self.goal:
            self.goal = self.params.first_target * self.value
        trial = np.empty_like(self.best)
        rise, scale = self.step * max(self.goal - self.value, NEAR), self.at.scale
        if not move(trial, self.best, self.average, scale, rise, self.at.types):
            return False
        trial = self.at.within(trial)
        found = self.at(trial)
        self.iterations += 1
        weight, same_way = mix(self.average, found.subgradient, scale, self.share, found.phi, self.weight)
        self.at.average(weight)
        if found.value > self.value:
            self.best, self.value, self.idle = trial, found.value, 0
            self.step = min(self.step * self.params.longer, self.params.longest) if same_way else self.step
        else:
            self.idle += 1
            if self.idle >= self.pace.patience:
                self.step, self.idle = self.step * self.pace.shorter, 0
        return True

    def _begin_again(self, packing_cuts: bool) -> bool:
        """Forget the averages. Where nothing has risen since the last time the steps were too long, and shorter ones
        are tried; False if they are short enough, or packing cuts are added, which go on without end else."""
        risen = self.value > self.begun + self.params.stalled * max(abs(self.value), 1.0)
        self.first_step = self.params.step if risen else self.first_step / self.params.restart_shorter
        if self.first_step < self.params.shortest or (packing_cuts and not risen):
            return False
        self.begun, self.step, self.idle, self.weight = self.value, self.first_step, 0, self.params.fast_weight
        self.average = self.at(self.best).subgradient
        return True

    def add_cuts(self) -> int:
        """Add packing cuts that the average violates, and drop those that do nothing; how many are new."""
        at, types = self.at, self.at.types
        active = (self.best[types:] > 0) | (self.average[types:] > 0)
        active[: self.first_sets] = True
        kept = at.sets.subset(active)
        new = violated_sets(at.instance, self.share, kept, self.params.packing_cuts, self._packing)
        if new.lists:
            at.set_packing_cuts(kept.joined(new))
            self.best = np.concatenate([self.best[:types], self.best[types:][active], np.zeros(new.lists)])
            self.average = np.concatenate([self.average[:types], at.right[types:]])
            at.packing.add_groups(self.share, self.average[types:])
        return new.lists

    def end(self) -> DualPoint:
        """The best point."""
        at, types = self.at, self.at.types
        found = at(self.best, everything=True)
        share = self.share if self.iterations > 1 else None
        active = self.best[types:] > 0
        sets, packing = at.sets.subset(active), self.best[types:][active]
        return DualPoint(self.best[:types].copy(), found.value, share, found.phi, self.iterations, sets, packing)


def lagrangian(
    instance: Instance,
    target: float | None = None,
    seconds: float | None = None,
    iterations: int | None = None,
    on_progress: OnProgress | None = None,
    interrupt: threading.Event | None = None,
    *,
    packing_cuts: bool = True,
    threads: int = 1,
    params: Parameters = DEFAULT,
) -> DualPoint:
    """Maximize L by the volume algorithm, and keep the average of the open candidates.

    instance: k-anonymity or any other requirements, after viability (the loss is what is bounded). target: a loss in
    units, such as that of a table at hand; it ends as soon as nothing cheaper can exist. seconds, iterations: limits;
    without any it ends when it no longer rises. on_progress: called from time to time with the bound in units.
    packing_cuts: whether to add them. threads: on which large instances are evaluated; the bound is the same on any
    number. Raises InputError where the loss is not the objective, or a row type has no candidate.
    """
    refuse(instance)
    ends = math.inf if seconds is None else time.perf_counter() + seconds
    at = Evaluator(instance, threads, params.of(SubproblemParameters))
    at.set_packing_cuts(first_sets(instance))
    ascent = VolumeAlgorithm(
        at,
        BoundLimit(ends, interrupt, target, iterations),
        on_progress,
        params,
    )
    ascent.maximize(packing_cuts=packing_cuts)
    return ascent.end()


def evaluate(instance: Instance, multipliers: Floats) -> tuple[float, Floats, Floats]:
    """L(λ, 0), φ (G,) and a subgradient n - Σ_g x (t,) of L at λ, in floating point."""
    found = Evaluator(instance)(np.ascontiguousarray(multipliers, dtype=np.float64), everything=True)
    return found.value, found.phi, found.subgradient


def refuse(instance: Instance) -> None:
    """Raise InputError where there is nothing to bound."""
    if instance.problem.objective != "loss":
        raise InputError(f"the Lagrangian bound is one on the loss; the objective is {instance.problem.objective}")
    covered = np.zeros(instance.types.count, dtype=bool)
    covered[instance.candidates.members] = True
    if not covered.all():
        raise InputError(
            f"no candidate for {counted(int((~covered).sum()), 'row type')}: there is no table, and no bound"
        )


def required_bound(
    instance: Instance,
    start: Floats | None = None,
    target: float | None = None,
    seconds: float | None = None,
    iterations: int | None = None,
    on_progress: OnProgress | None = None,
    interrupt: threading.Event | None = None,
    *,
    point: DualPoint | None = None,
    threads: int = 1,
    small: bool = True,
    sets: TypeSets = NO_SETS,
    params: Parameters = DEFAULT,
) -> DualPoint:
    """Maximize L by the volume algorithm.

    start: multipliers to begin with, such as those of `lagrangian`, of row types, or of these and of `sets`: those of
    packing cuts, such as numbers of groups. point: what to go on from instead, of this
    instance; with its `ascent` as if it had not been interrupted. iterations: at most so many more. threads: the result
    is the same for any number. small: whether groups of a few rows are looked at one by one (`bounds.small_groups`),
    which a certificate cannot say. The other parameters are those of `lagrangian`. Raises InputError where the loss is
    not the objective, a row type has no candidate, or no requirement is about a sensitive attribute.
    """
    refuse(instance)
    limit = BoundLimit(math.inf if seconds is None else time.perf_counter() + seconds, interrupt, target, iterations)
    ascent = None if point is None else point.ascent
    if ascent is not None and ascent.at.instance is instance:
        done = 0 if iterations is None else ascent.iterations
        ascent.go_on(replace(limit, iterations=None if iterations is None else done + iterations), on_progress)
    else:
        charges = None if point is None else point.charges
        at = RequiredEvaluator(
            instance,
            start if point is None else point.multipliers,
            charges,
            threads,
            small=small,
            sets=sets,
            params=params.of(SubproblemParameters),
        )
        near = all(relaxed.tree.convex for relaxed in at.relaxed)
        ascent = VolumeAlgorithm(at, limit, on_progress, params, far=not near)
    assert isinstance(ascent.at, RequiredEvaluator)
    if ascent.at.charged:
        limit = ascent.limit
        ascent.limit = limit.share(1 - ascent.params.refined)
        ascent.maximize(packing_cuts=False)
        ascent.limit = limit
        ascent.refine(final=True)
    else:
        ascent.maximize(packing_cuts=False)
    types, charged = instance.types.count, ascent.at.multipliers
    found = ascent.best.copy()
    return DualPoint(
        found[:types],
        ascent.value,
        ascent.share.copy(),
        evaluations=ascent.iterations,
        sets=ascent.at.sets,
        packing_multipliers=found[types:charged],
        charges=found[charged:],
        rows=ascent.at.rows,
        ascent=ascent,
    )
