"""How `--help` looks: options in sections where there are many, and an example for each command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer.core

FEW = 10  # options that need no sections
OTHERS = "Options"

# section → names of parameters, whatever the command
SECTIONS = {
    "Table": "data query original column model names qi sensitive identifying keep unit symbol delimiter encoding "
    "missing missing_values no_header header released row_id cells groups",
    "Privacy": "k p l l_form t distance alpha beta delta suppressed_rows missing_keys",
    "Recoding": "mask hierarchies numeric widths origin quantiles dates date_format prefix order sizes grouped other "
    "weight boxes",
    "Objective and side constraints": "cost_bound min_groups max_groups objective",
    "Solving": "solver cbc method methods baselines formulation time_limit threads processes seed gap node_limit "
    "iteration_limit dask resume",
    "Output": "out force to to_table to_database report report_sample certificate log_file show reduced json quiet",
}

TABLE = "--data people.csv --qi zip,age,sex"
EXAMPLES: dict[str, Sequence[str]] = {
    "solve": (
        f"solve {TABLE} --sensitive disease --k 5 --l 2 --time-limit 60 --out out",
        "solve hospital --show",
    ),
    "verify": (
        "verify out/anonymized.csv --original people.csv --qi zip,age,sex --k 5",
        "verify out/anonymized.csv --model hospital --certificate bound.json",
        "verify arx.csv --qi zip,age,sex --sensitive disease --k 5 --l 2",
    ),
    "compare": (f"compare {TABLE} --k 5 --released arx.csv --to table.tex",),
    "sweep": (f"sweep {TABLE} --k 2..10,25 --time-limit 60 --out study",),
    "export": ("export hospital --to hospital.mps.gz",),
    "import": ("import hospital.sol --model hospital --out out",),
    "compress": ("compress people.csv --qi zip,age,sex",),
    "qid": ("qid people.csv --k 5",),
    "inspect": ("inspect people.csv",),
    "hierarchy": ("hierarchy people.csv --column age --widths 5,10,20 --out hierarchies",),
    "report": ("report out",),
    "bench": ("bench benchmarks/studies/smoke.toml --out study", "bench report study"),
    "bench run": ("bench benchmarks/studies/smoke.toml --out study",),
    "bench report": ("bench report study",),
    "library build": ("library build instances --only 'adult*'",),
    "library check": ("library check instances",),
    "library": ("library build instances --only 'adult*'", "library check instances"),
    "models": ("models hospital", "models hospital --copy mine"),
    "generate": ("generate planted_k --size 1000 --out instance",),
    "doctor": ("doctor --warm-up",),
}


class _Exemplary:
    """Examples at the end."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples, one a line however long."""
        names, each = [], ctx
        while each.parent is not None:  # up to the program
            names.append(each.info_name or "")
            each = each.parent
        examples = EXAMPLES.get(" ".join(reversed(names)), ())
        if examples:
            with formatter.section("Examples" if len(examples) > 1 else "Example"):
                for example in examples:
                    formatter.write(f"{'':{formatter.current_indent}}kanon-milp {example}\n")


class Group(_Exemplary, typer.core.TyperGroup):
    """A command with commands of its own."""


class Command(_Exemplary, typer.core.TyperCommand):
    """A command of this program."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options by section."""
        arguments: list[tuple[str, str]] = []
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in (*SECTIONS, OTHERS)}
        many = len(self.params) > FEW
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is None:
                continue
            if each.param_type_name == "argument":
                arguments.append(record)
            else:
                sections[_section(each.name) if many else OTHERS].append(record)
        for title, records in {"Arguments": arguments, **sections}.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _section(name: str | None) -> str:
    return next((title for title, names in SECTIONS.items() if name in names.split()), OTHERS)
