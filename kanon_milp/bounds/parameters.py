"""The numbers that bounds go by: their meaning, their unit, and what they were tuned on.

No tolerance or scale that a proof needs is among them, nor what compiled functions have in them.
"""

from __future__ import annotations

from dataclasses import dataclass

from kanon_milp.system.parameters import number, parameters


@parameters("lagrangian")
@dataclass(frozen=True)
class LagrangianParameters:
    """The volume algorithm. Tuned on samples of Adult and all of it, k from 2 to 25."""

    fast_iterations: int = number(100, "iterations that go for a fast rise; the others go for accuracy")
    fast_weight: float = number(0.4, "weight of the newest point in the averages of the first iterations, at most")
    accurate_weight: float = number(0.1, "weight of the newest point in the averages of the later iterations, at most")
    fast_patience: int = number(5, "first iterations without a rise that make the step shorter")
    accurate_patience: int = number(10, "later iterations without a rise that make the step shorter")
    fast_shorter: float = number(0.66, "times as long is the step then, in the first iterations")
    accurate_shorter: float = number(0.8, "times as long is the step then, in the later iterations")
    far_iterations: int = number(200, "first iterations where shares of values are limited: sizes alone begin far away")
    far_weight: float = number(0.6, "weight of the newest point in these")
    least_weight: float = number(1e-4, "of the newest point in the averages")
    step: float = number(0.1, "first fraction of the way to the target")
    longer: float = number(1.1, "times as long is the step after a rise in the direction of the last iterations")
    longest: float = number(2.0, "fraction of the way to the target, at most")
    restart_shorter: float = number(4, "times shorter is the first step of each beginning where steps cancel at once")
    shortest: float = number(1e-4, "fraction of the way to the target, at least")
    round_length: int = number(100, "iterations between two looks at the progress", least=1)
    slow: float = number(1e-4, "relative rise in a round below which the newest points weigh half as much")
    stalled: float = number(2e-6, "relative rise in a round that is not worth it")
    sort_every: int = number(50, "iterations between two sortings of the covers by multiplier", least=1)
    first_target: float = number(1.05, "times the bound, where no target is given")
    packing_cuts: int = number(300, "packing cuts that are added in a round, at most")
    refined: float = number(0.15, "of the time, for the last search for charges")


@parameters("pricing")
@dataclass(frozen=True)
class PricingParameters:
    """The Lagrangian bound over candidates that are priced. Tuned on all of Adult with hierarchies, k = 5. A cell: what
    a suppressed one costs on average."""

    open_limit: float = number(1.0, "cells, φ of the candidates that are near, at first")
    pair_limit: float = number(1.5, "cells, reduced cost of their pairs, at first")
    least_open: float = number(0.3, "cells, that φ at least")
    least_pair: float = number(0.5, "cells, that reduced cost at least")
    most_limit: float = number(2.5, "cells, both at most")
    box: float = number(0.3, "cells that a multiplier moves by in a round, at most", least=1e-6)
    fast_iterations: int = number(100, "of the volume algorithm that go for a fast rise; the others go for accuracy")
    first_rounds: int = number(4, "first rounds of pricing, whose bound is to rise fast")
    first_iterations: int = number(66, "of the volume algorithm in each of the first rounds", least=1)
    iterations: int = number(200, "of the volume algorithm in each round after the first ones", least=1)
    shortest: float = number(0.04, "part of a step that does not rise, at least", least=1e-6)
    lossy: float = number(0.2, "of a rise may be lost to candidates that are not near; else more are")
    lossless: float = number(0.05, "of a rise that is lost, below which fewer are near")
    wider: float = number(1.2, "times as much is near then", least=1)
    narrower: float = number(0.82, "times as much is near then", most=1)
    stalled: float = number(2e-4, "relative rise of a round that is not worth it")
    patience: int = number(2, "such rounds one after the other, after which it is left", least=1)
    cut_rounds: int = number(2, "of rank-1 cuts between two looks at all candidates", least=1)
    stalled_cuts: float = number(2e-5, "relative rise in a round of cuts that is not worth it")


