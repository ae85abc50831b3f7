"""What the log of a solver says of its search: nodes, and the bound and the time of the root. Each adapter says how its
log is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"


@dataclass(frozen=True)
class Search:
    """nodes: explored. root_bound: when the first node was done, in the objective that the log is about; root_seconds:
    how long that took. None for what the log does not say."""

    nodes: int | None = None
    root_bound: float | None = None
    root_seconds: float | None = None


@dataclass(frozen=True)
class SearchLog:
    """line: of the table of progress, with the groups node, bound and seconds. nodes, bound: at the end, the number as
    the last group; with a group value it is that of the best point, which is the bound where no other is named. root:
    nodes up to which a line is about the root. without_offset: whether the log leaves out the constant of the
    objective."""

    line: re.Pattern[str]
    nodes: re.Pattern[str]
    bound: re.Pattern[str]
    root: int
    without_offset: bool = False

    def read(self, lines: Iterator[str], offset: float) -> Search:
        """What a log says. offset: the constant of the objective.

        The bound of the root is the one in the last line of the table in which no node but the root is counted; where
        the log ends with the root, the bound at the end.
        """
        nodes = root_bound = root_seconds = end = value = None
        for line in lines:
            if (found := self.line.search(line)) and int(found["node"]) <= self.root:
                root_bound, root_seconds = _finite(found["bound"]), float(found["seconds"])
            elif said := self.nodes.search(line):
                nodes = int(said[1])
            elif said := self.bound.search(line):
                number = _finite(said[self.bound.groups])
                if said.groupdict().get("value") is not None:
                    value = number if value is None else value
                elif end is None:
                    end = number
        end = value if end is None else end
        if nodes is not None and nodes <= 1 and end is not None:
            root_bound = end
        if root_bound is not None and self.without_offset:
            root_bound += offset
        return Search(nodes, root_bound, root_seconds)


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e20 else None
