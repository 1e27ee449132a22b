# SPDX-License-Identifier: Apache-2.0
"""Finding: where cards wait before they interrupt, BBR without an allowance for it stays slow after a meeting.

BBR's window is two bandwidth-delay products, with the shortest RTT that it has seen, and three bursts of segmentation
offload. What waits in a card makes the round trip longer, and the window does not know that. A handshake does not wait,
so the shortest RTT is that of empty wires. Where these products are less than a burst, three bursts are under way. They
are acknowledged after two waits, one at each end, so a flow that has lost its estimate of the bandwidth to another one
gets no more than three bursts in two waits. Linux has an allowance for aggregated ACKs since 5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import pandas as pd
from matplotlib.colors import Normalize
from pydantic import Field

from rdcnlab.analysis import binned, figures
from rdcnlab.analysis.intervals import over_seeds
from rdcnlab.fields.quantities import Listed
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import CARRIED, Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import competition, heat
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.aykurt import calibration
from rdcnlab_papers.aykurt.calibration import Card
from rdcnlab_papers.aykurt.space import NO_ACKS, Volume, grid
from rdcnlab_papers.items import calibrated, claims
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_OLD, _ALLOWED, _NEW = "as Linux 4.15", "as Linux 4.15, with BBR's allowance", "Linux 6.12"
#: Hosts whose cards merge frames and wait; all have segmentation offload.
_CARD = {name: value for name, value in calibrated.planned("aykurt", "cards").items() if name != "transport.like"}
#: What BBR is.
KERNELS: dict[str, dict[str, Any]] = {
    _OLD: {**_CARD, "transport.like": "4.15"},
    _ALLOWED: {**_CARD, "transport.like": "4.15", "transport.bbr_plain": 0},
    _NEW: _CARD,
}
#: The point at which an audit saw it, and the number of seeds that it has in the paper profile.
AUDITED, _MANY = Card(42, 150), 30
#: BBR adds three bursts to its window. A burst of segmentation offload (65535 B) is so many frames of 9000 B.
_BURSTS, _FRAMES = 3, 7
#: The waits of which the closed form is asked, at the audit's base RTT.
_ASKED_US = (100, 125, 150, 200)
#: Half of the rate, as figure 6(a) has it, with its tolerance, in Gb/s.
_HALF = (4.5, 5.5)
_PERIOD_MS = 50
Wait = Literal[25, 50, 75, 100, 125, 150, 175, 200]
Rtt = Literal[30, 42, 60, 85, 120, 170]


class Moderation(Item):
    """A migrated flow of CUBIC and a main flow of BBR, by base RTT and by how long cards wait.

    Parameters
    ----------
    rtts_us : tuple of int
        Base RTTs of a full frame and its ACK, in us.
    waits_us : tuple of int
        Longest waits of a card, in us, at both ends.
    size : str
        Volume of each flow.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "throughput", "tcp")
    # of the pairs nothing is traced; of a flow alone only the mean of its RTTs is read
    parts: ClassVar[dict[str, Part]] = {"throughput": CARRIED, "tcp": Part(("flow", "srtt_us"), sort=True)}
    undivided: ClassVar[str] = "most points have three seeds, and a flow alone has one"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}

    rtts_us: Annotated[tuple[Rtt, ...], Field(min_length=1), Listed] = (42, 60, 85, 120, 170)
    waits_us: Annotated[tuple[Wait, ...], Field(min_length=1), Listed] = (25, 75, 100, 125, 150, 200)
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return the pair for each kernel, base RTT, wait and seed; and a flow of BBR alone, as figure 3 has it."""
        pairs = [one for name in KERNELS for card in self._cards for one in self._pair(name, card)]
        return [*pairs, *(one for card in self._cards for one in self._alone(card))]

    @property
    def _cards(self) -> list[Card]:
        return [Card(rtt, wait) for rtt in self.rtts_us for wait in self.waits_us]

    def _seeds(self, card: Card) -> int:
        return _MANY if card == AUDITED and self.profile == "paper" and self.seeds is None else self.count

    def _pair(self, name: str, card: Card) -> list[Scenario]:
        changes = {**KERNELS[name], **card.changes, **NO_ACKS}
        axes = {"period_ms": _PERIOD_MS, "size": self.size, "seed": range(self._seeds(card))}
        return grid(changes, cc="cubic", main_cc="bbr", **axes)

    def _alone(self, card: Card) -> list[Scenario]:
        # the calibration of the column `cards` has the same runs
        return [one for one in calibration.scenarios(card, calibration.SEEDS[:1]) if one.flows[0].cc == "bbr"]

    def plot(self, runs: Runs) -> Figure:
        """Draw BBR's rate after CUBIC's end over base RTT and wait, for each kernel; what fits figure 3 is framed."""
        rates, fits = self.rates(runs), self.fits(runs)
        with figures.style():
            figure = figures.drawing(10.8, 3.3)
            for ax, name in zip(figure.subplots(1, len(KERNELS)), KERNELS, strict=True):
                means = rates[rates["kernel"] == name].groupby(["base_rtt_us", "wait_us"])["after_gbps"].mean()
                table = means.unstack("wait_us").rename_axis(index="base RTT [us]", columns="wait of a card [us]")
                heat.draw(
                    ax, table, Normalize(0, 10.1), title=name, label="BBR alone, after CUBIC [Gb/s]",
                    text=lambda value: f"{value:.1f}", map_="viridis",
                )  # fmt: skip
                for rtt, wait in _index(fits[fits["fits"]]):
                    heat.frame(ax, table, rtt, wait)
            figures.note(
                figure, "Framed: a flow of BBR alone has the completion time and the RTT of the paper's figure 3."
            )
        return figure

    def rates(self, runs: Runs) -> pd.DataFrame:
        """Return one row for each run of the pair.

        Returns
        -------
        DataFrame
            ``kernel``, a key of `KERNELS`; ``base_rtt_us``; ``wait_us``; ``seed``; the rate of BBR in Gb/s before it
            first meets CUBIC (``before_gbps``), at the end of slots on its own link (``apart_gbps``), and once CUBIC
            has ended (``after_gbps``).
        """
        rows = []
        for name in KERNELS:
            for card in self._cards:
                chosen = self.only(runs, self._pair(name, card))
                samples = competition.phases(chosen)
                bbr = samples[(samples["flow"] == "main") & samples["main_runs"]]
                apart = bbr[bbr["migrated_runs"] & (bbr["phase"] == "apart") & bbr["late"]]
                columns = {
                    "before_gbps": _before(chosen),
                    "apart_gbps": apart.groupby("run")["gbps"].mean(),
                    "after_gbps": bbr[~bbr["migrated_runs"]].groupby("run")["gbps"].mean(),
                }
                table = pd.DataFrame(columns, index=range(len(chosen)))
                seeds = [run.scenario.seed for run in chosen]
                rows.append(table.assign(kernel=name, **card._asdict(), seed=seeds))
        return pd.concat(rows, ignore_index=True)

    def fits(self, runs: Runs) -> pd.DataFrame:
        """Return by base RTT and wait what a flow of BBR alone does: ``fct_s``, ``srtt_us``, and whether both fit."""
        stated = {claim.id: claim.expect.bounds for claim in claims.paper("aykurt").item("fig3").claims}
        rows = []
        for card in self._cards:
            table = calibration.measured(self.only(runs, self._alone(card))).loc["bbr"]
            inside = [
                low <= table[column] <= high
                for column, (low, high) in (("fct_s", stated["fct"]), ("srtt_us", stated["rtt-bbr"]))
            ]
            rows.append({**card._asdict(), **table, "fits": all(inside)})
        return pd.DataFrame(rows)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the rates at the audit's point, the closed form at its RTT, and the points that fit both figures."""
        rates, fits = self.rates(runs), self.fits(runs)
        measured = {}
        at_rtt = rates[rates["base_rtt_us"] == AUDITED.base_rtt_us]
        here = at_rtt[at_rtt["wait_us"] == AUDITED.wait_us]
        if len(here):
            for claim, name, column in (
                ("before", _OLD, "before_gbps"),
                ("after", _OLD, "after_gbps"),
                ("after-allowed", _ALLOWED, "after_gbps"),
                ("after-new", _NEW, "after_gbps"),
            ):
                measured[claim] = Measured.one(over_seeds(here.loc[here["kernel"] == name, column]))
        old = at_rtt[(at_rtt["kernel"] == _OLD) & at_rtt["wait_us"].isin(_ASKED_US)]
        if len(old):
            ratio = old.assign(ratio=old["after_gbps"] / [three_bursts(wait) for wait in old["wait_us"]])
            measured["closed-form"] = Measured.by_case(means(ratio, "wait_us", "ratio"), "{:g} us")
        half = _half(rates)
        good = _index(fits[fits["fits"]])
        words = f"half the rate: {_places(half)}; figure 3: {_places(good)}"
        return {**measured, "with-figure-3": Measured.one(float(len(half.intersection(good))), words)}

    def causes(self) -> list[Cause]:
        """Return looks at the range of seeds, and at the RTT of a flow alone where BBR has half the rate."""
        return [Cause("closed-form", self, self._ranges), Cause("with-figure-3", self, self._rtts_alone)]

    def _ranges(self, runs: Runs) -> Measured:
        rates = self.rates(runs)
        old = rates[(rates["kernel"] == _OLD) & (rates["base_rtt_us"] == AUDITED.base_rtt_us)]
        cases: dict[str, float] = {}
        for wait, rows in old[old["wait_us"].isin(_ASKED_US)].groupby("wait_us")["after_gbps"]:
            cases |= {f"{wait:g} us, lowest": float(rows.min()), f"{wait:g} us, highest": float(rows.max())}
        return Measured(cases, unit="Gb/s")

    def _rtts_alone(self, runs: Runs) -> Measured:
        rtts = self.fits(runs).set_index(["base_rtt_us", "wait_us"])["srtt_us"]
        cases = {f"{rtt:g} us and {wait:g} us": float(rtts[rtt, wait]) for rtt, wait in _half(self.rates(runs))}
        return Measured(cases, unit="us")


