"""The verifier's definition of journalist risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from kanon_milp.errors import InputError, among
from kanon_milp.verify.definitions import AtLeast, Definition, PopulationRule, Rule
from kanon_milp.verify.definitions.prosecutor_risk import threshold
from kanon_milp.verify.numbers import both
from kanon_milp.verify.tables import Original, text_columns


def _rules(requirement: Any, table: Original) -> Sequence[Rule]:
    """The rows of the population as they came."""
    people = requirement.population
    if any(table.keys[unit].n_unique() < table.n for unit in table.units):
        raise InputError(f"{table.source}: journalist risk counts rows of a population, and a unit has several rows")
    for name in table.quasi_identifiers:
        if name not in people.frame.columns:
            raise InputError(f'{people.source}: there is no column "{name}"{among(name, people.frame.columns)}')
    risk = threshold(requirement.journalist_risk, "journalist_risk")
    counts = np.asarray(people.counts, dtype=np.int64)
    file = {} if people.file is None else {"population": str(people.file)}
    described = {**both("journalist_risk", risk), **file, "population_rows": int(counts.sum())}
    rows = text_columns(people.frame, table.quasi_identifiers)
    if people.file is not None and table.marks:  # they stand for a missing value in its file, too
        marks = {*table.marks, *(mark[1:-1].strip() for mark in table.marks if mark[0] == mark[-1] in ("'", '"'))}
        rows = rows.with_columns(pl.when(~pl.all().str.strip_chars().is_in(list(marks))).then(pl.all()))
    return [PopulationRule(risk, rows, counts, described)]


def _least(_requirement: Mapping[str, Any], _table: Original) -> AtLeast:
    """Any group may be of one row."""
    return AtLeast(1)


DEFINITION = Definition(
    "JournalistRisk",
    "journalist_risk",
    _rules,
    {
        "journalist_risk": "number",
        "population": "column",
        "population_rows": "count",
        "population_sha256": "column",
    },
    _least,
    optional=("population", "population_sha256"),
    term="journalist risk",
)
