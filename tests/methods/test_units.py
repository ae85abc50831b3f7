"""k counts units of protection: methods, solvers and formulations against brute force; certificates; the verifier."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import examples
from oracle import optimum

import kanon_milp as km
from kanon_milp.bounds import relaxations
from kanon_milp.bounds.lagrangian_bound import exact_phi
from kanon_milp.errors import InputError
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.presolve.instance import prepare
from kanon_milp.problem.records import Group
from kanon_milp.verify import check_certificate

COLUMNS = ("a", "b", "c")
PATHS = {value: (value, "u" if value in "xy" else "v", "*") for value in "xyz"}
EXACT = ("milp", "search", "fpt", "subset_dp", "portfolio")
OTHERS = ("greedy", "mondrian", "mondrian_relaxed", "full_domain")


@dataclass(frozen=True)
class Drawn:
    """A small table with units of 1 to 4 rows, and what is asked of it."""

    rows: list[tuple[str, ...]]
    units: list[str]
    sensitive: list[str]
    k: int
    reading: str
    vectors: list[tuple[int, ...]] | None
    hierarchy: bool
    also: str

    @property
    def problem(self) -> km.Problem:
        """As the package has it."""
        frame = pl.DataFrame(self.rows, schema=list(COLUMNS), orient="row")
        frame = frame.with_columns(pl.Series("who", self.units), pl.Series("ill", self.sensitive))
        table = km.Table.from_frame(frame, list(COLUMNS), "ill", unit="who")
        recoding: Any = km.Suppression()
        if self.hierarchy:
            recoding = km.Hierarchies({"a": PATHS})
        elif self.vectors is not None:
            recoding = km.PatternMask([dict(zip(COLUMNS, v, strict=True)) for v in self.vectors])
        also: dict[str, list[Any]] = {
            "": [],
            "p": [km.PSensitivity(2)],
            "l": [km.LDiversity("3/2")],
            "t": [km.TCloseness("1/2")],
        }
        reading: Any = self.reading
        return km.Problem(table, [km.KAnonymity(self.k), *also[self.also]], recoding, suppressed_rows=reading)

    @property
    def requirement(self) -> Callable[[tuple[int, ...]], bool] | None:
        """What else each group must have, by its definition."""
        values = sorted(set(self.sensitive))
        n = len(self.sensitive)
        share = {value: Fraction(self.sensitive.count(value), n) for value in values}

        def holds(block: tuple[int, ...]) -> bool:
            inside = [self.sensitive[i] for i in block]
            if self.also == "p":
                return len(set(inside)) >= 2
            if self.also == "l":
                return all(inside.count(value) * Fraction(3, 2) <= len(inside) for value in values)
            far = sum(abs(Fraction(inside.count(value), len(inside)) - share[value]) for value in values)
            return far / 2 <= Fraction(1, 2)

        return holds if self.also else None

    @property
    def best(self) -> Fraction | None:
        """The least loss, by brute force."""
        return optimum(
            self.rows,
            self.k,
            hierarchies={0: PATHS} if self.hierarchy else None,
            vectors=self.vectors,
            suppressed_rows=self.reading,
            units=self.units,
            requirement=self.requirement,
        )


def drawn(seed: int, also: str | None = None) -> Drawn:
    """A random one; rows of a unit are often alike."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[str, ...]] = []
    units: list[str] = []
    count = int(rng.integers(3, 7))
    for unit in range(count):
        own = tuple(rng.choice(list("xyz"), size=len(COLUMNS)))
        for _ in range(min(int(rng.integers(1, 5)), 9 - len(rows))):
            rows.append(tuple(value if rng.random() < 0.7 else str(rng.choice(list("xyz"))) for value in own))
            units.append(f"person {unit}")
    vectors, hierarchy = None, bool(rng.random() < 0.3)
    if not hierarchy and rng.random() < 0.4:
        every = list(itertools.product((0, 1), repeat=len(COLUMNS)))
        chosen = rng.choice(len(every), size=4, replace=False).tolist()
        vectors = [every[i] for i in sorted({*chosen, len(every) - 1} if rng.random() < 0.7 else chosen)]
    return Drawn(
        [tuple(map(str, row)) for row in rows],
        units,
        [str(value) for value in rng.choice(list("rst"), size=len(rows))],
        int(rng.integers(2, 4)),
        str(rng.choice(["strict", "exempt"])),
        vectors,
        hierarchy,
        str(rng.choice(["", "", "p", "l", "t"])) if also is None else also,
    )


