"""The one reader of recodings: what a mask, a folder of hierarchies and weights ask for together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kanon_milp.problem.exact import Number
from kanon_milp.problem.recoding import Hierarchies, PatternMask, Recoding, Suppression


def read_recoding(
    columns: Sequence[str],
    mask: PatternMask | str | Path | None = None,
    hierarchies: str | Path | None = None,
    weights: Mapping[str, Number] | None = None,
    level_costs: Mapping[str, Sequence[Number]] | None = None,
    encoding: str = "utf-8",
) -> Recoding:
    """The recoding of these quasi-identifiers, as the command line, model files and `verify` name it.

    mask: the mask, or its file. hierarchies: folder with a hierarchy COLUMN.csv for some of the columns. level_costs:
    only with hierarchies. encoding: of the files. Raises InputError for files that cannot be used.
    """
    given = dict(weights or {})
    patterns = mask if mask is None or isinstance(mask, PatternMask) else PatternMask.read(mask, given, encoding)
    if hierarchies is not None:
        return Hierarchies.read(
            hierarchies, columns, weights=given, level_costs=level_costs, mask=patterns, encoding=encoding
        )
    return Suppression(given) if patterns is None else patterns
