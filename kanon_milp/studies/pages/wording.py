"""What a result says, in plain sentences, from the object of `result.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kanon_milp.problem.privacy.registry import kind_named, term

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
}


def amount(value: float | None) -> str:
    """An objective for people."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def optimized(described: Mapping[str, Any]) -> str:
    """What was optimized, in words."""
    asked = described["problem"]["objective"]
    told = described.get("optimized")  # which results of earlier versions do not have
    return str(told["what"]) if told else "loss" if asked == "loss" else "number of groups"


def backing(described: Mapping[str, Any]) -> str:
    """What the proof is backed by, as a sentence; empty where that is not known."""
    words = described["proof_backed_by"]
    named = BACKED | {"solver": f"the solver {described.get('solver', {}).get('name', '')}".strip()}
    proven = [named.get(each, each) for each in words if each in BACKED or each.startswith("method ")]
    trusted = [each for each in words if each not in BACKED and not each.startswith("method ")]
    backed = f" This is backed by {' and by '.join(proven)}." if proven else ""
    if trusted:
        backed += (
            f" It takes the word of code that is not part of this package, and is no better than that: "
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
    larger, above = ("larger", "above") if _maximized(described) else ("smaller", "below")
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
        far = "" if gap is None else f", so at most {100 * gap:.2f} % of it could be saved"
        said = f"The {what} is {amount(objective)}, and {known}{far}{' there' if far and extended else ''}; {checked}."
    else:
        within = f" in {model}" if extended else ""
        far = f"nothing is proven about how far from the best that is{within}"
        said = f"The {what} is {amount(objective)}; {far}, and {checked}."
    return f"{said}{_beside(described)}{backing(described)}"


def _maximized(described: Mapping[str, Any]) -> bool:
    told = described.get("optimized")
    return bool(told["sense"] == "maximize") if told else described["problem"]["objective"] == "max_groups"


def _beside(described: Mapping[str, Any]) -> str:
    """What the sentence about what was optimized does not say: the loss, and the tables that a model leaves out."""
    extended, loss = described.get("extended"), described.get("loss")
    said = ""
    if optimized(described) != "loss" and loss is not None:
        said += f" The table loses {amount(loss)}; how far that is from the least loss is not said."
    elif extended and not extended["relaxed"]:
        said += " Tables outside of that model may lose less."
    if extended and extended["relaxed"]:
        said += " That model need not state all that was asked, so it is the check that says that the table meets it."
    if extended and described["proof"] == "optimal" and described["message"]:
        said += f" Note: {described['message']}."
    return said


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
    name = requirement["name"]
    of = requirement.get("sensitive")
    about = f" of {' and '.join(of) if isinstance(of, list) else of}" if of else ""
    exact = {key: requirement.get(f"{key}_exact", value) for key, value in requirement.items()}
    kind = kind_named(name)
    if kind is not None and (said := kind.in_words(exact, about)):
        return f"{term(name)}: {said}"
    parameters = ", ".join(f"{key} = {value}" for key, value in requirement.items() if key != "name")
    return f"{name} ({parameters})"
