"""What a result says, in plain sentences, from the object of `result.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kanon_milp.errors import counted, term

OBJECTIVES = {"loss": "loss", "min_groups": "number of groups", "max_groups": "number of groups"}
BACKED = {
    "solver": "the solver",
    "second look": "a second solver, or the same one in another setting",
    "own bound": "a bound that this package computes itself",
    "certificate": "a certificate that anybody can check from the table alone",
    "registered bound": "a bound of the user's own",
}
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


def proof_sentence(described: Mapping[str, Any]) -> str:
    """What is proven of the released table, for somebody who knows nothing of optimization."""
    what = OBJECTIVES[described["problem"]["objective"]]
    more = described["problem"]["objective"] == "max_groups"
    objective, bound, proof = described["objective"], described["bound"], described["proof"]
    if described["verified"] not in (True, None):
        return "The verifier refused this table, so it must not be released."
    if proof == "infeasible":
        return f"It is proven that no table meets these requirements. {described['message']}".strip()
    if described["verified"] is None:
        known = "" if bound is None else f"; it is proven that none can have a {what} better than {amount(bound)}"
        return f"No table was found ({described['stop_reason'].replace('_', ' ')}){known}."
    checked = "an independent verifier, which shares no code with the optimizer, has checked the finished table"
    if proof == "optimal":
        compared = "larger" if more else "smaller"
        by = [BACKED.get(each, each) for each in described["proof_backed_by"]]
        backed = f" This is backed by {' and by '.join(by)}." if by else ""
        return (
            f"The {what} of {amount(objective)} is proven to be the best possible: no table that meets the "
            f"requirements has a {compared} one, and {checked}.{backed}"
        )
    if proof == "bound" and bound is not None:
        far = "" if described["gap"] is None else f", so at most {100 * described['gap']:.2f} % of it could be saved"
        if more:
            far = ""
        compared = "above" if more else "below"
        return (
            f"The {what} is {amount(objective)}, and it is proven that no table that meets the requirements has one "
            f"{compared} {amount(bound)}{far}; {checked}."
        )
    return f"The {what} is {amount(objective)}; nothing is proven about how far from the best that is, and {checked}."


def marks(described: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The verdicts, in a word each: (word, good, warn or bad)."""
    found = []
    if described["verified"] is True:
        found.append(("verified", "good"))
    elif described["verified"] is not None:
        found.append(("refused by the verifier", "bad"))
    kind = {
        "optimal": ("proven optimal", "good"),
        "infeasible": ("proven infeasible", "warn"),
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
    sets = requirement.get("quasi_identifiers")
    within = f" when only {', '.join(sets)} are known" if isinstance(sets, list) else ""
    said = {
        "k_anonymity": lambda: f"each row looks like at least {counted(int(exact['k']) - 1, 'other')}{within}",
        "p_sensitivity": lambda: f"each group has at least {exact['p']} different values{about}",
        "l_diversity": lambda: f"each group is {exact['l']}-diverse in the values{about} ({exact['form']})",
        "t_closeness": lambda: (
            f"the values{about} in each group are within {exact['t']} of those of the whole table "
            f"({exact['distance']} distance)"
        ),
        "alpha_k_anonymity": lambda: (
            f"no value{about} has more than the share {exact['alpha']} of a group of at least {exact['alpha_k']}"
        ),
        "beta_likeness": lambda: f"the share of no value{about} grows by more than {exact['beta']} times in a group",
        "delta_disclosure": lambda: f"the logarithm of no share{about} changes by {exact['delta']} or more in a group",
    }
    if name in said:
        return f"{term(name)}: {said[name]()}"
    parameters = ", ".join(f"{key} = {value}" for key, value in requirement.items() if key != "name")
    return f"{name} ({parameters})"