def check(case: Drawn, method: str, **options: Any) -> km.Result | None:
    """Solve it and hold it against brute force; None where the method refuses the problem, or not so few values."""
    try:
        problem = case.problem
        result = km.solve(problem, method=method, time_limit=60, **options)
    except InputError as error:
        known = ("is not for", "one value only", "groups formulation", "would guess")
        if not any(each in str(error) for each in known):
            raise
        return None
    best = case.best
    if result.table is not None:
        assert result.verified
        assert best is not None
        assert result.exact_objective is not None
        assert result.exact_objective >= best
    if method in EXACT and result.stop_reason != "time_limit":
        assert result.proof == ("infeasible" if best is None else "optimal")
        assert result.exact_objective == best
    elif result.exact_bound is not None and best is not None:
        assert result.exact_bound <= best
    return result


@pytest.mark.parametrize("method", [*EXACT, *OTHERS])
def test_methods_against_brute_force(method: str) -> None:
    solved = 0
    for seed in range(examples(24, 8)):
        case = drawn(seed)
        options = {"iteration_limit": 2} if method == "search" else {}
        solved += (method != "fpt" or len(set(case.rows)) < 7) and check(case, method, **options) is not None
    assert solved


def test_bound_and_search_for_very_many_units_against_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they do beyond `MANY` values: sizes alone first, tables mended, groups and their proof in closed form."""
    monkeypatch.setattr(relaxations, "MANY", 0)
    assert any(check(drawn(seed), "search", iteration_limit=2) is not None for seed in range(examples(24, 8)))


def test_the_exact_cheapest_groups_for_very_many_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """The closed form finds what the general search for groups finds."""
    compared = 0
    for seed in range(examples(60, 20)):
        instance = prepare(drawn(seed, also="").problem)
        if not instance.problem.attributes:
            continue
        multipliers = np.random.default_rng(seed).integers(-2000, 6000, size=instance.types.count).astype(np.int64)
        charges, found = np.zeros(0, np.int64), []
        for many in (10**6, 0):
            monkeypatch.setattr(relaxations, "MANY", many)
            found.append(exact_phi(instance, multipliers, charges, 1000))
        assert found[0].tolist() == found[1].tolist()
        compared += 1
    assert compared


@pytest.mark.parametrize("reading", ["strict", "exempt"])
def test_groups_are_checked_by_different_values_as_their_requirements_have_it(reading: Any) -> None:
    frame = pl.DataFrame({"a": list("xxyyzz"), "ill": ["r", None, "None", "s", "s", "r"], "who": list("ppqqrs")})
    table = km.Table.from_frame(frame, ["a"], "ill", unit="who")
    asked = [km.KAnonymity(2), km.PSensitivity(2), km.LDiversity("3/2")]
    for some in (asked[:1], asked[:2], asked[1:], asked):
        instance = prepare(km.Problem(table, some, suppressed_rows=reading))
        check, exempt = GroupCheck(instance), np.flatnonzero(instance.exempt)
        codes, values = instance.sensitive_codes(instance.problem.attributes)
        rows = np.bincount(codes, weights=instance.types.counts).astype(int).tolist()
        for counts in itertools.product(*(range(n + 1) for n in rows)):
            tuples = {value: n for value, n in zip(values, counts, strict=True) if n}
            group = Group.of(instance.problem.attributes, tuples, instance.table_group)
            for g in [None, *exempt.tolist()]:
                asked_here = [r for r in instance.problem.requirements if g is None or not isinstance(r, km.KAnonymity)]
                holds = all(r.holds(group) for r in asked_here)
                holds = holds and (g is None or sum(counts) >= instance.least[g])
                assert sum(counts) == 0 or check.holds(g, np.array(counts)) == holds


def test_many_units_have_a_table_close_to_the_bound() -> None:
    """What greedy finds is found at once, and made better."""
    rng = np.random.default_rng(5)
    rows = 1500
    frame = pl.DataFrame({f"q{j}": rng.integers(4, size=rows).astype(str) for j in range(4)})
    frame = frame.with_columns(who=pl.Series(rng.integers(600, size=rows).astype(str)))
    problem = km.Problem(km.Table.from_frame(frame, list(frame.columns[:-1]), unit="who"), km.KAnonymity(4))
    first, found = (km.solve(problem, method=method, time_limit=12) for method in ("greedy", "search"))
    assert found.verified
    assert first.exact_objective is not None
    assert found.exact_objective is not None
    assert found.exact_objective <= first.exact_objective
    assert found.exact_bound is not None
    assert found.exact_bound >= found.exact_objective * Fraction(4, 5)


@pytest.mark.parametrize(
    ("seed", "options"),
    [(seed, options) for seed in (3, 7, 11) for options in ({"solver": "cbc"}, {"formulation": "groups"})],
)
def test_solvers_and_formulations(seed: int, options: dict[str, Any]) -> None:
    result = check(drawn(seed), "milp", **options)
    assert result is None or result.proof in ("optimal", "infeasible")


def test_the_textbook_formulation_and_matching_refuse_units() -> None:
    problem = drawn(1, also="").problem
    with pytest.raises(InputError, match="of rows alone"):
        km.build_model(problem, formulation="textbook")
    with pytest.raises(InputError, match="different values of"):
        km.solve(problem, method="matching")
    with pytest.raises(InputError, match="counts rows"):
        km.Problem(problem.table, km.KAnonymity(2, quasi_identifiers=["a", "b"]))


def test_a_table_with_one_row_a_unit_is_plain_k_anonymity() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y"], "who": ["1", "2", "3"]})
    (requirement,) = km.Problem(km.Table.from_frame(frame, "a", unit="who"), km.KAnonymity(2)).requirements
    assert requirement.size_only
    assert requirement.attributes == ()
    assert requirement.describe() == {"k": 2}


def test_the_unit_is_not_released_nor_named_in_a_model(tmp_path: Any) -> None:
    case = drawn(5, also="p")
    result = km.solve(case.problem)
    assert result.table is not None
    assert "who" not in result.table.columns
    model = km.build_model(case.problem)
    out = tmp_path / "model.lp"
    km.export_model(case.problem, out)
    told = [out.read_text(), str(result.as_dict()), str(result.certify().as_dict()), repr(result), repr(case.problem)]
    told.append("\n".join(str(value) for value in model.sensitive.values()))
    assert not any("person" in each for each in told)


def test_units_must_not_be_missing() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y"], "who": ["1", None, "3"]})
    with pytest.raises(InputError, match=r'column "who", row 2: the value is .*leave these rows out'):
        km.Table.from_frame(frame, "a", unit="who")
    with pytest.raises(InputError, match="cannot be quasi-identifier and unit of protection at once"):
        km.Table.from_frame(frame, ["a", "who"], unit="who")
    whole = frame.drop_nulls()
    assert km.Table.from_frame(whole, "a", identifying="who", unit="who").identifying == ("who",)


# --------------------------------------------------------------------------------------------------- the verifier


def judged(case: Drawn, released: pl.DataFrame) -> bool:
    """Whether each group has k different units, by its definition."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, row in enumerate(released.select(COLUMNS).rows()):
        groups.setdefault(row, []).append(i)
    exempt = case.reading == "exempt"
    return all(
        (exempt and set(row) == {"*"}) or len({case.units[i] for i in rows}) >= case.k for row, rows in groups.items()
    )


