"""Every certificate that is written is accepted by the checker, also where a requirement is a user's own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import polars as pl
import pytest
from certificate_cases import ROWS, certificate, table, write_csv
from command_line import run
from oracle import optimum
from own_requirement import Own
from present import present

import kanon_milp as km
from kanon_milp.bounds import Certificate, certified_instance, lagrangian
from kanon_milp.bounds.certificate import certify_required, first_multipliers, required_instance
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.methods.result import certify_problem
from kanon_milp.problem.distances import EqualDistance
from kanon_milp.problem.records import Group
from kanon_milp.verify import CertificateReport, check_certificate

# --------------------------------------------------------------------------------------- a user's own


@dataclass(frozen=True)
class AtLeast(Own):
    """So many rows, as a user would write it; the certificate knows nothing of it."""

    rows: int
    name: ClassVar[str] = "at_least"
    attributes: ClassVar[tuple[str, ...]] = ("s",)

    @property
    def needs_group_size(self) -> bool:
        return False

    def smallest_group(self, _whole: Group) -> int:
        return self.rows

    def holds(self, group: Group) -> bool:
        return group.size >= self.rows

    def declare(self, block: Any, model: Any, instance: Any) -> None:
        km.KAnonymity(self.rows).declare(block, model, instance)

    def describe(self) -> dict[str, object]:
        return {"rows": self.rows, "note": "0 cells) suppresses fewer than 99 cells"}


class Weaker(km.KAnonymity):
    """A subclass that asks for less than its name and parameters say."""

    def holds(self, group: Group) -> bool:
        return group.size >= 2

    def smallest_group(self, _whole: Group) -> int:
        return 2

    def viable(self, instance: Any) -> Any:
        return km.KAnonymity(2).viable(instance)

    def declare(self, block: Any, model: Any, instance: Any) -> None:
        km.KAnonymity(2).declare(block, model, instance)


class Nearer(EqualDistance):
    """A distance of a user's own, in which all is near."""


SECRETS = "abcabc"


def secret_table() -> km.Table:
    rows = [(*row, s) for row, s in zip(ROWS, SECRETS, strict=True)]
    return km.Table.from_frame(pl.DataFrame(rows, ["sex", "age", "s"], orient="row"), ["sex", "age"], "s")


def accepted(problem: km.Problem, found: Certificate, folder: Path) -> CertificateReport:
    """In Python, and by a stranger on the command line."""
    report = check_certificate(problem, found)
    assert report.valid, report.problems
    assert report.bound == found.bound
    path = folder / "c.json"
    found.write(path)
    rows = [(*row, s) for row, s in zip(ROWS, SECRETS, strict=True)]
    done = run("verify", "--original", write_csv(folder / "p.csv", "sex,age,s", rows), "--certificate", path)
    assert done.returncode == 0, done.stderr
    assert report.statement in done.stdout
    return report


@pytest.mark.parametrize("known", [True, False])
def test_a_requirement_of_a_users_own_is_left_out(known: bool, tmp_path: Path) -> None:
    problem = km.Problem(secret_table(), [AtLeast(3), *([km.KAnonymity(2)] if known else [])])
    result = km.solve(problem)
    assert result.is_optimal
    report = accepted(problem, result.certify(), tmp_path)
    said = "no 2-anonymous table suppresses fewer than 4 cells" if known else "no table suppresses fewer than 0 cells"
    assert report.statement.startswith(said)
    assert report.vacuous == (not known)


def test_a_subclass_is_a_users_own_whatever_it_is_called(tmp_path: Path) -> None:
    problem = km.Problem(secret_table(), [Weaker(3), km.KAnonymity(2)])
    assert accepted(problem, certificate(problem), tmp_path).bound == 4  # with 3 for 2 it would be 8
    problem = km.Problem(secret_table(), [Weaker(3)])
    assert accepted(problem, certificate(problem), tmp_path).vacuous
    assert not check_certificate(problem, certificate(km.Problem(secret_table(), [km.KAnonymity(3)]))).valid


def test_where_there_is_no_table_there_is_no_certificate() -> None:
    result = km.solve(km.Problem(table(), [km.KAnonymity(2)], km.PatternMask([(0, 0)])))
    assert result.proof == "infeasible"
    with pytest.raises(km.InputError, match="there is no table, and no bound"):
        _ = result.certify()


def test_what_a_mask_costs_is_proven_without_any_requirement() -> None:
    class OfSizes(AtLeast):
        attributes: ClassVar[tuple[str, ...]] = ()

    problem = km.Problem(table(), [OfSizes(2)], km.PatternMask([(0, 1), (1, 1)]))
    report = check_certificate(problem, certificate(problem))
    assert report.valid
    assert report.bound == 6  # the age of every row
    assert report.statement == "no table of this mask of 2 level vectors suppresses fewer than 6 cells"


def test_a_distance_of_a_users_own_is_not_the_one_whose_name_it_has() -> None:
    problem = km.Problem(secret_table(), [km.TCloseness("1/5", Nearer())])
    found = certificate(problem)
    assert found.problem["requirements"] == []
    assert check_certificate(problem, found).bound == 0
    other = certificate(km.Problem(secret_table(), [km.TCloseness("1/5")]))
    assert other.bound > 0
    assert not check_certificate(problem, other).valid


def test_long_exact_numbers_are_accepted_as_they_are_written() -> None:
    fine = Fraction(10**90 + 1, 10**90 * 5)
    problem = km.Problem(secret_table(), [km.BetaLikeness(fine)])
    report = check_certificate(problem, certificate(problem))
    assert report.valid
    best = optimum(ROWS, 1, requirement=lambda group: all(
        Fraction([SECRETS[i] for i in group].count(v), len(group)) <= (1 + fine) / 3 for v in "abc"
    ))  # fmt: skip
    assert best is not None
    assert report.bound <= best


def test_a_certificate_claims_all_that_its_checker_proves() -> None:
    """The checker sees a group that the bound of the session, 18, knows less of."""
    columns = {"a": "acbdbddaccbd", "b": "zyzyzxzxxyyy", "c": "212121111112", "s": "uvuwvwwwwuvv", "r": "321233321211"}
    frame = pl.DataFrame({name: list(values) for name, values in columns.items()})
    halves = km.Hierarchy({"a": ("a", "ab", "*"), "b": ("b", "ab", "*"), "c": ("c", "cd", "*"), "d": ("d", "cd", "*")})
    table = km.Table.from_frame(frame, ["a", "b", "c"], ["s", "r"])
    problem = km.Problem(table, [km.TCloseness("1/3")], km.Hierarchies({"a": halves}))
    certificate = certify_problem(problem, None)
    report = check_certificate(problem, certificate)
    assert report.valid
    assert report.bound == certificate.bound == Fraction(37, 2)
    instance = required_instance(problem)
    assert instance is not None
    point = required_bound(
        instance, first_multipliers(instance.types, lagrangian(certified_instance(problem))), small=False
    )
    assert certify_required(problem, instance, point).bound < certificate.bound


@pytest.mark.full
def test_requirements_about_values_have_a_certificate_beyond_the_list_of_level_vectors() -> None:
    rng = Random(3)
    names = [f"q{j}" for j in range(21)]
    frame = pl.DataFrame({name: [rng.choice("ab") for _ in range(7)] for name in names} | {"s": list("1212123")})
    problem = km.Problem(km.Table.from_frame(frame, names, "s"), [km.KAnonymity(2), km.TCloseness("1/4")])
    certificate = km.solve(problem, method="greedy").certify()
    assert 0 < present(check_certificate(problem, certificate).bound) == certificate.bound
