"""Families of generated instances whose optimum is known by construction: the papers' hardness reductions, and planted
partitions."""

from __future__ import annotations

from collections.abc import Mapping

from kanon_milp.errors import InputError, nearest
from kanon_milp.studies.families import covers, edge_partitions, graphs, halves, planted
from kanon_milp.studies.families.base import (
    ANSWERS,
    NOTHING,
    Answer,
    Asked,
    ColumnFamily,
    Family,
    Generated,
    GeneratedColumns,
)

FAMILIES: dict[str, Family] = {
    family.name: family for module in (planted, covers, halves, graphs, edge_partitions) for family in module.FAMILIES
}
COLUMN_FAMILIES: dict[str, ColumnFamily] = {family.name: family for family in covers.COLUMN_FAMILIES}


def generate(
    family: str,
    size: int | None = None,
    seed: int = 0,
    answer: Answer | None = None,
    *,
    source: object = None,
    parameters: Mapping[str, object] | None = None,
) -> Generated:
    """An instance of a family: the same for the same size, seed, answer and parameters.

    size: what it counts is the family's own; default: a small one. answer: "no" is a decision instance that is
    infeasible; "imperfect" an instance whose source problem has no perfect solution, and whose optimum is known.
    source: a source problem of one's own in the place of size and seed: a JSON file, data, or a networkx graph; it is
    solved exactly, and its answer is found if none is given. parameters: numbers that the theorem leaves open, such as
    {"t": "1/4"}. Raises InputError for an unknown family, a seed below 0, a size that is too small or too large, a
    source problem that cannot be read or solved, and an answer that is not its own.
    """
    _check(family, answer, [*FAMILIES])
    return FAMILIES[family].generate(size, seed, Asked(answer, source, parameters or {}))


def generate_any(
    family: str, size: int | None = None, seed: int = 0, asked: Asked = NOTHING
) -> Generated | GeneratedColumns:
    """The same, also of a family that asks for the minimum quasi-identifier of a table."""
    _check(family, asked.answer, [*FAMILIES, *COLUMN_FAMILIES])
    return (FAMILIES[family] if family in FAMILIES else COLUMN_FAMILIES[family]).generate(size, seed, asked)


def _check(family: str, answer: str | None, known: list[str]) -> None:
    if family not in known:
        raise InputError(f"unknown family{nearest(family, known)}; one of {', '.join(known)}")
    if answer is not None and answer not in ANSWERS:
        raise InputError(f"answer: must be {', '.join(ANSWERS[:-1])} or {ANSWERS[-1]}, found {answer!r}")


__all__ = [
    "ANSWERS",
    "COLUMN_FAMILIES",
    "FAMILIES",
    "Answer",
    "Asked",
    "ColumnFamily",
    "Family",
    "Generated",
    "GeneratedColumns",
    "generate",
    "generate_any",
]
