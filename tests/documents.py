# SPDX-License-Identifier: Apache-2.0
"""What documents state, for tests that compute it."""

from __future__ import annotations

import re

from rdcnlab.system import places


def stated_bounds() -> dict[tuple[str, ...], str]:
    """Return the rows of bounds in the document on architectures: bound, measured, ratio.

    The key of a row has the words in its code: the fabric, and what its settings say.
    """
    text = (places.tree() / "docs" / "architectures.md").read_text()
    _, _, table = text.partition("| bound | measured |")
    rows = {}
    for line in table.partition("\n\n")[0].splitlines()[2:]:
        network, traffic, *numbers = line.strip("| ").split(" | ")
        words = re.findall(r"`([^`]*)`", f"{network} {traffic}")
        rows[tuple(word.rpartition(": ")[2] for word in words)] = " | ".join(numbers)
    return rows
