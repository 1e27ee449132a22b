# SPDX-License-Identifier: Apache-2.0
"""Choose circuits from the demand between racks.

Like all modules of the guest, it imports the standard library only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

#: Bytes, by sender's rack and receiver's rack.
Demand = Mapping[tuple[str, str], int]
Pairs = list[tuple[str, str]]


def greedy(demand: Demand, up: Iterable[tuple[str, str]], uplinks: Mapping[str, int]) -> Pairs:
    """Return pairs of racks in the order of their demand in both directions, as long as both have a free uplink.

    A pair that has n circuits counts with the n+1-th part of its demand. A circuit that is up stays where nobody else
    wants its uplinks.

    Examples
    --------
    >>> greedy({("a", "b"): 5, ("b", "c"): 9, ("c", "d"): 3, ("d", "a"): 1}, [], {"a": 1, "b": 1, "c": 1, "d": 1})
    [('b', 'c'), ('a', 'd')]
    """
    both: Counter[tuple[str, str]] = Counter()
    for (first, last), size in demand.items():
        both[min(first, last), max(first, last)] += size
    free, matching = dict(uplinks), Pairs()
    given: Counter[tuple[str, str]] = Counter()
    while True:
        wanted = [pair for pair, size in both.items() if size and free[pair[0]] and free[pair[1]]]
        if not wanted:
            break
        pair = min(wanted, key=lambda one: (-both[one] / (1 + given[one]), one))
        given[pair] += 1
        matching.append(pair)
        for rack in pair:
            free[rack] -= 1
    standing = Counter((min(pair), max(pair)) for pair in up)
    for pair in sorted((standing - given).elements()):
        if free[pair[0]] and free[pair[1]]:
            matching.append(pair)
            for rack in pair:
                free[rack] -= 1
    return matching


def matching(
    demand: Demand,
    up: Sequence[Collection[tuple[str, str]]],
    racks: Sequence[Collection[str]],
    *,
    directed: bool = False,
) -> list[Pairs]:
    """Return for each optical switch the pairs of racks whose demand is largest together: a maximum-weight matching.

    The first switch gets the matching of the whole demand, each further one that of what is left: a pair that has n
    circuits counts with the n+1-th part of its demand. Of matchings with equal demand, that one is taken which keeps
    most circuits, so a circuit stays where nobody else wants its uplinks.

    Parameters
    ----------
    demand : mapping
        Bytes by sender's rack and receiver's rack.
    up : sequence of collection of (str, str)
        For each optical switch, the pairs that it joins now.
    racks : sequence of collection of str
        For each optical switch, the racks that have an uplink to it.
    directed : bool
        Whether circuits lead from the first rack of a pair to its second only: then a rack may have one circuit that
        begins there, and one that ends there. Otherwise the demand of a pair is that of both directions.
    """
    import math  # here, as few of the guest's programs need them

    from blossom import heaviest

    def named(pair: tuple[str, str]) -> tuple[str, str]:
        return pair if directed else (min(pair), max(pair))

    wanted: Counter[tuple[str, str]] = Counter()
    for pair, size in demand.items():
        wanted[named(pair)] += size
    places = {rack: number for number, rack in enumerate(sorted({rack for some in racks for rack in some}))}
    # whole numbers: parts of the demand have a common denominator, and circuits that stay count less than any byte
    whole, above = math.lcm(*range(1, len(racks) + 1)), len(places) + 1
    given: Counter[tuple[str, str]] = Counter()
    found = []
    for here, standing in zip(racks, up, strict=True):
        stays = set(map(named, standing))
        weights = {}
        for pair in sorted(set(wanted) | stays):
            first, last = pair
            if first in here and last in here:
                part = wanted[pair] * whole // (1 + given[pair])
                # a rack as a sender and as a receiver are two vertices, if circuits have a direction
                edge = places[first], places[last] + (len(places) if directed else 0)
                weights[edge] = part * above + (pair in stays)
        partner = heaviest(weights)
        names = sorted(places, key=places.__getitem__) * 2
        chosen = [(names[one], names[other]) for one, other in partner.items() if one < other]
        given.update(chosen)
        found.append(chosen)
    return found


def birkhoff(demand: Demand, racks: Sequence[str]) -> list[tuple[int, Pairs]]:
    """Return permutations and their weights in bytes that together are at least the demand, the heaviest first.

    The matrix is filled up until all its rows and columns have the same sum. Then a permutation whose smallest entry is
    as large as possible is taken out, again and again (Birkhoff 1946, von Neumann 1953). Pairs that only the filling
    asks for are left out.

    Examples
    --------
    >>> birkhoff({("a", "b"): 5, ("b", "a"): 2, ("a", "c"): 1}, ["a", "b", "c"])
    [(5, [('a', 'b'), ('b', 'a')]), (1, [('a', 'c')])]
    """
    count = len(racks)
    left = [[demand.get((first, last), 0) for last in racks] for first in racks]
    matrix = [list(row) for row in left]
    most = max([*map(sum, matrix), *map(sum, zip(*matrix, strict=True))], default=0)
    for row in range(count):
        for column in range(count):
            missing = min(most - sum(matrix[row]), most - sum(line[column] for line in matrix))
            matrix[row][column] += missing
    parts = []
    while any(map(any, matrix)):
        columns = _widest(matrix)
        weight = min(matrix[row][column] for row, column in enumerate(columns))
        pairs = Pairs()
        for row, column in enumerate(columns):
            matrix[row][column] -= weight
            if left[row][column]:
                pairs.append((racks[row], racks[column]))
                left[row][column] = max(0, left[row][column] - weight)
        if pairs:
            parts.append((weight, pairs))
    return sorted(parts, key=lambda one: -one[0])


def _widest(matrix: Sequence[Sequence[int]]) -> list[int]:
    """Return the column of each row of a permutation whose smallest entry is as large as possible."""
    sizes = sorted({value for row in matrix for value in row if value})
    low, high = 0, len(sizes) - 1
    best = permutation(matrix, sizes[0])
    assert best is not None, "a matrix with equal sums has a permutation"
    while low < high:
        middle = (low + high + 1) // 2
        columns = permutation(matrix, sizes[middle])
        if columns is None:
            high = middle - 1
        else:
            low, best = middle, columns
    return best


def permutation(matrix: Sequence[Sequence[int]], least: int) -> list[int] | None:
    """Return the column of each row of a permutation with entries of at least a size; None if there is none.

    Examples
    --------
    >>> permutation([[5, 0], [3, 4]], 4), permutation([[5, 0], [3, 4]], 5)
    ([0, 1], None)
    """
    row_of: dict[int, int] = {}

    def placed(row: int, seen: set[int]) -> bool:
        for column, value in enumerate(matrix[row]):
            if value < least or column in seen:
                continue
            seen.add(column)
            if column not in row_of or placed(row_of[column], seen):
                row_of[column] = row
                return True
        return False

    if not all(placed(row, set()) for row in range(len(matrix))):
        return None
    return [column for _, column in sorted((row, column) for column, row in row_of.items())]
