# SPDX-License-Identifier: Apache-2.0
"""Client of the kernel's optical circuit switch, generic netlink family ``ocs``.

It imports few modules of the standard library and no others: it runs in the guest, where every import costs context
switches of the host.

Units are those of the kernel: bit/s, ns, bytes. The size of a frame in a queue includes its Ethernet header and not its
FCS.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping

from ocs_dumps import Dumps
from ocs_steps import chunks

DARK, BYPASS = 0xFFFF, 0xFFFE
"""Targets of a slot that are no link: no circuit; straight to the egress port."""
NONE = 0xFFFFFFFF
"""``ecn``: never mark.  ``pool``: take part in none."""
ANY_HOPS = 0xFFFFFFFF
"""``hops_max``: count how many switches frames have passed, and never drop one."""
NO_CLASS = 0xFFFF
"""``class`` of ``notify`` and ``echo``: none any more."""
WRITE, RAISE = 1, 2
"""``versions`` of a class at the first switch of a way, and at those behind it."""

_LINK_SET, _POOL_SET, _PORT_SET, _CLASS_SET, _RULE_ADD, _RULE_FLUSH, _FDB_SET, _START = range(1, 9)
_LINK_DEL, _CLASS_DEL, _RULE_DEL = range(10, 13)


def slot(duration: int, target: int, **more: int) -> dict[str, int]:
    """Return one entry of a timetable.

    Parameters
    ----------
    duration : int
        Duration in ns; 0 for the only slot of a class that never changes.
    target : int
        Link id, ``DARK`` or ``BYPASS``.
    **more : int
        ``tdn``, ``voq_bytes``, ``voq_packets``, ``voq_ecn``, ``rank``.
    """
    return {"duration": duration, "target": target, **more}


def _mac(where: str, text: str) -> bytes:
    try:
        return bytes.fromhex(text.replace(":", ""))
    except ValueError:
        raise ValueError(f"{where}: {text!r} is no MAC address") from None


def _ipv4(where: str, text: str) -> bytes:
    try:
        return socket.inet_pton(socket.AF_INET, text)
    except OSError:
        raise ValueError(f"{where}: {text!r} is no IPv4 address") from None


def _prefix(where: str, text: str) -> tuple[bytes, int]:
    address, _, length = text.partition("/")
    try:
        return socket.inet_pton(socket.AF_INET, address), int(length or 32)
    except (OSError, ValueError):
        raise ValueError(f"{where}: {text!r} is no IPv4 address or prefix") from None


def _rule(class_id: int, prio: int, in_if: int | None, proto: int | None, src: str | None, dst: str | None,
          sport: int | None, dport: int | None, every: bool, station: str | None) -> dict[str, object]:  # fmt: skip
    """Return the attributes of a rule."""
    rule: dict[str, object] = {"prio": prio, "class": class_id, "proto": proto, "sport": sport, "dport": dport}
    if every:
        rule["any"] = True
    if in_if is not None:
        rule["in_ifindex"] = in_if
    for name, text in (("src", src), ("dst", dst), ("station", station)):
        if text is not None:
            rule[name], rule[f"{name}_len"] = _prefix(f"rule.{name}", text)
    return rule


class Ocs(Dumps):
    """One switch.

    Outside of a ``with`` block each call takes effect at once. Inside, requests are collected and sent together at the
    end of the block, in as few system calls as possible. The first request that fails raises there; the other requests
    have still been executed.

    Parameters
    ----------
    ifname : str
        Name of the master device, in the network namespace of the caller.

    Raises
    ------
    OSError
        There is no such device, or the kernel has no ``ocs``.

    Notes
    -----
    If the kernel refuses a value, the call raises ``ValueError`` with the kernel's text, the attribute and the allowed
    range. All other errors, such as a missing privilege, raise ``OSError``. In every call, an argument that is None
    keeps its value in the kernel.
    """

    def link_set(
        self,
        id: int,  # noqa: A002  (the attribute's name in the kernel)
        *,
        rate: int | None = None,
        delay: int | None = None,
        overhead: int | None = None,
        queue: Mapping[str, int] | None = None,
        port: str | None = None,
        steps: Mapping[str, object] | None = None,
        seed: int | None = None,
        faults: Mapping[str, int] | None = None,
        dev: str | None = None,
        flood: bool | None = None,
    ) -> None:
        """Create or change an internal link.

        Parameters
        ----------
        id : int
            0 to 16383.
        rate : int, optional
            bit/s; 0 means infinite and is the default of a new link.
        delay : int, optional
            Propagation delay in ns.
        overhead : int, optional
            Bytes of a frame on the line in addition to its Ethernet header and payload; 24 by default.
        queue : mapping, optional
            ``limit_bytes``, ``limit_packets`` (0: no limit), ``ecn`` (bytes, `NONE`: never mark), ``red_min``,
            ``red_max`` (bytes, 0: no random drops), ``red_prob`` (1e-9), ``pool`` (`NONE`: no pool), ``mark_min``,
            ``mark_max`` (bytes, 0: ECT packets are marked by the threshold ``ecn``), ``mark_prob`` (1e-9).
        port : str, optional
            Device of the port at the end of the link, for all frames whatever their destination. Empty, the default of
            a new link: the link ends inside the switch.
        steps : mapping, optional
            What `ocs_steps.rates` or `ocs_steps.trace` returns, which is in force instead of ``rate``; or
            `ocs_steps.NO_STEPS`.
        seed : int, optional
            64 bits that the random draws of ``faults`` depend on, together with the number of the frame since
            `Ocs.start`; 0 by default.
        faults : mapping, optional
            Probabilities in 1e-9: ``loss`` of each frame; ``good_bad`` and ``bad_good`` of a change of the state behind
            each frame, and in these states ``loss_good`` and ``loss_bad`` (Gilbert-Elliott); ``corrupt``: one bit
            behind the Ethernet header is flipped; ``duplicate``. ``jitter``: 0 to so many ns are added to the delay,
            all equally likely. ``reorder``: whether frames then overtake others, 0 or 1.
        dev : str, optional
            A device of the kind ``ocs_line``, in whose queueing discipline frames wait instead of in ``queue``; empty:
            none any more, and what waits in the discipline is lost. The device is brought up. ``ip link add NAME mtu N
            type ocs_line`` makes it, ``tc qdisc replace dev NAME root ...`` chooses its discipline.
        flood : bool, optional
            Whether frames to broadcast, multicast and unknown addresses take this link, too, unless they came in by
            the ``port`` that it ends at; False by default.
        """
        out = self._number(port)
        self._set(_LINK_SET, "link", id=id, rate=rate, delay=delay, overhead=overhead, queue=queue, port=out,
                  seed=seed, faults=faults, dev=self._number(dev),
                  flood=None if flood is None else int(flood))  # fmt: skip
        for chunk in chunks(steps) if steps else ():
            self._set(_LINK_SET, "link", id=id, steps=chunk)

    def link_del(self, id: int) -> None:  # noqa: A002
        """Remove an internal link and the frames on it; refused while it is the target of a slot."""
        self._request(_LINK_DEL, {"link": {"id": id}}, "link_del")

    def port_set(
        self,
        ifname: str,
        *,
        ingress: Mapping[str, object] | None = None,
        notify: Mapping[str, object] | None = None,
        flood: bool | None = None,
        hops_max: int | None = None,
        trail: int | None = None,
        **link: object,
    ) -> None:
        """Change the links of a port, and the notifications of its host.

        Parameters
        ----------
        ifname : str
            The port's device.
        ingress : mapping, optional
            Ingress link of the port, as in `link_set`, without ``id``.
        notify : mapping, optional
            ``class``: the host is notified of the TDN in this class's slots (`NO_CLASS`: no notifications); ``dst``:
            IPv4 address of the host; ``src``: IPv4 address of the switch; ``mac``: MAC address of the host; ``delay``
            (ns); ``inband`` (0 or 1); ``prefix``: the destinations that the class is about, ``a.b.c.d[/len]``, by
            default all that no other prefix has. A port has a notification for each prefix, which the other arguments
            are about; the first call for it needs ``class`` and ``dst``.
        flood : bool, optional
            Whether frames to broadcast, multicast and unknown addresses leave through this port; True by default. If
            there are several ways between two switches, all but one must have False at both ends.
        hops_max : int, optional
            Other switches are behind this port: drop a frame that has come in by such ports more often than this. 0,
            the default: frames are not counted; `ANY_HOPS`: they are only counted.
        trail : int, optional
            A program that forwards frames is behind this port: for so many ns, a frame that comes in by such a port
            goes on with the count of the frame that left by such a port and began with the same bytes; 0 by default.
        **link : object
            Egress link of the port, as in `link_set`, without ``id``.
        """
        told = dict(notify) if notify is not None else None
        for name in ("dst", "src"):
            if told and told.get(name) is not None:
                told[name] = _ipv4(f"port.notify.{name}", str(told[name]))
        if told and told.get("mac") is not None:
            told["mac"] = _mac("port.notify.mac", str(told["mac"]))
        if told and told.get("prefix") is not None:
            told["prefix"], told["prefix_len"] = _prefix("port.notify.prefix", str(told["prefix"]))
        index = self._number(ifname)
        floods = None if flood is None else int(flood)
        ends = {"link": dict(link), "ingress": dict(ingress or {})}
        steps = {name: values.pop("steps", None) for name, values in ends.items()}
        for values in ends.values():
            if isinstance(dev := values.get("dev"), str):
                values["dev"] = self._number(dev)
        self._set(_PORT_SET, "port", ifindex=index, notify=told, flood=floods, hops_max=hops_max, trail=trail, **ends)
        for name, table in steps.items():
            for chunk in chunks(table) if isinstance(table, Mapping) else ():
                self._set(_PORT_SET, "port", ifindex=index, **{name: {"steps": chunk}})

    def pool_set(self, id: int, bytes: int) -> None:  # noqa: A002  (names of the kernel)
        """Create or change the shared buffer ``id``, of ``bytes`` bytes; 0 means unlimited."""
        self._set(_POOL_SET, "pool", id=id, bytes=bytes)

    def class_set(
        self,
        id: int,  # noqa: A002
        slots: Iterable[Mapping[str, int]] | None = None,
        *,
        hold: bool | None = None,
        phase: int | None = None,
        voq: Mapping[str, int] | None = None,
        echo: Mapping[str, int] | None = None,
        versions: int | None = None,
    ) -> None:
        """Create or change a class of traffic.

        Parameters
        ----------
        id : int
            0 to 32767.
        slots : iterable of mapping, optional
            The timetable: 1 to 1024 entries made by `slot`. A new class needs it.
        hold : bool, optional
            Whether packets in a dark slot wait, in a queue of the class, or are dropped.
        phase : int, optional
            ns after the epoch at which the timetable begins; it may be negative.
        voq : mapping, optional
            Settings of the class's own queue, which this creates; keys as in `link_set`.
        echo : mapping, optional
            Set ECE in TCP packets while another ``class`` (`NO_CLASS`: stop it) is in a slot with the number ``tdn``,
            or will be within ``in_advance`` (ns). The first call needs ``class`` and ``tdn``.
        versions : int, optional
            Whether the upper half of the TTL of IPv4 packets gets the number of changes of the class's target: 0 never,
            1 always (`WRITE`), 2 if it is newer than what is there (`RAISE`).
        """
        dark = None if hold is None else int(hold)
        table = None if slots is None else list(slots)
        self._set(_CLASS_SET, "class", id=id, dark=dark, phase=phase, voq=voq, slots=table, echo=echo,
                  versions=versions)  # fmt: skip

    def class_del(self, id: int) -> None:  # noqa: A002
        """Remove a class and the packets in its queue; refused while a rule, an echo or a notification uses it."""
        self._request(_CLASS_DEL, {"class": {"id": id}}, "class_del")

    def rule_add(self, class_id: int, *, prio: int = 0, in_if: str | None = None, proto: int | None = None,
                 src: str | None = None, dst: str | None = None,
                 sport: int | None = None, dport: int | None = None, any: bool = False,  # noqa: A002
                 station: str | None = None) -> None:  # fmt: skip
        """Add a rule that assigns packets to a class; the lowest ``prio`` wins. ``src``, ``dst``: ``a.b.c.d[/len]``.

        With ``any`` it also catches frames to broadcast, multicast and unknown addresses, which are flooded otherwise.
        The class must then lead to links that end at a port. ``station`` is the address, or the prefix, of the station
        that a frame goes to next, which `fdb_set` gives to its MAC address: a router's on the way through one.
        """
        self._set(_RULE_ADD, "rule", **_rule(class_id, prio, self._number(in_if), proto, src, dst, sport, dport, any,
                                           station))  # fmt: skip

    def rule_del(self, class_id: int, *, prio: int = 0, in_if: str | None = None, proto: int | None = None,
                 src: str | None = None, dst: str | None = None,
                 sport: int | None = None, dport: int | None = None, any: bool = False,  # noqa: A002
                 station: str | None = None) -> None:  # fmt: skip
        """Remove the oldest rule that was added with these arguments."""
        rule = _rule(class_id, prio, self._number(in_if), proto, src, dst, sport, dport, any, station)
        self._request(_RULE_DEL, {"rule": rule}, "rule_del")

    def rule_flush(self) -> None:
        """Remove all rules."""
        self._request(_RULE_FLUSH, {}, "rule_flush")

    def fdb_set(self, mac: str, ifname: str | None, addr: str | None = None) -> None:
        """Assign a MAC address to a port, and the IPv4 address of its station to it; None removes the assignment."""
        station = None if addr is None else _ipv4("fdb.addr", addr)
        self._set(_FDB_SET, "fdb", mac=_mac("fdb.mac", mac), port=self._number(ifname), addr=station)

    def start(self, epoch: int, seed: int = 0) -> None:
        """Start all timetables at ``epoch`` (ns of CLOCK_MONOTONIC), and seed all random number generators."""
        self._request(_START, {"epoch": epoch, "seed": seed}, "start")

    def _set(self, command: int, name: str, **values: object) -> None:
        self._request(command, {name: values}, f"{name}_set")
