# SPDX-License-Identifier: Apache-2.0
"""Numbers that host, guest and kernel must agree on."""

from __future__ import annotations

from rdcnlab.scenario import BYPASS, DARK

#: CLOCK_MONOTONIC in the guest when a scenario starts. The setup before takes a varying fraction of a second of virtual
#: time, because each reading of the clock costs 256 ns. The guest skips the rest of the time.
START_NS = 60 * 10**9
#: Instant before the start at which all listeners are ready and the RNG is seeded.
READY_NS = START_NS - 10**6
#: The same instant for scenarios with programs: their start takes virtual time, because they read the clock.
READY_FOR_PROGRAMS_NS = START_NS - 10**9
#: Time before the start until which all connections that are opened ahead are opened, one after the other. It is longer
#: than the round trips of data centres, also with a dilation of 20, and much shorter than an idle time that would make
#: TCP forget its window (the retransmission timeout).
AHEAD_NS = 100 * 10**6
#: Time between two connections that are opened ahead. A queue of a few packets must not lose their segments.
AHEAD_EACH_NS = 10**6

#: Date that captures give to the start of a scenario, in ns since 1970. It means nothing, but all times are positive.
DATE_NS = 1_700_000_000 * 10**9

#: TCP or UDP port of the first flow, and how many ports flows have. With more flows, those that begin later have the
#: ports of earlier ones, which must have ended.
FIRST_PORT, PORTS = 5001, 40_000
#: Class of the first flow; class 0 is not used.
FIRST_CLASS = 1
#: ``ocs`` ids of targets that are not links, as in the kernel's ``include/uapi/linux/ocs.h``.
TARGET = {DARK: 0xFFFF, BYPASS: 0xFFFE}
#: Bits in the id of a link in traces; they mark the line from a port to its host, and that from the host.
PORT_LINK, CARD_LINK = 0x8000, 0x4000
#: Largest id of a link that is not the line of a port, and largest id of a class.
LAST_LINK, LAST_CLASS = 16_383, 32_767
#: Rules that a switch can have, as the kernel's ``OCS_RULE_COUNT_MAX``.
MOST_RULES = 16_384
#: Rules up to which flows have some of their own; with more, ways have addresses. Runs depend on it.
FEW_RULES = 4096
#: Protocol numbers of IP.
IP_PROTOCOL = {"tcp": 6, "mptcp": 6, "udp": 17, "quic": 17}
