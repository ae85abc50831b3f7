"""Requirements as a certificate states them: read strictly, each number once and exact.

What is read here is what the bound is proven from and what the statement prints, so a certificate cannot prove one
thing and say another. Requirements of a user's own are not stated: what they ask for cannot be recomputed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kanon_milp.errors import InputError, term
from kanon_milp.verify.definitions import BY_NAME
from kanon_milp.verify.definitions.base import stated_number

K_ANONYMITY = "k_anonymity"
Stated = dict[str, Any]  # name, and parameters in plain data; numbers that need not be integer as exact text


def read_requirement(data: Mapping[str, Any]) -> Stated:
    """Check what is stated, and nothing beside it; raises InputError."""
    name = data.get("name")
    if not isinstance(name, str) or name not in BY_NAME:
        raise InputError("the certificate states a requirement that is not known here")
    known = BY_NAME[name]
    readers = known.parameters
    try:
        if not data.keys() <= {"name", *readers}:
            raise ValueError
        return {"name": name} | {
            key: read(data[key]) for key, read in readers.items() if key in data or key not in known.optional
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
            number = stated_number(text)
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
