# SPDX-License-Identifier: Apache-2.0
"""Captures that a flow sends again: the instants and sizes of their packets, as datagrams."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from rdcnlab.fields.input_file import CAPTURE
from rdcnlab.fields.quantities import whole
from rdcnlab.scenario.application import UDP_HEADERS
from rdcnlab.scenario.captures import ip_size, packets
from rdcnlab.scenario.user_file import UserFile, from_path

#: Most packets of a capture that is sent again.
MOST_PACKETS = 1_000_000
#: Packets of a file that are looked at; a capture has others besides those that its host sent.
_MOST_READ = 2 * MOST_PACKETS
_ALLOWED = "the path of a capture, which ends in .pcap or .pcapng"
#: Instants in ns since the first packet, and payload of the datagrams in bytes.
Datagrams = tuple[tuple[int, ...], tuple[int, ...]]


class Replay(UserFile):
    """A capture whose IP packets are sent again; text form: its path.

    Parameters
    ----------
    count : int
        Number of packets that are sent again: all IP packets but those that the file marks as received.
    payload, largest : int
        Bytes of all datagrams without headers, and of the largest IP packet.
    duration : int
        ns from the first packet to the last.
    """

    count: Annotated[int, whole(1, MOST_PACKETS)]
    payload: Annotated[int, whole(1, 2**40)]
    largest: Annotated[int, whole(1, 2**16)]
    duration: Annotated[int, whole(0, 24 * 3600 * 10**9)]

    def datagrams(self, field: str) -> Datagrams:
        """Return the instants and the sizes of the datagrams; the file must be as it was."""
        return datagrams(self.content(field))


@functools.lru_cache(maxsize=4)
def datagrams(data: bytes) -> Datagrams:
    """Return the instants and the sizes of the datagrams that a capture gives, in the order of time.

    A datagram is an IP packet as long as the captured one; it has at least one byte of payload.

    Raises
    ------
    ValueError
        This is no capture, or none of its packets can be sent again.
    """
    seen: list[tuple[int, int]] = []
    for number, packet in enumerate(packets(data)):
        if len(seen) > MOST_PACKETS or number > _MOST_READ:
            raise ValueError(f"a capture with at most {MOST_PACKETS} IP packets that its host sent")
        size = None if packet.leaves is False else ip_size(data, packet)
        if size is not None:
            seen.append((packet.time, max(1, size - UDP_HEADERS)))
    if not 1 <= len(seen) <= MOST_PACKETS:
        raise ValueError(f"a capture with 1 to {MOST_PACKETS} IP packets that its host sent; this one has {len(seen)}")
    seen.sort(key=lambda one: one[0])
    first = seen[0][0]
    return tuple(time - first for time, _ in seen), tuple(size for _, size in seen)


def _examine(path: Path, data: bytes) -> Mapping[str, Any]:  # noqa: ARG001  (same signature for all files)
    instants, sizes = datagrams(data)
    largest = max(sizes) + UDP_HEADERS
    return {"count": len(sizes), "payload": sum(sizes), "largest": largest, "duration": instants[-1]}


ReplayFile = Annotated[Replay, from_path((".pcap", ".pcapng"), _ALLOWED, _examine, CAPTURE)]
