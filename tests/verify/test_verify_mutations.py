"""Bugs put into the package on purpose, one at a time: none of them may end as verified with a table that is wrong.

What is right is said by tests/judges.py. `python tests/verify/test_verify_mutations.py` prints what came of each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import judges
import numpy as np
import polars as pl
import pytest
from present import present
from sensitive_cases import Demand, Ground

import kanon_milp as km
from kanon_milp.problem import column_values, distances, hierarchies, privacy, recoding, table
from kanon_milp.problem.privacy import delta_disclosure, l_diversity, t_closeness
from kanon_milp.problem.privacy.registry import REQUIREMENTS

OUTCOMES = REFUSED, RIGHT, NO_TABLE, ERROR, WRONG = "refused", "right table", "no table", "error", "WRONG"

# equal rows have equal secrets, so whatever asks nothing releases each table as it is, and breaks every requirement
ROWS = (("a", "x"), ("a", "x"), ("b", "x"), ("b", "x"), ("c", "y"), ("c", "y"))
SECRETS = (("1", "u"), ("1", "u"), ("2.5", "v"), ("2.5", "v"), ("10", "w"), ("10", "w"))
# 2-anonymous at least cost, the rows with a are released in two ways, and too few of them with a
SPLIT = (("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"))
# each value occurs on both sides, but not as often
UNEVEN = (("a", "x"),) * 6 + (("b", "x"),) * 6
UNEVEN_SECRETS = tuple(
    (value, "u" if value == "1" else "v")
    for value in ("1", "1", "1", "1", "2.5", "10", "1", "2.5", "2.5", "2.5", "10", "10")
)
ORDER = ("1", "10", "2.5")
TREE = (("1", "low", "*"), ("2.5", "low", "*"), ("10", "high", "*"))
MATRIX = tuple(tuple(map(Fraction, row)) for row in (("0", "1", "1/3"), ("1", "0", "2/3"), ("1/3", "2/3", "0")))
GROUNDS = {
    "equal": Ground("equal"),
    "ranks": Ground("ranks"),
    "order": Ground("order", ORDER),
    "numeric": Ground("numeric"),
    "hierarchy": Ground("hierarchy", paths=TREE),
    "matrix": Ground("matrix", ORDER, matrix=MATRIX),
}


@dataclass(frozen=True)
class OfSize:
    """k-anonymity, which may be asked for as a risk; or 2-anonymity, and k-anonymity of some columns. marketer: a
    marketer risk in their place, people: a journalist risk of 1/3 among them."""

    k: int
    columns: tuple[int, ...] | None = None
    risk: str | None = None
    marketer: str | None = None
    people: Sequence[Any] | None = None
    secrets: Sequence[Any] = SECRETS

    @property
    def rows(self) -> Sequence[Any]:
        return ROWS if self.columns is None else SPLIT

    def package(self) -> list[Any]:
        if self.people is not None:
            return [km.JournalistRisk("1/3", pl.DataFrame(self.people, schema=["q0", "q1"], orient="row"))]
        if self.marketer is not None:
            return [km.MarketerRisk(self.marketer)]
        if self.columns is None:
            return [km.KAnonymity(self.k) if self.risk is None else km.ProsecutorRisk(self.risk)]
        return [km.KAnonymity(self.k, [f"q{c}" for c in self.columns]), km.KAnonymity(2)]

    def holds_in(self, released: Sequence[Any], _secrets: Any) -> bool:
        if self.people is not None:
            fit = [
                [all(c in ("*", v) for c, v in zip(row, each, strict=True)) for each in self.people] for row in released
            ]
            return min(map(sum, fit)) >= 3
        if self.marketer is not None:
            return len({tuple(row) for row in released}) <= Fraction(self.marketer) * len(released)
        every = range(len(released[0]))
        if self.columns is None:
            return judges.k_anonymous_in(released, every, self.k)
        return judges.k_anonymous_in(released, self.columns, self.k) and judges.k_anonymous_in(released, every, 2)


@dataclass(frozen=True)
class OfValues:
    """A requirement about sensitive values, in each group."""

    demand: Demand
    rows: Sequence[Any] = ROWS
    secrets: Sequence[Any] = SECRETS

    def package(self) -> list[Any]:
        return [self.demand.package()]

    def uneven(self) -> OfValues:
        """Asked of a table where every candidate is viable."""
        return dataclasses.replace(self, rows=UNEVEN, secrets=UNEVEN_SECRETS)

    def holds_in(self, released: Sequence[Any], secrets: Any) -> bool:
        return all(self.demand.holds(group, secrets) for group in judges.groups_of(released).values())


def of(kind: str, number: Any, *, columns: tuple[int, ...] = (0,), **more: Any) -> OfValues:
    return OfValues(Demand(kind, number, columns, named=len(columns) == 1, **more))


CASES: dict[str, OfSize | OfValues] = {
    "k": OfSize(3),
    "k of some columns": OfSize(3, (0,)),
    "k of a risk": OfSize(3, risk="2/5"),
    "marketer risk": OfSize(1, marketer="1/3"),
    "journalist risk": OfSize(1, people=(*ROWS, ("d", "y"))),
    "p": of("p", 2),
    "p of each attribute": of("p", 2, columns=(0, 1)),
    "l frequency": of("l frequency", 2),
    "l distinct": of("l distinct", 2),
    "l blocki-williams": of("l blocki-williams", 2, columns=(0, 1)),
    "l entropy": of("l entropy", 2),
    "l recursive": of("l recursive", 2, c=Fraction(2)),
    "alpha": of("alpha", "1/2", k=2),
    "alpha named": of("alpha named", "1/2", k=2, values=("1", "10")),
    "beta": of("beta", "1/2"),
    **{
        f"delta {log} {absent}": of(f"delta {log} {absent}", "1/2").uneven()
        for log in ("natural", "base2")
        for absent in ("violation", "ignored")
    },
    **{
        f"t {name} {form}": of(f"t {name} {form}", "1/10", ground=ground).uneven()
        for name, ground in GROUNDS.items()
        for form in ("short", "transport")
        if form == "short" or name in ("numeric", "matrix")
    },
}

LOOSE: dict[type, dict[str, int]] = {
    privacy.KAnonymity: {"k": 1},
    privacy.ProsecutorRisk: {"risk": 1},
    privacy.MarketerRisk: {"marketer_risk": 1},
    privacy.JournalistRisk: {"journalist_risk": 1},
    privacy.PSensitivity: {"p": 1},
    privacy.LDiversity: {"l": 1},
    privacy.AlphaKAnonymity: {"alpha": 1, "k": 1},
    privacy.BetaLikeness: {"beta": 1000},
    privacy.DeltaDisclosure: {"delta": 10},
    privacy.TCloseness: {"t": 1},
}
PARTS = ("exact", "distance", "emd", "partners", "power")
Patch = tuple[Any, str, Any]


def looser(requirement: Any) -> Any:
    return dataclasses.replace(requirement, **LOOSE[type(requirement)])


def mutations(requirement: Any) -> Iterator[tuple[str, Patch]]:
    """Name of a bug, and what to put where."""
    kind = type(requirement)
    declare, bind = kind.declare, kind.bind
    turned = not requirement.merge_closed

    def nothing(self: Any, *rest: Any) -> None:
        """Of a requirement of a set of quasi-identifiers only that is left out."""
        if bool(getattr(self, "quasi_identifiers", None)) != bool(getattr(requirement, "quasi_identifiers", None)):
            declare(self, *rest)

    loosest = Fraction(next(iter(LOOSE[kind].values())))
    yield "holds: always", (kind, "holds", lambda *_: True)
    yield "declare: nothing", (kind, "declare", nothing)
    yield "declare: looser", (kind, "declare", lambda self, *rest: declare(looser(self), *rest))
    yield "viable: everything", (kind, "viable", lambda _, instance: np.ones(instance.candidates.count, dtype=bool))
    yield (
        "releasable: everything",
        (kind, "releasable", lambda _, instance: np.ones(instance.candidates.count, dtype=bool)),
    )
    yield "smallest_group: 1", (kind, "smallest_group", lambda *_: 1)
    yield "bind: looser", (kind, "bind", lambda self, given: tuple(looser(one) for one in bind(self, given)))
    yield "bind: first only", (kind, "bind", lambda self, given: bind(self, given)[:1])
    yield "describe: nothing", (kind, "describe", lambda _: {})
    yield "merge_closed: turned", (kind, "merge_closed", property(lambda _: turned))
    if "exact" in vars(kind):
        yield "exact: looser", (kind, "exact", property(lambda _: loosest))
    if kind is privacy.LDiversity and requirement.form == "blocki-williams":
        yield "partners: always", (l_diversity, "each_has_partners", lambda *_: True)
    if kind is privacy.DeltaDisclosure:
        below = delta_disclosure.below_power
        yield "power: looser", (delta_disclosure, "below_power", lambda value, *rest: below(value / 10, *rest))
    if kind is privacy.TCloseness:
        ground = type(distances.ground_distance(requirement.distance))
        space, emd = ground.space, distances.base.emd
        yield "distance: zero", (ground, "space", lambda *given: nearer(space(*given), 10**9))
        yield "distance: tenth", (ground, "space", lambda *given: nearer(space(*given), 10))
        yield "emd: zero", (t_closeness, "emd", lambda *_: Fraction(0))
        yield "emd: tenth", (t_closeness, "emd", lambda *given: emd(*given) / 10)


def nearer(space: distances.Space, times: int) -> distances.Space:
    """All distances divided."""
    return dataclasses.replace(space, scale=space.scale * times)


@contextmanager
def broken(patch: Patch) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(*patch)
        yield


def outcome(case: OfSize | OfValues, formulation: str) -> str:
    """What comes of the table of a case. A verified one is judged."""
    secrets = case.secrets[: len(case.rows)]
    rows = [(*row, *values) for row, values in zip(case.rows, secrets, strict=True)]
    frame = pl.DataFrame(rows, schema=["q0", "q1", "s0", "s1"], orient="row")
    given = km.Table.from_frame(frame, ["q0", "q1"], ["s0", "s1"])
    try:
        result = km.solve(km.Problem(given, case.package()), formulation=formulation)
    except km.KanonError:  # a bug that is noticed otherwise fools nobody
        return ERROR
    if result.report is None:
        return NO_TABLE
    if not result.verified:
        assert result.table is None
        assert not result.is_optimal
        return REFUSED
    released = present(result.table).select("q0", "q1").rows()
    return RIGHT if case.holds_in(released, secrets) else WRONG


def formulation_of(case: OfSize | OfValues, bug: str) -> str:
    """The groups formulation asks `holds` of each group, and for sizes `smallest_group`; the strong one declares rows.

    Sets of quasi-identifiers and populations are for the strong one only.
    """
    asked = bug.partition(":")[0] in ("holds", "smallest_group", "emd", "partners", "power")
    return "groups" if asked and not (isinstance(case, OfSize) and (case.columns or case.people)) else "strong"


def outcomes(case: OfSize | OfValues) -> dict[str, str]:
    """Bug → what comes of it."""
    found = {}
    for bug, patch in mutations(case.package()[0]):
        with broken(patch):
            found[bug] = outcome(case, formulation_of(case, bug))
    return found


# in the default run each definition and each ground distance of the verifier once
MORE_OF_THE_SAME = ("delta natural ignored", "delta base2 violation", "t ranks short", "t numeric transport")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in MORE_OF_THE_SAME else []) for name in CASES]
)
def test_no_bug_ends_as_verified_with_a_wrong_table(name: Any) -> None:
    case = CASES[name]
    assert {outcome(case, formulation_of(case, bug)) for bug in ("declare", "holds")} == {RIGHT}
    found = outcomes(case)
    assert WRONG not in found.values(), found
    # and the bugs are felt: without a definition of the verifier's own these tables would have passed
    felt = {"bind: looser"} | {bug for bug in found if bug.partition(":")[0] in PARTS}
    if isinstance(case, OfValues):
        felt |= {"holds: always", "declare: nothing", "declare: looser"}
    elif case.people is not None:  # candidates are all there is to it
        felt |= {"releasable: everything", "exact: looser"}
    elif (
        case.risk is not None or case.marketer is not None
    ):  # it is k, or a number of groups: what else is wrong is felt by nobody
        felt |= {"exact: looser"}
    elif case.columns is None:  # nothing asks for sizes by holds, and row assignment notices if no row does
        felt |= {"smallest_group: 1"}
        assert found["declare: nothing"] in (REFUSED, ERROR)
    else:
        felt |= {"declare: nothing", "declare: looser"}
    assert {bug for bug in felt if found[bug] != REFUSED} == set(), found


def small(hierarchy: bool = False) -> km.Problem:
    frame = pl.DataFrame({"age": ["20", "21", "34", "35"], "sex": ["f", "f", "f", "m"]})
    given = km.Table.from_frame(frame, ["age", "sex"])
    mask = km.PatternMask([("*", "keep"), ("*", "*")])
    if not hierarchy:
        return km.Problem(given, km.KAnonymity(1), mask)
    tree = km.Hierarchy.from_rows([("20", "2x", "*"), ("21", "2x", "*"), ("34", "3x", "*"), ("35", "3x", "*")])
    return km.Problem(given, km.KAnonymity(2), km.Hierarchies({"age": tree}, mask=km.PatternMask([(1, "*"), (2, "*")])))


def first_label_for_all(real: Callable[..., Any]) -> Callable[..., Any]:
    def applied(*given: Any) -> Any:
        levels = real(*given)
        changed = levels.label_of.copy()
        changed[1:-1] = changed[1:-1, :1]
        return dataclasses.replace(levels, label_of=changed)

    return applied


def first_value_for_all(real: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
    return lambda *given: real(*given).with_columns(pl.all().first())


RECODING: dict[str, tuple[bool, Patch]] = {
    "the mask is not there": (False, (recoding.PatternMask, "mask", None)),
    "a mask allows everything": (
        False,
        (recoding, "parse_mask", lambda *_: np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int16)),
    ),
    "level 1 is one label": (True, (recoding, "column_levels", first_label_for_all(hierarchies.column_levels))),
    "a column is read as one value": (False, (table, "as_text", first_value_for_all(column_values.as_text))),
}


@pytest.mark.parametrize("name", RECODING)
def test_neither_does_a_bug_in_masks_hierarchies_and_reading(name: Any) -> None:
    hierarchy, patch = RECODING[name]
    assert km.solve(small(hierarchy)).is_optimal
    with broken(patch):
        result = km.solve(small(hierarchy))
    assert result.report is not None
    assert not result.verified
    assert result.table is None


def test_a_loss_that_is_counted_wrongly_is_no_optimum() -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": ["u", "u"]})
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(2), km.Suppression({"a": 3}))
    assert km.solve(problem).objective == 6
    with broken((recoding, "exact_number", lambda *_: Fraction(1))):
        result = km.solve(problem)
    assert result.report is not None
    assert result.report.cost == 6
    assert not (result.is_optimal and result.objective != 6)


def test_every_requirement_and_ground_distance_of_the_package_has_a_definition_in_the_verifier() -> None:
    from kanon_milp.verify import definitions, ground

    assert {each.__name__ for each in REQUIREMENTS.values()} == {each.kind for each in definitions.definitions()}
    assert {type(case.package()[0]) for case in CASES.values()} == set(REQUIREMENTS.values())
    package = {
        each.__name__
        for each in vars(distances).values()
        if isinstance(each, type)
        and issubclass(each, distances.GroundDistance)
        and each is not distances.GroundDistance
    }
    assert package == set(ground.BUILT_IN)


if __name__ == "__main__":
    print("| requirement | bug | what comes of it |\n| --- | --- | --- |")
    for name, case in CASES.items():
        for bug, came in outcomes(case).items():
            print(f"| {name} | {bug} | {came} |", flush=True)
