# SPDX-License-Identifier: Apache-2.0
"""Loads mean what they say: they are made of what is drawn, and what is offered stands beside what is stated."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import yaml

from rdcnlab.runs.shipped import Shipped
from rdcnlab.scenario import Scenario, distributions
from rdcnlab.scenario.cautions import cautions
from rdcnlab.scenario.draws import draw
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab.scenario.workloads import Arrivals, Sizes
from rdcnlab.scenario.workloads.sizes import FINE, WHOLE

FABRIC = {"fabric": "leaf-spine", "leaves": 4, "spines": 4, "hosts": 4}
PAYLOAD = 1500 - TCP_HEADERS
DRAWS = 20_000
#: Points whose straight lines are coarse: of one and two bytes, of less than a packet, and a long tail.
OWN = {
    "one size": [["3 kB", "100 %"]],
    "two bytes": [["1 B", "50 %"], ["2 B", "100 %"]],
    "within a packet": [["1 kB", "50 %"], ["2 kB", "100 %"]],
    "long tail": [["1 kB", "99 %"], ["100 MB", "100 %"]],
}
CUTS = (None, 1, 1500, 100_000, 3_000_000, 10**9)


def sizes_named(name: str) -> Sizes:
    data = {"network": FABRIC, "limit": "1 ms", "workloads": [workload(sizes=OWN.get(name, name), arrivals="once")]}
    return Scenario.from_dict(data, text=True).workloads[0].sizes


def workload(**fields: Any) -> dict[str, Any]:
    return {"name": "w", "sizes": "web-search", "arrivals": {"load": "30 %"}, **fields}


def scenario(*, network: Any = FABRIC, limit: str = "1 s", seed: int = 1, **fields: Any) -> Scenario:
    data = {"network": network, "workloads": [workload(**fields)], "limit": limit, "seed": seed}
    return Scenario.from_dict(data, text=True)


@pytest.mark.parametrize("name", [*distributions(), *OWN])
@pytest.mark.parametrize("cut", CUTS)
def test_20000_draws_of_every_distribution_and_cut_have_the_mean_that_a_load_uses(name: str, cut: int | None) -> None:
    """One draw in each of 20 000 equal parts of the distribution, so that 2 % leaves nothing to chance."""
    sizes = sizes_named(name)
    part = FINE // DRAWS
    drawn = [sizes.at(part * number + draw(1, f"{name} {number}", part - 1)) for number in range(DRAWS)]
    drawn = drawn if cut is None else [min(size, cut) for size in drawn]
    assert sum(drawn) / DRAWS == pytest.approx(sizes.drawn_mean(cut), rel=0.02)
    frames = sum(-(-size // PAYLOAD) for size in drawn) / DRAWS
    assert frames == pytest.approx(sizes.drawn_frames(PAYLOAD, cut), rel=0.02)


@pytest.mark.parametrize("name", list(distributions()))
@pytest.mark.parametrize("cut", ["1500 B", "100 kB", "3 MB"])
def test_20000_flows_that_a_seed_draws_have_the_mean_that_a_load_uses(name: str, cut: str) -> None:
    found = scenario(sizes=name, at_most=cut, arrivals={"interval": "50 us"}, count=DRAWS)
    (one,) = found.workloads
    sizes = [flow.size for flow in found.flows]
    assert len(sizes) == DRAWS
    mean = sum(sizes) / DRAWS
    # few flows carry most bytes, so the mean of 20 000 of hadoop has a standard error of 2.6 %
    error = math.sqrt((sum(size**2 for size in sizes) / DRAWS / mean**2 - 1) / DRAWS)
    assert error < 0.03
    assert mean == pytest.approx(one.sizes.drawn_mean(one.at_most), rel=max(0.02, 3 * error))


@pytest.mark.parametrize("cut", [1, 2, 3, 7, None])
@pytest.mark.parametrize("payload", [1, 2, 3, 5])
def test_means_of_few_sizes_are_those_of_all_sizes_one_by_one(cut: int | None, payload: int) -> None:
    points = [{"size": 2, "share": 250_000}, {"size": 5, "share": 500_000}, {"size": 9, "share": WHOLE}]
    sizes = Sizes.model_validate({"points": points})
    chances = {**dict.fromkeys((1, 2), 1 / 8), **dict.fromkeys((3, 4, 5), 1 / 12), **dict.fromkeys((6, 7, 8, 9), 1 / 8)}
    cut_to = {size: size if cut is None else min(size, cut) for size in chances}
    assert sizes.drawn_mean(cut) == pytest.approx(sum(chance * cut_to[size] for size, chance in chances.items()))
    frames = sum(chance * -(-cut_to[size] // payload) for size, chance in chances.items())
    assert sizes.drawn_frames(payload, cut) == pytest.approx(frames)


@pytest.mark.parametrize("name", list(distributions()))
@pytest.mark.parametrize("cut", [None, "3 MB"])
@pytest.mark.parametrize("of", ["hosts", "fabric", "leaf1-spine2", "h3"])
def test_flows_offer_the_load_that_is_stated(name: str, cut: str | None, of: str) -> None:
    """5000 flows; the bytes of n flows in the time of n gaps vary by 1/n of the variances of both, relative."""
    fields = {} if cut is None else {"at_most": cut}
    arrivals = {"load": "40 %", "of": of}
    found = scenario(sizes=name, arrivals=arrivals, count=5000, limit="1000 s", **fields)
    (load,) = found.loads()
    assert load.stated == 0.4
    assert load.mean == pytest.approx(0.4, rel=1e-9)
    sizes = [flow.size for flow in found.flows]
    assert len(sizes) == load.flows == 5000
    mean = sum(sizes) / 5000
    squared = sum(size**2 for size in sizes) / 5000 / mean**2
    # of a single link, flows of few pairs count: a 20th of them or so
    counted = {"hosts": 5000, "fabric": 5000 * 0.8, "leaf1-spine2": 5000 * 12 / 15 / 16, "h3": 5000 / 16}[of]
    assert load.drawn == pytest.approx(0.4, rel=3 * math.sqrt((squared + 1) / counted))


def test_the_offered_load_is_arithmetic() -> None:
    """One sender with 10 Gb/s, a flow each millisecond: full frames take 1538 B, and headers of a short one 90 B."""
    network = {"fabric": "leaf-spine", "leaves": 2, "spines": 1, "hosts": 1, "mtu": "1500 B"}
    size = 2 * PAYLOAD
    pair = {"pattern": "matrix", "matrix": [["h1", "h2", 1]], "sizes": f"{size} B"}
    for at_most, frames in ((size, 2), (PAYLOAD, 1), (100, None)):
        found = scenario(network=network, arrivals={"interval": "1 ms"}, limit="10 ms", at_most=f"{at_most} B", **pair)
        (load,) = found.loads()
        wire = 100 + TCP_HEADERS + 38 if frames is None else frames * 1538
        assert load.stated is None
        assert load.mean == pytest.approx(wire * 8 / 1e-3 / 10e9)
        assert load.drawn == pytest.approx(load.mean)
        assert "the line of the host that sends" in str(load)


def test_incast_and_pairs_together_count_all_flows_of_an_arrival() -> None:
    incast = scenario(pattern="incast", to="h1", fan=3, sizes="10 kB", count=3000, limit="100 s")
    assert incast.loads()[0].drawn == pytest.approx(0.3, rel=0.06)
    stride = scenario(pattern="stride", sizes="10 kB", arrivals={"interval": "1 ms"}, limit="20 ms")
    assert stride.loads()[0].drawn == pytest.approx(stride.loads()[0].mean)


# Stored scenarios ----------------------------------------------------------------------------------------------------


def test_a_load_that_was_stored_before_keeps_its_hash_its_flows_and_its_meaning() -> None:
    """Shipped runs are found by their hash, and their flows are drawn from their data each time."""
    rows = [row for row in Shipped() if row.data.get("workloads") and row.data["seed"] == 2]
    loads = {row.hash: row for row in rows if "load" in row.data["workloads"][0]["arrivals"]}
    assert len(loads) > 20
    for row in list(loads.values())[:: len(loads) // 20]:
        found = Scenario.from_dict(row.data)
        assert found.hash == row.hash
        assert {one.arrivals.counts for one in found.workloads} == {"uncut"}
        assert "counts" not in json.dumps(row.data["workloads"])
        # other ways to the same scenario
        assert Scenario.from_dict(found.to_dict()).flows == found.flows
        assert found.with_(seed=3).with_(seed=2) == found
        assert Scenario.from_dict(yaml.safe_load(found.dump()), text=True) == found
        assert found.with_(cc="bbr").workloads[0].arrivals == found.workloads[0].arrivals


def test_a_new_load_is_of_what_is_drawn_however_it_is_given() -> None:
    base = scenario(at_most="3 MB")
    assert base.workloads[0].arrivals.counts == "drawn"
    assert '"counts":"drawn"' in base.json()
    assert "counts" not in base.dump()
    plain = {**base.to_dict(), "workloads": [workload(at_most=3_000_000, arrivals={"load": 300_000})]}
    assert Scenario.from_dict(plain) == Scenario.from_dict(base.to_dict()) == base
    assert base.with_(**{"workloads.w.arrivals": {"load": 300_000}}) == base
    assert Arrivals(load=300_000).counts == "drawn"
    uncut = base.with_(**{"workloads.w.arrivals.counts": "uncut"})
    assert uncut.hash != base.hash
    assert uncut.flows[0].start > base.flows[0].start
    assert base.with_(**{"workloads.w.arrivals.load": None, "workloads.w.arrivals.poisson": "1 ms"}).flows


def test_arrivals_without_a_load_have_nothing_to_count() -> None:
    for arrivals in ("once", {"poisson": "1 ms"}, {"interval": "1 ms"}):
        assert "counts" not in scenario(arrivals=arrivals).json()


def test_a_load_of_uncut_sizes_has_a_caution_with_the_true_load() -> None:
    assert not cautions(scenario(at_most="3 MB", count=20))
    arrivals = {"load": "30 %", "counts": "uncut"}
    (caution,) = cautions(scenario(sizes="hadoop", at_most="3 MB", arrivals=arrivals, count=20))
    assert caution.field == "workloads.w.arrivals.counts"
    assert "flows offer 22.4 % in the mean, because 30 % is of uncut sizes" in str(caution)
    # nothing is cut
    assert not cautions(scenario(sizes="hadoop", arrivals=arrivals, count=20))
