# SPDX-License-Identifier: Apache-2.0
"""Which part of a table contains which other part."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from rdcnlab.runs.parts import GROUPS, Part


def test_groups_are_made_of_flows_and_flows_not_of_groups() -> None:
    flows = Part(("bin", "where", "flow", "bytes"))
    assert flows.covers(GROUPS)
    assert not GROUPS.covers(flows)
    assert not Part(("where", "flow", "bytes")).covers(GROUPS)
    both = GROUPS.unite(Part(("bin", "packets"), "links"))
    assert both.covers(GROUPS)
    assert both.covers(Part(("bin", "packets"), "links"))
    assert Part.from_data(GROUPS.data()) == GROUPS


def test_rows_are_sorted_and_not_put_back() -> None:
    rows = Part(("t_ns", "event"), tick=1000)
    ordered = replace(rows, sort=True)
    assert rows.covers(ordered)
    assert not ordered.covers(rows)
    assert rows.unite(ordered) == rows
    assert ordered.covers(replace(ordered, tick=2000))
    assert Part.from_data(ordered.data()) == ordered
    table = pa.table({"t_ns": [5, 900, 1500], "event": ["retransmit", "drop_red", "drop_red"]})
    assert ordered.of(table)["event"].to_pylist() == ["drop_red", "retransmit", "drop_red"]
    assert ordered.of(ordered.of(table)) == ordered.of(table)
