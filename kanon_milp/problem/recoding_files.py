"""The one reader of recodings: what a mask, a folder of hierarchies and weights ask for together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kanon_milp.errors import InputError, among
from kanon_milp.problem.exact import Number
from kanon_milp.problem.hierarchies import Hierarchy
from kanon_milp.problem.recoding import Hierarchies, PatternMask, Recoding, Suppression
from kanon_milp.problem.table import Table

Makers = Mapping[str, Callable[..., Hierarchy]]  # of a column and of what messages call it (source=)


def made_hierarchies(table: Table, makers: Makers) -> dict[str, Hierarchy]:
    """The hierarchies that are made from the quasi-identifiers of a table themselves."""
    names = table.quasi_identifiers
    for name in makers:
        if name not in names:
            known = among(name, names, "quasi-identifier")
            raise InputError(f'{table.source}: "{name}" shall have a hierarchy, and is not a quasi-identifier{known}')
    return {
        name: make(table.frame[name], source=f'{table.source}: column "{name}"{_how(make)}')
        for name, make in makers.items()
    }


def _how(make: Callable[..., Hierarchy]) -> str:
    """How a hierarchy is made, as far as it tells: ' (widths 5, 10, 20)', ' (dates)' where the way is all there is."""
    given = {name: value for name, value in getattr(make, "keywords", {}).items() if value is not None}
    said = (f"{name} {', '.join(map(str, each if isinstance(each, list) else [each]))}" for name, each in given.items())
    way = getattr(getattr(make, "func", None), "__name__", "")
    return f" ({'; '.join(said) or way})" if given or way else ""


def read_recoding(
    columns: Sequence[str],
    mask: PatternMask | str | Path | None = None,
    hierarchies: str | Path | None = None,
    weights: Mapping[str, Number] | None = None,
    level_costs: Mapping[str, Sequence[Number]] | None = None,
    encoding: str | None = None,
    made: Mapping[str, Hierarchy] | None = None,
) -> Recoding:
    """The recoding of these quasi-identifiers, as the command line, model files and `verify` name it.

    mask: the mask, or its file. hierarchies: folder with a hierarchy COLUMN.csv for some of the columns. level_costs:
    only with hierarchies. encoding: of the files. made: hierarchies of columns that have none in the folder. Raises
    InputError for files that cannot be used.
    """
    given = dict(weights or {})
    patterns = mask if mask is None or isinstance(mask, PatternMask) else PatternMask.read(mask, given, encoding)
    if hierarchies is not None:
        read = Hierarchies.read(
            hierarchies, columns, weights=given, level_costs=level_costs, mask=patterns, encoding=encoding
        )
        for name in made or {}:
            if name in read.hierarchies:
                raise InputError(
                    f'column "{name}" has a hierarchy in {hierarchies}, and another is to be made; name one'
                )
        return replace(read, hierarchies={**read.hierarchies, **(made or {})})
    if made:
        return Hierarchies(made, given, dict(level_costs or {}), patterns)
    return Suppression(given) if patterns is None else patterns
