# SPDX-License-Identifier: Apache-2.0
"""Which link a flow's timetable selects at given instants."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rdcnlab.scenario import Scenario


def targets(scenario: Scenario, flow: str, t_ns: npt.ArrayLike) -> npt.NDArray[np.str_]:
    """Return the link that a flow's timetable selects at given instants.

    Parameters
    ----------
    scenario : Scenario
        Scenario with the timetables and their phases.
    flow : str
        Name of the flow.
    t_ns : array_like of int, shape (n,)
        ns from the start of the scenario.

    Returns
    -------
    ndarray of str, shape (n,)
        Names of links, ``dark`` or ``bypass``. The instant of a boundary belongs to the slot that begins there.
    """
    index = [item.name for item in scenario.flows].index(flow)
    slots, first, phase = scenario.timetable(scenario.flows[index])
    times = np.asarray(t_ns, dtype=np.int64)
    names = np.array([slot.link for slot in slots] or [first])
    if not slots:
        return np.broadcast_to(names[0], times.shape)
    ends = np.cumsum([slot.duration for slot in slots], dtype=np.int64)
    since = np.where(times < phase, 0, (times - phase) % ends[-1])
    result: npt.NDArray[np.str_] = names[np.searchsorted(ends, since, side="right")]
    return result


def changes(scenario: Scenario, flow: str, begin_ns: int, end_ns: int) -> npt.NDArray[np.int64]:
    """Return the instants from `begin_ns` on and before `end_ns` at which a slot of a flow begins, in ns."""
    slots, _, phase = scenario.timetable(next(item for item in scenario.flows if item.name == flow))
    if not slots:
        return np.empty(0, dtype=np.int64)
    durations = np.array([slot.duration for slot in slots], dtype=np.int64)
    cycle = int(durations.sum())
    first, last = max(0, (begin_ns - phase) // cycle), max(0, (end_ns - phase) // cycle) + 1
    starts: npt.NDArray[np.int64] = (
        np.add.outer(np.arange(first, last) * cycle, np.append(0, np.cumsum(durations)[:-1])).ravel() + phase
    )
    inside: npt.NDArray[np.int64] = starts[(starts >= begin_ns) & (starts < end_ns)]
    return inside


def together(scenario: Scenario, flow: str, other: str, t_ns: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return for each instant whether two flows are on the same link; see `targets`."""
    first, second = targets(scenario, flow, t_ns), targets(scenario, other, t_ns)
    return np.asarray((first == second) & (first != "dark") & (first != "bypass"))
