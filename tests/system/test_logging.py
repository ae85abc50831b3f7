"""What is logged: phases, sizes, the end, and no cell; nothing where nobody asks."""

from __future__ import annotations

import logging

import polars as pl
import pytest
from command_line import python

import kanon_milp as km

SCRIPT = """
import logging
{setting}
import polars as pl
import kanon_milp as km
frame = pl.DataFrame({{"a": ["x", "x", "y", "y"], "b": ["1", "2", "1", "2"]}})
km.solve(km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(2)), method="milp")
"""


def said(setting: str) -> str:
    done = python("-c", SCRIPT.format(setting=setting))
    return done.stdout + done.stderr


@pytest.mark.processes
def test_a_debug_log_has_our_phases_and_no_model_of_pyomo() -> None:
    text = said("logging.basicConfig(level=logging.DEBUG)")
    assert "INFO:kanon_milp.system.clock:candidates begins" in text
    assert "name=assign" not in text


@pytest.mark.processes
def test_pyomo_keeps_a_level_that_somebody_has_set() -> None:
    text = said("logging.basicConfig(level=logging.DEBUG); logging.getLogger('pyomo').setLevel(logging.DEBUG)")
    assert "DEBUG:pyomo" in text


def test_the_loggers_of_others_stay_as_they_were() -> None:
    """Nothing is said by default; neither the import nor a solve leaves a level, a handler or a filter on a logger
    that is not ours."""
    script = (
        "import logging, pyomo.environ\n"
        "def state():\n"
        "    return {name: (each.level, each.handlers[:], each.filters[:], each.propagate, each.disabled)\n"
        "            for name, each in logging.root.manager.loggerDict.items()\n"
        "            if isinstance(each, logging.Logger) and not name.startswith('kanon_milp')}\n"
        "before = state()\n"
        f"{SCRIPT.format(setting='')}\n"
        "after = state()\n"
        "print([name for name in before if before[name] != after[name]], logging.getLogger('pyomo').level)\n"
    )
    done = python("-c", script)
    assert (done.stdout, done.stderr) == ("[] 0\n", "")


def test_phases_sizes_and_the_end(caplog: pytest.LogCaptureFixture) -> None:
    frame = pl.DataFrame({"name": ["secretive", "secretive", "discreet", "discreet"], "b": ["1", "2", "1", "2"]})
    problem = km.Problem(km.Table.from_frame(frame, ["name", "b"]), km.KAnonymity(2))
    with caplog.at_level(logging.DEBUG, "kanon_milp"):
        result = km.solve(problem, method="search", iteration_limit=1)
    messages = [record.getMessage() for record in caplog.records if record.name.startswith("kanon_milp")]
    assert any(message.startswith("compress: ") for message in messages)
    assert any("row types" in message and "method search" in message for message in messages)
    assert result.summary() == messages[-1]
    assert any("table 4.0" in message for message in messages)
    assert not any(word in caplog.text for word in ("secretive", "discreet"))
