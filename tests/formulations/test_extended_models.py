"""Models that users read and extend: constraints on what is released, judged by brute force."""

from __future__ import annotations

import copy
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pyomo.environ as pyo
import pytest
from effort import THOROUGH, examples
from hypothesis import given, settings
from hypothesis import strategies as st
from lying import Here
from oracle import SYMBOL, optimum
from present import present

import kanon_milp as km
from kanon_milp.methods.exchange import DeclaredModel
from kanon_milp.methods.outcome import Scale
from kanon_milp.solvers import Capability, LinearModel, Progress, RawResult, StopReason, get
from kanon_milp.solvers.call import SolverCall
from kanon_milp.solvers.proof import Grid
from kanon_milp.studies.output import described
from kanon_milp.studies.pages.wording import ASKED, proof_sentence
from kanon_milp.system.text_tables import amount

Rows = Sequence[tuple[str, ...]]
Vector = tuple[int, ...]
COLUMNS = ["age", "education"]
VECTORS = list(itertools.product((0, 1), repeat=len(COLUMNS)))
MOST_ROWS = 7 if THOROUGH else 5  # 4 ** rows tables are gone through
rows_of_people = st.lists(st.tuples(*(st.sampled_from("ab"), st.sampled_from("uvw"))), min_size=3, max_size=MOST_ROWS)
masks = st.sets(st.sampled_from(VECTORS[:-1])).map(lambda some: [*sorted(some), VECTORS[-1]])


def problem_of(rows: Rows, k: int, weights: Vector, vectors: Sequence[Vector] = VECTORS, **options: Any) -> km.Problem:
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    patterns = [["*" if level else "keep" for level in vector] for vector in vectors]
    mask = km.PatternMask(patterns, dict(zip(COLUMNS, weights, strict=True)))
    return km.Problem(km.Table.from_frame(frame, COLUMNS), [km.KAnonymity(k)], mask, **options)


def cheapest_where(
    rows: Rows, k: int, weights: Vector, vectors: Sequence[Vector], allowed: Callable[[tuple[Vector, ...]], bool]
) -> int | None:
    """The least loss of all tables in which each row is released by one of the vectors, by going through all."""
    best = None
    for chosen in itertools.product(vectors, repeat=len(rows)):
        released = [
            tuple(SYMBOL if level else cell for cell, level in zip(row, vector, strict=True))
            for row, vector in zip(rows, chosen, strict=True)
        ]
        if min(Counter(released).values()) >= k and allowed(chosen):
            loss = sum(weight * level for vector in chosen for weight, level in zip(weights, vector, strict=True))
            best = loss if best is None else min(best, loss)
    return best


@pytest.mark.parametrize("weight", ["1", "7/3"])
@pytest.mark.parametrize("price", [0.5, 1, 10])
def test_continuous_variables_are_those_of_the_rounded_integers(price: float, weight: str) -> None:
    """Solvers return integers that are some millionths off, and a z that is too low by as much for the rounded ones."""
    table = km.Table.from_frame(pl.DataFrame({"q0": list("bbaaba")}), ["q0"])
    for k in (1, 2):
        problem = km.Problem(table, km.KAnonymity(k), km.Suppression({"q0": weight}))
        model = km.build_model(problem)
        model.z = pyo.Var(domain=pyo.NonNegativeReals)
        model.more = pyo.Constraint(expr=model.z >= sum(model.open[g] for g in model.CANDIDATES) - 1.5)
        model.loss.set_value(model.loss.expr + price * model.z)
        result = km.solve_model(problem, model).require_optimal()
        assert result.solver.options.extra == {"presolve": "off"}
        opened = sum(round(model.open[g].value) for g in model.CANDIDATES)
        assert opened == 2
        assert model.z.value == pytest.approx(0.5, abs=1e-12)
        assert result.exact_objective == result.exact_bound == Fraction(price) / 2


