"""Random small problems with sensitive attributes: any conjunction of requirements, judged by tests/judges.py."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any

import judges
import polars as pl
from hypothesis import strategies as st
from present import present
from strategies import Case, by_hypothesis, drawn_case, drawn_tree, few_vectors, one_in

import kanon_milp as km
from kanon_milp.problem import distances

Value = str | None
Group = Sequence[int]

WORDS: tuple[Value, ...] = ("flu", "cold", "cough", "cancer", None)
NUMBERS: tuple[Value, ...] = ("-3", "0", "1.5", "10")
SMALL, NIL, ONE = Fraction(1, 1000), Fraction(0), Fraction(1)

DISTANCES = ("equal", "ranks", "order", "numeric", "hierarchy", "matrix")
CLOSENESS = tuple(f"t {distance} {form}" for distance in DISTANCES for form in ("short", "transport"))
DISCLOSURE = tuple(f"delta {log} {absent}" for log in ("natural", "base2") for absent in ("violation", "ignored"))
DIVERSITY = ("p", "l frequency", "l distinct", "l blocki-williams", "l entropy", "l recursive")
SHARES = ("alpha", "alpha named", "beta")
KINDS = (*DIVERSITY, *SHARES, *DISCLOSURE, *CLOSENESS)
NUMBER_KINDS = ("t ranks", "t numeric")  # of numbers alone
FAMILIES = (DIVERSITY, SHARES, DISCLOSURE, CLOSENESS)


@dataclass(frozen=True)
class Ground:
    """A ground distance as plain data: values and order, hierarchy paths or a matrix over them where it has one."""

    name: str
    values: tuple[Value, ...] = ()
    paths: tuple[tuple[Value, ...], ...] = ()
    matrix: tuple[tuple[Fraction, ...], ...] = ()

    def package(self) -> Any:
        """As the package wants it."""
        match self.name:
            case "ranks":
                return "ordered"
            case "order":
                return distances.OrderedDistance(self.values)
            case "hierarchy":
                return distances.HierarchicalDistance(km.Hierarchy.from_rows(self.paths))
            case "matrix":
                return distances.MatrixDistance(self.values, self.matrix)
        return self.name

    def judge(self, column: Sequence[Value]) -> judges.Distance:
        """As the judges want it, for the values of a column."""
        match self.name:
            case "ranks":
                return judges.ordered_numbers(column)
            case "order":
                return judges.ordered_distance(self.values)
            case "numeric":
                return judges.numeric_distance(column)
            case "hierarchy":
                return judges.hierarchical_distance({path[0]: path for path in self.paths})
            case "matrix":
                return judges.matrix_distance(self.values, self.matrix)
        return judges.equal_distance


@dataclass(frozen=True)
class Demand:
    """One requirement: its kind (one of KINDS), the columns of the sensitive attributes it is about, its numbers.

    number: as written for the package. named: whether the package is told the attributes.
    """

    kind: str
    number: int | str | Fraction
    columns: tuple[int, ...]
    named: bool
    k: int = 1
    values: tuple[Value, ...] | None = None
    ground: Ground | None = None
    c: Fraction | None = None

    def package(self) -> Any:
        """The requirement of the package."""
        name = f"s{self.columns[0]}" if self.named else None
        match self.kind.split():
            case ["p"]:
                return km.PSensitivity(int(self.number), name)
            case ["l", "blocki-williams"]:
                every = tuple(f"s{c}" for c in self.columns) if self.named else None
                return km.LDiversity(self.number, "blocki-williams", every)
            case ["l", ("frequency" | "distinct" | "entropy" | "recursive") as form]:
                return km.LDiversity(self.number, form, name, self.c)
            case ["alpha", *_]:
                return km.AlphaKAnonymity(self.number, self.k, name, self.values)
            case ["beta"]:
                return km.BetaLikeness(self.number, name)
            case ["delta", ("natural" | "base2") as log, ("violation" | "ignored") as absent]:
                return km.DeltaDisclosure(self.number, log, absent, name)
            case ["t", _, ("short" | "transport") as form]:
                return km.TCloseness(self.number, present(self.ground).package(), name, form)
        raise AssertionError(self.kind)

    def holds(self, group: Group, secrets: judges.Secrets) -> bool:
        """Whether a group (row indices) has it."""
        if self.kind == "l blocki-williams":
            return judges.blocki_williams_diverse(group, secrets, self.columns, int(self.number))
        return all(self._holds(group, secrets, column) for column in self.columns)

    def _holds(self, group: Group, secrets: judges.Secrets, column: int) -> bool:
        number = Fraction(self.number)
        match self.kind.split():
            case ["p"]:
                return judges.p_sensitive(group, secrets, column, int(number))
            case ["l", "frequency"]:
                return judges.frequency_diverse(group, secrets, column, number)
            case ["l", "distinct"]:
                return judges.distinct_diverse(group, secrets, column, int(number))
            case ["l", "entropy"]:
                return judges.entropy_diverse(group, secrets, column, number)
            case ["l", "recursive"]:
                return judges.recursive_diverse(group, secrets, column, present(self.c), int(number))
            case ["alpha", *_]:
                return judges.alpha_k_anonymous(group, secrets, column, number, self.k, self.values)
            case ["beta"]:
                return judges.beta_like(group, secrets, column, number)
            case ["delta", log, absent]:
                return judges.delta_disclosing(group, secrets, column, number, log, absent)
            case ["t", *_]:
                distance = present(self.ground).judge([row[column] for row in secrets])
                return judges.t_close(group, secrets, column, number, distance)
        raise AssertionError(self.kind)


@dataclass(frozen=True)
class SensitiveCase:
    """A case of tests/strategies.py (the quasi-identifiers, recoding, sides), sensitive values and requirements.

    sets: columns and number of each k-anonymity of some quasi-identifiers only. units: whose each row is, where k
    counts these.
    """

    case: Case
    secrets: tuple[tuple[Value, ...], ...]
    demands: tuple[Demand, ...]
    with_k: bool = False
    sets: tuple[tuple[tuple[int, ...], int], ...] = ()
    units: tuple[str, ...] | None = None

    @property
    def k(self) -> int:
        """The k that the oracle is told."""
        return self.case.k if self.with_k else 1

    def table(self) -> km.Table:
        names, secret = self.case.names, [f"s{j}" for j in range(len(self.secrets[0]))]
        rows = [(*row, *secrets) for row, secrets in zip(self.case.rows, self.secrets, strict=True)]
        frame = pl.DataFrame(rows, schema=dict.fromkeys([*names, *secret], pl.String), orient="row")
        if self.units is None:
            return km.Table.from_frame(frame, names, secret)
        return km.Table.from_frame(frame.with_columns(who=pl.Series(self.units)), names, secret, unit="who")

    def problem(self, privacy: Sequence[Any] | None = None) -> km.Problem:
        """The problem of the package, with other requirements if given."""
        if privacy is None:
            privacy = [demand.package() for demand in self.demands]
            if self.with_k:
                privacy.insert(0, km.KAnonymity(self.case.k))
            privacy += [km.KAnonymity(k, [f"q{c}" for c in columns]) for columns, k in self.sets]
        recoding = self.case.problem().recoding
        return km.Problem(self.table(), privacy, recoding, suppressed_rows=self.case.suppressed_rows, **self.case.sides)

    @cached_property
    def requirement(self) -> Callable[[Group], bool]:
        """What each group must have besides k, as the oracle asks it; groups with the same values are asked once."""
        known: dict[tuple[int, ...], bool] = {}
        alike = [self.secrets.index(each) for each in self.secrets]

        def holds(group: Group) -> bool:
            key = tuple(sorted([alike[i] for i in group]))
            if key not in known:
                known[key] = all(demand.holds(group, self.secrets) for demand in self.demands)
            return known[key]

        return holds

    def judged(self) -> dict[str, Any]:
        """Arguments of the oracle."""
        return {**self.case.judged(), "requirement": self.requirement, "units": self.units}


def drawn_sensitive_case(
    rng: Random,
    kinds: Sequence[str] | None = None,
    rows: tuple[int, int] = (2, 8),
    *,
    sides: bool = True,
    with_k: bool | None = None,
    most: int | None = None,
    units: bool = False,
    any_k: bool = False,
) -> SensitiveCase:
    """A small table with any combination of requirements, or with all of the named kinds.

    most: with so many of the named kinds at most, instead of all: groups that satisfy many at once are few. units: some
    tables have a unit of protection.
    """
    if kinds is None:
        kinds = [rng.choice(rng.choice(FAMILIES)) for _ in range(rng.choice([1, 1, 2, 3]))]
    elif most is not None:
        kinds = rng.sample(kinds, rng.randint(1, min(most, len(kinds))))
    # side constraints leave many problems without a solution, and so do few rows
    least = min(rng.choice([4, rows[0]]), rows[1])
    case = drawn_case(rng, (least, rows[1]), sides=sides and one_in(rng, 3), any_k=any_k)
    secrets = drawn_secrets(rng, len(case.rows), any(kind.startswith(NUMBER_KINDS) for kind in kinds))
    demands = tuple(drawn_demand(rng, kind, secrets) for kind in kinds)
    with_k = with_k if with_k is not None else one_in(rng, 2)
    if units and one_in(rng, 6):
        return drawn_units(rng, SensitiveCase(case, secrets, demands, True))
    return SensitiveCase(case, secrets, demands, with_k)


def drawn_units(rng: Random, case: SensitiveCase) -> SensitiveCase:
    """The same with units of some rows each, often alike, of which a group has k different ones."""
    count = len(case.case.rows)
    units = [f"person {rng.randrange(max(2, count - 1))}" for _ in range(count)]
    units[:2] = ["person 0", "person 1"]
    cells = list(case.case.rows)
    for i, unit in enumerate(units):
        cells[i] = cells[units.index(unit)] if one_in(rng, 2) else cells[i]
    demands = tuple(replace(demand, k=1) for demand in case.demands)  # else it counts units as well
    return replace(
        case, case=replace(case.case, rows=tuple(cells), k=max(2, case.case.k)), demands=demands, units=tuple(units)
    )


def drawn_secrets(rng: Random, rows: int, numeric: bool = False) -> tuple[tuple[Value, ...], ...]:
    """One or two sensitive attributes, never constant; numeric: the first looks like numbers."""
    columns = []
    for column in range(rng.choice([1, 1, 2])):
        numbers = (numeric and column == 0) or one_in(rng, 3)
        pool = rng.sample(NUMBERS if numbers else WORDS, rng.randint(2, 4))
        held = [rng.choice(pool) for _ in range(rows)]
        if len(set(held)) == 1:
            held[0] = next(value for value in pool if value != held[0])
        columns.append(held)
    return tuple(zip(*columns, strict=True))


def drawn_demand(rng: Random, kind: str, secrets: tuple[tuple[Value, ...], ...]) -> Demand:
    """A requirement of this kind that the package accepts for these values, its number often just at a border."""
    columns, named = tuple(range(len(secrets[0]))), False
    if kind.startswith(NUMBER_KINDS):
        columns = tuple(c for c in columns if all(row[c] in NUMBERS for row in secrets))
    # with several attributes the requirement is about each of them, or one is named
    if len(secrets[0]) > 1 and (kind == "alpha named" or len(columns) < len(secrets[0]) or one_in(rng, 2)):
        columns, named = (rng.choice(columns),), True
    counts = [[row[c] for row in secrets] for c in columns]
    fewest = min(len(set(held)) for held in counts)
    # numbers at which something changes come from a group that may be released
    group = sorted(rng.sample(range(len(secrets)), rng.randint(1, len(secrets))))

    def made(numbers: Sequence[Fraction | int], **more: Any) -> Demand:
        exact = Fraction(rng.choice(numbers))
        written: list[int | str | Fraction] = [str(exact), exact, *([int(exact)] if exact.denominator == 1 else [])]
        return Demand(kind, rng.choice(written), columns, named, **more)

    if kind in ("p", "l distinct", "l blocki-williams"):
        return Demand(kind, rng.choice([2, fewest, 1]), columns, named)
    if kind == "l frequency":
        border = 1 / largest_share(group, secrets, columns)
        return made([border, 2, 1, Fraction(3, 2), fewest, border + SMALL, max(ONE, border - SMALL)])
    if kind == "l entropy":
        return made([2, 1, Fraction(3, 2), fewest, Fraction(19, 10), Fraction(5, 2)])
    if kind == "l recursive":
        c = Fraction(rng.choice(["1", "2", "3", "1/2", "3/2", "4"]))
        return Demand(kind, rng.choice([2, 2, fewest, 1]), columns, named, c=c)
    if kind.startswith("alpha"):
        held = sorted(set(counts[0]), key=str)
        values = tuple(rng.sample(held, rng.randint(1, len(held)))) if kind == "alpha named" else None
        border = largest_share(group, secrets, columns, values) or Fraction(1, 2)
        k = rng.choice([k for k in (1, 1, 2, 3) if k <= len(secrets)])
        numbers = [border, border - SMALL, Fraction(1, 2), Fraction(2, 3), min(ONE, border + SMALL)]
        return made(numbers, k=k, values=values)
    if kind == "beta":
        border = max(r for c in columns for r in share_ratios(group, secrets, c)) - 1
        return made([border, max(NIL, border - SMALL), border + SMALL, 1, Fraction(1, 2), 0])
    if kind.startswith("delta"):
        ratios = [r for c in columns for r in share_ratios(group, secrets, c) if r > 0]
        border = log_below(max(max(r, 1 / r) for r in ratios), base2="base2" in kind)
        numbers = [border + SMALL, border, ONE, Fraction(1, 2), Fraction(2), Fraction(7, 10)]
        return made([max(SMALL, number) for number in numbers])
    ground = drawn_ground(rng, kind.split()[1], sorted({v for held in counts for v in held}, key=str))
    pairs = list(zip(columns, counts, strict=True))
    border = max(judges.distance_from_table(group, secrets, c, ground.judge(held)) for c, held in pairs)
    numbers = [border, border, max(NIL, border - SMALL), min(ONE, border + SMALL), Fraction(3, 10), Fraction(1, 10)]
    return made([*numbers, NIL, ONE], ground=ground)


def drawn_ground(rng: Random, name: str, values: Sequence[Value]) -> Ground:
    """A ground distance over these values and, where it lists them, possibly others."""
    if name in ("equal", "ranks", "numeric"):
        return Ground(name)
    known = [*values, *rng.choice([(), ("other",), ("x", "y")])]
    rng.shuffle(known)
    if name == "order":
        return Ground(name, tuple(known))
    if name == "hierarchy":
        return Ground(name, paths=tuple(drawn_tree(rng, known).values()))
    size = len(known)
    d = [[NIL] * size for _ in known]
    for i, j in itertools.combinations(range(size), 2):  # a distance of 0 between two values is allowed
        d[i][j] = d[j][i] = Fraction(rng.choice(["1", "2", "1/2", "3", "5/3", "0"]))
    for middle, i, j in itertools.product(range(size), repeat=3):  # shortest paths are a metric
        d[i][j] = min(d[i][j], d[i][middle] + d[middle][j])
    if not max(map(max, d)):
        d = [[Fraction(i != j) for j in range(size)] for i in range(size)]
    largest = max(map(max, d))
    return Ground(name, tuple(known), matrix=tuple(tuple(x / largest for x in row) for row in d))


MOST_TABLES = 4100  # that trying them all takes a tenth of a second


def drawn_sets_case(
    rng: Random, sets: tuple[int, int] = (1, 3), *, sides: bool = True, alone: bool = False
) -> SensitiveCase:
    """A table of which some columns, or several sets of them, apart, overlapping or one within another, must be
    k-anonymous; with few enough possible released tables to try them all.

    alone: nothing else is asked for.
    """
    kinds = () if alone else rng.choice([(), (), ("p",), ("beta",)])
    base = drawn_sensitive_case(rng, kinds, (2, 6), sides=sides, with_k=False if alone else None)
    case, rows, columns = few_vectors(rng, base.case, MOST_TABLES), len(base.case.rows), range(len(base.case.rows[0]))
    chosen = []
    for _ in range(rng.randint(*sets)):
        some = tuple(sorted(rng.sample(columns, rng.randint(1, max(1, len(columns) - 1)))))
        chosen.append((some, rng.choice([k for k in (2, 3, 4, 1) if k <= rows])))
    return SensitiveCase(case, base.secrets, base.demands, base.with_k, tuple(chosen))


def sensitive_cases(
    kinds: Sequence[str] | None = None,
    max_rows: int = 8,
    sides: bool = True,
    with_k: bool | None = None,
    most: int | None = None,
) -> st.SearchStrategy[SensitiveCase]:
    """Small tables of `drawn_sensitive_case`."""
    return by_hypothesis(
        lambda rng: drawn_sensitive_case(rng, kinds, (2, max_rows), sides=sides, with_k=with_k, most=most)
    )


def subset_cases() -> st.SearchStrategy[SensitiveCase]:
    """Small tables of which some columns must be k-anonymous."""
    return by_hypothesis(lambda rng: drawn_sets_case(rng, (1, 1)))


def largest_share(
    group: Group, secrets: judges.Secrets, columns: Sequence[int], values: Sequence[Value] | None = None
) -> Fraction:
    """The largest share of a value (of the named ones) in a group, over some columns."""
    return max(
        share
        for c in columns
        for value, share in judges.shares(group, secrets, c).items()
        if values is None or value in values
    )


def share_ratios(group: Group, secrets: judges.Secrets, column: int) -> list[Fraction]:
    """For each value of the table its share in the group, divided by that in the table."""
    before = judges.shares(range(len(secrets)), secrets, column)
    return [share / before[value] for value, share in judges.shares(group, secrets, column).items()]


def log_below(ratio: Fraction, base2: bool) -> Fraction:
    """The last multiple of 1/1000 that is not above the logarithm of a number from 1 on."""
    below = judges.base2_log_below if base2 else judges.natural_log_below
    low, high = 0, 10_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if below(ratio, Fraction(middle, 1000)) else (middle, high)
    return Fraction(low, 1000)
