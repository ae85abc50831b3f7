"""Missing and suppressed keys that match any value (missing="wildcard"): the least loss of k-anonymity in that reading,
against all suppressions of small tables; and what says no, and which reading results are of."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from command_line import run
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.errors import InputError
from kanon_milp.studies.pages.wording import verify_command
from kanon_milp.verify import check_certificate

Row = tuple[str | None, ...]
PATHS: dict[str | None, Row] = {
    "a": ("a", "ab", "*"),
    "b": ("b", "ab", "*"),
    "c": ("c", "cd", "*"),
    "d": ("d", "cd", "*"),
}
ROWS = [("x", "1"), ("x", "2"), ("y", None), ("z", "3")]


def table(rows: Sequence[Row], **roles: object) -> km.Table:
    names = [f"q{j}" for j in range(len(rows[0]))]
    frame = pl.DataFrame(list(rows), schema=dict.fromkeys(names, pl.String), orient="row")
    return km.Table.from_frame(frame, names, missing="wildcard", **roles)  # type: ignore[arg-type]


def counts(released: Sequence[Row], columns: Sequence[int]) -> list[int]:
    """fk of each row, by the definition alone."""

    def match(one: Row, other: Row) -> bool:
        return all(one[j] in (None, "*") or other[j] in (None, "*") or one[j] == other[j] for j in columns)

    return [sum(match(one, other) for other in released) for one in released]


def least(
    rows: Sequence[Row],
    sets: Mapping[tuple[int, ...], int],
    paths: Mapping[str | None, Row] | None = None,
    vectors: Sequence[tuple[int, ...]] | None = None,
    *,
    exempt: bool = False,
) -> Fraction | None:
    """The least loss of all releases, each row at each allowed level vector; None where none has what is asked for."""
    height, m = 1 if paths is None else 2, len(rows[0])
    allowed = list(itertools.product(range(height + 1), repeat=m)) if vectors is None else vectors

    def label(value: str | None, level: int) -> str | None:
        if paths is None or value is None:
            return "*" if level == height else value
        return paths[value][level]

    best: Fraction | None = None
    for choice in itertools.product(allowed, repeat=len(rows)):
        loss = Fraction(sum(map(sum, choice)), height)
        if best is not None and loss >= best:
            continue
        released = [tuple(map(label, row, vector)) for row, vector in zip(rows, choice, strict=True)]
        if all(
            found >= k or (exempt and all(row[j] == "*" for j in columns))
            for columns, k in sets.items()
            for found, row in zip(counts(released, columns), released, strict=True)
        ):
            best = loss
    return best


def check(problem: km.Problem, expected: Fraction | None) -> km.Result:
    found = km.solve(problem)
    assert found.exact_objective == expected
    assert found.proof == ("infeasible" if expected is None else "optimal")
    if expected is not None:
        assert found.report is not None
        assert found.report.missing_keys == "match"
        assert found.report.ok
    return found


cell = st.sampled_from(["a", "b", "c", None])


@pytest.mark.full
@given(st.integers(1, 2).flatmap(lambda m: st.lists(st.tuples(*[cell] * m), min_size=1, max_size=6)), st.integers(1, 4))
@settings(max_examples=examples(150, 12))
def test_the_least_loss_of_all_suppressions(rows: list[Row], k: int) -> None:
    every = tuple(range(len(rows[0])))
    check(km.Problem(table(rows), km.KAnonymity(k)), least(rows, {every: k}))


@pytest.mark.full
@given(st.lists(st.tuples(cell, cell, cell), min_size=2, max_size=5), st.integers(2, 4))
@settings(max_examples=examples(60, 10))
def test_three_columns(rows: list[Row], k: int) -> None:
    check(km.Problem(table(rows), km.KAnonymity(k)), least(rows, {(0, 1, 2): k}))


@pytest.mark.full
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=2, max_size=4), st.integers(2, 3))
@settings(max_examples=examples(60, 12))
def test_labels_of_hierarchies_match_where_they_are_alike(rows: list[Row], k: int) -> None:
    tree = km.Hierarchy(PATHS)
    recoding = km.Hierarchies({"q0": tree, "q1": tree})
    check(km.Problem(table(rows), km.KAnonymity(k), recoding), least(rows, {(0, 1): k}, PATHS))


@pytest.mark.full
@given(
    st.lists(st.tuples(cell, cell), min_size=2, max_size=6),
    st.sets(st.sampled_from([(0, 0), (0, 1), (1, 0), (1, 1)]), min_size=1),
    st.integers(2, 3),
)
@settings(max_examples=examples(80, 15))
def test_masks(rows: list[Row], vectors: set[tuple[int, ...]], k: int) -> None:
    patterns = [["keep" if not level else "*" for level in vector] for vector in sorted(vectors)]
    expected = least(rows, {(0, 1): k}, vectors=sorted(vectors))
    check(km.Problem(table(rows), km.KAnonymity(k), km.PatternMask(patterns)), expected)


@pytest.mark.full
@given(st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=4), st.booleans())
@example([("a", "b", "b")], True)  # fewer rows than k: suppressing the set alone is enough
@settings(max_examples=examples(60, 12))
def test_sets_of_columns_and_the_exempt_reading(rows: list[Row], exempt: bool) -> None:
    asked = [km.KAnonymity(3, quasi_identifiers=["q0", "q1"]), km.KAnonymity(2, quasi_identifiers=["q1", "q2"])]
    problem = km.Problem(table(rows), asked, suppressed_rows="exempt" if exempt else "strict")
    found = check(problem, least(rows, {(0, 1): 3, (1, 2): 2}, exempt=exempt))
    assert exempt <= (found.proof == "optimal")  # all rows may be suppressed


@pytest.mark.full
@given(st.lists(st.tuples(cell, st.integers(1, 3)), min_size=1, max_size=4), st.integers(2, 4))
@settings(max_examples=examples(60, 8))
def test_rows_that_are_counted(rows: list[tuple[str | None, int]], k: int) -> None:
    frame = pl.DataFrame(
        {"q0": [value for value, _ in rows], "n": [count for _, count in rows]}, schema_overrides={"q0": pl.String}
    )
    given = km.Table.from_frame(frame, ["q0"], count="n", missing="wildcard")
    every = [(value,) for value, count in rows for _ in range(count)]
    check(km.Problem(given, km.KAnonymity(k)), least(every, {(0,): k}))


def test_few_suppressed_rows_are_enough_and_it_is_said() -> None:
    """k - 1 fully suppressed rows match all others: the loss is no more than theirs, and k without them is said."""
    rows = [(letter, letter) for letter in "abcdefgh"]
    found = check(km.Problem(table(rows), km.KAnonymity(3)), Fraction(4))
    assert found.report is not None
    assert found.report.warnings == (
        "2 rows are fully suppressed, and counted among the rows that match each other row: without them k = 1",
    )
    assert "k = 3 of all rows, k = 3 of those that are not fully suppressed" in found.report.summary()
    strict = km.Table.from_frame(found.problem.table.frame.to_native(), ["q0", "q1"])
    assert km.solve(km.Problem(strict, km.KAnonymity(3))).objective == 16


def test_what_is_verified_and_measured_is_that_reading() -> None:
    problem = km.Problem(table(ROWS), km.KAnonymity(2))
    found = check(problem, least(ROWS, {(0, 1): 2}))
    assert found.table is not None
    assert min(counts(found.table.rows(), (0, 1))) >= 2
    assert km.measure(problem, found.table).missing_keys == "match"
    few = km.solve(km.Problem(table(ROWS), km.KAnonymity(5)))
    assert "not even all rows as one group satisfy k-anonymity" in (few.message or "")
    worse = found.table.with_columns(pl.Series("q0", ["x", "x", "y", "z"]), pl.Series("q1", ["1", "2", None, "3"]))
    assert not km.verify(problem, worse).ok
    assert found.as_dict()["problem"]["requirements"] == [{"name": "k_anonymity", "k": 2, "missing_keys": "match"}]
    certificate = found.certify()
    assert certificate.bound <= found.exact_objective  # type: ignore[operator]
    assert check_certificate(problem, certificate).valid
    with pytest.raises(InputError, match=r'apply is not for missing="wildcard"'):
        km.apply(found, problem.table.frame.to_native())


@pytest.mark.parametrize("method", ["search", "greedy", "mondrian", "subset_dp", "matching", "full_domain"])
def test_methods_that_judge_groups_alone_refuse(method: str) -> None:
    with pytest.raises(InputError, match=r'missing="wildcard" k-anonymity is about several groups.*use auto or milp'):
        km.solve(km.Problem(table(ROWS), km.KAnonymity(2)), method=method)


def test_other_requests_are_refused_by_name() -> None:
    held = km.Table.from_frame(
        pl.DataFrame({"q": ["x", None], "s": ["1", "2"], "u": ["p", "p"]}), ["q"], "s", keep="u", missing="wildcard"
    )
    with pytest.raises(InputError, match=r'is for k-anonymity at the least loss, and l-diversity of "s" \(l = 2'):
        km.Problem(held, [km.KAnonymity(2), km.LDiversity(2)])
    with pytest.raises(InputError, match="and objective max_groups is asked for"):
        km.Problem(held, km.KAnonymity(2), objective="max_groups")
    with pytest.raises(InputError, match="and min_groups is asked for"):
        km.Problem(held, km.KAnonymity(2), min_groups=1)
    units = km.Table.from_frame(pl.DataFrame({"q": ["x", None], "u": ["p", "p"]}), ["q"], unit="u", missing="wildcard")
    with pytest.raises(InputError, match=r'"wildcard" .* counts rows, and the unit of protection "u" has several'):
        km.Problem(units, km.KAnonymity(2))
    for asked in ({"then": "groups"}, {"pool": 2}):
        with pytest.raises(
            InputError,
            match=f'not supported with missing="wildcard"; leave {next(iter(asked))} out, or take missing="value"',
        ):
            km.solve(km.Problem(table(ROWS), km.KAnonymity(2)), **asked)
    with pytest.raises(InputError, match=r"missing keys that match any value .* use the strong formulation"):
        km.solve(km.Problem(table(ROWS), km.KAnonymity(2)), formulation="groups")


def test_from_the_command_line_and_as_a_model_file(tmp_path: Path) -> None:
    file, out, saved = tmp_path / "table.csv", tmp_path / "out", tmp_path / "saved.toml"
    file.write_text("q0,q1\n" + "".join(f"{a},{b or ''}\n" for a, b in ROWS))
    asked = ["--qi", "q0,q1", "--k", 2, "--missing", "wildcard"]
    done = run("solve", "--data", file, *asked, "--out", out, "--save-model", saved)
    assert done.returncode == 0, done.stderr
    result = json.loads((out / "result.json").read_text())
    assert Fraction(result["objective"]) == least(ROWS, {(0, 1): 2})
    assert result["input"]["table"]["missing"] == "wildcard"
    released = out / "anonymized.csv"
    assert run("verify", released, "--original", file, *asked).returncode == 0
    assert run("verify", released, "--model", saved).returncode == 0
    with warnings.catch_warnings(action="ignore"):
        assert km.read_model(saved).problem.table.keys_match
    assert "--missing wildcard" in verify_command(result, str(released))[0]  # type: ignore[operator]
    for missing, other in ((asked[-2:], []), ([], asked[-2:])):  # a certificate is of one reading
        of_one = tmp_path / "certificate.json"
        run("solve", "--data", file, *asked[:4], *missing, "--certificate", of_one)
        check = ["verify", "--original", file, "--certificate", of_one]
        assert run(*check, *asked[:4], *missing).returncode == 0
        assert run(*check, *missing).returncode == 0
        assert run(*check, *asked[:4], *other).returncode == 6
        assert "name that reading: --missing" in run(*check, *other).stderr
    refused = run("solve", "--data", file, *asked, "--method", "search")
    assert refused.returncode == 2
    assert "use auto or milp" in refused.stderr
