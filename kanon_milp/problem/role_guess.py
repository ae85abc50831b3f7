"""Roles that columns may have, guessed from what they are called and how their values are spread, and what is said of
those that are released as they are.

It looks at what columns are called, and of what kind their values are, whatever they were stored as.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import narwhals as nw
import polars as pl

from kanon_milp.errors import InputError, counted, printable
from kanon_milp.problem.column_values import SAY_WHICH, as_text, numbers_of
from kanon_milp.problem.dates import asked_form, date_form, date_reader, iso_date, looks_like_date
from kanon_milp.problem.roles import some, visible

Kind = Literal["none", "integer", "decimal", "date", "timestamp", "true/false", "text"]
MOSTLY = Fraction(9, 10)  # of the distinct values: a few that are "?" or "unknown" do not make a column text
CODE = re.compile(r"\s*0\d+\s*")  # of a zip code and the like; no number is written so
MARKS = frozenset(["na", "n/a", "#n/a", "<na>", "nan", "null", "(null)", "?", "-", "--", "."])
WITH_COMMA = "numbers are read with a decimal comma"
UNCLEAR_DATE = "it looks like dates whose form is not clear; say how they are written, as in --dates COLUMN="
DIGITS = re.compile(r"[0-9]+")
LETTERS_AND_DIGITS = re.compile(r"(?=.*\d)(?=.*[^\W\d_])\S+")  # of a number of a person or a part: P12, K-07, C39.2
TRUTH = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"})


def code_width(distinct: pl.Series) -> tuple[int | None, bool]:
    """The number of digits, where nearly all of the distinct values are as many digits and nothing else (None where
    they are not), and whether some begin with 0."""
    digits = [value.strip() for value in distinct.to_list() if DIGITS.fullmatch(value.strip())]
    widths = {len(value) for value in digits}
    if len(widths) != 1 or len(digits) < MOSTLY * distinct.len():
        return None, False
    return widths.pop(), any(value.startswith("0") for value in digits)


@dataclass(frozen=True)
class Reading:
    """What the values of a column are read as. span: largest minus least, of numbers, and of dates in years. note: how
    they were read, or why they were not, where that is not plain; no value is in it. coded: whether nearly all are
    words of letters and digits, or digits that no number has."""

    kind: Kind
    span: Fraction | None = None
    note: str = ""
    coded: bool = False


def marks_of_missing(distinct: pl.Series) -> tuple[str, ...]:
    """The values that stand for a missing one in many files, such as NA, as they are written."""
    return tuple(sorted({text for value in distinct.to_list() if (text := value.strip()).lower() in MARKS}))


def read_values(distinct: pl.Series) -> Reading:
    """The kind of most of the distinct values, those aside that seem to stand for a missing one."""
    marks = marks_of_missing(distinct)
    values = [value for value in distinct.to_list() if value.strip() not in marks]
    if not values:
        return Reading("text" if marks else "none")
    if any({value.strip().lower() for value in values} <= words for words in TRUTH):
        return Reading("true/false")
    most = MOSTLY * len(values)
    if any(CODE.fullmatch(value) for value in values):
        return Reading("text", coded=True)
    found = numbers_of(values)
    numbers = list(found.of.values())
    if len(numbers) >= most and not found.doubt:
        integral = all(each.denominator == 1 for each in numbers)
        note = WITH_COMMA if found.commas else ""
        return Reading("integer" if integral else "decimal", max(numbers) - min(numbers), note)
    form = date_form(values)
    ways = [(iso_date, ""), *([] if form is None else [(date_reader(form), f"dates are read as {form}")])]
    for read_date, note in ways:
        years = [at.year for value in values if (at := read_date(value)) is not None]
        if len(years) >= most:
            timed = any("T" in value or " " in value.strip() for value in values)
            return Reading("timestamp" if timed else "date", Fraction(max(years) - min(years)), note)
    if sum(map(looks_like_date, values)) >= most:
        return Reading("text", None, UNCLEAR_DATE + asked_form(values))
    if found.doubt and len(numbers) >= most:
        return Reading("text", None, found.doubt + SAY_WHICH * (found.otherwise is not None))
    return Reading(
        "text", coded=sum(LETTERS_AND_DIGITS.fullmatch(value.strip()) is not None for value in values) >= most
    )


Role = Literal["quasi-identifier", "sensitive", "identifying", "keep", "unit", "drop", "count", "none"]

NEARLY_UNIQUE = 0.9  # share of distinct values from which on nearly every row has a value of its own
LOUD = "LIKELY IDENTIFIERS"
FEW = 2  # distinct values that a column needs to tell rows apart
MOST_CLASSES = 20  # distinct values of a column that says to which of some classes each row belongs
PER_CLASS = 5  # rows of one of these, on average, at least
PER_PERSON = 10  # rows of one value of a number that persons have, on average, at most ...
MOST_PER_PERSON = 100  # ... and of numbers or codes of what is called as persons are

_PARTS = re.compile(r"[\W_\d]+|(?<=[a-z])(?=[A-Z])")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PERSON = _set(
    "surname firstname lastname fullname forename vorname nachname familienname nom prenom nombre apellido email mail "
    "ssn iban passport username login"
)
_REACHED = _set("phone telephone telefon mobile fax address adresse street strasse")  # of several persons
_OF_PERSONS = _set("name first last full given family middle maiden patient person customer employee user")
_NUMBER = _set("id uid uuid guid pid mrn identifier patientid personid userid customerid")
# who has a row, and words that mean something else as well (a school subject, a case of flu, the size of a household)
_WHO = (
    "patient(in|e)?|person|individual|customer|client|employee|student|pupil|user|participant|respondent|resident|"
    "donor|beneficiary|policyholder|proband|kunde|kundin|mitarbeiter|mitarbeiterin|angestellter?|schuler|"
    "schueler|nutzer|benutzer|teilnehmer|bewohner|versicherter?|mandant|klient|personne|individu|employe|salarie|"
    "etudiant|eleve|utilisateur|participante?|cliente?|paciente|persona|individuo|empleado|estudiante|alumno|usuario|"
    "paziente|utente|dipendente|cittadino"
)
_HOUSEHOLD = "household|hh|hid|haushalt|menage|foyer|hogar"
_PERHAPS_WHO = f"subject|case|member|account|mitglied|konto|sujet|membre|sujeto|miembro|{_HOUSEHOLD}"
_SHORT = "kunden|personal|fall|matrikel|pat|usubj|subj|cust|emp"  # which stand before a word for numbers
_A_NUMBER = "ids?|uid|key|code|number|num|no|nr|nummer|kennung|kennzahl|schluessel|schlussel|numero|identifier"
_ONE = re.compile(
    f"(?P<who>{_WHO})|(?P<perhaps>{_PERHAPS_WHO})|(?P<number>{_A_NUMBER}|n)|(?P<before>({_WHO}|{_SHORT})(en|n)?)"
)
_OF_A_HOUSEHOLD = re.compile(f"({_HOUSEHOLD})({_A_NUMBER})?")
_NUMBER_OF_ONE = re.compile(f"({_WHO}|{_PERHAPS_WHO}|{_SHORT})(en|es|n|s)?({_A_NUMBER})")
_AMOUNT = _set(
    "income salary wage wages earnings gehalt einkommen lohn einkunfte einkuenfte verdienst revenu revenus salaire "
    "salario sueldo ingreso ingresos reddito stipendio"
)
_SENSITIVE = _AMOUNT | _set(
    "disease diagnosis diagnose diagnoses diag dx icd illness sick sickness condition disorder symptom symptoms "
    "treatment therapy medication hiv cancer krankheit"
)
_PERHAPS_SENSITIVE = _set("religion party")  # which neighbours may know as well
_WEIGHT = _set("weight weights wgt wt pweight fnlwgt gewicht poids peso")
_OF_SAMPLES = _set("sampling sample survey design final population expansion person household")
_CODE = _set("zip zipcode postal postcode postalcode plz postleitzahl cep")
_KNOWN_BEST = _CODE | _set(
    "age alter sex gender geschlecht birth birthday birthdate dob born race ethnic ethnicity nationality nation "
    "country citizenship city town county marital"
)
_KNOWN = _KNOWN_BEST | _set(
    "year land state region ort stadt family education school degree occupation job profession work workclass beruf "
    "language relationship children household admitted admission discharged discharge"
)


def identifies(name: str, reading: Callable[[], Reading], present: int, distinct: int) -> bool:
    """Whether a column is a likely identifier: it tells persons apart, or nearly every row has a text or an integer of
    its own, and it is not called as what others know, nor as an amount, nor holds codes of what is sensitive. The one
    judgement of `inspect` and of whatever releases a table.

    reading: of its values. present: rows with a value. distinct: different values.
    """
    if tells_persons(name, reading, present, distinct):
        return True
    words = _words(name)
    if words & _REACHED:
        return distinct > FEW
    if not nearly_unique(present, distinct) or words & (_KNOWN | _AMOUNT):
        return False
    found = reading()
    return found.kind in ("text", "integer") and not (words & _SENSITIVE and found.coded)


def tells_persons(name: str, reading: Callable[[], Reading], present: int, distinct: int) -> bool:
    """Whether a column is called as names or numbers of persons are, and its values can be those: of a column that is
    called "patient" codes, numbers of which each has not too many rows, or words of which each has few; of one that may
    be a school subject or the size of a household, those of which each has few, and no words that may be classes."""
    words = _words(name)
    if distinct <= FEW:
        return False
    if _is_called_so(words) or (words & _NUMBER and distinct * PER_PERSON >= present):
        return True
    who = _who(words)
    if who in ("no", "number"):
        return who == "number"
    read = reading()
    if read.kind not in ("integer", "text"):
        return False
    if who == "who" and read.coded:
        return True
    if who == "who" and read.kind == "integer":
        return distinct * MOST_PER_PERSON >= present
    if who == "perhaps" and read.kind == "text" and not read.coded and distinct <= MOST_CLASSES:
        return False
    return distinct * (MOST_PER_PERSON if read.coded else PER_PERSON) >= present


def persons(names: Sequence[str], frame: nw.DataFrame[Any], source: str) -> list[str]:
    """Those of the columns that tell persons apart by their numbers or names."""
    called = [name for name in names if is_unit(name) or _is_called_so(_words(name))]
    return [name for name in called if tells_persons(name, _reader(frame, name, source), *_distinct(frame, name))]


def members(names: Sequence[str], texts: Callable[[list[str]], pl.DataFrame]) -> dict[str, str]:
    """Columns that number the persons of a household → that household's column: both together are different in each
    row, so each row is one person. texts: columns as text."""
    called = [name for name in names if is_unit(name)]
    households = [name for name in called if any(map(_OF_A_HOUSEHOLD.fullmatch, _words(name)))]
    if not households or len(called) == len(households):
        return {}
    keys = texts(called)
    found: dict[str, str] = {}
    for name in (name for name in called if name not in households and keys[name].n_unique() < keys.height):
        for household in households:
            pairs = pl.struct(pl.nth(called.index(household)), pl.nth(called.index(name)))
            if keys.select(pairs.n_unique()).item() == keys.height:
                found.setdefault(name, household)
    return found


def is_unit(name: str) -> bool:
    """Whether a column is called as who is protected or the number of one is, and not as names are."""
    words = _words(name)
    return how_surely(name) > 0 or (bool(words) and words <= _NUMBER)


def how_surely(name: str) -> int:
    """2 for a column that is called as a person is or the number of one, 1: perhaps so (a household), else 0."""
    return {"no": 0, "perhaps": 1, "who": 2, "number": 2}[_who(_words(name))]


def _who(words: frozenset[str]) -> Literal["no", "perhaps", "who", "number"]:
    """Whether these words name one of those who are protected, perhaps so, or their number."""
    if any(_NUMBER_OF_ONE.fullmatch(word) for word in words):
        return "number"
    found = [_ONE.fullmatch(word) for word in words]
    kinds = {each.lastgroup if each else None for each in found}
    if None in kinds or kinds == {"number"}:
        return "no"
    if "number" in kinds:
        return "number"
    return "no" if "before" in kinds else "who" if "who" in kinds else "perhaps" if kinds else "no"


def guess(name: str, reading: Reading, present: int, distinct: int) -> Role:
    """The role that a column may have, from what `identifies` is told. "none" is never the answer."""
    words = _words(name)
    if may_be_sampling_weights(name, reading.kind):
        return "drop"
    if identifies(name, lambda: reading, present, distinct):
        return "identifying"
    if distinct >= FEW and (words & _AMOUNT or (words & _SENSITIVE and reading.coded)):
        return "sensitive"
    if words & (_SENSITIVE | _PERHAPS_SENSITIVE) and distinct >= FEW and not nearly_unique(present, distinct):
        return "sensitive"
    return "quasi-identifier"


def may_be_sampling_weights(name: str, kind: Kind) -> bool:
    """Whether a column is called as sampling weights are, or as the weight of a body is, and has numbers."""
    words = _words(name)
    return kind in ("integer", "decimal") and bool(words & _WEIGHT) and words <= _WEIGHT | _OF_SAMPLES


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
            (f"{LOUD}, by their names, or as almost every row has its own value", likely),
            ("almost every row has its own value in", others),
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
        f"{source}: KEPT, THOUGH ALMOST EVERY ROW HAS ITS OWN VALUE: {told}; whoever knows it knows whose row it is. "
        "Drop what identifies (identifying=[...], --identifying), or make it a quasi-identifier"
    )


def _telling(names: Sequence[str], frame: nw.DataFrame[Any], source: str) -> tuple[list[str], list[str]]:
    """Likely identifiers, and other columns in which nearly every row has a value of its own, with their shares."""
    likely: list[tuple[float, str]] = []
    others: list[tuple[float, str]] = []
    for name in names:
        present, distinct = _distinct(frame, name)
        told = distinct / max(present, 1), _with_share(name, present, distinct)
        if identifies(name, _reader(frame, name, source), present, distinct):
            likely.append(told)
        elif nearly_unique(present, distinct):
            others.append(told)
    first, second = ([text for _, text in sorted(each, key=lambda told: -told[0])] for each in (likely, others))
    return first, second


def _reader(frame: nw.DataFrame[Any], name: str, source: str) -> Callable[[], Reading]:

    def read() -> Reading:
        try:
            return read_values(as_text(frame, [name], source)[name].drop_nulls().unique())
        except InputError:  # values without a text of their own, such as lists
            return Reading("none")

    return read


def nearly_unique(present: int, distinct: int) -> bool:
    """Whether nearly every row has a value of its own."""
    return distinct > FEW and distinct >= NEARLY_UNIQUE * present


def _with_share(name: str, present: int, distinct: int) -> str:
    return f"{visible(name)} ({int(1000 * distinct / max(present, 1)) / 10:g} % distinct values)"


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
    return bool(words & _PERSON) or (bool(words) and "name" in words and words <= _OF_PERSONS)


def _words(name: str) -> frozenset[str]:
    """The words of a name, in small letters without accents."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))
    return frozenset(part.casefold() for part in _PARTS.split(plain) if part)
