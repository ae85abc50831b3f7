"""Whether generalization paths are a hierarchy, and how the same label on two levels is told apart."""

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
    parents: dict[tuple[int, Label], Label] = {}
    for path in paths.values():
        for level, label in enumerate(path[:-1]):
            if label == top:
                raise InputError(f"{where}: the label of the top stands in level {level} too")
            if level and label is None:
                raise InputError(f"{where}: a label of level {level} is missing")
            if parents.setdefault((level, label), path[level + 1]) != path[level + 1]:
                raise InputError(
                    f"{where}: levels are not nested: a label of level {level} lies in two of level {level + 1}"
                )


def told_apart(paths: Mapping[Label, Sequence[Label]]) -> dict[Label, tuple[Label, ...]]:
    """The paths with labels that each stand for one set of values: where a label stands for other values than at the
    lowest of its levels, ` (level h)` is added, h being the first level at which it stands for these; again and again
    until no label of the hierarchy, and none that was renamed before, reads so. Levels are gone through from below, the
    labels of a level in the order of their characters."""
    height = len(next(iter(paths.values()))) - 1
    below: list[dict[Label, set[Label]]] = [defaultdict(set) for _ in range(height)]
    for value, path in paths.items():
        for level in range(height):
            below[level][path[level]].add(value)
    used = {label for each in below for label in each}
    texts: dict[Label, list[tuple[set[Label], str]]] = defaultdict(list)  # of renamed labels: values, and the text
    lowest: dict[Label, set[Label]] = {}
    renamed: dict[tuple[int, Label], str] = {}
    for level in range(height):
        for label in sorted(each for each in below[level] if each is not None):
            values = below[level][label]
            if lowest.setdefault(label, values) == values:
                continue
            text = next((text for same, text in texts[label] if same == values), None)
            if text is None:
                ending = f" (level {level})"
                text = label + ending
                while text in used:
                    text = text + ending
                used.add(text)
                texts[label].append((values, text))
            renamed[level, label] = text
    return {
        value: (*(renamed.get((level, label), label) for level, label in enumerate(path[:-1])), path[-1])
        for value, path in paths.items()
    }
