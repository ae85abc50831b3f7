"""Hostile input: names, numbers, encodings and nesting that nobody means end in seconds, in a result or one line."""

from __future__ import annotations

import csv
import multiprocessing
import os
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess

import command_line
import polars as pl
import pytest

import kanon_milp as km

SECONDS = 60.0  # for one command; the slowest takes five of the processor

Command = Callable[..., CompletedProcess[str]]
PEOPLE = "a,b,s\n1,2,x\n1,2,y\n1,3,x\n1,3,y\n"
MODEL = '[data]\nfile = "people.csv"\nquasi_identifiers = ["a", "b"]\nsensitive = "s"\n'
PRIVACY = "[privacy]\nk = 2\n"


def generated(generator: str, arguments: str) -> str:
    return f'[data]\ngenerator = "{generator}"\narguments = {{{arguments}}}\n{PRIVACY}'


@pytest.fixture(scope="module")
def guarded() -> Iterator[Command]:
    """The command line in another process, which is ended where a command takes too long: also one that computes
    within a single operation, which no signal interrupts."""
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    pool.submit(command_line.run, "--version").result(120)

    def run(*arguments: object) -> CompletedProcess[str]:
        try:
            return pool.submit(command_line.run, *arguments).result(SECONDS)
        except TimeoutError:
            for process in pool._processes.values():
                process.kill()
            raise

    yield run
    pool.shutdown(wait=False, cancel_futures=True)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


def one_line(done: CompletedProcess[str], said: str, code: int = 2) -> None:
    assert (done.returncode, done.stdout) == (code, ""), done
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def without_warnings(done: CompletedProcess[str]) -> str:
    """What is on standard error but for columns without a role."""
    return "".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith("warning: "))


@pytest.mark.parametrize(
    ("names", "symbol"),
    [
        (["*", "b", "s"], "*"),
        (["^a.*$", "ab", "aa"], "*"),
        (["^.*$", "", " "], "#"),
        (["b" * 5000, "rows", "number"], "*"),
    ],
    ids=["star", "pattern", "all", "long"],
)
def test_names_are_taken_as_they_stand(guarded: Command, tmp_path: Path, names: list[str], symbol: str) -> None:
    """Polars reads * and ^...$ as patterns of column names."""
    path, out = tmp_path / "t.csv", tmp_path / "out"
    rows = [("1", "2", "x"), ("1", "2", "y"), ("1", "3", "x"), ("1", "4", "y")]
    path.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    of = ("--qi", ",".join(names[:2]) if names[1] else f'"{names[0]}",""', "--sensitive", names[2])
    asked = (*of, "--k", 2, "--p", 2, "--symbol", symbol)
    done = guarded("solve", "--data", path, *asked, "--out", out, "--show", "--certificate", tmp_path / "c.json")
    assert (done.returncode, without_warnings(done)) == (0, "")
    with (out / "anonymized.csv").open(newline="") as file:
        released = list(csv.reader(file))
    assert released == [names, *([one, two if two == "2" else symbol, s] for one, two, s in rows)]
    checked = ("verify", out / "anonymized.csv", "--original", path, *asked)
    assert guarded(*checked, "--certificate", tmp_path / "c.json").returncode == 0
    assert guarded("compress", path, *of).returncode == 0


