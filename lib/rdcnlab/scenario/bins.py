# SPDX-License-Identifier: Apache-2.0
"""Bins that are longer than slots: tables and pictures then have means over several slots."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rdcnlab.fields.units import DURATION
from rdcnlab.scenario.caution import Caution
from rdcnlab.scenario.timetable import DARK, Slot

if TYPE_CHECKING:
    from rdcnlab.scenario.model import Scenario

#: Bins that the shortest slot has at least with the proposed bin.
_BINS_OF_SLOT = 5
#: The shortest bin in ns.
_LEAST = 1000


def coarse(scenario: Scenario) -> Iterator[Caution]:
    """Find that bins are longer than the shortest slot with a link."""
    slots = list(_slots(scenario))
    if not slots:
        return
    duration, name = min(slots)
    if scenario.probes.bin <= max(duration, _LEAST):
        return
    text = (
        f"bins of {DURATION.format(scenario.probes.bin)} are longer than slots of {name} "
        f"({DURATION.format(duration)}), so tables and pictures show means over several slots"
    )
    yield Caution("probes.bin", text, f"Set it to {DURATION.format(_proposed(duration))} or less")


def _slots(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Yield the durations of slots that lead somewhere, of each timetable that changes, with its name."""
    optics = scenario.network.optics
    if optics is not None and len(optics.slots) > 1:
        yield from ((slot.duration, "the circuits") for slot in optics.slots if slot.circuits)
    seen = set()
    for flow in scenario.flows:
        for back in (False, True):
            schedule = scenario.schedule(flow, back=back)
            path = flow.back if back else flow.path
            key = path if schedule is None else schedule.name
            if key in seen:
                continue
            seen.add(key)
            slots = schedule.slots if schedule is not None else () if isinstance(path, str) else path
            owner = f"flow {flow.name}" if schedule is None else f"the schedule {schedule.name}"
            yield from ((duration, owner) for duration, link in _spans(slots) if link != DARK)


def _spans(slots: Sequence[Slot]) -> list[tuple[int, str]]:
    """Return the duration and the link of each span on one link; none if the link never changes."""
    begin = next((place for place, slot in enumerate(slots) if slot.link != slots[place - 1].link), None)
    if begin is None:
        return []
    turned = [*slots[begin:], *slots[:begin]]
    return [
        (sum(slot.duration for slot in span), link) for link, span in itertools.groupby(turned, lambda slot: slot.link)
    ]


def _proposed(duration: int) -> int:
    """Return the largest of 1, 2 and 5 times a power of ten that gives a slot some bins."""
    most = max(_LEAST, duration // _BINS_OF_SLOT)
    power: int = 10 ** (len(str(most)) - 1)
    return max(step * power for step in (1, 2, 5) if step * power <= most)
