"""The numbers on a result's page, counted again from the two CSV files in plain Python, with nothing of the package."""

from __future__ import annotations

import csv
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command_line import run

QI = ("age", "zip", "job")
WIDTHS = (10, 40)
PREFIXES = (3, 1)
K = 3
LARGEST = 24  # values of a column that are drawn one by one


@dataclass
class Element:
    """An element of the page, with what is in it."""

    name: str
    attributes: dict[str, str | None]
    inside: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(each if isinstance(each, str) else each.text for each in self.inside)

    def all(self, name: str) -> list[Element]:
        found = []
        for each in self.inside:
            if isinstance(each, Element):
                found += [each] * (each.name == name) + each.all(name)
        return found

    def number(self, attribute: str) -> float:
        value = self.attributes[attribute]
        assert value is not None
        return float(value)


class Tree(HTMLParser):
    """The elements of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.root = Element("", {})
        self._open = [self.root]
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self._open[-1].inside.append(element)
        if tag not in ("meta", "link", "br", "hr", "img", "input"):
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].inside.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self._open[-1].name != tag:
            self._open.pop()
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].inside.append(data)


def section(page: Element, title: str) -> Element:
    (found,) = [each for each in page.all("section") if each.all("h2")[0].text == title]
    return found


def rows_of(table: Element) -> list[list[Element]]:
    """The cells of a table's body."""
    (body,) = table.all("tbody")
    return [[each for each in row.inside if isinstance(each, Element)] for row in body.all("tr")]


def table_of(part: Element, caption: str) -> list[list[Element]]:
    (found,) = [each for each in part.all("table") if each.all("caption")[0].text.startswith(caption)]
    return rows_of(found)


def per_cent(value: Fraction | float) -> str:
    return f"{100 * float(value):.1f} %"


@dataclass
class Case:
    """The page, and the two tables as a spreadsheet reads them."""

    page: Element
    before: list[dict[str, str]]
    after: list[dict[str, str]]
    generalized: bool


def written(folder: Path, seed: int, generalized: bool) -> Case:
    draw = random.Random(seed)
    n = draw.randint(25, 45)
    zips = [f"{draw.choice('0123')}{draw.randint(0, 999):03}" for _ in range(12)]
    people = [
        {
            "age": str(draw.randint(20, 60)) if draw.random() > 0.08 else "",
            "zip": draw.choice(zips),
            "job": draw.choice("abcd"),
            "ill": draw.choice("uuvvw"),
        }
        for _ in range(n)
    ]
    table = folder / "people.csv"
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, people[0])
        writer.writeheader()
        writer.writerows(people)
    levels = ("--numeric", f"age={','.join(map(str, WIDTHS))}", "--prefix", f"zip={','.join(map(str, PREFIXES))}")
    asked = ("--data", table, "--qi", ",".join(QI), "--sensitive", "ill", "--k", K, "--method", "greedy")
    out = folder / "out"
    done = run("solve", *asked, *(levels if generalized else ()), "--out", out, "--report", folder / "report.html")
    assert done.returncode in (0, 4), done.stderr
    with (out / "anonymized.csv").open(newline="") as file:
        after = list(csv.DictReader(file))
    page = Tree((folder / "report.html").read_text(encoding="utf-8")).root
    return Case(page, people, after, generalized)


@pytest.fixture(params=[(seed, generalized) for seed in (1, 2, 3) for generalized in (False, True)])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    return written(tmp_path, *request.param)


def classes(rows: Sequence[dict[str, str]]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(row[name] for name in QI) for row in rows)


def level(name: str, before: str, after: str) -> Fraction:
    """The level of a cell as a share of the height: 0 for the value itself, 1 where it is suppressed."""
    if after == before:
        return Fraction(0)
    if after == "*":
        return Fraction(1)
    if name == "age":
        if before:
            low, high = map(int, after.split("-"))
            assert low <= int(before) <= high
            return Fraction(1 + WIDTHS.index(high - low + 1), len(WIDTHS) + 1)
        # the label of what is missing stands at the first levels alike
        return Fraction(1, len(WIDTHS) + 1)
    kept = len(after.rstrip("*"))
    assert name == "zip"
    assert before.startswith(after.rstrip("*"))
    return Fraction(1 + PREFIXES.index(kept), len(PREFIXES) + 1)


