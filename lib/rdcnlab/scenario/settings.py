# SPDX-License-Identifier: Apache-2.0
"""Settings of a scenario: switch, engine, jitter, notifications."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, model_validator

from rdcnlab.fields.quantities import (
    Duration,
    FieldError,
    Frozen,
    HostName,
    Listed,
    Size,
    omit_default,
    unique,
    whole,
)
from rdcnlab.scenario.kinds import EngineKind, SwitchKind
from rdcnlab.scenario.own import AlgorithmField, OwnSources
from rdcnlab.scenario.p4 import Entries, ProgramField
from rdcnlab.scenario.sdn import ControllerField

#: Settings that only one kind of switch knows, and their values when they are not used.
_ONLY_WITH: dict[str, dict[str, object]] = {
    "bmv2": {"program": None, "entries": (), "control": "data-plane"},
    "ovs": {"controller": None, "delay": 0, "jitter": 0, "table_size": None, "observe_links": False},
}


class Switch(Frozen):
    """The kind of switch and its settings.

    Parameters
    ----------
    kind : {'ocs', 'bmv2', 'ovs', 'linux'}
        ``ocs`` is rdcnlab's circuit switch in the kernel. ``bmv2`` is the P4 software switch, ``ovs`` is Open vSwitch.
        ``linux`` is a Linux bridge with queues of ``tc``; it has no links inside, so all flows take the path
        ``bypass``.
    ecn_threshold : int or None
        ECN marking threshold in bytes. If given, it replaces the threshold of every link, but not of ports to hosts.
    dark : {'drop', 'hold'}
        What happens to packets that arrive in a dark slot.
    program : P4Program or None
        With ``bmv2``: a program that replaces ``p4/ocs.p4``. It decides where packets go. With one switch, flows
        take the path ``bypass``, which they may omit. With several, it is the program of each switch that states none
        (`Node.program`).
    entries : tuple of str
        With ``bmv2``: commands of ``simple_switch_CLI`` that fill the program's tables, one line each; in files also
        a file with one command in each line. If the program is ``p4/ocs.p4``, they follow its own commands.
        ``{green}`` stands for the port number of a link or host, ``{mac:s1}`` for a host's address; ``p4/README.md``
        lists all names. With several switches, they are the entries of each switch that states none (`Node.entries`).
    control : {'data-plane', 'control-plane'}
        With ``bmv2``: where the timetable is stored. ``data-plane``: in registers of the program. ``control-plane``: in
        a local manager that rewrites table entries.
    controller : SdnController or None
        With ``ovs``: an application of os-ken that replaces rdcnlab's own, a file or a directory. It decides where
        packets go, so flows have no timetables.
    delay : int
        With ``ovs``: ns from a decision of the controller until it tells the switch.
    jitter : int
        With ``ovs``: largest additional random delay of a decision in ns, drawn for each switch and each instant; less
        than the shortest slot.
    table_size : int or None
        With ``ovs``: number of entries that a switch has room for: one for each host, and one for each flow and
        direction. None: there is no limit.
    observe_links : bool
        With ``ovs`` and a ``controller``: whether os-ken looks for links between switches by LLDP, and tells the
        application of them, as with its option ``--observe-links``.
    """

    kind: SwitchKind = "ocs"
    ecn_threshold: Size | None = None
    dark: Literal["drop", "hold"] = "drop"
    program: Annotated[ProgramField, omit_default] = None
    entries: Annotated[Entries, omit_default] = ()
    control: Annotated[Literal["data-plane", "control-plane"], omit_default] = "data-plane"
    controller: Annotated[ControllerField, omit_default] = None
    delay: Annotated[Duration, omit_default] = 0
    jitter: Annotated[Duration, omit_default] = 0
    table_size: Annotated[Annotated[int, whole(0, 1_000_000)] | None, omit_default] = None
    observe_links: Annotated[bool, omit_default] = False

    @model_validator(mode="after")
    def _only_with_kind(self) -> Switch:
        for kind, fields in _ONLY_WITH.items():
            for field, unused in fields.items():
                if self.kind != kind and getattr(self, field) != unused:
                    raise FieldError.left_out(
                        field, getattr(self, field), f"because only the switch {kind} has this setting"
                    )
        if self.program is not None and self.control != "data-plane":
            raise FieldError("control", self.control, "data-plane, because the local manager works with p4/ocs.p4 only")
        if self.observe_links and self.controller is None:
            why = "because only an application, given as controller, hears of links"
            raise FieldError.left_out("observe_links", True, why)
        for field in ("delay", "jitter"):
            if self.controller is not None and getattr(self, field):
                allowed = "0 ns, because a controller of your own waits itself"
                raise FieldError(field, f"{getattr(self, field)} ns", allowed)
        return self


class Parameters(Frozen):
    """Parameters of a congestion control, as Linux has them for its modules.

    Parameters
    ----------
    name : str
        Name of the congestion control.
    values : tuple of (str, int or str)
        Names and values of its parameters.
    """

    name: str
    values: Annotated[tuple[Annotated[tuple[str, int | str], Listed], ...], Listed]


def _as_parameters(value: Any) -> Any:
    """Return the plain data of parameters that are given by name."""
    if not isinstance(value, dict):
        return value
    if not all(isinstance(values, dict) for values in value.values()):
        raise ValueError("parameters by the names of congestion controls, such as {vegas: {alpha: 4}}")
    return [
        {"name": name, "values": [[field, one] for field, one in sorted(values.items())]}
        for name, values in sorted(value.items())
    ]


class EngineSettings(Frozen):
    """The engine that executes the scenario, and its settings.

    Parameters
    ----------
    kind : {'kernel', 'ns3'}
        The patched Linux kernel in virtual time, or ns-3.
    hz : {100, 250, 300, 1000}
        Timer frequency of the kernel in Hz. CUBIC, delayed ACKs and timeouts count in its ticks.
    algorithm : OwnAlgorithm or None
        With ``kernel``: a congestion control of the user's own, one C file that is built into the kernel. Flows name it
        as their ``cc``.
    algorithms : tuple of OwnSources
        Several of them. In plain data a list of C files and of directories, such as ``[tcp_a.c, bbr3]``.
    parameters : tuple of Parameters
        Parameters of congestion controls. In plain data by name: ``{vegas: {alpha: 4}}`` sets the parameter ``alpha``
        of the kernel's module ``tcp_vegas``.
    """

    kind: EngineKind = "kernel"
    hz: Literal[100, 250, 300, 1000] = 250
    algorithm: Annotated[AlgorithmField, omit_default] = None
    algorithms: Annotated[tuple[OwnSources, ...], Listed, omit_default] = ()
    parameters: Annotated[tuple[Parameters, ...], Listed, BeforeValidator(_as_parameters), omit_default] = ()

    @property
    def own_names(self) -> tuple[str, ...]:
        """Names of the user's own congestion controls."""
        single = () if self.algorithm is None else (self.algorithm.name,)
        return (*single, *(one.name for one in self.algorithms))

    @model_validator(mode="after")
    def _only_a_kernel_is_built(self) -> EngineSettings:
        if self.kind != "kernel" and (self.algorithms or self.parameters):
            field = "algorithms" if self.algorithms else "parameters"
            raise FieldError.left_out(field, "given", "because only the engine kernel runs C of the kernel")
        if len(set(self.own_names)) < len(self.own_names):
            raise FieldError("algorithms", ", ".join(self.own_names), "files that register different names")
        if self.algorithm is not None and self.kind != "kernel":
            raise FieldError.left_out(
                "algorithm", self.algorithm.path, "because only the engine kernel runs C of the kernel"
            )
        return self


