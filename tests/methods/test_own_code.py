"""Code of a user's own that raises or returns nonsense: one error that names class and method, and the way out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pyomo.environ as pyo
import pytest
from lying import Here
from present import present

import kanon_milp as km
from kanon_milp.bounds import ProvenBound, register_bound, unregister_bound
from kanon_milp.bounds.registry import BoundTask, best_registered
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.formulations import FORMULATIONS, Formulation
from kanon_milp.heuristics.greedy import suppress_all
from kanon_milp.methods import phases, registry
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.partition import Partition
from kanon_milp.problem.distances import EqualDistance
from kanon_milp.problem.privacy.registry import add
from kanon_milp.solvers import LinearModel, RawResult, SolverCall, SolverOptions, StopReason, get
from kanon_milp.solvers.call import Recorder, Watch
from kanon_milp.studies.output import described
from kanon_milp.studies.pages.wording import proof_sentence

SECRET = "cell-of-the-table"
FRAME = pl.DataFrame({"a": ["1", "1", "2", "2", SECRET], "b": list("xyxyx"), "s": list("uvuvu")})
PROBLEM = km.Problem(km.Table.from_frame(FRAME, ["a", "b"], "s"), km.KAnonymity(2))


def boom(*_: Any) -> Any:
    raise KeyError(SECRET)


@dataclass(frozen=True)
class Own(km.Requirement):
    """Nothing is asked for; each method may be replaced."""

    name: ClassVar[str] = "own"
    say: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def _said(self, method: str, default: Any, *given: Any) -> Any:
        return self.say[method](*given) if method in self.say else default

    @property
    def attributes(self) -> tuple[str, ...]:
        return self._said("attributes", ("s",))  # type: ignore[no-any-return]

    def bind(self, table: km.Table) -> tuple[Own, ...]:
        return self._said("bind", (self,), table)  # type: ignore[no-any-return]

    def smallest_group(self, whole: Any) -> int:
        return self._said("smallest_group", 1, whole)  # type: ignore[no-any-return]

    def holds(self, group: Any) -> bool:
        return self._said("holds", True, group)  # type: ignore[no-any-return]

    def viable(self, instance: Any) -> Any:
        return self._said("viable", np.ones(instance.candidates.count, dtype=bool), instance)

    def relaxations(self, whole: Any) -> Any:
        return self._said("relaxations", (), whole)

    def declare(self, block: Any, model: Any, instance: Any) -> None:
        self._said("declare", None, block, model, instance)

    def describe(self) -> dict[str, object]:
        return self._said("describe", {})  # type: ignore[no-any-return]


@pytest.mark.parametrize("suppressed_rows", ["strict", "exempt"])
@pytest.mark.parametrize(
    ("method", "answers", "must"),
    [
        ("attributes", [None, "s", (5,)], "be a tuple of names of sensitive attributes"),
        ("bind", [None, (), (5,)], r"return a tuple of requirements, such as \(self,\)"),
        ("describe", [None, [1], {5: 1}], "return a dictionary of its parameters"),
        ("holds", [None, "yes", 1], "return True or False"),
        ("smallest_group", [None, 2.5, "2", -1, True], "return an integer of at least 0"),
        ("viable", [None, True, np.ones(1, dtype=bool), np.ones(3)], "return a bool array with one entry for each"),
    ],
)
def test_a_requirement(method: str, answers: list[Any], must: str, suppressed_rows: Any) -> None:
    def solve(answer: Callable[..., Any]) -> km.Result:
        asked = [km.KAnonymity(2), Own({method: answer})]
        return km.solve(km.Problem(PROBLEM.table, asked, suppressed_rows=suppressed_rows))

    for value in answers:
        with pytest.raises(km.InputError, match=rf"^Own\.{method} must {must}.*, found ") as caught:
            solve(lambda *_, value=value: value)
        assert SECRET not in str(caught.value)
    with pytest.raises(
        km.InputError, match=rf"^Own\.{method} raised KeyError \(line \d+ of test_own_code\.py\); it must {must}"
    ) as caught:
        solve(boom)
    assert isinstance(caught.value.__cause__, KeyError)
    assert SECRET not in str(caught.value)
    assert solve(getattr(Default, method)).verified


class Default:
    """What each method says where it is not replaced."""

    attributes = staticmethod(lambda *_: ("s",))
    describe = staticmethod(lambda *_: {})
    holds = staticmethod(lambda *_: True)
    smallest_group = staticmethod(lambda *_: 1)
    viable = staticmethod(lambda instance: np.ones(instance.candidates.count, dtype=bool))
    bind = staticmethod(lambda *_: (Own(),))


def test_a_requirement_that_cannot_be_declared_or_known() -> None:
    for method, asked in (("declare", km.build_model), ("relaxations", lambda given: relaxations_of(prepare(given)))):
        problem = km.Problem(PROBLEM.table, [km.KAnonymity(2), Own({method: boom})])
        with pytest.raises(km.InputError, match=rf"^Own\.{method} raised KeyError"):
            asked(problem)


def test_the_verifier_asks_it_too() -> None:
    problem = km.Problem(PROBLEM.table, [km.KAnonymity(2), Own()])
    table = km.solve(problem).require_optimal().table
    problem.requirements[1].say["holds"] = boom  # type: ignore[attr-defined]
    with pytest.raises(km.InputError, match=r"^Own\.holds raised KeyError .*it must return True or False"):
        km.verify(problem, table)


class Solver(Here):
    """Returns what it is told."""

    name = "told"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        return self.answer(model) if callable(self.answer) else self.answer  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, r"^Solver\.run must return a RawResult, found None$"),
        ({"x": 1}, r"^Solver\.run must return a RawResult, found dict$"),
        (RawResult("optimal", None, None), r"^Solver\.run returned a RawResult whose reason is text of 7 characters"),  # type: ignore[arg-type]
        (RawResult(StopReason.OPTIMAL, [1.0], None), "whose x is list; an array of numbers or None is expected"),  # type: ignore[arg-type]
        (
            RawResult(StopReason.OPTIMAL, np.array(["a"]), None),
            r"a point \(1,\) of <U1; an array",
        ),
        (
            RawResult(StopReason.OPTIMAL, np.zeros((2, 3)), None),
            r"a point \(2, 3\) of float64; .*: \(19,\)",
        ),
        (RawResult(StopReason.OPTIMAL, np.zeros(19, dtype=complex), None), r"a point \(19,\) of complex128"),
        (RawResult(StopReason.OPTIMAL, None, "14"), "whose bound is text of 2 characters; a number or None"),  # type: ignore[arg-type]
        (boom, "^told failed: KeyError"),
    ],
)
def test_a_solver(answer: Any, said: str) -> None:
    with pytest.raises(km.SolverError, match=said):
        km.solve(PROBLEM, Solver(answer))


@pytest.fixture
def method() -> Callable[[Callable[[km.Session], Any]], km.Result]:
    def solve(run: Callable[[km.Session], Any]) -> km.Result:
        km.register_method(km.Method("told", "does what it is told", run))
        try:
            return km.solve(PROBLEM, method="told")
        finally:
            registry.METHODS.pop("told")

    return solve


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (math.nan, "a finite number is expected, found nan; None stands for no bound"),
        (math.inf, "a finite number is expected, found inf"),
        ("14", "a Fraction, an integer or None is expected, found text of 2 characters"),
        (True, "found true/false"),
        ([5], "found list"),
    ],
)
def test_a_bound_that_is_no_number(method: Any, bound: Any, said: str) -> None:
    with pytest.raises(km.InputError, match=rf'^the method "told": session\.finish: bound: .*{said}'):
        method(lambda session: session.finish(session.first, bound=bound))


@pytest.mark.parametrize("bound", [Fraction(1), 1, 1.0, np.int64(1), np.float64(1)])
def test_a_bound_that_is_one(method: Any, bound: Any) -> None:
    assert method(lambda session: session.finish(session.first, bound=bound)).exact_bound == 1


def ints(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


@pytest.mark.parametrize(
    ("assignment", "kind", "said"),
    [
        (lambda _: "nothing", km.InputError, "an Assignment over session.instance, or None, is expected"),
        (lambda _: km.Assignment(ints(0), ints(0, 0), ints(1), 0), km.InputError, "the same length, found 1, 2 and 1"),
        (lambda _: km.Assignment([0], ints(0), ints(1), 0), km.InputError, "row_type: an int64 array"),  # type: ignore[arg-type]
        (lambda _: km.Assignment(ints(0), ints(0), np.ones(1), 0), km.InputError, "rows: .*of float64"),  # type: ignore[arg-type]
        (lambda _: km.Assignment(ints(99), ints(0), ints(1), 0), km.InputError, "not in the instance"),
        (lambda _: km.Assignment(ints(0), ints(-1), ints(1), 0), km.InputError, "not in the instance"),
        (lambda _: km.Assignment(ints(0), ints(10**6), ints(1), 0), km.InputError, "not in the instance"),
        (lambda _: km.Assignment(ints(), ints(), ints(), 0), km.SolverError, "do not place each row of the table"),
        (
            lambda s: km.Assignment.from_pairs(s.instance, ints(1)),
            km.InputError,
            r"one a pair, is expected.*one \(1,\)",
        ),
        (lambda s: km.Assignment.from_pairs(s.instance, None), km.InputError, "one a pair, is expected, found None"),  # type: ignore[arg-type]
    ],
)
def test_an_assignment_that_is_none(method: Any, assignment: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        method(lambda session: session.finish(assignment(session)))


def test_a_partition_that_places_rows_twice_is_named(method: Any) -> None:
    def twice(session: km.Session) -> km.Result:
        types = session.prepared.before.types
        each = np.arange(types.count)
        two = np.concatenate([each, each])
        return session.finish_partition(Partition(np.zeros_like(two), two, np.tile(types.counts, 2)))

    with pytest.raises(km.SolverError, match=r'^the method "told": session\.finish_partition: .*exactly once$'):
        method(twice)


def test_the_cost_and_order_of_an_assignment_are_not_taken_on_trust(method: Any) -> None:
    def backwards(session: km.Session) -> km.Result:
        first = session.first
        assert first is not None
        turned = km.Assignment(first.row_type[::-1], first.candidate[::-1], first.rows[::-1], 0)
        return session.finish(turned)

    expected = km.solve(PROBLEM, method="greedy")
    found = method(backwards)
    assert found.verified
    assert found.exact_objective == expected.exact_objective
    assert found.table.equals(expected.table)


def test_a_method_that_refuses_by_nonsense() -> None:
    for refuses, said in ((boom, "raised KeyError"), (lambda _: None, "must return why .*, found None")):
        km.register_method(km.Method("told", "", print, refuses))  # type: ignore[arg-type]
        try:
            with pytest.raises(km.InputError, match=f'^the method "told": refuses {said}'):
                km.solve(PROBLEM, method="told")
        finally:
            registry.METHODS.pop("told")


def test_a_method_that_raises(method: Any) -> None:
    with pytest.raises(
        km.InputError, match=r'^the method "told" raised KeyError \(line \d+ of test_own_code.py\)'
    ) as caught:
        method(boom)
    assert isinstance(caught.value.__cause__, KeyError)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("accepts", "compute", "said"),
    [
        (boom, None, r'^the bound "told": Told\.accepts raised KeyError .*; it must return True or False$'),
        (lambda *_: "yes", None, r'^the bound "told": Told\.accepts must return True or False, found text'),
        (lambda *_: True, boom, r'^the bound "told": Told\.compute raised KeyError .*; it must return a ProvenBound'),
        (lambda *_: True, lambda *_: None, r"Told\.compute must return a ProvenBound.*, found None$"),
        (lambda *_: True, lambda *_: 5, r"Told\.compute must return a ProvenBound.*, found int$"),
        (lambda *_: True, lambda *_: ProvenBound(math.nan), "found float as its units$"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("by", ["milp", "search"])
def test_a_bound(accepts: Any, compute: Any, said: str, by: str) -> None:
    class Told:
        name = "told"

        def accepts(self, instance: Any) -> Any:
            return accepts(instance)

        def compute(self, instance: Any, task: Any) -> Any:
            return compute(instance, task)

    register_bound(Told())
    try:
        with pytest.raises(km.InputError, match=said):
            km.solve(
                km.Problem(PROBLEM.table, km.KAnonymity(2)),
                method=by,
                iteration_limit=1 if by == "search" else None,
            )
    finally:
        unregister_bound("told")


@dataclass(frozen=True)
class Small(Own):
    """What this one declares needs the sizes of groups, and it says that it does not."""

    needs_group_size = False

    def declare(self, block: Any, model: Any, instance: Any) -> None:
        block.few = pyo.Constraint(model.CANDIDATES, rule=lambda _, g: model.rows[g] <= 9 * model.open[g])


def test_sizes_that_were_not_asked_for_are_named() -> None:
    problem = km.Problem(PROBLEM.table, [km.KAnonymity(2), Small()])
    with pytest.raises(km.InputError, match=r"^Small\.declare uses model\.rows, .* leave needs_group_size = False out"):
        km.build_model(problem)


@dataclass(frozen=True)
class Few(Own):
    """At most three rows, with a coefficient from the bounds of a variable."""

    def holds(self, group: Any) -> Any:
        return bool(group.size <= 3)

    def declare(self, block: Any, model: Any, instance: Any) -> None:
        block.few = pyo.Constraint(
            model.CANDIDATES, rule=lambda _, g: model.rows[g] <= min(3, model.rows[g].ub) * model.open[g]
        )


def test_sizes_are_variables_whose_bounds_may_be_read() -> None:
    """Beside a requirement of the package, which has sums in their place where it is alone."""
    frame = pl.DataFrame({"q": list("aabbab"), "s": list("xyxyxy")})
    problem = km.Problem(km.Table.from_frame(frame, ["q"], ["s"]), [km.LDiversity(2), Few()])
    assert km.solve(problem).require_optimal().objective == 2


def test_a_requirement_without_a_name() -> None:
    class Nameless(Own):
        name = None  # type: ignore[assignment]

    with pytest.raises(km.InputError, match=r'^Nameless must have a name .*: write name = "..." in'):
        km.Problem(PROBLEM.table, Nameless())


@pytest.mark.parametrize("named", ["nobody", "a"])
def test_a_requirement_about_a_column_that_is_not_sensitive(named: str) -> None:
    own = Own({"attributes": lambda: (named,)})
    with pytest.raises(km.InputError, match=f'attributes names "{named}", which is not a sensitive .*; it has s'):
        km.Problem(PROBLEM.table, own)
    bare = km.Table.from_frame(FRAME, ["a", "b"])
    with pytest.raises(km.InputError, match="which is not a sensitive attribute"):
        km.Problem(bare, Own())


def test_parameters_of_numpy_are_plain_numbers() -> None:
    given = {"k": np.int64(3), "share": np.float64(0.5), "third": Fraction(1, 3), "all": (np.int32(1), [True])}
    result = km.solve(km.Problem(PROBLEM.table, [km.KAnonymity(2), Own({"describe": lambda: given})]))
    (described,) = [each for each in result.as_dict()["problem"]["requirements"] if each["name"] == "own"]
    plain = {"name": "own", "k": 3, "share": 0.5, "third": "1/3", "all": [1, [True]]}
    assert json.loads(json.dumps(described)) == plain
    for bad in ({1, 2}, object(), math.inf, {1: 2}):
        with pytest.raises(km.InputError, match=r'^Own\.describe must return a dictionary .*, found .* as "x"'):
            km.Problem(PROBLEM.table, Own({"describe": lambda bad=bad: {"x": bad}}))


class Claims:
    """A bound of one unit, made without arguments."""

    name = "claims"

    def accepts(self, instance: Any) -> bool:
        return True

    def compute(self, instance: Any, task: Any) -> ProvenBound:
        return ProvenBound(np.int64(1))  # type: ignore[arg-type]


def test_a_class_is_registered_as_an_object_of_it() -> None:
    register_bound(Claims)
    try:
        assert best_registered(prepare(PROBLEM), BoundTask()).units == 1
    finally:
        unregister_bound("claims")

    class Needy(Claims):
        def __init__(self, needed: int) -> None:
            self.needed = needed

    with pytest.raises(km.InputError, match="register_bound: no object of the class can be made without arguments"):
        register_bound(Needy)


@pytest.mark.parametrize("off", [-2e-6, -1e-7, 1e-7, 2e-6])
def test_a_point_that_is_a_little_off_is_taken(off: float) -> None:
    class Off(Solver):
        def run(self, model: LinearModel, call: SolverCall) -> RawResult:
            found = get("highs").solve(model, call.options)
            assert found.x is not None
            return RawResult(StopReason.OPTIMAL, found.x + off, found.bound)

    expected = km.solve(PROBLEM).require_optimal()
    free = km.Problem(PROBLEM.table, km.KAnonymity(1))
    for problem, loss in ((PROBLEM, expected.exact_objective), (free, 0)):
        assert km.solve(problem, Off(None)).require_optimal().exact_objective == loss


def test_a_variable_that_is_fixed_to_nothing() -> None:
    model = km.build_model(PROBLEM)
    model.open.fix()
    with pytest.raises(km.InputError, match=r"open\[0\] is fixed but has no value; write open\[0\]\.fix\(0\)"):
        km.solve_model(PROBLEM, model)


@dataclass(frozen=True)
class Liar(Own):
    """Nothing is asked for, and what it says of itself is not so."""

    name: ClassVar[str] = "liar"
    merge_closed: ClassVar[bool] = True
    flags: tuple[str, ...] = ()


def too_strong(instance: Any) -> pyo.ConcreteModel:
    model = FORMULATIONS["strong"].declare(instance)
    three_suppressed(model, model, instance)
    return model


def three_suppressed(block: Any, model: pyo.ConcreteModel, _: Any) -> None:
    top = max(model.CANDIDATES, key=lambda g: int(model.w[g]))
    block.lie = pyo.Constraint(expr=sum(model.assign[i, top] for i in model.cover[top]) >= 3)


class Far(EqualDistance):
    """A distance of a user's own."""


