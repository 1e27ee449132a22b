# SPDX-License-Identifier: Apache-2.0
"""Samples of network updates, on tables made by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import bounds, updates
from rdcnlab_papers.dogar import space


class Given(Runs):
    """One run of DCTCP with an update each second, with tables that are given; its limit is 4 s."""

    def __init__(self, **tables: list[dict[str, object]]) -> None:
        self.given = {name: pd.DataFrame(rows).assign(run=0) for name, rows in tables.items()}
        self.scenario = space.updates("dctcp", seed=5, count=3)

    def __iter__(self) -> Iterator[Given]:  # type: ignore[override]
        return iter([self])

    def __len__(self) -> int:
        return 1

    def __getattribute__(self, name: str) -> object:
        if name in ("events", "throughput", "tcp", "queues"):
            return self.given[name]
        return super().__getattribute__(name)

    def rows(self, name: str) -> pd.DataFrame:
        table = self.given[name]
        return table.astype({column: "category" for column in ("where", "flow", "link") if column in table})

    def event_times(self, *names: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        events = self.given["events"]
        times = events.loc[events["event"].isin(names), "t_ns"].to_numpy()
        return np.zeros(len(times), dtype=np.int64), times


def test_retransmissions_count_from_update_to_update() -> None:
    at_s = [0.5, 1.0, 1.2, 1.999, 3.5, 4.0]
    given = Given(events=[{"t_ns": int(t * 1e9), "event": "retransmit"} for t in at_s])
    found = updates.retransmissions.__wrapped__(given, 10**9, 10**9)
    assert found["value"].tolist() == [3, 0, 1]
    assert set(zip(found["cc"], found["seed"], strict=True)) == {("dctcp", 5)}


def test_events_of_packets_that_may_have_several_segments_are_not_counted_as_segments() -> None:
    given = Given(events=[{"t_ns": 10**9, "event": "retransmit"}])
    assert updates.retransmitted.__wrapped__(given)["value"].tolist() == [1]
    given.scenario = given.scenario.with_(offload={"tso": "64000 B"})  # and events without their flows
    for count in (
        lambda: updates.retransmitted.__wrapped__(given),
        lambda: updates.retransmissions.__wrapped__(given, 10**9, 0),
    ):
        with pytest.raises(InputError, match=r"offload\.tso: with packets of up to 64000 B.* do not count segments"):
            count()


def test_with_segmentation_offload_events_of_a_flow_add_up_to_its_retransmits() -> None:
    at_s = {"fn-1": [0.5, 1.2, 1.3, 2.5], "fm-1": [2.6, 2.7]}
    events = [
        {"t_ns": int(t * 1e9), "event": event, "flow": flow}
        for flow, times in at_s.items()
        for t in times
        for event in ("drop_tail", "retransmit")
    ]
    rows = [{"flow": flow, "retransmits": count} for flow, count in (("fn-1", 30), ("fm-1", 5), ("fn-2", 0))]
    given = Given(events=events, flows=rows)
    given.scenario = given.scenario.with_(offload={"tso": "64000 B"})
    found = updates.retransmissions.__wrapped__(given, 10**9, 0)
    assert found["value"].tolist() == [7.5, 15, 7.5 + 5, 0]


@pytest.mark.guest
def test_both_counters_of_retransmissions_agree_about_frames_that_were_lost(store: Store) -> None:
    """Two nights lose a window each. Every lost frame is a segment that is sent again, and packets have several."""
    nights = [["5 ms", "blue"], ["150 ms", "dark"], ["400 ms", "blue"], ["150 ms", "dark"], ["5 s", "blue"]]
    flow = {"name": "migrated", "size": "600 MB", "cc": "reno", "path": nights}
    probes = {"tcp": "none"}
    given = {"network": "aykurt", "flows": [flow], "probes": probes, "offload": {"tso": "65535 B"}, "limit": "2 s"}
    runs = campaign(Scenario.from_dict(given), store=store, workers=1, progress=False, hints=False)
    events = runs.events["event"].value_counts()
    counted = updates.retransmissions(runs, 10**9 // 2, 0)["value"]
    assert counted.sum() == runs.flows["retransmits"].sum() == events["drop_dark"]
    assert events["retransmit"] < counted.sum(), "packets have several segments"
    assert (counted > 0).tolist() == [True, True, False, False]


def test_throughput_is_payload_where_data_enter() -> None:
    rows = [
        {"bin": index, "where": where, "flow": flow, "bytes": 1538}
        for index, where, flow in (
            (50, "l_n@left", "fn-1"),  # before the first update
            (100, "l_n@left", "fn-1"),
            (150, "l_m@left", "fn-1"),
            (150, "l_m@right", "fn-1"),  # an ACK
            (399, "l_m@left", "fm-2"),
        )
    ]
    found = updates.throughput.__wrapped__(Given(throughput=rows), 10**9, 10**9)
    gbps = found.pivot_table(index="flow", columns="interval", values="value") * 1e9 / 8
    assert gbps.loc["fn-1"].tolist() == pytest.approx([2 * 1448, 0, 0])
    assert gbps.loc["fm-2"].tolist() == pytest.approx([0, 0, 1448])
    assert gbps.loc["fm-1"].sum() == 0


def test_windows_are_in_kilobytes_from_the_first_update_on() -> None:
    given = Given(tcp=[{"t_ns": int(t * 1e9), "flow": "fn-1", "cwnd_B": 1000 * t} for t in (0.5, 1.0, 2.0)])
    assert updates.windows.__wrapped__(given, 10**9)["value"].tolist() == [1, 2]


def test_losses_of_queues_are_scaled_to_updates_and_those_of_missing_routes_do_not_count() -> None:
    events = ["drop_tail", "drop_red", "drop_dark", "drop_tail", "retransmit"]
    given = Given(events=[{"t_ns": t * 10**9, "event": name} for t, name in enumerate(events)])
    # of the two losses of queues in the 3 s after the first update, one is at the update itself
    assert updates.drops.__wrapped__(given, 10**9, 300, 10**9)["value"].tolist() == [200]


def test_the_mean_queue_counts_bins_without_a_row() -> None:
    # bins of 10 ms until 4 s; from 3 s on there are 100, of which two have a row
    rows = [(299, "l_n@left", 900), (300, "l_n@left", 500), (399, "l_n@left", 1500), (399, "l_m@left", 7000)]
    given = Given(queues=[{"bin": index, "link": link, "mean_B": mean} for index, link, mean in rows])
    assert given.scenario.probes.bin == 10**7
    assert updates.mean_queue.__wrapped__(given, "l_n@left", 3 * 10**9)["value"].tolist() == [20]


def samples(**values: list[float]) -> pd.DataFrame:
    return pd.DataFrame([{"cc": cc, "seed": 0, "value": each} for cc, of in values.items() for each in of])


def test_quantiles_are_samples() -> None:
    points = updates.quantiles(samples(bbr=[5, 1, 4, 2, 3]), (0.2, 0.5, 0.8, 1.0))
    assert points["value"].tolist() == [1, 3, 4, 5]


def test_the_order_names_each_pair_and_share() -> None:
    points = updates.quantiles(samples(bbr=[1, 2], dctcp=[3, 1], cubic=[9, 8]), (0.5, 1.0))
    assert {name: float(value) for name, value in updates.order(points, ("bbr", "dctcp", "cubic")).items()} == {
        "dctcp over bbr at 50%": 0,
        "dctcp over bbr at 100%": 1,
        "cubic over dctcp at 50%": 7,
        "cubic over dctcp at 100%": 6,
    }
    assert updates.order(points, ("bbr", "reno")) == {}
    without = points[points["share"] == 1].drop(columns="share")
    assert list(updates.order(without, ("bbr", "cubic"))) == ["cubic over bbr"]


def test_a_variant_is_compared_with_itself_in_another_setting() -> None:
    small, large = (updates.quantiles(samples(bbr=of, cubic=[1]), (1.0,)) for of in ([5, 7], [1, 4]))
    assert {name: float(value) for name, value in updates.differences_between(small, large, ("bbr",)).items()} == {
        "bbr at 100%": 3
    }


def test_the_spread_is_that_of_the_extremes() -> None:
    points = updates.quantiles(samples(bbr=[90], dctcp=[100], cubic=[110]), (1.0,))
    assert float(updates.spread(points)[1.0]) == pytest.approx(20)


def test_the_change_of_means_has_no_sign() -> None:
    change = updates.change_of_means(samples(bbr=[1, 3], cubic=[5]), samples(bbr=[4], cubic=[4]))
    assert dict(zip(change["cc"], change["value"], strict=True)) == {"bbr": 50, "cubic": 25}


def test_equation_5() -> None:
    assert bounds.longest_queue(10e9, 250e-6) == 937_500
    assert bounds.longest_queue(10e9, 400e-6) == pytest.approx(1_500_000)
    with pytest.raises(ValueError, match="above 0"):
        bounds.capacity(0, 1)
