"""Tables as people have them: without a header row, with codes of two digits, with two hundred columns."""

from __future__ import annotations

import json
import random
import shlex
import time
import warnings
from pathlib import Path

import polars as pl
import pytest
from command_line import run, run_in

import kanon_milp as km

WORDS = "Berlin,female,flu\nBonn,male,cold\nBerlin,male,flu\nBonn,female,gout\nBonn,male,flu\n"
ADULT = """39, State-gov, 77516, Bachelors, 13, White, Male, 2174, 40, <=50K
50, Self-emp, 83311, Bachelors, 13, White, Male, 0, 13, <=50K
39, Private, 215646, HS-grad, 9, White, Male, 0, 40, <=50K
53, ?, 234721, 11th, 7, Black, Male, 0, 40, <=50K
28, Private, 338409, Bachelors, 13, Black, Female, 0, 40, <=50K

"""
SAID = "the first row looks like data"


def put(folder: Path, text: str, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["adult.data", "adult.csv"])
def test_every_command_says_that_the_first_row_looks_like_data(name: str, tmp_path: Path) -> None:
    words, adult = put(tmp_path, WORDS, "words.csv"), put(tmp_path, ADULT, name)
    for command in (
        ("inspect", adult),
        ("inspect", words),
        ("qid", words),
        ("compress", words, "--qi", "Berlin"),
        ("hierarchy", words, "--column", "Berlin", "--prefix", "1", "--out", tmp_path / "h"),
        ("solve", "--data", words, "--qi", "Berlin,female", "--sensitive", "flu", "--k", 2),
        ("verify", words, "--original", words, "--qi", "Berlin", "--keep", "female,flu", "--k", 1),
        ("verify", words, "--qi", "Berlin", "--k", 1),
        ("sweep", "--data", words, "--qi", "Berlin", "--k", "2", "--out", tmp_path / "s"),
        ("compare", "--data", words, "--qi", "Berlin", "--k", 2, "--methods", "greedy"),
    ):
        done = run(*command)
        assert done.returncode == 0, done.stderr
        assert SAID in done.stderr, command
        assert "--no-header" in done.stderr
        assert "--header a,b,c" in done.stderr
    assert SAID in json.loads(run("inspect", words, "--json").stdout)["notes"][0]


def test_such_a_file_is_solved_and_verified_with_one_option(tmp_path: Path) -> None:
    adult = put(tmp_path, ADULT, "adult.data")
    names = ["age", "work", "weight", "education", "years", "race", "sex", "gain", "hours", "income"]
    for option, columns in (
        (("--no-header",), [f"column_{number}" for number in range(1, 11)]),
        (("--header", ",".join(names)), names),
    ):
        out = tmp_path / option[0]
        asked: tuple[str, ...] = (
            "--qi",
            ",".join(columns[5:7]),
            "--sensitive",
            columns[-1],
            "--identifying",
            columns[2],
        )
        asked = (*asked, "--keep", ",".join([*columns[:2], *columns[3:5], *columns[7:9]]), "--missing-values", "? ")
        done = run("solve", "--data", adult, *asked, *option, "--k", 2, "--out", out)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        released = (out / "anonymized.csv").read_text().splitlines()
        assert released[0].split(",") == [name for name in columns if name != columns[2]]
        assert len(released) == 6
        assert released[4].startswith("53,, 11th")  # a cell as it was, and a missing one
        page = run("verify", out / "anonymized.csv", "--original", adult, *asked, *option, "--k", 2)
        assert page.returncode == 0, page.stdout + page.stderr
        command = json.loads((out / "result.json").read_text())["input"]["table"]["header"]
        assert command == (columns if option[0] == "--header" else False)
        assert run("qid", adult, *option, "--missing-values", "?").returncode == 0
        shown = run("inspect", adult, *option, "--json")
        assert [each["name"] for each in json.loads(shown.stdout)["columns"]] == columns


