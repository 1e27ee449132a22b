# SPDX-License-Identifier: Apache-2.0
"""What columns change in addition to the scenarios' settings: inputs, and numbers of updates."""

from __future__ import annotations

from rdcnlab_papers.dogar import clos
from rdcnlab_papers.dogar.space import Inputs
from rdcnlab_papers.items import claims

#: The column whose inputs are changed together; docs/decisions/dogar.md says how two of them were calibrated.
CALIBRATED = "calibrated"
#: What was fixed before the calibration, whose tables `rdcnlab_papers.dogar.calibration` shows. RED from 100 % on drops
#: nothing early.
FIXED = Inputs(
    per_group=1,
    rtt_us=60,
    host_gbps=9.5,
    mark_percent=10,
    red_percent=(100, 100),
    change_ms=0,
    dark_ms=0,
    dark_groups=("fm",),
)
#: The same with cards that moderate interrupts; docs/decisions/cards.md has the rule. Its gap is that of `CALIBRATED`.
CARDS, GAP_MS = "cards", 300
#: The value of the column `CARDS` that says for how long the groups meet at most, in ms.
MEETING = "meeting_ms"
#: The column of figures 15 to 20 and table 3 that takes Sec. 4.1 and algorithm 2 literally.
LITERAL = "literal"
_SIMULATED = {LITERAL: clos.Inputs(pattern="down", readings=(3,), hold_sack=True)}
_INPUTS = {CALIBRATED: FIXED._replace(change_ms=0.45, dark_ms=GAP_MS)}
#: Numbers of updates in a run of the paper profile, by the interval between updates in s; other intervals have `_REST`.
_UPDATES, _REST = {1.0: 12, 3.0: 4}, 3
_UPDATES_OF_COLUMN, _REST_OF_COLUMN = {CALIBRATED: {1.0: 5}, CARDS: {1.0: 5}}, {CALIBRATED: 1, CARDS: 1}


def inputs(column: str) -> Inputs:
    """Return the inputs of figures 2 to 13 that the paper does not give, in a column."""
    if column == CARDS:
        values = next(each.values for each in claims.paper("dogar").columns if each.id == CARDS)
        return FIXED._replace(change_ms=values[MEETING], dark_ms=GAP_MS)
    return _INPUTS.get(column, Inputs())


def simulated(column: str) -> clos.Inputs:
    """Return the inputs of figures 15 to 20 and table 3 that the paper does not give, in a column."""
    return _SIMULATED.get(column, clos.Inputs())


def updates(column: str, interval_s: float = 1.0) -> int:
    """Return the number of updates in a run of the paper profile, with `interval_s` between two of them."""
    return _UPDATES_OF_COLUMN.get(column, _UPDATES).get(interval_s, _REST_OF_COLUMN.get(column, _REST))
