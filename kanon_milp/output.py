"""Writing results: a file appears whole or not at all."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.result import Result

# C1 controls, marks that change the direction of writing, line separators, halves of characters; JSON escapes the rest
UNSAFE = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

FILES = ("anonymized.csv", "groups.csv", "result.json")


def check_folder(folder: Path) -> None:
    """Raise InputError if results could not be written to the folder; creates nothing."""
    nearest = folder
    try:
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
    except OSError as error:
        raise InputError(f"{folder}: cannot be an output folder ({error.strerror})") from None
    if not nearest.is_dir():
        raise InputError(f"{folder}: cannot be an output folder: {nearest} is a file")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written to; choose another output folder")


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a new file beside `path`, then rename it; nothing is left where that fails."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        write(beside)
        beside.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        beside.unlink(missing_ok=True)


def write_result(result: Result, folder: Path) -> None:
    """Write anonymized.csv and groups.csv if there is a verified table, then result.json.

    Files of an earlier run that this run does not have are removed, so that the folder always shows one run.
    """
    check_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            if result.table is None and name != "result.json":
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to ({error.strerror})") from None
    if result.table is not None and result.groups is not None:
        csv_format = result.problem.table.csv
        released = as_polars(result.table)
        text = csv_text(released, csv_format.delimiter).encode(csv_format.encoding)
        write_whole(folder / "anonymized.csv", lambda path: _write_bytes(path, text))
        numbers = pl.Series("row", range(1, len(result.groups) + 1), dtype=pl.Int64)
        groups = pl.DataFrame([numbers, pl.Series("group", result.groups)])
        write_whole(folder / "groups.csv", groups.write_csv)
    write_whole(folder / "result.json", lambda path: _write_bytes(path, json_text(result.as_dict()).encode()))


def csv_text(frame: pl.DataFrame, delimiter: str) -> str:
    """A frame as CSV: missing values as nothing, empty text as \"\", quotes only where needed."""
    return frame.write_csv(separator=delimiter)


def as_polars(table: Any) -> pl.DataFrame:
    """A data frame of any kind as polars."""
    frame: pl.DataFrame = nw.from_native(table, eager_only=True).to_polars()
    return frame


def json_text(value: Any) -> str:
    """JSON of plain numbers, texts and lists; a value that JSON has no word for is a defect and raises.

    What could steer a terminal, or is no character of its own, is written as JSON's \\u001b.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _write_bytes(path: Path, data: bytes) -> None:
    path.write_bytes(data)
