"""The page of `kanon-milp app`: a notebook of marimo that calls the public names of the package and nothing else.

A copy of this file is a notebook of your own: `kanon-milp app --edit mine.py`.
"""
# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="medium", app_title="kanon_milp")

with app.setup(hide_code=True):
    import html
    import os
    import tempfile
    import threading
    import time
    import warnings
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    import altair as alt
    import marimo as mo
    import polars as pl

    import kanon_milp as km

    warnings.simplefilter("ignore", km.KanonWarning)  # said on the page: notes of `inspect`, warnings of the table

    ROLES = {
        "others may know it (quasi-identifier)": "quasi-identifier",
        "sensitive": "sensitive",
        "names who is protected (unit)": "unit",
        "keep as it is": "keep",
        "identifies: drop": "identifying",
        "drop": "drop",
    }
    WAYS: dict[str, Callable[..., Any] | None] = {
        "keep or suppress": None,
        "intervals of widths": km.Hierarchy.intervals,
        "dates": km.Hierarchy.dates,
        "first characters": km.Hierarchy.prefixes,
        "classes of equal size": km.Hierarchy.quantiles,
    }
    PROPOSED = {"--numeric": "intervals of widths", "--dates": "dates", "--prefix": "first characters"}
    METHODS = {"cell by cell, at least loss": "auto", "one level for each column": "full_domain"}
    LABELS = {
        "anonymized.csv": "Released table",
        "report.html": "Report page",
        "groups.csv": "Groups",
        "result.json": "Result as JSON",
    }
    TABLE, BOUND, RISK, QUIET = "#2a8fb3", "#8a949c", "#d0743c", "#8a949c"  # seen on light and on dark pages
    POINTS = 400  # of a line in a picture


@app.function(hide_code=True)
def styled(chart: Any, height: int = 190) -> Any:
    """A picture in the colours of the page."""
    axis = {"labelColor": QUIET, "titleColor": QUIET, "gridOpacity": 0.2, "domain": False, "labelLimit": 140}
    made = chart.properties(width="container", height=height).configure_axis(**axis).configure_view(stroke=None)
    return (
        made.configure(background="transparent")
        .configure_legend(labelColor=QUIET, orient="top", title=None, labelLimit=400)
        .configure_title(color=QUIET, anchor="start", fontWeight="normal")
    )


@app.function(hide_code=True)
def bars(rows: Sequence[Mapping[str, Any]], across: str, up: str, title: str, colour: str) -> Any:
    """A column for each row, with its number."""
    base = alt.Chart(alt.Data(values=list(rows)), title=title).encode(
        alt.X(f"{across}:N", sort=None, title=None).axis(labelAngle=0),
        alt.Y(f"{up}:Q", title=None).axis(tickCount=4),
        tooltip=[f"{across}:N", f"{up}:Q"],
    )
    return styled(
        base.mark_bar(color=colour) + base.mark_text(dy=-6, color=QUIET).encode(text=alt.Text(f"{up}:Q", format=","))
    )


