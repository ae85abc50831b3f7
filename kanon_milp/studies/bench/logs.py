"""What the log of a solver says of its search: nodes, and the bound and the time of the root."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"


@dataclass(frozen=True)
class Search:
    """nodes: explored. root_bound: when the first node was done, in the objective that the log is about; root_seconds:
    how long that took. None for what the log does not say."""

    nodes: int | None = None
    root_bound: float | None = None
    root_seconds: float | None = None


@dataclass(frozen=True)
class _Log:
    """line: of the table of progress, with the groups node, bound and seconds. nodes, bound: at the end. root: nodes up
    to which a line is about the root."""

    line: re.Pattern[str]
    nodes: re.Pattern[str]
    bound: re.Pattern[str]
    root: int
    without_offset: bool = False


_LOGS = {
    "highs": _Log(
        re.compile(rf"^.{{2}}\s*(?P<node>\d+)\s+\d+\s+\d+\s+[\d.]+%\s+(?P<bound>\S+)\s.*\s(?P<seconds>{_NUMBER})s\s*$"),
        re.compile(r"^  Nodes\s+(\d+)"),
        re.compile(r"^  Dual bound\s+(\S+)"),
        root=1,
    ),
    "scip": _Log(
        re.compile(
            rf"^.?\s*(?P<seconds>{_NUMBER})s\|\s*(?P<node>\d+)\s*\|(?:[^|]*\|){{12}}\s*(?P<bound>[^|\s]+)\s*\|[^|]*\|[^|]*\|"
        ),
        re.compile(r"^\s*Solving Nodes\s*:\s*(\d+)"),
        re.compile(r"^\s*Dual Bound\s*:\s*(\S+)"),
        root=1,
    ),
    "cbc": _Log(
        re.compile(
            rf"Cbc0010I After (?P<node>\d+) nodes.*best possible (?P<bound>{_NUMBER}) \((?P<seconds>{_NUMBER}) sec"
        ),
        re.compile(r"^Enumerated nodes:\s+(\d+)"),
        re.compile(rf"^(?:Lower bound|Objective value):\s+({_NUMBER})"),
        root=0,
        without_offset=True,
    ),
}
LOGGED = tuple(_LOGS)


def read_search(solver: str, lines: Iterator[str], offset: float) -> Search:
    """What a log says. solver: by its name in this package; nothing is known of the logs of others. offset: the
    constant of the objective, which the logs of some solvers leave out.

    The bound of the root is the one in the last line of the table in which no node but the root is counted; where the
    log ends with the root, the bound at the end.
    """
    if (log := _LOGS.get(solver)) is None:
        return Search()
    nodes = root_bound = root_seconds = end = None
    for line in lines:
        if (found := log.line.search(line)) and int(found["node"]) <= log.root:
            root_bound, root_seconds = _finite(found["bound"]), float(found["seconds"])
        elif said := log.nodes.search(line):
            nodes = int(said[1])
        elif (said := log.bound.search(line)) and end is None:
            end = _finite(said[1])
    if nodes is not None and nodes <= 1 and end is not None:
        root_bound = end
    if root_bound is not None and log.without_offset:
        root_bound += offset
    return Search(nodes, root_bound, root_seconds)


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e20 else None
