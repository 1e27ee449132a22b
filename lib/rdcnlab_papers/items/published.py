# SPDX-License-Identifier: Apache-2.0
"""The verdicts from the shipped runs of the paper profile, which stand beside verdicts from fewer runs."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from rdcnlab.system import places


def shipped_verdicts(paper: str, item: str, column: str) -> dict[str, str]:
    """Return the verdict on each claim of an item in a column, by the claim's id; empty if none is known.

    Examples
    --------
    >>> shipped_verdicts("aykurt", "fig4", "6.12")["equal-at-50"]
    'reproduced'
    """
    prefix = f"{paper}/{item}/{column}/"
    known = _read(places.scores())
    return {claim.removeprefix(prefix): verdict for claim, (verdict, _) in known.items() if claim.startswith(prefix)}


@functools.lru_cache(maxsize=1)
def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data
