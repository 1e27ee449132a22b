# SPDX-License-Identifier: Apache-2.0
"""Queues and windows against closed forms. ``docs/explanation/physics.md`` shows them, as these functions draw them.

``python -m tests.engines.test_physics`` makes the runs and writes the page's picture.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from rdcnlab.analysis import figures
from rdcnlab.analysis.cubic import of_linux
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

Floats = npt.NDArray[np.float64]
Tables = dict[str, pd.DataFrame]
PICTURE = Path(__file__).parents[2] / "docs" / "explanation" / "physics.png"
#: Bytes of a full packet in a queue, and on the wire: preamble, check sum and gap are 24 B more.
PACKET, WIRE = 1514, 1538
OVERHEAD = 24


def one_line(flows: list[dict[str, Any]], rate: str, delay: str, limit: str, **line: Any) -> Scenario:
    """Return a scenario of a sender and a receiver with fast lines on both sides of a slow one."""
    hosts = [{"name": "s", "at": "left", "rate": "10 Gb/s"}, {"name": "r", "at": "right", "rate": "10 Gb/s"}]
    link = {"name": "l", "between": ["left", "right"], "rate": rate, "delay": delay, **line}
    network = {"name": "one", "mtu": 1500, "switches": [{"name": "left"}, {"name": "right"}], "hosts": hosts,
               "links": [link]}  # fmt: skip
    whole = [{"name": f"f{number}", "src": "s", "dst": "r", **flow} for number, flow in enumerate(flows)]
    return Scenario.from_dict(
        {"network": network, "flows": whole, "limit": limit, "probes": {"packets": True, "tcp": "ack"}}
    )


def at_line(events: pd.DataFrame, event: str) -> pd.DataFrame:
    """Return the events of one kind at the slow line, in the order of time."""
    return events[(events["link"] == "l@left") & (events["event"] == event)].sort_values("t_ns", kind="stable")


# A queue that is fed faster than it empties: D/D/1 --------------------------------------------------------------------

OVERLOAD = one_line([{"protocol": "udp", "rate": "12 Mb/s", "packet": "1000 B", "until": "500 ms"}], "10 Mb/s", "1 ms",
                    "1 s", buffer="50 kB")  # fmt: skip


def overload(tables: Tables) -> tuple[Floats, Floats, Floats]:
    """Return instants of arrivals in s, packets in the system after each, and as many by the closed form.

    Packet k, from 0, arrives at kT, and the line takes S for each, so that there are k + 1 - floor(kT / S), until the
    queue is full.
    """
    events = tables["events"]
    came, left = at_line(events, "enqueue"), at_line(events, "dequeue")
    instants, size = came["t_ns"].to_numpy(), int(came["value"].iloc[0])
    first_drop = events.loc[events["event"] == "drop_tail", "t_ns"].min()
    instants = instants[instants < first_drop]
    there = np.arange(1, len(instants) + 1) - np.searchsorted(left["t_ns"].to_numpy(), instants, side="right")
    between = (instants[-1] - instants[0]) / (len(instants) - 1)
    service = (size + OVERHEAD) * 8 * 100
    # a frame that is on the line is no longer in the queue
    expected = np.maximum(
        np.arange(1, len(instants) + 1) - 1 - np.floor(np.arange(len(instants)) * between / service), 0
    )
    return (instants - instants[0]) / 1e9, there.astype(float), expected


# Waiting at random arrivals: M/D/1 ------------------------------------------------------------------------------------

LOADS = (0.3, 0.5, 0.7, 0.8)
_DATAGRAMS = 600
#: A datagram of 900 B has 942 B in a queue and 966 B on the wire.
SERVICE_NS = 966 * 8 * 100


def arrivals(load: float) -> Scenario:
    """Return a scenario with datagrams that arrive at random instants (Poisson), as flows of one datagram each."""
    gaps = np.random.default_rng(int(100 * load)).exponential(SERVICE_NS / load, _DATAGRAMS)
    return one_line(
        [{"protocol": "udp", "size": "900 B", "rate": "1 Gb/s", "start": f"{int(at)} ns"} for at in np.cumsum(gaps)],
        "10 Mb/s", "1 ms", "10 s", buffer="10 MB",
    )  # fmt: skip


def waits(tables: Tables) -> tuple[Floats, Floats]:
    """Return the waiting time of each datagram in us, and the one that Lindley's recursion computes from arrivals."""
    came = at_line(tables["events"], "enqueue")["t_ns"].to_numpy()
    # a line that takes them in order
    left = at_line(tables["events"], "dequeue")["t_ns"].to_numpy()
    return (left - came) / 1e3, lindley(np.diff(came)) / 1e3


