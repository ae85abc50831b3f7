"""Paths of the files that a session has read, as they are seen from the folder of its result."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RAN_IN = "ran_in"  # key of result.json: where the session ran, seen from the folder
DATABASES = ("sqlite:///", "duckdb:///")


def ran_in(folder: Path) -> str:
    """The current directory, seen from a folder; itself where there is no way, as between drives of Windows."""
    return from_folder(".", Path.cwd(), folder)


def base_of(described: Mapping[str, Any], folder: Path) -> Path:
    """Where the paths of a `result.json` begin: where the session ran, or here, where the object does not say so."""
    where = described.get(RAN_IN)
    return folder / where if isinstance(where, str) else Path.cwd()


def from_folder(path: str, base: Path, folder: Path) -> str:
    """A path that was given in one directory as it is seen from another; what is absolute stays as it is."""
    if Path(path).is_absolute():
        return path
    whole = os.path.realpath(base / path)
    try:
        return Path(os.path.relpath(whole, os.path.realpath(folder))).as_posix()
    except ValueError:
        return whole


def seen_from(described: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The object of `result.json` with the paths of files as they are seen from the folder of the result."""
    found, base = copy.deepcopy(dict(described)), base_of(described, folder)
    for entry in _entries(found):
        if isinstance(entry.get("file"), str):
            entry["file"] = from_folder(entry["file"], base, folder)
    table = found["input"]["table"]
    for start in DATABASES:
        if table.get("query") is not None and str(table["source"]).startswith(start):
            table["source"] = start + from_folder(table["source"].removeprefix(start), base, folder)
    return found


def _entries(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Everything in it that names a file."""
    given = found["input"]
    parts = [given.get("model"), given["table"], given["mask"], *given["hierarchies"].values(), *given["distances"]]
    yield from (part for part in [*parts, found.get("certificate")] if part is not None)
