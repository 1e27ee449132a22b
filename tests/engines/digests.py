# SPDX-License-Identifier: Apache-2.0
"""Scenarios with the same tables on every machine. ``tests/digests.json`` has the digests of these tables.

``python -m tests.engines.digests`` runs them and prints the digests. ``--write`` makes these the expected digests.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from rdcnlab.engines import get_engine
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.runs.digest import digests
from rdcnlab.scenario import Scenario
from rdcnlab.system import extras

EXPECTED = Path(__file__).resolve().parents[1] / "digests.json"


def cases() -> dict[str, dict]:
    """Return ``scenario`` and ``digests`` of each case, by name."""
    return json.loads(EXPECTED.read_text(encoding="utf-8"))


def missing(case: dict) -> str:
    """Return in words what a scenario needs but this machine lacks; empty if the scenario can be run."""
    scenario = Scenario.from_dict(case["scenario"])
    if scenario.engine.kind == "ns3" and not extras.is_installed("ns3"):
        return f"the simulator is missing; install with: {extras.command('ns3')}"
    lacking = bmv2_install.missing() if scenario.switch.kind == "bmv2" else []
    return f"{', '.join(lacking)} is missing. {bmv2_install.WHERE}" if lacking else ""


def run(case: dict) -> dict[str, str]:
    """Run a scenario and return the digest of each of its tables."""
    scenario = Scenario.from_dict(case["scenario"])
    engine = get_engine(scenario)
    engine.prepare()
    with tempfile.TemporaryDirectory() as directory:
        return digests(engine.run(Path(directory), core=None, wall_limit_s=600).tables)


def main(arguments: list[str]) -> int:
    """Print one line for each table with its digest, and report differences; return 1 if there are any."""
    expected = cases()
    differs = []
    for name, case in expected.items():
        if lacking := missing(case):
            print(f"{name}: not run: {lacking}", file=sys.stderr)
            continue
        found = run(case)
        for table, digest in found.items():
            print(f"{name} {table} {digest}", flush=True)
        if found != case["digests"]:
            differs.append(name)
        case["digests"] = found
    if "--write" in arguments:
        EXPECTED.write_text(json.dumps(expected, indent=2) + "\n", encoding="utf-8")
        return 0
    if differs:
        print(f"not as in {EXPECTED.name}: {', '.join(differs)}", file=sys.stderr)
    return int(bool(differs))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