class Near(Here):
    """HiGHS, with integers and what hangs on them moved by as much as a tolerance allows, or more than that."""

    name = "near"
    capabilities = frozenset({Capability.CONTINUOUS, Capability.BOUND})

    def __init__(self, continuous: float = 0.0, integer: float = 0.0, loose: float = 0.0) -> None:
        self.continuous, self.integer, self.loose = continuous, integer, loose

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        upper = model.constraint_upper + self.loose
        found = get("highs").solve(replace(model, constraint_upper=upper), call.options)
        assert found.x is not None
        assert found.bound is not None
        x = found.x.copy()
        x[~model.integer] -= self.continuous
        x[model.integer & (x == 1)] -= self.integer
        return RawResult(StopReason.OPTIMAL, x, min(found.bound, model.value(x)))


def test_a_point_below_the_optimum_is_not_called_optimal() -> None:
    table = km.Table.from_frame(pl.DataFrame({"q0": list("bbaaba")}), ["q0"])
    problem = km.Problem(table, km.KAnonymity(2))
    model = km.build_model(problem)
    model.z = pyo.Var(domain=pyo.NonNegativeReals)
    model.more = pyo.Constraint(expr=model.z >= sum(model.open[g] for g in model.CANDIDATES) - 1.5)
    model.loss.set_value(model.loss.expr + model.z)
    result = km.solve_model(problem, model, Near(continuous=5e-6, integer=4e-6))
    assert result.exact_objective == Fraction(1, 2)
    assert model.z.value == pytest.approx(0.5, abs=1e-12)
    # integers that no continuous values go with
    model.z.setlb(0.5 - 4e-6)
    model.z.setub(0.5 - 4e-6)
    model.two = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) >= 2)
    refused = km.solve_model(problem, model, Near(loose=5e-6))
    assert refused.proof == "none"
    assert refused.verified


def test_numbers_of_rough_objectives_are_short() -> None:
    scale = Scale(1, Fraction(repr(0.1)) / 3, Grid(0, 1.0))
    assert scale.exact(5.0) == Fraction(1, 6)
    assert scale.exact(math.pi) == Fraction("0.104719755120")
    lower = scale.proven(math.pi)
    assert lower is not None
    assert 0 < scale.exact(math.pi) - lower < Fraction(1, 10**8)
    assert lower.denominator <= 10**13
    upper = replace(scale, sign=-1).proven(math.pi)
    assert upper == -lower
    assert scale.proven(0.0) is not None


@settings(max_examples=examples(60, 5))
@given(rows_of_people, st.integers(2, 3), st.tuples(st.integers(1, 3), st.integers(1, 3)), masks, st.integers(0, 7))
def test_at_most_so_many_rows_lose_education(
    rows: Rows, k: int, weights: Vector, vectors: list[Vector], most: int
) -> None:
    if k > len(rows):
        return
    problem = problem_of(rows, k, weights, vectors)
    model = km.build_model(problem)
    lost = sum(model.assign[i, g] for i, g in model.PAIRS if model.level[g, "education"] > 0)
    model.kept = pyo.Constraint(expr=(None, lost, most))
    result = km.solve_model(problem, model)
    expected = cheapest_where(rows, k, weights, vectors, lambda chosen: sum(v[1] for v in chosen) <= most)
    assert result.objective == expected
    assert result.proof == ("infeasible" if expected is None else "optimal")
    if expected is not None:
        assert (present(result.table)["education"] == SYMBOL).sum() <= most


def one_level_vector(problem: km.Problem) -> pyo.ConcreteModel:
    model = km.build_model(problem)
    model.LEVEL_VECTORS = pyo.Set(initialize=sorted({model.vector[g] for g in model.CANDIDATES}))
    model.used = pyo.Var(model.LEVEL_VECTORS, domain=pyo.Binary)
    model.only_one = pyo.Constraint(expr=sum(model.used[v] for v in model.LEVEL_VECTORS) == 1)
    model.alike = pyo.Constraint(model.CANDIDATES, rule=lambda m, g: m.open[g] <= m.used[m.vector[g]])
    return model


