"""Whether what the checker of certificates says is true: its sentence is read as a person would, and judged by force.

Nothing is taken from the certificate or the report but the sentence and the columns that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import judges
from oracle import Row, Value, optimum

SENTENCE = re.compile(
    r"(?P<none>there is )?no (?:(?P<k>\d+)-anonymous )?table(?P<rest>.*?)"
    r"(?P<exempt> \(fully suppressed rows need no partners\))?"
    r"(?: at all, so a bound on its loss says nothing"
    r"|(?: suppresses fewer than (?P<cells>[\d,]+) cells"
    r"| has a loss below (?P<loss>\d[\d,]*(?:\.\d+|/[\d,]+)?)(?: \([\d,.]+\))?)"
    r"(?P<trivial>, which is true of every table and says nothing)?)"
)
REQUIREMENT = re.compile(r"(\(alpha,k\)-anonymity|[kplt]-[a-z]+|beta-likeness|delta-disclosure privacy) \(([^()]*)\)")

APPROXIMATE = re.compile(r"(?<=\d) \(\d+\.\d+\)")  # after a fraction that is no short decimal


def is_true(
    statement: str,
    rows: Sequence[Row],
    secrets: Sequence[tuple[Value, ...]],
    names: tuple[str, ...],
    weights: Sequence[Fraction | int] | None = None,
    vectors: Sequence[tuple[int, ...]] | None = None,
) -> bool:
    """rows: quasi-identifiers; secrets, names: the sensitive attributes. Raises AssertionError for another sentence."""
    said = SENTENCE.fullmatch(statement)
    assert said, statement
    k, rules = int(said["k"] or 1), []
    for name, parameters in REQUIREMENT.findall(APPROXIMATE.sub("", said["rest"])):
        given = dict(part.split(" = ") for part in parameters.split(", "))
        if name == "k-anonymity":
            k = max(k, int(given["k"]))
        else:
            rules.append((name, tuple(sorted(given.items()))))
    assert (vectors is not None) == (f" of this mask of {len(vectors or ())} level vectors" in said["rest"])
    best = _best(
        tuple(rows),
        tuple(secrets),
        names,
        k,
        tuple(rules),
        "exempt" if said["exempt"] else "strict",
        None if weights is None or said["cells"] else tuple(weights),
        None if vectors is None else tuple(vectors),
    )
    if said["none"]:
        return best is None
    bound = Fraction((said["cells"] or said["loss"]).replace(",", ""))
    assert (bound == 0) == bool(said["trivial"])
    return best is None or bound <= best


@cache
def _best(
    rows: tuple[Row, ...],
    secrets: tuple[tuple[Value, ...], ...],
    names: tuple[str, ...],
    k: int,
    rules: tuple[tuple[str, tuple[tuple[str, str], ...]], ...],
    reading: str,
    weights: tuple[Fraction | int, ...] | None,
    vectors: tuple[tuple[int, ...], ...] | None,
) -> Fraction | None:
    holds = [_rule(name, dict(given), secrets, names) for name, given in rules]
    return optimum(
        rows,
        k,
        suppressed_rows=reading,
        weights=weights,
        vectors=vectors,
        requirement=lambda group: all(each(group) for each in holds),
    )


def _rule(
    name: str, given: dict[str, str], secrets: judges.Secrets, names: tuple[str, ...]
) -> Callable[[Sequence[int]], bool]:
    column = names.index(given.pop("sensitive"))
    match name, given:
        case "p-sensitivity", {"p": p}:
            return lambda group: judges.p_sensitive(group, secrets, column, int(p))
        case "l-diversity", {"l": l, "form": "frequency"}:
            return lambda group: judges.frequency_diverse(group, secrets, column, Fraction(l))
        case "l-diversity", {"l": l, "form": "distinct"}:
            return lambda group: len({secrets[i][column] for i in group}) >= Fraction(l)
        case "(alpha,k)-anonymity", {"alpha": alpha, "alpha_k": k}:
            return lambda group: judges.alpha_k_anonymous(group, secrets, column, Fraction(alpha), int(k))
        case "beta-likeness", {"beta": beta}:
            return lambda group: judges.beta_like(group, secrets, column, Fraction(beta))
        case "delta-disclosure privacy", {"delta": delta, "log": log, "absent": absent}:
            return lambda group: judges.delta_disclosing(group, secrets, column, Fraction(delta), log, absent)
        case "t-closeness", {"t": t, "distance": "equal"}:
            return lambda group: judges.t_close(group, secrets, column, Fraction(t), judges.equal_distance)
    raise AssertionError(f"{name} {given}")
