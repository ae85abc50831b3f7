"""What a released table protects against, in words of the data, from the object of `result.json`.

All of it is told from what was measured on the released table, not from the names of the requirements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from kanon_milp.errors import counted, percent
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.privacy.registry import kind_named
from kanon_milp.problem.privacy.thresholds import PRESETS
from kanon_milp.studies.pages.wording import MADE, in_words_of_data, proof_sentence, recoded, requirement_sentence

LEVELS = {"widths": "intervals of {}", "lengths": "first {} characters", "levels": "{}", "counts": "{} classes"}


EMA_THRESHOLD = PRESETS["ema"].risk
OWNER = "The owner of the data must say whether"


class Answer(NamedTuple):
    """One of the three questions of the Article 29 Working Party's opinion on anonymization (WP 216), answered."""

    question: str
    said: list[str]


MATCHING = "if what is missing or suppressed may be any value"


def by_matches(measures: Mapping[str, Any]) -> bool:
    """Whether risks, and what holds of sensitive attributes, are about the rows that match a row."""
    return bool(measures["risk"].get("missing_keys") == "match")  # earlier versions counted rows that are alike


def listed(names: Sequence[str]) -> str:
    """Names as a part of a sentence."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def promises(described: Mapping[str, Any]) -> list[str]:
    """Who is protected against what, a sentence each; nothing where there is no verified table."""
    measures, problem = described.get("measures"), described["problem"]
    if measures is None or described["verified"] is not True:
        return []
    asked = [each for each in problem["requirements"] if each["name"] != KAnonymity.name]
    about = [f"{_capital(in_words_of_data(each))}." for each in asked]
    return [_found(measures, problem), *about, *_not_asked(measures, problem)]


def _found(measures: Mapping[str, Any], problem: Mapping[str, Any]) -> str:
    known = listed(problem["quasi_identifiers"])
    if measures.get("unit_risk"):
        unit, least = measures["unit_risk"]["unit"], measures["unit_risk"]["after"]["smallest"]
        if least == 1:
            return f"Some values of {unit} can still be told from all others by {known}."
        return (
            f"Somebody who knows {known} of a row finds rows of at least {least:,} different values of {unit} that "
            f"look the same, and picks the right one with a chance of at most 1 in {least:,}."
        )
    after = measures["risk"]["after"]
    gone = after["suppressed_rows"]
    apart = ""
    if 0 < gone < problem["n"]:
        are = "is" if gone == 1 else "are"
        apart = f" {_capital(counted(gone, 'row'))} of which nothing is released {are} not counted here."
    if by_matches(measures):
        said = (
            f"Each row of the released table matches at least {after['smallest']:,} rows by {known}, itself included, "
            f"{MATCHING}: a risk of at most 1 in {after['smallest']:,}."
        )
        if after["smallest"] == 1:
            rows = counted(after["unique_rows"], "row")
            said = f"No other row matches {rows} of the released table by {known}, {MATCHING}."
        return f"{said}{apart}"
    if after["smallest"] == 1:
        return f"{_capital(counted(after['unique_rows'], 'row'))} can still be told from all others by {known}.{apart}"
    return (
        f"Somebody who knows {known} of a row finds at least {after['smallest']:,} rows that look the same, and picks "
        f"the right one with a chance of at most 1 in {after['smallest']:,}.{apart}"
    )


def _not_asked(measures: Mapping[str, Any], problem: Mapping[str, Any]) -> list[str]:
    """Of sensitive attributes that no requirement is about, what a group may give away."""
    named = [each.get("sensitive") or [] for each in problem["requirements"]]
    about = {name for each in named for name in ([each] if isinstance(each, str) else each)}
    return [
        f"No requirement is about {each['name']}: {_most(each, measures)}."
        for each in measures["sensitive"]
        if each["name"] not in about
    ]


def _most(held: Mapping[str, Any], measures: Mapping[str, Any]) -> str:
    where, every = "in some group", "all rows"
    if by_matches(measures):
        where, every = "among the rows that match some row", "all"
    if held["p"] == 1:
        return f"{where} {every} have the same value of {held['name']}"
    return f"{where} one value of {held['name']} makes up {percent(held['alpha'])} of the rows"


def lost(described: Mapping[str, Any]) -> str:
    """What became of the cells of the quasi-identifiers, in one sentence; empty where nothing was measured."""
    measures, problem = described.get("measures"), described["problem"]
    if measures is None:
        return ""
    cells = problem["n"] * problem["m"]
    kept, between, gone = (
        percent(sum(each[key] for each in measures["columns"]) / cells) for key in ("kept", "generalized", "suppressed")
    )
    what = f"Of the {cells:,} cells of the quasi-identifiers"
    return f"{what} {kept} are as they were, {between} generalized and {gone} suppressed."


def levels(described: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, int]]]]:
    """Of each column the rows on each level, with what the level is; those of earlier versions say nothing of it."""
    trees, found = described["input"]["hierarchies"], []
    for column in (described.get("measures") or {}).get("columns", ()):
        counts = column.get("levels")
        if counts is None:
            continue
        made = MADE.search((trees.get(column["name"]) or {}).get("source") or "")
        way, values = (made["way"] or "", (made["values"] or "").split(", ")) if made else ("", [])
        known = way in LEVELS and len(values) == len(counts) - 2
        names = [
            LEVELS[way].format(value) if known else f"level {at}"
            for at, value in enumerate(values if known else counts[1:-1], 1)
        ]
        found.append((column["name"], list(zip(["as it was", *names, "suppressed"], counts, strict=True))))
    return found


def requirements(described: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Each requirement in words, the attack that it is meant against, and where it is defined."""
    found = []
    for each in described["problem"]["requirements"]:
        kind = kind_named(each["name"])
        found.append((requirement_sentence(each), kind.against if kind else "", kind.source if kind else ""))
    return found