def three_bursts(wait_us: float) -> float:
    """Return the rate in Gb/s, on the wire, of three bursts in two waits."""
    network = grid(cc="bbr", flows=1)[0].network
    bits = 8 * _BURSTS * _FRAMES * (network.mtu + network.overhead)
    return bits / (2 * wait_us * 1e3)


def _before(runs: Runs) -> pd.Series[float]:
    """Return by run the main flow's rate in Gb/s from 5 ms after its start until the ms before the first move."""
    rates = binned.rates(runs.throughput, competition.counted_bin(runs), NS_PER_MS)
    chosen = (rates["flow"] == "main") & rates["t_s"].between(0.005, (_PERIOD_MS - 1.5) / 1e3)
    mean: pd.Series[float] = rates[chosen].groupby("run")["rate_bps"].mean() / 1e9
    return mean


def _half(rates: pd.DataFrame) -> pd.MultiIndex:
    """Return base RTTs and waits at which BBR has half the rate after CUBIC's end, as Linux 4.15."""
    after = rates[rates["kernel"] == _OLD].groupby(["base_rtt_us", "wait_us"])["after_gbps"].mean()
    index = after[after.between(*_HALF)].index
    assert isinstance(index, pd.MultiIndex)
    return index


def _index(rows: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(rows[["base_rtt_us", "wait_us"]])


def _places(index: pd.Index[Any]) -> str:
    return ", ".join(f"{rtt:g} us and {wait:g} us" for rtt, wait in index) or "nowhere"
