# SPDX-License-Identifier: Apache-2.0
"""Encode and decode the attributes of the generic netlink family ``ocs``.

The numbers are those of ``include/uapi/linux/ocs.h`` in the patch series. `SPEC` is the only place with these numbers,
for requests, replies and error messages.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

_QUEUE_STATS = ("bytes packets max_bytes max_packets enqueued enqueued_bytes "
                "drops_tail drops_pool drops_red marks")  # fmt: skip
_REASONS = ("tail pool red dark port mtu wire down loss qdisc forged hops "
            "device cut memory stopped nowhere removed")  # fmt: skip
_PLACES = "entered made delivered ended queued flying"
Spec = Mapping[str, tuple[int, str]]
SPEC: Mapping[str, Spec] = {
    "message": {"ifindex": (1, "u32"), "link": (2, "link"), "pool": (3, "pool"), "port": (4, "port"),
                "class": (5, "class"), "rule": (6, "rule"), "fdb": (7, "fdb"), "epoch": (8, "uint"),
                "seed": (9, "uint"), "steps": (10, "flag"), "accounts": (11, "flag"),
                "account": (12, "account"), "card": (13, "card")},
    "link": {"id": (1, "u16"), "rate": (2, "uint"), "overhead": (3, "u32"), "delay": (4, "uint"),
             "queue": (5, "queue"), "tx_packets": (6, "uint"), "tx_bytes": (7, "uint"), "port": (8, "u32"),
             "drops": (9, "uint"), "steps": (10, "steps"), "seed": (11, "uint"), "faults": (12, "faults"),
             "dev": (13, "u32"), "flood": (14, "u8"), "account": (15, "account")},
    "card": {"ifindex": (1, "u32"), "rate": (2, "uint"), "overhead": (3, "u32"), "buffer": (4, "u32"),
             "packets": (5, "uint"), "bytes": (6, "uint"), "tx_packets": (7, "uint"), "tx_bytes": (8, "uint"),
             "drops": (9, "uint")},
    "steps": {"form": (1, "u8"), "count": (2, "u32"), "first": (3, "u32"), "bytes": (4, "u32"), "data": (5, "binary")},
    "faults": {"loss": (1, "u32"), "good_bad": (2, "u32"), "bad_good": (3, "u32"), "loss_good": (4, "u32"),
               "loss_bad": (5, "u32"), "corrupt": (6, "u32"), "duplicate": (7, "u32"), "jitter": (8, "uint"),
               "reorder": (9, "u8"), "lost": (10, "uint"), "corrupted": (11, "uint"),
               "duplicated": (12, "uint"), "reordered": (13, "uint")},
    "queue": {"limit_bytes": (1, "u32"), "limit_packets": (2, "u32"), "ecn": (3, "u32"),
              "red_min": (4, "u32"), "red_max": (5, "u32"), "red_prob": (6, "u32"), "pool": (7, "u32"),
              **{name: (8 + i, "uint") for i, name in enumerate(_QUEUE_STATS.split())},
              "mark_min": (18, "u32"), "mark_max": (19, "u32"), "mark_prob": (20, "u32"),
              "drops_qdisc": (21, "uint")},
    "pool": {"id": (1, "u32"), "bytes": (2, "u32"), "used": (3, "uint"), "max_used": (4, "uint")},
    "port": {"ifindex": (1, "u32"), "link": (2, "link"), "number": (3, "u16"), "rx_packets": (4, "uint"),
             "rx_bytes": (5, "uint"), "drops": (6, "uint"), "tx_drops": (7, "uint"),
             "ingress": (8, "link"), "flood": (9, "u8"), "notify": (10, "notify"), "hops_max": (11, "u32"),
             "trail": (12, "uint"), "hops": (13, "u32"), "account": (14, "account")},
    "notify": {"class": (1, "u16"), "dst": (2, "raw"), "mac": (3, "raw"), "src": (4, "raw"),
               "delay": (5, "uint"), "inband": (6, "u8"), "prefix": (7, "raw"), "prefix_len": (8, "u8"),
               "tdn": (9, "u8"), "sent": (10, "uint"), "drops": (11, "uint")},
    "class": {"id": (1, "u16"), "dark": (2, "u8"), "phase": (3, "sint"), "voq": (4, "queue"),
              "slots": (5, "slots"), "slot_count": (7, "u16"), "slot_now": (8, "u16"),
              "target": (9, "u16"), "packets": (10, "uint"), "bytes": (11, "uint"),
              "drops_dark": (12, "uint"), "echo": (13, "echo"), "versions": (14, "u8"),
              "version": (15, "u8"), "versioned": (16, "uint"), "account": (17, "account")},
    "echo": {"class": (1, "u16"), "tdn": (2, "u8"), "in_advance": (3, "uint"), "marks": (4, "uint")},
    "slots": {"slot": (6, "slot")},
    "slot": {"duration": (1, "uint"), "target": (2, "u16"), "tdn": (3, "u8"), "voq_bytes": (4, "u32"),
             "voq_packets": (5, "u32"), "voq_ecn": (6, "u32"), "rank": (7, "u8")},
    "rule": {"prio": (1, "u32"), "class": (2, "u16"), "in_ifindex": (3, "u32"), "proto": (4, "u8"),
             "src": (5, "raw"), "src_len": (6, "u8"), "dst": (7, "raw"), "dst_len": (8, "u8"),
             "sport": (9, "be16"), "dport": (10, "be16"), "any": (11, "flag"),
             "station": (12, "raw"), "station_len": (13, "u8")},
    "fdb": {"mac": (1, "raw"), "port": (2, "u32"), "addr": (3, "raw")},
    "account": {**{name: (1 + i, "count") for i, name in enumerate(_PLACES.split())}, "drops": (7, "reasons")},
    "reasons": {name: (1 + i, "count") for i, name in enumerate(_REASONS.split())},
}  # fmt: skip
"""Attribute sets: name -> (number, type); a type that is no scalar names a set."""

_SCALAR = {"u8": "B", "u16": "=H", "u32": "=I", "be16": ">H"}
_INTEGER = {*_SCALAR, "uint", "sint"}
_NESTED = 0x8000


def attr(number: int, payload: bytes) -> bytes:
    """Return one attribute, padded to a multiple of four bytes."""
    return struct.pack("=HH", 4 + len(payload), number) + payload + bytes(-len(payload) % 4)


def _scalar(where: str, kind: str, value: int) -> bytes:
    if kind == "uint":
        code = "=I" if 0 <= value < 1 << 32 else "=Q"
    elif kind == "sint":
        code = "=i" if -1 << 31 <= value < 1 << 31 else "=q"
    else:
        code = _SCALAR[kind]
    try:
        return struct.pack(code, value)
    except struct.error as why:
        raise ValueError(f"{where}: {value!r} is no {kind} ({why})") from None


def encode(spec: str, values: Mapping[str, object], path: str) -> bytes:
    """Return the attributes of a set as bytes.

    Parameters
    ----------
    spec : str
        Name of the set, a key of `SPEC`.
    values : mapping
        Values by name: integers, mappings for nested sets, a list for the slots, bytes for addresses. An attribute with
        the value None is left out.
    path : str
        Text that error messages put before the name.

    Raises
    ------
    ValueError
        A name is unknown (the message lists the allowed names), or a value does not fit its type.
    """
    out = b""
    for name, value in values.items():
        if value is None:
            continue
        if name not in SPEC[spec]:
            raise ValueError(f"{path}.{name}: unknown; allowed are {', '.join(SPEC[spec])}")
        number, kind = SPEC[spec][name]
        where = f"{path}.{name}"
        if isinstance(value, Mapping):
            out += attr(number | _NESTED, encode(kind, value, where))
        elif isinstance(value, list):
            inner = b"".join(
                attr(SPEC["slots"]["slot"][0] | _NESTED, encode("slot", v, f"{where}[{i}]"))
                for i, v in enumerate(value)
            )
            if len(inner) > 0xFFFB:
                raise ValueError(f"{where}: {len(value)} entries do not fit in one attribute")
            out += attr(number | _NESTED, inner)
        elif isinstance(value, bytes) and kind in ("raw", "binary"):
            out += attr(number, value)
        elif kind == "flag" and value is True:
            out += attr(number, b"")
        elif isinstance(value, int) and kind in _INTEGER:
            out += attr(number, _scalar(where, kind, value))
        else:
            raise ValueError(f"{where}: {value!r} is no {kind}")
    return out


def walk(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield (offset, number, payload) of the attributes in ``data[start:end]``."""
    while start + 4 <= end:
        size, number = struct.unpack_from("=HH", data, start)
        if size < 4:
            return
        yield start, number & 0x3FFF, data[start + 4 : start + size]
        start += (size + 3) & ~3


