# SPDX-License-Identifier: Apache-2.0
"""`Scenario`: everything that can change a result, and nothing else."""

from __future__ import annotations

import functools
from pathlib import Path as FilePath
from typing import Annotated, Any, Self

from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, field_serializer, model_validator

from rdcnlab.fields.errors import InputError
from rdcnlab.fields.quantities import (
    TEXT,
    FieldError,
    Limit,
    Listed,
    omit_default,
    whole,
)
from rdcnlab.scenario import application, consistency, display, forwarding, program_traffic, written
from rdcnlab.scenario import changes as changes_of
from rdcnlab.scenario.canonical import Canonical
from rdcnlab.scenario.changes import MOST_SEED
from rdcnlab.scenario.check import input_error, not_text
from rdcnlab.scenario.defaults import missing_in_flow, with_defaults
from rdcnlab.scenario.document import read
from rdcnlab.scenario.draws import draw, poisson_instants
from rdcnlab.scenario.flow import Flow
from rdcnlab.scenario.kinds import SwitchKind
from rdcnlab.scenario.mptcp import Mptcp
from rdcnlab.scenario.network import Network
from rdcnlab.scenario.notified import Notification, notifications
from rdcnlab.scenario.p4 import P4Program
from rdcnlab.scenario.probes import Probes
from rdcnlab.scenario.program import MAX_PROGRAMS, Program
from rdcnlab.scenario.queueing import Red
from rdcnlab.scenario.quic import Quic
from rdcnlab.scenario.ranges import MOST_VALUES, values_in
from rdcnlab.scenario.settings import EngineSettings, Jitter, Notify, Switch
from rdcnlab.scenario.stack import Offload, Stack
from rdcnlab.scenario.timetable import Schedule, Slot
from rdcnlab.scenario.transport import Transport
from rdcnlab.scenario.user_file import DIRECTORY, UserFile
from rdcnlab.scenario.workloads import MOST_FLOWS, Offered, Workload, drawn, offered