@parameters("valued_pricing")
@dataclass(frozen=True)
class ValuedPricingParameters(PricingParameters):
    """The same under requirements about values, where groups take rows that cost more than they are worth by
    themselves. Tuned on all of Adult with hierarchies, seven columns, k = 5, l = 3 on occupation."""

    pair_limit: float = number(3.0, "cells, reduced cost of their pairs, at first")
    least_open: float = number(1.0, "cells, that φ at least")
    least_pair: float = number(3.0, "cells, that reduced cost at least")
    most_limit: float = number(4.0, "cells, both at most")
    box: float = number(0.5, "cells that a multiplier moves by in a round, at most", least=1e-6)
    fast_iterations: int = number(600, "of the volume algorithm that go for a fast rise; the others go for accuracy")
    iterations: int = number(66, "of the volume algorithm in each round after the first ones", least=1)


@parameters("closure_pricing")
@dataclass(frozen=True)
class ClosurePricingParameters:
    """Candidates that are priced by sets of rows, where level vectors are too many. Tuned on 1,000 rows of 20 to 40
    binary columns of Adult."""

    sets: int = number(
        2_000_000, "sets of rows that are looked at to price all of them; beyond, multipliers are given up", least=1
    )
    pairs: int = number(3_000_000, "(row type, candidate) pairs that are listed", least=1)
    narrower: float = number(2.0, "times fewer cells are near where these are too many", least=1.01)
    narrowest: float = number(0.05, "times the cells that were asked for, at least", least=1e-6)


@parameters("packing_cuts")
@dataclass(frozen=True)
class PackingParameters:
    """The search for violated packing cuts. Tuned on samples of Adult and all of it, k from 2 to 25."""

    least_share: float = number(1e-3, "of a candidate; one with less is not counted", most=1)
    least_excess: float = number(0.05, "what a cut must be violated by to be worth it")
    widest: int = number(50, "row types of a set, at most; those of Adult that help have 2 to 15")


@parameters("subproblems")
@dataclass(frozen=True)
class SubproblemParameters:
    """The effort for the cheapest group of a candidate."""

    divided: int = number(200_000, "pairs from which on candidates are divided into four parts, for threads")
    tries: int = number(200, "sizes of a group that are tried for one candidate")
    exact_tries: int = number(400, "sizes of a group that are tried for one candidate in a proof")
    tried: int = number(20_000, "rows that are tried for the small groups of one candidate; 0: none are looked at")
    exact_tried: int = number(200_000, "rows that are tried for the small groups of one candidate in a proof")
    first_charge: float = number(0.5, "charge of EMD cost that the search for one begins with where it is 0")
    nodes: int = number(100_000, "of the search for a group with rank-1 cuts; beyond, a proof leaves them out there")


@parameters("separation")
@dataclass(frozen=True)
class SeparationParameters:
    """The search for violated rank-1 cuts."""

    widest: int = number(9, "row types of a cut, at most", least=3)
    least_violation: float = number(0.03, "violation of a cut that is taken, at least")
    nearly: float = number(-0.15, "violation of triples that are seeds of larger sets", least=-1)
    seeds: int = number(400, "triples that larger cuts are grown from")
    strongest: int = number(4, "one in so many seeds is one of the most violated, where the others are drawn", least=1)
    touching: int = number(6, "new cuts of a round that a row type is part of, at most")
    at_once: int = number(200, "row types whose triples are found, or seeds, between two looks at the clock", least=1)


@parameters("relax_and_cut")
@dataclass(frozen=True)
class RelaxAndCutParameters:
    """Rank-1 cuts without a master problem. Tuned on Adult, k = 5 and 10, all of it and its first 500 to 5,000 rows."""

    nodes: int = number(20_000, "of the search for one group")
    first_steps: int = number(8, "before the first cuts")
    steps: int = number(6, "in a round, before new cuts")
    longest: float = number(0.04, "step, in the highest cost of a row: of multipliers, for one row too many")
    shortest: float = number(0.006, "step, in the highest cost of a row, at least")
    longer: float = number(1.2, "times as long is the step after one that has kept what it promised")
    shorter: float = number(0.7, "times as long is the step after some that are no better")
    kept: float = number(0.3, "share of the promised rise that a step must keep to be followed by a longer one")
    patience: int = number(3, "steps that are no better")
    unused: int = number(15, "steps after which a group that is not used is left out")
    used: float = number(1e-3, "share of a group that cuts are looked for at")
    slack: float = number(0.02, "of a cut that stays without a multiplier")
    added: float = number(0.6, "rank-1 cuts a round, for each row type")
    seeds_share: float = number(0.1, "sets that wide cuts are grown from in a round, for each row type", most=1)
    risen: float = number(1e-3, "units that a round without new cuts must have brought to be followed by another one")
    look_back: int = number(6, "rounds that must close a share of the gap to go on", least=1)
    stalled: float = number(0.005, "share of the gap that these rounds must close to go on")
    low: float = number(0.04, "of the highest cost of a row: reduced costs of unused groups that are low")


