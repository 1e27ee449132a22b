# SPDX-License-Identifier: Apache-2.0
"""The prolongation in any network: the model that the paper leaves to future work. Sec. VII."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field
from scipy.stats import qmc

from rdcnlab.analysis import figures
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.fields.units import NS_PER_MS, NS_PER_US
from rdcnlab.models import general
from rdcnlab.papers.aykurt.space import Point, Variant, buffers
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

#: Scenarios of a profile. A power of 2 fills the space evenly.
_SCENARIOS = {"quick": 64, "paper": 1024}
#: Ranges, of which each doubling is as likely as any other.
_PERIOD_MS, _BUFFER_KB, _RTT_US = (1, 100), (250, 4000), (50, 800)
_FLOWS = (2, 4, 8, 16)
#: Scenarios without which there is no interval.
_LEAST = 60
#: Longest night, a share of the period; half of the scenarios have none.
_NIGHT = 0.2
#: Volume of each group, B.
_VOLUME_B = 512 * 2**20
#: So that no socket's memory is in the way of the largest buffer and RTT.
_MEMORY = {"transport.rmem": ["4096 B", "131072 B", "16 MB"], "transport.wmem": ["4096 B", "16384 B", "16 MB"]}


class General(Item):
    """One run each of scenarios all over the space of variants, days, nights, buffers, RTTs and numbers of flows.

    Parameters
    ----------
    cc : tuple of str
        Variants of both groups.
    count_of_scenarios : int or None
        How many; 64 in the quick profile, 1024 in that of the paper.
    """

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "general"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 1}

    cc: Annotated[tuple[Variant, ...], Field(min_length=1), Listed] = ("bbr", "cubic", "dctcp", "reno", "westwood")
    count_of_scenarios: Annotated[int, whole(4, 100_000)] | None = None

    def points(self) -> list[Scenario]:
        """Return the scenarios, the first so many of one sequence, times seeds."""
        count = self.count_of_scenarios or _SCENARIOS[self.profile]
        # Sobol's sequence as it is: no random numbers, the same with every version; its first point is a corner
        sequence = qmc.Sobol(8, scramble=False)
        sequence.fast_forward(1)
        drawn = sequence.random(count)
        return [self._scenario(row, seed) for row in drawn for seed in range(self.count)]

    def _scenario(self, drawn: np.ndarray[Any, Any], seed: int) -> Scenario:
        """Return the scenario at a point of the unit cube."""
        migrated, main = (self.cc[int(share * len(self.cc))] for share in drawn[:2])
        flows = _FLOWS[int(drawn[2] * len(_FLOWS))]
        period, buffer, rtt = (
            low * (high / low) ** share
            for (low, high), share in zip((_PERIOD_MS, _BUFFER_KB, _RTT_US), drawn[3:6], strict=True)
        )
        cycle = round(period * NS_PER_MS)
        night = round(cycle * _NIGHT * drawn[7]) if drawn[6] >= 0.5 else 0
        base = Point(period_ms=10, cc=migrated, main_cc=main, size="256 MB").scenario()
        groups = {flow["name"]: flow for flow in base.to_dict()["flows"]}
        path = [slot for link in ("blue", "green") for slot in ([cycle - night, link], [night, "dark"]) if slot[0]]
        each = flows // 2
        # one call for all that changes, as a thousand scenarios differ in it
        scenario = base.with_(
            flows=[
                {**flow, "name": f"{name}-{number}", "size": _VOLUME_B // each}
                | ({"path": path} if name == "migrated" else {})
                for number in range(1, each + 1)
                for name, flow in groups.items()
            ],
            **buffers(f"{round(buffer)} kB"),
            **_MEMORY,
            **_delays(base, rtt),
            **_threshold(base, rtt),
            **{"probes.tcp": "none", "probes.bin": "100 ms"},
        )
        return scenario.with_(seed=seed)

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return completion times."""
        return ("flows",)

    def plot(self, runs: Runs) -> Figure:
        """Draw what was predicted of scenarios held out over what was measured, and what is lost without each input."""
        rows = general.dataset(runs)
        name = str(general.found(rows).candidates.index[0])
        predicted = 2 ** general.held_out(rows, general.candidates()[name])
        lost = general.ablation(rows, name)[::-1]
        with figures.style():
            figure = figures.Drawing(figsize=(8.0, 3.4), layout="constrained")
            left, right = figure.subplots(1, 2, width_ratios=(3, 2))
            for variant in self.cc:
                of = (rows["migrated"] == variant).to_numpy()
                drawn = figures.look(variant)
                left.scatter(
                    rows[general.TARGET][of], predicted[of], s=10, alpha=0.6, color=drawn.color, marker=drawn.marker,
                    label=drawn.label, linewidths=0,
                )  # fmt: skip
            left.axline((1, 1), (2, 2), color=figures.REFERENCE, linewidth=0.8, linestyle=":", label="as measured")
            left.set(
                xscale="log", yscale="log", xlabel="migrated over main, measured", ylabel="predicted, held out",
            )  # fmt: skip
            right.barh([_WORDS.get(each, each) for each in lost.index], lost, color=figures.look("cubic").color)
            right.set(xlabel="loss of R2 without it", title=name)
            right.grid(axis="y", visible=False)
            figures.legend(figure, left)
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how well scenarios held out are predicted, and how often they are in their interval."""
        rows = general.dataset(runs)
        if len(rows) < _LEAST:
            return {}
        held = general.found(rows)
        found, inside, width = held.candidates, held.inside, held.width
        listed = ", ".join(f"{name}: {row['r2']:.3f} (off by {row['off']:.3g})" for name, row in found.iterrows())
        return {
            "r2": Measured.one(float(found["r2"].iloc[0]), listed),
            "inside": Measured.one(100 * inside, f"from end to begin a factor of {width:.3g}; {len(rows)} scenarios"),
        }

    def causes(self) -> list[Cause]:
        """Return how much of the variance is chance."""
        return [
            Cause(
                "r2",
                "It is not chance that is missed but something in the scenarios, which more of them or better inputs "
                "may show. Somebody who knew the mean of every scenario, over seeds, would have an R2 of",
                General(cc=self.cc, count_of_scenarios=64, seeds=3),
                lambda runs: Measured.one(general.ceiling(general.dataset(runs))),
            )
        ]

    def models(self, runs: Runs) -> list[Path]:
        """Return the best model, trained on all runs, and the record by which it is the best, to be shipped."""
        rows = general.dataset(runs)
        held = general.found(rows)
        return [general.trained(rows, str(held.candidates.index[0])), held.path]


_WORDS = {
    "migrated": "variant, migrated", "main": "variant, main", "day_ms": "day", "night_ms": "night",
    "buffer_kB": "buffer", "rtt_us": "RTT", "flows": "number of flows",
}  # fmt: skip


def _delays(scenario: Scenario, rtt_us: float) -> dict[str, int]:
    """Return the change that gives the migrated flow an RTT: all cables get longer, or shorter, alike."""
    hosts = {host.name: host.delay for host in scenario.network.hosts}
    more = rtt_us * NS_PER_US - general.rtt_ns(scenario)
    # a packet and its ACK cross two cables each
    return {f"network.hosts.{name}.delay": max(round(delay + more / 4), 0) for name, delay in hosts.items()}


def _threshold(scenario: Scenario, rtt_us: float) -> dict[str, int]:
    """Mark where a DCTCP flow runs, above a seventh of what is on the way (Alizadeh et al. 2010, sec. 3.4)."""
    if all(flow.cc != "dctcp" for flow in scenario.flows):
        return {}
    on_the_way = scenario.network.links[0].rate / 8 * rtt_us / 1e6
    return {"switch.ecn_threshold": max(round(on_the_way / 7), scenario.network.mtu)}
