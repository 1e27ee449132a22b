# SPDX-License-Identifier: Apache-2.0
"""Common parts of figures 2 and 3: ECN thresholds times drop thresholds of a drop-tail queue. Sec. 6.3."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

import pandas as pd

from rdcnlab.fields.quantities import whole
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import GROUPS, Part
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.queue import ETHERNET_HEADER
from rdcnlab_papers.analysis import sharing
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.models import fluid
from rdcnlab_papers.vargas.space import (
    DROP_KB,
    ECN_KB,
    FLOWS,
    PROBABILITY,
    SENDERS,
    Length,
    Rate,
    Rtt,
    Setting,
    Thresholds,
    grid,
    length_in,
    scenario,
)

#: Thresholds in kB of the quick profile, and on ns-3, where a run takes long: every other row and two of three columns
#: of the paper's, 40 settings.
_QUICK = (25, 150, 400, 1000), (200, 600, 1000, 1800)
FEW = (25, 75, 150, 400, 800), (200, 400, 600, 700, 900, 1000, 1200, 1800)
#: Rate in Gb/s and RTT in ms by profile. The paper has 50 ms and does not say the rate: the lowest of Table 1, because
#: ns-3 needs more than an hour for a run at 12.5 Gb/s.
_CONDITIONS = {"quick": (5.0, 25), "paper": (5.0, 50)}
#: A share that differs by less along a row or a column, in percentage points, is the same.
LEAST = 2.0
#: Thresholds are close if the drop threshold is so many times the ECN threshold; the second number is outside.
CLOSE = (1, 2)
#: For experiments: a condition in which a run on ns-3 takes half a minute (up to five minutes with packets of 588 B).
AT_1_GBPS: dict[str, Any] = {"rate_gbps": 1.0, "rtt_ms": 25, "drop_kB": (600,), "seeds": 1}
ROWS, COLUMNS = "ECN threshold [kB]", "drop threshold [kB]"


class Grid(Item):
    """Settings of a drop-tail queue that DCTCP and CUBIC share.

    Parameters
    ----------
    ecn_kB, drop_kB : tuple of int or None
        Thresholds, kB of 1000 B. None: as the profile and the column have.
    rate_gbps : float or None
        Rate of the line. None: 5 Gb/s, the lowest of Table 1; the paper does not say.
    rtt_ms : int or None
        RTT of CUBIC. None: 25 ms in the quick profile, 50 ms in the paper's, as figures 2 and 3 have.
    length_s : int or None
        Length of a run in s. None: 3 s in the quick profile, `space.seconds` of the RTT in the paper's.
    mtu : int
        Size of packets in bytes. Segments of 536 B, the default of ns-3, are 588.
    flows : int
        Number of flows of each of the 20 senders.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}
    reads: ClassVar[tuple[str, ...]] = ("throughput", "queues")
    parts: ClassVar[dict[str, Part]] = {"throughput": GROUPS}

    ecn_kB: Thresholds | None = None  # noqa: N815  (unit)
    drop_kB: Thresholds | None = None  # noqa: N815
    rate_gbps: Rate | None = None
    rtt_ms: Rtt | None = None
    length_s: Length | None = None
    mtu: Annotated[int, whole(576, 9000)] = 1500
    flows: Annotated[int, whole(1, 50)] = FLOWS

    @property
    def count(self) -> int:
        """Number of runs of each setting: one on ns-3, where a run takes long, if `seeds` is not given."""
        return 1 if self.seeds is None and self.column == "ns3" else super().count

    @property
    def count_for_causes(self) -> int:
        """Number of runs of each setting of a cause's experiment: one on ns-3."""
        return 1 if self.column == "ns3" else super().count_for_causes

    @property
    def condition(self) -> tuple[float, int]:
        """Rate in Gb/s and RTT in ms."""
        rate, rtt = _CONDITIONS[self.profile]
        return self.rate_gbps or rate, self.rtt_ms or rtt

    @property
    def thresholds(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """ECN thresholds and drop thresholds in kB."""
        default = _QUICK if self.profile == "quick" else FEW if self.column == "ns3" else (ECN_KB, DROP_KB)
        return self.ecn_kB or default[0], self.drop_kB or default[1]

    @property
    def settings(self) -> list[Setting]:
        """All settings of the grid."""
        return grid(*self.condition, *self.thresholds)

    def points(self) -> list[Scenario]:
        """Return settings times seeds."""
        return self.scenarios_of(self.settings)

    def scenarios_of(self, settings: list[Setting]) -> list[Scenario]:
        """Return settings times seeds."""
        length_s = length_in(self.profile, self.length_s)
        options: dict[str, Any] = {"mtu": self.mtu, "length_s": length_s, "flows": self.flows}
        return [scenario(setting, seed=seed, **options) for setting in settings for seed in range(self.count)]

    def grid_outcomes(self, runs: Runs) -> pd.DataFrame:
        """Return the outcomes of the grid's runs, one row each; see `sharing.outcomes`."""
        rows = sharing.outcomes(runs)
        return rows[rows["min_kB"] == rows["max_kB"]]

    def table(self, runs: Runs, value: str) -> pd.DataFrame:
        """Return the mean of an outcome over seeds, by ECN threshold (rows) and drop threshold (columns)."""
        means = self.grid_outcomes(runs).groupby(["ecn_kB", "max_kB"])[value].mean().unstack()
        return means.rename_axis(index=ROWS, columns=COLUMNS).rename(index=int, columns=int)

    def balance(self, thresholds: Iterable[tuple[int, int]], *, least: fluid.Least = fluid.LINUX) -> pd.DataFrame:
        """Return the outcomes of ECN and drop thresholds (kB) by the fluid model, in the item's condition."""
        settings = [Setting(ecn, drop, drop, PROBABILITY, *self.condition) for ecn, drop in thresholds]
        segment = self.mtu + ETHERNET_HEADER
        return fluid.balance(pd.DataFrame(settings), flows=SENDERS * self.flows, segment=segment, least=least)

    def where(self) -> str:
        """Return the conditions in words."""
        rate, rtt = self.condition
        return f"{rate:g} Gb/s, RTT of CUBIC {rtt} ms{', ns-3' if self.column == 'ns3' else ''}"
