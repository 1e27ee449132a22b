# SPDX-License-Identifier: Apache-2.0
"""Traffic other than a sender's bulk transfer: bursts of datagrams, and transfers that the receiver requests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rdcnlab.engines.kernel import KernelEngine, build, cores, plan
from rdcnlab.engines.kernel.checks import native
from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

MS = 1_000_000
BURST = 128
#: Payload of a datagram of 9000 B, and its bytes on the wire.
PAYLOAD, WIRE = 8972, 9038


def with_bursts(base: Scenario, count: int) -> Scenario:
    """Add bursts from a third server to the first receiver."""
    hosts = base.to_dict()["network"]["hosts"]
    bursts = {
        "name": "bursts",
        "protocol": "udp",
        "size": count * BURST * PAYLOAD,
        "burst": BURST,
        "interval": "25 ms",
        "src": "s3",
        "dst": "r1",
        "path": "green",
    }
    flows = [*base.to_dict()["flows"], bursts]
    return base.with_(**{"network.hosts": [*hosts, {**hosts[0], "name": "s3"}], "flows": flows, "jitter.start": 0})


def test_bursts_leave_at_their_instants_and_line_rate(run_guest: RunGuest, two_flows: Scenario) -> None:
    # the other flows do not use this link
    base = two_flows.with_(**{"size": "64 MiB", "flows.main.path": "blue", "flows.migrated.path": "blue"})
    seen = run_guest(with_bursts(base, 3))
    rates = seen.tables["throughput"].query("flow == 'bursts' and where == 'green'")
    # 128 packets take 0.925 ms, plus 37 us on the cables: all are in the first or second ms of every 25 ms
    by_burst = rates.groupby(rates["bin"] // 25)["packets"].sum()
    assert by_burst.to_dict() == {0: BURST, 1: BURST, 2: BURST}
    assert set(rates["bin"] % 25) <= {0, 1}
    assert (rates["bytes"] == rates["packets"] * WIRE).all()
    row = seen.tables["flows"].set_index("flow").loc["bursts"]
    assert row["received_B"] == 3 * BURST * PAYLOAD
    assert row["finished"]
    assert row[["cc", "fct_s", "end_s"]].isna().all()


def test_a_run_does_not_wait_for_bursts(run_guest: RunGuest, two_flows: Scenario) -> None:
    seen = run_guest(with_bursts(two_flows.with_(size="16 MiB"), 1000))
    row = seen.tables["flows"].set_index("flow").loc["bursts"]
    arrived = seen.tables["throughput"].query("flow == 'bursts' and where == 'receiver'")["packets"].sum()
    assert not row["finished"]
    assert row["received_B"] == arrived * PAYLOAD > 0


@pytest.mark.parametrize("size", ["1 B", "16 MiB"])
def test_a_receiver_that_asks_waits_half_a_round_trip_more(run_guest: RunGuest, two_flows: Scenario, size: str) -> None:
    base = two_flows.with_(**{"size": size, "period": None, "jitter.start": 0})
    pushed, pulled = (
        run_guest(base.with_(**{"flows.main.initiator": who})).tables["flows"].set_index("flow").loc["main"]
        for who in ("src", "dst")
    )
    assert pulled["received_B"] == pushed["received_B"]
    # four cables of 37.04 us; frames of some 70 B take 0.1 us on each line
    assert pulled["fct_s"] - pushed["fct_s"] == pytest.approx(74.1e-6, abs=3e-6)


def test_what_a_receiver_asks_for_takes_the_flow_s_path(run_guest: RunGuest, two_flows: Scenario) -> None:
    seen = run_guest(two_flows.with_(**{"size": "16 MiB", "period": "5 ms", "flows.migrated.initiator": "dst"}))
    carried = seen.tables["throughput"].query("flow == 'migrated'").groupby("where")["bytes"].sum()
    assert carried["green"] > 0
    assert carried["blue"] > 0
    assert carried["receiver"] >= 16 * 2**20
    assert len(seen.tables["tcp"].query("flow == 'migrated'")) > 5


@pytest.mark.alone
def test_bursts_and_what_a_receiver_asks_for_repeat(run_guest: RunGuest, two_flows: Scenario) -> None:
    scenario = with_bursts(two_flows.with_(**{"size": "16 MiB", "flows.migrated.initiator": "dst"}), 1000)
    draw = [("s1", "head -c 99 /dev/urandom >/dev/null")]
    seen, again = run_guest(scenario, core=cores()[0]), run_guest(scenario, core=cores()[-1], before=draw)
    assert seen.digest == again.digest


def test_bursts_are_not_for_p4(two_flows: Scenario) -> None:
    scenario = with_bursts(two_flows, 1).with_(**{"switch.kind": "bmv2"})
    with pytest.raises(InputError, match=r"flows\.bursts\.protocol: 'udp'"):
        KernelEngine(scenario).prepare()


def over_quic(base: Scenario, **changes: object) -> Scenario:
    """Make the main flow use QUIC, on links of 1 Gb/s."""
    if quic.missing():
        pytest.skip(f"{', '.join(quic.missing())}: {quic.REMEDY}")
    rates = {f"network.links.{link}.rate": "1 Gb/s" for link in ("green", "blue")}
    return base.with_(**{"flows.main.protocol": "quic", "size": "2 MiB", **rates, **changes})


@pytest.mark.alone
@pytest.mark.parametrize("variant", ["cubic", "bbr"])
def test_quic_delivers_over_the_flow_s_path_and_repeats(run_guest: RunGuest, two_flows: Scenario, variant: str) -> None:
    scenario = over_quic(two_flows, **{"period": "5 ms", "flows.main.cc": variant, "flows.main.path": "blue"})
    # its random numbers (connection ids, keys) must not depend on random numbers drawn before
    draw = [("s1", "head -c 99 /dev/urandom >/dev/null")]
    seen, again = run_guest(scenario, core=cores()[0]), run_guest(scenario, core=cores()[-1], before=draw)
    assert seen.digest == again.digest
    row = seen.tables["flows"].set_index("flow").loc["main"]
    assert row["finished"]
    assert row[["retransmits", "timeouts"]].isna().all()
    throughput = seen.tables["throughput"].query("flow == 'main'")
    carried = throughput.groupby("where")[["bytes", "packets"]].sum()
    assert set(carried.index) == {"blue", "receiver"}
    # payload of UDP: QUIC's headers, acknowledgements and handshake add some percent
    assert 2 * 2**20 < carried.loc["receiver", "bytes"] < 1.1 * 2 * 2**20
    # no packet is larger than QUIC's packet size, so no segments were sent as one large packet
    assert carried.loc["blue", "bytes"] / carried.loc["blue", "packets"] < 1600
    # a link of 1 Gb/s cannot be faster than this
    assert row["fct_s"] > 8 * carried.loc["blue", "bytes"] / 1e9


def test_another_implementation_of_quic_is_two_command_lines(run_guest: RunGuest, two_flows: Scenario) -> None:
    """A substitute that is not QUIC shows that an implementation needs nothing else."""
    # the command of http.server looks up the host's name and would wait for an answer
    handler = "__import__('http.server').server.SimpleHTTPRequestHandler"
    bound = f"__import__('functools').partial({handler},directory='{{files}}')"
    serve = f"__import__('socketserver').TCPServer(('{{address}}',{{port}}),{bound}).serve_forever()"
    server = f"{sys.executable} -u -c {serve}"
    fetch = "__import__('urllib.request').request.urlopen('http://{address}:{port}/data').read({size})"
    client = f"{sys.executable} -c {fetch}"
    scenario = over_quic(two_flows, quic={"name": "stand-in", "server": server, "client": client})
    seen = run_guest(scenario)
    assert seen.tables["flows"].set_index("flow").loc["main", "finished"]
    assert "GET /data" in (seen.directory / "main.server.log").read_text()


def test_programs_may_lie_where_guests_look_at_nothing_else(two_flows: Scenario, tmp_path: Path) -> None:
    """An example is a home directory. A guest can read the system, Python, and these programs."""
    server, client = tmp_path / "server", tmp_path / "client"
    server.write_text("#!/bin/sh\nexec sleep 1000\n")
    client.write_text("#!/bin/sh\necho this is the client; exit 3\n")
    for program in (server, client):
        program.chmod(0o755)
    scenario = over_quic(
        two_flows, quic={"name": "mine", "server": f"{server} {{port}}", "client": f"{client} {{port}}"}
    )
    directory = tmp_path / "run"
    directory.mkdir()
    with pytest.raises(RunError, match=r"the client ended with status 3; client: this is the client"):
        KernelEngine(scenario).run(directory, core=None, wall_limit_s=300)


def test_a_client_that_fails_is_told(run_guest: RunGuest, two_flows: Scenario) -> None:
    with pytest.raises(RunError, match=r"flow main: the client ended with status 2; .*client: Try .* -h"):
        run_guest(over_quic(two_flows, **{"quic.client": f"{sys.executable} --nosuchoption {{port}}"}))


def test_a_client_that_ends_well_without_having_everything_is_told(run_guest: RunGuest, two_flows: Scenario) -> None:
    """The client of ngtcp2 behaves like this if no server answers."""
    scenario = over_quic(two_flows, **{"size": "1 MiB", "quic.server": f"{sys.executable} --version {{port}}"})
    with pytest.raises(RunError, match=r"flow main: its client ended after 0 of 1048576 B; server: Python"):
        run_guest(scenario)


def test_clients_that_would_take_each_others_port_are_refused(two_flows: Scenario) -> None:
    flows = over_quic(two_flows).to_dict()["flows"]
    more = {**flows[0], "name": "more", "src": "s2"}
    with pytest.raises(InputError, match=r"main and more both go to r1; with quic a host receives one flow"):
        plan.check(compile_network(over_quic(two_flows).with_(flows=[*flows, more])))
    back = {**flows[1], "name": "back", "src": "r1", "dst": "s1"}
    with pytest.raises(InputError, match=r"flows\.back\.src: 'r1'"):
        plan.check(compile_network(over_quic(two_flows).with_(flows=[*flows, back])))


def test_a_program_that_is_not_there_is_named(two_flows: Scenario) -> None:
    with pytest.raises(RunError, match=r"quic.client: there is no program 'nosuchclient'"):
        KernelEngine(over_quic(two_flows, **{"quic.client": "nosuchclient {port}"})).prepare()


@pytest.mark.skipif(not native.available(), reason="network namespaces of the host need root")
def test_the_hosts_own_kernel_takes_the_same_flows(kernel: build.Kernel, two_flows: Scenario) -> None:
    scenario = two_flows.with_(size="64 MiB")
    assert 0 < native.seconds(kernel, plan.compile_plan(compile_network(scenario)), cores()[0]) < 60
