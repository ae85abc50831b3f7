"""How many random examples a test draws: few in the default run, all with HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def examples(thorough: int, default: int) -> int:
    """Numbers of examples; the default is for what other tests draw as well, from the same generator."""
    return thorough if THOROUGH else default