def test_a_name_with_a_pattern_meets_every_requirement_and_recoding() -> None:
    names = ["^q.*$", "*", "^s.*$"]
    rows = [("1", "a", "1"), ("1", "b", "2"), ("2", "a", "1"), ("2", None, "2")]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    privacy = [
        km.KAnonymity(2, ["*"]),
        km.KAnonymity(2),
        km.PSensitivity(2),
        km.LDiversity(2),
        km.LDiversity(2, "blocki-williams"),
        km.TCloseness(0.5, "ordered"),
        km.AlphaKAnonymity("1/2", 2),
        km.BetaLikeness(1),
        km.DeltaDisclosure(1),
    ]
    for source in (frame, frame.to_pandas()):
        table = km.Table.from_frame(source, names[:2], names[2], symbol="#")
        result = km.solve(km.Problem(table, privacy)).require_optimal()
        assert result.objective == 4
        ages = {"1": ["1", "all", "*"], "2": ["2", "all", "*"]}
        recoded = km.solve(km.Problem(table, privacy, km.Hierarchies({"^q.*$": ages}, {"*": "1/4"})))
        assert recoded.require_optimal().objective == 1
    with pytest.raises(km.InputError, match="row 4: the value is missing"):
        km.Table.from_frame(frame, names[:2], names[2], symbol="#", missing="error")
    with pytest.raises(km.InputError, match=r'column "\^q\.\*\$", row 3: the suppression symbol'):
        km.Table.from_frame(frame, names[:2], names[2], symbol="2")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--l", "1e99999999", "l: an exact number"),
        ("--t", "1e-99999999", "t: an exact number"),
        ("--delta", "1e99999999", "delta: an exact number"),
        ("--alpha", "1/" + "9" * 5000, "alpha: an exact number"),
        ("--beta", "9" * 4000, "beta: the number is too large"),
        ("--cost-bound", "1e99999999", "--cost-bound: an exact number"),
        ("--weight", "a=1e99999999", '--weight of column "a": an exact number'),
        ("--weight", "a=1e99", "the weights are too fine or too large"),
        ("--threads", "9" * 20, "threads must be at most"),
        ("--threads", "1025", "threads must be at most 1024"),
        ("--seed", "9" * 20, "seed must be at most"),
        ("--node-limit", "-4", "the node limit must be at least 0, found -4"),
        ("--time-limit", "nan", "the time limit must be a positive number"),
        ("--gap", "nan", "the gap must be at least 0"),
        ("--encoding", "undefined", 'unknown encoding "undefined"'),
        ("--encoding", "x" * 5000, 'unknown encoding "xxxxxxxx'),
        ("--encoding", "a\0b", "unknown encoding"),
        ("--encoding", "punycode", "is not punycode"),
        ("--encoding", "utf-16", "is not utf-16"),
        ("--delimiter", "\n", "the delimiter must be one ASCII character"),
        ("--delimiter", '"', "the delimiter must be one ASCII character"),
        ("--qi", "a" * 5000, "there is no column"),
        ("--mask", "a" * 5000, "no such file"),
        ("--hierarchies", "a" * 5000, "no such folder"),
        ("--out", "a" * 5000, "cannot be an output folder"),
        ("--data", "a" * 5000 + ".csv", "no such file"),
    ],
)
def test_options_that_nobody_means_are_refused(
    guarded: Command, people: Path, option: str, value: str, said: str
) -> None:
    one_line(guarded("solve", "--data", people, "--qi", "a,b", "--sensitive", "s", "--k", 2, option, value), said)


@pytest.mark.parametrize("delta", ["1e9", "1e99", "1e-9", "1e-99"])
def test_a_power_of_any_size_is_compared(guarded: Command, people: Path, delta: str) -> None:
    asked = ("--qi", "a,b", "--sensitive", "s", "--delta", delta)
    assert guarded("solve", "--data", people, *asked).returncode == 0


@pytest.mark.parametrize(
    ("option", "value"), [("--time-limit", "inf"), ("--time-limit", "1e300"), ("--max-groups", "9" * 25)]
)
def test_a_limit_that_is_none_is_taken(guarded: Command, people: Path, tmp_path: Path, option: str, value: str) -> None:
    done = guarded(
        "solve", "--data", people, "--qi", "a,b", "--k", 2, option, value, "--json", "--out", tmp_path / "out"
    )
    assert (done.returncode, without_warnings(done)) == (0, "")


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7"]
)
def test_encodings(guarded: Command, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("größe,b\nä,2\nä,2\nö,3\n", encoding=encoding)
    for command in (("solve", "--data", path, "--k", 3), ("compress", path)):
        done = guarded(*command, "--qi", "größe,b", "--encoding", encoding)
        assert (done.returncode, without_warnings(done)) == (0, "")


def test_a_field_of_the_header_may_be_too_long(guarded: Command, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a" * 200_000 + ",b\n1,2\n1,2\n")
    one_line(guarded("solve", "--data", path, "--qi", "b", "--k", 2), "the header is not valid CSV")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = " + "[" * 100_000, "too many brackets within brackets"),
        (MODEL + PRIVACY + "x = " + "{a = " * 50_000, "too many brackets within brackets"),
        (MODEL + PRIVACY + "l = 1e99999999", "l: an exact number"),
        (MODEL + PRIVACY + "l = " + "9" * 5000, "a number has too many digits"),
        (MODEL + "rows = -3\n" + PRIVACY, "[data] rows must be at least 1, found -3"),
        (MODEL + "rows = 0\n" + PRIVACY, "[data] rows must be at least 1, found 0"),
        (MODEL + PRIVACY + '[known]\noptimum = "abc"', "[known] optimum: an exact number"),
        (MODEL + PRIVACY + "[recoding]\nrandom_patterns = -5", "random_patterns must be at least 1"),
        (MODEL + PRIVACY + "[recoding]\nrandom_patterns = " + "9" * 40, "1 to 4 patterns"),
        (MODEL + PRIVACY + "[recoding]\nweights = {a = {b = 1}}", 'weights of column "a": an exact number'),
        (MODEL + PRIVACY + "[recoding]\npatterns = [[1.5, 2]]", "neither keep nor *"),
        (MODEL.replace('"a", "b"', '["a"]') + PRIVACY, "the name of a column is expected, found list"),
        (MODEL.replace("people.csv", "p" * 5000) + PRIVACY, "no such file"),
        (MODEL.replace("people.csv", "p\\u0000.csv") + PRIVACY, "no file can have a name with a zero character"),
        (
            '[data]\ngenerator = "random_table"\narguments = {rows = 1000000000000, columns = 3, domain = 2}\n'
            + PRIVACY,
            "cells",
        ),
        ('[data]\ngenerator = "full_product"\narguments = {domain_sizes = [99, 99, 99, 99]}\n' + PRIVACY, "cells"),
        ('[data]\ngenerator = "tight_example"\narguments = {m = 9999999}\n' + PRIVACY, "cells"),
        (
            '[data]\ngenerator = "random_table"\narguments = {rows = "x", columns = 3, domain = 2}\n' + PRIVACY,
            "do not fit",
        ),
        ("\0", "not a TOML file"),
    ],
)
def test_model_files_that_nobody_means_are_refused(guarded: Command, people: Path, text: str, said: str) -> None:
    model = people.with_name("model.toml")
    model.write_text(text)
    one_line(guarded("solve", model), said)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--k", 2, "--min-groups", "9" * 25), "is larger than the number of rows"),
        (("--k", "9" * 30), f"not even all rows as one group satisfy k-anonymity (k = {'9' * 30}): the table has"),
        (("--k", 2, "--p", "9" * 30), "different values"),
    ],
)
def test_what_no_table_has_is_infeasible(guarded: Command, people: Path, asked: tuple[object, ...], said: str) -> None:
    sensitive = ("--sensitive", "s") if "--p" in asked else ()
    done = guarded("solve", "--data", people, "--qi", "a,b", *sensitive, *asked)
    assert (done.returncode, without_warnings(done)) == (3, "")
    assert said in " ".join(done.stdout.split())


