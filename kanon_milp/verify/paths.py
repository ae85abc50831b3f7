"""Whether generalization paths are a hierarchy, so that each released label can be read in one way only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kanon_milp.errors import InputError
from kanon_milp.problem.records import Label


def check_paths(paths: Mapping[Label, Sequence[Label]], where: str) -> None:
    """Raises InputError that says which rule is broken at which level; labels of the user's are not shown.

    where: beginning of the message, such as the column and the hierarchy.
    """
    if not paths:
        raise InputError(f"{where}: the hierarchy has no values")
    heights = {len(path) for path in paths.values()}
    if len(heights) > 1 or min(heights) < 2:
        raise InputError(f"{where}: every value needs the same number of levels, at least two")
    if any(path[0] != value for value, path in paths.items()):
        raise InputError(f"{where}: level 0 of a value must be the value itself")
    if len({path[-1] for path in paths.values()}) > 1:
        raise InputError(f"{where}: the values have no common top: the last level must be one label for all")
    top = next(iter(paths.values()))[-1]
    named: dict[Label, dict[int, set[Label]]] = defaultdict(lambda: defaultdict(set))
    parents: dict[tuple[int, Label], Label] = {}
    for value, path in paths.items():
        for level, label in enumerate(path[:-1]):
            if label == top:
                raise InputError(f"{where}: the label of the top stands in level {level} too")
            if level and label is None:
                raise InputError(f"{where}: a label of level {level} is missing")
            if parents.setdefault((level, label), path[level + 1]) != path[level + 1]:
                raise InputError(
                    f"{where}: levels are not nested: a label of level {level} lies in two of level {level + 1}"
                )
            named[label][level].add(value)
    for by_level in named.values():
        (first, values), *others = by_level.items()
        for level, more in others:
            if more != values:
                raise InputError(
                    f"{where}: a label names different values in level {first} and level {level}, so a released cell "
                    "could be read in two ways; rename one of them"
                )
