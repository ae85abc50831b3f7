"""How many random examples a test draws: few in the default run, all with HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os

import pytest

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def examples(thorough: int, default: int) -> int:
    """Numbers of examples; the default is for what other tests draw as well, from the same generator."""
    return thorough if THOROUGH else default


def seeds(every: int, default: int) -> pytest.MarkDecorator:
    """A test of so many seeds, of which the default run has the first ones, the full one all."""
    others = [pytest.param(seed, marks=pytest.mark.full) for seed in range(default, every)]
    return pytest.mark.parametrize("seed", [*range(default), *others])
