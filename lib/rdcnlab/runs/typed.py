# SPDX-License-Identifier: Apache-2.0
"""What was typed in a lab, and the scenario that it is."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import DURATION
from rdcnlab.runs.run import Run
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.defaults import with_defaults
from rdcnlab.scenario.document import Document, read
from rdcnlab.scenario.presets import known_networks


@dataclass(frozen=True)
class Typed:
    """All that was typed so far.

    Parameters
    ----------
    now_ns : int
        The instant of the next line.
    limit_ns : int
        When the run ends at the latest.
    programs : tuple of dict
        Programs as plain data, with ``start`` in ns.
    down : dict of str to tuple
        By link, the spans (begin and end in ns) in which it is down; an end of None is the limit.
    paths : dict of str to str
        The way of all packets that programs of a host send, by host.
    run : Run or None
        The last run.
    """

    now_ns: int = 0
    limit_ns: int = 0
    programs: tuple[Mapping[str, Any], ...] = ()
    down: Mapping[str, tuple[tuple[int, int | None], ...]] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    run: Run | None = None

    def with_program(self, host: str, command: str, limit_ns: int) -> Typed:
        """Add a program that starts now; with ``&`` at its end, in the background."""
        line = command.strip()
        program = {
            "host": host,
            "run": line.removesuffix("&").strip(),
            "start": self.now_ns,
            "background": line.endswith("&"),
        }
        return replace(self, programs=(*self.programs, program), limit_ns=limit_ns)

    def waiting(self, numbers: Container[int], limit_ns: int) -> Typed:
        """Put some programs, by their places in `programs`, into the foreground: a run waits for their end."""
        programs = tuple(
            {**program, "background": program["background"] and number not in numbers}
            for number, program in enumerate(self.programs)
        )
        return replace(self, programs=programs, limit_ns=limit_ns)

    def with_link(self, name: str, *, up: bool, limit_ns: int) -> Typed:
        """Take a link down or up now.

        Raises
        ------
        InputError
            It is so already.
        """
        spans = self.down.get(name, ())
        is_down = bool(spans) and spans[-1][1] is None
        if is_down != up:
            raise InputError.of("link", name, reason=f"{name} is {'down' if is_down else 'up'} already")
        spans = (*spans[:-1], (spans[-1][0], self.now_ns)) if up else (*spans, (self.now_ns, None))
        # a link that was down for no time was not down
        spans = tuple(span for span in spans if span[0] != span[1])
        return replace(self, down={**self.down, name: spans}, limit_ns=max(self.limit_ns, limit_ns))


@dataclass(frozen=True)
class Given:
    """A network that a lab begins with: plain data of a scenario, and the file that they are from, if any."""

    data: Mapping[str, Any]
    document: Document | None = None

    @classmethod
    def of(cls, network: str | Path | Mapping[str, Any] | Scenario) -> Given:
        """Read a network from whatever names it.

        Raises
        ------
        InputError
            There is no such file or network.
        """
        if isinstance(network, Scenario):
            return cls(yaml.safe_load(network.dump()))
        if isinstance(network, Mapping):
            return cls(dict(network))
        names, path = known_networks(), Path(network)
        if str(network) in names:
            return cls({"network": str(network)})
        if not path.exists() and not path.suffix:
            raise InputError.unknown("NETWORK", str(network), names, "file or network")
        document = read(path)
        if not isinstance(document.data, dict):
            raise InputError.of("NETWORK", str(path), "a mapping with the field network")
        return cls(document.data, document)

    @property
    def directory(self) -> Path | None:
        """Where relative paths of files begin; None: the working directory."""
        return None if self.document is None else self.document.path.parent

    def scenario(self, typed: Typed) -> Scenario:
        """Return what was typed as a scenario. Before the first program it has one that does nothing.

        Raises
        ------
        InputError
            It is not a valid one; what is wrong with the file has its line.
        """
        data, programs = dict(self.data), []
        for each in typed.programs:
            path = {"path": typed.paths[each["host"]]} if each["host"] in typed.paths else {}
            programs.append({**each, "start": DURATION.format(each["start"]), **path})
        programs = [*data.get("programs", ()), *programs]
        if not programs and not data.get("flows") and not data.get("workloads"):
            programs = [{"host": self._first_host(), "run": "true"}]
        if programs:
            data["programs"] = programs
        data["limit"] = DURATION.format(typed.limit_ns)
        try:
            scenario = Scenario.from_dict(data, text=True, directory=self.directory)
        except InputError as error:
            if self.document is None or typed.programs:
                raise
            raise error.located(self.document.location) from None
        down = {
            f"network.links.{name}.down": [
                [DURATION.format(begin), DURATION.format(typed.limit_ns if end is None else end)]
                for begin, end in spans
            ]
            for name, spans in typed.down.items()
        }
        return scenario.with_(**down) if down else scenario

    def _first_host(self) -> str:
        network = with_defaults({**self.data, "flows": []}, text=True, directory=self.directory).get("network")
        hosts = network.get("hosts") if isinstance(network, dict) else getattr(network, "hosts", None)
        first = hosts[0] if hosts else {}
        # without hosts the scenario is refused anyway, with better words
        return str(first.get("name", "h1") if isinstance(first, dict) else first.name)
