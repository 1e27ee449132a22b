# SPDX-License-Identifier: Apache-2.0
"""Segments that receivers discard for their timestamps are the events ``discard``, as many as hosts count."""

from __future__ import annotations

import pytest

from tests.engines.conftest import RunGuest

pytestmark = [pytest.mark.guest, pytest.mark.slow]


def _discarded(netstat: str) -> int:
    """Return the counter PAWSEstab of ``/proc/net/netstat``."""
    names, values = [line.split() for line in netstat.splitlines() if line.startswith("TcpExt:")]
    return int(dict(zip(names[1:], values[1:], strict=True))["PAWSEstab"])


@pytest.mark.parametrize("timestamps", [True, False])
def test_discards_are_those_that_hosts_count(run_guest: RunGuest, timestamps: bool) -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.aykurt.space import NO_ACKS, grid

    changes = {**NO_ACKS, "probes.discards": True, "transport.timestamps": timestamps}
    (scenario,) = grid(changes, cc="cubic", period_ms=50)
    hosts = [host.name for host in scenario.network.hosts]
    seen = run_guest(scenario, commands=[(host, "cat /proc/net/netstat") for host in hosts])
    discards = int((seen.tables["events"]["event"] == "discard").sum())
    assert discards == sum(_discarded(answer) for answer in seen.answers)
    assert (discards > 0) == timestamps
