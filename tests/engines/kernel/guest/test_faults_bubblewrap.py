# SPDX-License-Identifier: Apache-2.0
"""The faults of `test_faults`, on a host without Landlock: bubblewrap confines the guest, and is between us and it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.jail import sandbox
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.kernel.guest.test_faults import (  # noqa: F401 - pytest runs them with the kernel below
    nothing_stays,
    test_a_guest_can_write_to_its_directory,
    test_a_guest_cannot_write_outside,
    test_a_lost_process_ends_the_run,
    test_a_signal_from_outside,
    test_ctrl_c_ends_the_guest,
    test_killing_the_host_process_ends_the_guest,
    test_out_of_memory,
    test_panic,
    test_virtual_time_stands_still,
)

pytestmark = pytest.mark.guest


@pytest.fixture(scope="module", autouse=True)
def without_landlock() -> Iterator[None]:
    """Start guests as on a host without Landlock."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(sandbox.OLDER, "0")
        if sandbox.kind(build.build().launch) != "bubblewrap":
            pytest.skip("bubblewrap is missing, or this host forbids the namespaces that it needs")
        yield


def test_a_run_has_the_same_bytes(run_guest: RunGuest, two_flows: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    confined = run_guest(two_flows)
    monkeypatch.delenv(sandbox.OLDER)
    assert confined.report.jail.startswith("bubblewrap, seccomp")
    assert confined.digest == run_guest(two_flows).digest
