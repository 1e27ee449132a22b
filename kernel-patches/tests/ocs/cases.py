# SPDX-License-Identifier: Apache-2.0
"""The cases of ``queue_cases.json``: arrivals at a queue, and what becomes of them. The ns3 engine has the same."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from lab import Net, Trace, burst, equal, main, until
from ocs import slot

# beside this file in a guest, and in the tests of the package in the source tree
PLACES = (Path(__file__).parent, *(parent / "tests" for parent in Path(__file__).resolve().parents))
#: Events of the switch, as letters of the file.
LOST = {0: "t", 1: "p", 2: "r"}
#: ns from the preparation of a case to its first arrival.
AHEAD = 10_000_000


def cases() -> list[dict]:
    """Return the cases."""
    path = next(place / "queue_cases.json" for place in PLACES if (place / "queue_cases.json").exists())
    return json.loads(path.read_text())["cases"]


def seen(case: dict) -> tuple[str, list[int]]:
    """Return the fates of all arrivals, and the instants at which serialisations begin, from the first arrival on."""
    with Net(2) as net:
        queue = dict(case["queue"])
        if "pool" in case:
            net.ocs.pool_set(0, case["pool"])
            queue["pool"] = 0
        link = case.get("link", 0)
        net.ocs.link_set(link, rate=case["rate"], queue=queue)
        net.ocs.class_set(0, [slot(0, link)])
        net.ocs.rule_add(0, in_if="p0")
        net.ocs.start(time.monotonic_ns(), case["seed"])
        socks = {field: net.udp(0, tos=field) for field in sorted({arrival["ecn"] for arrival in case["arrivals"]})}
        with Trace() as rows:
            begin = time.monotonic_ns() + AHEAD
            for arrival in case["arrivals"]:
                until(begin + arrival["at"])
                burst(socks[arrival["ecn"]], 1, arrival["count"], arrival["length"])
        here = [row for row in rows if row.get("link") == link]
    fates, marked = "", False
    for row in here:
        if row["event"] == "ocs_drop":
            fates += LOST[row["reason"]]
        elif row["event"] == "ocs_enqueue":
            fates += "m" if marked else "q"
        marked = row["event"] == "ocs_mark"
    first = here[0]["t"]
    return fates, [row["t"] - first for row in here if row["event"] == "ocs_dequeue"]


def check(case: dict) -> Callable[[], str]:
    """Return the test of a case."""

    def test() -> str:
        fates, leaves = seen(case)
        equal(fates, case["fates"], "fates")
        equal(leaves[: len(case["leaves"])], case["leaves"], "instants")
        return ""

    return test


globals().update({f"case_{case['name']}": check(case) for case in cases()})

if __name__ == "__main__":
    main(globals())
