# SPDX-License-Identifier: Apache-2.0
"""Circuits as OpenOptics counts them: time slices, nodes and ports from 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rdcnlab.fields.errors import InputError

#: Names of the columns of circuits.
COLUMNS = ("time_slice", "node1", "node2", "port1", "port2")
#: A node and one of its ports.
End = tuple[int, int]


@dataclass(frozen=True)
class Circuits:
    """The circuits of all slices.

    Parameters
    ----------
    slices : int
        Number of slices.
    far : dict
        By slice, node and port: the node and the port at the other end.
    """

    slices: int
    far: dict[tuple[int, int, int], End]

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return 1 + max((node for _, node, _ in self.far), default=1)

    @property
    def ends(self) -> list[End]:
        """Every node and port that has a circuit in some slice, in order."""
        return sorted({(node, port) for _, node, port in self.far})

    def pairs(self, time_slice: int) -> list[list[End]]:
        """Return the two ends of each circuit of a slice, in order."""
        near = [end for end in self.ends if (time_slice, *end) in self.far]
        return [[end, far] for end in near if end <= (far := self.far[time_slice, *end])]

    def lit(self, node: int, port: int) -> list[int]:
        """Return the slices in which a port has a circuit."""
        return [number for number in range(self.slices) if (number, node, port) in self.far]


def read(rows: Iterable[Sequence[int]], columns: tuple[str, ...]) -> Circuits:
    """Return the circuits of rows with these columns.

    Circuits from a port to itself carry nothing and are left out; OpenOptics' topologies have them where a port idles.

    Raises
    ------
    InputError
        Columns or a row are wrong, or a port has two circuits in a slice.
    """
    if set(columns) not in ({*COLUMNS[:3]}, {*COLUMNS}) or len(columns) != len(set(columns)):
        allowed = f"{', '.join(COLUMNS[:3])}, each once, and with several ports {COLUMNS[3]}, {COLUMNS[4]}"
        raise InputError.of("columns", ", ".join(columns), allowed)
    far: dict[tuple[int, int, int], End] = {}
    slices = 1
    for place, circuit in enumerate(rows):
        if len(circuit) != len(columns):
            allowed = f"{len(columns)} numbers: {', '.join(columns)}"
            raise InputError.of(f"circuits[{place}]", ", ".join(map(str, circuit)), allowed)
        row = {"port1": 0, "port2": 0, **{name: int(value) for name, value in zip(columns, circuit, strict=True)}}
        one, other = (row["node1"], row["port1"]), (row["node2"], row["port2"])
        slices = max(slices, row["time_slice"] + 1)
        if one == other:
            continue
        for near, end in ((one, other), (other, one)):
            before = far.setdefault((row["time_slice"], *near), end)
            if before != end:
                value = f"node {near[0]}, port {near[1]} in slice {row['time_slice']}, twice"
                raise InputError.of(f"circuits[{place}]", value, "one circuit for a port in a slice")
    return Circuits(slices, far)
