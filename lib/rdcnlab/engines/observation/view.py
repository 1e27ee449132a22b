# SPDX-License-Identifier: Apache-2.0
"""What an engine tells of its records: which number stands for what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdcnlab.scenario import BYPASS, DARK, Scenario


@dataclass(frozen=True)
class View:
    """How to read records of packets, of slots and of ACKs; structured arrays with ``time`` in ns since the start.

    Parameters
    ----------
    lines : mapping of int to str
        Names of lines inside the network by what records call ``link``.
    last_line : int
        The largest ``link`` of a line inside the network.
    ports : int
        The ``link`` of a line to a receiver, and of all above.
    dark, bypass : int
        The ``link`` or ``target`` of what is no line.
    classes : mapping of int to str
        Names of flows and schedules by what records call ``class``.
    queued : mapping of int to str
        Schedules with a queue that data waits in, by class.
    first_port : int
        The ``dport`` of the first flow; the others follow.
    """

    lines: Mapping[int, str]
    last_line: int
    ports: int
    dark: int
    bypass: int
    classes: Mapping[int, str]
    queued: Mapping[int, str]
    first_port: int

    @property
    def targets(self) -> dict[int, str]:
        """Names of what a slot may lead to."""
        return {**self.lines, self.dark: DARK, self.bypass: BYPASS}

    def flow(self, packets: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of each record's flow."""
        number: NDArray[np.int64] = packets["dport"].astype(np.int64) - self.first_port
        return number

    def names(self, scenario: Scenario, packets: NDArray[Any]) -> NDArray[Any]:
        """Return the name of each record's flow."""
        return np.array([flow.name for flow in scenario.flows], dtype=object)[self.flow(packets)]

    def ours(self, scenario: Scenario, packets: NDArray[Any]) -> NDArray[Any]:
        """Return records of data, where those of ACKs have come along because they share a queue with it."""
        last = self.first_port + len(scenario.flows)
        return packets[(packets["dport"] >= self.first_port) & (packets["dport"] < last)]

    def connections(self, scenario: Scenario, acks: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Go through the ACKs of each connection, or of each subflow, with the number of its flow."""
        for number, flow in enumerate(scenario.flows):
            of = acks[acks["dport"] == self.first_port + number]
            if flow.protocol == "mptcp":
                for cookie in np.unique(of["sock_cookie"]):
                    yield number, of[of["sock_cookie"] == cookie]
            else:
                yield number, of


@dataclass(frozen=True)
class Records:
    """What was seen: structured arrays in the order of time.

    Parameters
    ----------
    slots : ndarray
        Changes of slots: ``class``, ``slot``, ``target``.
    came, left : ndarray
        Packets that join and leave a queue: ``link``, ``class``, ``len``, ``dport``; the latter also ``qlen``.
    dropped, marked : ndarray
        The same of packets that are lost, with ``reason``, or marked.
    acks : ndarray
        ACKs at senders: ``dport``, ``snd_una``, ``snd_cwnd``, ``ssthresh``, ``srtt``; with mptcp ``sock_cookie``.
    again : ndarray
        Retransmissions: ``dport``.
    """

    slots: NDArray[Any]
    came: NDArray[Any]
    left: NDArray[Any]
    dropped: NDArray[Any]
    marked: NDArray[Any]
    acks: NDArray[Any]
    again: NDArray[Any]
