# SPDX-License-Identifier: Apache-2.0
"""What limited each flow of a run: full lines, losses, marks and nights from its tables, and buffers from the kernel.

The kernel counts how long a sender waited for the receiver's window and for its own send buffer. Shipped runs do not
have these times. A flow that nothing below limited is reported as such, not explained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.analysis.results import usage
from rdcnlab.analysis.results.series import Series
from rdcnlab.analysis.results.usage import Line
from rdcnlab.runs.run import Run
from rdcnlab.scenario import DARK

#: A line is full if it carries this share of its rate. These shares are chosen by hand: they decide about words only,
#: never about a verdict.
FULL = 0.9
#: A buffer counts if a flow waited for it in this share of the time with data to send.
_WAITS = 0.2
#: Nights count if they are this share of a flow's time.
_NIGHTS = 0.05
#: Buffers that can limit a flow, in words.
_BUFFERS = {"send_buffer": "its send buffer", "receive_buffer": "the receiver's window"}
#: Reasons of losses in words, by the event's name without ``drop_``.
_LOSSES = {
    "tail": "full queue", "pool": "full shared buffer", "red": "RED", "dark": "night", "port": "full queue",
    "mtu": "frame larger than the MTU", "wire": "too many frames under way", "down": "line down", "loss": "random loss",
    "aqm": "queue management", "hops": "too many hops", "forged": "forged sender",
}  # fmt: skip


_COLUMNS = [
    "flow", "goodput_Gbps", "line_busy", "dark", "lost", "retransmits", "timeouts", *_BUFFERS, "limited_by",
]  # fmt: skip


@dataclass(frozen=True)
class _Reason:
    """What limited a flow: the kind, which flows have in common, and words with its numbers and places."""

    kind: str
    words: str


def limits(run: Run) -> pd.DataFrame:
    """Say what limited each flow; see `rdcnlab.runs.run.Run.limits`."""
    rows = [{**row, "limited_by": "; ".join(one.words for one in reasons)} for row, reasons in _rows(run)]
    # a run of programs may have no flows
    return pd.DataFrame(rows, columns=_COLUMNS)


def kinds(run: Run) -> pd.DataFrame:
    """Count what limited the flows of a run, for runs of many flows.

    Returns
    -------
    DataFrame
        One row for each kind of reason, the most frequent first: ``limited_by``, ``flows`` (a flow may have several
        reasons) and ``share`` of all flows.
    """
    rows = _rows(run)
    counts = Counter(kind for _, reasons in rows for kind in dict.fromkeys(one.kind for one in reasons))
    return pd.DataFrame(
        [{"limited_by": kind, "flows": count, "share": count / len(rows)} for kind, count in counts.most_common()],
        columns=["limited_by", "flows", "share"],
    )


def _rows(run: Run) -> list[tuple[dict[str, Any], list[_Reason]]]:
    """Return the numbers of each flow, and what limited it."""
    series = Series(run)
    flows = run.table("flows").to_pandas()
    limit_s = run.scenario.limit / 1e9
    flows["Gbps"] = tables.mean_rates(flows, limit_s, unit=1e-9)
    lines = usage.lines(series)
    losses = dict(list(series.losses.groupby("flow", observed=True)))
    marks = int(sum(queue.marks.sum() for queue in series.queues.values()))
    rows = []
    for flow in flows.itertuples():
        end_s = flow.end_s if np.isfinite(flow.end_s or np.nan) else limit_s
        lost = losses.get(flow.flow, series.losses[:0])
        row = {
            "flow": flow.flow,
            "goodput_Gbps": flow.Gbps,
            "line_busy": max((line.busy for line in lines.get(flow.flow, ())), default=float("nan")),
            "dark": _dark(series, str(flow.flow), flow.start_s, end_s),
            "lost": float("nan") if "events" in series.missing else len(lost),
            "retransmits": 0 if pd.isna(flow.retransmits) else int(flow.retransmits),
            "timeouts": 0 if pd.isna(flow.timeouts) else int(flow.timeouts),
        } | _buffers(run, str(flow.flow))
        stated = {**row, "start_s": flow.start_s, "received_B": flow.received_B}
        rows.append((row, [*_reasons(stated, lines.get(str(flow.flow), []), lost, marks, series)]))
    return rows


def _buffers(run: Run, flow: str) -> dict[str, float]:
    """Return the shares of the time with data to send in which buffers limited a flow; NaN if the run does not say."""
    if run.shipped or "wall_s" not in run.provenance:
        return dict.fromkeys(_BUFFERS, float("nan"))
    times = run.provenance.get("limited", {}).get(flow, {})
    return {name: times.get(f"{name}_s", 0.0) / (times.get("busy_s") or 1.0) for name in _BUFFERS}


def _dark(series: Series, flow: str, begin_s: float, end_s: float) -> float:
    """Return the share of a flow's time in which its timetable is dark."""
    scenario = series.scenario
    if scenario.network.optics is not None:  # flows have no timetable there, and those of all racks take seconds
        return 0.0
    path = scenario.schedule(scenario.flows[scenario.numbers[flow]])
    spans = series.timetables.get(flow if path is None else path.name, [])
    dark = sum(max(0.0, min(slot.end_s, end_s) - max(slot.begin_s, begin_s)) for slot in spans if slot.target == DARK)
    return dark / max(min(end_s, series.end_s) - begin_s, 1e-9)


