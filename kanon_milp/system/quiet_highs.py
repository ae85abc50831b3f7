"""HiGHS that prints nothing of its own accord."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any


def new_highs() -> Any:
    """A `highspy.Highs` with its output switched off.

    From HiGHS 1.16 on the first object of a process prints HiGHS's name and licence to standard output, before anybody
    can ask it not to: results written there would begin with them. Where this one is the first, they are printed
    nowhere. Raises ImportError where there is no highspy.
    """
    highs = _quiet(importlib.import_module("highspy"))()
    highs.setOptionValue("output_flag", False)
    return highs


@functools.cache
def _quiet(highspy: ModuleType) -> type[Any]:
    plain: Any = highspy.Highs

    def enable_callbacks(self: Any) -> None:  # the constructor calls it, and it is what prints
        self.setOptionValue("log_to_console", False)
        plain.enableCallbacks(self)

    return type("QuietHighs", (plain,), {"enableCallbacks": enable_callbacks})
