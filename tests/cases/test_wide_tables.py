"""Tables with far more level vectors than there is time or room for: no worse than greedy, limits kept, or refused."""

from __future__ import annotations

import itertools
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest
from census import census
from command_line import run
from effort import examples
from oracle import optimum
from present import present
from strategies import drawn_case

import kanon_milp as km
from kanon_milp.bounds.built_in import cheapest_loss, cheapest_without_candidates
from kanon_milp.heuristics.greedy import greedy_partition
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.mondrian import mondrian_partition
from kanon_milp.methods.registry import refusal
from kanon_milp.methods.session import GreedyTableParams, quick_partition
from kanon_milp.presolve import preparation
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.partition import released_partition
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.reductions import Viability
from kanon_milp.studies import output
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import NO_LIMIT, Limit


def people(rows: int) -> km.Problem:
    """Made-up people with hierarchies of seven columns: 4,608 level vectors."""
    draw = random.Random(7)
    cells = []
    for _ in range(rows):
        age = min(90, max(17, int(draw.gauss(40, 14))))
        place = draw.choice(["13", "14", "90", "91"]) + f"{int(draw.paretovariate(1.2)) % 1000:03d}"
        job, country = f"j{draw.randrange(12):02d}", draw.choice(["home"] * 40 + [f"c{j}" for j in range(30)])
        cells.append((draw.choice("mf"), age, place, f"e{draw.randrange(14):02d}", country, job, draw.choice("abcd")))
    names = ["sex", "age", "zip", "edu", "country", "job", "marital"]
    frame = pl.DataFrame([[str(cell) for cell in row] for row in cells], schema=names, orient="row")
    table = km.Table.from_frame(frame, names)
    hierarchies = {
        "age": km.Hierarchy.intervals(frame["age"], [5, 10, 20, 40]),
        **{name: km.Hierarchy.prefixes(frame[name], lengths) for name, lengths in PREFIXES.items()},
    }
    return km.Problem(table, km.KAnonymity(5), km.Hierarchies(hierarchies))


PREFIXES = {"zip": [4, 3, 2, 1], "edu": [2, 1], "job": [2, 1]}


@pytest.mark.full
def test_it_is_no_worse_than_greedy_and_goes_on_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "FEW_VECTORS", 1 << 20)  # closed candidates would be few enough
    problem = people(1_500)
    greedy = km.solve(problem, method="greedy")
    found = km.solve(problem, time_limit=4)
    assert found.verified
    assert found.exact_objective is not None
    assert greedy.exact_objective is not None
    assert found.exact_objective <= greedy.exact_objective
    assert found.exact_bound is not None
    assert 0 < found.exact_bound <= found.exact_objective
    assert found.proof == "bound"
    assert found.stop_reason == "time_limit"
    assert found.seconds["total"] > 2  # of 4; with no time for another round it ends a little earlier
    assert found.message.startswith("Not enough time to examine all 4,608 patterns; this table uses ")
    assert found.message.endswith(" of them. Try a longer --time-limit.")


@pytest.mark.full
def test_closed_candidates_of_some_thousand_level_vectors_are_quickly_had() -> None:
    found = km.solve(people(1_500), time_limit=10)
    assert found.verified
    assert "patterns" not in found.message
    assert present(found.gap) < 0.2


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_that_of_all_candidates(seed: int) -> None:
    """And where it is cut short, a lower one."""
    draw = random.Random(seed)
    names, rows = ["a", "b", "c"], draw.randrange(4, 30)
    frame = pl.DataFrame({name: [draw.choice("xyz") for _ in range(rows)] for name in names})
    table = km.Table.from_frame(frame, names)
    patterns = [each for each in product(("keep", "*"), repeat=3) if draw.random() < 0.7 or set(each) == {"*"}]
    recoding = km.PatternMask(patterns, {"a": 2}) if draw.random() < 0.5 else km.Suppression({"a": 2})
    reading: Literal["strict", "exempt"] = draw.choice(["strict", "exempt"])
    problem = km.Problem(table, km.KAnonymity(draw.randrange(2, 5)), recoding, suppressed_rows=reading)
    instance = prepare(problem)
    expected = cheapest_loss(instance.subset(Viability().keep(instance)))
    assert cheapest_without_candidates(instance, instance.levels, NO_LIMIT) == expected
    assert cheapest_without_candidates(instance, instance.levels, Limit(0.0)) <= expected


