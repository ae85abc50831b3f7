"""What `result.json` says of the problem and where it came from: enough to state the same problem again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kanon_milp.errors import is_built_in, is_ours
from kanon_milp.formulations import FORMULATIONS
from kanon_milp.presolve.own_reductions import own_reductions
from kanon_milp.problem.arguments import exists
from kanon_milp.problem.group_costs import OwnCost
from kanon_milp.problem.group_recoding import Microaggregation
from kanon_milp.problem.privacy.base import described as as_plain_data
from kanon_milp.problem.problem import Problem

MODEL_FILE = ".toml"  # a table from a data set or a generator has the model file that names it as its source


def fingerprints(problem: Problem) -> dict[str, str | None]:
    """SHA-256 of each file that the problem was read from, by its path; None where it cannot be read any more."""
    paths = dict.fromkeys(source for source in problem.sources if "\0" not in source)
    return {path: sha256_of(Path(path)) for path in paths if exists(Path(path), Path.is_file)}


def sha256_of(path: Path) -> str | None:
    """SHA-256 of a file, None where it cannot be read, or is a device, which need not end."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def users_code(problem: Problem, formulation: str) -> tuple[str, ...]:
    """Code of the user's own that a proof takes on trust, each as its kind and name, such as "requirement at_most".

    What it says (smallest groups, flags, constraints, costs of moving values) is used as it is, in models, bounds and
    reductions alike.
    """
    recoding, requirements = problem.recoding, problem.requirements
    distances = [each for each in (getattr(r, "distance", None) for r in requirements) if not isinstance(each, str)]
    parts: list[tuple[str, str, object]] = [
        *(("requirement", requirement.name, requirement) for requirement in requirements),
        *(("distance", type(each).__name__, each) for each in distances if each is not None),
        *(("group cost", each.own.name, each.own) for each in (problem.group_cost,) if isinstance(each, OwnCost)),
        ("recoding", type(recoding).__name__, recoding),
        *(("hierarchy", name, each) for name, each in recoding.hierarchies.items()),
        *(
            ("mask", type(each).__name__, each)
            for each in (recoding.mask,)
            if each is not None and each is not recoding
        ),
    ]
    named = [f"{kind} {name}" for kind, name, thing in parts if not is_built_in(thing)]
    named += [f"reduction {each.name}" for each in own_reductions(problem)]
    if (stated := FORMULATIONS.find(formulation)) is not None and not is_ours(stated.declare):
        named.insert(0, f"formulation {formulation}")
    return tuple(dict.fromkeys(named))


def backing(proven_by: Iterable[str], problem: Problem, formulation: str) -> tuple[str, ...]:
    """What a proof is backed by, with code of the user's own that it takes on trust. Multipliers that were found with
    such code prove less to a checker, which does not know it, so that they are no certificate."""
    trusted = users_code(problem, formulation)
    known = ("own bound" if trusted and each == "certificate" else each for each in proven_by)
    return tuple(dict.fromkeys((*known, *trusted)))


def describe_problem(problem: Problem, row_types: tuple[int, int]) -> dict[str, Any]:
    """The entry `problem` of `result.json`."""
    described = [{"name": r.name, **as_plain_data(r)} for r in problem.requirements]
    table = problem.table
    return {
        "name": problem.name,
        "kind": "+".join(dict.fromkeys(requirement.name for requirement in problem.requirements)),
        "n": table.n,
        "m": table.m,
        "t_in": row_types[0],
        "t_in_star": row_types[1],
        **{letter: _strictest(described, letter) for letter in ("k", "p", "l", "t")},
        "decided_by": _decided_by(described),
        "requirements": described,
        "quasi_identifiers": list(table.quasi_identifiers),
        "sensitive": list(table.sensitive),
        "roles": {
            **{role: list(names) for role, names in table.roles.items()},
            "unclassified": table.roles.unclassified(table.frame.columns),
        },
        "recoding": problem.recoding.kind,
        "patterns": None if problem.recoding.mask is None else len(problem.recoding.mask.patterns),
        "suppressed_rows": problem.suppressed_rows,
        "objective": problem.objective,
        "cost_bound": None if problem.cost_bound is None else str(problem.exact_cost_bound),
        "min_groups": problem.min_groups,
        "max_groups": problem.max_groups,
    }


