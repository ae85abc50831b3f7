"""Roles that columns may have, guessed from what they are called and how their values are spread."""

from __future__ import annotations

import re
from typing import Literal

from kanon_milp.problem.roles import NEARLY_UNIQUE
from kanon_milp.report.value_kinds import Kind

Role = Literal["quasi-identifier", "sensitive", "identifying", "keep", "unit", "drop", "none"]

FEW = 2  # distinct values that a column needs to tell rows apart
MOST_CLASSES = 20  # distinct values of a column that says to which of some classes each row belongs
PER_CLASS = 5  # rows of one of these, on average, at least
PER_PERSON = 10  # rows of one value of a number that persons have, on average, at most

_PARTS = re.compile(r"[\W_\d]+|(?<=[a-z])(?=[A-Z])")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PERSON = _set(
    "surname firstname lastname fullname forename vorname nachname familienname nom prenom nombre apellido email mail "
    "phone telephone telefon mobile fax ssn iban passport address adresse street strasse straße username login"
)
_OF_PERSONS = _set("name first last full given family middle maiden patient person customer employee user")
_NUMBER = _set("id uid uuid guid pid mrn identifier patientid personid userid customerid")
_SENSITIVE = _set(
    "disease diagnosis diagnose diagnoses icd illness sick sickness condition disorder symptom symptoms treatment "
    "therapy medication hiv cancer income salary wage wages earnings gehalt einkommen krankheit"
)
_PERHAPS_SENSITIVE = _set("religion party")  # which neighbours may know as well
_CODE = _set("zip zipcode postal postcode postalcode plz postleitzahl cep")
_KNOWN_BEST = _CODE | _set(
    "age alter sex gender geschlecht birth birthday birthdate dob born race ethnic ethnicity nationality nation "
    "country citizenship city town county marital"
)
_KNOWN = _KNOWN_BEST | _set(
    "year land state region ort stadt family education school degree occupation job profession work workclass beruf "
    "language relationship children household admitted admission discharged discharge"
)


def guess(name: str, kind: Kind, present: int, distinct: int, unique: int) -> Role:
    """The role that a column may have. present: rows with a value. distinct: different values. unique: rows whose value
    no other row has. "none" is never the answer."""
    words = _words(name)
    if distinct > FEW:
        if words & _PERSON or (words and "name" in words and words <= _OF_PERSONS):
            return "identifying"
        if words & _NUMBER and distinct * PER_PERSON >= present:
            return "identifying"
    nearly_unique = distinct > FEW and unique >= NEARLY_UNIQUE * present
    if words & (_SENSITIVE | _PERHAPS_SENSITIVE) and distinct >= FEW and not nearly_unique:
        return "sensitive"
    if nearly_unique and kind in ("text", "integer") and not words & _KNOWN:
        return "identifying"
    return "quasi-identifier"


def how_sensitive(name: str) -> int:
    """2 for a column that is called as what few know of a person, 1: as what neighbours may know as well, else 0."""
    words = _words(name)
    return 2 if words & _SENSITIVE else 1 if words & _PERHAPS_SENSITIVE else 0


def how_well_known(name: str) -> int:
    """2 for a column that is called as what neighbours or registers know of people, 1: what they may know, else 0."""
    words = _words(name)
    return bool(words & _KNOWN) + bool(words & _KNOWN_BEST)


def may_be_classes(name: str, kind: Kind, present: int, distinct: int) -> bool:
    """Whether a column may say to which of a few classes each row belongs, and is not called as what others know."""
    classes = FEW <= distinct <= MOST_CLASSES and PER_CLASS * distinct <= present
    return classes and kind in ("text", "integer", "true/false") and not how_well_known(name)


def is_code(name: str, width: int | None, *, zeros: bool) -> bool:
    """Whether values of digits are a code such as a zip code, whose first digits say more than its size.

    width: of all values, None where they have several. zeros: whether some begin with 0. Years are none.
    """
    return width is not None and width > 1 and (zeros or width > 4 or bool(_words(name) & _CODE))


def _words(name: str) -> frozenset[str]:
    return frozenset(part.lower() for part in _PARTS.split(name) if part)
