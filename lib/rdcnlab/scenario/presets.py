# SPDX-License-Identifier: Apache-2.0
"""Preset networks: one YAML file each, with the source of every value next to it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import resources
from typing import Any

from pydantic import ValidationError

from rdcnlab.fields import own_yaml
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.quantities import TEXT
from rdcnlab.scenario.check import input_error
from rdcnlab.scenario.fabrics import FABRICS, fabric
from rdcnlab.scenario.network import Network
from rdcnlab.scenario.ranges import expand, expanded_network


@dataclass(frozen=True)
class Preset:
    """A network that scenarios can refer to by name.

    Parameters
    ----------
    network : Network
        Hosts, links and pools.
    fabric : dict
        The parameters of the fabric that the network is made of, as written in the file; empty if it is written out.
    routes : dict of str to dict
        Default fields of flows, such as ``src`` and ``dst``. They apply if the name of the flow starts with the key.
    scenario : dict
        Default settings of a scenario with this network, as written in the file. The scenario's own settings replace
        them.
    """

    network: Network
    fabric: dict[str, Any]
    routes: dict[str, dict[str, str]]
    scenario: dict[str, Any]

    def route(self, flow: str) -> dict[str, str]:
        """Return the default fields of a flow: those of the longest key that its name starts with."""
        keys = [key for key in self.routes if flow.startswith(key)]
        return self.routes[max(keys, key=len)] if keys else {}


@functools.cache
def presets() -> tuple[str, ...]:
    """Return the names of all preset networks."""
    folder = resources.files("rdcnlab") / "networks"
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def known_networks() -> list[str]:
    """Return the names by which scenarios can refer to a network: presets, and fabrics with their defaults."""
    return [*presets(), *FABRICS]


@functools.cache
def preset(name: str) -> Preset:
    """Read a preset network.

    Raises
    ------
    InputError
        There is no preset with this name.
    """
    if name not in presets():
        raise InputError.unknown("network", name, known_networks(), "network", also="a network written out")
    text = (resources.files("rdcnlab") / "networks" / f"{name}.yaml").read_text(encoding="utf-8")
    data = _without_sources(own_yaml.parse(text))
    routes, scenario = data.pop("routes", {}), data.pop("scenario", {})
    expanded_routes = expand([{"name": key, **fields} for key, fields in routes.items()], "routes")
    routes = {fields.pop("name"): fields for fields in expanded_routes}
    if "fabric" in data:
        return Preset(fabric(data, text=True), data, routes, scenario)
    try:
        network = Network.model_validate(expanded_network(data), context={TEXT: True})
    except ValidationError as error:
        raise input_error(error, Network) from None
    return Preset(network, {}, routes, scenario)


def _without_sources(value: Any) -> Any:
    """Drop ``source`` texts: replace each mapping of ``value`` and ``source`` by its value."""
    if isinstance(value, dict):
        if set(value) == {"value", "source"}:
            return _without_sources(value["value"])
        return {key: _without_sources(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_sources(item) for item in value]
    return value
