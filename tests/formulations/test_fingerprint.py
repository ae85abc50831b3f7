"""A model is solved for the problem that it was built for, and for no other one of the same size."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import polars as pl
import pyomo.environ as pyo
import pytest
from own_requirement import Own

import kanon_milp as km
from kanon_milp.formulations import get_formulation
from kanon_milp.presolve.preparation import presolve
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.system.clock import Clock

ROWS = {"a": list("xxyyz"), "b": list("uvuvu"), "s": list("ppqqp")}


def problem(k: int = 2, rows: dict[str, list[str]] = ROWS, **options: Any) -> km.Problem:
    return km.Problem(km.Table.from_frame(pl.DataFrame(rows), ["a", "b"], "s"), [km.KAnonymity(k)], **options)


@pytest.mark.parametrize("formulation", ["strong", "textbook", "groups"])
@pytest.mark.parametrize(
    "other",
    [
        problem(3),
        problem(rows={**ROWS, "b": list("uvuvv")}),
        problem(rows={**ROWS, "b": list("uwuwu")}),
        problem(recoding=km.Suppression({"a": 2})),
        problem(objective="min_groups"),
        problem(cost_bound=5),
        problem(suppressed_rows="exempt"),
    ],
    ids=["k", "rows", "values", "weights", "objective", "side", "reading"],
)
def test_a_model_of_another_problem_is_refused(other: km.Problem, formulation: str, tmp_path: Any) -> None:
    model = km.build_model(other, formulation)
    for call in (
        lambda: km.solve_model(problem(), model, formulation=formulation),
        lambda: km.export_model(problem(), tmp_path / "m.mps", formulation=formulation, model=model),
    ):
        with pytest.raises(
            km.InputError, match=r"the model was (built for another problem|not built for this problem)"
        ):
            call()


def test_of_equal_sizes_it_is_told_that_the_problem_is_another() -> None:
    with pytest.raises(km.InputError, match=r"built for another problem: .*build it again with build_model\(problem\)"):
        km.solve_model(problem(), km.build_model(problem(recoding=km.Suppression({"a": 2}))))


@pytest.mark.parametrize("formulation", ["strong", "textbook"])
def test_the_same_problem_stated_again_and_a_copy_of_the_model_are_taken(formulation: str) -> None:
    model = km.build_model(problem(), formulation)
    best = km.solve(problem()).require_optimal().objective
    renamed = replace(problem(), name="again")
    turned = problem(rows={name: column[::-1] for name, column in ROWS.items()})
    for asked in (renamed, turned):
        for given in (model, model.clone()):
            assert km.solve_model(asked, given, formulation=formulation).require_optimal().objective == best
    with pytest.raises(km.InputError, match="another problem"):
        km.solve_model(problem(recoding=km.Suppression({"b": 3})), model.clone(), formulation=formulation)


def test_the_formulation_of_a_model_is_named() -> None:
    model = km.build_model(problem(), "groups")
    with pytest.raises(km.InputError, match='by the formulation "groups", not "strong": write formulation="groups"'):
        km.solve_model(problem(), model)
    assert km.solve_model(problem(), model.clone(), formulation="groups").is_optimal


ANOTHER = "the model was (built for another problem|not built for this problem)"
VALUES = km.Table.from_frame(
    pl.DataFrame({"a": list("yyxxyx"), "b": list("qqqppp"), "s": list("uwvuuw")}), ["a", "b"], "s"
)
ORDERS = [km.distances.OrderedDistance(tuple(order)) for order in ("uvw", "vuw")]
MATRICES = [
    km.distances.MatrixDistance(tuple("uvw"), ((0, near, 1), (near, 0, 1), (1, 1, 0))) for near in ("1/4", "1/2")
]


@dataclass(frozen=True)
class Without(Own):
    """Each group has a row with another value than this one, which `describe` does not tell."""

    value: str
    cache: dict[str, int] = field(default_factory=dict)
    name = "without"
    attributes = ("s",)

    def holds(self, group: Any) -> bool:
        return bool(group.size > group.sensitive["s"].get(self.value, 0))

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: Any) -> None:
        code, values = instance.sensitive_codes(self.attributes)
        other = code != values.index((self.value,))

        block.rest = pyo.Var(model.CANDIDATES, domain=pyo.NonNegativeReals)

        def some(block: pyo.Block, g: int) -> object:
            rows = sum(model.assign[i, g] for i in model.cover[g] if other[i])
            return rows - block.rest[g] == model.open[g]

        block.some = pyo.Constraint(model.CANDIDATES, rule=some)


class Plain(Without):
    """The same as no dataclass, with something that it remembers, and code that tells two of them apart."""

    def __init__(self, value: str, least: Any = None) -> None:
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "_asked", [])
        object.__setattr__(self, "least", least or (lambda: 1))

    def holds(self, group: Any) -> bool:
        self._asked.append(group.size)  # type: ignore[attr-defined]
        return super().holds(group)


def least(rows: int) -> Any:
    return lambda: rows


@pytest.mark.parametrize(
    ("of_model", "asked"),
    [
        ([km.TCloseness("1/5", ORDERS[0], "s")], [km.TCloseness("1/5", ORDERS[1], "s")]),
        ([km.TCloseness("1/5", MATRICES[0], "s")], [km.TCloseness("1/5", MATRICES[1], "s")]),
        ([km.AlphaKAnonymity("1/2", 1, "s", ("u",))], [km.AlphaKAnonymity("1/2", 1, "s", ("v",))]),
        ([Without("u")], [Without("v")]),
        ([Plain("u")], [Plain("v")]),
        ([Plain("u", least(1))], [Plain("u", least(2))]),
    ],
    ids=["order", "matrix", "values", "own field", "own attribute", "own function"],
)
def test_what_a_requirement_does_not_tell_of_itself_counts(of_model: Any, asked: Any, tmp_path: Any) -> None:
    built, other = (km.Problem(VALUES, [km.KAnonymity(2), *each]) for each in (of_model, asked))
    assert built.requirements[1].spelled == other.requirements[1].spelled
    model = km.build_model(built)
    with pytest.raises(km.InputError, match=ANOTHER):
        km.solve_model(other, model)
    with pytest.raises(km.InputError, match=ANOTHER):
        km.export_model(other, tmp_path / "m.lp", model=model)
    km.export_model(built, tmp_path / "m.lp", model=model)
    (tmp_path / "m.sol").write_text("")
    with pytest.raises(km.InputError, match=ANOTHER):
        km.import_solution(other, tmp_path / "m.sol", model=model)
    for same in (built, km.Problem(VALUES, built.privacy)):
        assert km.solve_model(same, model).require_optimal().objective == km.solve(built).objective


@pytest.mark.parametrize(
    ("of_model", "asked"),
    [
        (km.TCloseness("0.2", ORDERS[0], "s"), km.TCloseness(Fraction(1, 5), ORDERS[0], "s")),
        (
            km.TCloseness("1/2", replace(ORDERS[0], source="one.csv")),
            km.TCloseness(0.5, replace(ORDERS[0], source="two.csv"), "s"),
        ),
        (Without("u"), Without("u")),
        (Plain("u"), Plain("u")),
    ],
)
def test_the_same_requirement_written_in_another_way_is_taken(of_model: Any, asked: Any) -> None:
    built, again = (km.Problem(VALUES, [km.KAnonymity(2), each]) for each in (of_model, asked))
    model = km.build_model(built)
    assert km.solve_model(again, model).require_optimal().objective == km.solve(built).objective


def test_what_a_requirement_remembers_does_not_make_its_problem_another_one() -> None:
    own = km.Problem(VALUES, [km.KAnonymity(2), Plain("u")])
    model = km.build_model(own)
    best = km.solve(own).require_optimal().objective
    assert own.requirements[1]._asked  # type: ignore[attr-defined]
    assert km.solve_model(own, model).require_optimal().objective == best


def test_what_makes_answers_trustworthy_is_set_for_extended_models_too() -> None:
    near = km.Problem(problem().table, [km.KAnonymity(2), km.TCloseness("1/2", form="transport")])
    result = km.solve_model(near, km.build_model(near))
    assert result.solver.options.extra == {"presolve": "off"}
    asked = km.solve_model(near, km.build_model(near), solver_options={"presolve": "on"})
    assert asked.solver.options.extra == {"presolve": "on"}
    assert asked.objective == result.objective == km.solve(near).objective
    own = km.Problem(VALUES, [km.KAnonymity(2), Without("u")])  # its variables are found, without a flag
    for result in (km.solve(own), km.solve_model(own, km.build_model(own))):
        assert result.require_optimal().solver.options.extra == {"presolve": "off"}
    # the heuristics that a continuous assignment makes superfluous stay on: `assign` is integer there
    known = get_formulation("strong").tune(presolve(problem(), Clock()).instance)
    tuned = get().suited(SolverOptions(), known).extra
    assert "mip_heuristic_run_rins" in tuned
    assert km.solve_model(problem(), km.build_model(problem())).solver.options.extra == {}
