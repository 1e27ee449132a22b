# SPDX-License-Identifier: Apache-2.0
"""Defaults of a scenario: networks by name, fields that a preset gives to flows, and the usual paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rdcnlab.fields.phrases import listed
from rdcnlab.fields.quantities import EVERY, TEXT, is_canonical
from rdcnlab.scenario import flow_file, older
from rdcnlab.scenario.ends import with_ends
from rdcnlab.scenario.fabrics import FABRICS, fabric
from rdcnlab.scenario.network import Network
from rdcnlab.scenario.presets import Preset, preset, presets
from rdcnlab.scenario.program import expanded
from rdcnlab.scenario.ranges import expand, expanded_network
from rdcnlab.scenario.timetable import BYPASS, ECMP, RESERVED
from rdcnlab.scenario.transport import Transport
from rdcnlab.scenario.workloads import Sizes, Workload
from rdcnlab.scenario.workloads.arrivals import as_stored


def with_defaults(data: dict[str, Any], *, text: bool, directory: Path | None = None) -> dict[str, Any]:
    """Fill in values that depend on other fields: the settings of a preset, and the default path of flows."""
    data = _with_transports(_with_preset(data, text=text, directory=directory))
    if "programs" in data:
        data = _with_programs(data)
    if isinstance(data.get("transport"), dict):
        data = {**data, "transport": older.with_settings(data["transport"], {})}
    switch, network = data.get("switch"), data.get("network")
    # With several switches the default is the shortest way. A P4 program of the user decides itself where packets go.
    graph = bool(
        network.switches if isinstance(network, Network) else isinstance(network, dict) and network.get("switches")
    )
    own_program = isinstance(switch, dict) and switch.get("program") is not None
    path = ECMP if graph else BYPASS
    if isinstance(data.get("workloads"), list | tuple):
        stored = data["workloads"] if text else map(_as_stored, data["workloads"])
        data = {**data, "workloads": _with_path([*stored], path)}
    if isinstance(data.get("programs"), list):
        data = {**data, "programs": _with_path(data["programs"], path)}
    if not (own_program or graph) or not isinstance(data.get("flows"), list | tuple):
        return data
    return {**data, "flows": _with_path(data["flows"], path)}


def _as_stored(workload: Any) -> Any:
    """Return a workload of canonical data with the meaning that its load had when it was stored; others unchanged."""
    # canonical data have the points of a distribution, for which nobody else has a reason
    if is_canonical(Workload, workload) and is_canonical(Sizes, workload["sizes"]):
        return {**workload, "arrivals": as_stored(workload["arrivals"])}
    return workload


def _with_path(items: Sequence[Any], path: str) -> list[Any]:
    return [{"path": path, **item} if isinstance(item, dict) else item for item in items]


def like(transport: Transport, network: str | None, kernel: str | None) -> dict[str, Any]:
    """Return a transport that behaves like another kernel, as plain data with every field.

    Fields with the default of a scenario with the network of this name take the kernel's values; the other fields keep
    theirs.
    """
    preset_fields = preset(network).scenario.get("transport", {}) if network in presets() else {}

    def plain(fields: dict[str, Any]) -> dict[str, Any]:
        transport_like = Transport.model_validate(older.with_settings(fields, preset_fields))
        data: dict[str, Any] = transport_like.model_dump(mode="json", context={EVERY: True})
        return data

    usual = plain({"like": transport.like})
    current = transport.model_dump(mode="json", context={EVERY: True})
    return plain({**{name: value for name, value in current.items() if value != usual[name]}, "like": kernel})


def missing_in_flow(data: dict[str, Any] | None, location: Sequence[int | str]) -> str | None:
    """Return in a sentence why a flow lacks its hosts or its path, and what to write; None for any other field.

    Parameters
    ----------
    data : dict or None
        The scenario's data with defaults.
    location : sequence of int or str
        Location of the missing field, such as ``("flows", 0, "src")``.
    """
    match location:
        case ["flows", int() as number, ("src" | "dst" | "path") as field] if data is not None:
            flow, network = data["flows"][number], data.get("network")
        case _:
            return None
    if isinstance(network, dict):
        names = {kind: _names(network.get(kind)) for kind in ("hosts", "links", "schedules")}
    elif isinstance(network, Network):
        names = {kind: [item.name for item in getattr(network, kind)] for kind in ("hosts", "links", "schedules")}
    else:
        return ""
    title = f"flow {flow['name']!r}" if isinstance(flow.get("name"), str) else "this flow"
    if field == "path":
        targets = listed([*names["links"], *names["schedules"], *RESERVED])
        return f"{title} has no path. Write path: with one of {targets}, or with a timetable"
    lacking = [end for end in ("src", "dst") if end not in flow]
    message = f"{title} has no {' and no '.join(lacking)}. Write {' and '.join(f'{end}:' for end in lacking)}"
    label = network.name if isinstance(network, Network) else network.get("name")
    routes = preset(label).routes if isinstance(label, str) and label in presets() else {}
    keys = [key for key, fields in routes.items() if field in fields]
    if keys:
        message += f" (in the network {label} only flows whose names begin with {listed(keys)} have a default)"
    return f"{message}; hosts are {listed(names['hosts'])}"


def _names(items: Any) -> list[str]:
    """Return the names of a list of items, as far as they are text."""
    names = [item.get("name") for item in items if isinstance(item, dict)] if isinstance(items, list | tuple) else []
    return [name for name in names if isinstance(name, str)]


def _with_preset(data: dict[str, Any], *, text: bool, directory: Path | None) -> dict[str, Any]:
    """Replace the name of a network by the network, and fill in the preset's values for flows and settings."""
    if "flows" in data:
        data = {**data, "flows": expand(data["flows"], "flows")}
    network = data.get("network")
    if isinstance(network, str) and network in FABRICS:
        network = {"fabric": network}
    if isinstance(network, dict):
        network = (
            fabric(network, text=text, directory=directory)
            if "fabric" in network
            else expanded_network(with_ends(network, text=text))
        )
        data = {**data, "network": network}
    if isinstance(network, str):
        network_preset = preset(network)
        data = {**data, "network": network_preset.network}
        for name, settings in network_preset.scenario.items():
            own_fields = data.get(name)
            if name not in data:
                data[name] = settings
            elif name == "transport" and isinstance(own_fields, dict):
                data[name] = older.with_settings(own_fields, settings)
            elif isinstance(settings, dict) and isinstance(own_fields, dict):
                data[name] = {**settings, **own_fields}
    elif isinstance(network, dict) and isinstance(network.get("name"), str) and network["name"] in presets():
        network_preset = preset(network["name"])
    else:
        network_preset = None
    if "flows" in data:
        data = {**data, "flows": flow_file.expanded(data["flows"], _hosts(data), directory, text=text)}
    if network_preset is not None and isinstance(data.get("flows"), list | tuple):
        data = {**data, "flows": [_routed(flow, network_preset) for flow in data["flows"]]}
    return data