def lindley(gaps: npt.NDArray[np.generic]) -> Floats:
    """Return the waits in ns of packets with these gaps between their arrivals: Lindley's recursion."""
    waits_ns = [0.0]
    for gap in gaps.tolist():
        waits_ns.append(max(0.0, waits_ns[-1] + SERVICE_NS - gap))
    return np.array(waits_ns)


def mean_wait_us(load: float) -> float:
    """Return the mean wait of M/D/1 in us (Pollaczek and Khinchine)."""
    return load * SERVICE_NS / (2 * (1 - load)) / 1e3


# Windows --------------------------------------------------------------------------------------------------------------

RENO = one_line([{"cc": "reno", "size": "100 MB"}], "100 Mb/s", "10 ms", "30 s", buffer="200 kB")
CUBIC = one_line([{"cc": "cubic", "size": "400 MB"}], "100 Mb/s", "50 ms", "40 s", buffer="200 kB")
DCTCP = one_line([{"cc": "dctcp", "size": "50 MB"}], "1 Gb/s", "50 us", "3 s", buffer="1 MB", ecn_threshold="60 kB")


def avoidance(tables: Tables) -> tuple[Floats, Floats, float]:
    """Return instants in s and windows in segments of the first tooth, and the window before it.

    A tooth goes from the instant at which the window, after a fall, is in congestion avoidance to the next loss.
    """
    tcp, events = tables["tcp"], tables["events"]
    lost = events.loc[events["event"] == "drop_tail", "t_ns"].to_numpy()
    # losses of one overflow are close to each other
    falls = lost[np.flatnonzero(np.diff(lost, prepend=-(10**10)) > 5 * 10**8)]
    before_next = tcp[tcp["t_ns"] < falls[1]]
    windows = before_next["cwnd"].to_numpy().astype(float)
    last_fall = np.flatnonzero(np.diff(windows) < 0)[-1]
    peak = windows[: last_fall + 1].max()
    slow = (before_next["cwnd"] < before_next["ssthresh"]).to_numpy()
    begin = max(last_fall + 1, np.flatnonzero(slow)[-1] + 1)
    return before_next["t_ns"].to_numpy()[begin:] / 1e9, windows[begin:], float(peak)


def renos(instants: Floats, windows: Floats) -> Floats:
    """Return Reno's window by the closed form at the same instants.

    It grows by one segment a round trip. This lasts the wire time of the window, but at least the path's round trip:
    two times 10 ms, and the wire times of a packet and an ACK.
    """
    sizes = np.arange(windows[0], windows[-1] + 1)
    rounds = np.maximum(sizes * WIRE * 8 / 100e6, 0.02026)
    ends = instants[0] + np.concatenate([[0], np.cumsum(rounds)[:-1]])
    return np.interp(instants, ends, sizes)


def cubics(instants: Floats, windows: Floats, before: float) -> Floats:
    """Return CUBIC's window by the closed form: ``0.4 (t - K)^3 + W``, K = ``cbrt(0.3 W / 0.4)``."""
    return np.asarray(of_linux(before, windows[0]).at(instants - instants[0]))


def tooth(tables: Tables) -> tuple[Floats, Floats, float]:
    """Return instants in s and windows of DCTCP after slow start, and the mean of a window's whole fall in segments.

    Linux takes a fall in steps of a segment, at an ACK each (proportional rate reduction).
    """
    tcp = tables["tcp"][tables["tcp"]["t_ns"] > 10**8]
    windows = tcp["cwnd"].to_numpy().astype(float)
    # turning points: the last of equal windows before a fall, and the last before a rise
    steps = np.diff(windows)
    moves = np.flatnonzero(steps)
    turns = moves[np.flatnonzero(np.diff(np.sign(steps[moves]), prepend=0))]
    ends = windows[turns]
    falls = -np.diff(ends)
    return tcp["t_ns"].to_numpy() / 1e9, windows, float(falls[falls > 0].mean())


def stationary() -> tuple[float, float]:
    """Return alpha and the fall in segments of one DCTCP flow: sqrt(2 / W), and W alpha / 2 (Alizadeh 2010, Sec. 3.3).

    W is the window at which the queue reaches the threshold: that of the path's round trip, and the threshold.
    """
    round_trip = 2 * 50e-6 + (WIRE + 90) * 8 / 1e9
    window = round_trip * 1e9 / 8 / WIRE + 60_000 / PACKET
    alpha = float(np.sqrt(2 / window))
    return alpha, window * alpha / 2


# Tests ----------------------------------------------------------------------------------------------------------------


def test_a_queue_grows_by_the_difference_of_two_rates(run_guest: RunGuest) -> None:
    _, there, expected = overload(run_guest(OVERLOAD).tables)
    assert len(there) > 200
    assert there.tolist() == expected.tolist()


@pytest.mark.parametrize("load", LOADS)
def test_datagrams_wait_as_the_recursion_of_lindley_says(run_guest: RunGuest, load: float) -> None:
    measured, expected = waits(run_guest(arrivals(load)).tables)
    assert len(measured) == _DATAGRAMS
    assert np.abs(measured - expected).max() < 1e-9


