"""Print Table 1 of Bredereck, Nichterlein, Niedermeier 2013 (Adult, greedy against Mondrian) beside its numbers.

    python benchmarks/table1.py [--k 2,10,100] [--half greedy|mondrian]

The greedy half is this package's `greedy` on all 32,561 rows, with rows that are suppressed as a whole exempt from k,
as in the paper. The Mondrian half follows the rules of the program that they ran, the UT Dallas Anonymization Toolbox;
`studies/table1.md` says which, and what is not known of it. It takes some minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

import kanon_milp as km
from kanon_milp.studies.datasets import ADULT_RAW, load
from kanon_milp.studies.metrics import numeric_values, usefulness
from kanon_milp.system.arrays import Flags, Floats, Ints

COLUMNS = [name for name in ADULT_RAW if name != "fnlwgt"]
MISSING = "?"
# k: usefulness, #h, h_avg, h_max of the greedy heuristic, then of Mondrian
PAPER = {
    2: ((2.062, 14589, 2.232, 16), (3.505, 11136, 2.709, 61)),
    3: ((2.290, 9208, 3.536, 18), (3.782, 7306, 4.128, 61)),
    4: ((2.470, 6670, 4.882, 25), (4.007, 5432, 5.553, 61)),
    5: ((2.615, 5199, 6.263, 31), (4.191, 4325, 6.974, 61)),
    6: ((2.738, 4315, 7.546, 42), (4.362, 3597, 8.385, 61)),
    7: ((2.851, 3669, 8.875, 53), (4.498, 3053, 9.879, 61)),
    8: ((2.942, 3193, 10.198, 53), (4.622, 2663, 11.326, 61)),
    9: ((3.026, 2832, 11.498, 52), (4.766, 2368, 12.737, 69)),
    10: ((3.106, 2559, 12.724, 56), (4.875, 2145, 14.062, 70)),
    25: ((3.840, 1046, 31.129, 161), (6.009, 850, 35.485, 90)),
    50: ((4.462, 537, 60.635, 317), (6.729, 430, 70.144, 135)),
    75: ((4.873, 354, 91.980, 317), (7.339, 287, 105.094, 242)),
    100: ((5.151, 274, 118.836, 317), (7.805, 209, 144.316, 242)),
}
# the order in which the table's own description (adult.names) lists the categories
ORDER = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters "
    "1st-4th 10th Doctorate 5th-6th Preschool",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native-country": "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India "
    "Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland "
    "France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand "
    "Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
    "salary-class": ">50K <=50K",
}


@dataclass(frozen=True, eq=False)
class Table:
    """Rows as numbers, float64 (n, m): categories by their place in `ORDER`. numeric: bool (m,)."""

    values: Floats
    numeric: Flags

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Table:
        """Complete rows of Adult."""
        values = np.empty((frame.height, frame.width))
        numeric = np.zeros(frame.width, dtype=np.bool_)
        for j, name in enumerate(frame.columns):
            numbers = numeric_values(frame[name])
            numeric[j] = numbers is not None
            place = {word: at for at, word in enumerate(ORDER.get(name, "").split())}
            values[:, j] = [float(each) for each in numbers] if numbers else [place[each] for each in frame[name]]
        return cls(values, numeric)


@dataclass(frozen=True, eq=False)
class Box:
    """Rows, int64, and between which ends the toolbox says they lie, float64 (m,)."""

    rows: Ints
    low: Floats
    high: Floats


def mondrian(table: Table, k: int) -> Iterator[Box]:
    """Cut a box after the median of its widest column, as long as both sides have k rows.

    The width is that of the box, as a share of the column's whole range, not of the rows inside; of equally wide
    columns that can be cut the first one is. The ends of a box are medians at which it was cut, or those of the range.
    """
    values, low, high = table.values, table.values.min(0), table.values.max(0)
    open_ = [Box(np.arange(len(values)), low, high)]
    while open_:
        box = open_.pop()
        sides = _cut(values, box, (box.high - box.low) / (high - low), k)
        if sides is None:
            yield box
        else:
            open_.extend(sides)


def _cut(values: Floats, box: Box, widths: Floats, k: int) -> tuple[Box, Box] | None:
    inside, size = values[box.rows], len(box.rows)
    half = (size + 1) // 2 - 1
    for j in np.argsort(-widths, kind="stable").tolist():
        if widths[j] <= 0 or size < 2 * k:
            return None
        median = np.partition(inside[:, j], half)[half]
        below = inside[:, j] <= median
        if min(below.sum(), size - below.sum()) >= k:
            low, high = box.low.copy(), box.high.copy()
            low[j] = high[j] = median
            return Box(box.rows[below], box.low, high), Box(box.rows[~below], low, box.high)
    return None


def usefulness_of(table: Table, boxes: list[Box], *, as_boxes: bool) -> float:
    """Mean over the groups of Σ over the columns: of numbers, how wide the box (or the group's values) is as a share of
    the range; of others, the group's different values as a share of all."""
    values = table.values
    span, many = values.max(0) - values.min(0), np.array([len(np.unique(column)) for column in values.T])
    total = 0.0
    for box in boxes:
        inside = values[box.rows]
        wide = box.high - box.low if as_boxes else inside.max(0) - inside.min(0)
        kinds = np.array([len(np.unique(column)) for column in inside.T])
        total += float(np.where(table.numeric, wide / span, kinds / many).sum())
    return total / len(boxes)


def show_greedy(frame: pl.DataFrame, ks: list[int]) -> None:
    """The left half."""
    print(f"greedy heuristic, {frame.height:,} rows; in brackets the paper's figure")
    table = km.Table.from_frame(frame, COLUMNS)
    for k in ks:
        problem = km.Problem(table, km.KAnonymity(k), suppressed_rows="exempt")
        released = km.solve(problem, method="greedy").table
        assert released is not None
        sizes = released.group_by(COLUMNS).len()["len"]
        found = (float(usefulness(frame, released)), len(sizes), frame.height / len(sizes), max(sizes))
        print(_line(k, found, PAPER[k][0]), flush=True)


def show_mondrian(frame: pl.DataFrame, ks: list[int]) -> None:
    """The right half."""
    complete = frame.filter(pl.all_horizontal(pl.all() != MISSING))
    print(f"Mondrian by the toolbox's rules, {complete.height:,} rows without a missing value; in brackets the paper's")
    table = Table.of(complete)
    for k in ks:
        boxes = list(mondrian(table, k))
        found = (
            usefulness_of(table, boxes, as_boxes=True),
            len(boxes),
            complete.height / len(boxes),
            max(len(box.rows) for box in boxes),
        )
        by_values = usefulness_of(table, boxes, as_boxes=False)
        print(f"{_line(k, found, PAPER[k][1])}   u by the groups' values {by_values:.3f}", flush=True)


def _line(k: int, found: tuple[float, int, float, int], paper: tuple[float, int, float, int]) -> str:
    pairs = zip(("u {:.3f}", "#h {:,}", "h_avg {:.3f}", "h_max {}"), found, paper, strict=True)
    words = (f"{form.format(value)} ({form.partition(' ')[2].format(said)})" for form, value, said in pairs)
    return f"k = {k:<4}" + "   ".join(f"{each:<22}" for each in words).rstrip()


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--k", default=",".join(map(str, PAPER)), help="some of the table's k")
    given.add_argument("--half", choices=("greedy", "mondrian"), help="one of its halves; default both")
    asked = given.parse_args()
    ks = [int(each) for each in asked.k.split(",")]
    frame = load("adult_raw").select(COLUMNS)
    if asked.half != "mondrian":
        show_greedy(frame, ks)
    if asked.half != "greedy":
        show_mondrian(frame, ks)


if __name__ == "__main__":
    main()
