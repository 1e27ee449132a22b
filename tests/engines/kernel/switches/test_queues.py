# SPDX-License-Identifier: Apache-2.0
"""The queues of links that scenarios can have: random early drop, and a buffer that several links share."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

LOW, HIGH = 60_000, 180_000


def crowd(**link: Any) -> Scenario:
    """Two senders of 10 Gb/s on a link of 1 Gb/s to two receivers, and a second link that they do not use."""
    return Scenario.from_dict(
        {
            "network": {
                "name": "crowd",
                "switches": [{"name": "left"}, {"name": "right"}],
                "hosts": [
                    *({"name": name, "at": "left", "rate": "10 Gb/s", "delay": "20 us"} for name in ("s1", "s2", "s3")),
                    *(
                        {"name": name, "at": "right", "rate": "10 Gb/s", "delay": "20 us"}
                        for name in ("r1", "r2", "r3")
                    ),
                ],
                "links": [
                    {"name": "l", "between": ["left", "right"], "rate": "1 Gb/s", **link},
                    {"name": "m", "between": ["left", "right"], "rate": "1 Gb/s", **link},
                ],
                "pools": [{"name": "shared", "size": "200 kB"}] if "pool" in link else [],
            },
            "flows": [
                {"name": f"f{n}", "src": f"s{n}", "dst": f"r{n}", "size": "20 MB", "path": path, "back": "same"}
                for n, path in ((1, "l"), (2, "l"))
            ],
            "probes": {"packets": True},
        }
    )


def backlog(events: pd.DataFrame, line: str) -> pd.DataFrame:
    """Return each event of a line, and the bytes in its queue before the event."""
    here = events[(events["link"] == line) & events["event"].str.match("enqueue|dequeue|drop")].copy()
    change = here["value"].where(here["event"] == "enqueue", 0) - here["value"].where(here["event"] == "dequeue", 0)
    return here.assign(before=change.cumsum() - change)


def in_order(events: pd.DataFrame) -> pd.DataFrame:
    """Sort events by time. At equal times a frame leaves before another one arrives."""
    rank = events["event"].map({"dequeue": 0, "enqueue": 1, "drop_tail": 1, "drop_red": 1, "drop_pool": 1})
    return events.assign(rank=rank).sort_values(["t_ns", "rank"], kind="stable")


@pytest.mark.guest
def test_random_early_drop_is_between_its_thresholds_and_repeats(run_guest: RunGuest) -> None:
    red = {"min": LOW, "max": HIGH, "probability": "10 %"}
    scenario = crowd(buffer="1 MB", red=red)
    one = run_guest(scenario)
    events = backlog(in_order(one.tables["events"]), "l@left")
    drawn, whole = (events[events["event"] == kind] for kind in ("drop_red", "drop_tail"))
    assert len(drawn) > 20
    assert drawn["before"].between(LOW, HIGH).all()
    assert (whole["before"] + whole["value"] > HIGH).all()
    # the same seed draws the same numbers, another seed draws others
    assert run_guest(scenario).digest == one.digest
    other = in_order(run_guest(scenario.with_(seed=1)).tables["events"])
    assert list(other[other["event"] == "drop_red"]["t_ns"]) != list(drawn["t_ns"])


@pytest.mark.guest
def test_a_queue_draws_for_itself(run_guest: RunGuest) -> None:
    """Early drops in another queue do not change the random numbers of this queue.

    A sleeping process wakes 1 ns earlier if an interrupt comes at that instant, and TCP makes more of it. So datagrams
    that no ACK drives arrive here, and frames are compared by their place among the arrivals.
    """
    red = {"min": 20_000, "max": HIGH, "probability": "10 %"}
    datagrams = {"protocol": "udp", "size": "5888 kB", "packet": "1500 B", "burst": 1, "path": "l"}
    flows = [
        {**datagrams, "name": f"f{n}", "src": f"s{n}", "dst": f"r{n}", "interval": f"{every} us"}
        for n, every in ((1, 20), (2, 21))
    ]
    alone = crowd(buffer="1 MB", red=red).with_(flows=flows)
    third = {"name": "f3", "src": "s3", "dst": "r3", "size": "20 MB", "path": "m", "back": "same"}
    both = alone.with_(flows=[*alone.to_dict()["flows"], third])
    seen = [in_order(run_guest(each).tables["events"]) for each in (alone, both)]
    drops = []
    for events in seen:
        arrived = events[(events["link"] == "l@left") & events["event"].str.match("enqueue|drop")]
        drops.append([place for place, event in enumerate(arrived["event"]) if event == "drop_red"])
    assert len(drops[0]) > 20
    assert drops[0] == drops[1]
    assert ((seen[1]["link"] == "m@left") & (seen[1]["event"] == "drop_red")).sum() > 20


@pytest.mark.guest
def test_red_with_equal_thresholds_is_drop_tail(run_guest: RunGuest) -> None:
    scenario = crowd(buffer="1 MB", red={"min": LOW, "max": LOW, "probability": "100 %"})
    events = backlog(in_order(run_guest(scenario).tables["events"]), "l@left")
    assert not (events["event"] == "drop_red").any()
    whole = events[events["event"] == "drop_tail"]
    assert len(whole) > 20
    assert (whole["before"] + whole["value"] > LOW).all()
    assert (events["before"] <= LOW).all()


@pytest.mark.guest
def test_links_share_a_pool(run_guest: RunGuest) -> None:
    scenario = crowd(pool="shared").with_(**{"flows.f2.path": "m"})
    events = in_order(run_guest(scenario).tables["events"])
    lost = events[events["event"] == "drop_pool"]
    assert len(lost) > 20
    lines = events[events["link"].isin(["l@left", "m@left"])]
    change = lines["value"].where(lines["event"] == "enqueue", 0) - lines["value"].where(lines["event"] == "dequeue", 0)
    used = change.cumsum()
    assert used.max() <= 200_000
    refused = lines[lines["event"] == "drop_pool"]
    assert (used[refused.index] + refused["value"] > 200_000).all()


def test_red_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match=r"network\.links\.[a-z]+\.red\.max: 0 .* more than 0 B"):
        crowd(buffer="1 MB", red={"min": 0, "max": 0, "probability": "10 %"})
