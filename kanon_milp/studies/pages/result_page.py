"""The report of one result: for a data owner to sign off, and for a reviewer to check. It shows numbers of rows, and
no cell of the table unless a sample is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any

import polars as pl

from kanon_milp.errors import counted
from kanon_milp.problem.csv_files import text_of, without_text
from kanon_milp.problem.exact import in_words
from kanon_milp.studies.pages import pictures
from kanon_milp.studies.pages.elements import Cell, Head, command, facts, figure, number, share, table
from kanon_milp.studies.pages.measures_part import columns_part, groups_part, risk_part
from kanon_milp.studies.pages.skeleton import Section, page
from kanon_milp.studies.pages.verify_command import in_library, verify_command
from kanon_milp.studies.pages.wording import (
    ASKED,
    RECODINGS,
    amount,
    marks,
    optimized,
    proof_sentence,
    requirement_sentence,
)
from kanon_milp.system.clock import COMPILE
from kanon_milp.system.markup import Markup, join, tag

KEPT = ("", "unchanged")  # states of files: nobody has looked, or they are as they were


@dataclass(frozen=True)
class FileState:
    """A file that was read or written. state: what is there now, such as "unchanged", as far as somebody has looked."""

    what: str
    path: str
    sha256: str | None
    state: str = ""


def result_page(
    described: Mapping[str, Any],
    *,
    title: str,
    anonymized: str | None,
    files: Sequence[FileState],
    sample: pl.DataFrame | None = None,
    folder: str | None = None,
) -> str:
    """The page of a result.

    described: the object of `result.json`. anonymized: the file of the released table, None where none was written.
    sample: rows of the released table to show as they are. folder: what the folder of the result is called, from which
    all paths are seen; None where there is none, and they are as they were given.
    """
    measures = described.get("measures")
    changed = _changed(described, files)
    verdicts = [("files have changed", "bad")] if changed else marks(described)
    lead = join(
        [
            tag("ul", *(tag("li", word, class_=kind) for word, kind in verdicts), class_="marks"),
            tag("p", changed, class_="warn") if changed else "",
            tag("p", proof_sentence(described), class_="lead"),
            join(tag("p", f"Warning: {each}", class_="warn") for each in described["warnings"]),
        ]
    )
    sections = [Section("What was asked", _asked(described))]
    if measures is not None:
        sections += [
            Section("What was released", _released(described, measures)),
            Section("Risk of re-identification", risk_part(measures)),
            Section("Loss by column", columns_part(described, measures)),
            Section("Group sizes", groups_part(measures)),
        ]
    sections.append(Section("Gap over time", _gap(described)))
    if sample is not None:
        sections.append(Section("Sample of the released table", _sample(sample)))
    sections += [
        Section("How to verify", _verify(described, anonymized, files, folder)),
        Section("How it was made", _made(described)),
    ]
    return page(title, lead, sections)


def _changed(described: Mapping[str, Any], files: Sequence[FileState]) -> str:
    """What to say where files that were written are no longer what they were; empty where they are."""
    written = [each.what for each in files if each.what in described.get("sha256", {}) and each.state not in KEPT]
    if not written:
        return ""
    verb, are = ("is", "It is") if len(written) == 1 else ("are", "They are")
    return (
        f"{_named(written)} {verb} not as written: changed since, or gone. {are} not what was verified; "
        "all that follows is about what was written then."
    )


def _asked(described: Mapping[str, Any]) -> Markup:
    problem, given = described["problem"], described["input"]
    roles = problem["roles"]
    about = set(chain.from_iterable(_attributes(each) for each in problem["requirements"]))
    protected = [name for name in roles["sensitive"] if name in about]
    bare = [name for name in roles["sensitive"] if name not in about]
    unit = _named(roles.get("unit", []))
    recoding = RECODINGS.get(problem["recoding"], problem["recoding"])
    if problem["patterns"] is not None:
        recoding += f"; {counted(problem['patterns'], 'pattern')} allowed"
    sides = [
        f"a loss of at most {problem['cost_bound']}" if problem["cost_bound"] is not None else "",
        f"at least {counted(problem['min_groups'], 'group')}" if problem["min_groups"] is not None else "",
        f"at most {counted(problem['max_groups'], 'group')}" if problem["max_groups"] is not None else "",
        "fully suppressed rows need no partners" if problem["suppressed_rows"] == "exempt" else "",
    ]
    goals = {"loss": "least loss", "min_groups": "fewest groups", "max_groups": "most groups"}
    extended = described.get("extended")
    model = given.get("model")
    weights = ", ".join(f"{name} {weight}" for name, weight in given["weights"].items())
    return facts(
        [
            ("model file", None if model is None else model["file"]),
            ("table", f"{given['table']['source']}: {counted(problem['n'], 'row')}, {problem['t_in']:,} distinct"),
            ("requirements", tag("div", *(tag("div", requirement_sentence(each)) for each in problem["requirements"]))),
            ("changed", f"quasi-identifiers {_named(roles['quasi_identifiers'])}"),
            ("protected", f"sensitive {_named(protected)}" if protected else ""),
            ("not protected", f"sensitive {_named(bare)}: no requirement is about it" if bare else ""),
            ("unit of protection", unit and f"{unit}: k counts its different values, not rows; it is removed"),
            ("removed", _named(roles["identifying"]) and f"identifying {_named(roles['identifying'])}"),
            ("kept as they are", _named([*roles["insensitive"], *roles["unclassified"]])),
            ("how", recoding),
            ("weights", weights),
            ("goal", goals.get(problem["objective"], optimized(described))),
            ("extended model", "" if not extended else extended["words"]),
            ("also", ", ".join(filter(None, sides))),
        ]
    )


def _attributes(requirement: Mapping[str, Any]) -> list[str]:
    """The sensitive attributes that a requirement is about, as `result.json` has them."""
    named = requirement.get("sensitive") or []
    return [named] if isinstance(named, str) else list(named)


def _named(names: Sequence[str]) -> str:
    return ", ".join(names)


def _released(described: Mapping[str, Any], measures: Mapping[str, Any]) -> Markup:
    problem, quality, after = described["problem"], measures["quality"], measures["risk"]["after"]
    cells = problem["n"] * problem["m"]
    apart = 0 < after["suppressed_rows"] < problem["n"]
    what, loss = optimized(described), described.get("loss")
    objective = what if what == "loss" else f"{what} (what was optimized)"
    within = " in the extended model" if described.get("extended") else ""
    gap = f"proven{within}" if described["proof"] == "optimal" else f"bound {amount(described['bound'])}{within}"
    shown = [
        (objective, amount(described["objective"]), gap),
        *([("loss", amount(loss), "not what was optimized")] if what != "loss" and loss is not None else []),
        (
            "suppressed cells",
            share(described["suppressed_cells"] / cells),
            f"{described['suppressed_cells']:,} of {cells:,}",
        ),
        ("groups", f"{quality['groups']:,}", f"{quality['h_avg']:.1f} rows on average"),
        (
            "smallest group",
            f"{after['smallest']:,}",
            f"rows that look the same{', fully suppressed ones apart' * apart}",
        ),
    ]
    tiles = [tag("div", tag("dt", what), tag("dd", value, tag("small", note))) for what, value, note in shown]
    rows = [
        ["precision (1: nothing lost)", quality["precision"]],
        ["normalized certainty penalty, NCP (0: nothing lost)", quality["certainty_penalty"]],
        ["entropy lost, as a share of all", quality["entropy_loss"]],
        ["discernibility, Σ |group|²", Cell(number(quality["discernibility"]), quality["discernibility"])],
        ["average class size, rows per group / k", quality["class_size"]],
    ]
    header = [Head("measure"), Head("value", "number", 3)]
    held = [[each["name"], each["p"], each["l"], each["alpha"], each["t"]] for each in measures.get("sensitive", ())]
    heads = [
        Head("sensitive attribute"),
        Head("fewest values", "number"),
        Head("l", "number", 2),
        Head("largest share", "number", 3),
        Head("t", "number", 3),
    ]
    caption = (
        "What holds in every group: fewest different values (p), l of frequency l-diversity, largest share of one "
        "value, largest distance to the whole table (t, equal distance)"
    )
    return join(
        [
            tag("dl", *tiles, class_="figures"),
            table("Measures of information loss that studies compare by", header, rows),
            table(caption, heads, held) if held else "",
        ]
    )


def _gap(described: Mapping[str, Any]) -> Markup:
    """Incumbent and bound over time."""
    points = described["trajectory"]
    seconds = max([described["seconds"]["total"], *(point[0] for point in points)])
    upper = [(at, value) for at, value, _ in points if value is not None]
    lower = [(at, value) for at, _, value in points if value is not None]
    if not upper and not lower:
        return tag("p", f"Nothing was told on the way; the session took {seconds:.2f} s.", class_="quiet")
    lines = [pictures.Steps("best table", upper)] * bool(upper) + [pictures.Steps("bound", lower, True)] * bool(lower)
    last = f"best table {amount(described['objective'])}, bound {amount(described['bound'])}"
    no = "No solution of the extended model" if described.get("extended") else ASKED.capitalize()
    said = f"Incumbent and bound over {seconds:.2f} seconds; at the end: {last}."
    picture = pictures.steps(lines, seconds, "seconds", optimized(described), said)
    caption = (
        f"The best table so far (line) and the proven bound (dashed) over time; at the end: {last}. {no} can be "
        "beyond the bound, so where both meet the table is the best possible."
    )
    header = [Head("seconds", "number", 3), Head("best table", "number", 2), Head("bound", "number", 2)]
    return figure(
        picture, "gap over time", caption, table("Incumbent and bound over time", header, points, first=False)
    )


def _sample(sample: pl.DataFrame) -> Markup:
    # lists and structures have no text
    odd = set(without_text(sample))
    columns = [["…"] * sample.height if each.name in odd else text_of(each.alias("")).to_list() for each in sample]
    rows = [
        [number_, *("" if cell is None else cell for cell in cells)]
        for number_, *cells in zip(range(1, sample.height + 1), *columns, strict=True)
    ]
    header = [Head("row", "number"), *(Head(name) for name in sample.columns)]
    return table(f"The first {counted(sample.height, 'row')} as released", header, rows)


def _verify(
    described: Mapping[str, Any], anonymized: str | None, files: Sequence[FileState], folder: str | None
) -> Markup:
    parts: list[Markup] = []
    proof = described.get("certificate")
    file = None if proof is None else proof["file"]
    if proof is not None:
        bound = in_words(Fraction(proof["bound"]))
        said = (
            f"The certificate {file} proves that no table that is made in this way and meets the requirements has a "
            f"loss below {bound}, to whoever has the original table: it is checked in integers, without a solver and "
            "without this package's optimizer. Its SHA-256 is below."
        )
        parts.append(tag("p", said))
        if described["verified"] is not True:
            line, word = verify_command(described, None, file)
            parts.append(command(line) if line is not None else tag("p", f"No command states this problem: {word}."))
            parts += [_where(described, files, folder)] * (line is not None)
    if described["verified"] is True:
        line, word = verify_command(described, anonymized or "anonymized.csv", file)
        if line is not None:
            both = "" if file is None else ", and the certificate"
            said = f"This checks the released table again, exactly and without a solver, against the original{both}:"
            parts += [tag("p", said), command(line), _where(described, files, folder)]
            if anonymized is None:
                parts.append(tag("p", "anonymized.csv stands for the released table.", class_="note"))
            parts += [tag("p", word, class_="note")] * bool(word)
        else:
            said = f"The command line cannot state this problem ({word}). In Python, on the released data frame:"
            parts += [
                tag("p", said),
                command(
                    "import kanon_milp as km",
                    "print(km.verify(problem, released).summary())",
                    *([] if file is None else [f"print(km.check_certificate(problem, {file!r}).summary())"]),
                ),
            ]
    if own := described["judged_by_their_own_code"]:
        parts.append(tag("p", f"Judged by their own code, not by a definition of the verifier: {', '.join(own)}."))
    rows = [[each.what, tag("code", each.path), tag("code", each.sha256 or "–"), each.state or "–"] for each in files]
    header = [Head("file"), Head("path"), Head("SHA-256"), Head("now")]
    if not any(each.state for each in files):
        header, rows = header[:-1], [row[:-1] for row in rows]
    if rows:
        parts.append(table("Files that were read and written, with the hash of their content", header, rows))
    return join(parts)


def _where(described: Mapping[str, Any], files: Sequence[FileState], folder: str | None) -> Markup:
    """From where the command works, and what somebody needs who got the folder of the result alone."""
    if folder is None:
        said = "Paths are as they were given: run it in the directory in which the problem was solved."
        return tag("p", said, class_="note")
    inside = {"certificate", *described.get("sha256", {})}
    given = [each.path for each in files if each.what not in inside and not in_library(each.path)]
    said = f"Run it in the folder of this result, {folder}, where result.json is: paths are seen from there."
    if given:
        said += (
            f" What was read is not part of it: {', '.join(given)}. Who got the folder alone needs that from the owner "
            "of the data, and names its place instead; the SHA-256 below says whether it is the same."
        )
    return tag("p", said, class_="note")


def _made(described: Mapping[str, Any]) -> Markup:
    solver, seconds, sizes = described["solver"], described["seconds"], described["sizes"]
    package = described["package"]
    options = ", ".join(f"{key} = {value}" for key, value in solver["options"].items() if value is not None)
    after = sizes["after"]
    model = (
        f"{counted(after['variables'], 'variable')}, {counted(after['constraints'], 'constraint')}"
        if after["variables"]
        else "none"
    )
    told = facts(
        [
            ("package", f"{package['name']} {package['version']}"),
            ("solver", f"{solver['name']} {solver['version']}".strip()),
            ("method", f"{solver['method']}, formulation {solver['formulation']}"),
            ("options", options),
            ("seed, threads", f"{solver['seed']}, {solver['threads']}"),
            ("candidates", f"{after['candidates']:,} of {sizes['before']['candidates']:,} after reductions"),
            ("model", model),
            ("why it stopped", described["stop_reason"].replace("_", " ")),
            ("note", described["message"]),
        ]
    )
    header = [Head("step"), Head("seconds", "number", 3)]
    steps = [("compiling, within the steps" if step == COMPILE else step, spent) for step, spent in seconds.items()]
    return join([told, tag("details", tag("summary", "Seconds by step"), table("Seconds by step", header, steps))])
