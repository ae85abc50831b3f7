"""Journalist risk: whoever looks for a person among a population finds at least 1/r people who may be meant (k-map)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyomo.core as pyo

from kanon_milp.errors import InputError, counted, type_in_words
from kanon_milp.problem.arguments import file_path
from kanon_milp.problem.column_values import as_text, mixed_key
from kanon_milp.problem.csv_files import CsvFormat, with_missing
from kanon_milp.problem.exact import Number, both, in_words
from kanon_milp.problem.hierarchies import ColumnLevels, Hierarchy, Label
from kanon_milp.problem.privacy.base import NUMBER, TEXT, Parameter, Requirement, Shortfall, Swept
from kanon_milp.problem.privacy.instance_data import InstanceData
from kanon_milp.problem.privacy.thresholds import PRESETS, threshold
from kanon_milp.problem.records import Group
from kanon_milp.problem.roles import Roles
from kanon_milp.problem.table import Table, open_frame, read_frame
from kanon_milp.system.arrays import Flags, Ints


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """All those among whom somebody may look, as they came. counts: how many each row stands for, int64. source: what
    messages call it. file: where it was read; None for no file."""

    frame: nw.DataFrame[Any]
    counts: Ints
    source: str
    file: Path | None = None
    _among: dict[tuple[str, ...], Among] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any, encoding: str | None = None) -> Population:
        """From a file, a table (whose counts are frequencies) or a data frame. Raises InputError for anything else."""
        if isinstance(given, Population):
            return given
        if isinstance(given, Table):
            return cls(given.frame, given.rows_of, given.source)
        if isinstance(given, str | Path):
            path = file_path(given, "population")
            read = nw.from_native(read_frame(path, CsvFormat.asked(path, None, encoding)), eager_only=True)
            return cls(read, np.ones(len(read), dtype=np.int64), str(path), path)
        if given is None:
            raise InputError(
                "journalist risk needs the population among which somebody looks: population=... (a file, a data frame "
                "or a table with counts), --population FILE"
            )
        opened, _ = open_frame(given, "population")
        return cls(opened, np.ones(len(opened), dtype=np.int64), "population")

    @property
    def n(self) -> int:
        """Number of people."""
        return int(self.counts.sum())

    def as_read(self, csv: CsvFormat) -> Population:
        """What stands for a missing value in the file of the table does so in a file of it, too."""
        if self.file is None or not csv.missing_values:
            return self
        return replace(
            self, frame=nw.from_native(with_missing(self.frame.to_polars(), csv), eager_only=True), _among={}
        )

    def among(self, names: tuple[str, ...]) -> Among:
        """Its different rows, of these columns; made once."""
        if names not in self._among:
            self._among[names] = Among.of(self, names)
        return self._among[names]


@dataclass(frozen=True, eq=False, repr=False)
class Among:
    """The different rows of a population, of a table's quasi-identifiers. values: of each column its different values.
    codes: int64 (d, m), the value of each row by number. rows: int64 (d,), how many there are of each."""

    values: tuple[list[Label], ...]
    codes: Ints
    rows: Ints

    @classmethod
    def of(cls, population: Population, names: Sequence[str]) -> Among:
        """The rows of a population."""
        columns = as_text(population.frame, list(names), population.source)
        values, codes = [], np.empty((columns.height, columns.width), dtype=np.int64)
        for j, column in enumerate(columns.get_columns()):
            number: dict[Label, int] = {}
            codes[:, j] = [number.setdefault(value, len(number)) for value in column.to_list()]
            values.append(list(number))
        _, codes, rows = _together(np.zeros(len(codes), dtype=np.int64), codes, population.counts)
        return cls(tuple(values), codes, rows)

    def matching(self, instance: InstanceData) -> Ints:
        """How many rows match what each candidate releases, int64 (G,).

        Column by column: what has the same labels up to here has the same number, of the table's row types and of the
        rows here. What no row type has is left out, and what is alike from here on is counted together.
        """
        levels, candidates, hierarchies = instance.levels, instance.candidates, instance.recoding.hierarchies
        columns, types = levels.columns, instance.types
        labels = [_labels(*each, hierarchies.get(each[0].name)) for each in zip(columns, self.values, strict=True)]
        order = np.argsort(candidates.vector, kind="stable")
        begins = np.searchsorted(candidates.vector[order], np.arange(levels.count + 1))
        found = np.zeros(len(order), dtype=np.int64)
        nothing = np.zeros(len(types.counts), dtype=np.int64), np.zeros(len(self.rows), dtype=np.int64)
        left = [(0, np.arange(levels.count), *nothing, self.codes, self.rows)]
        while left:
            j, vectors, ours, theirs, codes, rows = left.pop()
            if j == len(columns):
                mine = order[begins[vectors[0]] : begins[vectors[0] + 1]]
                matching = np.zeros(len(types.counts), dtype=np.int64)
                np.add.at(matching, theirs, rows)
                found[mine] = matching[ours[candidates.representative[mine]]]
                continue
            for level in np.unique(levels.vectors[vectors, j]).tolist():
                some, size = vectors[levels.vectors[vectors, j] == level], len(columns[j].labels)
                keys, number = np.unique(
                    ours * size + columns[j].label_of[level][types.codes[:, j]], return_inverse=True
                )
                label = labels[j][level][codes[:, 0]]
                asked = theirs * size + label
                at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
                fits = (label >= 0) & (keys[at] == asked)
                rest = at[fits], codes[fits, 1:], rows[fits]
                left.append((j + 1, some, number, *(_together(*rest) if level else rest)))
        return found


def _together(number: Ints, codes: Ints, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Rows of one number and with the same codes as one row."""
    every = [number, *codes.T]
    key = mixed_key(every, [int(each.max(initial=0)) + 1 for each in every])
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    added = np.zeros(len(first), dtype=np.int64)
    np.add.at(added, inverse, rows)
    return number[first], codes[first], added