@parameters("column_generation")
@dataclass(frozen=True)
class ColumnParameters:
    """The master problem. Tuned on the first 500 rows of Adult, k = 5: from 1,329.9 to 1,335.6 in a minute."""

    nodes: int = number(200_000, "of the search for one group")
    near_enough: float = number(0.3, "reduced cost, in units, up to which cheapest groups are among the first columns")
    smooth: float = number(0.7, "share of the best point in the prices, at first", most=1)
    patience: int = number(3, "rounds after which a cut goes whose multiplier was 0 in all of them")
    near: float = number(0.02, "units between the two bounds of the master that are good enough")
    reach: float = number(0.15, "how far multipliers may go from the best ones at a time, in highest unit costs")
    interior: bool = number(
        False,
        "whether by an interior point method: between 10 and 20 linear programs instead of hundreds where many "
        "groups are as good (Tarragona, k = 5); each begins from nothing",
    )
    tolerance: float = number(1e-5, "relative tolerance of the interior point method", least=1e-9)
    farthest: float = number(
        100.0,
        "highest costs of a row that multipliers may move, beyond which it gives up: groups cannot place the rows",
    )


@parameters("group_pricing")
@dataclass(frozen=True)
class GroupPricingParameters:
    """Pricing of groups whose cost depends on all of their rows. Tuned on Tarragona and Census, k = 3, 4, 5, 10."""

    few_nodes: int = number(300, "of the search for one seed, at first", least=1)
    more: int = number(10, "times as many where it was not complete", least=2)
    nodes: int = number(300_000, "of the search for one seed, at most", least=1)
    columns: int = number(3, "of a seed", least=1)
    share: float = number(0.3, "of the least reduced cost of a seed, that its other columns have at least", most=1)
    enough: float = number(0.02, "columns for each row, with which pricing ends though searches are not complete")


@parameters("group_bound")
@dataclass(frozen=True)
class GroupBoundParameters:
    """The bound on costs of whole groups. Tuned on Tarragona and Census, k = 3, 4, 5, 10."""

    near: float = number(2e-5, "of what a table loses, that the two bounds of the master problem may differ by")
    tolerance: float = number(1e-5, "of the interior point method, relative", least=1e-9)
    reach: float = number(1.0, "how far multipliers may go from the best ones at a time, in what a row loses")
    added: float = number(0.2, "rank-1 cuts a round, for each row")
    stalled: float = number(0.02, "of the gap that rounds of cuts must close to be followed by others")
    nodes: int = number(300_000, "of the search for one seed in a proof, at most", least=1)


@parameters("group_proof")
@dataclass(frozen=True)
class GroupProofParameters:
    """The exact proof that no table loses less. Tuned on tables of 8 to 20 rows, and of Tarragona and Census, k = 2."""

    groups: int = number(20_000, "up to which they are gone through one by one")
    nodes: int = number(5_000, "of the search for that, at most")
    share: float = number(0.3, "of the time left for it, at most", most=1)
    tables: int = number(30, "tables that are compared with the best one, at most, before a solver's word ends it")


