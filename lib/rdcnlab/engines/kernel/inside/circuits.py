# SPDX-License-Identifier: Apache-2.0
"""The controller of circuits on demand: it reads the switches' counters in virtual time, decides, and sets circuits.

It is a thread. What it computes takes no virtual time; from a reading to the change there are as many ns as the
scenario says.
"""

from __future__ import annotations

import json
import os
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from clock import be_exact, sleep_until
from matchings import Demand, Pairs, birkhoff, greedy, matching
from ocs import DARK, slot

#: One circuit: the optical switch, and the racks from which and to which it leads.
Circuit = tuple[int, str, str]
#: Name of the file with the decisions, in the directory of the run.
DECISIONS = "circuits.json"


class Choice(NamedTuple):
    """Pairs of racks that shall have circuits, and for how many ns; None: until the next decision.

    `planes` has the same pairs for each optical switch, if they were chosen so.
    """

    lasting: int | None
    pairs: Pairs
    planes: list[Pairs] | None = None


class Wrong(RuntimeError):
    """The user's controller raised, or chose circuits that there are not."""


class Controller:
    """Sets circuits.

    Parameters
    ----------
    plan : dict
        The plan; its part ``circuits`` has queues, uplinks and times.
    switches : list of Ocs
        The switches, by number.
    directory : str
        Directory of the run.
    fail : callable
        Ends the run with a sentence.
    """

    def __init__(self, plan: dict[str, Any], switches: list[Any], directory: str, fail: Callable[[str], None]) -> None:
        self.plan, self.epoch_ns, self.switches = plan["circuits"], plan["epoch_ns"], switches
        self.directory, self.fail = directory, fail
        self.queues = {(each["first"], each["last"]): each for each in self.plan["queues"]}
        self.uplinks = {(each["plane"], each["rack"]): each for each in self.plan["uplinks"]}
        self.planes = sorted({plane for plane, _ in self.uplinks})
        self.count = Counter(rack for _, rack in self.uplinks)
        self.targets = {pair: each["beside"] for pair, each in self.queues.items()}
        self.sent: dict[tuple[str, str], int] = {}
        self.rows: list[tuple[int, list[tuple[str, str, int]]]] = []
        self.done = False
        by_link = {each["link"]: each for each in self.plan["uplinks"]}
        pairs = [(by_link[one], by_link[other]) for one, other in self.plan["up"]]
        self.up = {circuit for one, other in pairs for circuit in self._both(one["plane"], one["rack"], other["rack"])}
        self.targets |= {(first, last): self.uplinks[plane, first]["line"] for plane, first, last in self.up}

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """Change nothing any more, and store the decisions."""
        self.done = True
        with open(os.path.join(self.directory, DECISIONS), "w") as file:
            json.dump(self.rows, file)

    def _run(self) -> None:
        try:
            be_exact()
            decide = self._own() if self.plan["own"] is not None else self._shipped
            count = 0
            while not self.done:
                count += 1
                reading = self.epoch_ns + count * self.plan["every"]
                sleep_until(reading)
                self._period(reading, decide)
        except Wrong as error:
            self.fail(str(error))
        except BaseException as error:  # noqa: BLE001  a thread that ends in silence would leave circuits as they are
            traceback.print_exc()
            self.fail(f"{type(error).__name__}: {error}")

    def _period(self, reading: int, decide: Callable[[Demand, Pairs], list[Choice]]) -> None:
        """Read, decide, and set circuits until the next reading; one that lasts is set last."""
        demand = self._read()
        choices = decide(demand, sorted((first, last) for _, first, last in self.up))
        begin, end = reading + self.plan["reaction"], reading + self.plan["every"] + self.plan["reaction"]
        for choice in choices:
            if self.done or begin + 2 * self.plan["night"] > end:
                break
            sleep_until(begin)
            named = [(first, last, demand.get((first, last), 0)) for first, last in choice.pairs]
            self.rows.append((reading - self.epoch_ns, named))
            self._set(self._placed(choice), begin)
            if choice.lasting is None:
                break
            begin += self.plan["night"] + max(choice.lasting, self.plan["night"])

    def _read(self) -> Demand:
        """Return the bytes of each pair of racks that wait, or that came since the last reading."""
        stats = [switch.client.stats()["classes"] for switch in self.switches]
        if self.plan["measure"] == "queues":
            return {pair: stats[each["switch"]][each["class"]]["voq"]["bytes"] for pair, each in self.queues.items()}
        total = {pair: stats[each["switch"]][each["class"]]["bytes"] for pair, each in self.queues.items()}
        demand = {pair: size - self.sent.get(pair, 0) for pair, size in total.items()}
        self.sent = total
        return demand

    def _shipped(self, demand: Demand, up: Pairs) -> list[Choice]:
        if self.plan["decide"] == "matching":
            racks = [[rack for plane, rack in self.uplinks if plane == here] for here in self.planes]
            now = [[(first, last) for plane, first, last in self.up if plane == here] for here in self.planes]
            found = matching(demand, now, racks, directed=self.plan["directed"])
            return [Choice(None, [pair for pairs in found for pair in pairs], found)]
        if self.plan["decide"] == "greedy":
            standing = [pair for pair in up if self.plan["directed"] or pair[0] < pair[1]]
            return [Choice(None, greedy(demand, standing, self.count))]
        parts = birkhoff(demand, list(self.count))
        lasting = [Choice(size * 8 * 10**9 // self.plan["rate"], pairs) for size, pairs in parts]
        return [*lasting[:-1], *(Choice(None, choice.pairs) for choice in lasting[-1:])]

    def _own(self) -> Callable[[Demand, Pairs], list[Choice]]:
        """Return the function of the user's file; what it returns is checked."""
        name, space = self.plan["own_name"], dict[str, Any]()
        try:
            exec(compile(self.plan["own"], name, "exec"), space)
        except BaseException as error:  # noqa: BLE001
            raise Wrong(f"the controller {name} raised {type(error).__name__}: {error}") from None
        own = space.get("decide")
        if not callable(own):
            raise Wrong(f"the controller {name} has no function decide(demand, circuits)")

        def decide(demand: Demand, up: Pairs) -> list[Choice]:
            try:
                pairs = [(str(first), str(last)) for first, last in own(dict(demand), list(up))]
            except BaseException as error:  # noqa: BLE001
                frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
                at = f" ({name}, line {frames[-1].lineno})" if frames else ""
                raise Wrong(f"the controller {name} raised {type(error).__name__}: {error}{at}") from None
            self._check(name, pairs)
            return [Choice(None, pairs)]

        return decide

    def _check(self, name: str, pairs: Pairs) -> None:
        """Raise Wrong if circuits lead to racks that do not exist, or to more racks than there are uplinks."""
        for pair in pairs:
            if pair not in self.queues:
                allowed = f"two different racks of {', '.join(self.count)}"
                raise Wrong(f"the controller {name} chose a circuit {pair[0]}, {pair[1]}; allowed: {allowed}")
        ends = [[first for first, _ in pairs], [last for _, last in pairs]]
        for racks in ends if self.plan["directed"] else [ends[0] + ends[1]]:
            for rack, count in Counter(racks).items():
                if count > self.count[rack]:
                    raise Wrong(
                        f"the controller {name} chose {count} circuits for {rack}; allowed: {self.count[rack]}, the "
                        "number of its uplinks"
                    )

    def _both(self, plane: int, first: str, last: str) -> list[Circuit]:
        return [(plane, first, last)] if self.plan["directed"] else [(plane, first, last), (plane, last, first)]

    def _placed(self, choice: Choice) -> set[Circuit]:
        """Return the circuits of pairs: those that are up stay, others take the first optical switch that is free.

        Where a pair finds none so, each takes the switch that it was chosen for.
        """
        circuits = self._kept(choice.pairs)
        if choice.planes is None or len(circuits) == sum(len(self._both(0, *pair)) for pair in choice.pairs):
            return circuits
        chosen = zip(self.planes, choice.planes, strict=True)
        return {circuit for plane, pairs in chosen for pair in pairs for circuit in self._both(plane, *pair)}

    def _kept(self, pairs: Pairs) -> set[Circuit]:
        wanted = Counter(pair if self.plan["directed"] else (min(pair), max(pair)) for pair in pairs)
        circuits: set[Circuit] = set()
        for plane, first, last in sorted(self.up):
            if wanted[first, last]:
                wanted[first, last] -= 1
                circuits.update(self._both(plane, first, last))
        for first, last in wanted.elements():
            for plane in self.planes:
                new = self._both(plane, first, last)
                used = {(one, begin, 0) for one, begin, _ in circuits} | {(one, end, 1) for one, _, end in circuits}
                ends = {(one, begin, 0) for one, begin, _ in new} | {(one, end, 1) for one, _, end in new}
                if not ends & used and (plane, first) in self.uplinks and (plane, last) in self.uplinks:
                    circuits.update(new)
                    break
        return circuits

    def _set(self, circuits: set[Circuit], begin: int) -> None:
        """Let circuits end that are not wanted, wait for the last frame on them, and begin the new ones."""
        ended, begun = self.up - circuits, circuits - self.up
        if not ended and not begun:
            return
        self._send(self.up - ended)
        sleep_until(begin + self.plan["night"])
        if self.done:
            return
        for plane, first, last in sorted(ended | begun):
            light = self.uplinks[plane, first]
            target = self.uplinks[plane, last]["out"] if (plane, first, last) in begun else DARK
            if target != DARK or not any(one[:2] == (plane, first) for one in begun):
                self.switches[plane].client.class_set(light["class"], slots=[slot(0, target)])
        self.up = circuits
        self._send(circuits)

    def _send(self, circuits: set[Circuit]) -> None:
        """Let the packets of each queue take their circuit, or the way beside."""
        targets = {pair: each["beside"] for pair, each in self.queues.items()}
        for plane, first, last in sorted(circuits, reverse=True):
            targets[first, last] = self.uplinks[plane, first]["line"]
        for pair, target in targets.items():
            if target != self.targets[pair]:
                queue = self.queues[pair]
                self.switches[queue["switch"]].client.class_set(queue["class"], slots=[slot(0, target)])
        self.targets = targets
