# SPDX-License-Identifier: Apache-2.0
"""Circuits that tests draw: those of racks in slots, any of which may be missing."""

from __future__ import annotations

import random


def drawn_slots(source: random.Random, racks: tuple[str, ...], count: int) -> list[dict[str, dict[str, str]]]:
    """Return for each of `count` slots where the two uplinks of each rack lead, by rack and uplink."""
    slots = []
    for _ in range(count):
        up: dict[str, dict[str, str]] = {rack: {} for rack in racks}
        for uplink in "12":
            order = sorted(racks, key=lambda _: source.random())
            for one, other in list(zip(order[::2], order[1::2], strict=True))[: source.randrange(1, 4)]:
                up[one][one + uplink], up[other][other + uplink] = other, one
        slots.append(up)
    return slots
