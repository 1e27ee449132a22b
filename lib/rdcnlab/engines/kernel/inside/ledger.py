# SPDX-License-Identifier: Apache-2.0
"""What the kernel has counted of frames by the end of a run: in each host, and in each circuit switch.

All is read at one instant of virtual time: nothing here sleeps or reads a clock. So a frame is counted in one place,
and `rdcnlab.engines.kernel.observe.ledger` can say of each place that what came is what left, was dropped, or is still
there. The files are copied as they are: the text of 1000 hosts is cheaper to read outside of the guest.
"""

from __future__ import annotations

import os

#: All namespaces and switches; frames that found the backlog full or wait in it; frames for unknown neighbours.
FILES = ("/proc/net/ocs_ledger", "/proc/net/softnet_stat", "/proc/net/stat/arp_cache")


def store(directory: str) -> None:
    """Write all counters to ``ledger.txt``: the files of the kernel, each below a line with its name.

    `open` makes system calls that fail, and only the first thousand of them at one instant take no virtual time.
    """
    if not os.path.exists(FILES[0]):
        return  # a kernel without our switch: in tests, and whoever reads the file tells that it is missing
    room = bytearray(1 << 18)
    target = os.open(os.path.join(directory, "ledger.txt"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
    for path in FILES:
        os.write(target, f"file {os.path.basename(path)}\n".encode())
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        while size := os.readv(file, [room]):
            _write(target, memoryview(room)[:size])
        os.close(file)
    os.close(target)


def _write(file: int, data: memoryview) -> None:
    while data:
        data = data[os.write(file, data) :]
