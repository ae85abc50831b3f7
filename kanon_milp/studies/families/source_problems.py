"""Source problems of the papers' reductions: read from files, and solved exactly by plain search.

The solvers know nothing of tables and constructions: what a family says of its instances is held against them. They
give up after `MOST_STEPS` and raise InputError: no answer is guessed.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from kanon_milp.errors import InputError, nearest, unreadable

MOST_STEPS = 2_000_000
SHIPPED = Path(__file__).with_name("sources")
Triple = tuple[int, int, int]
Edge = tuple[int, int]
Literal = tuple[int, bool]  # a variable, and whether it is meant to be true
Clause = tuple[Literal, Literal, Literal]
Item = TypeVar("Item", bound=Hashable)
P = ParamSpec("P")
T = TypeVar("T")
_FORMS = {
    "triples": '{"triples": [["x1", "y1", "z1"], ...]}, with "elements": [[...], [...], [...]] where some are in none',
    "sets": '{"sets": [["a", "b", "c"], ...]}, with "universe": [...] where some elements are in none',
    "graph": '{"edges": [["a", "b"], ...]}, with "vertices": [...] where some are in none, or node-link data',
    "parts": '{"edges": [["a", "x"], ...], "parts": [["a", ...], ["x", ...]]}, or node-link data with "bipartite"',
    "formula": '{"clauses": [["x", "-y", "z"], ...]}, also with numbers as in DIMACS files',
}


@dataclass(frozen=True)
class Source:
    """A source problem's data in a normal form: elements, vertices and variables are numbers from 0.

    names: what they are called, part by part where they are of several parts. members: triples, sets, edges or clauses.
    """

    names: tuple[tuple[str, ...], ...]
    members: tuple[Any, ...]


def _not_solved() -> InputError:
    return InputError(f"the source problem was not solved exactly in {MOST_STEPS:,} steps; take a smaller one")


def _searched(solve: Callable[P, T]) -> Callable[P, T]:
    """A search that gives up where it gets too deep for Python, too."""

    @functools.wraps(solve)
    def search(*args: P.args, **more: P.kwargs) -> T:
        try:
            return solve(*args, **more)
        except RecursionError:
            raise _not_solved() from None

    return search


class _Steps:
    def __init__(self) -> None:
        self._left = MOST_STEPS

    def take(self) -> None:
        """One more."""
        self._left -= 1
        if not self._left:
            raise _not_solved()


@_searched
def exact_cover(items: Iterable[Item], options: Sequence[Iterable[Item]]) -> list[int] | None:
    """Numbers of options that hold every item exactly once; None where there are none. The item in the fewest options
    comes first."""
    held = [frozenset(option) for option in options]
    at: dict[Item, list[int]] = {item: [] for item in items}
    for number, option in enumerate(held):
        if option <= at.keys():
            for item in option:
                at[item].append(number)
    steps = _Steps()

    def search(left: frozenset[Item]) -> list[int] | None:
        steps.take()
        if not left:
            return []
        fitting: list[int] | None = None
        for item in left:
            found = [number for number in at[item] if held[number] <= left]
            if fitting is None or len(found) < len(fitting):
                fitting = found
            if len(fitting) <= 1:
                break
        for number in fitting or ():
            rest = search(left - held[number])
            if rest is not None:
                return [number, *rest]
        return None

    found = search(frozenset(at))
    return None if found is None else sorted(found)


@_searched
def largest_matching(triples: Sequence[Triple]) -> list[int]:
    """Numbers of as many triples as possible of which no two share an element: of the first part's elements, one after
    the other, each triple or none."""
    of_first: dict[int, list[int]] = {}
    for number, triple in enumerate(triples):
        of_first.setdefault(triple[0], []).append(number)
    order, steps = sorted(of_first, key=lambda each: len(of_first[each])), _Steps()
    best: list[int] = []

    def search(at: int, used: frozenset[tuple[int, int]], chosen: list[int]) -> bool:
        """Whether none can be better."""
        nonlocal best
        steps.take()
        if len(chosen) > len(best):
            best = chosen
        if len(chosen) + len(order) - at <= len(best):
            return len(best) == len(order)
        for number in of_first[order[at]]:
            _, b, c = triples[number]
            if (1, b) not in used and (2, c) not in used and search(at + 1, used | {(1, b), (2, c)}, [*chosen, number]):
                return True
        return search(at + 1, used, chosen)

    search(0, frozenset(), [])
    return sorted(best)


@_searched
def smallest_cover(
    universe: Iterable[int], sets: Sequence[Iterable[int]], numbers: Iterable[int] | None = None
) -> list[int] | None:
    """Numbers of as few sets as possible that cover; None where not all of them do.

    numbers: how many sets are tried, in this order; None where none of these will do. An element that is in the fewest
    sets needs one of them, and what is left is covered by the largest ones, if at all.
    """
    listed = [set(each) for each in sets]
    at = {u: [number for number, each in enumerate(listed) if u in each] for u in universe}
    if not all(at.values()):
        return None
    order = sorted(at, key=lambda u: len(at[u]))  # bits of what is left, the rarest elements first
    held = [sum(1 << bit for bit, u in enumerate(order) if u in each) for each in listed]
    steps = _Steps()

    def search(left: int, number: int, usable: frozenset[int]) -> list[int] | None:
        steps.take()
        if not left:
            return []
        gains = {each: (left & held[each]).bit_count() for each in usable}
        if sum(sorted(gains.values(), reverse=True)[:number]) < left.bit_count():
            return None
        rarest = at[order[(left & -left).bit_length() - 1]]
        for each in sorted(usable.intersection(rarest), key=lambda each: -gains[each]):
            usable -= {each}  # what has it is looked at now
            rest = search(left & ~held[each], number - 1, usable)
            if rest is not None:
                return [each, *rest]
        return None

    for number in range(len(listed) + 1) if numbers is None else numbers:
        found = search((1 << len(order)) - 1, number, frozenset(range(len(listed))))
        if found is not None:
            return sorted(found)
    return None


@_searched
def one_true_literal(clauses: Sequence[Clause]) -> dict[int, bool] | None:
    """Values of the variables with exactly one true literal in each clause; None where there are none."""
    steps = _Steps()

    def search(at: int, known: dict[int, bool]) -> dict[int, bool] | None:
        steps.take()
        if at == len(clauses):
            return known
        for true in range(3):
            values = dict(known)
            for place, (variable, sign) in enumerate(clauses[at]):
                value = sign == (place == true)
                if values.setdefault(variable, value) != value:
                    break
            else:
                found = search(at + 1, values)
                if found is not None:
                    return found
        return None

    return search(0, {})


def most_common_neighbours(neighbours: Sequence[set[int]], number: int) -> tuple[tuple[int, ...], set[int]]:
    """So many vertices of one side of a bipartite graph with as many neighbours in common as possible."""
    steps = _Steps()
    best: tuple[tuple[int, ...], set[int]] | None = None
    for chosen in itertools.combinations(range(len(neighbours)), number):
        steps.take()
        common = set.intersection(*(neighbours[a] for a in chosen))
        if best is None or len(common) > len(best[1]):
            best = chosen, common
    assert best is not None
    return best


def smallest_bisection(vertices: int, edges: Sequence[Edge]) -> tuple[int, ...]:
    """Half of the vertices with as few edges as possible to the other half: all halves are tried."""
    steps = _Steps()

    def cut(inside: tuple[int, ...]) -> int:
        steps.take()
        return sum((a in inside) != (b in inside) for a, b in edges)

    return min(((0, *rest) for rest in itertools.combinations(range(1, vertices), vertices // 2 - 1)), key=cut)


def clique(vertices: int, edges: Sequence[Edge], size: int) -> tuple[int, ...] | None:
    """So many vertices that are all joined; None where there are none."""
    import networkx as nx  # slow to import

    graph = nx.Graph(edges)
    graph.add_nodes_from(range(vertices))
    found = (each for each in nx.find_cliques(graph) if len(each) >= size)
    return tuple(sorted(next(found, ())[:size])) or None


def read_source(source: object, kind: str) -> Source:
    """A source problem from a JSON file, the name of a shipped one, its data as Python objects, or a networkx graph.

    kind: triples, sets, graph, parts (a graph with so many parts as the family needs) or formula. Raises InputError
    that names what is wrong and the form that is expected.
    """
    import networkx as nx  # slow to import

    where, data = "source", source
    if isinstance(source, str | Path):
        where, data = str(source), _load(Path(source))
    if isinstance(data, nx.Graph):
        if data.is_directed() or data.is_multigraph():
            raise InputError(f"{where}: an undirected graph without parallel edges is expected")
        data = nx.node_link_data(data, edges="edges")
    if isinstance(data, list):
        data = {{"graph": "edges", "parts": "edges", "formula": "clauses"}.get(kind, kind): data}
    try:
        return _READERS[kind](data)
    except _BadError as bad:
        raise InputError(f"{where}: {bad}; the form is {_FORMS[kind]}") from None


class _BadError(Exception):
    """What is wrong with a source problem."""


def shipped() -> list[str]:
    """Names of the source problems that come with the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.json"))


