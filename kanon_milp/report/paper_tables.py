"""Tables for papers and read-me files: a header and lines of texts as Markdown and as LaTeX."""

from __future__ import annotations

import io
from collections.abc import Sequence


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of Markdown; all columns but the first to the right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (header, rule, *lines))


def latex(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of LaTeX with the rules of booktabs; all columns but the first to the right."""
    out = io.StringIO()
    out.write(f"\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}\n\\toprule\n")
    out.write(" & ".join(map(_escaped, header)) + " \\\\\n\\midrule\n")
    out.writelines(" & ".join(map(_escaped, cells)) + " \\\\\n" for cells in lines)
    out.write("\\bottomrule\n\\end{tabular}\n")
    return out.getvalue()


def shown(value: object, digits: int = 0) -> str:
    """A cell: a number with so many digits, two where a fraction would be hidden; "-" where there is nothing."""
    if isinstance(value, float | int):
        return f"{value:,.{digits or (2 if value % 1 else 0)}f}"
    return "-" if value is None else str(value)


def _escaped(text: str) -> str:
    for plain, written in (("\\", r"\textbackslash "), ("_", r"\_"), ("#", r"\#"), ("%", r"\%"), ("&", r"\&")):
        text = text.replace(plain, written)
    return text