@settings(max_examples=examples(60, 4))
@given(rows_of_people, st.integers(1, 3), st.tuples(st.integers(1, 3), st.integers(1, 3)))
def test_one_level_vector_for_all(rows: Rows, k: int, weights: Vector) -> None:
    if k > len(rows):
        return
    problem = problem_of(rows, k, weights)
    model = one_level_vector(problem)
    each = (optimum(rows, k, weights=weights, vectors=[vector]) for vector in VECTORS)
    assert km.solve_model(problem, model).objective == min(best for best in each if best is not None)


def test_an_addition_may_need_a_candidate_that_another_one_dominates() -> None:
    """(a, *) stands for the same rows as (a, u) and costs more, but goes with (b, *); without it the optimum is 8."""
    problem = problem_of([("a", "u"), ("a", "u"), ("b", "u"), ("b", "v")], 2, (1, 1))
    assert km.solve_model(problem, one_level_vector(problem)).require_optimal().objective == 4


def test_nobody_with_a_job_loses_the_age() -> None:
    """By the values of row types, sensitive ones among them, and by released labels of a hierarchy."""
    frame = pl.DataFrame(
        {
            "age": ["31", "35", "38", "52"] * 2,
            "city": ["x"] * 4 + ["y"] * 4,
            "job": ["p", "q", "p", "q", "p", "q", "p", "p"],
        }
    )
    table = km.Table.from_frame(frame, ["age", "city"], "job")
    ages = {age: (age, f"{age[0]}0-{age[0]}9", "*") for age in ("31", "35", "38", "52")}
    problem = km.Problem(table, [km.KAnonymity(2), km.PSensitivity(2)], km.Hierarchies({"age": ages}))
    model = km.build_model(problem)
    assert {model.original[i] for i in model.ROW_TYPES} == set(frame.select("age", "city").iter_rows())
    assert {(*model.original[i], *model.sensitive[i]) for i in model.ROW_TYPES} == set(frame.iter_rows())
    assert sum(model.n[i] for i in model.ROW_TYPES) == 8
    assert model.height["age"] == 2
    assert model.height["city"] == 1
    assert ("30-39", "x") in {model.released[g] for g in model.CANDIDATES}
    model.keep = pyo.Constraint(
        expr=sum(
            model.assign[i, g] for i, g in model.PAIRS if model.released[g][0] == "*" and model.sensitive[i] == ("q",)
        )
        == 0
    )
    result = km.solve_model(problem, model).require_optimal()
    # 52 can keep its age only with the other one of that age, at the cost of both cities
    table = present(result.table)
    assert table.filter(pl.col("job") == "q")["age"].to_list() == ["30-39", "52", "30-39"]
    assert table["city"].to_list() == ["x", "x", "x", "*", "y", "y", "y", "*"]


@pytest.mark.parametrize("formulation", ["strong", "textbook", "groups"])
def test_what_is_known_of_row_types_and_candidates(formulation: str) -> None:
    """n, w, N, cover and level say the same as the released labels and the table."""
    rows = [("a", "u"), ("a", "u"), ("a", "v"), ("b", "v"), ("b", "v")]
    problem = problem_of(rows, 2, (1, 3))
    model = km.build_model(problem, formulation)
    times = Counter(rows)
    assert {model.original[i]: model.n[i] for i in model.ROW_TYPES} == times
    assert set(model.PAIRS) == {(i, g) for g in model.CANDIDATES for i in model.cover[g]}
    for g in model.CANDIDATES:
        suppressed = [label == SYMBOL for label in model.released[g]]
        assert [model.level[g, column] for column in model.QUASI_IDENTIFIERS] == suppressed
        assert model.w[g] == suppressed[0] + 3 * suppressed[1]
        assert model.N[g] == sum(model.n[i] for i in model.cover[g])
        matching = [
            row
            for row in times
            if all(label in (SYMBOL, cell) for label, cell in zip(model.released[g], row, strict=True))
        ]
        assert sorted(model.original[i] for i in model.cover[g]) == sorted(matching)


