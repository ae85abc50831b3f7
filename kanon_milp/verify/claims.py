"""A certificate as the checker reads it, strictly: what it claims, and nothing that is believed.

Each number stands once and exact. What is read here is what the bound is proven from and what the statement prints, so
a certificate cannot prove one thing and say another. Requirements of a user's own are left out: what they ask for
cannot be recomputed.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kanon_milp.errors import InputError, unreadable
from kanon_milp.verify.definitions import EXACT, by_name, claimed_number, definition_of, term
from kanon_milp.verify.dual import Charge, PackingCut
from kanon_milp.verify.ground import built_in
from kanon_milp.verify.numbers import said
from kanon_milp.verify.rank_one import RankOneCut
from kanon_milp.verify.tables import SUPPRESSED_ROWS, SuppressedRows

FORMAT = "kanon-milp dual certificate"
VERSIONS = (2, 3, 4, 5, 6)
RANK_ONE = 3  # the version from which on there are rank-1 cuts
ONCE = 4  # the version from which on a number stands once, as exact text
BY_VALUE = 5  # the version of certificates with multipliers of rows told apart by their sensitive values
OF_ROWS = 6  # the version of certificates about costs of whole groups, with multipliers of rows
ENTRIES = {"format", "version", "problem", "rows", "table_sha256", "unit", "bound", "denominator", "multipliers"}
ENTRIES |= {"counting_rows", "rank_one_rows", "charges", "min_groups_multiplier"}
NEW = {RANK_ONE: "rank_one_rows", BY_VALUE: "charges"}  # version → what it brought
WHAT = {  # part of the problem → what else to name
    "quasi_identifiers": "the quasi-identifiers",
    "sensitive": "the sensitive attributes",
    "requirements": "the requirements",
    "suppressed_rows": "the reading of fully suppressed rows",
    "recoding": "the recoding, its standardization or weights",
    "columns": "the hierarchies, weights or level costs",
    "patterns": "the pattern mask",
    "max_groups": "the largest number of groups",
    "min_groups": "the least number of groups",
}
NUMBERS_OF_GROUPS = ("max_groups", "min_groups")  # parts that a bound need not count on
PLURAL = ("quasi_identifiers", "sensitive", "requirements", "columns")  # whose words are in the plural

ClaimedRequirement = dict[str, Any]  # name, and parameters as plain data; what need not be integer as exact text


class HasDict(Protocol):
    """What a certificate in memory can do."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as in the file."""