class Path(km.Hierarchy):
    """A hierarchy of a user's own."""


class Masked(km.PatternMask):
    """A recoding of a user's own."""


def _distant() -> km.Problem:
    return km.Problem(PROBLEM.table, [km.KAnonymity(2), km.TCloseness("9/10", distance=Far())])


LIES: dict[str, tuple[Callable[[], km.Problem], str]] = {
    "smallest group": (
        lambda: km.Problem(PROBLEM.table, [km.KAnonymity(2), Liar({"smallest_group": lambda _: 5})]),
        "requirement liar",
    ),
    "viable": (
        lambda: km.Problem(
            PROBLEM.table,
            [
                km.KAnonymity(2),
                Liar({"viable": lambda instance: instance.candidates.support == instance.types.n}),
            ],
        ),
        "requirement liar",
    ),
    "constraints": (
        lambda: km.Problem(PROBLEM.table, [km.KAnonymity(2), Liar({"declare": three_suppressed})]),
        "requirement liar",
    ),
    "distance": (_distant, "distance Far"),
    "hierarchy": (
        lambda: km.Problem(
            PROBLEM.table, km.KAnonymity(2), km.Hierarchies({"a": Path({x: (x, "*") for x in ("1", "2", SECRET)})})
        ),
        "hierarchy a",
    ),
    "recoding": (
        lambda: km.Problem(PROBLEM.table, km.KAnonymity(2), Masked([["keep", "*"], ["*", "*"]])),
        "recoding Masked",
    ),
}


