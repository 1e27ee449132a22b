# SPDX-License-Identifier: Apache-2.0
"""The tables of many runs as data frames. Every row also has columns for the settings of its scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rdcnlab.fields.errors import RunError
from rdcnlab.runs import join, views
from rdcnlab.runs.once import RowCache, RunCache
from rdcnlab.runs.parts import WHOLE, Part
from rdcnlab.runs.run import Run
from rdcnlab.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from rdcnlab.analysis.results.comparison import RunComparison
    from rdcnlab.analysis.results.slowdown import Slowdown


class Runs:
    """Runs in a fixed order, and their joined tables.

    Every table has the columns ``run`` (position of the run in this object), ``seed``, ``period_ms`` (NaN if no path
    changes) and ``cc`` (of the flow if the row has one, otherwise of the scenario). There is one more column for every
    other setting that varies between the runs. Text is categorical in all tables except ``flows``: all other tables
    have many rows for each flow.

    Parameters
    ----------
    runs : sequence of Run
        May be empty.
    parts : dict of str to Part, optional
        The part of each table that is read. A table that is not named is read completely.
    """

    def __init__(self, runs: Sequence[Run], parts: Mapping[str, Part] | None = None) -> None:
        self._runs = tuple(runs)
        self._parts = dict(parts or {})
        #: Tables that were computed for these runs or for those that they were selected from, and the places of these
        #: runs there; see `rdcnlab.runs.once`.
        self.cache, self.indices = RunCache(), np.arange(len(self._runs))
        self._read = RowCache()

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __getitem__(self, index: int) -> Run:
        return self._runs[index]

    def __repr__(self) -> str:
        return f"<{len(self)} runs>"

    def select(self, keep: Callable[[Scenario], bool]) -> Runs:
        """Return the runs of the scenarios that `keep` accepts, in the same order; they are numbered from 0 again."""
        return self._at([index for index, run in enumerate(self._runs) if keep(run.scenario)])

    def part(self, begin: int, end: int) -> Runs:
        """Return the runs from position `begin` up to, but without, `end`; they are numbered from 0 again."""
        return self._at(range(len(self))[begin:end])

    def among(self, scenarios: Iterable[Scenario]) -> Runs:
        """Return the runs of some scenarios, in the same order; they are numbered from 0 again."""
        hashes = {scenario.hash for scenario in scenarios}
        return self.select(lambda scenario: scenario.hash in hashes)

    def index_of(self, scenario: Scenario) -> int:
        """Return the number of the run of a scenario.

        Raises
        ------
        RunError
            There is no such run.
        """
        try:
            return self._places_by_hash[scenario.hash]
        except KeyError:
            raise RunError(
                f"no run of the scenario {scenario.hash[:12]} (seed {scenario.seed}) among {self!r}"
            ) from None

    @cached_property
    def _places_by_hash(self) -> dict[str, int]:
        return {run.scenario.hash: index for index, run in enumerate(self._runs)}

    def _at(self, positions: Sequence[int]) -> Runs:
        """Return the runs at some positions. They share the kept tables of these runs."""
        selection = Runs([self._runs[index] for index in positions], self._parts)
        selection.cache, selection.indices = self.cache, self.indices[np.array(positions, dtype=np.int64)]
        selection._read = self._read
        return selection

    def compare(self, by: str | Sequence[str] | None = None) -> RunComparison:
        """Compare the runs: a table of means with intervals, and a picture with a point for each run.

        Parameters
        ----------
        by : str or sequence of str, optional
            Settings to compare, by the names of columns of `scenarios`. By default all that vary, without the seed.

        Returns
        -------
        RunComparison
            A notebook shows it. Its ``table`` is a data frame, and ``plot()`` draws it.

        Raises
        ------
        InputError
            There is no run, or no such setting.

        Examples
        --------
        >>> from rdcnlab_papers import aykurt
        >>> runs = aykurt.fig4(profile="paper").stored_runs()
        >>> table = runs.compare(["cc", "period_ms"]).table
        >>> table[["cc", "period_ms", "flow", "runs"]].head(2).to_numpy().tolist()
        [['bbr', 1.0, 'main', 30], ['bbr', 1.0, 'migrated', 30]]
        """
        return views.current.compare(self, by)

    def slowdown(self, by: str | None = None, edges: Sequence[int | str] | None = None) -> Slowdown:
        """Divide the completion time of flows by the ideal one, and group them by size.

        The ideal time is that of a flow which is alone and always has the whole rate of its way; see
        `rdcnlab.scenario.ideal`.

        Parameters
        ----------
        by : str, optional
            A column of `flows` to compare; by default the congestion control.
        edges : sequence of int or str, optional
            Ends of the groups of sizes, in bytes or as text such as ``10 kB``; by default 10 kB, 100 kB, 1 MB, 10 MB.

        Returns
        -------
        Slowdown
            A notebook shows it. Its ``table`` is a data frame with median and 99th percentile, each with its interval
            over seeds; ``plot()`` draws it; ``values`` has one row for each flow.

        Raises
        ------
        InputError
            There is no run, or no such column.

        Examples
        --------
        >>> from rdcnlab_papers import aykurt
        >>> run = aykurt.fig4(profile="paper").stored_runs()[0]
        >>> table = Runs([run]).slowdown(edges=["1 GB"]).table
        >>> table[["cc", "size", "flows"]].to_numpy().tolist()
        [['cubic', 'over 1 GB', 2], ['cubic', 'all', 2]]
        """
        return views.current.slowdown(self, by, edges)

    def frame(self, run: Run, name: str) -> pd.DataFrame:
        """Return a table of one run, without the columns of the scenario's settings."""
        frame: pd.DataFrame = run.table(name, self._parts.get(name, WHOLE)).to_pandas()
        return frame

    @cached_property
    def scenarios(self) -> pd.DataFrame:
        """One row for each run: ``run``, ``id``, ``shipped``, ``seed``, ``cc``, ``period_ms``, settings that vary."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"run": index, "id": run.id, "shipped": run.shipped, **fields}
                for index, (run, fields) in enumerate(zip(self._runs, self._fields, strict=True))
            ]
        )

    @cached_property
    def flows(self) -> pd.DataFrame:
        """One row for each flow; see `rdcnlab.engines.schema`."""
        return self._table("flows")

    @cached_property
    def throughput(self) -> pd.DataFrame:
        """Bytes by bin, place and flow."""
        return self._table("throughput")

    @cached_property
    def queues(self) -> pd.DataFrame:
        """Queued bytes, drops and marks by bin and link."""
        return self._table("queues")

    @cached_property
    def tcp(self) -> pd.DataFrame:
        """Congestion window and RTT over time."""
        return self._table("tcp")

    @cached_property
    def events(self) -> pd.DataFrame:
        """Slots, losses, timeouts."""
        return self._table("events")

    @cached_property
    def programs(self) -> pd.DataFrame:
        """Start, end, exit status and output of each program; of scenarios with programs only.

        Raises
        ------
        RunError
            A run has no programs.
        """
        without = next((run for run in self._runs if "programs" not in run.digests), None)
        if without is not None:
            raise RunError(f"run {without.id[:12]} has no programs")
        return self._table("programs")

    def event_times(self, *names: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the run and the time in ns of each event with one of these names, sorted by run.

        This takes a small part of the time and memory of the table `events`.
        """
        return join.event_times(self._runs, self._parts.get("events", WHOLE), names)

    def rows(self, name: str) -> pd.DataFrame:
        """Return a table with the column ``run``, and without settings: they take longer than the table itself."""
        table, indices = self._rows(name)
        return join.frame(table, categories=True).assign(run=indices)

    def _rows(self, name: str) -> tuple[pa.Table, join.Indices]:
        """Return the rows of a table and the position of each row's run; see `rdcnlab.runs.join.read_part`."""
        kept = self._read.find(name, self.indices)
        if kept is None:
            kept = join.read_part(self._runs, name, self._parts.get(name, WHOLE))
            self._read.keep(name, self.indices, *kept)
        return kept

    @cached_property
    def _fields(self) -> list[dict[str, Any]]:
        return varying([run.scenario for run in self._runs])

    def _table(self, name: str) -> pd.DataFrame:
        from rdcnlab.runs.columns import Table  # pandas takes a second; workers and the help do not need it

        if not self._runs:
            return Table({"run": []})
        table, indices = self._rows(name)
        # the name of a flow occurs once in ``flows``, and thousands of times in other tables
        categories = name not in ("flows", "programs")
        frame = join.frame(table, categories=categories)
        if "flow" in frame.columns and "cc" not in frame.columns:
            cc_by_flow = [{flow.name: flow.cc for flow in run.scenario.flows} for run in self._runs]
            frame.insert(0, "cc", join.looked_up(frame["flow"].array, indices, cc_by_flow))
        fields = {"run": list(range(len(self))), **_columns(self._fields)}
        setting_columns = {column: values for column, values in fields.items() if column not in frame.columns}
        for column, values in reversed(setting_columns.items()):
            frame.insert(0, column, join.repeat_by_run(values, indices, categories=categories))
        return Table(frame, copy=False)


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def varying(scenarios: Sequence[Scenario]) -> list[dict[str, Any]]:
    """Return for each scenario the settings that distinguish it from the others.

    These are always ``seed``, ``cc`` and ``period_ms``, and every other setting that varies between the scenarios,
    under its dotted name.
    """
    data = [scenario.canonical for scenario in scenarios]
    differences = sorted(_varying_parts(data), key=lambda settings: settings[0])
    return [
        {
            "seed": scenario.seed,
            "cc": variants(scenario),
            "period_ms": period_ms(scenario),
            **{name: values[id(canonical.get(part))] for name, part, values in differences if name != "seed"},
        }
        for scenario, canonical in zip(scenarios, data, strict=True)
    ]


