"""What a result says: in plain sentences, and in the command that checks it again, from the object of `result.json`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kanon_milp.errors import InputError, counted, gap_in_words
from kanon_milp.problem.csv_files import default_delimiter
from kanon_milp.problem.distances import SIMPLE
from kanon_milp.problem.group_recoding import GROUP_RECODINGS, Microaggregation
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.privacy.registry import kind_named, term
from kanon_milp.problem.table import SYMBOL
from kanon_milp.studies.model_files import library_folder
from kanon_milp.studies.proposal import listing
from kanon_milp.system.text_tables import amount

BACKED = {
    "solver": "the solver",
    "second look": "a second solver, or the same one in another setting",
    "own bound": "a bound that this package computes itself",
    "certificate": "a certificate that anybody can check from the table alone",
    "registered bound": "a bound of the user's own",
}
ASKED = "no table that meets the requirements and all else that was asked"
RECODINGS = {
    "suppression": "any cell may be suppressed",
    "pattern_mask": "a row may be suppressed in the patterns of a mask",
    "hierarchies": "cells may be generalized along hierarchies, or suppressed",
    "boxes": "cells become the interval or the set of the values of their group, or the lowest label of a hierarchy "
    "above them; the cost is the normalized certainty penalty (NCP)",
}
GROUP_COSTS = {"sse": "the sum of squares around that centre", "l1": "the sum of absolute deviations from that centre"}


def recoded(described: Mapping[str, Any]) -> str:
    """What may become of cells, in words."""
    kind, claims = str(described["problem"]["recoding"]), described["input"].get("microaggregation")
    if claims is None:
        return RECODINGS.get(kind, kind)
    if claims["cost"] not in GROUP_COSTS:
        return f"{kind}: groups are released and charged as the group cost {claims['cost']} says"
    center = "values of one row (member)" if claims["center"] == "member" else claims["center"]
    columns = "standardized columns" if claims["standardize"] else "the columns as they are, not standardized"
    cost = f"{GROUP_COSTS[claims['cost']]}, of {columns}"
    return f"{kind}: numbers become the {center} of their group; the cost is {cost}"


def optimized(described: Mapping[str, Any]) -> str:
    """What was optimized, in words."""
    asked = described["problem"]["objective"]
    told = described.get("optimized")  # which results of earlier versions do not have
    return str(told["what"]) if told else "loss" if asked == "loss" else "number of groups"


def further(described: Mapping[str, Any]) -> dict[str, str]:
    """What was optimized after that, by its goal, with its value and what is proven of it."""
    found = {}
    for stage in (described.get("stages") or [])[1:]:  # which results of earlier versions do not have
        known = {"optimal": "proven", "bound": f"bound {amount(stage['bound'])}", "none": "nothing proven"}
        found[stage["goal"]] = f"{stage['goal']}: {amount(stage['value'])} ({known[stage['proof']]})"
    return found


def backing(described: Mapping[str, Any]) -> str:
    """What the proof is backed by, as a sentence; empty where that is not known."""
    words = described["proof_backed_by"]
    named = BACKED | {"solver": f"the solver {described.get('solver', {}).get('name', '')}".strip()}
    proven = [named.get(each, each) for each in words if each in BACKED or each.startswith("method ")]
    trusted = [each for each in words if each not in BACKED and not each.startswith("method ")]
    backed = f" This is backed by {' and by '.join(proven)}." if proven else ""
    if trusted:
        backed += (
            f" It relies on code that is not part of this package, and is no better than that code: "
            f"{', '.join(trusted)}."
        )
    return backed


def proof_sentence(described: Mapping[str, Any]) -> str:
    """What is proven of the released table, for somebody who knows nothing of optimization. Of a model that its
    user has extended it is proven of the solutions of that model, not of all tables."""
    extended, what = described.get("extended"), optimized(described)
    objective, bound, proof, message = (described[key] for key in ("objective", "bound", "proof", "message"))
    model = f"the model as it was extended ({extended['words']})" if extended else ""
    if described["verified"] not in (True, None):
        whose = f" It is a solution of {model}." if extended else ""
        return f"The verifier refused this table, so it must not be released.{whose}"
    if proof == "infeasible":
        nothing = (
            f"{model} has no solution" if extended else "no table meets these requirements and all else that was asked"
        )
        return f"It is proven that {nothing}{message and ': '}{message}." + backing(described)
    scope = f"no solution of {model}" if extended else ASKED
    told = described.get("optimized")
    maximized = told["sense"] == "maximize" if told else described["problem"]["objective"] == "max_groups"
    larger, above = ("larger", "above") if maximized else ("smaller", "below")
    a = "an" if what.startswith("objective") else "a"
    known = "" if bound is None else f"it is proven that {scope} has {a} {what} {above} {amount(bound)}"
    if described["verified"] is None:
        ended = f"No table was found ({described['stop_reason'].replace('_', ' ')}{message and ': '}{message})"
        return f"{ended}; {known}.{backing(described)}" if known else f"{ended}."
    checked = "an independent verifier, which shares no code with the optimizer, has checked the finished table"
    reached = f"The value {amount(objective)} of the {what}" if a == "an" else f"The {what} of {amount(objective)}"
    if proof == "optimal":
        said = f"{reached} is proven to be the best possible: {scope} has a {larger} one, and {checked}."
    elif proof == "bound" and known:
        gap = described["gap"] if what == "loss" else None
        far = "" if gap is None else gap_in_words(gap)
        saved = far and f", so at most {far} of it could be saved{' there' if extended else ''}"
        said = f"he {what} is {amount(objective)}, and {known}{saved}; {checked}."
        within = far and bound and not extended
        said = f"The table is within {far} of the best possible: t{said}" if within else f"T{said}"
    else:
        within = f" in {model}" if extended else ""
        far = f"nothing is proven about how far from the best that is{within}"
        said = f"The {what} is {amount(objective)}; {far}, and {checked}."
    return f"{said}{_not_said(described)}{backing(described)}"


def _not_said(described: Mapping[str, Any]) -> str:
    """What the sentence about what was optimized does not say: the loss, and the tables that a model leaves out."""
    extended, loss = described.get("extended"), described.get("loss")
    said = ""
    if optimized(described) != "loss" and loss is not None:
        said += f" The table loses {amount(loss)}; how far that is from the least loss is not stated."
    elif extended and not extended["relaxed"]:
        said += " Tables outside of that model may lose less."
    if extended and extended["relaxed"]:
        said += " That model may allow more than was asked; the check of the table says that it meets the requirements."
    if extended and described["proof"] == "optimal" and described["message"]:
        said += f" Note: {described['message']}."
    return said


def asked(described: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """What was asked for: names, and what they are; empty, or None, where it was not."""
    problem, given = described["problem"], described["input"]
    roles = problem["roles"]
    named = [each.get("sensitive") or [] for each in problem["requirements"]]
    about = {name for each in named for name in ([each] if isinstance(each, str) else each)}
    protected, bare = ([name for name in roles["sensitive"] if (name in about) == yes] for yes in (True, False))
    recoding, matching = recoded(described), given["table"].get("missing") == "wildcard"
    if problem["patterns"] is not None:
        recoding += f"; {counted(problem['patterns'], 'pattern')} allowed"
    people = [
        ": ".join([*filter(None, [each.get("population")]), counted(each["population_rows"], "row")])
        for each in problem["requirements"]
        if isinstance(each.get("population_rows"), int)
    ]
    sides = [
        f"a loss of at most {problem['cost_bound']}" if problem["cost_bound"] is not None else "",
        f"at least {counted(problem['min_groups'], 'group')}" if problem["min_groups"] is not None else "",
        f"at most {counted(problem['max_groups'], 'group')}" if problem["max_groups"] is not None else "",
        "fully suppressed rows need no partners" if problem["suppressed_rows"] == "exempt" else "",
    ]
    goals = {
        "loss": "least loss",
        "min_groups": "fewest groups",
        "max_groups": "most groups",
        "discernibility": "least discernibility",
    }

    def words(before: str, names: Iterable[str], after: str = "") -> str:
        return f"{before}{', '.join(names)}{after}" if names else ""

    return [
        ("model file", (given.get("model") or {}).get("file")),
        ("table", f"{given['table']['source']}: {counted(problem['n'], 'row')}, {problem['t_in']:,} distinct"),
        ("population", ", ".join(people)),
        ("changed", words("quasi-identifiers ", roles["quasi_identifiers"])),
        ("protected", words("sensitive ", protected)),
        ("not protected", words("sensitive ", bare, ": no requirement is about it")),
        (
            "unit of protection",
            words("", roles.get("unit", []), ": k counts its different values, not rows; it is removed"),
        ),
        ("counts", words("a row of the table stands for as many rows as ", roles.get("count", []), " says")),
        ("removed", words("identifying ", roles["identifying"])),
        ("dropped", words("", roles.get("dropped", []), "; not named as identifying")),
        ("kept as they are", words("", [*roles["insensitive"], *roles["unclassified"]])),
        ("missing cells", "what is missing or suppressed matches any value" if matching else ""),
        ("decides", DECIDES.get(problem.get("decided_by"), "").format(problem["k"])),
        ("how", recoding),
        ("weights", ", ".join(f"{name} {weight}" for name, weight in given["weights"].items())),
        ("goal", goals.get(problem["objective"], optimized(described))),
        ("then", ", ".join(further(described).values())),
        ("pool", (described.get("pool") or {}).get("summary", "")),
        ("extended model", (described.get("extended") or {}).get("words")),
        ("also", ", ".join(filter(None, sides))),
    ]


DECIDES = {
    "k": "the k that was asked for, {}; the threshold of risk needs less",
    "risk": "the threshold of risk, which needs k = {}, more than the k that was asked for",
    "both": "the k that was asked for and the threshold of risk alike, both k = {}",
}


def marks(described: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The verdicts, in a word each: (word, good, warn or bad)."""
    found = []
    if described["verified"] is True:
        found.append(("verified", "good"))
    elif described["verified"] is not None:
        found.append(("refused by the verifier", "bad"))
    extended = described.get("extended")
    kind = {
        "optimal": ("proven optimal in the extended model" if extended else "proven optimal", "good"),
        "infeasible": ("extended model proven infeasible" if extended else "proven infeasible", "warn"),
        "bound": ("bound proven", "warn"),
    }
    if described["proof"] != "optimal" or described["verified"] is True:
        found.append(kind.get(described["proof"], ("nothing proven", "warn")))
    return found