@pytest.mark.parametrize("way", ["milp", "search", "auto"])
@pytest.mark.parametrize("lie", LIES)
def test_code_that_a_proof_takes_on_trust_is_named(lie: str, way: str) -> None:
    """It may be a lie, and no second solver sees it: three of these lose the optimum."""
    stated, named = LIES[lie]
    problem = stated()
    result = km.solve(problem, method=way, time_limit=30)
    if result.proof == "none":
        assert (way, result.backed_by) == ("search", ())
        return
    assert named in result.backed_by
    assert len(set(result.backed_by)) == len(result.backed_by)
    assert named in result.as_dict()["proof_backed_by"]
    assert named in result.summary()
    assert SECRET not in result.summary()
    page = proof_sentence(described(result))
    assert page.endswith(f"code that is not part of this package, and is no better than that code: {named}.")
    # a certificate needs none of it
    assert result.certify().bound <= present(result.objective)
    model = km.build_model(problem)
    assert named in km.solve_model(problem, model).backed_by


def test_a_formulation_that_is_too_strong_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setitem(FORMULATIONS, "mine", Formulation("mine", too_strong, reduced=True))
    monkeypatch.setitem(FORMULATIONS, "textbook", Formulation("textbook", too_strong, reduced=False))
    best = km.solve(PROBLEM).require_optimal()
    assert best.backed_by == ("solver", "second look")
    for name in ("mine", "textbook"):
        result = km.solve(PROBLEM, formulation=name, method="milp")
        assert (result.proof, result.backed_by) == ("optimal", ("solver", "second look", f"formulation {name}"))
        assert present(result.objective) > present(best.objective)
        assert f"and formulation {name}" in result.summary()
        assert result.is_optimal


