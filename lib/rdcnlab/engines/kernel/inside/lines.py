# SPDX-License-Identifier: Apache-2.0
"""Lines of a plan as arguments of the client of our switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ocs import rates, trace


def arguments(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a line for `ocs.Ocs.link_set`: steps have another form in the plan, which is JSON."""
    steps = line.get("steps")
    if steps is None:
        return dict(line)
    if "instants" in steps:
        return {**line, "steps": trace(steps["instants"], size=steps["size"])}
    return {**line, "steps": rates(steps["rates"], hold=steps["hold"])}
