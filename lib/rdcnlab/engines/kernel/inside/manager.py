# SPDX-License-Identifier: Apache-2.0
"""The local manager of a P4 switch: at each change of a timetable it asks the data plane for the new slot.

If the timetable is in the data plane, the manager only asks: it sends a tick through the CPU port, and the switch
answers with a report. If the timetable is in the control plane, the manager first rewrites the table entry of the
class, as the manager of Aykurt et al. does.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
from typing import Any

from clock import be_exact, sleep_until
from instants import changes

TICK, REPORT = 0x88B5, 0x88B6
_ETHERNET = struct.pack("!6s6sH", b"\xff" * 6, b"\x02" + b"\0" * 5, TICK)
_TICK = struct.Struct("!HHBBH6s")
#: Smallest frame of Ethernet in bytes, without FCS.
_SMALLEST = 60


class Manager(threading.Thread):
    """A thread that sends a tick at every change of every timetable.

    Parameters
    ----------
    plan : dict
        Plan of the switch: ``classes`` with ``id``, ``phase_ns``, ``slots`` of (duration in ns, action), and
        ``control``; if it is one of several, also ``cpu``, the name of its CPU port.
    epoch_ns : int
        Start of all timetables in ns of CLOCK_MONOTONIC.
    epoch_us : int
        The same instant in us of the switch's clock.
    control : Control
        Control of the switch, used to rewrite entries.

    Attributes
    ----------
    slots : list of [int, int, int, int, int, int]
        One item for each report: us since the epoch by the switch's clock; class, slot and way as the switch numbers
        them; port; and the slot's number in the scenario.
    """

    def __init__(self, plan: dict[str, Any], epoch_ns: int, epoch_us: int, control: Any) -> None:
        super().__init__(daemon=True)
        self.epoch_ns, self.epoch_us, self.control = epoch_ns, epoch_us, control
        self.rewrites = plan["control"] == "control-plane"
        self.classes = {entry["id"]: entry for entry in plan["classes"]}
        self.asked: list[tuple[int, int]] = []
        self.slots: list[list[int]] = []
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(REPORT))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
        self.socket.bind((f"{plan.get('cpu', 'cpu')}-m", REPORT))
        self.waiting = select.poll()
        self.waiting.register(self.socket, select.POLLIN)
        for number, entry in self.classes.items() if self.rewrites else ():
            # the first slot is in force before its time, as with a timetable in the data plane
            action = entry["slots"][0][1]
            words = f"{action[0]} {number} => {' '.join(action[1:])}"
            entry["handle"] = control.tell(f"table_add {entry['table']} {words}").split()[-1]

    def run(self) -> None:
        """Wait for each change and send its tick; after `stop` this ends at the next change."""
        be_exact()
        timetables = {
            number: (self.epoch_ns + entry["phase_ns"], [duration for duration, _ in entry["slots"]])
            for number, entry in self.classes.items()
        }
        try:
            for instant, number, count in changes(timetables):
                sleep_until(instant)
                if self.ended.is_set():
                    return
                self._change(number, count)
        except BaseException as error:  # noqa: BLE001  `stop` raises it in the main thread
            self.error = error

    def stop(self) -> None:
        """Stop sending ticks, raise the thread's error if there is one, and collect the last reports."""
        self.ended.set()
        if self.error is not None:
            raise self.error
        self._collect()

    def _change(self, number: int, count: int) -> None:
        entry = self.classes[number]
        place = count % len(entry["slots"])
        if self.rewrites and count:
            action = entry["slots"][place][1]
            # without the arrow, the client fails if an action has no parameters, as dark has none
            words = f"{action[0]} {entry['handle']} => {' '.join(action[1:])}"
            self.control.tell(f"table_modify {entry['table']} {words}")
            self.control.tell(f"register_write {entry['version']} {number} {count % 16}")
        if len(entry["slots"]) == 1:
            return  # a single slot is set once and never changes
        self.asked.append((number, place))
        frame = _ETHERNET + _TICK.pack(number, 0, 0, 0, 0, bytes(6))
        self.socket.send(frame.ljust(_SMALLEST, b"\0"))
        self._collect()

    def _collect(self) -> None:
        """Read the reports that have arrived; they arrive in the order of the ticks."""
        # A system call that fails costs 1 us in User-Mode Linux, and the switch would have to wait during this time. So
        # this only receives if poll shows that there is data.
        while self.waiting.poll(0):
            frame = self.socket.recv(256)
            number, slot, way, _, port, instant = _TICK.unpack_from(frame, 14)
            asked, place = self.asked[len(self.slots)]
            if asked != number:
                raise RuntimeError(f"the switch reports class {number} where class {asked} was asked for")
            since = int.from_bytes(instant, "big") - self.epoch_us
            self.slots.append([since, number, slot, way, port, place])
