# SPDX-License-Identifier: Apache-2.0
"""A network that is asked line by line, in virtual time, as a person asks a network of machines.

A lab is a scenario that grows. Each line is a program of the scenario, which starts at the lab's instant; then the
scenario is run again from its start, and what the program printed is the answer. So a line can be taken back, and what
was typed can be saved as a file that gives the same bytes.

What earlier lines printed is there again, and is compared: programs of a run draw their random numbers from one
generator, so that a new program can change those that others get. The answer names such lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.fields.phrases import unknown
from rdcnlab.fields.units import DURATION, NS_PER_S, in_seconds
from rdcnlab.runs.campaign import CampaignError, campaign
from rdcnlab.runs.host import Host
from rdcnlab.runs.live import in_notebook
from rdcnlab.runs.printed import Printed, changed
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store
from rdcnlab.runs.typed import Given, Typed
from rdcnlab.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

    from rdcnlab.analysis.drawing import Drawing
    from rdcnlab.scenario.program import Program


class Lab:
    """A network whose hosts run what is typed, at instants of virtual time.

    Parameters
    ----------
    network : str, Path, dict or Scenario
        A file with a network, and whatever else a scenario has; the name of a network that rdcnlab has; the same as
        data; or a scenario. No flow is needed. A ``limit`` is not used: `patience` takes its place.
    patience : str
        Virtual time after which a line that does not end is ended.
    store : Store, optional
        Where runs are stored; by default the user's store.

    Raises
    ------
    InputError
        There is no such network, or it is not valid.

    Examples
    --------
    >>> lab = Lab("aykurt")
    >>> lab.hosts
    ('s1', 's2', 'r1', 'r2')
    >>> lab.at("2 s")
    >>> lab.now
    '2 s'
    """

    def __init__(
        self, network: str | Path | Mapping[str, Any] | Scenario, *, patience: str = "60 s", store: Store | None = None
    ) -> None:
        self._given = Given.of(network)
        self._store = Store() if store is None else store
        try:
            self._patience_ns = DURATION.parse(patience)
        except ValueError as error:
            raise InputError.of("patience", patience, str(error)) from None
        self._lines = [Typed(limit_ns=self._limit_ns(0))]
        self._made: tuple[Typed, Scenario] | None = None
        self._saved: set[Path] = set()
        self._watched = in_notebook()
        self._scenario(self._typed)

    def __repr__(self) -> str:
        return f"<lab of {self.scenario.network.name} at {self.now}>"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.hosts]

    def __getattr__(self, name: str) -> Host:
        """Return a host: ``lab.s1("ping -c 3 r1")`` runs a program there."""
        if name.startswith("_") or name not in self.hosts:
            raise AttributeError(unknown(name, [] if name.startswith("_") else self.hosts, "host"))
        return Host(self, name)

    @property
    def _typed(self) -> Typed:
        return self._lines[-1]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts."""
        return tuple(host.name for host in self.scenario.network.machines)

    @property
    def links(self) -> tuple[str, ...]:
        """Names of the links."""
        return tuple(link.name for link in self.scenario.network.links)

    @property
    def now(self) -> str:
        """The instant of the next line, in s."""
        return in_seconds(self._typed.now_ns)

    @property
    def scenario(self) -> Scenario:
        """All that was typed, as a scenario. Before the first program it has one that does nothing."""
        return self._scenario(self._typed)

    @property
    def run(self) -> Run:
        """The run of the last line that was run: its tables and pictures.

        Raises
        ------
        RunError
            Nothing was run yet.
        """
        if self._typed.run is None:
            raise RunError("nothing was run yet")
        return self._typed.run

    def watch(self, on: bool = True) -> None:
        """Show the rates while a line runs, and the picture of its run beside what it printed.

        Curves are those of ``rdcnlab run``, below a progress bar with the virtual time. In a notebook this is on until
        it is turned off; a program can turn it on.
        """
        self._watched = on

    def plot(self, *, span_ms: tuple[float, float] | None = None) -> Drawing:
        """Draw the run of the last line that was run: when programs ran, what they sent, and queues; see `Run.plot`.

        Raises
        ------
        RunError
            Nothing was run yet.
        """
        return self.run.plot(span_ms=span_ms)

    def at(self, instant: str) -> None:
        """Go to a later instant, such as ``2 s``, or ``+10 ms`` from now."""
        word, now_ns = instant.strip(), self._typed.now_ns
        try:
            ns = DURATION.parse(word.removeprefix("+"))
        except ValueError:
            allowed = "a time with a unit, such as '2 s', or '+10 ms' from now"
            raise InputError.of("at", instant, allowed) from None
        ns += now_ns if word.startswith("+") else 0
        if ns < now_ns:
            raise InputError.of("at", instant, f"not before now, {self.now}; undo goes back")
        self._lines.append(replace(self._typed, now_ns=ns))

    def undo(self) -> None:
        """Take the last line back."""
        if len(self._lines) > 1:
            self._lines.pop()

    def link(self, name: str, *, up: bool) -> None:
        """Take a link down, or up again. What is under way there waits; its queue fills."""
        if name not in self.links:
            raise InputError.unknown("link", name, self.links, "link")
        self._add(self._typed.with_link(name, up=up, limit_ns=self._limit_ns(self._typed.now_ns)))

    def path(self, host: str, path: str) -> None:
        """Set the way of all packets that programs of a host send, such as a link, before its first program."""
        self._require(host)
        if any(program.host == host for program in self._programs(self._typed)):
            reason = f"programs of {host} ran already, and all of them take one way; undo them first"
            raise InputError.of("path", path, reason=reason)
        typed = replace(self._typed, paths={**self._typed.paths, host: path})
        limit_ns = max(typed.limit_ns, self._limit_ns(typed.now_ns))
        self._scenario(typed.with_program(host, "true", limit_ns))
        self._lines.append(typed)

    def do(self, host: str, command: str) -> Printed:
        """Run a program in a host from now on, and go to its end; with ``&`` at its end, start it only.

        Parameters
        ----------
        host : str
            Name of the host.
        command : str
            A command line; names of hosts are known.

        Returns
        -------
        Printed
            What it printed.

        Raises
        ------
        InputError
            There is no such host, or the line is not one of a program.
        RunError
            The program is not installed, or the run failed. The line is taken back.
        """
        self._require(host)
        self._add(self._typed.with_program(host, command, self._limit_ns(self._typed.now_ns)))
        name = self._programs(self._typed)[-1].name
        return Printed(f"[{name}]\n") if command.rstrip().endswith("&") else self._ran([name])

    def jobs(self) -> list[str]:
        """Return the names of programs that were started with ``&`` and not waited for."""
        return [program.name for program in self._programs(self._typed) if program.background]

    def wait(self, *names: str) -> Printed:
        """Go to the end of programs that were started with ``&``, by default all, and return what they printed."""
        jobs = self.jobs()
        for name in names:
            if name not in jobs:
                raise InputError.unknown("wait", name, jobs, "job")
        wanted = list(names or jobs)
        if not wanted:
            return Printed("")
        numbers = {number for number, program in enumerate(self._programs(self._typed)) if program.name in wanted}
        self._add(self._typed.waiting(numbers, self._limit_ns(self._typed.now_ns)))
        return self._ran(wanted)

    def look(self, host: str, *lines: str) -> list[str]:
        """Run shell lines in a host at this instant, such as ``ss -ti``, and return what they print; none is kept."""
        from rdcnlab.engines.kernel.looking import look

        self._require(host)
        there = replace(self._typed, limit_ns=max(self._typed.limit_ns, self._limit_ns(self._typed.now_ns)))
        return [answer.text for answer in look(self._scenario(there), host, self._typed.now_ns, lines)]

    def tcp(self, host: str) -> pd.DataFrame:
        """Return the TCP connections of a host at this instant; see `rdcnlab.runs.sockets.table`."""
        from rdcnlab.runs import sockets  # loads pandas

        (text,) = self.look(host, "ss -tinH")
        return sockets.table(text, self.addresses)

    @property
    def addresses(self) -> dict[str, str]:
        """The address of each host."""
        from rdcnlab.engines.network import compile_network  # who imports rdcnlab mostly needs no lab

        return {name: station.ip for name, station in compile_network(self.scenario).stations.items()}

    def save(self, path: str | Path) -> Path:
        """Write all that was typed as a scenario; `rdcnlab run` gives the same bytes.

        Raises
        ------
        InputError
            There is such a file already, which this lab has not saved, or it cannot be written.
        """
        path = Path(path)
        if path.exists() and path.resolve() not in self._saved:
            raise InputError.of("save", str(path), "a new file; there is one of this name already")
        try:
            path.write_text(self.scenario.dump(), encoding="utf-8")
        except OSError as error:
            raise InputError.of("save", str(path), f"a file that can be written ({error.strerror})") from None
        self._saved.add(path.resolve())
        return path

    def _require(self, host: str) -> None:
        if host not in self.hosts:
            raise InputError.unknown("host", host, self.hosts, "host")

    def _add(self, typed: Typed) -> None:
        """Take a line if what was typed is a valid scenario with it."""
        self._scenario(typed)
        self._lines.append(typed)

    def _scenario(self, typed: Typed) -> Scenario:
        if self._made is None or self._made[0] is not typed:
            self._made = (typed, self._given.scenario(typed))
        return self._made[1]

    def _programs(self, typed: Typed) -> tuple[Program, ...]:
        """Return the programs that were typed; those of the file come before them."""
        programs = self._scenario(typed).programs
        return programs[len(programs) - len(typed.programs) :]

    def _ran(self, names: list[str]) -> Printed:
        """Run the scenario, go to the end of some programs, and return what they printed."""
        before = self._lines[-2].run
        try:
            (run,) = campaign([self.scenario], workers=1, store=self._store, progress=self._watched, hints=False)
        except BaseException as error:
            self.undo()
            if isinstance(error, CampaignError):
                raise error.failures[0].error from None
            raise
        rows = run.programs.set_index("program").loc[names]
        ends = rows["end_s"].fillna(run.end_s)
        now_ns = max(self._typed.now_ns, *(round(1e9 * end) for end in ends))
        self._lines[-1] = replace(self._typed, now_ns=now_ns, run=run)
        status = None if rows["status"].isna().iloc[-1] else int(rows["status"].iloc[-1])
        text, others = "".join(rows["stdout"] + rows["stderr"]), () if before is None else changed(before, run)
        return Printed(text, status, others, run if self._watched else None)

    def _limit_ns(self, now_ns: int) -> int:
        """Return when a run ends at the latest: a whole second after so much patience."""
        return -(-(now_ns + self._patience_ns) // NS_PER_S) * NS_PER_S