def test_risks(case: Case) -> None:
    part = section(case.page, "Risk of re-identification")
    n = len(case.before)
    expected: list[list[Fraction]] = []
    for rows in (case.before, case.after):
        # rows of which nothing is released are told apart
        held = [row for row in rows if any(row[name] != "*" for name in QI)] or rows
        sizes = classes(held)
        of_row = [Fraction(1, sizes[tuple(row[name] for name in QI)]) for row in held]
        unique, below = sum(each == 1 for each in of_row), sum(1 for each in of_row if each > Fraction(1, K))
        highest, average = max(of_row), sum(of_row, Fraction(0)) / len(of_row)
        expected.append([highest, average, highest, average, Fraction(unique, n), Fraction(below, n)])
    lines = table_of(part, "Risk of re-identification")
    assert [line[0].text.split(":")[0] for line in lines] == [
        "prosecutor",
        "prosecutor",
        "journalist",
        "marketer",
        "rows that are unique",
        f"rows in groups of fewer than {K}",
    ]
    for line, *values in zip(lines, *expected, strict=True):
        for cell, bar, value in ((line[1], line[2], values[0]), (line[3], line[4], values[1])):
            assert cell.number("data-v") == pytest.approx(float(value), rel=1e-12)
            assert cell.text == per_cent(value)
            drawn = [each.number("width") for each in bar.all("rect") if each.attributes["class"] == "one"]
            assert sum(drawn) == pytest.approx(100 * float(value), abs=0.01)
    said = part.all("p")[0].text
    alone = [int(n * values[4]) for values in expected]
    assert f"Before, {alone[0]} row" in said
    assert f"in the released table {alone[1]} can" in said
    assert f"at most {per_cent(expected[1][0])} (before: {per_cent(expected[0][0])})" in said


def test_group_sizes(case: Case) -> None:
    part = section(case.page, "Group sizes")
    sizes = Counter(classes(case.after).values())
    shown = [[int(cell.number("data-v")) for cell in line] for line in table_of(part, "Groups by size")]
    assert shown == [[size, count, size * count] for size, count in sorted(sizes.items())]
    titles = [each.all("title")[0].text for each in part.all("rect") if each.all("title")]
    drawn = {int(size): int(count) for size, count in (title.split(": ") for title in titles)}
    assert {size: count for size, count in drawn.items() if count} == sizes
    heights = {title: each.number("height") for each, title in zip(part.all("rect"), titles, strict=False)}
    tallest = max(sizes.values())
    full = max(heights.values())
    for title, height in heights.items():
        assert height == pytest.approx(full * int(title.split(": ")[1]) / tallest, abs=0.02)
    groups, rows = sum(sizes.values()), len(case.after)
    least, most = min(sizes), max(sizes)
    spread = f"{least} to {most} rows, {rows / groups:.2f} on average" if least < most else f"of {most} row"
    assert f"{groups} group" in part.all("figcaption")[0].text
    assert spread in part.all("figcaption")[0].text


def test_loss_and_measures(case: Case) -> None:
    part = section(case.page, "What was released")
    tiles = {each.all("dt")[0].text: each.all("dd")[0] for each in part.all("div") if each.all("dt")}
    tiles = {name: each for name, each in tiles.items() if name}
    pairs = [(name, a[name], b[name]) for a, b in zip(case.before, case.after, strict=True) for name in QI]
    losses = [level(*pair) for pair in pairs]
    shown = float(str(tiles["loss"].inside[0]).replace(",", ""))
    assert shown == pytest.approx(float(sum(losses)), rel=1e-5)
    stars = sum(after == "*" for _, _, after in pairs)
    assert tiles["suppressed cells"].inside[0] == per_cent(Fraction(stars, len(pairs)))
    assert tiles["suppressed cells"].all("small")[0].text == f"{stars:,} of {len(pairs):,}"
    sizes = classes(case.after).values()
    assert tiles["groups"].inside[0] == str(len(sizes))
    held = [size for row, size in classes(case.after).items() if set(row) != {"*"}] or sizes
    assert tiles["smallest group"].inside[0] == str(min(held))
    lines = table_of(part, "Measures of information loss")
    found = {line[0].text.split(" ")[0].strip(","): line[1].number("data-v") for line in lines}
    assert found["precision"] == pytest.approx(1 - float(sum(losses) / len(pairs)), rel=1e-12)
    assert found["discernibility"] == sum(size * size for size in sizes)
    assert found["average"] == pytest.approx(len(case.after) / len(sizes) / K, rel=1e-12)
    if not case.generalized:
        assert found["normalized"] == pytest.approx(stars / len(pairs), rel=1e-12)
        assert found["entropy"] == pytest.approx(entropy_lost(case), rel=1e-9)