@app.function(hide_code=True)
def over_time(runs: Sequence[Any]) -> Any:
    """The best table and the proven bound of each run over time."""
    rows = []
    for run in runs:
        known = list(run.points)
        if not known:
            continue
        known = [*known[:: max(1, len(known) // POINTS)], (run.seconds, *known[-1][1:])]
        for seconds, *both in known:
            for what, value in zip(("best table", "bound"), both, strict=True):
                if value is not None:
                    line = what if len(runs) == 1 else f"{run.name}: {what}"
                    rows.append({"seconds": seconds, "loss": value, "line": line, "what": what})
    colours = alt.Scale(range=[TABLE, BOUND] if len(runs) == 1 else [TABLE, TABLE, RISK, RISK])
    chart = alt.Chart(alt.Data(values=rows)).mark_line(interpolate="step-after", strokeWidth=2)
    return styled(
        chart.encode(
            alt.X("seconds:Q", title="seconds"),
            alt.Y("loss:Q", title=None).scale(zero=False).axis(tickCount=5),
            alt.Color("line:N", scale=colours, sort=None),
            alt.StrokeDash(
                "what:N", scale=alt.Scale(domain=["best table", "bound"], range=[[1, 0], [5, 3]]), legend=None
            ),
        ),
        height=230,
    )


@app.function(hide_code=True)
def what_is_left(measures: Mapping[str, Any], title: str = "") -> Any:
    """For each column how many cells are kept, generalized and suppressed."""
    fates = {"kept": TABLE, "generalized": "#8cc4d8", "suppressed": RISK}
    rows = [
        {"column": each["name"], "fate": fate, "cells": each[fate], "order": order}
        for each in measures["columns"]
        for order, fate in enumerate(fates)
    ]
    chart = alt.Chart(alt.Data(values=rows), title=title).mark_bar()
    return styled(
        chart.encode(
            alt.X("cells:Q", title="cells", stack="zero").axis(tickCount=4),
            alt.Y("column:N", sort=None, title=None),
            alt.Color("fate:N", scale=alt.Scale(domain=list(fates), range=list(fates.values()))),
            alt.Order("order:Q"),
            tooltip=["column:N", "fate:N", alt.Tooltip("cells:Q", format=",")],
        ),
        height=max(60, 26 * len(measures["columns"])),
    )


@app.function(hide_code=True)
def refused(error: Exception, path: Path | None = None) -> Any:
    """What the package says of an input that it cannot take."""
    text = (
        str(error) if isinstance(error, km.KanonError) else f"this is a defect of the program: {type(error).__name__}"
    )
    return mo.callout(text.replace(os.path.relpath(path), path.name) if path else text, kind="danger")


@app.function(hide_code=True)
def levels(table: Any, name: str, way: str, text: str) -> Any:
    """The hierarchy of a column. text: its levels, such as 5,10,20 or <18,5,>=90 or month,year or 4,2."""
    make, given = WAYS[way], [each.strip() for each in text.split(",") if each.strip()]
    ends = {"below": "<", "above": ">="} if way == "intervals of widths" else {}
    named: dict[str, Any] = {
        end: each.removeprefix(sign) for end, sign in ends.items() for each in given if each.startswith(sign)
    }
    values: list[Any] = [each for each in given if not each.startswith(("<", ">"))] if ends else given
    if way in ("first characters", "classes of equal size"):
        values = [int(each) if each.isdigit() else each for each in values]
    assert make is not None
    return make(table.column(name), values or (None if way == "dates" else []), source=f'column "{name}"', **named)


@app.function(hide_code=True)
def requirement(kind: Any, text: str) -> Any:
    """A requirement of this kind with the number that was typed."""
    integral = kind.parameters[kind.letter].types == (int,)
    return kind(**{kind.letter: int(text) if integral and text.isdigit() else text})


@app.class_definition(hide_code=True)
class Run:
    """One setting, solved in a thread of its own so that the page stays alive, and its files.

    points: seconds, loss of the best table and bound, as they became known. step: what is being done. error: why there
    is no result. files: what can be downloaded.
    """

    def __init__(self, number: int, name: str, problem: Any, chosen: Mapping[str, Any], folder: Path) -> None:
        self.name, self.problem, self.chosen = name or f"setting {number}", problem, dict(chosen)
        self.out, self.model = folder / f"setting-{number}", f"{problem.name}.toml"
        self.points: list[tuple[float, float | None, float | None]] = []
        self.step = ""
        self.error: Exception | None = None
        self.result: Any = None
        self.measures: Any = None
        self.files: dict[str, bytes] = {}
        self.clock = time.perf_counter  # the names of a page are gone when it is closed
        self.stop, self.shown, page = threading.Event(), False, threading.current_thread()
        self.began, self.ended = time.perf_counter(), 0.0
        self.thread = threading.Thread(target=self.solve, name=f"kanon_milp {name}", daemon=True)
        self.thread.start()
        threading.Thread(target=self.end_with, args=(page,), daemon=True).start()

    def end_with(self, page: threading.Thread) -> None:
        """Stop when the page that has asked is gone. page: the thread that runs its cells."""
        while self.thread.is_alive():
            if not page.is_alive():
                self.stop.set()
            self.thread.join(1)

    @property
    def seconds(self) -> float:
        """So far, or in all."""
        return (self.ended or time.perf_counter()) - self.began

    def solve(self) -> None:
        """Solve, verify, and write what can be downloaded."""
        try:
            self.result = km.solve(
                self.problem,
                **self.chosen,
                interrupt=self.stop,
                on_stage=lambda step: setattr(self, "step", step),
                on_progress=lambda p: self.points.append((p.seconds, p.incumbent, p.bound)),
            )
            self.ended, self.step = time.perf_counter(), "writing"
            model = self.out.parent / self.model
            self.measures = km.write_result(self.result, self.out).get("measures")
            km.write_report(self.result, self.out / "report.html")
            km.write_model(self.problem, model, self.chosen)
            self.files = {each.name: each.read_bytes() for each in (*sorted(self.out.iterdir()), model)}
        except Exception as error:  # whatever it is belongs on the page, and not into a log
            self.error = error
        self.ended = self.ended or self.clock()


@app.function(hide_code=True)
def form(columns: Sequence[Any], roles: Any, ways: Any, texts: Any) -> Any:
    """A row for each column of the table: what is in it, its role, and its levels where it has some."""
    heads = ("column", "values", "distinct", "missing", "unique rows", "role", "levels", "")
    lines = ["".join(f"<th>{each}</th>" for each in heads)]
    for each in columns:
        known = roles.value[each.name] == "quasi-identifier"
        text = texts[each.name] if known and WAYS[ways.value[each.name]] else ""
        numbers = "".join(f"<td>{number:,}</td>" for number in (each.distinct, each.missing, each.unique))
        last = f"<td>{roles[each.name]}</td><td>{ways[each.name] if known else ''}</td><td>{text}</td>"
        lines.append(f"<td><b>{html.escape(each.name)}</b></td><td>{each.kind}</td>{numbers}{last}")
    rows = "".join(f"<tr>{line}</tr>" for line in lines)
    return mo.Html(
        f"<div style='overflow-x:auto'><table style='font-size:.875rem;white-space:nowrap'>{rows}</table></div>"
    )


@app.cell(hide_code=True)
def _():
    get_run, set_run = mo.state(None)
    get_done, set_done = mo.state(())
    given = mo.cli_args()
    folder = Path(str(given.get("folder") or tempfile.mkdtemp(prefix="kanon-milp-")))  # of uploads and results
    mo.md("""
    # Anonymize a table

    The table stays on this machine. It is released at provably least loss,
    or the page says how far from that it can be.
    """)
    return folder, get_done, get_run, given, set_done, set_run


@app.cell(hide_code=True)
def _(given):
    upload = mo.ui.file(
        kind="area", max_size=1_000_000_000, label="Drop a table here (CSV, Excel, Parquet, Arrow), or choose one"
    )
    path = mo.ui.text(
        value=str(given.get("file") or ""), placeholder="/home/me/people.csv", label="or name its file", full_width=True
    )
    mo.vstack([mo.md("## 1. The table"), upload, path])
    return path, upload


@app.cell(hide_code=True)
def _(folder, path, upload):
    if upload.value:
        source = folder / Path(upload.name(0)).name
        source.write_bytes(upload.contents(0))
        source = Path(os.path.relpath(source))  # so that the model file names it as a file beside it
    else:
        mo.stop(not path.value.strip())
        source = Path(path.value.strip()).expanduser()
    try:
        first = km.inspect(source)
    except km.KanonError as error:
        mo.stop(True, refused(error, source))
    marks = ", ".join(dict.fromkeys(mark for each in first.columns for mark in each.marks))
    return first, marks, source


@app.cell(hide_code=True)
def _(first, marks):
    _levels = (
        {name: (PROPOSED[option], ",".join(given)) for name, option, given in first.proposal.levels}
        if first.proposal
        else {}
    )
    _usual = {role: label for label, role in ROLES.items()}
    roles = mo.ui.dictionary(
        {each.name: mo.ui.dropdown(ROLES, value=_usual.get(each.role, "drop")) for each in first.columns}
    )
    ways = mo.ui.dictionary(
        {
            each.name: mo.ui.dropdown(list(WAYS), value=_levels.get(each.name, ("keep or suppress", ""))[0])
            for each in first.columns
        }
    )
    texts = mo.ui.dictionary(
        {
            each.name: mo.ui.text(value=_levels.get(each.name, ("", ""))[1], placeholder="5,10,20")
            for each in first.columns
        }
    )
    missing = mo.ui.text(value=marks, label="texts that stand for a missing value")
    return missing, roles, texts, ways


@app.cell(hide_code=True)
def _(first, missing, roles, texts, ways):
    mo.vstack(
        [
            mo.md(
                f"## 2. What is in it\n\n{first.rows:,} rows. Roles and levels are guesses from names and values: "
                "say what they are. Levels: `5,10,20` or `<18,5,>=90`, `month,year`, first `4,2` characters."
            ),
            form(first.columns, roles, ways, texts),
            missing,
        ]
    )


@app.cell(hide_code=True)
def _(missing, roles, source):
    _named = {role: [name for name, its in roles.value.items() if its == role] for role in ROLES.values()}
    _unit = _named["unit"]
    asked: dict[str, Any] = {
        "quasi_identifiers": _named["quasi-identifier"],
        "sensitive": _named["sensitive"],
        "identifying": _named["identifying"],
        "keep": _named["keep"],
        "drop": _named["drop"],
        "unit": _unit[0] if len(_unit) == 1 else _unit or None,
        "missing_values": [each.strip() for each in missing.value.split(",") if each.strip()],
    }
    try:
        inspection = km.inspect(source, **asked)
    except km.KanonError as error:
        mo.stop(True, refused(error, source))
    return asked, inspection


@app.cell(hide_code=True)
def _(inspection):
    _unit = inspection.unit_risk
    _at_risk = (
        [{"k": f"k = {each.k}", "number": each.rows} for each in inspection.touched]
        if _unit is None
        else [{"k": f"k = {k}", "number": below} for k, below in _unit["below"].items()]
    )
    _who = "rows" if _unit is None else f"{_unit['unit']}s"
    _sizes = [
        {
            "size": f"{each.least}" + ("+" if each.most is None else f"–{each.most}" if each.most > each.least else ""),
            "rows": each.rows,
        }
        for each in inspection.sizes
    ]
    _alone = [{"column": each.name, "rows": each.unique} for each in inspection.columns]
    mo.vstack(
        [
            mo.hstack(
                [
                    bars(_at_risk, "k", "number", f"{_who} in groups of fewer than k", RISK),
                    bars(_sizes, "size", "rows", "rows by how many are alike in what others may know", TABLE),
                    bars(_alone, "column", "rows", "rows whose value in a column nobody else has", TABLE),
                ],
                widths="equal",
                wrap=True,
            ),
            mo.accordion({"In words": mo.as_html(inspection)}),
        ]
    )


@app.cell(hide_code=True)
def _(first):
    kinds = {
        kind.letter: kind
        for kind in (getattr(km, name) for name in sorted(km.__all__) if name[0].isupper())
        if isinstance(kind, type) and issubclass(kind, km.Requirement) and kind.letter
    }
    _option, _value = (first.proposal and first.proposal.protection) or ("", "")
    _usual = {"k": str(first.proposal.k if first.proposal else 5), _option.removeprefix("--"): _value}
    numbers = mo.ui.dictionary(
        {
            letter: mo.ui.text(value=_usual.get(letter, ""), label=letter)
            for letter in sorted(kinds, key=lambda each: (each != "k", each))
        }
    )
    method = mo.ui.dropdown(METHODS, value=next(iter(METHODS)), label="recoding")
    seconds = mo.ui.number(start=1, stop=86_400, value=60, label="at most so many seconds")
    name = mo.ui.text(value="", placeholder="setting 1", label="name of this setting")
    return kinds, method, name, numbers, seconds


@app.cell(hide_code=True)
def _(kinds, method, name, numbers, seconds, solve):
    _others = [(letter, kind) for letter, kind in kinds.items() if letter != "k"]
    mo.vstack(
        [
            mo.md("## 3. What each group must have"),
            mo.hstack([numbers["k"], mo.md(kinds["k"].summary)], justify="start"),
            mo.accordion(
                {
                    "More requirements": mo.vstack(
                        [mo.hstack([numbers[letter], mo.md(kind.summary)], justify="start") for letter, kind in _others]
                    )
                }
            ),
            mo.hstack([method, seconds, name, solve], justify="start", align="end", wrap=True),
        ]
    )


@app.cell(hide_code=True)
def _(get_done, get_run):
    busy = get_run() is not None and get_run() not in get_done()  # one run at a time
    solve = mo.ui.run_button(label="Solve", kind="success", disabled=busy)
    return busy, solve


@app.cell(hide_code=True)
def _(asked, busy, folder, get_done, kinds, method, name, numbers, seconds, set_run, solve, source, texts, ways):
    mo.stop(busy or not solve.value)
    try:
        _table = km.read_table(source, **asked)
        _made = {
            each: levels(_table, each, ways.value[each], texts.value[each])
            for each in _table.quasi_identifiers
            if WAYS[ways.value[each]]
        }
        _privacy = [requirement(kinds[letter], text.strip()) for letter, text in numbers.value.items() if text.strip()]
        _recoding = km.Hierarchies(_made) if _made else km.Suppression()
        _problem = km.Problem(_table, _privacy, _recoding, name=source.name.split(".")[0])
    except km.KanonError as error:
        mo.stop(True, refused(error, source))
    set_run(
        Run(
            len(get_done()) + 1,
            name.value.strip(),
            _problem,
            {"method": method.value, "time_limit": seconds.value},
            folder,
        )
    )


@app.cell(hide_code=True)
def _(get_done, get_run):
    run, done = get_run(), get_done()
    mo.stop(run is None)
    stop = mo.ui.button(label="Stop, and keep the best table so far", kind="warn", on_click=lambda _: run.stop.set())
    tick = mo.ui.refresh(default_interval=1)
    mo.hstack([stop, mo.Html(f"<div style='display:none'>{tick}</div>")]) if run not in done else None
    return run, tick


@app.cell(hide_code=True)
def _(run, set_done, tick):
    _ = tick.value  # each second while it runs
    if not run.thread.is_alive() and not run.shown:
        run.shown = True
        set_done(lambda done: (*done, run))
    _doing = "finished" if run.shown else f"{run.step} ..."
    _said = f"**{run.name}**: {run.seconds:,.0f} s, {_doing}"
    _more = [over_time([run])] if run.points else []
    mo.vstack([mo.md(_said), *_more, *([refused(run.error)] if run.error else [])])


@app.cell(hide_code=True)
def _(get_done):
    finished = {each.name: each for each in get_done() if each.result is not None}
    mo.stop(not finished)
    shown = mo.ui.dropdown(finished, value=list(finished)[-1], label="setting")
    mo.hstack([mo.md("## 4. What came out"), shown], justify="start", align="end")
    return finished, shown


@app.cell(hide_code=True)
def _(shown):
    _run, _result = shown.value, shown.value.result
    _files = [mo.download(data, filename=file, label=LABELS.get(file, file)) for file, data in _run.files.items()]
    _again = f"kanon-milp solve {_run.model} --out released --report released/report.html"
    _parts = {
        "Loss": what_is_left(_run.measures, "what is left of each column") if _run.measures else None,
        "Table": mo.ui.table(_result.table, show_download=False, selection=None) if _result.verified else None,
        "Page": mo.iframe(_run.files["report.html"].decode(), height="640px"),
        "Over time": over_time([_run]) if _run.points else None,
        "In numbers": mo.as_html(_result),
    }
    mo.vstack(
        [
            mo.callout(_result.summary(), kind="success" if _result.verified else "warn"),
            mo.hstack(_files, justify="start", wrap=True),
            mo.md(f"The model file beside the table, and this command, give the same again:\n\n```sh\n{_again}\n```"),
            mo.ui.tabs({title: part for title, part in _parts.items() if part is not None}),
        ]
    )


@app.cell(hide_code=True)
def _(finished):
    mo.stop(len(finished) < 2)
    pair = mo.ui.array(
        [mo.ui.dropdown(list(finished), value=each) for each in list(finished)[-2:]]
    )  # names: it copies them
    mo.vstack([mo.md("## 5. Two settings side by side"), mo.hstack(list(pair), justify="start")])
    return (pair,)


@app.cell(hide_code=True)
def _(finished, pair):
    _runs = [finished[each] for each in pair.value]
    _tables = [each.result.to_frame().drop("problem", "kind").cast(pl.String) for each in _runs]
    _both = {"": _tables[0].columns} | {each.name: table.row(0) for each, table in zip(_runs, _tables, strict=True)}
    mo.vstack(
        [
            mo.hstack([what_is_left(each.measures, each.name) for each in _runs if each.measures], widths="equal"),
            over_time(_runs),
            mo.ui.table(pl.DataFrame(_both, strict=False), selection=None, show_download=False, page_size=20),
        ]
    )


if __name__ == "__main__":
    app.run()