def _with_programs(data: dict[str, Any]) -> dict[str, Any]:
    """Name each program, and let a scenario with programs have no flows."""
    return {"flows": [], **data, "programs": expanded(data["programs"], _hosts(data))}


def _hosts(data: dict[str, Any]) -> list[str]:
    """Return the names of the network's hosts, as far as they are text."""
    network = data.get("network")
    if isinstance(network, Network):
        return [host.name for host in network.hosts]
    return _names(network.get("hosts")) if isinstance(network, dict) else []


def _with_transports(data: dict[str, Any]) -> dict[str, Any]:
    """Fill in the scenario's settings of TCP where a host or a flow gives only some."""
    if "hosts" in data:
        data = {**data, "hosts": expand(data["hosts"], "hosts")}
    parts = {name: data[name] for name in ("hosts", "flows") if isinstance(data.get(name), list | tuple)}
    if not any(isinstance(part, dict) and "transport" in part for every in parts.values() for part in every):
        return data
    shared, network = data.get("transport", {}), data.get("network")
    if isinstance(shared, dict):
        try:
            shared = Transport.model_validate(older.with_settings(shared, {}))
        except ValidationError:
            return data  # said where the scenario's settings are checked
    if not isinstance(shared, Transport):
        return data
    label = network.get("name") if isinstance(network, dict) else getattr(network, "name", None)
    return data | {name: [_with_transport(part, shared, label) for part in every] for name, every in parts.items()}


def _with_transport(part: Any, shared: Transport, label: Any) -> Any:
    """Fill in a host's or a flow's settings of TCP.

    Parameters
    ----------
    part : object
        The host or the flow. Settings with every field that canonical data always have are complete.
    shared : Transport
        The scenario's settings.
    label : object
        Name of the network.
    """
    own = part.get("transport") if isinstance(part, dict) else None
    if not isinstance(own, dict) or own.keys() >= Transport().model_dump(mode="json").keys():
        return part
    kernel = own.get("like", shared.like)
    kernel = None if kernel is None else str(kernel)
    if kernel in older.KERNELS or kernel is None:
        shared = Transport.model_validate(like(shared, label, kernel))
    brought = older.settings(kernel) if kernel in older.KERNELS else {}
    given = {name: value for name, value in own.items() if value is not None or name not in brought}
    return {**part, "transport": {**shared.model_dump(mode="json", context={TEXT: True, EVERY: True}), **given}}


def _routed(flow: Any, network_preset: Preset) -> Any:
    if isinstance(flow, dict) and isinstance(flow.get("name"), str):
        return {**network_preset.route(flow["name"]), **flow}
    return flow
