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
from typing import TYPE_CHECKING, Any

from clock import be_exact, sleep_until
from matchings import Pairs, birkhoff, greedy, matching
from ocs import DARK, slot

if TYPE_CHECKING:
    # imported where they are used: what Python does before the start can change the order of a user's events
    from planning import Choice, Planned, State

#: One circuit: the optical switch, and the racks from which and to which it leads.
Circuit = tuple[int, str, str]
#: Name of the file with the decisions, in the directory of the run.
DECISIONS = "circuits.json"


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
        import planning

        self.planning = planning
        self.plan, self.epoch_ns, self.switches = plan["circuits"], plan["epoch_ns"], switches
        self.directory, self.fail = directory, fail
        self.queues = {(each["first"], each["last"]): each for each in self.plan["queues"]}
        self.uplinks = {(each["plane"], each["rack"]): each for each in self.plan["uplinks"]}
        self.planes = sorted({plane for plane, _ in self.uplinks})
        self.count = Counter(rack for _, rack in self.uplinks)
        self.targets = {pair: each["beside"] for pair, each in self.queues.items()}
        self.passed: dict[tuple[str, str], int] = {}
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
            own = self.plan["own"]
            decide = self._shipped
            if own is not None:
                decide = self.planning.controller(self.plan["own_name"], own, self.plan["directed"])
            count = 0
            while not self.done:
                count += 1
                reading = self.epoch_ns + count * self.plan["every"]
                sleep_until(reading)
                self._period(self._read(reading), decide)
        except self.planning.Wrong as error:
            self.fail(str(error))
        except BaseException as error:  # noqa: BLE001  a thread that ends in silence would leave circuits as they are
            traceback.print_exc()
            self.fail(f"{type(error).__name__}: {error}")

    def _period(self, state: State, decide: Callable[[State], Planned]) -> None:
        """Decide, and set circuits until the next reading; one that lasts is set last."""
        begin = self.epoch_ns + state.now + self.plan["reaction"]
        end = begin + self.plan["every"]
        for choice in decide(state):
            if self.done or begin + 2 * self.plan["night"] > end:
                break
            sleep_until(begin)
            named = [(first, last, state.demand.get((first, last), 0)) for first, last in choice.pairs]
            self.rows.append((state.now, named))
            self._set(self._placed(choice), begin)
            if choice.lasting is None:
                break
            begin += self.plan["night"] + max(choice.lasting, self.plan["night"])

    def _read(self, reading: int) -> State:
        """Return what the switches' counters say at an instant of a reading."""
        stats = [switch.client.stats()["classes"] for switch in self.switches]
        waiting = {pair: stats[each["switch"]][each["class"]]["voq"]["bytes"] for pair, each in self.queues.items()}
        total = {pair: stats[each["switch"]][each["class"]]["bytes"] for pair, each in self.queues.items()}
        sent = {pair: size - self.passed.get(pair, 0) for pair, size in total.items()}
        self.passed = total
        return self.planning.State(
            now=reading - self.epoch_ns,
            demand=waiting if self.plan["measure"] == "queues" else sent,
            waiting=waiting,
            sent=sent,
            circuits=sorted((first, last) for _, first, last in self.up),
            racks=dict(self.count),
            flows=[tuple(flow) for flow in self.plan.get("flows", ())],
            rate=self.plan["rate"],
            every=self.plan["every"],
            night=self.plan["night"],
        )

    def _shipped(self, state: State) -> Planned:
        demand = state.demand
        if self.plan["decide"] == "matching":
            racks = [[rack for plane, rack in self.uplinks if plane == here] for here in self.planes]
            now = [[(first, last) for plane, first, last in self.up if plane == here] for here in self.planes]
            found = matching(demand, now, racks, directed=self.plan["directed"])
            return [self.planning.Choice(None, [pair for pairs in found for pair in pairs], found)]
        if self.plan["decide"] == "greedy":
            standing = [pair for pair in state.circuits if self.plan["directed"] or pair[0] < pair[1]]
            return [self.planning.Choice(None, greedy(demand, standing, self.count))]
        return state.fitted([(state.time(size), pairs) for size, pairs in birkhoff(demand, list(self.count))])

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
