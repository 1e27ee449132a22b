# SPDX-License-Identifier: Apache-2.0
"""The packets of a run's capture as a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rdcnlab.engines.network import compile_network
from rdcnlab.engines.network.numbers import DATE_NS, FIRST_PORT
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.phrases import unknown
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.captures import packets

#: Bytes of a packet that are read: Ethernet, IPv4 without options, TCP with its options. Captures keep 96.
_READ = 94
_ETHERNET, _IP = 14, 20
_TCP, _UDP = 6, 17
_FLAGS = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")
_ECN = ("", "ECT(1)", "ECT(0)", "CE")
#: Two no-operations and the time stamps, which Linux sends together.
_STAMPS = b"\x01\x01\x08\x0a"


def table(scenario: Scenario, host: str, file: Callable[[str], Path]) -> pd.DataFrame:
    """Return the packets of the capture at a host; see `rdcnlab.runs.run.Run.capture`.

    Parameters
    ----------
    scenario : Scenario
        The scenario that was run.
    host : str
        The host's name.
    file : callable
        Returns the path of a file of the run.

    Raises
    ------
    InputError
        The scenario does not capture at this host.
    """
    known = scenario.probes.capture
    if host not in known:
        reason = unknown(host, known, "captured host") + (
            "" if known else f": write probes: {{capture: [{host}]}} and run again"
        )
        raise InputError.of("host", host, "a host of probes.capture", reason=reason)
    data = file(f"{host}.pcapng").read_bytes()
    seen = list(packets(data))
    heads = np.zeros((len(seen), _READ), np.uint8)
    for row, packet in zip(heads, seen, strict=True):
        kept = min(packet.kept, _READ)
        row[:kept] = np.frombuffer(data, np.uint8, kept, packet.at)
    frame = pd.DataFrame(
        {
            "t_ns": np.array([packet.time - DATE_NS for packet in seen], np.int64),
            "leaves": np.array([packet.leaves for packet in seen], bool),
            "length_B": np.array([packet.length for packet in seen], np.int64),
        }
    )
    frame = frame.assign(**_of_ip(scenario, heads), **_of_ports(scenario, heads), **_of_tcp(heads))
    tcp, size = frame["protocol"] == "tcp", _number(heads, _ETHERNET + 2, 2)
    header = np.where(tcp, heads[:, _ETHERNET + _IP + 12] // 16 * 4, np.where(frame["protocol"] == "udp", 8, 0))
    order = ["t_ns", "leaves", "src", "dst", "protocol", "sport", "dport", "flow", "length_B", "payload_B", "flags"]
    rest = ["seq", "ack", "window", "ts_val", "ts_ecr", "ttl", "ip_id", "ecn"]
    return frame.assign(payload_B=size - _IP - header)[[*order, *rest]]


def _number(heads: NDArray[np.uint8], at: int, size: int) -> NDArray[np.int64]:
    """Return a number of the header of each packet, of `size` bytes from `at` on."""
    factors = 256 ** np.arange(size, dtype=np.int64)[::-1]
    numbers: NDArray[np.int64] = heads[:, at : at + size].astype(np.int64) @ factors
    return numbers


def _of_ip(scenario: Scenario, heads: NDArray[np.uint8]) -> dict[str, Any]:
    network = compile_network(scenario)
    names = {station.ip: station.name for station in network.stations.values()}
    columns: dict[str, Any] = {}
    for name, at in (("src", 12), ("dst", 16)):
        numbers = pd.Series(_number(heads, _ETHERNET + at, 4))
        texts = {number: ".".join(map(str, int(number).to_bytes(4, "big"))) for number in numbers.unique()}
        columns[name] = numbers.map({number: names.get(text, text) for number, text in texts.items()})
    protocols = pd.Series(heads[:, _ETHERNET + 9])
    columns["protocol"] = protocols.map(
        {number: {6: "tcp", 17: "udp"}.get(number, str(number)) for number in range(256)}
    )
    columns["ttl"] = heads[:, _ETHERNET + 8].astype(np.int64)
    columns["ip_id"] = _number(heads, _ETHERNET + 4, 2)
    columns["ecn"] = np.array(_ECN, dtype=object)[heads[:, _ETHERNET + 1] & 3]
    return columns


def _of_ports(scenario: Scenario, heads: NDArray[np.uint8]) -> dict[str, Any]:
    """Return the ports of TCP and UDP, and the flow that has one of them."""
    has = np.isin(heads[:, _ETHERNET + 9], (_TCP, _UDP))
    ports = {name: _number(heads, _ETHERNET + _IP + at, 2) for name, at in (("sport", 0), ("dport", 2))}
    names = np.array([*(flow.name for flow in scenario.flows), None], dtype=object)
    number = np.full(len(heads), len(names) - 1)
    for port in ports.values():
        own = port - FIRST_PORT
        number = np.where(has & (own >= 0) & (own < len(names) - 1), own, number)
    return {name: pd.Series(port, dtype="Int64").where(has) for name, port in ports.items()} | {"flow": names[number]}


def _of_tcp(heads: NDArray[np.uint8]) -> dict[str, Any]:
    at = _ETHERNET + _IP
    tcp = heads[:, _ETHERNET + 9] == _TCP
    texts = [" ".join(name for bit, name in enumerate(_FLAGS) if flags >> bit & 1) for flags in range(256)]
    flags = np.array(texts, dtype=object)[heads[:, at + 13]]
    stamped = tcp & (heads[:, at + 20 : at + 24] == np.frombuffer(_STAMPS, np.uint8)).all(axis=1)
    # in a SYN the time stamps come behind the MSS and SACK
    early = tcp & (heads[:, at + 26 : at + 28] == np.frombuffer(_STAMPS[2:], np.uint8)).all(axis=1)
    numbers = {"seq": (4, 4, tcp), "ack": (8, 4, tcp & (heads[:, at + 13] & 16 > 0)), "window": (14, 2, tcp)}
    columns: dict[str, Any] = {"flags": pd.Series(flags).where(tcp)}
    for name, (place, size, there) in numbers.items():
        columns[name] = pd.Series(_number(heads, at + place, size), dtype="Int64").where(there)
    for name, place in (("ts_val", 0), ("ts_ecr", 4)):
        value = np.where(stamped, _number(heads, at + 24 + place, 4), _number(heads, at + 28 + place, 4))
        columns[name] = pd.Series(value, dtype="Int64").where(stamped | early)
    return columns
