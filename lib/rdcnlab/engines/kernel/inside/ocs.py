# SPDX-License-Identifier: Apache-2.0
"""Client of the kernel's optical circuit switch, generic netlink family ``ocs``.

It imports few modules of the standard library and no others: it runs in the guest, where every import costs context
switches of the host.

Units are those of the kernel: bit/s, ns, bytes. The size of a frame in a queue includes its Ethernet header and not its
FCS.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ocs_netlink import attr, decode, encode, name_at, walk
from ocs_steps import chunks, decoded

DARK, BYPASS = 0xFFFF, 0xFFFE
"""Targets of a slot that are no link: no circuit; straight to the egress port."""
NONE = 0xFFFFFFFF
"""``ecn``: never mark.  ``pool``: take part in none."""
NO_CLASS = 0xFFFF
"""``class`` of ``notify`` and ``echo``: none any more."""
WRITE, RAISE = 1, 2
"""``versions`` of a class at the first switch of a way, and at those behind it."""

_LINK_SET, _POOL_SET, _PORT_SET, _CLASS_SET, _RULE_ADD, _RULE_FLUSH, _FDB_SET, _START, _GET = range(1, 10)
_LINK_DEL, _CLASS_DEL, _RULE_DEL = range(10, 13)
_ACK_TLVS, _CAPPED = 0x200, 0x100
_BATCH = 64  # requests a send: their acknowledgements fit in the default receive buffer
_BATCH_BYTES = 100_000  # a send: they fit in the default send buffer


def slot(duration: int, target: int, **more: int) -> dict[str, int]:
    """Return one entry of a timetable.

    Parameters
    ----------
    duration : int
        Duration in ns; 0 for the only slot of a class that never changes.
    target : int
        Link id, ``DARK`` or ``BYPASS``.
    **more : int
        ``tdn``, ``voq_bytes``, ``voq_packets``, ``voq_ecn``.
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


def _index(name: str | None) -> int | None:
    """Return the number of a device; 0 if the name is empty."""
    return socket.if_nametoindex(name) if name else None if name is None else 0


def _port(index: int) -> str:
    """Return the name of a device; if it is gone, a text with its number; empty for number 0."""
    try:
        return socket.if_indextoname(index) if index else ""
    except OSError:
        return f"ifindex {index}, which is gone"


def _rule(class_id: int, prio: int, in_if: str | None, proto: int | None, src: str | None, dst: str | None,
          sport: int | None, dport: int | None) -> dict[str, object]:  # fmt: skip
    """Return the attributes of a rule."""
    rule: dict[str, object] = {"prio": prio, "class": class_id, "proto": proto, "sport": sport, "dport": dport}
    if in_if is not None:
        rule["in_ifindex"] = socket.if_nametoindex(in_if)
    for name, text in (("src", src), ("dst", dst)):
        if text is not None:
            rule[name], rule[f"{name}_len"] = _prefix(f"rule.{name}", text)
    return rule