def test_a_model_is_worth_printing(capsys: pytest.CaptureFixture[str]) -> None:
    """Every component says what it is, values are printed, and copies know the same."""
    table = km.Table.from_frame(
        pl.DataFrame({"a": ["1", "1", "2"], "b": ["x", "y", "y"], "s": ["7", "8", "9"]}), ["a", "b"], "s"
    )
    requirements = [km.KAnonymity(2), km.PSensitivity(2), km.LDiversity("3/2"), km.TCloseness("1/2")]
    requirements += [km.LDiversity(2, form="blocki-williams"), km.DeltaDisclosure(9, absent="ignored")]
    requirements += [km.TCloseness("1/2", distance="ordered"), km.TCloseness("1/2", form="transport")]
    requirements += [km.AlphaKAnonymity("2/3", 2), km.BetaLikeness(2), km.KAnonymity(2, quasi_identifiers=["a"])]
    model = km.build_model(km.Problem(table, requirements, min_groups=1, max_groups=3, cost_bound=9))
    unsaid = [
        component.name
        for component in model.component_objects()
        if not component.doc and "_index" not in component.name
    ]
    assert unsaid == []
    model.pprint()
    printed = capsys.readouterr().out
    assert "('1', '*')" in printed  # a released row
    assert "every row goes to one candidate" in printed
    assert 'l-diversity of "s" (l = 1.5, form = frequency)' in printed
    twin = copy.deepcopy(model)
    assert [twin.released[g] for g in twin.CANDIDATES] == [model.released[g] for g in model.CANDIDATES]


def six() -> km.Problem:
    rows = [("a", "u"), ("a", "u"), ("b", "v"), ("b", "v"), ("c", "w"), ("c", "w")]
    return km.Problem(
        km.Table.from_frame(pl.DataFrame(rows, schema=["p", "q"], orient="row"), ["p", "q"]), km.KAnonymity(2)
    )


@pytest.mark.parametrize("domain", [pyo.RangeSet(0, 10, 2), pyo.Set(initialize=[0, 2, 5])])
def test_a_domain_with_gaps_is_refused(domain: Any) -> None:
    """Solvers would take it for all integers in between, and call three groups an even number of them."""
    problem = six()
    model = km.build_model(problem)
    model.domain = domain
    model.z = pyo.Var(domain=model.domain)
    model.even = pyo.Constraint(expr=sum(model.open.values()) == model.z)
    with pytest.raises(km.InputError, match="the domain of the variable z"):
        km.solve_model(problem, model)


def test_fixed_variables_keep_their_value() -> None:
    problem = six()
    model = km.build_model(problem)
    top = max(model.CANDIDATES, key=lambda g: model.w[g])
    for i in model.cover[top]:
        model.assign[i, top].fix(model.n[i])
    result = km.solve_model(problem, model)
    assert (result.objective, result.proof) == (12, "optimal")
    assert result.verified


def test_a_constraint_that_nothing_satisfies_is_told() -> None:
    problem = six()
    model = km.build_model(problem)
    model.never = pyo.Constraint(expr=0 * model.open[0] >= 1)
    with pytest.raises(km.InputError, match="no values satisfy"):
        km.solve_model(problem, model)


def test_sides_that_were_computed_in_floating_point_cut_nothing_off_in_integers() -> None:
    """0.1 + 0.1 + 0.1 > 0.3 in doubles, so that the side of this constraint is a little below 0.2."""
    pytest.importorskip("ortools")
    problem = six()
    for solver in ("highs", "cpsat"):
        model = km.build_model(problem, "textbook")
        free = [g for g in model.CANDIDATES if model.w[g] == 0]
        model.most = pyo.Constraint(expr=sum(0.1 * (1 - model.open[g]) for g in free) <= 0.2)
        assert km.solve_model(problem, model, solver, formulation="textbook").require_optimal().objective == 0


def said(result: km.Result) -> str:
    """What the page of a result says is proven."""
    return proof_sentence(described(result))


