"""Texts: by prefix, by an order, by groups that somebody names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from kanon_milp.errors import InputError, counted
from kanon_milp.problem.arguments import integer, listed, wrong
from kanon_milp.problem.generalization.values import Row, Values

MASK, PAD = "*", "_"


def prefix_rows(values: Values, lengths: Any, missing: str) -> list[Row]:
    """Rows of `Hierarchy.prefixes`."""
    given = [lengths] if isinstance(lengths, int) else listed(lengths, "lengths", "[4, 2]")
    kept = [integer(length, "lengths: the characters that are kept") for length in given]
    longest = max(map(len, values.present), default=0)
    if not kept:
        raise InputError("lengths: name at least one, as in [4, 2]")
    for more, fewer in pairwise(kept):
        if fewer >= more:
            raise InputError(
                f"lengths: they must fall from level to level, and {fewer} follows {more}; a label must lie in one of "
                "the next level"
            )
    if kept[0] >= longest:
        raise InputError(
            f"{values.source}: the longest value has {counted(longest, 'character')}, so keeping {kept[0]} of them "
            "generalizes nothing; name fewer"
        )
    # padded, since otherwise a short value and the beginning of a long one would look alike
    padded = {value: value.ljust(longest, PAD) for value in sorted(values.present)}
    paths = {value: [each[:length] + MASK * (longest - length) for length in kept] for value, each in padded.items()}
    return values.rows(paths, missing, None)


def order_rows(values: Values, order: Any, sizes: Any, missing: str, other: str | None) -> list[Row]:
    """Rows of `Hierarchy.ordered`."""
    named = _texts(order, "order", "a list of all values, in their order")
    given = [sizes] if isinstance(sizes, int) else listed(sizes, "sizes", "[2, 6]")
    blocks = [integer(size, "sizes: the values in a group", least=2) for size in given]
    if not blocks:
        raise InputError("sizes: name at least one, as in [2, 6]")
    for few, many in pairwise(blocks):
        if many <= few or many % few:
            raise InputError(
                f"sizes: {many} is not a multiple of {few}, or not larger: groups of {many} would cut groups of {few} "
                "in two, and levels must nest"
            )
    place = {value: at for at, value in enumerate(named)}
    values.read(place.get, "in the order", other)
    paths = {value: [_span(named, at // size * size, size) for size in blocks] for value, at in place.items()}
    return values.rows(paths, missing, other)


def _span(order: list[str], start: int, size: int) -> str:
    block = order[start : start + size]
    return block[0] if len(block) == 1 else f"{block[0]} to {block[-1]}"


def group_rows(values: Values, groups: Any, missing: str, other: str | None) -> list[Row]:
    """Rows of `Hierarchy.groups`."""
    paths: dict[str, list[str]] = {}
    for value, labels in _leaves(groups, ()):
        if value in paths:
            raise InputError("groups: a value lies in two groups, and levels must nest")
        paths[value] = labels
    if len({len(labels) for labels in paths.values()}) != 1:
        raise InputError(
            "groups: the values lie at different depths, or there are none; each value needs a group at each level"
        )
    values.read(paths.get, "in a group", other)
    return values.rows(paths, missing, other)


def _leaves(groups: Any, above: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """Each value with the labels of its groups, the smallest first."""
    if isinstance(groups, Mapping):
        for label, inside in groups.items():
            if not isinstance(label, str) or not label:
                raise wrong("groups: the label of a group", "text", label)
            yield from _leaves(inside, (label, *above))
        return
    if not above:
        raise wrong("groups", "a mapping from labels to lists of values, or to such mappings,", groups)
    for value in _texts(groups, "groups: the values of a group", "a list of values"):
        yield value, list(above)


def _texts(given: Any, what: str, expected: str) -> list[str]:
    """Values as text: numbers may be given as such."""
    found = []
    for value in listed(given, what, expected):
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise wrong(f"{what}: a value", "text, or a number", value)
        found.append(str(value))
    if len(set(found)) < len(found) or not found:
        raise InputError(f"{what}: a value occurs twice, or there is none")
    return found
