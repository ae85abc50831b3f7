"""Helpers of the tests of certificates: one table with known numbers, and points drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from case_judge import certified_sides
from hypothesis import strategies as st
from oracle import optimum
from sensitive_cases import SensitiveCase
from strategies import Case, drawn_sets

import kanon_milp as km
from kanon_milp.bounds import Certificate, DualPoint, certified_instance, certify, lagrangian, type_sets
from kanon_milp.bounds.certificate import certify_required, required_instance
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.rank_one_cuts import RankOneCuts
from kanon_milp.verify.certificate import CertificateReport

Q8 = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
ROWS = [("m", "30"), ("m", "30"), ("m", "31"), ("f", "31"), ("f", "40"), ("f", "41")]

Cut = tuple[list[int], list[int], int, float]  # a rank-1 cut: distinct rows, weights, denominator, multiplier


def point(
    multipliers: Sequence[float],
    sets: Sequence[Sequence[int]] = (),
    charges: Sequence[float] = (),
    cuts: Sequence[Cut] = (),
) -> DualPoint:
    return DualPoint(
        np.array(multipliers, dtype=float),
        0.0,
        None,
        np.zeros(0),
        sets=type_sets(sets),
        packing_multipliers=np.array(charges, dtype=float),
        rank_one_cuts=RankOneCuts.of(cut[:3] for cut in cuts),
        cut_multipliers=np.array([cut[3] for cut in cuts], dtype=float),
    )


@st.composite
def drawn_cuts(draw: st.DrawFn, count: int, largest: int) -> tuple[list[int], list[int], int, int]:
    """A rank-1 cut over some of `count` distinct rows, its multiplier at most `largest`."""
    rows = sorted(draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=5)))
    weights = draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows)))
    return rows, weights, draw(st.integers(1, 6)), draw(st.integers(0, largest))


def best_loss(case: Case | SensitiveCase) -> Fraction | None:
    """The least loss, other objectives and the side constraints that no certificate states aside."""
    plain = case.case if isinstance(case, SensitiveCase) else case
    left_out = plain.sides.keys() - certified_sides(plain)
    asked = {key: value for key, value in case.judged().items() if key not in left_out}
    return optimum(plain.rows, case.k, **asked)


def drawn_dual(data: st.DataObject, problem: km.Problem) -> DualPoint:
    """Any multipliers, or the best ones; with packing cuts, and rank-1 cuts that they are good or bad for."""
    instance = certified_instance(problem)
    cuts = data.draw(st.lists(drawn_cuts(instance.types.count, 8), max_size=3))
    if data.draw(st.booleans()) and set(instance.candidates.members.tolist()) == set(range(instance.types.count)):
        best = lagrangian(instance)
        more = point(with_cuts(best.multipliers.tolist(), cuts), cuts=cuts)
        return replace(more, sets=best.sets, packing_multipliers=best.packing_multipliers)
    count = instance.types.count
    quarters = data.draw(st.lists(st.integers(-12, 48), min_size=count, max_size=count))
    sets, charges = drawn_sets(data, count, 24)
    return point([x / 4 for x in quarters], [each.tolist() for each in sets.each()], (charges / 4).tolist(), cuts)


def with_cuts(multipliers: Sequence[float], cuts: Sequence[Cut]) -> list[float]:
    """A row is worth what it adds to rank-1 cuts too."""
    found = list(multipliers)
    for rows, weights, denominator, each in cuts:
        for i, p in zip(rows, weights, strict=True):
            found[i] += each * p / denominator
    return found


def table(rows: Sequence[tuple[str | None, ...]] = ROWS) -> km.Table:
    return km.Table.from_frame(pl.DataFrame(list(rows), schema=["sex", "age"], orient="row"), ["sex", "age"])


def problem(k: int = 2, rows: Sequence[tuple[str | None, ...]] = ROWS, **more: Any) -> km.Problem:
    return km.Problem(table(rows), [km.KAnonymity(k)], **more)


def certificate(asked: km.Problem | None = None, multipliers: Sequence[float] | None = None) -> Certificate:
    """With these multipliers, or the best ones."""
    asked = asked or problem()
    return certify(asked, lagrangian(certified_instance(asked)) if multipliers is None else point(multipliers))


def refused(report: CertificateReport, text: str) -> None:
    assert not report.valid
    assert report.bound == 0
    assert report.statement == "nothing is proven"
    assert any(text in each for each in report.problems), report.problems


def write_csv(path: Path, header: str, rows: Sequence[Sequence[str | None]]) -> Path:
    path.write_text("\n".join([header, *(",".join(cell or "" for cell in row) for row in rows)]) + "\n")
    return path


def claimed_rows(cuts: Sequence[Cut]) -> list[dict[str, Any]]:
    return [dict(zip(("rows", "weights", "denominator", "multiplier"), cut, strict=True)) for cut in cuts]


def required_certificate(problem: km.Problem, iterations: int = 40) -> Certificate:
    """That of the bound under requirements."""
    instance = required_instance(problem)
    assert instance is not None
    return certify_required(problem, instance, required_bound(instance, iterations=iterations))
