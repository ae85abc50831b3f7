"""Code of a user's own sees the arrays of an instance, and must leave them as they are."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.presolve.instance import Instance


@contextmanager
def untouched(instance: Instance, what: str) -> Iterator[None]:
    """Raise InputError if the arrays of the instance are not the same afterwards: nothing that was computed from them
    could be believed. what: whose code runs, for the message.

    They are compared instead of locked, since locked arrays would be another type to compiled functions.
    """
    before = _checksum(instance)
    yield
    if _checksum(instance) != before:
        raise InputError(f"{what} wrote into the arrays of the instance; it must work on copies (array.copy())")


def _checksum(instance: Instance) -> int:
    types, candidates, levels = instance.types, instance.candidates, instance.levels
    found = 0
    for array in (
        types.codes, types.counts, types.star_type, types.star_codes, types.star_counts, levels.vectors, levels.costs,
        candidates.vector, candidates.cost, candidates.support, candidates.indptr, candidates.members, instance.exempt,
    ):  # fmt: skip
        found = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, found)
    return found
