# SPDX-License-Identifier: Apache-2.0
"""Refusals of switches that have neither schedules nor ways back: those with lines of their own."""

from __future__ import annotations

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, Scenario


def check(scenario: Scenario) -> None:
    """Raise InputError if a scenario has notifications, or a flow that follows a schedule or has a way back."""
    if scenario.notify is not None:
        raise InputError.of("notify", "given", "nothing, with another switch than ocs")
    for place, flow in enumerate(scenario.flows):
        for field in ("path", "back"):
            path = getattr(flow, field)
            if scenario.network.schedule(path) is not None or (field == "back" and path != BYPASS):
                allowed = f"{'bypass' if field == 'back' else 'no schedule'}, with another switch than ocs"
                raise InputError.of(f"flows[{place}].{field}", str(path), allowed)
