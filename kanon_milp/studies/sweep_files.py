"""The folder of a sweep: a folder for each run, and how a sweep that is asked for differs from one that is there."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from kanon_milp import __version__
from kanon_milp.errors import InputError
from kanon_milp.methods.description import describe_input, describe_problem, fingerprints
from kanon_milp.problem.privacy.base import LIST
from kanon_milp.problem.privacy.registry import REQUIREMENTS, kind_named, swept_kinds, term
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import read_frame
from kanon_milp.studies.output import COLUMNAR, FILES, groups_from, json_text, table_files
from kanon_milp.studies.sweep import MAX_GROUPS, Run, Setting, Sweep
from kanon_milp.system.files import Fill, check_folder, holding, make_folder, write_together
from kanon_milp.verify import verify

MOST = 5  # differences that are named
MORE = "'"  # behind the name of a further requirement of its kind
# where run.json has what an option says
PLAIN: dict[tuple[str, ...], str] = {
    ("swept",): "what is swept",
    **{("options", name): f"--{name.replace('_', '-')}" for name in ("method", "time_limit", "threads", "seed")},
    ("options", "baselines"): "--baselines",
    ("input", "table", "source"): "--data",
    ("input", "table", "delimiter"): "--delimiter",
    ("input", "table", "encoding"): "--encoding",
    ("input", "table", "missing"): "--missing",
    ("input", "table", "missing_values"): "--missing-values",
    ("input", "table", "header"): "--header",
    ("input", "table", "symbol"): "--symbol",
    ("problem", "roles", "quasi_identifiers"): "--qi",
    ("problem", "roles", "sensitive"): "--sensitive",
    ("problem", "roles", "identifying"): "--identifying",
    ("problem", "roles", "insensitive"): "--keep",
    ("problem", "roles", "dropped"): "--drop",
    ("problem", "roles", "unit"): "--unit",
    ("problem", "roles", "count"): "--count",
    ("problem", "suppressed_rows"): "--suppressed-rows",
    ("problem", "objective"): "--objective",
    ("problem", "cost_bound"): "--cost-bound",
    ("problem", "min_groups"): "--min-groups",
    ("problem", "max_groups"): "--max-groups",
    ("problem", "recoding"): "the recoding",
    ("input", "mask", "file"): "--mask",
}
# values that may be cells, long, or hashes: only that they differ is said
UNSHOWN: dict[tuple[str, ...], str] = {
    ("input", "table", "query"): "--query is another",
    ("input", "table", "sha256"): "the content of --data is another",
    ("input", "mask", "patterns"): "--mask has other patterns",
    ("input", "mask", "sha256"): "the content of --mask is another",
    ("input", "level_costs"): "levels have other costs",
    ("input", "costs"): "labels have other costs",
    ("input", "values"): "a requirement is about other sensitive values",
    ("input", "distances"): "the files of --distance are others",
    ("input", "populations"): "the file of --population is another",
    ("problem", "name"): "the problem has another name",
}


def differences(then: Any, now: Any) -> str:
    """What differs between two descriptions of sweeps (`about` of run.json): each option, then and now, and no cell."""
    found = list(dict.fromkeys(_found(then, now)))
    more = len(found) - MOST
    return "; ".join([*found[:MOST], *([f"and {more} more"] if more > 0 else [])])


def _found(then: Any, now: Any) -> Iterator[str]:
    for path, name in PLAIN.items():
        yield from _told(name, _at(then, path), _at(now, path))
    yield from _requirements(_at(then, ("problem", "requirements")), _at(now, ("problem", "requirements")))
    for column in _columns(then, now, ("input", "weights")):
        yield from _told(f"--weight {column}", *(_at(each, ("input", "weights", column)) for each in (then, now)))
    for column in _columns(then, now, ("input", "hierarchies")):
        old, new = (_at(each, ("input", "hierarchies", column)) for each in (then, now))
        where = [_at(each, ("source",)) or _at(each, ("file",)) for each in (old, new)]
        what = f"the hierarchy of {column}"
        yield from _told(what, *where) if where[0] != where[1] else _differ(f"{what} is another", old, new)
    for path, what in UNSHOWN.items():
        yield from _differ(what, _at(then, path), _at(now, path))


def _requirements(then: Any, now: Any) -> Iterator[str]:
    """Parameters of requirements, except for lists: these may be of sensitive values."""
    old, new = _by_name(then), _by_name(now)
    for name in dict.fromkeys([*old, *new]):
        if name not in old or name not in new:
            yield from _added(name, old.get(name), new.get(name))
            continue
        for key in dict.fromkeys([*old[name], *new[name]]):
            values = [each[name].get(key) for each in (old, new)]
            shown = _called(name, key, values)
            shows = key == "sensitive" or not any(isinstance(each, list | dict) for each in values)
            yield from _told(shown, *values) if shows else _differ(f"{shown} differs", *values)


def _added(name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[str]:
    """What to say of a requirement that only one of the two sweeps has."""
    kind = kind_named(name)
    if kind is None:
        was, now = ("asked for", "is not") if new is None else ("not asked for", "is")
        yield f"{term(name.rstrip(MORE))} was {was}, and {now} now"
    else:
        values = (None if each is None else each.get(kind.letter) for each in (old, new))
        yield from _told(kind.option(kind.letter), *values)


def _called(name: str, key: str, values: Sequence[Any]) -> str:
    """A parameter in a result as the command line has it, or in words. values: the two that it has."""
    kind = kind_named(name)
    for parameter, declared in {} if kind is None else kind.parameters.items():
        if kind is not None and key == (declared.key or parameter):
            number = declared.types == LIST and not any(isinstance(each, list) for each in values)
            return kind.option(parameter) or f"{'the number of ' * number}{parameter} of {term(name)}".replace("_", " ")
    return f"{'the sensitive attribute' if key == 'sensitive' else key} of {term(name)}".replace("_", " ")


def _by_name(requirements: Any) -> dict[str, dict[str, Any]]:
    """Parameters by the name of the requirement, exact ones in place of decimals; several of a kind marked."""
    found: dict[str, dict[str, Any]] = {}
    for each in requirements if isinstance(requirements, list) else []:
        if isinstance(each, dict):
            name = str(each.get("name"))
            while name in found:
                name += MORE
            exact = {key: each.get(f"{key}_exact", value) for key, value in each.items() if key != "name"}
            found[name] = {key: value for key, value in exact.items() if not key.endswith("_exact")}
    return found


def _columns(then: Any, now: Any, path: tuple[str, ...]) -> list[str]:
    both = (_at(then, path), _at(now, path))
    return list(dict.fromkeys(name for each in both if isinstance(each, dict) for name in each))


def _told(name: str, then: Any, now: Any) -> Iterator[str]:
    listed = (each if isinstance(each, list) else [] if each is None else [each] for each in (then, now))
    before, after = (",".join(map(str, each)) or "not named" for each in listed)
    if before != after:
        yield f"{name} was {before}, and is {after} now"


def _differ(what: str, then: Any, now: Any) -> Iterator[str]:
    if then != now:
        yield what


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


RUNS = "runs"
CLAIM = "run.json"
FORMAT, VERSION = "kanon-milp sweep", 1  # of sweep.json
WRITTEN = ("sweep.csv", "sweep.md", "sweep.tex", "sweep.svg", "sweep.json")


class SweepFolder:
    """Where a sweep is written, and where one that was ended goes on.

    swept: the letters of the parameters. options: what the runs depend on besides problem and setting, such as method
    and time limit. A folder with runs of anything else is refused; more values of the same parameters are welcome.
    """

    def __init__(self, folder: Path, problem: Problem, swept: Sequence[str], options: Mapping[str, Any]) -> None:
        check_folder(folder, WRITTEN)
        self._folder, self._problem = folder, problem
        inputs = describe_input(problem, fingerprints(problem))
        described = describe_problem(problem, (0, 0))
        names = {REQUIREMENTS[letter].name for letter in swept if letter in REQUIREMENTS}
        kept = [
            each
            for each in described["requirements"]
            if (each["name"] not in names or "quasi_identifiers" in each) and not _made_of(each, swept)
        ]
        left_out = {"t_in", "t_in_star", *swept_kinds(), *({MAX_GROUPS} & set(swept))}
        described = {name: value for name, value in described.items() if name not in left_out}
        named = [getattr(each, "values", None) for each in problem.requirements]
        if any(each is not None for each in named):  # sensitive values are cells
            inputs = {**inputs, "values": sha256(repr(named).encode()).hexdigest()}
        about = {"swept": sorted(swept), "input": inputs, "problem": {**described, "requirements": kept}}
        self._about = json.loads(json_text({**about, "options": dict(options)}))

    def known(self, resume: bool) -> list[Run]:
        """The runs that are there and had their time. Raises InputError where they are of another sweep, or no longer
        what they were, and for any where nothing shall be resumed. Tables are verified again, bounds are what the files
        say."""
        folders = sorted(path.parent for path in self._folder.glob(f"{RUNS}/*/{CLAIM}"))
        if folders and not resume:
            raise InputError(f"{self._folder}: holds a sweep; continue it (--resume), or choose another folder")
        return [run for run in map(self._read, folders) if not run.interrupted]

    def write_run(self, run: Run) -> None:
        """The released table, its groups, and what is known of the run."""
        folder = self._folder / RUNS / folder_name(run.setting)
        make_folder(folder)
        files: dict[str, Fill | None] = dict.fromkeys(name for name in FILES if name != "result.json")
        files.update(table_files(self._problem, run.table, run.groups))
        claim = {
            "setting": {name: str(value) for name, value in run.setting.given.items()},
            "objective": _text(run.objective),
            "bound": _text(run.bound),
            "proof": run.proof,
            "seconds": run.seconds,
            "baselines": {name: _text(value) for name, value in run.baselines.items()},
            "interrupted": run.interrupted,
            "about": self._about,
        }
        write_together(folder, {**files, CLAIM: holding(json_text(claim))})

    def write(self, sweep: Sweep) -> None:
        """All settings as CSV, Markdown, LaTeX and JSON, and as a picture where altair is installed."""
        files: dict[str, Fill | None] = dict.fromkeys(WRITTEN)
        files["sweep.csv"] = holding(sweep.to_csv())
        files["sweep.md"] = holding(sweep.to_markdown())
        files["sweep.tex"] = holding(sweep.to_latex())
        if sweep.rows and all(importlib.util.find_spec(name) for name in ("altair", "vl_convert")):
            picture = io.StringIO()
            sweep.plot().save(picture, format="svg")
            files["sweep.svg"] = holding(picture.getvalue())
        files["sweep.json"] = holding(json_text(self._described(sweep)))
        make_folder(self._folder)
        write_together(self._folder, files)

    def _described(self, sweep: Sweep) -> dict[str, Any]:
        """The object of `sweep.json`: what was asked, of which files, and what came out."""
        asked = [each.as_dict() for each in sweep.asked]
        swept = {letter: list(dict.fromkeys(each[letter] for each in asked)) for letter in self._about["swept"]}
        return {
            "format": FORMAT,
            "version": VERSION,
            "package": {"name": "kanon-milp", "version": __version__},
            **self._about,
            "swept": swept,
            "interrupted": sweep.interrupted,
            "rows": [row.as_dict() for row in sweep.rows],
        }

    def _read(self, folder: Path) -> Run:
        try:
            claim = json.loads((folder / CLAIM).read_text(encoding="utf-8"))
            values = {name: Fraction(value) for name, value in claim["setting"].items()}
            setting = Setting(**values)
            objective, bound = _exact(claim["objective"]), _exact(claim["bound"])
            baselines = {name: _exact(value) for name, value in claim["baselines"].items()}
            proof, seconds, about = str(claim["proof"]), float(claim["seconds"]), claim["about"]
            ended = bool(claim.get("interrupted", False))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise InputError(f"{folder / CLAIM}: is not a run of a sweep; remove the folder {folder}") from None
        if about != self._about:
            how = differences(about, self._about) or "other data, requirements or options"
            raise InputError(f"{folder}: is a run of another sweep ({how}); choose another folder")
        if objective is None:  # what does not contradict itself may still be false: a proof cannot be read back
            contradictory = proof == "optimal"
        else:
            contradictory = proof == "infeasible" or (bound is not None and bound > objective)
        if folder.name != folder_name(setting) or contradictory:
            raise InputError(f"{folder / CLAIM}: contradicts itself, or its folder's name; remove the folder {folder}")
        if objective is None:
            return Run(setting, None, bound, proof, seconds, baselines=baselines, interrupted=ended)
        table = self._table(folder)
        report = verify(setting.of(self._problem), table)
        if not report.ok or report.cost != objective:
            raise InputError(f"{folder}: its table is not what {CLAIM} says of it; remove the folder")
        placed = groups_from(folder / "groups.csv")
        return Run(setting, objective, bound, proof, seconds, table, placed, baselines, ended)

    def _table(self, folder: Path) -> pl.DataFrame:
        table = self._problem.table
        if table.kind in COLUMNAR:
            return read_frame(folder / COLUMNAR[table.kind][0])
        return read_frame(folder / "anonymized.csv", table.csv)


def folder_name(setting: Setting) -> str:
    """Of a run."""
    return setting.name.replace("/", "_")


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _exact(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def _made_of(described: Mapping[str, Any], swept: Sequence[str]) -> bool:
    """Whether a requirement is what another one came to that is swept, as the k of a risk is."""
    kind = kind_named(described["name"])
    return kind is not None and any(letter in described and letter not in kind.parameters for letter in swept)
