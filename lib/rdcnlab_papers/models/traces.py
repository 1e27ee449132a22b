# SPDX-License-Identifier: Apache-2.0
"""Traces of flows: congestion window and RTT at their ACKs, once per ms, beginning with the first ACK."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view

from rdcnlab.analysis import sampled
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs, period_ms
from rdcnlab.scenario import Scenario

LENGTH_MS = 500
COLUMNS = ("cwnd_B", "srtt_us")
#: Number of runs whose tables are read together.
_AT_ONCE = 50
#: Length in ms of the longest flow that is accepted.
_MOST_MS = 3_600_000

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Traces:
    """Traces of flows.

    Parameters
    ----------
    windows : ndarray of float32, shape (m, ms, 2)
        Congestion window [kB] and smoothed RTT [us]. It may be a view in which traces overlap.
    about : DataFrame
        One row for each trace: ``variant``, ``run``, ``seed``, ``period_ms``, ``pair`` (the variants of the run's
        flows), ``flow``, ``begin_ms``. A model is trained to predict the ``variant``. It never gets the other columns.
    rows : ndarray of int, shape (n,), optional
        Indices of those `windows` that are the traces; by default all.
    """

    windows: Floats
    about: pd.DataFrame
    rows: npt.NDArray[np.int64] | None = None

    @property
    def samples(self) -> Floats:
        """The traces, shape (n, ms, 2). This is a copy if the traces are only some of the windows."""
        return self.windows if self.rows is None else np.ascontiguousarray(self.windows[self.rows])

    def __len__(self) -> int:
        return len(self.about)

    def where(self, mask: npt.ArrayLike) -> Traces:
        """Return the traces that a mask selects."""
        chosen = np.asarray(mask)
        rows = np.arange(len(self)) if self.rows is None else self.rows
        return Traces(self.windows, self.about[chosen].reset_index(drop=True), rows[chosen])

    def first(self, length_ms: int) -> Traces:
        """Return the first `length_ms` of each trace."""
        return Traces(self.windows[:, :length_ms], self.about, self.rows)

    def among(self, variants: Sequence[str]) -> Traces:
        """Return the traces of those runs in which every flow has one of the given variants."""
        alien = set(self.about.loc[~self.about["variant"].isin(variants), "run"])
        return self.where(~self.about["run"].isin(alien).to_numpy())

    def sample(self, count: int) -> Traces:
        """Return a random selection of `count` traces, which is the same each time; all traces if there are fewer."""
        if len(self) <= count:
            return self
        mask = np.zeros(len(self), dtype=bool)
        mask[np.random.default_rng(0).permutation(len(self))[:count]] = True
        return self.where(mask)

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of the traces, in alphabetical order."""
        return tuple(sorted(set(self.about["variant"])))


def traces(runs: Runs, length_ms: int = LENGTH_MS, every_ms: int = LENGTH_MS) -> Traces:
    """Cut the flows of runs into traces. A shorter rest at the end of a flow is left out.

    Parameters
    ----------
    runs : Runs
        Runs with ``tcp`` tables in bins of at most 1 ms.
    length_ms : int
        Length of a trace.
    every_ms : int
        Time from the begin of one trace to the begin of the next. Traces overlap if it is less than their length.

    Raises
    ------
    InputError
        A run has no rows of that table, or not once a ms.
    """
    parts: list[Floats] = []
    about: list[dict[str, Any]] = []
    begins: list[int] = []
    previous_ms = 0
    for first in range(0, len(runs), _AT_ONCE):
        batch = runs.part(first, first + _AT_ONCE)
        of_runs = [_common_fields(first + index, run.scenario) for index, run in enumerate(batch)]
        variants = [{flow.name: flow.cc for flow in run.scenario.flows} for run in batch]
        silent = set(range(len(batch)))
        for names, acks in cut(batch.tcp):
            silent.discard(names["run"])
            of_run, variant = of_runs[names["run"]], variants[names["run"]][names["flow"]]
            samples = series(acks)
            for begin in range(0, len(samples) - length_ms + 1, every_ms):
                begins.append(previous_ms + begin)
                about.append({"variant": variant, **of_run, "flow": names["flow"], "begin_ms": begin})
            parts.append(samples)
            previous_ms += len(samples)
        if silent:
            raise InputError.of("table", f"no rows of run {first + min(silent)}", "at least one ACK")
    columns = ["variant", "run", "seed", "period_ms", "pair", "flow", "begin_ms"]
    if not about:
        return Traces(np.empty((0, length_ms, len(COLUMNS)), np.float32), pd.DataFrame(about, columns=columns))
    # traces overlap, so they are views; a trace is copied only when it is used
    joined = np.concatenate(parts)
    windows = sliding_window_view(joined, length_ms, axis=0).swapaxes(1, 2)
    return Traces(windows, pd.DataFrame(about, columns=columns), np.array(begins, dtype=np.int64))


