"""What the campaign of hostile files does to a model file and to a CSV file."""

from __future__ import annotations

import copy
import math
import random
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

HUGE = "9" * 400
ODD_TEXT = [
    "",
    " ",
    "*",
    "^age$",
    "\x00",
    "\u202e",
    "é",
    "𝒜",
    "a" * 5000,
    "../../x",
    "1e99999999",
    HUGE,
    "-3",
    "0",
    "nan",
]
ODD_TEXT += [
    "=cmd()",
    "\x1b[31mred",
    "[/ref]",
    "a,b;c\td",
    '"',
    "1/0",
    "3/2",
    "\ufeff",
    "a\nb",
    "highs",
    "*" * 300,
    "0",
    "nan",
]
ODD_VALUES: list[Any] = [
    *(*ODD_TEXT, True, False, 0, 1, -1, -3, 2, 10**9, 2**63, -(2**63), 10**30, 0.1, 1.5, 1e308, 5e-324),
    *(math.inf, -math.inf, math.nan, [], {}, [[]], [[[[1]]]], ["a"], [1, "a", {}], {"a": {"b": {}}}, ["x"] * 500),
]
KEYS = [
    "k",
    "l",
    "t",
    "p",
    "rows",
    "alpha",
    "delta",
    "distance",
    "mask",
    "optimum",
    "time_limit",
    "name",
    "x" * 5000,
    "",
]
KEYS += ["privacy", "data", "é", "a.b", "quasi_identifiers", "sensitive", "file", "delimiter", "encoding", ""]


def places(data: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in nested tables and lists."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*place, key)
        yield from places(value, (*place, key))


def owner(data: Any, place: tuple[Any, ...]) -> Any:
    for key in place[:-1]:
        data = data[key]
    return data


def changed_model(text: str, draw: random.Random) -> bytes:
    """A model file with one to three entries changed, or with its text changed."""
    if draw.random() < 0.25:
        return changed_bytes(text.encode(), draw)
    data = copy.deepcopy(tomllib.loads(text))
    for _ in range(draw.randint(1, 3)):
        found = list(places(data))
        if not found:
            break
        place = draw.choice(found)
        inside, key = owner(data, place), place[-1]
        match draw.randrange(6):
            case 0:
                del inside[key]
            case 1 if isinstance(inside, dict):
                inside[draw.choice(KEYS)] = inside.pop(key)
            case 2 if isinstance(inside, dict):
                inside[draw.choice(KEYS)] = copy.deepcopy(draw.choice(ODD_VALUES))
            case 3:
                other = draw.choice(found)
                inside[key] = copy.deepcopy(owner(data, other)[other[-1]]) if other[: len(place)] != place else []
            case _:
                inside[key] = copy.deepcopy(draw.choice(ODD_VALUES))
    return toml_text(data).encode("utf-8", "surrogatepass")


def toml_text(data: dict[str, Any]) -> str:
    return "".join(f"{quoted(key)} = {toml_value(value)}\n" for key, value in data.items())


def toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)} = {toml_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else str(value)


def quoted(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in plain) + '"'


def changed_bytes(data: bytes, draw: random.Random) -> bytes:
    """A file of any kind with some of its bytes, lines or its encoding changed."""
    lines = data.splitlines(keepends=True) or [b""]
    at = draw.randrange(len(data) + 1)
    odd = [
        b"\x00",
        b'"',
        b"'",
        b"\xff\xfe",
        b"\r",
        b"\n\n",
        b"\x1b[2J",
        b"[" * 10_000,
        b"\xed\xa0\x80",
        b",",
        b";",
        b"=1+1",
    ]
    match draw.randrange(8):
        case 0:
            return data[:at]
        case 1:
            flipped = bytearray(data)
            for _ in range(draw.randint(1, 20) if data else 0):
                flipped[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            return bytes(flipped)
        case 2:
            return data[:at] + draw.choice(odd) + data[at:]
        case 3:
            del lines[draw.randrange(len(lines))]
        case 4:
            lines.insert(draw.randrange(len(lines) + 1), draw.choice(lines))
        case 5:
            draw.shuffle(lines)
        case 6:
            encoding = draw.choice(["utf-16", "utf-32", "utf-8-sig", "utf-7"])
            return data.decode("utf-8", "replace").encode(encoding)
        case _:
            return data.replace(b"\n", draw.choice([b"\r\n", b"\r", b"", b"\n\n"]))
    return b"".join(lines)


Change = Callable[[list[list[str]], random.Random], object]


def _cell(rows: list[list[str]], draw: random.Random, text: str) -> None:
    row = draw.choice(rows)
    row[draw.randrange(len(row))] = text


def changed_csv(table: list[list[str]], draw: random.Random) -> bytes:
    """A table as CSV with one to three things wrong with it. table: header and rows."""
    rows = copy.deepcopy(table)
    changes: list[Change] = [
        lambda rows, draw: _cell(rows, draw, draw.choice(ODD_TEXT).replace("\n", " ")),
        lambda rows, draw: _cell(rows, draw, '"' + "quoted" * draw.randrange(3)),
        lambda rows, draw: _cell(rows, draw, "long" * 60_000),
        lambda rows, _: rows.pop(0),  # no header
        lambda rows, draw: rows.__delitem__(slice(draw.randrange(1, len(rows)), None)),
        lambda rows, draw: draw.choice(rows).append("more"),
        lambda rows, draw: draw.choice(rows).pop(),
        lambda rows, draw: rows.insert(draw.randrange(len(rows)), [""]),
        lambda rows, draw: rows[0].__setitem__(0, draw.choice([*rows[0], "", "*", "x" * 70_000])),
        lambda rows, draw: [row.extend(f"c{j}" for j in range(draw.choice([50, 3000]))) for row in rows],  # type: ignore[func-returns-value]
        lambda rows, _: [row.insert(0, row[-1]) for row in rows],  # type: ignore[func-returns-value]
    ]
    for _ in range(draw.choice([0, 1, 1, 2, 3])):
        if len(rows) > 1 and all(rows):
            draw.choice(changes)(rows, draw)
    delimiter = draw.choice([",", ",", ",", ",", ";", "\t", "|", " "])
    data = "".join(delimiter.join(row) + "\n" for row in rows).encode("utf-8", "surrogatepass")
    return changed_bytes(data, draw) if draw.random() < 0.6 else data
