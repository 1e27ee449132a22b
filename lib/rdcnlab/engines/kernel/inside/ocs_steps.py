# SPDX-License-Identifier: Apache-2.0
"""Rates of a link over time, in the form that the kernel's ``ocs`` device takes and gives."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence

_CHUNK = 48_000  # bytes of steps a request, a multiple of 16; an attribute has less than 64 KiB
_REPEAT, _HOLD, _TRACE = range(3)

NO_STEPS: Mapping[str, object] = {"count": 0}
"""``steps`` of a link: none any more; ``rate`` is in force again."""


def rates(steps: Iterable[tuple[int, int]], *, hold: bool = False) -> dict[str, object]:
    """Return the ``steps`` of a link whose rate changes.

    Parameters
    ----------
    steps : iterable of (int, int)
        Duration in ns, at least 1, and rate in bit/s; in a step of rate 0 the link is down. At most 1 048 576 steps and
        1e15 ns in all. The first step begins at the epoch of `Ocs.start`, and is in force before it.
    hold : bool
        Whether the last rate holds for ever; otherwise the steps repeat.
    """
    flat = [number for step in steps for number in step]
    data = struct.pack(f"={len(flat)}Q", *flat)
    return {"form": _HOLD if hold else _REPEAT, "count": len(flat) // 2, "data": data}


def trace(instants: Iterable[int], *, size: int = 1504) -> dict[str, object]:
    """Return the ``steps`` of a link that sends at given instants, as mahimahi's ``mm-link``.

    Parameters
    ----------
    instants : iterable of int
        ns after the epoch of `Ocs.start`, in order, at most 1 048 576; they repeat after the last one. Nothing is sent
        before the epoch.
    size : int
        Bytes that may leave at each instant. A frame counts with its IP packet and 4 bytes.
    """
    flat = list(instants)
    return {"form": _TRACE, "count": len(flat), "bytes": size, "data": struct.pack(f"={len(flat)}Q", *flat)}


def chunks(steps: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield the steps of a link in parts that fit in a request."""
    data, size = steps.get("data", b""), 8 if steps.get("form") == _TRACE else 16
    assert isinstance(data, bytes)
    for at in range(0, len(data) or 1, _CHUNK):
        begin = {"first": at // size} if at else steps
        yield {**begin, "data": data[at : at + _CHUNK] or None}


def decoded(form: int, parts: Sequence[bytes]) -> list[int] | list[tuple[int, int]]:
    """Return the steps that parts of a dump contain: (duration, rate), or the instants of a trace."""
    whole = b"".join(parts)
    numbers = struct.unpack(f"={len(whole) // 8}Q", whole)
    return list(numbers) if form == _TRACE else list(zip(numbers[::2], numbers[1::2], strict=True))
