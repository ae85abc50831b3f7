"""Random small problems with sensitive attributes: any conjunction of requirements, judged by tests/judges.py."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import judges
import polars as pl
from hypothesis import strategies as st
from present import present
from strategies import Case, cases, few_vectors

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
DIVERSITY = ("p", "l frequency", "l distinct", "l blocki-williams")
SHARES = ("alpha", "alpha named", "beta")
KINDS = (*DIVERSITY, *SHARES, *DISCLOSURE, *CLOSENESS)
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

    def package(self) -> Any:
        """The requirement of the package."""
        name = f"s{self.columns[0]}" if self.named else None
        match self.kind.split():
            case ["p"]:
                return km.PSensitivity(int(self.number), name)
            case ["l", "blocki-williams"]:
                every = tuple(f"s{c}" for c in self.columns) if self.named else None
                return km.LDiversity(self.number, "blocki-williams", every)
            case ["l", ("frequency" | "distinct") as form]:
                return km.LDiversity(self.number, form, name)
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

    subset: columns and number of a k-anonymity of some quasi-identifiers only.
    """

    case: Case
    secrets: tuple[tuple[Value, ...], ...]
    demands: tuple[Demand, ...]
    with_k: bool = False
    subset: tuple[tuple[int, ...], int] | None = None

    @property
    def k(self) -> int:
        """The k that the oracle is told."""
        return self.case.k if self.with_k else 1

    def table(self) -> km.Table:
        names, secret = self.case.names, [f"s{j}" for j in range(len(self.secrets[0]))]
        rows = [(*row, *secrets) for row, secrets in zip(self.case.rows, self.secrets, strict=True)]
        frame = pl.DataFrame(rows, schema=dict.fromkeys([*names, *secret], pl.String), orient="row")
        return km.Table.from_frame(frame, names, secret)

    def problem(self, privacy: Sequence[Any] | None = None) -> km.Problem:
        """The problem of the package, with other requirements if given."""
        if privacy is None:
            privacy = [demand.package() for demand in self.demands]
            if self.with_k:
                privacy.insert(0, km.KAnonymity(self.case.k))
            if self.subset is not None:
                columns, k = self.subset
                privacy.append(km.KAnonymity(k, [f"q{c}" for c in columns]))
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
        return {**self.case.judged(), "requirement": self.requirement}


@st.composite
def sensitive_cases(
    draw: st.DrawFn,
    kinds: Sequence[str] | None = None,
    max_rows: int = 8,
    sides: bool = True,
    with_k: bool | None = None,
    most: int | None = None,
) -> SensitiveCase:
    """Small tables with any combination of requirements, or with all of the named kinds.

    most: with so many of the named kinds at most, instead of all: groups that satisfy many at once are few.
    """
    if kinds is None:
        one = st.sampled_from(FAMILIES).flatmap(st.sampled_from)
        kinds = draw(st.lists(one, min_size=1, max_size=3))
    elif most is not None:
        kinds = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=most, unique=True))
    # side constraints leave many problems without a solution, and so do few rows
    least = draw(st.sampled_from([4, 2]))
    plain = not sides or draw(st.booleans())
    case = draw(cases(max_rows=max_rows, sides=not plain).filter(lambda case: len(case.rows) >= least))
    numeric = any(kind.startswith(("t ranks", "t numeric")) for kind in kinds)
    secrets = draw(sensitive_values(len(case.rows), numeric))
    demands = tuple(draw(demanded(kind, secrets)) for kind in kinds)
    return SensitiveCase(case, secrets, demands, draw(st.booleans()) if with_k is None else with_k)


@st.composite
def sensitive_values(draw: st.DrawFn, rows: int, numeric: bool = False) -> tuple[tuple[Value, ...], ...]:
    """One or two sensitive attributes, never constant; numeric: the first looks like numbers."""
    columns = []
    for column in range(draw(st.sampled_from([1, 1, 2]))):
        numbers = (numeric and column == 0) or draw(st.integers(0, 2)) == 0
        pool = draw(st.permutations(NUMBERS if numbers else WORDS))[: draw(st.integers(2, 4))]
        held = draw(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows))
        if len(set(held)) == 1:
            held[0] = next(value for value in pool if value != held[0])
        columns.append(held)
    return tuple(zip(*columns, strict=True))


