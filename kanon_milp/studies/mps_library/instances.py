"""From an entry of the library's list to its model, and from groups or a solver's point to integers that solve it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyomo.core as pyo
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from kanon_milp.errors import InputError, nearest
from kanon_milp.formulations.column_models import build_full_domain, build_identifying, build_violating
from kanon_milp.formulations.restricted import RestrictedModel
from kanon_milp.methods.exchange import DeclaredModel, declared_model
from kanon_milp.methods.full_domain import FullDomain
from kanon_milp.methods.quasi_identifiers import differing_columns
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.presolve.instance import compress_table, recode, types_of
from kanon_milp.presolve.partition import assignment_of_groups
from kanon_milp.presolve.row_types import compress
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Hierarchies, Suppression
from kanon_milp.solvers import LinearModel, SolverOptions, get
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.studies.families import Asked, GeneratedColumns, generate_any
from kanon_milp.studies.families.generated_files import columns_model
from kanon_milp.studies.model_files import parse_toml, read_content
from kanon_milp.studies.schema import put
from kanon_milp.system.arrays import Ints
from kanon_milp.system.clock import Clock

NAME = r"[a-z][a-z0-9-]{0,15}"
LIST = Path(__file__).with_name("library.toml")
Kind = Literal["release", "full_domain", "minimum_qid"]


class Entry(BaseModel):
    """One instance of the list.

    name: lower case, at most 16 characters. kind: a table to release, the best full-domain recoding, or a minimum
    quasi-identifier. series: a name that instances share which differ in one thing; an entry that says which one
    (`vary`, see `read_list`) has it from its own name. Either family with size, seed and answer, or the
    tables of a model file. bounded: False leaves out a family's bound on the loss, whose optimum is the same.
    ladder: names of variables and constraints are those of rows of the table, so that they stay as it grows.
    suppression_limit: share of the rows, of full-domain recoding. reading, k: of the minimum quasi-identifier, as in
    `kanon-milp qid`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)
    where: ClassVar[str] = "[[instance]]"
    name: Annotated[str, StringConstraints(pattern=rf"^{NAME}$")]
    kind: Kind = "release"
    formulation: Literal["strong", "textbook", "homogeneity", "liang_yuan", "groups"] = "strong"
    series: str | None = None
    family: str | None = None
    size: int | None = None
    seed: int = Field(0, ge=0)
    answer: Literal["yes", "no", "imperfect"] = "yes"
    bounded: bool = True
    ladder: bool = False
    data: dict[str, Any] | None = None
    privacy: dict[str, Any] | None = None
    recoding: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None
    suppression_limit: str = "0"
    reading: Literal["identify", "violate"] = "identify"
    k: int = Field(2, ge=2)

    @model_validator(mode="after")
    def _one_source(self) -> Entry:
        if (self.family is None) == (self.data is None):
            raise ValueError("an instance is made from either family or data")
        if self.family is not None and (self.privacy or self.recoding or self.problem):
            raise ValueError("a family has its own privacy, recoding and problem")
        if not self.bounded and self.answer == "no":
            raise ValueError("without its bound on the loss the answer is not no")
        return self

    @property
    def dataset(self) -> str | None:
        """The real table that is needed, if one is."""
        return None if self.data is None else self.data.get("dataset")

    @property
    def origin(self) -> str:
        """The family, or what the table is from."""
        return self.family or self.dataset or (self.data or {}).get("generator", "table")

    @property
    def content(self) -> dict[str, Any]:
        """As the content of a model file."""
        parts = {"data": self.data, "privacy": self.privacy, "recoding": self.recoding, "problem": self.problem}
        return {"name": self.name, **{key: value for key, value in parts.items() if value is not None}}


def read_list(path: Path = LIST) -> list[Entry]:
    """The instances of a list. An entry with vary = { place = [values] } is one for each value, which is put at the
    place and stands for the * of the name. Raises InputError for an unknown key or value, and for a name that occurs
    twice."""
    content = parse_toml(path)
    given = content.pop("instance", None) or content.pop("instances", None)
    if content or not isinstance(given, list) or not given:
        raise InputError(f"{path}: a list of instances consists of tables [[instance]] and nothing else")
    found: dict[str, Entry] = {}
    numbered = ((f"{path}: [[instance]] number {number}", each) for number, each in enumerate(given, 1))
    for where, each in itertools.chain.from_iterable(itertools.starmap(_varied, numbered)):
        if isinstance(each, dict) and "generate" in each:  # as studies say it
            each.setdefault("family", each.pop("generate"))
        try:
            entry = Entry.model_validate(each)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            raise InputError(f"{where}: {key + ': ' if key else ''}{first['msg']}") from None
        if entry.name in found:
            raise InputError(f"{where}: the name {entry.name} occurs twice")
        found[entry.name] = entry
    return list(found.values())


