"""Ground distances of t-closeness: one file each, one line each in `SIMPLE` or `FROM_FILE`, and in `BUILT_IN`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kanon_milp.errors import InputError, kind_of, nearest
from kanon_milp.problem.distances.base import GroundDistance, Space, Tree
from kanon_milp.problem.distances.built_in import (
    EqualDistance,
    HierarchicalDistance,
    MatrixDistance,
    NumericDistance,
    OrderedDistance,
)

SIMPLE: dict[str, Callable[[], GroundDistance]] = {
    "equal": EqualDistance,
    "ordered": OrderedDistance,
    "numeric": NumericDistance,
}
FROM_FILE: dict[str, type[OrderedDistance | HierarchicalDistance | MatrixDistance]] = {
    "order": OrderedDistance,
    "hierarchy": HierarchicalDistance,
    "matrix": MatrixDistance,
}
BUILT_IN: frozenset[type[GroundDistance]] = frozenset(
    {EqualDistance, OrderedDistance, NumericDistance, HierarchicalDistance, MatrixDistance}
)

__all__ = [
    "BUILT_IN",
    "EqualDistance",
    "GroundDistance",
    "HierarchicalDistance",
    "MatrixDistance",
    "NumericDistance",
    "OrderedDistance",
    "Space",
    "Tree",
    "ground_distance",
]


def ground_distance(
    spec: str | GroundDistance, folder: Path | None = None, encoding: str | None = None
) -> GroundDistance:
    """A ground distance by name: equal, ordered, numeric, order:FILE, hierarchy:FILE or matrix:FILE.

    folder: where relative file names begin. encoding: of the file.
    A ground distance itself is taken as it is.
    Raises InputError for an unknown name and a file that cannot be used.
    """
    if isinstance(spec, GroundDistance):
        return spec
    known = [*SIMPLE, *(f"{name}:FILE" for name in FROM_FILE)]
    if not isinstance(spec, str):
        raise InputError(f"a ground distance is one of {', '.join(known)}, or an object; found {kind_of(spec)}")
    kind, colon, file = spec.partition(":")
    if not colon and kind in SIMPLE:
        return SIMPLE[kind]()
    if colon and kind in FROM_FILE:
        return FROM_FILE[kind].read((folder or Path()) / file, encoding)
    close = nearest(f"{kind}:FILE" if colon else kind, known)
    raise InputError(f'unknown ground distance "{spec}"{close}; known: {", ".join(known)}')
