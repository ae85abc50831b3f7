"""What notebooks and terminals show: names and numbers as text, and no cell; the live line, gone at the end."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from result_pages import HOSTILE, Read
from rich.console import Console

import kanon_milp as km
from kanon_milp.methods import progress
from kanon_milp.methods.progress import Line
from kanon_milp.methods.tracker import PhaseRun
from kanon_milp.presolve import preparation
from kanon_milp.problem.exact import in_words
from kanon_milp.solvers import Progress
from kanon_milp.studies.output import described
from kanon_milp.studies.pages.wording import marks, proof_sentence
from kanon_milp.system.markup import card, grid, preformatted
from kanon_milp.system.text_tables import amount

SECRET = "Wilhelmina"


def solved(name: str = "age", **given: Any) -> km.Result:
    frame = pl.DataFrame({name: [f"{SECRET}{i // 2}" for i in range(9)], "sick": [SECRET, "b", "c"] * 3, "x": [1] * 9})
    problem = km.Problem(km.Table.from_frame(frame, name, "sick", source=name), [km.KAnonymity(2)], name=name, **given)
    return km.solve(problem)


def test_a_notebook_shows_no_cell() -> None:
    recoding = km.Hierarchies({"age": {f"{SECRET}{i}": (f"{SECRET}{i}", SECRET, "*") for i in range(5)}})
    result = solved(recoding=recoding, cost_bound="7/2")
    shown = {
        result.problem.table._repr_html_(): ("age (5)", "sick (3)", "without a role", "9 rows, 3 columns"),
        result.problem._repr_html_(): ("k-anonymity (k = 2)", "hierarchies", "7/2", "9 rows"),
        result._repr_html_(): ("proven optimum", "verified; backed by", "highs", "stop reason"),
    }
    for html, parts in shown.items():
        assert SECRET not in html
        for part in parts:
            assert part in html


def test_what_a_notebook_shows_is_text() -> None:
    name = "<script>alert(1)</script>\u202e"
    result = solved(name)
    for each in (result.problem.table, result.problem, result):
        html = each._repr_html_()
        assert "<script" not in html
        assert "\u202e" not in html
        assert "&lt;script&gt;" in html


def test_a_result_is_a_row() -> None:
    results = [solved(), solved(max_groups=1), solved(cost_bound=0)]
    rows = pl.concat([each.to_frame() for each in results]).to_dicts()
    assert [row["proof"] for row in rows] == ["optimal", "optimal", "infeasible"]
    assert [row["verified"] for row in rows] == [True, True, None]
    assert rows[0]["objective"] == rows[0]["bound"] == results[0].objective
    assert (rows[0]["n"], rows[0]["m"], rows[0]["k"], rows[0]["l"]) == (9, 1, "2", None)
    assert rows[1]["groups"] == 1
    assert rows[2]["objective"] is None


def test_a_problem_without_a_name_is_called_as_its_table(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n1\n1\n")
    people = km.read_table(tmp_path / "people.csv", quasi_identifiers="age")
    unnamed = km.Problem(people, km.KAnonymity(2))
    for problem, expected in ((unnamed, "people.csv"), (replace(unnamed, name="mine"), "mine")):
        result = km.solve(problem)
        assert result.to_frame()["problem"].to_list() == [expected]
        assert f"problem & {expected} " in result.to_latex()


def test_a_result_as_latex() -> None:
    latex = solved("a_b%").to_latex()
    assert latex.startswith("\\begin{tabular}{lr}\n\\toprule\n & value \\\\\n\\midrule\n")
    assert r"problem & a\_b\% \\" in latex
    assert r"verified & True \\" in latex


def test_a_result_as_a_chart() -> None:
    pytest.importorskip("altair")
    result = solved()
    told = replace(result, trajectory=((0.5, 9.0, None), (1.0, 4.0, 2.0)), seconds={**result.seconds, "total": 3.0})
    gap, sizes = told.plot().to_dict()["hconcat"]
    assert [(row["seconds"], row["what"], row["objective"]) for row in gap["data"]["values"]] == [
        (0.5, "incumbent", 9.0),
        (1.0, "incumbent", 4.0),
        (1.0, "bound", 2.0),
        (3.0, "incumbent", 4.0),
        (3.0, "bound", 2.0),
    ]
    counted = {row["rows"]: row["groups"] for row in sizes["data"]["values"]}
    assert sum(rows * groups for rows, groups in counted.items()) == 9
    assert len(replace(told, placed=None).plot().to_dict()["hconcat"]) == 1
    ran = replace(told, phases=(PhaseRun("lagrangian", 0.1, 0.3, None, 2.0), PhaseRun("search", 0.4, 1.0, 5.0, 2.0)))
    _, lines = ran.plot().to_dict()["hconcat"][0]["vconcat"]
    bars = lines["data"]["values"]
    assert [(bar["phase"], bar["from"], bar["seconds"]) for bar in bars] == [
        ("lagrangian", 0.1, 0.4),
        ("search", 0.4, 1.4),
    ]
    assert "incumbent" not in bars[0]
    with pytest.raises(km.InputError, match="nothing to draw"):
        replace(told, placed=None, trajectory=()).plot()


def test_without_altair_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(km.InputError, match=r"needs altair.*kanon-milp\[report\]"):
        solved().plot()


def check_words(result: km.Result) -> None:
    """A bound and its gap stand nowhere beside "nothing proven", and the other way round."""
    told = described(result)
    texts = [result.summary(), proof_sentence(told), result.message, repr(result), result._repr_html_()]
    texts += [word for word, _ in marks(told)]
    nothing = [text for text in texts if "nothing proven" in text or "nothing is proven" in text]
    assert (result.exact_bound is not None) == (result.proof in ("optimal", "bound"))
    if result.proof == "none":
        assert (result.gap, result.backed_by) == (None, ())
        assert nothing
    else:
        assert not nothing, nothing
        assert result.backed_by
    if result.proof == "bound" and result.verified:
        shown = str(in_words(result.exact_bound))
        assert f"bound {shown}" in result.summary()
        assert f" {amount(result.bound)}" in proof_sentence(told)
        assert not result.is_optimal
    assert ("proven optimum" in result.summary()) == result.is_optimal == ("proven to be the best" in texts[1])


METHODS = ["milp", "search", "greedy", "mondrian", "m_approximation", "full_domain", "subset_dp", "fpt"]


FEW = {(None, "search"), ("candidates", "milp"), ("time", "auto"), ("time", "greedy"), (None, "fpt")}


@pytest.mark.parametrize(
    ("short", "method"),
    [
        pytest.param(short, method, marks=() if (short, method) in FEW else pytest.mark.full)
        for short in (None, "candidates", "time")
        for method in (*METHODS, "auto")
    ],
)
def test_no_result_says_two_things(method: str, short: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without a certificate, and where there is no time, or no memory for the candidates."""
    frame = pl.DataFrame({"a": list("112233445"), "b": list("uvuvwwxxy"), "c": list("ppqqrrsst")})
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b", "c"]), km.KAnonymity(2))
    limit = 10.0
    if short == "candidates":
        monkeypatch.setattr(preparation, "vectors_in_time", lambda *_: 0.0)
        limit = 1.0  # some methods go on to it
    elif short == "time":
        limit = 1e-3
    try:
        result = km.solve(problem, method=method, time_limit=limit)
    except km.InputError:
        assert short == "candidates" or method == "fpt"
        return
    check_words(result)
    if result.proof != "infeasible":
        check_words(result.with_bound_of(result.certify()))


