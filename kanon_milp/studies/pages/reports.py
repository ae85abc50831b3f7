"""Writing the page of a result: of one that is at hand, or of a folder that `solve --out` has written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kanon_milp.errors import InputError, type_in_words, unreadable
from kanon_milp.methods.description import sha256_of
from kanon_milp.methods.result import Result
from kanon_milp.problem.arguments import file_path, integer, text
from kanon_milp.problem.csv_files import CsvFormat
from kanon_milp.problem.table import read_frame
from kanon_milp.studies.output import CLAIM, FILES, PAGE, as_polars, base_of, described, from_folder, seen_from
from kanon_milp.studies.pages.result_page import FileState, result_page
from kanon_milp.system.files import check_target, write_file

RELEASED = [name for name in FILES if name.startswith("anonymized.")]


def write_report(result: Result, path: str | Path, *, sample: int = 0, title: str | None = None) -> None:
    """Write a result as one HTML page that needs no network: for a data owner to sign off, and for a reviewer to check.

    sample: so many rows of the released table are shown; no cell is by default. title: default, the problem's name.
    Raises InputError where the page cannot be written.
    """
    if not isinstance(result, Result):
        raise InputError(f"write_report takes a Result, found {type_in_words(result)}; give it what solve returned")
    target = file_path(path, "path of a report")
    rows = integer(sample, "sample", least=0)
    if title is not None:
        text(title, "title")
    check_target(target)
    found = described(result)
    html = page_of_result(result, found, None, rows, title or f"Anonymization of {result.problem.title}")
    write_file(target, lambda file: file.write(html))


def page_of_result(result: Result, found: Mapping[str, Any], folder: Path | None, sample: int, title: str) -> bytes:
    """What the file of a page holds, of a result whose object of `result.json` is at hand. folder: where it is written
    with the released table, None if it is not."""
    released = None if result.table is None or not sample else as_polars(result.table).head(sample)
    html = result_page(
        found if folder is None else seen_from(found, folder),
        title=title,
        anonymized=_released_file(found, folder),
        files=_files(found, folder, look=False),
        sample=released,
        folder=None if folder is None else folder.resolve().name,
    )
    return html.encode()


def report_of_folder(folder: Path, path: Path | None = None, *, sample: int = 0) -> list[FileState]:
    """Write the page of a folder that `solve --out` has written, `report.html` in it by default.

    Each file is held against its SHA-256 in `result.json`; returns what is there now of those that were written. Raises
    InputError for a folder without a `result.json` that can be read.
    """
    claim = folder / CLAIM
    try:
        found = json.loads(claim.read_text(encoding="utf-8"))
        files = _files(found, folder, look=True)
        anonymized = _released_file(found, folder)
        shown = None
        if anonymized is not None and sample:
            table = found["input"]["table"]
            shown = read_frame(folder / anonymized, CsvFormat(table["delimiter"], table["encoding"])).head(sample)
        title = f"Anonymization of {found['problem']['name']}"
        html = result_page(
            seen_from(found, folder),
            title=title,
            anonymized=anonymized,
            files=files,
            sample=shown,
            folder=folder.resolve().name,
        )
    except FileNotFoundError:
        raise InputError(f"{claim}: there is no such file; name a folder that solve --out has written") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{claim}: {unreadable(error)}") from None
    except (KeyError, TypeError, AttributeError, IndexError, ArithmeticError):
        raise InputError(f"{claim}: is not as solve --out writes it; solve again") from None
    target = folder / PAGE if path is None else path
    check_target(target)
    write_file(target, lambda file: file.write(html.encode()))
    return [each for each in files if each.what in found.get("sha256", {})]


def _released_file(found: Mapping[str, Any], folder: Path | None) -> str | None:
    """The name of the released table in the folder, where it was written."""
    written = [name for name in RELEASED if name in found.get("sha256", {})]
    return written[0] if written and folder is not None else None


def _files(found: Mapping[str, Any], folder: Path | None, *, look: bool) -> list[FileState]:
    """The files that a session has read and written, as they are seen from the folder. look: what is there now, too."""
    given = found["input"]
    read = [
        ("model file", given.get("model")),
        ("table", given["table"]),
        ("pattern mask", given["mask"]),
        *((f"hierarchy of {name}", each) for name, each in given["hierarchies"].items()),
        *(("ground distance", each) for each in given["distances"]),
    ]
    read.append(("certificate", found.get("certificate")))
    files = [(what, each["file"], each["sha256"]) for what, each in read if each is not None and each["file"]]
    if folder is None:
        return [FileState(what, path, digest) for what, path, digest in files]
    base = base_of(found, folder)
    files = [(what, from_folder(path, base, folder), digest) for what, path, digest in files]
    files += [(name, name, digest) for name, digest in found.get("sha256", {}).items()]
    return [
        FileState(what, path, digest, _state(folder / path, digest) if look else "") for what, path, digest in files
    ]


def _state(path: Path, digest: str | None) -> str:
    now = sha256_of(path)
    if now is None:
        return "not found"
    return "unchanged" if now == digest else "CHANGED"
