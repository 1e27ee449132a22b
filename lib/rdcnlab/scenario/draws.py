# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a scenario."""

from __future__ import annotations

import hashlib


def draw(seed: int, purpose: str, upper: int) -> int:
    """Return a whole number from 0 to `upper`, drawn for one purpose.

    This is a hash and not a generator. It is equal in every version of every library, and one draw does not depend on
    how many others come before it.
    """
    digest = hashlib.sha256(f"{seed} {purpose}".encode()).digest()
    return int.from_bytes(digest[:16], "big") % (upper + 1)
