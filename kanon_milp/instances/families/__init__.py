"""Families of generated instances whose optimum is known by construction: the papers' hardness reductions, and planted
partitions."""

from __future__ import annotations

from kanon_milp.errors import InputError, nearest
from kanon_milp.instances.families import covers, graphs, halves, matchings, patterns, planted, stars, triangles
from kanon_milp.instances.families.base import ANSWERS, Answer, ColumnFamily, Family, Generated, GeneratedColumns

FAMILIES: dict[str, Family] = {
    family.name: family
    for module in (planted, covers, matchings, halves, graphs, stars, triangles, patterns)
    for family in module.FAMILIES
}
COLUMN_FAMILIES: dict[str, ColumnFamily] = {family.name: family for family in covers.COLUMN_FAMILIES}


def generate(family: str, size: int | None = None, seed: int = 0, answer: Answer = "yes") -> Generated:
    """An instance of a family: the same for the same size, seed and answer.

    size: what it counts is the family's own; default: a small one. answer: "no" is a decision instance that is
    infeasible. Raises InputError for an unknown family, a seed below 0, and a size that is too small or too large.
    """
    _check(family, answer, [*FAMILIES])
    return FAMILIES[family].generate(size, seed, answer)


def generate_any(
    family: str, size: int | None = None, seed: int = 0, answer: Answer = "yes"
) -> Generated | GeneratedColumns:
    """The same, also of a family that asks for the minimum quasi-identifier of a table."""
    _check(family, answer, [*FAMILIES, *COLUMN_FAMILIES])
    return (FAMILIES[family] if family in FAMILIES else COLUMN_FAMILIES[family]).generate(size, seed, answer)


def _check(family: str, answer: str, known: list[str]) -> None:
    if family not in known:
        raise InputError(f"unknown family{nearest(family, known)}; one of {', '.join(known)}")
    if answer not in ANSWERS:
        raise InputError(f"answer: must be {' or '.join(ANSWERS)}, found {answer!r}")


__all__ = [
    "ANSWERS",
    "COLUMN_FAMILIES",
    "FAMILIES",
    "Answer",
    "ColumnFamily",
    "Family",
    "Generated",
    "GeneratedColumns",
    "generate",
    "generate_any",
]
