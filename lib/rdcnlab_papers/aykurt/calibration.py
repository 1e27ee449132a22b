# SPDX-License-Identifier: Apache-2.0
"""How the column ``cards`` gets base RTT and wait; ``python -m rdcnlab_papers.aykurt.calibration`` takes both.

docs/decisions/cards.md fixes statements, grid and rules. Missing runs are made, so the command goes on where it ended.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import pandas as pd

from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.aykurt.space import COMPARED, delays, grid
from rdcnlab_papers.items import calibrated, claims
from rdcnlab_papers.items.expectation import Expectation

COLUMN = "cards"
#: The values that are tried: RTTs of a full frame and its ACK without queues and waits, and waits of the cards, in us.
BASE_RTTS_US = (30, 42, 60, 85, 120, 170)
WAITS_US = (25, 50, 75, 100, 125, 150, 175, 200)
#: Seeds that no judged run has. Every point has the first; the points that fit best have all.
SEEDS = tuple(range(1000, 1005))
#: Number of points that get all seeds.
BEST = 8
#: Points whose loss is at most so much above the least one's are as good.
_ALIKE = 0.25
#: What hops take of a base RTT: a full frame three of 10 Gb/s, its ACK two. Four delays of cables are the rest.
_HOPS_NS = 21_840
#: The variant whose RTT is stated as a number. The RTTs of the others, which have two bounds, get its tolerance.
_BBR = "bbr"


class Card(NamedTuple):
    """A base RTT and a wait, in us."""

    base_rtt_us: int
    wait_us: int

    @property
    def changes(self) -> dict[str, str]:
        """What they change, for `Scenario.with_`."""
        cable = f"{(1000 * self.base_rtt_us - _HOPS_NS) // 4} ns"
        return {"offload.coalesce": f"{self.wait_us} us", **delays(cable)}


#: All points of the grid.
GRID = tuple(Card(*point) for point in product(BASE_RTTS_US, WAITS_US))


def scenarios(card: Card, seeds: Iterable[int]) -> list[Scenario]:
    """Return the flow of figure 3 that is not moved, of each variant and seed."""
    changes = {**calibrated.planned("aykurt", COLUMN), **card.changes}
    return grid(changes, cc=COMPARED, period_ms=None, flows=1, size="4 GB", seed=tuple(seeds))


def measured(runs: Runs) -> pd.DataFrame:
    """Return by variant the completion time ``fct_s`` and the average RTT ``srtt_us``, means of the seeds."""
    times = runs.flows["fct_s"].fillna(math.inf).groupby(runs.flows["cc"].astype(str)).mean()
    rtts = runs.tcp.groupby(["cc", "run"], observed=True)["srtt_us"].mean().groupby("cc", observed=True).mean()
    return pd.DataFrame({"fct_s": times, "srtt_us": rtts.rename(index=str)})


def distances(table: pd.DataFrame) -> dict[str, float]:
    """Return how far the worst variant is from each statement of figure 3, in tolerances of that statement."""
    stated = {claim.id: claim.expect for claim in claims.paper("aykurt").item("fig3").claims}
    tolerance = _tolerance(stated["rtt-bbr"])
    low, high = (1000 * bound for bound in stated["rtt-others"].bounds)
    others = table["srtt_us"].drop(_BBR)
    outside = [max(math.log(low / rtt), math.log(rtt / high), 0.0) for rtt in others]
    return {
        "fct": max(_from(time, stated["fct"]) for time in table["fct_s"]),
        "rtt-bbr": _from(float(table["srtt_us"][_BBR]), stated["rtt-bbr"]),
        "rtt-others": max(outside) / tolerance,
    }


def loss(of_statements: Mapping[str, float]) -> float:
    """Return the sum of the squares of the distances."""
    return sum(distance**2 for distance in of_statements.values())


def best(losses: Mapping[Card, float]) -> Card:
    """Return the point of the least loss; of points that are as good, that of the shortest wait and the longest RTT."""
    least = min(losses.values())
    alike = [card for card, value in losses.items() if value <= least + _ALIKE]
    return min(alike, key=lambda card: (card.wait_us, -card.base_rtt_us))


def _tolerance(stated: Expectation) -> float:
    if stated.near is None:
        raise ValueError("a statement without a number has no tolerance")
    return math.log(max(stated.bounds) / stated.near)


def _from(value: float, stated: Expectation) -> float:
    return abs(math.log(value / (stated.near or math.nan))) / _tolerance(stated)


def losses_at(cards: Sequence[Card], seeds: tuple[int, ...], **options: Any) -> dict[Card, float]:
    """Make the runs that are missing, print what each point gives, and return the losses; options as for `campaign`."""
    campaign([one for card in cards for one in scenarios(card, seeds)], **options)
    losses = {}
    for card in cards:
        table = measured(campaign(scenarios(card, seeds), **{**options, "progress": False}))
        of_statements = distances(table)
        losses[card] = loss(of_statements)
        numbers = ", ".join(f"{cc} {row.fct_s:.3f} s {row.srtt_us:.0f} us" for cc, row in table.iterrows())
        far = ", ".join(f"{name} {distance:.2f}" for name, distance in of_statements.items())
        words = f"base RTT {card.base_rtt_us} us, wait {card.wait_us} us, {len(seeds)} seeds"
        print(f"{words}: loss {losses[card]:.2f} ({far}); {numbers}", flush=True)
    return losses


def main() -> None:
    """Try the grid with one seed and the best points with all, and write the point that is taken."""
    first = losses_at(GRID, SEEDS[:1])
    chosen = sorted(GRID, key=lambda card: first[card])[:BEST]
    card = best(losses_at(chosen, SEEDS))
    path = calibrated.write("aykurt", COLUMN, card._asdict(), card.changes, "rdcnlab_papers.aykurt.calibration")
    print(f"base RTT {card.base_rtt_us} us, wait {card.wait_us} us: {path}")


if __name__ == "__main__":
    main()