def test_a_lie_that_leaves_no_solution_is_named() -> None:
    problem = km.Problem(PROBLEM.table, [km.KAnonymity(2), Liar({"smallest_group": lambda _: 9})])
    result = km.solve(problem)
    assert result.proof in ("infeasible", "none")
    assert result.proof == "none" or "requirement liar" in result.backed_by


def _highs(answer: Callable[[RawResult], RawResult]) -> Solver:
    return Solver(lambda model: answer(get("highs").run(model, _call())))


def _call() -> SolverCall:
    recorder = Recorder(None)
    return SolverCall(SolverOptions(), recorder, Watch(recorder, None))


def test_a_solver_that_nobody_has_confirmed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    confirmed = km.solve(PROBLEM, _highs(lambda raw: raw), method="milp")
    assert confirmed.backed_by == ("solver", "second look")
    monkeypatch.setattr("kanon_milp.solvers.checked.SMALL", 0)
    alone = km.solve(PROBLEM, _highs(lambda raw: raw), method="milp")
    assert alone.backed_by == ("solver",)
    assert proof_sentence(described(alone)).endswith("This is backed by the solver told.")
    assert km.solve(PROBLEM, "highs", method="milp").backed_by == ("solver",)


@pytest.mark.parametrize("reason", [StopReason.OPTIMAL, StopReason.GAP_LIMIT])
def test_a_solver_that_claims_a_solution_and_has_none(reason: StopReason) -> None:
    for bound in (None, 3.0):
        with pytest.raises(km.SolverError, match=f"^told says {reason.value.replace('_', ' ')} and returned no point$"):
            km.solve(PROBLEM, Solver(RawResult(reason, None, bound)), method="milp")