def test_the_verifier_counts_units_itself() -> None:
    seen = set()
    for seed in range(examples(150, 60)):
        case, rng = drawn(seed, also=""), np.random.default_rng(seed)
        if case.hierarchy or case.vectors is not None:
            continue
        keep = rng.random((len(case.rows), len(COLUMNS))) < rng.choice([0.1, 0.3, 0.5])
        columns = np.where(rng.random(len(COLUMNS)) < 0.5, keep[:1], keep)  # often whole columns
        cells = np.where(columns, np.array(case.rows), "*")
        released = pl.DataFrame(cells, schema=list(COLUMNS), orient="row").with_columns(ill=pl.Series(case.sensitive))
        report = km.verify(case.problem, released)
        assert report.ok == judged(case, released)
        seen.add(report.ok)
    assert seen == {True, False}


def test_two_groups_that_differ_only_in_units() -> None:
    """The same released table is right for one assignment of units and wrong for another."""
    frame = pl.DataFrame({"a": ["x"] * 4 + ["y"] * 4, "b": ["1"] * 8})
    released = frame
    for units, holds in (("abababab", True), ("aaaabbbb", False), ("aaabcccd", True), ("abcddddd", False)):
        table = km.Table.from_frame(frame.with_columns(who=pl.Series(list(units))), ["a", "b"], unit="who")
        report = km.verify(km.Problem(table, km.KAnonymity(2)), released)
        assert report.ok is holds
        assert report.released.units_strict == min(len(set(units[:4])), len(set(units[4:])))
        assert ("different values of" in "".join(report.violations)) is not holds