def identifying(described: Mapping[str, Any]) -> list[str]:
    """What the columns that are released as they are tell of single rows."""
    kept, n = (described.get("measures") or {}).get("released_as_is"), described["problem"]["n"]
    if kept is None or not (kept["columns"] or kept["uncounted"]):
        return []
    telling = [f"{each['name']} ({each['unique']:,} of {n:,} rows)" for each in kept["columns"] if each["unique"]]
    said = []
    if telling:
        said.append(
            f"Columns that are released as they are and tell rows from all others, each alone: {', '.join(telling)}."
        )
    if kept["columns"]:
        names = listed([each["name"] for each in kept["columns"]])
        are = "is" if len(kept["columns"]) == 1 else "are"
        told = f"could tell {kept['together']:,} of {n:,} rows from all others"
        if by_matches(described["measures"]):
            told += ", if what is missing or suppressed is a value of its own"
        said.append(f"Somebody who also knew {names}, which {are} not changed, {told}.")
    if kept["uncounted"]:
        said.append(f"Not counted, since its values are not text: {listed(kept['uncounted'])}.")
    return said


def answers(described: Mapping[str, Any]) -> list[Answer]:
    """The three questions of WP 216; nothing where there is no verified table."""
    measures, problem = described.get("measures"), described["problem"]
    if measures is None or described["verified"] is not True:
        return []
    found, group, linked = "that group", "a group", "a group of this one"
    if by_matches(measures):
        found, group, linked = "these rows", "the rows that match", "the rows of this one that match them"
    inferred = [
        f"{_capital(_most(each, measures))}: whoever finds {found} infers that much." for each in measures["sensitive"]
    ]
    if not inferred:
        inferred = [
            "No column is named as sensitive, so nothing was asked or measured here. k-anonymity does not prevent "
            "inference: if all rows of a group agree in a column, whoever finds the group knows that value."
        ]
    inferred.append(
        "No requirement prevents inferences from general knowledge, such as that a disease is rare at some age."
    )
    return [
        Answer("Can somebody be singled out?", [_found(measures, problem), *identifying(described)]),
        Answer(
            "Can records of the same person be linked?",
            [
                f"To {group}, yes: whoever holds another table with the same columns can link each of its rows to "
                f"{linked}. Nothing here prevents the intersection of two releases about the same persons; release "
                "one, or the same groups in both."
            ],
        ),
        Answer("Can something be inferred about somebody?", inferred),
    ]