def decode(spec: str, data: bytes) -> dict[str, object]:
    """Return the attributes of a set by name.

    Nested sets become dictionaries, the slots of a timetable become a list of dictionaries, addresses become text,
    numbers of frames become pairs of frames and bytes.
    """
    names = {number: (name, kind) for name, (number, kind) in SPEC[spec].items()}
    out: dict[str, object] = {}
    for _, number, payload in walk(data, 0, len(data)):
        name, kind = names[number]
        if kind == "slots":
            out[name] = [decode("slot", slot) for _, _, slot in walk(payload, 0, len(payload))]
        elif kind in SPEC:
            out[name] = decode(kind, payload)
        elif kind == "binary":
            out[name] = payload
        elif kind == "count":
            out[name] = struct.unpack("=QQ", payload)
        elif kind == "flag":
            out[name] = True
        elif kind == "raw":
            out[name] = payload.hex(":") if len(payload) == 6 else ".".join(map(str, payload))
        else:
            order = "big" if kind == "be16" else "little"
            out[name] = int.from_bytes(payload, order, signed=kind == "sint")  # type: ignore[arg-type]
    return out


def name_at(data: bytes, offset: int, spec: str, start: int, end: int) -> str:
    """Return the dotted name of the attribute that begins at ``offset`` of a request."""
    names = {number: (name, kind) for name, (number, kind) in SPEC[spec].items()}
    for at, number, payload in walk(data, start, end):
        name, kind = names.get(number, (str(number), ""))
        if at == offset:
            return name
        if at < offset < at + 4 + len(payload) and kind in SPEC:
            return f"{name}.{name_at(data, offset, kind, at + 4, at + 4 + len(payload))}"
    return "?"
