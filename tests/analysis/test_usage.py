# SPDX-License-Identifier: Apache-2.0
"""The share of a line that is used is arithmetic: bytes carried, divided by what the line could have carried.

Each test computes the instants at which frames leave, puts them into bins as an engine does, and asks for the share.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rdcnlab.analysis.results import usage
from rdcnlab.analysis.results.series import Series
from rdcnlab.runs.run import Run
from rdcnlab.scenario import Scenario
from tests.analysis.computed import FRAME, line, run


def busy(made: Run, flow: str = "f1", where: str = "l@a") -> float:
    (found,) = [one.busy for one in usage.lines(Series(made))[flow] if one.name == where]
    return found


def back_to_back(bps: float, end_s: float) -> npt.NDArray[np.float64]:
    """Return the instants at which a full line has sent its frames."""
    return np.arange(1, int(end_s * bps / (8 * FRAME)) + 1) * (8 * FRAME / bps)


def test_datagrams_of_500_kbps_use_a_quarter_of_2_mbps() -> None:
    # 1472 B of payload each 23.552 ms are 1538 B on the wire: 522.4 kb/s
    made = run(line("2 Mb/s"), {"f1": ("l@a", 0.01 + 0.023552 * np.arange(170))})
    assert busy(made) == pytest.approx(0.2612, abs=0.001)
    (reason,) = made.limits()["limited_by"]
    assert reason == "its application, which does not send all at once"


@pytest.mark.parametrize(
    ("rate", "width"),
    [
        (1e3, "1 ms"), (1e3, "1 s"), (1e6, "100 us"), (1e6, "1 ms"), (1e6, "1 s"), (12e6, "1 us"), (12e6, "1 ms"),
        (12e6, "100 ms"), (20e6, "1 ms"), (1e9, "1 us"), (1e9, "1 ms"), (40e9, "1 us"), (40e9, "1 ms"), (400e9, "1 us"),
        (400e9, "10 us"), (400e9, "1 ms"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("load", [0.01, 0.25, 0.62, 1.0])
def test_the_share_is_the_load_at_every_rate_and_with_every_bin(rate: float, load: float, width: str) -> None:
    count = 100 if rate < 1e6 else 5000
    frame_s = 8 * FRAME / rate
    instants = frame_s + np.arange(count) * frame_s / load
    made = run(line(f"{rate:.0f} b/s", width), {"f1": ("l@a", instants)})
    bins = instants[-1] / (made.scenario.probes.bin / 1e9)
    # one frame of all, and a bin at each end, in which more or fewer frames are counted than belong to the time
    assert busy(made) == pytest.approx(load, rel=2 / count + (2 / bins if bins > 3 else 0))


def test_bursts_at_the_lines_rate_with_pauses_do_not_fill_the_line() -> None:
    # 62 Mb/s of 1 Gb/s: 62 us of frames at the full rate in each ms, and in each sixteenth ms all of them
    burst = back_to_back(1e9, 0.000992)
    made = run(line("1 Gb/s"), {"f1": ("l@a", (np.arange(200)[:, None] * 0.016 + burst).ravel())})
    assert busy(made) == pytest.approx(0.062, abs=0.0015)


def test_a_line_is_full_through_all_steps_of_its_rate() -> None:
    steps = line([["1 s", "2 Mb/s"], ["1 s", "16 Mb/s"]])
    # 10 s carry 5 * 18 Mb; a flow of 2 Mb/s uses 2 of 9 in the mean
    slow, fast = back_to_back(2e6, 1), back_to_back(16e6, 1)
    full = np.concatenate([second + part for second in range(0, 10, 2) for part in (slow, 1 + fast)])
    assert busy(run(steps, {"f1": ("l@a", full)})) == pytest.approx(1, abs=0.003)
    assert busy(run(steps, {"f1": ("l@a", back_to_back(2e6, 10))})) == pytest.approx(2 / 9, abs=0.002)
    stays = line([["1 s", "2 Mb/s"], ["1 s", "16 Mb/s"]], repeat=False)
    # 2 + 9 * 16 Mb in 10 s
    assert busy(run(stays, {"f1": ("l@a", back_to_back(2e6, 10))})) == pytest.approx(20 / 146, abs=0.002)


def test_a_step_of_rate_zero_and_a_span_in_which_a_line_is_down_do_not_count() -> None:
    frames = np.concatenate([back_to_back(10e6, 1), 3 + back_to_back(10e6, 1)])
    for dark in (line([["1 s", "10 Mb/s"], ["2 s", "0 b/s"]]), line("10 Mb/s", down=[["1 s", "3 s"]])):
        assert busy(run(dark, {"f1": ("l@a", frames)})) == pytest.approx(1, abs=0.003)
        half = run(dark, {"f1": ("l@a", frames[::2])})
        assert busy(half) == pytest.approx(0.5, abs=0.003)


def test_instants_of_a_trace_are_what_a_line_could_carry(tmp_path: Path) -> None:
    # 3 times 1504 B in each 4 ms; each takes a packet of 1500 B and 4 B of the tunnel
    (tmp_path / "trace").write_text("1\n2\n4\n")
    data = line("1 Mb/s").to_dict()
    data["network"]["links"][0] |= {"rate": 12_032_000, "opportunities": [1, 2, 4]}
    scenario = Scenario.from_dict(data)
    instants = (4 * np.arange(1000)[:, None] + np.array([1, 2, 4])).ravel() / 1e3
    assert busy(run(scenario, {"f1": ("l@a", instants)})) == pytest.approx(1, abs=0.002)
    assert busy(run(scenario, {"f1": ("l@a", instants[::3])})) == pytest.approx(1 / 3, abs=0.002)


def test_a_full_line_is_full_for_each_of_its_flows() -> None:
    frames = back_to_back(10e6, 4)
    both = line("10 Mb/s", flows=({}, {}))
    made = run(both, {"f1": ("l@a", np.delete(frames, np.arange(0, len(frames), 60))), "f2": ("l@a", frames[::60])})
    assert busy(made, "f1") == pytest.approx(1, abs=0.002)
    # the second has a frame in each 74 ms
    assert busy(made, "f2") == pytest.approx(1, abs=0.002)


TIMETABLE = {"network": "aykurt", "limit": "10 s", "flows": [
    {"name": "main", "size": "2 GiB", "path": "green"},
    {"name": "migrated", "size": "2 GiB", "path": [["50 ms", "blue"], ["50 ms", "green"]]},
]}  # fmt: skip


@pytest.mark.parametrize(("width", "half"), [("1 ms", 0.5), ("100 us", 0.5), ("50 ms", 0.5), ("1 s", 0.5)])
def test_only_the_time_that_a_flow_is_on_a_line_counts(width: str, half: float) -> None:
    scenario = Scenario.from_dict(TIMETABLE | {"probes": {"bin": width}})
    rate = scenario.network.link("blue").rate // 1000  # a thousandth of the frames
    scenario = scenario.with_(**{"network.links.blue.rate": rate, "network.links.green.rate": rate})
    frames = back_to_back(rate, 10)
    on_blue = frames[(frames % 0.1) <= 0.05]
    made = run(scenario, {"migrated": ("blue", on_blue), "main": ("green", frames)})
    assert busy(made, "migrated", "blue") == pytest.approx(1, abs=0.01)
    assert busy(made, "main", "green") == pytest.approx(1, abs=0.01)
    made = run(scenario, {"migrated": ("blue", on_blue[::2]), "main": ("green", frames[::4])})
    assert busy(made, "migrated", "blue") == pytest.approx(half, abs=0.01)
    assert busy(made, "main", "green") == pytest.approx(half / 2, abs=0.01)


@pytest.mark.parametrize("width", ["10 us", "1 ms"])
def test_a_circuit_counts_only_while_it_leads_to_the_receiver(width: str) -> None:
    scenario = Scenario.from_dict({
        "network": {"fabric": "rotor", "racks": 4, "hosts": 1},
        "flows": [{"name": "f", "src": "h1", "dst": "h3", "size": "1 GB"}], "limit": "1 s", "probes": {"bin": width},
    })  # fmt: skip
    circuits = {schedule.name: schedule for schedule in scenario.network.schedules}["r1-r3"]
    (rate,) = {link.rate for link in scenario.network.links if link.name == "up1"}
    frames = back_to_back(rate, 0.1)
    ends = np.cumsum([0, *(slot.duration for slot in circuits.slots)]) / 1e9
    place = np.searchsorted(ends, frames % ends[-1], side="left") - 1
    lit = np.array([slot.link != "dark" for slot in circuits.slots])[place]
    assert 0.2 < lit.mean() < 0.5
    assert busy(run(scenario, {"f": ("up1@rack1", frames[lit])}), "f", "up1@rack1") == pytest.approx(1, abs=0.03)
    assert busy(run(scenario, {"f": ("up1@rack1", frames[lit][::2])}), "f", "up1@rack1") == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("network", "spans"),
    [
        ({"fabric": "opera", "bulk": "2 MB"}, [(0, 50)]),
        ({"fabric": "opera", "bulk": "1 MB"}, [(50, 100)]),
        ({"fabric": "shale", "routing": "vlb"}, None),
        ({"fabric": "rotornet", "routing": "rotorlb"}, None),
    ],
)
def test_the_queue_of_a_flow_says_when_its_circuit_is_up(
    network: dict[str, Any], spans: list[tuple[int, int]] | None
) -> None:
    """Small flows have the line in the first half of 100 ns, large ones in the second; others by turns, always."""
    flow = {"name": "f", "src": "h1", "dst": "h3", "size": "1 MB"}
    scenario = Scenario.from_dict({"network": network, "flows": [flow]})
    half = np.array([0.0, 50.0]), np.array(["l@rack1", "dark"])
    turns = {"rack1>rack3": half, "rack1>rack3.2": (half[0], half[1][::-1])}
    series = SimpleNamespace(scenario=scenario, turns=turns)
    found = usage._lit(series, scenario.flows[0], "l@rack1", (0, 100))  # type: ignore[arg-type]
    assert (None if found is None else list(zip(*found, strict=True))) == spans


def test_a_flow_that_never_connected_is_not_called_reordered() -> None:
    scenario = line("10 Mb/s", flows=[{"protocol": "tcp", "rate": None, "until": None, "size": "1 MB", "cc": "cubic"}])
    made = run(scenario, {"f1": ("l@a", [0.1, 1.1, 3.1])}, retransmits=6, received_B=0)
    assert made.limits()["limited_by"][0].startswith("6 retransmissions without a loss: nothing arrived, it never conn")
    made = run(scenario, {"f1": ("l@a", [0.1, 1.1, 3.1])}, retransmits=6)
    assert "packets were reordered or late" in made.limits()["limited_by"][0]
