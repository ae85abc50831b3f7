"""Families of generated instances whose optimum is known by construction: the papers' hardness reductions, and planted
partitions."""

from __future__ import annotations

from kanon_milp.errors import InputError, nearest
from kanon_milp.instances.families import covers, graphs, matchings, planted
from kanon_milp.instances.families.base import ANSWERS, Answer, Family, Generated

FAMILIES: dict[str, Family] = {
    family.name: family for family in (*planted.FAMILIES, *covers.FAMILIES, *matchings.FAMILIES, *graphs.FAMILIES)
}


def generate(family: str, size: int | None = None, seed: int = 0, answer: Answer = "yes") -> Generated:
    """An instance of a family: the same for the same size, seed and answer.

    size: what it counts is the family's own; default: a small one. answer: "no" is a decision instance that is
    infeasible. Raises InputError for an unknown family, and for a size that is too small or too large.
    """
    if family not in FAMILIES:
        raise InputError(f"unknown family{nearest(family, list(FAMILIES))}; one of {', '.join(FAMILIES)}")
    if answer not in ANSWERS:
        raise InputError(f"answer: must be {' or '.join(ANSWERS)}, found {answer!r}")
    return FAMILIES[family].generate(size, seed, answer)


__all__ = ["ANSWERS", "FAMILIES", "Answer", "Family", "Generated", "generate"]
