# SPDX-License-Identifier: Apache-2.0
"""Scenarios whose tables are the same bytes on every machine, with the digests of these tables: ``tests/digests.json``.

``python -m tests.engines.digests`` runs them and prints the digests; ``--write`` makes them the expected ones.
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

EXPECTED = Path(__file__).resolve().parents[1] / "digests.json"


def cases() -> dict[str, dict]:
    """Return ``scenario`` and ``digests`` by name."""
    return json.loads(EXPECTED.read_text(encoding="utf-8"))


def missing(case: dict) -> str:
    """Return what a scenario needs and this machine lacks, in words; nothing if it can be run."""
    lacking = bmv2_install.missing() if Scenario.from_dict(case["scenario"]).switch.kind == "bmv2" else []
    return f"{', '.join(lacking)} is missing. {bmv2_install.WHERE}" if lacking else ""


def run(case: dict) -> dict[str, str]:
    """Run a scenario and return the digest of each of its tables."""
    scenario = Scenario.from_dict(case["scenario"])
    engine = get_engine(scenario)
    engine.prepare(scenario)
    with tempfile.TemporaryDirectory() as directory:
        return digests(engine.run(scenario, Path(directory), core=None, wall_limit_s=600).tables)


def main(arguments: list[str]) -> int:
    """Print name, table and digest, a line each, and say what differs; return 1 if anything does."""
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
