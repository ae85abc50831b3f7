"""Thresholds of risks: those that guidelines name, and exact ones."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from kanon_milp.errors import InputError
from kanon_milp.problem.exact import exact_parameter


class Preset(NamedTuple):
    """A threshold that a guideline names, and the guideline."""

    risk: Fraction
    source: str


PRESETS = {
    "ema": Preset(Fraction(9, 100), "0.09, guidance on EMA Policy 0070 (EMA/90915/2016)"),
    "health-canada": Preset(Fraction(9, 100), "0.09, Health Canada, Public Release of Clinical Information"),
    "cms": Preset(Fraction(1, 11), "no cell of 1 to 10, CMS cell size suppression policy (ResDAC, version 01/26/2024)"),
}


def threshold(value: object, what: str) -> Fraction:
    """A risk above 0 and at most 1, exactly, or the one of a preset. Raises InputError for others."""
    if isinstance(value, str) and value in PRESETS:
        return PRESETS[value].risk
    if isinstance(value, str) and value.strip()[:1].isalpha():
        raise InputError(f"{what}: no such threshold; there are {', '.join(PRESETS)}, and numbers such as 0.09 or 1/11")
    risk = exact_parameter(value, what)
    if not 0 < risk <= 1:
        raise InputError(f"{what} must be above 0 and at most 1, found {risk}")
    return risk
