# SPDX-License-Identifier: Apache-2.0
"""A scenario as people write it: YAML with units, without what has its default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from rdcnlab.fields.quantities import TEXT
from rdcnlab.scenario.flow import Flow
from rdcnlab.scenario.presets import preset, presets
from rdcnlab.scenario.stack import Stack

if TYPE_CHECKING:
    from rdcnlab.scenario.model import Scenario


def text_of(scenario: Scenario) -> str:
    """Return YAML with units, from which `Scenario.load` makes the same scenario."""
    data = scenario.model_dump(mode="json", context={TEXT: True}, exclude_defaults=True)
    if scenario.transport.like is not None:
        # `load` would fill in the older kernel's settings where a field has the default of Linux 6.12.
        data["transport"] = scenario.transport.model_dump(mode="json", context={TEXT: True})
    own: dict[str, tuple[Stack | Flow, ...]] = {"hosts": scenario.hosts, "flows": scenario.stated}
    for name, parts in own.items():
        for part, written in zip(parts, data.get(name, ()), strict=True):
            if part.transport is not None:
                # `load` would fill in the scenario's settings where a field has its default
                written["transport"] = part.transport.model_dump(mode="json", context={TEXT: True})
    data["network"]["ends"] = scenario.network.ends  # what canonical data leave out is not what `load` fills in
    data = {name: data[name] for name in type(scenario).model_fields if name in data}
    network_preset = preset(scenario.network.name) if scenario.network.name in presets() else None
    if network_preset is not None and network_preset.network == scenario.network:
        data["network"] = scenario.network.name
        # `load` would apply the preset's settings, so these fields are written even where they have their default.
        all_fields = scenario.model_dump(mode="json", context={TEXT: True})
        data |= {name: all_fields[name] for name in network_preset.scenario}
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
