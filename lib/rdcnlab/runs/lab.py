# SPDX-License-Identifier: Apache-2.0
"""A network that is asked line by line, in virtual time, as a person asks a network of machines.

A lab is a scenario that grows. Each line is a program of the scenario, which starts at the lab's instant; then the
scenario is run again from its start, and what the program printed is the answer. Runs are exact, so all that was there
before is the same again. So a line can be taken back, what was typed can be saved, and the file gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.fields.phrases import unknown
from rdcnlab.fields.units import DURATION, NS_PER_S
from rdcnlab.runs.campaign import CampaignError, campaign
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.defaults import with_defaults
from rdcnlab.scenario.document import read
from rdcnlab.scenario.fabrics import FABRICS
from rdcnlab.scenario.presets import presets
from rdcnlab.scenario.timetable import RESERVED

if TYPE_CHECKING:
    import pandas as pd

_UNITS = "a time with a unit, such as '2 s', or '+10 ms' from now"


@dataclass(frozen=True)
class Answer:
    """What a line did.

    Parameters
    ----------
    text : str
        What its programs printed, standard error after standard output.
    status : int or None
        Exit status of the last of them. None: it did not end by itself.
    """

    text: str
    status: int | None = 0

    def __repr__(self) -> str:
        return self.text.removesuffix("\n")


@dataclass(frozen=True)
class _State:
    """All that was typed: the instant, the limit, programs as data, spans in which links are down, paths of hosts."""

    now_ns: int = 0
    limit_ns: int = 0
    programs: tuple[Mapping[str, Any], ...] = ()
    down: Mapping[str, tuple[tuple[int, int | None], ...]] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)


class Lab:
    """A network whose hosts run what is typed, at instants of virtual time.

    Parameters
    ----------
    network : str, Path, dict or Scenario
        A file with a network, and whatever else a scenario has; the name of a network that rdcnlab has; the same as
        data; or a scenario. No flow is needed.
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
        self._base, self._directory = _data(network)
        self._store = Store() if store is None else store
        try:
            self._patience_ns = DURATION.parse(patience)
        except ValueError as error:
            raise InputError.of("patience", patience, str(error)) from None
        self._states = [_State(limit_ns=self._limit_ns(0))]
        self._last: Run | None = None
        self._made: tuple[_State, Scenario] | None = None
        self._scenario(self._state)

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
    def _state(self) -> _State:
        return self._states[-1]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts."""
        return tuple(host.name for host in self.scenario.network.hosts)

    @property
    def links(self) -> tuple[str, ...]:
        """Names of the links."""
        return tuple(link.name for link in self.scenario.network.links)

    @property
    def now(self) -> str:
        """The instant of the next line, in s."""
        seconds = f"{self._state.now_ns / 1e9:.9f}".rstrip("0").rstrip(".")
        return f"{seconds} s"

    @property
    def seconds(self) -> float:
        """The instant of the next line."""
        return self._state.now_ns / 1e9

    @property
    def scenario(self) -> Scenario:
        """All that was typed, as a scenario. Before the first program it has one that does nothing."""
        return self._scenario(self._state)

    @property
    def run(self) -> Run:
        """The last run: its tables and pictures.

        Raises
        ------
        RunError
            Nothing was run yet.
        """
        if self._last is None:
            raise RunError("nothing was run yet")
        return self._last

    def at(self, instant: str) -> None:
        """Go to a later instant, such as ``2 s``, or ``+10 ms`` from now."""
        word = instant.strip()
        try:
            ns = DURATION.parse(word.removeprefix("+"))
        except ValueError:
            raise InputError.of("at", instant, _UNITS) from None
        ns += self._state.now_ns if word.startswith("+") else 0
        if ns < self._state.now_ns:
            raise InputError.of("at", instant, f"not before now, {self.now}; undo goes back")
        self._states.append(replace(self._state, now_ns=ns))

    def undo(self) -> None:
        """Take the last line back."""
        if len(self._states) > 1:
            self._states.pop()

    def link(self, name: str, *, up: bool) -> None:
        """Take a link down, or up again. What is under way there waits; its queue fills."""
        if name not in self.links:
            raise InputError.unknown("link", name, self.links, "link")
        spans = self._state.down.get(name, ())
        is_down = bool(spans) and spans[-1][1] is None
        if is_down != up:
            raise InputError.of("link", name, reason=f"{name} is {'down' if is_down else 'up'} already")
        now = self._state.now_ns
        spans = (*spans[:-1], (spans[-1][0], now)) if up else (*spans, (now, None))
        # a link that was down for no time was not down
        spans = tuple(span for span in spans if span[0] != span[1])
        self._add(replace(self._state, down={**self._state.down, name: spans}))

    def path(self, host: str, path: str) -> None:
        """Set the way of all packets that a host's programs send: a link, or a schedule of the network."""
        self._require(host)
        network = self.scenario.network
        known = [*self.links, *(schedule.name for schedule in network.schedules), *RESERVED]
        if path not in known:
            raise InputError.unknown("path", path, known, "link or schedule")
        self._add(replace(self._state, paths={**self._state.paths, host: path}))

    def do(self, host: str, command: str) -> Answer:
        """Run a program in a host from now on, and go to its end; with ``&`` at its end, start it only.

        Parameters
        ----------
        host : str
            Name of the host.
        command : str
            A command line; names of hosts are known.

        Returns
        -------
        Answer
            What it printed.

        Raises
        ------
        InputError
            There is no such host, or the line is not one of a program.
        RunError
            The program is not installed, or the run failed. The line is taken back.
        """
        self._require(host)
        line = command.strip()
        background = line.endswith("&")
        program = {"host": host, "run": line.removesuffix("&").strip(), "start": self._state.now_ns}
        programs = (*self._state.programs, {**program, "background": background})
        added = replace(self._state, programs=programs, limit_ns=self._limit_ns(self._state.now_ns))
        self._add(added)
        number = len(added.programs) - 1
        if background:
            return Answer(f"[{self._name(number)}]\n")
        return self._answered([number])

    def jobs(self) -> list[str]:
        """Return the names of programs that were started with ``&`` and not waited for."""
        return [self._name(number) for number, each in enumerate(self._state.programs) if each["background"]]

    def wait(self, *names: str) -> Answer:
        """Go to the end of programs that were started with ``&``, by default all, and return what they printed."""
        wanted = names or tuple(self.jobs())
        for name in wanted:
            if name not in self.jobs():
                raise InputError.unknown("wait", name, self.jobs(), "job")
        numbers = [number for number in range(len(self._state.programs)) if self._name(number) in wanted]
        if not numbers:
            return Answer("")
        programs = [
            {**each, "background": each["background"] and number not in numbers}
            for number, each in enumerate(self._state.programs)
        ]
        limit_ns = self._limit_ns(self._state.now_ns)
        self._states.append(replace(self._state, programs=tuple(programs), limit_ns=limit_ns))
        return self._answered(numbers)

    def look(self, host: str, *lines: str) -> list[str]:
        """Run shell lines in a host at this instant, such as ``ss -ti``, and return what they print; none is kept."""
        from rdcnlab.engines.kernel.looking import look

        self._require(host)
        there = replace(self._state, limit_ns=max(self._state.limit_ns, self._limit_ns(self._state.now_ns)))
        return [answer.text for answer in look(self._scenario(there), host, self._state.now_ns, lines)]

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
        """Write all that was typed as a scenario; `rdcnlab run` gives the same bytes."""
        path = Path(path)
        path.write_text(self.scenario.dump(), encoding="utf-8")
        return path

    def _require(self, host: str) -> None:
        if host not in self.hosts:
            raise InputError.unknown("host", host, self.hosts, "host")

    def _add(self, state: _State) -> None:
        """Take a state if it is a valid scenario."""
        self._scenario(state)
        self._states.append(state)

    def _name(self, number: int) -> str:
        return self.scenario.programs[len(self._base.get("programs", ())) + number].name

    def _answered(self, numbers: list[int]) -> Answer:
        """Run the scenario, go to the end of some programs, and return what they printed."""
        try:
            (self._last,) = campaign([self.scenario], workers=1, store=self._store, progress=False, hints=False)
        except BaseException as error:
            self.undo()
            if isinstance(error, CampaignError):
                raise error.failures[0].error from None
            raise
        rows = self._last.programs.set_index("program").loc[[self._name(number) for number in numbers]]
        ends = rows["end_s"].fillna(self._last.end_s)
        now_ns = max(self._state.now_ns, *(round(1e9 * end) for end in ends))
        self._states[-1] = replace(self._state, now_ns=now_ns)
        status = rows["status"].iloc[-1]
        return Answer("".join(rows["stdout"] + rows["stderr"]), None if status != status else int(status))

    def _limit_ns(self, now_ns: int) -> int:
        """Return when a run ends at the latest: a whole second after so much patience."""
        return -(-(now_ns + self._patience_ns) // NS_PER_S) * NS_PER_S

    def _scenario(self, state: _State) -> Scenario:
        """Return the scenario of what was typed."""
        if self._made is None or self._made[0] is not state:
            self._made = (state, self._composed(state))
        return self._made[1]

    def _composed(self, state: _State) -> Scenario:
        data = dict(self._base)
        typed = []
        for each in state.programs:
            path = {"path": state.paths[each["host"]]} if each["host"] in state.paths else {}
            typed.append({**each, "start": DURATION.format(each["start"]), **path})
        programs = [*data.get("programs", ()), *typed]
        if not programs and not data.get("flows") and not data.get("workloads"):
            programs = [{"host": _first_host(data, self._directory), "run": "true"}]
        if programs:
            data["programs"] = programs
        data["limit"] = DURATION.format(state.limit_ns)
        scenario = Scenario.from_dict(data, text=True, directory=self._directory)
        changes = {
            f"network.links.{name}.down": [
                [DURATION.format(begin), DURATION.format(state.limit_ns if end is None else end)]
                for begin, end in spans
            ]
            for name, spans in state.down.items()
        }
        return scenario.with_(**changes) if changes else scenario


@dataclass(frozen=True)
class Host:
    """A host of a lab; calling it runs a program there, see `Lab.do`."""

    lab: Lab
    name: str

    def __call__(self, command: str) -> Answer:
        """Run a program from now on, and go to its end."""
        return self.lab.do(self.name, command)

    def __repr__(self) -> str:
        return f"<host {self.name} of {self.lab!r}>"


def _data(network: str | Path | Mapping[str, Any] | Scenario) -> tuple[dict[str, Any], Path | None]:
    """Return a network as plain data of a scenario, and the directory in which its files are."""
    if isinstance(network, Scenario):
        import yaml

        return yaml.safe_load(network.dump()), None
    if isinstance(network, Mapping):
        return dict(network), None
    known = [*presets(), *FABRICS]
    if str(network) in known:
        return {"network": str(network)}, None
    path = Path(network)
    if not path.exists() and not path.suffix:
        raise InputError.unknown("NETWORK", str(network), known, "file or network")
    document = read(path)
    if not isinstance(document.data, dict):
        raise InputError.of("NETWORK", str(path), "a mapping with the field network")
    return document.data, path.parent


def _first_host(data: Mapping[str, Any], directory: Path | None) -> str:
    """Return a host of a network that has nothing else yet."""
    network = with_defaults({**data, "flows": []}, text=True, directory=directory).get("network")
    hosts = network.get("hosts") if isinstance(network, dict) else getattr(network, "hosts", None)
    first = hosts[0] if hosts else {}
    return str(first.get("name", "h1") if isinstance(first, dict) else first.name)
