"""Columns of which a released table keeps nothing, and what would keep more of them."""

from __future__ import annotations

import re
from itertools import islice

from kanon_milp.methods.result import Result
from kanon_milp.problem.column_text import as_text
from kanon_milp.problem.hierarchies import Hierarchy
from kanon_milp.studies.inspected_columns import column_of
from kanon_milp.studies.proposal import coarse_levels

CUT_SHORT = frozenset({"time_limit", "interrupted", "node_limit", "iteration_limit", "gap_limit"})
DECADE, YEAR = re.compile(r"\d{4}s"), re.compile(r"\d{4}")
MOST_OPTIONS = 2
MOST_VALUES = 20_000  # of a column that is looked through for a hint


def suppressed_everywhere(result: Result) -> str:
    """One line that names the columns which are suppressed in every row, and the way out; empty where none is."""
    names = result.suppressed_columns
    if not names:
        return ""
    ways = ["more time"] if not result.is_optimal and result.stop_reason in CUT_SHORT else []
    if result.problem.recoding.mask is not None:
        ways.append("other patterns")
    else:
        options = list(islice(filter(None, (_option(result, name) for name in names)), MOST_OPTIONS))
        without = [name for name in names if name not in result.problem.recoding.hierarchies]
        ways += options or (["--hierarchies"] if without else ["a higher --weight"])
    return f"{', '.join(names)} ({result.problem.table.symbol} in every row); {' or '.join(ways)} may keep more"


def _option(result: Result, name: str) -> str:
    """What gives the column coarser levels than it has; empty where that is for its owner to say."""
    table, hierarchy = result.problem.table, result.problem.recoding.hierarchies.get(name)
    if table.column(name).n_unique() > MOST_VALUES:
        return ""
    column = column_of(as_text(table.frame, [name], table.source)[name].alias(""), name, table.roles)
    option, between = coarse_levels(column), set() if hierarchy is None else _coarsest(hierarchy)
    shape = DECADE if option.endswith("decade") else YEAR
    of_dates = column.kind in ("date", "timestamp") and not any(shape.fullmatch(label or "") for label in between)
    return option if not between or of_dates else ""


def _coarsest(hierarchy: Hierarchy) -> set[str | None]:
    """The labels below the top, where there are levels between it and the values."""
    return {path[-2] for path in hierarchy.paths.values() if len(path) > 2}