@settings(max_examples=examples(60, 5))
@given(
    rows_of_people,
    st.integers(1, 3),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    masks,
    st.integers(0, 7),
    st.booleans(),
    st.sampled_from(["", "1/4"]),
)
def test_what_is_said_of_an_extended_model_is_what_going_through_all_tables_finds(
    rows: Rows, k: int, weights: Vector, vectors: list[Vector], most: int, own: bool, part: str
) -> None:
    """At most so many rows lose education; the least loss, or the fewest rows that lose their age."""
    if k > len(rows):
        return
    problem = problem_of(rows, k, weights, vectors)
    if part:
        costs = {name: f"{weight}/4" for name, weight in zip(COLUMNS, weights, strict=True)}
        problem = replace(problem, recoding=replace(problem.recoding, weights=costs))
    unit = Fraction(part or 1)
    model = km.build_model(problem)
    model.kept = pyo.Constraint(
        expr=(None, sum(model.assign[i, g] for i, g in model.PAIRS if model.level[g, "education"] > 0), most)
    )
    model.never = pyo.Constraint(expr=model.loss.expr * model.unit <= 1000)
    if own:
        model.loss.deactivate()
        model.aged = pyo.Objective(expr=sum(model.assign[i, g] for i, g in model.PAIRS if model.level[g, "age"] > 0))
    result = km.solve_model(problem, model)
    allowed = lambda chosen: sum(v[1] for v in chosen) <= most  # noqa: E731
    expected = cheapest_where(rows, k, (1, 0) if own else weights, vectors, allowed)
    told = result.as_dict()
    assert told["extended"]["added"] == ["kept", "never", "aged"][: 2 + own]
    assert told["extended"]["deactivated"] == ["loss"][: int(own)]
    assert not told["extended"]["relaxed"]
    assert told["optimized"]["component"] == ("aged" if own else "loss")
    sentence = said(result)
    assert "kept, never" in sentence
    assert "extended model (kept, never" in result.summary() or expected is None
    if expected is None:
        assert sentence.startswith("It is proven that the model as it was extended")
        assert (result.objective, result.loss) == (None, None)
        return
    assert result.exact_objective == (expected if own else expected * unit)
    assert result.report is not None
    chosen = [[cell == SYMBOL for cell in row] for row in present(result.table).rows()]
    loss = sum(weight * lost for each in chosen for weight, lost in zip(weights, each, strict=True)) * unit
    assert result.loss == loss
    number = re.match(r"The (?:loss of|value) ([\d.,]+) .*is proven to be the best possible: no solution of", sentence)
    assert number is not None
    assert float(number[1]) == pytest.approx(float(present(result.objective)), rel=1e-5)
    assert "no table that meets" not in sentence  # it may be a better one
    if own:
        assert f"The table loses {amount(result.loss)};" in sentence
        assert result.with_bound_of(result.certify()) is result
    else:
        bound = result.certify().bound
        assert bound <= present(optimum(rows, k, weights=weights, vectors=vectors)) * unit


Change = Callable[[pyo.ConcreteModel], object]


def first_pair(model: pyo.ConcreteModel) -> Any:
    return model.assign[next(iter(model.PAIRS))]


def in_a_block(model: pyo.ConcreteModel) -> None:
    model.mine = pyo.Block([1, 2])
    model.mine[1].few = pyo.Constraint(expr=sum(model.open.values()) <= 2)


def by_data(model: pyo.ConcreteModel) -> None:
    model.most = pyo.Param(initialize=9, mutable=True)
    model.few = pyo.Constraint(expr=sum(model.open.values()) <= model.most)
    model.most.set_value(1)


def about_what_is_fixed(model: pyo.ConcreteModel) -> None:
    model.open[0].fix(0)
    model.mine = pyo.Constraint(expr=model.open[0] <= 1)


def without_loss(model: pyo.ConcreteModel) -> None:
    model.del_component("loss")
    model.groups = pyo.Objective(expr=sum(model.open.values()), sense=pyo.maximize)


