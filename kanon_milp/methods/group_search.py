"""The hybrid method (`search`) where the cost is one of whole groups: tables, the bound by column generation with
rank-1 cuts, neighbourhoods of set partitioning, and one program over all groups that a better table could have."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from kanon_milp.bounds.group_costs.bound import CostBound
from kanon_milp.bounds.group_costs.boxes import BoxPricing
from kanon_milp.bounds.group_costs.exact_partitions import Groups, least_cost
from kanon_milp.bounds.group_costs.pricing import GroupPricing, SquarePricing
from kanon_milp.bounds.narrowest_boxes import narrowest_bound
from kanon_milp.bounds.parameters import GroupProofParameters
from kanon_milp.formulations.restricted import Answer, solve_restricted
from kanon_milp.formulations.whole_groups import number_of_sets, possible_groups
from kanon_milp.heuristics.boxes import cut_boxes, improved_boxes
from kanon_milp.heuristics.group_dive import Dive
from kanon_milp.heuristics.group_partitions import Partitions, Pool
from kanon_milp.heuristics.k_member import k_member
from kanon_milp.heuristics.microaggregation import VmdavParams, improved, mdav, scaled, vmdav
from kanon_milp.methods.group_session import GroupSession
from kanon_milp.methods.hybrid import HybridParams
from kanon_milp.methods.phases import Estimate, Known, Phase
from kanon_milp.methods.result import Result
from kanon_milp.methods.scheduler import run_phases
from kanon_milp.presolve.boxes import BoxCosts
from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.problem.group_costs import NumericCost
from kanon_milp.problem.group_costs.boxes import BoxPenalty
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Floats, Ints, Ints32
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters

OF_SIZES = (
    "the bound is that of groups of at least {} rows; what else is required of groups is not in it, and tables are not "
    "made from it, so the gap can be wide"
)
MARGIN = 1e-7  # of what a table loses: of reduced costs in floating point


@parameters("group_search")
@dataclass(frozen=True)
class GroupSearchParams:
    """The search for tables and bounds with a cost of whole groups. Tuned on Tarragona and Census, k = 3, 4, 5."""

    rows: int = number(6_000, "for which distances are held in memory (32 bytes a pair); beyond, there is no bound")
    first: float = number(0.25, "of the time, for the first tables, at most", most=1)
    columns: float = number(0.6, "of the time left, for column generation before the first cuts, at most", most=1)
    cuts: float = number(0.5, "of the time left, for rounds of cuts before tables are looked for again", most=1)
    rounds: int = number(4, "of cuts before that", least=1)
    tables: float = number(0.3, "of the time left, for tables after the bound has risen", most=1)
    patience: int = number(30, "neighbourhoods that find nothing", least=1)
    dives: int = number(6, "through the linear program before neighbourhoods, after the bound has risen", least=1)
    diving: float = number(0.3, "of the time left, for dives, at most", most=1)
    whole: float = number(0.3, "of the time for tables, for a program over the pool", most=1)
    near: float = number(2.0, "times the mean gap of a group is the reduced cost of the groups that join the pool")
    near_columns: int = number(30, "groups of a seed that join the pool at most", least=1)
    near_nodes: int = number(10_000, "of the search for the groups that join the pool", least=1)
    all_columns: int = number(2_000, "groups of a seed, up to which one program is stated over all that are left")
    all_groups: int = number(200_000, "groups in all, up to which one program is stated over all that are left")
    all_nodes: int = number(100_000, "of the search for them", least=1)


def pricing_of(instance: GroupInstance, loss: Fraction, limit: Limit) -> GroupPricing | None:
    """What prices the groups of an instance, None where nothing does. loss: of a table, for the scale."""
    points = instance.points
    if isinstance(instance.cost, BoxPenalty):
        largest = min(2 * instance.least - 1, len(instance.of_row))
        return BoxPricing(BoxCosts.of(instance.cost, largest), instance.least, largest, limit)
    if points is None:
        return None
    unit = power_of_two(loss / max(len(instance.of_row), 1))
    distances = points.below[np.ix_(points.of_row, points.of_row)] / float(unit)
    largest = min(2 * instance.least - 1, len(instance.of_row))
    return SquarePricing(distances, instance.least, largest, unit, points.power, instance.differing)


def power_of_two(value: Fraction) -> Fraction:
    """The largest one that is not above a positive number; 1 for 0."""
    if value <= 0:
        return Fraction(1)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    found = Fraction(2) ** exponent
    return found if found <= value else found / 2


class GroupKnown(Known):
    """What the phases know.

    bound: None before there is one. constructed: whether there are first tables. raised, tabled: how often the bound
    was raised, and how often that was when tables were looked for last. dived: the same of dives, and how many there
    were. found: groups that dives have priced. more: whether there may be more cuts. over: the
    program over all groups has settled what it can. size: of that model.
    """

    session: GroupSession  # type: ignore[assignment]
    tracker: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        self.params = self.get(GroupSearchParams)
        self.bound: CostBound | None = None
        self.pool: Any = None
        self.constructed = self.over = False
        self.raised, self.tabled, self.more, self.seed = 0, -1, True, self.session.options.seed
        self.dived, self.dives = -1, 0
        self.near = self.found = np.empty((0, self.largest), np.int32)
        self.size = (0, 0)

    @property
    def groups(self) -> GroupInstance:
        """The rows, their cost, and what is required."""
        return self.session.instance

    @property
    def enough(self) -> Any:
        """As that of a table of rows, as a fraction."""
        return self.tracker.bound / (1 - Fraction(self.session.options.gap))

    @property
    def unit(self) -> Fraction:
        """What costs are in for the bound."""
        assert self.bound is not None
        return self.bound.priced.unit

    @property
    def gap(self) -> float:
        """Between table and bound, in units, of the best point in floating point."""
        assert self.bound is not None
        assert self.best is not None
        return max(float(self.best.cost / self.unit) - self.bound.value, 0.0)

    def table(self) -> Ints32:
        """The groups of the best table that are no larger than pricing knows them; others in parts."""
        assert self.best is not None
        return self.groups.parts(self.best.group, self.largest)  # type: ignore[attr-defined]

    @property
    def exact(self) -> bool:
        """Whether groups are priced that have all that is required. Else all of κ rows are, which a group has as parts,
        and tables are not made of these."""
        return self.groups.problem.size_only or (self.groups.points is not None and self.groups.differing is not None)

    def held(self, rows: Ints32) -> Ints32:
        """Those of some groups that can be priced."""
        if self.groups.problem.size_only or not self.exact:
            return rows
        return rows[[self.groups.holds(each[each >= 0].astype(np.int64)) for each in rows]]

    def rose(self) -> None:
        """Note that the bound was raised, after which tables are looked for, where they can be."""
        self.raised += 1
        if not self.exact:
            self.tabled = self.raised

    @property
    def step(self) -> Fraction:
        """What the costs of tables are multiples of; 0 where that is not known."""
        assert self.bound is not None
        if isinstance(self.bound.priced, BoxPricing):
            grid = self.bound.priced.boxes.grid
            return Fraction(1, grid) if grid else Fraction(0)
        assert self.groups.points is not None
        return Fraction(1, self.groups.points.denominator * math.lcm(*range(self.groups.least, self.largest + 1)))

    @property
    def largest(self) -> int:
        """Rows of a group, at most."""
        return min(2 * self.groups.least - 1, len(self.groups.of_row))

    def columns(self) -> Pool:
        """All groups at hand: those of the linear programs, those near the best multipliers, those of dives and of the
        best table."""
        assert self.bound is not None
        return Pool.of(np.concatenate([self.bound.rows, self.near, self.found, self.table()]), self.bound.priced.costs)

    def prove(self) -> None:
        """Tell the tracker what the multipliers prove."""
        assert self.bound is not None
        if self.bound.dual is not None:
            proven, priced = self.bound.dual.bound, self.bound.priced
            if isinstance(priced, BoxPricing):
                proven = priced.rounded_up(proven)
            self.tracker.higher(min(proven, self._cost), ("own bound",))

    @property
    def _cost(self) -> Fraction:
        assert self.best is not None
        return self.best.cost  # type: ignore[return-value]

    def offer(self, table: Ints32) -> Ints:
        """Take a table of a pool if it is better; the number of the group of each row."""
        group: Ints = np.empty(len(self.groups.of_row), np.int64)
        for g, rows in enumerate(table):
            group[rows[rows >= 0]] = g
        self.better(group)
        return group

    def better(self, group: Ints) -> None:
        """Take a table if it has what is required and is better. group: int64 (n,), of each row."""
        table = self.groups.table(group)
        if self.groups.problem.size_only or self.groups.satisfies(table):
            self.tracker.better(table)


class _GroupPhase(Phase):
    """One that takes a share of the time."""

    share: ClassVar[str]
    gain: ClassVar[float] = 0.5

    def estimate(self, known: Known) -> Estimate:
        """As its parameters say."""
        return Estimate(known.seconds(getattr(known.get(GroupSearchParams), self.share)), self.gain)


def _of(known: Known) -> GroupKnown:
    assert isinstance(known, GroupKnown)
    return known


class FirstTables(_GroupPhase):
    """MDAV and V-MDAV, for boxes cuts at medians and k-member clustering, with moves and exchanges of rows."""

    name, share, gain = "construction", "first", 100.0

    def applies(self, known: Known) -> bool:
        """Once."""
        return not _of(known).constructed

    def run(self, known: Known, limit: Limit) -> None:
        """The first one always ends with a table."""
        known = _of(known)
        cost, k, params = known.groups.cost, known.groups.least, known.get(VmdavParams)
        known.constructed, short = True, limit.share(known.params.first)
        if not isinstance(cost, NumericCost):
            assert isinstance(cost, BoxPenalty)
            boxes = BoxCosts.of(cost, 2 * k)
            known.tracker.better(known.groups.table(cut_boxes(boxes, k, known.groups.holds, short.share(0.5))))
            _moved(known, known.best.group, short.share(0.5))  # type: ignore[union-attr]
            group = None if short.over else k_member(known.groups, short.share(0.5))
            if group is not None:
                known.better(group)
                _moved(known, group, short)
            return
        if not known.groups.problem.size_only:
            group = k_member(known.groups, limit.share(known.params.first))
            for each in (known.groups.one_group, None if group is None else known.groups.table(group)):
                if each is not None:
                    known.tracker.better(each)
            return
        points = scaled(cost)
        known.tracker.better(known.groups.table(mdav(points, k, cost.power, short)))
        tables = [known.best.group]  # type: ignore[union-attr]
        if not short.over:
            tables.append(vmdav(points, k, cost.power, params.gain, short))
            known.tracker.better(known.groups.table(tables[1]))
        for group in tables:
            if cost.power == 2 and not short.over:
                known.tracker.better(known.groups.table(improved(points, group, k, params.passes, short)))


class GroupColumns(_GroupPhase):
    """The first multipliers, then column generation until the linear program over all groups is solved."""

    name, step, share, gain = "columns", "bound", "columns", 10.0

    def applies(self, known: Known) -> bool:
        """Until that is so, once there is a table, and by turns with better ones."""
        known = _of(known)
        if known.bound is None:
            return known.best is not None and known.more
        return not known.bound.converged and known.tabled == known.raised

    def run(self, known: Known, limit: Limit) -> None:
        """In a share of the time."""
        known = _of(known)
        part = limit.share(known.params.columns)
        if known.bound is None:
            cost = known.groups.cost
            if not known.exact:
                known.notes.append(OF_SIZES.format(known.groups.least))
            if len(known.groups.of_row) > known.params.rows and isinstance(cost, BoxPenalty):
                boxes, group = BoxCosts.of(cost, 2 * known.groups.least), known.best.group  # type: ignore[union-attr]
                known.tracker.higher(narrowest_bound(boxes, known.groups.least, group, limit), ("own bound",))
            elif len(known.groups.of_row) > known.params.rows:
                known.notes.append(f"no bound is computed for more than {known.params.rows:,} rows (group_search.rows)")
            else:
                priced = pricing_of(known.groups, known._cost, part)
                if priced is not None:
                    first = np.concatenate([known.table(), known.held(priced.first())])
                    known.bound = CostBound(priced, first, part, known.session.parameters)
                    known.prove()
        if known.bound is None:
            known.more = False
            return
        known.bound.converge(part)
        known.prove()
        known.rose()


class GroupCuts(_GroupPhase):
    """Rounds of rank-1 cuts."""

    name, step, share, gain = "cuts", "bound", "cuts", 1.0

    def applies(self, known: Known) -> bool:
        """As long as they raise the bound, after tables were looked for."""
        known = _of(known)
        return known.bound is not None and known.bound.converged and known.more and known.tabled == known.raised

    def run(self, known: Known, limit: Limit) -> None:
        """Some of them."""
        known = _of(known)
        bound, part = known.bound, limit.share(known.params.cuts)
        assert bound is not None
        before = bound.value
        more = bound.cut(part, lambda _: None, float(known._cost / known.unit), known.params.rounds)
        known.prove()
        if bound.value > before:
            known.rose()
        known.more = more or part.over  # what the limit has ended goes on where it was


class GroupDives(_GroupPhase):
    """Tables from the linear program: groups are fixed by what it uses, it is solved again with new ones."""

    name, share, gain = "dives", "diving", 5.0

    def applies(self, known: Known) -> bool:
        """Whenever the bound has risen, before neighbourhoods."""
        known = _of(known)
        return known.bound is not None and known.dived < known.raised and known.raised > 0 and known.exact

    def run(self, known: Known, limit: Limit) -> None:
        """Each after the first with other groups, for which shares are changed at random."""
        known = _of(known)
        bound, part = known.bound, limit.share(known.params.diving)
        assert bound is not None
        known.dived = known.raised
        for _ in range(known.params.dives):
            if part.over or known.settled:
                return
            noise = np.random.default_rng(known.seed + known.dives) if known.dives else None
            pool, multipliers = known.columns(), bound.point.multipliers
            reduced = pool.costs - bound.worth(pool.rows)
            dive = Dive(pool, reduced, multipliers, bound.priced, known.session.parameters)
            table = dive.run(part, noise)
            known.dives, known.found = known.dives + 1, np.concatenate([known.found, dive.found])
            if table is not None:
                found = known.offer(table)
                known.found = np.concatenate([known.found, known.held(table), _moved(known, found, part)])


class GroupTables(_GroupPhase):
    """A program over the pool of groups, neighbourhoods, and moves and exchanges of rows."""

    name, share, gain = "partitions", "tables", 2.0

    def applies(self, known: Known) -> bool:
        """Whenever the bound has risen, and for as long as there is time once all else is done."""
        known = _of(known)
        if known.bound is None or known.raised == 0 or not known.exact:
            return False
        return known.tabled < known.raised or (not known.more and known.over)

    def run(self, known: Known, limit: Limit) -> None:
        """With the groups of the linear programs and those near the best multipliers."""
        known = _of(known)
        bound, params = known.bound, known.params
        assert bound is not None
        part = limit.share(params.tables)
        again, known.tabled = known.tabled == known.raised, known.raised
        known.seed += 1
        before = known._cost
        more = self._round(known, bound, part, params.patience) or known._cost < before
        if again and not limit.over and (limit.seconds is None or not more):
            known.ended = True

    @staticmethod
    def _round(known: GroupKnown, bound: CostBound, part: Limit, patience: int) -> bool:
        """Whether another one may find more from the same table: some program was not solved to the end."""
        params, session, more = known.params, known.session, False
        for with_near in (False, True):
            if part.over or known.settled:
                return True
            if with_near:
                below = params.near * known.gap / max(len(known.table()), 1)
                rows, _, _ = bound.near(below, params.near_columns, params.near_nodes, part.share(0.3))
                known.near = rows
            table, pool = known.table(), known.columns()
            better = Partitions(pool, table, bound.priced.costs, bound.priced.n, known.seed, session.parameters)
            reduced = pool.costs - bound.worth(pool.rows)
            # a better table has no group with a reduced cost above the gap
            cheap, whole = reduced <= known.gap, part.share(params.whole)
            best_of_pool = better.solve(cheap, session.adapter, session.options, whole)
            known.offer(better.table)
            if not best_of_pool:
                more = True
                half = part.share(0.5)
                better.improve(reduced, known.gap, session.adapter, session.options, half, patience, known.offer)
            assert known.best is not None
            _moved(known, known.best.group, part)  # type: ignore[attr-defined]
        return more


def _moved(known: GroupKnown, group: Ints, limit: Limit) -> Ints32:
    """Moves and exchanges of rows; the groups of the table found."""
    cost, params, least = known.groups.cost, known.get(VmdavParams), known.groups.least
    if not known.groups.problem.size_only:
        return known.table()
    if isinstance(cost, NumericCost) and cost.power == 2:
        group = improved(scaled(cost), group, least, params.passes, limit)
    elif isinstance(cost, BoxPenalty):
        group = improved_boxes(BoxCosts.of(cost, 2 * least), group, least, params.passes, limit)
    known.tracker.better(known.groups.table(group))
    return known.groups.parts(group, known.largest)


class AllGroups(_GroupPhase):
    """One program over all groups that a better table could have."""

    name, step, share, gain = "groups program", "solve", "tables", 0.5

    def applies(self, known: Known) -> bool:
        """Once there are no more cuts, where column generation has come to its end."""
        known = _of(known)
        ready = known.bound is not None and not known.more and known.tabled == known.raised
        return ready and not known.over and known.exact

    def run(self, known: Known, limit: Limit) -> None:
        """A table that loses less than the best one has groups with a reduced cost below the gap alone."""
        known = _of(known)
        known.over, bound, params, session = True, known.bound, known.params, known.session
        proof = known.get(GroupProofParameters)
        assert bound is not None
        if not bound.converged:
            return
        margin = MARGIN * bound.priced.n
        short = limit.share(0.5)
        if number_of_sets(known.groups) <= proof.groups:
            largest = known.largest
            every = [[*each, *[-1] * (largest - len(each))] for each in possible_groups(known.groups)]
            rows, complete = np.array(every, np.int32), True
        else:
            rows, _, complete = bound.near(known.gap + margin, params.all_columns, params.all_nodes, short, every=True)
        if not complete or len(rows) > params.all_groups:
            return
        parts = known.table()
        known.offer(parts)  # where the best table has larger groups, these cost less; what is forbidden costs the best
        pool = Pool.of(np.concatenate([rows, parts]), bound.priced.costs)
        held = {each.tobytes() for each in Pool.of(parts, bound.priced.costs).rows}
        table = np.flatnonzero([each.tobytes() in held for each in pool.rows])

        def cost_of(chosen: Ints) -> Fraction:
            return sum(
                (known.groups.cost.exact(each[each >= 0].astype(np.int64)) for each in pool.rows[chosen]), Fraction(0)
            )

        def solve(model: LinearModel, start: Floats) -> Answer:
            known.size = (model.variables, model.constraints)
            return solve_restricted(model, session.adapter, session.options, limit, start=start)

        assert bound.dual is not None
        costs = bound.priced.exact_costs(pool.rows)
        groups = Groups.at_dual(pool.rows, costs, bound.dual, cost_of, known.step)
        least, backed_by = least_cost(
            groups, known._cost, table, proof, limit, solve, lambda chosen: known.offer(pool.rows[chosen])
        )
        known.tracker.higher(min(least, known._cost), backed_by)
        known.ended = known.settled


PHASES: tuple[type[Phase], ...] = (FirstTables, GroupColumns, GroupDives, GroupTables, GroupCuts, AllGroups)


def solve_group_search(session: GroupSession) -> Result:
    """Tables and bounds by turns, until they meet or the time is over; 10 minutes where there is no limit."""
    limit = replace(session.limit, interrupt=session.interrupt or threading.Event())
    if session.options.time_limit is None:
        limit = replace(limit, ends=session.clock.began + session.parameters.of(HybridParams).seconds)
    nothing: Any = None
    known = GroupKnown(session, session.tracker, nothing, limit)  # type: ignore[arg-type]
    phases: Sequence[Phase] = [kind() for kind in PHASES]
    run_phases(known, phases)
    reason = "time_limit" if limit.over else "finished"
    dual = None if known.bound is None else known.bound.dual
    return session.finish(
        reason,
        "; ".join(known.notes),
        size=known.size,
        phases=tuple(known.log),
        dual=dual,
    )
