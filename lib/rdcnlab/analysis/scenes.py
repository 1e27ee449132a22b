# SPDX-License-Identifier: Apache-2.0
"""The numbers of a film: where flows are or which programs run, rates, windows and queues, in equal steps of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rdcnlab.analysis import binned, palettes, sampled, timetables
from rdcnlab.analysis.results import programs
from rdcnlab.analysis.results.series import Series
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.run import Run
from rdcnlab.scenario import DARK

Floats = npt.NDArray[np.float64]

#: Numbers of flows and of links that stay readable.
MOST_FLOWS, MOST_LINKS = 4, 4
#: Cycles of the longest timetable in a film, and frames in it.
CYCLES, FRAMES = 5, 100
#: What a program's row says while it runs.
RUNS = "runs"


@dataclass(frozen=True)
class Scenes:
    """The numbers of a film.

    Parameters
    ----------
    t_s : ndarray, shape (n,)
        End of each step from the start of the scenario, in s.
    target : dict of str to ndarray of str, shape (n,)
        For each flow the link that it is on at the end of each step, or ``dark``; for each program, if there are no
        flows, ``runs`` or ``dark``.
    rate_bps, cwnd_B : dict of str to ndarray, shape (n,)
        For each flow its payload per second in each step, and its congestion window at the end of each step. The
        traffic of programs has no window.
    queue_B : dict of str to ndarray, shape (n,)
        For each link the mean number of bytes that wait for it in each step.
    colors : dict of str to str
        The colour of each rate.
    """

    t_s: Floats
    target: Mapping[str, npt.NDArray[np.str_]]
    rate_bps: Mapping[str, Floats]
    cwnd_B: Mapping[str, Floats]  # noqa: N815  (unit)
    queue_B: Mapping[str, Floats]  # noqa: N815
    colors: Mapping[str, str]


def scenes(run: Run) -> Scenes:
    """Compute the numbers of a film of a run.

    Raises
    ------
    InputError
        The run has too many flows or links for a picture, or its bins are folded.
    RunError
        The run has neither flows nor programs that ran.
    """
    scenario = run.scenario
    flows = [flow.name for flow in scenario.flows]
    if len(flows) > MOST_FLOWS:
        raise InputError.of("flows", len(flows), f"at most {MOST_FLOWS} flows in a film")
    if scenario.probes.fold is not None:
        raise InputError.of("probes.fold", scenario.probes.fold, "a run whose bins are not folded, for a film")
    if not flows:
        return _of_programs(run)
    step = _step_ns(run)
    count = min(FRAMES, int(_end_ns(run) // step))
    ends = step * np.arange(1, count + 1, dtype=np.int64)
    # just before the end, so that the slot is that of the step
    target = {flow: timetables.targets(scenario, flow, ends - 1) for flow in flows}
    links = [name for name in dict.fromkeys(np.concatenate(list(target.values())).tolist()) if name != DARK]
    if len(links) > MOST_LINKS:
        raise InputError.of("links", ", ".join(links), f"flows that use at most {MOST_LINKS} links in a film")
    throughput = run.table("throughput").to_pandas().assign(run=0)
    rates = binned.rates(throughput, scenario.probes.bin, step, receiver=True)
    rate = {flow: _padded(count, rates.loc[rates["flow"] == flow, "rate_bps"]) for flow in flows}
    tcp = run.table("tcp").to_pandas()
    window = {}
    for flow in flows:
        of_flow = tcp[tcp["flow"] == flow]
        window[flow] = sampled.at(
            of_flow["t_ns"].to_numpy(float), of_flow["cwnd_B"].to_numpy(float), ends.astype(float)
        )
    queue = {link: _queue(run, link, step, count) for link in links}
    colors = palettes.of_flows({flow.name: flow.cc for flow in scenario.flows})
    return Scenes(ends / 1e9, target, rate, window, queue, colors)


def _of_programs(run: Run) -> Scenes:
    """Return the numbers of a run without flows: its first programs, their largest rates and the fullest queues."""
    series = Series(run)
    series.check_traffic()
    width = int(np.ceil(series.end_s / series.bin_s / FRAMES))
    count = max(1, int(np.ceil(series.end_s / series.bin_s / width)))
    step_s = width * series.bin_s
    t_s = step_s * np.arange(1, count + 1)
    ran = {
        one.name: (one.begin_s < t_s) & (t_s - step_s < (np.inf if one.end_s is None else one.end_s))
        for one in series.programs[: programs.MOST]
    }
    largest = sorted(series.rates, key=lambda flow: -float(series.rates[flow].sum()))[:MOST_FLOWS]
    queues = [link for link in series.fullest[:MOST_LINKS] if series.queues[link].max_B.any()]

    def mean(values: Floats) -> Floats:
        steps = _padded(width * count, values).reshape(count, -1)
        return np.asarray(steps.mean(axis=1), dtype=np.float64)

    return Scenes(
        np.asarray(t_s, dtype=np.float64),
        {name: np.where(runs, RUNS, DARK) for name, runs in ran.items()},
        {flow: mean(1e9 * series.rates[flow]) for flow in largest},
        {},
        {link: mean(series.queues[link].mean_B) for link in queues},
        palettes.of_flows(dict.fromkeys(largest)),
    )


def _step_ns(run: Run) -> int:
    """Return the length of a step: whole bins, so that the film has some cycles of the longest timetable."""
    cycles = [sum(slot.duration for slot in run.scenario.timetable(flow)[0]) for flow in run.scenario.flows]
    length = min(CYCLES * max(cycles), _end_ns(run)) or _end_ns(run)
    return max(round(length / FRAMES / run.scenario.probes.bin), 1) * run.scenario.probes.bin


def _end_ns(run: Run) -> int:
    """Return the end of the last bin with traffic."""
    bins = run.table("throughput").column("bin").to_numpy()
    return (int(bins.max()) + 1) * run.scenario.probes.bin if len(bins) else run.scenario.probes.bin


def _padded(count: int, values: Any) -> Floats:
    """Return the first values; a flow that has ended has none, and its rate is zero."""
    head = np.asarray(values, dtype=np.float64)[:count]
    return np.pad(head, (0, count - len(head)))


def _queue(run: Run, link: str, step: int, count: int) -> Floats:
    """Return the mean length of a link's queue in each step. A bin without a row had an empty queue."""
    frame = run.table("queues").to_pandas()
    frame = frame[frame["link"] == link]
    bins = np.zeros(count * (step // run.scenario.probes.bin))
    inside = frame[frame["bin"] < len(bins)]
    bins[inside["bin"].to_numpy()] = inside["mean_B"].to_numpy()
    return np.asarray(bins.reshape(count, -1).mean(axis=1))