@st.composite
def demanded(draw: st.DrawFn, kind: str, secrets: tuple[tuple[Value, ...], ...]) -> Demand:
    """A requirement of this kind that the package accepts for these values, its number often just at a border."""
    every = tuple(range(len(secrets[0])))
    if kind.startswith(("t ranks", "t numeric")):
        every = tuple(c for c in every if all(row[c] in NUMBERS for row in secrets))
    columns, named = every, False
    # with several attributes the requirement is about each of them, or one is named
    if len(secrets[0]) > 1 and (kind == "alpha named" or len(every) < len(secrets[0]) or draw(st.booleans())):
        columns, named = (draw(st.sampled_from(every)),), True
    rows = range(len(secrets))
    counts = [[row[c] for row in secrets] for c in columns]
    fewest = min(len(set(held)) for held in counts)
    # numbers at which something changes come from a group that may be released
    group = sorted(draw(st.sets(st.sampled_from(rows), min_size=1)))

    if kind in ("p", "l distinct", "l blocki-williams"):
        return Demand(kind, draw(st.sampled_from([2, fewest, 1])), columns, named)
    if kind == "l frequency":
        border = 1 / largest_share(group, secrets, columns)
        numbers = [border, Fraction(2), ONE, Fraction(3, 2), Fraction(fewest), border + SMALL, max(ONE, border - SMALL)]
        number = draw(st.sampled_from(numbers))
        return Demand(kind, draw(written(number)), columns, named)
    if kind.startswith("alpha"):
        values, held = None, counts[0]
        if kind == "alpha named":
            values = tuple(draw(st.lists(st.sampled_from(sorted(set(held), key=str)), min_size=1, unique=True)))
        border = largest_share(group, secrets, columns, values) or Fraction(1, 2)
        number = draw(
            st.sampled_from([border, border - SMALL, Fraction(1, 2), Fraction(2, 3), min(ONE, border + SMALL)])
        )
        k = draw(st.sampled_from([k for k in (1, 1, 2, 3) if k <= len(secrets)]))
        return Demand(kind, draw(written(number)), columns, named, k, values)
    if kind == "beta":
        ratios = [r for c in columns for r in share_ratios(group, secrets, c)]
        border = max(ratios) - 1
        number = draw(st.sampled_from([border, max(NIL, border - SMALL), border + SMALL, ONE, Fraction(1, 2), NIL]))
        return Demand(kind, draw(written(number)), columns, named)
    if kind.startswith("delta"):
        ratios = [r for c in columns for r in share_ratios(group, secrets, c) if r > 0]
        border = log_below(max(max(r, 1 / r) for r in ratios), base2="base2" in kind)
        numbers = [border + SMALL, border, Fraction(1), Fraction(1, 2), Fraction(2), Fraction(7, 10)]
        return Demand(kind, draw(written(max(SMALL, draw(st.sampled_from(numbers))))), columns, named)
    ground = draw(grounds(kind.split()[1], sorted({v for held in counts for v in held}, key=str)))
    pairs = list(zip(columns, counts, strict=True))
    border = max(judges.distance_from_table(group, secrets, c, ground.judge(held)) for c, held in pairs)
    numbers = [border, border, max(NIL, border - SMALL), min(ONE, border + SMALL), Fraction(3, 10), Fraction(1, 10)]
    numbers += [NIL, ONE]
    return Demand(kind, draw(written(draw(st.sampled_from(numbers)))), columns, named, ground=ground)


@st.composite
def grounds(draw: st.DrawFn, name: str, values: Sequence[Value]) -> Ground:
    """A ground distance over these values and, where it lists them, possibly others."""
    if name in ("equal", "ranks", "numeric"):
        return Ground(name)
    known = tuple(draw(st.permutations([*values, *draw(st.sampled_from([(), ("other",), ("x", "y")]))])))
    if name == "order":
        return Ground(name, known)
    if name == "hierarchy":
        return Ground(name, paths=draw(paths(known)))
    size = len(known)
    # a distance of 0 between two values is allowed
    cells = st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3), Fraction(5, 3), Fraction(0)])
    d = [[Fraction(0)] * size for _ in known]
    for i, j in itertools.combinations(range(size), 2):
        d[i][j] = d[j][i] = draw(cells)
    # shortest paths are a metric
    for middle, i, j in itertools.product(range(size), repeat=3):
        d[i][j] = min(d[i][j], d[i][middle] + d[middle][j])
    largest = max(map(max, d))
    if not largest:
        d, largest = [[Fraction(i != j) for j in range(size)] for i in range(size)], Fraction(1)
    return Ground(name, known, matrix=tuple(tuple(x / largest for x in row) for row in d))


@st.composite
def paths(draw: st.DrawFn, values: Sequence[Value]) -> tuple[tuple[Value, ...], ...]:
    """A nested hierarchy: at each level classes of the level below are thrown together."""
    class_of = list(range(len(values)))
    found: list[list[Value]] = [[value] for value in values]
    for level in range(1, draw(st.integers(1, 3))):
        parent = [draw(st.integers(0, 2)) for _ in range(max(class_of) + 1)]
        class_of = [parent[c] for c in class_of]
        if len(set(class_of)) == 1:  # all would meet below the top
            break
        for path, c in zip(found, class_of, strict=True):
            path.append(f"level {level}, class {c}")
    return tuple((*path, "*") for path in found)


def written(number: Fraction | int) -> st.SearchStrategy[int | str | Fraction]:
    """The ways to write an exact number."""
    exact = Fraction(number)
    return st.sampled_from([str(exact), exact, *([int(exact)] if exact.denominator == 1 else [])])


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


MOST_TABLES = 4100  # that trying them all takes a tenth of a second


@st.composite
def subset_cases(draw: st.DrawFn) -> SensitiveCase:
    """Tables of which some columns must be k-anonymous, with few enough possible released tables to try them all."""
    base = draw(sensitive_cases(kinds=draw(st.sampled_from([(), (), ("p",), ("beta",)])), max_rows=6))
    case, rows, columns = few_vectors(draw, base.case, MOST_TABLES), len(base.case.rows), range(len(base.case.rows[0]))
    subset = tuple(sorted(draw(st.sets(st.sampled_from(columns), min_size=1, max_size=max(1, len(columns) - 1)))))
    number = draw(st.sampled_from([k for k in (2, 3, 4) if k <= rows]))
    return SensitiveCase(case, base.secrets, base.demands, base.with_k, (subset, number))
