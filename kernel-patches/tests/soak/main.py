# SPDX-License-Identifier: Apache-2.0
"""One case, in a guest of its own: PID 1 starts this as ``main.py DIRECTORY``; ``case.json`` there says which.

``outcome.json`` is written last.  A guest without one has ended otherwise, and its console says how.
"""

import json
import sys
import time
from pathlib import Path

import books
from alone import alone
from draw import S
from field import Field
from flows import Flow
from lab import sh, until

#: The instant at which the timetable begins [ns of CLOCK_MONOTONIC].
EPOCH = 10 * S
#: Seconds of virtual time in which all that is left has to get through when all is calm.
LIMIT_S = 600
#: Faults made on purpose, to see that they are seen: in the bytes, or by LKDTM in the kernel.
LKDTM = {"warning": "WARNING", "overflow": "SLAB_LINEAR_OVERFLOW", "freed": "READ_AFTER_FREE", "bug": "BUG"}


def run(case: dict) -> dict:
    """Run a case; return what was wrong and some facts."""
    wrong = []
    with Field(case) as field:
        # what comes before may take longer elsewhere; from here on instants are absolute and drawn numbers the seed's
        if time.monotonic_ns() > EPOCH:
            raise RuntimeError(f"the network was not up before {EPOCH} ns")
        Path("/proc/sys/kernel/random/reproducible").write_text(f"soak-{case['seed']}")
        flows = [Flow(n, plan, EPOCH) for n, plan in enumerate(case["flows"])]
        for flow in flows:
            flow.garble = case.get("fault") == "payload"
        field.start(EPOCH, flows)
        if case.get("fault") in LKDTM:
            until(EPOCH + case["lasts"] // 2)
            (books.DEBUG / "provoke-crash/DIRECT").write_text(LKDTM[case["fault"]])
        field.calm()
        print("calm", flush=True)
        busy = [flow for flow in flows if flow.plan["end"] != "stay"]
        wait(busy)
        settle([flow for flow in flows if flow not in busy])
        wrong += books.pipes(flows)
        for flow in flows:
            flow.calm.set()
        wait(flows)
        took = time.monotonic() - EPOCH / S
        met = books.met(flows)
        wrong += [f"flow {flow.number} ({flow.plan['end']}): {line}" for flow in flows for line in flow.trouble]
        field.rest()
        if not wrong:
            time.sleep(200)  # TIME_WAIT, FIN_WAIT_2, orphans
            wrong += books.hosts() + books.switch(field)
        wrong += field.trouble
    facts = {**getattr(field, "facts", {}), "bytes": sum(flow.moved for flow in flows), "took_s": round(took, 3), **met}
    time.sleep(2)  # what is freed late
    wrong += books.kernel() + books.leaks()
    return {"ok": not wrong, "error": "; ".join(wrong), "facts": facts}


def wait(flows: list[Flow]) -> None:
    """Wait for the ends of connections; those that do not come to one are in trouble."""
    deadline = time.monotonic() + LIMIT_S
    for flow in flows:
        flow.thread.join(max(0, deadline - time.monotonic()))
        if flow.thread.is_alive() and not flow.trouble:
            asked = flow.plan["sizes"][::-1]
            flow.trouble.append(f"{flow.stage} for {LIMIT_S} s of calm, {flow.come} of {asked} B came")


def settle(flows: list[Flow]) -> None:
    """Wait until connections that stay open have moved all their bytes, and then for the last ACK."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if all(flow.trouble or sum(flow.come) >= sum(flow.plan["sizes"]) for flow in flows):
            break
        time.sleep(0.5)
    time.sleep(2)


def work(directory: Path) -> dict:
    """Run the case; whatever the kernel complains about from now on ends the guest."""
    case = json.loads((directory / "case.json").read_text())
    sh("mount -t debugfs none /sys/kernel/debug || true")
    Path("/proc/sys/kernel/panic_on_warn").write_text("1")
    return run(case)


if __name__ == "__main__":
    alone(work, Path(sys.argv[1]))