def _load(path: Path) -> object:
    if not path.exists() and path.name in shipped():
        path = SHIPPED / f"{path.name}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        said = nearest(str(path), shipped())
        raise InputError(f"{path}: no such file{said}; the package has {', '.join(shipped())}") from None
    except (OSError, ValueError, RecursionError) as error:
        why = f"line {error.lineno}: no JSON" if isinstance(error, json.JSONDecodeError) else unreadable(error)
        raise InputError(f"{path}: {why}") from None


def _lists(data: object, key: str, size: int | None = None) -> list[list[str]]:
    found = data.get(key) if isinstance(data, Mapping) else None
    if not isinstance(found, list | tuple) or not all(isinstance(each, list | tuple) for each in found):
        raise _BadError(f'"{key}" must be a list of lists')
    named = [[_name(each) for each in some] for some in found]
    for number, some in enumerate(named, 1):
        if size is not None and len(some) != size:
            raise _BadError(f'number {number} of "{key}" has {len(some)} entries, {size} are expected')
    return named


def _name(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _BadError("names must be texts or whole numbers")
    return str(value)


def _numbered(listed: Iterable[str], named: Iterable[str], what: str) -> dict[str, int]:
    """Names and their numbers: of those that are listed, else in the order in which they are named."""
    given = list(listed)
    if len(set(given)) < len(given):
        raise _BadError(f"{what}: a name is there twice")
    numbers = {name: number for number, name in enumerate(given or dict.fromkeys(named))}
    if not numbers.keys() >= set(named):
        raise _BadError(f"{what}: a name that is used is not listed")
    return numbers


def _listed(data: object, key: str) -> list[str]:
    found = data.get(key, []) if isinstance(data, Mapping) else []
    if not isinstance(found, list | tuple):
        raise _BadError(f'"{key}" must be a list of names')
    return [_name(each) for each in found]


def _triples(data: object) -> Source:
    triples = _lists(data, "triples", 3)
    parts = _lists(data, "elements") if isinstance(data, Mapping) and "elements" in data else [[], [], []]
    if len(parts) != 3:
        raise _BadError('"elements" must have three lists')
    numbers = [_numbered(part, [each[d] for each in triples], '"elements"') for d, part in enumerate(parts)]
    if len(set(map(len, numbers))) > 1 or not numbers[0]:
        sizes = ", ".join(str(len(part)) for part in numbers)
        raise _BadError(f"the three parts must have equally many elements, and at least one; they have {sizes}")
    members = {tuple(numbers[d][each[d]] for d in range(3)) for each in triples}
    return Source(tuple(map(tuple, numbers)), tuple(sorted(members)))


def _sets(data: object) -> Source:
    sets = _lists(data, "sets")
    numbers = _numbered(_listed(data, "universe"), [name for each in sets for name in each], '"universe"')
    if not numbers or not all(sets):
        raise _BadError("there must be sets, and none of them may be empty")
    members = tuple(tuple(sorted({numbers[name] for name in each})) for each in sets)
    return Source((tuple(numbers),), tuple(dict.fromkeys(members)))


def _edges(data: object) -> tuple[list[list[str]], list[str], list[Any]]:
    """Edges, vertices that are listed, and of these their part of node-link data."""
    if isinstance(data, Mapping) and "nodes" in data:  # node-link data of networkx, in both of its spellings
        nodes, links = data["nodes"], data.get("links", data.get("edges"))
        if not isinstance(nodes, list) or not isinstance(links, list):
            raise _BadError("node-link data has lists of nodes and edges")
        try:
            edges = [[_name(each["source"]), _name(each["target"])] for each in links]
            return edges, [_name(each["id"]) for each in nodes], [each.get("bipartite") for each in nodes]
        except (KeyError, TypeError, AttributeError):
            raise _BadError("node-link data has an id for each node, a source and a target for each edge") from None
    return _lists(data, "edges", 2), _listed(data, "vertices"), []


def _graph(data: object) -> Source:
    edges, listed, _ = _edges(data)
    numbers = _numbered(listed, [name for edge in edges for name in edge], '"vertices"')
    return Source((tuple(numbers),), _simple(edges, numbers))


def _simple(edges: list[list[str]], numbers: Mapping[str, int]) -> tuple[Edge, ...]:
    found = {(min(a, b), max(a, b)) for a, b in ((numbers[a], numbers[b]) for a, b in edges)}
    if any(a == b for a, b in found):
        raise _BadError("an edge joins a vertex to itself")
    if not found:
        raise _BadError("there is no edge")
    return tuple(sorted(found))


def _parts(data: object) -> Source:
    """A graph whose vertices are of several parts; edges are pairs of (part, number)."""
    edges, listed, sides = _edges(data)
    if any(side is not None for side in sides):
        labels = sorted({str(side) for side in sides})
        parts = [[name for name, side in zip(listed, sides, strict=True) if str(side) == label] for label in labels]
    else:
        parts = _lists(data, "parts")
    at = {name: (part, number) for part, some in enumerate(parts) for number, name in enumerate(some)}
    if len(at) < sum(map(len, parts)) or not at.keys() >= {name for edge in edges for name in edge}:
        raise _BadError("each vertex must be in one of the parts")
    members = {tuple(sorted((at[a], at[b]))) for a, b in edges}
    if any(a[0] == b[0] for a, b in members):
        raise _BadError("an edge joins two vertices of one part")
    return Source(tuple(map(tuple, parts)), tuple(sorted(members)))


def _formula(data: object) -> Source:
    clauses = _lists(data, "clauses", 3)
    signed = [[(name.lstrip("-"), not name.startswith("-")) for name in clause] for clause in clauses]
    numbers = _numbered([], [name for clause in signed for name, _ in clause], "variables")
    if not clauses or any(len({name for name, _ in clause}) < 3 for clause in signed):
        raise _BadError("each clause must have three different variables, and there must be one")
    return Source((tuple(numbers),), tuple(tuple((numbers[name], sign) for name, sign in each) for each in signed))


_READERS = {"triples": _triples, "sets": _sets, "graph": _graph, "parts": _parts, "formula": _formula}
