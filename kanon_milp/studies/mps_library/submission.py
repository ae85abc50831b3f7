"""What a collection such as MIPLIB asks for with a submission, a family each, from declarations and metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kanon_milp import __version__
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.privacy.registry import kind_named
from kanon_milp.studies.families import COLUMN_FAMILIES, FAMILIES
from kanon_milp.studies.families.base import SizedFamily
from kanon_milp.studies.mps_library.hardness import TABLE_HEAD, table_line
from kanon_milp.studies.mps_library.metadata import SOLVERS, Metadata

FEWEST, MOST = 5, 10  # representatives
COLUMNS_PROBLEMS = {  # of models that are not about requirements of groups
    "full_domain": "One generalization level for each column of a table, such that all rows but a given share of them "
    "have k - 1 others like them; least loss.",
    "minimum_qid": "The fewest columns of a table that tell its rows apart, or that make fewer than k rows look like "
    "some row.",
}
_MODEL = """Each row of a table is released in a group, where cells are suppressed, or replaced by more general values,
until all rows of the group look alike. Binary variables say which groups there are, and others how many rows of a kind
go into which group. Each group must satisfy a requirement. The objective is the loss of information, or a number of
groups."""


def submissions(metadata: Sequence[Metadata]) -> Iterator[tuple[str, str]]:
    """Of each family of a library its name, and its text in Markdown."""
    families: dict[str, list[Metadata]] = {}
    for each in metadata:
        families.setdefault(family_of(each), []).append(each)
    for name, members in families.items():
        yield name, _text(name, members)


def family_of(made: Metadata) -> str:
    """The requirement that is not k-anonymity, if there is one; or the kind of problem."""
    if made.kind != "release":
        return made.kind
    others = [name for name in made.requirements if kind_named(name) not in (None, KAnonymity)]
    return others[0] if others else KAnonymity.name


def representatives(members: Sequence[Metadata]) -> list[Metadata]:
    """At most ten of a family: the hardest of each series or source, and then the next ones; of easy ones as many as
    five need."""
    ranked = sorted(members, key=lambda each: (each.set == "test", -(each.lp_gap or 0), each.name))
    turn: dict[str, int] = {}
    place = {}
    for each in ranked:
        series = each.series or f"{each.family} {each.formulation}"
        place[each.name] = turn[series] = turn.get(series, -1) + 1
    hard = sum(each.set == "benchmark" for each in members)
    return sorted(ranked, key=lambda each: (each.set == "test", place[each.name]))[: min(MOST, max(FEWEST, hard))]


def _text(name: str, members: Sequence[Metadata]) -> str:
    kind, chosen = kind_named(name), representatives(members)
    about = COLUMNS_PROBLEMS[name] if kind is None else f"{_MODEL}\n\nThe requirement: {kind.summary} ({kind.source})."
    known: dict[str, SizedFamily[Any]] = {**FAMILIES, **COLUMN_FAMILIES}
    origins = [f"{known[f].about} ({known[f].source})" for f in dict.fromkeys(m.family for m in chosen) if f in known]
    origins += dict.fromkeys(each.source for each in chosen if each.family not in known)
    lines = [
        f"# {name if kind is None else kind.term}",
        about,
        "## Where the instances come from",
        "\n".join(f"- {origin}" for origin in origins),
        "## What is hard about them",
        _hard(members),
        "## Representatives",
        "\n".join(
            [f"| variables, integer, constraints {TABLE_HEAD[0]}", f"| --- {TABLE_HEAD[1]}", *map(_line, chosen)]
        ),
        "\n".join(f"- `{each.name}`: {each.title}; {each.reason}" for each in chosen),
        "## Licence",
        "; ".join(dict.fromkeys(each.licence for each in chosen)) + f". Made by kanon_milp {__version__}.",
    ]
    return "\n\n".join(lines) + "\n"


def _line(made: Metadata) -> str:
    sizes = made.features
    rows = sizes.equality + sizes.less_or_equal + sizes.greater_or_equal + sizes.ranged
    integer = sizes.binary + sizes.integer
    return f"| {integer + sizes.continuous:,}, {integer:,}, {rows:,} {table_line(made)}"


def _hard(members: Sequence[Metadata]) -> str:
    hard = [each for each in members if each.set == "benchmark"]
    if not hard:
        return "None of them, as far as was measured: all are proven at the root by some solver, or nobody has run one."
    gaps = sorted(each.lp_gap for each in hard if each.lp_gap is not None)
    versions = sorted({f"{run.solver} {run.version}" for each in hard for run in each.runs})
    said = [
        f"Of {len(members)} instances, {len(hard)} are proven at the root by none of {', '.join(SOLVERS)} "
        f"(one thread, 120 s; versions: {', '.join(versions)})."
    ]
    if gaps:
        said.append(f"The linear relaxation is {gaps[0]:.1%} to {gaps[-1]:.1%} from the best known value.")
    lost = [each.name for each in hard if each.feasibility == "hard"]
    if lost:
        said.append(
            f"Feasibility: no solver finds a solution at the root, or that there is none, of {', '.join(lost)}."
        )
    open_ones = [each.name for each in hard if each.difficulty == "open"]
    if open_ones:
        said.append(f"Nobody has proven the optimum of {', '.join(open_ones)}.")
    return "\n".join(said)