class Ocs:
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

    def __init__(self, ifname: str) -> None:
        self.ifname = ifname
        self.ifindex = socket.if_nametoindex(ifname)
        self._sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)  # NETLINK_GENERIC
        for option in (10, 11):  # NETLINK_CAP_ACK, NETLINK_EXT_ACK
            self._sock.setsockopt(270, option, 1)
        self._sock.bind((0, 0))
        self._seq = 0
        self._depth = 0
        self._pending: dict[int, tuple[str, bytes]] = {}
        self._family = self._resolve()

    def __enter__(self) -> Ocs:
        self._depth += 1
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._depth -= 1
        if kind is not None:
            self._pending.clear()
        elif not self._depth:
            self.commit()

    def close(self) -> None:
        """Close the socket; the switch keeps its settings."""
        self._sock.close()

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
    ) -> None:
        """Create or change an internal link.

        Parameters
        ----------
        id : int
            0 to 1023.
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
        """
        out = _index(port)
        self._set(_LINK_SET, "link", id=id, rate=rate, delay=delay, overhead=overhead, queue=queue, port=out,
                  seed=seed, faults=faults, dev=_index(dev))  # fmt: skip
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
        index = socket.if_nametoindex(ifname)
        floods = None if flood is None else int(flood)
        ends = {"link": dict(link), "ingress": dict(ingress or {})}
        steps = {name: values.pop("steps", None) for name, values in ends.items()}
        for values in ends.values():
            if isinstance(dev := values.get("dev"), str):
                values["dev"] = _index(dev)
        self._set(_PORT_SET, "port", ifindex=index, notify=told, flood=floods, **ends)
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
            0 to 4095.
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
                 sport: int | None = None, dport: int | None = None) -> None:  # fmt: skip
        """Add a rule that assigns packets to a class; the lowest ``prio`` wins. ``src``, ``dst``: ``a.b.c.d[/len]``."""
        self._set(_RULE_ADD, "rule", **_rule(class_id, prio, in_if, proto, src, dst, sport, dport))

    def rule_del(self, class_id: int, *, prio: int = 0, in_if: str | None = None, proto: int | None = None,
                 src: str | None = None, dst: str | None = None,
                 sport: int | None = None, dport: int | None = None) -> None:  # fmt: skip
        """Remove the oldest rule that was added with these arguments."""
        self._request(_RULE_DEL, {"rule": _rule(class_id, prio, in_if, proto, src, dst, sport, dport)}, "rule_del")

    def rule_flush(self) -> None:
        """Remove all rules."""
        self._request(_RULE_FLUSH, {}, "rule_flush")

    def fdb_set(self, mac: str, ifname: str | None) -> None:
        """Assign a MAC address to a port; None removes the assignment."""
        port = None if ifname is None else socket.if_nametoindex(ifname)
        self._set(_FDB_SET, "fdb", mac=_mac("fdb.mac", mac), port=port)

    def start(self, epoch: int, seed: int = 0) -> None:
        """Start all timetables at ``epoch`` (ns of CLOCK_MONOTONIC), and seed all random number generators."""
        self._request(_START, {"epoch": epoch, "seed": seed}, "start")

    def stats(self) -> dict[str, dict[object, dict[str, object]]]:
        """Return settings and counters: ``links``, ``pools`` and ``classes`` by id, ``ports`` by name.

        A port has ``notify`` and, by prefix, ``prefixes`` if its host is notified.
        """
        out: dict[str, dict[object, dict[str, object]]] = {"links": {}, "pools": {}, "classes": {}, "ports": {}}
        plural = {"link": "links", "pool": "pools", "class": "classes", "port": "ports"}
        for name, value in self._dump():
            if name == "port" and "number" not in value:
                notify = value["notify"]
                prefix = f"{notify.pop('prefix')}/{notify.pop('prefix_len')}"
                port = out["ports"][_port(value["ifindex"])]
                port.setdefault("prefixes", {})[prefix] = notify  # type: ignore[index]
            elif name in plural and "slots" not in value:
                key = value.pop("id", None)
                out[plural[name]][_port(value["ifindex"]) if key is None else key] = value
        return out

    def timetables(self) -> dict[int, list[dict[str, int]]]:
        """Return the slots of each class by its id, in the form that `class_set` takes."""
        out: dict[int, list[dict[str, int]]] = {}
        for name, value in self._dump():
            if name == "class" and "slots" in value:
                out.setdefault(value["id"], []).extend(value["slots"])
        return out

    def steps(self) -> dict[tuple[object, str], list[int] | list[tuple[int, int]]]:
        """Return the steps of links: (duration, rate), or instants.

        The key of an internal link is its id and ``link``, that of a link of a port is the port's name and ``link`` or
        ``ingress``.
        """
        forms: dict[tuple[object, str], int] = {}
        data: dict[tuple[object, str], list[bytes]] = {}
        for name, value in self._dump(steps=True):
            if name not in ("link", "port"):
                continue
            owner = value["id"] if name == "link" else _port(value["ifindex"])
            ends = {"link": value} if name == "link" else {end: value.get(end, {}) for end in ("link", "ingress")}
            for end, link in ends.items():
                found = link.get("steps", {})
                if "form" in found:
                    forms[owner, end] = found["form"]
                if "data" in found:
                    data.setdefault((owner, end), []).append(found["data"])
        return {key: decoded(forms[key], parts) for key, parts in data.items()}

    def rules(self) -> list[dict[str, object]]:
        """Return the rules in the order in which the kernel tries them, each as arguments of `rule_add`."""
        out = []
        for rule in (value for name, value in self._dump() if name == "rule"):
            rule["class_id"] = rule.pop("class")
            if "in_ifindex" in rule:
                rule["in_if"] = _port(rule.pop("in_ifindex"))
            for name in ("src", "dst"):
                if name in rule:
                    rule[name] = f"{rule[name]}/{rule.pop(f'{name}_len')}"
            out.append(rule)
        return out

    def fdb(self) -> dict[str, str]:
        """Return the port of each MAC address."""
        return {value["mac"]: _port(value["port"]) for name, value in self._dump() if name == "fdb"}

    def _dump(self, **asked: object) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield name and values of each object of the switch."""
        self.commit()
        body = encode("message", {"ifindex": self.ifindex, **asked}, "get")
        message = self._message(self._family, _GET, 0x300, body)
        self._sock.send(message)
        for data in self._replies({self._seq: ("get", message)}):
            for name, value in decode("message", data[4:]).items():
                if isinstance(value, dict):
                    if name == "link" and "port" in value:
                        value["port"] = _port(value["port"])
                    yield name, value

    def commit(self) -> None:
        """Send the collected requests; raise the error of the first request that failed."""
        pending, self._pending = list(self._pending.items()), {}
        failed: Exception | None = None
        while pending:
            batch, size = dict(pending[:1]), 0
            for seq, (what, message) in pending[:_BATCH]:
                size += len(message)
                if size > _BATCH_BYTES:
                    break
                batch[seq] = (what, message)
            pending = pending[len(batch) :]
            self._sock.send(b"".join(message for _, message in batch.values()))
            try:
                list(self._replies(batch))
            except (OSError, ValueError) as error:
                failed = failed or error
        if failed:
            raise failed

    def _set(self, command: int, name: str, **values: object) -> None:
        self._request(command, {name: values}, f"{name}_set")

    def _request(self, command: int, values: Mapping[str, object], what: str) -> None:
        body = encode("message", {"ifindex": self.ifindex, **values}, self.ifname)
        message = self._message(self._family, command, 4, body)  # NLM_F_ACK
        self._pending[self._seq] = (what, message)
        if not self._depth:
            self.commit()

    def _message(self, family: int, command: int, flags: int, body: bytes) -> bytes:
        self._seq += 1
        body = struct.pack("=BBH", command, 1, 0) + body
        return struct.pack("=IHHII", 16 + len(body), family, 1 | flags, self._seq, 0) + body

    def _resolve(self) -> int:
        message = self._message(16, 3, 0, attr(2, b"ocs\0"))  # nlctrl, GETFAMILY, FAMILY_NAME
        self._sock.send(message)
        try:
            data = next(iter(self._replies({self._seq: ("family", message)})))
        except (OSError, ValueError):
            raise OSError(errno.EOPNOTSUPP, "this kernel has no ocs switch (CONFIG_OCS)") from None
        return next(int.from_bytes(p, "little") for _, n, p in walk(data, 4, len(data)) if n == 1)

    def _replies(self, waiting: dict[int, tuple[str, bytes]]) -> Iterator[bytes]:
        """Yield the replies that contain data; after all requests are answered, raise the first error, if any."""
        waiting, failed = dict(waiting), None
        while waiting:
            data, at = self._sock.recv(1 << 18), 0
            while at < len(data):
                size, kind, flags, seq, _ = struct.unpack_from("=IHHII", data, at)
                body = data[at + 16 : at + size]
                at += (size + 3) & ~3
                if seq not in waiting:
                    continue
                if kind in (2, 3):  # NLMSG_ERROR, NLMSG_DONE
                    error = self._error(waiting.pop(seq), kind, flags, body)
                    failed = failed or error
                else:
                    yield body
                    if not flags & 2:  # NLM_F_MULTI
                        del waiting[seq]
        if failed:
            raise failed

    def _error(self, entry: tuple[str, bytes], kind: int, flags: int, body: bytes) -> Exception | None:
        what, request = entry
        code = -int.from_bytes(body[:4], "little", signed=True)
        if code <= 0:
            return None
        start = 4 if kind == 3 else 20 if flags & _CAPPED else 4 + int.from_bytes(body[4:8], "little")
        info = {n: p for _, n, p in walk(body, start, len(body))} if flags & _ACK_TLVS else {}
        text = info[1].rstrip(b"\0").decode() if 1 in info else os.strerror(code)
        if 2 in info:
            where = name_at(request, int.from_bytes(info[2], "little"), "message", 20, len(request))
            text = f"{where}: {text}"
        if 4 in info:  # the policy that refused the value; 2, 3 are signed bounds, 4, 5 are unsigned bounds
            policy = {n: p for _, n, p in walk(info[4], 0, len(info[4]))}
            for low, high in ((2, 3), (4, 5)):
                if low in policy and high in policy:
                    bounds = [int.from_bytes(policy[n], "little", signed=low == 2) for n in (low, high)]
                    text += f" (allowed {bounds[0]}..{bounds[1]})"
        text = f"{self.ifname}: {what}: {text}"
        return ValueError(text) if code in (errno.EINVAL, errno.ERANGE, errno.ENOENT) else OSError(code, text)