class Jitter(Frozen):
    """Random delays; they differ between runs with different seeds.

    Parameters
    ----------
    start : int
        Every flow starts later by a uniform random time up to this many ns.
    phase : int
        All timetables together start later by one uniform random time up to this many ns.
    """

    start: Duration = 0
    phase: Duration = 0


class HostDelay(Frozen):
    """The delay of `Notify` for one host, in ns."""

    name: HostName
    delay: Duration


class Notify(Frozen):
    """How hosts are notified of the active time-division network (TDN); slots of schedules contain its number.

    A sending host follows the schedule of its flows' ``path``. A receiving host follows the schedule of ``back``, or
    that of ``path`` if ``back`` is not a schedule. With several switches, a notification names the destinations that it
    is about, the hosts at one switch: a host may see another active network on the way to each switch. The schedule of
    a pair of switches is followed by all hosts at the first of them.

    Parameters
    ----------
    delay : int
        ns from the change of the network until a host's kernel knows the new number.
    hosts : tuple of HostDelay
        Hosts with a different delay.
    model : {'pull', 'push'}
        ``pull``: connections look up the number when they send or receive. ``push``: the kernel updates the connections
        one after the other.
    each : int
        With ``push``: ns that the update of one connection takes. The last of n connections is updated n times this
        later.
    channel : {'own', 'data'}
        ``own``: notifications use a separate network. ``data``: they wait in the queue to the host, together with its
        data.
    """

    delay: Duration = 0
    hosts: Annotated[tuple[HostDelay, ...], Listed] = ()
    model: Literal["pull", "push"] = "pull"
    each: Duration = 0
    channel: Literal["own", "data"] = "own"

    @model_validator(mode="after")
    def _consistent(self) -> Notify:
        unique("hosts", (host.name for host in self.hosts))
        if self.each and self.model == "pull":
            raise FieldError("each", self.each, "0, because with the model pull the kernel updates no connections")
        return self

    def delay_of(self, host: str) -> int:
        """Return the delay of a host in ns."""
        return next((entry.delay for entry in self.hosts if entry.name == host), self.delay)