CHANGES: dict[str, tuple[Change, dict[str, list[str]], bool]] = {
    "block": (in_a_block, {"added": ["mine.few"]}, False),
    "mutable data": (by_data, {"added": ["few"]}, False),
    "fixed": (lambda m: m.open[0].fix(0), {"fixed": ["open"]}, False),
    "no row": (about_what_is_fixed, {"added": ["mine"], "fixed": ["open"]}, False),
    "fixed outside": (lambda m: first_pair(m).fix(2.5), {"fixed": ["assign"]}, True),
    "tighter bound": (lambda m: first_pair(m).setub(0), {"changed": ["assign"]}, False),
    "looser bound": (lambda m: first_pair(m).setub(9), {"changed": ["assign"]}, True),
    "domain": (lambda m: setattr(m.open, "domain", pyo.UnitInterval), {"changed": ["open"]}, True),
    "side": (lambda m: m.placed[0].set_value(m.placed[0].body >= 1), {"changed": ["placed"]}, True),
    "coefficient": (
        lambda m: m.linked[next(iter(m.PAIRS))].set_value(first_pair(m) <= 1),
        {"changed": ["linked"]},
        True,
    ),
    "switched off": (lambda m: m.k_anonymity.deactivate(), {"deactivated": ["k_anonymity.size"]}, True),
    "deleted": (lambda m: m.del_component("linked"), {"deactivated": ["linked"]}, True),
    "limit": (lambda m: m.max_groups.deactivate(), {"deactivated": ["max_groups"]}, True),
    "maximized": (lambda m: setattr(m.loss, "sense", pyo.maximize), {"changed": ["loss"]}, False),
    "constant": (lambda m: m.loss.set_value(m.loss.expr + 3), {"changed": ["loss"]}, False),
    "another objective": (without_loss, {"added": ["groups"], "deactivated": ["loss"]}, False),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_components_of_an_extension_are_named(name: str) -> None:
    change, names, may_leave_out = CHANGES[name]
    rows = [("a", "u"), ("a", "u"), ("a", "v"), ("b", "v"), ("b", "w"), ("b", "w"), ("c", "u")]
    problem = problem_of(rows, 2, (1, 2), max_groups=2)
    model = km.build_model(problem)
    change(model)
    result = km.solve_model(problem, model)
    extended = result.as_dict()["extended"]
    empty: dict[str, list[str]] = {"added": [], "changed": [], "fixed": [], "deactivated": []}
    assert {key: extended[key] for key in empty} == {**empty, **names}
    assert extended["relaxed"] == may_leave_out
    own = name in ("maximized", "constant", "another objective")
    assert (result.as_dict()["problem"]["objective"] == "model") == own
    for text in (result.summary(), said(result), result._repr_html_(), repr(result)):
        assert all(each in text for each in itertools.chain.from_iterable(names.values())), text
    assert result.loss == (None if result.report is None else present(result.report.cost))
    if result.proof == "optimal":
        assert result.report is not None
        assert result.report.ok
    assert (result.bound is None) == (result.proof in ("none", "infeasible"))
    if may_leave_out and result.verified:
        assert "may allow more than was asked" in said(result)
        assert result.with_bound_of(result.certify()) is result


def test_a_model_that_there_was_no_time_to_compare_says_so() -> None:
    problem = six()
    model = km.build_model(problem)
    model.few = pyo.Constraint(expr=sum(model.open.values()) <= 2)
    result = km.solve_model(problem, model, time_limit=1e-6)
    assert (result.stop_reason, result.proof, result.bound) == ("time_limit", "none", None)
    assert result.as_dict()["extended"]["compared"] is False
    assert "no table found (time limit) by the extended model (the time limit was reached before it was compared" in (
        result.summary()
    )
    assert "proven that" not in said(result)


@pytest.mark.full
@pytest.mark.parametrize("formulation", ["strong", "textbook", "groups"])
def test_a_model_that_nobody_has_changed_is_the_problem(formulation: str) -> None:
    rows = [("a", "u"), ("a", "u"), ("a", "v"), ("b", "v"), ("b", "w"), ("b", "w"), ("c", "u")]
    for options in ({}, {"objective": "max_groups"}, {"objective": "min_groups", "cost_bound": 9}, {"cost_bound": 3}):
        problem = problem_of(rows, 2, (1, 2), **options)
        model = km.build_model(problem, formulation)
        model.spare = pyo.Var()
        result, plain = km.solve_model(problem, model, formulation=formulation), km.solve(problem, method="milp")
        assert result.extension is None
        assert result.as_dict()["extended"] is None
        assert result.summary() == plain.summary()
        lost = f"The table loses {result.loss}"  # tables with as many groups may lose more, or less
        assert said(result).replace(lost, f"The table loses {plain.loss}") == said(plain)


@pytest.mark.parametrize("objective", ["loss", "min_groups", "max_groups"])
def test_what_the_page_says_of_a_problem_with_limits_names_them(objective: str) -> None:
    """No table with a loss of at most 6 is better; one that loses more may be."""
    rows = [("a", "u"), ("a", "v"), ("b", "u"), ("b", "v"), ("c", "u"), ("c", "v"), ("c", "v")]
    limited = problem_of(rows, 2, (1, 2), objective=objective, cost_bound=9, max_groups=3)
    result = km.solve(limited).require_optimal()
    best = present(optimum(rows, 2, weights=(1, 2), objective=objective, cost_bound=9, max_groups=3))
    assert result.objective == best
    assert f" of {best} is proven to be the best possible: {ASKED} has a " in said(result)
    assert f"{best} groups" in result.summary() or objective == "loss"
    assert result.loss == present(result.report).cost
    if objective != "loss":
        assert f"The table loses {result.loss};" in said(result)


def test_the_unit_of_a_model_is_what_its_loss_counts_in() -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": list("xxyz"), "b": list("uvvv")}), ["a", "b"])
    problem = km.Problem(table, km.KAnonymity(2), km.Suppression({"a": "3/4", "b": "1/2"}))
    model = km.build_model(problem)
    assert model.unit == Fraction(1, 4)
    result = km.solve_model(problem, model).require_optimal()
    assert pyo.value(model.loss) * model.unit == result.loss == km.solve(problem).objective
    assert result.as_dict()["optimized"]["unit"] == "1/4"
    assert copy.deepcopy(model).unit == Fraction(1, 4)
    model.more = pyo.Constraint(expr=model.unit * model.loss.expr >= present(result.loss) + Fraction(1, 4))
    dearer = km.solve_model(problem, model).require_optimal()
    assert present(dearer.loss) > present(result.loss)


@pytest.mark.parametrize("maximized", [False, True])
@pytest.mark.parametrize("factor", [Fraction(1), Fraction(1, 4), Fraction(7, 3)])
def test_an_objective_means_what_it_says_whichever_component_holds_it(
    factor: Fraction, maximized: bool, tmp_path: Path
) -> None:
    """Set for `loss`, or declared anew: the same numbers in result, progress, messages, exports and imports, and as
    Pyomo evaluates the objective."""
    table = km.Table.from_frame(pl.DataFrame({"a": list("xxyzz"), "b": list("uvvvu")}), ["a", "b"])
    problem = km.Problem(table, km.KAnonymity(2), km.Suppression({"a": "3/4", "b": "1/2"}))
    found = []
    for anew in (False, True):
        model = km.build_model(problem)
        goal = factor * model.loss.expr + 2 * sum(model.open[g] for g in model.CANDIDATES) + 1
        if anew:
            model.loss.deactivate()
            model.own = pyo.Objective(expr=goal, sense=pyo.maximize if maximized else pyo.minimize)
        else:
            model.loss.set_value(goal)
            model.loss.sense = pyo.maximize if maximized else pyo.minimize
        seen: list[Progress] = []
        result = km.solve_model(problem, model, on_progress=seen.append).require_optimal()
        value = float(pyo.value(model.own if anew else model.loss))
        assert float(present(result.exact_objective)) == pytest.approx(value, rel=1e-12)
        assert seen[-1].incumbent == pytest.approx(value, rel=1e-9)
        assert result.as_dict()["optimized"]["unit"] == "1"
        checked = km.solved_table(problem, model)
        written = km.export_model(problem, tmp_path / f"{anew}.mps", model=model)
        assert isinstance(written, DeclaredModel)
        name = result.optimized.split()[1]
        assert name == ("own" if anew else "loss")
        found.append((
            result.exact_objective,
            result.exact_bound,
            result.loss,
            result.gap,
            result.message,
            result.trajectory[-1][1:],
            result.summary().split(" of the ")[0],
            checked.exact_objective,
            written.unit,
        ))  # fmt: skip
    assert found[0] == found[1]
    assert found[0][0] == found[0][7]
