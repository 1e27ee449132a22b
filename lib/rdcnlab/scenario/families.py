# SPDX-License-Identifier: Apache-2.0
"""Families: scenarios that share all parts except the seed. Items have up to a hundred seeds of each scenario."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdcnlab.scenario.model import Scenario


@dataclass(eq=False)
class Family:
    """What was computed for one scenario of a family, and holds for all. It is the same object in all of them.

    Parameters
    ----------
    canonical : dict or None
        The plain data with the seed of any of them.
    texts : dict or None
        Canonical JSON of each field except network and seed.
    around_seed : list of str or None
        The text that is hashed before and after the seed.
    """

    canonical: dict[str, Any] | None = None
    texts: dict[str, str] | None = None
    around_seed: list[str] | None = None


def one_of_each(scenarios: Iterable[Scenario]) -> list[Scenario]:
    """Return one scenario of each family: what does not depend on the seed is asked of it alone."""
    return list({scenario._family: scenario for scenario in scenarios}.values())


def change_all(scenarios: Iterable[Scenario], changes: Mapping[str, Any]) -> list[Scenario]:
    """Return scenarios in which some fields are changed, as `Scenario.with_` does for one; families change together."""
    originals = list(scenarios)
    if not changes:
        return originals
    changed: dict[Family, Scenario] = {}
    results = []
    for original in originals:
        alike = changed.get(original._family)
        if alike is None:
            alike = changed[original._family] = original.with_(**changes)
        is_alike = "seed" not in changes and not (original._depends_on_seed or alike._depends_on_seed)
        results.append(alike.with_(seed=original.seed) if is_alike else original.with_(**changes))
    return results