def requirement_sentence(requirement: Mapping[str, Any]) -> str:
    """What a requirement asks of each group."""
    name, said = requirement["name"], in_words_of_data(requirement)
    return said if kind_named(name) is None else f"{term(name)}: {said}"


def in_words_of_data(requirement: Mapping[str, Any]) -> str:
    """The same without the requirement's name; of one that has no sentence, its parameters."""
    name, of = requirement["name"], requirement.get("sensitive")
    about = f" of {' and '.join(of) if isinstance(of, list) else of}" if of else ""
    exact = {key: requirement.get(f"{key}_exact", value) for key, value in requirement.items()}
    kind = kind_named(name)
    if kind is not None and (said := kind.in_words(exact, about)):
        return said
    parameters = ", ".join(f"{key} = {value}" for key, value in requirement.items() if key != "name")
    return f"{name} ({parameters})"


MADE = re.compile(  # as its source says
    r"\((?:(?P<way>widths|counts|levels|lengths) (?P<values>[\w./, -]+?)|dates)?(?:; )?(?:format (?P<form>.+))?\)\Z"
)
OPTIONS = {"widths": "--numeric", "counts": "--quantiles", "levels": "--dates", "lengths": "--prefix"}


class _NoCommandError(Exception):
    """The command line cannot state it; the message says what."""


