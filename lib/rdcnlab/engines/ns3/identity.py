# SPDX-License-Identifier: Apache-2.0
"""The identity of a run: the hash of models, wheel, plan, and the code that builds the world and reads the results."""

from __future__ import annotations

import functools

from rdcnlab.engines import fingerprint
from rdcnlab.engines.builds import hashed
from rdcnlab.engines.network import Network
from rdcnlab.engines.ns3 import build, plan
from rdcnlab.engines.ns3.process import WORLD
from rdcnlab.scenario import canonical_json

#: First module of the code that reads a run.
_READER = "rdcnlab.engines.ns3.observe"


def identity(network: Network) -> str:
    """Return the hash of everything that the tables of a run depend on."""
    return hashed([build.identity(), canonical_json(plan.compile_plan(network)), _code()])


@functools.cache
def _code() -> str:
    return fingerprint.kept_hash_of([fingerprint.file_of(_READER), WORLD])
