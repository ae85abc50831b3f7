"""What callers pass, checked: each error says what was expected, what was found, and where it helps what to write."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from kanon_milp.errors import InputError, nearest, type_in_words

T = TypeVar("T")
V = TypeVar("V")


def wrong(what: str, expected: str, value: object) -> InputError:
    """The error for a value of another kind."""
    return InputError(f"{what}: {expected} is expected, found {type_in_words(value)}")


def instance_of(value: object, kind: Callable[..., T], what: str, expected: str) -> T:
    """Check that a value is an object of a class (abstract ones too, which is why `kind` is no type here)."""
    if not (isinstance(kind, type) and isinstance(value, kind)):
        raise wrong(what, expected, value)
    return cast(T, value)


def text(value: object, what: str) -> str:
    """Check a text."""
    return instance_of(value, str, what, "text")


def integer(value: object, what: str, least: int = 1) -> int:
    """Check an integer, also one of numpy."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        broken = isinstance(value, float | np.floating | Fraction | Decimal) and math.isfinite(value) and value % 1
        found = "a number with a fraction" if broken else type_in_words(value)
        raise InputError(f"{what} must be an integer, found {found}")
    if value < least:
        raise InputError(f"{what} must be at least {least}, found {value}")
    return int(value)


def real_number(value: object, what: str, expected: str = "a number") -> float:
    """Check a number that need not be exact, such as seconds; text is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise wrong(what, expected, value)
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{what}: the number is too large") from None


def one_of(value: Any, known: Sequence[str], what: str) -> None:
    """Check a choice."""
    if not (isinstance(value, str) and value in known):
        raise InputError(f"{what} must be one of {', '.join(known)}{nearest(str(value), list(known))}")


def file_path(value: object, what: str) -> Path:
    """A path, given as text or as a path."""
    if not isinstance(value, str | Path):
        raise wrong(what, "a path", value)
    if "\0" in str(value):
        raise InputError(f"{what}: no file can have a name with a zero character")
    return Path(value)


def exists(path: Path, check: Callable[[Path], bool] = Path.exists) -> bool:
    """Whether a path is there (`check`: and what it is); a name that no file can have, such as one too long, is not."""
    try:
        return check(path)
    except OSError:
        return False


def column_name(value: object, what: str) -> str:
    """The name of a column; data frames of pandas may number theirs, and 0 then reads as "0"."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise wrong(what, "the name of a column", value)
    return str(int(value))


def column_names(value: Any, what: str) -> tuple[str, ...]:
    """One name of a column, or several in their order."""
    if isinstance(value, str | int | np.integer):
        return (column_name(value, what),)
    return tuple(
        column_name(each, what) for each in listed(value, what, "the name of a column, or a list of such names")
    )


def listed(value: Any, what: str, expected: str) -> tuple[Any, ...]:
    """The members of a list, array or the like, but not of a text, a mapping, a data frame, or a set (of no order)."""
    if isinstance(value, str | bytes | Mapping | Set) or not isinstance(value, Iterable) or hasattr(value, "columns"):
        raise wrong(what, expected, value)
    try:
        return tuple(value)
    except TypeError:  # such as an array of no dimension
        raise wrong(what, expected, value) from None


def by_column(value: Any, what: str, read: Callable[[Any, str], V]) -> dict[str, V]:
    """A mapping from columns to something, which `read` checks and returns."""
    if not isinstance(value, Mapping):
        raise wrong(what, "a mapping from columns, such as {'age': ...},", value)
    named = {column_name(key, f"{what}: a key"): entry for key, entry in value.items()}
    if len(named) < len(value):
        raise InputError(f"{what}: a column is named twice, as text and as a number")
    return {name: read(entry, f'{what} of column "{name}"') for name, entry in named.items()}