class Scenario(Canonical):
    """The input of a run, which an engine executes. Frozen; equal scenarios have equal hashes.

    Parameters
    ----------
    network : Network
        Hosts, links and pools. Instead of a network, text may give the name of a preset, or a fabric with its
        parameters, such as ``{fabric: rotor, racks: 8}``. In plain data ``h[1-6]`` names six hosts.
    flows : tuple of Flow
        In plain data ``flow-[1-16]`` names sixteen flows. Ranges in other fields of the flow, such as ``src``, advance
        together with the name. In code they are followed by the flows that `workloads` draw.
    workloads : tuple of Workload
        Data from which the seed draws flows. A scenario has at least one flow, workload or program.
    switch, transport, mptcp, quic, engine, probes, jitter
        Settings; each field has a default.
    programs : tuple of Program
        Programs that run in hosts.
    offload : Offload
        What the network cards of all hosts do for the kernel.
    hosts : tuple of Stack
        Hosts whose settings of TCP, MPTCP or network cards differ from those of the scenario.
    notify : Notify or None
        How hosts are notified of changes of the network. None: they are not notified.
    limit : int
        Virtual time in ns at which the run ends, even if flows are not complete. A flow that is too large to complete
        in this time is cut off there. This is not an error: the flow has ``received_B`` but no ``fct_s``.
    seed : int
        Source of all randomness, 0 to 2**32 - 1.

    Examples
    --------
    >>> base = Scenario.from_dict({
    ...     "network": "aykurt",
    ...     "flows": [{"name": "main", "size": "2 GiB", "path": "green"},
    ...               {"name": "migrated", "size": "2 GiB", "path": [["50 ms", "blue"], ["50 ms", "green"]]}],
    ... })
    >>> base.with_(period="10 ms", seed=3).flows[1].period
    10000000
    """

    network: Network
    flows: Annotated[tuple[Flow, ...], Field(max_length=MOST_FLOWS), Listed] = ()
    workloads: Annotated[tuple[Workload, ...], Field(max_length=256), Listed, omit_default] = ()
    switch: Switch = Switch()
    transport: Transport = Transport()
    offload: Annotated[Offload, omit_default] = Offload()
    hosts: Annotated[tuple[Stack, ...], Listed, omit_default] = ()
    mptcp: Annotated[Mptcp, omit_default] = Mptcp()
    quic: Annotated[Quic, omit_default] = Quic()
    programs: Annotated[tuple[Program, ...], Field(max_length=MAX_PROGRAMS), Listed, omit_default] = ()
    engine: EngineSettings = EngineSettings()
    probes: Probes = Probes()
    jitter: Jitter = Jitter()
    notify: Annotated[Notify | None, omit_default] = None
    limit: Limit = 60_000_000_000
    seed: Annotated[int, whole(0, MOST_SEED)] = 0

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        for flow in self.flows:
            if flow.workload is not None:
                why = "because only flows that a workload draws have one"
                raise FieldError.left_out(f"flows.{flow.name}.workload", flow.workload, why)
        if self.workloads:
            flows = drawn(self.workloads, self.network, self.seed, self.limit, len(self.flows))
            # the model is frozen, and everything below sees flows only
            self.__dict__["flows"] = (*self.flows, *flows)
        consistency.check(self)
        return self

    @field_serializer("flows", mode="wrap")
    def _without_drawn(self, flows: tuple[Flow, ...], write: SerializerFunctionWrapHandler) -> Any:
        return write(tuple(flow for flow in flows if flow.workload is None) if self.workloads else flows)

    @property
    def stated(self) -> tuple[Flow, ...]:
        """The flows that the scenario states, without those that its workloads draw."""
        return tuple(flow for flow in self.flows if flow.workload is None) if self.workloads else self.flows

    def loads(self) -> tuple[Offered, ...]:
        """Return the loads that workloads offer, beside what `Arrivals.load` states; printed, each is a sentence."""
        return offered(self)

    @functools.cached_property
    def numbers(self) -> dict[str, int]:
        """The place of each flow among the flows and the traffic of programs, by its name."""
        return {flow.name: number for number, flow in enumerate(self.traffic)}

    @property
    def spans(self) -> int:
        """Number of whole spans of `Probes.fold` before the limit; 1 if `Probes.fold` is not set."""
        probes = self.probes
        return 1 if probes.fold is None else (self.limit - probes.fold_from) // probes.fold

    def kind_at(self, switch: str) -> SwitchKind:
        """Return the kind of a switch: its own if it has one, otherwise that of `Switch`."""
        return self.network.node(switch).kind or self.switch.kind

    def kind_field(self, switch: str) -> str:
        """Return the field that has the kind of a switch."""
        return "switch.kind" if self.network.node(switch).kind is None else f"network.switches.{switch}.kind"

    def program_at(self, switch: str) -> P4Program | None:
        """Return the user's P4 program at a switch: its own if it has one, otherwise that of `Switch`."""
        if self.kind_at(switch) != "bmv2":
            return None
        return self.network.node(switch).program or self.switch.program

    def program_field(self, switch: str) -> str:
        """Return the field that has the P4 program of a switch."""
        return "switch.program" if self.network.node(switch).program is None else f"network.switches.{switch}.program"

    def entries_at(self, switch: str) -> tuple[str, tuple[str, ...]]:
        """Return the field that has the entries of a P4 switch, and these entries."""
        own = self.network.node(switch).entries
        return (f"network.switches.{switch}.entries", own) if own else ("switch.entries", self.switch.entries)

    def schedule(self, flow: Flow, *, back: bool = False) -> Schedule | None:
        """Return the schedule that a flow follows, forward or on its way back; None if it follows no schedule."""
        return forwarding.schedule_of(self, flow, back=back)

    def subflows(self, flow: Flow) -> int:
        """Return the number of subflows of a flow that its schedule gives it; 1 without mptcp or a schedule."""
        path = self.schedule(flow) if flow.protocol == "mptcp" else None
        return 1 if path is None else len(path.tdns)

    def transport_of(self, host: str) -> Transport:
        """Return the settings of TCP of a host: those of its flow, its own, or the scenario's."""
        return self._transports.get(host, self.transport)

    def offload_of(self, host: str) -> Offload:
        """Return what the network card of a host does for the kernel."""
        return next((own.offload for own in self.hosts if own.name == host and own.offload), self.offload)

    def offered(self, flow: Flow) -> bool:
        """Return whether a flow's sender offers time-division TCP."""
        return self.transport.tdtcp if flow.tdtcp is None else flow.tdtcp

    def offers(self) -> dict[str, bool]:
        """Return, by host name, whether a sending host offers time-division TCP; the host's first TCP flow decides."""
        by_host: dict[str, bool] = {}
        for flow in self.flows:
            if flow.protocol == "tcp":
                by_host.setdefault(flow.src, self.offered(flow))
        return by_host

    def notifications(self) -> tuple[Notification, ...]:
        """Return the hosts that are notified, each with its schedule; see `Notify`.

        Raises
        ------
        ValueError
            Flows of one host to the same destinations follow several schedules.
        """
        return notifications(self)

    def total_B(self, flow: Flow) -> int:  # noqa: N802  (unit)
        """Return the payload of a whole flow in bytes: of all its rounds, or until its sender stops."""
        return application.total_B(self, flow)

    def start_times(self) -> tuple[int, ...]:
        """Return the start time of each flow in ns after the scenario's start, jitter included.

        A flow with `Flow.after` starts so long after the end of the other one.
        """
        return tuple(flow.start + draw(self.seed, f"start {flow.name}", self.jitter.start) for flow in self.flows)

    def snapshots(self) -> list[int]:
        """Return the instants of `Probes.snapshots` in ns after the scenario's start; empty if there are none."""
        mean = self.probes.snapshots
        return [] if mean is None else poisson_instants(self.seed, "snapshot", mean, self.limit)

    def phases(self) -> tuple[int, ...]:
        """Return by how many ns each flow's timetable starts later than the scenario, jitter included.

        The random part is the same for all flows, because one switch has one clock.
        """
        return tuple(self.phase(flow) for flow in self.flows)

    def phase(self, owner: Flow | Schedule) -> int:
        """Return the delay (ns) of the timetable of a flow or a schedule, jitter included."""
        return owner.phase + draw(self.seed, "phase", self.jitter.phase)

    def timetable(self, flow: Flow, *, back: bool = False) -> tuple[tuple[Slot, ...], str, int]:
        """Return a flow's slots (empty if it stays on one target), its first target, and its phase in ns.

        Parameters
        ----------
        flow : Flow
            One of the scenario's flows.
        back : bool
            Whether to return the timetable of the opposite direction, from `dst` to `src`.
        """
        path = flow.back if back else flow.path
        schedule = self.network.schedule(path)
        if schedule is not None:
            return schedule.slots, schedule.slots[0].link, self.phase(schedule)
        return ((), path, 0) if isinstance(path, str) else (path, path[0].link, self.phase(flow))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> display.Bundle | None:  # noqa: ARG002
        """Return the picture that notebooks show of a scenario; see `rdcnlab.analysis.show`."""
        return display.bundle(self)

    # Text and data -----------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | FilePath) -> Self:
        """Read a scenario from a YAML file with units, or from a canonical ``.json`` file.

        Relative paths in the file, such as that of ``switch.program``, start at the file's directory.

        Raises
        ------
        InputError
            The file cannot be read, is not YAML, or is not a valid scenario.
        """
        path = FilePath(path)
        document = read(path)
        try:
            return cls.from_dict(document.data, text=path.suffix != ".json", directory=path.parent)
        except InputError as error:
            raise error.located(document.location) from None

    @classmethod
    def from_dict(cls, data: Any, *, text: bool = False, directory: FilePath | None = None) -> Self:
        """Make a scenario from plain data.

        Parameters
        ----------
        data : dict
            Fields in code form (integers), text form (``50 ms``) or both.
        text : bool
            Refuse quantities without a unit, as in files.
        directory : Path, optional
            Directory where relative paths of files start; by default the working directory.

        Raises
        ------
        InputError
            The message names every wrong field, its value and what is allowed.
        """
        if not isinstance(data, dict):
            allowed = f"a mapping with the fields {', '.join(cls.model_fields)}, such as 'network: aykurt'"
            raise InputError.of("scenario", data, allowed)
        return cls._made(data, text=text, directory=directory)

    @classmethod
    def _made(cls, data: dict[str, Any], *, text: bool = False, directory: FilePath | None = None) -> Self:
        """Return the scenario of a mapping. Parts of another scenario in it are not checked again."""
        complete = None
        if values_in(data, MOST_VALUES) > MOST_VALUES:
            reason = f"it has more than {MOST_VALUES} values, the most that a scenario can have"
            raise InputError.of("scenario", data, reason=reason)
        try:
            complete = with_defaults(data, text=text, directory=directory)
            return cls.model_validate(complete, context={TEXT: text, DIRECTORY: directory})
        except ValidationError as error:
            # a file may leave the names of programs out, so that they say nothing to its reader
            named = {name: value for name, value in (complete or {}).items() if name != "programs"}
            raise input_error(error, cls, functools.partial(missing_in_flow, complete), named) from None
        except UnicodeEncodeError:  # pydantic encodes the texts of values and errors
            raise not_text(data) from None
        except RecursionError:
            raise InputError.of("scenario", data, "data that does not contain itself") from None

    def with_(self, /, **changes: Any) -> Scenario:
        """Return a scenario in which some fields are changed.

        Parameters
        ----------
        **changes
            New values by field name or by dotted path (pass a dotted path with ``**{}``, or write ``__`` instead of the
            dot). ``period``, ``cc`` and ``size`` change all flows at once; see `rdcnlab.scenario.edit.apply`.

        Raises
        ------
        InputError
            A field is unknown, or a value is not allowed.
        """
        return changes_of.changed(self, changes)

    def with_thresholds(self, link: str, ecn_threshold: int | None, red: Red | None) -> Scenario:
        """Return the scenario with other thresholds of a link; the copy shares all other parts.

        The result equals that of `with_` and takes a hundredth of the time, because no check depends on thresholds.
        Data sets have thousands of such scenarios.

        Parameters
        ----------
        link : str
            Name of the link.
        ecn_threshold, red
            As in `Link`.
        """
        return changes_of.with_thresholds(self, link, ecn_threshold, red)

    @functools.cached_property
    def _transports(self) -> dict[str, Transport]:
        """Settings of TCP of the hosts whose settings are not those of the scenario."""
        own = {stack.name: stack.transport for stack in self.hosts if stack.transport}
        return own | {end: flow.transport for flow in self.flows if flow.transport for end in (flow.src, flow.dst)}

    @functools.cached_property
    def _depends_on_seed(self) -> bool:
        """Whether the scenario may be invalid with another seed, which decides flows, or ways or slots of switches."""
        return bool(self.workloads or (self.network.switches and forwarding.depend_on_seed(self)))

    @property
    def user_files(self) -> list[UserFile]:
        """Files of the user's own that belong to the scenario. Equal scenarios may name them by different paths."""
        optics = self.network.optics
        circuits = optics.demand.controller if optics is not None and optics.demand is not None else None
        controller = self.switch.controller.every if self.switch.controller is not None else ()
        own = [self.switch.program, *controller, self.engine.algorithm, circuits]
        named = [file for file in (*own, *(node.program for node in self.network.switches)) if file is not None]
        sources = [file for one in self.engine.algorithms for file in one.files]
        replays = [flow.replay for flow in self.flows if flow.replay is not None]
        return [*named, *sources, *(file for program in self.programs for file in program.files), *replays]

    @functools.cached_property
    def traffic(self) -> tuple[Flow, ...]:
        """The flows, and the traffic of programs between two hosts as further flows, such as ``h1>h2``."""
        return (*self.flows, *program_traffic.flows(self.programs, self.network))

    def dump(self) -> str:
        """Return YAML with units, as `load` reads it; fields with their default value are left out."""
        return written.text_of(self)
