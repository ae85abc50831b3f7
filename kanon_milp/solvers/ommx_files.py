"""A model as an instance of OMMX, in an archive that its tools read; the package `ommx` writes it."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.extras import optional

_ANNOTATION = "org.kanon-milp."  # and the name of a fact


def ommx_archive(
    model: LinearModel, variables: Sequence[str], constraints: Sequence[str], about: Mapping[str, str]
) -> bytes:
    """The archive, with one instance: variables have the number and the name that they have in other files.

    about: facts by name, its annotations. Raises InputError where `ommx` is not installed.
    """
    v1, artifact = (optional(f"ommx.{part}", "ommx", "a model as an OMMX instance") for part in ("v1", "artifact"))
    instance: Any = v1.Instance.from_components(
        decision_variables=_variables(v1, model, variables),
        constraints=_constraints(v1, model, constraints),
        objective=v1.Linear(terms=_terms(range(model.variables), model.c.tolist()), constant=float(model.offset)),
        sense=v1.Instance.MINIMIZE,
    )
    instance.title = model.name
    instance.num_variables, instance.num_constraints = model.variables, len(instance.constraints)
    instance.annotations.update({_ANNOTATION + name: value for name, value in about.items()})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.ommx"
        builder = artifact.ArtifactBuilder.new_archive_unnamed(str(path))
        builder.add_instance(instance)
        builder.build()
        return path.read_bytes()


def _variables(v1: Any, model: LinearModel, names: Sequence[str]) -> list[Any]:
    made = v1.DecisionVariable
    described = zip(names, model.lower.tolist(), model.upper.tolist(), model.integer.tolist(), strict=True)
    found = []
    for j, (name, low, high, integer) in enumerate(described):
        kind = made.CONTINUOUS if not integer else made.BINARY if (low, high) == (0, 1) else made.INTEGER
        found.append(made.of_type(kind, j, lower=low, upper=high, name=name))
    return found


def _constraints(v1: Any, model: LinearModel, names: Sequence[str]) -> list[Any]:
    """Each is 0 or at most 0; one with two sides is two."""
    kind, A, found = v1.Constraint, model.A, list[Any]()
    sides = zip(names, model.constraint_lower.tolist(), model.constraint_upper.tolist(), strict=True)
    for i, (name, low, high) in enumerate(sides):
        at = slice(A.indptr[i], A.indptr[i + 1])
        columns, values = A.indices[at].tolist(), A.data[at].tolist()
        equal = low == high
        wanted = [(1.0, high)] if equal else [(-1.0, low), (1.0, high)]
        for sign, side in wanted:
            if math.isfinite(side):
                left = v1.Linear(terms=_terms(columns, [sign * value for value in values]), constant=-sign * side)
                equality = kind.EQUAL_TO_ZERO if equal else kind.LESS_THAN_OR_EQUAL_TO_ZERO
                found.append(kind(function=left, equality=equality, id=len(found), name=name))
    return found


def _terms(columns: Sequence[int], values: Sequence[float]) -> dict[int, float]:
    return {j: value for j, value in zip(columns, values, strict=True) if value}