def _varied(where: str, entry: Any) -> Iterator[tuple[str, Any]]:
    """An entry, or one for each value of what it varies."""
    if not isinstance(entry, dict) or "vary" not in entry:
        yield where, entry
        return
    vary, name = entry.pop("vary"), str(entry.get("name"))
    if not isinstance(vary, dict) or [len(vary), name.count("*")] != [1, 1]:
        raise InputError(f"{where}: vary has one place and a list of its values, and the name one * for these")
    ((place, values),) = vary.items()
    for value in values:
        each = {"series": name.replace("*", "").replace("--", "-").strip("-"), **deepcopy(entry)}
        put(each, place, value, f"{where}: vary")
        yield where, {**each, "name": name.replace("*", str(value).replace("/", "-"))}


def chosen(entries: Sequence[Entry], only: Sequence[str]) -> list[Entry]:
    """The instances with one of these names, which may have * and ?; all for none. Raises InputError for none found."""
    for each in only:
        if not any(fnmatch(entry.name, each) for entry in entries):
            stems = list(dict.fromkeys(entry.name.partition("-")[0] for entry in entries))
            meant = f' (did you mean "{each}-*"?)' if each in stems else nearest(re.split("[*?-]", each)[0], stems)
            raise InputError(f"no instance of the list is called {each}{meant}; names begin with {', '.join(stems)}")
    return [entry for entry in entries if not only or any(fnmatch(entry.name, each) for each in only)]


def is_name(name: str) -> bool:
    """Whether a name is one for a collection: lower case, at most 16 characters."""
    return re.fullmatch(NAME, name) is not None


Point = dict[int, int | Fraction]  # the columns that are not 0, and their values
LICENCES = {"adult": "CC BY 4.0 (UCI)", "adult_raw": "CC BY 4.0 (UCI)", "cmc": "CC BY 4.0 (UCI)"}
OWN_LICENCE = "Apache-2.0 (generated)"
COMPLETION_SECONDS = 60.0
DENOMINATOR = 10_000  # of values that are no integers, at most


@dataclass(frozen=True, eq=False)
class LibraryInstance:
    """An instance's model, and what is known of it beforehand.

    goal: what the objective is about. unit: what one unit of the file's objective is worth. known: the optimum, in
    units of the problem, where it is known by construction; infeasible: the answer is known to be no. reason: who says
    so. exported: of a table to release. problem: what is asked of its table. groups: int64 (n,), of a table with the
    optimum; chosen: numbers of columns that are one.
    """

    entry: Entry
    linear: LinearModel
    title: str
    goal: str
    unit: Fraction = Fraction(1)
    known: Fraction | None = None
    infeasible: bool = False
    reason: str = ""
    exported: DeclaredModel | None = None
    problem: Problem | None = None
    groups: Ints | None = None
    chosen: Sequence[int] | None = None

    @property
    def source(self) -> str:
        """Where the table is from: a generator with its arguments, or a data set."""
        entry = self.entry
        if entry.family is not None:
            return f"kanon-milp generate {entry.family} --size {entry.size} --seed {entry.seed} --answer {entry.answer}"
        data = dict(entry.data or {})
        rows = f", first {data['rows']} rows" if "rows" in data else ""
        if entry.dataset is not None:
            return f"UCI {entry.dataset}{rows}"
        arguments = ", ".join(f"{key}={value}" for key, value in data.get("arguments", {}).items())
        return f"{data.get('generator', data.get('file'))}({arguments}){rows}"

    @property
    def licence(self) -> str:
        """Of the table."""
        return OWN_LICENCE if self.entry.dataset is None else LICENCES.get(self.entry.dataset, "unknown")

    def known_point(self) -> Point | None:
        """The solution that is known by construction; None where none is."""
        if self.chosen is not None:
            names = {name: j for j, name in enumerate(self.linear.variable_names)}
            return {names[f"chosen[{column}]"]: 1 for column in self.chosen}
        return None if self.groups is None else self.point_of_groups(self.groups)

    def point_of_groups(self, groups: Ints) -> Point | None:
        """A solution with these groups, which are numbers by row; None where some group has no candidate."""
        if self.exported is None:
            return None
        prepared, arrays = self.exported.prepared, self.exported.arrays
        assignment = assignment_of_groups(prepared, RowGroups.of_table(groups, prepared.problem.table))
        if assignment is None:
            return None
        return completed(self.linear, RestrictedModel(prepared.instance, self.exported.model, arrays).start(assignment))