@dataclass(frozen=True)
class Claim:
    """A certificate as it is read; nothing of it is trusted."""

    version: int
    problem: dict[str, Any]
    rows: int
    table_sha256: str
    unit: Fraction
    denominator: int
    multipliers: list[int]
    bound: Fraction
    packing_cuts: list[PackingCut]
    rank_one_cuts: list[RankOneCut]
    charges: list[Charge]
    min_groups_multiplier: int = 0

    @classmethod
    def of(cls, certificate: HasDict | Mapping[str, Any] | str | Path) -> Claim:
        """Read it; raises InputError for something that is no certificate."""
        where = "certificate"
        try:
            data: Any = certificate
            if isinstance(certificate, str | Path):
                where = str(certificate)
                data = json.loads(Path(certificate).read_text(encoding="utf-8"), object_pairs_hook=_no_entry_twice)
            elif not isinstance(certificate, Mapping):
                data = certificate.as_dict()
            if data["format"] != FORMAT or type(data["version"]) is not int or data["version"] not in VERSIONS:
                raise InputError(f"{where}: not a dual certificate of version {' or '.join(map(str, VERSIONS))}")
            if not set(data) <= ENTRIES - {name for version, name in NEW.items() if data["version"] < version}:
                raise InputError(f"{where}: a dual certificate of version {data['version']} has no such entries")
            if not (EXACT.fullmatch(data["unit"]) and EXACT.fullmatch(data["bound"])):
                raise InputError(f"{where}: unit and bound must be exact numbers that are not negative")
            unit, bound = Fraction(data["unit"]), Fraction(data["bound"])
            claim = cls(
                data["version"],
                data["problem"],
                data["rows"],
                data["table_sha256"],
                unit,
                data["denominator"],
                data["multipliers"],
                bound,
                [_packing_cut(each) for each in _listed(data["counting_rows"])],
                [_rank_one_cut(each) for each in _listed(data["rank_one_rows"])] if data["version"] >= RANK_ONE else [],
                [_charge(each) for each in _listed(data["charges"])] if data["version"] == BY_VALUE else [],
                _integer(data.get("min_groups_multiplier", 0)),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise InputError(f"{where}: cannot be read as a dual certificate ({unreadable(error)})") from None
        if (
            not isinstance(claim.problem, dict)
            or type(claim.rows) is not int
            or type(claim.denominator) is not int
            or claim.denominator < 1
            or not isinstance(claim.multipliers, list)
            or any(type(x) is not int for x in claim.multipliers)
        ):
            raise InputError(f"{where}: problem, rows, denominator or multipliers are not what they should be")
        return claim

    @property
    def by_value(self) -> bool:
        """Whether multipliers are of rows told apart by their sensitive values as well."""
        return self.version == BY_VALUE

    def names(self, key: str) -> list[str]:
        """Column names that the certificate gives."""
        return [str(name) for name in self._list(key, str)]

    @property
    def requirements(self) -> list[ClaimedRequirement]:
        """Requirements that the certificate gives; those of older versions with each number once."""
        return [
            read_requirement(each if self.version >= ONCE else number_once(each))
            for each in self._list("requirements", dict)
        ]

    def _list(self, key: str, kind: type) -> list[Any]:
        found = self.problem.get(key)
        if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
            raise InputError(f"the certificate does not name {WHAT[key]}")
        return found

    def number_of_groups(self, key: str) -> int | None:
        """The largest or the least number of groups (`max_groups`, `min_groups`) that the certificate is about; None
        for any."""
        found = self.problem.get(key)
        return found if type(found) is int and found >= 1 else None

    @property
    def reading(self) -> SuppressedRows:
        """How the certificate reads fully suppressed rows."""
        reading = self.problem.get("suppressed_rows")
        for known in SUPPRESSED_ROWS:
            if reading == known:
                return known
        raise InputError(f"the certificate does not name {WHAT['suppressed_rows']}")


def claimed(requirements: Iterable[Any]) -> list[ClaimedRequirement]:
    """The requirements of a problem as a certificate claims them, those of a user's own left out.

    A subclass is a user's own whatever its name says, and so is t-closeness in a distance of the user's own.
    """
    return [
        read_requirement(number_once({"name": each.name, **each.describe()}))
        for each in requirements
        if definition_of(each) and (isinstance(distance := getattr(each, "distance", ""), str) or built_in(distance))
    ]


def in_words(requirement: ClaimedRequirement) -> str:
    """A requirement in words, from the very numbers that are proven with."""
    kinds = by_name()[requirement["name"]].parameters
    parameters = ", ".join(
        f"{key} = {said(Fraction(value)) if kinds.get(key) == 'number' else value}"
        for key, value in requirement.items()
        if key != "name"
    )
    return f"{term(requirement['name'])} ({parameters})"


def read_requirement(data: Mapping[str, Any]) -> ClaimedRequirement:
    """Check a requirement, and that there is nothing else; raises InputError."""
    name = data.get("name")
    known = by_name().get(name) if isinstance(name, str) else None
    if known is None:
        raise InputError("the certificate states a requirement that is not known here")
    try:
        return {"name": name, **known.read(data)}
    except (KeyError, ValueError, ZeroDivisionError):
        raise InputError(f"the parameters of {name} cannot be read") from None


def number_once(described: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that give a number twice, as `t` and exactly as `t_exact`, with the exact number as `t` alone.

    Raises InputError where the two are not the same.
    """
    found = dict(described)
    for key in [key for key in found if key.endswith("_exact")]:
        text, short = found.pop(key), key.removesuffix("_exact")
        try:
            number = claimed_number(text)
            shown = int(number) if number.denominator == 1 else float(number)
        except (ValueError, ArithmeticError):
            raise InputError(f"{key} of {found.get('name')} is not an exact number") from None
        given = found.get(short)
        if type(given) not in (int, float) or given != shown:
            raise InputError(f"{short} and {key} of {found.get('name')} are not the same number")
        found[short] = text
    return found


# ------------------------------------------------------------ readers; ValueError for what is not as it should be


def _no_entry_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object in which no reader can see another entry than the checker does."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _packing_cut(data: Mapping[str, Any]) -> PackingCut:
    _only(data, "rows", "multiplier")
    return PackingCut(np.array(_ascending(data["rows"]), dtype=np.int64), _integer(data["multiplier"]))


def _rank_one_cut(data: Mapping[str, Any]) -> RankOneCut:
    _only(data, "rows", "weights", "denominator", "multiplier")
    rows, weights = _ascending(data["rows"]), [_integer(p) for p in _listed(data["weights"])]
    if len(weights) != len(rows):
        raise ValueError
    at, p = (np.array(each, dtype=np.int64) for each in (rows, weights))
    return RankOneCut(at, p, _integer(data["denominator"]), _integer(data["multiplier"]))


def _charge(data: Mapping[str, Any]) -> Charge:
    _only(data, "sensitive", "levels", "row", "charge")
    levels, row = tuple(_integer(level) for level in _listed(data["levels"])), _integer(data["row"])
    if not isinstance(data["sensitive"], str) or row < 0:
        raise ValueError
    return Charge(data["sensitive"], levels, row, _integer(data["charge"]))


def _only(data: Mapping[str, Any], *entries: str) -> None:
    """No entry is there that could mean something and is not looked at."""
    if not data.keys() <= set(entries):
        raise ValueError


def _listed(entries: object) -> list[Any]:
    if not isinstance(entries, list | tuple):
        raise ValueError
    return list(entries)


def _ascending(rows: object) -> list[int]:
    numbers = [_integer(row) for row in _listed(rows)]
    if not numbers or numbers[0] < 0 or any(a >= b for a, b in itertools.pairwise(numbers)):
        raise ValueError
    return numbers


def _integer(number: object) -> int:
    if type(number) is not int:
        raise ValueError
    return number
