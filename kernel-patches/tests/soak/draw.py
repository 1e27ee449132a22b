# SPDX-License-Identifier: Apache-2.0
"""From a seed to a case: networks, a timetable, transports, traffic, and what goes wrong meanwhile.

A case is plain data, a pure function of its seed, so a seed that failed says everything: run it again alone.
All times are ns, rates bit/s, sizes bytes.

The draw is wide on purpose: nobody would build most of these networks.  What it keeps in bounds is the number of
events, since a slot of 1 us in a second of virtual time is a million of them.
"""

from __future__ import annotations

import random
from typing import Any

US, MS, S = 1_000, 1_000_000, 1_000_000_000
#: Target of a slot in which there is no circuit.
DARK = 0xFFFF
#: Transports, and how often each comes.
KINDS = {"tdtcp": 50, "mptcp": 20, "retcp": 15, "tcp": 15}
#: Share of the seeds that draw plain TCP with NUFTCP instead; the others keep the case that they always had.
NUFTCP = 1 / 8
#: Shares of the seeds whose hosts have cards and queues of their own, and in which a host forges notifications. What
#: else such a seed draws does not depend on that.
HOSTS, FORGERY = 1 / 2, 1 / 2
CONTROLS = ("cubic", "dctcp", "reno", "bbr", "westwood", "retcp")
#: Changes of the timetables that a case may cost.
CHANGES = 30_000
#: Longest time that the network changes for; a connection gives up after much more.
LONGEST = 2 * S


def case(seed: int, kind: str | None = None) -> dict[str, Any]:
    """Draw a case.

    Parameters
    ----------
    seed : int
        Says all.
    kind : str, optional
        One of `KINDS`, or ``nuftcp``, for a campaign of that only.
    """
    another = random.Random(f"nuftcp {seed}")
    if kind == "nuftcp" or (another.random() < NUFTCP and kind is None):
        drawn = _nuftcp(another, _case(seed, "tcp"))
    else:
        drawn = _case(seed, kind)
    drawn = _hosts(random.Random(f"hosts {seed}"), drawn)
    return _forgery(random.Random(f"forgery {seed}"), _counts(random.Random(f"frames {seed}"), drawn))


