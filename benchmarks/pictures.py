"""The pictures of the documentation that show what the package does, from data that it brings: a report page, what
`inspect` prints, rows before and after, gap over time, the closure of a group.

    python benchmarks/pictures.py [NAME ...]        written to docs/pictures

Those of studies are made by `kanon-milp sweep` and `bench report`.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console

import kanon_milp as km
from kanon_milp.errors import counted
from kanon_milp.studies import display
from kanon_milp.studies.generators import synthetic_microdata
from kanon_milp.studies.model_files import library_folder
from kanon_milp.studies.pages.charts import files

PLACE = Path(__file__).resolve().parents[1] / "docs" / "pictures"
COLUMNS = ("sex", "age", "race", "education", "occupation", "disease")
INSPECTED, SOLVED, SECONDS = 1_000, 200, 40  # rows of tables, and the time limit
SANS = "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif"
INK, QUIET, ACCENT, PALE, RULE = "#1b2126", "#59646d", "#0b6a88", "#e4f0f4", "#c3cbd0"


def table(rows: int) -> km.Table:
    """Synthetic microdata."""
    return km.Table.from_frame(synthetic_microdata(rows, columns=COLUMNS), COLUMNS[:-1], COLUMNS[-1])


def solved(*others: km.Requirement) -> km.Result:
    """A table under k-anonymity and other requirements, with ages in intervals."""
    people = table(SOLVED)
    ages = km.Hierarchy.intervals(
        people.column("age"), [5, 10, 20], source='people.csv: column "age" (widths 5, 10, 20)'
    )
    problem = km.Problem(people, [km.KAnonymity(5), *others], km.Hierarchies({"age": ages}), name="people.csv")
    return km.solve(problem, time_limit=SECONDS)


def of_page(width: int, height: int, *parts: str, **asked: int) -> str:
    """Parts of a report page as SVG. parts: "header", or the anchor of a section."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        km.write_report(solved(km.LDiversity(2)), page, author="The registry", **asked)  # type: ignore[arg-type]
        html = page.read_text(encoding="utf-8")
    style = html.partition("<style>")[2].partition("</style>")[0].replace("(prefers-color-scheme: dark)", "not all")
    style = re.sub(r"(?m)^(html|body) \{", ".page {", style)
    shown = []
    for part in parts:
        begin, end = ("<header>", "</header>") if part == "header" else (f'<section><h2 id="{part}">', "</section>")
        inside = html.partition(begin)[2].partition(end)[0]
        shown.append(re.sub(r' (id|href|tabindex)="[^"]*"', "", begin + inside + end))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<style>{style} .page {{ max-width: none; height: {height}px; padding: 1.6rem; overflow: hidden; }} "
        ".page h2 { margin: 0 0 .8rem; border: none; padding: 0; } .page nav { margin-bottom: 1.6rem; }</style>"
        f'<foreignObject width="{width}" height="{height}"><div xmlns="http://www.w3.org/1999/xhtml" class="page">'
        f"{''.join(shown)}</div></foreignObject></svg>"
    )


def report() -> str:
    """The beginning of a report page."""
    return of_page(860, 960, "header", "protection")


def before_after() -> str:
    """Rows before and after, as on a report page."""
    return of_page(860, 490, "before-and-after", before_after=3)


def inspect() -> str:
    """What `kanon-milp inspect` prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        synthetic_microdata(INSPECTED, columns=COLUMNS).write_csv(path)
        found = km.inspect(path)
    console = Console(record=True, width=96, file=open(os.devnull, "w"))  # noqa: SIM115
    display.screen, before = (lambda: console), display.screen
    command = textwrap.wrap(found.command.replace(str(path), "people.csv"), 90, break_on_hyphens=False)
    display.show_inspection(replace(found, source="people.csv", command=" \\\n  ".join(command)))
    display.screen = before
    svg = console.export_svg(title="kanon-milp inspect people.csv", unique_id="inspect")
    return re.sub(r"(?s)@font-face \{.*?\}\s*", "", svg)  # which would be loaded from elsewhere


def gap() -> str:
    """Incumbent and bound over time, and the phases that ran."""
    return files(solved().plot())["svg"].decode()


def closure() -> str:
    """A group of the hospital table, and the lowest label that its rows share, column by column."""
    problem = km.read_model(library_folder() / "hospital_hierarchies.toml").problem
    result = km.solve(problem).require_optimal()
    assert result.groups is not None
    sizes = {group: result.groups.tolist().count(group) for group in set(result.groups.tolist())}
    rows = [at for at, group in enumerate(result.groups.tolist()) if group == min(sizes, key=lambda g: (sizes[g], g))]
    names, trees = problem.table.quasi_identifiers, problem.recoding.hierarchies
    step, line, left, parts = 118, 46, 30, list[str]()
    width, deep = left + step * len(rows) * len(names) + 20, max(tree.height for tree in trees.values())
    for number, name in enumerate(names):
        tree, x0 = trees[name], left + number * step * len(rows)
        paths = [tree.paths[problem.table.column(name)[at]] for at in rows]
        shared = next(level for level in range(tree.height + 1) if len({path[level] for path in paths}) == 1)
        at = dict[tuple[int, str | None], float]()
        for level in range(tree.height + 1):
            for label in dict.fromkeys(path[level] for path in paths):
                under = [i for i, path in enumerate(paths) if path[level] == label]
                at[level, label] = x0 + step * (sum(under) / len(under) + 0.5)
        y = {level: 60 + line * (deep - level) for level in range(deep + 1)}
        for path in paths:
            for level in range(tree.height):
                one, two = at[level, path[level]], at[level + 1, path[level + 1]]
                colour = ACCENT if level < shared else RULE
                parts.append(
                    f'<path d="M{one:g} {y[level] - 12}L{two:g} {y[level + 1] + 12}" stroke="{colour}" fill="none"/>'
                )
        for (level, label), x in at.items():
            fill = ACCENT if level == shared else PALE if level < shared else "#fff"
            ink = "#fff" if level == shared else INK if level < shared else QUIET
            parts.append(
                f'<rect x="{x - 52:g}" y="{y[level] - 12}" width="104" height="24" rx="5" fill="{fill}" '
                f'stroke="{RULE}"/>'
                f'<text x="{x:g}" y="{y[level] + 5}" text-anchor="middle" fill="{ink}">{label}</text>'
            )
        middle = x0 + step * len(rows) / 2
        parts.append(f'<text x="{middle:g}" y="24" text-anchor="middle" font-weight="600" fill="{INK}">{name}</text>')
    height = 60 + line * deep + 34
    said = f"A group of {counted(len(rows), 'row')}: in each column the lowest label that all of them share"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="{SANS}" font-size="13" '
        f'role="img" aria-label="{said}"><rect width="{width}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>'
    )


PICTURES: dict[str, Callable[[], str]] = {
    "report-page": report,
    "before-after": before_after,
    "inspect": inspect,
    "gap-over-time": gap,
    "closure": closure,
}


def main(names: list[str]) -> None:
    """Write these pictures, all by default."""
    for name in names or PICTURES:
        svg = PICTURES[name]()
        ElementTree.fromstring(svg)  # it is XML, whatever it was made of
        path = PLACE / f"{name}.svg"
        path.write_text(svg + "\n", encoding="utf-8")
        print(f"{path.name}: {len(svg):,} characters")


if __name__ == "__main__":
    main(sys.argv[1:])
