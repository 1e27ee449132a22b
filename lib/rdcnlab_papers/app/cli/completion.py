# SPDX-License-Identifier: Apache-2.0
"""What a shell offers after TAB: papers and their items."""

from __future__ import annotations

from rdcnlab_papers.items import claims, folders


def items(incomplete: str) -> list[str]:
    """Return papers, and the items of the paper that has been typed."""
    names = folders.names()
    name, slash, _ = incomplete.partition("/")
    if not slash:
        return [each for each in names if each.startswith(incomplete)]
    if name not in names:
        return []
    choices = [f"{name}/{item.id}" for item in claims.paper(name).items]
    return [each for each in choices if each.startswith(incomplete)]
