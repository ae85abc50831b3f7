"""Roles that columns may have, guessed from what they are called and how their values are spread, and what is said of
those that are released as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import narwhals as nw

from kanon_milp.errors import InputError, counted, printable
from kanon_milp.problem.column_text import as_text
from kanon_milp.problem.roles import some
from kanon_milp.problem.value_kinds import Kind, read_values

Role = Literal["quasi-identifier", "sensitive", "identifying", "keep", "unit", "drop", "none"]

NEARLY_UNIQUE = 0.9  # share of distinct values from which on nearly every row has a value of its own
LOUD = "LIKELY IDENTIFIERS"
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


def identifies(name: str, kind: Callable[[], Kind], present: int, distinct: int) -> bool:
    """Whether a column is a likely identifier: it is called as names and numbers of persons are, or nearly every row
    has a text or an integer of its own, and it is not called as what others know. The one judgement of `inspect` and
    of whatever releases a table.

    kind: of its values. present: rows with a value. distinct: different values.
    """
    words = _words(name)
    if distinct <= FEW:
        return False
    if _is_called_so(words) or (words & _NUMBER and distinct * PER_PERSON >= present):
        return True
    return nearly_unique(present, distinct) and not words & _KNOWN and kind() in ("text", "integer")


def guess(name: str, kind: Kind, present: int, distinct: int) -> Role:
    """The role that a column may have, from what `identifies` is told. "none" is never the answer."""
    words = _words(name)
    if identifies(name, lambda: kind, present, distinct):
        return "identifying"
    if words & (_SENSITIVE | _PERHAPS_SENSITIVE) and distinct >= FEW and not nearly_unique(present, distinct):
        return "sensitive"
    return "quasi-identifier"


def warning(names: Sequence[str], frame: nw.DataFrame[Any], source: str, doubt: str) -> str:
    """One line that names columns without a role, loudly those that are likely identifiers, and with their shares of
    distinct values those that tell rows apart.

    Never a cell: only the names of columns, and of these only the number where the header looks like data (doubt).
    Empty where all columns have a role.
    """
    if not names:
        return ""
    likely, others = _telling(names, frame, source)
    told = "".join(
        f"; {what}: {f'{len(found)} of them' if doubt else some(found)}"
        for what, found in (
            (f"{LOUD}, as they are called so or almost every row has a value of its own", likely),
            ("almost every row has a value of its own in", others),
        )
        if found
    )
    verbs = ("has", "is") if len(names) == 1 else ("have", "are")
    many = f"{counted(len(names), 'column')} {verbs[0]} no role and {verbs[1]} released unchanged"
    which = "" if doubt else f": {some(names)}"
    return printable(
        f"{source}: {many}{which}{told}; drop identifying columns (identifying=[...], "
        "--identifying), and name those that may stay (keep=[...], --keep)"
    )


def kept_warning(names: Sequence[str], frame: nw.DataFrame[Any], source: str, doubt: str) -> str:
    """One line that names columns that somebody keeps, and in which almost every row has a value of its own; as
    `warning` names them. Empty where there are none."""
    shares = {name: _distinct(frame, name) for name in names}
    found = [name for name, (present, distinct) in shares.items() if nearly_unique(present, distinct)]
    if not found:
        return ""
    told = counted(len(found), "column") if doubt else some([_with_share(name, *shares[name]) for name in found])
    return printable(
        f"{source}: KEPT, AND ALMOST EVERY ROW HAS A VALUE OF ITS OWN: {told}; who knows it knows whose row it is. "
        "Drop what identifies (identifying=[...], --identifying), or make it a quasi-identifier"
    )


def _telling(names: Sequence[str], frame: nw.DataFrame[Any], source: str) -> tuple[list[str], list[str]]:
    """Likely identifiers, and other columns in which nearly every row has a value of its own, with their shares."""
    likely: list[tuple[float, str]] = []
    others: list[tuple[float, str]] = []
    for name in names:
        present, distinct = _distinct(frame, name)

        def kind(name: str = name) -> Kind:
            try:
                return read_values(as_text(frame, [name], source)[name].drop_nulls().unique()).kind
            except InputError:  # values without a text of their own, such as lists
                return "none"

        told = distinct / max(present, 1), _with_share(name, present, distinct)
        if identifies(name, kind, present, distinct):
            likely.append(told)
        elif nearly_unique(present, distinct):
            others.append(told)
    first, second = ([text for _, text in sorted(each, key=lambda told: -told[0])] for each in (likely, others))
    return first, second


def nearly_unique(present: int, distinct: int) -> bool:
    """Whether nearly every row has a value of its own."""
    return distinct > FEW and distinct >= NEARLY_UNIQUE * present


def _with_share(name: str, present: int, distinct: int) -> str:
    return f"{name} ({int(1000 * distinct / max(present, 1)) / 10:g} % distinct values)"


def _distinct(frame: nw.DataFrame[Any], name: str) -> tuple[int, int]:
    """Rows with a value, and distinct values; none where they cannot be compared."""
    try:
        column = frame.get_column(name)
        missing = column.null_count()
        return len(column) - missing, column.n_unique() - (missing > 0)
    except Exception:  # whatever backend: values of several kinds, or lists, which are no identifiers
        return 0, 0


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


def _is_called_so(words: frozenset[str]) -> bool:
    """Whether these words are the name of a column of names, addresses and the like."""
    return bool(words & _PERSON) or (bool(words) and "name" in words and words <= _OF_PERSONS)


def _words(name: str) -> frozenset[str]:
    return frozenset(part.lower() for part in _PARTS.split(name) if part)
