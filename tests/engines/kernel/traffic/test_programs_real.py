# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian: what they report agrees with the tables, and each run repeats byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rdcnlab.engines.kernel import build, cores
from rdcnlab.scenario import Scenario
from tests.engines.kernel.traffic.programs import Ran, RunPrograms, need, run_in

pytestmark = pytest.mark.alone
#: 100 Mb/s, 1 us on each of three lines, hosts at 10 Gb/s.
NETWORK = "network: {fabric: dumbbell, pairs: 2, rate: 100 Mb/s}\nlimit: 20 s\n"
MB5 = 5_000_000


@pytest.fixture
def twice(kernel: build.Kernel, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> RunPrograms:
    """Run programs on the first and on the last core; both runs must be equal."""

    def made(*programs: str, network: str = NETWORK) -> Ran:
        path = tmp_path / "mine.yaml"
        path.write_text(network + "programs:\n" + "".join(f"  - {program}\n" for program in programs))
        scenario = Scenario.load(path)
        seen, again = (run_in(tmp_path_factory.mktemp("run"), scenario, core) for core in (cores()[0], cores()[-1]))
        assert seen.digest == again.digest
        assert seen.files == again.files
        return seen

    return made


def test_iperf3_reports_the_tables_rates(twice: RunPrograms) -> None:
    need("iperf3")
    seen = twice(
        '{host: r1, name: server, run: "iperf3 -s -1 --json"}',
        '{host: s1, name: client, run: "iperf3 -c r1 -t 2 --json", start: 10 ms}',
    )
    sent, received = (json.loads(seen.printed(name)) for name in ("client", "server"))
    # the server counts what its reading returned in two seconds, the table what left for it: payload of full frames
    interval = received["intervals"][1]["sum"]
    begin_s = 0.01
    table = seen.tables["throughput"].query("flow == 's1>r1' and where == 'receiver'")
    second = table[(table["bin"] >= (begin_s + 1) * 1000) & (table["bin"] < (begin_s + 2) * 1000)]
    assert interval["bits_per_second"] == pytest.approx(8 * second["bytes"].sum(), rel=0.01)
    lost = seen.tables["events"].query("event == 'drop_tail' and flow == 's1>r1'")
    assert sent["end"]["sum_sent"]["retransmits"] == len(lost) > 0


def test_iperf3_over_udp_reports_every_datagram(twice: RunPrograms) -> None:
    need("iperf3")
    seen = twice(
        '{host: r1, name: server, run: "iperf3 -s -1"}',
        '{host: s1, name: client, run: "iperf3 -c r1 -u -b 10M -t 1 --json", start: 10 ms}',
    )
    total = json.loads(seen.printed("client"))["end"]["sum"]
    table = seen.tables["throughput"].query("flow == 's1>r1/udp' and where == 'receiver'")
    # one more datagram of 4 B, which says hello
    assert int(table["packets"].sum()) == total["packets"] + 1
    assert int(table["bytes"].sum()) == total["bytes"] + 4
    assert total["lost_packets"] == 0


def test_curl_from_nginx_takes_as_long_as_the_same_flow(twice: RunPrograms, tmp_path: Path) -> None:
    need("nginx", "curl")
    (tmp_path / "nginx.conf").write_text(
        "daemon off; pid nginx.pid; error_log stderr; worker_processes 1; events {}\n"
        "http { access_log access.log; client_body_temp_path /tmp/a; proxy_temp_path /tmp/b;\n"
        "fastcgi_temp_path /tmp/c; uwsgi_temp_path /tmp/d; scgi_temp_path /tmp/e;\n"
        "server { listen 80; root /run/home; } }\n"
    )
    (tmp_path / "data").write_bytes(bytes(MB5))
    seen = twice(
        '{host: s1, name: server, run: "nginx -p /run/home -c nginx.conf", files: [data], background: true}',
        '{host: r1, name: client, run: "curl -s -o /dev/null -w %{time_total},%{size_download} s1/data", '
        "start: 100 ms}",
    )
    took_s, size = (float(word) for word in seen.printed("client").split(","))
    path = tmp_path / "flow.yaml"
    flow = "{name: f, src: s1, dst: r1, size: 5 MB, initiator: dst, start: 100 ms}"
    path.write_text(NETWORK + f"flows: [{flow}]\n")
    (tmp_path / "flow").mkdir()
    row = run_in(tmp_path / "flow", Scenario.load(path)).tables["flows"].iloc[0]
    assert size == MB5
    # nginx begins with a header of some hundred bytes, and curl asks by 80 bytes
    assert took_s == pytest.approx(row["fct_s"], abs=1e-3)
    assert b"GET /data" in seen.files["programs/s1/access.log"]


def test_redis_answers_its_benchmark(twice: RunPrograms) -> None:
    need("redis-server", "redis-benchmark")
    seen = twice(
        "{host: r1, name: server, run: \"redis-server --save '' --protected-mode no --dir /tmp\", background: true}",
        '{host: s1, name: client, run: "redis-benchmark -h r1 -c 4 -n 400 -t set,get --csv", start: 1 s}',
    )
    rows = {line.split(",")[0].strip('"'): line.split(",") for line in seen.printed("client").splitlines()}
    assert {"SET", "GET"} <= set(rows)
    # 400 requests of 35 B and more, one round trip each
    assert seen.carried("s1>r1") > 2 * 400 * 35


def test_a_client_and_a_server_of_asyncio_count_the_same_round_trips(twice: RunPrograms, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(
        "#!/usr/bin/python3\nimport asyncio\n"
        "async def echo(reader, writer):\n"
        "    while line := await reader.readline():\n"
        "        writer.write(line)\n"
        "async def main():\n"
        "    await (await asyncio.start_server(echo, '0.0.0.0', 9000)).serve_forever()\n"
        "asyncio.run(main())\n"
    )
    (tmp_path / "client.py").write_text(
        "#!/usr/bin/python3\nimport asyncio, time\n"
        "async def one(number):\n"
        "    reader, writer = await asyncio.open_connection('r1', 9000)\n"
        "    for count in range(10):\n"
        "        begun = time.monotonic_ns()\n"
        "        writer.write(b'x' * 100 + b'\\n')\n"
        "        await reader.readline()\n"
        "        print(number, time.monotonic_ns() - begun)\n"
        "        await asyncio.sleep(0.01)\n"
        "async def main():\n"
        "    await asyncio.gather(*(one(number) for number in range(4)))\n"
        "asyncio.run(main())\n"
    )
    seen = twice("{host: r1, run: ./server.py, background: true}", "{host: s1, run: ./client.py, start: 100 ms}")
    times_us = [int(line.split()[1]) / 1e3 for line in seen.printed("s1").splitlines()]
    assert len(times_us) == 40
    # both ways 3 us of delay, and a frame of 205 B at 100 Mb/s: 16.4 us; four clients may wait for each other
    assert min(times_us) == pytest.approx(2 * (3 + 16.4), abs=15)
    assert max(times_us) < 200


def test_scp_copies_a_file(twice: RunPrograms, tmp_path: Path) -> None:
    need("sshd", "scp", "ssh-keygen")
    import subprocess

    for name in ("host", "own"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    (tmp_path / "data").write_bytes(bytes(range(256)) * 4000)
    options = "-F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i key -P 2222"
    server = (
        "chmod 600 host && exec /usr/sbin/sshd -D -e -p 2222 -f none -h /run/home/host -o UsePAM=no -o StrictModes=no "
        "-o PidFile=none -o AuthorizedKeysFile=/run/home/own.pub"
    )
    client = f"cp own key; chmod 600 key; scp -O {options} data user@r1:copy"
    seen = twice(
        f"{{host: r1, run: \"sh -c '{server}'\", files: [host, own.pub], background: true}}",
        f"{{host: s1, run: \"sh -c '{client}'\", files: [own, data], start: 1 s}}",
    )
    assert seen.row("s1")["status"] == 0
    assert seen.files["programs/r1/copy"] == bytes(range(256)) * 4000