def entropy_lost(case: Case) -> float:
    """Non-uniform entropy (Gionis and Tassa 2009) of suppressed cells, as a share of that of a table of stars: a star
    in place of a value loses the bits that it takes to say which of the column's values it was."""
    lost = most = 0.0
    for name in QI:
        counts, n = Counter(row[name] for row in case.before), len(case.before)
        for before, after in zip(case.before, case.after, strict=True):
            bits = -math.log2(counts[before[name]] / n)
            most += bits
            lost += bits if after[name] == "*" else 0.0
    return lost / most


def test_sensitive_values_in_groups(case: Case) -> None:
    everywhere, n = Counter(row["ill"] for row in case.after), len(case.after)
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in case.after:
        groups.setdefault(tuple(row[name] for name in QI), []).append(row["ill"])
    fewest = min(len(set(values)) for values in groups.values())
    largest = max(Fraction(max(Counter(values).values()), len(values)) for values in groups.values())
    furthest = max(
        sum(
            abs(Fraction(Counter(values)[each], len(values)) - Fraction(count, n)) for each, count in everywhere.items()
        )
        for values in groups.values()
    )
    (line,) = table_of(section(case.page, "What was released"), "What holds in every group")
    assert line[0].text == "ill"
    shown = [cell.number("data-v") for cell in line[1:]]
    assert shown == pytest.approx([fewest, float(1 / largest), float(largest), float(furthest / 2)], rel=1e-12)


def test_columns_and_distributions(case: Case) -> None:
    part = section(case.page, "Loss by column")
    n = len(case.before)
    lines = table_of(part, "What became of the cells")
    pictures = [each for each in part.all("div") if each.inside and getattr(each.inside[0], "name", "") == "h3"]
    assert [line[0].text for line in lines] == [each.all("h3")[0].text for each in pictures] == list(QI)
    for name, line, picture in zip(QI, lines, pictures, strict=True):
        pairs = [(a[name], b[name]) for a, b in zip(case.before, case.after, strict=True)]
        kept, stars = sum(a == b for a, b in pairs), sum(b == "*" for _, b in pairs)
        counts = [kept, n - kept - stars, stars]
        assert [cell.number("data-v") for cell in line[2:5]] == pytest.approx([each / n for each in counts])
        assert [cell.text for cell in line[2:5]] == [per_cent(Fraction(each, n)) for each in counts]
        widths = [each.number("width") for each in line[1].all("rect")[1:]]
        assert widths == pytest.approx([100 * each / n for each in counts if each], abs=0.01)
        distinct = [len({pair[side] for pair in pairs}) for side in (0, 1)]
        assert [int(cell.number("data-v")) for cell in line[5:]] == distinct

        values = Counter(a for a, _ in pairs)
        still = Counter(a for a, b in pairs if a == b)
        expected = sorted(((count, still[value]) for value, count in values.items()), reverse=True)
        shown, rest = expected[:LARGEST], expected[LARGEST:]
        (svg,) = picture.all("svg")
        said = re.findall(r"([\d,]+) rows, ([\d,]+) kept", svg.attributes["aria-label"] or "")
        assert [(int(rows), int(left)) for rows, left in said] == shown[:5]
        heights = [each.number("height") for each in svg.all("rect")[1:]]
        full = max(heights)
        drawn = [full * each / shown[0][0] for pair in shown for each in pair]
        assert heights == pytest.approx(drawn, abs=0.02)
        words = picture.all("p")[0].text
        assert words.startswith(f"{distinct[0]} value")
        assert f"most frequent: {per_cent(Fraction(shown[0][0], n))} of rows" in words
        if rest:
            rows, left = (sum(each) for each in zip(*rest, strict=True))
            assert re.search(rf"{len(rest)} rarer values? in {rows} rows?, {left} kept", words)
        else:
            assert "rarer" not in words


def test_what_was_optimized_afterwards_is_on_the_page_and_in_the_summary(tmp_path: Path) -> None:
    path, page = tmp_path / "t.csv", tmp_path / "page.html"
    path.write_text("a,b\n" + "1,x\n" * 2 + "1,y\n" + "2,x\n" + "2,y\n" * 2)
    asked = ["solve", "--data", path, "--qi", "a,b", "--k", "2", "--report", page]
    shown = run(*asked, "--objective", "max_groups", "--then", "loss")
    assert shown.returncode == 0
    text = Tree(page.read_text()).root.text
    assert re.search(r"then\s*loss: (\d+) \(proven\)", text)
    assert "optimized after it" in text
    assert "which was optimized after it" in shown.stdout
    assert "not what was optimized" not in shown.stdout + text
    shown = run(*asked, "--objective", "max_groups")
    assert "which was not what was optimized" in shown.stdout
    assert "not what was optimized" in page.read_text()
