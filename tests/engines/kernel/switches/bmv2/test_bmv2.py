# SPDX-License-Identifier: Apache-2.0
"""The P4 switch compared with our kernel's switch: equal scenarios, equal results; and the errors of the P4 switch."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd
import pytest

from rdcnlab.engines.kernel import cores, plan
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

pytestmark = [
    pytest.mark.guest,
    pytest.mark.bmv2,
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(bmv2_install.missing()), reason=f"{', '.join(bmv2_install.missing())} is missing. {bmv2_install.WHERE}"
    ),
]


#: A cable that is 20 m longer for one of the senders. With equal cables, packets of both flows often reach the switch
#: at the same ns. Then each switch decides which packet goes first, and with CUBIC the rest of the run depends on it.
APART = {"network.hosts.s2.delay": 37_140}


def pair(**point: object) -> Scenario:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.aykurt.space import Point

    return Point(size="64 MB", seed=1, **point).scenario(**APART)  # type: ignore[arg-type]


CASES = {
    "single": pair(flows=1, period_ms=10),
    "50 ms": pair(period_ms=50),
    "10 ms": pair(period_ms=10),
    "1 ms": pair(period_ms=1),
    "10 ms, 1 ms dark": pair(period_ms=10, downtime_ms=1),
    "dctcp": pair(period_ms=10, cc="dctcp").with_(**{"switch.ecn_threshold": "65 kB"}),
    "nuftcp": pair(period_ms=10).with_(
        **{"switch.ecn_threshold": "65 kB", "flows.main.cc": "nuftcp", "flows.migrated.cc": "nuftcp"}
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_kernels_switch(run_guest: RunGuest, name: str) -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.analysis.compare import moves

    ours = run_guest(CASES[name]).tables
    theirs = run_guest(CASES[name].with_(**{"switch.kind": "bmv2"})).tables
    fct = pd.DataFrame({"ocs": ours["flows"]["fct_s"], "bmv2": theirs["flows"]["fct_s"]})
    assert ((fct["bmv2"] / fct["ocs"] - 1).abs() < 0.01).all(), fct
    until = min(table["flows"]["end_s"].max() for table in (ours, theirs))
    slots = [moves(table["events"], until) for table in (ours, theirs)]
    assert len(slots[0]) >= 1
    assert slots[0] == slots[1]


@pytest.mark.alone
def test_is_reproducible(run_guest: RunGuest) -> None:
    scenario = CASES["1 ms"].with_(**{"switch.kind": "bmv2"})
    assert run_guest(scenario, core=cores()[0]).digest == run_guest(scenario, core=cores()[-1]).digest


def test_a_manager_in_the_control_plane_does_the_same(run_guest: RunGuest) -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.analysis.compare import moves

    scenario = CASES["10 ms"].with_(**{"switch.kind": "bmv2"})
    managed = scenario.with_(**{"switch.control": "control-plane"})
    tables = [run_guest(one).tables for one in (scenario, managed)]
    assert tables[0]["flows"]["fct_s"].tolist() == tables[1]["flows"]["fct_s"].tolist()
    until = tables[0]["flows"]["end_s"].max()
    assert moves(tables[0]["events"], until) == moves(tables[1]["events"], until)


def test_dark_packets_and_marks_are_in_the_tables(run_guest: RunGuest) -> None:
    dark = run_guest(CASES["10 ms, 1 ms dark"].with_(**{"switch.kind": "bmv2"})).tables["events"]
    dark = dark[dark["event"] == "drop_dark"]
    assert len(dark) > 10
    into = dark["t_ns"] % 10_000_000
    assert (into >= 9_000_000).all()
    marked = run_guest(CASES["dctcp"].with_(**{"switch.kind": "bmv2"})).tables["queues"]
    assert marked["marks"].sum() > 100


def small(**switch: object) -> Scenario:
    return (
        CASES["single"]
        .with_(**{"flows.migrated.size": "1 MiB", "switch.kind": "bmv2"})
        .with_(**{f"switch.{name}": value for name, value in switch.items()})
    )


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (["table_add OcsIngress.nonesuch to_port 0 => 1"], "nonesuch"),
        (["table_add OcsIngress.deliver.macs no_such_action 02:00:00:00:00:09 => 1"], "no_such_action"),
        (
            [
                f"table_add OcsIngress.deliver.macs to_port 06:00:00:00:{n >> 8:02x}:{n & 255:02x} => 1"
                for n in range(1024)
            ],
            "TABLE_FULL",
        ),
        (["register_write OcsIngress.mark.rate 512 1"], "register_write OcsIngress.mark.rate 512 1"),
    ],
)
def test_wrong_entries_are_refused_by_name(run_guest: RunGuest, entries: list[str], words: str) -> None:
    with pytest.raises(RunError, match="refuses") as caught:
        run_guest(small(entries=entries), core=0)
    assert words in str(caught.value)


def test_a_wrong_port_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"switch.entries\[0\].*\{green\}"):
        plan.compile_plan(
            compile_network(small(entries=["table_add OcsIngress.deliver.macs to_port 02:00:00:00:00:09 => {red}"]))
        )


def test_a_program_that_does_not_load_gives_the_switchs_words(run_guest: RunGuest, tmp_path: Path) -> None:
    """BMv2's own log is off, but it still prints messages when it starts."""
    path = tmp_path / "program.json"
    path.write_text('{"parsers": [], "deparsers": [], "pipelines": [], "actions": []}')
    with pytest.raises(RunError, match=r"simple_switch ended with status 1: Field standard_metadata\..* is required"):
        run_guest(small(program=str(path)), core=0)


def test_a_program_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "program.json"
    path.write_text('{"parsers": [], "deparsers": [], "pipelines": [], "actions": []}')
    scenario = small(program=str(path))
    with pytest.raises(InputError, match="sha256"):
        plan.compile_plan(compile_network(scenario.with_(seed=2).with_(**{"switch.program.sha256": "0" * 64})))
    path.write_text('{"header_types": [}')
    with pytest.raises(InputError, match=r"switch\.program: .*program\.json.* has changed; .*sha256"):
        plan.compile_plan(compile_network(scenario))


def test_a_program_that_is_none_is_refused_before_the_guest_starts(tmp_path: Path) -> None:
    """A scenario of stored results names the file with its SHA-256, so nothing has examined the file yet."""
    path = tmp_path / "program.json"
    path.write_text('{"header_types": [}')
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(InputError, match=r"switch\.program: .*program\.json.* is not possible; .*no JSON"):
        plan.compile_plan(compile_network(small(program={"path": str(path), "sha256": sha256})))


def test_the_switch_killed_in_mid_run_ends_it(run_guest: RunGuest) -> None:
    """The signal is sent inside the guest, because nothing else can reach a process of the guest."""
    scenario = CASES["50 ms"].with_(**{"switch.kind": "bmv2"})
    line = "(sleep $(awk '{print 60.02 - $1}' /proc/uptime) && kill -9 $(pidof simple_switch)) >/dev/null 2>&1 &"
    with pytest.raises(RunError, match="simple_switch was ended by SIGKILL"):
        run_guest(scenario, core=0, before=[("s1", line)], wall_limit_s=300)