@parameters("cut_rounds")
@dataclass(frozen=True)
class RoundParameters:
    """Rounds of column generation and rank-1 cuts; careful ones under requirements. Tuned as the master problem."""

    added: float = number(0.3, "rank-1 cuts a round, for each row type")
    fewest: int = number(150, "rank-1 cuts a round, at least")
    inertia: float = number(0.5, "of the average point that violated cuts are looked for at", most=1)
    look_back: int = number(6, "rounds that must close a share of the gap to go on", least=1)
    look_back_carefully: int = number(10, "careful rounds that must close a share of the gap to go on", least=1)
    stalled: float = number(0.01, "share of the gap that these rounds must close to go on")
    first: int = number(25, "cuts of the first careful round")
    fewest_carefully: int = number(10, "cuts of a careful round, at least")
    shortest: float = number(8.0, "seconds of a careful round, at most")
    longer: float = number(3.0, "times what the longest good one has taken may a careful round take, at most")
    first_growth: float = number(2.0, "times as many cuts come after a good round")
    growth: float = number(1.3, "times as many cuts come after a good round, once there was one that was not good")
    least_rise: float = number(1e-3, "units that a good round raises the bound by")
    near: float = number(0.2, "or has it away from the value of the linear program, at most")
    pace: int = number(3, "rounds that tell how fast the bound rises", least=1)
    converged: float = number(2e-3, "part of its value that a linear program may be away from that over all groups")


@parameters("branch_and_bound")
@dataclass(frozen=True)
class BranchParameters:
    """Branch and bound with rank-1 cuts, and what to branch on. Tuned on the first 300 to 1,000 rows of Adult."""

    added: int = number(150, "rank-1 cuts in a round of a node")
    added_carefully: int = number(
        40, "rank-1 cuts in a round of a node under requirements, where more make groups hard to find"
    )
    near: float = number(0.05, "units between the two bounds of a node's master problem that are good enough")
    rounds: int = number(2, "of rank-1 cuts in a node")
    rise: float = number(0.05, "units that a round must raise the bound by for another one")
    shortest: float = number(1.0, "seconds for a careful round, at most")
    longer: float = number(2.0, "times what the node has taken before it may a careful round take, at most")
    stalled: int = number(3, "branches that do not raise the bound, after which a point is likely to be near a table")
    stalled_rise: float = number(0.02, "units that the bound must rise for a branch to count as one that raises it")
    stalled_pairs: int = number(2_500, "pairs of a node that the solver is given then, at most")
    smaller: float = number(0.7, "of the pairs of a node that the solver has not solved has one that it tries again")
    integral: float = number(0.05, "shares so near 0 or 1 are not branched on", most=0.5)
    first: int = number(20, "pairs that are tried to branch on")
    first_iterations: int = number(80, "iterations of the simplex method for each side of a pair that is tried")
    second: int = number(8, "best of the tried pairs that are tried again")
    second_iterations: int = number(300, "of the simplex method for a side then")
    remembered: int = number(8, "pairs that were good before, which are tried again")
    least_rise: float = number(5e-3, "units that count in the product even where a side does not rise")
    clear: float = number(0.1, "units above what closes a side that count")


@parameters("fixing")
@dataclass(frozen=True)
class FixingParameters:
    """The effort for reduced-cost fixing."""

    searched: int = number(500_000, "pairs up to which groups with cuts are searched pair by pair; beyond, φ decides")
    nodes: int = number(20_000, "of the search for a group with a row; beyond it the pair stays")
    steps: int = number(400_000_000, "of all these searches, some seconds; pairs that come later stay")
    looked_at: int = number(20_000_000, "row types in the covers of pairs that are looked at under requirements")
    at_once: int = number(1_000_000, "row types that are looked at between two looks at the clock", least=1)


@parameters("matching_program")
@dataclass(frozen=True)
class MatchingParameters:
    """The linear program of simplex matching, its cuts, and points of it that are nearly integral. Tuned on Adult."""

    first_pairs: float = number(0.4, "reduced cost, in mean losses of a row, of the first pairs")
    first_triples: float = number(-0.01, "reduced cost, in mean losses of a row, of the first triples", least=-10)
    reach: float = number(1.0, "how far multipliers may rise above the first ones, in mean losses of a row")
    each: int = number(20, "groups that are priced for the same first row of a candidate", least=1)
    most_first: int = number(1_500_000, "groups near the first multipliers, at most")
    most_priced: int = number(3_000_000, "groups that are priced at a time, at most")
    touching: int = number(4, "new odd sets of a round that a row type is part of, at most")
    few_types: int = number(400, "cuts on a few row types in a round")
    steep: float = number(50.0, "times the random costs is a reduced cost of a mean loss of a row")
    triple: float = number(1.0, "random cost of a triple above that of a pair")
    rounds: int = number(12, "of cuts for a nearly integral point", least=1)
    few_cuts: int = number(12, "in such a round: not worth another one")
