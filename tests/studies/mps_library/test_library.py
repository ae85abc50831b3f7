"""The instance library: what is built is the same each time, and the checker finds what is wrong with it."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command_line import run

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from library_records import documented, measured, recorded

import kanon_milp as km
from kanon_milp import JournalistRisk, MarketerRisk, ProsecutorRisk
from kanon_milp.problem.privacy.registry import REQUIREMENTS
from kanon_milp.studies.bench.plan import plan
from kanon_milp.studies.bench.running import Folder
from kanon_milp.studies.bench.study import read_study
from kanon_milp.studies.families import COLUMN_FAMILIES, FAMILIES
from kanon_milp.studies.mps_library import build as building
from kanon_milp.studies.mps_library.build import build_library, model_text, sha256
from kanon_milp.studies.mps_library.check import check_library
from kanon_milp.studies.mps_library.exact_mps import ExactModel, read_mps, read_solution_lines
from kanon_milp.studies.mps_library.hardness import said
from kanon_milp.studies.mps_library.instances import LIST, chosen, is_name, library_instance, read_list
from kanon_milp.studies.mps_library.metadata import (
    Metadata,
    Record,
    Run,
    features,
    features_of_file,
    read_json,
    read_record,
)
from kanon_milp.studies.mps_library.submission import family_of, representatives, submissions

# one of each kind, the smallest: planted, infeasible, census, quasi-identifiers, full-domain, transport
FEW = ("bisect-6", "hclique-4-no", "qisets", "mincov-10", "fulldom-n30", "tclose-2-5")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library") / "lib"
    made = build_library(folder, only=FEW)
    assert not made.missing
    assert made.notes == []
    return folder


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "lib"))


def test_the_list_has_all_problems_and_families() -> None:
    entries = read_list()
    assert len(entries) >= 100
    assert {entry.family for entry in entries if entry.family} == {*FAMILIES, *COLUMN_FAMILIES}
    stated = [key for entry in entries if entry.privacy for key in entry.privacy]
    stated += [each["kind"] for entry in entries for each in (entry.privacy or {}).get("requirements", [])]
    for letter, kind in REQUIREMENTS.items():
        # a risk is k, or a number of groups, in other words; the journalist's needs a file of a population
        assert letter in stated or kind.name in stated or kind in (ProsecutorRisk, MarketerRisk, JournalistRisk)
    assert {entry.kind for entry in entries} == {"release", "full_domain", "minimum_qid"}
    assert {entry.answer for entry in entries} == {"yes", "no", "imperfect"}
    assert all(is_name(entry.name) for entry in entries)
    series = [entry.series for entry in entries if entry.series]
    assert max(map(series.count, series)) >= 5
    assert any(entry.dataset == "adult" for entry in entries)


def test_every_instance_is_recorded() -> None:
    for entry in read_list():
        record = read_record(entry.name)
        assert record is not None, entry.name
        assert record.presolved is not None
        assert record.presolved[0] > 0  # no trivial ones
        if entry.family is not None:  # known by construction
            assert record.status == ("inf" if entry.answer == "no" else "opt")


@pytest.mark.full
def test_a_second_build_has_the_same_bytes(built: Path, tmp_path: Path) -> None:
    build_library(tmp_path, only=FEW)
    files = [path for path in sorted(built.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    assert len(files) >= 4 + 3 * len(FEW) - 1
    for path in files:
        assert path.read_bytes() == (tmp_path / path.relative_to(built)).read_bytes()
    packed = (built / "instances" / "bisect-6.mps.gz").read_bytes()
    assert packed[4:8] == bytes(4)  # no time
    assert packed[3] == 0  # and no name


def test_what_is_built_is_right(built: Path) -> None:
    found = check_library(built)
    assert found.ok, found.problems
    assert found.instances == len(FEW)
    lines = (built / "library.solu").read_text().splitlines()
    assert "=opt= mincov-10 10" in lines
    assert "=inf= hclique-4-no" in lines


def test_another_reader_solves_the_file(built: Path) -> None:
    """HiGHS reads the MPS file itself and finds the optimum that is stated."""
    highspy = pytest.importorskip("highspy")
    for name in ("bisect-6", "mincov-10", "qisets"):
        said = json.loads((built / "metadata" / f"{name}.json").read_text())
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.readModel(str(built / "instances" / f"{name}.mps.gz"))
        solver.run()
        assert round(solver.getInfo().objective_function_value) == said["best_in_file"]


def edit_metadata(folder: Path, which: str, **changes: object) -> None:
    path = folder / "metadata" / f"{which}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def move_a_row(folder: Path) -> None:
    """Another value of one variable of a solution."""
    path = folder / "solutions" / "bisect-6.sol.gz"
    first, second, *rest = gzip.decompress(path.read_bytes()).decode().splitlines()
    name, value = second.split()
    path.write_bytes(gzip.compress("\n".join([first, f"{name} {int(value) + 1}", *rest]).encode(), mtime=0))
    edit_metadata(folder, "bisect-6", solution_sha256=sha256(path.read_bytes()))


def change_the_model(folder: Path) -> None:
    path = folder / "instances" / "bisect-6.mps.gz"
    text = re.sub(r" obj (\d+)\n", " obj 9\\1\n", gzip.decompress(path.read_bytes()).decode(), count=1)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def pack(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "solution": (move_a_row, "solution: "),
    "model": (change_the_model, "another hash"),
    "cut off": (
        lambda folder: pack(folder / "instances" / "qisets.mps.gz", "NAME x FREE\nROWS\n N\n"),
        "too few words",
    ),
    "no text": (lambda folder: (folder / "instances" / "qisets.mps.gz").write_bytes(b"NAME"), "not packed by gzip"),
    "no such row": (
        lambda folder: pack(folder / "instances" / "qisets.mps.gz", "ROWS\n N obj\nCOLUMNS\n x c1 1\nENDATA\n"),
        "does not have",
    ),
    "no solution": (lambda folder: pack(folder / "solutions" / "qisets.sol.gz", ""), "another hash"),
    "removed": (lambda folder: (folder / "instances" / "qisets.mps.gz").unlink(), "is missing"),
    "better value": (lambda folder: edit_metadata(folder, "qisets", best_in_file=1, bound_in_file=1), "objective"),
    "unit": (lambda folder: edit_metadata(folder, "qisets", unit="2"), "times its unit"),
    "no proof": (lambda folder: edit_metadata(folder, "qisets", bound_in_file=3), "bound is not the optimum"),
    "sizes": (lambda folder: edit_metadata(folder, "qisets", presolved=[0, 0]), "trivial"),
    "schema": (lambda folder: edit_metadata(folder, "qisets", colour="red"), "colour"),
    "status": (lambda folder: edit_metadata(folder, "qisets", status="proved"), "status"),
    "solu": (lambda folder: (folder / "library.solu").write_text("=opt= qisets 1\n"), "does not say"),
    "name": (lambda folder: edit_metadata(folder, "qisets", name="bisect-6"), "not one for a collection"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_is_found(fault: str, copied: Path) -> None:
    spoil, said = FAULTS[fault]
    spoil(copied)
    found = check_library(copied, rebuild=False)
    assert not found.ok
    assert any(said in problem for problem in found.problems), found.problems


def test_a_manifest_that_was_made_to_fit_is_found_by_building_again(copied: Path) -> None:
    change_the_model(copied)
    path = copied / "library.json"
    said = json.loads(path.read_text())
    said["files"]["instances/bisect-6.mps.gz"] = sha256((copied / "instances" / "bisect-6.mps.gz").read_bytes())
    path.write_text(json.dumps(said))
    assert any("other bytes" in problem for problem in check_library(copied).problems)


@pytest.mark.parametrize("name", ["plantp-5-no", "textbook-k3", "fulldom-n30", "weighted-k4"])
def test_the_file_says_what_the_model_says(name: str) -> None:
    """Sizes and numerics, from the arrays and from the text; and each entry, exactly."""
    (entry,) = chosen(read_list(), [name])
    linear = library_instance(entry, LIST.parent).linear
    model = read_mps(model_text(library_instance(entry, LIST.parent)))
    assert model.name == name
    assert features_of_file(model) == features(linear)
    draw = np.random.default_rng(1).integers(-3, 9, linear.variables)
    point: dict[str, int | Fraction] = dict(zip(model.columns, draw.tolist(), strict=True))
    assert model.value(point) == Fraction(linear.value(draw.astype(float)))
    violated = sum("constraint" in each for each in model.violations(point))
    activity = linear.A @ draw
    outside = (activity < linear.constraint_lower) | (activity > linear.constraint_upper)
    assert violated == outside.sum()


MODEL = """NAME x FREE
ROWS
 N obj
 L c1