@pytest.mark.parametrize(
    ("answer", "reason", "said"),
    [
        (lambda raw: replace(raw, bound=None), "gap_limit", "told says optimal and names no bound"),
        (lambda _: RawResult(StopReason.ERROR, None, None), "error", "told ended with an error and says nothing"),
        (
            lambda _: RawResult(StopReason.UNBOUNDED, None, None),
            "error",
            "told reports an unbounded model",
        ),
    ],
)
def test_what_a_solver_does_not_say_is_said(answer: Any, reason: str, said: str) -> None:
    result = km.solve(PROBLEM, _highs(answer), method="milp")
    assert result.verified
    assert (result.stop_reason, result.proof) == (reason, "none")
    assert said in result.message
    assert "nothing proven" in result.summary()


def _nothing(known: km.Known) -> None:
    """Do nothing."""


class Mine(km.Phase):
    """A phase that does what it is told to, once."""

    name = "mine"
    does: ClassVar[dict[str, Callable[[km.Known], Any]]] = {}
    done = False

    def applies(self, known: km.Known) -> bool:
        self.does.get("applies", _nothing)(known)
        return not self.done

    def estimate(self, known: km.Known) -> km.Estimate:
        self.does.get("estimate", _nothing)(known)
        return km.Estimate(1e-6, 1.0)

    def run(self, known: km.Known, limit: Any) -> None:
        self.done = True
        self.does.get("run", _nothing)(known)


