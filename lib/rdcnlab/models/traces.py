# SPDX-License-Identifier: Apache-2.0
"""Traces of flows: what their ACKs tell, once a ms, from the first one on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs, period_ms

LENGTH_MS = 500
COLUMNS = ("cwnd_B", "srtt_us")
#: Longest flow that is looked at.
_MOST_MS = 3_600_000

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Traces:
    """Traces of flows.

    Parameters
    ----------
    samples : ndarray of float32, shape (n, ms, 2)
        Congestion window [kB] and smoothed RTT [us].
    about : DataFrame
        A row for each: ``variant``, ``run``, ``seed``, ``period_ms``, ``pair`` (the variants of the run's flows),
        ``flow``, ``begin_ms``. Nothing of it but the variant, which is what shall be predicted, is ever shown to a
        model.
    """

    samples: Floats
    about: pd.DataFrame

    def __len__(self) -> int:
        return len(self.samples)

    def where(self, mask: npt.ArrayLike) -> Traces:
        """Return some of the traces."""
        chosen = np.asarray(mask)
        return Traces(self.samples[chosen], self.about[chosen].reset_index(drop=True))

    def first(self, length_ms: int) -> Traces:
        """Return the begin of each trace."""
        return Traces(self.samples[:, :length_ms], self.about)

    def among(self, variants: Sequence[str]) -> Traces:
        """Return the traces of runs in which all flows are of some variants."""
        alien = set(self.about.loc[~self.about["variant"].isin(variants), "run"])
        return self.where(~self.about["run"].isin(alien).to_numpy())

    def drawn(self, count: int) -> Traces:
        """Return so many of the traces, drawn once for all; all where there are no more."""
        if len(self) <= count:
            return self
        mask = np.zeros(len(self), dtype=bool)
        mask[np.random.default_rng(0).permutation(len(self))[:count]] = True
        return self.where(mask)

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants there are, in the order of the alphabet."""
        return tuple(sorted(set(self.about["variant"])))


def traces(runs: Runs, length_ms: int = LENGTH_MS, every_ms: int = LENGTH_MS) -> Traces:
    """Cut the flows of runs into traces; what is shorter at the end is left out.

    Parameters
    ----------
    runs : Runs
        With ``tcp`` tables in bins of at most 1 ms.
    length_ms : int
        Length of a trace.
    every_ms : int
        From the begin of one to that of the next; less than their length has them overlap.

    Raises
    ------
    ValueError
        A run has no such table.
    """
    samples: list[Floats] = []
    about: list[dict[str, Any]] = []
    for place, run in enumerate(runs):
        scenario = run.scenario
        if scenario.probes.tcp == "none" or (scenario.probes.tcp == "bin" and scenario.probes.bin > NS_PER_MS):
            raise ValueError(f"{scenario.hash[:12]}: windows and RTTs were not recorded once a ms")
        variant_of = {flow.name: flow.cc for flow in scenario.flows}
        of_run = {
            "run": place,
            "seed": scenario.seed,
            "period_ms": period_ms(scenario),
            "pair": " and ".join(sorted({str(flow.cc) for flow in scenario.flows})),
        }
        for names, acks in cut(runs.frame(run, "tcp")):
            whole = series(acks)
            for begin in range(0, len(whole) - length_ms + 1, every_ms):
                samples.append(whole[begin : begin + length_ms])
                about.append({"variant": variant_of[names["flow"]], **of_run, **names, "begin_ms": begin})
    stacked = np.stack(samples) if samples else np.empty((0, length_ms, len(COLUMNS)), dtype=np.float32)
    columns = ["variant", "run", "seed", "period_ms", "pair", "flow", "begin_ms"]
    return Traces(stacked, pd.DataFrame(about, columns=columns))


def twins(of: Traces) -> pd.DataFrame:
    """Return how many traces nobody can tell apart, since flows of two variants have the very same one.

    Compared are traces that differ in their flow's variant only: of one period and seed, of flows of one name, beside a
    flow of the same variant, from the same ms on. Runs have two flows.

    Returns
    -------
    DataFrame
        ``period_ms``, ``variants``, how many ``pairs`` of traces there are, and shares [%] of these: with the ``same``
        window and RTT in every sample, and with the ``same_window``.
    """
    partners = [
        next((name for name in pair.split(" and ") if name != own), own)
        for pair, own in zip(of.about["pair"], of.about["variant"], strict=True)
    ]
    alike = ["period_ms", "seed", "flow", "partner", "begin_ms"]
    rows = []
    for (period, *_), group in of.about.assign(partner=np.array(partners, dtype=str)).groupby(alike):
        for (one, of_one), (other, of_other) in combinations(zip(group.index, group["variant"], strict=True), 2):
            window, rtt = (100.0 * (of.samples[one] == of.samples[other]).all(axis=0)).tolist()
            rows.append((period, " and ".join(sorted((of_one, of_other))), min(window, rtt), window))
    found = pd.DataFrame(rows, columns=["period_ms", "variants", "same", "same_window"])
    return found.groupby(["period_ms", "variants"], as_index=False).agg(
        pairs=("same", "size"), same=("same", "mean"), same_window=("same_window", "mean")
    )


def cut(acks: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Go through the flows of a table of ACKs: what each is called (``run``, ``flow``), and its rows in order of time.

    Raises
    ------
    InputError
        A column is not there or has a value that cannot be.
    """
    wanted = ("t_ns", *COLUMNS)
    missing = [name for name in wanted if name not in acks.columns]
    if missing:
        raise InputError.of("columns", ", ".join(map(str, acks.columns)), f"a table with {', '.join(missing)}")
    if not len(acks):
        raise InputError.of("table", "no rows", "at least one ACK")
    for name in wanted:
        numbers = pd.to_numeric(acks[name], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        if not (np.isfinite(numbers) & (numbers >= 0)).all():
            wrong = acks[name].iloc[int(np.argmin(np.isfinite(numbers) & (numbers >= 0)))]
            raise InputError.of(f"column {name}", str(wrong), "numbers from 0 on")
    by = [name for name in ("run", "flow") if name in acks.columns]
    for name in by:
        if acks[name].isna().any():
            raise InputError.of(f"column {name}", None, "a name in every row")
    for key, of_flow in tables.groups(acks, by) if by else [((), acks)]:
        ordered = of_flow.sort_values("t_ns", kind="stable")
        span_ms = (ordered["t_ns"].iloc[-1] - ordered["t_ns"].iloc[0]) / NS_PER_MS
        if span_ms > _MOST_MS:
            raise InputError.of("column t_ns", f"{span_ms:.0f} ms of one flow", f"at most {_MOST_MS} ms, in ns")
        yield dict(zip(by, key, strict=True)), ordered


def series(acks: pd.DataFrame) -> Floats:
    """Return what the ACKs of one flow tell, once a ms: the last one before it ends.

    Parameters
    ----------
    acks : DataFrame
        ``t_ns``, ``cwnd_B``, ``srtt_us``, in order of time.

    Returns
    -------
    ndarray of float32, shape (ms, 2)
        Congestion window [kB] and smoothed RTT [us], from the first ACK on.
    """
    since = (acks["t_ns"] - acks["t_ns"].iloc[0]).to_numpy(dtype=float)
    ends = np.arange(1, since[-1] // NS_PER_MS + 2) * NS_PER_MS - 1
    cwnd, rtt = (tables.at(since, acks[name].to_numpy(dtype=float), ends) for name in COLUMNS)
    return np.stack([cwnd / 1000, rtt], axis=1).astype(np.float32)
