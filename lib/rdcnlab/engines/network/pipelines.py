# SPDX-License-Identifier: Apache-2.0
"""What P4 switches run: a program of the user's, or ours, and the entries of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rdcnlab.scenario import Scenario
from rdcnlab.scenario.p4 import P4Program


@dataclass(frozen=True)
class Pipeline:
    """What a switch ``bmv2`` runs.

    Parameters
    ----------
    program : P4Program or None
        The user's program; None: ours.
    program_field : str
        The field of the scenario that has it.
    entries : tuple of str
        The entries of its tables that the scenario gives.
    entries_field : str
        The field of the scenario that has them.
    """

    program: P4Program | None
    program_field: str
    entries: tuple[str, ...]
    entries_field: str


def pipelines_of(scenario: Scenario) -> Mapping[int, Pipeline]:
    """Return what each P4 switch runs, by the number of the switch."""
    pipelines = {}
    for number, node in enumerate(scenario.network.nodes):
        if scenario.kind_at(node.name) == "bmv2":
            field, entries = scenario.entries_at(node.name)
            program = scenario.program_at(node.name)
            pipelines[number] = Pipeline(program, scenario.program_field(node.name), entries, field)
    return pipelines