@pytest.mark.parametrize("objective", ["loss", "min_groups", "max_groups"])
@pytest.mark.parametrize("limits", [{}, {"cost_bound": 5}, {"max_groups": 2}, {"min_groups": 9}, {"cost_bound": 0}])
def test_no_result_of_limits_says_two_things(objective: Any, limits: dict[str, Any]) -> None:
    frame = pl.DataFrame({"a": list("112233"), "b": list("uvuvww")})
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(2), objective=objective, **limits)
    for given in ({}, {"time_limit": 1e-3}, {"method": "milp", "gap": 0.5}):
        check_words(km.solve(problem, **given))


FRAME = pl.DataFrame({"age": ["1", "2", "2", "3", "4", "4"], "sex": list("fmmffm")})
PROBLEM = km.Problem(km.Table.from_frame(FRAME, ["age", "sex"]), km.KAnonymity(2))


class Shown:
    """The display of IPython, which keeps what it is given."""

    def __init__(self) -> None:
        self.seen: list[dict[str, str]] = []

    def display(self, data: dict[str, str], **options: Any) -> Shown:
        assert options == {"raw": True, "display_id": True}
        self.seen.append(data)
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.seen.append(data)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shown:
    shown, module = Shown(), ModuleType("IPython.display")
    module.display = shown.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(progress, "Console", lambda **options: Console(force_jupyter=True, **options))
    monkeypatch.setattr(progress, "A_SECOND", 200)
    return shown


