# SPDX-License-Identifier: Apache-2.0
"""`Run`: the tables of a scenario that was run, and their pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rdcnlab.fields.errors import RunError
from rdcnlab.runs import stored, views
from rdcnlab.runs.parts import WHOLE, Part
from rdcnlab.runs.shipped import Row
from rdcnlab.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

    from rdcnlab.analysis.drawing import Drawing
    from rdcnlab.analysis.results.timeline import Timeline
    from rdcnlab.runs.frame import Runs


@dataclass(frozen=True, repr=False)
class Run:
    """The result of running a scenario.

    Parameters
    ----------
    id : str
        64 hexadecimal digits.
    scenario : Scenario
        The scenario that was run.
    provenance : dict
        How the run was made: engine, versions, times.
    digests : dict of str to str
        sha256 of each table's content.
    source : Path or Row
        Directory of the run, or its row in the shipped results.
    """

    id: str
    scenario: Scenario
    provenance: Mapping[str, Any]
    digests: Mapping[str, str]
    source: Path | Row

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        network, flows = self.scenario.network.name, len(self.scenario.flows)
        return f"<run {self.id[:12]}: {network}, {flows} flow{'s' * (flows != 1)}, seed {self.scenario.seed}>"

    @property
    def shipped(self) -> bool:
        """Whether the run came with the package, instead of being made on this machine."""
        return isinstance(self.source, Row)

    @property
    def end_s(self) -> float:
        """Virtual time in s at which the run ended, or the scenario's limit if the run does not say it."""
        limit_s = self.scenario.limit / 1e9
        return min(float(self.provenance.get("virtual_s") or limit_s), limit_s)

    def holds(self, needs: Mapping[str, Part]) -> bool:
        """Return whether the run has these parts of tables. Shipped results have only some parts."""
        return not isinstance(self.source, Row) or all(self.source.copy(*need) is not None for need in needs.items())

    def table(self, name: str, part: Part = WHOLE) -> pa.Table:
        """Return a part of a table, with the columns of `rdcnlab.engines.SCHEMAS`.

        Raises
        ------
        RunError
            The shipped results do not have this part of the table. The scenario must be run to get it. Or the stored
            table is not what was written.
        """
        if isinstance(self.source, Row):
            return self.source.table(name, part)
        return part.of(stored.table(self.source, name))

    def file(self, name: str) -> Path:
        """Return the path of a file of the run, such as a capture; see ``probes.capture``.

        Raises
        ------
        RunError
            The run has no such file. Shipped results have none.
        """
        if isinstance(self.source, Row):
            raise RunError(
                f"the shipped results do not hold the file '{name}' of run {self.id[:12]}; "
                "with the environment's RDCNLAB_RESULTS=none it is run here"
            )
        if name not in self.provenance.get("files", {}):
            names = ", ".join(self.provenance.get("files", {})) or "no files beside its tables"
            raise RunError(f"run {self.id[:12]} has {names}, not '{name}'")
        return stored.file(self.source, name)

    def printed(self, program: str, *, errors: bool = False) -> str:
        """Return what a program printed: its standard output, or its standard error.

        Raises
        ------
        RunError
            The scenario has no such program. Or the run was shipped, which has no output.
        """
        path = self.file(f"programs/{program}.{'err' if errors else 'out'}")
        return path.read_text(encoding="utf-8", errors="replace")

    def capture(self, host: str) -> pd.DataFrame:
        """Return the packets that a host of ``probes.capture`` sent and received.

        Parameters
        ----------
        host : str
            The host's name.

        Returns
        -------
        DataFrame
            One row for each IPv4 packet, in the order of time: ``t_ns`` since the start of the scenario; ``leaves``:
            whether the host sent it; ``src``, ``dst``: hosts, or addresses that are no host's; ``protocol``: ``tcp``,
            ``udp`` or a number; ``sport``, ``dport``; ``flow``; ``length_B`` of the frame, ``payload_B``; ``ttl``,
            ``ip_id``, ``ecn`` (empty, ``ECT(0)``, ``ECT(1)`` or ``CE``). Of TCP: ``flags`` such as ``SYN ACK``,
            ``seq``, ``ack``, ``window`` (as in the header), ``ts_val``, ``ts_ecr``. What a packet lacks is missing.

        Raises
        ------
        InputError
            The scenario does not capture at this host.
        RunError
            Shipped results have no captures.
        """
        from rdcnlab.runs import captured  # loads pandas

        return captured.table(self.scenario, host, self.file)

    @cached_property
    def ledger(self) -> pd.DataFrame:
        """What became of every frame: a row for each line, queue, switch and host of the network.

        The columns ``entered`` and ``made`` together are ``delivered``, ``ended``, ``dropped`` and ``waiting``
        together; ``reasons`` says in words why frames were dropped. See ``ledger`` in `rdcnlab.engines.schema`.

        Raises
        ------
        RunError
            The run has no ledger: another engine than ``kernel`` made it, or it was stored before there were ledgers.
        """
        from rdcnlab.runs.ledger import by_place  # loads pandas

        if "ledger" not in self.digests:
            raise RunError(f"run {self.id[:12]} has no ledger; runs of the engine kernel that are made now have one")
        return by_place(self.table("ledger"))

    @cached_property
    def _alone(self) -> Runs:
        from rdcnlab.runs.frame import Runs

        return Runs((self,))

    @property
    def flows(self) -> pd.DataFrame:
        """One row for each flow; the columns are those of `Runs.flows`, as those of the other tables are."""
        return self._alone.flows

    @property
    def throughput(self) -> pd.DataFrame:
        """Bytes by bin, place and flow."""
        return self._alone.throughput

    @property
    def queues(self) -> pd.DataFrame:
        """Queued bytes, drops and marks by bin and link."""
        return self._alone.queues

    @property
    def tcp(self) -> pd.DataFrame:
        """Congestion window and RTT over time."""
        return self._alone.tcp

    @property
    def events(self) -> pd.DataFrame:
        """Slots, losses, timeouts."""
        return self._alone.events

    @cached_property
    def programs(self) -> pd.DataFrame:
        """Start, end and exit status of each program, and what it printed: ``stdout``, ``stderr``.

        Raises
        ------
        RunError
            The scenario has no programs. Or the run was shipped, which has no output.
        """
        from rdcnlab.runs.columns import Table  # loads pandas

        frame = self._alone.programs
        texts = {
            name: [self.printed(program, errors=name == "stderr") for program in frame["program"]]
            for name in ("stdout", "stderr")
        }
        return Table(frame.assign(**texts))

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name, as they are stored; `flows`, `tcp` and the others are data frames."""
        return {name: self.table(name) for name in self.digests}

    def plot(self, *, span_ms: tuple[float, float] | None = None, sequence: bool = False) -> Drawing:
        """Draw the run over time: timetables, goodput and window of each flow, queues, losses and ECN marks.

        Nights are shaded; without nights, the time that the first flow that moves spends on another link. Where bins
        are joined because there are more of them than pixels, a line is their mean, and a band reaches from the least
        to the largest.

        Parameters
        ----------
        span_ms : (float, float), optional
            Begin and end of the drawn time in ms; by default the whole run.
        sequence : bool
            Draw the bytes that were delivered in place of the rate: those that ACKs acknowledge, if `Probes.acks`
            records them, otherwise payload at the receiver.

        Raises
        ------
        InputError
            The span is not within the run.
        RunError
            A shipped run lacks the table ``throughput``.

        Examples
        --------
        >>> from rdcnlab_papers import aykurt
        >>> run = aykurt.fig4(profile="paper").stored_runs()[0]
        >>> figure = run.plot(span_ms=(0, 200))
        >>> [float(ms) for ms in figure.axes[0].get_xlim()]
        [0.0, 200.0]
        """
        return views.current.plot(self, span_ms=span_ms, sequence=sequence)

    def timeline(self) -> Timeline:
        """Return the run as a page that can be zoomed; a notebook shows it, and ``save("run.html")`` writes it.

        The page has the timetables, rates, congestion windows, queues and round-trip times over one time axis, and each
        loss, mark and retransmission. It is one file that works without a network. Curves of more points than a screen
        can show keep their extremes.

        Raises
        ------
        RunError
            A shipped run lacks the table ``throughput``.

        Examples
        --------
        >>> from rdcnlab_papers import aykurt
        >>> run = aykurt.fig4(profile="paper").stored_runs()[0]
        >>> run.timeline().html.startswith("<!doctype html>")
        True
        """
        return views.current.timeline(self)

    def limits(self) -> pd.DataFrame:
        """Say what limited each flow, as far as the tables show it.

        Returns
        -------
        DataFrame
            ``flow``, ``goodput_Gbps``; ``line_busy``: share of the rate of the fullest line that it used, while it was
            there; ``dark``: share of its time in which its timetable is dark; ``lost``: packets; ``retransmits``,
            ``timeouts``; ``send_buffer``, ``receive_buffer``: share of the time with data to send in which this buffer
            limited it, as the kernel counts (not in shipped runs); ``limited_by``: the reasons in words, the strongest
            first.

        Examples
        --------
        >>> from rdcnlab_papers import aykurt
        >>> run = aykurt.fig4(profile="paper").stored_runs()[0]
        >>> run.limits()["flow"].tolist()
        ['main', 'migrated']
        """
        return views.current.limits(self)
