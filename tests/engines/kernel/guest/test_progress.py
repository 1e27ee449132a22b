# SPDX-License-Identifier: Apache-2.0
"""What has arrived of each flow is seen from outside while a guest runs.

That the results keep their bytes is held by ``tests/digests.json``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from rdcnlab.engines.kernel import KernelEngine, build, guest, plan
from rdcnlab.engines.kernel.guest import progress, watchdog
from rdcnlab.engines.kernel.observe import observed
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.scenario import Scenario

pytestmark = pytest.mark.guest


def _two_networks() -> Scenario:
    """Return a flow of Multipath TCP whose networks take turns."""
    slots = [{"duration": "6 ms", "link": "slow", "tdn": 0}, {"duration": "4 ms", "link": "fast", "tdn": 1}]
    network = {
        "name": "turns",
        "mtu": 9000,
        "hosts": [{"name": name, "rate": "100 Gb/s"} for name in ("a", "b")],
        "links": [{"name": "slow", "rate": "1 Gb/s"}, {"name": "fast", "rate": "10 Gb/s"}],
        "schedules": [{"name": name, "queue": "100 packets", "slots": slots} for name in ("there", "back")],
    }
    ends = {"src": "a", "dst": "b", "path": "there", "back": "back"}
    flow = {"name": "flow", "size": "1 GB", "protocol": "mptcp", **ends}
    return Scenario.from_dict({"network": network, "flows": [flow], "notify": {}, "limit": "200 ms"})


@pytest.fixture(params=["tcp", "mptcp"])
def unfinished(request: pytest.FixtureRequest, two_flows: Scenario) -> Scenario:
    """Flows that a limit ends: two of TCP, or one of Multipath TCP over two networks."""
    return two_flows.with_(size="2 GB", limit="200 ms") if request.param == "tcp" else _two_networks()


def test_rows_appear_while_the_guest_runs_and_end_with_the_final_counts(
    kernel: build.Kernel, unfinished: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a fast machine needs less than the usual time between two looks
    monkeypatch.setattr(watchdog, "EXAMINE_S", 0.0)
    seen: list[tuple[int, int]] = []

    def watch(virtual_ns: int) -> None:
        found = KernelEngine(unfinished).arrived(tmp_path)
        if found is not None and len(found.t_ns):
            assert found.t_ns[-1] <= virtual_ns - START_NS
            seen.append((len(found.t_ns), int(found.received_B[-1].sum())))

    guest.run(kernel, plan.compile_plan(compile_network(unfinished)), tmp_path, python=sys.executable, watch=watch)
    received = (
        observed.tables(compile_network(unfinished), tmp_path)["flows"].to_pandas().set_index("flow")["received_B"]
    )
    last = progress.read(tmp_path, START_NS)

    # seen more than once, before the end, and growing
    assert len(set(seen)) > 1
    assert seen[0][1] < received.sum()
    assert seen == sorted(seen)
    assert last.received_B[-1].tolist() == [received[flow.name] for flow in unfinished.flows]
    assert 0 < last.received_B[-1].min() <= last.received_B[-1].max() < unfinished.flows[0].size
    assert (np.diff(last.received_B, axis=0) >= 0).all()
    steps = np.diff(last.t_ns[:-1])
    assert set(steps) == {10_000_000}
    # no faster than two links of 10 Gb/s carry it, beside what has waited to be put in order
    assert 0.1 < last.received_B[-1].sum() * 8 / last.t_ns[-1] <= 20


def test_a_file_that_is_being_written_has_whole_rows_only(tmp_path: Path) -> None:
    rows = np.array([2, START_NS, 5, 6, START_NS + 9, 7], dtype="<u8")
    rows.tofile(tmp_path / progress.FILE)
    found = progress.read(tmp_path, START_NS)
    assert found.t_ns.tolist() == [0]
    assert found.received_B.tolist() == [[5, 6]]
    (tmp_path / progress.FILE).write_bytes(b"")
    assert progress.read(tmp_path, START_NS).received_B.shape == (0, 0)


def test_a_run_without_such_a_file_shows_nothing(two_flows: Scenario, tmp_path: Path) -> None:
    assert KernelEngine(two_flows).arrived(tmp_path) is None
