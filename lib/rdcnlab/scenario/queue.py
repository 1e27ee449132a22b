# SPDX-License-Identifier: Apache-2.0
"""Limits of queues: bytes or packets."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, PlainSerializer, model_validator
from pydantic_core.core_schema import SerializationInfo, ValidationInfo

from rdcnlab.fields.quantities import ALLOWED, TEXT, Bytes32, Described, Frozen, whole
from rdcnlab.fields.units import SIZE

#: Bytes of a frame's Ethernet header, which queues count.
ETHERNET_HEADER = 14


#: Text of a limit that does not exist.
UNLIMITED = "unlimited"


class Queue(Frozen):
    """Limit of a queue, or a threshold of a queue; text form ``2 MB`` or ``1000 packets``.

    Parameters
    ----------
    bytes, packets : int or None
        Exactly one of the two must be given.
    """

    written_by_fields: ClassVar[bool] = True  # see `_write_buffer`

    bytes: Bytes32 | None = None
    packets: Annotated[int, whole(1, 2**31 - 1)] | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Queue:
        if (self.bytes is None) == (self.packets is None):
            raise ValueError("a limit either in bytes or in packets")
        return self

    def in_bytes(self, mtu: int) -> int:
        """Return the limit in bytes; a packet counts as an MTU-sized packet with its Ethernet header, as in queues."""
        return (self.packets or 0) * (mtu + ETHERNET_HEADER) if self.bytes is None else self.bytes


_PACKETS = re.compile(r"([0-9]{1,9})[ \t]*packets?")
_PACKETS_PATTERN = f"^{_PACKETS.pattern}$"


def _read_queue(value: Any) -> Any:
    if isinstance(value, str):
        match = _PACKETS.fullmatch(value.strip())
        if match is not None:
            return {"packets": int(match[1])}
        try:
            SIZE.parse(value)
        except ValueError as error:
            reason = str(error).partition("; ")[2]
            allowed = "a size such as '2 MB' or a count such as '1000 packets'"
            raise ValueError(f"{allowed}; {reason}" if reason else allowed) from None
        return {"bytes": value}
    return value


def _write_queue(queue: Queue | None, info: SerializationInfo) -> str | dict[str, int | None] | None:
    if queue is None:
        return None
    if (info.context or {}).get(TEXT):
        return f"{queue.packets} packets" if queue.bytes is None else SIZE.format(queue.bytes or 0)
    return {"bytes": queue.bytes, "packets": queue.packets}


QueueLimit = Annotated[Queue, BeforeValidator(_read_queue), PlainSerializer(_write_queue)]
MaybeQueueLimit = Annotated[Queue | None, BeforeValidator(_read_queue), PlainSerializer(_write_queue)]


def _read_limit(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip() == UNLIMITED else _read_queue(value)


def _write_limit(queue: Queue | None, info: SerializationInfo) -> str | dict[str, int | None] | None:
    return UNLIMITED if queue is None and (info.context or {}).get(TEXT) else _write_queue(queue, info)


#: A limit of a queue, or ``unlimited``, which is None in code.
PortLimit = Annotated[Queue | None, BeforeValidator(_read_limit), PlainSerializer(_write_limit)]


_MOST_BYTES = 2**32 - 1
_BUFFER = f"a size from 1 B to {_MOST_BYTES} B such as '2 MB', or a count such as '1000 packets'"


def _read_buffer(value: Any, info: ValidationInfo) -> Any:
    size = SIZE.parse(value) if isinstance(value, str) and _is_size(value) else value
    if type(size) in (int, float):
        if (info.context or {}).get(TEXT) and size is value and value != 0:
            raise ValueError("a size with its unit, such as '2 MB', or a count such as '1000 packets'")
        if type(size) is int and 1 <= size <= _MOST_BYTES:
            return Queue.model_construct(bytes=size, packets=None)
        raise ValueError(_BUFFER)
    return _read_queue(value)


def _is_size(text: str) -> bool:
    try:
        SIZE.parse(text)
    except ValueError:
        return False
    return True


def _write_buffer(queue: Queue | None, info: SerializationInfo) -> int | str | dict[str, int | None] | None:
    if queue is None or queue.bytes is None or (info.context or {}).get(TEXT):
        return _write_queue(queue, info)
    return queue.bytes


_BUFFER_TEXT = {"type": "string", "pattern": f"{SIZE.pattern}|{_PACKETS_PATTERN}", "description": _BUFFER}
#: Limit of a link's queue. Canonical data has a number of bytes as a plain integer: it was one before counts of packets
#: were possible, and hashes of scenarios depend on it.
Buffer = Annotated[
    Queue,
    BeforeValidator(_read_buffer),
    PlainSerializer(_write_buffer),
    Described({"anyOf": [_BUFFER_TEXT], ALLOWED: _BUFFER}),
]
MaybeBuffer = Annotated[
    Queue | None,
    BeforeValidator(_read_buffer),
    PlainSerializer(_write_buffer),
    Described({"anyOf": [_BUFFER_TEXT, {"type": "null"}], ALLOWED: _BUFFER}),
]
