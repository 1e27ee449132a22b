# SPDX-License-Identifier: Apache-2.0
"""The faults of `test_faults`, on a host without Landlock: bubblewrap confines the guest, and is between us and it."""

from __future__ import annotations

import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.build import Kernel
from rdcnlab.engines.kernel.jail import sandbox
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.test_faults import (  # noqa: F401 - pytest runs them with the kernel below
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

#: In place of ``host/launch.c``: starts the program, and says that this host has no Landlock.
LAUNCH = """#!/bin/sh
[ "$1" != --check ] || { echo 0; exit; }
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


@pytest.fixture(scope="module")
def kernel(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """The patched kernel, started as on a host without Landlock."""
    tools = tmp_path_factory.mktemp("tools")
    for file in kernel.tools.iterdir():
        (tools / file.name).symlink_to(file)
    ours = Kernel(kernel.id, kernel.directory, tools)
    ours.launch.unlink()
    ours.launch.write_text(LAUNCH)
    ours.launch.chmod(0o755)
    if sandbox.kind(ours.launch) != "bubblewrap":
        pytest.skip("bubblewrap is missing, or this host forbids the namespaces that it needs")
    return ours


def test_a_run_has_the_same_bytes(run_guest: RunGuest, two_flows: Scenario) -> None:
    confined, usual = run_guest(two_flows), run_guest(two_flows, kernel=build.build())
    assert confined.report.confinement == "bubblewrap"
    assert confined.digest == usual.digest
