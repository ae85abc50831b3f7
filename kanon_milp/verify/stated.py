"""Requirements as a certificate states them: read strictly, each number once and exact.

What is read here is what the bound is proven from and what the statement prints, so a certificate cannot prove one
thing and say another. Requirements of a user's own are not stated: what they ask for cannot be recomputed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from kanon_milp.errors import InputError, term

EXACT = re.compile(r"[0-9]{1,1000}(/[0-9]{1,1000})?")
K_ANONYMITY = "k_anonymity"
Stated = dict[str, Any]  # name, and parameters in plain data; numbers that need not be integers as exact text
_Read = Callable[[object], object]


def exact(value: object) -> Fraction:
    """A number as exact text; raises ValueError for anything else."""
    if not isinstance(value, str) or not EXACT.fullmatch(value):
        raise ValueError
    return Fraction(value)


def integer(value: object) -> int:
    """An integer from 1 on; raises ValueError for anything else."""
    if type(value) is not int or value < 1:
        raise ValueError
    return value


def _shortest(value: object) -> str:
    return str(exact(value))


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _names(value: object) -> list[str]:
    if not isinstance(value, list) or not value:
        raise ValueError
    return [_name(each) for each in value]


def _one_or_more(value: object) -> object:
    return _names(value) if isinstance(value, list) else _name(value)


def _one_of(*known: str) -> _Read:
    def read(value: object) -> object:
        if value not in known:
            raise ValueError
        return value

    return read


PARAMETERS: dict[str, dict[str, _Read]] = {
    K_ANONYMITY: {"k": integer, "quasi_identifiers": _names},
    "p_sensitivity": {"p": integer, "sensitive": _name},
    "l_diversity": {
        "l": _shortest,
        "form": _one_of("frequency", "distinct", "blocki-williams"),
        "sensitive": _one_or_more,
    },
    "alpha_k_anonymity": {"alpha": _shortest, "alpha_k": integer, "sensitive": _name, "values": integer},
    "beta_likeness": {"beta": _shortest, "sensitive": _name},
    "delta_disclosure": {
        "delta": _shortest,
        "log": _one_of("natural", "base2"),
        "absent": _one_of("violation", "ignored"),
        "sensitive": _name,
    },
    "t_closeness": {
        "t": _shortest,
        "distance": _one_of("equal", "ordered", "numeric", "hierarchical", "matrix"),
        "form": _one_of("short", "transport"),
        "sensitive": _name,
    },
}
OPTIONAL = {(K_ANONYMITY, "quasi_identifiers"), ("alpha_k_anonymity", "values")}


def read_requirement(data: Mapping[str, Any]) -> Stated:
    """Check what is stated, and nothing beside it; raises InputError."""
    name = data.get("name")
    if not isinstance(name, str) or name not in PARAMETERS:
        raise InputError("the certificate states a requirement that is not known here")
    readers = PARAMETERS[name]
    try:
        if not data.keys() <= {"name", *readers}:
            raise ValueError
        return {"name": name} | {
            key: read(data[key]) for key, read in readers.items() if key in data or (name, key) not in OPTIONAL
        }
    except (KeyError, ValueError, ZeroDivisionError):
        raise InputError(f"the parameters of {name} cannot be read") from None


def once(described: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that give a number twice, as `t` and exactly as `t_exact`, with the exact number as `t` alone.

    Raises InputError where the two are not the same.
    """
    found = dict(described)
    for key in [key for key in found if key.endswith("_exact")]:
        text, short = found.pop(key), key.removesuffix("_exact")
        try:
            number = exact(text)
            shown = int(number) if number.denominator == 1 else float(number)
        except (ValueError, ArithmeticError):
            raise InputError(f"{key} of {found.get('name')} is not an exact number") from None
        given = found.get(short)
        if type(given) not in (int, float) or given != shown:
            raise InputError(f"{short} and {key} of {found.get('name')} are not the same number")
        found[short] = text
    return found


def stated(requirements: Iterable[Any]) -> list[Stated]:
    """The requirements of a problem as a certificate states them, those of a user's own left out.

    A subclass is a user's own whatever its name says, and so is t-closeness in a distance of the user's own.
    """
    return [
        read_requirement(once({"name": each.name, **each.describe()}))
        for each in requirements
        if _own(each) and _own(getattr(each, "distance", "equal"))
    ]


def spelled(requirement: Stated) -> str:
    """A requirement in words, from the very numbers that are proven with."""
    parameters = ", ".join(f"{key} = {value}" for key, value in requirement.items() if key != "name")
    return f"{term(requirement['name'])} ({parameters})"


def _own(thing: object) -> bool:
    """Whether it comes with this package."""
    return isinstance(thing, str) or type(thing).__module__.partition(".")[0] == __name__.partition(".")[0]