def _case(seed: int, kind: str | None) -> dict[str, Any]:
    rng = random.Random(seed)
    drawn = rng.choices(list(KINDS), list(KINDS.values()))[0]
    kind = kind or drawn
    count = rng.randint(2, 3) if kind == "mptcp" else rng.choice((2, 2, 2, 3, 4, 8))
    mtu = rng.choice((1280, 1500, 1500, 9000))
    networks = [_network(rng, mtu) for _ in range(count)]
    slots = _timetable(rng, count)
    week = sum(duration for duration, *_ in slots)
    lasts = min(LONGEST, _log(rng, 5 * MS, LONGEST), max(week, week * CHANGES // len(slots)))
    flows = [_flow(rng, kind, networks, lasts) for _ in range(rng.choice((1, 2, 3, 5, 8)))]
    return {
        "seed": seed,
        "kind": kind,
        "mtu": mtu,
        "offload": rng.random() < 0.5,
        "networks": networks,
        "slots": slots,
        "lasts": lasts,
        "hold": [rng.random() < 0.7 for _ in range(2)],
        "voq": [_queue(rng, mtu) for _ in range(2)],
        "pool": rng.choice((None, None, rng.randint(2, 200) * mtu)),
        "notify": [_notify(rng) for _ in range(2)],
        "inband": [int(rng.random() < 0.3) for _ in range(2)],
        "echo": _echo(rng, count) if kind == "retcp" or rng.random() < 0.2 else None,
        "sysctls": [_sysctls(rng, kind, count) for _ in range(2)],
        "flows": flows,
        "events": sorted(_event(rng, kind, count, len(flows), mtu, lasts) for _ in range(rng.choice((0, 3, 10, 40)))),
    }


def _nuftcp(rng: random.Random, drawn: dict[str, Any]) -> dict[str, Any]:
    """Give a case flows with NUFTCP, versions in packets, and hosts that hold ACKs or do not."""
    for flow in drawn["flows"]:
        flow["controls"] = [rng.choice(("nuftcp", "nuftcp", control)) for control in flow["controls"]]
    for settings in drawn["sysctls"]:
        settings["tcp_version_hold_us"] = rng.choice((0, 1000, _log(rng, 1, 100_000)))
        settings["tcp_version_hold_sack"] = rng.randint(0, 1)
        settings["ip_default_ttl"] = rng.choice((15, 15, 15, 1, 64, 255))
        settings["tcp_ecn"] = rng.choice((1, 1, 2, 0))
    parameters = {
        "factor": rng.choice((1500, _log(rng, 1000, 10**6))),
        "weight": rng.choice((200, _log(rng, 1, 1000))),
        "quiet": rng.choice((10, 0, _log(rng, 1, 65_535))),
        "readings": rng.choice((0, 0, 2 * rng.randrange(64))),
    }
    return drawn | {"kind": "nuftcp", "versions": [rng.choice((0, 1, 1, 2)) for _ in range(2)], "nuftcp": parameters}


def _hosts(rng: random.Random, drawn: dict[str, Any]) -> dict[str, Any]:
    """Give the hosts of a case cards with offloads, the queueing discipline fq, and flows a pacing rate, or nothing."""
    if rng.random() >= HOSTS:
        return drawn | {"hosts": None}
    for flow in drawn["flows"]:
        flow["pacing"] = [rng.choice((0, 0, _log(rng, 1e5, 1e9))) for _ in range(2)]  # B/s
    # the features are on, and each card has its own limits
    return drawn | {"offload": True, "hosts": [_host(rng, drawn["mtu"]) for _ in range(2)]}


def _host(rng: random.Random, mtu: int) -> dict[str, Any]:
    """Draw a card, and options of fq, which keeps packets until their time of departure; None is no fq."""
    gro = rng.random() < 0.6
    card = {
        "tso": rng.choice((0, 65_535, _log(rng, 2 * mtu, 65_535))),
        "gro": gro,
        "coalesce": rng.choice((0, _log(rng, 100, MS))) if gro else 0,
    }
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["flow_limit"] = _log(rng, 2, 1000)
    if rng.random() < 0.3:
        options["quantum"] = _log(rng, mtu, 100 * mtu)
    if rng.random() < 0.2:
        options["maxrate"] = f"{_log(rng, 1e6, 1e10)}bit"
    if rng.random() < 0.2:
        options["horizon"] = f"{_log(rng, MS, 10 * S) // 1000}us"
    return {"card": card, "fq": options if rng.random() < 0.7 else None}


def _counts(rng: random.Random, drawn: dict[str, Any]) -> dict[str, Any]:
    """Let cards that wait for more frames count them, or not; what else a seed draws does not depend on that."""
    for host in drawn["hosts"] or ():
        most = rng.choice((0, 1, _log(rng, 2, 128)))
        host["card"]["frames"] = most if host["card"]["coalesce"] else 0
    return drawn


def _forgery(rng: random.Random, drawn: dict[str, Any]) -> dict[str, Any]:
    """Let a host send the other one notifications that look like the switch's, for one prefix or for hundreds."""
    if rng.random() >= FORGERY:
        return drawn
    lasts, count, forged = drawn["lasts"], len(drawn["networks"]), []
    for _ in range(rng.choice((1, 3, 10))):
        values = {
            "host": rng.randrange(2),
            "tdn": rng.choice((rng.randrange(count), count, 255)),
            "prefixes": rng.choice((0, 0, 1, 10, 300)),  # 0: for all destinations; a host keeps 256 prefixes
            "ttl": rng.choice((255, 255, 64, 15)),
        }
        forged.append([rng.randrange(lasts), rng.random(), "forge", values])
    return drawn | {"events": sorted(drawn["events"] + forged, key=lambda event: event[:2])}


def _log(rng: random.Random, low: float, high: float) -> int:
    """Draw a number whose logarithm is uniform: small ones are as likely as large ones."""
    return round(low * (high / low) ** rng.random())


def _queue(rng: random.Random, mtu: int) -> dict[str, int]:
    """Draw a queue: from one packet on, with marks or early drops at times."""
    queue: dict[str, int] = {}
    if rng.random() < 0.8:
        queue["limit_packets"] = _log(rng, 1, 1000)
    else:
        queue["limit_bytes"] = _log(rng, 2 * mtu, 300 * mtu)
    if rng.random() < 0.3:
        queue["ecn"] = _log(rng, mtu, 50 * mtu)
    if rng.random() < 0.15:
        low = _log(rng, mtu, 20 * mtu)
        queue.update(red_min=low, red_max=low * rng.randint(2, 10), red_prob=_log(rng, 10**6, 10**9))
    return queue


def _network(rng: random.Random, mtu: int) -> dict[str, Any]:
    """Draw a network: the same rate and delay both ways, a queue for each."""
    return {
        "rate": _log(rng, 5e6, 1e11),
        "delay": rng.choice((0, _log(rng, 100, 5 * MS))),
        "queues": [_queue(rng, mtu) for _ in range(2)],
    }


def _timetable(rng: random.Random, count: int) -> list[list[int]]:
    """Draw slots of (duration, network, TDN): each network once or more, nights between, some wrong TDNs."""
    longest = _log(rng, 20 * US, 50 * MS)
    order = [*range(count), *(rng.randrange(count) for _ in range(rng.choice((0, 0, 2, 5))))]
    rng.shuffle(order)
    night = rng.choice((0, 1, rng.randint(1, 50)))
    slots = []
    for network in order:
        tdn = network if rng.random() < 0.95 else rng.choice((count, 254, rng.randrange(count)))
        if night:
            slots.append([_log(rng, US, night * US + US), DARK, tdn])
        slots.append([_log(rng, US, longest), network, tdn])
    return slots


def _notify(rng: random.Random) -> dict[str, int] | None:
    """Draw how a host is told of changes: at once, late, not at all."""
    return None if rng.random() < 0.1 else {"delay": rng.choice((0, 0, _log(rng, 100, 3 * MS)))}


def _echo(rng: random.Random, count: int) -> dict[str, int]:
    """Draw which network is announced by ECE, and how long before."""
    return {"tdn": rng.randrange(count), "in_advance": rng.choice((0, _log(rng, 100, MS)))}


def _sysctls(rng: random.Random, kind: str, count: int) -> dict[str, Any]:
    """Draw the settings of a host; one end without TDTCP, or with another number of networks, is as good."""
    settings: dict[str, Any] = {
        "tdn_count": count if rng.random() < 0.9 else rng.choice((0, 1, count + 1, 255)),
        "tcp_tdtcp": int((kind == "tdtcp" and rng.random() < 0.93) or rng.random() < 0.05),
        "tcp_tdtcp_push": rng.randint(0, 1),
        "tcp_tdtcp_pace": rng.randint(0, 1),
        "tcp_sack": int(rng.random() < 0.95),
        "tcp_timestamps": int(rng.random() < 0.9),
        "tcp_ecn": rng.randint(0, 2),
        "tcp_window_scaling": int(rng.random() < 0.95),
        "tcp_frto": rng.choice((0, 2)),
        "tcp_recovery": rng.choice((0, 1, 1, 3)),
        "tcp_early_retrans": rng.choice((0, 3, 3)),
        "tcp_slow_start_after_idle": rng.randint(0, 1),
        "tcp_no_metrics_save": rng.randint(0, 1),
    }
    if rng.random() < 0.3:
        settings["tcp_rmem"] = f"4096 {_log(rng, 4096, 6e6)} {_log(rng, 6e6, 3e7)}"
        settings["tcp_wmem"] = f"4096 {_log(rng, 4096, 4e6)} {_log(rng, 4e6, 3e7)}"
    return settings


def _flow(rng: random.Random, kind: str, networks: list[dict[str, Any]], lasts: int) -> dict[str, Any]:
    """Draw a connection: both directions, how it is written and read, how it ends.

    ``end`` is how: ``shut``, half-closed by each end after its last byte; ``close``, closed while the data is
    still on its way; ``stay``, open until all is calm; ``again``, as ``shut``, and the client's socket connects once
    more; ``reset``, cut off by one end at an instant.
    """
    most = max(100_000, min(3_000_000, sum(n["rate"] for n in networks) // len(networks) * lasts // (8 * S)))
    some = [_log(rng, 1, most) if rng.random() < 0.3 else rng.randint(1, most) for _ in range(2)]
    sizes = [some[0], rng.choice((0, 0, some[1]))]
    rng.shuffle(sizes)
    if kind == "retcp":
        controls = [rng.choice(("retcp", "retcp", "cubic")) for _ in range(2)]
    else:
        controls = [rng.choice(CONTROLS[:-1]) for _ in range(2)]
    end = rng.choices(("shut", "stay", "close", "again", "reset"), (3, 3, 2, 1, 2))[0]
    if end == "close":
        sizes = [max(sizes), 0]  # who closes with unread data resets
        rng.shuffle(sizes)
    return {
        "client": rng.randrange(2),
        "begin": rng.randrange(lasts),
        "sizes": sizes,  # from the client, from the server
        "controls": controls,
        "mptcp": kind == "mptcp" and rng.random() < 0.9,
        "end": end,
        "cut": [rng.randrange(lasts), rng.randrange(2)],  # when after its begin, and which end
        "chunk": [_log(rng, 1000, 1 << 20) for _ in range(2)],
        "buffer": [rng.choice((0, 0, 0, _log(rng, 5000, 1 << 20))) for _ in range(2)],
        "nodelay": [rng.random() < 0.5 for _ in range(2)],
        "pause": [rng.choice((0, 0, _log(rng, US, 5 * MS))) for _ in range(2)],  # of the reader after each read
    }


def _event(rng: random.Random, kind: str, count: int, flows: int, mtu: int, lasts: int) -> list[Any]:
    """Draw something that happens meanwhile: (instant, what, values)."""
    what = rng.choice(("timetable", "link", "sysctl", "tell", "icmp", "control", "look", "down", "again", "notify"))
    values: dict[str, Any]
    host = rng.randrange(2)
    if what == "timetable":
        slots = _timetable(rng, count)
        # short slots in a long case would be events without end
        values = {"slots": [[max(duration, lasts * len(slots) // CHANGES), *rest] for duration, *rest in slots]}
    elif what == "link":
        values = {"network": rng.randrange(count), "to": _network(rng, mtu)}
    elif what == "sysctl":
        name = rng.choice(("tcp_tdtcp_push", "tcp_tdtcp_pace", "tcp_tdtcp", "tdn_count"))
        values = {"host": host, "name": name, "value": rng.choice((0, 1))}
        if name == "tdn_count":
            values["value"] = rng.choice((count, count, count - 1, count + 1, 0))
    elif what == "tell":
        values = {"host": host, "tdn": rng.randrange(count + 1)}
    elif what == "icmp":
        # of each kind: well-formed, unknown, cut short, garbled
        values = {"host": host, "tdn": rng.randrange(256), "cut": rng.choice((0, 0, 1, 4, 7)), "flip": rng.randrange(4)}
    elif what == "control":
        values = {"flow": rng.randrange(flows), "end": host, "tdn": rng.choice((None, rng.randrange(count + 1)))}
        values["name"] = rng.choice(CONTROLS if kind == "retcp" else CONTROLS[:-1])
    elif what == "notify":
        values = {"host": host, "to": _notify(rng)}
    elif what == "down":
        values = {"host": host, "for": _log(rng, 10 * US, 20 * MS)}
    else:
        values = {}
    # the second entry makes the order of two at the same instant certain
    return [rng.randrange(lasts), rng.random(), what, values]