def verify_command(
    described: Mapping[str, Any], anonymized: str | None, certificate: str | None = None
) -> tuple[str | None, str]:
    """The command; where the command line cannot state the problem, None and why.

    A problem of a model file is stated by that file, any other one by options.

    described: the object of `result.json`. anonymized: the file of the released table, None to check none.
    certificate: that of a certificate to check, too.
    """
    given, problem = described["input"], described["problem"]
    released = [] if anonymized is None else [anonymized]
    proof = [] if certificate is None else ["--certificate", certificate]
    model = given.get("model")
    if model is not None:
        named = Path(model["file"]).stem if in_library(model["file"]) else model["file"]  # as it is on every machine
        return shlex.join(["kanon-milp", "verify", *released, "--model", named, *proof]), ""
    try:
        table = given["table"]
        query = table.get("query")
        if table["file"] is None and query is None:
            raise _NoCommandError("the table was not read from a file")
        roles = problem["roles"]
        options = [
            *_names("--qi", roles["quasi_identifiers"]),
            *_names("--sensitive", roles["sensitive"]),
            *_names("--identifying", roles["identifying"]),
            *_names("--keep", roles["insensitive"]),
            *_names("--drop", roles.get("dropped", [])),
            *_names("--unit", roles.get("unit", [])),
            *_names("--count", roles.get("count", [])),
            *_requirements(problem["requirements"], roles["sensitive"], given["distances"]),
            *_recoding(given, problem["recoding"]),
        ]
    except _NoCommandError as reason:
        return None, str(reason)
    for option, value, usual in (
        ("--suppressed-rows", problem["suppressed_rows"], "strict"),
        ("--symbol", table["symbol"], SYMBOL),
        ("--delimiter", table["delimiter"], default_delimiter(Path(table["file"] or ""))),
        ("--encoding", table["encoding"], "utf-8"),
    ):
        found = option.removeprefix("--") in table.get("found", [])  # and is found again
        options += [] if found or value == usual else [option, "tab" if value == "\t" else value]
    header = table.get("header", True)
    options += _names("--header", header) if isinstance(header, list) else [] if header else ["--no-header"]
    options += _names("--missing-values", table.get("missing_values", []))
    options += ["--missing", table["missing"]] if "missing" in table else []
    original = [table["file"]] if query is None else [table["source"], "--query", query]
    words = ["kanon-milp", "verify", *released, "--original", *original, *options, *proof]
    return shlex.join(words), ""


