"""Files as people have them: whatever their delimiter, encoding, header and line ends, what is read from them is
released in the same form, and verified with the same options."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import sys
from pathlib import Path

import polars as pl
import pyomo.environ as pyo
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.problem.csv_files import CsvFormat
from kanon_milp.problem.table import read_frame, scan_frame

Rows = list[tuple[str | None, ...]]
PEOPLE: list[tuple[str, ...]] = [
    ("age", "ort", "note"),
    *[(str(20 + i // 3), "Köln" if i % 2 else "Görlitz", f"n{i % 4}") for i in range(12)],
]
CELLS = PEOPLE[1:]


def written(rows: list[tuple[str, ...]], delimiter: str = ",", end: str = "\n", *, quoted: bool = False) -> str:
    mark = '"' * quoted
    return "".join(delimiter.join(f"{mark}{cell}{mark}" for cell in row) + end for row in rows)


def read_both(path: Path, fmt: CsvFormat | None = None) -> tuple[list[str], Rows]:
    """What reading and scanning a file find, which is the same."""
    frame, scanned = read_frame(path, fmt), scan_frame(path, fmt).collect()
    assert frame.equals(scanned)
    return frame.columns, frame.rows()


def put(folder: Path, content: bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


WAYS = {
    "semicolons in cp1252 from Excel": (written(PEOPLE, ";", "\r\n").encode("cp1252"), ()),
    "the same with every cell quoted": (written(PEOPLE, ";", "\r\n", quoted=True).encode("cp1252"), ()),
    "UTF-16 with tabs": (("\ufeff" + written(PEOPLE, "\t", "\r\n")).encode("utf-16-le"), ()),
    "UTF-16, high byte first": (("\ufeff" + written(PEOPLE, "\t")).encode("utf-16-be"), ()),
    "UTF-16 without a mark": (written(PEOPLE, "\t").encode("utf-16-le"), ()),
    "a mark and sep=": (("\ufeffsep=;\r\n" + written(PEOPLE, ";", "\r\n")).encode(), ()),
    "bars": (written(PEOPLE, "|").encode(), ()),
    "a delimiter that is named": (written(PEOPLE, "\t").encode(), ("--delimiter", r"\t")),
    "and as a word": (written(PEOPLE, "\t").encode(), ("--delimiter", "tab")),
    "no header": (written(CELLS).encode(), ("--no-header",)),
    "no header, names given": (written(CELLS, ";").encode("cp1252"), ("--header", "age,ort,note")),
    "blank lines": (("\n\n" + written(PEOPLE[:4]) + " \n" + written(PEOPLE[4:]) + "\n\n").encode(), ()),
    "line ends of both kinds": ((written(PEOPLE[:4], end="\r\n") + written(PEOPLE[4:])).encode(), ()),
    "line ends of old": (written(PEOPLE, ";", "\r").encode(), ()),
}


@pytest.mark.parametrize("name", ["t.csv", "t.data", "t.dat.gz", "t.txt"])
@pytest.mark.parametrize("way", WAYS)
def test_any_way_to_write_a_table_is_read(way: str, name: str, tmp_path: Path) -> None:
    content, options = WAYS[way]
    path = put(tmp_path, content, name)
    header = False if "--no-header" in options else ["age", "ort", "note"] if "--header" in options else True
    fmt = CsvFormat.asked(path, options[1] if "--delimiter" in options else None, header=header)
    columns, rows = read_both(path, fmt)
    assert rows == CELLS
    assert columns == (["column_1", "column_2", "column_3"] if header is False else ["age", "ort", "note"])


@pytest.mark.parametrize("way", WAYS)
def test_what_is_released_is_written_as_the_table_was_and_verified(way: str, tmp_path: Path) -> None:
    content, options = WAYS[way]
    path, out = put(tmp_path, content), tmp_path / "out"
    names = ["column_1", "column_2", "column_3"] if "--no-header" in options else ["age", "ort", "note"]
    asked = ("--qi", ",".join(names[:2]), "--keep", names[2], "--k", 2, *options)
    done = run("solve", "--data", path, *asked, "--out", out)
    assert done.returncode == 0, done.stderr
    released = (out / "anonymized.csv").read_bytes()
    encoding = next(each for each in ("utf-8", "utf-16-le", "utf-16-be", "cp1252") if each in _fits(released, content))
    text, original = released.decode(encoding), content.decode(encoding)
    assert text.startswith("\ufeff") == original.startswith("\ufeff")
    assert text.removeprefix("\ufeff").splitlines()[0].replace('"', "").split(_delimiter(original)) == names
    end = next(each for each in ("\r\n", "\n", "\r") if each in original)
    assert text.endswith(end)
    assert "\n" not in text.replace(end, "")
    assert "sep=" not in text
    checked = run("verify", out / "anonymized.csv", "--original", path, *asked)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    for command in (("inspect", path), ("compress", path, "--qi", names[0]), ("qid", path)):
        assert run(*command, *options).returncode == 0


def _fits(released: bytes, content: bytes) -> list[str]:
    found = []
    for encoding in ("utf-8", "utf-16-le", "utf-16-be", "cp1252"):
        try:
            if "Köln" in content.decode(encoding):
                released.decode(encoding)
                found.append(encoding)
        except UnicodeError:
            continue
    return found


def _delimiter(text: str) -> str:
    return max(",;\t|", key=text.count)


@pytest.mark.parametrize(
    ("text", "delimiter", "columns"),
    [
        ('"Last, First";age\n"Smith, J";3\n"Doe, J";4\n', ";", ["Last, First", "age"]),
        ("a;b\n1;1,5\n2;2,5\n", ";", ["a", "b"]),
        ('"sep=|"\n"a|b"|c\n1|2\n', "|", ["a|b", "c"]),
        ("SEP=\t\na\tb\n1\t2\n", "\t", ["a", "b"]),
        ("a,b\n1,2\n", ",", ["a", "b"]),
        ("name\nx;y\n", ",", ["name"]),
        ("income\n1,5\n2,5\n", None, []),  # no row has as many fields as the header
        ("a;b\n1;2;3\n", ",", ["a;b"]),
        ("Last, First;age\nSmith, J;3\n", ",", ["Last", " First;age"]),  # both divide it: the comma, as ever
    ],
)
def test_a_delimiter_is_taken_where_there_is_no_doubt(
    text: str, delimiter: str | None, columns: list[str], tmp_path: Path
) -> None:
    path = put(tmp_path, text.encode())
    if delimiter is None:
        with pytest.raises(km.InputError, match="line 2: row 1 has 2 fields"):
            km.read_table(path, "a")
        return
    assert read_both(path)[0] == columns
    assert km.read_table(path, columns[0]).csv.delimiter == delimiter


def test_a_file_that_both_delimiters_divide_is_told_so(tmp_path: Path) -> None:
    path = put(tmp_path, b"Last, First;age\nSmith, J;3\n")
    with pytest.warns(km.FileWarning, match='"," and ";" divide its rows evenly; "," was taken'):
        read_frame(path)
    assert read_both(path, CsvFormat.asked(path, ";"))[0] == ["Last, First", "age"]


def test_a_delimiter_is_found_in_a_head_that_ends_within_a_cell(tmp_path: Path) -> None:
    rows = "".join(f'"{number}";"x{number},\r\ny"\r\n' for number in range(9000))
    columns, found = read_both(put(tmp_path, f'"a";"b"\r\n{rows}'.encode()))
    assert (columns, len(found), found[-1]) == (["a", "b"], 9000, ("8999", "x8999,\r\ny"))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("name,ort\nJürgen,Köln\n", "cp850"),
        ("name,ort\nJürgen,Köln\n", "mac-roman"),
        ("имя,город\nИван,Москва\n", "cp1251"),
        ("όνομα,πόλη\nΓιώργος,Αθήνα\n", "cp1253"),
        ("jméno,město\nDvořák,Plzeň\nŽižka,Tábor\n", "cp1250"),
        ("名前,都市\n太郎,東京\n", "shift-jis"),
        ("name,ort\nJürgen,Köln\n" * 2 + "\udcff", "utf-8"),
    ],
)
def test_an_encoding_in_doubt_is_asked_for(text: str, encoding: str, tmp_path: Path) -> None:
    path = put(tmp_path, text.encode(encoding, errors="surrogateescape"))
    for read in (read_frame, scan_frame):
        with pytest.raises(km.InputError, match="is not utf-8; name its encoding"):
            read(path)


def test_the_first_line_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = put(tmp_path, b"zip,ort\n1,K\xc3\xb6ln\n2,\xff\xfe\x81\n3,\xff\n")
    with pytest.raises(km.InputError, match=r"^[^,]*, line 3: is not utf-8; name its encoding"):
        read_frame(path)


def test_only_an_encoding_that_fits_is_proposed(tmp_path: Path) -> None:
    """What the file was not read as, since it does not fit, is not what is advised."""
    for content, said in (
        ("name,ort\nJürgen,Köln\n".encode("mac-roman"), r"--encoding\), such as mac-roman$"),
        ("name,ort\nJürgen,Köln\n".encode("cp850"), r"--encoding\), such as mac-roman or cp850$"),
        (b"age,name\n40,\x8d\x90\x81\n", r"cp1252, mac-roman, cp850 do not seem to fit either$"),
    ):
        with pytest.raises(km.InputError, match=said):
            read_frame(put(tmp_path, content))
    path = put(tmp_path, "name,ort\nJürgen,Köln\n".encode("cp1252"))
    with pytest.raises(km.InputError, match=r"is not ascii; name its encoding .*, such as cp1252$"):
        read_frame(path, CsvFormat.asked(path, encoding="ascii"))


def test_zero_bytes_are_read_and_told_with_their_lines(tmp_path: Path) -> None:
    """They are characters of the cell, as they are in data frames; a file with some is rarely what was meant."""
    path = put(tmp_path, b'a,b\n1,x\n2,y\0\n"3\n\0",z\0\n')
    for read in (read_frame, scan_frame):
        with pytest.warns(km.FileWarning, match=r"2 lines, line 3 first, hold a zero byte \(NUL\)"):
            found = read(path).lazy().collect()
        assert found["b"].to_list() == ["x", "y\0", "z\0"]
    path.write_bytes(b"a,b\n1,x\0\n")
    said = run("solve", "--data", path, "--qi", "a", "--keep", "b", "--k", 1, "--out", tmp_path / "out")
    assert said.returncode == 0
    assert "t.csv: line 2 holds a zero byte (NUL)" in said.stderr


@pytest.mark.parametrize(
    "text", ["l'été, à Nîmes – déjà 25 °C, œuvre", "GRÖSSE 3½ m², Straße „Nr. 5“", "señor ¿qué?, ça coûte 5 €", "Å, ø"]
)
def test_western_text_is_read_as_cp1252(text: str, tmp_path: Path) -> None:
    path = put(tmp_path, f'a\n"{text}"\n"{text}"\nx\n'.encode("cp1252"))
    with pytest.warns(km.FileWarning, match="read as cp1252 text"):
        assert read_frame(path)["a"][0] == text


def test_a_released_table_without_its_letters_is_read_as_its_original(tmp_path: Path) -> None:
    """All that is in doubt in what is left of it is settled by the original."""
    path, out = put(tmp_path, "a,b\nKöln,Ä\nKöln,É\nBonn,ÄÖÜ\n".encode("cp1252")), tmp_path / "out"
    asked = ("--qi", "a", "--keep", "b", "--k", 3)
    assert run("solve", "--data", path, *asked, "--out", out).returncode == 2  # three such letters in a row
    done = run("solve", "--data", path, *asked, "--encoding", "cp1252", "--out", out)
    assert done.returncode == 0, done.stderr
    path.write_bytes(path.read_bytes().replace("ÄÖÜ".encode("cp1252"), b"x"))
    assert run("solve", "--data", path, *asked, "--out", tmp_path / "two").returncode == 0
    assert (tmp_path / "two" / "anonymized.csv").read_bytes() == "a,b\n*,Ä\n*,É\n*,x\n".encode("cp1252")
    assert run("verify", tmp_path / "two" / "anonymized.csv", "--original", path, *asked).returncode == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\r\n1,2\r\n\r\n3\r\n", "line 4: row 2 has 1 field, the header has 2"),
        (b'a,b\n"x\ny",2\n1,2,3\n', "line 4: row 2 has 3 fields"),
        (
            b"a,b\n1,2,\n3,4,\n",
            r'the header has 2; the row ends in ",": where all do, end the header in it, too \(a last',
        ),
        (b'sep=;\na;b\n"1";"2";\r\n', 'the row ends in ";"'),
        (b"a,b\n1,2,3\n", r'the header has 2; is the delimiter "," right'),
        (b"a,,\n1,2,3\n", "columns 2 and 3 of the header have no name; name them, or remove them"),
        (b"a,b,a\n1,2,3\n", "columns 1 and 3 of the header have the same name; rename one of them"),
        (b"a;b\n", "the table has no rows"),
        (b"sep=;\n\n", "the file is blank: a header row"),
        (b'a,b\n"1,2\n', "the row that begins in line 2 is not valid CSV: a quotation mark is opened and never"),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_what_is_wrong_is_told_with_its_line(content: bytes, message: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(km.InputError, match=message):
        read_frame(put(tmp_path, content, name))


def test_texts_for_a_missing_value_are_stripped_and_named_where_they_are_nowhere(tmp_path: Path) -> None:
    path = put(tmp_path, b"a,b\n ?,1\nx,NA\nx,2\n")
    for given in (["? ", "NA"], ["'?'", "'NA'"], ["?", "NA "]):
        done = run("compress", path, "--qi", "a,b", f"--missing-values={','.join(given)}", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        found = read_frame(path, CsvFormat.asked(path, missing_values=given))
        assert found.rows() == [(None, "1"), ("x", None), ("x", "2")]
    for command in (
        ("inspect", path),
        ("compress", path, "--qi", "a"),
        ("qid", path),
        ("solve", "--data", path, "--qi", "a,b", "--k", 3),
        ("verify", path, "--original", path, "--qi", "a,b"),
    ):
        said = run(*command, "--missing-values", "?,n/a,NULL").stderr
        assert 'no cell is "n/a" or "NULL", although it was named as a missing value' in said, command
        assert '"?"' not in said
    with pytest.warns(km.FileWarning, match='no cell is "-"'):
        assert any('no cell is "-"' in each for each in km.read_table(path, "a", missing_values="-").warnings)


def test_an_unknown_column_is_told_which_there_are(tmp_path: Path) -> None:
    path = put(tmp_path, b"age,city,sex\n31,Bonn,f\n32,Bonn,m\n33,Ulm,f\n")
    said = 'there is no column "income" (quasi-identifier); the columns are age, city, sex'
    mask, folder, model = tmp_path / "mask.csv", tmp_path / "h", tmp_path / "m.toml"
    mask.write_text("age,town\nkeep,*\n*,*\n")
    folder.mkdir()
    model.write_text('[data]\nfile = "t.csv"\nquasi_identifiers = ["income"]\n[privacy]\nk = 2\n')
    asked = ("--data", path, "--k", 2, "--qi", "age,city")
    known = "; the quasi-identifiers are age, city"
    for command, message in (
        (("solve", "--data", path, "--qi", "income", "--k", 2), said),
        (("compress", path, "--qi", "income"), said),
        (("qid", path, "--qi", "income"), said),
        (("inspect", path, "--qi", "income"), said),
        (("verify", path, "--original", path, "--qi", "income"), said),
        (("solve", model), said),
        (("solve", *asked, "--sensitive", "sax"), '(sensitive attribute) (did you mean "sex"?); the columns are age,'),
        (("solve", *asked, "--mask", mask), f"column 2 of the header is not a quasi-identifier{known}"),
        (("solve", *asked, "--hierarchies", folder), f"no hierarchy of any quasi-identifier (files COLUMN.csv){known}"),
        (
            ("solve", *asked, "--numeric", "income=5"),
            f'"income" (widths 5) is no quasi-identifier, so it takes no hierarchy{known}',
        ),
        (("solve", *asked, "--weight", "income=5"), f'--weight: "income" is not a quasi-identifier{known}'),
        (("solve", *asked, "--level", "income=1"), f'--level: "income" is not a quasi-identifier{known}'),
    ):
        done = run(*command)
        assert done.returncode == 2
        assert message in done.stderr, command
        assert done.stderr.count("\n") == 1
    wide = written([tuple(f"c{number}" for number in range(60)), ("x",) * 60])
    with pytest.raises(km.InputError, match=r"c49 and 10 more; if no row names the columns, say --no-header$"):
        km.read_table(put(tmp_path, wide.encode()), "y")


def workbook(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    book = xlsxwriter.Workbook(str(path))
    when = book.add_format({"num_format": "dd.mm.yyyy"})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for number, row in enumerate(rows):
            for place, value in enumerate(row):
                if isinstance(value, dt.date):
                    sheet.write_datetime(number, place, value, when)
                elif value is not None:
                    sheet.write(number, place, value)
    book.close()
    return path


def test_the_first_sheet_of_a_workbook_is_read_as_text(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["age", "born", "seen", "zip", "weight", "note"],
        [31, dt.date(1990, 1, 2), dt.datetime(2020, 1, 2, 3, 4), "01067", 80.5, None],
        [],
        [38, dt.date(1991, 12, 31), dt.datetime(2020, 1, 3), "10115", 82, "a, b"],
        [None, None, None, None, 3.0, " x "],
    ]
    path = workbook(tmp_path / "t.xlsx", {"people": rows, "more": [["x"]]})
    with pytest.warns(km.FileWarning, match='has 2 sheets; the first one, "people", is read'):
        columns, found = read_both(path)
    assert columns == rows[0]
    assert found == [
        ("31", "1990-01-02", "2020-01-02 03:04:00", "01067", "80.5", None),
        ("38", "1991-12-31", "2020-01-03 00:00:00", "10115", "82", "a, b"),
        (None, None, None, None, "3", " x "),
    ]
    out, asked = tmp_path / "out", ("--qi", "age,zip", "--keep", "born,seen,weight,note", "--k", 3)
    assert run("solve", "--data", path, *asked, "--out", out).returncode == 0
    assert run("verify", out / "anonymized.csv", "--original", path, *asked).returncode == 0
    assert json.loads(run("inspect", path, "--json").stdout)["columns"][1]["kind"] == "date"


def test_workbooks_that_cannot_be_read_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "t.xlsx", {"s": [[1, "a"], [2, "b"]]})
    assert read_both(path, CsvFormat.asked(path, header=False)) == (["column_1", "column_2"], [("1", "a"), ("2", "b")])
    with pytest.raises(km.InputError, match="columns 1 and 2 of the header have the same name"):
        read_frame(workbook(tmp_path / "d.xlsx", {"s": [["a", "a"], [2, "b"]]}))
    with pytest.raises(km.InputError, match="empty"):
        read_frame(workbook(tmp_path / "e.xlsx", {"s": []}))
    renamed = tmp_path / "t.csv"
    renamed.write_bytes(path.read_bytes())
    with pytest.raises(km.InputError, match=r"looks like an Excel file; the name of such a file must end in \.xlsx"):
        read_frame(renamed)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(km.InputError, match="cannot be read as an Excel workbook; is it one, without a password"):
        read_frame(path)
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(km.InputError, match=r"needs fastexcel, which is not installed; .*kanon-milp\[excel\]"):
        read_frame(path)


def test_side_files_have_delimiters_encodings_and_blank_lines_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "ort.csv"
    text = "sep=;\r\nlevel0;level1;level2\r\nKöln;Süden;*\r\n\r\nBonn;Süden;*\r\n\r\n"
    for encoding in ("cp1252", "utf-8", "utf-8-sig", "utf-16"):
        path.write_bytes(text.encode(encoding))
        assert list(km.Hierarchy.read(path).paths.values()) == [("Köln", "Süden", "*"), ("Bonn", "Süden", "*")]
    path.write_bytes(text.encode("cp850"))
    with pytest.raises(km.InputError, match="name its encoding"):
        km.Hierarchy.read(path)
    assert "Köln" in km.Hierarchy.read(path, "cp850").paths
    path.write_bytes("Größe;ort\nkeep;*\n\n*;*\n".encode("cp1252"))
    assert km.PatternMask.read(path).columns == ("Größe", "ort")


def test_a_hierarchy_in_utf_8_goes_with_a_table_in_cp1252(tmp_path: Path) -> None:
    table, folder, out = put(tmp_path, written(PEOPLE, ";", "\r\n").encode("cp1252")), tmp_path / "h", tmp_path / "out"
    folder.mkdir()
    (folder / "ort.csv").write_text("Köln;Süd ä;*\nGörlitz;Süd ä;*\n", encoding="utf-8")
    asked = ("--qi", "age,ort", "--keep", "note", "--hierarchies", folder, "--k", 3)
    done = run("solve", "--data", table, *asked, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "Süd ä".encode("cp1252") in (out / "anonymized.csv").read_bytes()
    page = tmp_path / "report.html"
    run("report", out, "--out", page)
    assert run("verify", out / "anonymized.csv", "--original", table, *asked).returncode == 0
    assert json.loads((out / "result.json").read_text())["input"]["table"]["found"] == ["encoding", "delimiter"]


def test_errors_of_other_packages_are_one_line() -> None:
    problem = km.Problem(km.Table.from_frame(pl.DataFrame({"a": ["x", "y", "x"]}), "a"), km.KAnonymity(2))
    model = km.build_model(problem)
    model.more = pyo.Param(mutable=True)
    model.cut = pyo.Constraint(expr=sum(model.open.values()) <= model.more)
    with pytest.raises(km.InputError) as caught:
        km.solve_model(problem, model)
    assert "Error evaluating Param value (more): The Param value is" in str(caught.value)
    assert "\\n" not in str(caught.value)
    assert "\\t" not in str(caught.value)
