"""The report of one result as a page: of one that is at hand, or of a folder that `solve --out` has written."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from kanon_milp.errors import InputError, counted, type_in_words, unreadable
from kanon_milp.methods.description import sha256_of
from kanon_milp.methods.result import Result
from kanon_milp.problem.arguments import file_path, integer, text
from kanon_milp.problem.csv_files import CsvFormat
from kanon_milp.problem.exact import in_words
from kanon_milp.problem.table import read_frame
from kanon_milp.studies.output import CLAIM, FILES, PAGE, as_polars, base_of, described, from_folder, seen_from
from kanon_milp.studies.pages import page, share
from kanon_milp.studies.pages.protection import (
    answers,
    by_matches,
    levels,
    lost,
    promises,
    requirements,
    steps_of_ema,
)
from kanon_milp.studies.pages.samples import GROUPS_FILE, first_rows, of_folder, of_result
from kanon_milp.studies.pages.variants import VARIANTS, variants_page
from kanon_milp.studies.pages.wording import (
    ASKED,
    asked,
    further,
    in_library,
    marks,
    optimized,
    proof_sentence,
    verify_command,
)
from kanon_milp.system.files import check_target, write_file
from kanon_milp.system.text_tables import amount

RELEASED = [name for name in FILES if name.startswith("anonymized.")]
KEPT = ("", "unchanged")  # states of files: nobody has looked, or they are as they were
HELD = ("name", "p", "l", "alpha", "t")  # what holds of a sensitive attribute in every group
BARS = 40  # columns of a picture of group sizes


@dataclass(frozen=True)
class FileState:
    """A file that was read or written. state: what is there now, such as "unchanged", as far as somebody has looked."""

    what: str
    path: str
    sha256: str | None
    state: str = ""


def write_report(
    result: Result | Mapping[str, Result],
    path: str | Path,
    *,
    sample: int = 0,
    before_after: int = 0,
    title: str | None = None,
    author: str = "",
) -> None:
    """Write a result as one HTML page that needs no network: for a data owner to sign, and for a reviewer to check.

    result: that of `solve`; or several by name, which are compared side by side. sample: number of rows of the released
    table to show; by default no cell is shown. before_after: number of groups of which some rows are shown before and
    after. title: by default the problem's name. author: who asked for it, to be named on the page. Raises InputError if
    the page cannot be written.
    """
    target = file_path(path, "path of a report")
    rows, pairs = integer(sample, "sample", least=0), integer(before_after, "before_after", least=0)
    if title is not None:
        text(title, "title")
    if not isinstance(author, str) or author:
        text(author, "author")
    results = result if isinstance(result, Mapping) else {"": result}
    for each in results.values():
        if not isinstance(each, Result):
            raise InputError(f"write_report takes a Result, found {type_in_words(each)}; give it what solve returned")
    check_target(target)
    if isinstance(result, Mapping):
        if rows or pairs:
            raise InputError("write_report: sample and before_after are for one result; write its own page")
        html = variants_page({text(name, "a name"): described(each) for name, each in result.items()}, title, author)
        write_file(target, lambda file: file.write(html.encode()))
        return
    title = title or f"Anonymization of {result.problem.title}"
    content = page_of_result(result, described(result), None, title, author, sample=rows, before_after=pairs)
    write_file(target, lambda file: file.write(content))


def page_of_result(
    result: Result,
    found: Mapping[str, Any],
    folder: Path | None,
    title: str,
    author: str = "",
    *,
    sample: int = 0,
    before_after: int = 0,
) -> bytes:
    """What the file of a page holds, of a result whose object of `result.json` is at hand. folder: where it is written
    with the released table, None if it is not. sample, before_after: as in `write_report`."""
    shown = None if result.table is None or not sample else first_rows(as_polars(result.table).head(sample))
    files, pairs = _files(found, folder, look=False), of_result(result, before_after)
    return result_page(found, folder, files, title=title, sample=shown, pairs=pairs, author=author).encode()


def report_of_folder(
    folder: Path,
    path: Path | None = None,
    *,
    sample: int = 0,
    before_after: int = 0,
    title: str | None = None,
    author: str = "",
) -> list[FileState]:
    """Write the page of a folder that `solve --out` has written, `report.html` in it by default.

    Each file is held against its SHA-256 in `result.json`; returns what is there now of those that were written. Raises
    InputError for a folder without a `result.json` that can be read, and where rows before and after are asked for and
    a table is no longer what it was.
    """
    with _claim_of(folder) as found:
        files, anonymized, shown = _files(found, folder, look=True), _released_file(found, folder), None
        if anonymized is not None and sample:
            table = found["input"]["table"]
            shown = first_rows(
                read_frame(folder / anonymized, CsvFormat(table["delimiter"], table["encoding"])).head(sample)
            )
        if before_after:
            _expect_unchanged(files, {"table", anonymized, GROUPS_FILE})
        pairs = of_folder(found, folder, anonymized, before_after)
        title = title or f"Anonymization of {found['problem']['name']}"
        html = result_page(found, folder, files, title=title, sample=shown, pairs=pairs, author=author)
    target = folder / PAGE if path is None else path
    check_target(target)
    write_file(target, lambda file: file.write(html.encode()))
    return _written(found, files)


def report_of_folders(
    folders: Sequence[Path], path: Path | None = None, *, title: str | None = None, author: str = ""
) -> list[FileState]:
    """Write the page on which the results of several folders are compared, `variants.html` in the last one by default.
    Otherwise as `report_of_folder`."""
    found, states = {}, []
    for folder in folders:
        with _claim_of(folder) as each:
            files = _files(each, folder, look=True)
            states += _written(each, files)
            found[str(folder)] = seen_from(each, folder)
            html = variants_page(found, title, author) if len(found) == len(folders) else ""
    if not html:
        raise InputError(f"{folders[-1]}: is named twice; a result is compared with another one")
    target = folders[-1] / VARIANTS if path is None else path
    check_target(target)
    write_file(target, lambda file: file.write(html.encode()))
    return states


@contextlib.contextmanager
def _claim_of(folder: Path) -> Iterator[dict[str, Any]]:
    """The object of `result.json` in a folder; what is missing in it, or is of another kind, is said of the file."""
    from jinja2 import UndefinedError

    claim = folder / CLAIM
    try:
        yield json.loads(claim.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{claim}: there is no such file; name a folder that solve --out has written") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{claim}: {unreadable(error)}") from None
    except (KeyError, TypeError, AttributeError, IndexError, ArithmeticError, UndefinedError):
        raise InputError(f"{claim}: is not as solve --out writes it; solve again") from None


def _written(found: Mapping[str, Any], files: Sequence[FileState]) -> list[FileState]:
    """Of the files those that were written with `result.json`."""
    return [each for each in files if each.what in found.get("sha256", {})]


def _expect_unchanged(files: Sequence[FileState], needed: set[str | None]) -> None:
    known = {each.what: each for each in files}
    for what in sorted(filter(None, needed)):
        state = "not known" if what not in known else known[what].state
        if state != "unchanged":
            path = known[what].path if what in known else what
            raise InputError(f"rows before and after are read again, and {path} is {state}; solve again")


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
        *(("population", each) for each in given.get("populations", ())),
        ("certificate", found.get("certificate")),
    ]
    files = [(what, each["file"], each["sha256"]) for what, each in read if each is not None and each["file"]]
    if folder is None:
        return [FileState(what, path, digest) for what, path, digest in files]
    base = base_of(found, folder)
    files = [(what, from_folder(path, base, folder), digest) for what, path, digest in files]
    files += [(name, name, digest) for name, digest in found.get("sha256", {}).items()]
    states = []
    for what, path, digest in files:
        now = sha256_of(folder / path) if look else None
        seen = "not found" if now is None else "unchanged" if now == digest else "CHANGED"
        states.append(FileState(what, path, digest, seen if look else ""))
    return states


def result_page(
    found: Mapping[str, Any],
    folder: Path | None,
    files: Sequence[FileState],
    *,
    title: str,
    sample: Mapping[str, Any] | None = None,
    pairs: Mapping[str, Any] | None = None,
    author: str = "",
) -> str:
    """The page of a result.

    found: the object of `result.json`. folder: that of the result, from which all paths are seen; None where there is
    none, and they are as they were given. sample, pairs: cells to show, from `samples`. author: who asked.
    """
    date = datetime.now(UTC).date().isoformat()
    described = found if folder is None else seen_from(found, folder)
    anonymized = _released_file(found, folder)
    measures = described.get("measures")
    changed = _changed(described, files)
    answered = answers(described)
    sections = ["Protection", *(["Three questions", "EMA Policy 0070"] if answered else []), "What was asked"]
    if measures is not None:
        sections += ["What was released", "Risk of re-identification", "Loss by column", "Group sizes"]
    sections += ["Gap over time", *(["Before and after"] if pairs is not None else [])]
    sections += ["Sample of the released table"] if sample is not None else []
    proof, inside = described.get("certificate"), {"certificate", *described.get("sha256", {})}
    return page(
        "result.html",
        title=title,
        sections=[*sections, "How to verify", "How it was made", "Signatures"],
        author=author,
        date=date,
        promises=promises(described),
        lost=lost(described),
        required=requirements(described),
        answers=answered,
        steps_of_ema=steps_of_ema(described) if answered else [],
        levels=levels(described),
        d=described,
        m=measures,
        matching=measures is not None and by_matches(measures),
        verdicts=[("files have changed", "bad")] if changed else marks(described),
        changed=changed,
        proof=proof_sentence(described),
        asked=asked(described),
        tiles=[] if measures is None else _tiles(described, measures),
        held=[[each[key] for key in HELD] for each in (measures or {}).get("sensitive", ())],
        bars=[] if measures is None else binned(measures["group_sizes"]),
        gap=_gap(described),
        sample=sample,
        pairs=pairs,
        certificate=None if proof is None else _certificate(proof),
        check=_check(described, anonymized),
        anonymized=anonymized,
        files=files,
        folder=None if folder is None else folder.resolve().name,
        read=[each.path for each in files if each.what not in inside and not in_library(each.path)],
        made=_made(described),
        steps=list(described["seconds"].items()),
    )


def _changed(described: Mapping[str, Any], files: Sequence[FileState]) -> str:
    """What to say where files that were written are no longer what they were; empty where they are."""
    written = [each.what for each in files if each.what in described.get("sha256", {}) and each.state not in KEPT]
    if not written:
        return ""
    verb, are = ("is", "It is") if len(written) == 1 else ("are", "They are")
    return (
        f"{', '.join(written)} {verb} not as written: changed since, or gone. {are} not what was verified; "
        "all that follows is about what was written then."
    )


def _tiles(described: Mapping[str, Any], measures: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    problem, quality, after = described["problem"], measures["quality"], measures["risk"]["after"]
    cells = problem["n"] * problem["m"]
    except_gone = ", fully suppressed ones apart" * (0 < after["suppressed_rows"] < problem["n"])
    found, alike = described["groups"], "row, like no other" if after["smallest"] == 1 else "rows that look the same"
    what, loss = optimized(described), described.get("loss")
    within = " in the extended model" if described.get("extended") else ""
    gap = f"proven{within}" if described["proof"] == "optimal" else f"bound {amount(described['bound'])}{within}"
    suppressed = described["suppressed_cells"]
    return [
        (what if what == "loss" else f"{what} (what was optimized)", amount(described["objective"]), gap),
        *(
            [
                (
                    "loss",
                    amount(loss),
                    "not what was optimized" if "loss" not in further(described) else "optimized after it",
                )
            ]
            if what != "loss" and loss is not None
            else []
        ),
        ("suppressed cells", share(suppressed / cells), f"{suppressed:,} of {cells:,}"),
        *(
            [
                ("different released rows", f"{found['count']:,}", f"{found['mean']:.2f} rows match each on average"),
                ("fewest that match a row", f"{after['smallest']:,}", f"rows, itself included{except_gone}"),
            ]
            if by_matches(measures)
            else [
                ("groups", f"{quality['groups']:,}", f"{quality['h_avg']:.2f} rows on average"),
                ("smallest group", f"{after['smallest']:,}", f"{alike}{except_gone}"),
            ]
        ),
    ]


def binned(sizes: Sequence[Sequence[int]]) -> list[tuple[str, int]]:
    """(title, groups) for each size; where there are many sizes, for ranges of them that grow by the same factor."""
    first, last = sizes[0][0], sizes[-1][0]
    counts = {size: groups for size, groups in sizes}  # noqa: C416  (pairs are lists)
    if last - first < BARS:
        return [(f"{size:,}", counts.get(size, 0)) for size in range(first, last + 1)]
    factor, edges = (last / first) ** (1 / 16), [first]
    while edges[-1] <= last:
        edges.append(max(edges[-1] + 1, round(edges[-1] * factor)))
    found = []
    for low, high in itertools.pairwise(edges):
        title = f"{low:,}" if high == low + 1 else f"{low:,}–{high - 1:,}"
        found.append((title, sum(count for size, count in sizes if low <= size < high)))
    return found


def _gap(described: Mapping[str, Any]) -> dict[str, Any]:
    points = described["trajectory"]
    return {
        "seconds": max([described["seconds"]["total"], *(point[0] for point in points)]),
        "upper": [(at, value) for at, value, _ in points if value is not None],
        "lower": [(at, value) for at, _, value in points if value is not None],
        "objective": amount(described["objective"]),
        "bound": amount(described["bound"]),
        "what": optimized(described),
        "nothing": "No solution of the extended model" if described.get("extended") else ASKED.capitalize(),
    }


def _certificate(proof: Mapping[str, Any]) -> dict[str, Any]:
    bound = Fraction(proof["bound"])
    return {**proof, "bound": in_words(bound), "trivial": not bound}


def _check(described: Mapping[str, Any], anonymized: str | None) -> dict[str, Any]:
    """How to check the table again, where there is one, and the certificate, where one was asked for."""
    file = None if described.get("certificate") is None else described["certificate"]["file"]
    released = (anonymized or "anonymized.csv") if described["verified"] is True else None
    line, word = verify_command(described, released, file) if released or file is not None else (None, "")
    python = [] if file is None else [f"print(km.check_certificate(problem, {file!r}).summary())"]
    return {"command": line, "word": word, "python": python}


def _made(described: Mapping[str, Any]) -> list[tuple[str, str]]:
    solver, sizes, package = described["solver"], described["sizes"], described["package"]
    after = sizes["after"]
    model = f"{counted(after['variables'], 'variable')}, {counted(after['constraints'], 'constraint')}"
    return [
        ("package", f"{package['name']} {package['version']}"),
        ("solver", f"{solver['name']} {solver['version']}".strip()),
        ("method", f"{solver['method']}, formulation {solver['formulation']}"),
        ("options", ", ".join(f"{key} = {value}" for key, value in solver["options"].items() if value is not None)),
        ("seed, threads", f"{solver['seed']}, {solver['threads']}"),
        ("candidates", f"{after['candidates']:,} of {sizes['before']['candidates']:,} after reductions"),
        ("model", model if after["variables"] else "none"),
        ("why it stopped", described["stop_reason"].replace("_", " ")),
        ("note", described["message"]),
    ]
