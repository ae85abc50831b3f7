"""How hard instances are, from what was measured: studies to measure it, and a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kanon_milp.solvers import DEFAULT, get
from kanon_milp.studies.mps_library.metadata import NODE_LIMITS, SOLVERS, Metadata, Record, Run

ROOT, TEN_MINUTES, NODES = STUDIES = "root.toml", "ten_minutes.toml", "nodes.toml"
_STUDY = """name = "{name}"
title = "{title}"
time_limit = {seconds}
grace = 60
solvers = [{solvers}]
"""
_INSTANCE = """
[[instances]]
mps = "instances/{name}.mps.gz"
solu = "library.solu"
"""


def studies(metadata: Sequence[Metadata]) -> Iterator[tuple[str, str]]:
    """Studies of a built library, for its folder: all instances at the root; and of the benchmark set ten minutes by
    each solver, and HiGHS's nodes under three permutations."""
    every = [each.name for each in metadata]
    benchmark = [each.name for each in metadata if each.set == "benchmark"]
    one_node = ", ".join(f'{{ name = "{name}", options = {{ "{key}" = 1 }} }}' for name, key in NODE_LIMITS.items())
    plain = ", ".join(f'"{name}"' for name in SOLVERS)
    yield ROOT, _study("root", "The root node alone, on one thread", 120, one_node, every)
    if not benchmark:
        return
    yield TEN_MINUTES, _study("ten_minutes", "Ten minutes on one thread", 600, plain, benchmark)
    nodes = _study("nodes", f"Nodes of {get().title} under permutations", 120, f'"{DEFAULT}"', benchmark)
    yield NODES, nodes.replace("grace", "permutations = [0, 1, 2]\ngrace")


def _study(name: str, title: str, seconds: int, solvers: str, names: Iterable[str]) -> str:
    head = _STUDY.format(name=name, title=title, seconds=seconds, solvers=solvers)
    return head + "".join(_INSTANCE.format(name=each) for each in names)


_ROOTS = " | ".join(f"{get(name).title}, root" for name in SOLVERS)
TABLE_HEAD = (
    f"| instance | known | LP gap | {_ROOTS} | ten minutes | {get().title}, nodes |",
    "| --- | --- | --- |" + " --- |" * (len(SOLVERS) + 2),
)
Known = Record | Metadata


def contents_table(known: Sequence[tuple[str, Record]]) -> str:
    """How many instances there are from each source, named first, as a table in Markdown."""
    lines = [
        "| table or family | instances | test | benchmark | of these open | infeasible |",
        "| --- |" + " --- |" * 5,
    ]
    sources = dict.fromkeys(source for source, _ in known)
    for source in (*sources, "all"):
        records = [record for of, record in known if source in (of, "all")]
        counts = (
            len(records),
            *(sum(record.set == which for record in records) for which in ("test", "benchmark")),
            sum(record.difficulty == "open" for record in records),
            sum(record.status == "inf" for record in records),
        )
        lines.append(f"| {source} | {' | '.join(str(count or '') for count in counts)} |")
    return "\n".join([*lines, ""])


def hardness_table(known: Sequence[Record]) -> str:
    """The benchmark set as a table in Markdown, and which versions of which solvers it is about."""
    chosen = [record for record in known if record.set == "benchmark"]
    versions = sorted({f"{run.solver} {run.version}" for record in chosen for run in record.runs})
    head = f"{len(chosen)} instances; {', '.join(versions)}."
    return "\n".join([head, "", *TABLE_HEAD, *map(table_line, chosen), ""])


def table_line(known: Known) -> str:
    """The line of an instance, proven by `known` optimum or not."""
    value = interval(known.bound_in_file, known.best_in_file)
    value = {"opt": str(known.best_in_file), "inf": "infeasible"}.get(known.status, value)
    gap = "" if known.lp_gap is None else f"{known.lp_gap:.1%}"
    roots = {run.solver: said(run) for run in known.runs if run.node_limit == 1}
    cells = [f"`{known.name}`", value, gap, *(roots.get(name, "") for name in SOLVERS), _ten_minutes(known.runs)]
    return f"| {' | '.join([*cells, _nodes(known.runs)])} |"


def interval(bound: float | None, best: int | None) -> str:
    """What is left between a bound and the best solution."""
    low = "-" if bound is None else f"{bound:.2f}".rstrip("0").rstrip(".")
    return f"{low} to {'-' if best is None else best}"


def said(run: Run) -> str:
    """What a run has found out."""
    if run.proven:
        return "proven"
    return interval(run.bound, run.best) + (" (time)" if run.node_limit and run.ended == "time_limit" else "")


def _ten_minutes(runs: Sequence[Run]) -> str:
    long = [run for run in runs if run.node_limit is None and run.time_limit == 600]
    proven = [f"{run.solver} in {run.seconds:.0f} s" for run in long if run.proven]
    none = "none: " if {run.solver for run in long} == {*SOLVERS} else ""
    return "; ".join(proven) or none + "; ".join(f"{run.solver} {said(run)}" for run in long)


def _nodes(runs: Sequence[Run]) -> str:
    of = [run for run in runs if run.node_limit is None and run.time_limit < 600]
    of = [run for run in of if run.time_limit == max(each.time_limit for each in of)]
    return ", ".join(f"{run.nodes:,}" if run.proven and run.nodes is not None else "-" for run in of)
