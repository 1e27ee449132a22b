# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np

from rdcnlab.analysis import timetables
from rdcnlab.scenario import Scenario

MS = 1_000_000


def test_changes_are_the_instants_at_which_slots_begin(two_flows: Scenario) -> None:
    """Between two of them the target is the same, and at each of them it is another one."""
    span = (7 * 10**6, 180 * 10**6)
    instants = timetables.changes(two_flows, "migrated", *span)
    assert len(instants) >= 2
    assert span[0] <= instants[0]
    assert instants[-1] < span[1]
    at, before = (timetables.targets(two_flows, "migrated", instants - k) for k in (0, 1))
    assert (at != before).all()
    every = timetables.targets(two_flows, "migrated", np.arange(*span, 10**4))
    assert (every[1:] != every[:-1]).sum() == len(instants)
    assert len(timetables.changes(two_flows, "main", *span)) == 0


def test_targets_follow_the_timetable(two_flows: Scenario) -> None:
    times = np.array([0, 49, 50, 99, 100, 150]) * MS
    assert list(timetables.targets(two_flows, "migrated", times)) == ["blue", "blue", "green", "green", "blue", "green"]
    assert set(timetables.targets(two_flows, "main", times)) == {"green"}
    assert list(timetables.together(two_flows, "main", "migrated", times)) == [False, False, True, True, False, True]
    late = two_flows.with_(**{"flows.migrated.phase": "10 ms"})
    assert list(timetables.targets(late, "migrated", times)) == ["blue", "blue", "blue", "green", "green", "blue"]
    night = two_flows.with_(
        **{"flows.migrated.path": [["1 ms", "blue"], ["1 ms", "dark"]], "flows.main.path": "bypass"}
    )
    assert list(timetables.targets(night, "migrated", [0, MS, 2 * MS])) == ["blue", "dark", "blue"]
    assert not timetables.together(night, "main", "migrated", times).any()
