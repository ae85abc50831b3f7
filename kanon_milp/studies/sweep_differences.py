"""How a sweep that is asked for differs from one that is in a folder, in the words of the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kanon_milp.errors import term

MOST = 5  # differences that are named
MORE = "'"  # behind the name of a further requirement of its kind
# where run.json has what an option says
PLAIN: dict[tuple[str, ...], str] = {
    ("swept",): "what is swept",
    **{("options", name): f"--{name.replace('_', '-')}" for name in ("method", "time_limit", "threads", "seed")},
    ("options", "baselines"): "--baselines",
    ("input", "table", "source"): "--data",
    ("input", "table", "delimiter"): "--delimiter",
    ("input", "table", "encoding"): "--encoding",
    ("input", "table", "missing_values"): "--missing-values",
    ("input", "table", "header"): "--header",
    ("input", "table", "symbol"): "--symbol",
    ("problem", "roles", "quasi_identifiers"): "--qi",
    ("problem", "roles", "sensitive"): "--sensitive",
    ("problem", "roles", "identifying"): "--identifying",
    ("problem", "roles", "insensitive"): "--keep",
    ("problem", "roles", "unit"): "--unit",
    ("problem", "suppressed_rows"): "--suppressed-rows",
    ("problem", "objective"): "--objective",
    ("problem", "cost_bound"): "--cost-bound",
    ("problem", "min_groups"): "--min-groups",
    ("problem", "max_groups"): "--max-groups",
    ("problem", "recoding"): "the recoding",
    ("input", "mask", "file"): "--mask",
}
# values that may be cells, long, or hashes: only that they differ is said
UNSHOWN: dict[tuple[str, ...], str] = {
    ("input", "table", "query"): "--query is another",
    ("input", "table", "sha256"): "the content of --data is another",
    ("input", "mask", "patterns"): "--mask has other patterns",
    ("input", "mask", "sha256"): "the content of --mask is another",
    ("input", "level_costs"): "levels have other costs",
    ("input", "values"): "a requirement is about other sensitive values",
    ("input", "distances"): "the files of --distance are others",
    ("problem", "name"): "the problem has another name",
}
LETTERS = {  # of each kind of requirement the parameter that asks for it first
    ("k_anonymity", "k"): "--k",
    ("l_diversity", "l"): "--l",
    ("l_diversity", "form"): "--l-form",
    ("t_closeness", "t"): "--t",
    ("t_closeness", "distance"): "--distance",
    ("p_sensitivity", "p"): "--p",
    ("alpha_k_anonymity", "alpha"): "--alpha",
    ("alpha_k_anonymity", "alpha_k"): "k of (alpha,k)-anonymity",
    ("alpha_k_anonymity", "values"): "the number of values of (alpha,k)-anonymity",
    ("beta_likeness", "beta"): "--beta",
    ("delta_disclosure", "delta"): "--delta",
}


def differences(then: Any, now: Any) -> str:
    """What differs between two descriptions of sweeps (`about` of run.json): each option, then and now, and no cell."""
    found = list(dict.fromkeys(_found(then, now)))
    more = len(found) - MOST
    return "; ".join([*found[:MOST], *([f"and {more} more"] if more > 0 else [])])


def _found(then: Any, now: Any) -> Iterator[str]:
    for path, name in PLAIN.items():
        yield from _told(name, _at(then, path), _at(now, path))
    yield from _requirements(_at(then, ("problem", "requirements")), _at(now, ("problem", "requirements")))
    yield from _by_column("--weight", then, now, ("input", "weights"))
    for column in _columns(then, now, ("input", "hierarchies")):
        old, new = (_at(each, ("input", "hierarchies", column)) for each in (then, now))
        where = [_at(each, ("source",)) or _at(each, ("file",)) for each in (old, new)]
        what = f"the hierarchy of {column}"
        yield from _told(what, *where) if where[0] != where[1] else _differ(f"{what} is another", old, new)
    for path, what in UNSHOWN.items():
        yield from _differ(what, _at(then, path), _at(now, path))


def _requirements(then: Any, now: Any) -> Iterator[str]:
    """Parameters of requirements, except for lists: these may be of sensitive values."""
    old, new = _by_name(then), _by_name(now)
    for name in dict.fromkeys([*old, *new]):
        if name not in old or name not in new:
            yield from _added(name, old.get(name), new.get(name))
            continue
        for key in dict.fromkeys([*old[name], *new[name]]):
            other = f"the sensitive attribute of {term(name)}" if key == "sensitive" else f"{key} of {term(name)}"
            shown = LETTERS.get((name, key), other.replace("_", " "))
            values = [each[name].get(key) for each in (old, new)]
            shows = key == "sensitive" or not any(isinstance(each, list | dict) for each in values)
            yield from _told(shown, *values) if shows else _differ(f"{shown} differs", *values)


def _added(name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[str]:
    """What to say of a requirement that only one of the two sweeps has."""
    first = next((at for at in LETTERS if at[0] == name), None)
    if first is None:
        was, now = ("asked for", "is not") if new is None else ("not asked for", "is")
        yield f"{term(name.rstrip(MORE))} was {was}, and {now} now"
    else:
        yield from _told(LETTERS[first], *(None if each is None else each.get(first[1]) for each in (old, new)))


def _by_name(requirements: Any) -> dict[str, dict[str, Any]]:
    """Parameters by the name of the requirement, exact ones in place of decimals; several of a kind marked."""
    found: dict[str, dict[str, Any]] = {}
    for each in requirements if isinstance(requirements, list) else []:
        if isinstance(each, dict):
            name = str(each.get("name"))
            while name in found:
                name += MORE
            exact = {key: each.get(f"{key}_exact", value) for key, value in each.items() if key != "name"}
            found[name] = {key: value for key, value in exact.items() if not key.endswith("_exact")}
    return found


def _by_column(option: str, then: Any, now: Any, path: tuple[str, ...]) -> Iterator[str]:
    for column in _columns(then, now, path):
        yield from _told(f"{option} {column}", _at(then, (*path, column)), _at(now, (*path, column)))


def _columns(then: Any, now: Any, path: tuple[str, ...]) -> list[str]:
    both = (_at(then, path), _at(now, path))
    return list(dict.fromkeys(name for each in both if isinstance(each, dict) for name in each))


def _told(name: str, then: Any, now: Any) -> Iterator[str]:
    before, after = (_word(each) or "not named" for each in (then, now))
    if before != after:
        yield f"{name} was {before}, and is {after} now"


def _differ(what: str, then: Any, now: Any) -> Iterator[str]:
    if then != now:
        yield what


def _word(value: Any) -> str:
    """A value as an option has it; "" where there is none."""
    if value is None:
        return ""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
