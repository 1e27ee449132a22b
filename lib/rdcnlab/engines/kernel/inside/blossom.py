# SPDX-License-Identifier: Apache-2.0
"""The matching of maximum weight in any graph: the primal-dual method of Edmonds (1965).

A free vertex is the root of a tree whose ways alternate between edges outside and inside the matching. Vertices and
blossoms have duals; the slack of an edge is the sum of the duals of its ends, less twice its weight, and only edges
without slack enter trees. Two roots that meet make the matching larger by one edge; an odd circle becomes a blossom,
which the trees pass as one vertex. Where nothing meets, duals change until something does, or until the free vertices
have a dual of 0: then no matching is heavier. Weights are whole numbers, and so is all that is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

#: Labels of vertices and blossoms in trees: the root and what is an even number of edges from it, and the others.
_OUTER, _INNER = 1, 2


def heaviest(weights: Mapping[tuple[int, int], int]) -> dict[int, int]:
    """Return the matching of maximum weight, as the partner of each matched vertex.

    Parameters
    ----------
    weights : mapping of (int, int) to int
        The weight of each edge between two different vertices; edges whose weight is not positive are left out.

    Examples
    --------
    >>> heaviest({(0, 1): 9, (1, 2): 10, (2, 3): 9})
    {0: 1, 1: 0, 2: 3, 3: 2}
    """
    graph = _Graph({edge: weight for edge, weight in weights.items() if weight > 0})
    while graph.augment():
        pass
    return dict(sorted(graph.mate.items()))


class _Graph:
    """A graph, its matching so far, and the trees of a search.

    A node is a vertex or a blossom; a blossom is an odd circle of nodes and has a number above those of vertices.
    """

    def __init__(self, weights: dict[tuple[int, int], int]) -> None:
        self.weights = weights
        vertices = sorted({vertex for edge in weights for vertex in edge})
        self.mate: dict[int, int] = {}
        #: the outermost node of each vertex
        self.top = {vertex: vertex for vertex in vertices}
        #: the vertex of each node whose partner is outside the node
        self.base = {vertex: vertex for vertex in vertices}
        self.dual = dict.fromkeys(vertices, max(weights.values(), default=0))
        #: the nodes of each blossom, that with the base first, and the edges from each of them to the next
        self.children: dict[int, list[int]] = {}
        self.edges: dict[int, list[tuple[int, int]]] = {}
        self.label: dict[int, int] = {}
        #: the edge by which a tree reached each outermost node; its second vertex is in the node
        self.entry: dict[int, tuple[int, int] | None] = {}
        self.next = max(vertices, default=0) + 1

    def augment(self) -> bool:
        """Make the matching larger by one edge; return False if it has the maximum weight."""
        free = [node for node in set(self.top.values()) if self.base[node] not in self.mate]
        self.label = dict.fromkeys(free, _OUTER)
        self.entry = dict.fromkeys(free)
        while free:
            step = self._step()
            if step is not None:
                return step
            if not self._change():
                return False
        return False

    def _step(self) -> bool | None:
        """Grow trees by edges without slack; return True if two of them met, and None if nothing can grow."""
        grown = True
        while grown:
            grown = False
            for (one, other), weight in self.weights.items():
                first, second = one, other
                if self.label.get(self.top[first]) != _OUTER:
                    first, second = second, first
                here, there = self.top[first], self.top[second]
                label = self.label.get(there)
                slack = self.dual[first] + self.dual[second] - 2 * weight
                if here == there or slack or self.label.get(here) != _OUTER or label == _INNER:
                    continue
                if label is None:
                    self._grow(first, second)
                elif not self._join(first, second):
                    return True
                grown = True
        return None

    def _grow(self, first: int, second: int) -> None:
        """Add a matched pair of nodes to the tree of `first`, by the edge to `second`."""
        node = self.top[second]
        self.label[node], self.entry[node] = _INNER, (first, second)
        base = self.base[node]
        partner = self.mate[base]
        self.label[self.top[partner]], self.entry[self.top[partner]] = _OUTER, (base, partner)

    def _way(self, node: int) -> Iterator[int]:
        """Yield the nodes from one of a tree to its root."""
        while True:
            yield node
            entry = self.entry[node]
            if entry is None:
                return
            node = self.top[entry[0]]

    def _join(self, first: int, second: int) -> bool:
        """Make a blossom of the circle that an edge between outer nodes closes; False: it joined two trees instead."""
        seen = set(self._way(self.top[first]))
        common = next((node for node in self._way(self.top[second]) if node in seen), None)
        if common is None:
            self._flip(first, second)
            self._flip(second, first)
            return False
        children: list[int] = []
        edges = [(first, second)]
        for node in self._way(self.top[first]):
            children.insert(0, node)
            if node == common:
                break
            edges.insert(0, self._entered(node))
        for node in self._way(self.top[second]):
            if node == common:
                break
            children.append(node)
            edges.append(self._entered(node)[::-1])
        blossom, self.next = self.next, self.next + 1
        self.children[blossom], self.edges[blossom] = children, edges
        self.base[blossom], self.dual[blossom] = self.base[common], 0
        self.label[blossom], self.entry[blossom] = _OUTER, self.entry[common]
        for child in children:
            del self.label[child], self.entry[child]
        self._set_top(blossom, blossom)
        return True

    def _entered(self, node: int) -> tuple[int, int]:
        entry = self.entry[node]
        assert entry is not None, "only a root has no entry"
        return entry

    def _set_top(self, node: int, top: int) -> None:
        if node not in self.children:
            self.top[node] = top
        for child in self.children.get(node, ()):
            self._set_top(child, top)

    def _flip(self, vertex: int, partner: int) -> None:
        """Match a vertex of an outer node with its new partner, and change the pairs on the way to the root."""
        while True:
            node = self.top[vertex]
            self._rebase(node, vertex)
            self.mate[vertex] = partner
            entry = self.entry[node]
            if entry is None:
                return
            inner = self.top[entry[0]]
            vertex, partner = self._entered(inner)
            self._rebase(inner, partner)
            self.mate[partner] = vertex

    def _rebase(self, node: int, vertex: int) -> None:
        """Make a vertex the base of its node: all others of the node get partners inside."""
        if self.base[node] == vertex:
            return
        self.base[node] = vertex
        children, edges = self.children[node], self.edges[node]
        place = next(number for number, child in enumerate(children) if vertex in self._vertices(child))
        children[:], edges[:] = children[place:] + children[:place], edges[place:] + edges[:place]
        self._rebase(children[0], vertex)
        for number in range(1, len(children), 2):
            one, other = edges[number]
            self._rebase(children[number], one)
            self._rebase(children[number + 1], other)
            self.mate[one], self.mate[other] = other, one

    def _vertices(self, node: int) -> Iterator[int]:
        if node not in self.children:
            yield node
        for child in self.children.get(node, ()):
            yield from self._vertices(child)

    def _change(self) -> bool:
        """Change duals by as much as lets an edge join, or a blossom end; return False if the matching is heaviest."""
        labels = {vertex: self.label.get(top) for vertex, top in self.top.items()}
        least = min(self.dual[vertex] for vertex, label in labels.items() if label == _OUTER)
        limit = least
        for (one, other), weight in self.weights.items():
            if self.top[one] == self.top[other]:
                continue
            ends = (labels[one], labels[other])
            slack = self.dual[one] + self.dual[other] - 2 * weight
            if ends == (_OUTER, _OUTER):
                least = min(least, slack // 2)
            elif ends in ((_OUTER, None), (None, _OUTER)):
                least = min(least, slack)
        inner = [node for node in self.children if self.label.get(node) == _INNER]
        least = min([least, *(self.dual[node] // 2 for node in inner)])
        for vertex, label in labels.items():
            self.dual[vertex] += {_OUTER: -least, _INNER: least, None: 0}[label]
        for node in self.children:
            self.dual[node] += {_OUTER: 2 * least, _INNER: -2 * least, None: 0}[self.label.get(node)]
        if least == limit:
            return False
        for node in inner:
            if not self.dual[node]:
                self._expand(node)
        return True

    def _expand(self, blossom: int) -> None:
        """Let an inner blossom be a way of its nodes again; those beside the way leave the tree."""
        entry = self._entered(blossom)
        children, edges = self.children.pop(blossom), self.edges.pop(blossom)
        del self.label[blossom], self.entry[blossom], self.dual[blossom], self.base[blossom]
        for child in children:
            self._set_top(child, child)
        number = children.index(self.top[entry[1]])
        # the way to the base has an even number of edges
        step, label = (1 if number % 2 else -1), _INNER
        while True:
            node = children[number % len(children)]
            self.label[node], self.entry[node] = label, entry
            if number % len(children) == 0:
                return
            entry = edges[number] if step > 0 else edges[number - 1][::-1]
            number, label = number + step, _OUTER if label == _INNER else _INNER
