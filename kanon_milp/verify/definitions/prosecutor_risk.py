"""The verifier's definition of prosecutor risk, and the thresholds that guidelines name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.verify.definitions import AtLeast, Definition, Rule, SizeRule
from kanon_milp.verify.numbers import exact
from kanon_milp.verify.tables import Original

THRESHOLDS = {"ema": "0.09", "health-canada": "0.09", "cms": "1/11"}


def threshold(given: Any, what: str) -> Fraction:
    """A risk above 0 and at most 1, or the one that a guideline names."""
    risk = exact(THRESHOLDS[given] if isinstance(given, str) and given in THRESHOLDS else given, what)
    if not 0 < risk <= 1:
        raise InputError(f"{what} must be above 0 and at most 1, found {risk}")
    return risk


def _rules(requirement: Any, table: Original) -> Sequence[Rule]:
    """1/|group| at most r: at least 1/r rows, or units."""
    return [SizeRule(math.ceil(1 / threshold(requirement.risk, "risk")), unit=next(iter(table.units), None))]


def _least(requirement: Mapping[str, Any], _table: Original) -> AtLeast:
    return AtLeast(math.ceil(1 / threshold(requirement["risk"], "risk")))


DEFINITION = Definition(
    "ProsecutorRisk",
    "prosecutor_risk",
    _rules,
    {"risk": "number", "preset": tuple(THRESHOLDS)},
    _least,
    optional=("preset",),
    exempts=True,
    term="prosecutor risk",
)