def in_library(path: str) -> bool:
    """Whether a file is one of the model library, which everybody has who has the package."""
    try:
        return Path(path).is_absolute() and library_folder() in Path(path).parents
    except InputError:
        return False


def _names(option: str, names: Sequence[str]) -> list[str]:
    return [option, listing(names)] if names else []


def _requirements(
    requirements: Sequence[Mapping[str, Any]], sensitive: Sequence[str], distances: Sequence[Mapping[str, Any]]
) -> list[str]:
    found: dict[str, str] = {}
    sets: list[str] = []
    about: dict[str, list[str]] = {}
    usual: dict[str, str | None] = {}
    for each in requirements:
        name, of = each["name"], each.get("sensitive")
        kind = kind_named(name)
        exact = {key: each.get(f"{key}_exact", value) for key, value in each.items()}
        options = None if kind is None else kind.as_options(exact)
        if kind is None or options is None:
            raise _NoCommandError(f"the command line has no option for a requirement like this {name}")
        for parameter, declared in kind.parameters.items():
            option = kind.option(parameter)
            usual[option] = declared.usual
            if declared.files:
                options[option] = _from_file(options[option], declared.files, distances)
        for option, value in options.items():
            if option == KAnonymity.SETS:
                sets += [option, value]
                continue
            if option == KAnonymity.option("k"):  # the largest one says all
                found[option] = str(max(int(value), int(found.get(option, 1))))
                continue
            if found.setdefault(option, value) != value:
                raise _NoCommandError(f"several values of {option} are asked for")
            if option == kind.option(kind.letter) and of is not None:
                about.setdefault(option, []).extend(of if isinstance(of, list) else [of])
    for option, named in about.items():
        if sorted(set(named)) != sorted(sensitive):
            raise _NoCommandError(f"{option} is asked for some of the sensitive attributes only")
    return [word for option, value in found.items() if value != usual.get(option) for word in (option, value)] + sets


def _from_file(name: str, prefixes: Mapping[str, str], files: Sequence[Mapping[str, Any]]) -> str:
    """The value of an option for what may have been read from a file, as a ground distance."""
    if not files:
        if name in SIMPLE:
            return name
        raise _NoCommandError("the ground distance was not read from a file")
    if len(files) > 1 or name not in prefixes or files[0]["file"] is None:
        raise _NoCommandError("there are several ground distances")
    return f"{prefixes[name]}:{files[0]['file']}"


def _made(name: str, hierarchy: Mapping[str, Any]) -> list[str] | None:
    """The option that makes a hierarchy from its column; None for one that was read, or made otherwise."""
    how = MADE.search(hierarchy.get("source") or "")
    if hierarchy["file"] is not None or how is None:
        return None
    option = OPTIONS[how["way"] or "levels"]
    values = (how["values"] or "").replace(", ", ",")
    if how["form"] is not None:
        values = ",".join([*filter(None, [values]), listing([how["form"]])])
    return [option, f"{name}={values}" if values else name]


def _recoding(given: Mapping[str, Any], kind: str) -> list[str]:
    of_groups = kind in {each.kind for each in GROUP_RECODINGS}
    words = ["--recoding", kind] if of_groups else []
    for name, value in given.get("microaggregation", {}).items():
        usual = getattr(Microaggregation, name)
        words += [] if value == usual else [f"--{name}"] if value is True else [f"--{name}", value]
    if given["mask"] is not None:
        if given["mask"]["file"] is None:
            raise _NoCommandError("the pattern mask was not read from a file")
        words += ["--mask", given["mask"]["file"]]
    made = {name: _made(name, each) for name, each in given["hierarchies"].items()}
    files = {name: each["file"] for name, each in given["hierarchies"].items() if made[name] is None}
    words += [word for options in made.values() if options is not None for word in options]
    if files:
        folders = {str(Path(file).parent) for file in files.values() if file is not None}
        if len(folders) != 1 or any(file is None or Path(file).name != f"{name}.csv" for name, file in files.items()):
            raise _NoCommandError(
                "the hierarchies were not read from a folder with a file COLUMN.csv for each, nor made by options"
            )
        words += ["--hierarchies", *folders]
    for name, weight in given["weights"].items():
        words += ["--weight", f"{name}={weight}"]
    for name, costs in given["level_costs"].items():
        words += ["--costs", f"{name}={','.join(costs)}"]
    of_labels = {} if of_groups else given.get("costs", {})  # those of groups are their own
    if isinstance(of_labels, str):
        return [*words, "--costs", of_labels]
    for name, way in of_labels.items():
        if not isinstance(way, str):
            raise _NoCommandError("the file with the costs of labels is not known")
        words += ["--costs", f"{name}={way}"]
    return words
