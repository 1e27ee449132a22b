# SPDX-License-Identifier: Apache-2.0
"""The scenarios of items that were asked for last.

An item makes its scenarios when its profile is chosen, when its runs are looked up, and in some measurements, for all
runs and for each half of them. A thousand scenarios take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from rdcnlab.scenario import Scenario
from rdcnlab.scenario.families import one_of_each

if TYPE_CHECKING:
    from rdcnlab_papers.items.item import Item

#: By what they depend on, the oldest first.
_KEPT: dict[Hashable, list[Scenario]] = {}
#: Number of scenarios of all items together; only one item may have more.
_MOST_KEPT = 1024


def once(item: Item, make: Callable[[], list[Scenario]]) -> list[Scenario]:
    """Return the scenarios of an item, and make them if they are not among those that were made last.

    Scenarios with files of the user's own are never kept, because a file may change.
    """
    # the number of runs and the column's changes are not among the item's parameters; a notebook that loads changed
    # code again puts other functions into the same class
    key = type(item), type(item).points, item.model_dump_json(), item.count, repr(item.all_changes)
    scenarios = _KEPT.pop(key, None)
    if scenarios is None:
        scenarios = make()
        while _KEPT and sum(map(len, _KEPT.values())) + len(scenarios) > _MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
    if not any(scenario.user_files for scenario in one_of_each(scenarios)):
        _KEPT[key] = scenarios
    return [*scenarios]


def forget() -> None:
    """Forget all scenarios, when an item is done: those of all items would fill the memory."""
    _KEPT.clear()
