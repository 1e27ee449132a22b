# SPDX-License-Identifier: Apache-2.0
"""The identity of a run: the hash of models, wheel, plan, and the code that builds the world and reads the results."""

from __future__ import annotations

import functools

from rdcnlab.engines import fingerprint
from rdcnlab.engines.builds import hashed
from rdcnlab.engines.ns3 import build, plan
from rdcnlab.engines.ns3.process import WORLD
from rdcnlab.scenario import Scenario, canonical_json

#: First module of the code that reads a run.
_READER = "rdcnlab.engines.ns3.observe"


def identity(scenario: Scenario) -> str:
    """Return the hash of everything that the tables of a scenario depend on."""
    return hashed([build.identity(), canonical_json(plan.compile_plan(scenario)), _code()])


@functools.cache
def _code() -> str:
    return fingerprint.kept_hash_of([fingerprint.file_of(_READER), WORLD])
