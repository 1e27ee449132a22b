# SPDX-License-Identifier: Apache-2.0
"""The connection to the kernel's optical circuit switch: requests, their errors, and what the kernel returns.

Like `ocs`, it imports few modules, because every import in the guest costs context switches of the host.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ocs_netlink import attr, decode, encode, name_at, walk

if TYPE_CHECKING:
    from typing import Self

_GET = 9
_ACK_TLVS, _CAPPED = 0x200, 0x100
_BATCH = 64  # requests a send: their acknowledgements fit in the default receive buffer
_BATCH_BYTES = 100_000  # a send: they fit in the default send buffer


def port_name(index: int) -> str:
    """Return the name of a device; if it is gone, a text with its number; empty for number 0."""
    try:
        return socket.if_indextoname(index) if index else ""
    except OSError:
        return f"ifindex {index}, which is gone"


class Connection:
    """A socket of generic netlink to one switch; `ocs.Ocs` says when requests are sent, and which errors there are.

    Without the name of a switch, it is for the cards of hosts in the namespace of the caller; see `ocs_cards`.
    """

    def __init__(self, ifname: str = "") -> None:
        self.ifname = ifname or "card"
        self.ifindex = socket.if_nametoindex(ifname) if ifname else None
        self._sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)  # NETLINK_GENERIC
        for option in (10, 11):  # NETLINK_CAP_ACK, NETLINK_EXT_ACK
            self._sock.setsockopt(270, option, 1)
        self._sock.bind((0, 0))
        self._seq = 0
        self._depth = 0
        self._pending: dict[int, tuple[str, bytes]] = {}
        # of devices, by their names; during a `with` block only, because a device may be made anew
        self._numbers: dict[str, int] = {}
        self._family = self._resolve()

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._depth -= 1
        self._numbers.clear()
        if kind is not None:
            self._pending.clear()
        elif not self._depth:
            self.commit()

    def close(self) -> None:
        """Close the socket; the switch keeps its settings."""
        self._sock.close()

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
                        value["port"] = port_name(value["port"])
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

    def _number(self, name: str | None) -> int | None:
        """Return the number of a device; 0 if the name is empty."""
        if not name:
            return None if name is None else 0
        if not self._depth:
            return socket.if_nametoindex(name)
        if name not in self._numbers:
            self._numbers[name] = socket.if_nametoindex(name)
        return self._numbers[name]

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