def _reasons(
    row: dict[str, Any], lines: list[Line], lost: pd.DataFrame, marks: int, series: Series
) -> Iterator[_Reason]:
    """Yield what limited a flow, the strongest reason first."""
    scenario = series.run.scenario
    flow = scenario.flows[scenario.numbers[row["flow"]]]
    if flow.after is not None and np.isnan(row["start_s"]):
        yield _Reason("a flow that did not end", f"{flow.after}, which did not end: it never started")
        return
    own = flow.rate is not None or flow.on is not None or flow.rounds > 1 or flow.replay is not None
    # datagrams are sent at their rate whatever happens, so what arrives less was lost
    if own and (flow.protocol != "udp" or not len(lost)):
        yield _Reason("its application", "its application, which does not send all at once")
    for name, buffer in _BUFFERS.items():
        if row[name] > _WAITS:
            yield _Reason(buffer, f"{buffer} ({row[name]:.0%} of the time with data to send)")
    arrived = row["received_B"] > 0
    full = [line for line in lines if line.busy >= FULL]
    if full:
        names = ", ".join(f"{line.name} ({line.busy:.0%} used{_with(line)})" for line in full[:3])
        yield _Reason("the rate of a line", f"the rate of {names}")
    if row["dark"] > _NIGHTS:
        yield _Reason("nights", f"nights ({row['dark']:.0%} of its time)")
    if len(lost):
        causes = lost[["event", "link"]].astype(str).value_counts().head(2)
        words = [f"{count} lost ({_cause(event, link)})" for (event, link), count in _items(causes)]
        yield _Reason("losses", "losses: " + ", ".join(words))
    elif "events" in series.missing and row["retransmits"]:
        yield _Reason("losses", f"losses ({row['retransmits']} retransmissions; the shipped run does not say where)")
    elif row["retransmits"]:
        count = f"{row['retransmits']} retransmission{'s' * (row['retransmits'] != 1)} without a loss"
        why = "packets were reordered or late" if arrived else "nothing arrived, it never connected"
        yield _Reason(f"retransmissions without a loss: {why}", f"{count}: {why}")
    if row["timeouts"]:
        yield _Reason("timeouts", f"{row['timeouts']} timeout{'s' * (row['timeouts'] != 1)}")
    if marks:
        yield _Reason("ECN marks", f"ECN marks ({marks} packets of all flows)")
    buffered = any(row[name] > _WAITS for name in _BUFFERS)
    if not (own or full or len(lost) or marks or row["dark"] > _NIGHTS or row["retransmits"] or buffered):
        nothing = "nothing that the tables show: receiver's window, send buffer, program, or the host's line"
        yield _Reason(nothing, nothing)


def _items(counts: pd.Series[int]) -> Iterator[tuple[tuple[str, str], int]]:
    for key, count in counts.items():
        assert isinstance(key, tuple)
        yield (str(key[0]), str(key[1])), int(count)


def _cause(event: str, link: str) -> str:
    """Return the cause of a loss in words, with the place."""
    words = _LOSSES.get(event.removeprefix("drop_"), event)
    return f"{words} of {link}" if event in ("drop_tail", "drop_port") else f"{words} at {link}"


def _with(line: Line) -> str:
    if not line.others:
        return ""
    return f", with {line.others[0]}" if len(line.others) == 1 else f", with {len(line.others)} other flows"