def test_minimality_with_units() -> None:
    """A table is minimal exactly if no other legal table with one more specific cell has what is asked for."""
    checked = 0
    for seed in range(examples(120, 40)):
        case = drawn(seed, also="")
        if case.hierarchy or case.vectors is not None:
            continue
        result = km.solve(case.problem, method="greedy")
        report = result.report
        if result.table is None or report is None or report.minimal is None:
            continue
        cells = result.table.select(COLUMNS).rows()
        better = False
        for i, j in itertools.product(range(len(cells)), range(len(COLUMNS))):
            if cells[i][j] == "*":
                changed = [list(row) for row in cells]
                changed[i][j] = case.rows[i][j]
                better |= judged(case, pl.DataFrame(changed, schema=list(COLUMNS), orient="row"))
        for row, j in itertools.product(set(cells), range(len(COLUMNS))):
            inside = [i for i, each in enumerate(cells) if each == row]
            if row[j] == "*" and len({case.rows[i][j] for i in inside}) == 1 and len(inside) > 1:
                changed = [list(each) for each in cells]
                for i in inside:
                    changed[i][j] = case.rows[i][j]
                better |= judged(case, pl.DataFrame(changed, schema=list(COLUMNS), orient="row"))
        assert report.minimal is not better
        checked += 1
    assert checked


# --------------------------------------------------------------------------------------------------- certificates


def test_certificates_with_units_are_checked_and_forged_ones_refused() -> None:
    accepted = 0
    for seed in range(examples(30, 10)):
        case = drawn(seed)
        result = check(case, "search", iteration_limit=1)
        if result is None or result.proof == "infeasible":
            continue
        true, best = result.certify().as_dict(), case.best
        report = check_certificate(case.problem, true)
        assert report.valid, report.problems
        assert best is None or report.bound <= best
        accepted += report.bound > 0
        assert any("unit" in each for each in true["problem"]["requirements"]) == (
            len(set(case.units)) < len(case.units)
        )
        forged = []
        for change in (1, 1000, -1000):
            false = copy.deepcopy(true)
            false["multipliers"][seed % len(false["multipliers"])] += change * true["denominator"] // 1000 + change
            forged.append(false)
        false = copy.deepcopy(true)
        false["bound"] = str(Fraction(true["bound"]) + 1)
        forged.append(false)
        for false in forged:
            said = check_certificate(case.problem, false)
            assert not said.valid or best is None or said.bound <= best
        false = copy.deepcopy(true)
        for each in false["problem"]["requirements"]:
            each.pop("unit", None)
        if false != true:
            assert not check_certificate(case.problem, false).valid
    assert accepted


def test_a_certificate_of_other_units_is_refused() -> None:
    frame = pl.DataFrame({"a": list("xxyyzz"), "b": list("121212")})
    problems = [
        km.Problem(
            km.Table.from_frame(frame.with_columns(who=pl.Series(list(units))), ["a", "b"], unit="who"),
            km.KAnonymity(2),
        )
        for units in ("ppqqrr", "pqqrrp")
    ]
    certificate = km.solve(problems[0], method="search", iteration_limit=1).certify()
    assert check_certificate(problems[0], certificate).valid
    assert not check_certificate(problems[1], certificate).valid