def writes(known: km.Known) -> None:
    known.instance.candidates.cost[:] += 1


def keeps_half(known: km.Known) -> None:
    found = suppress_all(known.instance)
    assert found is not None
    known.keep(replace(found, rows=found.rows[:-1], candidate=found.candidate[:-1], row_type=found.row_type[:-1]))


def keeps_single_rows(known: km.Known) -> None:
    candidates, types = known.instance.candidates, known.instance.types
    at = np.array(
        [
            min(
                np.flatnonzero(candidates.members == i),
                key=lambda p: candidates.cost[candidates.candidate_of_pair()[p]],
            )
            for i in range(types.count)
        ]
    )
    rows = np.zeros(candidates.pairs, np.int64)
    rows[at] = types.counts
    known.keep(Assignment.from_pairs(known.instance, rows))


@pytest.mark.parametrize("bound", [math.nan, "9"])
def test_a_bound_of_a_method_that_is_no_number_is_an_error_that_names_it(bound: Any) -> None:
    def run(session: km.Session) -> km.Result:
        return replace(session.finish(suppress_all(session.instance)), exact_bound=bound)

    km.register_method(km.Method("odd", "says what is no bound", run), replace=True)
    try:
        with pytest.raises(km.InputError, match=r'the method "odd": exact_bound'):
            km.solve(PROBLEM, method="odd")
    finally:
        registry.METHODS.pop("odd")


