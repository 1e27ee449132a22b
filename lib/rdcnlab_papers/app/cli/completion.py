# SPDX-License-Identifier: Apache-2.0
"""What a shell offers after TAB: papers and their items."""

from __future__ import annotations

from rdcnlab.system import places
from rdcnlab_papers.items import claims


def items(incomplete: str) -> list[str]:
    """Return papers, and the items of the paper that has been typed."""
    names = sorted(path.stem for path in places.papers().glob("*.yaml"))
    name, slash, _ = incomplete.partition("/")
    if not slash:
        return [each for each in names if each.startswith(incomplete)]
    if name not in names:
        return []
    choices = [f"{name}/{item.id}" for item in claims.paper(name).items]
    return [each for each in choices if each.startswith(incomplete)]