COLUMNS
 M0 'MARKER' 'INTORG'
 x obj 1
 x c1 0.1
 M1 'MARKER' 'INTEND'
 y c1 0.2
RHS
 rhs c1 0.3
BOUNDS
 LO bnd x 0
 UP bnd x 4
ENDATA
"""


def test_numbers_are_read_as_they_are_written() -> None:
    model = read_mps(MODEL)
    assert model.violations({"x": 1, "y": 1}) == []  # 0.1 + 0.2 is no more than 0.3, which floats deny
    assert model.violations({"x": Fraction(1, 2)}) == ["variable x is no integer"]
    assert model.violations({"x": 5}) == ["variable x is outside of its bounds", "constraint c1 is violated"]
    assert model.violations({"z": 1}) == ["there is no variable z"]
    for solution in ("", "x 1\n", "=obj= 1\nx\n"):
        with pytest.raises(km.InputError, match="a solution file begins with"):
            read_solution_lines(solution)
    with pytest.raises(km.InputError, match="ENDATA"):
        read_mps(MODEL.replace("ENDATA", ""))
    assert read_solution_lines("=obj= 3/2\nx 1\n") == (Fraction(3, 2), {"x": 1})
    with pytest.raises(km.InputError, match="two values"):
        read_solution_lines("=obj= 3/2\nx 1\nx 0\n")


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        (" L c1", " L c1\n G c1"),
        (" L c1", " X c1"),
        (" N obj", " N other\n N obj"),
        (" x c1 0.1", " x c1 0.1\n x c1 0"),
        (" rhs c1 0.3", " rhs c1 0.3\n rhs c1 9"),
        (" rhs c1 0.3", " rhs c2 0.3"),
        ("BOUNDS", "RANGES\n rng c2 1\nBOUNDS"),
        (" UP bnd x 4", " UP bnd X 4"),
        (" UP bnd x 4", " UP bnd y -4"),
    ],
)
def test_a_model_that_can_be_read_in_two_ways_is_refused(line: str, instead: str) -> None:
    assert MODEL.count(line) == 1
    with pytest.raises(km.InputError):
        read_mps(MODEL.replace(line, instead))


def test_a_run_finds_what_is_recorded() -> None:
    for entry in chosen(read_list(), ["bisect-6", "hclique-4-no", "mincov-10"]):
        found, known = recorded(entry, LIST.parent, 30, 5), read_record(entry.name)
        assert known is not None
        assert (found.status, found.best, found.model_sha256) == (known.status, known.best, known.model_sha256)


def test_a_record_of_another_model_is_not_used(tmp_path: Path) -> None:
    known = read_record("census-k25")
    assert known is not None
    text = known.model_copy(update={"model_sha256": "0" * 64, "name": "qisets"}).model_dump_json()
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "qisets.json").write_text(text)
    made = build_library(tmp_path / "lib", records=tmp_path / "records", only=["qisets", "bisect-6"])
    assert made.notes == [f"qisets: {building.MATCH}"]
    status = {each.name: (each.status, each.difficulty) for each in made.metadata}
    assert status == {"qisets": ("open", "not measured"), "bisect-6": ("opt", "not measured")}  # that by construction
    assert check_library(tmp_path / "lib", records=tmp_path / "records").ok


def ran(solver: str, **changes: object) -> dict[str, object]:
    """A run of the root alone."""
    return {
        "solver": solver,
        "version": "1",
        "node_limit": 1,
        "time_limit": 120,
        "ended": "node_limit",
        "seconds": 1,
    } | changes


def test_difficulty_follows_from_what_was_measured() -> None:
    known = read_record("qid-r90")
    assert known is not None
    best = known.best_in_file
    assert best is not None

    def marks(*runs: dict[str, object], **changes: object) -> tuple[str, ...]:
        record = Record.model_validate({**known.model_dump(), "runs": runs, **changes})
        return record.difficulty, record.set, record.feasibility

    proven = {"status": "opt", "bound_in_file": best}
    unproven = [ran("highs", bound=4), ran("scip", best=best), ran("cbc")]
    assert marks() == marks(*unproven[:2]) == ("not measured", "test", "not measured")
    assert marks(*unproven) == ("open", "benchmark", "easy")
    assert marks(*unproven, **proven) == ("hard", "benchmark", "easy")
    assert marks(ran("highs"), ran("scip", bound=best - 1.5), ran("cbc")) == ("open", "benchmark", "hard")
    assert marks(ran("highs"), ran("cbc", best=best, bound=best - 0.5), **proven) == ("easy", "test", "not measured")
    later = [ran(name, node_limit=None, best=best, bound=best, nodes=9) for name in ("highs", "scip", "cbc")]
    assert marks(*later, **proven) == ("not measured", "test", "not measured")  # the root was not looked at
    assert marks(*unproven, later[0] | {"nodes": 1}, **proven)[0] == "easy"  # without a limit it ends at the root
    assert marks(*unproven, later[0] | {"nodes": 1, "permutation": 1}, **proven)[0] == "hard"  # of another file
    assert [*map(said, unproven_runs(unproven))] == ["4 to -", f"- to {best}", "- to -"]


def unproven_runs(runs: list[dict[str, object]]) -> list[Run]:
    return [Run.model_validate(run) for run in runs]


def test_rows_of_a_study_become_runs_of_the_record_of_that_very_file(built: Path, tmp_path: Path) -> None:
    planned = plan(read_study(built / "root.toml"))
    assert len(planned) == 3 * len(FEW)
    (run,) = (run for run in planned if (run.instance, run.solver) == ("bisect-6", "scip"))
    row = run.as_dict() | {
        "options": json.dumps(run.options), "stop_reason": "node_limit", "objective_exact": "99", "bound": 41.25,
        "seconds": 0.123, "solver_version": "9", "nodes": 1, "defects": [],
    }  # fmt: skip
    results = Folder(tmp_path / "root")
    results.begin({}, [run.run, "of another file"])
    results.add(row)
    results.add(row | {"run": "of another file", "instance": "qisets"})
    (found,) = measured(built, [tmp_path / "root"])
    assert found.name == "bisect-6"
    (made,) = (each for each in found.runs if each.solver == "scip" and each.version == "9")
    assert (made.node_limit, made.best, made.bound, made.seconds) == (1, 99, 41.25, 0.12)


def test_a_run_may_prove_what_the_record_does_not_know(built: Path, tmp_path: Path) -> None:
    known = read_record("bisect-6")
    assert known is not None
    open_one = known.model_copy(update={"status": "best", "bound_in_file": 1, "runs": []})
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "bisect-6.json").write_text(open_one.model_dump_json())
    (run,) = (run for run in plan(read_study(built / "root.toml")) if (run.instance, run.solver) == ("bisect-6", "cbc"))
    results = Folder(tmp_path / "root")
    results.begin({}, [run.run])
    results.add(run.as_dict() | {
        "options": json.dumps(run.options), "stop_reason": "optimal", "objective_exact": str(known.best_in_file),
        "bound": known.best_in_file, "seconds": 1.0, "solver_version": "9", "defects": [],
    })  # fmt: skip
    (found,) = measured(built, [tmp_path / "root"], tmp_path / "records")
    assert (found.status, found.bound_in_file, found.reason) == ("opt", known.best_in_file, "proven by cbc")
    assert found.proved_by is not None
    assert found.proved_by.version == "9"


def test_an_entry_may_vary_one_thing(tmp_path: Path) -> None:
    path = tmp_path / "list.toml"
    entry = "[[instance]]\nname = 'a-t*'\ndata = { generator = 'random_table' }\n"
    entry += "privacy = { requirements = [{ kind = 't_closeness', distance = 'ordered' }] }\n"
    path.write_text(entry + "vary = { 'privacy.requirements.0.t' = ['1/5', '3/10'] }\n")
    found = read_list(path)
    assert [each.name for each in found] == ["a-t1-5", "a-t3-10"]
    assert [each.series for each in found] == ["a-t", "a-t"]
    assert [(each.privacy or {})["requirements"][0]["t"] for each in found] == ["1/5", "3/10"]


@pytest.mark.parametrize("series", ["ternl-n", pytest.param("fdl-n", marks=pytest.mark.full), "qidl-r"])
def test_a_ladder_keeps_its_model_as_it_grows(series: str) -> None:
    """Variables, constraints, sides and coefficients of a size are those of the next one, but for the number of rows
    that may be suppressed; and of pairs of rows that need be told apart, one with fewer columns stands for others."""
    entries = [entry for entry in read_list() if entry.series == series][:2]
    small, large = (read_mps(model_text(library_instance(entry, LIST.parent))) for entry in entries)
    held, kept = columns_of_rows(small), columns_of_rows(large)
    gone = held.keys() - kept.keys()
    assert len(kept) > len(held)
    assert all(any(other <= held[row] for other in kept.values()) for row in gone)
    assert not gone or series == "qidl-r"
    assert small.integer <= large.integer
    for column, entries_of in small.columns.items():
        assert small.bounds(column) == large.bounds(column)
        assert {row: value for row, value in entries_of.items() if row not in gone}.items() <= large.columns[
            column
        ].items()
    for row in held.keys() - gone - {"limit", small.objective}:
        assert small.kinds[row] == large.kinds[row]
        assert small.interval(row) == large.interval(row)


def columns_of_rows(model: ExactModel) -> dict[str, set[str]]:
    """The columns of each row of a model."""
    return {row: {column for column, of in model.columns.items() if row in of} for row in model.kinds}


def test_a_set_is_what_the_records_say(tmp_path: Path) -> None:
    done = run("library", "build", str(tmp_path), "--only", "qid-r60", "--only", "mincov-10", "--set", "benchmark")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "library.json").read_text())["instances"] == ["qid-r60"]
    assert len(plan(read_study(tmp_path / "nodes.toml"))) == 3


def test_the_page_says_what_the_records_say() -> None:
    page = (Path(__file__).parents[3] / "docs" / "library.md").read_text()
    assert documented(page) == page  # else: python benchmarks/library_records.py --docs


def test_only_those_of_a_series_may_have_all_features_in_common(copied: Path) -> None:
    first = json.loads((copied / "metadata" / "bisect-6.json").read_text())
    manifest = json.loads((copied / "library.json").read_text())
    (copied / "library.json").write_text(json.dumps(manifest | {"instances": ["bisect-6", "bisect-7"]}))
    for series, alike in (("bisect", False), (None, True)):
        (copied / "metadata" / "bisect-7.json").write_text(json.dumps(first | {"name": "bisect-7", "series": series}))
        problems = check_library(copied, rebuild=False).problems
        assert ("bisect-7: has all features of bisect-6" in problems) == alike


@pytest.mark.full
def test_a_submission_says_what_the_records_know(built: Path) -> None:
    texts = {path.stem: path.read_text() for path in (built / "submission").glob("*.md")}
    assert texts.keys() == {"k_anonymity", "t_closeness", "full_domain", "minimum_qid"}
    assert "minimum bisection → (n/2)-anonymity (Liang, Yuan 2013, Theorem 3)" in texts["k_anonymity"]
    assert "Apache-2.0" in texts["minimum_qid"]
    made = [read_json(path, Metadata) for path in (built / "metadata").glob("*.json")]
    hard = made[0].model_copy(update={"set": "benchmark", "feasibility": "hard", "difficulty": "open", "lp_gap": 0.25})
    assert representatives([*made[1:], hard])[0] is hard
    text = dict(submissions([hard]))[family_of(hard)]
    assert f"Feasibility: no solver finds a solution at the root, or that there is none, of {hard.name}." in text
    assert "25.0% to 25.0%" in text


def test_records_that_contradict_themselves_are_refused() -> None:
    known = read_record("bisect-6")
    assert known is not None
    assert known.best_in_file is not None
    wrong: list[dict[str, object]] = [
        {"status": "inf"},
        {"bound_in_file": 1},
        {"columns": []},
        {"best": "1.5"},
        {"runs": [ran("highs", best=known.best_in_file - 1)]},
        {"runs": [ran("highs", best=known.best_in_file + 1, bound=known.best_in_file + 1)]},
        {"runs": [ran("highs", ended="infeasible")]},
    ]
    for changes in wrong:
        with pytest.raises(ValueError, match="validation error"):
            Record.model_validate(known.model_dump() | changes)


def test_what_needs_a_table_that_is_not_here_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KANON_MILP_DATA", str(tmp_path))
    monkeypatch.setenv("KANON_MILP_CACHE", str(tmp_path / "cache"))
    done = run("library", "build", str(tmp_path / "lib"), "--only", "cmc-k10", "--only", "bisect-6")
    assert done.returncode == 0, done.stderr
    assert "cmc-k10: left out, its table cmc is not here" in done.stdout
    manifest = json.loads((tmp_path / "lib" / "library.json").read_text())
    assert manifest["missing"] == {"cmc-k10": "cmc"}
    assert manifest["instances"] == ["bisect-6"]
    done = run("library", "check", str(tmp_path / "lib"), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"instances": 1, "problems": [], "not_rebuilt": {}}


def test_a_library_that_is_wrong_ends_with_another_code(copied: Path) -> None:
    (copied / "solutions" / "bisect-6.sol.gz").unlink()
    done = run("library", "check", str(copied), "--no-rebuild")
    assert done.returncode == 6
    assert "bisect-6.sol.gz: is missing" in done.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "consists of tables"),
        ("[[instance]]\nname = 'Large-Name'\nfamily = 'bisection'\n", "name: "),
        ("[[instance]]\nname = 'a-name-of-17-chars'\nfamily = 'bisection'\n", "name: "),
        ("[[instance]]\nname = 'a'\n", "either family or data"),
        ("[[instance]]\nname = 'a'\nfamily = 'bisection'\ncolour = 1\n", "colour"),
        ("[[instance]]\nname = 'a'\nfamily = 'bisection'\n" * 2, "occurs twice"),
        ("[[instance]]\nname = 'a'\nfamily = 'nothing'\n", "unknown family"),
        ("[[instance]]\nname = 'a'\nfamily = 'bisection'\nseed = -1\n", "seed"),
    ],
)
def test_a_list_that_cannot_be_read_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "list.toml"
    path.write_text(text)
    done = run("library", "build", str(tmp_path / "lib"), "--list", str(path))
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_folders_and_names_that_are_none_are_refused(tmp_path: Path) -> None:
    done = run("library", "check", str(tmp_path))
    assert done.returncode == 2
    assert "no instance library" in done.stderr
    done = run("library", "build", str(tmp_path / "lib"), "--only", "nothing-*")
    assert done.returncode == 2
    assert "no instance of the list is called nothing-*" in done.stderr
    done = run("library", "build", str(tmp_path / "lib"), "--only", "bisection*")  # the family; instances are shorter
    assert 'called bisection* (did you mean "bisect"?); names begin with plantk, plantp' in done.stderr


@pytest.mark.slow
def test_the_complete_library(tmp_path: Path) -> None:
    """All instances whose tables are here: built, built again, checked exactly."""
    made = build_library(tmp_path)
    assert made.notes == []
    found = check_library(tmp_path)
    assert found.ok, found.problems
    assert found.instances + len(made.missing) == len(read_list())
