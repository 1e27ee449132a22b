# SPDX-License-Identifier: Apache-2.0
"""One switch of Open vSwitch, as the controller sees it: its flow table, and when its data plane follows."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import Any

from clock import sleep_until
from os_ken.ofproto import nicira_ext
from sdn_probe import Taps, frame

#: Priorities of the ways of flows, and of the addresses of hosts, which packets of no flow follow.
FLOW, ADDRESS = 1000, 1
_IPV4, _TCP = 0x0800, 6
#: ns between two steps of a change, and flow-mods in one step.
STEP_NS, PART = 10, 32

#: Entry, slot, and port; ``receiver`` is the port of each flow's receiver.
Move = tuple[int, int, str]


class DataPlane:
    """The data plane of all switches: it follows changes of their tables at an exact instant.

    Open vSwitch keeps what it knows of flows in the kernel. Threads compare that with the tables after each change, but
    not twice within 5 ms: left alone, the data plane follows up to 5 ms late. So these threads are held while tables
    change. When they are let go, they compare at once.

    Each step has an instant of its own, `STEP_NS` apart, the last of them when the data plane must follow. Time goes on
    only when all programs sleep, so the daemon has finished a step before the next one. And it reads the clock often:
    the guest's kernel takes a program that reads it 1000 times at one instant for one that polls, and lets time pass.

    Parameters
    ----------
    path : str
        Path of the control socket of ``ovs-vswitchd``.
    """

    def __init__(self, path: str) -> None:
        self.lock = threading.Lock()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)

    def change(self, changes: list[tuple[Bridge, int, list[Move]]], instant_ns: int | None = None) -> None:
        """Change tables, let the data plane follow, and record that in each switch.

        Parameters
        ----------
        changes : list of (Bridge, int, list of Move)
            Switches, the ns since the start when that was decided, and what moves.
        instant_ns : int or None
            CLOCK_MONOTONIC in ns when the data plane must follow; None: as soon as possible.
        """
        with self.lock:
            parts = [
                (bridge, part)
                for bridge, _, moves in changes
                for part in _parts([message for move in moves for message in bridge.moved(move)])
            ]
            step = time.monotonic_ns()
            if instant_ns is not None:
                step = max(step, instant_ns - (len(parts) + 1) * STEP_NS)
            sleep_until(step)
            self._tell("revalidator/pause")
            for bridge, part in parts:
                step += STEP_NS
                sleep_until(step)
                bridge.send(part).wait()
            confirmed = time.monotonic_ns()
            sleep_until(step + STEP_NS)
            self._tell("revalidator/resume")
            for bridge, decided, moves in changes:
                bridge.rows += [["decision", decided, *move] for move in moves]
                bridge.rows += [["barrier", confirmed - bridge.epoch_ns, *move] for move in moves]
                bridge.rows += [["slot", bridge.followed(move), *move] for move in moves]

    def _tell(self, command: str) -> None:
        """Tell the daemon a command, and wait for its answer."""
        self.socket.sendall(json.dumps({"id": 0, "method": command, "params": []}).encode())
        text = b""
        while not _complete(text):
            more = self.socket.recv(4096)
            if not more:
                raise RuntimeError(f"ovs-vswitchd does not answer {command}")
            text += more
        answer = json.loads(text)
        if answer["error"] is not None:
            raise RuntimeError(f"ovs-vswitchd refuses {command}: {answer['error']}")


class Bridge:
    """A switch, as the controller knows it.

    Parameters
    ----------
    plan : dict
        Plan of the switch.
    epoch_ns : int
        Start of the scenario in ns of CLOCK_MONOTONIC.

    Attributes
    ----------
    name : str
        Name in the scenario.
    ports : dict of str to int
        Number of the port of each link and of each host, by its name in the scenario, and of ``dark``.
    datapath : os_ken.controller.controller.Datapath
        The connection to the switch.
    rows : list
        What was decided and when the switch followed: event, ns since the start, entry, slot, port.
    """

    def __init__(self, plan: dict[str, Any], epoch_ns: int) -> None:
        self.name, self.plan, self.epoch_ns = plan["name"], plan, epoch_ns
        self.numbers: dict[str, int] = plan["interfaces"]
        self.ports = {name: self.numbers[port] for name, port in plan["names"].items()}
        self.entries: list[dict[str, Any]] = plan["entries"]
        self.datapath: Any = None
        self.rows: list[list[Any]] = []
        self.ready = threading.Event()
        self.waiting: dict[int, threading.Event] = {}
        self.sent: dict[int, str] = {}
        self.taps: Taps | None = None

    def install(self) -> None:
        """Fill the table: addresses of hosts, and the first way of each flow."""
        known = [
            self._entry({"eth_dst": mac}, ADDRESS, port, f"the address {mac}") for mac, port in self.plan["addresses"]
        ]
        ways = [self._way(match, match["ports"][0]) for entry in self.entries for match in entry["matches"]]
        self.send([*known, *ways]).wait()
        # The data plane asks the daemon about packets that it does not know. When many flows start at one instant, it
        # would ask about all of them then, and the daemon would read the clock too often.
        self.taps = Taps(self.plan["names"].values())
        for match in self.plan["passing"]:
            self.taps.leaves(frame(match), match["came"])

    def moved(self, move: Move) -> list[Any]:
        """Return the messages that move the flows of an entry to a port."""
        entry, _, port = move
        return [
            self._way(match, match["receiver"] if port == "receiver" else port)
            for match in self.entries[entry]["matches"]
        ]

    def send(self, messages: list[Any]) -> threading.Event:
        """Send messages and a barrier, as one piece; the result is set when the switch has handled all of them."""
        barrier = self.datapath.ofproto_parser.OFPBarrierRequest(self.datapath)
        answered = self.waiting[self.datapath.set_xid(barrier)] = threading.Event()
        for message in (*messages, barrier):
            message.serialize()
        self.datapath.send(b"".join(bytes(message.buf) for message in (*messages, barrier)))
        return answered

    def followed(self, move: Move) -> int:
        """Return the ns since the start at which a packet of an entry's first flow took the port."""
        entry, slot, port = move
        matches = self.entries[entry]["matches"]
        came = matches[0]["from"][slot % len(matches[0]["from"])] if matches else None
        if came is None:
            return time.monotonic_ns() - self.epoch_ns  # in this slot no packets of the flow come here
        match = matches[0]
        assert self.taps is not None
        try:
            target = match["receiver"] if port == "receiver" else port
            return self.taps.follow(frame(match), came, target) - self.epoch_ns
        except RuntimeError as error:
            raise RuntimeError(f"{self.name} does not follow: {error}") from None

    def refusal(self, message: Any) -> str:
        """Return in words what the switch refuses, and why, from its error message."""
        known, what = message.datapath.ofproto, None
        if len(message.data) >= 8:
            what = self.sent.get(int.from_bytes(message.data[4:8], "big"), known.ofp_msg_type_to_str(message.data[1]))
        kind, code = known.ofp_error_type_to_str(message.type), known.ofp_error_code_to_str(message.type, message.code)
        if (message.type, message.code) == (known.OFPET_FLOW_MOD_FAILED, known.OFPFMFC_TABLE_FULL):
            size = self.plan["table_size"]
            room = "" if size is None else f" with {size} entries"
            return f"the table of {self.name} is full{room}: no room for {what}"
        return f"{self.name} refuses {what or 'a message'}: {kind}, {code}"

    def _way(self, match: dict[str, Any], port: str) -> Any:
        """Return the message that sends the packets of a flow to a port."""
        fields = {"eth_type": _IPV4, "ip_proto": match["proto"], "ipv4_dst": match["dst"]}
        protocol = "tcp" if match["proto"] == _TCP else "udp"
        fields[f"{protocol}_{'src' if match['field'] == 'sport' else 'dst'}"] = match["port"]
        if match["in_if"] is not None:
            fields["in_port"] = self.numbers[match["in_if"]]
        return self._entry(fields, FLOW, port, f"the way of {match['name']} to {port}")

    def _entry(self, fields: dict[str, Any], priority: int, port: str, what: str) -> Any:
        """Return a flow-mod: packets with these fields leave by a port. It replaces an entry with the same fields."""
        parser, known = self.datapath.ofproto_parser, self.datapath.ofproto
        # A packet may leave by the port where it came in. OpenFlow forbids that, so the packet forgets this port.
        forget = parser.NXActionRegLoad(ofs_nbits=nicira_ext.ofs_nbits(0, 15), dst="in_port_nxm", value=0)
        actions = [forget, parser.OFPActionOutput(self.numbers[port])]
        doing = [parser.OFPInstructionActions(known.OFPIT_APPLY_ACTIONS, actions)]
        message = parser.OFPFlowMod(
            self.datapath, priority=priority, match=parser.OFPMatch(**fields), instructions=doing
        )
        self.sent[self.datapath.set_xid(message)] = what
        return message


def _parts(messages: list[Any]) -> list[list[Any]]:
    return [messages[first : first + PART] for first in range(0, len(messages), PART)]


def _complete(text: bytes) -> bool:
    """Return whether a text is JSON from its beginning to its end."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
