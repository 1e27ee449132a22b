# SPDX-License-Identifier: Apache-2.0
"""Unchanged programs in hosts: what they find there, and what of them belongs to the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.engines.kernel import build, cores, guest
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario import Scenario
from tests.engines.kernel.traffic.programs import Ran, RunPrograms, run_in

NETWORK = "network: {fabric: dumbbell, pairs: 2, rate: 100 Mb/s}\nlimit: 10 s\n"
SERVER = '{host: r1, run: "python3 -m http.server 80", background: true}'
CLIENT = """\
#!/usr/bin/env python3
import os, socket, sys, time, urllib.request
begun = time.monotonic()
page = urllib.request.urlopen(f"http://{sys.argv[1]}/").read()
print(socket.gethostname(), len(page), os.urandom(4).hex(), os.getpid(), time.monotonic() - begun)
open("page.html", "wb").write(page)
"""


@pytest.fixture
def run(kernel: build.Kernel, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> RunPrograms:
    """Run programs, each a line of YAML, with the files in `tmp_path`."""

    def made(*programs: str, network: str = NETWORK, core: int | None = None, more: str = "") -> Ran:
        path = tmp_path / "mine.yaml"
        path.write_text(network + "programs:\n" + "".join(f"  - {program}\n" for program in programs) + more)
        return run_in(tmp_path_factory.mktemp("run"), Scenario.load(path), core)

    return made


@pytest.mark.alone
def test_a_server_and_a_script_of_ones_own_directory_repeat(run: RunPrograms, tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(CLIENT)
    client = "{host: 's[1-2]', run: './client.py r1', start: 100 ms}"
    seen, again = (run(SERVER, client, core=core) for core in (cores()[0], cores()[-1]))
    assert seen.digest == again.digest
    assert seen.files == again.files
    # two hosts draw different random numbers, and have process ids of their own
    first, second = (seen.printed(name).split() for name in ("s1", "s2"))
    assert (first[0], second[0]) == ("s1", "s2")
    assert first[1:2] + first[3:4] == second[1:2] + second[3:4]
    assert first[2] != second[2]
    assert seen.files["programs/s1/page.html"].startswith(b"<!DOCTYPE")
    assert "programs/s1/client.py" not in seen.files
    row = seen.row("s1")
    assert (row["status"], row["ended"], row["start_s"]) == (0, "itself", 0.1)
    # two round trips of 6 us and frames of a page at 100 Mb/s
    assert 0.1 < row["end_s"] < 0.102
    assert row["files_B"] == len(seen.files["programs/s1/page.html"])
    server = seen.row("r1")
    assert server["ended"] == "the end of the run"
    assert server[["end_s", "status"]].isna().all()
    assert seen.carried("r1>s1") > 187
    assert seen.carried("r1>s1", "bottleneck@right") > seen.carried("r1>s1")
    assert len(seen.tables["flows"]) == 0
    assert "hint" not in seen.provenance


@pytest.mark.parametrize(
    ("flows", "background", "sent_s"),
    [
        ("", "false", 2),  # datagrams alone beside a program: they are sent as long as it runs
        ("  - {name: t, src: s2, dst: r2, size: 100 kB, cc: cubic}\n", "false", 2),  # t ends long before the program
        ("", "true", 3),  # nothing else to wait for: all are sent
    ],
)
def test_datagrams_beside_programs_are_sent_as_long_as_the_run_lasts(
    run: RunPrograms, flows: str, background: str, sent_s: int
) -> None:
    datagrams = "flows:\n  - {name: u, src: s1, dst: r1, protocol: udp, rate: 8 Mb/s, packet: 1000 B, size: 3 MB}\n"
    seen = run(f"{{host: s1, run: 'sleep 2', background: {background}}}", network=NETWORK + datagrams + flows)
    (row,) = seen.tables["flows"].query("flow == 'u'").to_dict("records")
    # 1 MB each second, but for those that are on their way when the run ends
    assert sent_s * 1e6 - 2000 <= row["received_B"] <= sent_s * 1e6 + 1000
    assert row["end_s"] == pytest.approx(sent_s, abs=1e-3)


def test_programs_know_hosts_by_name_and_are_not_root(run: RunPrograms) -> None:
    shell = "id -u; hostname; getent hosts r2; touch /x /run/x; ls /run/rdcnlab /run/programs; exit 3"
    seen = run(f"{{host: s1, run: \"sh -c '{shell}'\"}}", "{host: r2, run: 'ping -c 2 -i 0.1 s1', start: 1 s}")
    lines = seen.printed("s1").splitlines()
    assert lines[:2] == ["1000", "s1"]
    assert lines[2].split() == ["10.1.0.4", "r2"]
    assert lines[3:] == ["/run/programs:", "", "/run/rdcnlab:"]  # both are empty
    errors = seen.files["programs/s1.err"].decode()
    assert "Read-only file system" in errors
    assert "Permission denied" in errors
    assert "2 received" in seen.printed("r2")
    assert seen.row("s1")["status"] == 3
    assert seen.provenance["hint"] == "the program s1 ended with status 3"


def test_the_limit_ends_programs_and_gives_them_time_for_their_last_lines(run: RunPrograms) -> None:
    catch = "trap 'echo bye; exit' TERM; echo hello; while true; do sleep 0.1; done"
    seen = run(f'{{host: s1, run: "sh -c \\"{catch}\\""}}', network=NETWORK.replace("10 s", "2 s"))
    assert seen.printed("s1") == "hello\nbye\n"
    assert seen.row("s1")["ended"] == "the limit"
    assert "had not ended at the limit" in seen.provenance["hint"]


def test_flows_and_programs_share_a_run(run: RunPrograms) -> None:
    flows = "flows:\n  - {name: f, src: s2, dst: r2, size: 5 MB}\n"
    seen = run("{host: s1, run: 'ping -i 0.01 r1', background: true}", "{host: r1, run: 'true'}", more=flows)
    end_s = seen.tables["flows"].set_index("flow").loc["f", "end_s"]
    assert end_s > 0.4
    # the ping runs until the flow has ended; it waits for whole ticks of 4 ms
    assert seen.printed("s1").count("icmp_seq") == pytest.approx(end_s / 0.012, abs=2)
    assert seen.carried("f", "bottleneck@left") > 5_000_000


def test_a_host_has_its_congestion_control(run: RunPrograms) -> None:
    seen = run("{host: s1, run: 'cat /proc/sys/net/ipv4/tcp_congestion_control', cc: bbr}", "{host: s2, run: 'true'}")
    assert seen.printed("s1") == "bbr\n"


def test_a_file_may_have_any_name_that_linux_allows(run: RunPrograms) -> None:
    write = "import os; open(bytes([255, 254]), 'w').write('odd')"
    seen = run(f'{{host: s1, run: "python3 -c \\"{write}\\""}}', "{host: s2, run: 'true'}")
    assert seen.files["programs/s1/\udcff\udcfe"] == b"odd"
    assert seen.row("s1").files_B == 3


def test_an_endless_writer_ends_with_a_sentence(run: RunPrograms) -> None:
    with pytest.raises(RunError, match=r"^programs wrote more than 16 MB to files: standard output of s1 on s1 has"):
        run("{host: s1, run: 'yes'}")
    with pytest.raises(RunError, match=r"^programs wrote more than 16 MB to files: big on s1 has 20\.0 MB"):
        run("{host: s1, run: 'truncate -s 20M big'}".replace("20M", "20000000"))
    with pytest.raises(RunError, match=r"^programs wrote 64 MB to /tmp and /dev/shm"):
        run("{host: s1, run: 'dd if=/dev/zero of=/tmp/x bs=1M'}")


def test_a_fork_bomb_ends_with_a_sentence(run: RunPrograms, tmp_path: Path) -> None:
    (tmp_path / "bomb.sh").write_text("#!/bin/sh\nwhile true; do sleep 1000 & done\n")
    with pytest.raises(RunError, match=r"processes at 60\.\d+ s, and \d+ is the most: a program starts processes"):
        run("{host: s1, run: ./bomb.sh}")


def test_what_spins_is_named(run: RunPrograms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # 3 s of CPU time without progress are enough here
    monkeypatch.setitem(guest.run.__kwdefaults__, "stall_s", 3.0)
    (tmp_path / "spin.py").write_text("#!/usr/bin/python3\nwhile True: pass\n")
    with pytest.raises(RunError, match=r"something in it spins\. Programs that ran: s1 \(\./spin\.py\)"):
        run("{host: s1, run: ./spin.py}", "{host: s2, run: 'true'}")


def test_a_file_that_has_changed_is_refused(run: RunPrograms, tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("#!/bin/sh\n")
    (tmp_path / "mine.yaml").write_text(NETWORK + "programs: [{host: s1, run: ./a.sh}]\n")
    scenario = Scenario.load(tmp_path / "mine.yaml")
    (tmp_path / "a.sh").write_text("#!/bin/sh\necho\n")
    with pytest.raises(InputError, match=r"programs\.s1\.files: .* has changed"):
        run_in(tmp_path / "run", scenario)


def test_programs_need_switches_that_tell_whose_packets_are(run: RunPrograms) -> None:
    with pytest.raises(InputError, match=r"switch\.kind: .*ocs, with programs"):
        run("{host: s1, run: x}", more="switch: {kind: linux}\n")


def test_a_missing_program_is_named(run: RunPrograms) -> None:
    with pytest.raises(RunError, match=r"^programs\.s1\.run: there is no program 'nothing-here' on this machine"):
        run("{host: s1, run: nothing-here}")
