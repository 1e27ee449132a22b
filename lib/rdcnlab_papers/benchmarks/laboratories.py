# SPDX-License-Identifier: Apache-2.0
"""The five papers' own networks under workloads: who sends to whom, by which ways, and how often.

Each pair of hosts sends as in its paper, on the paper's timetable of moves. Where a paper varies the time between
moves, it is one that passes within a workload; docs/decisions/architectures.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

from rdcnlab.fields.units import NS_PER_S
from rdcnlab.scenario import Scenario, distributions
from rdcnlab.scenario.presets import preset
from rdcnlab.scenario.workloads.offered import drawn_rate, mean_rate
from rdcnlab.scenario.workloads.pairs import pairs_of
from rdcnlab_papers.carpa import space as carpa
from rdcnlab_papers.dogar import space as dogar

Laboratory = Literal["aykurt", "carpa", "dogar", "tdtcp", "vargas"]
LABORATORIES: tuple[Laboratory, ...] = get_args(Laboratory)
#: Length in packets of the paper's MTU above which a queue marks, where the paper's network marks nothing.
_MARKS = 60
#: Time between moves: Aykurt et al. have 1 to 100 ms, Carpa et al. up to 30 s, Dogar et al. 25 ms in Sec. 4.
_MOVES = {"aykurt": "10 ms", "carpa": "1 s", "dogar": "25 ms"}
#: RTT of Carpa et al. in ms (figures 2 and 3).
_RTT_MS = 50
#: Limit of a run in ns: the flows of Carpa et al. share 100 Mb/s, so that they take tens of seconds.
LIMIT = 120 * NS_PER_S


class Group(NamedTuple):
    """Pairs of hosts that send alike.

    Parameters
    ----------
    pairs : list of tuple of str
        Senders and receivers; each flow has one of them, all equally likely.
    rate : float
        Bits/s that all of them together can carry, of which a load is a share.
    fields : dict
        What else their flows have: the way, and the way of ACKs.
    """

    pairs: list[tuple[str, str]]
    rate: float
    fields: dict[str, Any]


def network(name: Laboratory) -> dict[str, Any]:
    """Return the network of a paper as plain data, with marks where the paper has none."""
    if name == "dogar":
        return dogar.network(dogar.LARGE, dogar.Inputs())
    if name == "carpa":
        return carpa.network((_RTT_MS * 1_000_000,), carpa.EXTRA_MS)
    data: dict[str, Any] = preset(name).network.model_dump(mode="json")
    if name == "aykurt":
        for link in data["links"]:
            link["ecn_threshold"] = _MARKS * data["mtu"]
    return data


def groups(name: Laboratory) -> list[Group]:
    """Return who sends on the network of a paper."""
    return _GROUPS[name]()


def workloads(name: Laboratory, load: int, drawn: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a workload for each group of a paper's network.

    Parameters
    ----------
    name : str
        The paper.
    load : int
        Share in % of what the group's way can carry, of the payload of uncut sizes; `offered` is what flows offer.
    drawn : dict
        The fields ``sizes`` (the name of a distribution), ``at_most`` and ``count`` (of all groups together).
    """
    all_groups = groups(name)
    bits = 8 * distributions()[drawn["sizes"]].sizes.mean
    made = []
    for number, group in enumerate(all_groups, 1):
        arrivals = {"poisson": round(bits * NS_PER_S * 100 / (group.rate * load))}
        own = {"pattern": "matrix", "matrix": [[*pair] for pair in group.pairs], "arrivals": arrivals}
        count = drawn["count"] // len(all_groups)
        made.append({"name": f"w{number}", **drawn, **own, **group.fields, "count": count})
    return made


def offered(name: Laboratory, scenario: Scenario) -> tuple[float, float]:
    """Return the load of a scenario of `workloads` as a share of what the groups' ways can carry.

    Returns
    -------
    (float, float)
        In the mean over all seeds, and of the flows that this one draws; see `rdcnlab.scenario.workloads.Offered`.
        Headers count, and sizes are as they are cut; the load of `workloads` is that of the payload of uncut sizes.
    """
    mean, drawn, network = 0.0, 0.0, scenario.network
    for workload in scenario.workloads:
        flows = [flow for flow in scenario.flows if flow.workload == workload.name]
        mean += mean_rate(workload, network, pairs_of(workload, network, scenario.seed))
        drawn += drawn_rate(workload, network, flows)
    rate = sum(group.rate for group in groups(name))
    return mean / rate, drawn / rate


def _in_turn(first: str, second: str, every: str) -> list[list[str]]:
    return [[every, first], [every, second]]


def _aykurt() -> list[Group]:
    """One pair stays on a loopback link, the other is moved to it and back."""
    moved = _in_turn("blue", "green", _MOVES["aykurt"])
    return [Group([("s1", "r1")], 1e10, {"path": "green"}), Group([("s2", "r2")], 1e10, {"path": moved})]


def _carpa() -> list[Group]:
    """One group behind a line of 100 Mb/s, which is rerouted in both directions."""
    moved = _in_turn(carpa.SHORT, carpa.LONG, _MOVES["carpa"])
    return [Group([("s1", "r1")], 1e8, {"path": moved, "back": "same"})]


def _dogar() -> list[Group]:
    """Two groups that swap their links."""
    return [
        Group([(f"s{number}", f"r{number}")], 1e10, {"path": _in_turn(*links, _MOVES["dogar"]), "back": "same"})
        for number, links in enumerate(dogar.GROUPS.values(), 1)
    ]


def _tdtcp() -> list[Group]:
    """Sixteen pairs on a packet network of 10 Gb/s and a circuit of 100 Gb/s, of which the timetable gives the mean."""
    net = preset("tdtcp").network
    rates = {link.name: link.rate for link in net.links}
    (slots,) = (schedule.slots for schedule in net.schedules if schedule.name == "forward")
    mean = sum(slot.duration * rates.get(slot.link, 0) for slot in slots) / sum(slot.duration for slot in slots)
    pairs = [(f"a{number}", f"b{number}") for number in range(1, 17)]
    return [Group(pairs, mean, {"path": "forward", "back": "reverse", "connect": "ahead"})]


def _vargas() -> list[Group]:
    """Ten senders near the queue and ten far from it, which share its 12.5 Gb/s."""
    net = preset("vargas").network
    names = [host.name for host in net.hosts]
    (receiver,) = (name for name in names if not name.startswith(("n", "f")))
    near, far = ([(name, receiver) for name in names if name.startswith(kind)] for kind in ("n", "f"))
    shared = {"path": "shared"}
    return [Group(near, 6.25e9, shared), Group(far, 6.25e9, shared)]


_GROUPS: dict[Laboratory, Callable[[], list[Group]]] = {
    "aykurt": _aykurt, "carpa": _carpa, "dogar": _dogar, "tdtcp": _tdtcp, "vargas": _vargas,
}  # fmt: skip