def test_python_and_model_files_take_it(tmp_path: Path) -> None:
    words = put(tmp_path, WORDS, "words.dat")
    with pytest.warns(km.FileWarning, match=SAID):
        km.read_table(words, "Berlin")
    with warnings.catch_warnings():
        warnings.simplefilter("error", km.FileWarning)
        assert km.read_table(words, "column_2", header=False).n == 5
        table = km.read_table(words, ["city", "sex"], "disease", header=["city", "sex", "disease"])
    assert table.keys.row(0) == ("Berlin", "female", "flu")
    model = put(
        tmp_path,
        '[data]\nfile = "words.dat"\nheader = ["city", "sex", "disease"]\nquasi_identifiers = ["city"]\n'
        'keep = ["sex", "disease"]\n[privacy]\nk = 2\n',
        "m.toml",
    )
    assert run("solve", model, "--out", tmp_path / "out").stderr == ""
    assert run("verify", tmp_path / "out" / "anonymized.csv", "--model", model).returncode == 0
    model.write_text(model.read_text().replace('["city", "sex", "disease"]\nq', "false\nq").replace("city", "column_1"))
    assert 'no column "sex"' in run("solve", model).stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--header", "a,b"), "2 columns named (header=[...], --header), and its first row has 3 fields"),
        (("--header", "a,b,a"), "each column needs a name of its own"),
        (("--header", "a,b,c", "--no-header"), "leave --no-header out"),
    ],
)
def test_what_cannot_be_meant_is_refused(option: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = run("inspect", put(tmp_path, WORDS), *option)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_header_that_is_taken_for_data_is_noticed(tmp_path: Path) -> None:
    path = put(tmp_path, "age,sex,born\n39,f,1.5.1980\n,m,1.5.1981\n41,f,\n42,f,1.1.1990\n")
    for option in (("--no-header",), ("--header", "x,y,z")):
        name = "column_1" if option[0] == "--no-header" else "x"
        for command in (("inspect", path), ("compress", path, "--qi", name), ("solve", "--data", path, "--qi", name)):
            done = run(*command, *option, *(("--k", 2) if command[0] == "solve" else ()))
            assert done.returncode == 0
            assert "the first row looks like names of columns (2 columns of numbers below text)" in done.stderr
    assert run("inspect", path, "--header", "age,sex,born").stderr == ""  # just these are the header
    assert (
        "among its 3 columns; the first row looks like names"
        in run("inspect", path, "--qi", "age", "--no-header").stderr
    )


HEADERS = [
    "country,2019,2020,2021\nDE,83,84,85\nFR,66,67,2020\nIT,60,60,60\n",  # years
    "country,2020\nDE,83\nFR,2020\n",
    "id,0,1,2,3\na,0,0,1,0\nb,1,1,1,1\n",  # pixels, or answers
    "age band,10,20,30\nx,1,10,3\ny,20,2,30\n",
    "month,2019-01,2019-02\nx,1,2\ny,3,4\n",
    "class,0-4,5-9\nx,1,2\ny,3,4\n",
    "kind,other,none\nother,a,b\nnew,c,d\nother,e,f\n",
    "city,sex,disease\nBerlin,f,flu\ncity,sex,disease\nBonn,m,cold\n",  # two files, one behind the other
    "q1,q2\na,b\nc,d\n",
    "name\nAnna\nBert\n",
    ",a\n1,x\n2,y\n",
]
DATA = [
    "Anna,1975,1980\nBert,1980,1990\nCarl,1962,2001\n",
    "10115,x\n10117,y\n10119,x\n",
    "1990-05-01,x\n1991-06-02,y\n",
    "anna@example.org,x\nbert@example.org,y\n",
    "P0001,a\nP0002,b\nP0003,c\n",
    "Berlin\nBonn\nBerlin\n",
    "yes,a\nno,b\nyes,c\n",
    "1.5,x\n2.5,y\n",
]


@pytest.mark.parametrize(("text", "data"), [*((text, False) for text in HEADERS), *((text, True) for text in DATA)])
def test_what_is_said_of_a_first_row(text: str, data: bool, tmp_path: Path) -> None:
    path = put(tmp_path, text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        km.read_table(path, text.partition("\n")[0].split(",")[0])
    assert any(SAID in str(each.message) for each in caught) == data


def test_data_frames_with_numbered_columns_have_no_header() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[39, 40], [38, 39]])
    with warnings.catch_warnings():
        warnings.simplefilter("error", km.FileWarning)
        km.inspect(frame, ["0"])
        km.Table.from_frame(frame, "0")


@pytest.mark.parametrize("seed", range(5))
def test_random_tables_with_their_own_header_are_not_doubted(seed: int, tmp_path: Path) -> None:
    drawn = random.Random(seed)
    header = drawn.sample(["age", "sex", "zip", "diagnosis", "ward", "income", "id", "born"], 4)
    rows = [[str(drawn.randint(0, 99)), drawn.choice("fm"), f"D{drawn.randint(10, 99)}", "x"] for _ in range(50)]
    path = tmp_path / "t.csv"
    pl.DataFrame(rows, schema=header, orient="row").write_csv(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", km.FileWarning)
        km.read_table(path, header[0])
    path.write_text("\n".join(map(",".join, rows)) + "\n")  # the same without it
    with pytest.warns(km.FileWarning, match=SAID):
        km.read_table(path, rows[0][0]) if len(set(rows[0])) == 4 else pytest.skip("the first row repeats a cell")


def test_the_command_runs_as_it_is_printed(tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = [f"{draw.randint(1, 15):02d},{draw.choice('fm')},d{draw.randint(0, 2)}" for _ in range(40)]
    (tmp_path / "data.csv").write_text("\n".join(["fips,sex,dx", *rows]) + "\n")
    command = run_in(tmp_path, "inspect", "data.csv", "--qi", "fips,sex", "--sensitive", "dx").stdout.splitlines()[-1]
    assert "--prefix fips=1 " in command
    done = run_in(tmp_path, *shlex.split(command)[1:], "-q")
    assert done.returncode in (0, 4), done.stderr


def test_two_hundred_columns_take_a_few_seconds(tmp_path: Path) -> None:
    draw = random.Random(1)
    lines = [",".join(f"c{j}" for j in range(200))]
    lines += [",".join(str(draw.randint(0, 9)) for _ in range(200)) for _ in range(300)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    run("inspect", path, "--qi", "c0,c1", "--keep", ",".join(f"c{j}" for j in range(2, 200)))  # imports aside
    began = time.process_time()
    done = run("inspect", path)
    seconds = time.process_time() - began
    assert done.returncode == 0
    assert seconds < 5  # it was 22 where every pair was looked at
    assert done.stdout.splitlines()[-1].startswith("kanon-milp solve --data ")
