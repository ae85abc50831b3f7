"""Several results about one table side by side: what each protects, what it loses by column, and what is proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.studies.pages import page, share
from kanon_milp.studies.pages.protection import by_matches, lost, promises
from kanon_milp.studies.pages.wording import asked, marks, optimized, proof_sentence, requirement_sentence
from kanon_milp.system.text_tables import amount

VARIANTS = "variants.html"
COSTS = ("weights", "level_costs", "costs", "hierarchies")  # of `input`: what a loss is measured by
RISKS = {
    "highest": "highest risk of a row (prosecutor)",
    "average": "average risk of a row (prosecutor)",
}
QUALITY = {
    "precision": "precision (1: nothing lost)",
    "certainty_penalty": "normalized certainty penalty, NCP (0: nothing lost)",
    "entropy_loss": "entropy lost, as a share of all",
}
Line = tuple[str, list[str]]


def variants_page(found: Mapping[str, Mapping[str, Any]], title: str | None = None, author: str = "") -> str:
    """The page on which results are compared. found: the objects of `result.json` by the name of the variant, paths as
    they are to be shown. Raises InputError for fewer than two."""
    if len(found) < 2:
        raise InputError("variants are compared with one another; name two results or more")
    described, names = list(found.values()), list(found)
    differ, alike = _asked(described)
    columns = _columns(described)
    sections = ["Side by side", "What was asked", "Risk and loss", *(["Loss by column"] if columns else [])]
    return page(
        "variants.html",
        title=title or f"Variants of the anonymization of {described[0]['problem']['name']}",
        sections=sections,
        author=author,
        date=datetime.now(UTC).date().isoformat(),
        warnings=_warnings(described),
        names=names,
        cards=[
            (name, marks(each), promises(each), lost(each), proof_sentence(each))
            for name, each in zip(names, described, strict=True)
        ],
        differ=differ,
        alike=alike,
        numbers=_numbers(described),
        columns=columns,
    )


def _warnings(described: Sequence[Mapping[str, Any]]) -> list[str]:
    """What makes variants hard to compare."""
    said = []
    if len({(each["input"]["table"]["sha256"], each["problem"]["n"]) for each in described}) > 1:
        said.append("The variants were not read from the same file, so they may be about different tables.")
    if len({tuple(each["problem"]["quasi_identifiers"]) for each in described}) > 1:
        said.append("The quasi-identifiers differ: risks and losses are about what each variant changes.")
    elif len({optimized(each) for each in described}) > 1:
        said.append("What was optimized differs, so objectives and bounds cannot be compared.")
    elif any(
        [each["input"].get(key) for each in described].count(described[0]["input"].get(key)) < len(described)
        for key in COSTS
    ):
        said.append("Hierarchies or costs differ, so losses are in different units; compare the measures below.")
    if any(each.get("measures") and by_matches(each["measures"]) for each in described):
        said.append(
            "Where missing cells match any value, risks, the smallest group and shares in a group are about the rows "
            "that match a row; numbers of groups are about rows that are alike."
        )
    return said


def _asked(described: Sequence[Mapping[str, Any]]) -> tuple[list[Line], list[tuple[str, str]]]:
    """What was asked of the variants: where they differ, and where they are alike."""
    facts = []
    for each in described:
        required = {f"requirement {at}": requirement_sentence(one) for at, one in enumerate(_required(each), 1)}
        facts.append({**required, **{name: value or "" for name, value in asked(each)}})
    names = list(dict.fromkeys(name for each in facts for name in each))
    lines = [(name, [each.get(name) or "–" for each in facts]) for name in names]
    return (
        [line for line in lines if len(set(line[1])) > 1],
        [(name, values[0]) for name, values in lines if len(set(values)) == 1 and values[0] != "–"],
    )


def _required(described: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(described["problem"]["requirements"])


def _numbers(described: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Measures of the variants; those that nobody has are left out."""
    lines: list[Line] = [
        ("optimized", [optimized(each) for each in described]),
        ("value", [amount(each["objective"]) for each in described]),
        ("proven bound", [amount(each["bound"]) for each in described]),
        ("gap", [share(each["gap"], 2) for each in described]),
        ("suppressed cells", [_share(each["suppressed_cells"], each["problem"]) for each in described]),
        ("seconds", [f"{each['seconds']['total']:.1f}" for each in described]),
    ]
    measured = [each.get("measures") or {} for each in described]
    for key, what in RISKS.items():
        lines.append((what, [share((each.get("risk") or {}).get("after", {}).get(key)) for each in measured]))
    smallest = [(each.get("risk") or {}).get("after", {}).get("smallest") for each in measured]
    lines.append(("rows of the smallest group", ["–" if each is None else f"{each:,}" for each in smallest]))
    if any(each.get("unit_risk") for each in measured):
        highest = [((each.get("unit_risk") or {}).get("after") or {}).get("highest") for each in measured]
        lines.append(("highest risk of a unit of protection", [share(each) for each in highest]))
    groups = [(each.get("quality") or {}).get("groups") for each in measured]
    lines.append(("groups", ["–" if each is None else f"{each:,}" for each in groups]))
    for key, what in QUALITY.items():
        values = [(each.get("quality") or {}).get(key) for each in measured]
        lines.append((what, ["–" if each is None else f"{each:.3f}" for each in values]))
    held = [{one["name"]: one["alpha"] for one in each.get("sensitive", ())} for each in measured]
    for name in dict.fromkeys(name for each in held for name in each):
        lines.append((f"largest share of one {name} in a group", [share(each.get(name)) for each in held]))
    return [line for line in lines if set(line[1]) != {"–"}]


def _share(cells: int | None, problem: Mapping[str, Any]) -> str:
    return share(None if cells is None else cells / (problem["n"] * problem["m"]))


def _columns(described: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[list[float] | None]]]:
    """Of each column, for each variant, the shares of its cells that are kept, generalized and suppressed."""
    shares: list[dict[str, list[float]]] = []
    for each in described:
        n = each["problem"]["n"]
        columns = (each.get("measures") or {}).get("columns", ())
        shares.append({one["name"]: [one[key] / n for key in ("kept", "generalized", "suppressed")] for one in columns})
    names = dict.fromkeys(name for each in shares for name in each)
    return [(name, [each.get(name) for each in shares]) for name in names]