def _varying_parts(data: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, dict[int, Any]]]:
    """Yield the settings that vary: dotted name, name of the part of the scenario, and the value by the part's id.

    Scenarios that differ in their seed share the other parts of their canonical data, so each part is read once.
    """
    for part in dict.fromkeys(name for canonical in data for name in canonical):
        values_by_id = {id(canonical.get(part)): canonical.get(part) for canonical in data}
        if len(values_by_id) == 1:
            continue
        flat = {key: _flat({part: value}) if value is not None else {} for key, value in values_by_id.items()}
        for name in dict.fromkeys(name for fields in flat.values() for name in fields):
            values = {key: fields.get(name) for key, fields in flat.items()}
            if len({repr(value) for value in values.values()}) > 1:
                yield name, part, values


def variants(scenario: Scenario) -> str:
    """Return the names of the congestion controls of a scenario's flows, each once: ``cubic`` or ``cubic+bbr``."""
    return "+".join(dict.fromkeys(flow.cc for flow in scenario.flows if flow.cc is not None))


def period_ms(scenario: Scenario) -> float:
    """Return the period of the scenario's timetables in ms; NaN if there is no timetable or the periods differ."""
    periods = {flow.period for flow in scenario.flows if flow.slots}
    period = periods.pop() if len(periods) == 1 else None
    return float("nan") if period is None else period / 1e6


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Flatten settings to dotted names. Of flows only the sizes are included: the tables have their other settings."""
    if isinstance(value, dict):
        parts = [_flat(item, f"{prefix}.{name}" if prefix else name) for name, item in value.items()]
    elif isinstance(value, list) and prefix == "flows":
        parts = [{f"flows.{flow['name']}.size": flow["size"]} for flow in value]
    elif isinstance(value, list) and value and isinstance(value[0], dict) and "name" in value[0]:
        parts = [_flat({k: v for k, v in item.items() if k != "name"}, f"{prefix}.{item['name']}") for item in value]
    else:
        return {prefix: ", ".join(map(str, value)) if isinstance(value, list) else value}
    return {name: item for part in parts for name, item in part.items()}
