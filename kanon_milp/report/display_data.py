"""What people see of their data before anything is anonymized: hierarchies, and what a table gives away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid

from kanon_milp.errors import counted
from kanon_milp.report.display import plain, say
from kanon_milp.report.labels import EXAMPLES, LevelLabels


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
    console = Console(highlight=False)
    console.print(plain(f'{title}: column "{column}", {counted(found[0].labels, "value")}'))
    console.print(table)
    say(f"written to {target}; use it with --hierarchies {target.parent}")