def _labels(column: ColumnLevels, values: Sequence[Label], hierarchy: Hierarchy | None) -> Ints:
    """By level the label that each value of the population gets, int64 (levels, values); -1 where no value of the table
    has it. Every value has the one at the top."""
    ids = {label: at for at, label in enumerate(column.labels)}
    top = int(column.label_of[-1, 0])
    found = np.full((column.height + 1, len(values)), -1, dtype=np.int64)
    for position, value in enumerate(values):
        path = (value,) if hierarchy is None else hierarchy.released.get(value, ())[:-1]
        for level, label in enumerate(path):
            at = ids.get(label, -1)
            found[level, position] = -1 if at == top else at
    found[-1] = top
    return found


@dataclass(frozen=True)
class JournalistRisk(Requirement):
    """Each released row matches at least 1/r rows of a population (k-map, Sweeney 2002; El Emam, Dankar 2008).

    A row of the population matches a released row if each of its cells is one of the labels of the population's value:
    the value itself, what a hierarchy calls it at a level, or the suppression symbol. A value that neither the table
    nor a hierarchy has matches where the cell is suppressed.

    How many match is a matter of the released row alone, whatever rows of the table are released so. So it is a choice
    of candidates (`releasable`), and nothing is left to ask of groups. A less general candidate with the same rows of
    the table is matched by fewer rows of the population, so the closed candidates do not suffice.

    journalist_risk: an exact rational such as "0.09" or "1/11", or the name of a threshold in `PRESETS`. population: a
    file, a data frame, or a `Table` (whose `count` is frequencies), with the quasi-identifiers of the table; it holds
    the people of the table, too. Fully suppressed rows match all of it, in both readings.
    """

    journalist_risk: Number
    population: Any = None
    name: ClassVar[str] = "journalist_risk"
    term: ClassVar[str] = "journalist risk"
    letter: ClassVar[str] = "journalist_risk"
    summary: ClassVar[str] = "journalist risk of at most r: each released row matches 1/r rows of a population"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "journalist_risk": Parameter(
            NUMBER,
            option="--journalist-risk",
            metavar="R",
            help="Journalist risk (k-map), such as 0.09: each released row matches 1/R rows of --population.",
        ),
        "population": Parameter(
            TEXT,
            "the file of the population",
            option="--population",
            metavar="FILE",
            help="Table of the population, with the quasi-identifiers, for --journalist-risk.",
        ),
    }
    swept: ClassVar[Swept] = Swept(-1, "0.05,0.09", {name: preset.risk for name, preset in PRESETS.items()})
    against: ClassVar[str] = "linkage by somebody who does not know whether a person is in the table"
    source: ClassVar[str] = "Sweeney 2002 (k-map); El Emam and Dankar 2008"
    keeps_flow_structure: ClassVar[bool] = True
    needs_group_size: ClassVar[bool] = False
    merge_closed: ClassVar[bool] = True
    asks_of_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        threshold(self.journalist_risk, self.term)
        object.__setattr__(self, "population", Population.of(self.population))

    @classmethod
    def read(cls, arguments: Mapping[str, Any], folder: Path, encoding: str | None) -> JournalistRisk:
        """The file is beside the model file."""
        named = arguments.get("population")
        if named is not None and not isinstance(named, str):
            raise InputError(f"population: a file is expected, found {type_in_words(named)}")
        read = {} if named is None else {"population": Population.of(folder / named, encoding)}
        return cls(**{**arguments, **read})

    @classmethod
    def in_words(cls, claims: Mapping[str, Any], _about: str) -> str:
        """How many of the population."""
        risk, people = Fraction(str(claims["journalist_risk"])), int(claims["population_rows"])
        return (
            f"each row matches at least {fewest_of(risk):,} of the {counted(people, 'row')} of the population, "
            f"for a risk of at most {in_words(risk)}"
        )

    @classmethod
    def as_options(cls, claims: Mapping[str, Any]) -> dict[str, str] | None:
        """None where the population came from no file."""
        return super().as_options(claims) if "population" in claims else None

    @property
    def exact(self) -> Fraction:
        """The threshold r."""
        return threshold(self.journalist_risk, self.term)

    @property
    def fewest(self) -> int:
        """⌈1/r⌉."""
        return fewest_of(self.exact)

    def bind(self, table: Table) -> tuple[JournalistRisk]:
        """Read the quasi-identifiers of the population. Raises InputError where it lacks one, and for a unit of
        protection that has several rows."""
        if table.unit is not None and table.column(table.unit).n_unique() < table.n:
            raise InputError(
                f"{table.source}: journalist risk counts rows of a population, and the unit of protection "
                f'"{table.unit}" has several rows; ask for the risk of each unit (risk, --risk), or leave the unit out'
            )
        Roles.of(table.quasi_identifiers).check(self.population.frame.columns, self.population.source)
        population = self.population.as_read(table.csv)
        population.among(table.quasi_identifiers)  # values that have no text are an error here
        return (replace(self, population=population),)

    def smallest_group(self, _table_group: Group) -> int:
        """Any group may be of one row."""
        return 1

    def holds(self, _group: Group) -> bool:
        """Whether the population is large enough at all; more is no matter of a group's rows."""
        return bool(self.population.n >= self.fewest)

    def shortfall(self, _table_group: Group) -> Shortfall:
        """Too small a population."""
        return Shortfall(f"the population has {counted(self.population.n, 'row')}, and {self.fewest:,} are asked for")

    def releasable(self, instance: InstanceData) -> Flags:
        """As many rows of the population as are asked for match what the candidate releases."""
        among = self.population.among(tuple(column.name for column in instance.levels.columns))
        enough: Flags = among.matching(instance) >= self.fewest
        return enough

    def certified(self, _table: Table) -> Sequence[Requirement]:
        """What may be released, by the population."""
        return (self,)

    def declare(self, _block: pyo.Block, _model: pyo.ConcreteModel, _instance: InstanceData) -> None:
        """Nothing: the candidates that are left have it."""

    def describe(self) -> dict[str, object]:
        """The threshold, and the population: its file, and how many rows it has."""
        people: Population = self.population
        file = {} if people.file is None else {"population": str(people.file)}
        return {**both("journalist_risk", self.exact), **file, "population_rows": people.n}


def fewest_of(risk: Fraction) -> int:
    """⌈1/r⌉."""
    return -(-risk.denominator // risk.numerator)