def library_instance(entry: Entry, folder: Path) -> LibraryInstance:
    """The model of an entry. folder: of the list. Raises InputError where the data is not at hand."""
    found = _instance(entry, folder)
    linear = named_by_rows(found) if entry.ladder else found.linear
    return replace(found, linear=replace(linear, name=entry.name))


# of names with numbers in brackets: i of a row type, g of a candidate, - what does not change
_NUMBERED = {
    "assign": "ig", "linked": "ig", "open": "g", "placed": "i", "k_anonymity.size": "g", "alike": "ii",
    "same_label": "ii-", "kept": "i", "pays": "i", "hidden": "i", "pay": "i",
}  # fmt: skip


def named_by_rows(found: LibraryInstance) -> LinearModel:
    """The model with names that stay as rows are appended to the table: a row type is called by its first row, a
    candidate by its level vector and the first row that it covers, a pair of rows by the columns in which it differs.
    """
    linear, problem = found.linear, found.problem
    if problem is None or found.entry.reading == "violate" or found.entry.formulation != "strong":
        raise InputError(f"{found.entry.name}: ladder is for k-anonymity, full-domain recoding and identifying columns")
    if found.entry.kind == "minimum_qid":
        masks = [format(sum(1 << j for j in row.indices.tolist()), "x") for row in linear.A.tocsr()]
        return replace(linear, constraint_names=tuple(f"told_apart[{mask}]" for mask in masks))
    table = problem.table
    types = compress(table.keys, table.quasi_identifiers)
    first = np.unique(types.type_of_rows(table.keys), return_index=True)[1].tolist()
    names = {"i": first, "g": list[Any]()}
    if found.exported is not None:
        held = found.exported.prepared.instance.candidates
        covered = (min(first[i] for i in cover.tolist()) for cover in held.covers.each())
        names["g"] = [f"{vector}_{row}" for vector, row in zip(held.vector.tolist(), covered, strict=True)]

    def renamed(name: str) -> str:
        base, _, inside = name.rstrip("]").partition("[")
        if not inside or base not in _NUMBERED:
            return name
        of = zip(_NUMBERED[base], map(int, inside.split(",")), strict=True)
        return f"{base}[{','.join(str(number if kind == '-' else names[kind][number]) for kind, number in of)}]"

    return replace(
        linear,
        variable_names=tuple(map(renamed, linear.variable_names)),
        constraint_names=tuple(map(renamed, linear.constraint_names)),
    )


def _instance(entry: Entry, folder: Path) -> LibraryInstance:
    if entry.family is not None:
        made = generate_any(entry.family, entry.size, entry.seed, Asked(entry.answer))
        if isinstance(made, GeneratedColumns):
            known = None if made.optimum is None else Fraction(made.optimum)
            return LibraryInstance(
                entry, columns_model(made), made.title, "number of columns", known=known,
                infeasible=made.optimum is None, reason=made.reason,
                chosen=None if made.chosen is None else [made.frame.columns.index(name) for name in made.chosen],
            )  # fmt: skip
        if not entry.bounded:
            made = replace(made, sides={key: side for key, side in made.sides.items() if key != "cost_bound"})
        known = None if made.optimum is None else Fraction(made.optimum)
        return _released(
            entry, made.problem(), made.title, known=known, infeasible=made.optimum is None, reason=made.reason,
            groups=made.group_of_row,
        )  # fmt: skip
    problem = read_content(
        entry.content | ({} if entry.privacy else {"privacy": {"k": entry.k}}), folder / "list.toml"
    ).problem
    if entry.kind == "release":
        return _released(entry, problem, _title(problem))
    if entry.kind == "minimum_qid":
        return _minimum_qid(entry, problem)
    return _full_domain(entry, problem)


