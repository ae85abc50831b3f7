"""Requirements asked of a released table by the verifier, against the definitions counted on plain rows."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import judges
import polars as pl
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from own_requirement import Own
from test_verify import TABLE_2, TABLE_3, TABLE_5, liang_yuan, printed

from kanon_milp.errors import UndecidedError
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.presolve.infeasibility import refuse_one_group
from kanon_milp.presolve.instance import compress_table, prepare, table_as_group, types_of
from kanon_milp.problem.privacy import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PSensitivity,
    TCloseness,
)
from kanon_milp.problem.privacy.delta_disclosure import Absent, Base
from kanon_milp.problem.privacy.registry import term
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import Table
from kanon_milp.verify import verify
from kanon_milp.verify.definitions import l_diversity

QI = ["z1", "z2", "z3", "z4", "z5", "a1", "a2", "education"]


def hospital(privacy: Any, lines: Any, **options: Any) -> Any:
    return verify(Problem(Table.from_frame(liang_yuan(), QI, "disease"), privacy), printed(lines), **options)


def test_table_3_is_2_diverse_and_no_more() -> None:
    assert hospital([LDiversity(2)], TABLE_3)
    report = hospital([LDiversity("5/2")], TABLE_3)
    assert report.violations == (
        '4 of 4 groups violate l-diversity (l = 2.5, form = frequency) of "disease"; the first is rows 1, 2',
    )
    assert report.privacy == ({"l": 2.5, "l_exact": "5/2", "form": "frequency", "sensitive": "disease"},)


def test_table_5_is_closer_as_a_released_table_than_as_a_partition() -> None:
    partition = [1, 1, 2, 1, 2, 3, 3, 2, 2, 3]
    assert hospital([TCloseness("1/10")], TABLE_5, partition=partition)
    assert hospital([TCloseness("1/15")], TABLE_5)
    report = hospital([TCloseness("1/15")], TABLE_5, partition=partition)
    assert len(report.violations) == 1
    assert (
        "1 of 3 groups of the partition violates t-closeness (t = 1/15 (0.06667), distance = equal"
        in report.violations[0]
    )
    assert not hospital([TCloseness("1/16")], TABLE_5)


def test_a_partition_that_is_the_groups_themselves_says_nothing_twice() -> None:
    whole = hospital([PSensitivity(2)], TABLE_2, partition=[0, 0, 0, 1, 1, 1, 1, 2, 2, 2])
    assert whole.violations == (
        '1 of 3 groups violates p-sensitivity (p = 2) of "disease"; the first is rows 8, 9, 10',
    )
    assert whole.partition == whole.released


Counts = Mapping[str, Mapping[str | None, int]]


@dataclasses.dataclass(frozen=True)
class Counting(Own):
    """Holds, and keeps what it was asked."""

    asked: list[tuple[Counts, Counts]] = dataclasses.field(default_factory=list, compare=False)
    name: ClassVar[str] = "counting"
    attributes: ClassVar[tuple[str, ...]] = ("d",)

    def holds(self, group: Any) -> Any:
        self.asked.append((group.sensitive, group.table_group.sensitive))
        return True


def test_groups_with_the_same_counts_are_asked_about_once() -> None:
    frame = pl.DataFrame({"q": list("aabbccd"), "d": list("xyyxxxx"), "e": list("1234567")})
    one = Counting()
    verify(Problem(Table.from_frame(frame, "q", ["d", "e"]), [one]), frame)
    groups = [counts["d"] for counts, _ in one.asked]
    # a cell of this table cannot be more specific, so nothing else is asked
    assert groups == [{"x": 1, "y": 1}, {"x": 2}, {"x": 1}]
    assert all(whole == {"d": {"x": 5, "y": 2}} for _, whole in one.asked)


SECRETS = [("1", "x"), ("1", "y"), ("2", "x"), ("2", "y"), ("5", None)]
LEVELS = st.sampled_from(["1", "3/2", "2", "5/2", "3"])
SMALL = st.sampled_from(["1/10", "1/4", "1/3", "1/2", "3/4", "1"])


KINDS = ("p", "l", "distinct", "bw", "t", "ordered", "numeric", "alpha", "beta", "delta", "ignored")


@st.composite
def demands(draw: st.DrawFn) -> Any:
    """A requirement, and its judge: groups, sensitive values → whether all groups have it."""
    kind = draw(st.sampled_from(KINDS))
    name, column = draw(st.sampled_from([("u", 0), ("v", 1)]))
    if kind == "p":
        p = draw(st.integers(1, 2))
        return PSensitivity(p, name), lambda g, s: judges.p_sensitive(g, s, column, p)
    if kind == "l":
        l = draw(LEVELS)  # noqa: E741
        return LDiversity(l, sensitive=name), lambda g, s: judges.frequency_diverse(g, s, column, Fraction(l))
    if kind == "distinct":
        p = draw(st.integers(1, 2))
        return LDiversity(p, "distinct", name), lambda g, s: judges.distinct_diverse(g, s, column, p)
    if kind == "bw":
        p = draw(st.integers(1, 2))
        return LDiversity(p, "blocki-williams"), lambda g, s: judges.blocki_williams_diverse(g, s, [0, 1], p)
    if kind in ("t", "ordered", "numeric"):
        t = draw(SMALL)
        of = {
            "t": lambda values: judges.equal_distance,
            "ordered": judges.ordered_numbers,
            "numeric": judges.numeric_distance,
        }[kind]
        if kind == "t":
            return TCloseness(t, sensitive=name), lambda g, s: judges.t_close(
                g, s, column, Fraction(t), judges.equal_distance
            )
        return TCloseness(t, kind, "u"), lambda g, s: judges.t_close(g, s, 0, Fraction(t), of([row[0] for row in s]))
    if kind == "alpha":
        alpha, k = draw(SMALL), draw(st.integers(1, 3))
        return AlphaKAnonymity(alpha, k, name), lambda g, s: judges.alpha_k_anonymous(g, s, column, Fraction(alpha), k)
    if kind == "beta":
        beta = draw(st.sampled_from(["0", "1/2", "1", "2"]))
        return BetaLikeness(beta, name), lambda g, s: judges.beta_like(g, s, column, Fraction(beta))
    absent: Absent = "ignored" if kind == "ignored" else "violation"
    delta = draw(st.sampled_from(["1/2", "1", "2"]))
    log: Base = draw(st.sampled_from(["natural", "base2"]))
    return DeltaDisclosure(delta, log, absent, name), lambda g, s: judges.delta_disclosing(
        g, s, column, Fraction(delta), log, absent
    )


@settings(max_examples=examples(120, 10))
@given(demands(), st.lists(st.tuples(st.sampled_from("ab*"), st.sampled_from(SECRETS)), min_size=3, max_size=10))
def test_each_requirement_means_its_definition(asked: Any, rows: Any) -> None:
    requirement, judge = asked
    secrets = [secret for _, secret in rows]
    # at least three rows, two values and three joint values, so that no requirement is refused
    for position, secret in enumerate([("1", "x"), ("2", "y"), ("5", None)]):
        secrets[position] = secret
    cells = [released for released, _ in rows]
    frame = pl.DataFrame(
        {"q": [f"o{i}" if c == "*" else c for i, c in enumerate(cells)], "u": [s[0] for s in secrets]}
    ).with_columns(pl.Series("v", [s[1] for s in secrets], dtype=pl.String))
    table = Table.from_frame(frame, "q", ["u", "v"])
    report = verify(Problem(table, [requirement], suppressed_rows="exempt"), frame.with_columns(q=pl.Series(cells)))
    failing = [group for group in judges.groups_of([(c,) for c in cells]).values() if not judge(group, secrets)]
    assert report.ok == (not failing), report.violations
    if failing:
        verb = "violates" if len(failing) == 1 else "violate"
        begins = f"{len(failing)} of {report.groups} groups {verb} {term(requirement.name)} ("
        assert report.violations[0].startswith(begins)


@settings(max_examples=examples(60, 6))
@given(
    st.lists(st.tuples(*[st.sampled_from("ab*")] * 3), min_size=2, max_size=9),
    st.sets(st.sampled_from([0, 1, 2]), min_size=1),
    st.integers(1, 3),
    st.sampled_from(["strict", "exempt"]),
)
def test_k_anonymity_of_a_set_of_quasi_identifiers(cells: Any, subset: Any, k: Any, reading: Any) -> None:
    k = min(k, len(cells))
    original = [[f"{j}{i}" if c == "*" else c for j, c in enumerate(row)] for i, row in enumerate(cells)]
    names = ["x", "y", "z"]
    table = Table.from_frame(pl.DataFrame(original, schema=names, orient="row"), names)
    asked = KAnonymity(k, [names[j] for j in sorted(subset, reverse=True)])
    released = pl.DataFrame(cells, schema=names, orient="row")
    report = verify(Problem(table, [asked], suppressed_rows=reading), released)
    assert report.ok == judges.k_anonymous_in(cells, sorted(subset), k, reading == "exempt"), report.violations


def test_the_message_of_a_set_of_quasi_identifiers() -> None:
    frame = pl.DataFrame({"x": list("aab"), "y": list("ccc"), "z": list("dee")})
    problem = Problem(Table.from_frame(frame, ["x", "y", "z"]), [KAnonymity(2, ["y"]), KAnonymity(2, ["y", "x"])])
    report = verify(problem, frame)
    assert report.violations == (
        "1 of 2 groups of rows released alike in x, y has fewer than k = 2 rows; the first is row 3",
    )
    # a partition changes nothing about it
    assert verify(problem, frame, [1, 2, 3]).violations == report.violations


@pytest.mark.parametrize(
    "privacy",
    [
        [TCloseness("1/2")],
        [TCloseness("1/2", "ordered")],
        [LDiversity(2, "blocki-williams")],
        [BetaLikeness(1)],
        [DeltaDisclosure(1)],
        [AlphaKAnonymity("1/2")],
        [PSensitivity(2)],
    ],
)
def test_tables_with_changed_sensitive_values_are_wrong_and_can_be_judged(privacy: Any) -> None:
    frame = pl.DataFrame({"q": list("aabb"), "d": ["1", "2", "2", "1"]})
    problem = Problem(Table.from_frame(frame, "q", "d"), privacy)
    assert verify(problem, frame) or isinstance(privacy[0], DeltaDisclosure)
    for values in (["1", "2", "2", "3"], ["x", "x", "2", "1"], [None, "2", "2", "1"], ["9"] * 4):
        report = verify(problem, frame.with_columns(d=pl.Series(values)))
        assert not report
        assert report.minimal is None
        assert report.violations[0].startswith('column "d" is not a quasi-identifier and must not change')
    for other in (frame[:3], pl.concat([frame, frame.with_columns(d=pl.lit("7"))])):
        assert not verify(problem, other)
        assert verify(problem, other).minimal is None


def three_secrets(n: int, values: int) -> pl.DataFrame:
    """One group in which it is hard to say how many rows pairwise differ in three attributes."""
    draw = random.Random(1)
    return pl.DataFrame({"q": ["x"] * n, **{s: [str(draw.randrange(values)) for _ in range(n)] for s in "uvw"}})


def test_l_diversity_that_is_not_decided_is_no_proof_and_no_endless_search() -> None:
    table = Table.from_frame(three_secrets(120, 15), "q", ["u", "v", "w"])
    problem = Problem(table, LDiversity(14, "blocki-williams"))
    (requirement,) = problem.requirements
    types = types_of(problem, compress_table(problem))
    with pytest.raises(UndecidedError, match="could not be decided"):
        requirement.holds(table_as_group(types))
    assert refuse_one_group(problem, types) is None
    assert greedy(prepare(problem)) is None


def test_l_diversity_that_is_not_decided_is_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = three_secrets(60, 9)
    problem = Problem(Table.from_frame(frame, "q", ["u", "v", "w"]), LDiversity(8, "blocki-williams"))
    monkeypatch.setattr(l_diversity, "STEPS", 20)
    report = verify(problem, frame)
    assert not report.ok
    assert report.violations == (
        'whether all groups satisfy l-diversity (l = 8, form = blocki-williams) of "u" and "v" and "w" '
        "could not be decided within 20 steps",
    )
