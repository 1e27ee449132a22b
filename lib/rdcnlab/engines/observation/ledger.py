# SPDX-License-Identifier: Apache-2.0
"""The ledger of a run: what became of each frame at each place of the network, and that nothing is missing.

At every place, what entered and what was made there is what was delivered, ended, was dropped, or waits there at the
end of the run. A balance that is not zero, and a drop that no field of the scenario explains, are faults of the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from rdcnlab.engines.schema import schema_of

#: Fates of frames in the order in which a place lists them.
FATES = ("entered", "made", "delivered", "ended", "dropped", "waiting")


@dataclass(frozen=True)
class Account:
    """What became of the frames at one place.

    Parameters
    ----------
    place : str
        A line, named as in the tables ``throughput`` and ``queues``, a host or a switch.
    part : str
        What of it: ``line``, ``queue``, ``host``, ``switch``, ``sockets`` or ``hand-over``.
    entered, made, delivered, ended, waiting : int
        Frames that came, that began here (copies, notifications), that went on, that are for this place itself, and
        that are still here.
    dropped : mapping of str to int
        Frames that were dropped, by the reason.
    unexplained : tuple of str
        Those reasons that no field of the scenario explains.
    """

    place: str
    part: str
    entered: int = 0
    made: int = 0
    delivered: int = 0
    ended: int = 0
    waiting: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    unexplained: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        """Frames that came or were made here and are nowhere; negative if more left than came.

        Examples
        --------
        >>> Account("green", "line", entered=10, delivered=7, dropped={"tail": 2}).missing
        1
        """
        there = self.delivered + self.ended + sum(self.dropped.values()) + self.waiting
        return self.entered + self.made - there

    @property
    def faults(self) -> list[str]:
        """What is wrong with this account, in words; empty if nothing is."""
        wrong = [
            f"{self.place} ({self.part}) dropped {_frames(self.dropped[reason])}: {reason}, which no field of the "
            "scenario explains"
            for reason in self.unexplained
            if self.dropped.get(reason)
        ]
        if self.missing > 0:
            wrong.append(f"{self.place} ({self.part}): {_frames(self.missing)} came and are nowhere")
        elif self.missing:
            wrong.append(f"{self.place} ({self.part}): {_frames(-self.missing)} left that never came")
        return wrong


def _frames(count: int) -> str:
    return f"{count} frame{'s' * (count != 1)}"


def faults(accounts: Iterable[Account]) -> list[str]:
    """Return what is wrong with some accounts, one sentence for each fault."""
    return [fault for account in accounts for fault in account.faults]


def table(accounts: Sequence[Account]) -> pa.Table:
    """Return the table ``ledger``: one row for each place, part, fate and reason that has frames."""
    rows: list[tuple[str, str, str, str | None, int]] = []
    for account in accounts:
        for fate in FATES:
            if fate == "dropped":
                drops = account.dropped.items()
                rows += [(account.place, account.part, fate, reason, count) for reason, count in drops if count]
            elif getattr(account, fate):
                rows.append((account.place, account.part, fate, None, getattr(account, fate)))
    schema = schema_of("ledger")
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.table([pa.array(column, kind.type) for column, kind in zip(columns, schema, strict=True)], schema=schema)