@pytest.fixture
def no_time_for_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "vectors_in_time", lambda *_: 0)
    monkeypatch.setattr(preparation, "FEW_VECTORS", 1 << 20)


@pytest.mark.usefixtures("no_time_for_candidates")
@pytest.mark.parametrize("seed", range(examples(20, 5)))
def test_a_table_of_some_level_vectors_is_no_worse_than_those_without_candidates(seed: int) -> None:
    """And its bound is one of all tables: brute force."""
    draw = random.Random(f"some-{seed}")
    case = replace(drawn_case(draw, (4, 8), sides=False), sides={})
    best = optimum(case.rows, case.k, **case.judged())
    found = km.solve(case.problem(), time_limit=1.5)
    if best is None:
        assert found.table is None
        return
    others = [km.solve(case.problem(), method=name) for name in BASELINES if not refusal(name, case.problem())]
    if found.exact_objective is None:
        assert all(other.exact_objective is None for other in others)
        return
    assert found.verified
    assert best <= found.exact_objective
    assert found.exact_bound is None or found.exact_bound <= best
    assert all(other.exact_objective is None or found.exact_objective <= other.exact_objective for other in others)
    assert found.is_optimal == (found.exact_bound == found.exact_objective)


BASELINES = ("greedy", "mondrian", "full_domain")


@pytest.mark.usefixtures("no_time_for_candidates")
def test_where_greedy_has_no_time_mondrian_has_the_first_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kanon_milp.heuristics.greedy.greedy_partition", lambda *_: None)
    problem = people(300)
    mondrian = km.solve(problem, method="mondrian")
    found = km.solve(problem, time_limit=3)
    assert found.exact_objective is not None
    assert mondrian.exact_objective is not None
    assert found.exact_objective <= mondrian.exact_objective


@pytest.mark.full
def test_where_greedy_over_candidates_is_cut_short_it_goes_over_level_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(_: Instance, limit: Limit) -> None:
        while not limit.over:
            time.sleep(0.05)

    monkeypatch.setattr("kanon_milp.methods.session.greedy", slow)
    problem = people(300)
    greedy = km.solve(problem, method="greedy")
    found = km.solve(problem, method="search", time_limit=10)
    assert greedy.objective is not None
    assert found.trajectory[0][1] is not None
    assert found.trajectory[0][1] <= greedy.objective + 1e-9


@dataclass(frozen=True)
class Looks(Limit):
    """A limit that is over after so many looks at it."""

    looks: Iterator[int] = field(default_factory=lambda: iter(()))

    @property
    def over(self) -> bool:
        return next(self.looks, None) is None


def valued() -> km.Problem:
    table = km.Table.from_frame(census(200), ["age", "education", "race"], "disease")
    return km.Problem(table, [km.KAnonymity(2), km.LDiversity(3)])


@pytest.mark.parametrize("looks", [1, 10, 40, 80, 1000])
def test_a_table_before_candidates_is_no_worse_than_greedy_and_mondrian_cut_short_alike(looks: int) -> None:
    """Its groups are judged by the requirements, as the verifier is not asked here."""
    instance = presolve(valued(), Clock(), enumerated=False).before
    quick = quick_partition(instance, Looks(looks=iter(range(looks))), NO_LIMIT, GreedyTableParams())
    greedy = greedy_partition(instance, Looks(looks=iter(range(looks))))
    mondrian = mondrian_partition(instance, Looks(looks=iter(range(looks))))
    released = [present(released_partition(instance, present(each))) for each in (quick, greedy, mondrian)]
    assert released[0][1].cost <= min(each.cost for _, each in released)
    assert not len(GroupCheck(released[0][0]).refused(released[0][1]))


