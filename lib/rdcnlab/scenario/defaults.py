# SPDX-License-Identifier: Apache-2.0
"""What a scenario need not say: networks by name, fields that a preset gives to flows, and the usual paths."""

from __future__ import annotations

from typing import Any

from rdcnlab.fields.quantities import EVERY
from rdcnlab.scenario import older
from rdcnlab.scenario.fabrics import FABRICS, fabric
from rdcnlab.scenario.network import Network
from rdcnlab.scenario.presets import Preset, preset, presets
from rdcnlab.scenario.ranges import expanded, expanded_network
from rdcnlab.scenario.settings import Transport
from rdcnlab.scenario.timetable import BYPASS, ECMP


def with_defaults(data: dict[str, Any], *, text: bool) -> dict[str, Any]:
    """Fill in values that depend on other fields: the settings of a preset, and the default path of flows."""
    data = _with_preset(data, text=text)
    if isinstance(data.get("transport"), dict):
        data = {**data, "transport": older.with_settings(data["transport"], {})}
    switch, network = data.get("switch"), data.get("network")
    # With several switches the default is the shortest way. A P4 program of the user decides itself where packets go.
    graph = bool(
        network.switches if isinstance(network, Network) else isinstance(network, dict) and network.get("switches")
    )
    own = isinstance(switch, dict) and switch.get("program") is not None
    if not (own or graph) or not isinstance(data.get("flows"), list | tuple):
        return data
    path = ECMP if graph else BYPASS
    return {**data, "flows": [{"path": path, **flow} if isinstance(flow, dict) else flow for flow in data["flows"]]}


def like(transport: Transport, network: Network, kernel: str | None) -> dict[str, Any]:
    """Return a transport, as plain data with every field, that is like another kernel.

    Fields that a scenario with this network has without saying anything take the kernel's values; others stay.
    """
    preset_of = preset(network.name).scenario.get("transport", {}) if network.name in presets() else {}

    def plain(given: dict[str, Any]) -> dict[str, Any]:
        made = Transport.model_validate(older.with_settings(given, preset_of))
        data: dict[str, Any] = made.model_dump(mode="json", context={EVERY: True})
        return data

    usual = plain({"like": transport.like})
    now = transport.model_dump(mode="json", context={EVERY: True})
    return plain({**{name: value for name, value in now.items() if value != usual[name]}, "like": kernel})


def _with_preset(data: dict[str, Any], *, text: bool) -> dict[str, Any]:
    """Replace the name of a network by the network, and fill in the preset's values for flows and settings."""
    if "flows" in data:
        data = {**data, "flows": expanded(data["flows"], "flows")}
    network = data.get("network")
    if isinstance(network, str) and network in FABRICS:
        network = {"fabric": network}
    if isinstance(network, dict):
        network = fabric(network, text=text) if "fabric" in network else expanded_network(network)
        data = {**data, "network": network}
    if isinstance(network, str):
        known = preset(network)
        data = {**data, "network": known.network}
        for name, settings in known.scenario.items():
            given = data.get(name)
            if name not in data:
                data[name] = settings
            elif name == "transport" and isinstance(given, dict):
                data[name] = older.with_settings(given, settings)
            elif isinstance(settings, dict) and isinstance(given, dict):
                data[name] = {**settings, **given}
    elif isinstance(network, dict) and isinstance(network.get("name"), str) and network["name"] in presets():
        known = preset(network["name"])
    else:
        return data
    if isinstance(data.get("flows"), list | tuple):
        data = {**data, "flows": [_routed(flow, known) for flow in data["flows"]]}
    return data


def _routed(flow: Any, known: Preset) -> Any:
    if isinstance(flow, dict) and isinstance(flow.get("name"), str):
        return {**known.route(flow["name"]), **flow}
    return flow