def steps_of_ema(described: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The steps that the European Medicines Agency's external guidance on Policy 0070 (EMA/90915/2016, chapter 3)
    recommends, and which a report on them documents: what this result says of each."""
    problem, measures = described["problem"], described["measures"]
    roles, risk, quality = problem["roles"], measures["risk"], measures["quality"]
    before, after, among = risk["before"], risk["after"], risk.get("population_matches")
    attacks = dict.fromkeys(against for _, against, _ in requirements(described) if against)

    def changed(column: Mapping[str, Any]) -> str:
        rows = {word: column[word] for word in ("generalized", "suppressed") if column[word]}
        shares = (f"{word} {percent(count / problem['n'])}" for word, count in rows.items())
        return f"{column['name']} ({', '.join(shares) or 'unchanged'})"

    removed = [*roles["identifying"], *roles.get("unit", [])]
    named = [
        f"Direct identifiers, removed: {listed(removed)}." if removed else "No column is named as a direct identifier.",
        f"Quasi-identifiers, and what became of their cells: {'; '.join(map(changed, measures['columns']))}.",
    ]
    if kept := [*roles["sensitive"], *roles["insensitive"], *roles["unclassified"]]:
        named.append(f"Released as they are: {listed(kept)}.")
    units = measures.get("unit_risk")
    whose, smallest = "a row" + ", counting the rows that match it" * by_matches(measures), after["smallest"]
    if units:
        whose, smallest, before, after = (
            f"a {units['unit']}",
            units["after"]["smallest"],
            units["before"],
            units["after"],
        )
    verdict, fewest = ("at most" if Fraction(1, each) <= EMA_THRESHOLD else "above" for each in (smallest, among or 1))
    threshold = (
        f"The guidance suggests a highest risk of {float(EMA_THRESHOLD)} for publication, for which groups need at "
        f"least {math.ceil(1 / EMA_THRESHOLD)} members. The highest risk here, 1/{smallest:,}, is {verdict} that."
    )
    knows = "somebody is in the table, and all of her quasi-identifiers"
    if among:
        threshold += f" That is the prosecutor's; the journalist's, at most 1/{among:,}, is {fewest} that."
        knows += "; that of the journalist's risk knows the latter only"
    actual = (
        f"The prosecutor's, for {whose}: {percent(before['highest'])} at most and {percent(before['average'])} "
        f"on average before, {percent(after['highest'])} at most and {percent(after['average'])} on average "
        "after."
    )
    used = [quality["precision"], quality["certainty_penalty"]]
    utility = "" if None in used else f" Precision {used[0]:.3f}, normalized certainty penalty {used[1]:.3f}."
    return [
        ("Direct identifiers and quasi-identifiers", f"{' '.join(named)} {OWNER} no other column identifies."),
        (
            "Adversaries and attacks",
            f"The adversary knows that {knows}. The requirements are meant against {'; '.join(attacks)}. "
            f"{OWNER} nobody knows more.",
        ),
        ("Data utility", f"{lost(described)}{utility} The owner of the data must say what they are needed for."),
        ("Threshold of risk", threshold),
        ("Actual risk of re-identification", actual),
        (
            "Methodology",
            f"{_capital(recoded(described))}; made with "
            f"{described['package']['name']} {described['package']['version']}. {proof_sentence(described)}",
        ),
        ("Documentation", 'On this page: "What was asked", "How to verify" and "How it was made".'),
    ]


def _capital(said: str) -> str:
    return said[:1].upper() + said[1:]