@pytest.mark.parametrize("method", ["auto", "search"])
def test_greedy_runs_once_and_before_candidates_where_it_is_slow(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise AssertionError("greedy runs a second time")

    greedy = km.solve(valued(), method="greedy")
    monkeypatch.setattr("kanon_milp.methods.session.greedy", none)
    found = km.solve(valued(), method=method, time_limit=0.3)
    assert present(found.exact_objective) <= present(greedy.exact_objective)


NAMES = [f"q{j}" for j in range(20)]
LATE = 10.0  # seconds; it took 200 of 20, whoever else uses the machine


@pytest.fixture
def data(tmp_path: Path) -> Path:
    draw = random.Random(0)
    lines = [",".join(NAMES), *(",".join(str(draw.randrange(3)) for _ in NAMES) for _ in range(10))]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_limit_holds(data: Path) -> None:
    began = time.perf_counter()
    asked = ("--data", data, "--qi", ",".join(NAMES), "--k", 5, "--method", "full_domain", "--time-limit", 1)
    done = run("solve", *asked, "--json")
    took = time.perf_counter() - began
    assert done.returncode == 4
    found = json.loads(done.stdout)
    assert found["verified"] is True
    assert found["stop_reason"] == "time_limit"
    assert "of 1,048,576 level vectors" in found["message"]
    assert took < 1 + LATE
    assert took == pytest.approx(found["seconds"]["total"], abs=LATE / 2)  # Python starts slowly beside other tests


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_it_hears_a_signal(data: Path) -> None:
    command = [sys.executable, "-m", "kanon_milp", "solve", "--data", str(data), "--qi", ",".join(NAMES), "--k", "5"]
    child = subprocess.Popen([*command, "--method", "full_domain"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(3)
    child.send_signal(signal.SIGTERM)
    out, errors = child.communicate(timeout=LATE)
    assert child.returncode in (4, 5)
    assert b"interrupted" in errors
    assert child.returncode == 5 or b"verified table" in out


COLUMNS = [f"c{j}" for j in range(6)]


@pytest.fixture
def asked(tmp_path: Path) -> list[object]:
    lines = [",".join(COLUMNS), *(",".join(f"{i}_{j}" for j in range(6)) for i in range(300))]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    return ["solve", "--data", tmp_path / "wide.csv", "--qi", ",".join(COLUMNS), "--k", 2, "--time-limit", 3]


def slow(seconds: float, called: list[float]) -> Callable[..., None]:
    def measure(*_: object) -> None:
        called.append(time.perf_counter())
        while time.perf_counter() < called[0] + seconds:
            time.sleep(0.001)

    return measure


def test_nobody_waits_for_measures_that_nobody_asked_for(monkeypatch: pytest.MonkeyPatch, asked: list[object]) -> None:
    called: list[float] = []
    monkeypatch.setattr(output, "describe_release", slow(0, called))
    assert run(*asked).returncode in (0, 4)
    assert not called
    assert run(*asked, "--json").returncode in (0, 4)
    assert len(called) == 1


@pytest.mark.full
def test_measures_end_with_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: list[object]) -> None:
    called: list[float] = []
    monkeypatch.setattr(output, "describe_release", slow(60, called))
    done = run(*asked, "--out", tmp_path / "out", "--report", tmp_path / "page.html")
    assert time.perf_counter() < called[0] + 30
    assert done.returncode in (0, 4)
    written = json.loads((tmp_path / "out" / "result.json").read_text())
    assert written["measures"] is None
    assert "no time to measure" in written["message"]
    assert (tmp_path / "page.html").is_file()


ROWS, K = 10, 5


def drawn(columns: int, seed: int) -> list[tuple[str, ...]]:
    draw = random.Random(seed)
    return [tuple(str(draw.randrange(3)) for _ in range(columns)) for _ in range(ROWS)]


def least_loss(
    rows: Sequence[tuple[str, ...]], paths: Mapping[str | None, Sequence[str | None]] | None = None
) -> Fraction:
    """By trying all partitions: with k = 5 of ten rows one group, or two of five."""
    plain: Mapping[str | None, Sequence[str | None]] = {value: (value, "*") for row in rows for value in row}
    tree = paths or plain
    height = len(next(iter(tree.values()))) - 1

    def loss(group: Sequence[int]) -> Fraction:
        lost = 0
        for column in zip(*(rows[i] for i in group), strict=True):
            lost += next(level for level in range(height + 1) if len({tree[value][level] for value in column}) == 1)
        return Fraction(lost * len(group), height)

    everything = range(ROWS)
    halves = (set(half) for half in itertools.combinations(everything, K))
    divided = min(loss(sorted(half)) + loss([i for i in everything if i not in half]) for half in halves)
    return min(divided, loss(everything))


def problem_of(rows: Sequence[tuple[str, ...]], recoding: km.Recoding) -> km.Problem:
    names = [f"q{j}" for j in range(len(rows[0]))]
    return km.Problem(km.Table.from_frame(pl.DataFrame(rows, names, orient="row"), names), km.KAnonymity(K), recoding)


@pytest.mark.parametrize("columns", [18, 21, 30, 60])
@pytest.mark.parametrize("method", ["subset_dp", "milp", "auto"])
def test_the_optimum_is_proven(columns: int, method: str) -> None:
    rows = drawn(columns, columns)
    result = km.solve(problem_of(rows, km.Suppression()), method=method, time_limit=60).require_optimal()
    assert result.exact_objective == least_loss(rows)


@pytest.mark.parametrize("seed", range(3))
def test_so_it_is_with_hierarchies(seed: int) -> None:
    rows = drawn(24, seed)
    paths: dict[str | None, tuple[str | None, ...]] = {
        "0": ("0", "low", "any", "*"),
        "1": ("1", "low", "any", "*"),
        "2": ("2", "2", "any", "*"),
    }
    trees = km.Hierarchies({f"q{j}": km.Hierarchy(paths) for j in range(24)})
    result = km.solve(problem_of(rows, trees), method="milp", time_limit=60).require_optimal()
    assert result.exact_objective == least_loss(rows, paths)


@pytest.mark.parametrize("columns", [30, 60])
@pytest.mark.parametrize("method", ["mondrian", "mondrian_relaxed", "m_approximation"])
def test_methods_that_enumerate_nothing_take_any_number_of_columns(columns: int, method: str) -> None:
    rows = drawn(columns, 7)
    result = km.solve(problem_of(rows, km.Suppression()), method=method)
    assert result.report is not None
    assert result.report.ok
    assert result.exact_objective is not None
    optimum = least_loss(rows)
    assert optimum <= result.exact_objective <= ROWS * columns
    assert result.exact_bound is None or result.exact_bound <= optimum


def test_what_no_closure_answers_is_refused(tmp_path: Path) -> None:
    path, names = tmp_path / "data.csv", [f"q{j}" for j in range(30)]
    path.write_text("\n".join([",".join(names), *map(",".join, drawn(30, 1))]) + "\n")
    asked = ("solve", "--data", path, "--qi", ",".join(names), "--k", K)
    done = run(*asked, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["proof"] == "optimal"
    assert run(*asked, "--min-groups", 2).returncode == 0  # which the best table has anyway
    for more in (("--min-groups", 2, "--method", "milp"), ("--method", "full_domain"), ("--formulation", "textbook")):
        done = run(*asked, *more)
        assert done.returncode == 2
        assert "more than 1,048,576 level vectors are possible" in done.stderr


def test_the_certificate_of_a_wide_table_is_checked(tmp_path: Path) -> None:
    path, names = tmp_path / "data.csv", [f"q{j}" for j in range(30)]
    path.write_text("\n".join([",".join(names), *map(",".join, drawn(30, 1))]) + "\n")
    asked = ("--data", path, "--qi", ",".join(names), "--k", K, "--out", tmp_path / "out")
    proof = tmp_path / "proof.json"
    done = run("solve", *asked, "--certificate", proof)
    assert done.returncode == 0
    checked = ("verify", tmp_path / "out" / "anonymized.csv", "--original", path, "--qi", ",".join(names), "--k", K)
    done = run(*checked, "--certificate", proof)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "certificate: valid" in done.stdout
    stated = json.loads(proof.read_text())
    proof.write_text(json.dumps(stated | {"bound": str(Fraction(stated["bound"]) + 1)}))
    assert run(*checked, "--certificate", proof).returncode == 6


@pytest.mark.parametrize("suppressed_rows", ["strict", "exempt"])
@pytest.mark.parametrize("method", ["auto", "search", "mondrian"])
def test_a_table_to_start_with_is_taken(method: str, suppressed_rows: Any) -> None:
    problem = replace(problem_of(drawn(30, 5), km.Suppression()), suppressed_rows=suppressed_rows)
    best = km.solve(problem, method="milp").require_optimal()
    assert best.groups is not None
    again = km.solve(problem, method=method, start=best.groups)
    assert again.exact_objective == best.exact_objective
