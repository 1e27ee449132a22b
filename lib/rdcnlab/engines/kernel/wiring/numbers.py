# SPDX-License-Identifier: Apache-2.0
"""Numbers that the host, the guest and the kernel agree on."""

from __future__ import annotations

from rdcnlab.scenario import BYPASS, DARK

#: CLOCK_MONOTONIC in the guest at which a scenario starts. What comes before takes a varying fraction of a second of
#: virtual time, because each reading of the clock costs 256 ns; the rest is skipped.
START_NS = 60 * 10**9
#: Before the start: listeners stand, the random numbers are set.
READY_NS = START_NS - 10**6
#: The same where programs have to come up, whose clock readings take virtual time.
READY_FOR_PROGRAMS_NS = START_NS - 10**9

#: TCP or UDP port of the first flow.
FIRST_PORT = 5001
#: Class of the first flow; 0 stays free.
FIRST_CLASS = 1
#: ``ocs`` ids of what is no link, as in the kernel's ``include/uapi/linux/ocs.h``.
TARGET = {DARK: 0xFFFF, BYPASS: 0xFFFE}
#: Bit of a link's id in traces that says: the line of a port.
PORT_LINK = 0x8000
#: Largest id of a link that is no port's, and of a class.
LAST_LINK, LAST_CLASS = 1023, 4095
#: Protocol numbers of IP.
IP_PROTOCOL = {"tcp": 6, "mptcp": 6, "udp": 17, "quic": 17}