def test_a_path_may_be_too_long(guarded: Command) -> None:
    one_line(guarded("solve", "a" * 5000), "no such model file")


@pytest.mark.parametrize(
    ("known", "code", "said"),
    [
        ("optimum = 7", 6, "[known] optimum = 7 is wrong: the proven and verified optimum is 2"),
        ("optimum = 1.5", 6, "[known] optimum = 1.5 is wrong: the proven and verified optimum is 2"),
        ("infeasible = true", 6, "[known] infeasible = true is wrong: there is a verified table with loss 2"),
        ("optimum = 2", 0, ""),
        ('optimum = "4/2"', 0, ""),
        ("infeasible = false", 0, ""),
    ],
)
def test_a_known_optimum_that_is_wrong_is_told(
    guarded: Command, people: Path, known: str, code: int, said: str
) -> None:
    people.write_text(PEOPLE.replace("1,3,y", "1,4,y"))
    model = people.with_name("model.toml")
    model.write_text(f"{MODEL}{PRIVACY}[known]\n{known}\n")
    done = guarded("solve", model, "--quiet")
    assert done.returncode == code
    assert done.stderr == (f"error: {model}: {said}\n" if said else "")


def test_a_known_optimum_of_what_is_infeasible_is_told(guarded: Command, people: Path) -> None:
    model = people.with_name("model.toml")
    model.write_text(
        f"{MODEL}{PRIVACY}[problem]\nmin_groups = 2\nmax_groups = 2\ncost_bound = 0\n[known]\noptimum = 0\n"
    )
    assert guarded("solve", model, "--quiet").returncode == 0
    model.write_text(f"{MODEL}[privacy]\nl = 3\n[known]\noptimum = 0\n")
    done = guarded("solve", model, "--quiet")
    assert done.returncode == 6
    assert "[known] optimum = 0 is wrong: the problem is proven infeasible" in done.stderr


@pytest.mark.full
def test_a_table_may_be_very_wide(guarded: Command, tmp_path: Path) -> None:
    path, draw, names = tmp_path / "wide.csv", random.Random(1), [f"c{j}" for j in range(6_000)]
    rows = (",".join(draw.choice("ab") for _ in names) for _ in range(10))
    path.write_text("\n".join([",".join(names), *rows]) + "\n")
    done = guarded("solve", "--data", path, "--qi", "c0,c1,c2", "--k", 2, "--out", tmp_path / "out")
    assert (done.returncode, without_warnings(done)) == (0, "")
    everything = ("solve", "--data", path, "--qi", ",".join(names), "--k", 2)
    one_line(guarded(*everything), "more than 1,048,576 level vectors are possible")


@pytest.mark.parametrize("kind", ["pipe", "zero"])
def test_what_is_no_file_is_not_waited_for(guarded: Command, people: Path, tmp_path: Path, kind: str) -> None:
    """A pipe that nobody writes to, and a device without an end."""
    for ending in (".csv", ".parquet", ".toml"):
        path = tmp_path / f"a{ending}"
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")
    table, solve = tmp_path / "a.csv", ("solve", "--data", people, "--qi", "a,b", "--k", "2")
    for command in (
        ("inspect", table),
        ("inspect", tmp_path / "a.parquet"),
        ("solve", "--data", table, "--qi", "a", "--k", "2"),
        (*solve, "--mask", table),
        ("solve", tmp_path / "a.toml"),
        ("bench", tmp_path / "a.toml", "--out", tmp_path / "out"),
    ):
        done = guarded(*command)
        assert done.returncode == 2, command
        assert "is a pipe or a device, not a file" in done.stderr or "no such" in done.stderr, command
