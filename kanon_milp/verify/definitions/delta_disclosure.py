"""The verifier's definition of δ-disclosure privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.system.arrays import Flags
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.definitions import AtLeast, Definition, Rule, different, of_each, rows_by_value
from kanon_milp.verify.numbers import NEAR, exact, log_below
from kanon_milp.verify.tables import Original

LARGE = 10**6  # no logarithm of a ratio of numbers of rows comes near


def _rules(requirement: Any, table: Original) -> Sequence[Rule]:
    """|log(q/p)| < δ for each value of the table (Brickell, Shmatikov 2008), or of the group (absent "ignored")."""
    delta, log, absent = exact(requirement.delta, "delta"), requirement.log, requirement.absent
    if log not in ("natural", "base2") or absent not in ("violation", "ignored"):
        raise InputError("delta-disclosure: the logarithm, or the reading of absent values, is unknown to the verifier")

    def holds(counts: Counts) -> Flags:
        close = counts.every(_logs_below(counts, delta, log))
        return close if absent == "ignored" else close & (counts.distinct == len(counts.labels))

    return of_each("delta_disclosure", requirement, table, {"delta": delta, "log": log, "absent": absent}, holds)


def _logs_below(counts: Counts, delta: Fraction, log: str) -> Flags:
    """Per entry; floats decide where they are far from δ."""
    ratios = counts.changes
    logs = (np.log2 if log == "base2" else np.log)(ratios.floats())
    limit = float(min(delta, Fraction(LARGE)))
    below = np.asarray(logs < limit, dtype=bool)
    decided: dict[tuple[int, int], bool] = {}
    for entry in np.flatnonzero(np.abs(logs - limit) <= NEAR * (1 + limit)).tolist():
        pair = int(ratios.above[entry]), int(ratios.below[entry])
        if pair not in decided:
            decided[pair] = log_below(Fraction(*pair), delta, log)
        below[entry] = decided[pair]
    return below


def _least(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """Where an absent value is a violation, each must be there; the bounds on shares are not rational."""
    if requirement["absent"] != "violation":
        return AtLeast(1)
    return different(len(rows_by_value(requirement["sensitive"], table)), [requirement["sensitive"]], table)


DEFINITION = Definition(
    "DeltaDisclosure",
    "delta_disclosure",
    _rules,
    {"delta": "number", "log": ("natural", "base2"), "absent": ("violation", "ignored"), "sensitive": "column"},
    _least,
    term="delta-disclosure privacy",
)