def test_a_bound_is_not_below_a_loss_of_nothing() -> None:
    """The tolerance of floating point is more than the smallest of these weights."""
    frame = pl.DataFrame({name: ["0"] * 8 for name in "abc"})
    recoding = km.Suppression({"a": 10**6, "b": "1/1000", "c": 10**6})
    problem = km.Problem(km.Table.from_frame(frame, list("abc")), km.KAnonymity(8), recoding)
    result = km.solve(problem, method="milp", formulation="textbook")
    assert (result.require_optimal().objective, result.bound) == (0, 0)


@pytest.mark.parametrize("problem", [PROBLEM, replace(PROBLEM, privacy=[km.KAnonymity(2), km.LDiversity("1.5")])])
def test_a_table_of_a_phase_with_groups_that_are_too_small_is_not_kept(
    problem: km.Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mine, "does", {"run": keeps_single_rows})
    monkeypatch.setitem(phases.REGISTERED, "mine", Mine)
    result = km.solve(problem, method="search", time_limit=20)
    assert result.require_optimal().objective == km.solve(problem, method="milp").objective


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ({"applies": writes}, 'the phase "mine" wrote into the arrays of the instance'),
        ({"estimate": writes}, 'the phase "mine" wrote into the arrays of the instance'),
        ({"run": writes}, 'the phase "mine" wrote into the arrays of the instance'),
        ({"applies": boom}, 'the phase "mine" raised KeyError'),
        ({"run": keeps_half}, 'the phase "mine": known.keep: '),
        ({"run": lambda known: known.keep("table")}, 'the phase "mine": known.keep: table: an Assignment'),
        ({"estimate": lambda _: km.Estimate(math.nan, 1.0)}, "Estimate: seconds: a number of at least 0 is expected"),
    ],
)
def test_what_a_phase_does_wrong_is_an_error_that_names_it(
    does: dict[str, Callable[[km.Known], Any]], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mine, "does", does)
    monkeypatch.setitem(phases.REGISTERED, "mine", Mine)
    with pytest.raises(km.InputError, match=re.escape(said)) as error:
        km.solve(PROBLEM, method="search", time_limit=20)
    assert SECRET not in str(error.value)


def test_parameters_that_are_of_no_use_are_told_of() -> None:
    with pytest.raises(km.InputError, match=r"a parameter of a phase is for the method milp or search or .*greedy has"):
        km.solve(PROBLEM, method="greedy", parameters={"cuts.share": 0.3})
    result = km.solve(PROBLEM, method="search", parameters={"simplex_matching.rounds": 3, "core.share": 0.9})
    assert "no phase that ran uses simplex_matching.rounds" in result.message


def test_a_requirement_without_a_mapping_of_parameters_is_refused() -> None:
    class Odd(Own):
        name: ClassVar[str] = "odd"
        parameters: ClassVar[Any] = None

    with pytest.raises(km.InputError, match="parameters: a mapping"):
        add(Odd)
