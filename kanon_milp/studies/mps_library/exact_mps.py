"""An MPS file read exactly, apart from the code that wrote it, and a solution held against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from kanon_milp.errors import InputError

Exact = int | Fraction
Side = Exact | None  # None: infinite


def exact(text: str) -> Exact:
    """A number as it is written."""
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError("a number of the file is none") from None
    return value.numerator if value.denominator == 1 else value


@dataclass
class ExactModel:
    """A minimization as an MPS file states it. columns: of each variable its entries, the objective among them."""

    name: str = ""
    objective: str = ""
    offset: Exact = 0
    kinds: dict[str, str] = field(default_factory=dict)
    sides: dict[str, Exact] = field(default_factory=dict)
    ranges: dict[str, Exact] = field(default_factory=dict)
    columns: dict[str, dict[str, Exact]] = field(default_factory=dict)
    integer: set[str] = field(default_factory=set)
    lower: dict[str, Side] = field(default_factory=dict)
    upper: dict[str, Side] = field(default_factory=dict)

    def interval(self, row: str) -> tuple[Side, Side]:
        """Between which values the activity of a constraint lies."""
        side, given = Fraction(self.sides.get(row, 0)), self.ranges.get(row)
        width = None if given is None else abs(Fraction(given))
        match self.kinds[row]:
            case "E":
                return side, side
            case "L":
                return None if width is None else side - width, side
            case _:
                return side, None if width is None else side + width

    def bounds(self, column: str) -> tuple[Side, Side]:
        """Of a variable; default 0 and infinity."""
        return self.lower.get(column, 0), self.upper.get(column)

    def value(self, point: Mapping[str, Exact]) -> Exact:
        """The objective, with its constant."""
        total = Fraction(self.offset)
        for column, value in point.items():
            total += self.columns[column].get(self.objective, 0) * value
        return total.numerator if total.denominator == 1 else total

    def violations(self, point: Mapping[str, Exact]) -> list[str]:
        """What a point (all else 0) breaks; nothing where it solves the model."""
        found = [f"there is no variable {column}" for column in point if column not in self.columns]
        if found:
            return found
        for column in self.columns:
            value, (low, high) = point.get(column, 0), self.bounds(column)
            if (low is not None and value < low) or (high is not None and value > high):
                found.append(f"variable {column} is outside of its bounds")
            elif column in self.integer and Fraction(value).denominator != 1:
                found.append(f"variable {column} is no integer")
        activity: dict[str, Exact] = dict.fromkeys(self.kinds, 0)
        for column, value in point.items():
            for row, coefficient in self.columns[column].items():
                if row != self.objective:
                    activity[row] += coefficient * value
        for row, value in activity.items():
            low, high = self.interval(row)
            if (low is not None and value < low) or (high is not None and value > high):
                found.append(f"constraint {row} is violated")
        return found


def read_mps(text: str) -> ExactModel:
    """Read a free MPS file. Raises InputError for one that says what is not known here."""
    try:
        model = _read(text)
    except (IndexError, ValueError):
        raise InputError("a line of the model has too few words, or too many") from None
    rows = {*model.kinds, model.objective}
    named = [row for column in model.columns.values() for row in column]
    if not rows.issuperset([*named, *model.sides, *model.ranges]):
        raise InputError("the model names a constraint that it does not have")
    if not model.columns.keys() >= {*model.lower, *model.upper}:
        raise InputError("the model has bounds of a variable that it does not have")
    if not {*model.kinds.values()} <= {"E", "L", "G"} or any(model.kinds[row] == "E" for row in model.ranges):
        raise InputError("a constraint is of a kind that is not expected")
    if any(value is not None and value < 0 and column not in model.lower for column, value in model.upper.items()):
        raise InputError("a variable has a negative upper bound and no lower one, which is read in two ways")
    return model


def _read(text: str) -> ExactModel:
    model, section, inside = ExactModel(), "", False
    for line in text.splitlines():
        if not line.strip() or line.startswith("*"):
            continue
        words = line.split()
        if not line.startswith(" "):
            section = words[0]
            if section == "NAME":
                model.name = words[1] if len(words) > 1 else ""
            if section not in ("NAME", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA"):
                raise InputError(f"a section {section} is not expected")
        elif section == "ROWS":
            if words[0] == "N":
                _once(model.objective == "")
                model.objective = words[1]
            else:
                _once(words[1] not in model.kinds)
                model.kinds[words[1]] = words[0]
        elif section == "COLUMNS" and words[1] == "'MARKER'":
            inside = words[2] == "'INTORG'"
        elif section == "COLUMNS":
            entries = model.columns.setdefault(words[0], {})
            for row, number in _pairs(words[1:]):
                _once(row not in entries)
                entries[row] = exact(number)
            if inside:
                model.integer.add(words[0])
        elif section == "RHS":
            for row, number in _pairs(words[1:]):
                _once(row not in model.sides)
                if row == model.objective:
                    model.offset = -exact(number)
                else:
                    model.sides[row] = exact(number)
        elif section == "RANGES":
            model.ranges.update({row: exact(number) for row, number in _pairs(words[1:])})
        elif section == "BOUNDS":
            _bound(model, words)
    if section != "ENDATA":
        raise InputError("the file does not end with ENDATA")
    return model


def _once(new: bool) -> None:
    """Solvers add up what is said twice, or take the first of it, or the last."""
    if not new:
        raise InputError("the model says something twice")


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    return zip(words[::2], words[1::2], strict=True)


def _bound(model: ExactModel, words: list[str]) -> None:
    kind, column = words[0], words[2]
    value = exact(words[3]) if len(words) > 3 else None
    match kind:
        case "UP":
            model.upper[column] = value
        case "LO":
            model.lower[column] = value
        case "FX":
            model.lower[column] = model.upper[column] = value
        case "MI":
            model.lower[column] = None
        case "FR":
            model.lower[column] = model.upper[column] = None
        case "PL":
            model.upper[column] = None
        case _:
            raise InputError(f"a bound {kind} is not expected")


def solution_lines(value: Exact, point: Mapping[str, Exact]) -> Iterator[str]:
    """A solution in MIPLIB's format: the objective, and each variable that is not 0, as a decimal number where there is
    one, else as a fraction."""
    yield f"=obj= {value}\n"
    for column, number in point.items():
        decimal = repr(float(number))
        fraction = isinstance(number, int) or Fraction(decimal) != number
        yield f"{column} {number if fraction else decimal}\n"


def read_solution_lines(text: str) -> tuple[Exact, dict[str, Exact]]:
    """The objective and the point of a solution file. Raises InputError for a file that is none."""
    first, *others = [line.split() for line in text.splitlines() if line.strip()] or [[]]
    if first[:1] != ["=obj="] or any(len(words) != 2 for words in (first, *others)):
        raise InputError("a solution file begins with =obj= and has a variable and its value in each line")
    point = {name: exact(number) for name, number in others}
    if len(point) < len(others):
        raise InputError("a solution file gives a variable two values")
    return exact(first[1]), point
