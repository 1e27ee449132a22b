# SPDX-License-Identifier: Apache-2.0
"""Lines of a plan as arguments of the client of our switch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ocs_steps import rates, trace


def add_disciplines(node: Any, lines: Iterable[Mapping[str, Any]]) -> None:
    """Make the devices of lines with a queueing discipline of Linux, and choose their disciplines."""
    from topology import batch

    given = [line["aqm"] for line in lines if "aqm" in line]
    batch(node, "ip", [f"link add {aqm['device']} mtu {aqm['mtu']} type ocs_line" for aqm in given])
    batch(node, "tc", [f"qdisc replace dev {aqm['device']} root {aqm['tc']}" for aqm in given])


def arguments(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a line for `ocs.Ocs.link_set`: steps have another form in the plan, which is JSON."""
    settings = {name: value for name, value in line.items() if name != "aqm"}
    if "aqm" in line:
        settings["dev"] = line["aqm"]["device"]
    steps = line.get("steps")
    if steps is None:
        return settings
    if "instants" in steps:
        return {**settings, "steps": trace(steps["instants"], size=steps["size"])}
    return {**settings, "steps": rates(steps["rates"], hold=steps["hold"])}
