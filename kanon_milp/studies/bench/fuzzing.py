"""Random models against one solver: what it claims is refuted by points that are checked exactly, and made small.

Models are those of small random tables under random requirements, and of planted groups, with rows and columns in a
random order. They come as they are, as somebody would write them who gives sums a name (continuous variables: what
presolve of HiGHS 1.15.1 went wrong on), and as parts. A claim is wrong where a checked point of another solver, of the
same solver on another order, or the planted optimum refutes it. The model is then reduced: constraints are left out,
and variables are fixed at the values of the point that refutes the claim, as long as some checked point does.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from kanon_milp import solvers
from kanon_milp.errors import InputError, SolverError, UnusablePointError
from kanon_milp.methods.exchange import declared_model
from kanon_milp.problem.exact import in_words
from kanon_milp.problem.privacy import KAnonymity, LDiversity, PSensitivity, Requirement, TCloseness
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import Table
from kanon_milp.solvers import LinearModel, SolverAdapter, SolverOptions, StopReason
from kanon_milp.solvers.mps import mps_lines, names_in_file
from kanon_milp.studies import families
from kanon_milp.studies.bench.checks import SLACK, check_point
from kanon_milp.studies.bench.kinds.solving import Permutation
from kanon_milp.studies.bench.sources import read_solver_model
from kanon_milp.studies.mps_library.exact_mps import solution_lines
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.clock import Clock
from kanon_milp.system.files import holding, make_folder, write_file

CURRENT = "current.mps"  # what the solver is given just now: it stays there where the solver brings the process down


@dataclass(frozen=True)
class FuzzingParams:
    """Chosen by hand so that a model takes a fraction of a second.

    rows, columns, values: at most so many in a random table. groups: at most so many planted groups. planted: share of
    models of planted groups. variants: of each drawn model. parts: share of variants of which a part is left. sums: up
    to so many get a name. orders: of rows and columns, in which a model is solved. solve_seconds: of one solve.
    reduce_seconds: to make one model small.
    """

    rows: int = 8
    columns: int = 4
    values: int = 4
    groups: int = 3
    planted: float = 0.1
    variants: int = 10
    parts: float = 0.6
    sums: int = 30
    orders: int = 3
    solve_seconds: float = 10.0
    reduce_seconds: float = 60.0


@dataclass(frozen=True, eq=False)
class Refuted:
    """A wrong claim. said: what is wrong, in a sentence. x: a point that refutes it, where there is one."""

    said: str
    x: Floats | None = None


@dataclass(frozen=True, eq=False)
class Find:
    """What was found. title: of the problem. before, model: the model, as drawn and reduced. folder: where it is."""

    title: str
    refuted: Refuted
    before: LinearModel
    model: LinearModel
    folder: Path


@dataclass(frozen=True)
class Fuzzed:
    """What came of it. models: how many were tried."""

    models: int
    finds: tuple[Find, ...]


def fuzz(
    name: str,
    minutes: float,
    out: Path,
    *,
    seed: int = 0,
    options: Mapping[str, object] | None = None,
    most: int | None = None,
    params: FuzzingParams = FuzzingParams(),
    on_find: Callable[[Find], None] = lambda find: None,
) -> Fuzzed:
    """Try random models on a solver for so many minutes.

    out: folder with a subfolder for each find: `model.mps`, `reference.sol` (a point that refutes the claim, in
    MIPLIB's format), `before.mps` (before it was made small) and `reproduce.py`. options: for the solver, as they are.
    most: models, at most. Raises InputError for a solver that cannot be used, or where there is no other to compare.
    """
    tested = solvers.get(name)
    # those in this process first: CBC is a process for each model, and takes most of the time then
    ranked = sorted(map(solvers.get, solvers.BUILT_IN), key=lambda each: each.confirms or len(solvers.BUILT_IN))
    others = [each for each in ranked if each.name != name and each.availability()][:1]
    if not tested.availability():
        raise InputError(f"fuzz: the solver {name} cannot be used here: {tested.needs}")
    if not others:
        raise InputError("fuzz: needs another solver to compare with: install the extra scip, or cbc")
    bench = _Bench(tested, others, dict(options or {}), params, out)
    make_folder(out)
    ends, finds, tried = time.monotonic() + 60 * minutes, list[Find](), 0
    while time.monotonic() < ends and (most is None or tried < most):
        draw = random.Random(f"{seed}-{tried}")
        tried += 1
        title, model, known = drawn(draw, params)
        if model is None:
            continue
        found = bench.tried(model, known, draw)
        if found is None:
            continue
        permuted, refuted = found
        small, refuted = bench.reduced(permuted, refuted, time.monotonic() + params.reduce_seconds)
        folder = out / f"{len(finds) + 1:03}"
        find = Find(f"{title} (seed {seed}, model {tried})", refuted, permuted, small, folder)
        write_find(find, bench)
        finds.append(find)
        on_find(find)
    (out / CURRENT).unlink(missing_ok=True)
    return Fuzzed(tried, tuple(finds))


def drawn(draw: random.Random, params: FuzzingParams) -> tuple[str, LinearModel | None, Fraction | None]:
    """A problem's title, its model (None where presolve rules it out), and the model's optimum where it is planted."""
    known: Fraction | None = None
    try:
        if draw.random() < params.planted:
            family = draw.choice(["planted_k", "planted_p", "planted_l", "planted_t"])
            found = families.generate(family, draw.randint(2, params.groups), draw.randrange(10**6), "yes")
            problem, known = found.problem(), None if found.optimum is None else Fraction(found.optimum)
        else:
            problem = _random_problem(draw, params)
        declared = declared_model(problem, "strong", draw.random() < 0.5, Clock())
    except (InputError, SolverError):  # no table of it has what is asked for, or it is too large
        return "", None, None
    linear = declared.arrays.linear
    if not linear.constraints:
        return problem.name, None, None
    return problem.name, linear, None if known is None else known / declared.unit


def _random_problem(draw: random.Random, params: FuzzingParams) -> Problem:
    rows, columns = draw.randint(5, params.rows), draw.randint(2, params.columns)
    domain, secrets = draw.randint(2, params.values), draw.randint(2, params.values)
    frame = pl.DataFrame({
        **{f"q{j}": [str(draw.randrange(domain)) for _ in range(rows)] for j in range(columns)},
        "s": [str(draw.randrange(secrets)) for _ in range(rows)],
    })  # fmt: skip
    k = draw.randint(2, 4)
    asked: list[Sequence[Requirement]] = [
        [KAnonymity(k)],
        [KAnonymity(k), PSensitivity(2)],
        [KAnonymity(2), LDiversity(draw.choice(["3/2", "2"]))],
        [KAnonymity(2), TCloseness(draw.choice(["1/5", "3/10", "1/2", "2/3"]))],
        [PSensitivity(2), TCloseness("1/2")],
        [TCloseness(draw.choice(["1/4", "1/3", "1/2"]))],
    ]
    privacy = draw.choice(asked)
    name = f"{rows} rows, {columns} columns of {domain} values, {', '.join(each.name for each in privacy)}"
    table = Table.from_frame(frame, [f"q{j}" for j in range(columns)], ("s",), source=name)
    groups = draw.choice([None, None, 2, 3])
    return Problem(table, privacy, max_groups=groups, name=name)


@dataclass(frozen=True, eq=False)
class _Bench:
    tested: SolverAdapter
    others: Sequence[SolverAdapter]
    extra: Mapping[str, object]
    params: FuzzingParams
    out: Path

    def tried(
        self, model: LinearModel, known: Fraction | None, draw: random.Random
    ) -> tuple[LinearModel, Refuted] | None:
        """The model and variants of it, in some orders; the first one on which a claim is wrong, in that order."""
        points = self.references(model)
        variants = [(model, points, known)]
        for _ in range(self.params.variants if points else 0):
            variant, point = with_sums(model, points[0], draw, self.params.sums)
            if draw.random() < self.params.parts:
                variant, point = part_of(variant, point, draw)
            variants.append((variant, [point], None))
        for variant, first, best in variants:
            references = first if variant is model else [*first, *self.references(variant)]
            references = sorted(references, key=variant.value)[:1]
            for _ in range(self.params.orders):
                order = Permutation.drawn(variant, draw.randrange(2**31))
                permuted = order.of_model(variant)
                answer, refuted = self.claims(permuted, [x[order.columns] for x in references])
                if refuted is None and best is not None and _worse(answer, best):
                    refuted = Refuted(f"says optimal, where the planted optimum is {in_words(best)}")
                if refuted is not None:
                    return permuted, refuted
                if answer is not None and answer.x is not None:
                    references = sorted([*references, order.back(answer.x)], key=variant.value)[:1]
        return None

    def references(self, model: LinearModel) -> list[Floats]:
        """Checked points of the other solvers, and of this one in another setting of its own."""
        asked = [(other, self._options()) for other in self.others]
        asked += [(self.tested, self._options(extra)) for extra in self.tested.alternatives[:1]]
        return [x for adapter, options in asked if (x := _checked(adapter, model, options)) is not None]

    def claims(
        self, model: LinearModel, references: Sequence[Floats]
    ) -> tuple[solvers.SolverResult | None, Refuted | None]:
        """What the solver says, and what of it is wrong beside points of the model."""
        # not by a file beside it that replaces it, as others are: it is gone again in a moment
        (self.out / CURRENT).write_bytes(_in_file(model))
        try:
            answer = self.tested.solve(model, self._options(self.extra))
        except UnusablePointError as error:
            return None, Refuted(str(error), references[0] if references else None)
        except SolverError as error:
            return None, Refuted(f"fails: {error}", references[0] if references else None)
        point = check_point(model, answer.x)
        if point.defects:
            return answer, Refuted(f"its point is none: {'; '.join(point.defects)}")
        worths = [(check_point(model, x), x) for x in references]
        best = min(((p.objective, x) for p, x in worths if p.objective is not None and not p.defects),
                   key=lambda each: each[0], default=None)  # fmt: skip
        if best is None:
            return answer, None
        value, x = best
        if answer.stop_reason in (StopReason.INFEASIBLE, StopReason.UNBOUNDED):
            wrong = f"says {answer.stop_reason.value}" if answer.stop_reason is StopReason.INFEASIBLE else ""
            return answer, Refuted(f"{wrong}, there is a solution with {in_words(value)}", x) if wrong else None
        if _worse(answer, value):
            claimed = "nothing" if answer.objective is None else f"{answer.objective:.9g}"
            return answer, Refuted(f"says {claimed} is optimal, there is a solution with {in_words(value)}", x)
        if answer.bound is not None and Fraction(answer.bound) > value + SLACK * max(abs(value), Fraction(1)):
            return answer, Refuted(f"bound {answer.bound:.9g}, there is a solution with {in_words(value)}", x)
        return answer, None

    def refuted(self, model: LinearModel, like: Refuted) -> Refuted | None:
        """Whether a claim about a smaller model is still wrong, in the same way."""
        try:
            _, found = self.claims(model, self.references(model))
        except (InputError, SolverError):
            return None
        same = found is not None and found.said.split()[:2] == like.said.split()[:2]
        return found if same else None

    def reduced(self, model: LinearModel, refuted: Refuted, ends: float) -> tuple[LinearModel, Refuted]:
        """Fix variables at the point that refutes and leave out constraints, in halves, quarters, ..., one by one, as
        long as something can go and there is time."""
        last = None
        while last != (last := (model.variables, model.constraints)):
            for variables in (True, False):
                share = max(last) // 2
                while share:
                    at = 0
                    while at < (model.variables if variables else model.constraints):
                        if time.monotonic() > ends:
                            return model, refuted
                        less = _less(model, range(at, at + share), refuted.x, variables=variables)
                        found = None if less is None else self.refuted(less, refuted)
                        if less is None or found is None:
                            at += share
                        else:
                            model, refuted = less, found
                    share //= 2
        return model, refuted

    def _options(self, extra: Mapping[str, object] | None = None) -> SolverOptions:
        return SolverOptions(self.params.solve_seconds, extra=dict(extra or {}))


def _worse(answer: solvers.SolverResult | None, value: Fraction) -> bool:
    """Whether what is called optimal is worse than a value that can be had."""
    if answer is None or answer.stop_reason is not StopReason.OPTIMAL or answer.objective is None:
        return False
    return Fraction(answer.objective) > value + SLACK * max(abs(value), Fraction(1))


def _checked(adapter: SolverAdapter, model: LinearModel, options: SolverOptions) -> Floats | None:
    """A point of another solver, where it has one that is right."""
    if not adapter.takes(model):
        return None
    try:
        x = adapter.solve(model, options).x
    except SolverError:
        return None
    return None if x is None or check_point(model, x).defects else x


def with_sums(model: LinearModel, x: Floats, draw: random.Random, most: int) -> tuple[LinearModel, Floats]:
    """The model, and a point of it, with names for sums: continuous variables that stand for the terms of equal
    coefficients of some constraints, in all constraints with these terms."""
    A, share = model.A.toarray(), draw.choice([0.2, 0.5, 1.0])
    sums = list[Ints]()
    for r in draw.sample(range(model.constraints), model.constraints):
        entries = np.flatnonzero(A[r, : model.variables])
        values, counts = np.unique(A[r, entries], return_counts=True)
        terms = entries[A[r, entries] == values[counts.argmax()]] if len(entries) > 2 else entries[:0]
        if len(terms) < 2 or len(sums) == most or draw.random() > share or any(np.array_equal(terms, s) for s in sums):
            continue
        inside = np.flatnonzero((A[:, terms] != 0).all(axis=1))
        factor = np.zeros(len(A))
        for i in inside.tolist():
            values, counts = np.unique(A[i, terms], return_counts=True)
            factor[i] = values[counts.argmax()]
        A[:, terms] -= factor[:, None] * (factor != 0)[:, None]
        definition = np.zeros(A.shape[1] + 1)
        definition[terms], definition[-1] = 1, -1
        A = np.vstack([np.column_stack([A, factor]), definition])
        sums.append(terms)
    if not sums:
        return model, x
    nothing = np.zeros(len(sums))
    named = replace(
        model,
        c=np.append(model.c, nothing),
        A=sp.csr_array(A),
        constraint_lower=np.append(model.constraint_lower, nothing),
        constraint_upper=np.append(model.constraint_upper, nothing),
        lower=np.append(model.lower, [model.lower[terms].sum() for terms in sums]),
        upper=np.append(model.upper, [model.upper[terms].sum() for terms in sums]),
        integer=np.append(model.integer, nothing > 0),
        variable_names=(*model.variable_names, *(f"sum{j}" for j in range(len(sums)))),
        constraint_names=(*model.constraint_names, *(f"sum{j}" for j in range(len(sums)))),
    )
    return named, np.append(x, [x[terms].sum() for terms in sums])


def part_of(model: LinearModel, x: Floats, draw: random.Random) -> tuple[LinearModel, Floats]:
    """The model, and a point of it, with some of its variables fixed at that point, and without some constraints."""
    kept, left = draw.choice([0.3, 0.6, 0.9]), draw.choice([0.8, 0.95, 1.0])
    columns = np.array([j for j in range(model.variables) if draw.random() < kept] or [0])
    rows = np.array([i for i in range(model.constraints) if draw.random() < left] or [0])
    return _part(model, rows, columns, x), x[columns]


def _less(model: LinearModel, gone: range, x: Floats | None, *, variables: bool) -> LinearModel | None:
    """The model without these constraints, or with these variables fixed at a point; None where that cannot be."""
    rows, columns = np.arange(model.constraints), np.arange(model.variables)
    if not variables:
        return _part(model, np.setdiff1d(rows, np.array(gone)), columns, None)
    left = np.setdiff1d(columns, np.array(gone))
    return _part(model, rows, left, x) if x is not None and len(left) else None


def _part(model: LinearModel, rows: Ints, columns: Ints, x: Floats | None) -> LinearModel:
    """Some constraints and variables; the others are fixed at the values of a point. What is off an integer by a
    tolerance is that integer: else a constraint may ask for it, which no solver is to blame for."""
    A = sp.csr_array(model.A)[rows]
    fixed = np.setdiff1d(np.arange(model.variables), columns)
    values = np.zeros(0) if x is None else np.where(model.integer, np.round(x), _rounded(x))[fixed]
    moved = _rounded(A[:, fixed] @ values) if len(fixed) else np.zeros(len(rows))
    return replace(
        model,
        c=model.c[columns],
        offset=model.offset + float((model.c[fixed] * values).sum()),
        A=sp.csr_array(A[:, columns]),
        constraint_lower=model.constraint_lower[rows] - moved,
        constraint_upper=model.constraint_upper[rows] - moved,
        lower=model.lower[columns],
        upper=model.upper[columns],
        integer=model.integer[columns],
        variable_names=tuple(model.variable_names[j] for j in columns.tolist()),
        constraint_names=tuple(model.constraint_names[i] for i in rows.tolist()),
        integral=False,
    )


def _rounded(x: Floats) -> Floats:
    return np.where(np.abs(x - np.round(x)) < 1e-6, np.round(x), x)


def _in_file(model: LinearModel) -> bytes:
    return "".join(mps_lines(model, *names_in_file(model))).encode()


def write_find(find: Find, bench: _Bench) -> None:
    """Write the folder of a find; the report says whether the model that is read back from the file shows it, too."""
    make_folder(find.folder)
    write_file(find.folder / "before.mps", holding(_in_file(find.before)))
    write_file(find.folder / "model.mps", holding(_in_file(find.model)))
    if find.refuted.x is not None:
        x, names = find.refuted.x, names_in_file(find.model)[0]
        exact = [Fraction(round(v)) if abs(v - round(v)) < 1e-6 else Fraction(float(v)) for v in x.tolist()]
        value = check_point(find.model, x).objective or Fraction(0)
        point = {name: v for name, v in zip(names, exact, strict=True) if v}
        write_file(find.folder / "reference.sol", holding("".join(solution_lines(value, point)).encode()))
    again = bench.refuted(read_solver_model(find.folder / "model.mps").linear, find.refuted)
    write_file(find.folder / "reproduce.py", holding("".join(_script(find, bench, in_file=again is not None)).encode()))


def _script(find: Find, bench: _Bench, *, in_file: bool) -> Iterator[str]:
    """A script that needs the solver alone, for HiGHS and SCIP."""
    adapter = bench.tested
    given: dict[str, Any] = adapter.own_options(bench._options(bench.extra))
    size = f"{find.model.variables} variables, {find.model.constraints} constraints"
    yield f'"""{adapter.title or adapter.name} {adapter.version()} {find.refuted.said}.\n\n'
    yield f"{find.title}; {size} ({find.before.variables} and {find.before.constraints} before it was reduced).\n"
    if not in_file:
        yield "Read from the file it is solved right: what shows it is how the adapter hands the model over.\n"
    yield "reference.sol has a solution that refutes the claim, in MIPLIB's format.\n" + '"""\n'
    if script := adapter.script(given):
        yield "\n" + script
    else:
        yield f'\n# options: {given!r}\n# kanon-milp bench: a study with mps = "model.mps" and this solver\n'