def test_the_line_says_what_is_known() -> None:
    line = Line("highs")
    line.stage("solve")
    line.progress(Progress(1.0, 1250.0, 1000.0))
    assert line.__rich__().plain.endswith(" s  solving (highs)  incumbent 1,250  bound 1,000  gap 20.00 %")


def test_a_notebook_has_a_line_that_is_gone_at_the_end(notebook: Shown) -> None:
    stages: list[str] = []
    result = km.solve(PROBLEM, progress=True, on_stage=stages.append)
    assert result.is_optimal
    assert "verify" in stages
    assert " s  " in notebook.seen[0]["text/plain"]
    assert notebook.seen[0]["text/html"].startswith("<pre")
    assert notebook.seen[-1] == {"text/plain": "", "text/html": ""}


def test_models_and_sweeps_have_one_too(notebook: Shown) -> None:
    assert km.solve_model(PROBLEM, km.build_model(PROBLEM), progress=True).is_optimal
    assert len(notebook.seen) >= 2
    notebook.seen.clear()
    asked: list[str] = []
    km.sweep(PROBLEM, k=[2, 3], progress=True, on_run=lambda *_: asked.append(notebook.seen[-1]["text/plain"]))
    assert len(asked) == 2
    assert notebook.seen[-1]["text/plain"] == ""


def test_an_error_ends_the_line(notebook: Shown) -> None:
    with pytest.raises(ZeroDivisionError), progress.live(True):
        raise ZeroDivisionError
    assert notebook.seen[-1]["text/plain"] == ""


def test_without_a_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert km.solve(PROBLEM, progress=True).is_optimal
    assert capsys.readouterr() == ("", "")
    with progress.live(True) as line:
        assert line is None


def test_progress_is_true_or_false() -> None:
    with pytest.raises(km.InputError, match="progress"):
        km.solve(PROBLEM, progress=lambda *_: None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_is_put_in_is_text(name: str) -> None:
    for html in (card(name, [(name, name)], name), grid(name, [[name], [name]], name), preformatted(name)):
        read = Read(html)
        assert {"script", "img", "b", "style"}.isdisjoint(read.elements)
        assert not any(key.startswith("on") for key, _ in read.attributes)
        assert "\u202e" not in read.text
    assert Read(card(HOSTILE[0], [])).text == HOSTILE[0]


def test_names_without_a_value_are_left_out() -> None:
    html = card("", [("a", 1), ("b", None), ("c", "")])
    assert ("a" in Read(html).text, "b" in Read(html).text, "c" in Read(html).text) == (True, False, False)
    assert "<p>" not in html