def _released(entry: Entry, problem: Problem, title: str, **known: Any) -> LibraryInstance:
    made = declared_model(problem, entry.formulation, False, Clock())
    return LibraryInstance(
        entry, made.arrays.linear, title, made.goal, made.unit, exported=made, problem=problem, **known
    )


def _minimum_qid(entry: Entry, problem: Problem) -> LibraryInstance:
    table = problem.table
    types = compress(table.keys, table.quasi_identifiers)
    if entry.reading == "identify":
        model = build_identifying(types.names, differing_columns(table))
    else:
        model = build_violating(types.names, types.codes, types.counts, entry.k)
    return LibraryInstance(
        entry, _linear(model), f"Minimum quasi-identifier of {table.n} rows, {entry.reading}", "number of columns",
        problem=problem,
    )  # fmt: skip


def _full_domain(entry: Entry, problem: Problem) -> LibraryInstance:
    asked = full_domain_of(entry, problem)
    instance = types_of(problem, compress_table(problem))
    levels = recode(problem, instance)
    requirement = problem.requirements[0]
    if len(problem.requirements) != 1 or not isinstance(requirement, KAnonymity) or requirement.unit:
        raise InputError(f"{entry.name}: the model of full-domain recoding knows k-anonymity of rows alone")
    if levels.cells is not None:
        raise InputError(f"{entry.name}: the model of full-domain recoding knows costs of levels, not of labels")
    costs = [[int(cost / levels.unit) for cost in column.costs] for column in levels.columns]
    suppressed = int(asked.share * problem.table.n)
    model = build_full_domain(
        [column.label_of for column in levels.columns],
        costs,
        instance.codes,
        instance.counts,
        requirement.k,
        suppressed,
    )
    return LibraryInstance(
        entry, _linear(model), f"Full-domain {requirement.k}-anonymity of {problem.table.n} rows", "loss", levels.unit,
        problem=problem,
    )  # fmt: skip


def full_domain_of(entry: Entry, problem: Problem) -> FullDomain:
    """What is asked of the search over the lattice, for the same optimum."""
    recoding = problem.recoding
    if isinstance(recoding, Hierarchies):
        return FullDomain(recoding.hierarchies, entry.suppression_limit)
    if not isinstance(recoding, Suppression):
        raise InputError(f"{entry.name}: full-domain recoding has no mask")
    return FullDomain({}, entry.suppression_limit)


def _linear(model: pyo.ConcreteModel) -> LinearModel:
    return to_arrays(model, names=True).linear


def _title(problem: Problem) -> str:
    privacy = ", ".join(
        f"{each.name} {each.claims.get(each.letter or '', '')}".strip() for each in problem.requirements
    )
    return f"{problem.table.n} rows, {len(problem.table.quasi_identifiers)} quasi-identifiers: {privacy}"


def completed(linear: LinearModel, fixed: Mapping[int, float]) -> Point | None:
    """Exact values of all variables, these being fixed; None where there are none.

    Integers where there are any: with the integer variables fixed a flow is mostly left. A transport with fractional
    distances may have none; then the continuous variables are fractions, and the constraints are checked exactly.
    """
    columns, values = np.array([*fixed], dtype=np.int64), np.round(np.array([*fixed.values()]))
    lower, upper = linear.lower.copy(), linear.upper.copy()
    lower[columns] = upper[columns] = values
    known = replace(linear, lower=lower, upper=upper)
    for integer in (np.ones(linear.variables, dtype=bool), linear.integer):
        answer = get().solve(replace(known, integer=integer), SolverOptions(time_limit=COMPLETION_SECONDS))
        if answer.x is None:
            continue
        point: Point = {}
        for j in np.flatnonzero(answer.x).tolist():
            value = Fraction(answer.x[j]).limit_denominator(1 if integer[j] else DENOMINATOR)
            if value:
                point[j] = value.numerator if value.denominator == 1 else value
        if _solves(linear, point):
            return point
    return None


def _solves(linear: LinearModel, point: Point) -> bool:
    A = linear.A.tocsc()
    activity = [Fraction(0)] * linear.constraints
    for j, value in point.items():
        if not linear.lower[j] <= value <= linear.upper[j]:
            return False
        for e in range(A.indptr[j], A.indptr[j + 1]):
            activity[A.indices[e]] += Fraction(float(A.data[e])) * value
    sides = zip(linear.constraint_lower.tolist(), activity, linear.constraint_upper.tolist(), strict=True)
    return all(low <= value <= high for low, value, high in sides)