def _common_fields(index: int, scenario: Scenario) -> dict[str, Any]:
    """Return the values of `Traces.about` that all traces of a run have in common."""
    probes = scenario.probes
    if probes.tcp == "none" or (probes.tcp == "bin" and probes.bin > NS_PER_MS):
        value = f"{probes.tcp}, in bins of {probes.bin / NS_PER_MS:g} ms"
        raise InputError.of("probes.tcp", value, "ack, or bin with probes.bin of at most 1 ms")
    return {
        "run": index,
        "seed": scenario.seed,
        "period_ms": period_ms(scenario),
        "pair": " and ".join(sorted({str(flow.cc) for flow in scenario.flows})),
    }


def twins(selection: Traces) -> pd.DataFrame:
    """Count the traces that cannot be distinguished, because flows of two variants have identical traces.

    The function compares traces that differ only in the variant of their flow. They have the same period, seed, name of
    the flow and begin, and the other flow of the run has the same variant. Runs have two flows.

    Returns
    -------
    DataFrame
        ``period_ms``, ``variants``, the number of ``pairs`` of traces, and shares of these pairs in %: ``same`` with
        equal windows and RTTs in every sample, ``same_window`` with equal windows.
    """
    partners = [
        next((name for name in pair.split(" and ") if name != own), own)
        for pair, own in zip(selection.about["pair"], selection.about["variant"], strict=True)
    ]
    samples = selection.samples  # a copy of all traces, so made once
    alike = ["period_ms", "seed", "flow", "partner", "begin_ms"]
    rows = []
    for (period, *_), group in selection.about.assign(partner=np.array(partners, dtype=str)).groupby(alike):
        for (first, first_variant), (second, second_variant) in combinations(
            zip(group.index, group["variant"], strict=True), 2
        ):
            window, rtt = (100.0 * (samples[first] == samples[second]).all(axis=0)).tolist()
            rows.append((period, " and ".join(sorted((first_variant, second_variant))), min(window, rtt), window))
    shares = pd.DataFrame(rows, columns=["period_ms", "variants", "same", "same_window"])
    return shares.groupby(["period_ms", "variants"], as_index=False).agg(
        pairs=("same", "size"), same=("same", "mean"), same_window=("same_window", "mean")
    )


def cut(acks: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Iterate over the flows of a table of ACKs: the names (``run``, ``flow``) of each, and its rows in order of time.

    Raises
    ------
    InputError
        A column is missing or has an impossible value.
    """
    required = ("t_ns", *COLUMNS)
    missing = [name for name in required if name not in acks.columns]
    if missing:
        raise InputError.of("columns", ", ".join(map(str, acks.columns)), f"a table with {', '.join(missing)}")
    if not len(acks):
        raise InputError.of("table", "no rows", "at least one ACK")
    for name in required:
        numbers = pd.to_numeric(acks[name], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        if not (np.isfinite(numbers) & (numbers >= 0)).all():
            wrong = acks[name].iloc[int(np.argmin(np.isfinite(numbers) & (numbers >= 0)))]
            raise InputError.of(f"column {name}", str(wrong), "numbers from 0 on")
    group_columns = [name for name in ("run", "flow") if name in acks.columns]
    for name in group_columns:
        if acks[name].isna().any():
            raise InputError.of(f"column {name}", None, "a name in every row")
    # sorted once for all flows, because there may be thousands of them
    ordered = acks.sort_values([*group_columns, "t_ns"], kind="stable", ignore_index=True)
    keys = ordered.groupby(group_columns, sort=True).size() if group_columns else pd.Series([len(ordered)], index=[()])
    ends = np.cumsum(keys.to_numpy())
    times = ordered["t_ns"].to_numpy()
    for key, begin, end in zip(keys.index, ends - keys.to_numpy(), ends, strict=True):
        span_ms = (times[end - 1] - times[begin]) / NS_PER_MS
        if span_ms > _MOST_MS:
            raise InputError.of("column t_ns", f"{span_ms:.0f} ms of one flow", f"at most {_MOST_MS} ms, in ns")
        names = key if isinstance(key, tuple) else (key,)
        yield dict(zip(group_columns, names, strict=True)), ordered.iloc[begin:end]


def series(acks: pd.DataFrame) -> Floats:
    """Return window and RTT of one flow, once per ms: the values of the last ACK before the end of that ms.

    Parameters
    ----------
    acks : DataFrame
        Columns ``t_ns``, ``cwnd_B``, ``srtt_us``, in order of time.

    Returns
    -------
    ndarray of float32, shape (ms, 2)
        Congestion window [kB] and smoothed RTT [us], from the first ACK on.
    """
    t_ns, *values = (acks[name].to_numpy() for name in ("t_ns", *COLUMNS))
    since = (t_ns - t_ns[0]).astype(float)
    ends = np.arange(1, since[-1] // NS_PER_MS + 2) * NS_PER_MS - 1
    cwnd, rtt = (sampled.at(since, of_acks.astype(float), ends) for of_acks in values)
    return np.stack([cwnd / 1000, rtt], axis=1).astype(np.float32)