@pytest.mark.parametrize("load", LOADS)
def test_the_recursion_has_the_mean_of_m_d_1(load: float) -> None:
    """A run is equal to the recursion, so this needs no guest: means of 40 draws, within four standard errors."""
    rng = np.random.default_rng(1)
    means = [lindley(rng.exponential(SERVICE_NS / load, 20_000)).mean() / 1e3 for _ in range(40)]
    assert abs(np.mean(means) - mean_wait_us(load)) < 4 * np.std(means, ddof=1) / np.sqrt(len(means))


def test_renos_window_grows_by_one_segment_a_round_trip(run_guest: RunGuest) -> None:
    instants, windows, _ = avoidance(run_guest(RENO).tables)
    assert windows[-1] > 1.8 * windows[0]
    assert np.abs(windows - renos(instants, windows)).max() < 1.5


def test_cubics_window_is_its_function(run_guest: RunGuest) -> None:
    instants, windows, peak = avoidance(run_guest(CUBIC).tables)
    assert windows[0] == pytest.approx(0.7 * peak, abs=3)
    assert windows[-1] > 1.5 * peak
    assert np.abs(windows / cubics(instants, windows, peak) - 1).max() < 0.03


def test_dctcps_window_falls_by_half_of_alpha(run_guest: RunGuest) -> None:
    _, _, fall = tooth(run_guest(DCTCP).tables)
    assert fall == pytest.approx(stationary()[1], abs=1)


# The page -------------------------------------------------------------------------------------------------------------


def draw(tables_of: Callable[[Scenario], Tables], path: Path) -> list[str]:
    """Draw the page's picture, and return the numbers of its table."""
    lines = []
    with figures.single(10, 6) as (figure, ax):
        figure.delaxes(ax)
        queue, wait, reno, cubic, dctcp, share = figure.subplots(2, 3).flat
        instants, there, expected = overload(tables_of(OVERLOAD))
        queue.plot(instants, there, label="run")
        queue.plot(instants, expected, "--", label="closed form")
        queue.set(title="queue, D/D/1", xlabel="time [s]", ylabel="packets")
        lines.append(f"queue in packets, greatest difference: {np.abs(there - expected).max():g}")
        means = []
        for load in LOADS:
            measured, lindley = waits(tables_of(arrivals(load)))
            means.append(measured.mean())
            lines.append(f"wait at load {load:g}: {measured.mean():.1f} us, M/D/1 {mean_wait_us(load):.1f} us, "
                         f"greatest difference to the recursion {np.abs(measured - lindley).max():g} us")  # fmt: skip
        at = np.linspace(0.2, 0.85, 60)
        wait.plot(LOADS, means, "o", label="run")
        wait.plot(at, [mean_wait_us(load) for load in at], "--", label="M/D/1")
        wait.set(title="wait at random arrivals", xlabel="load", ylabel="mean wait [us]")
        for axis, name, scenario in ((reno, "Reno", RENO), (cubic, "CUBIC", CUBIC)):
            instants, windows, peak = avoidance(tables_of(scenario))
            expected = renos(instants, windows) if name == "Reno" else cubics(instants, windows, peak)
            axis.plot(instants, windows, label="run")
            axis.plot(instants, expected, "--", label="closed form")
            axis.set(title=f"{name}'s window", xlabel="time [s]", ylabel="segments")
            lines.append(f"{name}: greatest difference {np.abs(windows - expected).max():.1f} segments, "
                         f"{100 * np.abs(windows / expected - 1).max():.1f} %")  # fmt: skip
        instants, windows, fall = tooth(tables_of(DCTCP))
        alpha, expected_fall = stationary()
        few = instants < instants[0] + 0.02
        dctcp.plot(1e3 * (instants[few] - instants[0]), windows[few], label="run")
        top = windows.max()
        dctcp.axhline(top, linestyle="--", color="C1", label="a fall by the closed form")
        dctcp.axhline(top - expected_fall, linestyle="--", color="C1")
        dctcp.set(title="DCTCP's window", xlabel="time [ms]", ylabel="segments")
        lines.append(f"DCTCP: mean fall {fall:.2f} segments, closed form {expected_fall:.2f} (alpha {alpha:.3f})")
        share.axis("off")
        for axis in (queue, wait, reno, cubic, dctcp):
            axis.legend(fontsize=7)
    figure.savefig(path, dpi=80)
    return lines


if __name__ == "__main__":
    from rdcnlab.runs.campaign import campaign

    def stored(scenario: Scenario) -> Tables:
        (run,) = campaign([scenario], progress=False, hints=False)
        return {name: run.table(name).to_pandas() for name in ("tcp", "events")}

    print("\n".join(draw(stored, PICTURE)))