def _strictest(described: list[dict[str, object]], letter: str) -> Any:
    """The parameter of that letter; where several requirements have one, the strictest (a small t, a large k, p, l)."""
    found: list[Any] = [entry[letter] for entry in described if letter in entry and "quasi_identifiers" not in entry]
    if not found:
        return None
    return min(found) if letter == "t" else max(found)


def _decided_by(described: list[dict[str, Any]]) -> str | None:
    """Where a k and a threshold of risk are asked for, which of the two needs the larger groups: "k", "risk" or "both";
    None where only one is."""
    sizes = [each for each in described if each["name"] == "k_anonymity" and "quasi_identifiers" not in each]
    of_k, of_risk = ([each["k"] for each in sizes if ("risk" in each) == by_risk] for by_risk in (False, True))
    if not of_k or not of_risk:
        return None
    return "both" if max(of_k) == max(of_risk) else "k" if max(of_k) > max(of_risk) else "risk"


def describe_input(problem: Problem, files: Mapping[str, str | None]) -> dict[str, Any]:
    """The entry `input` of `result.json`: where everything came from, and how it was read.

    `file` is null where a table, mask or hierarchy was not read from a file; then the patterns stand there as they are.
    """
    table, recoding = problem.table, problem.recoding
    header = table.csv.header
    weights = {name: str(weight) for name, weight in recoding.weights.items()}
    costs = {name: [str(cost) for cost in levels] for name, levels in recoding.level_costs.items()}
    distances = [getattr(each, "distance", None) for each in problem.requirements]
    trees = [getattr(each, "hierarchy", None) for each in distances]
    sources = [str(getattr(each, "source", "")) for each in (*distances, *trees)]
    people = [getattr(getattr(each, "population", None), "file", None) for each in problem.requirements]
    mask: dict[str, Any] | None = None
    if (given := recoding.mask) is not None:
        patterns = [dict(each) if isinstance(each, Mapping) else list(each) for each in given.patterns]
        columns = None if given.columns is None else list(given.columns)
        mask = {**_file(given.source, files), "columns": columns, "patterns": patterns}
    return {
        "table": {
            **_file("" if table.source.endswith(MODEL_FILE) else table.source, files),
            "source": table.source,
            "query": table.query,
            "kind": table.kind,
            "delimiter": table.csv.delimiter,
            "encoding": table.csv.encoding,
            **({"found": list(table.csv.found)} if table.csv.found else {}),
            **({} if header is True else {"header": header if isinstance(header, bool) else list(header)}),
            **({"missing_values": list(table.csv.missing_values)} if table.csv.missing_values else {}),
            **({"missing": table.missing} if table.keys_match else {}),
            "symbol": table.symbol,
        },
        "mask": mask,
        "hierarchies": {name: _hierarchy(each.source, files) for name, each in recoding.hierarchies.items()},
        "weights": weights,
        "level_costs": costs,
        **({"costs": _costs(recoding.costs)} if recoding.costs else {}),
        **({"microaggregation": recoding.claims} if isinstance(recoding, Microaggregation) else {}),
        **({"populations": [_file(str(each), files) for each in people if each]} if any(people) else {}),
        "distances": [_file(source, files) for source in dict.fromkeys(sources) if source in files],
    }


def _costs(given: Mapping[str, Any] | str) -> Any:
    """Costs of labels as exact text, or the word that says how they are computed."""
    if isinstance(given, str):
        return given
    return {
        name: each if isinstance(each, str) else {label: str(cost) for label, cost in each.items()}
        for name, each in given.items()
    }


def _file(source: str, files: Mapping[str, str | None]) -> dict[str, str | None]:
    return {"file": source if source in files else None, "sha256": files.get(source)}


def _hierarchy(source: str, files: Mapping[str, str | None]) -> dict[str, str | None]:
    """Where a hierarchy was read from; of one that was made, how."""
    return _file(source, files) if source in files else {**_file(source, files), "source": source}
