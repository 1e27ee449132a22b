# SPDX-License-Identifier: Apache-2.0
"""Sizes of socket buffers by name: the meaning of ``transport: {buffers: large}``."""

from __future__ import annotations

from typing import Any

from rdcnlab.fields.errors import InputError

#: Largest buffer of `LARGE` in bytes. A segment of 1500 B counts 2304 B there, so it holds 112 000 of them: more than
#: 10 Gb/s has under way with an RTT of 100 ms.
MOST = 256 * 2**20
#: Smallest, initial and largest size in bytes. The kernel lets a buffer grow while its flow needs it.
SIZES: dict[str, dict[str, list[int]]] = {
    "large": {"rmem": [4096, 131_072, MOST], "wmem": [4096, 16_384, MOST]},
}


def with_sizes(fields: dict[str, Any]) -> dict[str, Any]:
    """Replace the name of buffers in the fields of `Transport` by their sizes; sizes that are given stay.

    Raises
    ------
    InputError
        There is no such name.
    """
    if "buffers" not in fields:
        return fields
    name = fields["buffers"]
    if name not in SIZES:
        raise InputError.unknown("transport.buffers", name, [*SIZES], "size of buffers")
    given = {field: value for field, value in fields.items() if field != "buffers"}
    # text, because files must state units
    sizes = {field: tuple(f"{size} B" for size in values) for field, values in SIZES[name].items()}
    return {**sizes, **given}
