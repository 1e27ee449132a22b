# SPDX-License-Identifier: Apache-2.0
"""Many scenarios at once: those of one family differ in the seed only, and are changed together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdcnlab.scenario.model import Scenario


def change_all(scenarios: Iterable[Scenario], changes: Mapping[str, Any]) -> list[Scenario]:
    """Return scenarios in which some fields are changed, as `Scenario.with_` does for one.

    Scenarios that share all parts except the seed are changed together: items have up to a hundred seeds of each.
    """
    originals = list(scenarios)
    if not changes:
        return originals
    changed: dict[int, Scenario] = {}
    results = []
    for original in originals:
        alike = changed.get(id(original._family))
        if alike is None:
            alike = changed[id(original._family)] = original.with_(**changes)
        is_alike = "seed" not in changes and not (original._depends_on_seed or alike._depends_on_seed)
        results.append(alike.with_(seed=original.seed) if is_alike else original.with_(**changes))
    return results
