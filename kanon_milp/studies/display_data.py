"""What people see of their data before anything is anonymized: hierarchies, and what a table gives away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table as Grid

from kanon_milp.errors import counted
from kanon_milp.studies.display import plain, say
from kanon_milp.studies.inspection import PROPOSAL, Inspection, SizeRange
from kanon_milp.studies.labels import EXAMPLES, LevelLabels
from kanon_milp.studies.screen import screen


def show_hierarchy(found: Sequence[LevelLabels], title: str, column: str, target: Path) -> None:
    """Print the levels of a hierarchy, and where it was written."""
    table = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("level", "labels", "rows of one", "alone"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("such as", overflow="fold")
    for each in found:
        rows = f"{each.smallest:,}" if each.smallest == each.largest else f"{each.smallest:,} to {each.largest:,}"
        shown = ", ".join(each.examples) + (", ..." if each.labels > EXAMPLES else "")
        what = "(the values)" if each.level == 0 else shown
        table.add_row(str(each.level), f"{each.labels:,}", rows, f"{each.alone:,}", plain(what))
    console = screen()
    console.print(plain(f'{title}: column "{column}", {counted(found[0].labels, "value")}'))
    console.print(table)
    say(f"written to {target}; use it with --hierarchies {target.parent}")


def show_inspection(found: Inspection) -> None:
    """Print what a table gives away, in tables that fit 80 columns, and no cell of it."""
    console, rows = screen(), found.rows
    console.print(plain(f"{found.source}: {counted(rows, 'row')}, {counted(len(found.columns), 'column')}", "bold"))
    table = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("column", overflow="fold", max_width=22)
    table.add_column("values")
    for name in ("distinct", "missing", "unique rows"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("role")
    for texts in found.column_texts()[1:]:
        table.add_row(*map(plain, texts))
    console.print(table)
    if any(each.proposed for each in found.columns):
        console.print(PROPOSAL)
    console.print()
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for head, text in found.facts:
        if head == "note" and text in found.reading:  # it was said as a warning
            continue
        grid.add_row(head, plain(text))
    console.print(grid)
    if not found.command:
        return
    console.print()
    sizes = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("rows of a class", "classes", "rows", ""):
        sizes.add_column(name, justify="right" if name else "left", no_wrap=True)
    for size in found.sizes:
        if size.classes:
            share = size.rows / rows
            bar = "#" * max(1, round(30 * share))
            sizes.add_row(_range(size), f"{size.classes:,}", f"{size.rows:,} ({share:.1%})", bar)
    console.print(sizes)
    console.print()
    console.print("A command to begin with:")
    for line in found.command.splitlines():
        console.print(plain(line), soft_wrap=True)


def _range(sizes: SizeRange) -> str:
    if sizes.most is None:
        return f"{sizes.least:,} or more"
    return f"{sizes.least:,}" if sizes.least == sizes.most else f"{sizes.least:,} to {sizes.most:,}"
