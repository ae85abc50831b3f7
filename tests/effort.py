"""How many random examples a test draws: few in the default run, all with HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def examples(thorough: int, default: int) -> int:
    """Numbers of examples; the default is for what other tests draw as well, from the same generator."""
    return thorough if THOROUGH else default


def seeds(every: int, default: int) -> pytest.MarkDecorator:
    """A test of so many seeds, of which the default run has the first ones, the full one all."""
    return pytest.mark.parametrize(
        "seed", [pytest.param(seed, marks=() if seed < default else pytest.mark.full) for seed in range(every)]
    )


def some(names: str, values: Iterable[Any], one_in: int = 3, **more: Any) -> pytest.MarkDecorator:
    """A test of these parameters, of which the default run has the first and then one in so many, the full one all."""
    several = "," in names
    return pytest.mark.parametrize(
        names,
        [
            pytest.param(*(value if several else [value]), marks=pytest.mark.full if number % one_in else ())
            for number, value in enumerate(values)
        ],
        **more,
    )
